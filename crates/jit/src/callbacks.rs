//! What compiled code asks the engine for while it runs: slow accesses to memory, barriers, where lanes are, faults, the time.

use std::time::Instant;

use hostwarp_interp::{Cta, KernelFaultKind};
use hostwarp_ir::{BarrierKind, Block, Inst, Term};

use crate::abi::{Callbacks, Ctx};
use crate::engine::Engine;
use crate::lanes::Lanes;
use crate::slow::{self, Request};

/// As the context hands them to compiled code.
pub(crate) const ALL: Callbacks = Callbacks { memory, barrier, warp_sync, park, trap, next_cta, clock };

/// Does `with` to the engine behind a context and its CTA. Both are lent for that time only: a reference that were kept would overlap with
/// the next callback's, or with what runs after the call.
///
/// # Safety
/// `ctx` is the context of a call in progress, as compiled code hands it to callbacks, and `with` makes no callback.
unsafe fn callback<T>(ctx: *mut Ctx, with: impl FnOnce(&Engine<'_>, &mut Cta) -> T) -> T {
    // SAFETY: `with_run` keeps the engine and the CTA alive for the time of the call; the run does not touch the CTA meanwhile; callbacks
    // do not nest, so this is the only reference to it.
    unsafe {
        let engine = &*(*ctx).engine.cast::<Engine<'_>>();
        let cta = &mut *engine.cta;
        // Compiled code goes from CTA to CTA by itself.
        cta.index = (*ctx).ctaid;
        with(engine, cta)
    }
}

/// The memory instruction at a site.
fn instruction<'a>(engine: &Engine<'a>, site: u32) -> Option<&'a Inst> {
    let func = engine.launch.program.func();
    let (block, i) = engine.kernel.sites.get(site as usize)?;
    func.block(*block).insts.get(*i)
}

unsafe extern "C" fn memory(
    ctx: *mut Ctx,
    site: u32,
    lane0: u32,
    lanes: *const Lanes,
    addresses: *const u64,
    data: *mut u8,
    compare: *const u8,
) -> u32 {
    let with = |engine: &Engine<'_>, cta: &mut Cta| {
        let Some(inst) = instruction(engine, site) else { return 1 };
        // SAFETY: compiled code hands over a place that holds them.
        let request = Request { first: lane0, lanes: unsafe { *lanes }, addresses, data, compare };
        // SAFETY: the code has put the addresses and data of the instruction's type of all lanes of the group there.
        match unsafe { slow::memory_op(engine.launch, cta, inst, &request) } {
            Ok(()) => 0,
            Err(fault) => {
                engine.fault.set(Some(fault));
                1
            }
        }
    };
    // SAFETY: called by compiled code only.
    unsafe { callback(ctx, with) }
}

unsafe extern "C" fn barrier(
    ctx: *mut Ctx,
    block: u32,
    lane0: u32,
    lanes: *const Lanes,
    id: u32,
    count: u32,
) {
    // SAFETY: called by compiled code only, with a place that holds the lanes.
    let mask = unsafe { *lanes };
    let with = |engine: &Engine<'_>, cta: &mut Cta| {
        let data = engine.launch.program.func().block(Block(block));
        let Term::Barrier { kind, next, .. } = &data.term else { return };
        if *kind == BarrierKind::Sync {
            engine.parked.set(engine.parked.get() | mask);
        }
        let count = (count != u32::MAX).then_some(count);
        mask.each_warp(lane0, |warp, lanes| {
            if let Err(kind) = cta.arrive(warp, lanes, *kind, id, count, Block(block), next.block) {
                let thread = lane0 + mask.lowest();
                engine.fault.set(Some(Box::new(cta.fault(
                    engine.launch,
                    kind,
                    data.term_line,
                    Some(thread),
                ))));
            }
        });
    };
    // SAFETY: called by compiled code only.
    unsafe { callback(ctx, with) }
}

unsafe extern "C" fn warp_sync(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes, named: u32) {
    // SAFETY: called by compiled code only, with a place that holds the lanes.
    let mask = unsafe { *lanes };
    let with = |engine: &Engine<'_>, cta: &mut Cta| {
        let data = engine.launch.program.func().block(Block(block));
        let Term::WarpSync { next, .. } = &data.term else { return };
        engine.parked.set(engine.parked.get() | mask);
        mask.each_warp(lane0, |warp, lanes| {
            cta.warp_sync(warp, lanes, named, Block(block), next.block);
        });
    };
    // SAFETY: called by compiled code only.
    unsafe { callback(ctx, with) }
}

unsafe extern "C" fn park(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes) {
    // SAFETY: called by compiled code only, with a place that holds the lanes.
    let mask = unsafe { *lanes };
    let with = |engine: &Engine<'_>, cta: &mut Cta| {
        engine.parked.set(engine.parked.get() | mask);
        mask.each_warp(lane0, |warp, lanes| cta.set_pc(warp, lanes, Block(block)));
    };
    // SAFETY: called by compiled code only.
    unsafe { callback(ctx, with) }
}

unsafe extern "C" fn next_cta(ctx: *mut Ctx) {
    // SAFETY: called by compiled code only.
    unsafe { callback(ctx, |engine, cta| cta.clear_memory(engine.launch)) }
}

unsafe extern "C" fn trap(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes) {
    // SAFETY: called by compiled code only, with a place that holds the lanes.
    let mask = unsafe { *lanes };
    let with = |engine: &Engine<'_>, cta: &mut Cta| {
        let func = engine.launch.program.func();
        let data = func.block(Block(block));
        let kind = match data.term {
            Term::Trap(kind) => KernelFaultKind::of_trap(kind, func),
            _ => KernelFaultKind::Trap,
        };
        let thread = lane0 + mask.lowest();
        engine.fault.set(Some(Box::new(cta.fault(engine.launch, kind, data.term_line, Some(thread)))));
    };
    // SAFETY: called by compiled code only.
    unsafe { callback(ctx, with) }
}

unsafe extern "C" fn clock(ctx: *mut Ctx, which: u32) -> u64 {
    // SAFETY: called by compiled code only.
    let start = unsafe {
        callback(ctx, |engine, cta| {
            cta.has_asked_for_the_time();
            engine.launch.start
        })
    };
    let since = Instant::now().duration_since(start);
    let _ = which; // one tick is a nanosecond for both
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

//! What compiled code and the engine share: the context a kernel is called with, and what it answers.
//!
//! Compiled code reaches everything through the context, callbacks included, so that objects have no undefined symbols and
//! can be kept and moved.

use std::ffi::c_void;

use hostwarp_memory::RawView;

use crate::lanes::Lanes;

/// A kernel: context, frame of the CTA, first lane of the group, block to start at, whether all lanes of the group start there (if not,
/// [`Ctx::active`] says which). Goes on with other groups, from barrier to barrier and from CTA to CTA, if the context says so.
pub(crate) type Entry =
    unsafe extern "C" fn(ctx: *mut Ctx, frame: *mut u8, lane0: u32, block: u32, whole: u32) -> u32;

/// All lanes have exited.
pub(crate) const DONE: u32 = 0;
/// Some lanes wait, as told to the callbacks; all others have exited.
pub(crate) const PARKED: u32 = 1;
/// A callback has recorded a fault.
pub(crate) const FAULT: u32 = 2;
/// The budget is used up; all lanes that have not exited were told to [`Callbacks::park`].
pub(crate) const BUDGET: u32 = 3;
/// As [`BUDGET`], but because lanes have gone round a loop many times that may wait for others.
pub(crate) const WAITS: u32 = 4;

/// All lanes that were started have come to barrier 0, at the end of [`Ctx::from`], and wait for all threads. What they need to go
/// on is in the frame.
pub(crate) const AT_BARRIER: u32 = 5;
/// [Many](Ctx::many) groups were to be run, and this one came to another place ([`Ctx::from`]) than those before it.
pub(crate) const MIXED: u32 = 6;
/// [Many](Ctx::many) groups were to be run, and after this one, which came to [`Ctx::from`], the budget for all is used up.
pub(crate) const YIELD: u32 = 7;

/// The group's lanes, all that were started, are at the start of [`Ctx::from`], and compiled code cannot go on from there. What they need
/// is in the frame, in [brief](BRIEF).
pub(crate) const HANDED: u32 = 8;
/// As [`HANDED`], but the lanes may be at several blocks, as told to [`Callbacks::park`], and what they need is there for each of them.
pub(crate) const HANDED_APART: u32 = 9;

/// Set in a block to start at: values that are the same in all lanes of a group, or evenly spaced, are in its first lane's place of the
/// frame only. So they are left at a barrier by groups that [come to it whole](AT_BARRIER).
pub(crate) const BRIEF: u32 = 1 << 30;

/// Set in a block to start at, besides [`BRIEF`]: in the general one of two versions of the code.
pub(crate) const GENERAL: u32 = 1 << 29;

/// In place of a block with a barrier: lanes have exited.
pub(crate) const EXITED: u32 = u32::MAX;

/// What compiled code asks of the engine. `lanes` are those concerned, perhaps none; `ctx` is always the context the kernel was called with; none of them may unwind.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Callbacks {
    /// A memory op as the interpreter would do it, lane by lane: addresses, then data (read or written) and for `cas`
    /// what to compare with, one after another by lane. Not 0 when it faulted.
    pub(crate) memory: unsafe extern "C" fn(
        ctx: *mut Ctx,
        site: u32,
        lane0: u32,
        lanes: *const Lanes,
        addresses: *const u64,
        data: *mut u8,
        compare: *const u8,
    ) -> u32,
    /// Lanes arrive at the barrier that ends `block`; `count` is `u32::MAX` for all threads.
    pub(crate) barrier:
        unsafe extern "C" fn(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes, id: u32, count: u32),
    /// Lanes wait at the warp synchronisation that ends `block` for those in `named`.
    pub(crate) warp_sync:
        unsafe extern "C" fn(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes, named: u32),
    /// Lanes stop at the start of `block` for lack of budget.
    pub(crate) park: unsafe extern "C" fn(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes),
    /// Lanes reach the trap that ends `block`.
    pub(crate) trap: unsafe extern "C" fn(ctx: *mut Ctx, block: u32, lane0: u32, lanes: *const Lanes),
    /// The next CTA begins, with clean memory.
    pub(crate) next_cta: unsafe extern "C" fn(ctx: *mut Ctx),
    /// The value of an impure special: 0 the cycle counter, 1 nanoseconds.
    pub(crate) clock: unsafe extern "C" fn(ctx: *mut Ctx, which: u32) -> u64,
}

/// The context. The printer takes offsets from this definition.
#[repr(C)]
pub(crate) struct Ctx {
    pub(crate) global: RawView,
    pub(crate) param: *const u8,
    pub(crate) param_len: u64,
    pub(crate) constant: *const u8,
    pub(crate) constant_len: u64,
    pub(crate) shared: *mut u8,
    pub(crate) shared_len: u64,
    /// Lane 0's local memory; lanes are `local_stride` apart.
    pub(crate) local: *mut u8,
    pub(crate) local_len: u64,
    pub(crate) local_stride: u64,
    /// Lanes of the CTA rounded up to whole warps: the frame's unit.
    pub(crate) lanes: u64,
    /// `tid.x`, `.y`, `.z` of every lane.
    pub(crate) tid: [*const u32; 3],
    pub(crate) ctaid: [u32; 3],
    pub(crate) ntid: [u32; 3],
    /// What the kernel is told of the grid.
    pub(crate) nctaid: [u32; 3],
    /// The grid whose CTAs are run.
    pub(crate) grid: [u32; 3],
    pub(crate) nwarpid: u32,
    pub(crate) nsmid: u32,
    pub(crate) dynamic_shared: u32,
    pub(crate) total_shared: u32,
    pub(crate) grid_id: u64,
    pub(crate) globals_base: u64,
    pub(crate) grid_workspace: u64,
    /// Instructions that may still be run; counted at back-edges, and when all groups have come to a barrier or exited.
    pub(crate) fuel: i64,
    /// The lanes that start, of a group of which not all do: the group to run, or if [many](Ctx::many) are to be run the last of a CTA.
    pub(crate) active: Lanes,
    /// Whether to go on with the next group, round and CTA. What follows is for that case.
    pub(crate) many: u32,
    /// Threads of a CTA.
    pub(crate) threads: u32,
    /// CTAs to run, this one included.
    pub(crate) ctas: u32,
    /// The first lane of the group that was run last.
    pub(crate) lane0: u32,
    /// Where all groups began this round.
    pub(crate) round: u32,
    /// The block with the barrier that the groups before came to in this round; or [`EXITED`].
    pub(crate) round_from: u32,
    /// The block with the barrier that lanes [wait at](AT_BARRIER); or [`EXITED`].
    pub(crate) from: u32,
    /// Compiled code writes where it remembers parts of allocations here, for no other reason than that LLVM takes what somebody else could see
    /// for memory and leaves it there.
    pub(crate) windows: *const u64,
    pub(crate) callbacks: Callbacks,
    /// The engine's own state, for the callbacks.
    pub(crate) engine: *const c_void,
}

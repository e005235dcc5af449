//! Many launches of mixed kernels from eight threads at once, with faults, cancels, limits, allocations and modules that come and go: every result is right, and
//! neither memory nor handles grow.
//!
//! The sample is small; `cargo xtask soak` makes a million launches and prints what `docs/soak.md` holds.
#![cfg(target_os = "linux")]

use hostwarp::{Device, Engine, Error, Kernel, KernelFaultKind};
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

const PTX: &str = "\
.version 8.3
.target sm_90
.address_size 64
.global .u32 bias = BIAS;

.visible .entry scale(.param .u64 data, .param .u32 factor)
{
    .reg .b32 %i, %t, %c, %f, %b;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, 64, %t;
    ld.param.u32 %f, [factor];
    ld.global.u32 %b, [bias];
    mad.lo.u32 %b, %i, %f, %b;
    ld.param.u64 %a, [data];
    mad.wide.u32 %a, %i, 4, %a;
    st.global.u32 [%a], %b;
    ret;
}

.visible .entry sum(.param .u64 data, .param .u32 factor)
{
    .reg .pred %p;
    .reg .b32 %t, %c, %f, %v, %w, %s, %h, %b;
    .reg .b64 %a;
    .shared .u32 cell[64];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    ld.param.u32 %f, [factor];
    mad.lo.u32 %v, %t, %f, %c;
    shl.b32 %b, %t, 2;
    mov.u32 %w, cell;
    add.u32 %s, %b, %w;
    st.shared.u32 [%s], %v;
    mov.u32 %h, 128;
FOLD:
    bar.sync 0;
    setp.ge.u32 %p, %b, %h;
    @%p bra NEXT;
    add.u32 %w, %s, %h;
    ld.shared.u32 %w, [%w];
    ld.shared.u32 %v, [%s];
    add.u32 %v, %v, %w;
    st.shared.u32 [%s], %v;
NEXT:
    bar.sync 0;
    shr.u32 %h, %h, 1;
    setp.ge.u32 %p, %h, 4;
    @%p bra FOLD;
    setp.ne.u32 %p, %t, 0;
    @%p ret;
    ld.shared.u32 %v, [cell];
    ld.param.u64 %a, [data];
    mad.wide.u32 %a, %c, 4, %a;
    st.global.u32 [%a], %v;
    ret;
}

.visible .entry tally(.param .u64 data, .param .u32 factor)
{
    .reg .b32 %t, %f;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    and.b32 %t, %t, 7;
    ld.param.u32 %f, [factor];
    ld.param.u64 %a, [data];
    mad.wide.u32 %a, %t, 4, %a;
    red.global.add.u32 [%a], %f;
    ret;
}

.visible .entry beyond(.param .u64 data, .param .u32 factor)
{
    .reg .b32 %t;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    ld.param.u64 %a, [data];
    mad.wide.u32 %a, %t, 16777216, %a;
    st.global.u32 [%a], %t;
    ret;
}

.visible .entry quit(.param .u64 data, .param .u32 factor)
{
    trap;
    ret;
}

.visible .entry spin(.param .u64 data, .param .u32 factor)
{
AGAIN:
    bra AGAIN;
}
";

/// CTAs of a launch, each of 64 threads.
const CTAS: u32 = 4;
const CELLS: usize = (CTAS * 64) as usize;
const THREADS: usize = 8;
/// Launches between a thread's modules; the device has others all the time.
const PER_MODULE: u64 = 2_000;
const PER_DEVICE: u64 = 10_000;

/// What a thread works with.
struct Bench {
    kernels: Vec<Kernel>,
    bias: u32,
    device: Device,
    engine: Engine,
}

impl Bench {
    fn new(device: &Device, bias: u32, engine: Engine) -> Result<Bench, Error> {
        let module = device.load("soak.ptx", PTX.replace("BIAS", &bias.to_string()))?;
        let names = ["scale", "sum", "tally", "beyond", "quit", "spin"];
        let kernels = names.iter().map(|n| module.kernel(n)).collect::<Result<_, _>>()?;
        Ok(Bench { kernels, bias, device: device.clone(), engine })
    }

    /// One launch, whose result or fault is looked at.
    fn launch(&self, random: u64, cancels: &Sender<Arc<AtomicBool>>) -> Result<(), String> {
        let factor = (random >> 32) as u32 & 0xffff;
        let which = match random % 1000 {
            0..500 => 0,
            500..800 => 1,
            800..930 => 2,
            930..960 => 3,
            960..985 => 4,
            _ => 5,
        };
        let buffer = self.device.buffer::<u32>(CELLS).map_err(|e| e.to_string())?;
        let mut launch = self.kernels[which].launch().grid([CTAS, 1, 1]).block([64, 1, 1]);
        launch = launch.engine(self.engine).arg(&buffer).arg(factor);
        if which == 5 {
            launch = match random >> 16 & 3 {
                0 => launch.timeout(Duration::from_micros(200)),
                1 => {
                    let flag = Arc::new(AtomicBool::new(false));
                    cancels.send(flag.clone()).map_err(|e| e.to_string())?;
                    launch.cancel(flag)
                }
                2 => launch.cancel(Arc::new(AtomicBool::new(true))),
                _ => launch.fuel(1_000),
            };
        }
        let ran = launch.run();
        let (fault, report) = match ran {
            Ok(report) => (None, Some(report)),
            Err(Error::Fault(fault)) => (Some(fault.kind), None),
            Err(e) => return Err(format!("{}: {e}", self.kernels[which].name())),
        };
        let expected: Vec<u32> = match (which, fault) {
            (0, None) => (0..CELLS as u32).map(|i| i.wrapping_mul(factor).wrapping_add(self.bias)).collect(),
            (1, None) => sums(factor),
            (2, None) => (0..CELLS).map(|i| if i < 8 { factor * CTAS * 8 } else { 0 }).collect(),
            (3, Some(KernelFaultKind::Memory(_))) | (4, Some(KernelFaultKind::Trap)) => return Ok(()),
            (5, Some(kind)) => {
                return match (random >> 16 & 3, kind) {
                    (0, KernelFaultKind::Timeout) | (3, KernelFaultKind::OutOfFuel) => Ok(()),
                    (1 | 2, KernelFaultKind::Cancelled) => Ok(()),
                    (how, kind) => Err(format!("spin {how} ended with {kind:?}")),
                };
            }
            (_, other) => return Err(format!("{} ended with {other:?}", self.kernels[which].name())),
        };
        let got = buffer.to_vec().map_err(|e| e.to_string())?;
        let wrong = (0..CELLS).filter(|i| got[*i] != expected[*i]);
        let wrong: Vec<_> = wrong.map(|i| (i, got[i], expected[i])).collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "{} with factor {factor} and bias {} ({report:?}): place, got, expected: {wrong:?}",
                self.kernels[which].name(),
                self.bias,
            )),
        }
    }
}

/// The sum over a CTA of `t * factor + cta`.
fn sums(factor: u32) -> Vec<u32> {
    let mut all = vec![0; CELLS];
    for cta in 0..CTAS {
        all[cta as usize] = (0..64).map(|t: u32| t * factor + cta).fold(0, u32::wrapping_add);
    }
    all
}

/// What the process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    resident_kib: u64,
    mappings: usize,
    handles: usize,
    threads: usize,
    allocations: usize,
}

impl Held {
    fn now(device: &Device) -> Held {
        let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
        let resident = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).expect("a line of it");
        Held {
            resident_kib: resident.trim_end_matches("kB").trim().parse().expect("a number"),
            mappings: fs::read_to_string("/proc/self/maps").expect("Linux has it").lines().count(),
            handles: fs::read_dir("/proc/self/fd").expect("Linux has it").count(),
            threads: fs::read_dir("/proc/self/task").expect("Linux has it").count(),
            allocations: device.memory().info().allocations,
        }
    }
}

/// SplitMix64.
fn random(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// As many launches in each of ten rounds, after each of which is looked what the process holds while all threads rest.
fn soak(launches: u64, growth_mib: u64) {
    const ROUNDS: u64 = 10;
    let device = Device::builder().memory(1 << 26).threads(2).build().expect("a device");
    let jit = match device.llvm() {
        Ok(_) => Engine::Jit,
        Err(e) if std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some() => panic!("{e}"),
        Err(_) => Engine::Interp,
    };
    let began = Instant::now();
    let (done, faults) = (AtomicU64::new(0), AtomicU64::new(0));
    let wrong: Mutex<Option<String>> = Mutex::new(None);
    let rest = Barrier::new(THREADS + 1);
    let (cancels, flags) = channel::<Arc<AtomicBool>>();
    let mut held = vec![];
    std::thread::scope(|scope| {
        // Cancels what has been running for a moment.
        scope.spawn(move || {
            for flag in flags {
                std::thread::sleep(Duration::from_micros(200));
                flag.store(true, Ordering::Relaxed);
            }
        });
        for t in 0..THREADS as u64 {
            let (device, done, faults, rest, wrong) = (&device, &done, &faults, &rest, &wrong);
            let cancels = cancels.clone();
            scope.spawn(move || {
                let mut bench: Option<Bench> = None;
                let mut own: Option<Device> = None;
                let per_round = launches / ROUNDS / THREADS as u64;
                for round in 0..ROUNDS {
                    for n in round * per_round..(round + 1) * per_round {
                        let random = random(t, n);
                        // Some threads have a device of their own, and another one every now and then.
                        if n % PER_DEVICE == 0 && t % 4 == 3 {
                            drop((bench.take(), own.take()));
                            own =
                                Some(Device::builder().memory(1 << 24).threads(2).build().expect("a device"));
                        }
                        if n % PER_MODULE == 0 || bench.is_none() {
                            // Compiled code is made anew for each module, which takes a while: by two threads only.
                            let engine = [Engine::Interp, Engine::Auto, jit, Engine::Interp][t as usize % 4];
                            let device = own.as_ref().unwrap_or(device);
                            bench = Some(Bench::new(device, random as u32, engine).expect("it loads"));
                        }
                        let bench = bench.as_ref().expect("there is one");
                        if let Err(why) = bench.launch(random, &cancels) {
                            // Others wait for this thread at the end of the round.
                            let why = format!("thread {t}, launch {n}, {:?}: {why}", bench.engine);
                            wrong.lock().expect("no panics").get_or_insert(why);
                        }
                        if wrong.lock().expect("no panics").is_some() {
                            break;
                        }
                        done.fetch_add(1, Ordering::Relaxed);
                        faults.fetch_add(u64::from(random % 1000 >= 930), Ordering::Relaxed);
                    }
                    // Modules have memory of the device, so none may be there.
                    bench = None;
                    rest.wait();
                    rest.wait();
                }
                drop((bench, own));
            });
        }
        drop(cancels);
        for _ in 0..ROUNDS {
            rest.wait();
            // Code that is still being made for a module that is gone is made to its end.
            std::thread::sleep(Duration::from_millis(300));
            let now = Held::now(&device);
            println!(
                "| {} | {} | {:.0} | {:.1} | {} | {} | {} | {} |",
                done.load(Ordering::Relaxed),
                faults.load(Ordering::Relaxed),
                began.elapsed().as_secs_f64(),
                now.resident_kib as f64 / 1024.0,
                now.mappings,
                now.handles,
                now.threads,
                now.allocations,
            );
            held.push(now);
            rest.wait();
        }
    });
    assert_eq!(wrong.into_inner().expect("no panics"), None);
    assert_eq!(done.load(Ordering::Relaxed), launches / ROUNDS / THREADS as u64 * ROUNDS * THREADS as u64);
    // What is kept for ever is there after two rounds: threads, LLVM, arenas of the allocator.
    let (early, last) = (held[1], held[ROUNDS as usize - 1]);
    assert!(last.resident_kib < early.resident_kib + (growth_mib << 10), "memory grows: {held:?}");
    assert!(last.mappings < early.mappings + 64, "mappings grow: {held:?}");
    assert!(last.handles <= early.handles && last.threads <= early.threads, "handles grow: {held:?}");
    assert!(held.iter().all(|h| h.allocations == 0), "allocations are left: {held:?}");
}

#[test]
fn a_short_soak_stays_flat() {
    // The allocator's arenas and LLVM are still growing to their size.
    soak(8_000, 64);
}

#[test]
#[ignore = "minutes: `cargo xtask soak`"]
fn a_million_launches_stay_flat() {
    soak(1_000_000, 16);
}

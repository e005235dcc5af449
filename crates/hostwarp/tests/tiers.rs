//! The interpreter at first, compiled code when it pays, and the way from one to the other.

use hostwarp::{Device, Effort, Engine, Kernel, Report};
use std::time::Duration;

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// Every thread goes round a loop `n` times, by steps that differ between threads.
const LONG: &str = "
.visible .entry kernel(.param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %t, %i, %n, %v;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    ld.param.u32 %n, [n];
    ld.param.u64 %a, [out];
    mad.wide.u32 %a, %t, 4, %a;
    mov.u32 %v, %t;
    mov.u32 %i, 0;
LOOP:
    mad.lo.u32 %v, %v, 1664525, %i;
    xor.b32 %v, %v, %t;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra LOOP;
    st.global.u32 [%a], %v;
    ret;
}
";

fn long(thread: u32, n: u32) -> u32 {
    (0..n).fold(thread, |v, i| v.wrapping_mul(1664525).wrapping_add(i) ^ thread)
}

/// The outer loop is the same for all threads, the inner one ends early for all but one of each warp: so long for that one that
/// the interpreter lets the others go ahead, which are then in another turn of the outer loop.
const OUT_OF_STEP: &str = "
.visible .entry kernel(.param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %t, %lane, %i, %j, %n, %v;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    and.b32 %lane, %t, 31;
    ld.param.u64 %a, [out];
    mad.wide.u32 %a, %t, 4, %a;
    mov.u32 %v, %t;
    mov.u32 %i, 0;
OUTER:
    setp.eq.u32 %p, %lane, %i;
    selp.b32 %n, 3000, 200, %p;
    mov.u32 %j, 0;
INNER:
    mad.lo.u32 %v, %v, 1664525, %i;
    add.u32 %j, %j, 1;
    setp.lt.u32 %p, %j, %n;
    @%p bra INNER;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, 12;
    @%p bra OUTER;
    st.global.u32 [%a], %v;
    ret;
}
";

fn out_of_step(thread: u32) -> u32 {
    let turns = |i: u32| if thread % 32 == i { 3000 } else { 200 };
    (0..12).fold(thread, |v, i| (0..turns(i)).fold(v, |v, _| v.wrapping_mul(1664525).wrapping_add(i)))
}

/// Halves what is in shared memory, and meets at a barrier, again and again: after each sum of all threads everybody adds it.
const SUMS: &str = "
.visible .entry kernel(.param .u64 out, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %t, %i, %n, %v, %w, %s, %here, %there, %half;
    .reg .b64 %a;
    .shared .b32 all[256];
    mov.u32 %t, %tid.x;
    ld.param.u32 %n, [n];
    ld.param.u64 %a, [out];
    mad.wide.u32 %a, %t, 4, %a;
    mov.u32 %s, all;
    mad.lo.u32 %here, %t, 4, %s;
    mov.u32 %v, %t;
    mov.u32 %i, 0;
AGAIN:
    st.shared.u32 [%here], %v;
    bar.sync 0;
    mov.u32 %half, 128;
HALVE:
    setp.ge.u32 %p, %t, %half;
    @%p bra SKIP;
    mad.lo.u32 %there, %half, 4, %here;
    ld.shared.u32 %w, [%here];
    ld.shared.u32 %there, [%there];
    add.u32 %w, %w, %there;
    st.shared.u32 [%here], %w;
SKIP:
    bar.sync 0;
    shr.u32 %half, %half, 1;
    setp.ne.u32 %p, %half, 0;
    @%p bra HALVE;
    ld.shared.u32 %w, [all];
    bar.sync 0;
    mad.lo.u32 %v, %v, 5, %w;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra AGAIN;
    st.global.u32 [%a], %v;
    ret;
}
";

fn sums(n: u32) -> Vec<u32> {
    let mut all: Vec<u32> = (0..256).collect();
    for _ in 0..n {
        let sum = all.iter().fold(0u32, |sum, v| sum.wrapping_add(*v));
        all = all.iter().map(|v| v.wrapping_mul(5).wrapping_add(sum)).collect();
    }
    all
}

fn device(threads: usize) -> Device {
    Device::builder().memory(1 << 26).threads(threads).build().expect("a device")
}

/// Says so if the jit is not to be had.
fn has_llvm(device: &Device) -> bool {
    let Err(why) = device.llvm() else { return true };
    let required = std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some_and(|v| v != "0");
    assert!(!required, "{why}");
    eprintln!("left out: {why}");
    false
}

#[test]
fn what_is_soon_done_is_not_compiled_and_what_runs_on_is() {
    let device = device(2);
    let load = || device.load("long.ptx", format!("{HEAD}{LONG}")).unwrap().kernel("kernel").unwrap();
    let out = device.buffer_from(&[0u32; 64]).unwrap();
    let launch = |kernel: &Kernel, n: u32| -> Report {
        let launch = kernel.launch().grid([16, 1, 1]).block([64, 1, 1]).arg(&out).arg(n);
        let report = launch.timeout(Duration::from_secs(300)).run().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out.to_vec().unwrap(), (0..64).map(|t| long(t, n)).collect::<Vec<_>>());
        report
    };
    // A busy machine can take long over anything; not every time.
    let brief = |first: &Report| (first.engine, first.interpreted, first.width) == (Engine::Interp, 16, None);
    let first = (0..20).map(|_| launch(&load(), 3)).find(brief).expect("one that was not compiled");
    assert_eq!(first.note, None);
    if !has_llvm(&device) {
        return;
    }
    // Far more than compiling takes.
    let kernel = load();
    let last =
        (0..5000).map(|_| launch(&kernel, 20_000)).find(|r| r.interpreted == 0).expect("compiled code");
    assert_eq!((last.engine, last.note), (Engine::Jit, None));
    assert!(last.width.is_some());
}

#[test]
fn a_cta_that_runs_on_and_on_goes_over_to_compiled_code() {
    let device = device(2);
    if !has_llvm(&device) {
        return;
    }
    // Two that begin on the interpreter, and go on for longer than compiling takes; on a busy machine that can be long.
    let out = device.buffer_from(&[0u32; 64]).unwrap();
    let went_over = |n: &u32| {
        let kernel = device.load("long.ptx", format!("{HEAD}{LONG}")).unwrap().kernel("kernel").unwrap();
        let report = kernel.launch().grid([2, 1, 1]).block([64, 1, 1]).arg(&out).arg(*n).run().unwrap();
        assert_eq!(out.to_vec().unwrap(), (0..64).map(|t| long(t, *n)).collect::<Vec<_>>());
        (report.engine, report.interpreted) == (Engine::Jit, 2)
    };
    assert!([20_000_000, 80_000_000, 320_000_000].iter().any(went_over), "interpreted to the end");
}

#[test]
fn quickly_made_code_makes_way_for_better_code_unless_told_otherwise() {
    let device = device(2);
    if !has_llvm(&device) {
        return;
    }
    let load = || device.load("long.ptx", format!("{HEAD}{LONG}")).unwrap().kernel("kernel").unwrap();
    let launch = |kernel: &Kernel, effort: Option<Effort>| {
        let out = device.buffer_from(&[0u32; 64]).unwrap();
        let launch = kernel.launch().block([64, 1, 1]).engine(Engine::Jit).arg(&out).arg(20_000u32);
        let launch = if let Some(effort) = effort { launch.effort(effort) } else { launch };
        let report = launch.run().unwrap();
        assert_eq!(out.to_vec().unwrap(), (0..64).map(|t| long(t, 20_000)).collect::<Vec<_>>());
        report.effort.expect("compiled code")
    };
    let kernel = load();
    assert_eq!(launch(&kernel, None), Effort::Quick);
    assert!((0..5000).any(|_| launch(&kernel, None) == Effort::Best), "nobody makes better code");
    assert_eq!(launch(&kernel, Some(Effort::Quick)), Effort::Quick);
    assert_eq!(launch(&load(), Some(Effort::Best)), Effort::Best);
}

/// Runs a kernel of 256 threads with both engines in turns of many lengths.
fn in_turns(text: &str, n: Option<u32>, want: &[u32]) {
    let device = device(1);
    if !has_llvm(&device) {
        return;
    }
    let kernel = device.load("turns.ptx", format!("{HEAD}{text}")).unwrap().kernel("kernel").unwrap();
    for width in [32, 64, 128, 256, 512] {
        for turn in [1, 7, 50, 300, 1000, 5000, 20_000] {
            let out = device.buffer_from(&[0u32; 256]).unwrap();
            let launch =
                kernel.launch().block([256, 1, 1]).engine(Engine::Jit).exact_width(width).in_turns(turn);
            let launch = launch.arg(&out).timeout(Duration::from_secs(300));
            let launch = if let Some(n) = n { launch.arg(n) } else { launch };
            launch.run().unwrap_or_else(|e| panic!("{width} lanes, turns of {turn}: {e}"));
            assert_eq!(out.to_vec().unwrap(), want, "{width} lanes, turns of {turn}");
        }
    }
}

#[test]
fn engines_that_take_turns_agree_with_one_alone() {
    in_turns(LONG, Some(500), &(0..256).map(|t| long(t, 500)).collect::<Vec<_>>());
    in_turns(SUMS, Some(30), &sums(30));
}

#[test]
fn compiled_code_does_not_take_over_lanes_that_are_out_of_step() {
    in_turns(OUT_OF_STEP, None, &(0..256).map(out_of_step).collect::<Vec<_>>());
}

#[test]
fn threads_that_launch_at_once_all_get_their_bits() {
    let device = device(2);
    let kernel = device.load("long.ptx", format!("{HEAD}{LONG}")).unwrap().kernel("kernel").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (device, kernel) = (&device, &kernel);
            scope.spawn(move || {
                for n in (1000..2000).step_by(50).map(|n| n + thread) {
                    let out = device.buffer_from(&[0u32; 64]).unwrap();
                    let launch = kernel.launch().grid([64, 1, 1]).block([64, 1, 1]).arg(&out).arg(n);
                    launch.run().unwrap_or_else(|e| panic!("{e}"));
                    assert_eq!(out.to_vec().unwrap(), (0..64).map(|t| long(t, n)).collect::<Vec<_>>());
                }
            });
        }
    });
}

#[test]
fn a_launch_that_waits_for_a_compiler_can_be_stopped() {
    let device = device(2);
    let kernel = device.load("long.ptx", format!("{HEAD}{LONG}")).unwrap().kernel("kernel").unwrap();
    let out = device.buffer_from(&[0u32; 64]).unwrap();
    // Hours of work.
    let launch = kernel.launch().grid([1 << 20, 1, 1]).block([64, 1, 1]).arg(&out).arg(1 << 24);
    let stopped = launch.timeout(Duration::from_millis(12)).run().expect_err("time is up");
    assert!(stopped.to_string().contains("time"), "{stopped}");
}

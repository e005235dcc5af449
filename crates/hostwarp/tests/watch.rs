//! Watching launches: statistics, traces, what a strict launch refuses, and schedules.

use hostwarp::compile::Access;
use hostwarp::ir::Space;
use hostwarp::{Device, Engine, Error, KernelFaultKind, Misuse, Module, TraceStep};
use std::sync::Mutex;

fn engines() -> Vec<Engine> {
    let device = Device::builder().memory(1 << 24).build().expect("a device");
    if device.llvm().is_ok() { vec![Engine::Interp, Engine::Jit] } else { vec![Engine::Interp] }
}

fn device() -> Device {
    Device::builder().memory(1 << 26).threads(2).build().expect("a device")
}

/// A kernel `k` with one parameter, whose body begins in line 3.
fn load(device: &Device, body: &str) -> Module {
    let ptx = format!(
        ".version 8.0 .target sm_70 .address_size 64\n.visible .entry k(.param .u64 out) {{ .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>; .shared .align 4 .b32 s[64];\n{body}\nret; }}"
    );
    device.load("watch.ptx", ptx).unwrap_or_else(|e| panic!("{e}"))
}

/// Stores `%r9` of each thread at its place.
const STORE: &str = "ld.param.u64 %rd1, [out]; mov.u32 %r10, %tid.x; mad.wide.u32 %rd2, %r10, 4, %rd1; st.global.u32 [%rd2], %r9;";

#[test]
fn statistics_count_warps_lanes_and_bytes() {
    // Half the lanes of each warp take the branch; the guarded add is executed by all.
    let body = format!(
        "mov.u32 %r1, %tid.x;
         and.b32 %r2, %r1, 1;
         setp.eq.u32 %p1, %r2, 0;
         mov.u32 %r9, 7;
         @!%p1 add.u32 %r9, %r9, 1;
         @%p1 bra skip;
         mul.lo.u32 %r9, %r9, 3;
         skip:
         shl.b32 %r3, %r1, 3;
         mov.u32 %r4, s;
         and.b32 %r3, %r3, 127;
         add.u32 %r3, %r3, %r4;
         st.shared.u32 [%r3], %r1;
         {STORE}"
    );
    let device = device();
    let kernel = load(&device, &body).kernel("k").expect("a kernel");
    let out = device.buffer::<u32>(64).expect("a buffer");
    let launch = || kernel.launch().grid([3, 1, 1]).block([64, 1, 1]).arg(&out);
    assert_eq!(launch().run().expect("it runs").stats, None);
    let report = launch().engine(Engine::Jit).stats().run().expect("it runs");
    assert_eq!(report.engine, Engine::Interp);
    assert!(report.note.expect("a note").contains("statistics"));
    assert_eq!(out.to_vec().expect("it is there")[..4], [7, 24, 7, 24]);
    let stats = report.stats.expect("they were asked for");
    let of = |text: &str| stats.instructions.iter().find(|i| i.text.contains(text)).expect("it ran");
    let counts = |text| (of(text).line, of(text).warps, of(text).threads, of(text).guarded);
    assert_eq!(counts("and.b32 %r2"), (4, 6, 192, 192));
    assert_eq!(counts("@!%p1 add"), (7, 6, 192, 96));
    assert_eq!(counts("mul.lo"), (9, 6, 96, 96));
    assert_eq!(of("mul.lo").active_lanes(), 16.0);
    assert_eq!(stats.opcodes.iter().find(|o| o.opcode == "and.b32").expect("it ran").warps, 12);
    assert_eq!(stats.warp_instructions(), stats.opcodes.iter().map(|o| o.warps).sum::<u64>());
    let memory = |space, access| {
        let found = stats.memory.iter().find(|m| (m.space, m.access) == (space, access)).expect("accessed");
        (found.warps, found.threads, found.bytes, found.transactions)
    };
    assert_eq!(memory(Space::Global, Access::Store), (6, 192, 768, 24));
    // Sixteen words, eight bytes apart: one pass.
    assert_eq!(memory(Space::Shared, Access::Store), (6, 192, 768, 6));
    assert_eq!(memory(Space::Param, Access::Load), (6, 192, 1536, 6));
}

#[test]
fn a_trace_tells_of_one_thread() {
    let body = format!(
        "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p3, %r1, 0; @%p3 ret; mov.u32 %r1, %tid.x;
         setp.gt.u32 %p1, %r1, 5;
         mov.u32 %r9, 1;
         again: add.u32 %r9, %r9, %r1;
         setp.lt.u32 %p2, %r9, 3;
         @%p2 bra again;
         @%p1 add.u32 %r9, %r9, 100;
         {STORE}
         add.u64 %rd3, %rd1, 1;
         setp.eq.u32 %p3, %r1, 2;
         @%p3 st.global.u32 [%rd3], %r1;"
    );
    let device = device();
    let kernel = load(&device, &body).kernel("k").expect("a kernel");
    let out = device.buffer::<u32>(64).expect("a buffer");
    let steps = Mutex::new(vec![]);
    let sink = |step: &TraceStep| steps.lock().expect("nobody panics").push(step.clone());
    // Only CTA 1 does anything, or CTA 0 might be at fault before it begins. Thread 0 would never leave the loop, but is only there to be stopped; thread 2
    // faults at its end.
    let launch = kernel.launch().grid([2, 1, 1]).block([40, 1, 1]).arg(&out).fuel(1 << 16);
    let error = launch.trace([1, 0, 0], [1, 0, 0], &sink).run().expect_err("it faults");
    assert!(matches!(error, Error::Fault(_)), "{error}");
    let steps = steps.into_inner().expect("nobody panics");
    let shown: Vec<String> = steps
        .iter()
        .skip(3)
        .take(9)
        .map(|s| {
            let written: Vec<String> =
                s.written.iter().map(|w| format!("{}={}", w.register, w.bits)).collect();
            format!("{} {} {}", s.line, s.runs, written.join(" "))
        })
        .collect();
    assert_eq!(
        shown,
        [
            "3 true %r1=1",
            "4 true %p1=0",
            "5 true %r9=1",
            "6 true %r9=2",
            "7 true %p2=1",
            "8 true ",
            "6 true %r9=3",
            "7 true %p2=0",
            "8 false "
        ]
    );
    assert!(steps.iter().enumerate().all(|(n, s)| s.number == n as u64));
    let launch = kernel.launch().arg(&out).trace([0; 3], [1, 0, 0], &|_| ());
    let error = launch.run().expect_err("there is one thread").to_string();
    assert!(error.contains("there is no thread (1, 0, 0) to trace: the block is 1×1×1"), "{error}");
}

#[test]
fn a_trace_has_addresses_and_wide_values() {
    let device = device();
    let kernel = load(
        &device,
        "mov.u32 %r9, 5; @%p1 mov.u32 %r9, 6; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1+4], %r9;",
    );
    let kernel = kernel.kernel("k").expect("a kernel");
    let out = device.buffer::<u32>(64).expect("a buffer");
    let steps = Mutex::new(vec![]);
    let sink = |step: &TraceStep| steps.lock().expect("nobody panics").push(step.clone());
    kernel.launch().arg(&out).trace([0; 3], [0; 3], &sink).run().expect("it runs");
    let steps = steps.into_inner().expect("nobody panics");
    assert_eq!(steps.len(), 5);
    assert!(!steps[1].runs && steps[1].written.is_empty());
    assert_eq!(steps[2].written[0].bits, u128::from(out.address()));
    let access = steps[3].accesses[0];
    assert_eq!(
        (access.access, access.space, access.address, access.bytes),
        (Access::Store, Space::Global, out.address() + 4, 4)
    );
}

/// Runs a body on every engine, plain and strict; gives what the strict launch refuses, which all engines agree on.
fn refused(body: &str) -> Option<(Misuse, u32, u32)> {
    let mut all = vec![];
    for engine in engines() {
        let device = device();
        let kernel = load(&device, body).kernel("k").expect("a kernel");
        let out = device.buffer::<u32>(64).expect("a buffer");
        let launch = || kernel.launch().block([64, 1, 1]).arg(&out).engine(engine);
        launch().run().unwrap_or_else(|e| panic!("{e}"));
        let plain = out.to_vec().expect("it is there");
        out.write(0, &[0; 64]).expect("it fits");
        all.push(match launch().strict().run() {
            Ok(_) => {
                assert_eq!(out.to_vec().expect("it is there"), plain, "strict changed a result");
                None
            }
            Err(Error::Fault(fault)) => match &fault.kind {
                KernelFaultKind::Strict(misuse) => {
                    Some((misuse.clone(), fault.line, fault.thread.expect("a thread")[0]))
                }
                other => panic!("{other}"),
            },
            Err(other) => panic!("{other}"),
        });
    }
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all.swap_remove(0)
}

#[test]
fn registers_must_be_written() {
    let register = |name: &str| Misuse::Uninitialised { register: name.into() };
    assert_eq!(refused("mov.u32 %r9, 1;\nadd.u32 %r8, %r9, %r7;"), Some((register("%r7"), 4, 0)));
    assert_eq!(refused("@%p1 mov.u32 %r9, 1;"), Some((register("%p1"), 3, 0)));
    assert_eq!(refused("mov.u32 %r1, 0;\nld.shared.u32 %r2, [%r3+4];"), Some((register("%r3"), 4, 0)));
    // Written on one way only, and read by those who went the other.
    let some = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 40;\n@%p1 mov.u32 %r9, 1;\nadd.u32 %r8, %r9, 1;";
    assert_eq!(refused(some), Some((register("%r9"), 5, 40)));
    let none =
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 40;\n@%p1 mov.u32 %r9, 1;\n@%p1 add.u32 %r8, %r9, 1;";
    assert_eq!(refused(none), None);
    let both = format!(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 40; @%p1 bra a; mov.u32 %r9, 1; bra b; a: mov.u32 %r9, 2; b: {STORE}"
    );
    assert_eq!(refused(&both), None);
}

/// A store elsewhere is none to the place in shared memory that the lane stored to before.
#[test]
fn stores_elsewhere_do_not_race() {
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2; st.shared.u32 [%r2], %r1;
         setp.lt.u32 %p1, %r1, 32; ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r1, 8, %rd1; mul.wide.u32 %rd3, %r1, -5;
         @%p1 st.global.u64 [%rd2], %rd3;";
    assert_eq!(refused(body), None);
}

#[test]
fn divisors_must_not_be_zero() {
    let body =
        |op: &str| format!("mov.u32 %r1, %tid.x;\n sub.u32 %r2, %r1, 33; \n{op} %r9, %r1, %r2; {STORE}");
    assert_eq!(refused(&body("div.u32")), Some((Misuse::DivisionByZero, 5, 33)));
    assert_eq!(refused(&body("rem.s32")), Some((Misuse::DivisionByZero, 5, 33)));
    assert_eq!(refused(&body("min.u32")), None);
    let guarded = format!(
        "mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r9, 0;\n@%p1 div.u32 %r9, 8, %r1; {STORE}"
    );
    assert_eq!(refused(&guarded), None);
}

#[test]
fn shuffles_read_lanes_that_take_part() {
    let body = |mask: &str, lane: &str| {
        format!("mov.u32 %r1, %tid.x;\nshfl.sync.idx.b32 %r9, %r1, {lane}, 31, {mask};\n{STORE}")
    };
    assert_eq!(refused(&body("-1", "3")), None);
    assert_eq!(refused(&body("0x0000ffff", "3")), Some((Misuse::NotInMask { mask: 0xffff }, 4, 16)));
    let half = |lane: &str| {
        format!(
            "mov.u32 %r1, %tid.x; mov.u32 %r9, 0; and.b32 %r2, %r1, 31; setp.lt.u32 %p1, %r2, 16;\n@!%p1 bra done;\nshfl.sync.idx.b32 %r9, %r1, {lane}, 31, 0xffff;\ndone: {STORE}"
        )
    };
    assert_eq!(refused(&half("3")), None);
    assert_eq!(refused(&half("20")), Some((Misuse::ShuffleSource { lane: 20 }, 5, 0)));
}

#[test]
fn lanes_of_a_warp_do_not_race() {
    const PLACE: &str = "mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 2; add.u32 %r3, %r2, %r3; xor.b32 %r4, %r3, 4;";
    let race = |m: Option<(Misuse, u32, u32)>| match m {
        Some((Misuse::WriteRace { other, line, .. }, at, thread)) => ("write", other[0], line, at, thread),
        Some((Misuse::ReadRace { other, line, .. }, at, thread)) => ("read", other[0], line, at, thread),
        other => panic!("{other:?}"),
    };
    // All lanes write to one place.
    assert_eq!(race(refused(&format!("{PLACE}\nst.shared.u32 [%r2], %r1;"))), ("write", 0, 4, 4, 1));
    assert_eq!(refused(&format!("{PLACE}\nst.shared.u32 [%r2], %r2;")), None);
    // A neighbour's word is read.
    let between = |sync: &str| {
        format!("{PLACE}\nst.shared.u32 [%r3], %r1;\n{sync}\nld.shared.u32 %r9, [%r4];\n{STORE}")
    };
    assert_eq!(race(refused(&between(""))), ("read", 1, 4, 6, 0));
    assert_eq!(race(refused(&between("membar.cta;"))), ("read", 1, 4, 6, 0));
    assert_eq!(refused(&between("bar.warp.sync -1;")), None);
    assert_eq!(refused(&between("bar.sync 0;")), None);
    // What goes elsewhere leaves the word as it was.
    let elsewhere =
        format!("{PLACE}\nst.shared.u32 [%r2], %r2; mov.u32 %r9, %r1; {STORE} st.shared.u32 [%r2], %r2;");
    assert_eq!(refused(&elsewhere), None);
    // Its own is another matter, and so are accesses that are ordered.
    assert_eq!(
        refused(&format!("{PLACE}\nst.shared.u32 [%r3], %r1; ld.shared.u32 %r9, [%r3]; {STORE}")),
        None
    );
    assert_eq!(
        refused(&format!(
            "{PLACE}\nst.volatile.shared.u32 [%r3], %r1; ld.volatile.shared.u32 %r9, [%r4]; {STORE}"
        )),
        None
    );
}

#[test]
fn shared_memory_must_be_written() {
    let body = "mov.u32 %r1, s;\nst.shared.u32 [%r1], 1; bar.sync 0; ld.shared.u32 %r9, [%r1];\nld.shared.u32 %r9, [%r1+8];";
    match refused(body) {
        Some((Misuse::UninitialisedShared { .. }, 5, 0)) => {}
        other => panic!("{other:?}"),
    }
}

/// What a kernel leaves in its buffer, under each of some seeds.
fn under_seeds(body: &str, grid: u32, block: u32, engine: Engine) -> Vec<Vec<u32>> {
    let device = device();
    let kernel = load(&device, body).kernel("k").expect("a kernel");
    let run = |seed| {
        let out = device.buffer::<u32>(64).expect("a buffer");
        let launch = kernel.launch().grid([grid, 1, 1]).block([block, 1, 1]).arg(&out);
        launch.engine(engine).schedule(seed).run().unwrap_or_else(|e| panic!("{e}"));
        out.to_vec().expect("it is there")
    };
    (0..8)
        .map(|seed| {
            let result = run(seed);
            assert_eq!(run(seed), result, "a seed is an order");
            result
        })
        .collect()
}

fn differ(results: &[Vec<u32>]) -> bool {
    results.iter().any(|r| *r != results[0])
}

#[test]
fn schedules_show_races_of_warps() {
    // An increment without an atomic, by one thread of each warp: updates are lost.
    let body = |add: &str| {
        format!(
            "mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; and.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0; mov.u32 %r5, 0;
             @%p1 bra done; again: {add} add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 10; @%p2 bra again; done:"
        )
    };
    let racy = under_seeds(
        &body("ld.global.u32 %r6, [%rd1]; add.u32 %r6, %r6, 1; st.global.u32 [%rd1], %r6;"),
        1,
        256,
        Engine::Auto,
    );
    assert!(differ(&racy), "{racy:?}");
    assert!(racy.iter().any(|r| r[0] < 80), "{racy:?}");
    let right = under_seeds(&body("red.global.add.u32 [%rd1], 1;"), 1, 256, Engine::Auto);
    assert!(!differ(&right) && right[0][0] == 80, "{right:?}");
}

#[test]
fn schedules_show_the_order_of_ctas() {
    for engine in engines() {
        let last = "mov.u32 %r1, %ctaid.x; ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], %r1;";
        assert!(differ(&under_seeds(last, 40, 32, engine)));
        let own = "mov.u32 %r1, %ctaid.x; ld.param.u64 %rd1, [out]; mad.wide.u32 %rd1, %r1, 4, %rd1; st.global.u32 [%rd1], %r1;";
        let right = under_seeds(own, 40, 32, engine);
        assert!(!differ(&right) && right[0][39] == 39);
    }
}

#[test]
fn barriers_hold_under_schedules() {
    let body = format!(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, s; and.b32 %r3, %r1, 63; shl.b32 %r3, %r3, 2; add.u32 %r3, %r2, %r3; xor.b32 %r4, %r3, 132; mov.u32 %r5, 0;
         mov.u32 %r9, %r1;
         again: st.shared.u32 [%r3], %r9; bar.sync 0; ld.shared.u32 %r6, [%r4]; mad.lo.u32 %r9, %r6, 3, %r1; bar.sync 0;
         add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 10; @%p2 bra again; {STORE}"
    );
    let results = under_seeds(&body, 1, 64, Engine::Auto);
    assert!(!differ(&results), "{results:?}");
}

//! Copies in the background: what a strict launch says of those that are relied on before anything has waited for them.

use hostwarp::{Device, Engine, Error, KernelFaultKind, Misuse, TooEarly, Wait};

const HEAD: &str = ".version 8.3 .target sm_90 .address_size 64\n";

/// Threads 0 to 63 have: `%r1` thread, `%r2` own word in `s`, `%r3` that of the neighbour, `%r4` that of the other warp, `%rd2` own word of the input, `%r5` 1024 bytes of
/// shared memory, `%r6` an mbarrier, `%p1` whether this is thread 0, `%rd3` the input, `%rd4` the output. The body begins in line 4.
const SETUP: &str = ".visible .entry k(.param .u64 in, .param .u64 out) { .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>; .shared .align 16 .b8 s[1024]; .shared .align 8 .b64 m; \
    mov.u32 %r1, %tid.x; mov.u32 %r5, s; mov.u32 %r6, m; shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r5; xor.b32 %r3, %r2, 4; xor.b32 %r4, %r2, 128; \
    ld.param.u64 %rd3, [in]; ld.param.u64 %rd4, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd5, %rd4, %rd2; add.u64 %rd2, %rd3, %rd2; setp.eq.u32 %p1, %r1, 0; mov.u32 %r9, 0;\n\n";
const COPY: &str = "cp.async.ca.shared.global [%r2], [%rd2], 4;\n";
const OUT: &str = "st.global.u32 [%rd5], %r9;";

/// What a strict launch refuses: what, in which line, of which thread. Engines agree, and what is not strict runs and leaves the same bits.
fn refused(body: &str) -> Option<(Misuse, u32, u32)> {
    refused_of(64, body)
}

fn refused_of(threads: u32, body: &str) -> Option<(Misuse, u32, u32)> {
    let all: Vec<_> =
        [Engine::Interp, Engine::Jit].into_iter().filter_map(|engine| on(engine, threads, body)).collect();
    assert!(all.iter().all(|one| *one == all[0]), "{all:?}");
    all.into_iter().next().expect("the interpreter is always there")
}

fn on(engine: Engine, threads: u32, body: &str) -> Option<Option<(Misuse, u32, u32)>> {
    let device = Device::builder().memory(1 << 24).build().expect("a device");
    if engine == Engine::Jit && device.llvm().is_err() {
        return None;
    }
    let module = device.load("copies.ptx", format!("{HEAD}{SETUP}{body}\n{OUT} ret; }}"));
    let kernel = module.unwrap_or_else(|e| panic!("{e}")).kernel("k").expect("a kernel");
    let input = device.buffer::<u32>(256).expect("a buffer");
    input.write(0, &std::array::from_fn::<u32, 256, _>(|i| 7 * i as u32 + 1)).expect("it fits");
    let out = device.buffer::<u32>(256).expect("a buffer");
    let launch = || kernel.launch().block([threads, 1, 1]).arg(&input).arg(&out).engine(engine);
    launch().run().unwrap_or_else(|e| panic!("{e}"));
    let plain = out.to_vec().expect("it is there");
    out.write(0, &[0; 256]).expect("it fits");
    Some(match launch().strict().run() {
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
    })
}

/// What was done too early: how, the copy's line and thread, why it may be under way; the line and the thread.
fn early(body: &str) -> (TooEarly, u32, u32, Wait, u32, u32) {
    early_of(64, body)
}

fn early_of(threads: u32, body: &str) -> (TooEarly, u32, u32, Wait, u32, u32) {
    match refused_of(threads, body) {
        Some((Misuse::UnderWay { access, other, line, wait, .. }, at, thread)) => {
            (access, line, other[0], wait, at, thread)
        }
        other => panic!("{other:?}\n{body}"),
    }
}

const READ: &str = "ld.shared.u32 %r9, [%r2];";

#[test]
fn copies_that_are_waited_for() {
    let own = |wait: &str| refused(&format!("{COPY}{wait}\n{READ}"));
    assert_eq!(own("cp.async.commit_group; cp.async.wait_group 0;"), None);
    assert_eq!(own("cp.async.wait_all;"), None);
    assert_eq!(own("cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;"), None);
    // The last group may stay: it is another one.
    assert_eq!(
        own(
            "cp.async.commit_group; cp.async.ca.shared.global [%r2+512], [%rd2], 4; cp.async.commit_group; cp.async.wait_group 1;"
        ),
        None
    );
    let done = "cp.async.commit_group; cp.async.wait_group 0;";
    assert_eq!(refused(&format!("{COPY}{done} bar.warp.sync -1;\nld.shared.u32 %r9, [%r3];")), None);
    assert_eq!(refused(&format!("{COPY}{done} bar.sync 0;\nld.shared.u32 %r9, [%r4];")), None);
    // What was never begun needs no wait.
    assert_eq!(
        refused(&format!(
            "@!%p1 {COPY} cp.async.wait_all; mov.u32 %r10, 5; @%p1 st.shared.u32 [%r2], %r10; {READ}"
        )),
        None
    );
    // A ring of two stages.
    let ring = "mov.u32 %r10, 0; cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group;
        again: add.u32 %r11, %r10, 1; and.b32 %r12, %r11, 1; shl.b32 %r12, %r12, 9; add.u32 %r12, %r12, %r2;
        setp.lt.u32 %p2, %r11, 6; @%p2 cp.async.ca.shared.global [%r12], [%rd2], 4, %r10; cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;
        and.b32 %r12, %r10, 1; shl.b32 %r12, %r12, 9; add.u32 %r12, %r12, %r4; ld.shared.u32 %r13, [%r12]; add.u32 %r9, %r9, %r13; bar.sync 0;
        mov.u32 %r10, %r11; @%p2 bra again;";
    assert_eq!(refused(&ring.replace(", 4, %r10", ", 4")), None);
}

#[test]
fn waits_that_are_missing() {
    let read = |wait: &str| early(&format!("{COPY}{wait}\n{READ}"));
    let (t, r) = (TooEarly::Read, |wait| (TooEarly::Read, 4, 0, wait, 6, 0));
    assert_eq!(read(""), r(Wait::None));
    assert_eq!(read("cp.async.commit_group;"), r(Wait::None));
    assert_eq!(read("bar.sync 0;"), r(Wait::None));
    // A wait without a commit.
    assert_eq!(read("cp.async.wait_group 0;"), r(Wait::NotCommitted { line: 5 }));
    assert_eq!(read("cp.async.wait_group 0; cp.async.commit_group;"), r(Wait::NotCommitted { line: 5 }));
    assert_eq!(read("cp.async.commit_group; cp.async.wait_group 1;"), r(Wait::Left { line: 5, groups: 1 }));
    // Only some threads wait, and another reads.
    let some = format!("{COPY}@%p1 cp.async.wait_all;\nbar.sync 0;\n{READ}");
    assert_eq!(early(&some), (t, 4, 1, Wait::None, 7, 1));
    let others = format!(
        "{COPY}setp.gt.u32 %p2, %r1, 31; @%p2 cp.async.wait_all; bar.sync 0; @!%p2 bra done;\nld.shared.u32 %r9, [%r4]; done:"
    );
    assert_eq!(early(&others), (t, 4, 0, Wait::None, 6, 32));
    // What it writes is written.
    let write = |word: &str| format!("{COPY}\nst.shared.u32 [%r2], {word};");
    assert_eq!(early(&write("%r1")), (TooEarly::Write, 4, 0, Wait::None, 6, 0));
    // Fewer bytes, or none, are written as well.
    let none = "setp.eq.u32 %p2, %r1, %r1; cp.async.ca.shared.global [%r2], [%rd2], 4, %p2;\n";
    assert_eq!(early(&format!("{none}{READ}")), (t, 4, 0, Wait::None, 5, 0));
    let few = "cp.async.ca.shared.global [%r2], [%rd2], 4, 1;\n";
    assert_eq!(early(&format!("{few}{READ}")), (t, 4, 0, Wait::None, 5, 0));
}

#[test]
fn other_threads_wait_for_more_than_the_copy() {
    let body = |sync: &str, from: &str| {
        refused(&format!("{COPY}cp.async.wait_all;\n{sync}\nld.shared.u32 %r9, [{from}];"))
    };
    assert!(matches!(body("", "%r3"), Some((Misuse::ReadRace { line: 4, .. }, 7, 0))));
    // The second warp runs behind the first, or it would be told of copies that are under way.
    let second =
        format!("{COPY}cp.async.wait_all;\nsetp.gt.u32 %p2, %r1, 31;\n@%p2 ld.shared.u32 %r9, [%r4];");
    assert!(matches!(refused(&second), Some((Misuse::CopyRace { line: 4, .. }, 7, 32))));
    assert_eq!(body("bar.sync 0;", "%r4"), None);
}

/// Thread 0 initialises the mbarrier for that many arrivals.
fn init(count: u32) -> String {
    format!("@%p1 mbarrier.init.shared.b64 [%r6], {count}; bar.sync 0;")
}

const AWAIT: &str = "wait: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0; @!%p2 bra wait;";

#[test]
fn mbarriers_track_copies() {
    let body = |threads: u32, arrive: &str, wait: &str| {
        let from = if threads == 64 { "%r4" } else { "%r3" };
        format!("{}\n{COPY}{arrive}\n{wait}\nld.shared.u32 %r9, [{from}];", init(threads))
    };
    let arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [%r6];";
    let more = "cp.async.mbarrier.arrive.shared.b64 [%r6]; mbarrier.arrive.shared.b64 %rd6, [%r6];";
    for threads in [32, 64] {
        assert_eq!(refused_of(threads, &body(threads, arrive, AWAIT)), None);
        assert_eq!(refused_of(threads, &body(threads, more, AWAIT)), None);
    }
    // Somebody arrives, but not for the copies.
    let plain = body(32, "mbarrier.arrive.shared.b64 %rd6, [%r6];", AWAIT);
    assert_eq!(early_of(32, &plain), (TooEarly::Read, 5, 1, Wait::None, 8, 0));
    // What has ended is the phase before, not the one that tracks them.
    let before = format!(
        "mbarrier.init.shared.b64 [%r6], 2;\n{COPY}{arrive}\n{}\n{READ}",
        AWAIT.replace("], 0", "], 1")
    );
    assert_eq!(early_of(1, &before), (TooEarly::Read, 5, 0, Wait::None, 8, 0));
}

const BULK: &str = "@%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 256;\n\
    @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd3], 256, [%r6];\n";

#[test]
fn bulk_copies_report_to_mbarriers() {
    let body = |wait: &str| format!("{}\n{BULK}{wait}\n{READ}", init(1));
    assert_eq!(refused(&body(AWAIT)), None);
    assert_eq!(refused(&body(&format!("{AWAIT} bar.sync 0;"))), None);
    let state = |wait: Wait| matches!(wait, Wait::Phase { .. });
    for nothing in ["bar.sync 0;", "cp.async.bulk.wait_group 0;", "cp.async.wait_all;"] {
        let (access, line, thread, wait, at, _) = early(&body(nothing));
        assert!(state(wait), "{nothing}: {wait:?}");
        assert_eq!((access, line, thread, at), (TooEarly::Read, 6, 0, 8), "{nothing}");
    }
    // Into another place of shared memory, what is there is read until the phase ends.
    let across = |wait: &str| {
        format!(
            "{} add.u32 %r10, %r5, 256; st.shared.u32 [%r2], %r1; bar.sync 0; fence.proxy.async; @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 256;\n\
             @%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r10], [%r5], 256, [%r6];\n{wait}\nst.shared.u32 [%r2], %r10; ld.shared.u32 %r9, [%r2+256];",
            init(1)
        )
    };
    assert_eq!(refused(&across(AWAIT)), None);
    let (access, line, ..) = early(&across("bar.sync 0;"));
    assert_eq!((access, line), (TooEarly::Overwrite, 5));
}

#[test]
fn asynchronous_stores_report_to_mbarriers() {
    let body = |wait: &str| {
        format!(
            "{} @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r6], 256;\nst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %r1, [%r6];\n{wait}\n{READ}",
            init(1)
        )
    };
    assert_eq!(refused(&body(AWAIT)), None);
    let (access, line, thread, wait, at, _) = early(&body("bar.sync 0;"));
    assert!(matches!(wait, Wait::Phase { .. }));
    assert_eq!((access, line, thread, at), (TooEarly::Read, 5, 0, 7));
}

#[test]
fn bulk_copies_out_of_shared_memory_read_it() {
    let body = |wait: &str| {
        format!(
            "st.shared.u32 [%r2], %r1; bar.sync 0; fence.proxy.async;\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4+512], [%r5], 256;\n{wait}\nbar.sync 0; st.shared.u32 [%r2], 5;"
        )
    };
    for enough in ["cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"] {
        assert_eq!(refused(&body(&format!("cp.async.bulk.commit_group; {enough}"))), None);
    }
    let overwrites = |wait: &str| {
        let (access, line, thread, wait, at, _) = early(&body(wait));
        assert_eq!((access, line, thread, at), (TooEarly::Overwrite, 5, 0, 7));
        wait
    };
    assert_eq!(overwrites(""), Wait::None);
    assert_eq!(overwrites("cp.async.bulk.commit_group;"), Wait::None);
    assert_eq!(overwrites("cp.async.bulk.wait_group.read 0;"), Wait::NotCommitted { line: 6 });
    assert_eq!(
        overwrites("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;"),
        Wait::Left { line: 6, groups: 1 }
    );
    // The groups of the other kind of copies are others.
    assert_eq!(overwrites("cp.async.commit_group; cp.async.wait_all;"), Wait::None);
    // It reads what may not be there yet.
    let early = early(&format!(
        "{COPY}bar.sync 0;\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd4+512], [%r5], 256;"
    ));
    assert_eq!(early, (TooEarly::Read, 4, 0, Wait::None, 6, 0));
}

#[test]
fn what_copies_and_mbarriers_write_is_written() {
    // Nothing here is uninitialised: the barrier itself, what a copy brings, 128 bits at once.
    let wide = "mov.b64 %rd6, 3; mov.b128 %w, {%rd6, %rd6}; and.b32 %r10, %r1, 31; shl.b32 %r10, %r10, 4; add.u32 %r10, %r5, %r10; st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9}; bar.sync 0; \
        atom.shared.exch.b128 %w, [%r10], %w; bar.sync 0; ld.shared.u32 %r9, [%r10];";
    assert_eq!(refused(&format!(".reg .b128 %w; {wide}")), None);
    let invalid = format!("{} bar.sync 0; @%p1 mbarrier.inval.shared.b64 [%r6]; bar.sync 0;", init(1));
    assert_eq!(refused(&invalid), None);
}

#[test]
fn the_message_says_what_is_missing() {
    let told = |body: &str| refused(body).expect("it is refused").0.to_string();
    assert_eq!(
        told(&format!("{COPY}cp.async.wait_group 0;\n{READ}"))
            .split(" is ")
            .skip(1)
            .collect::<Vec<_>>()
            .join(" is "),
        "read while the copy that thread (0, 0, 0) began (line 4) may still write it: the wait in line 5 is for groups only, and no `commit_group` came between"
    );
}

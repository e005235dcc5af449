//! Misuse of what warps do together and of what waits in memory: rows of matrices, copies, mbarriers. Each is an error that says what, in which line and
//! of which thread, the same on both engines.

use hostwarp::{Device, Engine};

fn engines(device: &Device) -> Vec<Engine> {
    let required = std::env::var("HOSTWARP_REQUIRE_LLVM").is_ok_and(|v| v == "1");
    match device.llvm() {
        Ok(_) => vec![Engine::Interp, Engine::Jit],
        Err(why) => {
            assert!(!required, "HOSTWARP_REQUIRE_LLVM is set, and there is no LLVM: {why}");
            vec![Engine::Interp]
        }
    }
}

/// A kernel that does `body`. `%t` is the thread, `%g` the address of 4 KiB, `tile` 1 KiB of shared memory behind which nothing is, `bar` two mbarriers.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{
    .shared .align 16 .b64 bar[2];
    .shared .align 1024 .b8 tile[1024];
    .reg .pred %p, %q;
    .reg .b32 %t, %row, %r<4>;
    .reg .b64 %g, %s;
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 0;
    ld.param.u64 %g, [data];
    shl.b32 %r0, %t, 4;
    mov.u32 %row, tile;
    add.u32 %row, %row, %r0;
    mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0;
{body}
    ret;
}}
"
    )
}

/// Runs a body that has to fail in the line marked `// here`, in a thread if one is given, with these words.
fn fails(body: &str, threads: u32, thread: Option<u32>, words: &[&str]) {
    let device = Device::builder().memory(1 << 26).threads(1).build().expect("a device");
    let text = kernel(body);
    let line = 1 + text.lines().position(|l| l.ends_with("// here")).expect("a marked line");
    let module = device.load("misuse.ptx", text.as_str()).unwrap_or_else(|e| panic!("{e}"));
    let mut said: Vec<String> = vec![];
    for engine in engines(&device) {
        let data = device.buffer_named::<u32>("data", 1024).expect("a buffer");
        let kernel = module.kernel("k").expect("a kernel");
        let launch = kernel.launch().block([threads, 1, 1]).engine(engine).arg(&data);
        let error = launch.run().expect_err(body).to_string();
        assert!(error.contains(&format!("line {line}")), "{engine:?}\n{body}\nline {line}: {error}");
        if let Some(thread) = thread {
            assert!(error.contains(&format!("thread ({thread}, 0, 0)")), "{engine:?}\n{body}\n{error}");
        }
        for word in words {
            assert!(error.contains(word), "{engine:?}\n{body}\n`{word}`: {error}");
        }
        // Addresses of buffers differ; who finds a deadlock is whoever waited last.
        let first = error.lines().next().unwrap_or_default().split(" 0x").next().unwrap_or_default();
        let (before, after) = first.split_once(", thread (").unwrap_or((first, ""));
        let who = if thread.is_some() { after } else { after.split_once("): ").map_or("", |(_, why)| why) };
        said.push(format!("{before} {who}"));
    }
    assert!(said.iter().all(|s| *s == said[0]), "{said:?}");
}

/// As a body, with thread 0 alone.
fn alone(instructions: &str) -> String {
    format!("    @!%p bra OUT;\n{instructions}\nOUT:")
}

/// An mbarrier for `count`, then `then`, by thread 0.
fn with_barrier(count: u32, then: &str) -> String {
    alone(&format!("    mbarrier.init.shared.b64 [bar], {count};\n{then}"))
}

#[test]
fn rows_of_matrices() {
    let move_thread_5 = "    setp.eq.u32 %q, %t, 5;\n";
    let load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%row]; // here";
    let turned = "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r0, %r1}, [%row]; // here";
    let store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {%r0, %r1, %r2, %r3}; // here";
    for instruction in [load, turned, store] {
        let body = format!("{move_thread_5}    @%q add.u32 %row, %row, 8;\n    {instruction}");
        fails(&body, 32, Some(5), &["misaligned", "16-byte shared"]);
        let body = format!("{move_thread_5}    @%q add.u32 %row, %row, 4096;\n    {instruction}");
        fails(&body, 32, Some(5), &["shared"]);
    }
    // Addresses of lanes that no matrix is loaded for are not looked at.
    let body = "    setp.ge.u32 %q, %t, 16;\n    @%q add.u32 %row, %row, 4100;\n    ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r0, %r1}, [%row];\n    @%p st.global.u32 [%g+4096], %r0; // here";
    fails(body, 32, Some(0), &["4-byte store"]);
}

#[test]
fn lanes_that_do_not_come() {
    let some = "    setp.lt.u32 %q, %t, 31;\n";
    for instruction in [
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r0, %r1, %r2, %r3}, {%r2, %r3}, {%r0, %r1};",
        "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r0, %r1, %r2, %r3}, {%r0, %r1}, {%r2, %r3}, {%r0, %r1, %r2, %r3};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r0, %r1}, {%r2, %r3}, {%r0, %r1}, %r2, 0;",
        "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%row], {%r0};",
    ] {
        fails(&format!("{some}    @%q {instruction} // here"), 32, None, &["lanes are missing"]);
        fails(&format!("    {instruction} // here"), 48, None, &["lanes are missing"]);
    }
}

#[test]
fn copies() {
    let bulk = |to: &str, from: &str, bytes: u32| {
        with_barrier(
            1,
            &format!(
                "    cvta.shared.u64 %s, bar;\n    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [{from}], {bytes}, [bar]; // here"
            ),
        )
    };
    // `bytes` in a register, or the checker says so.
    let odd = with_barrier(
        1,
        "    mov.u32 %r1, 20;\n    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%g], %r1, [bar]; // here",
    );
    fails(&odd, 32, Some(0), &["20 bytes", "multiple of 16"]);
    fails(&bulk("tile+8", "%g", 32), 32, Some(0), &["misaligned"]);
    fails(&bulk("tile", "%g+8", 32), 32, Some(0), &["misaligned"]);
    fails(&bulk("tile+1008", "%g", 32), 32, Some(0), &["shared"]);
    fails(&bulk("tile", "%g+4080", 32), 32, Some(0), &["`data`"]);
    let no_barrier = alone(
        "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%g], 32, [bar]; // here",
    );
    fails(&no_barrier, 32, Some(0), &["mbarrier", "never initialised"]);
    let out = alone("    cp.async.bulk.global.shared::cta.bulk_group [%g+4080], [tile], 32; // here");
    fails(&out, 32, Some(0), &["`data`"]);
    fails(&alone("    cp.async.cg.shared.global [tile+8], [%g], 16; // here"), 32, Some(0), &["misaligned"]);
    fails(&alone("    cp.async.ca.shared.global [tile], [%g+2], 4; // here"), 32, Some(0), &["misaligned"]);
    fails(&alone("    cp.async.ca.shared.global [tile], [%g+4096], 4; // here"), 32, Some(0), &["`data`"]);
    fails(&alone("    cp.async.ca.shared.global [tile+1024], [%g], 4; // here"), 32, Some(0), &["shared"]);
}

#[test]
fn counts_of_mbarriers() {
    let count =
        |n: u32| alone(&format!("    mov.u32 %r1, {n};\n    mbarrier.init.shared.b64 [bar], %r1; // here"));
    fails(&count(1 << 20), 32, Some(0), &["a count of 1048576", "1 to 1048575"]);
    fails(&count(0), 32, Some(0), &["a count of 0"]);
    // The largest there is is none of these.
    let most = with_barrier(
        (1 << 20) - 1,
        "    mbarrier.arrive.shared.b64 %s, [bar], 1048575;\n    mbarrier.arrive.shared.b64 %s, [bar], 1048575;\n    mbarrier.arrive.shared.b64 %s, [bar+8]; // here",
    );
    fails(&most, 32, Some(0), &["never initialised"]);
    let arrive =
        |n: u32| format!("    mov.u32 %r1, {n};\n    mbarrier.arrive.shared.b64 %s, [bar], %r1; // here");
    fails(&with_barrier(2, &arrive(3)), 32, Some(0), &["waits for 2 arrivals", "3 arrive"]);
    fails(&with_barrier(2, &arrive(0)), 32, Some(0), &["a count of 0"]);
    fails(&with_barrier(2, &arrive(1 << 20)), 32, Some(0), &["a count of 1048576"]);
    fails(
        &with_barrier(
            2,
            "    mbarrier.arrive_drop.shared.b64 %s, [bar];\n    mbarrier.arrive_drop.shared.b64 %s, [bar], 2; // here",
        ),
        32,
        Some(0),
        &["expects 1 arrivals, and 2 drop out"],
    );
    fails(
        &with_barrier(1, "    mbarrier.arrive.noComplete.shared.b64 %s, [bar], 1; // here"),
        32,
        Some(0),
        &["completes its phase"],
    );
    let expect = "    mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1048575;\n";
    fails(
        &with_barrier(2, &format!("{expect}    mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 1; // here")),
        32,
        Some(0),
        &["tx-count of 1048576"],
    );
    let complete = "    mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 1048575;\n";
    fails(
        &with_barrier(
            2,
            &format!("{complete}    mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 1; // here"),
        ),
        32,
        Some(0),
        &["tx-count of -1048576"],
    );
    fails(
        &with_barrier((1 << 20) - 1, "    cp.async.mbarrier.arrive.shared.b64 [bar]; // here"),
        32,
        Some(0),
        &["more than 1048575 arrivals"],
    );
}

/// What may be done to one that is there is refused where none is: never initialised, invalidated, written over.
#[test]
fn mbarriers_that_are_none() {
    for use_it in [
        "mbarrier.arrive.shared.b64 %s, [bar];",
        "mbarrier.arrive_drop.shared.b64 %s, [bar];",
        "mbarrier.arrive.expect_tx.shared.b64 %s, [bar], 16;",
        "mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 16;",
        "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 16;",
        "mbarrier.test_wait.shared.b64 %q, [bar], 0;",
        "mbarrier.test_wait.parity.shared.b64 %q, [bar], 1;",
        "mbarrier.try_wait.parity.shared.b64 %q, [bar], 0;",
        "mbarrier.inval.shared.b64 [bar];",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
    ] {
        // An immediate is no state.
        let use_it = use_it
            .replace("[bar], 0;", "[bar], %s;")
            .replace("parity.shared.b64 %q, [bar], %s", "parity.shared.b64 %q, [bar], 0");
        for before in [
            "",
            "    mbarrier.init.shared.b64 [bar], 1;\n    mbarrier.inval.shared.b64 [bar];\n",
            "    mbarrier.init.shared.b64 [bar], 1;\n    st.shared.u64 [bar], 5;\n",
        ] {
            fails(
                &alone(&format!("    mov.b64 %s, 0;\n{before}    {use_it} // here")),
                32,
                Some(0),
                &["mbarrier", "never initialised, or is invalid"],
            );
        }
    }
    fails(&alone("    mbarrier.arrive.b64 %s, [%g]; // here"), 32, Some(0), &["not in shared memory"]);
    fails(&alone("    mbarrier.init.shared.b64 [bar+4], 1; // here"), 32, Some(0), &["misaligned"]);
    fails(&alone("    mbarrier.init.shared.b64 [tile+1024], 1; // here"), 32, Some(0), &["shared"]);
}

#[test]
fn mbarriers_that_are_there_already() {
    fails(
        &with_barrier(1, "    mbarrier.init.shared.b64 [bar], 1; // here"),
        32,
        Some(0),
        &["initialised again without `mbarrier.inval`"],
    );
    // Not where it was invalidated, or the memory was used for something else.
    let fine = "    mbarrier.inval.shared.b64 [bar];\n    mbarrier.init.shared.b64 [bar], 1;\n    st.shared.u64 [bar], 0;\n    mbarrier.init.shared.b64 [bar], 1;\n    st.global.u32 [%g+4096], %t; // here";
    fails(&with_barrier(1, fine), 32, Some(0), &["`data`"]);
}

/// Waits that nobody ends name the mbarrier, and the threads that wait elsewhere.
#[test]
fn waits_without_end() {
    let wait = "WAIT:\n    mbarrier.try_wait.parity.shared.b64 %q, [bar], 0; // here\n    @!%q bra WAIT;";
    let body = |count: u32| {
        format!(
            "    @%p mbarrier.init.shared.b64 [bar], {count};\n    bar.sync 0;\n    mbarrier.arrive.shared.b64 %s, [bar];\n{wait}"
        )
    };
    fails(&body(65), 64, None, &["deadlock", "threads 0-63 wait for the mbarrier at"]);
    // Warp 1 has left, warp 0 waits for its arrival.
    let left = format!(
        "    @%p mbarrier.init.shared.b64 [bar], 64;\n    bar.sync 0;\n    setp.ge.u32 %q, %t, 32;\n    @%q exit;\n    mbarrier.arrive.shared.b64 %s, [bar];\n{wait}"
    );
    fails(&left, 64, None, &["deadlock", "threads 0-31 wait for the mbarrier at"]);
    // Warp 1 waits at a barrier of the CTA.
    let elsewhere = format!(
        "    @%p mbarrier.init.shared.b64 [bar], 64;\n    bar.sync 0;\n    setp.ge.u32 %q, %t, 32;\n    @%q bra OTHER;\n    mbarrier.arrive.shared.b64 %s, [bar];\n{wait}\nOTHER:\n    bar.sync 1;"
    );
    fails(
        &elsewhere,
        64,
        None,
        &["deadlock", "threads 0-31 wait for the mbarrier at", "threads 32-63 wait at barrier 1"],
    );
    // Copies that were expected and that nobody makes.
    let copies = format!(
        "    @%p mbarrier.init.shared.b64 [bar], 1;\n    bar.sync 0;\n    @%p mbarrier.arrive.expect_tx.shared.b64 %s, [bar], 64;\n{wait}"
    );
    fails(&copies, 64, None, &["deadlock", "threads 0-63 wait for the mbarrier at"]);
}

//! What goes wrong: the same precise message on both engines, and a device that works on.

use hostwarp::{Arg, Buffer, Device, Effort, Engine, Error, ErrorKind, LaunchBuilder, Module};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// As `quick.rs` has it, or with care.
const EFFORT: Effort = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"quick" => Effort::Quick,
    _ => Effort::Best,
};

/// Each kernel goes wrong, if it does, in the line marked with its name.
const PTX: &str = include_str!("faults.ptx");

/// The engines to test. Without a libLLVM only one, unless both are required.
fn engines() -> Vec<Engine> {
    match device().llvm() {
        Ok(_) => vec![Engine::Interp, Engine::Jit],
        Err(why) => {
            let required = std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some_and(|v| v != "0");
            assert!(!required, "{why}");
            eprintln!("the jit is left out: {why}");
            vec![Engine::Interp]
        }
    }
}

fn device() -> Device {
    Device::builder().memory(1 << 26).threads(2).effort(EFFORT).build().expect("a device")
}

fn load(device: &Device) -> Module {
    device.load("faults.ptx", PTX).unwrap_or_else(|e| panic!("{e}"))
}

/// Line of `PTX` marked with a name.
fn line(marker: &str) -> usize {
    let marker = format!("// {marker}");
    1 + PTX.lines().position(|l| l.contains(';') && l.ends_with(&marker)).expect("a marked line")
}

/// Launches a kernel that has to fail, on each engine, at several widths, each on a device of its own. The message must be what `expected` makes of the
/// buffer, and the device must run other kernels afterwards.
fn fails(
    kernel: &str,
    configure: impl Fn(LaunchBuilder<'_>, &Buffer<u32>) -> Result<(), Error>,
    kind: ErrorKind,
    expected: impl Fn(&Buffer<u32>) -> String,
) {
    for (engine, width) in engines().into_iter().flat_map(widths) {
        let device = device();
        let module = load(&device);
        let buffer = device.buffer_named::<u32>("data", 50).expect("a buffer");
        let entry = module.kernel(kernel).expect("a kernel");
        let mut launch = entry.launch().engine(engine);
        if let Some(width) = width {
            launch = launch.exact_width(width);
        }
        let how = format!("{engine:?}, width {width:?}");
        let error = configure(launch, &buffer).expect_err("a failing launch");
        assert_eq!(error.to_string(), expected(&buffer), "{how}");
        assert_eq!(error.kind(), kind, "{how}: {error}");
        works(&module, engine);
    }
}

fn widths(engine: Engine) -> Vec<(Engine, Option<u32>)> {
    match engine {
        Engine::Jit => [None, Some(8), Some(16)].map(|w| (engine, w)).to_vec(),
        _ => vec![(engine, None)],
    }
}

fn works(module: &Module, engine: Engine) {
    let out = module.device().buffer::<u32>(100).expect("a buffer");
    let number = module.kernel("number").expect("a kernel");
    number.launch().engine(engine).grid([2, 1, 1]).block([50, 1, 1]).arg(&out).run().expect("a launch");
    assert_eq!(out.to_vec().expect("its contents"), (0..100).collect::<Vec<u32>>());
}

fn run(launch: LaunchBuilder<'_>) -> Result<(), Error> {
    launch.run().map(|_| ())
}

#[test]
fn past_the_end_of_a_buffer() {
    // 64 threads in the second CTA reach past 50 elements: the first to do so is number 50, thread 18 of CTA 1.
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 200, b.address());
        format!(
            "kernel `number`, line {}, CTA (1, 0, 0), thread (18, 0, 0): 4-byte store at {at:#x} is directly past the end of the \
             200-byte allocation at {base:#x} (`data`)",
            line("number")
        )
    };
    let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.grid([2, 1, 1]).block([32, 1, 1]).arg(b));
    fails("number", launch, ErrorKind::Fault, expected);
}

#[test]
fn rows_that_move_on_together_leave_where_the_first_of_them_does() {
    // Two rows of 16 threads on 50 words: (first, second, turns, step), and which thread is the first to leave them, where.
    let cases = [
        ((4u32, 4u32, 9u32, 16i64), (14, 1), 50i64),
        // The first distance would do; with the second the last row leaves in its third turn.
        ((4, 27, 3, 16), (15, 1), 50),
        // At once.
        ((4, 36, 1, 16), (14, 1), 50),
        // Backwards it is the first row.
        ((4, 4, 2, -4), (0, 0), -1),
    ];
    for ((first, second, turns, step), (x, y), word) in cases {
        let expected = |b: &Buffer<u32>| {
            let (at, base) = (b.address().wrapping_add_signed(4 * word), b.address());
            let place = if word < 0 { "4 bytes before" } else { "directly past the end of" };
            format!(
                "kernel `rows`, line {}, CTA (0, 0, 0), thread ({x}, {y}, 0): 4-byte load at {at:#x} is {place} the \
                 200-byte allocation at {base:#x} (`data`)",
                line("rows")
            )
        };
        let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| {
            run(l.block([16, 2, 1]).arg(b).arg(first).arg(second).arg(turns).arg(step))
        };
        fails("rows", launch, ErrorKind::Fault, expected);
    }
}

#[test]
fn part_of_the_threads_past_the_end() {
    // 50 elements: in pieces of some lanes, the one that reaches past them is begun by lanes that do not.
    for threads in [64, 256, 512] {
        let expected = |b: &Buffer<u32>| {
            let (at, base) = (b.address() + 200, b.address());
            assert_eq!(b.to_vec().expect("its contents")[..48], (0..48).collect::<Vec<u32>>());
            format!(
                "kernel `part`, line {}, CTA (0, 0, 0), thread (50, 0, 0): 4-byte store at {at:#x} is directly past the end of the \
                 200-byte allocation at {base:#x} (`data`)",
                line("part")
            )
        };
        let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([threads, 1, 1]).arg(b).arg(53u32));
        fails("part", launch, ErrorKind::Fault, expected);
    }
}

#[test]
fn strided_past_the_end() {
    // 12 bytes apart, thread 17 reads at 204.
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 204, b.address());
        format!(
            "kernel `gather`, line {}, CTA (0, 0, 0), thread (17, 0, 0): 4-byte load at {at:#x} is 4 bytes past the end of the \
             200-byte allocation at {base:#x} (`data`)",
            line("gather")
        )
    };
    let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([40, 1, 1]).arg(b).arg(12u32).arg(b));
    fails("gather", launch, ErrorKind::Fault, expected);
}

#[test]
fn before_a_buffer() {
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() - 8, b.address());
        format!(
            "kernel `gather`, line {}, CTA (0, 0, 0), thread (0, 0, 0): 4-byte load at {at:#x} is 8 bytes before the 200-byte \
             allocation at {base:#x} (`data`)",
            line("gather")
        )
    };
    let launch =
        |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([8, 1, 1]).arg(b.address() - 8).arg(4u32).arg(b));
    fails("gather", launch, ErrorKind::Fault, expected);
}

#[test]
fn null() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `gather`, line {}, CTA (0, 0, 0), thread (0, 0, 0): 4-byte load at 0x0 goes through a null pointer",
            line("gather")
        )
    };
    for scale in [0u32, 4] {
        let launch =
            |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([40, 1, 1]).arg(0u64).arg(scale).arg(b));
        fails("gather", launch, ErrorKind::Fault, expected);
    }
}

#[test]
fn freed() {
    for engine in engines() {
        let device = device();
        let module = load(&device);
        let kernel = module.kernel("number").expect("a kernel");
        let old = device.buffer_named::<u32>("old", 10).expect("a buffer");
        let address = old.address();
        drop(old);
        let error = run(kernel.launch().engine(engine).block([4, 1, 1]).arg(address)).expect_err("a fault");
        let expected = format!(
            "kernel `number`, line {}, CTA (0, 0, 0), thread (0, 0, 0): 4-byte store at {address:#x} is 0 bytes into the 40-byte \
             allocation at {address:#x} (`old`), which has been freed",
            line("number")
        );
        assert_eq!(error.to_string(), expected, "{engine:?}");
        works(&module, engine);
    }
}

#[test]
fn misaligned() {
    // Thread 0 reads at 0, 1 at 2.
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 2, b.address());
        format!(
            "kernel `gather`, line {}, CTA (0, 0, 0), thread (1, 0, 0): 4-byte load at {at:#x} is misaligned: the address must be \
             a multiple of 4 (in the 200-byte allocation at {base:#x} (`data`))",
            line("gather")
        )
    };
    let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([40, 1, 1]).arg(b).arg(2u32).arg(b));
    fails("gather", launch, ErrorKind::Fault, expected);
}

#[test]
fn misaligned_in_every_second_lane_of_a_known_distance() {
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 2, b.address());
        format!(
            "kernel `halves`, line {}, CTA (0, 0, 0), thread (1, 0, 0): 4-byte load at {at:#x} is misaligned: the address must be \
             a multiple of 4 (in the 200-byte allocation at {base:#x} (`data`))",
            line("halves")
        )
    };
    for threads in [8, 32, 64] {
        let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([threads, 1, 1]).arg(b));
        fails("halves", launch, ErrorKind::Fault, expected);
    }
}

#[test]
fn misaligned_vector() {
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 8, b.address());
        format!(
            "kernel `vector`, line {}, CTA (0, 0, 0), thread (0, 0, 0): 16-byte load at {at:#x} is misaligned: the address must be \
             a multiple of 16 (in the 200-byte allocation at {base:#x} (`data`))",
            line("vector")
        )
    };
    let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([2, 1, 1]).arg(b.address() + 8));
    fails("vector", launch, ErrorKind::Fault, expected);
}

#[test]
fn a_vector_runs_over_the_end() {
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 192, b.address());
        format!(
            "kernel `vector`, line {}, CTA (0, 0, 0), thread (0, 0, 0): 16-byte load at {at:#x} runs 8 bytes over the end of the \
             200-byte allocation at {base:#x} (`data`)",
            line("vector")
        )
    };
    let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.arg(b.address() + 192));
    fails("vector", launch, ErrorKind::Fault, expected);
}

#[test]
fn an_atomic_past_the_end() {
    let expected = |b: &Buffer<u32>| {
        let (at, base) = (b.address() + 200, b.address());
        format!(
            "kernel `atomic`, line {}, CTA (0, 0, 0), thread (50, 0, 0): 4-byte atomic at {at:#x} is directly past the end of the \
             200-byte allocation at {base:#x} (`data`)",
            line("atomic")
        )
    };
    let launch = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([64, 1, 1]).arg(b));
    fails("atomic", launch, ErrorKind::Fault, expected);
}

#[test]
fn outside_of_shared_memory() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `shared`, line {}, CTA (0, 0, 0), thread (40, 0, 0): 4-byte shared store at offset 0x4a0 is directly past the \
             end of the CTA's shared memory (1184 bytes)",
            line("shared")
        )
    };
    fails("shared", |l, _| run(l.block([64, 1, 1]).arg(0u32)), ErrorKind::Fault, expected);
}

#[test]
fn outside_of_local_memory() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `local`, line {}, CTA (0, 0, 0), thread (1, 0, 0): 4-byte local store at offset 0x10 is directly past the end \
             of the thread's local memory (16 bytes)",
            line("local")
        )
    };
    fails("local", |l, b| run(l.block([4, 1, 1]).arg(b).arg(3u32)), ErrorKind::Fault, expected);
}

#[test]
fn misaligned_in_shared_and_local_memory() {
    // Shared memory begins behind what the system has reserved.
    for (which, what, offset) in [(0u32, "shared load", "0x402"), (1, "local store", "0x2")] {
        let marker = if which == 0 { "crooked, shared" } else { "crooked, local" };
        let expected = |_: &Buffer<u32>| {
            format!(
                "kernel `crooked`, line {}, CTA (0, 0, 0), thread (1, 0, 0): 4-byte {what} at offset {offset} is misaligned: the address \
                 must be a multiple of 4",
                line(marker)
            )
        };
        fails("crooked", |l, _| run(l.block([8, 1, 1]).arg(which)), ErrorKind::Fault, expected);
    }
}

#[test]
fn constants_cannot_be_written() {
    for engine in engines() {
        let module = load(&device());
        let kernel = module.kernel("constants").expect("a kernel");
        let error = run(kernel.launch().engine(engine)).expect_err("a fault");
        let text = error.to_string();
        let place =
            format!("kernel `constants`, line {}, CTA (0, 0, 0), thread (0, 0, 0): ", line("constants"));
        assert!(text.starts_with(&place), "{engine:?}: {text}");
        assert!(text.ends_with("writes to const memory, which kernels can only read"), "{engine:?}: {text}");
        assert_eq!(module.read_symbol("constant").expect("its bytes"), 5u32.to_le_bytes());
        works(&module, engine);
    }
}

#[test]
fn parameters_cannot_be_written() {
    let expected = |kernel: &str, thread: u32, what: &str| {
        format!(
            "kernel `{kernel}`, line {}, CTA (0, 0, 0), thread ({thread}, 0, 0): 4-byte {what} at 0x1000300000000 writes to param \
             memory, which kernels can only read",
            line(kernel)
        )
    };
    let launch = |l: LaunchBuilder<'_>, _: &Buffer<u32>| run(l.block([64, 1, 1]).arg(5u32));
    fails("parameters", launch, ErrorKind::Fault, |_| expected("parameters", 0, "store"));
    fails("counted", launch, ErrorKind::Fault, |_| expected("counted", 41, "atomic"));
    // By name or through a register `st.param` is refused when the module is loaded.
    for address in ["limit", "%p"] {
        let ptx = format!(
            ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 limit)\n{{\n.reg .b64 %p;\n\
             mov.u64 %p, limit;\nst.param.u32 [{address}], 6;\nret;\n}}\n"
        );
        let error = device().load("param.ptx", &ptx).expect_err("no way to write a parameter");
        assert_eq!(error.kind(), ErrorKind::Input);
        let text = error.to_string();
        assert!(text.contains("E0024") && text.contains("cannot be written"), "{text}");
        assert!(text.contains("param.ptx:8:14"), "{text}");
    }
}

#[test]
fn past_the_end_of_the_parameters() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `parameter`, line {}, CTA (0, 0, 0), thread (1, 0, 0): 8-byte param load at offset 0x8 is directly past the end \
             of the kernel's parameters (8 bytes)",
            line("parameter")
        )
    };
    fails("parameter", |l, b| run(l.block([2, 1, 1]).arg(b)), ErrorKind::Fault, expected);
}

#[test]
fn a_generic_address_that_leads_nowhere() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `store`, line {}, CTA (0, 0, 0), thread (0, 0, 0): 4-byte store at 0xdeadbeef0000 is in no allocation",
            line("store")
        )
    };
    fails("store", |l, _| run(l.arg(0xdead_beef_0000u64)), ErrorKind::Fault, expected);
}

#[test]
fn traps_and_breakpoints() {
    let expected = |_: &Buffer<u32>| {
        format!("kernel `trapped`, line {}, CTA (0, 0, 0), thread (37, 0, 0): trap", line("trapped"))
    };
    fails("trapped", |l, _| run(l.block([64, 1, 1]).arg(37u32)), ErrorKind::Fault, expected);
    let expected = |_: &Buffer<u32>| {
        format!("kernel `stopped`, line {}, CTA (0, 0, 0), thread (0, 0, 0): breakpoint", line("stopped"))
    };
    fails("stopped", |l, _| run(l.block([64, 1, 1])), ErrorKind::Fault, expected);
}

#[test]
fn barriers_that_never_complete() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `deadlock`, line {0}, CTA (0, 0, 0): deadlock: no thread of the CTA can go on\n  threads 0-31 wait at barrier 1 (line {0})\n  \
             threads 32-63 wait at barrier 3 (line {1})",
            line("deadlock, first"),
            line("deadlock, second")
        )
    };
    fails("deadlock", |l, _| run(l.block([64, 1, 1])), ErrorKind::Fault, expected);
}

#[test]
fn barriers_that_do_not_exist() {
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `barrier`, line {}, CTA (0, 0, 0), thread (0, 0, 0): barrier 16 does not exist; a CTA has barriers 0 to 15",
            line("barrier")
        )
    };
    fails("barrier", |l, _| run(l.block([64, 1, 1]).arg(16u32).arg(64u32)), ErrorKind::Fault, expected);
    let expected = |_: &Buffer<u32>| {
        format!(
            "kernel `barrier`, line {}, CTA (0, 0, 0), thread (0, 0, 0): barrier 2 waits for 40 threads, which is no positive \
             multiple of 32",
            line("barrier")
        )
    };
    fails("barrier", |l, _| run(l.block([64, 1, 1]).arg(2u32).arg(40u32)), ErrorKind::Fault, expected);
}

#[test]
fn endless_loops_run_out_of_fuel() {
    for engine in engines() {
        let device = device();
        let module = load(&device);
        let flag = device.buffer::<u32>(2).expect("a buffer");
        let kernel = module.kernel("endless").expect("a kernel");
        let launch = kernel.launch().engine(engine).block([40, 1, 1]).arg(&flag).fuel(100_000);
        let error = run(launch).expect_err("no end");
        let expected = format!(
            "kernel `endless`, line {}, CTA (0, 0, 0), thread (0, 0, 0): the instruction budget of the launch is used up",
            line("endless")
        );
        assert_eq!(error.to_string(), expected, "{engine:?}");
        // The fuel is the launch's, not the device's; and what ends in time is not stopped.
        flag.write(0, &[1]).expect("a write");
        run(kernel.launch().engine(engine).block([40, 1, 1]).arg(&flag).fuel(100_000)).expect("enough");
        works(&module, engine);
    }
}

/// Waits until the kernel has written that it runs.
fn started(flag: &Buffer<u32>) {
    while flag.to_vec().expect("a read")[1] == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn endless_loops_run_out_of_time() {
    for engine in engines() {
        let device = device();
        let module = load(&device);
        let flag = device.buffer::<u32>(2).expect("a buffer");
        let kernel = module.kernel("endless").expect("a kernel");
        let launch = || kernel.launch().engine(engine).grid([3, 1, 1]).block([40, 1, 1]).arg(&flag);
        // Getting ready takes time, too.
        run(launch().fuel(1000)).expect_err("no end");
        let (began, launch) = (Instant::now(), launch());
        let error = run(launch.timeout(Duration::from_secs(1))).expect_err("no end");
        let text = error.to_string();
        let place = format!("kernel `endless`, line {}, CTA (", line("endless"));
        assert!(text.starts_with(&place), "{engine:?}: {text}");
        let end = ", 0, 0), thread (0, 0, 0): the launch ran past its time limit";
        assert!(text.ends_with(end), "{engine:?}: {text}");
        assert!(began.elapsed() < Duration::from_secs(20), "{engine:?}: stopped after {:?}", began.elapsed());
        works(&module, engine);
    }
}

#[test]
fn a_launch_can_be_cancelled() {
    for engine in engines() {
        let device = device();
        let module = load(&device);
        let flag = device.buffer::<u32>(2).expect("a buffer");
        let kernel = module.kernel("endless").expect("a kernel");
        let cancel = Arc::new(AtomicBool::new(false));
        let error = std::thread::scope(|scope| {
            let launch = kernel.launch().engine(engine).block([40, 1, 1]).arg(&flag).cancel(cancel.clone());
            let running = scope.spawn(|| run(launch.timeout(Duration::from_secs(20))).expect_err("no end"));
            started(&flag);
            cancel.store(true, Ordering::Relaxed);
            running.join().expect("a result")
        });
        let expected = format!(
            "kernel `endless`, line {}, CTA (0, 0, 0), thread (0, 0, 0): the launch was cancelled",
            line("endless")
        );
        assert_eq!(error.to_string(), expected, "{engine:?}");
        works(&module, engine);
    }
}

#[test]
fn the_host_can_end_a_loop() {
    // What the host writes reaches a kernel that is running.
    for engine in engines() {
        let device = device();
        let module = load(&device);
        let flag = device.buffer::<u32>(2).expect("a buffer");
        let kernel = module.kernel("endless").expect("a kernel");
        std::thread::scope(|scope| {
            let launch = kernel.launch().engine(engine).block([40, 1, 1]).arg(&flag);
            let running = scope.spawn(|| run(launch.timeout(Duration::from_secs(20))));
            started(&flag);
            flag.write(0, &[1]).expect("a write");
            running.join().expect("a result").expect("an end");
        });
    }
}

#[test]
fn launches_that_are_too_large() {
    let is = |text: &str| {
        let text = text.to_string();
        move |_: &Buffer<u32>| text.clone()
    };
    let block = |x, y, z| move |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.block([x, y, z]).arg(b));
    let limit = "at most 1024 are allowed, at most 64 along z";
    fails(
        "number",
        block(1025, 1, 1),
        ErrorKind::Launch,
        is(&format!("a block of 1025×1×1 has 1025 threads; {limit}")),
    );
    fails(
        "number",
        block(1, 1, 65),
        ErrorKind::Launch,
        is(&format!("a block of 1×1×65 has 65 threads; {limit}")),
    );
    fails(
        "number",
        block(u32::MAX, u32::MAX, u32::MAX),
        ErrorKind::Launch,
        is(&format!(
            "a block of {0}×{0}×{0} has {1} threads; {limit}",
            u32::MAX,
            u128::from(u32::MAX).pow(3)
        )),
    );
    let zero = "grid 1×1×1 and block 32×0×1 must be at least 1 in every direction";
    fails("number", block(32, 0, 1), ErrorKind::Launch, is(zero));
    fails(
        "number",
        |l, b| run(l.grid([1, 65536, 1]).arg(b)),
        ErrorKind::Launch,
        is("a grid of 1×65536×1 is too large: at most 2147483647×65535×65535 CTAs are allowed"),
    );
    fails(
        "number",
        |l, b| run(l.shared(300_000).arg(b)),
        ErrorKind::Launch,
        is("300000 bytes of shared memory are wanted; a block has at most 232448"),
    );
    fails(
        "much",
        |l, b| run(l.shared(200_000).arg(b)),
        ErrorKind::Launch,
        is("240000 bytes of shared memory are wanted; a block has at most 232448"),
    );
    fails(
        "fixed",
        block(64, 1, 1),
        ErrorKind::Launch,
        is("the kernel requires blocks of 32×2×1 (.reqntid), not 64×1×1"),
    );
    fails(
        "small",
        block(65, 1, 1),
        ErrorKind::Launch,
        is("the kernel allows 64 threads in a block (.maxntid), not 65"),
    );
    fails(
        "number",
        |l, b| run(l.width(7).engine(Engine::Jit).arg(b)),
        ErrorKind::Launch,
        is("a width of 7 lanes is not possible: 8, 16, 32, 64, 128, 256 or 512"),
    );
}

#[test]
fn memory_runs_out() {
    let device = Device::builder().memory(1 << 20).build().expect("a device");
    let error = device.buffer::<u8>(2 << 20).expect_err("too much");
    assert_eq!(error.kind(), ErrorKind::Launch);
    let text = error.to_string();
    assert!(text.starts_with("out of device memory: 2097152 bytes asked for, "), "{text}");
    let error = device.buffer::<u64>(usize::MAX).expect_err("too much");
    assert!(error.to_string().ends_with("are more than any memory holds"), "{error}");
    // What fits still does, and comes back when dropped.
    for _ in 0..8 {
        device.buffer::<u8>(900 << 10).expect("a buffer");
    }
    for engine in engines() {
        // A request that failed leaves nothing behind: the device works on.
        let module = load(&device);
        let most = device.buffer::<u8>(1000 << 10).expect("a buffer");
        assert!(device.buffer::<u8>(100 << 10).is_err());
        drop(most);
        works(&module, engine);
    }
}

#[test]
fn arguments_that_do_not_fit() {
    const SIGNATURE: &str = "\n  the kernel is types(n: .u32, x: .f32, bits: .b64, s: .b8[12])";
    let is = |text: &str| {
        let text = format!("{text}{SIGNATURE}");
        move |_: &Buffer<u32>| text.clone()
    };
    let s = || Arg::bytes([0; 12]);
    let good = |l: LaunchBuilder<'_>, b: &Buffer<u32>| run(l.arg(1u32).arg(1f32).arg(b).arg(s()));
    for engine in engines() {
        let device = device();
        let module = load(&device);
        let b = device.buffer::<u32>(1).expect("a buffer");
        good(module.kernel("types").expect("a kernel").launch().engine(engine), &b).expect("a launch");
    }
    fails("types", |l, _| run(l), ErrorKind::Launch, is("parameter `n` is missing"));
    fails(
        "types",
        |l, b| run(l.arg(1u32).arg(1f32).arg(b)),
        ErrorKind::Launch,
        is("parameter `s` is missing"),
    );
    fails(
        "types",
        |l, b| run(l.arg(1u32).arg(1f32).arg(b).arg(s()).arg(7u32)),
        ErrorKind::Launch,
        is("5 arguments are given, the kernel takes 4"),
    );
    fails(
        "types",
        |l, b| run(l.arg(1f32).arg(1f32).arg(b).arg(s())),
        ErrorKind::Launch,
        is("parameter `n` takes .u32, not .f32"),
    );
    fails(
        "types",
        |l, b| run(l.arg(1u32).arg(1f64).arg(b).arg(s())),
        ErrorKind::Launch,
        is("parameter `x` takes .f32, not .f64"),
    );
    fails(
        "types",
        |l, _| run(l.arg(1u32).arg(1f32).arg(1u32).arg(s())),
        ErrorKind::Launch,
        is("parameter `bits` takes .b64, not .u32"),
    );
    fails(
        "types",
        |l, b| run(l.arg(1u32).arg(1f32).arg(b).arg(Arg::bytes([0; 8]))),
        ErrorKind::Launch,
        is("parameter `s` takes 12 bytes, not 8 bytes"),
    );
    fails(
        "types",
        |l, b| run(l.arg(1u32).arg(1f32).arg(b).arg(3u32)),
        ErrorKind::Launch,
        is("parameter `s` takes 12 bytes, not .u32"),
    );
    fails("types", |l, _| run(l.arg_named("q", 1u32)), ErrorKind::Launch, is("there is no parameter `q`"));
    fails(
        "types",
        |l, _| run(l.arg_named("n", 1u32).arg_named("n", 1u32)),
        ErrorKind::Launch,
        is("parameter `n` is given twice"),
    );
    let module = load(&device());
    let error = module.kernel("numbers").expect_err("no such kernel");
    assert!(
        error.to_string().starts_with(
            "there is no kernel `numbers`; did you mean `number`? The module has number, part, rows, gather"
        ),
        "{error}"
    );
}

#[test]
fn many_threads_on_one_device() {
    for engine in engines() {
        let device = device();
        let module = load(&device);
        std::thread::scope(|scope| {
            for worker in 0..8u32 {
                let (module, device) = (&module, &device);
                scope.spawn(move || {
                    for round in 0..10 {
                        // Every third goes wrong, which is nobody else's business.
                        if (worker + round) % 3 == 0 {
                            let kernel = module.kernel("trapped").expect("a kernel");
                            let error = run(kernel.launch().engine(engine).block([64, 1, 1]).arg(worker));
                            let text = error.expect_err("a trap").to_string();
                            assert!(text.ends_with(&format!("thread ({worker}, 0, 0): trap")), "{text}");
                        } else {
                            works(module, engine);
                        }
                        // Allocations come and go meanwhile.
                        drop(device.buffer::<u8>(1 + 1000 * round as usize).expect("a buffer"));
                    }
                });
            }
        });
    }
}

#[test]
fn what_is_not_supported_disturbs_no_other_kernel() {
    let ptx = "\
.version 8.3
.target sm_90a
.address_size 64
.visible .entry modern()
{
    wgmma.fence.sync.aligned;
    ret;
}
.visible .entry number(.param .u64 out)
{
    .reg .b32 %t, %c, %n;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %t, %c, %n, %t;
    ld.param.u64 %a, [out];
    mad.wide.u32 %a, %t, 4, %a;
    st.global.u32 [%a], %t;
    ret;
}
";
    for engine in engines() {
        let module = device().load("modern.ptx", ptx).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(module.diagnostics().len(), 1, "said once, when the module is loaded");
        let kernel = module.kernel("modern").expect("a kernel");
        let error = run(kernel.launch().engine(engine)).expect_err("not supported");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{engine:?}: {error}");
        let text = error.to_string();
        assert!(text.starts_with("kernel `modern`, line 6: not supported yet: "), "{engine:?}: {text}");
        assert!(text.contains("wgmma"), "{engine:?}: {text}");
        works(&module, engine);
    }
}

#[test]
fn wrong_ptx_shows_the_line_even_if_it_is_no_utf8() {
    let mut ptx = b".version 8.3\n.target sm_90\n.address_size 64\n// caf\xe9 caf\xe9 caf\xe9\n".to_vec();
    ptx.extend(b".visible .entry k()\n{\n    .reg .b32 %a;\n    add.u32 %a, %a;\n    ret;\n}\n");
    let error = device().load("latin1.ptx", &ptx).expect_err("too few operands");
    assert_eq!(error.kind(), ErrorKind::Input);
    let text = error.to_string();
    assert!(text.contains("latin1.ptx:8:"), "{text}");
    assert!(text.contains("add.u32 %a, %a;"), "{text}");
}

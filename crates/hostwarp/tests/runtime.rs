//! What CUDA's device runtime does for kernels: `vprintf`, `malloc` and `free`, `__assertfail`. The same on both engines.

use hostwarp::{Arg, Device, DeviceBuilder, Engine, Error, ErrorKind, KernelFaultKind, Module};
use std::sync::{Arc, Mutex};

const HEAD: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";

fn engines() -> Vec<Engine> {
    let device = Device::builder().memory(1 << 24).build().expect("a device");
    if device.llvm().is_ok() { vec![Engine::Interp, Engine::Jit] } else { vec![Engine::Interp] }
}

fn device() -> DeviceBuilder {
    Device::builder().memory(1 << 26).threads(2)
}

fn load(device: &Device, body: &str) -> Module {
    device.load("runtime.ptx", format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}"))
}

/// A string as a variable.
fn text(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|b| b.to_string()).collect();
    format!(".global .align 1 .b8 {name}[{}] = {{{}}};\n", bytes.len(), bytes.join(", "))
}

const VPRINTF: &str = ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n";

/// Prints as nvcc has it: arguments in local memory, each at a multiple of its size.
fn print(format: &str) -> String {
    format!(
        "{{ .param .b64 p0; .param .b64 p1; .param .b32 r0;
         mov.u64 %rd1, {format}; cvta.global.u64 %rd1, %rd1; st.param.b64 [p0], %rd1;
         mov.u64 %rd2, args; cvta.local.u64 %rd2, %rd2; st.param.b64 [p1], %rd2;
         call.uni (r0), vprintf, (p0, p1);
         ld.param.b32 %r1, [r0]; }}"
    )
}

#[test]
fn kernels_print() {
    let body = [
        text("format", "%3d %-4s|%5.2f|%c|%llx|%p|%%\n"),
        text("plain", "done\n"),
        text("word", "ab"),
        VPRINTF.to_string(),
        format!(
            ".visible .entry k(.param .u64 out) {{ .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f64 %d; .local .align 8 .b8 args[48];
             mov.u32 %r2, %tid.x; st.local.u32 [args], %r2;
             mov.u64 %rd3, word; cvta.global.u64 %rd3, %rd3; st.local.u64 [args+8], %rd3;
             cvt.rn.f64.u32 %d, %r2; mul.f64 %d, %d, 0d3FF4000000000000; st.local.f64 [args+16], %d;
             add.u32 %r3, %r2, 65; st.local.u32 [args+24], %r3;
             mov.u64 %rd4, -1; shr.u64 %rd4, %rd4, %r2; st.local.u64 [args+32], %rd4;
             st.local.u64 [args+40], 0;
             {}
             ld.param.u64 %rd5, [out]; mad.wide.u32 %rd5, %r2, 4, %rd5; st.global.u32 [%rd5], %r1;
             {} ret; }}",
            print("format"),
            print("plain")
        ),
    ]
    .concat();
    for engine in engines() {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let to = lines.clone();
        let sink =
            move |text: &[u8]| to.lock().expect("nobody panics").push(String::from_utf8_lossy(text).into());
        for collected in [false, true] {
            let device =
                if collected { device() } else { device().output(sink.clone()) }.build().expect("a device");
            let out = device.buffer::<u32>(40).expect("a buffer");
            let kernel = load(&device, &body).kernel("k").expect("a kernel");
            kernel
                .launch()
                .block([40, 1, 1])
                .engine(engine)
                .arg(&out)
                .run()
                .unwrap_or_else(|e| panic!("{e}"));
            // How many arguments went into the text.
            assert_eq!(out.to_vec().expect("is there"), [6; 40], "{engine:?}");
            if collected {
                let kept = String::from_utf8(device.printed()).expect("is ASCII");
                lines.lock().expect("nobody panics").extend(kept.split_inclusive('\n').map(String::from));
                assert!(device.printed().is_empty());
            }
        }
        let mut lines = lines.lock().expect("nobody panics");
        assert_eq!(lines.len(), 160, "{engine:?}");
        for i in 0..40u32 {
            let want = format!(
                "{i:3} ab  |{:5.2}|{}|{:x}|(nil)|%\n",
                f64::from(i) * 1.25,
                char::from(65 + i as u8),
                u64::MAX >> i
            );
            assert_eq!(lines.iter().filter(|l| **l == want).count(), 2, "{engine:?}: {want}");
        }
        assert_eq!(lines.iter().filter(|l| *l == "done\n").count(), 80);
        // Of one thread in its order: the second is behind the first.
        assert!(lines.first().is_some_and(|l| l != "done\n"));
        lines.clear();
    }
}

const HEAP: &str =
    ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n";

fn call_malloc(bytes: &str, to: &str) -> String {
    format!(
        "{{ .param .b64 n; .param .b64 r; st.param.b64 [n], {bytes}; call.uni (r), malloc, (n); ld.param.b64 {to}, [r]; }}"
    )
}

fn call_free(block: &str) -> String {
    format!("{{ .param .b64 p; st.param.b64 [p], {block}; call.uni free, (p); }}")
}

#[test]
fn kernels_allocate() {
    let body = format!(
        "{HEAP}.visible .entry k(.param .u64 out) {{ .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .pred %p;
         mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [out]; mad.wide.u32 %rd1, %r1, 8, %rd1;
         {} st.u32 [%rd2+96], %r1; {}
         st.u32 [%rd3], %r1; ld.u32 %r2, [%rd2+96]; setp.ne.u32 %p, %r2, %r1; selp.b64 %rd2, 0, %rd2, %p;
         st.global.u64 [%rd1], %rd2; {} ret; }}
         .visible .entry second(.param .u64 block) {{ .reg .b64 %rd<2>; .reg .b32 %r; ld.param.u64 %rd1, [block];
         ld.u32 %r, [%rd1+96]; add.u32 %r, %r, 1; st.u32 [%rd1+96], %r; {} ret; }}",
        call_malloc("100", "%rd2"),
        call_malloc("4", "%rd3"),
        call_free("%rd3"),
        call_free("%rd1")
    );
    for engine in engines() {
        // 64 × 112 bytes stay, and as much as 64 × 16 comes and goes.
        let device = device().heap(64 * (112 + 16)).build().expect("a device");
        let module = load(&device, &body);
        let out = device.buffer::<u64>(64).expect("a buffer");
        let (k, second) = (module.kernel("k").expect("a kernel"), module.kernel("second").expect("a kernel"));
        let run = || k.launch().block([64, 1, 1]).engine(engine).arg(&out).run();
        run().unwrap_or_else(|e| panic!("{engine:?}: {e}"));
        let mut blocks = out.to_vec().expect("is there");
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 64, "{engine:?}: each thread has a block of its own");
        assert!(blocks.iter().all(|b| *b != 0 && b % 16 == 0));
        // It is full now: the next kernel stores through null pointers.
        let full = run().expect_err("there is nothing left").to_string();
        assert!(full.contains("null") || full.contains("address 0x60"), "{full}");
        // A block lives until it is freed, and no longer.
        let free = |block: u64| second.launch().engine(engine).arg(block).run();
        free(blocks[3]).unwrap_or_else(|e| panic!("{engine:?}: {e}"));
        let again = free(blocks[3]).expect_err("is gone").to_string();
        assert!(again.contains("freed"), "{again}");
    }
}

#[test]
fn bad_frees_are_faults() {
    let body = format!(
        "{HEAP}.visible .entry k(.param .u64 what) {{ .reg .b64 %rd; ld.param.u64 %rd, [what]; {} ret; }}",
        call_free("%rd")
    );
    for engine in engines() {
        let device = device().build().expect("a device");
        let kernel = load(&device, &body).kernel("k").expect("a kernel");
        let buffer = device.buffer::<u32>(4).expect("a buffer");
        let free = |what: Arg| kernel.launch().engine(engine).arg(what).run();
        free(Arg::from(0u64)).expect("freeing nothing is fine");
        for what in [buffer.address(), 12345] {
            let error = free(Arg::from(what)).expect_err("is no block of malloc");
            assert_eq!(error.kind(), ErrorKind::Fault);
            let text = error.to_string();
            assert!(text.contains(&format!("`free` of {what:#x}")) && text.contains("line 6"), "{text}");
        }
    }
}

#[test]
fn assertions_say_what_failed() {
    let body = [
        text("what", "x < 3"),
        text("file", "some file.cu"),
        text("function", "void k(int)"),
        ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
         .visible .entry k() { .reg .b32 %r; .reg .pred %p; .reg .b64 %rd<4>;
         mov.u32 %r, %tid.x; setp.lt.u32 %p, %r, 3; @%p bra fine;
         mov.u64 %rd1, what; cvta.global.u64 %rd1, %rd1; mov.u64 %rd2, file; cvta.global.u64 %rd2, %rd2;
         mov.u64 %rd3, function; cvta.global.u64 %rd3, %rd3;
         { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
         st.param.b64 [m], %rd1; st.param.b64 [f], %rd2; st.param.b32 [l], 42; st.param.b64 [n], %rd3; st.param.b64 [s], 1;
         call.uni __assertfail, (m, f, l, n, s); }
         fine: ret; }"
            .to_string(),
    ]
    .concat();
    for engine in engines() {
        let device = device().build().expect("a device");
        let kernel = load(&device, &body).kernel("k").expect("a kernel");
        kernel.launch().block([3, 1, 1]).engine(engine).run().expect("it holds for these");
        let error = kernel.launch().block([8, 1, 1]).engine(engine).run().expect_err("and not for those");
        let Error::Fault(fault) = &error else { panic!("{error}") };
        assert_eq!(fault.thread, Some([3, 0, 0]), "{engine:?}");
        let KernelFaultKind::Assert(Some(of)) = &fault.kind else { panic!("{error}") };
        assert_eq!(
            (&*of.message, &*of.file, of.line, &*of.function),
            ("x < 3", "some file.cu", 42, "void k(int)")
        );
        assert!(
            error.to_string().contains("some file.cu:42: void k(int): assertion `x < 3` failed"),
            "{error}"
        );
    }
}

#[test]
fn functions_of_those_names_with_other_parameters_are_somebody_elses() {
    let device = device().build().expect("a device");
    let module = load(
        &device,
        ".extern .func (.param .b32 r) malloc (.param .b32 n);
         .visible .entry k() { .reg .b32 %r; call (%r), malloc, (4); ret; }",
    );
    let error = module.kernel("k").expect("a kernel").launch().run().expect_err("nobody defines it");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

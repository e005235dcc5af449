use super::*;
use crate::{Device, Engine};
use hostwarp_interp::Program;
use hostwarp_plan::Assume;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// For CTAs of 64 threads. It looks as if lanes came apart at the end of the data only, in the last CTA; they do in every one.
const APART: &str = "
.version 8.3 .target sm_90 .address_size 64
.visible .entry apart(.param .u64 out, .param .u32 n) {
    .reg .pred %p;
    .reg .b32 %i, %c, %t, %n, %v;
    .reg .b64 %a;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, 64, %t;
    ld.param.u32 %n, [n];
    shr.u32 %c, %c, 30;
    add.u32 %c, %c, %t;
    setp.ge.u32 %p, %c, %n;
    @%p bra END;
    ld.param.u64 %a, [out];
    mad.wide.u32 %a, %i, 4, %a;
    ld.global.u32 %v, [%a];
    mad.lo.u32 %v, %v, 3, %i;
    st.global.u32 [%a], %v;
END:
    ret;
}";

#[test]
fn a_kernel_whose_lanes_keep_coming_apart_is_compiled_again() {
    const CTAS: u32 = 200;
    const THREADS: u32 = 64;
    const N: u32 = 40;
    let device = Device::builder().memory(1 << 26).threads(1).effort(Effort::Best).build().expect("a device");
    if let Err(why) = device.llvm() {
        let required = std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some_and(|v| v != "0");
        assert!(!required, "{why}");
        return eprintln!("left out: {why}");
    }
    let kernel = device.load("apart.ptx", APART).and_then(|m| m.kernel("apart")).expect("a kernel");
    let launch = |paths: Option<Paths>| {
        let data: Vec<u32> = (0..CTAS * THREADS).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
        let buffer = device.buffer_from(&data).expect("a buffer");
        let builder = kernel.launch().grid([CTAS, 1, 1]).block([THREADS, 1, 1]);
        let builder = builder.engine(Engine::Jit).arg(&buffer).arg(N);
        let builder = if let Some(paths) = paths { builder.paths(paths) } else { builder };
        builder.run().unwrap_or_else(|e| panic!("{e}"));
        let expected: Vec<u32> = (0..)
            .zip(&data)
            .map(|(i, v)| if i % THREADS < N { v.wrapping_mul(3).wrapping_add(i) } else { *v })
            .collect();
        assert!(buffer.to_vec().expect("a copy") == expected, "wrong with {paths:?}");
        let made = kernel.cache().lock();
        assert_eq!(made.jit.len(), 1);
        let codes = made.jit.values().next().expect("what was run").clone();
        let compiled = codes.of(Effort::Best).get().clone().expect("it compiles");
        assert_eq!(compiled.kernel.paths(), Paths::Together);
        (codes, compiled)
    };

    // Who asks for one edition gets that.
    let (codes, compiled) = launch(Some(Paths::Together));
    assert_eq!((codes.full.now().is_none(), compiled.kernel.handed_over()), (true, CTAS));

    // Who does not gets the second, as soon as it is there.
    launch(None);
    let began = Instant::now();
    let full = loop {
        match codes.full.now() {
            Some(full) => break &full.as_ref().expect("it compiles").kernel,
            None => assert!(began.elapsed() < Duration::from_secs(60), "nobody compiles a second edition"),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let handed_over = compiled.kernel.handed_over();
    launch(None);
    assert_eq!((full.paths(), full.handed_over()), (Paths::All, 0));
    assert_eq!(compiled.kernel.handed_over(), handed_over);
}

/// On one thread CTAs wait for ever, on the other there is a panic.
struct Panics {
    both: Barrier,
}

impl RunCtas for Panics {
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded> {
        Cta::counted(launch, false)
    }

    fn start(&self, launch: &Launch<'_>, cta: &mut Cta, first: u64, _: u64, _: u64) -> (u64, Outcome) {
        cta.reset(launch, launch.cta_index(first));
        // As there are many, they are handed out by so many.
        if first == 0 || first == MOST_AT_ONCE {
            self.both.wait();
        }
        assert!(first != MOST_AT_ONCE, "on purpose");
        (0, Outcome::Yield)
    }

    fn go_on(&self, _: &Launch<'_>, _: &mut Cta, _: u64) -> Outcome {
        Outcome::Yield
    }
}

#[test]
fn nobody_waits_for_a_thread_that_panicked() {
    let device = Device::builder().memory(1 << 26).threads(2).build().expect("a device");
    let kernel = device.load("apart.ptx", APART).and_then(|m| m.kernel("apart")).expect("a kernel");
    let func = crate::module::primitive(kernel.compiled()).expect("a function");
    let program = Program::new(func, Assume::for_block([64, 1, 1], 32));
    let launch = Launch::new(&program, device.memory(), [1 << 16, 1, 1], [64, 1, 1]);
    let run = Panics { both: Barrier::new(2) };
    let panics = catch_unwind(AssertUnwindSafe(|| run_grid(&launch, &run, (device.kept_threads(), 2), None)));
    assert_eq!(panics.expect_err("a panic").downcast_ref::<&str>(), Some(&"on purpose"));
}

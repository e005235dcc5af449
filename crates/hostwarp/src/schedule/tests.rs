use super::*;
use crate::Device;
use hostwarp_interp::Program;
use hostwarp_plan::Assume;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

/// For CTAs of 64 threads, whose lanes diverge in every one.
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

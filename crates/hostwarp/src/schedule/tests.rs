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

/// A loop that waits for a word, and one that does not.
const WAITS: &str = "
.version 8.3 .target sm_90 .address_size 64
.visible .entry waits(.param .u64 flag, .param .u32 n) {
    .reg .pred %p;
    .reg .b32 %v, %n;
    .reg .b64 %a;
    ld.param.u64 %a, [flag];
    ld.param.u32 %n, [n];
SPIN:
    ld.volatile.global.u32 %v, [%a];
    setp.eq.u32 %p, %v, 0;
    @%p bra SPIN;
WORK:
    sub.u32 %n, %n, 1;
    st.global.u32 [%a], %n;
    setp.ne.u32 %p, %n, 0;
    @%p bra WORK;
    ret;
}";

/// CTAs take so many turns each, and lanes that can go on are at a block all the while.
struct Long {
    turns: u64,
    at: Block,
    /// Turns had, by CTA; how many are under way, and the most there were.
    had: Mutex<Vec<u64>>,
    most: AtomicUsize,
}

impl Long {
    fn turn(&self, cta: &Cta) -> Outcome {
        let mut had = self.had.lock().unwrap();
        had[cta.index[0] as usize] += 1;
        let under_way = had.iter().filter(|n| (1..self.turns).contains(*n)).count();
        self.most.fetch_max(under_way, Ordering::Relaxed);
        if had[cta.index[0] as usize] < self.turns { Outcome::Yield } else { Outcome::Done }
    }
}

impl RunCtas for Long {
    fn room(&self, launch: &Launch<'_>) -> Result<Cta, Exceeded> {
        Cta::counted(launch, false)
    }

    fn start(&self, launch: &Launch<'_>, cta: &mut Cta, first: u64, _: u64, _: u64) -> (u64, Outcome) {
        cta.reset(launch, launch.cta_index(first));
        (0..cta.warps().len()).for_each(|warp| cta.set_pc(warp, u32::MAX, self.at));
        (0, self.turn(cta))
    }

    fn go_on(&self, _: &Launch<'_>, cta: &mut Cta, _: u64) -> Outcome {
        self.turn(cta)
    }
}

#[test]
fn only_ctas_that_wait_for_others_let_them_begin() {
    let device = Device::builder().memory(1 << 26).threads(1).build().expect("a device");
    let kernel = device.load("waits.ptx", WAITS).and_then(|m| m.kernel("waits")).expect("a kernel");
    let func = crate::module::primitive(kernel.compiled()).expect("a function");
    let program = Program::new(func, Assume::for_block([64, 1, 1], 32));
    let header = |polls: bool| program.plan().loops.iter().find(|l| l.polls == polls).expect("a loop").header;
    let most = |at: Block, turns: u64| {
        let launch = Launch::new(&program, device.memory(), [100, 1, 1], [64, 1, 1]);
        let run = Long { turns, at, had: Mutex::new(vec![0; 100]), most: AtomicUsize::new(0) };
        run_grid(&launch, &run, (device.kept_threads(), 1), None).expect("they end");
        assert!(run.had.lock().unwrap().iter().all(|n| *n == turns));
        run.most.into_inner()
    };
    assert_eq!(most(header(true), 3), 100, "each may wait for all");
    assert_eq!(most(header(false), 100), 1);
    // 2^17 instructions a turn: in case it waits after all, others begin, but few.
    let some = most(header(false), 3000);
    assert!((2..10).contains(&some), "{some}");
}

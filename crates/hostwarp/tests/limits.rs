//! One budget for loading, getting ready and running, shared by all who work within it.

use hostwarp::{Device, Engine, ErrorKind, Exceeded, KernelFaultKind, Limits, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn ptx(body: &str) -> String {
    format!(
        ".version 8.3 .target sm_90 .address_size 64
.visible .entry k(.param .u64 out) {{
.reg .b32 %r<8>; .reg .pred %p<4>; .reg .b64 %a<4>; .local .b8 space[16384];
ld.param.u64 %a1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
mad.lo.u32 %r1, %r2, 32, %r1; mul.wide.u32 %a2, %r1, 4; add.u64 %a1, %a1, %a2;
{body}
mov.u64 %a3, space; st.local.u32 [%a3+16], %r1; ld.local.u32 %r2, [%a3+16];
st.global.u32 [%a1], %r2; ret; }}"
    )
}

#[test]
fn a_module_is_loaded_within_limits() {
    let device = Device::builder().memory(1 << 20).build().unwrap();
    let text = ptx(&"add.u32 %r3, %r3, 1;\n".repeat(20_000));
    let load = |limits: &Limits| device.load_within("k.ptx", &text, Options::default(), limits).map(drop);
    load(&Limits::new().with_timeout(Duration::from_secs(1000))).unwrap();
    let limit = |limits: &Limits| match load(limits) {
        Err(e @ hostwarp::Error::Limit { exceeded, .. }) => (e.kind(), exceeded),
        other => panic!("{other:?}"),
    };
    let late = Limits::new().with_timeout(Duration::ZERO);
    assert_eq!(limit(&late), (ErrorKind::Fault, Exceeded::Timeout));
    let cancelled = Limits::new().with_cancel(Arc::new(AtomicBool::new(true)));
    assert_eq!(limit(&cancelled), (ErrorKind::Fault, Exceeded::Cancelled));
    let (kind, exceeded) = limit(&Limits::new().with_memory(100_000));
    assert_eq!(kind, ErrorKind::Launch);
    assert!(matches!(exceeded, Exceeded::Memory { limit: 100_000, held: 0, .. }));
}

#[test]
fn threads_without_memory_leave_ctas_to_the_others() {
    const CTAS: u32 = 200;
    let device = Device::builder().memory(1 << 20).threads(8).build().unwrap();
    // A loop, so that it is not too little for several threads.
    let body = "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 1000; @%p1 bra L;";
    let kernel = device.load("k.ptx", ptx(body)).and_then(|m| m.kernel("k")).unwrap();
    for engine in [Engine::Interp, Engine::Auto] {
        let out = device.buffer::<u32>(CTAS as usize * 32).unwrap();
        // One CTA takes half a megabyte.
        let run = |bytes: u64| {
            let limits = Limits::new().with_memory(bytes);
            let ran = kernel.launch().grid([CTAS, 1, 1]).block([32, 1, 1]).engine(engine).arg(&out);
            let ran = ran.limits(&limits).run();
            // All of it is given back.
            assert_eq!(limits.hold(bytes).unwrap().bytes(), bytes);
            ran
        };
        run(800_000).unwrap();
        assert!(out.to_vec().unwrap().iter().zip(0..).all(|(got, want)| *got == want));
        let error = run(300_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
        let hostwarp::Error::Fault(fault) = error else { panic!("{error}") };
        assert!(matches!(fault.kind, KernelFaultKind::OutOfMemory(_)));
    }
}

#[test]
fn launches_share_their_limits() {
    let device = Device::builder().memory(1 << 20).threads(1).build().unwrap();
    let kernel = device.load("k.ptx", ptx("L: bra L;")).and_then(|m| m.kernel("k")).unwrap();
    let out = device.buffer::<u32>(32).unwrap();
    let limits = Limits::new().with_fuel(10_000);
    for _ in 0..2 {
        let error = kernel.launch().arg(&out).limits(&limits).run().unwrap_err();
        assert!(matches!(error, hostwarp::Error::Fault(f) if f.kind == KernelFaultKind::OutOfFuel));
    }
    let flag = Arc::new(AtomicBool::new(true));
    let error = kernel.launch().arg(&out).limits(&limits).cancel(flag.clone()).run().unwrap_err();
    assert!(matches!(error, hostwarp::Error::Fault(f) if f.kind == KernelFaultKind::Cancelled));
    flag.store(false, Ordering::Relaxed);
    let error = kernel.launch().arg(&out).timeout(Duration::from_millis(20)).run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fault);
}

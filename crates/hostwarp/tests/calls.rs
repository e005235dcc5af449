//! Functions: called by name and through registers, from within themselves, by some lanes and not by others.

use hostwarp::{Device, Engine};

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// What a kernel `k(.param .u64 out)` does with 64 threads of 2 CTAs, or how it fails.
fn run(text: &str, engine: Engine, width: Option<u32>) -> Result<Vec<u32>, String> {
    let device = Device::builder().memory(1 << 26).threads(1).build().unwrap();
    let module = device.load("calls.ptx", format!("{HEAD}{text}")).unwrap_or_else(|e| panic!("{e}"));
    let out = device.buffer_from(&vec![0u32; 128]).unwrap();
    let kernel = module.kernel("k").unwrap_or_else(|e| panic!("{e}"));
    let mut launch = kernel.launch().grid([2, 1, 1]).block([64, 1, 1]).engine(engine).shared(1024).arg(&out);
    if let Some(width) = width {
        launch = launch.exact_width(width);
    }
    launch.run().map_err(|e| e.to_string())?;
    Ok(out.to_vec().unwrap())
}

/// Runs it everywhere; `expected` gets the number of the thread in the grid.
fn check(text: &str, expected: impl Fn(u32) -> u32) {
    let want: Vec<u32> = (0..128).map(expected).collect();
    let jit = [None, Some(8), Some(16), Some(32), Some(64)].map(|width| (Engine::Jit, width));
    for (engine, width) in [(Engine::Interp, None)].into_iter().chain(jit) {
        assert_eq!(run(text, engine, width).as_ref(), Ok(&want), "{engine:?} {width:?}\n{text}");
    }
}

/// A kernel with `%i` the thread's number, which stores `%r0`. Registers: `%r0` to `%r7`, `%rd0` to `%rd7`, `%p0` to `%p3`.
fn kernel(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
            .reg .b32 %r<8>, %i, %c; .reg .b64 %rd<8>, %o, %a; .reg .pred %p<4>;
            mov.u32 %i, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.u32 %i, %c, 64, %i;
            {body}
            ld.param.u64 %o, [out]; mul.wide.u32 %a, %i, 4; add.u64 %o, %o, %a; st.global.u32 [%o], %r0;
            ret; }}\n"
    )
}

#[test]
fn modules_that_belong_together_share_functions_and_variables() {
    let a = format!("{HEAD}.extern .func (.reg .b32 r) next(.reg .b32 a);\n.extern .global .u32 step;\n")
        + &kernel("ld.global.u32 %r1, [step]; add.u32 %r1, %i, %r1; call (%r0), next, (%r1);");
    let b = format!(
        "{HEAD}.visible .global .u32 step = 5;\n.visible .func (.reg .b32 r) next(.reg .b32 a) {{ .reg .b32 s; ld.global.u32 s, [step]; mad.lo.u32 r, a, 3, s; ret; }}"
    );
    let device = Device::builder().memory(1 << 26).threads(1).build().unwrap();
    for files in [[("a", a.as_bytes()), ("b", b.as_bytes())], [("b", b.as_bytes()), ("a", a.as_bytes())]] {
        let module = device.link(&files, Default::default()).unwrap_or_else(|e| panic!("{e}"));
        for engine in [Engine::Interp, Engine::Jit] {
            let out = device.buffer_from(&vec![0u32; 128]).unwrap();
            let kernel = module.kernel("k").unwrap();
            kernel.launch().grid([2, 1, 1]).block([64, 1, 1]).engine(engine).arg(&out).run().unwrap();
            assert_eq!(out.to_vec().unwrap(), (0..128).map(|i| (i + 5) * 3 + 5).collect::<Vec<u32>>());
        }
    }
}

const FIB: &str = ".func (.param .b32 r) fib (.param .b32 n) {
    .reg .b32 %r<9>; .reg .pred %p; .param .b32 a; .param .b32 v;
    ld.param.b32 %r1, [n]; setp.lt.u32 %p, %r1, 2; @%p bra BASE;
    sub.u32 %r2, %r1, 1; st.param.b32 [a], %r2; call (v), fib, (a); ld.param.b32 %r3, [v];
    sub.u32 %r2, %r1, 2; st.param.b32 [a], %r2; call (v), fib, (a); ld.param.b32 %r4, [v];
    add.u32 %r3, %r3, %r4; st.param.b32 [r], %r3; ret;
    BASE: st.param.b32 [r], %r1; ret; }\n";

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

#[test]
fn recursion_of_another_depth_in_each_lane() {
    let body = "and.b32 %r1, %i, 7; call (%r0), fib, (%r1);";
    check(&format!("{FIB}{}", kernel(body)), |i| fib(i & 7));
    // Only some lanes call.
    let some = "and.b32 %r1, %i, 7; mov.u32 %r0, 99; setp.gt.u32 %p1, %r1, 3; @%p1 call (%r0), fib, (%r1);";
    check(&format!("{FIB}{}", kernel(some)), |i| if i & 7 > 3 { fib(i & 7) } else { 99 });
}

#[test]
fn functions_that_call_each_other() {
    let text = ".func (.reg .b32 r) odd(.reg .b32 n);
        .func (.reg .b32 r) even(.reg .b32 n) {
            .reg .pred p; setp.eq.u32 p, n, 0; mov.u32 r, 1; @p ret; sub.u32 n, n, 1; call (r), odd, (n); ret; }
        .func (.reg .b32 r) odd(.reg .b32 n) {
            .reg .pred p; .reg .b32 t; setp.eq.u32 p, n, 0; mov.u32 r, 0; @p bra DONE; sub.u32 t, n, 1; call (r), even, (t);
            DONE: ret; }\n";
    check(&format!("{text}{}", kernel("and.b32 %r1, %i, 15; call (%r0), even, (%r1);")), |i| 1 - (i & 1));
}

#[test]
fn values_live_across_calls_in_loops() {
    // Everything that is alive has to be there again, predicates and 64-bit values too.
    let body = "mov.u32 %r0, 0; mov.u32 %r2, 0; mov.u64 %rd1, 0x123456789; setp.lt.u32 %p1, %i, 40;
        LOOP: add.u32 %r3, %r2, %c; call (%r4), fib, (%r3); add.u32 %r0, %r0, %r4; add.u32 %r2, %r2, 1;
        setp.lt.u32 %p2, %r2, 6; @%p2 bra LOOP;
        cvt.u32.u64 %r5, %rd1; @%p1 xor.b32 %r0, %r0, %r5;";
    check(&format!("{FIB}{}", kernel(body)), |i| {
        let sum: u32 = (0..6).map(|n| fib(n + i / 64)).sum();
        if i < 40 { sum ^ 0x2345_6789 } else { sum }
    });
}

const OPERATIONS: &str = ".func (.reg .b32 r) plus(.reg .b32 a, .reg .b32 b) { add.u32 r, a, b; ret; }
    .func (.reg .b32 r) times(.reg .b32 a, .reg .b32 b) { mul.lo.u32 r, a, b; ret; }
    .func (.reg .b32 r) less(.reg .b32 a, .reg .b32 b) { call (r), plus, (a, b); sub.u32 r, r, b; sub.u32 r, r, b; ret; }
    .global .u64 table[3] = {plus, generic(times), less};\n";

#[test]
fn calls_through_a_table() {
    // Every lane calls another function.
    let body = "rem.u32 %r1, %i, 3; mul.wide.u32 %rd1, %r1, 8; mov.u64 %rd2, table; add.u64 %rd2, %rd2, %rd1;
        ld.global.u64 %rd3, [%rd2];
        P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b32 _);
        call (%r0), %rd3, (%i, 7), P;";
    let expected = |i: u32| match i % 3 {
        0 => i + 7,
        1 => i * 7,
        _ => i.wrapping_sub(7),
    };
    check(&format!("{OPERATIONS}{}", kernel(body)), expected);
    let list = body.replace(
        ".callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b32 _)",
        ".calltargets plus, times, less",
    );
    check(&format!("{OPERATIONS}{}", kernel(&list)), expected);
    let one = "mov.u64 %rd3, times; T: .calltargets plus, times; call (%r0), %rd3, (%i, 3), T;";
    check(&format!("{OPERATIONS}{}", kernel(one)), |i| i * 3);
}

#[test]
fn objects_with_virtual_functions() {
    // As a C++ compiler lays them out: an object begins with the address of its class's table.
    let text = ".func (.param .b32 r) square(.param .b64 this) {
            .reg .b64 %t; .reg .b32 %v; ld.param.u64 %t, [this]; ld.u32 %v, [%t+8]; mul.lo.u32 %v, %v, %v; st.param.b32 [r], %v; ret; }
        .func (.param .b32 r) negate(.param .b64 this) {
            .reg .b64 %t; .reg .b32 %v; ld.param.u64 %t, [this]; ld.u32 %v, [%t+8]; neg.s32 %v, %v; st.param.b32 [r], %v; ret; }
        .global .align 8 .u64 _ZTV1A[3] = {0, 0, square};
        .global .align 8 .u64 _ZTV1B[3] = {0, 0, negate};\n";
    let body = ".local .align 8 .b8 object[16];
        mov.u64 %rd1, object; cvta.local.u64 %rd1, %rd1; and.b32 %r1, %i, 1; setp.eq.u32 %p1, %r1, 0;
        mov.u64 %rd2, _ZTV1A; mov.u64 %rd3, _ZTV1B; selp.u64 %rd2, %rd2, %rd3, %p1; cvta.global.u64 %rd2, %rd2; add.u64 %rd2, %rd2, 16;
        st.u64 [%rd1], %rd2; st.u32 [%rd1+8], %i;
        ld.u64 %rd4, [%rd1]; ld.u64 %rd5, [%rd4];
        { .param .b64 this; .param .b32 v; st.param.b64 [this], %rd1;
          P: .callprototype (.param .b32 _) _ (.param .b64 _);
          call (v), %rd5, (this), P; ld.param.b32 %r0, [v]; }";
    check(&format!("{text}{}", kernel(body)), |i| if i & 1 == 0 { i * i } else { i.wrapping_neg() });
}

#[test]
fn structures_by_value() {
    let text = ".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 s[16]) {
            .reg .b64 %a, %b; ld.param.v2.b64 {%a, %b}, [s]; st.param.v2.b64 [r], {%b, %a}; ret; }
        .func (.reg .b32 r) spoil(.param .b32 n) {
            .reg .b64 %a; .reg .b32 %v; mov.u64 %a, n; ld.local.u32 %v, [%a]; add.u32 %v, %v, 1; st.local.u32 [%a], %v; mov.u32 r, %v; ret; }\n";
    let body = ".param .align 8 .b8 s[16]; .param .b32 n;
        cvt.u64.u32 %rd1, %i; st.param.b64 [s], %rd1; st.param.b64 [s+8], 1000;
        call (s), swap, (s); ld.param.b64 %rd2, [s]; ld.param.b32 %r1, [s+8]; cvt.u32.u64 %r2, %rd2; add.u32 %r0, %r1, %r2;
        st.param.b32 [n], %i; call (%r3), spoil, (n); sub.u32 %r3, %r3, %i; add.u32 %r0, %r0, %r3;";
    check(&format!("{text}{}", kernel(body)), |i| i + 1001);
}

#[test]
fn vectors_and_nameless_parameters() {
    let text = ".func (.reg .v2 .b32 r) pair(.reg .v2 .b32 a, .reg .b32 _) { add.u32 r.x, a.x, 1; add.u32 r.y, a.y, 2; ret; }\n";
    let body = ".reg .v2 .b32 %v, %w; mov.u32 %v.x, %i; mov.u32 %v.y, 5; call (%w), pair, (%v, _); mul.lo.u32 %r0, %w.x, %w.y;";
    check(&format!("{text}{}", kernel(body)), |i| (i + 1) * 7);
}

#[test]
fn declared_before_and_defined_after_what_it_uses() {
    let before = ".func (.reg .b32 r) f(.reg .b32 a);\n";
    let after = ".func (.reg .b32 r) g(.reg .b32 a) { shl.b32 r, a, 1; ret; }
        .global .u32 bias = 5;
        .func (.reg .b32 r) f(.reg .b32 a) { .reg .b32 t; call (t), g, (a); ld.global.u32 r, [bias]; add.u32 r, r, t; ret; }\n";
    check(&format!("{before}{}{after}", kernel("call (%r0), f, (%i);")), |i| 2 * i + 5);
}

#[test]
fn shared_memory_of_functions() {
    // One variable, whoever calls; dynamic memory behind it. The barrier is inside a function that calls itself.
    let text = ".extern .shared .align 16 .b8 dynamic[];
        .func (.reg .b32 r) meet(.reg .b32 depth, .reg .b32 t) {
            .shared .u32 box[64]; .reg .b32 at, u; .reg .pred p;
            setp.gt.u32 p, depth, 0; @!p bra STORE; sub.u32 u, depth, 1; call (r), meet, (u, t); ret;
            STORE: shl.b32 at, t, 2; mov.u32 u, box; add.u32 at, at, u; st.shared.u32 [at], t; bar.sync 0;
            xor.b32 t, t, 63; shl.b32 at, t, 2; add.u32 at, at, u; ld.shared.u32 r, [at];
            shl.b32 at, t, 2; mov.u32 u, dynamic; add.u32 at, at, u; st.shared.u32 [at], r; bar.sync 0; ld.shared.u32 r, [at]; ret; }\n";
    check(&format!("{text}{}", kernel("mov.u32 %r1, %tid.x; call (%r0), meet, (2, %r1);")), |i| {
        (i % 64) ^ 63
    });
}

#[test]
fn threads_that_end_inside_a_function() {
    let text = ".func (.reg .b32 r) maybe(.reg .b32 a) { .reg .pred p; setp.gt.u32 p, a, 10; @p exit; mov.u32 r, 1; ret; }\n";
    check(&format!("{text}{}", kernel("call (%r0), maybe, (%i);")), |i| u32::from(i <= 10));
}

/// The stack is as large as the deepest chain of calls needs, whatever functions that call themselves may take.
#[test]
fn large_frames_fit() {
    let text = ".func (.reg .b32 r) leaf(.reg .b32 a) {
            .local .b32 big[5000]; .reg .b32 %at;
            and.b32 %at, a, 15; mad.lo.u32 %at, %at, 1200, 0; mov.b32 r, big; add.u32 %at, %at, r;
            st.local.u32 [%at], a; ld.local.u32 r, [%at]; add.u32 r, r, 1; ret; }
        .func (.reg .b32 r) middle(.reg .b32 a) {
            .local .b32 own[3000]; .reg .b32 %at, %x; .reg .b64 %f; P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
            and.b32 %at, a, 7; mad.lo.u32 %at, %at, 1500, 0; mov.b32 %x, own; add.u32 %at, %at, %x;
            st.local.u32 [%at], a; mov.u64 %f, leaf; call (r), %f, (a), P; ld.local.u32 %x, [%at]; mad.lo.u32 r, %x, 3, r; ret; }
        ";
    let call =
        "mov.u64 %rd1, middle; P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r0), %rd1, (%i), P;";
    check(&format!("{text}{}", kernel(call)), |i| 4 * i + 1);
}

/// The functions of CUDA's device runtime are linked, so who declares them otherwise is told.
#[test]
fn the_device_runtime_has_its_own_prototypes() {
    let text = ".extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b64 scope);\n";
    let call =
        "{ .param .b64 s; .param .b64 h; st.param.b64 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); }";
    let device = Device::builder().memory(1 << 26).build().unwrap();
    let error = device.load("calls.ptx", format!("{HEAD}{text}{}", kernel(call))).unwrap_err().to_string();
    assert!(error.contains("`cudaCGGetIntrinsicHandle` is declared in two ways"), "{error}");
}

#[test]
fn what_goes_wrong_in_calls_is_said() {
    let deep = ".func f(.reg .b32 n) { .local .b8 big[512]; .reg .b64 a; mov.u64 a, big; st.local.u32 [a], n; add.u32 n, n, 1; call f, (n); ret; }\n";
    let wild = "mov.u64 %rd1, 0x1234; P: .callprototype _ (.reg .b32 _); call %rd1, (%i), P; mov.u32 %r0, 0;";
    // A function, but with other parameters.
    let other = "mov.u64 %rd1, times; P: .callprototype _ (.reg .b32 _); call %rd1, (%i), P; mov.u32 %r0, 0;";
    let between = "mov.u64 %rd1, times; add.u64 %rd1, %rd1, 1; P: .callprototype (.reg .b32 _) _ (.reg .b32 _, .reg .b32 _);
        call (%r0), %rd1, (%i, %i), P;";
    let cases = [
        (format!("{deep}{}", kernel("call f, (%i); mov.u32 %r0, 0;")), "the stack is full"),
        (kernel(wild), "address of no function"),
        (format!("{OPERATIONS}{}", kernel(other)), "address of no function"),
        (format!("{OPERATIONS}{}", kernel(between)), "address of no function"),
    ];
    for (text, message) in cases {
        for engine in [Engine::Interp, Engine::Jit] {
            let error = run(&text, engine, None).unwrap_err();
            assert!(error.contains(message), "{engine:?}: {error}\n{text}");
        }
    }
}

//! What only wide groups, whole CTAs and large buffers take a way of their own for: one NaN among many numbers, CTA after CTA in one call,
//! and streams that are asked for ahead.

use std::fmt::Write;

use hostwarp::jit::Speculation;
use hostwarp::{Device, Effort, Engine};

/// As `quick.rs` has it, or with care.
const EFFORT: Effort = match env!("CARGO_CRATE_NAME").as_bytes() {
    b"quick" => Effort::Quick,
    _ => Effort::Best,
};

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// Runs `kernel` with buffers of words; answers the last one.
fn run(
    body: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    (engine, width): (Engine, Option<u32>),
    shared: u32,
    buffers: &[Vec<u32>],
) -> Vec<u32> {
    let device = Device::builder().memory(1 << 26).threads(1).effort(EFFORT).build().unwrap();
    let module = device.load("wide.ptx", format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}"));
    let buffers: Vec<_> = buffers.iter().map(|words| device.buffer_from(words).unwrap()).collect();
    let kernel = module.kernel("kernel").unwrap();
    let mut launch = kernel.launch().grid(grid).block(block).engine(engine).shared(shared);
    for buffer in &buffers {
        launch = launch.arg(buffer);
    }
    if let Some(width) = width {
        launch = launch.exact_width(width);
    }
    launch.run().unwrap_or_else(|e| panic!("{e}"));
    buffers.last().unwrap().to_vec().unwrap()
}

/// The interpreter, and compiled code at every width.
fn ways() -> Vec<(Engine, Option<u32>)> {
    let jit = [None, Some(32), Some(64), Some(128), Some(256), Some(512)].map(|width| (Engine::Jit, width));
    [(Engine::Interp, None)].into_iter().chain(jit).collect()
}

const SCALE: &str = "
.visible .entry kernel(.param .u64 x, .param .u64 y)
{
    .reg .b32 %i, %c;
    .reg .b64 %x, %y, %at;
    .reg .f32 %f, %g;
    mov.u32 %i, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, 256, %i;
    mul.wide.u32 %at, %i, 4;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    add.u64 %x, %x, %at;
    add.u64 %y, %y, %at;
    ld.global.f32 %f, [%x];
    ld.global.f32 %g, [%y];
    fma.rn.f32 %g, %f, 0f40000000, %g;
    st.global.f32 [%y], %g;
    ret;
}
";

#[test]
fn one_nan_among_many_numbers_is_found_wherever_it_is() {
    // Every CTA has one, each in another lane; some are made of infinities only here.
    let n = 256 * 256;
    let nan_at = |i: usize| i % 256 == i / 256;
    let x: Vec<u32> = (0..n)
        .map(|i| match i / 256 % 3 {
            _ if !nan_at(i) => (i as f32).to_bits(),
            0 => 0x7f80_0000,
            1 => 0xff80_0001,
            _ => 0x7fc1_2345,
        })
        .collect();
    let y: Vec<u32> = (0..n).map(|i| if nan_at(i) { 0xff80_0000 } else { (i as f32).to_bits() }).collect();
    let want: Vec<u32> =
        (0..n).map(|i| if nan_at(i) { 0x7fff_ffff } else { (3.0 * i as f32).to_bits() }).collect();
    for way in ways() {
        let got = run(SCALE, ([256, 1, 1], [256, 1, 1]), way, 0, &[x.clone(), y.clone()]);
        assert_eq!(got, want, "{way:?}");
    }
}

#[test]
fn a_stream_through_large_buffers_ends_where_they_end() {
    // Larger than what counts as close by; the last CTAs ask for what is beyond.
    let n: usize = 1 << 20;
    let x: Vec<u32> = (0..n).map(|i| (i as f32).to_bits()).collect();
    let want: Vec<u32> = (0..n).map(|i| (3.0 * i as f32).to_bits()).collect();
    for way in ways() {
        let got = run(SCALE, ([n as u32 / 256, 1, 1], [256, 1, 1]), way, 0, &[x.clone(), x.clone()]);
        assert!(got == want, "{way:?}");
    }
}

/// Every thread adds 1 to a word of shared memory, its own or one behind those declared, and writes what it found before and where it is.
const FRESH: &str = "
.extern .shared .align 4 .b8 more[];
.visible .entry kernel(.param .u64 out)
{
    .shared .align 4 .b32 own[256];
    .reg .b32 %t, %cx, %cy, %cz, %n, %i, %s, %old, %new;
    .reg .b64 %out;
    mov.u32 %t, %tid.x;
    shl.b32 %s, %t, 2;
    mov.u32 %n, own;
    add.u32 %s, %s, %n;
    ld.shared.u32 %old, [%s];
    add.u32 %new, %old, 1;
    st.shared.u32 [%s], %new;
    mov.u32 %s, more;
    ld.shared.u32 %new, [%s+20];
    add.u32 %old, %old, %new;
    bar.sync 0;
    st.shared.u32 [%s+20], 7;
    mov.u32 %cx, %ctaid.x;
    mov.u32 %cy, %ctaid.y;
    mov.u32 %cz, %ctaid.z;
    mov.u32 %n, %nctaid.y;
    mad.lo.u32 %i, %cz, %n, %cy;
    mov.u32 %n, %nctaid.x;
    mad.lo.u32 %i, %i, %n, %cx;
    mad.lo.u32 %i, %i, 256, %t;
    ld.param.u64 %out, [out];
    mad.wide.u32 %out, %i, 4, %out;
    mad.lo.u32 %old, %old, 1000, %i;
    st.global.u32 [%out], %old;
    ret;
}
";

#[test]
fn every_cta_has_its_place_and_finds_shared_memory_zero() {
    let grid = [3, 5, 2];
    let n: u32 = grid.iter().product::<u32>() * 256;
    for way in ways() {
        let got = run(FRESH, (grid, [256, 1, 1]), way, 24, &[vec![u32::MAX; n as usize]]);
        assert_eq!(got, (0..n).collect::<Vec<u32>>(), "{way:?}");
    }
}

/// Numbers that go up by one, of 32 and 64 bits, compared with the same one in all lanes: chosen by, and branched on.
const ONE_LANE: &str = "
.visible .entry kernel(.param .u64 bounds, .param .u64 out)
{
    .reg .pred %p, %q;
    .reg .b32 %t, %c, %i, %n, %r, %s;
    .reg .b64 %b, %o, %w, %m;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    ld.param.u64 %b, [bounds];
    ld.param.u64 %o, [out];
    mad.wide.u32 %b, %c, 4, %b;
    ld.global.u32 %n, [%b];
    mad.lo.u32 %i, %c, 256, %t;
    mad.wide.u32 %o, %i, 4, %o;
    sub.u32 %i, %t, 7;
    setp.eq.u32 %p, %t, %n;
    selp.b32 %r, 1, 0, %p;
    setp.ne.u32 %q, %n, %i;
    selp.b32 %s, 2, 0, %q;
    add.u32 %r, %r, %s;
    cvt.u64.u32 %w, %t;
    cvt.u64.u32 %m, %n;
    add.u64 %w, %w, 0xfffffff8;
    setp.ne.u64 %p, %w, %m;
    @%p bra OTHERS;
    add.u32 %r, %r, 4;
OTHERS:
    setp.eq.s32 %p, %t, %n;
    @!%p bra END;
    add.u32 %r, %r, 8;
END:
    st.global.u32 [%o], %r;
    ret;
}
";

#[test]
fn the_one_lane_that_equals_a_number_is_found() {
    let mut bounds: Vec<u32> = vec![0, 1, 31, 32, 63, 64, 127, 128, 200, 248, 249, 255, 256, 257, 1 << 31];
    bounds.extend([u32::MAX, u32::MAX - 6, u32::MAX - 7, u32::MAX - 8]);
    let expected: Vec<u32> = bounds
        .iter()
        .flat_map(|n| {
            (0..256u32).map(|t| {
                let wide = u64::from(t) + 0xffff_fff8 == u64::from(*n);
                u32::from(t == *n) * 9 + u32::from(t.wrapping_sub(7) != *n) * 2 + u32::from(wide) * 4
            })
        })
        .collect();
    let shape = ([bounds.len() as u32, 1, 1], [256, 1, 1]);
    for way in ways() {
        let buffers = [bounds.clone(), vec![0; expected.len()]];
        assert_eq!(run(ONE_LANE, shape, way, 0, &buffers), expected, "{way:?}");
    }
}

/// The first lanes of a CTA, as many as its word of `counts` says, add their neighbour some way off: in global memory, which ends where the
/// last of them may read, and in shared memory, at its end too.
const FEW: &str = "
.visible .entry kernel(.param .u64 counts, .param .u64 out)
{
    .shared .align 4 .b32 all[256];
    .reg .pred %p;
    .reg .b32 %t, %c, %n, %s, %v, %w, %i;
    .reg .b64 %b, %o, %q;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    ld.param.u64 %b, [counts];
    ld.param.u64 %o, [out];
    mad.wide.u32 %b, %c, 4, %b;
    ld.global.u32 %n, [%b];
    mul.lo.u32 %i, %c, 256;
    add.u32 %i, %i, %t;
    mad.wide.u32 %o, %i, 4, %o;
    mov.u32 %s, all;
    mad.lo.u32 %s, %t, 4, %s;
    mad.lo.u32 %v, %i, 3, 1;
    st.shared.u32 [%s], %v;
    bar.sync 0;
    setp.ge.u32 %p, %t, %n;
    @%p bra GLOBAL;
    mul.lo.u32 %w, %n, 4;
    sub.u32 %w, 1024, %w;
    add.u32 %w, %w, %s;
    ld.shared.u32 %v, [%s];
    ld.shared.u32 %w, [%w];
    mad.lo.u32 %v, %w, 5, %v;
    st.shared.u32 [%s], %v;
GLOBAL:
    bar.sync 0;
    ld.shared.u32 %v, [%s];
    st.global.u32 [%o], %v;
    bar.sync 0;
    setp.ge.u32 %p, %t, %n;
    @%p bra END;
    mul.lo.u32 %w, %n, 4;
    sub.u32 %w, 1024, %w;
    cvt.u64.u32 %q, %w;
    add.u64 %q, %q, %o;
    ld.global.u32 %v, [%o];
    ld.global.u32 %w, [%q];
    mad.lo.u32 %v, %w, 7, %v;
    st.global.u32 [%o], %v;
END:
    ret;
}
";

#[test]
fn few_lanes_of_a_wide_group_do_what_many_would() {
    let counts: Vec<u32> = (0..40).chain([63, 64, 65, 127, 128]).chain([1, 2, 5, 16, 17, 3]).collect();
    let mut expected = vec![];
    for (c, n) in (0..).zip(&counts) {
        let n = *n as usize;
        let mut all: Vec<u32> = (0..256u32).map(|t| (c * 256 + t).wrapping_mul(3).wrapping_add(1)).collect();
        for (factor, _) in [(5u32, "shared"), (7, "global")] {
            let far: Vec<u32> = all[256 - n..].to_vec();
            for (v, w) in all.iter_mut().zip(far) {
                *v = w.wrapping_mul(factor).wrapping_add(*v);
            }
        }
        expected.extend(all);
    }
    let shape = ([counts.len() as u32, 1, 1], [256, 1, 1]);
    for way in ways() {
        let buffers = [counts.clone(), vec![0; expected.len()]];
        assert!(run(FEW, shape, way, 0, &buffers) == expected, "{way:?}");
    }
}

/// One of two values by the bits of a constant, then that or one of the two by lane: LLVM makes one masked instruction of it, and a wrong one.
const MUX: &str = "
.visible .entry kernel(.param .u64 a, .param .u64 b, .param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %i, %c, %a, %b, %v, %w;
    .reg .b64 %pa, %pb, %o, %at;
    mov.u32 %i, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, 256, %i;
    mul.wide.u32 %at, %i, 4;
    ld.param.u64 %pa, [a];
    ld.param.u64 %pb, [b];
    ld.param.u64 %o, [out];
    add.u64 %pa, %pa, %at;
    add.u64 %pb, %pb, %at;
    add.u64 %o, %o, %at;
    ld.global.u32 %a, [%pa];
    ld.global.u32 %b, [%pb];
    and.b32 %c, %a, 3;
    lop3.b32 %v, %a, %b, 49, 0xe4;
    setp.eq.u32 %p, %c, 1;
    selp.b32 %w, %v, %a, %p;
    and.b32 %v, %a, 0x0ff00ff0;
    and.b32 %c, %b, 0xf00ff00f;
    or.b32 %v, %v, %c;
    and.b32 %c, %b, 1;
    setp.ne.u32 %p, %c, 0;
    selp.b32 %v, %b, %v, %p;
    mad.lo.u32 %v, %v, 7, %w;
    bfi.b32 %w, %a, %b, 5, 9;
    @%p mov.b32 %w, %b;
    xor.b32 %v, %v, %w;
    st.global.u32 [%o], %v;
    ret;
}
";

#[test]
fn logic_that_only_some_lanes_keep_is_right() {
    let [a, b]: [Vec<u32>; 2] = [0x9e37_79b9u32, 0x85eb_ca6b]
        .map(|k| (0..1024u32).map(|i| (i + 1).wrapping_mul(k) ^ (i << 7)).collect());
    let expected: Vec<u32> = std::iter::zip(&a, &b)
        .map(|(&a, &b)| {
            let w = if a & 3 == 1 { a & 49 | b & !49 } else { a };
            let v = if b & 1 != 0 { b } else { a & 0x0ff0_0ff0 | b & 0xf00f_f00f };
            let v = v.wrapping_mul(7).wrapping_add(w);
            v ^ if b & 1 != 0 { b } else { b & !(0x1ff << 5) | (a & 0x1ff) << 5 }
        })
        .collect();
    for way in ways().into_iter().chain([(Engine::Jit, Some(8)), (Engine::Jit, Some(16))]) {
        let buffers = [a.clone(), b.clone(), vec![0; 1024]];
        assert!(run(MUX, ([4, 1, 1], [256, 1, 1]), way, 0, &buffers) == expected, "{way:?}");
    }
}

/// A kernel of `n` instructions of arithmetic on words, double-words, floats and predicates, some of it the same in all lanes, in a loop that lanes leave at
/// different turns.
fn long_stretch(n: u32) -> String {
    let mut body = String::from(
        "
.visible .entry kernel(.param .u64 x, .param .u64 y)
{
    .reg .pred %p, %q;
    .reg .b16 %h;
    .reg .b32 %i, %c, %n, %u, %a, %b, %turn, %turns;
    .reg .b64 %x, %y, %at, %w, %v;
    .reg .f32 %f, %g;
    mov.u32 %i, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %u, %c;
    mad.lo.u32 %i, %c, 256, %i;
    mul.wide.u32 %at, %i, 4;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    add.u64 %x, %x, %at;
    add.u64 %y, %y, %at;
    ld.global.u32 %a, [%x];
    ld.global.u32 %b, [%y];
    cvt.rn.f32.u32 %f, %a;
    mov.f32 %g, 0f3F000000;
    cvt.u64.u32 %w, %b;
    cvt.u64.u32 %v, %i;
    cvt.u16.u32 %h, %a;
    setp.lt.u32 %p, %a, %b;
    and.b32 %turns, %a, 3;
    mov.u32 %turn, 0;
AGAIN:
",
    );
    for k in 0..n {
        let line = match k % 14 {
            0 => "mad.lo.u32 %a, %a, %b, %u;".into(),
            1 => format!("xor.b32 %b, %b, {};", k * 77),
            2 => "mad.wide.u32 %w, %a, %b, %w;".into(),
            3 => "fma.rn.f32 %f, %f, %g, 0f3F800000;".into(),
            4 => "setp.lt.and.s32 %p, %a, %b, %p;".into(),
            5 => "add.u32 %u, %u, %c;".into(),
            6 => "selp.b32 %a, %a, %i, %p;".into(),
            7 => "vabsdiff4.u32.u32.u32.add %b, %a, %b, %b;".into(),
            8 => "shf.l.wrap.b32 %b, %a, %b, %c;".into(),
            9 => "xor.b64 %v, %v, %w;".into(),
            10 => "cvt.u16.u32 %h, %b;".into(),
            11 => "cvt.u32.u16 %n, %h; add.u32 %a, %a, %n;".into(),
            12 => "setp.gt.f32 %q, %f, 0f41200000; @%q mul.rn.f32 %f, %f, %g;".into(),
            _ => "not.pred %p, %p;".to_owned(),
        };
        body.push_str(&line);
        body.push('\n');
    }
    body + "
    add.u32 %turn, %turn, 1;
    setp.le.u32 %q, %turn, %turns;
    @%q bra AGAIN;
    mov.b32 %n, %f;
    xor.b32 %a, %a, %n;
    cvt.u32.u64 %n, %v;
    xor.b32 %a, %a, %n;
    shr.u64 %w, %w, 32;
    cvt.u32.u64 %n, %w;
    xor.b32 %a, %a, %n;
    add.u32 %a, %a, %u;
    @%p xor.b32 %b, %b, -1;
    xor.b32 %a, %a, %b;
    st.global.u32 [%y], %a;
    ret;
}
"
}

#[test]
fn a_long_stretch_of_arithmetic_is_right_at_every_width() {
    let body = long_stretch(700);
    let words = |seed: u32| (0..1024u32).map(|i| (i ^ seed).wrapping_mul(0x9e37_79b9)).collect::<Vec<_>>();
    let buffers = [words(1), words(2)];
    let sizes = ([4, 1, 1], [256, 1, 1]);
    let want = run(&body, sizes, (Engine::Interp, None), 0, &buffers);
    assert_ne!(want, buffers[1]);
    for way in ways() {
        assert_eq!(run(&body, sizes, way, 0, &buffers), want, "{way:?}");
    }
}

/// A kernel that keeps `n` words alive, from one pass over them to the next.
fn much_alive(n: u32) -> String {
    let mut body = format!(
        "
.visible .entry kernel(.param .u64 x)
{{
    .reg .b32 %i, %v<{}>;
    .reg .b64 %x, %at;
    mov.u32 %i, %tid.x;
    mul.wide.u32 %at, %i, 4;
    ld.param.u64 %x, [x];
    add.u64 %x, %x, %at;
    ld.global.u32 %v0, [%x];
",
        n + 1
    );
    for k in 1..=n {
        let _ = writeln!(body, "    mad.lo.u32 %v{k}, %v{}, %v{}, {k};", k - 1, k - 1);
    }
    for k in 0..n {
        let _ = writeln!(body, "    xor.b32 %v{n}, %v{n}, %v{k};\n    mul.lo.u32 %v{n}, %v{n}, 3;");
    }
    let _ = writeln!(body, "    st.global.u32 [%x], %v{n};\n    ret;\n}}");
    body
}

/// Compiled code takes as much stack as it keeps alive: more than a thread has would end the process.
#[test]
fn compiled_code_that_would_need_too_much_stack_is_refused() {
    let words: Vec<u32> = (0..256).collect();
    let sizes = ([1, 1, 1], [256, 1, 1]);
    let fits = much_alive(300);
    let want = run(&fits, sizes, (Engine::Interp, None), 0, std::slice::from_ref(&words));
    assert_eq!(run(&fits, sizes, (Engine::Jit, Some(256)), 0, std::slice::from_ref(&words)), want);

    let device = Device::builder().memory(1 << 26).threads(1).build().unwrap();
    let body = much_alive(3000);
    let module = device.load("wide.ptx", format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}"));
    let buffer = device.buffer_from(&words).unwrap();
    let kernel = module.kernel("kernel").unwrap();
    let launch = kernel.launch().grid(sizes.0).block(sizes.1).engine(Engine::Jit).width(256).arg(&buffer);
    let refused = launch.run().unwrap_err().to_string();
    assert!(refused.contains("too much is kept at once"), "{refused}");
    assert_eq!(buffer.to_vec().unwrap(), words);
}

/// Every thread stores a word of shared memory first, at a place of its own that begins `FROM` words in, and reads what nobody has written: what lies `AWAY` words from
/// there, which it then leaves changed for the next CTA.
fn stores_first(threads: u32, from: u32, away: i32) -> String {
    format!(
        "
.visible .entry kernel(.param .u64 out)
{{
    .shared .align 4 .b32 own[{words}];
    .reg .b32 %t, %c, %i, %s, %n, %v, %w;
    .reg .b64 %o;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, {threads}, %t;
    mov.u32 %n, own;
    shl.b32 %s, %t, 2;
    add.u32 %s, %s, %n;
    st.shared.u32 [%s+{from}], %i;
    bar.sync 0;
    ld.shared.u32 %v, [%s+{from}];
    ld.shared.u32 %w, [%s+{at}];
    mad.lo.u32 %v, %w, 1000, %v;
    bar.sync 0;
    st.shared.u32 [%s+{at}], 7;
    ld.param.u64 %o, [out];
    mad.wide.u32 %o, %i, 4, %o;
    st.global.u32 [%o], %v;
    ret;
}}
",
        words = 2 * threads,
        from = 4 * from,
        at = 4 * (from as i32 + away),
    )
}

#[test]
fn shared_memory_is_zero_beside_what_is_stored_first() {
    for threads in [256, 512] {
        for (from, away) in [(0, threads as i32), (threads, -(threads as i32)), (threads - 5, -7), (0, 9)] {
            // What a thread changes lies among what others store, or not at all.
            let among = |i: u32| {
                let at = i as i32 + away;
                (0..threads as i32).contains(&at).then_some(at as u32)
            };
            let expected: Vec<u32> = (0..6 * threads)
                .map(|i| {
                    let (cta, t) = (i / threads, i % threads);
                    let seen = among(t).map_or(0, |other| cta * threads + other);
                    seen.wrapping_mul(1000).wrapping_add(i)
                })
                .collect();
            for way in ways() {
                let shape = ([6, 1, 1], [threads, 1, 1]);
                let buffers = [vec![0; expected.len()]];
                let got = run(&stores_first(threads, from, away), shape, way, 0, &buffers);
                assert!(got == expected, "{way:?}, {threads} threads, {from}, {away}");
            }
        }
    }
}

/// Threads for which a comparison of their number with a number of the CTA holds change a row of shared memory, and where they equal it one word of it.
fn changes_part(compare: &str, ty: &str, turned: bool, not: bool, threads: u32) -> String {
    let operands = if turned { "%n, %k" } else { "%k, %n" };
    let not = if not { "!" } else { "" };
    format!(
        "
.visible .entry kernel(.param .u64 bounds, .param .u64 out)
{{
    .shared .align 4 .b32 own[{threads}];
    .reg .pred %p;
    .reg .b32 %t, %c, %i, %s, %n, %k, %v;
    .reg .b64 %b, %o;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %i, %c, {threads}, %t;
    ld.param.u64 %b, [bounds];
    mad.wide.u32 %b, %c, 4, %b;
    ld.global.u32 %n, [%b];
    mov.u32 %s, own;
    mad.lo.u32 %s, %t, 4, %s;
    st.shared.u32 [%s], %i;
    bar.sync 0;
    sub.u32 %k, %t, 40;
    setp.{compare}.{ty} %p, {operands};
    @{not}%p bra CHANGE;
    bra.uni ON;
CHANGE:
    ld.shared.u32 %v, [%s];
    mad.lo.u32 %v, %v, 3, %t;
    st.shared.u32 [%s], %v;
ON:
    bar.sync 0;
    setp.ne.u32 %p, %t, %n;
    @%p bra END;
    ld.shared.u32 %v, [own+8];
    add.u32 %v, %v, 1000000;
    st.shared.u32 [own+8], %v;
END:
    bar.sync 0;
    ld.shared.u32 %v, [%s];
    ld.param.u64 %o, [out];
    mad.wide.u32 %o, %i, 4, %o;
    st.global.u32 [%o], %v;
    ret;
}}
"
    )
}

#[test]
fn any_range_of_lanes_can_run_a_part() {
    let mut bounds: Vec<u32> =
        (0..70).chain([127, 128, 129, 215, 216, 217, 471, 472, 473, 511, 512]).collect();
    bounds.extend([u32::MAX, u32::MAX - 39, u32::MAX - 40, u32::MAX - 41, 1 << 31, (1 << 31) - 1]);
    type Holds = fn(i64, i64) -> bool;
    let compares: [(&str, Holds); 6] = [
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
    ];
    let threads = 512;
    for (n, (compare, holds)) in compares.into_iter().enumerate() {
        for (ty, turned, not) in
            [("u32", false, false), ("s32", true, false), ("s32", false, true), ("u32", true, true)]
        {
            let mut expected = vec![];
            for (c, bound) in (0..).zip(&bounds) {
                let wide = |x: u32| if ty == "s32" { i64::from(x as i32) } else { i64::from(x) };
                let mut own: Vec<u32> = (0..threads).map(|t: u32| c * threads + t).collect();
                for t in 0..threads {
                    let (k, n) = (wide(t.wrapping_sub(40)), wide(*bound));
                    if holds(if turned { n } else { k }, if turned { k } else { n }) != not {
                        own[t as usize] = own[t as usize].wrapping_mul(3).wrapping_add(t);
                    }
                }
                if *bound < threads {
                    own[2] = own[2].wrapping_add(1_000_000);
                }
                expected.extend(own);
            }
            let shape = ([bounds.len() as u32, 1, 1], [threads, 1, 1]);
            let text = changes_part(compare, ty, turned, not, threads);
            // All of them take their time.
            let all = ways();
            for way in [all[0], all[1], all[2 + n % (all.len() - 2)]] {
                let got = run(&text, shape, way, 0, &[bounds.clone(), vec![0; expected.len()]]);
                assert!(got == expected, "{way:?}, {compare}.{ty}, turned {turned}, not {not}");
            }
        }
    }
}

/// The threads below `n` store what they read `away` words from their own, of shared memory that holds squares.
fn shifts_part(away: i32) -> String {
    format!(
        "
.visible .entry kernel(.param .u64 bounds, .param .u64 out)
{{
    .shared .align 4 .b32 own[1024];
    .reg .pred %p;
    .reg .b32 %t, %c, %s, %n, %v;
    .reg .b64 %b, %o;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    ld.param.u64 %b, [bounds];
    mad.wide.u32 %b, %c, 4, %b;
    ld.global.u32 %n, [%b];
    mov.u32 %s, own;
    mad.lo.u32 %s, %t, 4, %s;
    mul.lo.u32 %v, %t, %t;
    st.shared.u32 [%s+1024], %v;
    bar.sync 0;
    setp.ge.u32 %p, %t, %n;
    @%p bra ON;
    ld.shared.u32 %v, [%s+{at}];
    add.u32 %v, %v, 1;
    st.shared.u32 [%s+1024], %v;
ON:
    bar.sync 0;
    ld.shared.u32 %v, [%s+1024];
    ld.param.u64 %o, [out];
    mad.lo.u32 %n, %c, 256, %t;
    mad.wide.u32 %o, %n, 4, %o;
    st.global.u32 [%o], %v;
    ret;
}}
",
        at = 1024 + 4 * away,
    )
}

/// PTX leaves open in which order lanes of a warp read and write, but they do it in one: all read, then all write.
#[test]
fn lanes_of_a_warp_that_run_a_part_read_before_they_write() {
    let bounds: Vec<u32> = vec![1, 3, 16, 19, 31, 32, 40, 64, 69, 85, 100, 255, 256];
    for away in [-1, -7, -31, 1, 5, 30] {
        for way in ways() {
            let shape = ([bounds.len() as u32, 1, 1], [256, 1, 1]);
            let got = run(&shifts_part(away), shape, way, 0, &[bounds.clone(), vec![0; bounds.len() * 256]]);
            for (cta, n) in got.chunks(256).zip(&bounds) {
                for t in 0..256i32 {
                    let from = t + away;
                    if from < 0 || from / 32 != t / 32 {
                        continue; // another warp may have been there
                    }
                    let expected = if t < *n as i32 { from * from + 1 } else { t * t };
                    assert_eq!(
                        cta[t as usize], expected as u32,
                        "{way:?}, thread {t} below {n}, {away} away"
                    );
                }
            }
        }
    }
}

/// The threads below 200 store their number and a number of the CTA, added in 32 bits and extended to 64 before they part.
const EXTENDED: &str = "
.visible .entry kernel(.param .u64 bounds, .param .u64 out)
{
    .reg .pred %p;
    .reg .b32 %t, %c, %n, %i;
    .reg .b64 %b, %o, %v;
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    ld.param.u64 %b, [bounds];
    mad.wide.u32 %b, %c, 4, %b;
    ld.global.u32 %n, [%b];
    add.u32 %n, %n, %t;
    cvt.u64.u32 %v, %n;
    ld.param.u64 %o, [out];
    mad.lo.u32 %i, %c, 256, %t;
    mad.wide.u32 %o, %i, 8, %o;
    bar.sync 0;
    setp.ge.u32 %p, %t, 200;
    @%p bra END;
    st.global.u64 [%o], %v;
END:
    ret;
}
";

#[test]
fn what_wraps_on_the_way_to_a_part_is_exact() {
    let bounds: Vec<u32> = vec![0, u32::MAX, u32::MAX - 70, u32::MAX - 199, u32::MAX - 300, 5];
    let expected: Vec<u64> = bounds
        .iter()
        .flat_map(|n| (0..256).map(|t| if t < 200 { u64::from(n.wrapping_add(t)) } else { 0 }))
        .collect();
    let device = Device::builder().memory(1 << 26).threads(1).effort(EFFORT).build().unwrap();
    let module = device.load("wide.ptx", format!("{HEAD}{EXTENDED}")).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel("kernel").unwrap();
    let bounds = device.buffer_from(&bounds).unwrap();
    for (_, width) in ways() {
        for speculation in [Speculation::On, Speculation::Off] {
            let out = device.buffer_from(&vec![0u64; expected.len()]).unwrap();
            let launch = kernel.launch().grid([6, 1, 1]).block([256, 1, 1]).arg(&bounds).arg(&out);
            let launch = launch.engine(Engine::Jit).speculation(speculation).width(width.unwrap_or(128));
            launch.run().unwrap_or_else(|e| panic!("{e}"));
            assert!(out.to_vec().unwrap() == expected, "{width:?} {speculation:?}");
        }
    }
}

/// Every row of a block reads its way through `x` several times, each time with another distance between the rows and other steps, forwards and
/// backwards, and stores all it has summed up so far, plane after plane.
const IN_STEP: &str = "
.visible .entry kernel(.param .u64 x, .param .u64 out)
{
    .reg .pred %p, %q;
    .reg .b32 %x, %y, %w, %h, %c, %cx, %t, %d, %j, %k, %v, %u, %sum;
    .reg .s32 %step;
    .reg .b64 %a, %o, %at, %next, %plane, %from;
    mov.u32 %x, %tid.x;
    mov.u32 %y, %tid.y;
    mov.u32 %w, %ntid.x;
    mov.u32 %h, %ntid.y;
    mov.u32 %c, %ctaid.y;
    mov.u32 %t, %nctaid.x;
    mov.u32 %cx, %ctaid.x;
    mad.lo.u32 %c, %c, %t, %cx;
    ld.param.u64 %from, [x];
    ld.param.u64 %o, [out];
    mad.lo.u32 %t, %c, %h, %y;
    mad.lo.u32 %t, %t, %w, %x;
    mad.wide.u32 %o, %t, 4, %o;
    mov.u64 %plane, 6144;
    mov.u32 %sum, 0;
    mov.u32 %j, 0;
AGAIN:
    mad.lo.u32 %d, %j, 24, 40;
    mad.lo.u32 %t, %y, %d, %x;
    add.u32 %t, %t, %c;
    add.u32 %t, %t, 64;
    mad.wide.u32 %a, %t, 4, %from;
    mul.lo.s32 %step, %j, -32;
    add.s32 %step, %step, 64;
    cvt.s64.s32 %next, %step;
    mov.u32 %k, 0;
TURN:
    ld.global.u32 %v, [%a];
    ld.global.u32 %u, [%a+32];
    mad.lo.u32 %sum, %sum, 3, %v;
    add.u32 %sum, %sum, %u;
    st.global.u32 [%o], %sum;
    add.s64 %o, %o, %plane;
    add.s64 %a, %a, %next;
    add.u32 %k, %k, 1;
    setp.lt.u32 %p, %k, 4;
    @%p bra TURN;
    add.u32 %j, %j, 1;
    setp.lt.u32 %q, %j, 5;
    @%q bra AGAIN;
    ret;
}
";

#[test]
fn rows_move_on_in_step() {
    for block in [[16u32, 16, 1], [32, 8, 1], [8, 32, 1], [16, 4, 1]] {
        let threads = block[0] * block[1];
        let ctas = 1536 / threads;
        let x: Vec<u32> = (0..8192u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
        let mut expected = vec![0; 20 * 1536];
        for (c, y, t) in (0..ctas).flat_map(|c| (0..threads).map(move |n| (c, n / block[0], n % block[0]))) {
            let mut sum = 0u32;
            for turn in 0..20u32 {
                let (j, k) = (turn / 4, turn % 4);
                let at = (y * (40 + 24 * j) + t + c + 64) as i32 + k as i32 * (16 - 8 * j as i32);
                let read = |word: i32| x[word as usize];
                sum = sum.wrapping_mul(3).wrapping_add(read(at)).wrapping_add(read(at + 8));
                expected[(turn * 1536 + (c * block[1] + y) * block[0] + t) as usize] = sum;
            }
        }
        for way in ways() {
            let got = run(IN_STEP, ([ctas / 2, 2, 1], block), way, 0, &[x.clone(), vec![0; expected.len()]]);
            assert!(got == expected, "{way:?}, {block:?}");
        }
    }
}

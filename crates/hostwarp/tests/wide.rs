//! What only wide groups, whole CTAs and large buffers take a way of their own for: one NaN among many numbers, CTA after CTA in one call,
//! and streams that are asked for ahead.

use hostwarp::{Device, Engine};

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// Runs `kernel` with buffers of words; answers the last one.
fn run(
    body: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    (engine, width): (Engine, Option<u32>),
    shared: u32,
    buffers: &[Vec<u32>],
) -> Vec<u32> {
    let device = Device::builder().memory(1 << 26).threads(1).build().unwrap();
    let module = device.load("wide.ptx", format!("{HEAD}{body}")).unwrap_or_else(|e| panic!("{e}"));
    let buffers: Vec<_> = buffers.iter().map(|words| device.buffer_from(words).unwrap()).collect();
    let kernel = module.kernel("kernel").unwrap();
    let mut launch = kernel.launch().grid(grid).block(block).engine(engine).shared(shared);
    for buffer in &buffers {
        launch = launch.arg(buffer);
    }
    if let Some(width) = width {
        launch = launch.width(width);
    }
    launch.run().unwrap_or_else(|e| panic!("{e}"));
    buffers.last().unwrap().to_vec().unwrap()
}

/// The interpreter, and compiled code at every width.
fn ways() -> Vec<(Engine, Option<u32>)> {
    let jit = [None, Some(32), Some(64), Some(128), Some(256)].map(|width| (Engine::Jit, width));
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

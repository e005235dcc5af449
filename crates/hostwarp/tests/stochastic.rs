//! `cvt.rs` to four narrow numbers against the oracle, on both engines; pairs are among `isa/tests/oracle.rs`.

use hostwarp::{Device, Engine};
use hostwarp_oracle::randomly;

const COUNT: usize = 1 << 15;

/// Numbers of every size a narrow format has, and beyond; next to its numbers, where the last random bit decides; all that is special.
fn numbers(seed: u32) -> Vec<u32> {
    let mut state = seed;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    let special = [0, 1, 0x7f_ffff, 0x80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001, 0x7fff_ffff];
    (0..COUNT)
        .map(|i| {
            let (word, size) = (next(), 127 - 34 + next() % 54);
            let magnitude = match i % 4 {
                0 => special[word as usize % special.len()],
                // A few bits, and one of the lower ones more or less.
                1 => (size << 23 | word & 0x60_0000).wrapping_add((1 << (next() % 8)) ^ 2),
                _ => size << 23 | word & 0x7f_ffff,
            };
            magnitude & 0x7fff_ffff | (word & 1 << 20) << 11
        })
        .collect()
}

#[test]
fn four_numbers_share_random_bits() {
    let device = Device::builder().memory(1 << 24).build().expect("a device");
    let engines: &[Engine] =
        if device.llvm().is_ok() { &[Engine::Interp, Engine::Jit] } else { &[Engine::Interp] };
    let inputs: Vec<Vec<u32>> = (1..6).map(|seed| numbers(0x9e37_79b9_u32.wrapping_mul(seed))).collect();
    // Bits alone, so that each one's place shows, and all together.
    let rbits: Vec<u32> = (0..COUNT)
        .map(|i| if i % 3 == 0 { 1 << (i / 3 % 32) } else { inputs[4][i].wrapping_mul(0x9e37_79b1) })
        .collect();
    for name in ["e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"] {
        for relu in ["", ".relu"] {
            let (ty, wide) =
                if name == "e2m1x4" { ("b16", "cvt.u32.u16 %r9, %d;") } else { ("b32", "mov.b32 %r9, %d;") };
            let ptx = format!(
                ".version 8.7 .target sm_100a .address_size 64
                 .visible .entry k(.param .u64 a, .param .u64 b, .param .u64 e, .param .u64 f, .param .u64 r, .param .u64 d) {{
                 .reg .b32 %r<10>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .{ty} %d;
                 mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r0, %r0, %r1, %r2; mul.wide.u32 %rd0, %r0, 4;
                 ld.param.u64 %rd1, [a]; add.u64 %rd1, %rd1, %rd0; ld.global.f32 %f0, [%rd1];
                 ld.param.u64 %rd1, [b]; add.u64 %rd1, %rd1, %rd0; ld.global.f32 %f1, [%rd1];
                 ld.param.u64 %rd1, [e]; add.u64 %rd1, %rd1, %rd0; ld.global.f32 %f2, [%rd1];
                 ld.param.u64 %rd1, [f]; add.u64 %rd1, %rd1, %rd0; ld.global.f32 %f3, [%rd1];
                 ld.param.u64 %rd1, [r]; add.u64 %rd1, %rd1, %rd0; ld.global.b32 %r3, [%rd1];
                 cvt.rs{relu}.satfinite.{name}.f32 %d, {{%f0, %f1, %f2, %f3}}, %r3;
                 {wide} ld.param.u64 %rd1, [d]; add.u64 %rd1, %rd1, %rd0; st.global.b32 [%rd1], %r9; ret; }}"
            );
            let kernel =
                device.load("rs.ptx", ptx).unwrap_or_else(|e| panic!("{e}")).kernel("k").expect("a kernel");
            let buffers: Vec<_> =
                inputs[..4].iter().chain([&rbits]).map(|v| device.buffer_from(v).expect("it fits")).collect();
            for engine in engines {
                let out = device.buffer::<u32>(COUNT).expect("it fits");
                let launch =
                    kernel.launch().grid([COUNT as u32 / 256, 1, 1]).block([256, 1, 1]).engine(*engine);
                let launch = buffers.iter().fold(launch, |launch, buffer| launch.arg(buffer));
                launch.arg(&out).run().unwrap_or_else(|e| panic!("{e}"));
                for (i, got) in out.to_vec().expect("it is there").into_iter().enumerate() {
                    let of = std::array::from_fn(|n| inputs[n][i]);
                    let want = randomly(name, !relu.is_empty(), of, rbits[i]);
                    assert_eq!(got, want, "{name}{relu} {engine:?}: {of:#x?} {:#x}", rbits[i]);
                }
            }
        }
    }
}

/// What a B200 has been measured to do, bit by bit: a bit alone moves the number whose it is, and more so the higher it counts.
#[test]
fn each_random_bit_has_its_place() {
    // 1 and half of its last place: rounded up by the highest random bit alone.
    let halfway = |fraction: u32| 0x3f80_0000 | 1 << (22 - fraction);
    for (name, fraction, highest) in
        [("e4m3x4", 3, [16, 31, 0, 15]), ("e5m2x4", 2, [16, 31, 0, 15]), ("e2m1x4", 1, [8, 31, 0, 23])]
    {
        let down = randomly(name, false, [halfway(fraction); 4], 0);
        for bit in 0..32 {
            let up = randomly(name, false, [halfway(fraction); 4], 1 << bit) ^ down;
            let width = if name == "e2m1x4" { 4 } else { 8 };
            let moved: Vec<usize> = (0..4)
                .filter(|i| up >> (width * (3 - i)) & ((1 << width) - 1) != 0)
                .map(|i| i as usize)
                .collect();
            let want: Vec<usize> = (0..4).filter(|i| highest[*i] == bit).collect();
            assert_eq!(moved, want, "{name}, bit {bit}");
        }
    }
}

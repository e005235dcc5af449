//! One large straight-line kernel, the same in PTX, C and OpenCL: arithmetic on 12 integers and 4 floats.
//!
//! Floats stay within a few units and never become NaN, so that all three languages agree on every bit.

use std::fmt::Write;

/// Instructions of the large kernel that is measured.
pub const LARGE: usize = 5000;

const INTEGERS: u32 = 12;
const FLOATS: u32 = 4;

/// One generated instruction: numbers of registers, and constants.
enum Step {
    Add(u32, u32, u32),
    Sub(u32, u32, u32),
    Mul(u32, u32, u32),
    Xor(u32, u32, u32),
    Mad(u32, u32, u32, u32),
    Shl(u32, u32, u32),
    Shr(u32, u32, u32),
    MinSigned(u32, u32, u32),
    MaxUnsigned(u32, u32, u32),
    /// f = f * constant + constant
    Fma(u32, u32, f32, f32),
    Scale(u32, u32, f32),
    /// Bits of a float into an integer.
    Bits(u32, u32),
}

fn steps(n: usize) -> Vec<Step> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 32) as u32) % below
    };
    let mut out = Vec::with_capacity(n + 1);
    while out.len() < n {
        let (d, a, c) = (next(INTEGERS), next(INTEGERS), next(INTEGERS));
        let b = (a + 1 + next(INTEGERS - 1)) % INTEGERS; // not a: compilers know the least of a and a
        let (fd, fa) = (next(FLOATS), next(FLOATS));
        let small = 0.25 + next(64) as f32 / 128.0;
        let offset = next(256) as f32 / 64.0 - 1.984_375;
        let by = 1 + next(30);
        out.push(match next(16) {
            0..=2 => Step::Add(d, a, b),
            3 => Step::Sub(d, a, b),
            4 => Step::Mul(d, a, b),
            5..=6 => Step::Xor(d, a, b),
            7 => Step::Mad(d, a, b, c),
            8 => Step::Shl(d, a, by),
            9 => Step::Shr(d, a, by),
            10 => Step::MinSigned(d, a, b),
            11 => Step::MaxUnsigned(d, a, b),
            12..=13 => Step::Fma(fd, fa, small, offset),
            14 => Step::Scale(fd, fa, small),
            _ => Step::Bits(d, fa),
        });
        // What these lose adds up: from some size on compilers would find that hardly anything is left to compute.
        let other = (d + 1 + next(INTEGERS - 1)) % INTEGERS;
        if let Some(
            Step::Mul(..) | Step::Shl(..) | Step::Shr(..) | Step::MinSigned(..) | Step::MaxUnsigned(..),
        ) = out.last()
        {
            out.push(Step::Xor(d, d, other));
        }
    }
    out.truncate(n);
    out
}

/// The module with kernel `large`.
pub fn ptx(instructions: usize) -> String {
    let mut out = format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n\n\
         .visible .entry large(.param .u64 x, .param .u64 y)\n{{\n\
         \x20   .reg .b32 %i, %n, %r<{INTEGERS}>;\n    .reg .f32 %f<{FLOATS}>;\n    .reg .b64 %x, %y, %at;\n\
         \x20   mov.u32 %i, %ctaid.x;\n    mov.u32 %n, %ntid.x;\n    mov.u32 %r0, %tid.x;\n\
         \x20   mad.lo.u32 %i, %i, %n, %r0;\n    mul.wide.u32 %at, %i, 4;\n\
         \x20   ld.param.u64 %x, [x];\n    ld.param.u64 %y, [y];\n\
         \x20   add.s64 %x, %x, %at;\n    add.s64 %y, %y, %at;\n    ld.global.u32 %n, [%x];\n"
    );
    for r in 0..INTEGERS {
        let _ = writeln!(out, "    mad.lo.u32 %r{r}, %n, {}, {r};", 2 * r + 1);
    }
    for f in 0..FLOATS {
        let _ = writeln!(out, "    cvt.rn.f32.s32 %f{f}, %r{f};\n    mul.rn.f32 %f{f}, %f{f}, 0f30000000;");
    }
    for step in steps(instructions) {
        let bits = |v: f32| format!("0f{:08X}", v.to_bits());
        let _ = match step {
            Step::Add(d, a, b) => writeln!(out, "    add.u32 %r{d}, %r{a}, %r{b};"),
            Step::Sub(d, a, b) => writeln!(out, "    sub.u32 %r{d}, %r{a}, %r{b};"),
            Step::Mul(d, a, b) => writeln!(out, "    mul.lo.u32 %r{d}, %r{a}, %r{b};"),
            Step::Xor(d, a, b) => writeln!(out, "    xor.b32 %r{d}, %r{a}, %r{b};"),
            Step::Mad(d, a, b, c) => writeln!(out, "    mad.lo.u32 %r{d}, %r{a}, %r{b}, %r{c};"),
            Step::Shl(d, a, by) => writeln!(out, "    shl.b32 %r{d}, %r{a}, {by};"),
            Step::Shr(d, a, by) => writeln!(out, "    shr.u32 %r{d}, %r{a}, {by};"),
            Step::MinSigned(d, a, b) => writeln!(out, "    min.s32 %r{d}, %r{a}, %r{b};"),
            Step::MaxUnsigned(d, a, b) => writeln!(out, "    max.u32 %r{d}, %r{a}, %r{b};"),
            Step::Fma(d, a, k, c) => writeln!(out, "    fma.rn.f32 %f{d}, %f{a}, {}, {};", bits(k), bits(c)),
            Step::Scale(d, a, k) => writeln!(out, "    mul.rn.f32 %f{d}, %f{a}, {};", bits(k)),
            Step::Bits(d, a) => writeln!(out, "    mov.b32 %r{d}, %f{a};"),
        };
    }
    for f in 0..FLOATS {
        let _ = writeln!(out, "    mov.b32 %n, %f{f};\n    xor.b32 %r0, %r0, %n;");
    }
    for r in 1..INTEGERS {
        let _ = writeln!(out, "    xor.b32 %r0, %r0, %r{r};");
    }
    out.push_str("    st.global.u32 [%y], %r0;\n    ret;\n}\n");
    out
}

/// The body in the common part of C and OpenCL; it reads `n` and leaves the result in `r0`.
fn body(instructions: usize) -> String {
    let mut out = String::new();
    for r in 0..INTEGERS {
        let _ = writeln!(out, "uint r{r} = n * {}u + {r}u;", 2 * r + 1);
    }
    for f in 0..FLOATS {
        let _ = writeln!(out, "float f{f} = (float)(int)r{f} * 0x1p-31f;");
    }
    for step in steps(instructions) {
        let _ = match step {
            Step::Add(d, a, b) => writeln!(out, "r{d} = r{a} + r{b};"),
            Step::Sub(d, a, b) => writeln!(out, "r{d} = r{a} - r{b};"),
            Step::Mul(d, a, b) => writeln!(out, "r{d} = r{a} * r{b};"),
            Step::Xor(d, a, b) => writeln!(out, "r{d} = r{a} ^ r{b};"),
            Step::Mad(d, a, b, c) => writeln!(out, "r{d} = r{a} * r{b} + r{c};"),
            Step::Shl(d, a, by) => writeln!(out, "r{d} = r{a} << {by};"),
            Step::Shr(d, a, by) => writeln!(out, "r{d} = r{a} >> {by};"),
            Step::MinSigned(d, a, b) => writeln!(out, "r{d} = (int)r{a} < (int)r{b} ? r{a} : r{b};"),
            Step::MaxUnsigned(d, a, b) => writeln!(out, "r{d} = r{a} > r{b} ? r{a} : r{b};"),
            Step::Fma(d, a, k, c) => writeln!(out, "f{d} = FMA(f{a}, {k:?}f, {c:?}f);"),
            Step::Scale(d, a, k) => writeln!(out, "f{d} = f{a} * {k:?}f;"),
            Step::Bits(d, a) => writeln!(out, "r{d} = BITS(f{a});"),
        };
    }
    for f in 0..FLOATS {
        let _ = writeln!(out, "r0 ^= BITS(f{f});");
    }
    for r in 1..INTEGERS {
        let _ = writeln!(out, "r0 ^= r{r};");
    }
    out
}

/// The kernel in C, for `kernels.c`'s way of naming.
pub fn c(instructions: usize) -> String {
    format!(
        "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\
         typedef uint32_t uint;\n\
         static inline uint BITS(float f) {{ uint u; memcpy(&u, &f, 4); return u; }}\n\
         #define FMA fmaf\n#define JOIN2(a, b) a##_##b\n#define JOIN(a, b) JOIN2(a, b)\n\
         void JOIN(large, WIDTH)(void *const *buffers, const uint32_t *scalars, size_t begin, size_t end) {{\n\
         const uint *restrict x = buffers[0]; uint *restrict y = buffers[1]; (void)scalars;\n\
         for (size_t i = begin; i < end; i++) {{\nuint n = x[i];\n{}y[i] = r0;\n}}\n}}\n",
        body(instructions)
    )
}

/// The kernel in OpenCL.
pub fn opencl(instructions: usize) -> String {
    format!(
        "#define FMA fma\n#define BITS as_uint\n\
         kernel void large(global const uint *x, global uint *y) {{\nuint n = x[get_global_id(0)];\n{}y[get_global_id(0)] = r0;\n}}\n",
        body(instructions)
    )
}

//! Kernels with one dimension that can be made as large as one likes.

use std::fmt::Write;

/// A dimension: what is counted, where to begin, and the text with so many of it.
pub struct Shape {
    /// As it stands in the table.
    pub name: &'static str,
    /// The smallest number that is looked at.
    pub from: usize,
    /// The largest.
    pub to: usize,
    /// Writes the module.
    pub write: fn(usize) -> String,
}

/// All dimensions.
pub const SHAPES: &[Shape] = &[
    Shape { name: "instructions in a row", from: 500, to: 512_000, write: length },
    Shape { name: "loads and stores", from: 250, to: 64_000, write: accesses },
    Shape { name: "predicated instructions", from: 250, to: 64_000, write: predicated },
    Shape { name: "uniform branches", from: 125, to: 64_000, write: |n| branches(n, "%u1") },
    Shape { name: "divergent branches", from: 125, to: 64_000, write: |n| branches(n, "%r1") },
    Shape { name: "divergent branches, four registers each", from: 125, to: 32_000, write: wide_branches },
    Shape { name: "nested branches", from: 125, to: 32_000, write: nested },
    Shape { name: "irreducible branches", from: 125, to: 16_000, write: irreducible },
    Shape { name: "loops in a row", from: 64, to: 16_000, write: loops },
    Shape { name: "nested loops", from: 64, to: 16_000, write: nested_loops },
    Shape { name: "loops left all at once", from: 64, to: 16_000, write: nested_breaks },
    Shape { name: "values of nested loops", from: 64, to: 2_000, write: nested_values },
    Shape { name: "exits of a loop", from: 64, to: 16_000, write: exits },
    Shape { name: "barriers", from: 64, to: 16_000, write: barriers },
    Shape { name: "registers alive in a loop", from: 64, to: 16_000, write: live },
    Shape { name: "blocks with 100 registers alive", from: 125, to: 64_000, write: live_blocks },
    Shape { name: "registers alive and as many blocks", from: 16, to: 1_000, write: live_square },
    Shape { name: "comparators of a sorting network", from: 64, to: 16_000, write: network },
    Shape { name: "labels", from: 4_000, to: 1_024_000, write: labels },
    Shape { name: "targets of a brx.idx", from: 64, to: 16_000, write: targets },
    Shape { name: "calls", from: 64, to: 16_000, write: calls },
    Shape { name: "functions in a chain of calls", from: 64, to: 4_000, write: chain },
    Shape { name: "kernels", from: 64, to: 16_000, write: kernels },
    Shape { name: "global variables", from: 1_000, to: 256_000, write: globals },
    Shape { name: "registers declared one by one", from: 1_000, to: 256_000, write: registers },
    Shape { name: "elements of an initialiser", from: 4_000, to: 4_096_000, write: elements },
    Shape { name: "terms of an operand", from: 4_000, to: 1_024_000, write: terms },
    Shape { name: "parameters", from: 64, to: 2_000, write: parameters },
    Shape { name: "scopes", from: 1_000, to: 256_000, write: scopes },
    Shape { name: "bytes of a comment that never ends", from: 1 << 20, to: 1 << 27, write: comment },
    Shape { name: "unknown names", from: 1_000, to: 1_024_000, write: unknown },
    Shape { name: "unknown instructions", from: 1_000, to: 1_024_000, write: opcodes },
    Shape { name: "syntax errors", from: 1_000, to: 1_024_000, write: syntax },
    Shape { name: "errors in one line", from: 1_000, to: 1_024_000, write: one_line },
    Shape { name: "names defined twice", from: 1_000, to: 256_000, write: twice },
];

const HEAD: &str = ".version 8.5\n.target sm_90\n.address_size 64\n";

/// A kernel whose threads have a number of their own in `%r1`, the same one in `%u1`, and a place to store `%r2`.
fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "{HEAD}{declarations}.visible .entry k(.param .u64 out) {{
.reg .b32 %r<16>; .reg .b32 %u<4>; .reg .pred %p<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x; mov.u32 %u1, %ntid.x; mov.u32 %r2, 0;
mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
{body}st.global.u32 [%rd1], %r2;
ret;
}}
"
    )
}

fn each(n: usize, mut write: impl FnMut(&mut String, usize)) -> String {
    let mut out = String::new();
    (0..n).for_each(|i| write(&mut out, i));
    out
}

macro_rules! line {
    ($out:expr, $($arg:tt)*) => {
        // Writing to a string does not fail.
        let _ = writeln!($out, $($arg)*);
    };
}

fn length(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "mad.lo.s32 %r2, %r2, %r1, {i};");
        }),
    )
}

fn accesses(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, _| {
            line!(o, "ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, %r1; st.global.u32 [%rd1], %r3;");
        }),
    )
}

fn predicated(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "setp.gt.u32 %p1, %r1, {}; @%p1 xor.b32 %r2, %r2, {i};", i % 64);
        }),
    )
}

fn branches(n: usize, by: &str) -> String {
    let body = each(n, |o, i| {
        line!(
            o,
            "and.b32 %r3, {by}, {}; setp.eq.u32 %p1, %r3, 0; @%p1 bra L{i}; add.u32 %r2, %r2, {i}; xor.b32 %r2, %r2, %r1;\nL{i}:",
            1 << (i % 5)
        );
    });
    kernel("", &body)
}

fn wide_branches(n: usize) -> String {
    let body = each(n, |o, i| {
        line!(o, "setp.gt.u32 %p1, %r1, {}; @%p1 bra L{i};", i % 32);
        line!(
            o,
            "add.u32 %r2, %r2, %r4; mul.lo.u32 %r4, %r4, %r5; sub.u32 %r5, %r5, %r6; xor.b32 %r6, %r6, %r2;\nL{i}:"
        );
    });
    kernel("", &format!("mov.u32 %r4, %r1; mov.u32 %r5, 5; mov.u32 %r6, 6;\n{body}add.u32 %r2, %r2, %r6;\n"))
}

fn nested(n: usize) -> String {
    let down = each(n, |o, i| {
        line!(o, "setp.gt.u32 %p1, %r1, {i}; @%p1 bra L{i}; add.u32 %r2, %r2, {i};");
    });
    let up = each(n, |o, i| {
        line!(o, "add.u32 %r2, %r2, %r1;\nL{}: xor.b32 %r2, %r2, 3;", n - 1 - i);
    });
    kernel("", &(down + &up))
}

fn irreducible(n: usize) -> String {
    // Each is entered in its middle by some lanes.
    let body = each(n, |o, i| {
        line!(o, "add.u32 %r3, %r1, {i}; setp.gt.u32 %p1, %r3, 16; @%p1 bra M{i};");
        line!(
            o,
            "H{i}: add.u32 %r2, %r2, 1;\nM{i}: add.u32 %r3, %r3, 7; setp.lt.u32 %p2, %r3, 20; @%p2 bra H{i};"
        );
    });
    kernel("", &body)
}

fn loops(n: usize) -> String {
    let body = each(n, |o, i| {
        line!(
            o,
            "mov.u32 %r3, 0;\nL{i}: add.u32 %r2, %r2, %r3; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %u1; @%p1 bra L{i};"
        );
    });
    kernel("", &body)
}

fn nested_loops(n: usize) -> String {
    // Every loop but the innermost is gone through once.
    let down = each(n, |o, i| {
        line!(o, "L{i}: add.u32 %r2, %r2, {i};");
    });
    let up = each(n, |o, i| {
        let i = n - 1 - i;
        line!(o, "add.u32 %r2, %r2, %r1; setp.eq.u32 %p1, %u1, {}; @%p1 bra L{i};", 5000 + i);
    });
    kernel("", &(down + &up))
}

fn nested_breaks(n: usize) -> String {
    // Every loop can be left to behind all of them.
    let down = each(n, |o, i| {
        line!(o, "L{i}: add.u32 %r2, %r2, {i}; setp.eq.u32 %p2, %r2, {i}; @%p2 bra OUT;");
    });
    let up = each(n, |o, i| {
        let i = n - 1 - i;
        line!(o, "add.u32 %r2, %r2, %r1; setp.eq.u32 %p1, %u1, {}; @%p1 bra L{i};", 5000 + i);
    });
    kernel("", &(down + &up + "OUT:\n"))
}

fn nested_values(n: usize) -> String {
    // Every loop computes something that is needed behind all of them.
    let down = each(n, |o, i| {
        line!(o, "L{i}: add.u32 %r2, %r2, {i}; xor.b32 %w{i}, %r2, %r1;");
    });
    let up = each(n, |o, i| {
        let i = n - 1 - i;
        line!(o, "add.u32 %r2, %r2, %r1; setp.eq.u32 %p1, %u1, {}; @%p1 bra L{i};", 5000 + i);
    });
    let sum = each(n, |o, i| {
        line!(o, "add.u32 %r2, %r2, %w{i};");
    });
    kernel("", &format!(".reg .b32 %w<{n}>;\n{down}{up}{sum}"))
}

fn exits(n: usize) -> String {
    let body = each(n, |o, i| {
        line!(o, "add.u32 %r2, %r2, {i}; setp.eq.u32 %p1, %r2, %r1; @%p1 bra END;");
    });
    kernel("", &format!("LOOP: {body}setp.lt.u32 %p1, %r2, %u1; @%p1 bra LOOP;\nEND:\n"))
}

fn barriers(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "add.u32 %r2, %r2, {i}; bar.sync 0;");
        }),
    )
}

fn live(n: usize) -> String {
    let make = each(n, |o, i| {
        line!(o, "add.u32 %v{i}, %r1, {i};");
    });
    let turn = each(n, |o, i| {
        line!(o, "mul.lo.u32 %v{i}, %v{i}, %v{};", (i + 1) % n);
    });
    let take = each(n, |o, i| {
        line!(o, "xor.b32 %r2, %r2, %v{i};");
    });
    let around = format!(
        "mov.u32 %r3, 0;\nLOOP:\n{turn}add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 4; @%p1 bra LOOP;\n"
    );
    kernel("", &format!(".reg .b32 %v<{n}>;\n{make}{around}{take}"))
}

fn alive(registers: usize, blocks: usize) -> String {
    let make = each(registers, |o, i| {
        line!(o, "add.u32 %v{i}, %r1, {i};");
    });
    let middle = each(blocks, |o, i| {
        line!(
            o,
            "setp.gt.u32 %p1, %u1, {i}; @%p1 bra L{i}; add.u32 %v{0}, %v{0}, %u1;\nL{i}:",
            i % registers
        );
    });
    let take = each(registers, |o, i| {
        line!(o, "xor.b32 %r2, %r2, %v{i};");
    });
    kernel("", &format!(".reg .b32 %v<{registers}>;\n{make}{middle}{take}"))
}

fn live_blocks(n: usize) -> String {
    alive(100, n)
}

fn live_square(n: usize) -> String {
    // Registers times blocks are doubled, as what is alive is.
    let side = 1 << (n.ilog2().div_ceil(2));
    alive(side, n * 16 / side)
}

fn network(n: usize) -> String {
    let make = each(64, |o, i| {
        line!(o, "ld.global.u32 %v{i}, [%rd1+{}];", 4 * i);
    });
    let steps = each(n, |o, i| {
        let (a, b) = (i % 64, (i + 1 + i / 64 * 7 % 61) % 64);
        line!(o, "min.u32 %r3, %v{a}, %v{b}; max.u32 %v{b}, %v{a}, %v{b}; mov.u32 %v{a}, %r3;");
    });
    let take = each(64, |o, i| {
        line!(o, "st.global.u32 [%rd1+{}], %v{i};", 4 * i);
    });
    kernel("", &format!(".reg .b32 %v<64>;\n{make}{steps}{take}"))
}

fn labels(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "L{i}:");
        }),
    )
}

fn targets(n: usize) -> String {
    let list: Vec<String> = (0..n).map(|i| format!("L{i}")).collect();
    let cases = each(n, |o, i| {
        line!(o, "L{i}: add.u32 %r2, %r2, {i}; bra END;");
    });
    kernel(
        "",
        &format!(
            "T: .branchtargets {};\nmov.u32 %r3, %ctaid.x; brx.idx %r3, T;\n{cases}END:\n",
            list.join(", ")
        ),
    )
}

const CALLEE: &str = ".func (.reg .b32 %o) f(.reg .b32 %i) { add.u32 %o, %i, 3; ret; }\n";

fn calls(n: usize) -> String {
    kernel(
        CALLEE,
        &each(n, |o, _| {
            line!(o, "call (%r2), f, (%r2);");
        }),
    )
}

fn chain(n: usize) -> String {
    let functions = each(n, |o, i| {
        let call = if i == 0 { "mov.b32 %o, %i;".into() } else { format!("call (%o), f{}, (%i);", i - 1) };
        line!(o, ".func (.reg .b32 %o) f{i}(.reg .b32 %i) {{ {call} add.u32 %o, %o, 3; ret; }}");
    });
    kernel(&functions, &format!("call (%r2), f{}, (%r1);\n", n - 1))
}

fn kernels(n: usize) -> String {
    let others = each(n, |o, i| {
        line!(o, ".entry k{i}() {{ .reg .b32 %r<3>; mov.u32 %r1, {i}; add.u32 %r2, %r1, 1; ret; }}");
    });
    kernel(&others, "")
}

fn globals(n: usize) -> String {
    let all = each(n, |o, i| {
        line!(o, ".global .u32 g{i} = {i};");
    });
    kernel(
        &all,
        &each(n, |o, i| {
            if i % 64 == 0 {
                line!(o, "ld.global.u32 %r2, [g{i}];");
            }
        }),
    )
}

fn registers(n: usize) -> String {
    let all = each(n, |o, i| {
        line!(o, ".reg .b32 a{i};");
    });
    let used = each(n, |o, i| {
        if i % 64 == 0 {
            line!(o, "add.u32 %r2, %r2, a{i};");
        }
    });
    kernel("", &(all + &used))
}

fn elements(n: usize) -> String {
    let list: Vec<String> = (0..n).map(|i| i.to_string()).collect();
    kernel(&format!(".global .u32 g[{n}] = {{ {} }};\n", list.join(", ")), "")
}

fn terms(n: usize) -> String {
    kernel("", &format!("mov.u32 %r2, 1{};\n", "+1".repeat(n)))
}

fn parameters(n: usize) -> String {
    let params = each(n, |o, i| {
        line!(o, ", .param .u8 p{i}");
    });
    let reads = each(n, |o, i| {
        line!(o, "ld.param.u8 %r3, [p{i}]; add.u32 %r2, %r2, %r3;");
    });
    kernel("", &reads).replace("k(.param .u64 out)", &format!("k(.param .u64 out{params})"))
}

fn scopes(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "{{ .reg .b32 a; mov.u32 a, {i}; add.u32 %r2, %r2, a; }}");
        }),
    )
}

fn comment(n: usize) -> String {
    format!("{HEAD}/*{}", "a comment * / that goes on\n".repeat(n / 27))
}

fn unknown(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "add.u32 %r2, %r2, %q{i};");
        }),
    )
}

fn opcodes(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, "addd{i}.u32 %r2, %r2, %r1;");
        }),
    )
}

fn syntax(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, _| {
            line!(o, "add.u32 %r2, , %r1;");
        }),
    )
}

fn one_line(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            let _ = write!(o, "add.u32 %r2, %r2, %q{i};");
        }),
    )
}

fn twice(n: usize) -> String {
    kernel(
        "",
        &each(n, |o, i| {
            line!(o, ".reg .b32 a{i}, a{i};");
        }),
    )
}

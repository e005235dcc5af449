//! Tiles in shared memory that are stored and read back in rows: what is read is right, whoever runs the kernel and wherever it goes over from
//! compiled code to the interpreter.

#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use std::fmt::Write;

use hostwarp::{Device, Effort, Engine};

/// The tile has a few more rows than the block.
const ROWS: usize = 20;
const SIDE: usize = 16;

#[derive(Clone, Copy, Debug)]
enum Do {
    /// Each thread stores its value in its row, or so many further down, and takes another value.
    Store(usize),
    /// The same, of threads in the upper half of the block only.
    StoreSome(usize),
    Barrier,
    /// Each thread reads its own place, or so many rows further down.
    Own(usize),
    /// All threads of a column read one row.
    Row(usize),
    /// All threads of a row read one word of it.
    Word(usize),
    /// Half of the threads read one buffer, half another: not for compiled code.
    Leave,
    /// Those of the upper half go round an instruction, one that is too dear for if-conversion.
    Part,
}

use Do::*;

const HEAD: &str = "
.version 8.3
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 turns)
{
    .shared .align 4 .b32 tile[320];
    .reg .pred %low, %more;
    .reg .b32 %x, %y, %t, %c, %own, %row, %column, %v, %u, %sum, %left;
    .reg .b64 %from, %other, %out;
    mov.u32 %x, %tid.x;
    mov.u32 %y, %tid.y;
    setp.lt.u32 %low, %y, 8;
    mov.u32 %t, tile;
    mad.lo.u32 %row, %y, 64, %t;
    mad.lo.u32 %own, %x, 4, %row;
    mad.lo.u32 %column, %x, 4, %t;
    ld.param.u64 %from, [x];
    ld.param.u64 %other, [y];
    ld.param.u64 %out, [out];
    ld.param.u32 %left, [turns];
    mad.lo.u32 %t, %y, 16, %x;
    mad.wide.u32 %from, %t, 4, %from;
    mad.wide.u32 %other, %t, 4, %other;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %t, %c, 256, %t;
    mad.wide.u32 %out, %t, 4, %out;
    ld.global.u32 %v, [%from];
    add.u32 %v, %v, %c;
    mov.u32 %sum, 0;
TURN:
";

const TAIL: &str = "
    sub.u32 %left, %left, 1;
    setp.ne.u32 %more, %left, 0;
    @%more bra TURN;
    st.global.u32 [%out], %sum;
    ret;
}
";

fn ptx(what: &[Do]) -> String {
    let mut text = HEAD.to_owned();
    let (sum, next) = ("mad.lo.u32 %sum, %sum, 3, %u", "mad.lo.u32 %v, %v, 5, 1");
    for (n, what) in what.iter().enumerate() {
        let _ = match what {
            Store(down) => writeln!(text, "st.shared.u32 [%own+{}], %v; {next};", 64 * down),
            StoreSome(down) => writeln!(text, "@%low st.shared.u32 [%own+{}], %v; {next};", 64 * down),
            Barrier => writeln!(text, "bar.sync 0;"),
            Own(down) => writeln!(text, "ld.shared.u32 %u, [%own+{}]; {sum};", 64 * down),
            Row(row) => writeln!(text, "ld.shared.u32 %u, [%column+{}]; {sum};", 64 * row),
            Word(word) => writeln!(text, "ld.shared.u32 %u, [%row+{}]; {sum};", 4 * word),
            Leave => writeln!(
                text,
                "{{ .reg .b64 %a; selp.b64 %a, %from, %other, %low; ld.global.u32 %u, [%a]; }} {sum};"
            ),
            Part => writeln!(text, "@%low bra ON{n}; div.u32 %sum, %sum, 7; ON{n}:"),
        };
    }
    text + TAIL
}

/// What the kernel does, thread by thread.
fn model(what: &[Do], x: &[u32], y: &[u32], ctas: u32, turns: u32) -> Vec<u32> {
    let mut out = vec![];
    for cta in 0..ctas {
        let mut tile = vec![0u32; ROWS * SIDE];
        let mut value: Vec<u32> = x.iter().map(|x| x + cta).collect();
        let mut sum = vec![0u32; SIDE * SIDE];
        for what in (0..turns).flat_map(|_| what) {
            for (thread, (value, sum)) in value.iter_mut().zip(&mut sum).enumerate() {
                let (row, column) = (thread / SIDE, thread % SIDE);
                let read = match what {
                    Store(down) | StoreSome(down) => {
                        if row < 8 || matches!(what, Store(_)) {
                            tile[(row + down) * SIDE + column] = *value;
                        }
                        *value = value.wrapping_mul(5).wrapping_add(1);
                        continue;
                    }
                    Barrier => continue,
                    Own(down) => tile[(row + down) * SIDE + column],
                    Row(row) => tile[row * SIDE + column],
                    Word(word) => tile[row * SIDE + word],
                    Leave if row < 8 => x[thread],
                    Leave => y[thread],
                    Part => {
                        *sum /= if row < 8 { 1 } else { 7 };
                        continue;
                    }
                };
                *sum = sum.wrapping_mul(3).wrapping_add(read);
            }
        }
        out.extend(sum);
    }
    out
}

/// Programs in which nobody reads what others may be about to write.
#[rustfmt::skip]
const PROGRAMS: &[&[Do]] = &[
    // As in a multiplication of matrices: rows of one tile.
    &[Store(0), Barrier, Row(0), Row(3), Row(15), Barrier],
    // A word of a row is not a row.
    &[Store(0), Barrier, Row(0), Word(3), Barrier],
    // What one has stored oneself.
    &[Store(0), Own(0), Own(0), Barrier],
    // What another row has, one further down; the last row has nothing there.
    &[Store(0), Barrier, Own(1), Barrier],
    &[Store(0), Barrier, Store(4), Barrier, Own(1), Barrier],
    // The second is what is read, the first only above it.
    &[Store(0), Barrier, Store(4), Barrier, Row(9), Row(1), Barrier],
    &[Store(0), Barrier, Row(9), Barrier, Store(4), Barrier, Row(9), Barrier],
    // What was stored in the turn before.
    &[Row(2), Barrier, Store(0), Barrier, Row(5), Barrier],
    &[Row(18), Barrier, Store(0), Barrier, Row(5), Barrier],
    // Not by all threads, which is not a store of rows.
    &[Store(0), StoreSome(0), Barrier, Row(2), Row(12), Barrier],
    // Nobody reads it.
    &[Store(1), Barrier, Row(0), Barrier],
    // The interpreter goes on after the barrier, before it, in both turns and between two stores.
    &[Store(0), Barrier, Leave, Row(0), Row(7), Barrier],
    &[Store(0), Barrier, Row(0), Leave, Row(7), Barrier, Row(8), Barrier],
    &[Leave, Store(0), Barrier, Row(0), Row(7), Barrier, Leave],
    &[Store(0), Barrier, Store(4), Barrier, Barrier, Leave, Row(6), Row(18), Barrier, Row(19), Barrier],
    // What is stored late must not go over what was stored since.
    &[Row(17), Barrier, Store(0), Barrier, Store(4), Barrier, Leave, Row(1), Row(9), Barrier],
    // Threads part, and meet again.
    &[Store(0), Part, Barrier, Row(0), Row(7), Barrier],
    &[Store(0), Barrier, Part, Row(0), Row(7), Barrier],
    &[Store(0), Barrier, Row(0), Row(7), Part, Barrier],
];

#[test]
fn what_is_stored_in_rows_is_read_back() {
    let device = Device::builder().memory(1 << 22).threads(1).effort(Effort::Best).build().unwrap();
    let x: Vec<u32> = (0..256u32).map(|i| i.wrapping_mul(2_654_435_761) >> 9).collect();
    let y: Vec<u32> = x.iter().map(|x| x ^ 0x5a5a).collect();
    let (ctas, turns) = (5, 3);
    for what in PROGRAMS {
        let expected = model(what, &x, &y, ctas, turns);
        let module = device.load("tile.ptx", ptx(what)).unwrap_or_else(|e| panic!("{e}"));
        let kernel = module.kernel("kernel").unwrap();
        let jit = [None, Some(32), Some(64), Some(128), Some(256)].map(|width| (Engine::Jit, width));
        for (engine, width) in [(Engine::Interp, None)].into_iter().chain(jit) {
            let [x, y] = [&x, &y].map(|words| device.buffer_from(words).unwrap());
            let out = device.buffer_from(&vec![0u32; expected.len()]).unwrap();
            let mut launch = kernel.launch().grid([ctas, 1, 1]).block([16, 16, 1]).engine(engine);
            launch = launch.arg(&x).arg(&y).arg(&out).arg(turns);
            if let Some(width) = width {
                launch = launch.width(width);
            }
            launch.run().unwrap_or_else(|e| panic!("{e}"));
            assert!(out.to_vec().unwrap() == expected, "{what:?}, {engine:?}, {width:?}");
        }
    }
}

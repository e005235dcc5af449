//! Loops that halve or double something known in every turn, with a barrier each, as trees and scans do: compiled code writes their turns one by one and
//! keeps in registers what they store. Each against a model, on every engine and width, with CTAs of several sizes, and where the interpreter takes over.

use std::fmt::Write;

use hostwarp::{Device, Effort, Engine};

/// How values are put together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Add,
    Max,
    /// As floats: NaNs come out as the one NaN.
    Float,
}

/// What happens between two barriers, to the word of each thread that takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turn {
    /// Threads below half take in who is half further on.
    Halve,
    /// The same, one word further on: what is read was not stored as one.
    HalveNext,
    /// The same, of words `half + 1` back, in threads from there on, with a barrier in between.
    Scan,
    /// Of the threads below half all but the last.
    HalveOdd,
    /// From a quarter on, and one word further on: what is read was stored by two.
    HalveAhead,
    /// The last so many take in who is half further back.
    Upper,
}

/// What comes after the loop.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// Thread 0 gives out this word.
    One(u32),
    /// All threads do.
    All(u32),
    /// Each gives out its own.
    Own,
    /// All threads do, after they have read two buffers: not for compiled code.
    Far(u32),
}

#[derive(Clone, Copy, Debug)]
struct Program {
    op: Op,
    turn: Turn,
    then: Then,
    /// Before the loop half of the threads read one buffer, half another: not for compiled code.
    leaves: bool,
    /// Words in front of the tile.
    offset: u32,
}

fn ptx(p: Program, threads: u32) -> String {
    let Program { op, turn, then, leaves, offset } = p;
    let (join, from) = match op {
        Op::Add => ("add.u32", "b32"),
        Op::Max => ("max.u32", "b32"),
        Op::Float => ("add.rn.f32", "f32"),
    };
    let mut text = format!(
        "
.version 8.3
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u64 y, .param .u64 out, .param .u32 rounds)
{{
    .shared .align 4 .b32 tile[{}];
    .reg .pred %p, %q;
    .reg .b32 %t, %i, %cta, %half, %mine, %other, %base, %bits, %left, %n;
    .reg .f32 %fa, %fb;
    .reg .b32 %ba, %bb;
    .reg .b64 %x, %y, %out, %at;
    mov.u32 %cta, %ctaid.x;
    mov.u32 %t, %tid.x;
    mad.lo.u32 %i, %cta, {threads}, %t;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    ld.param.u64 %out, [out];
    ld.param.u32 %left, [rounds];
ROUND:
    setp.lt.u32 %p, %t, 19;
    selp.b64 %at, %x, %y, %p;
    mad.wide.u32 %at, %i, 4, {};
    ld.global.b32 %bits, [%at];
    mov.u32 %base, tile;
    shl.b32 %mine, %t, 2;
    add.u32 %mine, %mine, %base;
    st.shared.b32 [%mine+{}], %bits;
",
        threads + offset,
        if leaves { "%at" } else { "%x" },
        4 * offset
    );
    let (a, b) = if from == "f32" { ("%fa", "%fb") } else { ("%ba", "%bb") };
    let at = 4 * offset;
    let halve = |begin: u32, more: i32, apart: &str, bound: &str| {
        format!(
            "
    mov.u32 %half, {};
HALVE:
    bar.sync 0;
    {bound}
    @%p bra SKIP;
    shl.b32 %other, %half, 2;
    {apart}.u32 %other, %mine, %other;
    ld.shared.{from} {a}, [%mine+{at}];
    ld.shared.{from} {b}, [%other+{}];
    {join} {a}, {a}, {b};
    st.shared.{from} [%mine+{at}], {a};
SKIP:
    shr.u32 %half, %half, 1;
    setp.ne.u32 %q, %half, 0;
    @%q bra HALVE;
    bar.sync 0;
",
            begin,
            at as i32 + 4 * more
        )
    };
    text += &match turn {
        Turn::Halve => halve(threads / 2, 0, "add", "setp.ge.u32 %p, %t, %half;"),
        Turn::HalveNext => halve(threads / 2, 1, "add", "sub.u32 %n, %half, 1; setp.ge.u32 %p, %t, %n;"),
        Turn::HalveOdd => halve(threads / 2, 0, "add", "sub.u32 %n, %half, 1; setp.ge.u32 %p, %t, %n;"),
        Turn::HalveAhead => halve(threads / 4, 1, "add", "setp.ge.u32 %p, %t, %half;"),
        Turn::Upper => {
            halve(threads / 2, 0, "sub", &format!("sub.u32 %n, {threads}, %half; setp.lt.u32 %p, %t, %n;"))
        }
        Turn::Scan => format!(
            "
    mov.u32 %half, 1;
HALVE:
    bar.sync 0;
    mov.b32 %bits, 0;
    setp.lt.u32 %p, %t, %half;
    @%p bra SKIP;
    shl.b32 %other, %half, 2;
    sub.u32 %other, %mine, %other;
    ld.shared.b32 %bits, [%other+{at}];
SKIP:
    bar.sync 0;
    ld.shared.b32 %ba, [%mine+{at}];
    add.u32 %ba, %ba, %bits;
    st.shared.b32 [%mine+{at}], %ba;
    shl.b32 %half, %half, 1;
    setp.lt.u32 %q, %half, {threads};
    @%q bra HALVE;
    bar.sync 0;
"
        ),
    };
    let give = |word: u32| format!("ld.shared.b32 %bits, [tile+{}];", 4 * (word + offset));
    let store = "ld.global.b32 %n, [%at]; add.u32 %n, %n, %bits; st.global.b32 [%at], %n;";
    let own = format!("mad.wide.u32 %at, %i, 4, %out; {store}");
    let _ = match then {
        Then::One(word) => writeln!(text, "setp.ne.u32 %p, %t, 0; @%p bra DONE; {} {own}", give(word)),
        Then::All(word) => writeln!(text, "{} {own}", give(word)),
        Then::Own => writeln!(text, "ld.shared.b32 %bits, [%mine+{at}]; {own}"),
        Then::Far(word) => writeln!(
            text,
            "setp.lt.u32 %p, %t, 19; selp.b64 %at, %x, %y, %p; mad.wide.u32 %at, %i, 4, %at; ld.global.b32 %n, [%at]; {} {own}",
            give(word)
        ),
    };
    text + "
DONE:
    bar.sync 0;
    sub.u32 %left, %left, 1;
    setp.ne.u32 %q, %left, 0;
    @%q bra ROUND;
    ret;
}
"
}

fn join(op: Op, a: u32, b: u32) -> u32 {
    match op {
        Op::Add => a.wrapping_add(b),
        Op::Max => a.max(b),
        Op::Float => {
            let sum = f32::from_bits(a) + f32::from_bits(b);
            if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() }
        }
    }
}

fn model(p: Program, threads: u32, ctas: u32, rounds: u32, x: &[u32], y: &[u32]) -> Vec<u32> {
    let mut out = vec![0u32; (threads * ctas) as usize];
    for cta in 0..ctas {
        let first = (cta * threads) as usize;
        for _ in 0..rounds {
            let mut tile: Vec<u32> = (0..threads as usize)
                .map(|t| if p.leaves && t >= 19 { y[first + t] } else { x[first + t] })
                .collect();
            let mut half = match p.turn {
                Turn::Scan => 1,
                Turn::HalveAhead => threads / 4,
                _ => threads / 2,
            };
            while half != 0 && half < threads {
                let old = tile.clone();
                for t in 0..threads {
                    let (count, from) = match p.turn {
                        Turn::Halve => (half, t + half),
                        Turn::HalveNext => (half - 1, t + half + 1),
                        Turn::HalveOdd => (half - 1, t + half),
                        Turn::HalveAhead => (half, t + half + 1),
                        Turn::Scan | Turn::Upper => (threads, t.wrapping_sub(half)),
                    };
                    let least = match p.turn {
                        Turn::Scan => half,
                        Turn::Upper => threads - half,
                        _ => 0,
                    };
                    if t < count && t >= least {
                        tile[t as usize] = join(p.op, old[t as usize], old[from as usize]);
                    }
                }
                half = if p.turn == Turn::Scan { half * 2 } else { half / 2 };
            }
            for t in 0..threads as usize {
                let given = match p.then {
                    Then::One(word) if t == 0 => tile[word as usize],
                    Then::All(word) | Then::Far(word) => tile[word as usize],
                    Then::Own => tile[t],
                    _ => continue,
                };
                out[first + t] = out[first + t].wrapping_add(given);
            }
        }
    }
    out
}

fn programs() -> Vec<Program> {
    let plain = Program { op: Op::Add, turn: Turn::Halve, then: Then::One(0), leaves: false, offset: 0 };
    let mut all = vec![plain];
    all.extend([Op::Max, Op::Float].map(|op| Program { op, ..plain }));
    all.extend(
        [Then::One(3), Then::One(17), Then::All(0), Then::All(2), Then::Own, Then::Far(0)]
            .map(|then| Program { then, ..plain }),
    );
    let turns = [Turn::HalveNext, Turn::HalveOdd, Turn::HalveAhead, Turn::Upper];
    all.extend(turns.map(|turn| Program { turn, ..plain }));
    all.push(Program { turn: Turn::Upper, then: Then::All(31), offset: 3, ..plain });
    all.push(Program { turn: Turn::Upper, op: Op::Float, then: Then::Own, ..plain });
    all.push(Program { op: Op::Float, then: Then::Own, ..plain });
    all.push(Program { turn: Turn::Scan, then: Then::Own, ..plain });
    all.push(Program { turn: Turn::Scan, then: Then::One(13), ..plain });
    all.push(Program { leaves: true, ..plain });
    all.push(Program { op: Op::Float, offset: 7, then: Then::All(1), ..plain });
    all.push(Program { offset: 64, turn: Turn::HalveOdd, then: Then::Own, ..plain });
    all
}

#[test]
fn what_turns_leave_in_shared_memory() {
    let efforts = [Effort::Best, Effort::Quick];
    let devices = efforts.map(|e| Device::builder().memory(1 << 22).threads(1).effort(e).build().unwrap());
    let n = 3 * 512;
    let odd_float = |i: u32| match i % 97 {
        5 => 0x7fc0_1234,
        71 => 0xff80_0001,
        _ => ((i % 512) as f32 / 8.0).to_bits(),
    };
    for p in programs() {
        let word = |i: u32| if p.op == Op::Float { odd_float(i) } else { i.wrapping_mul(2_654_435_761) >> 7 };
        // The third CTA has no NaN.
        let x: Vec<u32> = (0..n).map(|i| if i < 1024 { word(i) } else { word(i / 97 * 97) }).collect();
        let y: Vec<u32> = x.iter().map(|x| x ^ 0x10).collect();
        for threads in [32, 64, 96, 128, 256, 512] {
            let (ctas, rounds) = (n / 512, 2);
            let expected = model(p, threads, ctas, rounds, &x, &y);
            let text = ptx(p, threads);
            for (device, effort) in devices.iter().zip(efforts) {
                let module = device.load("turns.ptx", text.as_str()).unwrap_or_else(|e| panic!("{e}"));
                let kernel = module.kernel("kernel").unwrap();
                let jit = [None, Some(32), Some(threads).filter(|w| w.is_power_of_two())];
                let mut jit = jit.map(|width| (Engine::Jit, width)).to_vec();
                jit.dedup();
                for (engine, width) in jit.into_iter().chain([(Engine::Interp, None)]) {
                    let [bx, by] = [&x, &y].map(|words| device.buffer_from(words).unwrap());
                    let out = device.buffer_from(&vec![0u32; expected.len()]).unwrap();
                    let mut launch = kernel.launch().grid([ctas, 1, 1]).block([threads, 1, 1]).engine(engine);
                    launch = launch.arg(&bx).arg(&by).arg(&out).arg(rounds);
                    if let Some(width) = width {
                        launch = launch.exact_width(width);
                    }
                    launch.run().unwrap_or_else(|e| panic!("{e}"));
                    let same = out.to_vec().unwrap() == expected;
                    assert!(same, "{p:?}, {threads} threads, {engine:?}, {width:?}, {effort:?}");
                }
            }
        }
    }
}

//! What kernels do with the number of a lane: shuffles, parts of `tid`, a single lane that stores for all. Each program against a model, on every
//! engine and width, with CTAs of several shapes, and with the interpreter taking over between any two steps.

use std::fmt::Write;

use hostwarp::{Device, Effort, Emit, Engine};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Do {
    /// `shfl.sync`: the mode, by how much, and the last operand.
    Shuffle(&'static str, u32, u32),
    /// The same with an amount that only the launch knows.
    ShuffleBy(&'static str, u32),
    /// The lower half of the warp alone shuffles down by this, some of it from lanes that are not there, which count as 0.
    Half(u32),
    /// Lanes from this one on are done. Who reads them later reads 0.
    Quit(u32),
    /// Adds part of `tid.x`: the instruction and its constant, times seven.
    Number(&'static str, u32),
    /// Adds something in the warps whose number is odd.
    OddWarps,
    /// Adds something in lanes of which part of the number is below this.
    Lanes(u32, u32),
    /// Where `tid.x` ends in this number, of those up to 31, threads store something.
    Single(u32),
    /// The thread with this `tid.x` does.
    Thread(u32),
    /// All but the lane of this number store.
    Others(u32),
    /// Half of the threads read one buffer, half another: not for compiled code.
    Leave,
}

use Do::*;

/// Each thread stores what it has into `out`, single ones what they make of it into `odd`.
fn ptx(what: &[Do]) -> String {
    let mut text = "
.version 8.3
.target sm_90
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u64 y, .param .u64 out, .param .u64 odd, .param .u32 turns, .param .u32 by)
{
    .reg .pred %p, %q, %more;
    .reg .b32 %own, %t, %n, %i, %v, %far, %left, %by;
    .reg .b64 %x, %y, %out, %odd, %at;
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    ld.param.u64 %out, [out];
    ld.param.u64 %odd, [odd];
    ld.param.u32 %left, [turns];
    ld.param.u32 %by, [by];
    mov.u32 %own, %tid.x;
    mov.u32 %t, %tid.y;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %t, %t, %n, %own;
    mov.u32 %i, %ntid.y;
    mul.lo.u32 %n, %n, %i;
    mov.u32 %i, %ctaid.x;
    mad.lo.u32 %i, %i, %n, %t;
    mad.wide.u32 %at, %t, 4, %x;
    ld.global.u32 %v, [%at];
    add.u32 %v, %v, %i;
TURN:
"
    .to_owned();
    let store =
        "mul.lo.u32 %far, %v, 9; and.b32 %n, %v, 63; mad.wide.u32 %at, %n, 4, %x; ld.global.u32 %n, [%at];
        xor.b32 %far, %far, %n; mad.wide.u32 %at, %i, 4, %odd; st.global.u32 [%at], %far;";
    for (n, what) in what.iter().enumerate() {
        let _ = match what {
            Shuffle(mode, by, c) => writeln!(
                text,
                "shfl.sync.{mode}.b32 %far|%q, %v, {by}, {c}, 0xffffffff; mad.lo.u32 %v, %v, 3, %far; @%q add.u32 %v, %v, 1;"
            ),
            ShuffleBy(mode, c) => writeln!(
                text,
                "shfl.sync.{mode}.b32 %far|%q, %v, %by, {c}, 0xffffffff; mad.lo.u32 %v, %v, 3, %far; @%q add.u32 %v, %v, 1;"
            ),
            Half(by) => writeln!(
                text,
                "mov.u32 %n, %laneid; setp.ge.u32 %p, %n, 16; @%p bra ON{n};
                shfl.sync.down.b32 %far|%q, %v, {by}, 31, 0xffff; mad.lo.u32 %v, %v, 3, %far; @%q add.u32 %v, %v, 1; ON{n}:"
            ),
            Quit(lane) => writeln!(
                text,
                "mov.u32 %n, %laneid; setp.lt.u32 %p, %n, {lane}; @%p bra ON{n};
                mad.wide.u32 %at, %i, 4, %out; st.global.u32 [%at], %v; exit; ON{n}:"
            ),
            Number(op, by) => writeln!(text, "{op} %n, %own, {by}; mad.lo.u32 %v, %n, 7, %v;"),
            OddWarps => writeln!(
                text,
                "shr.u32 %n, %t, 5; and.b32 %n, %n, 1; setp.eq.u32 %p, %n, 0; @%p bra ON{n}; add.u32 %v, %v, 77; ON{n}:"
            ),
            Lanes(mask, below) => writeln!(
                text,
                "and.b32 %n, %own, {mask}; setp.ge.u32 %p, %n, {below}; @%p bra ON{n}; mad.lo.u32 %v, %v, 5, 2; ON{n}:"
            ),
            Single(lane) => writeln!(
                text,
                "and.b32 %n, %own, 31; setp.ne.u32 %p, %n, {lane}; @%p bra ON{n}; {store} ON{n}:"
            ),
            Thread(thread) => writeln!(text, "setp.ne.u32 %p, %own, {thread}; @%p bra ON{n}; {store} ON{n}:"),
            Others(lane) => writeln!(
                text,
                "mov.u32 %n, %laneid; setp.eq.u32 %p, %n, {lane}; @%p bra ON{n}; {store} ON{n}:"
            ),
            Leave => writeln!(
                text,
                "setp.lt.u32 %p, %t, 19; selp.b64 %at, %x, %y, %p; mad.wide.u32 %at, %t, 4, %at; ld.global.u32 %n, [%at]; add.u32 %v, %v, %n;"
            ),
        };
    }
    text + "
    sub.u32 %left, %left, 1;
    setp.ne.u32 %more, %left, 0;
    @%more bra TURN;
    mad.wide.u32 %at, %i, 4, %out;
    st.global.u32 [%at], %v;
    ret;
}
"
}

/// The lane that is read from, and whether it is in range, as the manual has it.
fn source(mode: &str, lane: u32, by: u32, c: u32) -> (u32, bool) {
    let (by, clamp, mask) = (by & 31, c & 31, c >> 8 & 31);
    let (least, most) = (lane & mask, lane & mask | clamp & !mask);
    let (from, inside) = match mode {
        "up" => (lane.wrapping_sub(by), lane as i32 - by as i32 >= most as i32),
        "down" => (lane + by, lane + by <= most),
        "bfly" => (lane ^ by, lane ^ by <= most),
        _ => (least | by & !mask, least | by & !mask <= most),
    };
    let inside = if mode == "idx" { from <= most } else { inside };
    (if inside { from } else { lane }, inside)
}

struct Shape {
    block: [u32; 3],
    ctas: u32,
    turns: u32,
    by: u32,
}

fn model(what: &[Do], shape: &Shape, x: &[u32], y: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let threads = shape.block.iter().product::<u32>();
    let (mut out, mut odd) = (vec![], vec![0; (threads * shape.ctas) as usize]);
    for cta in 0..shape.ctas {
        let mut v: Vec<u32> = (0..threads).map(|t| x[t as usize] + cta * threads + t).collect();
        let mut lanes = 32;
        for what in (0..shape.turns).flat_map(|_| what) {
            if let Quit(lane) = *what {
                lanes = lanes.min(lane);
            }
            let before = v.clone();
            let read = |lane: u32| if lane % 32 < lanes { before[lane as usize] } else { 0 };
            for t in (0..threads).filter(|t| t % 32 < lanes) {
                let (tid, lane, i) = (t % shape.block[0], t % 32, (cta * threads + t) as usize);
                let v = &mut v[t as usize];
                let mut store =
                    || odd[i] = before[t as usize].wrapping_mul(9) ^ x[(before[t as usize] & 63) as usize];
                match *what {
                    Shuffle(mode, ..) | ShuffleBy(mode, _) => {
                        let (by, c) = match *what {
                            Shuffle(_, by, c) => (by, c),
                            ShuffleBy(_, c) => (shape.by, c),
                            _ => unreachable!(),
                        };
                        let (from, inside) = source(mode, lane, by, c);
                        let far = read(t / 32 * 32 + from);
                        *v = v.wrapping_mul(3).wrapping_add(far).wrapping_add(inside.into());
                    }
                    Half(by) if lane < 16 => {
                        let far = if lane + by < 16 { before[(t + by) as usize] } else { 0 };
                        *v = v.wrapping_mul(3).wrapping_add(far).wrapping_add(1);
                    }
                    Number(op, by) => {
                        let part = match op {
                            "and.b32" => tid & by,
                            "shr.u32" => tid >> by,
                            "div.u32" => tid / by,
                            _ => tid % by,
                        };
                        *v = v.wrapping_add(part * 7);
                    }
                    OddWarps if t / 32 % 2 == 1 => *v = v.wrapping_add(77),
                    Lanes(mask, below) if tid & mask < below => *v = v.wrapping_mul(5).wrapping_add(2),
                    Single(n) if tid % 32 == n => store(),
                    Thread(n) if tid == n => store(),
                    Others(n) if lane != n => store(),
                    Leave => *v = v.wrapping_add(if t < 19 { x[t as usize] } else { y[t as usize] }),
                    _ => {}
                }
            }
        }
        out.extend(v);
    }
    (out, odd)
}

#[rustfmt::skip]
const PROGRAMS: &[&[Do]] = &[
    // As in a reduction: nobody asks for anything but constants, and one lane stores.
    &[Shuffle("down", 16, 31), Shuffle("down", 8, 31), Shuffle("down", 4, 31), Shuffle("down", 2, 31), Shuffle("down", 1, 31), Single(0)],
    &[Shuffle("bfly", 16, 31), Shuffle("bfly", 5, 31), Shuffle("up", 3, 0), Shuffle("up", 1, 0), Shuffle("idx", 7, 31), Single(31)],
    // In segments of 8 and 16, and where a lane reads itself.
    &[Shuffle("down", 3, 0x181f), Shuffle("up", 9, 0x1000), Shuffle("idx", 5, 0x181f), Shuffle("bfly", 24, 0x181f), Shuffle("down", 40, 31)],
    &[ShuffleBy("down", 31), ShuffleBy("up", 0), Shuffle("down", 1, 31), ShuffleBy("idx", 0x181f), ShuffleBy("bfly", 31)],
    // The interpreter takes over in between, and part of the lanes do something else.
    &[Shuffle("down", 16, 31), Leave, Shuffle("down", 8, 31), Single(3)],
    &[Leave, Shuffle("up", 2, 0), Lanes(31, 9), Shuffle("bfly", 1, 31), Leave, Single(0)],
    &[Lanes(3, 1), Shuffle("idx", 31, 31), Others(4), Shuffle("down", 5, 31), OddWarps, Shuffle("up", 1, 0)],
    &[Half(4), Shuffle("down", 4, 31), Half(13), Leave, Half(1)],
    &[Shuffle("down", 4, 31), Quit(16), Shuffle("down", 4, 31), Shuffle("up", 2, 0), Shuffle("bfly", 1, 31)],
    &[Quit(20), Shuffle("idx", 25, 31), Single(3), Shuffle("down", 9, 0x101f), Leave, Shuffle("bfly", 16, 31)],
    // Parts of a number.
    &[Number("and.b32", 31), Number("shr.u32", 5), Number("rem.u32", 32), Number("div.u32", 32), Number("and.b32", 7)],
    &[Number("and.b32", 0xffe0), Number("and.b32", 63), Number("rem.u32", 8), Number("rem.u32", 96), Number("div.u32", 3), Number("shr.u32", 4)],
    &[Number("and.b32", 24), Number("and.b32", 255), OddWarps, Lanes(31, 32), Lanes(31, 0), Lanes(15, 7)],
    // One lane of each warp, one of the CTA, or of each row; and all but one.
    &[Single(0), Number("and.b32", 31), Single(17), OddWarps],
    &[Thread(0), Number("shr.u32", 5), Thread(37), Thread(1000)],
    &[Others(0), Leave, Others(31), Single(5), Leave, Thread(3)],
];

const BLOCKS: [[u32; 3]; 7] =
    [[64, 1, 1], [256, 1, 1], [96, 1, 1], [40, 1, 1], [32, 2, 1], [16, 4, 1], [64, 2, 1]];

#[test]
fn what_follows_from_the_number_of_a_lane() {
    let efforts = [Effort::Best, Effort::Quick];
    let devices = efforts.map(|e| Device::builder().memory(1 << 22).threads(1).effort(e).build().unwrap());
    let x: Vec<u32> = (0..256u32).map(|i| i.wrapping_mul(2_654_435_761) >> 9).collect();
    let y: Vec<u32> = x.iter().map(|x| x ^ 0x5a5a).collect();
    for what in PROGRAMS {
        let shuffles = what.iter().any(|what| matches!(what, Shuffle(..) | ShuffleBy(..) | Half(_)));
        let text = ptx(what);
        for (device, effort) in devices.iter().zip(efforts) {
            let module = device.load("lanes.ptx", text.as_str()).unwrap_or_else(|e| panic!("{e}"));
            let kernel = module.kernel("kernel").unwrap();
            for block in BLOCKS {
                // Whom a lane that is not there would be read from is left open.
                if shuffles && block.iter().product::<u32>() % 32 != 0 {
                    continue;
                }
                let shape = Shape { block, ctas: 3, turns: 2, by: 5 };
                let (out, odd) = model(what, &shape, &x, &y);
                let widths =
                    if shuffles { vec![None, Some(32)] } else { vec![None, Some(8), Some(32), Some(64)] };
                let jit = widths.into_iter().map(|width| (Engine::Jit, width));
                for (engine, width) in jit.chain([(Engine::Interp, None)]) {
                    let [bx, by] = [&x, &y].map(|words| device.buffer_from(words).unwrap());
                    let [b_out, b_odd] =
                        [&out, &odd].map(|o| device.buffer_from(&vec![0u32; o.len()]).unwrap());
                    let mut launch = kernel.launch().grid([shape.ctas, 1, 1]).block(block).engine(engine);
                    launch = launch.arg(&bx).arg(&by).arg(&b_out).arg(&b_odd).arg(shape.turns).arg(shape.by);
                    if let Some(width) = width {
                        launch = launch.exact_width(width);
                    }
                    launch.run().unwrap_or_else(|e| panic!("{e}"));
                    let same = b_out.to_vec().unwrap() == out && b_odd.to_vec().unwrap() == odd;
                    assert!(same, "{what:?}, {block:?}, {engine:?}, {width:?}, {effort:?}");
                }
            }
        }
    }
}

/// Where the lanes to read from are constants there is one permutation, nobody asks whether they are there, and what one lane stores is a word.
#[test]
fn a_warp_is_summed_by_permutations() {
    let device = Device::builder().memory(1 << 22).threads(1).effort(Effort::Best).build().unwrap();
    let module = device.load("lanes.ptx", ptx(PROGRAMS[0])).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel("kernel").unwrap();
    let text = kernel.launch().block([64, 1, 1]).width(32).emit(Emit::Llvm);
    let text = text.unwrap_or_else(|e| panic!("{e}"));
    for absent in ["vpermi2var", "scatter", "lshr <32 x i32>", "%mask"] {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
}

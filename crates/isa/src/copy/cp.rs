//! `cp`
//!
//! Since PTX 7.0, sm_80; in bulk since PTX 8.0, sm_90. Every copy is done where it stands, which is one of the outcomes that the memory model allows: nothing
//! is left for groups to wait for. [`Background`] tells a strict launch of the others.

use super::{bulk, generic, low_half, pair, phase, place, system};
use crate::form::Class;
use crate::later::{TENSOR_MEMORY, dimensions};
use crate::matching::stand_first;
use crate::{Background, Cx, Form, Instr, Match, OperandKind, Outcome, Room, Since, Ty, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, MbarrierOp, Mem, Op, Space, SystemCall, Type, Value};

const SETS: &[(&str, &str)] = &[
    (".own", ".shared .shared::cta"),
    (".ahead", ".L2::64B .L2::128B .L2::256B"),
    (".level::cache_hint", ".L2::cache_hint"),
    (".dst", ".shared::cluster .shared::cta"),
    (".bytes", ".mbarrier::complete_tx::bytes"),
    (".multicast", ".multicast::cluster"),
    (".dim", ".1d .2d .3d .4d .5d"),
    (".deep", ".3d .4d .5d"),
    (".im2col", ".im2col .im2col::w .im2col::w::128"),
    (".cta_group", ".cta_group::1 .cta_group::2"),
    (".op", ".and .or .xor .add .inc .dec .min .max"),
    (".type", ".s32 .u32 .b32 .s64 .u64 .b64 .f16 .bf16 .f32 .f64"),
    (".half", ".f16 .bf16"),
];
const BULK: &[(&str, Since)] = &[
    (".tile::gather4", since(86, 100)),
    (".tile::scatter4", since(86, 100)),
    (".im2col::w", since(86, 100)),
    (".im2col::w::128", since(86, 100)),
    (".shared::cta", since(80, 90)),
    (".cta_group::1", since(86, 100)),
    (".cta_group::2", since(86, 100)),
];

/// What needs tensor memory beside it.
const RESTRICTED: &[(&str, &str)] = &[
    (".cta_group::1", TENSOR_MEMORY),
    (".cta_group::2", TENSOR_MEMORY),
    (".tile::scatter4", TENSOR_MEMORY),
    (".im2col::w::128", TENSOR_MEMORY),
    (".shared::cluster.tile::gather4", TENSOR_MEMORY),
    (".shared::cluster.im2col::w", TENSOR_MEMORY),
    (".prefetch.tile::gather4", TENSOR_MEMORY),
    (".prefetch.im2col::w", TENSOR_MEMORY),
];

const AHEAD: &[(&str, Since)] =
    &[(".L2::64B", since(74, 80)), (".L2::128B", since(74, 80)), (".L2::256B", since(74, 80))];

macro_rules! form {
    ($syntax:literal, $since:expr) => {
        Form::new($syntax, SETS, $since).needs(AHEAD)
    };
}

/// A tensor loaded, in one of three ways, with what comes behind the completion mechanism.
macro_rules! load {
    ($way:literal, $rest:literal) => {
        Form::new(concat!("cp.async.bulk.tensor.", $way, ".bytes", $rest), SETS, since(80, 90))
            .needs(BULK)
            .restricted(RESTRICTED)
            .later()
    };
}
/// A tensor stored, with the hint that may be there.
macro_rules! store {
    ($head:literal) => {
        Form::new(concat!($head, "{.level::cache_hint}  [d]:tuple, [a]:b64{, h:u64}"), SETS, since(80, 90))
            .needs(BULK)
            .restricted(RESTRICTED)
            .later()
    };
}
macro_rules! fetch {
    ($way:literal, $rest:literal) => {
        Form::new(concat!("cp.async.bulk.prefetch.tensor.", $way, $rest), SETS, since(80, 90))
            .needs(BULK)
            .restricted(RESTRICTED)
            .later()
    };
}

/// `cp`
pub const CP: Room = Room {
    opcodes: &["cp"],
    title: "copy between global and shared memory, in the background",
    doc: "Copies 4, 8 or 16 bytes for each thread (`cp.async`; of the source only `k` bytes are read and zeros follow, or all are zeros where `p` holds), or any \
          multiple of 16 for one (`.bulk`), which it tells an mbarrier or a group of copies; `cp.reduce` adds to what is there, or combines otherwise, element by \
          element. Both addresses must be multiples of 4, 8 or 16. Copies are done at once here; a strict launch follows what a GPU may still have under way, and \
          refuses who reads it before it was waited for. `cp.async.mbarrier.arrive` arrives when the copies before it are done; without `.noinc` one more arrival is expected first.",
    section: "9.7.9.26",
    forms: &[
        form!("cp.async.ca.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<2^4..16>{, k:u32<..n>}", since(70, 80)),
        form!("cp.async.cg.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>{, k:u32<..n>}", since(70, 80)),
        form!("cp.async.ca.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<2^4..16>, h:u64", since(74, 80)),
        form!("cp.async.cg.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, h:u64", since(74, 80)),
        form!("cp.async.ca.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<2^4..16>, {!}p:pred!", since(75, 80)),
        form!("cp.async.cg.own.global{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, {!}p:pred!", since(75, 80)),
        form!("cp.async.ca.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<2^4..16>, {!}p:pred!, h:u64", since(75, 80)),
        form!("cp.async.cg.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, {!}p:pred!, h:u64", since(75, 80)),
        form!("cp.async.ca.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<2^4..16>, k:u32<..n>, h:u64", since(74, 80)),
        form!("cp.async.cg.own.global.level::cache_hint{.ahead}  [d]:b64, [a]:b64, n:u32#<16..16>, k:u32<..n>, h:u64", since(74, 80)),
        form!("cp.async.commit_group", since(70, 80)),
        form!("cp.async.wait_group  n:u32#", since(70, 80)),
        form!("cp.async.wait_all", since(70, 80)),
        Form::new("cp.async.mbarrier.arrive{.noinc}{.own}.b64  [a]:b64@.shared", SETS, since(70, 80)).needs(&[(".shared::cta", since(78, 80))]),
        Form::new("cp.async.bulk.dst.global.bytes  [d]:b64, [a]:b64, n:u32<0..1048560/16>, [mbar]:b64", SETS, since(80, 90))
            .needs(&[(".shared::cta", since(86, 90))]),
        Form::new("cp.async.bulk.dst.global.bytes.level::cache_hint  [d]:b64, [a]:b64, n:u32<0..1048560/16>, [mbar]:b64, h:u64", SETS, since(80, 90))
            .needs(&[(".shared::cta", since(86, 90))]),
        form!("cp.async.bulk.shared::cta.global.bytes.ignore_oob  [d]:b64, [a]:b64, n:u32<0..1048560/16>, left:u32<0..15>, right:u32<0..15>, [mbar]:b64", since(92, 90)),
        form!("cp.async.bulk.shared::cta.global.bytes.ignore_oob.level::cache_hint  [d]:b64, [a]:b64, n:u32<0..1048560/16>, left:u32<0..15>, right:u32<0..15>, [mbar]:b64, h:u64", since(92, 90)),
        form!("cp.async.bulk.shared::cluster.global.bytes.multicast  [d]:b64, [a]:b64, n:u32<0..1048560/16>, [mbar]:b64, mask:u16<0..65535>", since(80, 90)),
        form!("cp.async.bulk.shared::cluster.global.bytes.multicast.level::cache_hint  [d]:b64, [a]:b64, n:u32<0..1048560/16>, [mbar]:b64, mask:u16<0..65535>, h:u64", since(80, 90)),
        form!("cp.async.bulk.shared::cluster.shared::cta.bytes  [d]:b64, [a]:b64, n:u32<0..1048560/16>, [mbar]:b64", since(80, 90)),
        form!("cp.async.bulk.global.shared::cta.bulk_group  [d]:b64, [a]:b64, n:u32<0..1048560/16>", since(80, 90)),
        form!("cp.async.bulk.global.shared::cta.bulk_group.level::cache_hint  [d]:b64, [a]:b64, n:u32<0..1048560/16>, h:u64", since(80, 90)),
        form!("cp.async.bulk.global.shared::cta.bulk_group.cp_mask  [d]:b64, [a]:b64, n:u32<0..1048560/16>, mask:u16<0..65535>", since(86, 100)),
        form!("cp.async.bulk.global.shared::cta.bulk_group.level::cache_hint.cp_mask  [d]:b64, [a]:b64, n:u32<0..1048560/16>, h:u64, mask:u16<0..65535>", since(86, 100)),
        form!("cp.async.bulk.prefetch.L2.global  [a]:b64, n:u32<0..1048560/16>", since(80, 90)),
        form!("cp.async.bulk.prefetch.L2.global.level::cache_hint  [a]:b64, n:u32<0..1048560/16>, h:u64", since(80, 90)),
        form!("cp.async.bulk.commit_group", since(80, 90)),
        form!("cp.async.bulk.wait_group{.read}  n:u32#", since(80, 90)),
        form!("cp.async.bulk.wait_group.sync_restrict::proxy::async  n:u32#", since(95, 90)),
        load!("dim.dst.global{.tile}", "{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64"),
        load!("dim.dst.global{.tile}", "{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, h:u64"),
        load!("dim.shared::cluster.global{.tile}", ".multicast{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64, mask:u16<0..65535>"),
        load!("dim.shared::cluster.global{.tile}", ".multicast{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, mask:u16<0..65535>, h:u64"),
        load!("2d.dst.global.tile::gather4", "{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64"),
        load!("2d.dst.global.tile::gather4", "{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, h:u64"),
        load!("2d.shared::cluster.global.tile::gather4", ".multicast{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64, mask:u16<0..65535>"),
        load!("2d.shared::cluster.global.tile::gather4", ".multicast{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, mask:u16<0..65535>, h:u64"),
        load!("deep.dst.global.im2col", "{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64, i:*u16"),
        load!("deep.dst.global.im2col", "{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, i:*u16, h:u64"),
        load!("deep.shared::cluster.global.im2col", ".multicast{.cta_group}  [d]:b64, [a]:tuple, [mbar]:b64, i:*u16, mask:u16<0..65535>"),
        load!("deep.shared::cluster.global.im2col", ".multicast{.cta_group}.level::cache_hint  [d]:b64, [a]:tuple, [mbar]:b64, i:*u16, mask:u16<0..65535>, h:u64"),
        store!("cp.async.bulk.tensor.dim.global.shared::cta{.tile}.bulk_group"),
        store!("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group"),
        store!("cp.async.bulk.tensor.deep.global.shared::cta.im2col_no_offs.bulk_group"),
        fetch!("dim.L2.global{.tile}", "  [a]:tuple"),
        fetch!("dim.L2.global{.tile}", ".level::cache_hint  [a]:tuple, h:u64"),
        fetch!("2d.L2.global.tile::gather4", "  [a]:tuple"),
        fetch!("2d.L2.global.tile::gather4", ".level::cache_hint  [a]:tuple, h:u64"),
        fetch!("deep.L2.global.im2col", "  [a]:tuple, i:*u16"),
        fetch!("deep.L2.global.im2col", ".level::cache_hint  [a]:tuple, i:*u16, h:u64"),
        form!("cp.reduce.async.bulk.shared::cluster.shared::cta.bytes.op.type  [d]:b64, [a]:b64, n:u32<0..1048560/16>, [mbar]:b64", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.op.type  [d]:b64, [a]:b64, n:u32<0..1048560/16>", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.level::cache_hint.op.type  [d]:b64, [a]:b64, n:u32<0..1048560/16>, h:u64", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.half  [d]:b64, [a]:b64, n:u32<0..1048560/16>", since(80, 90)),
        form!("cp.reduce.async.bulk.global.shared::cta.bulk_group.level::cache_hint.add.noftz.half  [d]:b64, [a]:b64, n:u32<0..1048560/16>, h:u64", since(80, 90)),
        store!("cp.reduce.async.bulk.tensor.dim.global.shared::cta.op{.tile}.bulk_group"),
        store!("cp.reduce.async.bulk.tensor.deep.global.shared::cta.op.im2col_no_offs.bulk_group"),
    ],
    rule: Some(|m, instr| {
        stand_first(
            instr,
            &[
                ".reduce", ".async", ".bulk", ".prefetch", ".tensor", ".mbarrier", ".arrive", ".commit_group", ".wait_group",
                ".wait_all",
            ],
        )?;
        dimensions(m, instr, "a")?;
        dimensions(m, instr, "d")?;
        offsets(m, instr)?;
        spaces_in_order(m, instr)?;
        reducible(m)
    }),
    meaning,
    notes: &["In a cluster of one CTA, `.shared::cluster` is the CTA's own memory, and `.multicast` reaches that or nobody."],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".bulk") {
        return bulk::meaning(cx);
    }
    if cx.has(".mbarrier") {
        let space = cx.m.space();
        let address = cx.src("a");
        let at = generic(cx, address, space);
        let one = cx.b.iconst(Type::I64, 1);
        let op = if cx.has(".noinc") { MbarrierOp::Arrive } else { MbarrierOp::CopyArrive };
        let before = system(cx, SystemCall::Mbarrier(op), at, one, cx.guard);
        cx.background(Background::Follows, cx.guard, |cx| phase(cx, at, before));
        return Ok(());
    }
    if cx.has(".wait_group") {
        cx.background(Background::Waits, cx.guard, |cx| cx.src("n"));
        return Ok(());
    }
    if cx.has(".commit_group") || cx.has(".wait_all") {
        let what = if cx.has(".wait_all") { Background::WaitsForAll } else { Background::Commits };
        cx.background(what, cx.guard, |cx| cx.b.iconst(Type::I64, 0));
        return Ok(());
    }
    copy(cx)
}

/// `cp.async` of one thread.
fn copy(cx: &mut Cx<'_>) -> Outcome {
    let Some(n @ (4 | 8 | 16)) = cx.constant("n") else {
        return Err("copies of other sizes than 4, 8 and 16 bytes".into());
    };
    let ty = Type::new(Elem::I32, (n / 4) as u8);
    let (to, from, guard) = (cx.src("d"), cx.src("a"), cx.guard);
    // Where all is read; else zeros are written, and the few bytes there are over them.
    let mut all = None;
    let mut few = None;
    if cx.m.slot("p").is_some() && cx.given("p") {
        let p = cx.src("p");
        all = Some(cx.b.not(p));
    } else if cx.m.slot("k").is_some() && cx.given("k") {
        let k = cx.src("k");
        let size = cx.b.iconst(Type::I32, n);
        let whole = cx.b.cmp(IntCmp::LeU, size, k);
        let some = cx.b.cmp_imm(IntCmp::Ne, k, 0);
        // What is not aligned faults however few are read: so it reads all.
        let off = cx.b.int_imm(IntBin::And, from, n - 1);
        let off = cx.b.cmp_imm(IntCmp::Ne, off, 0);
        let faults = cx.b.and(off, some);
        let whole = cx.b.or(whole, faults);
        let part = cx.b.not(whole);
        all = Some(whole);
        few = Some((cx.b.and(part, some), k));
    }
    let acts = both(cx, guard, all);
    let mut value = cx.b.guarded(Op::Load(Mem::weak(Space::Global)), &[from], acts, ty);
    if let Some(all) = all {
        let zero = cx.b.iconst(ty, 0);
        value = cx.b.select(all, value, zero);
    }
    cx.b.effect(Op::Store(Mem::weak(Space::Shared)), &[to, value], guard);
    if let Some((some, k)) = few {
        let at = generic(cx, from, Space::Global);
        let to = low_half(cx, to);
        let operand = pair(cx, to, k);
        let acts = both(cx, guard, Some(some));
        system(cx, SystemCall::CopyFew, at, operand, acts);
    }
    cx.background(Background::Copies, guard, |cx| {
        let n = cx.b.iconst(Type::I32, n);
        place(cx, to, n)
    });
    Ok(())
}

/// Where both hold.
fn both(cx: &mut Cx<'_>, a: Option<Value>, b: Option<Value>) -> Option<Value> {
    match (a, b) {
        (Some(a), Some(b)) => Some(cx.b.and(a, b)),
        (a, b) => a.or(b),
    }
}

/// Where the offsets of `.im2col` are: of every dimension but two, two for `::w`.
fn offsets(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let hinted = m.mods.iter().flatten().any(|x| *x == ".L2::cache_hint");
    let store = m.parsed.operands.iter().any(|o| o.name == "d" && o.class == Class::Tuple);
    if store && hinted != (instr.operands.len() == 3) {
        return Err("`.L2::cache_hint` and a cache policy as last operand go together".into());
    }
    let place = m.parsed.operands.iter().position(|o| o.name == "i");
    let Some(operand) = place.and_then(|s| instr.operands.get(m.operands[s]?)) else { return Ok(()) };
    let OperandKind::Vector(elements) = &operand.kind else { return Err("offsets are a vector".into()) };
    let dimensions =
        m.mods.iter().flatten().find_map(|x| x.strip_suffix('d')?.strip_prefix('.')?.parse::<usize>().ok());
    let columns = m.mods.iter().flatten().any(|x| x.starts_with(".im2col::w"));
    match if columns { 2 } else { dimensions.unwrap_or(3) - 2 } {
        want if want == elements.len() => Ok(()),
        want => Err(format!("there are {want} offsets here, not {}", elements.len())),
    }
}

/// From where stands behind to where.
pub(crate) fn spaces_in_order(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let space = |x: &&str| x.starts_with(".shared") || **x == *".global";
    let wanted = m.mods.iter().flatten().copied().filter(|x| space(x));
    match wanted.eq(instr.mods.iter().copied().filter(|x| space(x))) {
        true => Ok(()),
        false => Err("the space copied to stands before that copied from".into()),
    }
}

/// Which operations `cp.reduce.async.bulk` has on which types.
fn reducible(m: &Match) -> Result<(), String> {
    let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    if !has(".reduce") || has(".tensor") || has(".noftz") {
        return Ok(());
    }
    let (Some(op), Some(ty)) = (m.get(".op"), m.ty(".type")) else { return Ok(()) };
    let global = has(".global");
    let fits = match op {
        ".and" | ".or" | ".xor" => matches!(ty, Ty::B32) || global && ty == Ty::B64,
        ".inc" | ".dec" => ty == Ty::U32,
        ".min" | ".max" => {
            matches!(ty, Ty::S32 | Ty::U32) || global && matches!(ty, Ty::S64 | Ty::U64 | Ty::F16 | Ty::BF16)
        }
        _ => matches!(ty, Ty::S32 | Ty::U32 | Ty::U64) || global && matches!(ty, Ty::F32 | Ty::F64),
    };
    if fits { Ok(()) } else { Err(format!("`{op}` does not work on `{ty}` here")) }
}

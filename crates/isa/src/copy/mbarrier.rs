//! `mbarrier`
//!
//! Since PTX 7.0, sm_80; transactions, `try_wait` and clusters since PTX 7.8 and 8.0, sm_90.

use super::{generic, pair, system};
use crate::later::sem_with_scope;
use crate::matching::stand_first;
use crate::{Background, Cx, Form, OperandKind, Outcome, Room, Since, since};
use hostwarp_ir::mbarrier::{LAYOUT, MARK, MARK_BITS, MOST, PENDING, PHASE};
use hostwarp_ir::{Elem, IntBin, IntCmp, MbarrierOp, Mem, Op, Order, Scope, SystemCall, Type};

const SETS: &[(&str, &str)] = &[
    (".layout", ".layout::v0 .layout::v1"),
    (".own", ".shared .shared::cta"),
    (".any", ".shared .shared::cta .shared::cluster"),
    (".relax", ".relaxed"),
    (".sem", ".release .relaxed"),
    (".scope", ".cta .cluster"),
];
const WAIT: &[(&str, &str)] = &[
    (".own", ".shared .shared::cta"),
    (".sem", ".acquire .relaxed"),
    (".scope", ".cta .cluster"),
    (".conditional", ".phase_type::conditional"),
];
const NEEDS: &[(&str, Since)] = &[
    (".shared::cta", since(78, 80)),
    (".shared::cluster", since(80, 90)),
    (".release", since(80, 80)),
    (".acquire", since(80, 80)),
    (".relaxed", since(80, 90)),
    (".arrive.relaxed", since(86, 90)),
    (".arrive_drop.relaxed", since(86, 90)),
    (".test_wait.relaxed", since(86, 90)),
    (".try_wait.relaxed", since(86, 90)),
    (".cluster", since(80, 90)),
    (".try_wait", since(78, 90)),
    (".parity", since(71, 80)),
    (".layout::v0", since(93, 90)),
    (".layout::v1", since(93, 90)),
    (".phase_type::primary", since(93, 90)),
    (".phase_type::conditional", since(93, 90)),
];

/// What is part of the opcode.
const OPERATIONS: [&str; 12] = [
    ".init",
    ".inval",
    ".arrive",
    ".arrive_drop",
    ".expect_tx",
    ".complete_tx",
    ".test_wait",
    ".try_wait",
    ".parity",
    ".pending_count",
    ".check_layout",
    ".wait",
];

macro_rules! form {
    ($syntax:literal, $sets:expr, $since:expr) => {
        Form::new($syntax, $sets, $since).needs(NEEDS)
    };
}

/// `mbarrier`
pub const ROOM: Room = Room {
    opcodes: &["mbarrier"],
    title: "barriers in shared memory that also count what copies have brought",
    doc: "An mbarrier is 8 bytes of shared memory. Its phase ends when as many threads have arrived as were expected (`.init`) and all bytes have come that were \
          (`.expect_tx`, `.complete_tx`); the next one begins at once, with the same number of arrivals but for those that dropped out. `.arrive` answers the state \
          before it, which `.test_wait` and `.try_wait` take to ask whether that phase has ended; with `.parity` the phase is even (0) or odd (1). Both answer at \
          once; a loop around them lets the others go on. Misuse is an error: a count that is 0 or beyond 2^20 - 1, more arrivals than are pending, an mbarrier that \
          was not initialised or is initialised again, and a CTA all of whose threads wait.",
    section: "9.7.14.16",
    forms: &[
        form!(
            "mbarrier.init{.layout}{.own}.b64  [addr]:b64@.shared, count:u32<1..1048575>",
            SETS,
            since(70, 80)
        ),
        form!("mbarrier.inval{.own}.b64  [addr]:b64@.shared", SETS, since(70, 80)),
        form!(
            "mbarrier.expect_tx{.relax}{.scope}{.any}.b64  [addr]:b64@.shared, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.complete_tx{.relax}{.scope}{.any}.b64  [addr]:b64@.shared, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!("mbarrier.arrive{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64@.shared", SETS, since(70, 80)),
        form!(
            "mbarrier.arrive{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64@.shared, count:u32<1..2147483647>",
            SETS,
            since(78, 90)
        ),
        form!(
            "mbarrier.arrive{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64@.shared{, count:u32<1..2147483647>}",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive.expect_tx{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64@.shared, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive.expect_tx{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64@.shared, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive.noComplete{.release}{.cta}{.own}.b64  d:u64, [addr]:b64@.shared, count:u32<1..2147483647>",
            SETS,
            since(70, 80)
        ),
        form!(
            "mbarrier.arrive_drop{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64@.shared",
            SETS,
            since(70, 80)
        ),
        form!(
            "mbarrier.arrive_drop{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64@.shared, count:u32<1..2147483647>",
            SETS,
            since(78, 90)
        ),
        form!(
            "mbarrier.arrive_drop{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64@.shared{, count:u32<1..2147483647>}",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64@.shared, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive_drop.expect_tx{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64@.shared, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive_drop.noComplete{.release}{.cta}{.own}.b64  d:u64, [addr]:b64@.shared, count:u32<1..2147483647>",
            SETS,
            since(70, 80)
        ),
        form!(
            "mbarrier.test_wait{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64@.shared, state:u64",
            WAIT,
            since(70, 80)
        ),
        form!(
            "mbarrier.test_wait.parity{.conditional}{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64@.shared, parity:u32<0..1>",
            WAIT,
            since(71, 80)
        ),
        form!(
            "mbarrier.try_wait{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64@.shared, state:u64{, hint:u32}",
            WAIT,
            since(78, 90)
        ),
        form!(
            "mbarrier.try_wait.parity{.conditional}{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64@.shared, parity:u32<0..1>{, hint:u32}",
            WAIT,
            since(78, 90)
        ),
        form!(
            "mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, [addr]:b64@.shared, state:u64",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.test_wait.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, report:b8, [addr]:b64@.shared, state:u64",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, [addr]:b64@.shared, parity:u32<0..1>",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.test_wait.parity.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, report:b8, [addr]:b64@.shared, parity:u32",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, [addr]:b64@.shared, state:u64{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.try_wait.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, report:b8, [addr]:b64@.shared, state:u64{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, [addr]:b64@.shared, parity:u32<0..1>{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.try_wait.parity.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred{|q:pred?}, report:b8, [addr]:b64@.shared, parity:u32{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!("mbarrier.pending_count{.layout::v0}.b64  d:u32, state:u64", SETS, since(70, 80)),
        form!(
            "mbarrier.check_layout.layout{.shared::cta}.b64  p:pred, [addr]:b64@.shared",
            SETS,
            since(93, 90)
        ),
    ],
    rule: Some(|m, instr| {
        stand_first(instr, &OPERATIONS)?;
        if m.parsed.mods.iter().any(|s| s.name == ".sem") {
            sem_with_scope(m)?;
        }
        let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
        if has(".noComplete") && has(".release") != has(".cta") {
            return Err("`.release` and `.cta` go together".into());
        }
        let dropped = instr.operands.first().is_some_and(|o| o.kind == OperandKind::Sink);
        if has(".shared::cluster") && m.slot("d").is_some() && !dropped {
            return Err("an mbarrier of another CTA gives no state: write `_`".into());
        }
        match (has(".relaxed"), has(".cta") || has(".cluster")) {
            _ if has(".release") || has(".acquire") => Ok(()),
            (a, b) if a != b => Err("`.relaxed` and a scope go together".into()),
            _ => Ok(()),
        }
    }),
    meaning,
    notes: &[
        "The layout of the 64 bits is opaque; `hostwarp_ir::mbarrier` has the one used here.",
        "Memory is ordered however weak `.sem` is.",
    ],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".pending_count") {
        let state = cx.src("state");
        let pending = cx.b.int_imm(IntBin::ShrU, state, PENDING.into());
        let pending = cx.b.int_imm(IntBin::And, pending, MOST);
        let pending = cx.b.zext(pending, Elem::I32);
        cx.set("d", pending);
        return Ok(());
    }
    let space = cx.m.space();
    if cx.has(".test_wait") || cx.has(".try_wait") || cx.has(".check_layout") {
        wait(cx);
        return Ok(());
    }
    let address = cx.src("addr");
    let at = generic(cx, address, space);
    let count = |cx: &mut Cx<'_>| match cx.m.slot("count").is_some() && cx.given("count") {
        true => cx.src("count"),
        false => cx.b.iconst(Type::I32, 1),
    };
    let (drops, stays) = (cx.has(".arrive_drop"), cx.has(".noComplete"));
    let arrives = drops || cx.has(".arrive");
    let (op, operand) = if arrives {
        let op = match (drops, stays) {
            (false, false) => MbarrierOp::Arrive,
            (false, true) => MbarrierOp::ArriveNoComplete,
            (true, false) => MbarrierOp::Drop,
            (true, true) => MbarrierOp::DropNoComplete,
        };
        let (count, tx) = match cx.has(".expect_tx") {
            true => (cx.b.iconst(Type::I32, 1), cx.src("tx")),
            false => (count(cx), cx.b.iconst(Type::I32, 0)),
        };
        (op, pair(cx, count, tx))
    } else if cx.has(".init") {
        let count = count(cx);
        let count = cx.b.zext(count, Elem::I64);
        let layout = u64::from(cx.get(".layout") == Some(".layout::v1"));
        (MbarrierOp::Init, cx.b.int_imm(IntBin::Or, count, layout << 32))
    } else if cx.has(".inval") {
        (MbarrierOp::Inval, cx.b.iconst(Type::I64, 0))
    } else {
        let tx = cx.src("tx");
        let op = if cx.has(".expect_tx") { MbarrierOp::ExpectTx } else { MbarrierOp::CompleteTx };
        (op, cx.b.zext(tx, Elem::I64))
    };
    if arrives {
        cx.synchronises();
    }
    let before = system(cx, SystemCall::Mbarrier(op), at, operand, cx.guard);
    if arrives {
        cx.set("d", before);
    }
    Ok(())
}

/// A phase has ended if the one that is on is not of its parity. Only who has to wait, or finds no mbarrier, asks the machine. Only operations between GPUs report
/// something, so the primary phase and the conditional one end together, and there is no report.
fn wait(cx: &mut Cx<'_>) {
    let space = cx.m.space();
    let address = cx.src("addr");
    let order = if cx.has(".relaxed") { Order::Relaxed } else { Order::Acquire };
    let mem = Mem { space, order, scope: Scope::Cta };
    let bits = cx.b.guarded(Op::Load(mem), &[address], cx.guard, Type::I64);
    let mark = cx.b.int_imm(IntBin::And, bits, MARK_BITS);
    let none = cx.b.cmp_imm(IntCmp::Ne, mark, MARK);
    let guard = cx.guard;
    let at = generic(cx, address, space);
    let (answer, mut asks) = if cx.has(".check_layout") {
        let layout = cx.b.int_imm(IntBin::And, bits, LAYOUT);
        let wanted = if cx.get(".layout") == Some(".layout::v1") { LAYOUT } else { 0 };
        (cx.b.cmp_imm(IntCmp::Eq, layout, wanted), none)
    } else {
        let phase = cx.b.int_imm(IntBin::ShrU, bits, PHASE.into());
        let phase = cx.name(phase, "phase");
        let asked = if cx.has(".parity") {
            let parity = cx.src("parity");
            let parity = cx.b.zext(parity, Elem::I64);
            cx.b.int_imm(IntBin::And, parity, 1)
        } else {
            let state = cx.src("state");
            cx.b.int_imm(IntBin::ShrU, state, PHASE.into())
        };
        let ended = cx.b.cmp(IntCmp::Ne, phase, asked);
        let waits = cx.b.not(ended);
        if cx.strict {
            let seen = guard.map_or(ended, |guard| cx.b.and(guard, ended));
            cx.background(Background::Ended, Some(seen), |cx| {
                let at = cx.b.zext(at, Elem::I32);
                pair(cx, at, asked)
            });
            cx.resumes(Some(seen));
        }
        (ended, cx.b.or(waits, none))
    };
    if let Some(guard) = guard {
        asks = cx.b.and(guard, asks);
    }
    let nothing = cx.b.iconst(Type::I64, 0);
    system(cx, SystemCall::Mbarrier(MbarrierOp::Wait), at, nothing, Some(asks));
    cx.set("p", answer);
    if cx.m.slot("q").is_some() && cx.given("q") {
        let none = cx.b.iconst(Type::I1, 0);
        cx.set("q", none);
    }
    if cx.m.slot("report").is_some() {
        let none = cx.b.iconst(Type::I8, 0);
        cx.set("report", none);
    }
}

//! `mbarrier`
//!
//! Since PTX 7.0, sm_80; transactions, `try_wait` and clusters since PTX 7.8 and 8.0, sm_90.

use super::{room, sem_with_scope};
use crate::{Form, OperandKind, Room, Since, since};

const SETS: &[(&str, &str)] = &[
    (".layout", ".layout::v0 .layout::v1"),
    (".own", ".shared .shared::cta"),
    (".any", ".shared .shared::cta .shared::cluster"),
    (".relax", ".relaxed"),
    (".sem", ".release .relaxed"),
    (".scope", ".cta .cluster"),
    (".phase", ".phase_type::primary .phase_type::conditional"),
];
const WAIT: &[(&str, &str)] = &[
    (".wait", ".test_wait .try_wait"),
    (".own", ".shared .shared::cta"),
    (".sem", ".acquire .relaxed"),
    (".scope", ".cta .cluster"),
    (".phase", ".phase_type::primary .phase_type::conditional"),
];
const NEEDS: &[(&str, Since)] = &[
    (".shared::cta", since(78, 80)),
    (".shared::cluster", since(80, 90)),
    (".release", since(80, 80)),
    (".acquire", since(80, 80)),
    (".relaxed", since(80, 90)),
    (".cluster", since(80, 90)),
    (".try_wait", since(78, 90)),
    (".parity", since(71, 80)),
    (".layout::v0", since(93, 90)),
    (".layout::v1", since(93, 90)),
    (".phase_type::primary", since(93, 90)),
    (".phase_type::conditional", since(93, 90)),
];

macro_rules! form {
    ($syntax:literal, $sets:expr, $since:expr) => {
        Form::new($syntax, $sets, $since).needs(NEEDS).later()
    };
}

/// `mbarrier`
pub const ROOM: Room = room(
    &["mbarrier"],
    "barriers in shared memory that also count what copies have brought",
    "9.7.14.16",
    &[
        form!("mbarrier.init{.layout}{.own}.b64  [addr]:b64, count:u32", SETS, since(70, 80)),
        form!("mbarrier.inval{.own}.b64  [addr]:b64", SETS, since(70, 80)),
        form!("mbarrier.expect_tx{.relax}{.scope}{.any}.b64  [addr]:b64, tx:u32", SETS, since(80, 90)),
        form!("mbarrier.complete_tx{.relax}{.scope}{.any}.b64  [addr]:b64, tx:u32", SETS, since(80, 90)),
        form!("mbarrier.arrive{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64", SETS, since(70, 80)),
        form!("mbarrier.arrive{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64, count:u32", SETS, since(78, 80)),
        form!(
            "mbarrier.arrive{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64{, count:u32}",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive.expect_tx{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive.expect_tx{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive.noComplete{.release}{.cta}{.own}.b64  d:u64, [addr]:b64, count:u32",
            SETS,
            since(70, 80)
        ),
        form!("mbarrier.arrive_drop{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64", SETS, since(70, 80)),
        form!(
            "mbarrier.arrive_drop{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64, count:u32",
            SETS,
            since(78, 80)
        ),
        form!(
            "mbarrier.arrive_drop{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64{, count:u32}",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive_drop.expect_tx{.sem}{.scope}{.own}.b64  d:u64?, [addr]:b64, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive_drop.expect_tx{.sem}{.scope}.shared::cluster.b64  d:u64?, [addr]:b64, tx:u32",
            SETS,
            since(80, 90)
        ),
        form!(
            "mbarrier.arrive_drop.noComplete{.release}{.cta}{.own}.b64  d:u64, [addr]:b64, count:u32",
            SETS,
            since(70, 80)
        ),
        form!(
            "mbarrier.test_wait{.phase}{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64, state:u64!",
            WAIT,
            since(70, 80)
        ),
        form!(
            "mbarrier.test_wait.parity{.phase}{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64, parity:u32<0..1>",
            WAIT,
            since(71, 80)
        ),
        form!(
            "mbarrier.try_wait{.phase}{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64, state:u64!{, hint:u32}",
            WAIT,
            since(78, 90)
        ),
        form!(
            "mbarrier.try_wait.parity{.phase}{.sem}{.scope}{.own}.b64  p:pred, [addr]:b64, parity:u32<0..1>{, hint:u32}",
            WAIT,
            since(78, 90)
        ),
        form!(
            "mbarrier.wait.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred|q:pred, [addr]:b64, state:u64!{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.wait.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred|q:pred, report:u64!, [addr]:b64, state:u64!{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.wait.parity.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred|q:pred, [addr]:b64, parity:u32<0..1>{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!(
            "mbarrier.wait.parity.phase_type::primary{.sem}{.scope}{.own}.b64  p:pred|q:pred, report:u64!, [addr]:b64, parity:u32<0..1>{, hint:u32}",
            WAIT,
            since(93, 90)
        ),
        form!("mbarrier.pending_count{.layout::v0}.b64  d:u32, state:u64!", SETS, since(70, 80)),
        form!("mbarrier.check_layout.layout{.shared::cta}.b64  p:pred, [addr]:b64", SETS, since(93, 90)),
    ],
    Some(|m, instr| {
        sem_with_scope(m)?;
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
);

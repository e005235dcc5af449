//! `ld ldu`
//!
//! Since PTX 1.0. There is no cache to be seen, so cache operators, eviction priorities and prefetch sizes are checked and then ignored; `.nc` reads
//! what any other load would read.

use super::{L1_EVICTION, L2_EVICTION, PREFETCH, SCOPES, TYPES, VEC, WIDE_VEC, access, access_rule};
use crate::{Cx, Form, Outcome, Room, Since, since};
use hostwarp_ir::{Op, Order, Type};

const SPACES: &str =
    ".const .global .local .param .param::entry .param::func .shared .shared::cta .shared::cluster";
const SETS: &[(&str, &str)] =
    &[(".ss", SPACES), (".cop", ".ca .cg .cs .lu .cv"), (".vec", VEC), (".type", TYPES)];
/// What caches are told is only for global memory, generic addresses included.
const HINTED: &[(&str, &str)] = &[
    (".ss", ".global"),
    (".cop", ".ca .cg .cs .lu .cv"),
    (".level1::eviction_priority", L1_EVICTION),
    (".level::cache_hint", ".L2::cache_hint"),
    (".level::prefetch_size", PREFETCH),
    (".sem", ".relaxed .acquire"),
    (".scope", SCOPES),
    (".vec", VEC),
    (".type", TYPES),
];
const CONSTANT: &[(&str, &str)] = &[
    (".ss", ".global"),
    (".cop", ".ca .cg .cs"),
    (".level1::eviction_priority", L1_EVICTION),
    (".level::cache_hint", ".L2::cache_hint"),
    (".level::prefetch_size", PREFETCH),
    (".vec", VEC),
    (".type", TYPES),
];
const STRONG: &[(&str, &str)] = &[
    (".ss", ".global .shared .shared::cta .shared::cluster"),
    (".sem", ".relaxed .acquire"),
    (".scope", SCOPES),
    (".vec", VEC),
    (".type", TYPES),
];
const UNIFORM: &[(&str, &str)] = &[(".ss", ".global"), (".vec", ".v2 .v4"), (".type", TYPES)];
/// 256 bits at once, the only accesses with an eviction priority for the second level.
const WIDE: &[(&str, &str)] = &[
    (".ss", ".global"),
    (".cop", ".ca .cg .cs .lu .cv"),
    (".nccop", ".ca .cg .cs"),
    (".level::cache_hint", ".L2::cache_hint"),
    (".sem", ".relaxed .acquire"),
    (".scope", SCOPES),
    (".level1::eviction_priority", L1_EVICTION),
    (".level2::eviction_priority", L2_EVICTION),
    (".level::prefetch_size", PREFETCH),
    (".vec", WIDE_VEC),
    (".type", ".b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64"),
];
const NEEDS: &[(&str, Since)] = &[
    (".weak", since(60, 70)),
    (".b128", since(83, 70)),
    (".cluster", since(78, 90)),
    (".shared::cta", since(78, 30)),
    (".shared::cluster", since(78, 90)),
    (".param::entry", since(83, 10)),
    (".param::func", since(83, 10)),
    (".L2::64B", since(74, 75)),
    (".L2::128B", since(74, 75)),
    (".L2::256B", since(74, 80)),
    (".ca", since(20, 20)),
    (".cg", since(20, 20)),
    (".cs", since(20, 20)),
    (".lu", since(20, 20)),
    (".cv", since(20, 20)),
];

/// `ld`
pub const ROOM: Room = Room {
    opcodes: &["ld"],
    title: "load",
    doc: "Without a state space the address is generic. The address must be a multiple of the size of the access, all elements of a vector together. \
          A register wider than the type is filled up: with the sign of signed types, with zeros otherwise. `.relaxed` and `.acquire` are \
          ordered against the threads of their scope. Cache operators and hints change no value.",
    section: "9.7.9.8",
    forms: &[
        Form::new("ld{.weak}{.ss}{.cop}{.vec}.type  d:vec.type, [a]:b64", SETS, since(10, 10)).needs(NEEDS),
        Form::new("ld.volatile{.ss}{.vec}.type  d:vec.type, [a]:b64", STRONG, since(11, 10)).needs(NEEDS),
        Form::new("ld.volatile.local{.vec}.type  d:vec.type, [a]:b64", STRONG, since(91, 10)).needs(NEEDS),
        Form::new("ld.sem.scope{.ss}{.vec}.type  d:vec.type, [a]:b64", STRONG, since(60, 70)).needs(NEEDS),
        Form::new("ld.global{.cop}.nc{.vec}.type  d:vec.type, [a]:b64", CONSTANT, since(31, 32)).needs(NEEDS),
        Form::new(
            "ld{.weak}{.ss}{.cop}{.level1::eviction_priority}{.level::prefetch_size}{.vec}.type  d:vec.type, [a]:b64",
            HINTED,
            since(74, 70),
        )
        .needs(NEEDS),
        Form::new(
            "ld{.weak}{.ss}{.cop}{.level1::eviction_priority}.level::cache_hint{.level::prefetch_size}{.vec}.type  d:vec.type, [a]:b64, cache-policy:u64",
            HINTED,
            since(74, 80),
        )
        .needs(NEEDS),
        Form::new("ld.volatile{.ss}.level::prefetch_size{.vec}.type  d:vec.type, [a]:b64", HINTED, since(74, 75))
            .needs(NEEDS),
        Form::new(
            "ld.sem.scope{.ss}{.level1::eviction_priority}{.level::prefetch_size}{.vec}.type  d:vec.type, [a]:b64",
            HINTED,
            since(74, 70),
        )
        .needs(NEEDS),
        Form::new(
            "ld.sem.scope{.ss}{.level1::eviction_priority}.level::cache_hint{.level::prefetch_size}{.vec}.type  d:vec.type, [a]:b64, cache-policy:u64",
            HINTED,
            since(74, 80),
        )
        .needs(NEEDS),
        Form::new("ld.mmio.sem.sys{.ss}.type  d:>.type, [a]:b64", HINTED, since(82, 70))
            .needs(&[(".acquire", since(93, 70)), (".b128", since(83, 70))]),
        Form::new(
            "ld.global{.cop}.nc{.level1::eviction_priority}{.level::prefetch_size}{.vec}.type  d:vec.type, [a]:b64",
            CONSTANT,
            since(74, 70),
        )
        .needs(NEEDS),
        Form::new(
            "ld.global{.cop}.nc{.level1::eviction_priority}.level::cache_hint{.level::prefetch_size}{.vec}.type  d:vec.type, [a]:b64, cache-policy:u64",
            CONSTANT,
            since(74, 80),
        )
        .needs(NEEDS),
        Form::new(
            "ld{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.global.nc{.level1::eviction_priority}{.level2::eviction_priority}{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}.level::cache_hint{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld{.weak}{.ss}.cop{.level2::eviction_priority}{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld{.weak}{.ss}.cop{.level2::eviction_priority}.level::cache_hint{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.sem.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.sem.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}.level::cache_hint{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.volatile{.ss}{.level2::eviction_priority}{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.global.nc{.level1::eviction_priority}{.level2::eviction_priority}.level::cache_hint{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.global.nccop.nc{.level2::eviction_priority}{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "ld.global.nccop.nc{.level2::eviction_priority}.level::cache_hint{.level::prefetch_size}.vec.type  d:vec.type, [a]:b64, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
    ],
    rule: Some(|m, _| access_rule(m)),
    meaning,
    notes: &[
        "`_` may stand for some elements of a vector, not for all, and not for a single register.",
    ],
};

/// `ldu`
pub const LDU: Room = Room {
    opcodes: &["ldu"],
    title: "load from an address that is the same in the whole warp",
    doc: "Gives what `ld` gives, also where the lanes' addresses differ, which the manual leaves undefined.",
    section: "9.7.9.10",
    forms: &[Form::new("ldu{.ss}{.vec}.type  d:vec.type, [a]:b64", UNIFORM, since(20, 20)).needs(NEEDS)],
    rule: Some(|m, _| access_rule(m)),
    meaning,
    notes: &[],
};

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    let address = cx.src("a");
    let element = cx.ty(".type").container();
    let count = cx.len("d").max(1) as u8;
    let whole = Type::new(element.elem, element.count * count);
    let mem = access(cx, Order::Weak);
    let loaded = cx.b.guarded(Op::Load(mem), &[address], cx.guard, whole);
    let elements =
        if count == 1 { vec![loaded] } else { (0..count).map(|i| cx.b.extract(loaded, i)).collect() };
    cx.set_elements("d", elements);
    Ok(())
}

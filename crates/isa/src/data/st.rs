//! `st`
//!
//! Since PTX 1.0.

use super::{L1_EVICTION, L2_EVICTION, SCOPES, TYPES, VEC, WIDE_VEC, access, access_rule};
use crate::copy::complete_tx;
use crate::matching::{stand_first, whole_addresses, whole_first_address};
use crate::{Cx, Form, Instr, Match, Operand, OperandKind, Outcome, Room, Since, since};
use hostwarp_ir::{Elem, Op, Order, Type};

const SHARED: &str = ".global .shared .shared::cta .shared::cluster";
const SETS: &[(&str, &str)] = &[
    (".ss", ".global .local .param .param::func .shared .shared::cta .shared::cluster"),
    (".cop", ".wb .cg .cs .wt"),
    (".vec", VEC),
    (".type", TYPES),
];
const STRONG: &[(&str, &str)] =
    &[(".ss", SHARED), (".sem", ".relaxed .release"), (".scope", SCOPES), (".vec", VEC), (".type", TYPES)];
const HINTED: &[(&str, &str)] = &[
    (".ss", ".global"),
    (".cop", ".wb .cg .cs .wt"),
    (".level1::eviction_priority", L1_EVICTION),
    (".level::cache_hint", ".L2::cache_hint"),
    (".sem", ".relaxed .release"),
    (".scope", SCOPES),
    (".vec", VEC),
    (".type", TYPES),
];
/// 256 bits at once, the only accesses with an eviction priority for the second level.
const WIDE: &[(&str, &str)] = &[
    (".ss", ".global"),
    (".cop", ".wb .cg .cs .wt"),
    (".level::cache_hint", ".L2::cache_hint"),
    (".sem", ".relaxed .release"),
    (".scope", SCOPES),
    (".level1::eviction_priority", L1_EVICTION),
    (".level2::eviction_priority", L2_EVICTION),
    (".vec", WIDE_VEC),
    (".type", ".b32 .b64 .u32 .u64 .s32 .s64 .f32 .f64"),
];
/// Stores that go on by themselves, and those that fill.
const ASYNC: &[(&str, &str)] = &[
    (".ss", ".shared::cluster"),
    (".vec", ".v2 .v4"),
    (".type", ".b32 .b64 .b128 .u32 .u64 .s32 .s64 .f32 .f64"),
    (".scope", ".gpu .sys"),
    (".small", ".b8 .b16 .b32 .b64 .u8 .u16 .u32 .u64 .s8 .s16 .s32 .s64 .f32 .f64"),
    (".own", ".shared::cta"),
];
const NEEDS: &[(&str, Since)] = &[
    (".weak", since(60, 70)),
    (".b128", since(83, 70)),
    (".cluster", since(78, 90)),
    (".shared::cta", since(78, 30)),
    (".shared::cluster", since(78, 90)),
    (".param::func", since(83, 10)),
    (".wb", since(20, 20)),
    (".cg", since(20, 20)),
    (".cs", since(20, 20)),
    (".wt", since(20, 20)),
];

/// `st`
pub const ROOM: Room = Room {
    opcodes: &["st"],
    title: "store",
    doc: "Without a state space the address is generic. The address must be a multiple of the size of the access, all elements of a vector together. Of \
          a register wider than the type the low bits are stored. `.relaxed` and `.release` are ordered against the threads of their scope. \
          Cache operators and hints change no value.",
    section: "9.7.9.11",
    forms: &[
        Form::new("st{.weak}{.ss}{.cop}{.vec}.type  [a]:b64, b:vec.type", SETS, since(10, 10)).needs(NEEDS),
        Form::new("st.volatile{.ss}{.vec}.type  [a]:b64, b:vec.type", STRONG, since(11, 10)).needs(NEEDS),
        Form::new("st.volatile.local{.vec}.type  [a]:b64, b:vec.type", STRONG, since(91, 10)).needs(NEEDS),
        Form::new("st.sem.scope{.ss}{.vec}.type  [a]:b64, b:vec.type", STRONG, since(60, 70)).needs(NEEDS),
        Form::new(
            "st{.weak}{.ss}.level1::eviction_priority{.vec}.type  [a]:b64, b:vec.type",
            HINTED,
            since(74, 70),
        )
        .needs(NEEDS),
        Form::new(
            "st{.weak}{.ss}{.cop}{.level1::eviction_priority}.level::cache_hint{.vec}.type  [a]:b64, b:vec.type, cache-policy:u64",
            HINTED,
            since(74, 80),
        )
        .needs(NEEDS),
        Form::new(
            "st.sem.scope{.ss}.level1::eviction_priority{.vec}.type  [a]:b64, b:vec.type",
            HINTED,
            since(74, 70),
        )
        .needs(NEEDS),
        Form::new(
            "st.sem.scope{.ss}{.level1::eviction_priority}.level::cache_hint{.vec}.type  [a]:b64, b:vec.type, cache-policy:u64",
            HINTED,
            since(74, 80),
        )
        .needs(NEEDS),
        Form::new("st.mmio.sem.sys{.ss}.type  [a]:b64, b:>.type", HINTED, since(82, 70))
            .needs(&[(".release", since(93, 70)), (".b128", since(83, 70))]),
        Form::new(
            "st{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}.vec.type  [a]:b64, b:vec.type",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "st.async{.weak}{.ss}.mbarrier::complete_tx::bytes{.vec}.type  [a]:b64, b:vec.type, [mbar]:b64",
            ASYNC,
            since(81, 90),
        )
        .needs(&[(".b128", since(92, 90))]),
        Form::new("st.async{.mmio}{.release}.scope{.global}.small  [a]:b64, b:.small", ASYNC, since(87, 100)),
        Form::new("st.async{.global}.small  [a]:b64, b:.small", ASYNC, since(87, 100)).undocumented().later(),
        Form::new("st.bulk{.weak}{.own}  [a]:b64@.shared, b:u64<0../8>, c:u64#<0..0>", ASYNC, since(86, 100)),
        Form::new("st.bulk{.weak}{.own}  [a]:b64@.shared, b:u32!, c:u64#<0..0>", ASYNC, since(90, 100)),
        Form::new(
            "st{.weak}{.ss}{.level1::eviction_priority}{.level2::eviction_priority}.level::cache_hint.vec.type  [a]:b64, b:vec.type, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "st{.weak}{.ss}.cop{.level2::eviction_priority}.vec.type  [a]:b64, b:vec.type",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "st{.weak}{.ss}.cop{.level2::eviction_priority}.level::cache_hint.vec.type  [a]:b64, b:vec.type, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "st.sem.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}.vec.type  [a]:b64, b:vec.type",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "st.sem.scope{.ss}{.level1::eviction_priority}{.level2::eviction_priority}.level::cache_hint.vec.type  [a]:b64, b:vec.type, cache-policy:u64",
            WIDE,
            since(88, 100),
        ),
        Form::new(
            "st.volatile{.ss}{.level2::eviction_priority}.vec.type  [a]:b64, b:vec.type",
            WIDE,
            since(88, 100),
        ),
    ],
    rule: Some(|m, instr| if m.parsed.form.later || m.has(".async") || m.has(".bulk") { asynchronous(m, instr) } else { access_rule(m) }),
    meaning,
    notes: &[],
};

/// What the notation cannot say about stores that go on by themselves.
fn asynchronous(m: &Match, instr: &Instr<'_>) -> Result<(), String> {
    let has = |name: &str| m.mods.iter().flatten().any(|x| *x == name);
    stand_first(instr, &[".async", ".bulk"])?;
    if has(".mmio") && !(has(".release") && has(".sys")) {
        return Err("`.mmio` needs `.release` and the scope `.sys`".into());
    }
    if has(".bulk")
        && has(".shared::cta")
        && instr.operands.first().is_some_and(|o| o.kind == OperandKind::Address(None))
    {
        return Err("an address in `.shared::cta` is in a register here".into());
    }
    if has(".shared::cluster") {
        whole_first_address(instr)?;
    } else {
        whole_addresses(instr)?;
    }
    let wider = |o: &Operand<'_>| matches!(o.kind, OperandKind::Reg(ty) if m.ty(".type").is_some_and(|t| t.bits() != ty.bits()));
    if has(".mbarrier::complete_tx::bytes")
        && instr.operands.get(1).is_some_and(|b| match &b.kind {
            OperandKind::Vector(elements) => elements.iter().any(wider),
            _ => wider(b),
        })
    {
        return Err("what is stored is as wide as the type".into());
    }
    let elements = m.get(".vec").map_or(1, |v| if v == ".v2" { 2 } else { 4 });
    if elements * m.ty(".type").map_or(0, crate::Ty::bits) > 128 {
        return Err("at most 128 bits can be stored at once".into());
    }
    Ok(())
}

/// Zeros, eight bytes at a time.
fn fill(cx: &mut Cx<'_>) {
    let (address, size) = (cx.src("a"), cx.src("b"));
    let size = cx.b.zext(size, Elem::I64);
    let zero = cx.b.iconst(Type::I64, 0);
    cx.each_step(size, 8, cx.guard, |cx, offset| {
        let elem = cx.b.ty(address).elem;
        let offset = cx.b.zext(offset, elem);
        let at = cx.b.add(address, offset);
        let mem = access(cx, Order::Weak);
        cx.b.effect(Op::Store(mem), &[at, zero], None);
    });
}

fn meaning(cx: &mut Cx<'_>) -> Outcome {
    if cx.has(".bulk") {
        fill(cx);
        return Ok(());
    }
    let (address, elements) = (cx.src("a"), cx.elements("b"));
    let whole = cx.b.build(&elements);
    let mem = access(cx, Order::Weak);
    cx.b.effect(Op::Store(mem), &[address, whole], cx.guard);
    if cx.has(".mbarrier::complete_tx::bytes") {
        let bytes = cx.b.ty(whole).bytes() as u64;
        let bytes = cx.b.iconst(Type::I32, bytes);
        complete_tx(cx, address, bytes, cx.guard);
    }
    Ok(())
}

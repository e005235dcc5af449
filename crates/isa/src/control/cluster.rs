//! `mapa getctarank setmaxnreg`: clusters, which are of one CTA, and the registers of a warp.

use crate::matching::stand_first;
use crate::{Form, OperandKind, Room, since};
use hostwarp_ir::{IntCmp, Type};

const SETS: &[(&str, &str)] = &[
    (".space", ".shared::cluster"),
    (".type", ".u32 .u64"),
    (".signed", ".s32 .s64"),
    (".action", ".inc .dec"),
];

/// `mapa`
pub const MAPA: Room = Room {
    opcodes: &["mapa"],
    title: "the address of a shared variable in another CTA of the cluster",
    doc: "A cluster is one CTA here, so the address stays as it is; that of a CTA that is not there is all ones, which is nowhere.",
    section: "9.7.9.24",
    forms: &[
        Form::new("mapa{.space}.type  d:.type, a:.type, b:u32", SETS, since(78, 90)),
        Form::new("mapa.space.type  d:.type, a:name, b:u32", SETS, since(78, 90)),
        Form::new("mapa.type  d:.type, a:name@.shared, b:u32", SETS, since(78, 90)).undocumented().later(),
        Form::new("mapa{.space}.signed  d:.signed, a:.signed, b:u32", SETS, since(78, 90))
            .undocumented()
            .later(),
    ],
    rule: Some(|m, instr| {
        let name = instr.operands.get(1).is_some_and(|o| o.kind == OperandKind::Name);
        match m.get(".space") {
            None if name && !m.parsed.form.later => {
                Err("the name of a variable needs `.shared::cluster`".into())
            }
            _ => Ok(()),
        }
    }),
    meaning: |cx| {
        let wide = cx.ty(".type").container();
        let (a, b) = (cx.src("a"), cx.src("b"));
        let a = cx.b.zext(a, wide.elem);
        let own = cx.b.cmp_imm(IntCmp::Eq, b, 0);
        let nowhere = cx.b.iconst(wide, u64::MAX);
        let d = cx.b.select(own, a, nowhere);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `getctarank`
pub const GETCTARANK: Room = Room {
    opcodes: &["getctarank"],
    title: "which CTA of the cluster an address is in",
    doc: "The only one: 0.",
    section: "9.7.9.25",
    forms: &[
        Form::new("getctarank{.space}.type  d:u32, a:.type", SETS, since(78, 90)),
        Form::new("getctarank.space.type  d:u32, a:name", SETS, since(78, 90)),
        Form::new("getctarank.type  d:u32, a:name@.shared", SETS, since(78, 90)).undocumented().later(),
        Form::new("getctarank{.space}.signed  d:u32, a:.signed", SETS, since(78, 90)).undocumented().later(),
    ],
    rule: None,
    meaning: |cx| {
        let zero = cx.b.iconst(Type::I32, 0);
        cx.set("d", zero);
        Ok(())
    },
    notes: &[],
};

/// `setmaxnreg`
pub const SETMAXNREG: Room = Room {
    opcodes: &["setmaxnreg"],
    title: "take or give back registers",
    doc: "There are as many registers as a kernel names, so nothing happens.",
    section: "9.7.19.5",
    forms: &[Form::new("setmaxnreg.action.sync.aligned.u32  a:u32#<24..256/8>", SETS, since(80, 90))
        .only("90a 100f 101f 110f 120f")],
    rule: Some(|_, instr| stand_first(instr, &[".inc", ".dec"])),
    meaning: |_| Ok(()),
    notes: &[],
};

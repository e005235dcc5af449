//! `cnot lop3 shf`
//!
//! `cnot` since PTX 1.0; `shf` since PTX 3.1, sm_32; `lop3` since PTX 4.3, sm_50.

use crate::matching::stand_first;
use crate::{Cx, Form, Room, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Type, Value};

const SETS: &[(&str, &str)] =
    &[(".type", ".b16 .b32 .b64"), (".mode", ".clamp .wrap"), (".bool", ".or .and")];

/// `cnot`
pub const CNOT: Room = Room {
    opcodes: &["cnot"],
    title: "1 for 0, 0 for anything else",
    doc: "",
    section: "9.7.8.5",
    forms: &[Form::new("cnot.type  d:.type, a:.type", SETS, since(10, 10))],
    rule: None,
    meaning: |cx| {
        let a = cx.src("a");
        let is_zero = cx.b.cmp_imm(IntCmp::Eq, a, 0);
        let elem = cx.ty(".type").elem();
        let d = cx.b.zext(is_zero, elem);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// `lop3`
pub const LOP3: Room = Room {
    opcodes: &["lop3"],
    title: "any bitwise function of three operands",
    doc: "`immLut` is the table: bit 4·a + 2·b + c of it is the result for these bits. With `.or` or `.and`, `p` is whether the result is not 0, combined with \
          `q`.",
    section: "9.7.8.6",
    forms: &[
        Form::new("lop3.b32  d:b32, a:b32, b:b32, c:b32, immLut:u32#", SETS, since(43, 50)),
        Form::new(
            "lop3.bool.b32  d:b32?|p:pred, a:b32, b:b32, c:b32, immLut:u32#, {!}q:pred",
            SETS,
            since(82, 70),
        ),
    ],
    rule: None,
    meaning: |cx| {
        let (a, b, c) = (cx.src("a"), cx.src("b"), cx.src("c"));
        let table = cx.constant("immLut").ok_or("a table that is not constant")?;
        let d = look_up(cx, table, [a, b, c]);
        cx.set("d", d);
        if let Some(combine) = cx.get(".bool") {
            let q = cx.src("q");
            let not_zero = cx.b.cmp_imm(IntCmp::Ne, d, 0);
            let p = cx.b.int(if combine == ".or" { IntBin::Or } else { IntBin::And }, not_zero, q);
            cx.set("p", p);
        }
        Ok(())
    },
    notes: &[],
};

/// `shf`
pub const SHF: Room = Room {
    opcodes: &["shf"],
    title: "shift two words as one",
    doc: "`b` and `a` are the upper and lower word of 64 bits; `.l` gives the upper word after a shift left, `.r` the lower one after a shift right. More than 32 counts \
          as 32 with `.clamp`, only the low five bits count with `.wrap`.",
    section: "9.7.8.7",
    forms: &[
        Form::new("shf.l.mode.b32  d:b32, a:b32, b:b32, c:u32", SETS, since(31, 32)),
        Form::new("shf.r.mode.b32  d:b32, a:b32, b:b32, c:u32", SETS, since(31, 32)),
    ],
    rule: Some(|_, instr| stand_first(instr, &[".l", ".r"])),
    meaning: |cx| {
        let (a, b, c) = (cx.src("a"), cx.src("b"), cx.src("c"));
        let n = if cx.has(".clamp") {
            cx.b.int_imm(IntBin::MinU, c, 32)
        } else {
            cx.b.int_imm(IntBin::And, c, 31)
        };
        let n = cx.name(n, "n");
        let width = cx.b.const_like(n, 32);
        let rest = cx.b.sub(width, n);
        let (up, down) = if cx.has(".l") { (n, rest) } else { (rest, n) };
        let from_b = cx.b.int(IntBin::Shl, b, up);
        let from_a = cx.b.int(IntBin::ShrU, a, down);
        let d = cx.b.or(from_b, from_a);
        cx.set("d", d);
        Ok(())
    },
    notes: &[],
};

/// The function by the table: split on `a`, then on `b`, then on `c`, and what does not depend on an operand does not look at it.
fn look_up(cx: &mut Cx<'_>, table: u64, [a, b, c]: [Value; 3]) -> Value {
    let on_c: Vec<Value> = (0..4).map(|i| one_bit(cx, table >> (2 * i) & 3, c)).collect();
    let tables: Vec<u64> = (0..4).map(|i| table >> (2 * i) & 3).collect();
    let [low, high] = [0, 2].map(|i| mux(cx, b, (on_c[i + 1], tables[i + 1]), (on_c[i], tables[i])));
    let (low_table, high_table) = (table & 15, table >> 4 & 15);
    mux(cx, a, (high, high_table), (low, low_table))
}

/// A function of one bit: 0, not c, c, 1.
fn one_bit(cx: &mut Cx<'_>, table: u64, c: Value) -> Value {
    match table {
        0 => cx.b.iconst(Type::scalar(Elem::I32), 0),
        1 => cx.b.not(c),
        2 => c,
        _ => cx.b.iconst(Type::scalar(Elem::I32), u64::MAX),
    }
}

/// `yes` where the bits of `s` are 1, otherwise `no`; each with the table that tells them apart.
fn mux(cx: &mut Cx<'_>, s: Value, yes: (Value, u64), no: (Value, u64)) -> Value {
    if yes.1 == no.1 {
        return no.0;
    }
    let differ = cx.b.xor(yes.0, no.0);
    let taken = cx.b.and(differ, s);
    cx.b.xor(taken, no.0)
}

#[cfg(test)]
mod tests {
    use crate::testing::{evaluate, reg, shape};
    use crate::{Operand, OperandKind, Ty};

    #[test]
    fn funnel_shifts_join_the_words() {
        let n = vec![0, 1, 31, 32, 33, 64];
        let (a, b) = (0x9abc_def0_u64, 0x1234_5678_u64);
        let both = b << 32 | a;
        for (head, wrap, left) in [
            ("shf.l.clamp.b32", false, true),
            ("shf.l.wrap.b32", true, true),
            ("shf.r.clamp.b32", false, false),
            ("shf.r.wrap.b32", true, false),
        ] {
            let operands = [reg(Ty::B32), reg(Ty::B32), reg(Ty::B32), reg(Ty::B32)];
            let got = evaluate(&shape(head, &operands), &[vec![a; 6], vec![b; 6], n.clone()]).remove(0);
            for (n, got) in n.iter().zip(got) {
                let n = if wrap { n & 31 } else { (*n).min(32) };
                let want = if left { both << n >> 32 } else { both >> n } & 0xffff_ffff;
                assert_eq!(got, want, "{head} {n}");
            }
        }
    }

    /// All 256 tables, on operands that hold all eight combinations.
    #[test]
    fn lop3_does_what_its_table_says() {
        let [a, b, c] = [0xf0_u64, 0xcc, 0xaa];
        for table in 0..256 {
            let constant = Operand::new(OperandKind::Int);
            let operands = [reg(Ty::B32), reg(Ty::B32), reg(Ty::B32), reg(Ty::B32), constant];
            let mut lop3 = shape("lop3.b32", &operands);
            lop3.constant = table;
            let got = evaluate(&lop3, &[vec![a], vec![b], vec![c], vec![table]]);
            assert_eq!(got[0][0] & 0xff, table, "{table:#x}");
        }
    }
}

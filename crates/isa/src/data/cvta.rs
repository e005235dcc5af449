//! `cvta`
//!
//! Since PTX 2.0, sm_20; `.param` since PTX 7.7, sm_70.

use crate::matching::stand_first;
use crate::{Form, Kind, OperandKind, Room, Since, since};
use hostwarp_ir::{IntBin, Space, Type};

const SETS: &[(&str, &str)] = &[
    (".space", ".const .global .local .shared .shared::cta .shared::cluster .param .param::entry"),
    (".size", ".u32 .u64"),
];
const NEEDS: &[(&str, Since)] = &[
    (".const", since(31, 20)),
    (".param", since(77, 70)),
    (".param::entry", since(83, 70)),
    (".shared::cta", since(78, 30)),
    (".shared::cluster", since(78, 90)),
];

/// `cvta`
pub const ROOM: Room = Room {
    opcodes: &["cvta"],
    title: "address in a state space to generic address, and back with `.to`",
    doc: "Every state space is a window among the generic addresses; that of global memory begins at 0, so there nothing changes. The windows are the \
          same for every CTA and thread. An address that is in another space gives a meaningless result, not a fault.",
    section: "9.7.9.20",
    forms: &[
        Form::new("cvta.space.size  p:.size, a:any.size", SETS, since(20, 20)).needs(NEEDS),
        Form::new("cvta.to.space.size  p:.size, a:any.size", SETS, since(20, 20)).needs(NEEDS),
    ],
    rule: Some(|m, instr| {
        stand_first(instr, &[".to"])?;
        if instr.operands.iter().any(|o| o.selector.is_some()) {
            return Err("a register takes no selector here".into());
        }
        let Some(size) = m.ty(".size") else { return Ok(()) };
        match instr.operands.get(1).map(|a| &a.kind) {
            Some(OperandKind::Reg(reg)) if size.accepts(*reg) && reg.kind() != Kind::Float => Ok(()),
            Some(OperandKind::Reg(reg)) => Err(format!("an address of type {size} is wanted, not {reg}")),
            Some(OperandKind::Int) => Ok(()),
            Some(OperandKind::Name) if !m.has(".to") => Ok(()),
            _ => Err("the address must be in a register".into()),
        }
    }),
    meaning: |cx| {
        let a = cx.src("a");
        let window = cx.m.space().window();
        if cx.b.ty(a) != Type::I64 && cx.m.space() != Space::Global {
            return Err("32-bit generic addresses of this state space".into());
        }
        let op = if cx.has(".to") { IntBin::Sub } else { IntBin::Add };
        let p = if window == 0 { a } else { cx.b.int_imm(op, a, window) };
        cx.set("p", p);
        Ok(())
    },
    notes: &[],
};

#[cfg(test)]
mod tests {
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};
    use hostwarp_ir::Space;

    #[test]
    fn there_and_back() {
        let ops = [reg(Ty::U64), reg(Ty::B64)];
        let generic = evaluate(&shape("cvta.shared.u64", &ops), &[vec![0, 0x40]]);
        assert_eq!(generic, [[Space::Shared.window(), Space::Shared.window() + 0x40]]);
        assert_eq!(evaluate(&shape("cvta.to.shared.u64", &ops), &generic), [[0, 0x40]]);
        assert_eq!(evaluate(&shape("cvta.to.global.u64", &ops), &[vec![0x77]]), [[0x77]]);
    }
}

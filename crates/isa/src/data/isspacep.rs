//! `isspacep`
//!
//! Since PTX 2.0, sm_20.

use crate::{Form, Room, Since, since};
use hostwarp_ir::{Elem, IntBin, IntCmp, Space};

const SETS: &[(&str, &str)] =
    &[(".space", ".const .global .local .shared .shared::cta .shared::cluster .param .param::entry")];
const NEEDS: &[(&str, Since)] = &[
    (".const", since(31, 20)),
    (".param", since(77, 70)),
    (".param::entry", since(83, 70)),
    (".shared::cta", since(78, 30)),
    (".shared::cluster", since(78, 90)),
];

/// `isspacep`
pub const ROOM: Room = Room {
    opcodes: &["isspacep"],
    title: "whether a generic address lies in a state space",
    doc: "Every state space but the global one is a window among the generic addresses; whatever is in no window is global, and so are the \
          parameters of a kernel.",
    section: "9.7.9.19",
    forms: &[
        Form::new("isspacep.space  p:pred, a:u64", SETS, since(20, 20)).needs(NEEDS),
        Form::new("isspacep.space  p:pred, a:u32", SETS, since(20, 20)).needs(NEEDS),
    ],
    rule: None,
    meaning: |cx| {
        let a = cx.src("a");
        let a = cx.b.zext(a, Elem::I64);
        let window = cx.b.int_imm(IntBin::ShrU, a, 32);
        let window = cx.name(window, "window");
        let first = Space::Shared.window() >> 32;
        let space = cx.m.space();
        let p = if space == Space::Global {
            let number = cx.b.int_imm(IntBin::Sub, window, first);
            let windows = (Space::Param.window() >> 32) - first;
            let windows = cx.b.const_like(number, windows);
            // Parameters are the last window, and count as global too.
            cx.b.cmp(IntCmp::LeU, windows, number)
        } else {
            cx.b.cmp_imm(IntCmp::Eq, window, space.window() >> 32)
        };
        cx.set("p", p);
        Ok(())
    },
    notes: &[],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ty;
    use crate::testing::{evaluate, reg, shape};

    #[test]
    fn an_address_is_in_exactly_one_space_but_parameters_are_global_too() {
        let spaces = [Space::Shared, Space::Local, Space::Const, Space::Param];
        let mut addresses: Vec<u64> = spaces.iter().map(|s| s.window() + 0x123).collect();
        addresses.extend([0, 0x200_0000_0000, (1 << 48) - 1, Space::Param.window() + (1 << 32), u64::MAX]);
        let heads =
            ["isspacep.shared", "isspacep.local", "isspacep.const", "isspacep.param", "isspacep.global"];
        let answers = heads.map(|h| {
            evaluate(&shape(h, &[reg(Ty::Pred), reg(Ty::B64)]), std::slice::from_ref(&addresses)).remove(0)
        });
        for (i, address) in addresses.iter().enumerate() {
            let found: Vec<usize> = (0..5).filter(|s| answers[*s][i] == 1).collect();
            let want = if i == 3 { vec![3, 4] } else { vec![i.min(4)] };
            assert_eq!(found, want, "{address:#x}");
        }
    }
}

//! Special registers: `tid`, `ctaid` and the others.

use std::mem::offset_of;

use hostwarp_ir::{Axis, Elem, Inst, Special};

use super::{Emitter, Reg, Shape, Text};
use crate::abi::{Callbacks, Ctx};

impl Emitter<'_> {
    /// A special that stays the same during the call, as a scalar: of lane 0 if it differs between lanes.
    pub(super) fn special(&mut self, special: Special) -> Reg {
        let axis = |a: Axis| match a {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        };
        let name = |a: Axis| ["x", "y", "z"][axis(a)];
        let (label, ty, offset) = match (special, self.assume.cta) {
            // The first lane of a group that is all of the CTA.
            (Special::Tid(_), Some(_)) => return "0".into(),
            (Special::Ntid(a), Some(cta)) => return cta[axis(a)].to_string(),
            (Special::Tid(Axis::X), None) if self.assume.one_dimensional => return "%lane0".into(),
            (Special::Tid(_), None) if self.assume.one_dimensional => return "0".into(),
            (Special::Tid(a), None) => {
                let at = self.tid_pointer(axis(a));
                return self.per_group(&format!("tid.{}.first", name(a)), |_| {
                    format!("load i32, ptr {at}, align 4, !invariant.load !1")
                });
            }
            // A group of whole warps begins with the first lane of one.
            (Special::LaneId, _) if self.assume.group.is_multiple_of(32) => return "0".into(),
            (Special::LaneId, _) => return self.per_group("laneid.first", |_| "and i32 %lane0, 31".into()),
            (Special::WarpId, _) => return self.per_group("warpid", |_| "lshr i32 %lane0, 5".into()),
            (Special::SmId | Special::Clock | Special::Clock64 | Special::GlobalTimer, _) => {
                return "0".into();
            }
            (Special::Ntid(a), _) => {
                (format!("ntid.{}", name(a)), "i32", offset_of!(Ctx, ntid) + 4 * axis(a))
            }
            (Special::Ctaid(a), _) => {
                return self.t.inst(format_args!("load i32, ptr %ctaid.{}, align 8", name(a)));
            }
            (Special::Nctaid(a), _) => {
                (format!("nctaid.{}", name(a)), "i32", offset_of!(Ctx, nctaid) + 4 * axis(a))
            }
            (Special::NWarpId, _) => ("nwarpid".into(), "i32", offset_of!(Ctx, nwarpid)),
            (Special::NSmId, _) => ("nsmid".into(), "i32", offset_of!(Ctx, nsmid)),
            (Special::DynamicSharedSize, _) => {
                ("dynamic.shared".into(), "i32", offset_of!(Ctx, dynamic_shared))
            }
            (Special::TotalSharedSize, _) => ("total.shared".into(), "i32", offset_of!(Ctx, total_shared)),
            (Special::GridId, _) => ("gridid".into(), "i64", offset_of!(Ctx, grid_id)),
            (Special::GlobalsBase, _) => ("globals.base".into(), "i64", offset_of!(Ctx, globals_base)),
            (Special::GridWorkspace, _) => ("workspace".into(), "i64", offset_of!(Ctx, grid_workspace)),
        };
        self.field(&label, ty, offset)
    }

    /// A special that is evenly spaced within each of several rows: each row's first lane's.
    pub(super) fn special_rows(&mut self, special: Special) -> Vec<Reg> {
        let (rows, row) = (self.rows, self.row());
        match special {
            Special::Tid(a) => {
                let axis = if a == Axis::Y { 1 } else { 2 };
                if let Some([_, height, _]) = self.assume.cta {
                    let of_row = |n: u32| if axis == 1 { n % height } else { n / height };
                    return (0..rows).map(|n| of_row(n).to_string()).collect();
                }
                let here = self.tid_pointer(axis);
                let of_row = |n: u32| {
                    let (name, lane) = (format!("tid.{axis}.row.{n}"), n * row);
                    let at = self.per_group(&format!("{name}.at"), |_| {
                        format!("getelementptr i32, ptr {here}, i64 {lane}")
                    });
                    self.per_group(&name, |_| format!("load i32, ptr {at}, align 4, !invariant.load !1"))
                };
                (0..rows).map(of_row).collect()
            }
            _ => {
                let first = self.special(special);
                (0..rows).map(|n| self.t.inst(format_args!("add i32 {first}, {}", n * row))).collect()
            }
        }
    }

    /// A special that differs between lanes in no even way.
    pub(super) fn special_vector(&mut self, special: Special) -> Reg {
        let w = self.w;
        match special {
            Special::Tid(a) => {
                let axis = match a {
                    Axis::X => 0,
                    Axis::Y => 1,
                    Axis::Z => 2,
                };
                let at = self.tid_pointer(axis);
                self.per_group(&format!("tid.{axis}.all"), |_| {
                    format!("load <{w} x i32>, ptr {at}, align 4, !invariant.load !1")
                })
            }
            Special::LaneId => {
                // Groups wider than a warp start over every 32 lanes.
                let list = Text::list(Elem::I32, (0..u64::from(w)).map(|lane| lane % 32));
                let first = self.special(special);
                let first = self.t.repeat(Shape::new(Elem::I32, 1), &first, w);
                self.t.binary("add", Shape::new(Elem::I32, w), &first, &list)
            }
            Special::WarpId => {
                let list = Text::list(Elem::I32, (0..u64::from(w)).map(|lane| lane / 32));
                let first = self.special(special);
                let first = self.t.repeat(Shape::new(Elem::I32, 1), &first, w);
                self.t.binary("add", Shape::new(Elem::I32, w), &first, &list)
            }
            _ => {
                let scalar = self.special(special);
                let one = Shape::new(if special.is_wide() { Elem::I64 } else { Elem::I32 }, 1);
                self.t.repeat(one, &scalar, w)
            }
        }
    }

    fn tid_pointer(&mut self, axis: usize) -> Reg {
        let lane = self.lane();
        let table = self.field(&format!("tid.{axis}"), "ptr", offset_of!(Ctx, tid) + 8 * axis);
        self.per_group(&format!("tid.{axis}.here"), |_| format!("getelementptr i32, ptr {table}, i64 {lane}"))
    }

    /// A special that changes: asked of the engine.
    pub(super) fn clock(&mut self, inst: &Inst, special: Special) {
        let Some(r) = inst.result else { return };
        let which = u32::from(special == Special::GlobalTimer);
        let callback = self.callback("clock", offset_of!(Callbacks, clock));
        let mut now = self.t.inst(format_args!("call i64 {callback}(ptr %ctx, i32 {which})"));
        if !special.is_wide() {
            now = self.t.inst(format_args!("trunc i64 {now} to i32"));
        }
        self.define_scalar(r, now);
    }
}

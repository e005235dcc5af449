//! Rows that move on in step.
//!
//! Where every turn of a loop adds the same to all rows of a parameter of its header, as it does to the addresses of tiles, the rows stay as
//! far apart as they were. So the code keeps where the first is and how far from it the others are: a turn moves one address on, and checks
//! one. What may be added to that before a row leaves its allocation is found out once, when the loop has been entered.
//!
//! How far they are apart lies in memory that others might write as far as LLVM knows. Else it would find out that each row moves on by the
//! same, and take a register, or a place on the stack, for the address of every row again.

use std::collections::HashMap;

use hostwarp_ir::{Op, Space, Type, Value};
use hostwarp_plan::{Loop, Shape as Spread};

use super::memory::I64;
use super::{Emitter, Reg};

/// Where addresses are checked that move on in step: these [windows](super::check::Window) are theirs.
#[derive(Clone, Copy, Default)]
pub(super) struct Windows {
    first: u32,
    count: u32,
    used: u32,
    /// Where among all words of windows it is kept how far rows are apart.
    apart: u32,
}

impl Emitter<'_> {
    /// The parameters whose rows move on in step, in loops that all lanes go round together.
    pub(super) fn find_in_step(&mut self) -> HashMap<Value, Windows> {
        let mut found = HashMap::new();
        if self.rows == 1 {
            return found;
        }
        let (func, plan) = (self.func, self.plan);
        let together = |l: &&Loop| l.single_entry && l.blocks.iter().all(|b| !self.masked[b.index()]);
        for l in plan.loops.iter().filter(together) {
            for p in &func.block(l.header).params {
                let by_row = matches!(self.spread(*p), Spread::Affine { by_row: true, .. });
                if self.ty(*p) != Type::I64 || !by_row || self.wraps[p.index()] {
                    continue;
                }
                let Some(step) = self.step(l.header, *p) else { continue };
                if self.spread(step) != Spread::Uniform {
                    continue;
                }
                let insts = l.blocks.iter().flat_map(|b| func.block(*b).insts.iter().map(move |i| (*b, i)));
                let accesses = insts.filter(|(b, i)| match i.op {
                    Op::Load(mem) | Op::Store(mem) => {
                        matches!(mem.space, Space::Global | Space::Generic)
                            && self.root(*b, i.args[0]).0 == *p
                    }
                    _ => false,
                });
                let count = accesses.count() as u32;
                if count > 0 {
                    let first = self.windows;
                    let apart = 2 * (first + count);
                    found.insert(*p, Windows { first, count, used: 0, apart });
                    // Two words each.
                    self.windows += count + (self.rows - 1).div_ceil(2);
                }
            }
        }
        found
    }

    /// The first row's.
    pub(super) fn first_in_step(&mut self, v: Value) -> Reg {
        match self.known.get(&v).and_then(|k| k.bases.first()) {
            Some(first) => first.clone(),
            None => self.t.inst(format_args!("load i64, ptr {}, align 8", self.homes(v)[0])),
        }
    }

    /// How far each row but the first is from the first.
    pub(super) fn apart(&mut self, v: Value) -> Vec<Reg> {
        let load = |e: &mut Self, row| {
            let home = e.home_apart(v, row);
            e.t.inst(format_args!("load i64, ptr {home}, align 8"))
        };
        (1..self.rows).map(|row| load(self, row)).collect()
    }

    /// Where it is kept how far a row is from the first.
    fn home_apart(&mut self, v: Value, row: u32) -> Reg {
        let at = self.in_step[&v].apart + row - 1;
        self.once(&format!("apart.{}.{row}", v.0), |_| format!("getelementptr i64, ptr %windows, i64 {at}"))
    }

    /// Each row's, given the first row's.
    pub(super) fn rows_after(&mut self, first: &Reg, apart: &[Reg]) -> Vec<Reg> {
        let others = apart.iter().map(|apart| self.t.binary("add", I64, first, apart));
        std::iter::once(first.clone()).chain(others).collect()
    }

    /// Writes the rows of a parameter as a loop is entered: where they may go is found out anew.
    pub(super) fn fall_in_step(&mut self, p: Value, bases: &[Reg]) {
        let (first, last) = (&bases[0], &bases[bases.len() - 1]);
        self.move_on(p, first);
        for row in 1..self.rows {
            let base = bases.get(row as usize).unwrap_or(last);
            let apart = self.t.binary("sub", I64, base, first);
            let home = self.home_apart(p, row);
            self.t.line(format_args!("store i64 {apart}, ptr {home}, align 8"));
        }
        let Windows { first, count, .. } = self.in_step[&p];
        for n in first..first + count {
            let window = self.window_of(n);
            self.t.line(format_args!("store i64 0, ptr {}, align 8", window.places));
        }
    }

    /// Writes the first row of a parameter after a turn of the loop; the others are as far from it as before.
    pub(super) fn move_on(&mut self, p: Value, first: &Reg) {
        let home = &self.homes(p)[0];
        self.t.line(format_args!("store i64 {first}, ptr {home}, align 8"));
    }

    /// The window for the next check of addresses that are a parameter's or a known distance from it; none if there are more than
    /// were foreseen.
    pub(super) fn next_window_in_step(&mut self, p: Value) -> Option<u32> {
        let windows = self.in_step.get_mut(&p)?;
        let n = windows.first + windows.used;
        windows.used += 1;
        (windows.used <= windows.count).then_some(n)
    }
}

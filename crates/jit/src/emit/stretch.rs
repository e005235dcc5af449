//! Long stretches of arithmetic, done for the lanes of one register after the other.
//!
//! LLVM takes twice as long over vectors of two registers as over those of one, and more than that over a function twice as long. So where
//! nothing but arithmetic is done for long it is written as functions of some hundred instructions each, for as many lanes as a register
//! has, and called for every such part of the group. What goes in and comes out lies in memory, which is little beside what is done in between.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::mem;

use hostwarp_ir::{Inst, Type, Value};
use hostwarp_plan::Shape as Spread;

use super::{Emitter, Known, Text, Unsupported};

/// Instructions in one function.
const EACH: usize = 96;

/// What an instruction is to a stretch.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Arithmetic in all lanes.
    Part,
    /// Done once for all lanes, or not at all: before the stretch, as it takes nothing from it.
    Before,
    /// Its end.
    End,
}

/// Where values lie that go in and out, for all lanes of the group.
#[derive(Default)]
struct Slots {
    of: HashMap<Value, usize>,
    free: Vec<(usize, usize)>,
    size: usize,
}

impl Slots {
    fn take(&mut self, v: Value, bytes: usize) -> usize {
        let bytes = bytes.next_multiple_of(64);
        let free = self.free.iter().position(|(_, size)| *size == bytes);
        let at = match free {
            Some(n) => self.free.swap_remove(n).0,
            None => {
                self.size += bytes;
                self.size - bytes
            }
        };
        self.of.insert(v, at);
        at
    }

    fn give_back(&mut self, v: Value, bytes: usize) {
        if let Some(at) = self.of.remove(&v) {
            self.free.push((at, bytes.next_multiple_of(64)));
        }
    }
}

impl Emitter<'_> {
    fn kind(&self, inst: &Inst) -> Kind {
        let Some(r) = inst.result.filter(|_| inst.op.is_pure() && inst.guard.is_none()) else {
            return Kind::End;
        };
        let scalar = |v: &Value| self.spread(*v) != Spread::Varying;
        if self.remade[r.index()].is_some() || self.lazy_compare == Some(r) || self.is_by_lane(r) {
            Kind::Before
        } else if !scalar(&r) {
            Kind::Part
        } else if inst.args.iter().all(scalar) {
            Kind::Before
        } else {
            Kind::End
        }
    }

    /// Writes the stretch that begins at an instruction of the block being written, if it is long. Answers where it ends, and whether it was.
    pub(super) fn stretch(&mut self, begin: usize) -> Result<(usize, bool), Unsupported> {
        let func = self.func;
        let insts = &func.block(self.block).insts;
        let kinds: Vec<Kind> =
            insts[begin..].iter().map(|i| self.kind(i)).take_while(|k| *k != Kind::End).collect();
        let end = begin + kinds.len();
        let of = |kind: Kind| (begin..end).filter(|n| kinds[n - begin] == kind).collect::<Vec<_>>();
        let parts = of(Kind::Part);
        if parts.len() < self.cpu.stretch || self.w <= self.cpu.lanes {
            return Ok((end, false));
        }
        for n in of(Kind::Before) {
            self.inst(n, &insts[n])?;
        }
        self.write_stretch(&parts, end)?;
        Ok((end, true))
    }

    /// Writes instructions of a stretch that ends there.
    fn write_stretch(&mut self, parts: &[usize], end: usize) -> Result<(), Unsupported> {
        let func = self.func;
        let data = func.block(self.block);
        let functions: Vec<&[usize]> = parts.chunks(EACH.min(self.cpu.stretch)).collect();
        let results: HashSet<Value> = parts.iter().filter_map(|n| data.insts[*n].result).collect();
        // The last function that takes a value, and those that are needed afterwards.
        let mut last: HashMap<Value, usize> = HashMap::new();
        let mut inputs: Vec<Value> = vec![];
        for (n, function) in functions.iter().enumerate() {
            for arg in function.iter().flat_map(|n| &data.insts[*n].args) {
                if self.constant(*arg).is_none() && last.insert(*arg, n).is_none() && !results.contains(arg) {
                    inputs.push(*arg);
                }
            }
        }
        let mut needed: HashSet<Value> =
            results.iter().copied().filter(|r| self.crosses[r.index()]).collect();
        let later = data.insts[end..].iter().flat_map(|i| i.args.iter().chain(&i.guard));
        let handed_on = data.term.targets().into_iter().flat_map(|t| t.args.clone());
        needed
            .extend(later.copied().chain(data.term.uses()).chain(handed_on).filter(|v| results.contains(v)));
        // What each function is the last to take. Not as it comes out of the table: the same kernel is to be the same text.
        let mut done: Vec<Vec<Value>> = vec![vec![]; functions.len()];
        for (v, n) in last.iter().filter(|(v, _)| !needed.contains(v)) {
            done[*n].push(*v);
        }

        let mut slots = Slots::default();
        let name = format!("stretch.{}", self.helpers.len());
        for v in &inputs {
            let (ty, at) = (self.ty(*v), slots.take(*v, self.slot_bytes(self.ty(*v))));
            let there = self.t.inst(format_args!("getelementptr i8, ptr %{name}, i64 {at}"));
            match self.spread(*v) {
                Spread::Uniform => {
                    let (one, scalar) = (self.one(ty), self.scalar(*v));
                    self.t.line(format_args!("store {one} {scalar}, ptr {there}, align 64"));
                }
                _ => {
                    let (all, vector) = (self.all(ty), self.vector(*v));
                    self.t.line(format_args!("store {all} {vector}, ptr {there}, align 64"));
                }
            }
        }
        for (n, function) in functions.iter().enumerate() {
            let helper = format!("@{name}.{n}");
            let keep = |v: &Value| needed.contains(v) || last.get(v).is_some_and(|last| *last > n);
            let kept = function.iter().filter_map(|n| data.insts[*n].result).filter(keep);
            let outputs: Vec<_> = kept.map(|r| (r, slots.take(r, self.slot_bytes(self.ty(r))))).collect();
            self.stretch_function(&helper, function, &slots, &outputs)?;
            for part in 0..self.w / self.cpu.lanes {
                self.t.line(format_args!("call void {helper}(ptr %{name}, i64 {part})"));
            }
            done[n].sort_unstable();
            for v in &done[n] {
                slots.give_back(*v, self.slot_bytes(self.ty(*v)));
            }
        }
        let _ = writeln!(self.entry, "  %{name} = alloca [{} x i8], align 64", slots.size);
        for r in parts.iter().filter_map(|n| data.insts[*n].result).filter(|r| needed.contains(r)) {
            let (all, at) = (self.all(self.ty(r)), slots.of[&r]);
            let there = self.t.inst(format_args!("getelementptr i8, ptr %{name}, i64 {at}"));
            let vector = self.t.inst(format_args!("load {all}, ptr {there}, align 64"));
            self.define(r, Known { vector: Some(vector), ..Known::default() });
        }
        Ok(())
    }

    fn slot_bytes(&self, ty: Type) -> usize {
        (ty.bits() * self.w / 8) as usize
    }

    /// Writes a function that does some instructions for the lanes of part `%part` of the group, with values in `%slots`.
    fn stretch_function(
        &mut self,
        name: &str,
        insts: &[usize],
        slots: &Slots,
        outputs: &[(Value, usize)],
    ) -> Result<(), Unsupported> {
        let data = self.func.block(self.block);
        let results: HashSet<Value> = insts.iter().filter_map(|n| data.insts[*n].result).collect();
        let group = self.w;
        // It is a function of its own, of fewer lanes and all of them.
        let outside = (
            mem::replace(&mut self.t, Text::new(self.cpu.avx512)),
            mem::take(&mut self.known),
            self.mask.take(),
        );
        self.w = self.cpu.lanes;
        for n in insts {
            let inst = &data.insts[*n];
            for a in inst.args.iter().filter(|a| !results.contains(a)) {
                if self.constant(*a).is_none() && !self.known.contains_key(a) {
                    let known = self.load_slot(*a, slots.of[a]);
                    self.known.insert(*a, known);
                }
            }
            let Some(r) = inst.result else { continue };
            let args: Vec<String> = inst.args.iter().map(|a| self.vector(*a)).collect();
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let vector = self.pure_op(inst, r, &args, self.w)?;
            self.known.insert(r, Known { vector: Some(vector), ..Known::default() });
        }
        for (r, at) in outputs {
            let (all, there, vector) = (self.all(self.ty(*r)), self.slot(self.ty(*r), *at), self.vector(*r));
            self.t.line(format_args!("store {all} {vector}, ptr {there}, align 1"));
        }
        let function = mem::replace(&mut self.t, outside.0);
        (self.known, self.mask, self.w) = (outside.1, outside.2, group);
        self.t.declarations.extend(function.declarations);
        let text = format!(
            "define internal void {name}(ptr noalias %slots, i64 %part) noinline nounwind {{\n{}  ret void\n}}\n",
            function.body
        );
        self.helpers.insert(name.to_owned(), text);
        Ok(())
    }

    /// Where this part of what lies in a slot is.
    fn slot(&mut self, ty: Type, at: usize) -> String {
        let step = ty.bits() * self.w / 8;
        let part = self.t.inst(format_args!("mul i64 %part, {step}"));
        let slot = self.t.inst(format_args!("getelementptr i8, ptr %slots, i64 {at}"));
        self.t.inst(format_args!("getelementptr i8, ptr {slot}, i64 {part}"))
    }

    /// What goes into the function being written.
    fn load_slot(&mut self, v: Value, at: usize) -> Known {
        let ty = self.ty(v);
        if self.spread(v) == Spread::Uniform {
            let slot = self.t.inst(format_args!("getelementptr i8, ptr %slots, i64 {at}"));
            let scalar = self.t.inst(format_args!("load {}, ptr {slot}, align 64", self.one(ty)));
            return Known { bases: vec![scalar], ..Known::default() };
        }
        let there = self.slot(ty, at);
        let vector = self.t.inst(format_args!("load {}, ptr {there}, align 1", self.all(ty)));
        Known { vector: Some(vector), ..Known::default() }
    }
}

//! What the kernels reached.

use crate::instruction::{Family, forms};
use crate::program::{Kernel, Stmt};
use crate::run::Outcome;
use crate::shapes::graph::kind;
use crate::shapes::sim::Done;
use crate::shapes::{Op as ShapeOp, Program, Term};
use crate::subject::Subject;
use hostwarp::ir::{self, AtomicOp, Dot, FBin, FCmp, IntBin, IntCmp, IntUn, Mma, Op, Round, Space, Table};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Counts over many kernels.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Kernels generated.
    pub kernels: u64,
    /// Kernels with each of the things that make kernels hard.
    pub traits: BTreeMap<&'static str, u64>,
    /// Forms reached: opcode and syntax.
    pub forms: BTreeMap<(String, &'static str), u64>,
    /// Core ops reached, in the kernels that were looked at.
    pub ops: BTreeMap<String, u64>,
    /// Kernels the jit ran at each width.
    pub widths: BTreeMap<u32, u64>,
    /// Why the jit did not take kernels.
    pub refused: BTreeMap<String, u64>,
    /// Why Hostwarp did not take kernels.
    pub unsupported: BTreeMap<String, u64>,
    /// Instructions in all.
    pub instructions: u64,
}

impl Coverage {
    /// Counts a kernel and what came of it.
    pub fn add(&mut self, subject: &Subject, outcome: &Outcome) {
        self.kernels += 1;
        let names = match subject {
            Subject::Ops(kernel) => traits(kernel),
            Subject::Shape(program, done) => shape_traits(program, done),
        };
        for name in names {
            *self.traits.entry(name).or_default() += 1;
        }
        match subject {
            Subject::Ops(kernel) => self.add_forms(kernel),
            Subject::Shape(program, _) => {
                self.instructions += program.funcs.iter().map(|f| f.insts().count() as u64).sum::<u64>();
            }
        }
        let widths: BTreeSet<u32> = outcome.widths.iter().copied().collect();
        widths.into_iter().for_each(|w| *self.widths.entry(w).or_default() += 1);
        for op in &outcome.ops {
            *self.ops.entry(op.clone()).or_default() += 1;
        }
        for why in &outcome.refused {
            *self.refused.entry(why.clone()).or_default() += 1;
        }
        if let Some(why) = &outcome.unsupported {
            *self.unsupported.entry(why.clone()).or_default() += 1;
        }
    }

    fn add_forms(&mut self, kernel: &Kernel) {
        for i in kernel.instructions() {
            self.instructions += 1;
            if let Some(form) = i.form {
                let opcode = i.head.split('.').next().unwrap_or("").to_string();
                *self.forms.entry((opcode, form)).or_default() += 1;
            }
        }
    }

    /// Takes in what another has counted.
    pub fn merge(&mut self, other: Coverage) {
        fn sum<K: Ord>(to: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
            from.into_iter().for_each(|(k, n)| *to.entry(k).or_default() += n);
        }
        self.kernels += other.kernels;
        self.instructions += other.instructions;
        sum(&mut self.traits, other.traits);
        sum(&mut self.forms, other.forms);
        sum(&mut self.ops, other.ops);
        sum(&mut self.widths, other.widths);
        sum(&mut self.refused, other.refused);
        sum(&mut self.unsupported, other.unsupported);
    }

    /// In how many of a hundred kernels this is.
    pub fn share(&self, name: &str) -> f64 {
        100.0 * self.traits.get(name).copied().unwrap_or(0) as f64 / self.kernels.max(1) as f64
    }

    /// Opcodes that can be generated and were not.
    pub fn missed_opcodes(&self) -> Vec<&'static str> {
        let reached: BTreeSet<&str> = self.forms.keys().map(|(opcode, _)| opcode.as_str()).collect();
        let all: BTreeSet<&'static str> = all_forms().into_iter().map(|(opcode, _)| opcode).collect();
        all.into_iter().filter(|o| !reached.contains(o)).collect()
    }

    /// Core ops that exist and were not reached.
    pub fn missed_ops(&self) -> Vec<String> {
        all_ops().into_iter().filter(|o| !self.ops.contains_key(o)).collect()
    }

    /// For people.
    pub fn table(&self) -> String {
        let mut s = String::new();
        let _ = writeln!(
            s,
            "{} kernels, {:.1} instructions on average",
            self.kernels,
            self.instructions as f64 / self.kernels.max(1) as f64
        );
        for name in self.traits.keys() {
            let _ = writeln!(s, "  {:<28} {:5.1} %", name, self.share(name));
        }
        for (width, n) in &self.widths {
            let _ = writeln!(
                s,
                "  jit, {width:<2} lanes                {:5.1} %",
                100.0 * *n as f64 / self.kernels as f64
            );
        }
        if self.forms.is_empty() {
            return s + &self.reasons();
        }
        let forms = all_forms();
        let reached = forms.iter().filter(|(o, f)| self.forms.contains_key(&(o.to_string(), f))).count();
        let _ = writeln!(s, "  forms reached                {reached} of {}", forms.len());
        let opcodes: BTreeSet<&str> = forms.iter().map(|(o, _)| *o).collect();
        let missed = self.missed_opcodes();
        let _ = writeln!(
            s,
            "  opcodes reached              {} of {}",
            opcodes.len() - missed.len(),
            opcodes.len()
        );
        if !missed.is_empty() {
            let _ = writeln!(s, "    not: {}", missed.join(" "));
        }
        if !self.ops.is_empty() {
            let (all, missed) = (all_ops().len(), self.missed_ops());
            let _ = writeln!(s, "  core ops reached             {} of {all}", all - missed.len());
            if !missed.is_empty() {
                let _ = writeln!(s, "    not: {}", missed.join(", "));
            }
        }
        s + &self.reasons()
    }

    /// Why kernels were not run.
    fn reasons(&self) -> String {
        let mut s = String::new();
        for (what, reasons) in [("not by the jit", &self.refused), ("not supported", &self.unsupported)] {
            for (why, n) in reasons {
                let _ = writeln!(s, "  {what}: {n} × {why}");
            }
        }
        s
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let forms: Vec<Value> = (self.forms.iter())
            .map(|((opcode, form), n)| json!({"opcode": opcode, "form": form, "count": n}))
            .collect();
        json!({
            "kernels": self.kernels,
            "instructions": self.instructions,
            "traits": self.traits,
            "widths": self.widths.iter().map(|(w, n)| (w.to_string(), *n)).collect::<BTreeMap<_, _>>(),
            "ops": self.ops,
            "ops_missed": self.missed_ops(),
            "opcodes_missed": self.missed_opcodes(),
            "forms": forms,
            "refused": self.refused,
            "unsupported": self.unsupported,
        })
    }
}

/// Forms that kernels are made from.
fn all_forms() -> Vec<(&'static str, &'static str)> {
    let families = [Family::Lane, Family::Warp, Family::Access, Family::Atomic, Family::Quiet];
    let rooms = families.iter().flat_map(|f| forms(*f)).flatten();
    rooms.map(|f| (f.opcode, f.parsed.form.syntax)).collect()
}

/// What is hard about a program.
fn shape_traits(p: &Program, done: &Done) -> BTreeSet<&'static str> {
    let mut out = BTreeSet::new();
    let mut has = |yes: bool, name: &'static str| {
        if yes {
            out.insert(name);
        }
    };
    for (n, f) in p.funcs.iter().enumerate() {
        let targets: Vec<Vec<usize>> = f.blocks.iter().map(|b| b.term.targets()).collect();
        let kind = kind(&targets);
        has(kind.irreducible, "irreducible cycles");
        has(kind.depth > 0, "loops");
        has(kind.depth > 1, "nested loops");
        has(kind.latches > 1, "several latches");
        has(kind.exits > 1, "several exits");
        let ran = |b: usize| done.visited.contains(&(n, b));
        for (b, block) in f.blocks.iter().enumerate().filter(|(b, _)| ran(*b)) {
            has(matches!(block.term, Term::Switch(..)), "switches");
            has(done.divergent.contains(&(n, b)), "divergent branches");
            for i in &block.insts {
                has(i.guard.is_some(), "guards");
                has(matches!(i.op, ShapeOp::Call { .. }), "calls");
                has(n > 0 && matches!(i.op, ShapeOp::Call { .. }), "calls in calls");
                has(
                    matches!(&i.op, ShapeOp::Call { callee, .. } if callee.by.is_some()),
                    "calls through pointers",
                );
                has(matches!(&i.op, ShapeOp::Call { callee, .. } if callee.bounded), "recursion");
                has(matches!(i.op, ShapeOp::Barrier { .. } | ShapeOp::Exchange { .. }), "barriers");
                has(matches!(i.op, ShapeOp::Exchange { dynamic: true, .. }), "dynamic shared memory");
                has(matches!(i.op, ShapeOp::Warp(..)), "warp operations");
                has(matches!(i.op, ShapeOp::Count(..)), "atomics");
            }
        }
    }
    has(!done.unaligned.is_empty(), "barriers of parts of warps");
    has(done.left_early, "threads that end before a barrier");
    out
}

/// What is hard about a kernel.
fn traits(kernel: &Kernel) -> BTreeSet<&'static str> {
    fn walk(stmts: &[Stmt], depth: usize, out: &mut BTreeSet<&'static str>) {
        for s in stmts {
            match s {
                Stmt::Fixed(stmts) => walk(stmts, depth, out),
                Stmt::If { then, otherwise, .. } => {
                    out.insert("branches");
                    walk(then, depth, out);
                    walk(otherwise, depth, out);
                }
                Stmt::Switch { ways, .. } => {
                    out.insert("switches");
                    ways.iter().for_each(|w| walk(w, depth, out));
                }
                Stmt::Loop(l) => {
                    out.insert(if l.divergent { "divergent loops" } else { "uniform loops" });
                    if depth > 0 {
                        out.insert("nested loops");
                    }
                    walk(&l.body, depth + 1, out);
                }
                Stmt::Leave { .. } => {
                    out.insert("loops left early");
                }
                Stmt::Exit { .. } => {
                    out.insert("threads that end early");
                }
                Stmt::Inst(_) | Stmt::Group(_) => {}
            }
        }
    }
    let mut out = BTreeSet::new();
    walk(&kernel.body, 0, &mut out);
    for i in kernel.instructions() {
        let opcode = i.head.split('.').next().unwrap_or("");
        out.extend(match opcode {
            "bar" | "barrier" if !i.head.starts_with("bar.warp") => Some("barriers"),
            "bar" | "shfl" | "vote" | "match" | "redux" | "elect" | "activemask" => Some("warp operations"),
            "atom" | "red" => Some("atomics"),
            _ if i.guard.is_some() => Some("guards"),
            _ => None,
        });
        out.extend(opcode.eq("shfl").then_some("shuffles"));
        out.extend((opcode.starts_with("bar") && i.head.contains(".red")).then_some("barriers that reduce"));
        out.extend(i.head.contains(".shared").then_some("shared memory"));
    }
    let threads = kernel.shape.threads();
    out.extend((!threads.is_multiple_of(32)).then_some("parts of warps"));
    out.extend((kernel.shape.block[1] * kernel.shape.block[2] > 1).then_some("blocks of 2 or 3 dimensions"));
    out.extend((kernel.shape.ctas() > 1).then_some("several CTAs"));
    out
}

/// The core ops of a kernel as engines get them.
pub fn ops(kernel: &hostwarp::Kernel) -> Vec<String> {
    let Ok(f) = &kernel.compiled().function else { return vec![] };
    let mut f = f.clone();
    ir::passes::lower(&mut f);
    let found: BTreeSet<String> = f.blocks.iter().flat_map(|b| &b.insts).map(|i| op_name(&i.op)).collect();
    found.into_iter().collect()
}

/// An op without the details that do not make it another op.
fn op_name(op: &Op) -> String {
    let marked = |name: &str, mark: &str, yes: bool| if yes { format!("{name} {mark}") } else { name.into() };
    match op {
        Op::Const(_) => "Const".into(),
        Op::Special(_) => "Special".into(),
        Op::Extract(_) => "Extract".into(),
        Op::Permute(_) => "Permute".into(),
        Op::Fence(_) => "Fence".into(),
        Op::Load(m) => format!("Load {:?}", m.space),
        Op::Store(m) => format!("Store {:?}", m.space),
        Op::Atomic(AtomicOp::FAdd { .. }, m) => format!("Atomic FAdd {:?}", m.space),
        Op::Atomic(op, m) => format!("Atomic {op:?} {:?}", m.space),
        Op::Int(op) => format!("Int {op:?}"),
        Op::IntUn(op) => format!("IntUn {op:?}"),
        Op::Cmp(op) => format!("Cmp {op:?}"),
        Op::FCmp(op) => format!("FCmp {op:?}"),
        Op::Float { op, .. } => format!("Float {op:?}"),
        Op::Fma { .. } => "Fma".into(),
        Op::FmaOdd { halves } => marked("FmaOdd", "halves", *halves),
        Op::Sqrt { .. } => "Sqrt".into(),
        Op::FMin { nan } => marked("FMin", "NaN", *nan),
        Op::FMax { nan } => marked("FMax", "NaN", *nan),
        Op::HSum { signed } => marked("HSum", "signed", *signed),
        Op::Lookup(table) => format!("Lookup {table:?}"),
        Op::Dot(dot) => format!("Dot {:?} {:?} {:?}", dot.a, dot.b, dot.sum),
        Op::Mma(mma) => format!("Mma {:?} {:?} {:?}", mma.dot.a, mma.dot.b, mma.dot.sum),
        Op::FToInt { signed } => marked("FToInt", "signed", *signed),
        Op::IntToF { signed, .. } => marked("IntToF", "signed", *signed),
        Op::FRound(round) => format!("FRound {round:?}"),
        Op::FCvt(_) => "FCvt".into(),
        other => format!("{other:?}"),
    }
}

/// Every primitive op there is, as [`op_name`] calls it.
fn all_ops() -> Vec<String> {
    let mut out: Vec<String> = vec![];
    out.extend(IntBin::ALL.map(|o| op_name(&Op::Int(o))));
    out.extend(IntUn::ALL.map(|o| op_name(&Op::IntUn(o))));
    out.extend(IntCmp::ALL.map(|o| op_name(&Op::Cmp(o))));
    out.extend(FCmp::ALL.map(|o| op_name(&Op::FCmp(o))));
    out.extend([FBin::Add, FBin::Sub, FBin::Mul, FBin::Div].map(|o| format!("Float {o:?}")));
    let plain = [
        Op::Select,
        Op::Zext,
        Op::Sext,
        Op::Trunc,
        Op::Bitcast,
        Op::Build,
        Op::ToBits,
        Op::FromBits,
        Op::Propagate,
    ];
    out.extend(plain.iter().map(op_name));
    let more = [Op::FNeg, Op::FAbs, Op::LaneRead, Op::Ballot, Op::ActiveMask];
    out.extend(more.iter().map(op_name));
    out.extend(["Const", "Special", "Extract", "Permute", "Fma", "FCvt", "Fence"].map(String::from));
    out.extend(Table::ALL.map(|t| op_name(&Op::Lookup(t))));
    out.extend(Dot::all([1]).map(|dot| op_name(&Op::Dot(dot))));
    out.extend(
        Mma::all([4]).filter(|mma| mma.part == 0 && mma.halves == 1).map(|mma| op_name(&Op::Mma(mma))),
    );
    for truth in [false, true] {
        let both = [
            Op::HSum { signed: truth },
            Op::FmaOdd { halves: truth },
            Op::FMin { nan: truth },
            Op::FMax { nan: truth },
            Op::FToInt { signed: truth },
            Op::IntToF { signed: truth, round: Round::Nearest },
        ];
        out.extend(both.iter().map(op_name));
    }
    out.extend([Round::Nearest, Round::Zero, Round::Down, Round::Up].map(|r| op_name(&Op::FRound(r))));
    let spaces = [Space::Global, Space::Shared, Space::Local, Space::Generic];
    out.extend(spaces.iter().chain(&[Space::Const, Space::Param]).map(|s| format!("Load {s:?}")));
    out.extend(spaces.iter().map(|s| format!("Store {s:?}")));
    let atomics =
        ["Exch", "Cas", "Add", "And", "Or", "Xor", "MinU", "MinS", "MaxU", "MaxS", "Inc", "Dec", "FAdd"];
    for space in [Space::Global, Space::Shared, Space::Generic] {
        out.extend(atomics.map(|a| format!("Atomic {a} {space:?}")));
    }
    out
}

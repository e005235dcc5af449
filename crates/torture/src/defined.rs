//! Whether a kernel reads only registers that have been written, on every path: what others hold is anything on a GPU.
//!
//! Definite assignment on the kernel's structure. A guarded write defines nothing; what a loop's body writes counts within that iteration.

use crate::program::{Bank, Inst, Kernel, Loop, Reg, Stmt};
use std::collections::BTreeSet;

/// Whether no register is read that may not have been written.
pub fn is_defined(kernel: &Kernel) -> bool {
    let mut written = Written::default();
    let body = written.statements(&kernel.init) && written.statements(&kernel.body);
    let masked = kernel.text().contains("%m0");
    body && kernel.results.iter().all(|r| written.has(*r)) && (!masked || written.has(Reg(Bank::M, 0)))
}

#[derive(Clone, Default)]
struct Written(BTreeSet<Reg>);

impl Written {
    /// Bases, numbers of threads and all masks but the first are written by the text around the statements.
    fn has(&self, r: Reg) -> bool {
        matches!(r.0, Bank::B | Bank::I) || r.0 == Bank::M && r.1 > 0 || self.0.contains(&r)
    }

    fn inst(&mut self, inst: &Inst) -> bool {
        let fine = inst.reads().iter().all(|r| self.has(*r));
        if inst.guard.is_none() {
            self.0.extend(inst.writes());
        }
        fine
    }

    fn statements(&mut self, stmts: &[Stmt]) -> bool {
        stmts.iter().all(|s| match s {
            Stmt::Inst(i) => self.inst(i),
            Stmt::Group(is) => is.iter().all(|i| self.inst(i)),
            Stmt::Fixed(stmts) => self.statements(stmts),
            Stmt::If { guard, then, otherwise, .. } => {
                self.has(guard.reg) && self.ways([then.as_slice(), otherwise.as_slice()])
            }
            Stmt::Switch { by, ways, .. } => self.has(*by) && self.ways(ways.iter().map(Vec::as_slice)),
            Stmt::Loop(l) => self.looped(l),
            Stmt::Leave { guard, .. } | Stmt::Exit { guard, .. } => self.has(guard.reg),
        })
    }

    /// One of several ways; what all of them write is written behind them.
    fn ways<'a>(&mut self, ways: impl IntoIterator<Item = &'a [Stmt]>) -> bool {
        let mut all: Option<BTreeSet<Reg>> = None;
        for way in ways {
            let mut here = self.clone();
            if !here.statements(way) {
                return false;
            }
            all = Some(all.map_or(here.0.clone(), |all| all.intersection(&here.0).copied().collect()));
        }
        self.0.extend(all.unwrap_or_default());
        true
    }

    fn looped(&mut self, l: &Loop) -> bool {
        if !l.setup.iter().all(|i| self.inst(i)) || !self.has(l.turns) {
            return false;
        }
        self.0.insert(l.counter);
        let mut body = self.clone();
        if l.looks_first {
            body.0.insert(l.condition);
        }
        let fine = body.statements(&l.body);
        self.0.insert(l.condition);
        fine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{WIDE, generate};
    use crate::program::What;

    #[test]
    fn what_the_generator_makes_is_defined() {
        let seeds = (0..1500).chain((0..100).map(|i| WIDE + i));
        let bad: Vec<u64> = seeds.filter(|seed| !is_defined(&generate(*seed))).collect();
        assert_eq!(bad, Vec::<u64>::new());
    }

    #[test]
    fn a_register_without_a_value_is_seen() {
        let mut seen = 0;
        for seed in 0..40 {
            let kernel = generate(seed);
            for i in 0..kernel.init.len() {
                let Some(Stmt::Group(is)) = kernel.init.get(i) else { continue };
                let Some(r) = is.iter().flat_map(|i| i.writes()).find(|r| r.0 == Bank::R) else { continue };
                let mut without = kernel.clone();
                without.init.remove(i);
                let reads = Inst::new("mov.b32", &[What::Reg(Reg(Bank::T, 0))], &[What::Reg(r)]);
                without.body.insert(0, Stmt::Inst(reads));
                assert!(!is_defined(&without), "seed {seed}: {r}");
                seen += 1;
            }
        }
        assert!(seen > 40, "{seen}");
    }
}

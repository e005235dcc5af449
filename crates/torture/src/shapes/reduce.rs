//! Makes a failing program small. The simulator says of each candidate what it must do, and whether it is one to run at all.

use super::make::outcome;
use super::{Block, Callee, Class, Edge, Func, Op, Program, Reg, Src, Term};
use crate::run::Case;

/// The smallest program found that still fails, its case, and how many were tried. `fails` runs a candidate.
pub fn reduce(program: &Program, mut fails: impl FnMut(&Case) -> bool) -> (Program, usize) {
    let mut best = program.clone();
    let mut tried = 0;
    let mut attempt = |best: &mut Program, candidate: Program| -> bool {
        if candidate == *best {
            return false;
        }
        let Ok(done) = outcome(&candidate) else { return false };
        tried += 1;
        let yes = fails(&Case::of_program(&candidate, done.memory));
        if yes {
            *best = candidate;
        }
        yes
    };
    loop {
        let before = best.clone();
        shrink_launch(&mut best, &mut attempt);
        ways(&mut best, &mut attempt);
        calls(&mut best, &mut attempt);
        tidy(&mut best, &mut attempt);
        instructions(&mut best, &mut attempt);
        operands(&mut best, &mut attempt);
        if best == before {
            return (best, tried);
        }
    }
}

fn shrink_launch(best: &mut Program, attempt: &mut impl FnMut(&mut Program, Program) -> bool) {
    attempt(best, Program { grid: [1; 3], ..best.clone() });
    attempt(best, Program { limit: 0, ..best.clone() });
    for depth in 1..best.depth {
        if attempt(best, Program { depth, ..best.clone() }) {
            break;
        }
    }
    for block in [[1, 1, 1], [2, 1, 1], [4, 1, 1], [8, 1, 1], [16, 1, 1], [32, 1, 1], [64, 1, 1]] {
        let candidate = Program { block, ..best.clone() };
        if candidate.threads() < best.threads() && attempt(best, candidate) {
            break;
        }
    }
}

/// Fewer ways out of blocks, less fuel.
fn ways(best: &mut Program, attempt: &mut impl FnMut(&mut Program, Program) -> bool) {
    for f in 0..best.funcs.len() {
        for b in (0..best.funcs[f].blocks.len()).rev() {
            let term = best.funcs[f].blocks[b].term.clone();
            let mut simpler: Vec<Term> = term.edges().into_iter().map(|e| Term::Goto(e.clone())).collect();
            if term != (Term::Leave { exit: false }) {
                simpler.insert(0, Term::Leave { exit: false });
            }
            if let Term::Switch(by, ways) = &term {
                for n in (0..ways.len()).filter(|_| ways.len() > 2) {
                    let mut ways = ways.clone();
                    ways.remove(n);
                    simpler.push(Term::Switch(*by, ways));
                }
            }
            for (n, e) in term.edges().iter().enumerate() {
                if e.fuel.is_some() {
                    let mut less = term.clone();
                    less.edges_mut()[n].fuel = None;
                    simpler.push(less);
                }
            }
            for term in simpler {
                let mut p = best.clone();
                p.funcs[f].blocks[b].term = term;
                if attempt(best, p) {
                    break;
                }
            }
        }
    }
}

/// What nothing depends on: unreachable blocks and functions, the order of the text, blocks that only go on.
fn tidy(best: &mut Program, attempt: &mut impl FnMut(&mut Program, Program) -> bool) {
    for f in 0..best.funcs.len() {
        let mut p = best.clone();
        without_unreachable(&mut p.funcs[f]);
        attempt(best, p);
        let mut p = best.clone();
        p.funcs[f].layout = (0..p.funcs[f].blocks.len()).collect();
        attempt(best, p);
        let mut b = 1;
        while b < best.funcs[f].blocks.len() {
            // Whoever goes to a block that goes on goes on itself; a block that only one goes to is part of it.
            let mut p = best.clone();
            if (skip(&mut p.funcs[f], b) || join(&mut p.funcs[f], b)) && attempt(best, p) {
                continue;
            }
            b += 1;
        }
    }
    let called = |p: &Program, n: usize| p.callees().any(|c| c.funcs.contains(&n));
    if let Some(n) = (1..best.funcs.len()).rev().find(|n| !called(best, *n)) {
        let mut p = best.clone();
        p.funcs.remove(n);
        for f in &mut p.funcs {
            for i in f.blocks.iter_mut().flat_map(|b| &mut b.insts) {
                if let Op::Call { callee, .. } = &mut i.op {
                    callee.funcs.iter_mut().for_each(|f| *f -= usize::from(*f > n));
                }
            }
        }
        attempt(best, p);
    }
}

fn without_unreachable(f: &mut Func) {
    let mut reached = vec![false; f.blocks.len()];
    let mut work = vec![0];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut reached[b], true) {
            work.extend(f.blocks[b].term.targets());
        }
    }
    for b in (0..f.blocks.len()).rev().filter(|b| !reached[*b]) {
        remove(f, b);
    }
}

/// Removes a block that nobody goes to.
fn remove(f: &mut Func, gone: usize) {
    f.blocks.remove(gone);
    f.layout.retain(|b| *b != gone);
    let lower = |b: &mut usize| *b -= usize::from(*b > gone);
    f.layout.iter_mut().for_each(lower);
    for e in f.blocks.iter_mut().flat_map(|b| b.term.edges_mut()) {
        lower(&mut e.to);
        if let Some((_, otherwise)) = &mut e.fuel {
            lower(otherwise);
        }
    }
}

fn skip(f: &mut Func, b: usize) -> bool {
    let Term::Goto(Edge { to, fuel: None }) = f.blocks[b].term else { return false };
    if !f.blocks[b].insts.is_empty() || to == b {
        return false;
    }
    for e in f.blocks.iter_mut().flat_map(|b| b.term.edges_mut()) {
        if e.to == b {
            e.to = to;
        }
        if let Some((_, otherwise)) = &mut e.fuel
            && *otherwise == b
        {
            *otherwise = to;
        }
    }
    remove(f, b);
    true
}

fn join(f: &mut Func, b: usize) -> bool {
    let comes = |from: &Block| from.term.targets().into_iter().filter(|t| *t == b).count();
    let from: Vec<usize> = (0..f.blocks.len()).filter(|n| comes(&f.blocks[*n]) > 0).collect();
    let [from] = from[..] else { return false };
    if from == b || f.blocks[from].term != Term::Goto(b.into()) {
        return false;
    }
    let block = f.blocks[b].clone();
    f.blocks[from].insts.extend(block.insts);
    f.blocks[from].term = block.term;
    remove(f, b);
    true
}

/// Calls by name, and of fewer functions.
fn calls(best: &mut Program, attempt: &mut impl FnMut(&mut Program, Program) -> bool) {
    for f in 0..best.funcs.len() {
        for b in 0..best.funcs[f].blocks.len() {
            for i in 0..best.funcs[f].blocks[b].insts.len() {
                let Op::Call { callee, .. } = &best.funcs[f].blocks[b].insts[i].op else { continue };
                let one = |func: &usize| Callee { funcs: vec![*func], by: None, ..callee.clone() };
                let mut simpler: Vec<Callee> = callee.funcs.iter().map(one).collect();
                let fewer = |n| Callee {
                    funcs: callee.funcs.iter().copied().filter(|f| *f != callee.funcs[n]).collect(),
                    ..callee.clone()
                };
                simpler.extend((0..callee.funcs.len()).filter(|_| callee.funcs.len() > 1).map(fewer));
                simpler.push(Callee { bounded: false, ..callee.clone() });
                for new in simpler {
                    let mut p = best.clone();
                    if let Op::Call { callee, .. } = &mut p.funcs[f].blocks[b].insts[i].op {
                        *callee = new;
                    }
                    if attempt(best, p) {
                        break;
                    }
                }
            }
        }
    }
}

fn instructions(best: &mut Program, attempt: &mut impl FnMut(&mut Program, Program) -> bool) {
    for f in 0..best.funcs.len() {
        for b in (0..best.funcs[f].blocks.len()).rev() {
            let mut p = best.clone();
            p.funcs[f].blocks[b].insts.clear();
            if attempt(best, p) {
                continue;
            }
            for i in (0..best.funcs[f].blocks[b].insts.len()).rev() {
                let mut p = best.clone();
                p.funcs[f].blocks[b].insts.remove(i);
                if !attempt(best, p) && best.funcs[f].blocks[b].insts[i].guard.is_some() {
                    let mut p = best.clone();
                    p.funcs[f].blocks[b].insts[i].guard = None;
                    attempt(best, p);
                }
            }
        }
        // A register that nothing is put into holds 0.
        for part in [2, 4] {
            for n in (0..part).rev() {
                let mut p = best.clone();
                let len = p.funcs[f].init.len();
                p.funcs[f].init.drain(len * n / part..len * (n + 1) / part);
                attempt(best, p);
            }
        }
        for i in (0..best.funcs[f].init.len()).rev() {
            let mut p = best.clone();
            p.funcs[f].init.remove(i);
            attempt(best, p);
        }
        for n in (0..best.funcs[f].results.len()).rev().filter(|_| f > 0) {
            let mut p = best.clone();
            without_result(&mut p, f, n);
            attempt(best, p);
        }
    }
}

/// Takes out the last result of a function, if it is that one: others are known by their number.
fn without_result(p: &mut Program, f: usize, n: usize) {
    let alike = |c: &Callee| c.funcs.contains(&f) && c.funcs.len() > 1;
    if n + 1 != p.funcs[f].results.len() || p.callees().any(alike) {
        return;
    }
    let gone = Reg::new(p.funcs[f].results[n], Class::Result, n);
    p.funcs[f].results.pop();
    for b in &mut p.funcs[f].blocks {
        b.insts.retain(|i| !i.op.writes().contains(&gone));
    }
    for i in p.funcs.iter_mut().flat_map(|f| &mut f.blocks).flat_map(|b| &mut b.insts) {
        if let Op::Call { callee, results, .. } = &mut i.op
            && callee.funcs.contains(&f)
        {
            results.pop();
        }
    }
}

/// Sources become constants.
fn operands(best: &mut Program, attempt: &mut impl FnMut(&mut Program, Program) -> bool) {
    for f in 0..best.funcs.len() {
        for b in 0..best.funcs[f].blocks.len() {
            for i in 0..best.funcs[f].blocks[b].insts.len() {
                let count = best.funcs[f].blocks[b].insts[i].op.sources().len();
                for s in 0..count {
                    let mut p = best.clone();
                    let mut sources = p.funcs[f].blocks[b].insts[i].op.sources();
                    if matches!(sources[s], Src::Reg(_)) {
                        *sources[s] = Src::Const(0);
                        attempt(best, p);
                    }
                }
            }
        }
    }
}

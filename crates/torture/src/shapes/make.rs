//! A program from a seed, fit to run.

use super::fill::{Filler, Head, Traits};
use super::graph::graph;
use super::sim::{Done, Unfit, Way, simulate};
use super::{Arith, Bank, Class, Data, Inst, Op, Program, Reg, SHAPES, Special, Src};
use crate::generate::WIDE;
use crate::random::Random;
use crate::run::Case;

/// Blocks of threads: rows, rectangles, boxes, odd sizes and parts of warps.
const BLOCKS: &[[u32; 3]] = &[
    [32, 1, 1],
    [64, 1, 1],
    [1, 1, 1],
    [7, 1, 1],
    [33, 1, 1],
    [40, 1, 1],
    [63, 1, 1],
    [96, 1, 1],
    [100, 1, 1],
    [128, 1, 1],
    [8, 4, 1],
    [8, 8, 1],
    [16, 4, 1],
    [16, 16, 1],
    [5, 7, 1],
    [33, 2, 1],
    [32, 3, 1],
    [4, 4, 4],
    [3, 5, 2],
    [16, 2, 2],
];
const WIDE_BLOCKS: &[[u32; 3]] = &[
    [128, 1, 1],
    [256, 1, 1],
    [512, 1, 1],
    [16, 16, 1],
    [32, 8, 1],
    [64, 3, 1],
    [200, 1, 1],
    [300, 1, 1],
    [16, 32, 1],
];
const GRIDS: &[[u32; 3]] = &[[1, 1, 1], [1, 1, 1], [2, 1, 1], [3, 1, 1], [5, 1, 1], [2, 2, 1], [3, 2, 1]];

/// The program of a seed, and what it does.
pub fn make(seed: u64) -> (Program, Done) {
    let mut r = Random::new(seed);
    loop {
        if let Some(made) = attempt(seed, &mut r) {
            return made;
        }
    }
}

fn attempt(seed: u64, r: &mut Random) -> Option<(Program, Done)> {
    let wide = seed & WIDE != 0 && seed & SHAPES != 0;
    let traits = Traits {
        barriers: r.percent(30),
        warps: r.percent(22),
        counts: r.percent(25),
        path: r.percent(45),
        spaces: r.percent(25),
        homes: r.percent(30),
        walks: r.percent(40),
        long: r.percent(3) && !wide,
        dynamic: r.percent(40),
        recursion: r.percent(30),
        pointers: r.percent(35),
        banks: (0..7).fold(0, |all, bit| all | u8::from(r.percent(35)) << bit),
    };
    let mut block = *r.pick(if wide { WIDE_BLOCKS } else { BLOCKS });
    let mut grid = *r.pick(GRIDS);
    if traits.long {
        (block, grid) = (*r.pick(&[[32, 1, 1], [40, 1, 1], [8, 4, 1]]), [1, 1, 1]);
    }
    let count = if r.percent(35) { 1 + r.below(3) } else { 0 };
    let banks = |r: &mut Random, most: usize| -> Vec<Bank> {
        let of = [Bank::R, Bank::R, Bank::L, Bank::F, Bank::H, Bank::D];
        (0..r.below(most + 1)).map(|_| *r.pick(&of)).collect()
    };
    let mut heads = vec![Head { params: vec![], results: vec![], by_register: false }];
    for n in 1..=count {
        // Those that are alike can be in one table.
        let head = match n > 1 && r.percent(if traits.pointers { 70 } else { 10 }) {
            true => heads[n - 1].clone(),
            _ => Head { params: banks(r, 4), results: banks(r, 2), by_register: r.percent(50) },
        };
        heads.push(head);
    }
    let mut funcs = vec![];
    for number in 0..heads.len() {
        let size = if number == 0 { 3 + r.below(9) } else { 1 + r.below(5) };
        let graph = graph(r, size);
        let traits = if number == 0 { traits } else { Traits { path: false, ..traits } };
        funcs.push(Filler { r, traits, number, heads: &heads }.fill(&graph));
    }
    let limit = r.bits() as u32 % 9;
    let depth = 2 + r.below(4) as u32;
    let p = Program { seed, block, grid, limit, depth, funcs };
    if size(&p, 0) > 300 {
        return None;
    }
    let (p, done) = fit(p, r)?;
    // Most of it is to be run, and by lanes that diverge.
    let blocks: usize = p.funcs.iter().map(|f| f.blocks.len()).sum();
    let dull = done.divergent.is_empty() && r.percent(85) || done.visited.len() * 2 < blocks && r.percent(80);
    (!dull).then_some((p, done))
}

/// Instructions of a function with all that it calls.
fn size(p: &Program, func: usize) -> usize {
    let of = |i: &Inst| match &i.op {
        Op::Call { callee, .. } if !callee.bounded => callee.funcs.iter().map(|f| size(p, *f)).sum(),
        _ => 1,
    };
    p.funcs[func].insts().map(of).sum::<usize>() + p.funcs[func].blocks.len()
}

/// Runs a program on the simulator with the input of its seed.
pub fn outcome(p: &Program) -> Result<Done, Unfit> {
    let (input, memory, _) = Case::launch_of(p).contents();
    simulate(p, &input, &memory)
}

/// Changes a program until it ends and only does what is defined.
fn fit(mut p: Program, r: &mut Random) -> Option<(Program, Done)> {
    for round in 0..80 {
        match outcome(&p) {
            Ok(done) => {
                for (f, b, i) in &done.unaligned {
                    if let Op::Barrier { aligned, .. } = &mut p.funcs[*f].blocks[*b].insts[*i].op {
                        *aligned = false;
                    }
                }
                return Some((p, done));
            }
            Err(Unfit::Endless(ways)) if add_fuel(&mut p, &ways, r, round) => {}
            Err(Unfit::Endless(_)) => return None,
            Err(Unfit::Stuck(sites)) => {
                for (f, b, i) in sites.into_iter().rev() {
                    p.funcs[f].blocks[b].insts.remove(i);
                }
            }
            Err(Unfit::Race((f, b, i)) | Unfit::Wild((f, b, i))) => {
                p.funcs[f].blocks[b].insts.remove(i);
            }
            Err(Unfit::Long) if p.ctas() > 1 => p.grid = [1, 1, 1],
            Err(Unfit::Long) => return None,
        }
    }
    None
}

/// Bounds how often one of the ways is taken that a thread took without end. False if all of them are.
fn add_fuel(p: &mut Program, ways: &[Way], r: &mut Random, round: usize) -> bool {
    let recent = &ways[ways.len() / 2..];
    let bounded = |w: &&Way| p.funcs[w.0].blocks[w.1].term.edges()[w.2].fuel.is_none();
    let open: Vec<Way> = recent.iter().filter(bounded).copied().collect();
    if open.is_empty() {
        // Without end in spite of it: calls, which have fuel of their own each.
        return false;
    }
    let (f, b, way) = *r.pick(&open);
    let func = &mut p.funcs[f];
    let reg = Reg::new(Bank::R, Class::Fuel, r.below(super::MOST));
    let end = func.blocks.len() - 1;
    let otherwise = if round > 8 || r.percent(50) { end } else { r.below(func.blocks.len()) };
    func.blocks[b].term.edges_mut()[way].fuel = Some((reg, otherwise));
    if func.init.iter().any(|i| i.op.writes().contains(&reg)) {
        return true;
    }
    let amount = r.bits() % 5 + 1;
    let ops = match r.below(4) {
        0 => vec![Op::Input(reg, Data::Own)],
        1 => vec![Op::Special(reg, Special::Tid(0))],
        _ => vec![Op::Move(reg, Src::Const(amount))],
    };
    let limited = matches!(ops[0], Op::Move(..));
    func.init.extend(ops.into_iter().map(Inst::from));
    if !limited {
        func.init.push(Op::Arith(Arith::And, reg, Src::Reg(reg), Src::Const(3)).into());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::{Place, Term};
    use super::*;

    /// What the slots of parameters depend on: that the old value is needed on one way out of the block that computes the new one.
    #[test]
    fn old_values_are_needed_where_new_ones_are_computed() {
        let (mut ways, mut back) = (0, 0);
        for seed in SHAPES..SHAPES + 400 {
            let (p, _) = make(seed);
            for f in &p.funcs {
                let targets = |b: usize| f.blocks[b].term.targets();
                for (at, block) in f.blocks.iter().enumerate() {
                    let kept = |r: &Reg| r.class == Class::Varying && (3..6).contains(&r.n);
                    let stores = block
                        .insts
                        .iter()
                        .any(|i| matches!(i.op, Op::Store(Place::Column(_), r) if kept(&r)));
                    if !stores || !matches!(block.term, Term::Goto(_)) {
                        continue;
                    }
                    let froms = (0..f.blocks.len()).filter(|b| targets(*b).contains(&at));
                    let froms: Vec<usize> = froms.filter(|b| targets(*b).len() > 1).collect();
                    ways += froms.len();
                    back += froms.iter().filter(|b| targets(**b).iter().any(|t| t <= b)).count();
                }
            }
        }
        assert!(ways > 200 && back > 40, "{ways} {back}");
    }
}

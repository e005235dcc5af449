//! Dead code elimination: instructions that only define what nobody uses, and sets of variables that nobody gets, a backward mark phase over the whole kernel.
//!
//! Lowering makes constants, addresses and values of all lanes as it goes, and of a value that is folded, or kept once for the group, what it was computed from is left.

use crate::ir::{Inst, Kernel, Op, Reg, Term, Var};

/// The first variables are the printer's, too.
const OWN_VARS: usize = 2;

/// Whether nothing but the result, or the variable, says that an instruction was run.
pub(crate) fn only_defines(op: &Op) -> bool {
    match op {
        Op::Load(access) => !access.volatile,
        Op::Store(_) | Op::Atomic(..) | Op::Ask { .. } | Op::FramePut(_) | Op::Clock(_) => false,
        Op::Test(_) | Op::Check(..) | Op::Fuel { .. } | Op::Order { .. } | Op::Fence(_) => false,
        Op::Status(_) | Op::Park(_) | Op::Arrive(_) | Op::WarpSync(_) | Op::Trap(_) => false,
        Op::Const(_) | Op::Each(_) | Op::Core(_) | Op::Special(_) | Op::SpecialLanes(_) | Op::Param(_) => {
            true
        }
        Op::Splat | Op::Spread(_) | Op::Widen(_) | Op::Origins(_) | Op::Extract | Op::Any | Op::Same => true,
        Op::Ballot | Op::Named | Op::First | Op::Last | Op::AnyBit | Op::Active | Op::FrameGet(_) => true,
        Op::Get(_) | Op::Set(_) | Op::Blend(_) | Op::LaneRead | Op::Permute(_) => true,
    }
}

fn set_by(op: &Op) -> Option<Var> {
    match op {
        Op::Set(var) | Op::Blend(var) => Some(*var),
        _ => None,
    }
}

/// Removes them.
pub(crate) fn remove(k: &mut Kernel) {
    let mut maker: Vec<Option<&Inst>> = vec![None; k.regs.len()];
    let mut setters: Vec<Vec<&Inst>> = vec![vec![]; k.vars.len()];
    let mut work: Vec<&Inst> = vec![];
    let mut used = vec![false; k.regs.len()];
    let mut got = vec![false; k.vars.len()];
    let mut by_terms: Vec<Reg> = vec![];
    for data in &k.blocks {
        for i in &data.insts {
            if let Some(r) = i.result {
                maker[r.0 as usize] = Some(i);
            }
            match set_by(&i.op) {
                Some(var) => setters[var.0 as usize].push(i),
                None if !only_defines(&i.op) => work.push(i),
                None => {}
            }
        }
        match &data.term {
            Term::Branch { condition: r, .. } | Term::Switch(r, _) => by_terms.push(*r),
            _ => {}
        }
    }
    for (var, got) in got.iter_mut().enumerate().take(OWN_VARS) {
        *got = true;
        work.extend(&setters[var]);
    }
    loop {
        let uses = match (work.pop(), by_terms.pop()) {
            (Some(i), r) => {
                by_terms.extend(r);
                if let Op::Get(var) = i.op
                    && !std::mem::replace(&mut got[var.0 as usize], true)
                {
                    work.extend(&setters[var.0 as usize]);
                }
                i.uses()
            }
            (None, Some(r)) => vec![r],
            (None, None) => break,
        };
        for r in uses {
            if !std::mem::replace(&mut used[r.0 as usize], true) {
                work.extend(maker[r.0 as usize]);
            }
        }
    }
    for data in &mut k.blocks {
        data.insts.retain(|i| match set_by(&i.op) {
            Some(var) => got[var.0 as usize],
            None => !only_defines(&i.op) || i.result.is_some_and(|r| used[r.0 as usize]),
        });
    }
}

/// Something that should have been removed.
pub(crate) fn find(k: &Kernel) -> Option<&Inst> {
    let mut used = vec![false; k.regs.len()];
    for data in &k.blocks {
        data.insts.iter().flat_map(Inst::uses).for_each(|r| used[r.0 as usize] = true);
        if let Term::Branch { condition: r, .. } | Term::Switch(r, _) = &data.term {
            used[r.0 as usize] = true;
        }
    }
    let dead = |i: &&Inst| {
        set_by(&i.op).is_none() && only_defines(&i.op) && !i.result.is_some_and(|r| used[r.0 as usize])
    };
    k.blocks.iter().flat_map(|b| &b.insts).find(dead)
}

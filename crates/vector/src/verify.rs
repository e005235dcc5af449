//! Whether a vector kernel is well formed.

use crate::dce;
use crate::ir::{Extent, Inst, Kernel, Label, Op, Reg, Term, Ty};
use hostwarp_ir::Type;

/// Says what is wrong with a kernel: a register that is used where it need not have been defined, or types that do not go together.
pub fn verify(k: &Kernel) -> Result<(), String> {
    let n = k.blocks.len();
    let mut defined = vec![0u32; k.regs.len()];
    for i in k.blocks.iter().flat_map(|b| &b.insts) {
        if let Some(r) = i.result {
            defined[r.0 as usize] += 1;
        }
    }
    if let Some(r) = defined.iter().position(|n| *n > 1) {
        return Err(format!("%{r} is defined twice"));
    }
    // By block: what is defined wherever control comes from.
    let words = k.regs.len().div_ceil(64);
    let mut before: Vec<Option<Vec<u64>>> = vec![None; n];
    let mut work: Vec<Label> = vec![];
    for (_, label) in k.entries.iter().chain(k.general.iter().flat_map(|g| &g.entries)) {
        before[label.0 as usize] = Some(vec![0; words]);
        work.push(*label);
    }
    let flow = |before: &mut Vec<Option<Vec<u64>>>, to: Label, now: &[u64], work: &mut Vec<Label>| {
        let at = &mut before[to.0 as usize];
        let met = match at {
            None => now.to_vec(),
            Some(old) => old.iter().zip(now).map(|(a, b)| a & b).collect(),
        };
        if at.as_ref() != Some(&met) {
            *at = Some(met);
            work.push(to);
        }
    };
    while let Some(label) = work.pop() {
        let mut now = before[label.0 as usize].clone().unwrap_or_default();
        let data = &k.blocks[label.0 as usize];
        for i in &data.insts {
            if let Some(exit) = i.exit() {
                flow(&mut before, exit, &now, &mut work);
            }
            if let Some(Reg(r)) = i.result {
                now[r as usize / 64] |= 1 << (r % 64);
            }
        }
        for to in data.term.targets() {
            flow(&mut before, to, &now, &mut work);
        }
    }
    for (label, data) in k.blocks.iter().enumerate() {
        let Some(mut now) = before[label].clone() else { continue };
        let has = |now: &[u64], Reg(r): Reg| now[r as usize / 64] >> (r % 64) & 1 == 1;
        for i in &data.insts {
            if let Some(r) = i.uses().into_iter().find(|r| !has(&now, *r)) {
                return Err(format!("{}: %{} is used before it is defined", data.name, r.0));
            }
            types(k, i).map_err(|e| format!("{}: {e} in {:?}", data.name, i))?;
            if let Some(Reg(r)) = i.result {
                now[r as usize / 64] |= 1 << (r % 64);
            }
        }
        let by = match data.term {
            Term::Branch { condition, .. } => Some((condition, Ty::narrow(Type::I1))),
            Term::Switch(v, _) => Some((v, Ty::narrow(Type::I32))),
            _ => None,
        };
        if let Some((r, ty)) = by
            && (!has(&now, r) || k.ty(r) != ty)
        {
            return Err(format!("{}: it ends by %{}, which is undefined or of another type", data.name, r.0));
        }
    }
    match dce::find(k) {
        Some(i) => Err(format!("{i:?} is never used")),
        None => Ok(()),
    }
}

fn types(k: &Kernel, i: &Inst) -> Result<(), String> {
    let args: Vec<Ty> = i.args.iter().map(|a| k.ty(*a)).collect();
    let result = i.result.map(|r| k.ty(r));
    let (lanes, one, word) = (Ty::MASK, Ty::narrow(Type::I1), Ty::narrow(Type::I32));
    let want = |is: bool, what: &str| if is { Ok(()) } else { Err(what.to_owned()) };
    match &i.op {
        Op::Core(_) => want(args.iter().all(|a| Some(a.extent) == result.map(|r| r.extent)), "extents mixed"),
        Op::Splat | Op::Spread(_) => want(
            args.len() == 1
                && args[0].extent == Extent::Group
                && result.is_some_and(|r| r.of == args[0].of && r.extent != Extent::Group),
            "one of the group to one of each lane or row",
        ),
        Op::Widen(_) => want(
            args.len() == 1 && result == Some(Ty::wide(args[0].of)) && args[0].extent == Extent::Rows,
            "one of each row to one of each lane",
        ),
        Op::Origins(_) => want(
            args[0].is_wide()
                && result == Some(Ty::rows(args[0].of))
                && args[1..].iter().all(|a| *a == lanes),
            "one of each lane to one of each row",
        ),
        Op::Extract => want(args[0].is_wide() && result == Some(Ty::narrow(args[0].of)), "one of a lane"),
        Op::Any => want(args == [lanes] && result == Some(one), "whether there are lanes"),
        Op::Same => want(args == [lanes, lanes] && result == Some(one), "whether lanes are the same"),
        Op::Ballot => want(args == [lanes] && result == Some(word) && k.width == 32, "the lanes of a warp"),
        Op::Named => want(args == [word] && result == Some(lanes) && k.width == 32, "the lanes of a warp"),
        Op::Active => want(result == Some(lanes), "lanes"),
        Op::First | Op::Last => want(args == [lanes], "lanes"),
        Op::Get(v) => want(result == Some(k.vars[v.0 as usize]), "the variable's type"),
        Op::Set(v) => want(args == [k.vars[v.0 as usize]], "the variable's type"),
        Op::Blend(v) => want(args == [k.vars[v.0 as usize], Ty::MASK], "the variable's type and a mask"),
        Op::Test(_) => want(args == [Ty::narrow(Type::I1)], "a condition"),
        Op::Check(a, _) | Op::Load(a) | Op::Store(a) | Op::Atomic(_, a) | Op::Ask { access: a, .. } => {
            want(a.mask.is_none_or(|m| k.ty(m) == Ty::MASK), "a mask of lanes")
        }
        Op::Park(_) | Op::Trap(_) => want(args == [lanes], "lanes"),
        Op::Arrive(_) => want(args == [lanes, word, word], "lanes and what they name"),
        Op::WarpSync(_) => want(args == [lanes, word], "lanes and whom they name"),
        _ => Ok(()),
    }
}

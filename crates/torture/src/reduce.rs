//! Makes a failing kernel small: delta debugging on its structure.
//!
//! What only makes sense together stays together, so that a smaller kernel is as free of races as the one it came from.

use crate::defined::is_defined;
use crate::program::{Bank, Inst, Kernel, Stmt, What};

/// The smallest kernel found that still fails, and how many were tried. `fails` runs a candidate.
pub fn reduce(kernel: &Kernel, mut fails: impl FnMut(&Kernel) -> bool) -> (Kernel, usize) {
    let mut best = kernel.clone();
    let mut tried = 0;
    let defined = is_defined(kernel);
    let mut attempt = |best: &mut Kernel, candidate: Kernel| {
        // A register without a value is no register to read.
        if candidate == *best || defined && !is_defined(&candidate) {
            return false;
        }
        tried += 1;
        let yes = fails(&candidate);
        if yes {
            *best = candidate;
        }
        yes
    };
    loop {
        let before = best.clone();
        // Large pieces first: halves of the body, then single statements from the end, whose results nobody needs.
        for part in [2, 4] {
            for i in (0..part).rev() {
                let mut k = best.clone();
                let n = k.body.len();
                k.body.drain(n * i / part..n * (i + 1) / part);
                attempt(&mut best, k);
            }
        }
        let mut at = size(&best.body);
        while at > 0 {
            at -= 1;
            for how in [Edit::Remove, Edit::Unwrap, Edit::UnwrapOther, Edit::Unguard] {
                let mut k = best.clone();
                if edit(&mut k.body, &mut at.clone(), how) && attempt(&mut best, k) {
                    at = at.min(size(&best.body));
                    break;
                }
            }
        }
        for i in (0..best.results.len()).rev() {
            let mut k = best.clone();
            k.results.remove(i);
            attempt(&mut best, k);
        }
        for i in (0..best.init.len()).rev() {
            let mut k = best.clone();
            k.init.remove(i);
            attempt(&mut best, k);
        }
        if best.shared_cells > 0 && !best.instructions().iter().any(|i| i.to_string().contains("cells")) {
            let k = Kernel { shared_cells: 0, ..best.clone() };
            attempt(&mut best, k);
        }
        shrink_launch(&mut best, &mut attempt);
        simplify_operands(&mut best, &mut attempt);
        if best == before {
            return (best, tried);
        }
    }
}

#[derive(Clone, Copy)]
enum Edit {
    Remove,
    /// A branch becomes its first way, a loop its body once.
    Unwrap,
    /// A branch becomes its other way.
    UnwrapOther,
    /// Without the guard.
    Unguard,
}

/// Statements, those inside others included; fixed sequences count as one.
fn size(stmts: &[Stmt]) -> usize {
    stmts
        .iter()
        .map(|s| match s {
            Stmt::If { then, otherwise, .. } => 1 + size(then) + size(otherwise),
            Stmt::Switch { ways, .. } => 1 + ways.iter().map(|w| size(w)).sum::<usize>(),
            Stmt::Loop(l) => 1 + size(&l.body),
            _ => 1,
        })
        .sum()
}

/// Edits statement `at`, counted as [`size`] does. False if the edit makes no sense there.
fn edit(stmts: &mut Vec<Stmt>, at: &mut usize, how: Edit) -> bool {
    for i in 0..stmts.len() {
        if *at == 0 {
            let new = match (how, &stmts[i]) {
                (Edit::Remove, _) => vec![],
                // Without masks: those of the place around hold only where all came along.
                (Edit::Unwrap, Stmt::If { mask: None, then, .. }) => then.clone(),
                (Edit::UnwrapOther, Stmt::If { mask: None, otherwise, .. }) => otherwise.clone(),
                (Edit::Unwrap, Stmt::Switch { ways, .. }) => ways.first().cloned().unwrap_or_default(),
                (Edit::UnwrapOther, Stmt::Switch { ways, .. }) => ways.last().cloned().unwrap_or_default(),
                (Edit::Unwrap, Stmt::Loop(l)) if l.masks.is_none() => l.body.clone(),
                (Edit::Unguard, Stmt::Inst(inst)) if inst.guard.is_some() => {
                    vec![Stmt::Inst(Inst { guard: None, ..inst.clone() })]
                }
                _ => return false,
            };
            stmts.splice(i..=i, new);
            return true;
        }
        *at -= 1;
        let found = match &mut stmts[i] {
            Stmt::If { then, otherwise, .. } => {
                let (a, b) = (size(then), size(otherwise));
                if *at < a {
                    return edit(then, at, how);
                }
                *at -= a;
                if *at < b {
                    return edit(otherwise, at, how);
                }
                *at -= b;
                false
            }
            Stmt::Switch { ways, .. } => {
                for way in ways {
                    let n = size(way);
                    if *at < n {
                        return edit(way, at, how);
                    }
                    *at -= n;
                }
                false
            }
            Stmt::Loop(l) => {
                let n = size(&l.body);
                if *at < n {
                    return edit(&mut l.body, at, how);
                }
                *at -= n;
                false
            }
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}

fn shrink_launch(best: &mut Kernel, attempt: &mut impl FnMut(&mut Kernel, Kernel) -> bool) {
    let mut k = best.clone();
    k.shape.grid = [1; 3];
    attempt(best, k);
    let mut k = best.clone();
    k.shape.limit = None;
    attempt(best, k);
    // Accesses and barriers may have the number of threads in them.
    let counts = |i: &&Inst| i.head.starts_with("bar") && i.operands.len() > 1;
    let fixed = best.text().contains("slots") || best.instructions().iter().any(counts);
    for block in [[1, 1, 1], [8, 1, 1], [16, 1, 1], [32, 1, 1], [64, 1, 1]] {
        if block.iter().product::<u32>() < best.shape.threads() && !fixed {
            let mut k = best.clone();
            k.shape.block = block;
            if attempt(best, k) {
                break;
            }
        }
    }
}

/// Sources become constants.
fn simplify_operands(best: &mut Kernel, attempt: &mut impl FnMut(&mut Kernel, Kernel) -> bool) {
    let count = best.instructions().len();
    for n in 0..count {
        let operands = best.instructions().get(n).map_or(0, |i| i.operands.len());
        for o in 0..operands {
            for value in ["0", "1"] {
                let mut k = best.clone();
                if set_constant(&mut k, n, o, value) && attempt(best, k) {
                    break;
                }
            }
        }
    }
}

/// Replaces a general register that instruction `n` reads as operand `o`.
fn set_constant(k: &mut Kernel, n: usize, o: usize, value: &str) -> bool {
    fn walk<'a>(stmts: &'a mut [Stmt], out: &mut Vec<&'a mut Inst>) {
        for s in stmts {
            match s {
                Stmt::Inst(i) => out.push(i),
                Stmt::Group(is) => out.extend(is),
                Stmt::Fixed(stmts) => walk(stmts, out),
                Stmt::If { then, otherwise, .. } => {
                    walk(then, out);
                    walk(otherwise, out);
                }
                Stmt::Switch { ways, .. } => ways.iter_mut().for_each(|w| walk(w, out)),
                Stmt::Loop(l) => {
                    out.extend(&mut l.setup);
                    walk(&mut l.body, out);
                }
                Stmt::Leave { .. } | Stmt::Exit { .. } => {}
            }
        }
    }
    let mut insts = vec![];
    walk(&mut k.init, &mut insts);
    walk(&mut k.body, &mut insts);
    let Some(inst) = insts.into_iter().nth(n) else { return false };
    // The driver's assembler ends the process over the state of an mbarrier that is a constant.
    if inst.head.starts_with("mbarrier.") {
        return false;
    }
    let Some(operand) = inst.operands.get_mut(o) else { return false };
    match operand.what {
        What::Reg(r) if !operand.dest && Bank::GENERAL.contains(&r.0) && operand.selector.is_none() => {
            let text = match r.0 {
                Bank::F => format!("0f{:08x}", value.parse::<f32>().unwrap_or(0.0).to_bits()),
                Bank::D => format!("0d{:016x}", value.parse::<f64>().unwrap_or(0.0).to_bits()),
                _ => value.to_string(),
            };
            operand.what = What::Constant(text, matches!(r.0, Bank::F | Bank::D));
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;

    /// A defect that shows whenever two certain instructions are there comes down to about these two.
    #[test]
    fn what_does_not_matter_goes() {
        let opcodes = |k: &Kernel| -> Vec<String> {
            let all = k.instructions();
            all.iter().filter(|i| i.form.is_some()).map(|i| i.head.clone()).collect()
        };
        let mut seen = 0;
        for seed in 0..40 {
            let kernel = generate(seed);
            let heads = opcodes(&kernel);
            let [first, .., last] = &heads[..] else { continue };
            let fails = |k: &Kernel| opcodes(k).contains(first) && opcodes(k).contains(last);
            let (small, _) = reduce(&kernel, fails);
            assert!(fails(&small), "seed {seed}");
            let left = opcodes(&small);
            assert!(left.len() <= 8 && size(&small.body) <= 10, "seed {seed}: {}", small.text());
            seen += 1;
        }
        assert!(seen > 20);
    }
}

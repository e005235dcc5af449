//! The pass manager: runs [passes](PASSES) over a function, keeps analyses from one to the next, and verifies after each of them in debug builds.
//!
//! A pass is a file here with a `PASS` (name, one line about it, function), an entry in `registry` and filetests in `tests/ir/`. It asks for
//! analyses ([`Analyses`]) and says with [`Changed`] what is left of them. No pass changes a bit of any result, and each takes time that is
//! linear, or n log n, in the size of the function: `cargo xtask growth` is the judge.

pub(crate) mod bit_casts;
pub(crate) mod dce;
pub(crate) mod float_params;
pub mod fold;
pub(crate) mod guards;
pub(crate) mod gvn;
pub(crate) mod halves;
pub(crate) mod if_convert;
pub(crate) mod induction;
pub(crate) mod known_bits;
pub(crate) mod merge;
pub(crate) mod negated;
pub(crate) mod params;
pub(crate) mod promote;
mod registry;
pub(crate) mod sink;
pub(crate) mod unreachable;

pub use registry::{LOWER, PASSES, SIMPLIFY};

use crate::Function;
use crate::analysis::Analyses;

/// What a pass did, in order of how much is left of the analyses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Changed {
    /// Nothing: every analysis still holds.
    Nothing,
    /// Instructions, parameters or arguments: blocks and edges are as they were, so dominators and cycles hold.
    Values,
    /// Blocks or edges: nothing holds.
    Graph,
}

/// A pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// What it is called in `--emit ir:NAME` and in filetests.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Does it.
    pub run: fn(&mut Function, &mut Analyses) -> Changed,
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The pass of that name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}

/// Runs passes in order. `after` sees the function after each of them; when it answers false the rest is left out.
pub fn run(func: &mut Function, passes: &[Pass], mut after: impl FnMut(&Pass, &Function) -> bool) {
    let mut analyses = Analyses::default();
    for pass in passes {
        let changed = (pass.run)(func, &mut analyses);
        analyses.invalidate(changed);
        hostwarp_system::limits::poll_many(func.inst_count());
        #[cfg(debug_assertions)]
        check(func, pass, &analyses);
        if !after(pass, func) {
            return;
        }
    }
}

/// What must hold after every pass.
#[cfg(debug_assertions)]
fn check(func: &Function, pass: &Pass, analyses: &Analyses) {
    if let Err(e) = crate::verify(func) {
        panic!("the pass `{}` made an invalid function: {e}\n{func}", pass.name);
    }
    if let Some(what) = analyses.stale(func) {
        panic!("the pass `{}` left {what} that do not hold\n{func}", pass.name);
    }
}

/// [Simplifies](SIMPLIFY) a function. Value ids of what remains are kept.
pub fn optimize(func: &mut Function) {
    run(func, SIMPLIFY, |_, _| true);
}

/// [Lowers](LOWER) a linked kernel to simplified primitive ops, which is what engines run.
pub fn lower(func: &mut Function) {
    run(func, LOWER, |_, _| true);
}

/// As [`lower`], but stops after the `nth` run (counted from 1) of the pass of that name. The error says what is wrong with name or number.
pub fn lower_up_to(func: &mut Function, name: &str, nth: usize) -> Result<(), String> {
    let runs = LOWER.iter().filter(|p| p.name == name).count();
    if nth == 0 || nth > runs {
        let names: Vec<&str> =
            PASSES.iter().map(|p| p.name).filter(|n| LOWER.iter().any(|p| p.name == *n)).collect();
        return Err(match runs {
            0 => format!("no pass `{name}` is run on kernels; there are {}", names.join(", ")),
            _ => format!("the pass `{name}` is run {runs} times, not {nth}"),
        });
    }
    let mut left = nth;
    run(func, LOWER, |pass, _| {
        left -= usize::from(pass.name == name);
        left > 0
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_what_is_run_is_registered() {
        for (n, p) in PASSES.iter().enumerate() {
            assert!(PASSES[..n].iter().all(|other| other.name != p.name), "{} is there twice", p.name);
        }
        for p in SIMPLIFY.iter().chain(LOWER) {
            assert!(pass(p.name).is_some(), "{} is not registered", p.name);
        }
    }

    #[test]
    fn a_pass_that_is_not_there_is_an_error() {
        let mut func = Function::new("f");
        assert!(lower_up_to(&mut func, "gvn", 1).is_ok());
        assert!(lower_up_to(&mut func, "gvn", 99).unwrap_err().contains("times, not 99"));
        assert!(lower_up_to(&mut func, "frobnicate", 1).unwrap_err().contains("there are"));
    }
}

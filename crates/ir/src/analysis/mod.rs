//! Analyses: computed when somebody asks, kept until a pass says that they no longer hold.

mod cycles;
mod dominators;
mod liveness;
mod uses;

pub use cycles::{Cycle, Cycles};
pub use dominators::{Dominators, dominators, immediate_dominators};
pub use liveness::Liveness;
pub use uses::{Definition, Site, Uses};

use crate::Function;
use crate::passes::Changed;
use std::rc::Rc;

/// What is known of a function while passes are run on it.
#[derive(Default, Debug)]
pub struct Analyses {
    dominators: Option<Rc<Dominators>>,
    cycles: Option<Rc<Cycles>>,
    uses: Option<Rc<Uses>>,
    liveness: Option<Rc<Liveness>>,
}

impl Analyses {
    /// The dominator tree.
    pub fn dominators(&mut self, func: &Function) -> Rc<Dominators> {
        self.dominators.get_or_insert_with(|| Rc::new(Dominators::new(func))).clone()
    }

    /// Cycles and block order.
    pub fn cycles(&mut self, func: &Function) -> Rc<Cycles> {
        self.cycles.get_or_insert_with(|| Rc::new(Cycles::new(func))).clone()
    }

    /// Definitions and uses.
    pub fn uses(&mut self, func: &Function) -> Rc<Uses> {
        self.uses.get_or_insert_with(|| Rc::new(Uses::new(func))).clone()
    }

    /// What is alive where, nothing taken to be rematerialised.
    pub fn liveness(&mut self, func: &Function) -> Rc<Liveness> {
        let cycles = self.cycles(func);
        let none = || vec![false; func.types.len()];
        self.liveness.get_or_insert_with(|| Rc::new(Liveness::new(func, &cycles.order, &none()))).clone()
    }

    /// Forgets what no longer holds.
    pub fn invalidate(&mut self, changed: Changed) {
        if changed >= Changed::Values {
            (self.uses, self.liveness) = (None, None);
        }
        if changed >= Changed::Graph {
            (self.dominators, self.cycles) = (None, None);
        }
    }

    /// What is kept and does not hold, if anything: for checks in debug builds.
    #[cfg(debug_assertions)]
    pub(crate) fn stale(&self, func: &Function) -> Option<&'static str> {
        let wrong = |kept: Option<bool>| kept == Some(false);
        if wrong(self.dominators.as_deref().map(|kept| *kept == Dominators::new(func))) {
            return Some("dominators");
        }
        if wrong(self.cycles.as_deref().map(|kept| *kept == Cycles::new(func))) {
            return Some("cycles");
        }
        if wrong(self.uses.as_deref().map(|kept| *kept == Uses::new(func))) {
            return Some("uses");
        }
        None
    }
}

#[cfg(test)]
mod tests;

//! Replacing values by others.

use crate::*;

/// Which value stands for which: chains are followed, and shortened on the way, so that long ones stay cheap.
pub(crate) struct Subst(Vec<Value>);

impl Subst {
    pub(crate) fn new(func: &Function) -> Subst {
        Subst((0..func.types.len() as u32).map(Value).collect())
    }

    /// Takes in values that are new.
    pub(crate) fn grow(&mut self, func: &Function) {
        self.0.extend((self.0.len() as u32..func.types.len() as u32).map(Value));
    }

    /// From now on `with` stands for `v`; nothing happens if it does already, or the other way round.
    pub(crate) fn set(&mut self, v: Value, with: Value) {
        let (v, with) = (self.find(v), self.find(with));
        self.0[v.index()] = with;
    }

    pub(crate) fn find(&mut self, mut v: Value) -> Value {
        while self.0[v.index()] != v {
            let next = self.0[v.index()];
            self.0[v.index()] = self.0[next.index()];
            v = next;
        }
        v
    }

    /// Replaces all uses.
    pub(crate) fn apply(mut self, func: &mut Function) {
        for b in &mut func.blocks {
            for i in &mut b.insts {
                for v in i.args.iter_mut().chain(&mut i.guard) {
                    *v = self.find(*v);
                }
            }
            b.term.for_each_use_mut(|v| *v = self.find(*v));
        }
    }
}

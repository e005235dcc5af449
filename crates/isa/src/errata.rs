//! Errata: where hardware departs from the manual.
//!
//! Each is one rule in the room of its instructions. The meaning asks [`Cx::departs`] where the profile matters, so that the rule's
//! condition and the code that follows it cannot drift apart; the conformance tests and `docs/errata.md` read the same list.

use crate::matching::Match;
use crate::{Cx, Instance, Profile, Ty};

/// One departure of hardware (here: of the code ptxas makes for it) from the manual.
#[derive(Debug)]
pub struct Erratum {
    /// A short stable name, unique over all rooms.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// What the manual says and what hardware does.
    pub text: &'static str,
    /// The opcodes it concerns.
    pub opcodes: &'static [&'static str],
    /// Which forms of these opcodes it concerns.
    pub applies: fn(&Spelling<'_>) -> bool,
}

impl Erratum {
    /// Whether the rule concerns this instruction.
    pub fn covers(&self, s: &Spelling<'_>) -> bool {
        self.opcodes.contains(&s.m.opcode) && (self.applies)(s)
    }

    /// Whether the rule concerns this concrete form.
    pub fn covers_instance(&self, i: &Instance) -> bool {
        self.opcodes.contains(&i.opcode)
            && i.matched().is_some_and(|m| {
                let mut s = Spelling {
                    selectors: vec![None; m.parsed.operands.len()],
                    negated: vec![false; m.parsed.operands.len()],
                    m: &m,
                };
                for o in &i.operands {
                    (s.selectors[o.slot], s.negated[o.slot]) = (o.selector, o.neg);
                }
                (self.applies)(&s)
            })
    }
}

/// Every erratum there is.
pub fn errata() -> impl Iterator<Item = &'static Erratum> {
    use crate::{float::fma, integer::field, video::scalar, video::vmad};
    [field::ERRATA, fma::ERRATA, scalar::ERRATA, vmad::ERRATA].into_iter().flatten().copied()
}

/// The errata of an opcode.
pub fn errata_of(opcode: &str) -> impl Iterator<Item = &'static Erratum> {
    errata().filter(move |e| e.opcodes.contains(&opcode))
}

/// What stands where in an instruction, without values: what decides whether an [`Erratum`] concerns it.
#[derive(Debug)]
pub struct Spelling<'a> {
    /// Modifiers and operands.
    pub m: &'a Match,
    /// For each operand place its selector, with the dot.
    pub selectors: Vec<Option<&'a str>>,
    /// For each operand place whether it has a minus.
    pub negated: Vec<bool>,
}

impl Spelling<'_> {
    /// Whether the modifier (with its dot) is there.
    pub fn has(&self, modifier: &str) -> bool {
        self.m.has(modifier)
    }

    /// Whether the type in the modifier place `name` is signed; there may be none.
    pub fn signed(&self, name: &str) -> bool {
        self.m.ty(name).is_some_and(Ty::is_signed)
    }

    /// The operand's selector, with the dot.
    pub fn selector(&self, name: &str) -> Option<&str> {
        self.selectors[self.m.slot(name)?]
    }

    /// Whether the operand has a minus.
    pub fn neg(&self, name: &str) -> bool {
        self.m.slot(name).is_some_and(|s| self.negated[s])
    }
}

impl Cx<'_> {
    /// The instruction as [errata](Erratum) see it.
    pub fn spelling(&self) -> Spelling<'_> {
        Spelling { m: self.m, selectors: self.selectors.clone(), negated: self.negated.clone() }
    }

    /// Whether this erratum is to be followed here: hardware's bits are wanted and the rule concerns the instruction.
    pub fn departs(&self, erratum: &Erratum) -> bool {
        self.profile == Profile::Sm90 && erratum.covers(&self.spelling())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find, instances};

    #[test]
    fn every_erratum_has_its_own_id_and_covers_some_but_not_all_forms() {
        let all: Vec<&Erratum> = errata().collect();
        assert!(all.len() <= 20);
        for e in &all {
            assert_eq!(all.iter().filter(|o| o.id == e.id).count(), 1, "{}", e.id);
            let mut all_covered = true;
            for opcode in e.opcodes {
                let (entry, opcode) = find(opcode).unwrap();
                let forms: Vec<Instance> = entry.forms.iter().flat_map(|p| instances(opcode, p, 1)).collect();
                let covered = forms.iter().filter(|i| e.covers_instance(i)).count();
                assert!(0 < covered, "{} {opcode}: none of {}", e.id, forms.len());
                all_covered &= covered == forms.len();
            }
            assert!(!all_covered, "{}", e.id);
        }
    }
}

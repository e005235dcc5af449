//! Loops whose turns are known when code is written: `for (half = 256; half > 0; half /= 2)`, as in a tree.
//!
//! Where part of the lanes run a block of such a loop ([`super::parts`]), how many they are is known in every turn. Written once for each, the block takes
//! as many registers as there are lanes, and there is nothing left to ask. What is written of a turn is what is written of the loop, with more constants;
//! it keeps everything where the loop does, so that it goes on there, or with the interpreter, wherever it has to stop.

use std::collections::HashMap;
use std::ops::Range;

use hostwarp_ir::{Block, Target, Term, Value, fold};

use super::{Emitter, Unsupported, held};

/// Turns of a loop, at most.
const MOST_TURNS: usize = 16;

/// Instructions in all its turns, at most.
const MOST_INSTS: usize = 256;

/// One block in one turn.
pub(super) struct Step {
    block: Block,
    /// What is the same in all lanes and known.
    known: Known,
}

/// A loop that is written turn by turn.
pub(super) struct Turns {
    steps: Vec<Step>,
    /// Where it leads to.
    exit: Block,
    turns: usize,
    /// Whether its rows are [held](super::held), and what was stored before it.
    pub(super) held: Option<held::Plan>,
    pub(super) first: Option<held::Row>,
}

/// What is the same in all lanes and known.
pub(super) type Known = HashMap<Value, u64>;

impl Turns {
    pub(super) fn steps(&self) -> impl Iterator<Item = (Block, &Known)> {
        self.steps.iter().map(|step| (step.block, &step.known))
    }

    /// Blocks that part of the lanes run.
    pub(super) fn parts(&self, emitter: &Emitter<'_>) -> Vec<Block> {
        self.steps
            .iter()
            .filter_map(|step| emitter.parts[step.block.index()])
            .map(|part| part.block)
            .collect()
    }

    pub(super) fn contains(&self, b: Block) -> bool {
        self.steps.iter().any(|step| step.block == b)
    }
}

impl Emitter<'_> {
    /// By header, the loops that are written turn by turn: those that a group enters in one place, with constants, and that parts of the lanes run blocks of.
    pub(super) fn find_turns(&self) -> HashMap<Block, Turns> {
        let mut found = HashMap::new();
        if self.assume.cta.is_none() {
            return found;
        }
        for l in &self.plan.loops {
            let parts = l.blocks.iter().any(|b| self.parts[b.index()].is_some());
            let in_step = self.func.block(l.header).params.iter().any(|p| self.in_step.contains_key(p));
            if !parts || in_step || !l.single_entry {
                continue;
            }
            let outside = self.plan.order.iter().filter(|b| !l.blocks.contains(b));
            let edges = outside.flat_map(|b| self.func.block(*b).term.targets().into_iter().map(|t| (*b, t)));
            let entries: Vec<(Block, &Target)> = edges.filter(|(_, t)| t.block == l.header).collect();
            if let [(from, entry)] = entries[..]
                && let Some(mut turns) = self.follow(entry, |b| l.blocks.contains(&b))
            {
                turns.held = self.find_held(from, &turns);
                found.insert(l.header, turns);
            }
        }
        found
    }

    /// Goes through a loop from an edge that leads into it until one leads out of it. None where which way it goes is not known.
    fn follow(&self, entry: &Target, inside: impl Fn(Block) -> bool) -> Option<Turns> {
        let (mut known, mut steps) = (HashMap::new(), vec![]);
        let (mut to, mut insts, mut turns) = (entry.clone(), 0, 0);
        while inside(to.block) {
            let data = self.func.block(to.block);
            turns += usize::from(to.block == entry.block);
            insts += data.insts.len();
            if turns > MOST_TURNS || insts > MOST_INSTS {
                return None;
            }
            let value =
                |known: &HashMap<Value, u64>, v: &Value| self.constant(*v).or_else(|| known.get(v).copied());
            let handed: Vec<Option<u64>> = to.args.iter().map(|a| value(&known, a)).collect();
            let learn = |known: &mut HashMap<Value, u64>, v: Value, is: Option<u64>| match is {
                Some(is) => known.insert(v, is),
                None => known.remove(&v),
            };
            for (p, is) in data.params.iter().zip(handed) {
                learn(&mut known, *p, is);
            }
            for i in &data.insts {
                let Some(r) = i.result else { continue };
                let scalar = i.args.iter().chain([&r]).all(|v| self.ty(*v).count == 1);
                let args: Option<Vec<u64>> = i.args.iter().map(|a| value(&known, a)).collect();
                let args = args.filter(|a| scalar && !a.is_empty() && i.guard.is_none());
                let is = args.and_then(|a| fold::evaluate(i.op, self.ty(i.args[0]), self.ty(r), &a));
                learn(&mut known, r, is);
            }
            let next = match &data.term {
                _ if let Some(part) = self.parts[to.block.index()] => {
                    Target { block: part.next, args: Default::default() }
                }
                Term::Jump(next) => next.clone(),
                Term::Branch(c, yes, no) => match value(&known, c)? {
                    0 => no.clone(),
                    _ => yes.clone(),
                },
                term @ Term::Barrier { next, .. } if self.is_free_barrier(term) => next.clone(),
                _ => return None,
            };
            steps.push(Step { block: to.block, known: known.clone() });
            to = next;
        }
        Some(Turns { steps, exit: to.block, turns, held: None, first: None })
    }

    /// Writes all turns of a loop.
    pub(super) fn write_turns(&mut self, header: Block, turns: &Turns) -> Result<(), Unsupported> {
        self.holding = turns.first.clone().map(|row| vec![row]);
        let label = |n: usize| format!("u{}.{n}", header.0);
        for (n, step) in turns.steps.iter().enumerate() {
            let last = n + 1 == turns.steps.len();
            let next = if last { format!("u{}", turns.exit.0) } else { label(n + 1) };
            self.turn = Some(Turn {
                label: label(n),
                next,
                known: step.known.clone(),
                ends: last.then(|| Ends {
                    header,
                    turns: turns.turns,
                    read: turns.held.as_ref().map_or_else(Vec::new, |plan| plan.read.clone()),
                }),
            });
            let begin = self.t.body.len();
            self.block(step.block, super::control::Version::Whole)?;
            let stops = self.t.goes_to(&format!("c{}", step.block.0), begin)
                || self.t.body[begin..].contains(".fails:");
            if self.holding.is_some() && stops {
                return Err(Unsupported("a loop whose rows are held and that may stop".into()));
            }
        }
        (self.turn, self.holding) = (None, None);
        Ok(())
    }
}

/// Where the turn is that is being written.
pub(super) struct Turn {
    /// Of the block.
    pub(super) label: String,
    /// Where it leads to.
    pub(super) next: String,
    pub(super) known: Known,
    /// With the last block.
    pub(super) ends: Option<Ends>,
}

/// What there is to do at the end of a loop.
#[derive(Clone)]
pub(super) struct Ends {
    pub(super) header: Block,
    /// As many have been made.
    pub(super) turns: usize,
    /// What others read of [what is held](super::held).
    pub(super) read: Vec<Range<u64>>,
}

//! Control flow graphs: blocks with ways out of them, and nothing in them yet.
//!
//! Half are any graph: each block goes to any others. Half begin as loops, branches and switches inside each other, with jumps out of
//! several of them, and several latches and exits; of these half get some edges bent, so that loops have two entries.

use crate::random::Random;

/// How a block ends, before there are conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ways {
    /// One way.
    Goto(usize),
    /// Two ways; the flag says that it is a loop's, left by a count.
    If(usize, usize, bool),
    /// Several.
    Switch(Vec<usize>),
    /// The end; of the thread if set, and not of the function only.
    Leave(bool),
}

impl Ways {
    fn targets(&mut self) -> Vec<&mut usize> {
        match self {
            Ways::Goto(a) => vec![a],
            Ways::If(a, b, _) => vec![a, b],
            Ways::Switch(all) => all.iter_mut().collect(),
            Ways::Leave(_) => vec![],
        }
    }
}

/// A graph of about so many blocks, beginning with the first; the last one leaves.
pub fn graph(r: &mut Random, size: usize) -> Vec<Ways> {
    if r.percent(45) {
        return any(r, size.max(2));
    }
    let mut b =
        Builder { r, blocks: vec![Ways::Leave(false)], left: size as i32, loops: vec![], joins: vec![] };
    let last = b.sequence(0, 0);
    let mut blocks = b.blocks;
    let end = blocks.len();
    blocks.push(Ways::Leave(false));
    blocks[last] = Ways::Goto(end);
    // What was to be left at once goes there: how they leave is one thing, and where another.
    if r.percent(50) {
        for _ in 0..1 + r.below(3) {
            let from = r.below(end);
            let to = r.below(blocks.len());
            let mut targets = blocks[from].targets();
            let n = targets.len();
            if n > 0 {
                *targets.swap_remove(r.below(n)) = to;
            }
        }
    }
    blocks
}

fn any(r: &mut Random, size: usize) -> Vec<Ways> {
    let end = size - 1;
    // Where edges go back to: mostly to where others do.
    let mut head = r.below(size);
    let mut blocks: Vec<Ways> = (0..end)
        .map(|n| {
            let mut to = |r: &mut Random| match r.weighted(&[50, 22, 14, 14]) {
                0 => n + 1,
                1 => n + 1 + r.below(end - n),
                2 if head <= n => head,
                _ => {
                    head = r.below(size);
                    head
                }
            };
            match r.weighted(&[25, 60, 12, 3]) {
                0 => Ways::Goto(to(r)),
                1 => {
                    let (a, b) = (to(r), to(r));
                    Ways::If(a, b, (a <= n || b <= n) && r.percent(70))
                }
                2 => Ways::Switch((0..2 + r.below(4)).map(|_| to(r)).collect()),
                _ => Ways::Leave(r.percent(50)),
            }
        })
        .collect();
    blocks.push(Ways::Leave(false));
    blocks
}

struct Builder<'a> {
    r: &'a mut Random,
    blocks: Vec<Ways>,
    left: i32,
    /// Around here: head, where the next iteration begins, what follows.
    loops: Vec<[usize; 3]>,
    /// Where branches around here meet again.
    joins: Vec<usize>,
}

impl Builder<'_> {
    fn block(&mut self) -> usize {
        self.left -= 1;
        self.blocks.push(Ways::Leave(false));
        self.blocks.len() - 1
    }

    /// Statements from block `at` on; the block where they end.
    fn sequence(&mut self, at: usize, depth: usize) -> usize {
        let mut at = at;
        let count = 1 + self.r.below(3);
        for _ in 0..count {
            if self.left <= 0 {
                break;
            }
            let deep = usize::from(depth < 4);
            let inside = usize::from(!self.loops.is_empty());
            at = match self.r.weighted(&[30 * deep, 34 * deep, 10 * deep, 40 * inside, 8, 5]) {
                0 => self.branch(at, depth),
                1 => self.looped(at, depth),
                2 => self.switch(at, depth),
                3 => self.jump(at),
                4 => {
                    let (end, next) = (self.block(), self.block());
                    self.blocks[end] = Ways::Leave(self.r.percent(50));
                    self.blocks[at] = Ways::If(end, next, false);
                    next
                }
                _ => {
                    // A goto past what encloses it.
                    let next = self.block();
                    let to = match self.joins.is_empty() {
                        true => next,
                        false => *self.r.pick(&self.joins),
                    };
                    self.blocks[at] = Ways::If(to, next, false);
                    next
                }
            };
        }
        at
    }

    fn branch(&mut self, at: usize, depth: usize) -> usize {
        let (yes, join) = (self.block(), self.block());
        self.joins.push(join);
        let no = if self.r.percent(50) { self.block() } else { join };
        self.blocks[at] =
            if self.r.percent(50) { Ways::If(yes, no, false) } else { Ways::If(no, yes, false) };
        let end = self.sequence(yes, depth + 1);
        self.blocks[end] = Ways::Goto(join);
        if no != join {
            let end = self.sequence(no, depth + 1);
            self.blocks[end] = Ways::Goto(join);
        }
        self.joins.pop();
        join
    }

    fn looped(&mut self, at: usize, depth: usize) -> usize {
        let (head, body) = (self.block(), self.block());
        // A step of its own, or several latches.
        let step = if self.r.percent(50) { self.block() } else { head };
        let exit = self.block();
        self.blocks[at] = Ways::Goto(head);
        let at_head = self.r.percent(60);
        self.blocks[head] = if at_head { Ways::If(body, exit, true) } else { Ways::Goto(body) };
        self.loops.push([head, step, exit]);
        self.joins.push(exit);
        let end = self.sequence(body, depth + 1);
        self.joins.pop();
        self.loops.pop();
        let bottom = !at_head || self.r.percent(25);
        match (step == head, bottom) {
            (true, true) => self.blocks[end] = Ways::If(head, exit, true),
            (true, false) => self.blocks[end] = Ways::Goto(head),
            (false, bottom) => {
                self.blocks[end] = Ways::Goto(step);
                self.blocks[step] = if bottom { Ways::If(head, exit, true) } else { Ways::Goto(head) };
            }
        }
        exit
    }

    fn switch(&mut self, at: usize, depth: usize) -> usize {
        let ways: Vec<usize> = (0..2 + self.r.below(3)).map(|_| self.block()).collect();
        let join = self.block();
        self.joins.push(join);
        let mut targets = ways.clone();
        if self.r.percent(40) {
            targets.push(join);
        }
        if self.r.percent(40) {
            targets.push(*self.r.pick(&ways));
        }
        self.blocks[at] = Ways::Switch(targets);
        for (i, way) in ways.iter().enumerate() {
            let end = self.sequence(*way, depth + 2);
            let falls = self.r.percent(30);
            self.blocks[end] = Ways::Goto(ways.get(i + 1).copied().filter(|_| falls).unwrap_or(join));
        }
        self.joins.pop();
        join
    }

    /// Leaves a loop around here, or goes on with its next iteration, if something holds.
    fn jump(&mut self, at: usize) -> usize {
        let n = self.loops.len();
        // Mostly the innermost.
        let which = if self.r.percent(65) { n - 1 } else { self.r.below(n) };
        let [head, step, exit] = self.loops[which];
        let to = match self.r.weighted(&[36, 34, 30]) {
            0 => exit,
            1 => step,
            _ => head,
        };
        let next = self.block();
        self.blocks[at] =
            if self.r.percent(50) { Ways::If(to, next, false) } else { Ways::If(next, to, false) };
        next
    }
}

/// Whether some cycle of the graph can be entered at two places, and how many latches and exits its loops have at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kind {
    /// A cycle has two entries.
    pub irreducible: bool,
    /// The most edges back to one block.
    pub latches: usize,
    /// The most blocks that leave one cycle.
    pub exits: usize,
    /// Cycles inside each other, at most.
    pub depth: usize,
}

/// Looks at the cycles of a graph, given by the targets of each block.
pub fn kind(targets: &[Vec<usize>]) -> Kind {
    let mut kind = Kind::default();
    let mut reached = vec![false; targets.len()];
    let mut work = vec![0];
    while let Some(b) = work.pop() {
        if !std::mem::replace(&mut reached[b], true) {
            work.extend(&targets[b]);
        }
    }
    cycles(targets, &reached, 1, &mut kind);
    kind
}

/// Cycles among the blocks `inside`: strongly connected sets, then those that are left without their entries.
fn cycles(targets: &[Vec<usize>], inside: &[bool], depth: usize, kind: &mut Kind) {
    let n = targets.len();
    let reach = |from: usize| {
        let (mut seen, mut work) = (vec![false; n], vec![from]);
        while let Some(b) = work.pop() {
            for t in targets[b].iter().filter(|t| inside[**t]) {
                if !std::mem::replace(&mut seen[*t], true) {
                    work.push(*t);
                }
            }
        }
        seen
    };
    let reaches: Vec<Vec<bool>> = (0..n).map(|b| if inside[b] { reach(b) } else { vec![false; n] }).collect();
    let mut done = vec![false; n];
    for b in 0..n {
        if done[b] || !reaches[b][b] {
            continue;
        }
        let set: Vec<bool> = (0..n).map(|c| reaches[b][c] && reaches[c][b]).collect();
        (0..n).filter(|c| set[*c]).for_each(|c| done[c] = true);
        let from_outside = |c: usize| c == 0 || (0..n).any(|o| !set[o] && targets[o].contains(&c));
        let entries: Vec<usize> = (0..n).filter(|c| set[*c] && from_outside(*c)).collect();
        let head = entries.first().copied().unwrap_or(b);
        kind.irreducible |= entries.len() > 1;
        kind.depth = kind.depth.max(depth);
        let leaves = |c: &usize| set[*c] && targets[*c].iter().any(|t| !set[*t]);
        kind.exits = kind.exits.max((0..n).filter(leaves).count());
        kind.latches = kind.latches.max((0..n).filter(|c| set[*c] && targets[*c].contains(&head)).count());
        let mut rest = set;
        rest[head] = false;
        cycles(targets, &rest, depth + 1, kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_graph_is_seen() {
        // Two entries; a loop with two latches and two exits; one inside another.
        let crossing = [vec![1, 2], vec![2], vec![1, 3], vec![]];
        assert_eq!(kind(&crossing), Kind { irreducible: true, latches: 1, exits: 1, depth: 1 });
        let latches = [vec![1], vec![1, 2, 3], vec![1, 3], vec![]];
        assert_eq!(kind(&latches), Kind { irreducible: false, latches: 2, exits: 2, depth: 1 });
        let nested = [vec![1], vec![2], vec![2, 3], vec![1, 4], vec![]];
        assert_eq!(kind(&nested), Kind { irreducible: false, latches: 1, exits: 1, depth: 2 });
    }

    #[test]
    fn graphs_are_of_all_kinds() {
        let mut r = Random::new(1);
        let kinds: Vec<Kind> = (0..400)
            .map(|_| {
                let mut g = graph(&mut r, 10);
                let targets: Vec<Vec<usize>> =
                    g.iter_mut().map(|w| w.targets().into_iter().map(|t| *t).collect()).collect();
                kind(&targets)
            })
            .collect();
        let count = |f: fn(&Kind) -> bool| kinds.iter().filter(|k| f(k)).count();
        assert!(count(|k| k.irreducible) > 40, "{}", count(|k| k.irreducible));
        assert!(count(|k| k.depth > 0 && !k.irreducible) > 80);
        assert!(count(|k| k.latches > 1) > 80);
        assert!(count(|k| k.exits > 1) > 80);
        assert!(count(|k| k.depth > 1) > 80);
    }
}

//! Liveness.

use crate::Shape;
use hostwarp_ir::{Block, BlockData, Function, Value};

/// What is alive at the start of each block (parameters included) and at its end, in ascending order.
pub(crate) struct Liveness {
    pub(crate) live_in: Vec<Vec<Value>>,
    pub(crate) live_out: Vec<Vec<Value>>,
}

impl Liveness {
    /// Goes from every use against the edges up to the definition. That takes as long as the answer is large, however
    /// many blocks there are that a value is not alive in.
    pub(crate) fn new(func: &Function, order: &[Block], remat: &[bool]) -> Liveness {
        let n = func.blocks.len();
        let mut sources: Vec<Vec<usize>> = vec![vec![]; n];
        let mut home = vec![usize::MAX; func.types.len()];
        let mut is_param = vec![false; func.types.len()];
        let mut used_in: Vec<(Value, usize)> = vec![];
        for b in order.iter().map(|b| b.index()) {
            let data = &func.blocks[b];
            for p in &data.params {
                home[p.index()] = b;
                is_param[p.index()] = true;
            }
            for r in data.insts.iter().filter_map(|i| i.result) {
                home[r.index()] = b;
            }
            // `order` is a reverse post-order: what a block uses was defined in a block before it, or in itself.
            for_each_use(data, |v| {
                if home[v.index()] != b && !remat[v.index()] {
                    used_in.push((v, b));
                }
            });
            for t in data.term.targets() {
                let list = &mut sources[t.block.index()];
                if list.last() != Some(&b) {
                    list.push(b);
                }
            }
        }
        used_in.sort_unstable();
        let mut live = Liveness { live_in: vec![vec![]; n], live_out: vec![vec![]; n] };
        let mut uses = used_in.into_iter().peekable();
        let mut work: Vec<usize> = vec![];
        // By value, so that every list ends with the value at hand if it is in there at all.
        for v in (0..func.types.len() as u32).map(Value) {
            let home = home[v.index()];
            if is_param[v.index()] {
                live.live_in[home].push(v);
            }
            while let Some((_, b)) = uses.next_if(|(used, _)| *used == v) {
                work.push(b);
            }
            while let Some(b) = work.pop() {
                hostwarp_system::poll();
                if live.live_in[b].last() == Some(&v) {
                    continue;
                }
                live.live_in[b].push(v);
                for &from in &sources[b] {
                    if live.live_out[from].last() != Some(&v) {
                        live.live_out[from].push(v);
                    }
                    if from != home {
                        work.push(from);
                    }
                }
            }
        }
        live
    }

    /// Whether a value is alive at the end of a block.
    pub(crate) fn is_live_out(&self, b: Block, v: Value) -> bool {
        self.live_out[b.index()].binary_search(&v).is_ok()
    }

    /// The most words of varying values alive at one point.
    pub(crate) fn pressure(&self, func: &Function, order: &[Block], shape: &[Shape]) -> u32 {
        let words = |v: Value| match shape[v.index()] {
            Shape::Varying => func.ty(v).bytes().div_ceil(4) as u32,
            _ => 0,
        };
        let mut most = 0;
        // Alive at the point at hand of this block, or of none.
        let mut alive = vec![u32::MAX; func.types.len()];
        for b in order {
            let data = func.block(*b);
            let mut now = 0;
            for v in &self.live_out[b.index()] {
                alive[v.index()] = b.0;
                now += words(*v);
            }
            let mut add = |v: Value, alive: &mut [u32], now: &mut u32| {
                if alive[v.index()] != b.0 {
                    alive[v.index()] = b.0;
                    *now += words(v);
                }
                most = most.max(*now);
            };
            for v in data.term.uses() {
                add(v, &mut alive, &mut now);
            }
            for a in data.term.targets().iter().flat_map(|t| &t.args) {
                add(*a, &mut alive, &mut now);
            }
            for i in data.insts.iter().rev() {
                if let Some(r) = i.result.filter(|r| alive[r.index()] == b.0) {
                    alive[r.index()] = u32::MAX;
                    now -= words(r);
                }
                for a in i.args.iter().chain(&i.guard) {
                    add(*a, &mut alive, &mut now);
                }
            }
        }
        most
    }
}

fn for_each_use(data: &BlockData, mut f: impl FnMut(Value)) {
    data.term.uses().into_iter().for_each(&mut f);
    data.term.targets().iter().flat_map(|t| &t.args).copied().for_each(&mut f);
    data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard)).copied().for_each(&mut f);
}

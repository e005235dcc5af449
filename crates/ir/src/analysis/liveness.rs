//! Liveness: what each block needs from those before it, by walking from uses up to definitions (Boissinot et al. 2011, section 4).

use crate::{Block, BlockData, Function, Value};

/// What is alive at the start of each block (parameters included) and at its end, in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// At the start, parameters included.
    pub live_in: Vec<Vec<Value>>,
    /// At the end.
    pub live_out: Vec<Vec<Value>>,
}

impl Liveness {
    /// `order` is a reverse post-order, `remat` says which values need not be kept, for they are rematerialised.
    ///
    /// Goes from every use against the edges up to the definition. That takes as long as the answer is large, however
    /// many blocks there are that a value is not alive in.
    pub fn new(func: &Function, order: &[Block], remat: &[bool]) -> Liveness {
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
            for r in data.insts.iter().filter_map(|i| i.result).chain(data.term.results().iter().copied()) {
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

    /// Whether a value is alive at the start of a block.
    pub fn is_live_in(&self, b: Block, v: Value) -> bool {
        self.live_in[b.index()].binary_search(&v).is_ok()
    }

    /// Whether a value is alive at the end of a block.
    pub fn is_live_out(&self, b: Block, v: Value) -> bool {
        self.live_out[b.index()].binary_search(&v).is_ok()
    }
}

fn for_each_use(data: &BlockData, mut f: impl FnMut(Value)) {
    data.term.uses().into_iter().for_each(&mut f);
    data.term.targets().iter().flat_map(|t| &t.args).copied().for_each(&mut f);
    data.insts.iter().flat_map(|i| i.args.iter().chain(&i.guard)).copied().for_each(&mut f);
}

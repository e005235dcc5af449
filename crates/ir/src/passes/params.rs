//! Removal of trivial block parameters (phis): those that are only ever handed one value, or themselves (Braun et al. 2013, section 3.1).

use super::{Changed, Pass};
use crate::subst::Subst;
use crate::*;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "trivial-params",
    about: "remove block parameters that only ever get one value",
    run: |func, _| {
        remove_trivial_params(func);
        Changed::Values
    },
};

/// Removes parameters that only ever get one value (or themselves).
///
/// Each parameter watches two different values it is handed; it is looked at again only when one of them turns out to be another one, and then goes on in its
/// list where it stopped. So every argument is looked at about once, however long the chains are.
pub(crate) fn remove_trivial_params(func: &mut Function) {
    const NONE: u32 = u32::MAX;
    struct Param {
        value: Value,
        /// Its arguments in the table of all, as far as they have not been looked at.
        next: u32,
        end: u32,
        watched: [Option<Value>; 2],
        trivial: bool,
    }
    let firsts: Vec<u32> = func
        .blocks
        .iter()
        .scan(0, |sum, b| {
            *sum += b.params.len() as u32;
            Some(*sum - b.params.len() as u32)
        })
        .collect();
    let of_block = |to: Block, i: usize| firsts[to.index()] as usize + i;
    let mut params: Vec<Param> = (func.blocks.iter().flat_map(|b| &b.params))
        .map(|p| Param { value: *p, next: 0, end: 0, watched: [None; 2], trivial: false })
        .collect();
    if params.is_empty() {
        return;
    }
    // `end` counts at first.
    for t in func.blocks.iter().flat_map(|b| b.term.targets()) {
        (0..t.args.len()).for_each(|i| params[of_block(t.block, i)].end += 1);
    }
    let mut total = 0;
    for p in &mut params {
        total += p.end;
        (p.next, p.end) = (total - p.end, total - p.end);
    }
    let mut args = vec![Value(0); total as usize];
    for t in func.blocks.iter().flat_map(|b| b.term.targets()) {
        for (i, a) in t.args.iter().enumerate() {
            let p = &mut params[of_block(t.block, i)];
            args[p.end as usize] = *a;
            p.end += 1;
        }
    }
    let mut subst = Subst::new(func);
    // Who watches a parameter. Only those can turn out to be something else.
    let mut number = vec![NONE; func.types.len()];
    for (n, p) in params.iter().enumerate() {
        number[p.value.index()] = n as u32;
    }
    let mut watchers: Vec<Vec<u32>> = vec![vec![]; params.len()];
    let mut work: Vec<u32> = (0..params.len() as u32).rev().collect();
    let mut any = false;
    while let Some(n) = work.pop() {
        let p = &mut params[n as usize];
        if p.trivial {
            continue;
        }
        let before = p.watched;
        let [a, b] = before.map(|w| w.map(|w| subst.find(w)).filter(|w| *w != p.value));
        p.watched = if a.is_none() || a == b { [a.or(b), None] } else { [a, b] };
        while p.watched[1].is_none() && p.next < p.end {
            let arg = subst.find(args[p.next as usize]);
            p.next += 1;
            if arg != p.value && p.watched[0] != Some(arg) {
                let free = usize::from(p.watched[0].is_some());
                p.watched[free] = Some(arg);
            }
        }
        match p.watched {
            [Some(only), None] => {
                p.trivial = true;
                any = true;
                subst.set(p.value, only);
                work.append(&mut watchers[n as usize]);
            }
            watched => {
                for w in watched.into_iter().flatten().filter(|w| !before.contains(&Some(*w))) {
                    if let Some(list) = watchers.get_mut(number[w.index()] as usize) {
                        list.push(n);
                    }
                }
            }
        }
    }
    if any {
        let mut marks = params.iter().map(|p| p.trivial);
        let mut take = |b: &BlockData| marks.by_ref().take(b.params.len()).collect();
        let drop: Vec<Vec<bool>> = func.blocks.iter().map(&mut take).collect();
        drop_params(func, &drop);
        subst.apply(func);
    }
}

/// Drops the marked parameters and the arguments handed to them.
pub(crate) fn drop_params(func: &mut Function, drop: &[Vec<bool>]) {
    for b in 0..func.blocks.len() {
        let mut i = 0;
        func.blocks[b].params.retain(|_| {
            i += 1;
            !drop[b][i - 1]
        });
        for t in func.blocks[b].term.targets_mut() {
            let mut i = 0;
            t.args.retain(|_| {
                i += 1;
                !drop[t.block.index()][i - 1]
            });
        }
    }
}

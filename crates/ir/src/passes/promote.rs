//! Promotion of slots in local memory to values (`mem2reg`, with the pieces of a slot told apart as in `sroa`).
//!
//! A slot is promoted if its address is only used to load and store, weakly, at constant offsets inside it, through the local window or a generic address made from it
//! (`cvta`). Accesses that overlap make a part of it (the depot of code compiled with -G holds all variables of a function); a part is cut into
//! cells, the units that its accesses consist of; each cell becomes a variable, and [`Builder`] makes SSA of those. Local memory begins as zeros, and
//! so do variables. Run to a fixed point: an address that was kept in a promoted variable is known afterwards.
//!
//! Not done: slots with a variable index, slots whose address is handed to somebody. PTX does not say where a variable of a depot ends, so one such
//! use keeps all of the depot in memory.

use super::{Changed, Pass};
use crate::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The pass; linking runs it, when slots have no addresses yet.
pub(crate) const PASS: Pass = Pass {
    name: "promote",
    about: "make values of slots in local memory (mem2reg, sroa)",
    run: |func, _| if promote(func) { Changed::Graph } else { Changed::Nothing },
};

/// Cells in a function, at most, and cells times blocks: SSA construction may look at every block for each.
const MOST_CELLS: u64 = 1024;
const MOST_WORK: u64 = 1 << 22;

/// A slot's address plus an offset.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pointer {
    slot: u32,
    offset: i64,
    generic: bool,
}

/// Bytes of a slot that accesses overlap in: the parts of a slot are disjoint and in order.
#[derive(Clone, Debug)]
struct Part {
    /// From this byte.
    start: u64,
    /// Up to this one.
    end: u64,
    /// Bytes in a cell.
    unit: u64,
    /// The most bytes one access has.
    widest: u64,
    /// Becomes values.
    fits: bool,
}

/// Rounds of promotion, each of which may make more addresses known.
const ROUNDS: usize = 4;

/// Makes values of slots where that is possible; whether there were any.
pub(crate) fn promote(func: &mut Function) -> bool {
    let mut changed = false;
    for _ in 0..ROUNDS {
        if func.slots.is_empty() {
            break;
        }
        let pointers = pointers(func);
        let mut parts = parts(func, &pointers);
        let mut cells = 0;
        let blocks = func.blocks.len() as u64;
        for part in parts.iter_mut().flatten() {
            let count = (part.end - part.start).div_ceil(part.unit);
            // An access has at most eight cells.
            part.fits = part.widest / part.unit <= 8
                && cells + count <= MOST_CELLS
                && (cells + count) * blocks <= MOST_WORK;
            cells += if part.fits { count } else { 0 };
        }
        if !parts.iter().flatten().any(|p| p.fits) {
            break;
        }
        rewrite(func, &pointers, &parts);
        changed = true;
    }
    changed
}

/// The part that an access is in.
fn part_of(parts: &[Vec<Part>], p: Pointer) -> Option<&Part> {
    let parts = &parts[p.slot as usize];
    let n = parts.partition_point(|part| part.start as i64 <= p.offset);
    parts.get(n.checked_sub(1)?).filter(|part| p.offset < part.end as i64)
}

/// Which values are addresses in which slot. Block parameters are not followed.
fn pointers(func: &Function) -> FxHashMap<Value, Pointer> {
    let mut constants: FxHashMap<Value, u64> = FxHashMap::default();
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let (Op::Const(bits), Some(r)) = (i.op, i.result) {
            constants.insert(r, bits);
        }
    }
    let mut found: FxHashMap<Value, Pointer> = FxHashMap::default();
    // A definition comes before its uses in this order.
    for &b in analysis::Dominators::new(func).preorder() {
        for i in &func.block(b).insts {
            let Some(r) = i.result else { continue };
            let ty = func.ty(r);
            let pointer = match (i.op, &i.args[..]) {
                (Op::Address(Symbol::Slot(slot)), _) => Some(Pointer { slot, offset: 0, generic: false }),
                (Op::Zext, [a]) => {
                    found.get(a).copied().filter(|p| ty == Type::I64 && !p.generic && p.offset >= 0)
                }
                (Op::Int(IntBin::Add), [a, b]) => {
                    let sum = match (found.get(a), found.get(b)) {
                        (Some(p), None) => constants.get(b).map(|n| (*p, *n)),
                        (None, Some(p)) => constants.get(a).map(|n| (*p, *n)),
                        _ => None,
                    };
                    sum.and_then(|(p, n)| moved(p, n, ty))
                }
                (Op::Int(IntBin::Sub), [a, b]) => match (found.get(a), constants.get(b)) {
                    (Some(p), Some(n)) => moved(*p, n.wrapping_neg() & ty.elem.mask(), ty),
                    _ => None,
                },
                _ => None,
            };
            if let Some(p) = pointer {
                found.insert(r, p);
            }
        }
    }
    found
}

/// A pointer plus a constant of type `ty`.
fn moved(p: Pointer, n: u64, ty: Type) -> Option<Pointer> {
    let window = Space::Local.window();
    match ty {
        Type::I64 if !p.generic && n == window => Some(Pointer { generic: true, ..p }),
        Type::I64 if p.generic && n == window.wrapping_neg() => Some(Pointer { generic: false, ..p }),
        Type::I64 => Some(Pointer { offset: p.offset.checked_add(n as i64)?, ..p }),
        Type::I32 => Some(Pointer { offset: p.offset.checked_add(i64::from(n as u32 as i32))?, ..p }),
        _ => None,
    }
}

/// The access of an instruction to a slot: where, and the type.
fn access(func: &Function, i: &Inst, pointers: &FxHashMap<Value, Pointer>) -> Option<(Pointer, Type)> {
    let (mem, ty) = match i.op {
        Op::Load(mem) => (mem, func.ty(i.result?)),
        Op::Store(mem) => (mem, func.ty(i.args[1])),
        _ => return None,
    };
    let p = *pointers.get(&i.args[0])?;
    let space = if p.generic { Space::Generic } else { Space::Local };
    (mem == Mem::weak(space) && !ty.is_float()).then_some((p, ty))
}

/// The parts of each slot; none of a slot that must stay.
fn parts(func: &Function, pointers: &FxHashMap<Value, Pointer>) -> Vec<Vec<Part>> {
    let mut stays = vec![false; func.slots.len()];
    let mut accesses: Vec<(u32, u64, Type)> = vec![];
    let escape = |stays: &mut Vec<bool>, v: &Value| {
        if let Some(p) = pointers.get(v) {
            stays[p.slot as usize] = true;
        }
    };
    for data in &func.blocks {
        for i in &data.insts {
            match access(func, i, pointers) {
                Some((p, ty)) => {
                    let slot = func.slots[p.slot as usize];
                    let size = ty.bytes() as u64;
                    let inside = |at: &u64| at.is_multiple_of(size) && at.saturating_add(size) <= slot.size;
                    match u64::try_from(p.offset).ok().filter(inside).filter(|_| slot.align >= size) {
                        Some(at) => accesses.push((p.slot, at, ty)),
                        None => stays[p.slot as usize] = true,
                    }
                    i.args[1..].iter().for_each(|v| escape(&mut stays, v));
                }
                // An address made from an address is looked at where it is used itself.
                None if i.result.is_some_and(|r| pointers.contains_key(&r)) => {}
                None => i.args.iter().for_each(|v| escape(&mut stays, v)),
            }
            i.guard.iter().for_each(|v| escape(&mut stays, v));
        }
        let handed = data.term.targets().into_iter().flat_map(|t| t.args.iter());
        handed.chain(&data.term.uses()).for_each(|v| escape(&mut stays, v));
    }
    accesses.sort_unstable();
    let mut parts: Vec<Vec<Part>> = vec![vec![]; func.slots.len()];
    for (slot, at, ty) in accesses.into_iter().filter(|(slot, ..)| !stays[*slot as usize]) {
        // The cells of a vector are its elements.
        let (size, unit) = (ty.bytes() as u64, u64::from(ty.elem.bits() / 8));
        match parts[slot as usize].last_mut() {
            Some(part) if at < part.end => {
                part.end = part.end.max(at + size);
                part.unit = part.unit.min(unit);
                part.widest = part.widest.max(size);
            }
            _ => {
                parts[slot as usize].push(Part { start: at, end: at + size, unit, widest: size, fits: false })
            }
        }
    }
    parts
}

fn rewrite(func: &mut Function, pointers: &FxHashMap<Value, Pointer>, parts: &[Vec<Part>]) {
    let mut b = Builder::resume(std::mem::replace(func, Function::new("")));
    // By slot and first byte: units differ between parts.
    let mut cells: FxHashMap<(u32, u64), Var> = FxHashMap::default();
    let mut replaced: Vec<(Value, Value)> = vec![];
    for block in b.func().block_ids() {
        b.switch_to(block);
        let insts = std::mem::take(&mut b.func().blocks[block.index()].insts);
        for i in insts {
            let found = access(b.func(), &i, pointers).and_then(|(p, ty)| {
                part_of(parts, p).filter(|part| part.fits).map(|part| (p, ty, part.unit))
            });
            let Some((p, ty, unit)) = found else {
                b.func().blocks[block.index()].insts.push(i);
                continue;
            };
            b.set_line(i.line);
            let elem = match unit {
                1 => Elem::I8,
                2 => Elem::I16,
                4 => Elem::I32,
                _ => Elem::I64,
            };
            let count = (ty.bytes() as u64 / unit) as u8;
            let vars: SmallVec<[Var; 8]> = (0..u64::from(count))
                .map(|n| {
                    let at = (p.slot, p.offset as u64 + n * unit);
                    *cells.entry(at).or_insert_with(|| b.new_var(Type::scalar(elem)))
                })
                .collect();
            if let Some(result) = i.result {
                let elements: SmallVec<[Value; 8]> = vars.iter().map(|v| b.get(*v)).collect();
                let whole = b.build(&elements);
                let mut value = b.bitcast(whole, ty);
                if let Some(guard) = i.guard {
                    let zero = b.iconst(ty, 0);
                    value = b.select(guard, value, zero);
                }
                replaced.push((result, value));
            } else {
                let whole = b.bitcast(i.args[1], Type::new(elem, count));
                for (n, var) in vars.into_iter().enumerate() {
                    let mut value = b.extract(whole, n as u8);
                    if let Some(guard) = i.guard {
                        let old = b.get(var);
                        value = b.select(guard, value, old);
                    }
                    b.set(var, value);
                }
            }
        }
    }
    let mut done = b.finish_with(&replaced);
    super::dce::remove_dead(&mut done);
    *func = done;
}

#[cfg(test)]
mod tests;

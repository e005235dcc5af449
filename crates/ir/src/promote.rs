//! Promotion of slots in local memory to values (`mem2reg`, with the pieces of a slot told apart as in `sroa`).
//!
//! A slot is promoted if its address is only used to load and store, weakly, at constant offsets inside it. It is cut into cells,
//! the units that all accesses consist of; each cell becomes a variable, and [`Builder`] makes SSA of those. Local memory begins
//! as zeros, and so do variables. Not done: slots with a variable index, slots whose address is handed to somebody.

use crate::*;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Cells in a function, at most, and cells times blocks: SSA construction may look at every block for each.
const MOST_CELLS: usize = 1024;
const MOST_WORK: usize = 1 << 22;

/// A slot's address plus an offset.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Pointer {
    slot: u32,
    offset: i64,
    generic: bool,
}

/// What is known of a slot.
#[derive(Clone, Debug)]
struct Use {
    /// Still a candidate.
    fits: bool,
    /// Bytes in a cell, and those any access touches.
    unit: u64,
    accessed: bool,
}

/// Makes values of slots where that is possible.
pub(crate) fn promote(func: &mut Function) {
    if func.slots.is_empty() {
        return;
    }
    let pointers = pointers(func);
    let mut uses = uses(func, &pointers);
    let mut cells = 0;
    let blocks = func.blocks.len();
    for (slot, u) in func.slots.iter().zip(&mut uses) {
        let count = if u.accessed { slot.size.div_ceil(u.unit) } else { 0 };
        u.fits &= cells as u64 + count <= MOST_CELLS as u64
            && (cells as u64 + count) * blocks as u64 <= MOST_WORK as u64;
        cells += if u.fits { count as usize } else { 0 };
    }
    if uses.iter().any(|u| u.fits && u.accessed) {
        rewrite(func, &pointers, &uses);
    }
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
    // Blocks need not stand in the order of dominance: go over them until nothing is new.
    loop {
        let before = found.len();
        for i in func.blocks.iter().flat_map(|b| &b.insts) {
            let Some(r) = i.result.filter(|r| !found.contains_key(r)) else { continue };
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
                _ => None,
            };
            if let Some(p) = pointer {
                found.insert(r, p);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// A pointer plus a constant of type `ty`.
fn moved(p: Pointer, n: u64, ty: Type) -> Option<Pointer> {
    let window = Space::Local.window();
    match ty {
        Type::I64 if !p.generic && n == window => Some(Pointer { generic: true, ..p }),
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

fn uses(func: &Function, pointers: &FxHashMap<Value, Pointer>) -> Vec<Use> {
    let mut uses: Vec<Use> =
        func.slots.iter().map(|s| Use { fits: s.size > 0, unit: 8, accessed: false }).collect();
    let escape = |uses: &mut Vec<Use>, v: &Value| {
        if let Some(p) = pointers.get(v) {
            uses[p.slot as usize].fits = false;
        }
    };
    for data in &func.blocks {
        for i in &data.insts {
            match access(func, i, pointers) {
                Some((p, ty)) => {
                    let slot = func.slots[p.slot as usize];
                    let size = ty.bytes() as u64;
                    let inside = u64::try_from(p.offset)
                        .is_ok_and(|at| at % size == 0 && at.saturating_add(size) <= slot.size);
                    let u = &mut uses[p.slot as usize];
                    u.fits &= inside && slot.align >= size;
                    // The parts of a vector are its elements.
                    u.unit = u.unit.min(ty.elem.bits() as u64 / 8);
                    u.accessed = true;
                    i.args[1..].iter().for_each(|v| escape(&mut uses, v));
                }
                // An address made from an address is looked at where it is used itself.
                None if i.result.is_some_and(|r| pointers.contains_key(&r)) => {}
                None => i.args.iter().for_each(|v| escape(&mut uses, v)),
            }
            i.guard.iter().for_each(|v| escape(&mut uses, v));
        }
        let handed = data.term.targets().into_iter().flat_map(|t| t.args.iter());
        handed.chain(&data.term.uses()).for_each(|v| escape(&mut uses, v));
    }
    // An access has at most eight cells.
    for i in func.blocks.iter().flat_map(|b| &b.insts) {
        if let Some((p, ty)) = access(func, i, pointers) {
            let u = &mut uses[p.slot as usize];
            u.fits &= ty.bytes() as u64 / u.unit <= 8;
        }
    }
    uses
}

fn rewrite(func: &mut Function, pointers: &FxHashMap<Value, Pointer>, uses: &[Use]) {
    let mut b = Builder::resume(std::mem::replace(func, Function::new("")));
    let mut cells: FxHashMap<(u32, u64), Var> = FxHashMap::default();
    let mut replaced: Vec<(Value, Value)> = vec![];
    for block in b.func().block_ids() {
        b.switch_to(block);
        let insts = std::mem::take(&mut b.func().blocks[block.index()].insts);
        for i in insts {
            let found = access(b.func(), &i, pointers).filter(|(p, _)| uses[p.slot as usize].fits);
            let Some((p, ty)) = found else {
                b.func().blocks[block.index()].insts.push(i);
                continue;
            };
            b.set_line(i.line);
            let unit = uses[p.slot as usize].unit;
            let elem = match unit {
                1 => Elem::I8,
                2 => Elem::I16,
                4 => Elem::I32,
                _ => Elem::I64,
            };
            let count = (ty.bytes() as u64 / unit) as u8;
            let vars: SmallVec<[Var; 8]> = (0..u64::from(count))
                .map(|n| {
                    let at = (p.slot, p.offset as u64 / unit + n);
                    *cells.entry(at).or_insert_with(|| b.new_var(Type::scalar(elem)))
                })
                .collect();
            if let Some(result) = i.result {
                let parts: SmallVec<[Value; 8]> = vars.iter().map(|v| b.get(*v)).collect();
                let whole = b.build(&parts);
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
    opt::remove_dead(&mut done);
    *func = done;
}

#[cfg(test)]
mod tests;

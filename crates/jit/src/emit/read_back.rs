//! What a CTA stores in shared memory and reads back row by row.
//!
//! In a group that is all of its CTA a tile is often stored as one row for each `tid.y`, and read back, behind a barrier that is nothing, as rows again:
//! each thread of a column gets what one of them has stored. Such a load is the row that was stored. If all loads of what a store writes are, nobody
//! reads the memory it is for, and it is left out: a multiplication of matrices stores one tile in place of two.
//!
//! It is needed after all where the interpreter goes on between the store and such a load, which is at the start of a block. So there must be only one
//! way from the store to the load, on which lanes stay together and code goes on nowhere; where a block on the way [hands over](Emitter::block), it
//! stores first.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use hostwarp_ir::{Axis, Block, Inst, IntBin, Op, Order, Space, Special, Term, Type, Value};
use hostwarp_plan::Shape as Spread;

use super::{Emitter, Known, Paths, Reg};

/// Of more accesses than this nobody asks who meets whom: each may meet each, row by row.
const MOST_ACCESSES: usize = 256;

/// An instruction: its block, and which one of the block.
type At = (Block, usize);

/// The stores that are left out, and who reads what they would have stored.
#[derive(Default)]
pub(super) struct ReadBack {
    /// By load: the store, and which of its rows each row gets.
    loads: HashMap<At, (At, Vec<usize>)>,
    stores: HashMap<At, LeftOut>,
}

/// A store that is left out.
#[derive(Clone, Default)]
struct LeftOut {
    /// Where each row would go.
    rows: Vec<u64>,
    /// The blocks that must store before they hand over.
    before: HashSet<Block>,
    /// What would have been stored, once its block has been written.
    vector: Option<Reg>,
}

/// An access to shared memory.
struct Access<'a> {
    at: At,
    inst: &'a Inst,
    ty: Type,
    /// Where each row begins.
    rows: Vec<u64>,
    /// Bytes that a row accesses.
    len: u64,
    /// All lanes take part, each in the place after the one before, in any order with others.
    plain: bool,
}

/// What a load reads back.
struct Source {
    store: At,
    /// Which row of it each row gets.
    rows: Vec<usize>,
    /// The blocks on the way from the store to the load.
    before: Vec<Block>,
}

impl Access<'_> {
    fn is_store(&self) -> bool {
        matches!(self.inst.op, Op::Store(_))
    }

    fn places(&self) -> impl Iterator<Item = Range<u64>> {
        self.rows.iter().map(|row| *row..row.saturating_add(self.len))
    }

    fn meets(&self, other: &Access<'_>) -> bool {
        self.places().any(|a| other.places().any(|b| a.start < b.end && b.start < a.end))
    }
}

impl Emitter<'_> {
    pub(super) fn find_read_back(&self) -> ReadBack {
        let mut found = ReadBack::default();
        let apart = self.paths != Paths::Together || self.parts.iter().any(Option::is_some);
        if self.assume.cta.is_none() || apart {
            return found;
        }
        // Whoever accesses no one knows what may access anything.
        let Some(accesses) = self.shared_accesses().filter(|all| all.len() <= MOST_ACCESSES) else {
            return found;
        };
        let loads = accesses.iter().filter(|a| !a.is_store());
        let loads: Vec<_> = loads.map(|load| (load, self.source(load, &accesses))).collect();
        for store in accesses.iter().filter(|a| a.is_store() && self.is_sound(a)) {
            let mut readers = loads.iter().filter(|(load, _)| load.meets(store));
            if readers.any(|(_, source)| source.is_none()) {
                continue;
            }
            let mut left_out = LeftOut { rows: store.rows.clone(), ..LeftOut::default() };
            for (load, source) in &loads {
                if let Some(source) = source.as_ref().filter(|s| s.store == store.at) {
                    left_out.before.extend(&source.before);
                    found.loads.insert(load.at, (store.at, source.rows.clone()));
                }
            }
            found.stores.insert(store.at, left_out);
        }
        found
    }

    /// Whether a store writes a row of memory that is there for every row.
    fn is_sound(&self, store: &Access<'_>) -> bool {
        let own = |n: usize| store.rows[..n].iter().all(|row| row.abs_diff(store.rows[n]) >= store.len);
        let there = store.places().all(|place| place.end <= self.func.info.shared_bytes.into());
        let aligned = store.rows.iter().all(|row| row % store.ty.bytes() as u64 == 0);
        store.plain && there && aligned && (0..store.rows.len()).all(own)
    }

    /// All accesses to shared memory, if it is known of each what it accesses.
    fn shared_accesses(&self) -> Option<Vec<Access<'_>>> {
        let mut known = HashMap::new();
        let mut found = vec![];
        for b in &self.plan.order {
            for (n, inst) in self.func.block(*b).insts.iter().enumerate() {
                let (mem, ty) = match inst.op {
                    Op::Load(mem) => (mem, self.ty(inst.result?)),
                    Op::Store(mem) => (mem, self.ty(inst.args[1])),
                    Op::Atomic(_, mem) if !matches!(mem.space, Space::Shared | Space::Generic) => continue,
                    Op::Fence(_) => continue,
                    op if op.has_effect() => return None,
                    _ => continue,
                };
                match mem.space {
                    Space::Shared => {}
                    Space::Generic => return None,
                    _ => continue,
                }
                let (address, size) = (inst.args[0], ty.bytes() as u64);
                let stride = match self.spread(address) {
                    Spread::Uniform => 0,
                    Spread::Affine { stride, .. } => u64::try_from(stride).ok()?,
                    Spread::Varying => return None,
                };
                let rows = self.bases_in_cta(address, &mut known)?;
                let len = stride.checked_mul(u64::from(self.row()) - 1)?.checked_add(size)?;
                let plain = inst.guard.is_none() && mem.order == Order::Weak && stride == size;
                found.push(Access { at: (*b, n), inst, ty, rows, len, plain });
            }
        }
        Some(found)
    }

    /// What the first lane of each row of a CTA has, if that follows from its place in the CTA alone.
    fn bases_in_cta(&self, v: Value, known: &mut HashMap<Value, Option<Vec<u64>>>) -> Option<Vec<u64>> {
        if let Some(bases) = known.get(&v) {
            return bases.clone();
        }
        known.insert(v, None);
        let (block, n) = self.maker[v.index()]?;
        let (inst, cta) = (&self.func.block(block).insts[n], self.assume.cta?);
        let (rows, mask) = (u64::from(self.rows), self.ty(v).elem.mask());
        let args: Option<Vec<Vec<u64>>> = inst.args.iter().map(|a| self.bases_in_cta(*a, known)).collect();
        let height = u64::from(cta[1]);
        let bases: Vec<u64> = match (inst.op, &args?[..]) {
            (Op::Const(c), []) => (0..rows).map(|_| c).collect(),
            (Op::Special(Special::Tid(Axis::X)), []) => (0..rows).map(|_| 0).collect(),
            (Op::Special(Special::Tid(Axis::Y)), []) => (0..rows).map(|row| row % height).collect(),
            (Op::Special(Special::Tid(Axis::Z)), []) => (0..rows).map(|row| row / height).collect(),
            (Op::Special(Special::Ntid(axis)), []) => {
                let size = match axis {
                    Axis::X => cta[0],
                    Axis::Y => cta[1],
                    Axis::Z => cta[2],
                };
                (0..rows).map(|_| size.into()).collect()
            }
            (Op::Zext, [a]) => a.clone(),
            (Op::Int(op), [a, b]) => {
                let of = |(a, b): (&u64, &u64)| match op {
                    IntBin::Add => Some(a.wrapping_add(*b) & mask),
                    IntBin::Sub => Some(a.wrapping_sub(*b) & mask),
                    IntBin::Mul => Some(a.wrapping_mul(*b) & mask),
                    IntBin::Shl if *b < u64::from(self.ty(v).elem.bits()) => Some((a << b) & mask),
                    _ => None,
                };
                a.iter().zip(b).map(of).collect::<Option<_>>()?
            }
            _ => return None,
        };
        known.insert(v, Some(bases.clone()));
        Some(bases)
    }

    /// The store whose rows a load gets, if it is the same whatever way lanes have come, and if nothing of it is stored over on the way: it may
    /// have to be stored later.
    fn source(&self, load: &Access<'_>, accesses: &[Access<'_>]) -> Option<Source> {
        let (mut before, mut passed) = (vec![], vec![]);
        let (mut b, mut end) = load.at;
        loop {
            let here = accesses.iter().rev().filter(|a| a.is_store() && a.at.0 == b && a.at.1 < end);
            for store in here {
                if !store.meets(load) {
                    passed.push(store);
                    continue;
                }
                let alone = !passed.iter().any(|other| other.meets(store));
                if !load.plain || load.ty != store.ty || !self.is_sound(store) || !alone {
                    return None;
                }
                let stored = |row: &u64| store.rows.iter().position(|stored| stored == row);
                let rows = load.rows.iter().map(stored).collect::<Option<_>>()?;
                return Some(Source { store: store.at, rows, before });
            }
            before.push(b);
            (b, end) = (self.only_way_to(b)?, usize::MAX);
        }
    }

    /// The block that all lanes come from to this one, together, if there is only one.
    fn only_way_to(&self, b: Block) -> Option<Block> {
        let leads_here = |from: &&Block| self.func.block(**from).term.targets().iter().any(|t| t.block == b);
        let mut all = self.plan.order.iter().filter(leads_here);
        let from = *all.next().filter(|_| all.next().is_none() && !self.stops[b.index()])?;
        let together = match &self.func.block(from).term {
            Term::Jump(_) => true,
            Term::Branch(c, ..) | Term::Switch(c, _) => self.spread(*c) == Spread::Uniform,
            term => self.is_free_barrier(term),
        };
        together.then_some(from)
    }

    /// Leaves a store out, if it can be.
    pub(super) fn is_left_out(&mut self, index: usize, value: Value) -> bool {
        let at = (self.block, index);
        if !self.read_back.stores.contains_key(&at) {
            return false;
        }
        let vector = self.vector(value);
        if let Some(store) = self.read_back.stores.get_mut(&at) {
            store.vector = Some(vector);
        }
        true
    }

    /// What a load reads back from a store that was left out.
    pub(super) fn read_back(&mut self, index: usize, ty: Type) -> Option<Known> {
        let (store, rows) = self.read_back.loads.get(&(self.block, index))?.clone();
        let vector = self.read_back.stores.get(&store)?.vector.clone()?;
        let (all, lanes) = (self.all(ty), (self.all(ty).n / self.rows) as usize);
        let lanes = rows.iter().flat_map(|row| row * lanes..(row + 1) * lanes).map(|lane| lane as u32);
        let vector = self.t.shuffle(all, &vector, "poison", lanes);
        Some(Known { vector: Some(vector), ..Known::default() })
    }

    /// Stores what was left out and is read back in a block or after it: the block hands over.
    pub(super) fn store_left_out(&mut self, b: Block) {
        let here = self.read_back.stores.iter().filter(|(_, store)| store.before.contains(&b));
        let mut left_out: Vec<_> = here.map(|(at, store)| (*at, store.clone())).collect();
        left_out.sort_unstable_by_key(|((b, n), _)| (self.plan.position[b.index()], *n));
        for ((block, index), store) in left_out {
            let Some(vector) = &store.vector else { continue };
            let ty = self.ty(self.func.block(block).insts[index].args[1]);
            let places: Vec<Reg> =
                store.rows.iter().map(|row| self.place(Space::Shared, &row.to_string())).collect();
            self.store_rows(ty, "", &places, vector);
        }
    }
}

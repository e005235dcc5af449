//! Instructions and conditions for the blocks of a graph.

use super::graph::Ways;
use super::{
    Arith, Bank, Block, Callee, Class, Cmp, Data, Func, Inst, Logic, Op, Place, Reg, Special, Src, Term,
    Warp, layout,
};
use crate::random::Random;
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel may hold besides arithmetic and private memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// Barriers and exchanges.
    pub barriers: bool,
    /// Operations of whole warps.
    pub warps: bool,
    /// Cells that all threads add to.
    pub counts: bool,
    /// Every block leaves its mark in a register.
    pub path: bool,
    /// Shared and local memory.
    pub spaces: bool,
    /// Some registers live in memory, as in code that is not optimised.
    pub homes: bool,
    /// Pointers that are moved on, in loops or not.
    pub walks: bool,
    /// Loops of hundreds of iterations.
    pub long: bool,
    /// Exchanges in dynamic shared memory.
    pub dynamic: bool,
    /// Functions call themselves and those before them.
    pub recursion: bool,
    /// Calls through pointers.
    pub pointers: bool,
    /// Types of registers besides predicates and words, by bits of the bank's number.
    pub banks: u8,
}

/// Fills the blocks of one function.
pub struct Filler<'a> {
    /// Choices.
    pub r: &'a mut Random,
    /// What there is.
    pub traits: Traits,
    /// Which function; the kernel is 0.
    pub number: usize,
    /// All functions; the kernel is the first.
    pub heads: &'a [Head],
}

/// What a function takes and gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Head {
    /// Types of its parameters.
    pub params: Vec<Bank>,
    /// Types of its results.
    pub results: Vec<Bank>,
    /// Parameters and results are registers.
    pub by_register: bool,
}

/// The register that every block may leave its mark in.
const PATH: Reg = Reg { bank: Bank::R, class: Class::Varying, n: 6 };
/// For the length of a condition.
const SCRATCH: usize = 7;

impl Filler<'_> {
    /// A function with this graph.
    pub fn fill(&mut self, graph: &[Ways]) -> Func {
        let mut blocks: Vec<Block> = graph.iter().enumerate().map(|(n, ways)| self.block(n, ways)).collect();
        if self.r.percent(60) {
            for _ in 0..1 + self.r.below(3) {
                self.keep(&mut blocks);
            }
        }
        if self.traits.homes {
            self.settle(&mut blocks);
        }
        let mut layout: Vec<usize> = (0..blocks.len()).collect();
        if self.r.percent(25) {
            for _ in 0..1 + self.r.below(4) {
                let (a, b) = (self.r.below(layout.len()), self.r.below(layout.len()));
                layout.swap(a, b);
            }
        }
        let Head { params, results, by_register } = self.heads[self.number].clone();
        let mut f = Func { params, results, by_register, init: vec![], blocks, layout };
        f.init = self.init(&f);
        f
    }

    fn block(&mut self, n: usize, ways: &Ways) -> Block {
        let count = self.r.weighted(&[30, 35, 20, 10, 5]);
        let mut insts: Vec<Inst> = vec![];
        if self.traits.path && self.r.percent(60) {
            let mark = Src::Const(n as u64 + 1);
            insts.push(Op::Mad(PATH, Src::Reg(PATH), Src::Const(31), mark).into());
        }
        for _ in 0..count {
            self.inst(&mut insts);
        }
        let term = match ways {
            Ways::Goto(to) => Term::Goto((*to).into()),
            Ways::If(yes, no, counted) => {
                let (p, not) = self.condition(*counted, &mut insts);
                Term::If(p, not, (*yes).into(), (*no).into())
            }
            Ways::Switch(targets) => {
                let class = self.class();
                let by = self.reg(Bank::R, class);
                Term::Switch(by, targets.iter().map(|t| (*t).into()).collect())
            }
            Ways::Leave(exit) => {
                self.last_words(&mut insts);
                Term::Leave { exit: *exit }
            }
        };
        Block { insts, term }
    }

    /// Gives some registers a place in memory that they are read from before they are used, and written to when they have changed, mostly; under the guard of
    /// what changes them, or another. Passes make registers of them again, or tell loads behind stores from those before.
    fn settle(&mut self, blocks: &mut [Block]) {
        let fits = |r: &Reg| {
            let at_home = matches!(r.class, Class::Uniform | Class::Affine | Class::Varying | Class::Counter);
            at_home && matches!(r.bank, Bank::R | Bank::L | Bank::F | Bank::H)
        };
        let all = blocks.iter().flat_map(|b| &b.insts).flat_map(|i| i.op.writes());
        let all: Vec<Reg> = all.filter(fits).collect::<BTreeSet<Reg>>().into_iter().collect();
        if all.is_empty() {
            return;
        }
        let cells = match self.r.weighted(&[60, 25, 15]) {
            0 => [0, 1, 2, 3].map(|n| Place::Local(Src::Const(n))).to_vec(),
            1 => [0, 1, 2, 3].map(Place::Column).to_vec(),
            _ => [0, 1].map(|n| Place::Shared(Src::Const(n))).to_vec(),
        };
        let homes: BTreeMap<Reg, Place> = cells.into_iter().map(|cell| (*self.r.pick(&all), cell)).collect();
        for block in blocks {
            let mut insts = vec![];
            for inst in std::mem::take(&mut block.insts) {
                let of = |regs: Vec<Reg>| regs.into_iter().filter_map(|r| Some((r, *homes.get(&r)?)));
                for (r, home) in of(inst.op.reads()) {
                    if self.r.percent(60) {
                        insts.push(Op::Load(r, home).into());
                    }
                }
                let (writes, guard) = (inst.op.writes(), inst.guard);
                insts.push(inst);
                for (r, home) in of(writes) {
                    let guard = match self.r.below(10) {
                        0..6 => guard,
                        6..8 => {
                            let class = self.class();
                            Some((self.reg(Bank::P, class), self.r.percent(50)))
                        }
                        8 => None,
                        _ => continue,
                    };
                    insts.push(Inst { guard, op: Op::Store(home, r) });
                }
            }
            block.insts = insts;
        }
    }

    /// What a register held before a block changed it, needed on one way out of that block and on no other: the old value and the new one are alive at
    /// once there, and nowhere else. Where the block goes back to where the old value came from, both belong to one parameter of a loop. Or
    /// two registers change places in the block.
    fn keep(&mut self, blocks: &mut Vec<Block>) {
        let stored = |r: &Reg| {
            !matches!(r.bank, Bank::P | Bank::Q) && !matches!(r.class, Class::Result | Class::Pointer)
        };
        let changed = |b: &Block| -> Vec<(usize, Reg)> {
            let of = |(n, i): (usize, &Inst)| -> Vec<(usize, Reg)> {
                let together = matches!(i.op, Op::Warp(..) | Op::Call { .. } | Op::Exchange { .. });
                let reads = i.op.reads();
                let to = i.op.writes().into_iter().filter(|r| !together && stored(r) && reads.contains(r));
                to.map(|r| (n, r)).collect()
            };
            b.insts.iter().enumerate().flat_map(of).collect()
        };
        let fit: Vec<usize> = (0..blocks.len() - 1).filter(|b| !changed(&blocks[*b]).is_empty()).collect();
        if fit.is_empty() {
            return;
        }
        let b = *self.r.pick(&fit);
        let (at, from) = *self.r.pick(&changed(&blocks[b]));
        // Registers that are used for nothing else.
        let old = Reg::new(from.bank, Class::Varying, 3 + self.r.below(3));
        let mut insts = vec![Op::Move(old, Src::Reg(from)).into()];
        if self.r.percent(20) {
            let other = self.reg(from.bank, from.class);
            insts.push(Op::Move(from, Src::Reg(other)).into());
            insts.push(Op::Move(other, Src::Reg(old)).into());
            blocks[b].insts.splice(at..at, insts);
            return;
        }
        blocks[b].insts.splice(at..at, insts);
        // The last block stays the last.
        let (new, end) = (blocks.len() - 1, blocks.len());
        let ways = blocks[b].term.edges().len();
        if ways == 0 {
            return;
        }
        for e in blocks.iter_mut().flat_map(|b| b.term.edges_mut()).filter(|e| e.to == new) {
            e.to = end;
        }
        let n = self.r.below(ways);
        let to = std::mem::replace(&mut blocks[b].term.edges_mut()[n].to, new);
        let (mut insts, kept) = self.used_once_more(old);
        insts.push(Op::Store(Place::Column(self.r.below(layout::COLUMN as usize - 1) as u8), kept));
        let insts = insts.into_iter().map(Inst::from).collect();
        blocks.insert(new, Block { insts, term: Term::Goto(to.into()) });
    }

    /// The register as it is, or something computed from it, in its type or another: then what is alive may be a copy of the value and not the value.
    fn used_once_more(&mut self, old: Reg) -> (Vec<Op>, Reg) {
        let one = match old.bank {
            Bank::F => u64::from(1f32.to_bits()),
            _ => 1,
        };
        let to = |bank| Reg::new(bank, Class::Varying, 3 + (usize::from(old.n) + 1) % 3);
        let new = to(old.bank);
        match (old.bank, self.r.below(4)) {
            (_, 0) => (vec![], old),
            (Bank::D, _) => (vec![Op::Accumulate(new, old, Src::Const(one))], new),
            (Bank::R, 1) if self.bank(&[Bank::F]) == Bank::F => {
                let float = to(Bank::F);
                let one = Src::Const(u64::from(1f32.to_bits()));
                let add = Op::Arith(Arith::Add, float, Src::Reg(float), one);
                (vec![Op::Bits(float, old), add], float)
            }
            _ => (vec![Op::Arith(Arith::Add, new, Src::Reg(old), Src::Const(one))], new),
        }
    }

    /// What is stored, or returned, at the end.
    fn last_words(&mut self, insts: &mut Vec<Inst>) {
        if self.number > 0 {
            for (i, bank) in self.heads[self.number].results.iter().copied().enumerate() {
                let class = self.class();
                let s = Src::Reg(self.reg(bank, class));
                insts.push(Op::Move(Reg::new(bank, Class::Result, i), s).into());
            }
            return;
        }
        if self.traits.path {
            insts.push(Op::Store(Place::Column(7), PATH).into());
        }
        for n in 0..1 + self.r.below(5) {
            let class = self.class();
            let bank = self.bank(&[Bank::R, Bank::R, Bank::R, Bank::L, Bank::F, Bank::H, Bank::D]);
            let s =
                if bank == Bank::R && self.r.percent(30) { self.counter() } else { self.reg(bank, class) };
            insts.push(Op::Store(Place::Column(n as u8), s).into());
        }
    }

    fn class(&mut self) -> Class {
        [Class::Uniform, Class::Affine, Class::Varying][self.r.weighted(&[38, 22, 40])]
    }

    fn reg(&mut self, bank: Bank, class: Class) -> Reg {
        let count = match (bank, class) {
            (Bank::R, Class::Varying) => 3,
            (Bank::R, _) | (Bank::P, _) => 2,
            (Bank::L, _) => 2,
            _ => 1,
        };
        Reg::new(bank, class, self.r.below(count))
    }

    fn counter(&mut self) -> Reg {
        Reg::new(Bank::R, Class::Counter, self.r.below(3))
    }

    /// One of these types, of those the kernel has.
    fn bank(&mut self, of: &[Bank]) -> Bank {
        let bank = *self.r.pick(of);
        let has = matches!(bank, Bank::P | Bank::R) || self.traits.banks >> bank as u8 & 1 == 1;
        if has { bank } else { Bank::R }
    }

    /// Something of this type, to compute something of this class.
    fn source(&mut self, bank: Bank, class: Class) -> Src {
        if self.r.percent(25) {
            return Src::Const(self.constant(bank));
        }
        if self.r.percent(25)
            && let Some(i) = self.heads[self.number].params.iter().position(|b| *b == bank)
        {
            return Src::Reg(Reg::new(bank, Class::Argument, i));
        }
        if bank == Bank::R && self.r.percent(20) {
            return Src::Reg(self.counter());
        }
        let from = match class {
            Class::Uniform if self.r.percent(96) => Class::Uniform,
            Class::Affine if self.r.percent(95) => *self.r.pick(&[Class::Affine, Class::Uniform]),
            _ => self.class(),
        };
        Src::Reg(self.reg(bank, from))
    }

    fn constant(&mut self, bank: Bank) -> u64 {
        match bank {
            Bank::F => u64::from((self.r.below(9) as f32 - 4.0).to_bits()),
            Bank::D => (self.r.below(9) as f64 - 4.0).to_bits(),
            Bank::P => self.r.bits() & 1,
            _ if self.r.percent(75) => self.r.bits() % 9,
            _ => self.r.bits() >> (64 - bank.bits().min(64)),
        }
    }

    /// A register to read, of this type and class or any.
    fn read(&mut self, bank: Bank, class: Class) -> Reg {
        match self.source(bank, class) {
            Src::Reg(r) => r,
            Src::Const(_) => self.reg(bank, class),
        }
    }

    fn inst(&mut self, out: &mut Vec<Inst>) {
        let (t, kernel) = (self.traits, self.number == 0);
        let on = usize::from;
        let last = self.number + 1 == self.heads.len();
        let calls = if last && (kernel || !t.recursion) { 0 } else { 14 };
        let weights = [
            60,
            18,
            10,
            6 * on(t.counts),
            8 * on(t.barriers),
            8 * on(t.warps),
            calls,
            2,
            4,
            10 * on(t.spaces),
            24 * on(t.walks),
        ];
        let class = self.class();
        let op = match self.r.weighted(&weights) {
            0 if class == Class::Affine && self.r.percent(30) => self.fields(out),
            0 => self.compute(class),
            1 => {
                let bank = self.bank(&[Bank::R, Bank::L, Bank::F, Bank::H, Bank::D]);
                let s = self.read(bank, class);
                let place = self.place(false);
                Op::Store(place, s)
            }
            2 => {
                let bank = self.bank(&[Bank::R, Bank::L, Bank::F, Bank::H]);
                let d = self.reg(bank, Class::Varying);
                let place = self.place(false);
                Op::Load(d, place)
            }
            3 => {
                let by = self.source(Bank::R, class);
                Op::Count(self.r.below(layout::CELLS as usize) as u8, by)
            }
            4 if self.r.percent(50) => {
                Op::Barrier { id: self.r.weighted(&[6, 1, 1]) as u8, aligned: self.r.percent(50) }
            }
            4 => {
                let (d, s) = (self.reg(Bank::R, Class::Varying), self.read(Bank::R, class));
                let step = *self.r.pick(&[1, 1, 2, 5, 31, 32, 33]);
                Op::Exchange { d, s, step, dynamic: self.traits.dynamic }
            }
            5 => self.warp(class),
            6 => self.call(class),
            7 => {
                let exit = !kernel && self.r.percent(20) || kernel && self.r.percent(50);
                let class = if self.r.percent(20) { Class::Uniform } else { Class::Varying };
                let p = self.reg(Bank::P, class);
                self.last_words(out);
                if self.r.percent(50) {
                    self.comparison(p, class, out);
                }
                out.push(Inst { guard: Some((p, self.r.percent(50))), op: Op::Leave { exit } });
                return;
            }
            // Counters move on elsewhere too, and begin again.
            8 => match (self.counter(), self.r.percent(70)) {
                (c, true) => Op::Arith(Arith::Add, c, Src::Reg(c), Src::Const(1)),
                (c, _) => Op::Move(c, Src::Const(0)),
            },
            9 => {
                let place = self.place(true);
                let bank = self.bank(&[Bank::R, Bank::L, Bank::F]);
                match self.r.percent(50) {
                    true => Op::Store(place, self.read(bank, class)),
                    _ => Op::Load(self.reg(bank, Class::Varying), place),
                }
            }
            _ => self.walk(class, out),
        };
        let together = matches!(op, Op::Barrier { .. } | Op::Exchange { .. } | Op::Warp(..));
        let often = if matches!(op, Op::Call { .. }) { 30 } else { 18 };
        let guard = match !together && self.r.percent(often) {
            true => {
                let class = self.class();
                Some((self.reg(Bank::P, class), self.r.percent(50)))
            }
            false => None,
        };
        let again = self.once_more(&op, class);
        out.push(Inst { guard, op });
        out.extend(again.map(Inst::from));
    }

    /// The same sum of the same registers once more, or the other way round: what value numbering must and must not take for one.
    fn once_more(&mut self, op: &Op, class: Class) -> Option<Op> {
        let Op::Arith(arith, d, a, b) = *op else { return None };
        let read = [a, b].contains(&Src::Reg(d)) || matches!(arith, Arith::Shl | Arith::Shr);
        if read || self.r.percent(85) {
            return None;
        }
        let (a, b) = if self.r.percent(75) { (b, a) } else { (a, b) };
        Some(Op::Arith(arith, self.reg(d.bank, class), a, b))
    }

    /// A place put together from bits of two numbers of the thread, as in layouts of matrices: side by side, apart, or one on the other.
    fn fields(&mut self, out: &mut Vec<Inst>) -> Op {
        let (d, high) = (self.reg(Bank::R, Class::Affine), Reg::new(Bank::R, Class::Affine, SCRATCH));
        let bits = 1 + self.r.bits() % 4;
        for r in [d, high] {
            out.push(Op::Special(r, *self.r.pick(&[Special::Tid(0), Special::Lane, Special::Flat])).into());
        }
        let mut step = |op, r, by| out.push(Op::Arith(op, r, Src::Reg(r), Src::Const(by)).into());
        if self.r.percent(60) {
            step(Arith::Shr, high, bits);
        }
        step(Arith::And, high, (1 << (1 + self.r.bits() % 5)) - 1);
        step(Arith::Shl, high, bits + self.r.bits() % 3 - u64::from(self.r.percent(40)));
        step(Arith::And, d, (1 << bits) - 1);
        let op = if self.r.percent(80) { Arith::Or } else { Arith::Xor };
        Op::Arith(op, d, Src::Reg(d), Src::Reg(high))
    }

    /// Makes a pointer, or follows one, or moves it on, both at once more often than not: what passes find in loops.
    fn walk(&mut self, class: Class, out: &mut Vec<Inst>) -> Op {
        let w = Reg::new(Bank::L, Class::Pointer, self.r.below(6));
        let bank = self.bank(&[Bank::R, Bank::L]);
        let follow = Op::Follow(self.reg(bank, Class::Varying), w);
        let kind = self.r.below(10);
        match kind {
            0 => return Op::Point(w, self.source(Bank::R, class)),
            1 | 2 => return follow,
            3..8 => out.push(follow.into()),
            _ => {}
        }
        let more = self.r.percent(15).then(|| self.reg(Bank::R, Class::Uniform));
        Op::Advance(w, self.r.below(6) as i8 - 1, more)
    }

    fn place(&mut self, own_spaces: bool) -> Place {
        let class = self.class();
        let mut at = self.source(Bank::R, class);
        if self.traits.homes && self.r.percent(80) {
            at = Src::Const(self.r.bits() % 8);
        }
        match (own_spaces, self.r.percent(50)) {
            (true, true) => Place::Local(at),
            (true, _) => Place::Shared(at),
            _ if self.r.percent(60) => Place::Column(self.r.below(layout::COLUMN as usize) as u8),
            _ => Place::Row(at),
        }
    }

    fn compute(&mut self, class: Class) -> Op {
        let bank = Bank::ALL[self.r.weighted(&[9, 12, 40, 15, 12, 8, 8])];
        let bank = self.bank(&[bank]);
        let d = self.reg(bank, class);
        match bank {
            Bank::P if self.r.percent(50) => self.compare(d, class),
            Bank::P => {
                let op = *self.r.pick(&[Logic::And, Logic::Or, Logic::Xor, Logic::Not]);
                let (a, b) = (self.reg(bank, class), self.reg(bank, class));
                Op::Logic(op, d, a, b)
            }
            Bank::Q => {
                let (a, b) = (self.reg(Bank::L, class), self.reg(Bank::L, class));
                match self.r.below(3) {
                    0 => Op::Pack(d, a, b),
                    1 if a != b => Op::Unpack(a, b, d),
                    _ => Op::Move(d, Src::Reg(self.reg(bank, class))),
                }
            }
            Bank::D => match self.r.below(4) {
                0 => Op::Convert(d, self.read(Bank::R, class), true),
                1 => self.select(d, class),
                _ => {
                    let (a, s) = (self.reg(bank, class), self.source(Bank::R, class));
                    Op::Accumulate(d, a, s)
                }
            },
            Bank::F => match self.r.below(8) {
                0 => Op::Convert(d, self.read(Bank::R, class), true),
                1 => Op::Bits(d, self.read(Bank::R, class)),
                2 => self.select(d, class),
                3 => {
                    let [a, b, c] = [0; 3].map(|_| self.source(bank, class));
                    Op::Mad(d, a, b, c)
                }
                n => {
                    let op = [Arith::Add, Arith::Sub, Arith::Mul][n % 3];
                    let (a, b) = (self.source(bank, class), self.source(bank, class));
                    Op::Arith(op, d, a, b)
                }
            },
            _ => self.integer(d, class),
        }
    }

    fn integer(&mut self, d: Reg, class: Class) -> Op {
        let bank = d.bank;
        // Others would not stay affine.
        let affine = class == Class::Affine;
        match self.r.below(if affine { 7 } else { 13 }) {
            0 => match bank {
                Bank::H | Bank::L => Op::Convert(d, self.read(Bank::R, class), self.r.percent(50)),
                _ => {
                    let from = self.bank(&[Bank::H, Bank::L]);
                    match from == Bank::R {
                        true => Op::Move(d, self.source(bank, class)),
                        _ => Op::Convert(d, self.read(from, class), from == Bank::H && self.r.percent(50)),
                    }
                }
            },
            1 if !affine => self.select(d, class),
            2 if affine => {
                let (a, k) = (self.source(bank, class), self.r.bits() % 5);
                Op::Arith(Arith::Mul, d, a, Src::Const(k))
            }
            7 => Op::Arith(
                if self.r.percent(50) { Arith::Shl } else { Arith::Shr },
                d,
                self.source(bank, class),
                Src::Const(self.r.bits() % 20),
            )
            .for_words(),
            8 => {
                let [a, b, c] = [0; 3].map(|_| self.source(bank, class));
                Op::Mad(d, a, b, c)
            }
            9 if bank == Bank::R => match self.r.below(3) {
                0 => Op::Input(d, Data::Table(self.source(Bank::R, class))),
                1 if self.bank(&[Bank::F]) == Bank::F => Op::Bits(d, self.read(Bank::F, class)),
                _ => Op::Special(d, *self.r.pick(&[Special::Cta(0), Special::Ntid])),
            },
            9 if bank == Bank::L => match self.r.percent(50) {
                true if self.bank(&[Bank::D]) == Bank::D => Op::Bits(d, self.read(Bank::D, class)),
                _ => Op::Input(d, Data::Table(self.source(Bank::R, class))),
            },
            n => {
                let ops = [
                    Arith::Add,
                    Arith::Sub,
                    Arith::Add,
                    Arith::Xor,
                    Arith::Mul,
                    Arith::And,
                    Arith::Min,
                    Arith::Max,
                ];
                let op = if affine { ops[n % 3] } else { *self.r.pick(&ops) };
                // Sums of oneself and something keep growing.
                let a = if self.r.percent(50) { Src::Reg(d) } else { self.source(bank, class) };
                Op::Arith(op, d, a, self.source(bank, class))
            }
        }
    }

    fn select(&mut self, d: Reg, class: Class) -> Op {
        let (a, b) = (self.source(d.bank, class), self.source(d.bank, class));
        Op::Select(d, a, b, self.reg(Bank::P, class))
    }

    fn compare(&mut self, d: Reg, class: Class) -> Op {
        let bank = self.bank(&[Bank::R, Bank::R, Bank::L, Bank::H, Bank::F]);
        let cmp = *self.r.pick(&[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]);
        let a = self.read(bank, class);
        let b = if self.r.percent(60) { Src::Const(self.constant(bank)) } else { self.source(bank, class) };
        Op::Compare(cmp, self.r.percent(50), d, a, b)
    }

    /// A comparison, or two joined, as guards are; and what has been a number in between, as in code compiled without optimisation.
    fn comparison(&mut self, p: Reg, class: Class, out: &mut Vec<Inst>) {
        out.push(self.compare(p, class).into());
        if self.r.percent(25) {
            let q = Reg::new(Bank::P, class, SCRATCH);
            out.push(self.compare(q, class).into());
            let op = if self.r.percent(50) { Logic::Or } else { Logic::And };
            out.push(Op::Logic(op, p, p, q).into());
        }
        if self.r.percent(12) {
            let number = Reg::new(Bank::R, class, SCRATCH);
            let [yes, no, to] = [0; 3].map(|_| Src::Const(self.r.bits() & 1));
            out.push(Op::Select(number, yes, no, p).into());
            let cmp = if self.r.percent(50) { Cmp::Eq } else { Cmp::Ne };
            out.push(Op::Compare(cmp, false, p, number, to).into());
        }
    }

    fn warp(&mut self, class: Class) -> Op {
        let n = self.r.below(32) as u8;
        let op = match self.r.below(8) {
            0 => Warp::Index(n),
            1 => Warp::Butterfly(n),
            2 => Warp::Up(n),
            3 => Warp::Down(n),
            4 => Warp::Ballot,
            5 => Warp::Any,
            6 => Warp::All,
            _ => Warp::Sync,
        };
        let (to, from) = match op {
            Warp::Ballot => (Bank::R, Bank::P),
            Warp::Any | Warp::All => (Bank::P, Bank::P),
            _ => (Bank::R, Bank::R),
        };
        let uniform = matches!(op, Warp::Index(_) | Warp::Ballot | Warp::Any | Warp::All);
        let d = self.reg(to, if uniform { Class::Uniform } else { Class::Varying });
        Op::Warp(op, d, self.read(from, class))
    }

    fn call(&mut self, class: Class) -> Op {
        let ahead = self.heads.len() - self.number - 1;
        let bounded = self.traits.recursion && self.number > 0 && (ahead == 0 || self.r.percent(40));
        let first = if bounded { 1 } else { self.number + 1 };
        let func = first + self.r.below(self.heads.len() - first);
        let Head { params, results, .. } = self.heads[func].clone();
        let args = params.iter().map(|b| self.source(*b, class)).collect();
        let mut callee = Callee { funcs: vec![func], by: None, bounded, listed: self.r.percent(30) };
        if self.traits.pointers && self.r.percent(60) {
            let like = (first..self.heads.len()).filter(|n| self.heads[*n] == self.heads[func]);
            callee.funcs = like.collect();
            let class = self.class();
            callee.by = Some(self.reg(Bank::R, class));
        }
        let mut to: Vec<Reg> = vec![];
        for bank in results.iter().copied() {
            let mut r = self.reg(bank, class);
            // No two results in one register.
            while to.contains(&r) {
                r = Reg::new(bank, class, usize::from(r.n) + 1);
            }
            to.push(r);
        }
        Op::Call { callee, args, results: to }
    }

    /// What a branch goes by.
    fn condition(&mut self, counted: bool, out: &mut Vec<Inst>) -> (Reg, bool) {
        if self.r.percent(if counted { 85 } else { 20 }) {
            let c = self.counter();
            if self.r.percent(15) {
                // What it was is needed too.
                let class = self.class();
                out.push(Op::Move(self.reg(Bank::R, class), Src::Reg(c)).into());
            }
            if self.r.percent(85) {
                out.push(Op::Arith(Arith::Add, c, Src::Reg(c), Src::Const(1)).into());
            }
            let class = [Class::Uniform, Class::Affine, Class::Varying][self.r.weighted(&[25, 25, 50])];
            let (class, bound) = match self.r.percent(55) {
                true if self.traits.long && self.r.percent(60) => {
                    (Class::Uniform, Src::Const(250 + self.r.bits() % 300))
                }
                true => (Class::Uniform, Src::Const(1 + self.r.bits() % 5)),
                _ => {
                    let bound = Reg::new(Bank::R, class, SCRATCH);
                    let from = Src::Reg(self.reg(Bank::R, class));
                    let mask = *self.r.pick(&[1, 3, 3, 7]);
                    out.push(Op::Arith(Arith::And, bound, from, Src::Const(mask)).into());
                    (class, Src::Reg(bound))
                }
            };
            let p = self.reg(Bank::P, class);
            out.push(Op::Compare(Cmp::Lt, false, p, c, bound).into());
            return (p, !counted && self.r.percent(50));
        }
        let class = [Class::Uniform, Class::Affine, Class::Varying][self.r.weighted(&[30, 30, 40])];
        let p = self.reg(Bank::P, class);
        match self.r.below(10) {
            // As it comes.
            0 => {}
            1..=4 => {
                let bit = Reg::new(Bank::R, class, SCRATCH);
                let from = Src::Reg(self.read(Bank::R, class));
                out.push(Op::Arith(Arith::And, bit, from, Src::Const(1 << self.r.below(4))).into());
                out.push(Op::Compare(Cmp::Ne, false, p, bit, Src::Const(0)).into());
            }
            _ => self.comparison(p, class, out),
        }
        (p, self.r.percent(50))
    }

    /// Something for every register that is read.
    fn init(&mut self, f: &Func) -> Vec<Inst> {
        let mut read: BTreeSet<Reg> = f.insts().flat_map(|i| i.op.reads()).collect();
        read.extend(f.insts().filter_map(|i| i.guard.map(|g| g.0)));
        for b in &f.blocks {
            match b.term {
                Term::If(p, ..) => {
                    read.insert(p);
                }
                Term::Switch(by, _) => {
                    read.insert(by);
                }
                _ => {}
            }
        }
        let mut out = vec![];
        read.into_iter().filter(|r| r.class != Class::Argument).for_each(|r| self.initial(r, &mut out));
        out
    }

    fn initial(&mut self, r: Reg, out: &mut Vec<Inst>) {
        let word = Reg::new(Bank::R, r.class, SCRATCH);
        match (r.bank, r.class) {
            (_, Class::Result | Class::Fuel | Class::Argument) => {}
            (_, Class::Pointer) => {
                // Lanes point anywhere, or to neighbours, or all to one word.
                let from = [Class::Varying, Class::Varying, Class::Varying, Class::Affine, Class::Uniform];
                let word = Reg::new(Bank::R, *self.r.pick(&from), SCRATCH);
                self.initial(word, out);
                out.push(Op::Point(r, Src::Reg(word)).into());
            }
            (_, Class::Counter) => {
                let first = if self.r.percent(80) { 0 } else { self.r.bits() % 3 };
                out.push(Op::Move(r, Src::Const(first)).into());
            }
            (Bank::P, _) => {
                let bit = 1 << self.r.below(3);
                self.initial(word, out);
                out.push(Op::Arith(Arith::And, word, Src::Reg(word), Src::Const(bit)).into());
                out.push(Op::Compare(Cmp::Ne, false, r, word, Src::Const(0)).into());
            }
            (Bank::R, Class::Uniform) => {
                let op = match self.r.below(8) {
                    0 => Op::Special(r, Special::Cta(0)),
                    1 => Op::Special(r, Special::Ntid),
                    2 if self.number == 0 => Op::Special(r, Special::Limit),
                    3 => Op::Input(r, Data::Table(Src::Const(self.r.bits() % layout::TABLE))),
                    4 => Op::Input(r, Data::Same),
                    _ => Op::Move(r, Src::Const(self.r.bits() % 9)),
                };
                out.push(op.into());
            }
            (Bank::R, Class::Affine) => {
                let s = *self.r.pick(&[
                    Special::Tid(0),
                    Special::Tid(0),
                    Special::Flat,
                    Special::Global,
                    Special::Tid(1),
                    Special::Lane,
                ]);
                out.push(Op::Special(r, s).into());
                if self.r.percent(30) {
                    let k = Src::Const(1 + self.r.bits() % 4);
                    out.push(Op::Mad(r, Src::Reg(r), k, Src::Const(self.r.bits() % 5)).into());
                }
            }
            (Bank::R, _) if self.r.percent(20) => out.push(Op::Special(r, Special::Global).into()),
            (Bank::R | Bank::L | Bank::H | Bank::F, Class::Varying) => {
                out.push(Op::Input(r, Data::Own).into())
            }
            (Bank::Q, class) => {
                let l = Reg::new(Bank::L, class, SCRATCH);
                self.initial(l, out);
                out.push(Op::Pack(r, l, l).into());
            }
            (Bank::L | Bank::H | Bank::F | Bank::D, _) => {
                self.initial(word, out);
                out.push(Op::Convert(r, word, true).into());
            }
        }
    }
}

impl Op {
    /// There are no shifts of 16 bits by a constant of 32 here.
    fn for_words(self) -> Op {
        match self {
            Op::Arith(Arith::Shl | Arith::Shr, d, a, b) if d.bank == Bank::H => {
                Op::Arith(Arith::Add, d, a, b)
            }
            op => op,
        }
    }
}

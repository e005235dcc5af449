//! Kernels from seeds.

use crate::instruction::{Family, Maker, forms};
use crate::memory::{self, Cells, GLOBAL_THREAD};
use crate::program::{Bank, Guard, Inst, Kernel, Loop, Operand, Reg, Shape, Stmt, What, layout};
use crate::random::Random;
use hostwarp_isa::Ty;

/// Blocks: whole warps and parts of them, one, two and three dimensions.
#[rustfmt::skip]
const BLOCKS: &[[u32; 3]] = &[
    [32, 1, 1], [64, 1, 1], [128, 1, 1], [96, 1, 1], [1, 1, 1], [7, 1, 1], [24, 1, 1], [33, 1, 1], [40, 1, 1], [72, 1, 1], [16, 1, 1], [100, 1, 1],
    [256, 1, 1], [16, 16, 1], [8, 4, 1], [16, 2, 1], [16, 4, 1], [8, 8, 1], [16, 5, 1], [8, 3, 1], [32, 2, 1], [32, 3, 1], [12, 3, 1], [31, 2, 1], [4, 4, 2], [5, 5, 2], [16, 2, 2],
    [20, 3, 1], [40, 2, 1], [24, 2, 2],
];
/// Blocks whose last group is not whole, whatever groups there are.
const PARTS: &[[u32; 3]] =
    &[[40, 1, 1], [33, 1, 1], [72, 1, 1], [100, 1, 1], [20, 3, 1], [12, 3, 1], [31, 2, 1]];
const GRIDS: &[[u32; 3]] = &[[1, 1, 1], [1, 1, 1], [2, 1, 1], [3, 1, 1], [2, 2, 1], [5, 1, 1]];

/// Set in the seed of a kernel that suits wide groups: whole warps, many of them, and no operations within one.
pub const WIDE: u64 = 1 << 63;

/// Blocks of which a group has several rows.
const SHORT_ROWS: &[[u32; 3]] = &[[16, 2, 1], [16, 4, 1], [16, 8, 1], [8, 4, 1], [8, 8, 1], [16, 2, 2]];

/// Blocks of such kernels.
const WIDE_BLOCKS: &[[u32; 3]] =
    &[[256, 1, 1], [512, 1, 1], [16, 16, 1], [32, 8, 1], [128, 1, 1], [64, 1, 1], [512, 1, 1], [8, 8, 4]];

/// The special registers that say the same in every run.
const SPECIALS: &[&str] = &[
    "%tid.x",
    "%tid.x",
    "%tid.y",
    "%tid.z",
    "%ntid.x",
    "%ctaid.x",
    "%ctaid.x",
    "%nctaid.x",
    "%laneid",
    "%warpid",
    "%nwarpid",
    "%lanemask_eq",
    "%lanemask_lt",
    "%lanemask_le",
    "%lanemask_gt",
    "%lanemask_ge",
];

/// How many levels of loops are long, one kernel in forty.
const LONG: [usize; 80] = {
    let mut long = [0; 80];
    long[0] = 1;
    long[1] = 2;
    long
};

/// What a kernel may have in it.
struct Traits {
    warp: bool,
    barriers: bool,
    /// What threads exchange lies in rows of a tile.
    tiles: bool,
    /// It goes through trees.
    trees: bool,
    loops: bool,
    atomics: bool,
    /// Loops this deep make some hundred turns: one is enough for engines to look at the lanes' fairness, two for a CTA to use
    /// up its budget and go on later.
    long: usize,
}

/// A kind of statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Lane,
    Access,
    Atomic,
    Branch,
    Loop,
    Warp,
    Barrier,
    Leave,
    Exit,
    Quiet,
}

impl Kind {
    #[rustfmt::skip]
    const ALL: [Kind; 10] = [
        Kind::Lane, Kind::Access, Kind::Atomic, Kind::Branch, Kind::Loop, Kind::Warp, Kind::Barrier, Kind::Leave, Kind::Exit, Kind::Quiet,
    ];
}

/// Where a statement stands.
#[derive(Clone, Default)]
struct Place {
    /// Some of the CTA's threads may not be here.
    divergent: bool,
    depth: usize,
    /// Loops around it that lanes may leave one by one: counter and masks.
    loops: Vec<(Reg, Option<[Reg; 3]>)>,
    /// The lanes that are here together.
    mask: Option<Reg>,
    /// The innermost loop around it is one of them.
    leaves_innermost: bool,
    /// An `if` stands between here and the innermost loop.
    in_branch: bool,
}

/// A kernel. The same for the same seed, as long as the forms of the instruction set stay the same.
pub fn generate(seed: u64) -> Kernel {
    let mut r = Random::new(seed);
    let wide = seed & WIDE != 0;
    let traits = Traits {
        warp: r.percent(35) && !wide,
        barriers: r.percent(45),
        tiles: r.percent(40),
        trees: r.percent(30),
        loops: r.percent(70),
        atomics: r.percent(35),
        // Of many threads long loops take longer than a launch may.
        long: *r.pick(&LONG) * usize::from(!wide),
    };
    let mut traits = traits;
    // Wide kernels with tiles have little else that keeps compiled code from knowing all of shared memory and all lanes together.
    let calm = wide && (traits.tiles || traits.trees);
    if calm {
        (traits.barriers, traits.atomics) = (true, false);
    }
    let exits = r.percent(28) && !calm;
    let (mut block, mut grid) = (*r.pick(BLOCKS), *r.pick(GRIDS));
    if calm && traits.trees {
        block = *r.pick(&[[256, 1, 1], [256, 1, 1], [512, 1, 1], [128, 1, 1], [64, 1, 1], [16, 16, 1]]);
    } else if calm {
        block = *r.pick(&[[16, 16, 1], [16, 16, 1], [16, 16, 1], [32, 8, 1], [16, 4, 4], [256, 1, 1]]);
    } else if wide {
        block = *r.pick(WIDE_BLOCKS);
    } else if traits.long > 0 {
        (block, grid) = (*r.pick(&[[32, 1, 1], [40, 1, 1], [8, 4, 1]]), *r.pick(&[[1, 1, 1], [2, 1, 1]]));
    } else if exits && traits.barriers && r.percent(60) {
        block = *r.pick(PARTS);
    } else if exits && r.percent(40) {
        block = *r.pick(SHORT_ROWS);
    }
    let mut shape = Shape { block, grid, limit: None, exits };
    if exits && r.percent(if traits.barriers { 25 } else { 50 }) {
        shape.limit = Some(r.below(shape.all_threads() as usize + 1) as u32);
    }
    let kernel =
        Kernel { seed, shape, init: vec![], body: vec![], shared_cells: 0, results: vec![], faults: false };
    let mut g = Generator { r: &mut r, traits, kernel, cells: Cells::default(), next: 1, left: 0 };
    g.left = 1 + g.r.below(7);
    g.everything();
    g.kernel.shared_cells = g.cells.shared_count();
    if g.r.percent(12) {
        g.beyond();
    }
    g.kernel
}

/// Whether an instruction takes a carry.
pub(crate) fn reads_carry(head: &str) -> bool {
    matches!(head.split('.').next(), Some("addc" | "subc" | "madc"))
}

struct Generator<'a> {
    r: &'a mut Random,
    traits: Traits,
    kernel: Kernel,
    cells: Cells,
    /// The next number of a loop or a mask.
    next: u8,
    /// Statements still to come.
    left: usize,
}

impl Generator<'_> {
    fn maker(&mut self, mask: Option<Reg>) -> Maker<'_> {
        Maker { r: self.r, mask }
    }

    fn fresh(&mut self, bank: Bank) -> Reg {
        self.next += 1;
        Reg(bank, self.next)
    }

    fn everything(&mut self) {
        let mut place = Place::default();
        if self.traits.warp {
            let mask = Reg(Bank::M, 0);
            place.mask = Some(mask);
            let here = if self.r.percent(50) {
                Inst::new("activemask.b32", &[What::Reg(mask)], &[])
            } else {
                Inst::new("mov.b32", &[What::Reg(mask)], &[What::Constant("-1".into(), false)])
            };
            self.kernel.init.push(Stmt::Inst(here));
        }
        // The body first: only what it reads needs a value. What the kernel is to have in it comes for certain, and more by chance.
        let t = &self.traits;
        let exit = self.kernel.shape.exits && self.kernel.shape.limit.is_none();
        let wanted = [
            (exit, Kind::Exit),
            (t.loops, Kind::Loop),
            (t.barriers, Kind::Barrier),
            (t.warp, Kind::Warp),
            (t.atomics, Kind::Atomic),
        ];
        let mut wanted: Vec<Kind> =
            wanted.into_iter().filter(|(yes, _)| *yes).map(|(_, kind)| kind).collect();
        let mut body = vec![];
        if exit && self.traits.barriers && self.r.percent(85) {
            // Threads that have nothing to do end first, and the others meet at several barriers.
            wanted.retain(|kind| !matches!(kind, Kind::Exit));
            body.extend(self.of_kind(Kind::Exit, &mut place));
            wanted.extend([Kind::Barrier; 3]);
        }
        while self.left > 0 || !wanted.is_empty() {
            if !wanted.is_empty() && self.r.percent(60) {
                let kind = wanted.swap_remove(self.r.below(wanted.len()));
                body.extend(self.of_kind(kind, &mut place));
            } else {
                body.extend(self.statement(&mut place));
            }
            self.left = self.left.saturating_sub(1);
        }
        self.kernel.body = body;
        let mut used: Vec<Reg> = vec![];
        let mut written: Vec<Reg> = vec![];
        collect(&self.kernel.body, &mut used, &mut written);
        used.extend(&written);
        for list in [&mut used, &mut written] {
            list.retain(|r| Bank::GENERAL.contains(&r.0));
            list.sort_unstable();
            list.dedup();
        }
        let words = self.words();
        self.kernel.init.push(words);
        for r in used.iter().copied() {
            let init = self.initial(r);
            self.kernel.init.push(init);
        }
        // What is only read is worth a look too: evenly spaced values reach the end as such.
        let also = used.iter().filter(|r| r.0 == Bank::R && !written.contains(r)).copied();
        written.extend(also.collect::<Vec<_>>());
        self.kernel.results = written;
    }

    /// What a register holds at first: the same for all lanes, evenly spaced, or anything. Few loads, many registers: code that
    /// only prepares takes time to compile and finds nothing.
    fn initial(&mut self, r: Reg) -> Stmt {
        let number = |n: i64| What::Constant(n.to_string(), false);
        let word = Reg(Bank::A, 4 + self.r.below(2) as u8);
        let t = Reg(Bank::T, 0);
        let half = |m: &mut Random, to: Reg| {
            let both = [What::Reg(to), What::Sink];
            let parts = if m.percent(50) { both.to_vec() } else { both.iter().rev().cloned().collect() };
            Inst::new("mov.b64", &[What::Vector(parts)], &[What::Reg(word)])
        };
        let insts = match r.0 {
            Bank::P => {
                let bit = 1_i64 << self.r.below(24);
                vec![
                    half(self.r, t),
                    Inst::new("and.b32", &[What::Reg(t)], &[What::Reg(t), number(bit)]),
                    Inst::new("setp.ne.u32", &[What::Reg(r)], &[What::Reg(t), number(0)]),
                ]
            }
            Bank::H => {
                let at = self.r.below(4);
                let parts = (0..4).map(|i| if i == at { What::Reg(r) } else { What::Sink }).collect();
                vec![Inst::new("mov.b64", &[What::Vector(parts)], &[What::Reg(word)])]
            }
            Bank::R => match self.r.below(11) {
                // A place in two dimensions, in rows of a length that is a parameter.
                10 => {
                    let at = self.r.below(8) as i64 * 4;
                    let row = Reg(Bank::T, 1);
                    let column =
                        What::Special(self.r.pick::<&str>(&["%tid.x", "%tid.x", "%ctaid.x", "%tid.z"]));
                    vec![
                        Inst::new("ld.param.u32", &[What::Reg(r)], &[What::Named("bag", at)]),
                        Inst::new("mov.u32", &[What::Reg(row)], &[What::Special("%tid.y")]),
                        Inst::new("mov.u32", &[What::Reg(t)], &[column]),
                        Inst::new("mad.lo.u32", &[What::Reg(r)], &[r, row, t].map(What::Reg)),
                    ]
                }
                0 | 1 => {
                    let special = What::Special(SPECIALS[self.r.below(SPECIALS.len())]);
                    vec![Inst::new("mov.u32", &[What::Reg(r)], &[special])]
                }
                2 => {
                    let by = self.r.below(9) as i64 - 2;
                    // Often so that it goes through 0 somewhere in the first warps.
                    let offset = match self.r.percent(40) {
                        true => number(-by * self.r.below(70) as i64),
                        false => What::Constant(self.r.constant(Ty::S32), false),
                    };
                    vec![Inst::new(
                        "mad.lo.s32",
                        &[What::Reg(r)],
                        &[What::Reg(GLOBAL_THREAD), number(by), offset],
                    )]
                }
                3 => {
                    let value = What::Constant(self.r.constant(Ty::U32), false);
                    vec![Inst::new("mov.u32", &[What::Reg(r)], &[value])]
                }
                4 => {
                    let at = self.r.below(8) as i64 * 4;
                    vec![Inst::new("ld.param.u32", &[What::Reg(r)], &[What::Named("bag", at)])]
                }
                _ => vec![half(self.r, r)],
            },
            Bank::F => vec![half(self.r, r)],
            Bank::Q => {
                // No address: where memory lies is no matter of the kernel's.
                let parts = [What::Reg(word), What::Reg(Reg(Bank::A, 9 - word.1))];
                vec![Inst::new("mov.b128", &[What::Reg(r)], &[What::Vector(parts.to_vec())])]
            }
            bank => vec![Inst::new(format!("mov{}", bank.ty()), &[What::Reg(r)], &[What::Reg(word)])],
        };
        Stmt::Group(insts)
    }

    /// Two words of input, each of the thread's own or the same for all.
    fn words(&mut self) -> Stmt {
        let load = |r: &mut Random, to: Reg| {
            let base = if r.percent(25) { Reg(Bank::B, 0) } else { Reg(Bank::B, 2) };
            let at = r.below(layout::INPUT_WORDS as usize) as i64 * 8;
            Inst::new("ld.global.u64", &[What::Reg(to)], &[What::Address(base, at)])
        };
        Stmt::Group([4, 5].map(|n| load(self.r, Reg(Bank::A, n))).to_vec())
    }

    /// Some statements.
    fn block(&mut self, place: &Place) -> Vec<Stmt> {
        let most = [6, 4, 3, 2][place.depth.min(3)];
        let n = 1 + self.r.below(most);
        let mut place = place.clone();
        let mut out = vec![];
        for _ in 0..n {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            out.extend(self.statement(&mut place));
        }
        out
    }

    fn statement(&mut self, place: &mut Place) -> Vec<Stmt> {
        let together = !place.divergent;
        let (t, calm) = (&self.traits, self.is_calm());
        let weights = [
            if calm { 20 } else { 52 },
            14,
            if t.atomics { 9 } else { 0 },
            if place.depth < 4 { 7 } else { 0 },
            if t.loops && place.depth < 3 { 9 } else { 0 },
            if t.warp { 12 } else { 0 },
            if t.barriers && together { 14 } else { 0 },
            if place.loops.is_empty() { 0 } else { 9 },
            if self.kernel.shape.exits && (place.depth == 0 || !t.warp && !t.barriers) { 4 } else { 0 },
            1,
        ];
        let kind = Kind::ALL[self.r.weighted(&weights)];
        self.of_kind(kind, place)
    }

    fn of_kind(&mut self, kind: Kind, place: &mut Place) -> Vec<Stmt> {
        let k = self.kernel.shape;
        match kind {
            Kind::Lane => self.lane(place),
            Kind::Access if self.r.percent(20) => {
                let mut found = Some(memory::pattern(&mut self.maker(place.mask), &k));
                self.maybe_guard(&mut found);
                found.map(Stmt::Group).into_iter().collect()
            }
            Kind::Access => {
                let calm = self.is_calm();
                let mut m = self.maker(place.mask);
                let mut found =
                    (0..6).find_map(|_| memory::access(&mut m, &k).filter(|is| !calm || is_global(is)));
                self.maybe_guard(&mut found);
                found.map(Stmt::Group).into_iter().collect()
            }
            Kind::Atomic => {
                let mut cells = std::mem::take(&mut self.cells);
                let mut m = self.maker(place.mask);
                let mut found = (0..6).find_map(|_| memory::atomic(&mut m, &k, &mut cells));
                self.cells = cells;
                self.maybe_guard(&mut found);
                found.map(Stmt::Group).into_iter().collect()
            }
            Kind::Branch if place.mask.is_none() && self.r.percent(15) => self.switch(place),
            Kind::Branch if self.r.percent(25) => {
                vec![memory::part(&mut self.maker(None), &k)]
            }
            Kind::Branch => self.branch(place),
            Kind::Loop if place.mask.is_none() && self.r.percent(15) => vec![self.walk(false)],
            Kind::Loop => self.looped(place),
            Kind::Warp => self.warp(place),
            Kind::Barrier => self.barrier(place),
            Kind::Leave => self.leave(place),
            Kind::Exit if place.depth == 0 && place.mask.is_none() && self.r.percent(50) => {
                self.thinned(place)
            }
            Kind::Exit => {
                let (mut out, guard) = self.condition();
                let ret = self.r.percent(30);
                out.push(Stmt::Exit { guard, mask: place.mask, ret });
                out
            }
            Kind::Quiet => {
                let mut m = self.maker(None);
                m.any_of(forms(Family::Quiet)).map(Stmt::Inst).into_iter().collect()
            }
        }
    }

    /// Whether the kernel is one of those that do little beside their tiles and trees.
    fn is_calm(&self) -> bool {
        self.kernel.seed & WIDE != 0 && (self.traits.tiles || self.traits.trees)
    }

    fn lane(&mut self, place: &Place) -> Vec<Stmt> {
        let mut m = self.maker(place.mask);
        let Some(mut inst) = m.any_of(forms(Family::Lane)) else { return vec![] };
        if self.r.percent(20) {
            inst.guard = Some(self.any_guard());
        }
        // A carry that nobody has set may be anything on a GPU.
        if reads_carry(&inst.head) && self.r.percent(85) {
            let mut m = self.maker(None);
            let head = *m.r.pick(&["add.cc.u32", "sub.cc.u32", "add.cc.s32"]);
            let sources = [What::Reg(m.reg(Bank::R)), What::Reg(m.reg(Bank::R))];
            let sets = Inst::new(head, &[What::Reg(Reg(Bank::T, 0))], &sources);
            return vec![Stmt::Group(vec![sets, inst])];
        }
        vec![Stmt::Inst(inst)]
    }

    fn any_guard(&mut self) -> Guard {
        Guard { reg: self.maker(None).reg(Bank::P), not: self.r.percent(50) }
    }

    /// A guard on the last instruction of a group, the access itself.
    fn maybe_guard(&mut self, group: &mut Option<Vec<Inst>>) {
        if let Some(last) = group.as_mut().and_then(|g| g.last_mut())
            && self.r.percent(25)
        {
            last.guard = Some(self.any_guard());
        }
    }

    /// A condition, and what computes it.
    fn condition(&mut self) -> (Vec<Stmt>, Guard) {
        let guard = self.any_guard();
        let by_cta = self.is_calm() && self.r.percent(90);
        if !by_cta && self.r.percent(25) {
            return (vec![], guard);
        }
        let p = What::Reg(guard.reg);
        let (place, shape) = (Reg(Bank::T, 0), self.kernel.shape);
        let inst = match if by_cta { 1 } else { self.r.below(8) } {
            // By its place in its row of the block.
            6 => return (memory::by_column(&mut self.maker(None), &shape, guard.reg, place), guard),
            // By a word that is the same for all, which nobody can know.
            7 => return (memory::by_same_word(&mut self.maker(None), &shape, guard.reg, place), guard),
            // By the lane's place.
            0 => {
                let n = self.r.below(40).to_string();
                let cmp = *self.r.pick(&["lt", "ge", "eq", "ne"]);
                let sources = [What::Reg(memory::THREAD), What::Constant(n, false)];
                Inst::new(format!("setp.{cmp}.u32"), &[p], &sources)
            }
            // By the CTA.
            1 => {
                let n = self.r.below(3).to_string();
                let sources = [What::Reg(Reg(Bank::I, 1)), What::Constant(n, false)];
                Inst::new("setp.eq.u32", &[p], &sources)
            }
            _ => {
                let mut m = self.maker(None);
                let rooms = forms(Family::Lane);
                let is_setp = |v: &&Vec<_>| v.iter().any(|f: &crate::instruction::OpForm| f.opcode == "setp");
                let found = rooms.iter().find(is_setp).map(std::slice::from_ref);
                match found.and_then(|room| m.any_of(room)) {
                    Some(mut inst) => {
                        inst.operands[0] = Operand::dest(p);
                        inst.operands.retain(|o| !o.pair);
                        inst
                    }
                    None => return (vec![], guard),
                }
            }
        };
        (vec![Stmt::Inst(inst)], guard)
    }

    fn branch(&mut self, place: &Place) -> Vec<Stmt> {
        let (mut out, guard) = self.condition();
        let mut inner = Place { divergent: true, depth: place.depth + 1, in_branch: true, ..place.clone() };
        let mask = place.mask.map(|all| [all, self.fresh(Bank::M), self.fresh(Bank::M)]);
        inner.mask = mask.map(|m| m[1]);
        let then = self.block(&inner);
        inner.mask = mask.map(|m| m[2]);
        let otherwise = if self.r.percent(45) { self.block(&inner) } else { vec![] };
        out.push(Stmt::If { guard, mask, then, otherwise });
        out
    }

    /// Somewhere in the body one thread accesses what is not there.
    fn beyond(&mut self) {
        let (shape, end) = (self.kernel.shape, 8 * self.kernel.memory_words());
        let mut insts = memory::beyond(&mut self.maker(None), &shape, end);
        // Only registers that have a value; conditions that these instructions make themselves have one.
        insts.retain_mut(|i| {
            if i.guard.is_some_and(|g| Bank::GENERAL.contains(&g.reg.0) && !self.kernel.has_value(g.reg)) {
                i.guard = None;
            }
            i.reads().into_iter().all(|r| !Bank::GENERAL.contains(&r.0) || self.kernel.has_value(r))
        });
        let mut stmt = Stmt::Group(insts);
        let guard = self.any_guard();
        if self.r.percent(60) && self.kernel.has_value(guard.reg) && !self.traits.warp {
            stmt = Stmt::If { guard, mask: None, then: vec![stmt], otherwise: vec![] };
        }
        let at = self.r.below(self.kernel.body.len() + 1);
        self.kernel.body.insert(at, stmt);
        self.kernel.faults = true;
    }

    /// Some threads end by their place, and the others come to loops behind branches that all of them take, though nobody can know: groups go on
    /// there with the lanes that are left.
    fn thinned(&mut self, place: &Place) -> Vec<Stmt> {
        let guard = Guard { reg: self.maker(None).reg(Bank::P), not: self.r.percent(50) };
        let (shape, at) = (self.kernel.shape, Reg(Bank::T, 0));
        let mut out = memory::by_column(&mut self.maker(None), &shape, guard.reg, at);
        out.push(Stmt::Exit { guard, mask: None, ret: self.r.percent(30) });
        if self.r.percent(70) {
            let which = self.maker(None).reg(Bank::P);
            out.extend(memory::by_same_word(&mut self.maker(None), &shape, which, at));
            let then = self.loop_or_walk(&Place { depth: place.depth + 1, in_branch: true, ..place.clone() });
            let guard = Guard { reg: which, not: self.r.percent(50) };
            out.push(Stmt::If { guard, mask: None, then, otherwise: vec![] });
        }
        out.extend(self.loop_or_walk(place));
        out
    }

    fn loop_or_walk(&mut self, place: &Place) -> Vec<Stmt> {
        if self.r.percent(60) { vec![self.walk(true)] } else { self.looped(place) }
    }

    /// One of several ways; the masks of warp operations know of two only.
    fn switch(&mut self, place: &Place) -> Vec<Stmt> {
        let inner = Place { divergent: true, depth: place.depth + 1, in_branch: true, ..place.clone() };
        let by = self.maker(None).reg(Bank::R);
        let n = *self.r.pick(&[2, 4, 4]);
        let ways: Vec<Vec<Stmt>> = (0..n).map(|_| self.block(&inner)).collect();
        let falls = ways.iter().map(|_| self.r.percent(25)).collect();
        vec![Stmt::Switch { by, ways, falls }]
    }

    /// Every row of the block reads on through the input in a loop, all by the same step; `long` if it makes some turns for certain.
    fn walk(&mut self, long: bool) -> Stmt {
        let (counter, turns, condition) = (self.fresh(Bank::K), self.fresh(Bank::N), self.fresh(Bank::G));
        let most = 5;
        let times = match self.r.below(2) {
            _ if long => {
                Inst::new("mov.u32", &[What::Reg(turns)], &[memory::constant(most - self.r.below(2))])
            }
            0 => Inst::new("mov.u32", &[What::Reg(turns)], &[memory::constant(1 + self.r.below(most))]),
            _ => {
                let sources = [What::Reg(Reg(Bank::I, 1)), memory::constant(3)];
                Inst::new("and.b32", &[What::Reg(turns)], &sources)
            }
        };
        let shape = self.kernel.shape;
        let (lines, body) = memory::walk(&mut self.maker(None), &shape, most);
        let looks_first = self.r.percent(50);
        let body = vec![Stmt::Group(body)];
        let l = Loop {
            counter,
            turns,
            setup: vec![times],
            condition,
            looks_first,
            divergent: false,
            masks: None,
            body,
        };
        Stmt::Fixed(vec![Stmt::Group(lines), Stmt::Loop(l)])
    }

    /// A tree in shared memory.
    fn tree(&mut self) -> Stmt {
        let (counter, turns, condition) = (self.fresh(Bank::K), self.fresh(Bank::N), self.fresh(Bank::G));
        let shape = self.kernel.shape;
        let (times, before, body, after) = memory::tree(&mut self.maker(None), &shape);
        // As many as it takes, or fewer.
        let times = if self.r.percent(80) { times } else { 1 + self.r.below(times) };
        let setup = vec![Inst::new("mov.u32", &[What::Reg(turns)], &[memory::constant(times)])];
        let looks_first = self.r.percent(30);
        let l = Loop { counter, turns, setup, condition, looks_first, divergent: false, masks: None, body };
        Stmt::Fixed(vec![Stmt::Group(before), Stmt::Loop(l), Stmt::Group(after)])
    }

    fn looped(&mut self, place: &Place) -> Vec<Stmt> {
        let (counter, turns, condition) = (self.fresh(Bank::K), self.fresh(Bank::N), self.fresh(Bank::G));
        // The same number of turns for all, as a constant, from memory (where nobody can know that it is the same), or of the CTA.
        let divergent = place.divergent || self.r.percent(if self.is_calm() { 5 } else { 60 });
        let mask = [7, 3, 3][place.depth.min(2)];
        let long = place.depth < self.traits.long;
        let setup = if divergent {
            let source = self.maker(None).reg(Bank::R);
            let and = if long { 511 } else { mask };
            let and = Inst::new(
                "and.b32",
                &[What::Reg(turns)],
                &[What::Reg(source), What::Constant(and.to_string(), false)],
            );
            let add = Inst::new(
                "add.u32",
                &[What::Reg(turns)],
                &[What::Reg(turns), What::Constant(self.r.below(3).to_string(), false)],
            );
            vec![and, add]
        } else {
            vec![match self.r.below(3) {
                0 => {
                    let n = 1 + self.r.below(4);
                    Inst::new("mov.u32", &[What::Reg(turns)], &[What::Constant(n.to_string(), false)])
                }
                1 => Inst::new(
                    "ld.global.u32",
                    &[What::Reg(turns)],
                    &[What::Address(Reg(Bank::B, 2), self.kernel.shape.same_at() as i64)],
                ),
                _ => Inst::new(
                    "and.b32",
                    &[What::Reg(turns)],
                    &[What::Reg(Reg(Bank::I, 1)), What::Constant("3".into(), false)],
                ),
            }]
        };
        let masks = place.mask.map(|all| [all, self.fresh(Bank::M), self.fresh(Bank::M)]);
        let mut inner = Place { depth: place.depth + 1, in_branch: false, ..place.clone() };
        inner.divergent = divergent;
        inner.leaves_innermost = divergent;
        inner.mask = masks.map(|m| m[2]);
        if divergent {
            inner.loops.push((counter, masks));
        }
        let mut body = self.block(&inner);
        if self.r.percent(40) {
            // The counter is worth reading.
            let r = self.maker(None).reg(Bank::R);
            let head = *self.r.pick(&["add.u32", "xor.b32", "mul.lo.u32", "max.s32"]);
            let inst = Inst::new(head, &[What::Reg(r)], &[What::Reg(r), What::Reg(counter)]);
            body.push(Stmt::Inst(inst));
        }
        let looks_first = self.r.percent(50);
        let l = Loop { counter, turns, setup, condition, looks_first, divergent, masks, body };
        let mut out = vec![Stmt::Loop(l)];
        if self.r.percent(30) {
            // The same in all lanes while they go round, and no longer when they have come out one by one.
            let r = self.maker(None).reg(Bank::R);
            out.push(Stmt::Inst(Inst::new("mov.u32", &[What::Reg(r)], &[What::Reg(counter)])));
        }
        out
    }

    fn warp(&mut self, place: &Place) -> Vec<Stmt> {
        let Some(mask) = place.mask else { return vec![] };
        if self.r.percent(10) {
            let k = self.kernel.shape;
            return vec![Stmt::Group(memory::warp_exchange(&mut self.maker(Some(mask)), &k, mask))];
        }
        let some = self.r.percent(25);
        if !some {
            let inst = self.warp_inst(mask);
            return inst.map(Stmt::Inst).into_iter().collect();
        }
        // Only some lanes, who know of each other.
        let guard = self.any_guard();
        let fewer = self.fresh(Bank::M);
        let Some(inst) = self.warp_inst(fewer) else { return vec![] };
        let mut ballot =
            Inst::new("vote.sync.ballot.b32", &[What::Reg(fewer)], &[What::Reg(guard.reg), What::Reg(mask)]);
        ballot.operands[1].not = guard.not;
        vec![Stmt::Group(vec![ballot, inst.guarded(guard)])]
    }

    fn warp_inst(&mut self, mask: Reg) -> Option<Inst> {
        let inst = self.maker(Some(mask)).any_of(forms(Family::Warp));
        // Engines take lanes out of long loops at different times, for the sake of those that wait; PTX allows it.
        inst.filter(|i| self.traits.long == 0 || !i.head.starts_with("activemask"))
    }

    /// Something with a barrier; all threads of the CTA are here.
    fn barrier(&mut self, place: &Place) -> Vec<Stmt> {
        let k = self.kernel.shape;
        match self.r.below(10) {
            6.. if self.is_calm() => vec![self.walk(false)],
            0..=5 if self.traits.trees => vec![self.tree()],
            0..=5 if self.traits.tiles => vec![Stmt::Group(memory::tile(&mut self.maker(place.mask), &k))],
            0..=5 => vec![Stmt::Group(memory::exchange(&mut self.maker(place.mask), &k))],
            6 => vec![Stmt::Inst(memory::barrier(&mut self.maker(place.mask), &k))],
            7 => {
                let mut m = self.maker(place.mask);
                vec![memory::producers(&mut m, &k).unwrap_or_else(|| Stmt::Inst(memory::barrier(&mut m, &k)))]
            }
            // Threads wait for each other in different places.
            _ => {
                let (mut out, guard) = self.condition();
                let id = What::Constant(self.r.below(3).to_string(), false);
                let mut inner =
                    Place { divergent: true, depth: place.depth + 1, in_branch: true, ..place.clone() };
                let mask = place.mask.map(|all| [all, self.fresh(Bank::M), self.fresh(Bank::M)]);
                inner.loops.clear();
                // All of them are told the same, wherever they wait.
                let reduces = self.r.percent(25).then(|| {
                    let inst = memory::reduction(&mut self.maker(None), vec![id.clone()]);
                    Inst { head: inst.head.replace(".aligned", "").replace("bar.", "barrier."), ..inst }
                });
                let [then, otherwise] = [1, 2].map(|i| {
                    inner.mask = mask.map(|m| m[i]);
                    let mut stmts = self.block_without_leaving(&inner);
                    let plain = || Inst::new("barrier.sync", &[], std::slice::from_ref(&id));
                    let wait = Stmt::Inst(reduces.clone().unwrap_or_else(plain));
                    stmts.insert(self.r.below(stmts.len() + 1), wait);
                    stmts
                });
                out.push(Stmt::Fixed(vec![Stmt::If { guard, mask, then, otherwise }]));
                out
            }
        }
    }

    /// A block that every thread runs to its end, or ends in.
    fn block_without_leaving(&mut self, place: &Place) -> Vec<Stmt> {
        let mut inner = place.clone();
        (0..1 + self.r.below(3)).flat_map(|_| self.statement(&mut inner)).collect()
    }

    fn leave(&mut self, place: &Place) -> Vec<Stmt> {
        // With masks only the innermost loop, and from its body itself: those of branches in between would be wrong.
        let warp = place.mask.is_some();
        let which = if warp { place.loops.len() - 1 } else { self.r.below(place.loops.len()) };
        let (counter, masks) = place.loops[which];
        if warp && (place.in_branch || !place.leaves_innermost) {
            return vec![];
        }
        let (mut out, guard) = self.condition();
        // With masks a loop has one kind only: who has gone on with the next turn would not learn who leaves after that.
        let goes_on = self.r.percent(40);
        let goes_on = if warp { counter.1 % 2 == 0 } else { goes_on };
        let masks = masks.map_or(vec![], |m| if goes_on { vec![m[2]] } else { vec![m[1], m[2]] });
        out.push(Stmt::Leave { guard, counter, goes_on, masks });
        out
    }
}

/// Whether instructions access global memory, and say so.
fn is_global(insts: &[Inst]) -> bool {
    insts.last().is_some_and(|i| i.to_string().contains(".global"))
}

/// Registers that statements use besides writing, and that they write.
fn collect(stmts: &[Stmt], used: &mut Vec<Reg>, written: &mut Vec<Reg>) {
    fn inst(i: &Inst, used: &mut Vec<Reg>, written: &mut Vec<Reg>) {
        used.extend(i.reads());
        written.extend(i.writes());
    }
    for s in stmts {
        match s {
            Stmt::Inst(i) => inst(i, used, written),
            Stmt::Group(is) => is.iter().for_each(|i| inst(i, used, written)),
            Stmt::Fixed(stmts) => collect(stmts, used, written),
            Stmt::If { guard, then, otherwise, .. } => {
                used.push(guard.reg);
                collect(then, used, written);
                collect(otherwise, used, written);
            }
            Stmt::Switch { by, ways, .. } => {
                used.push(*by);
                ways.iter().for_each(|w| collect(w, used, written));
            }
            Stmt::Loop(l) => {
                l.setup.iter().for_each(|i| inst(i, used, written));
                collect(&l.body, used, written);
            }
            Stmt::Leave { guard, .. } | Stmt::Exit { guard, .. } => used.push(guard.reg),
        }
    }
}

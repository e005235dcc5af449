//! Random functions: the engine against a machine written from the IR's description alone, lane by lane, which also checks
//! everything the plan claims while it runs.

use super::*;
use hostwarp_ir::eval::eval_op;
use hostwarp_ir::*;
use hostwarp_plan::{Invariance, Plan, Shape};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

const INPUT: u64 = 4096;
const INTS: [IntBin; 12] = {
    use IntBin::*;
    [Add, Add, Sub, Mul, And, Xor, Shl, ShrU, MinS, MaxU, DivU, AbsDiffS]
};

/// A random function over a few variables. Structured: ifs and counted loops in each other. Otherwise blocks jump anywhere, and a
/// counter sees to it that they end.
struct Generator {
    b: Builder,
    r: Random,
    ints: Vec<Var>,
    wides: Vec<Var>,
    floats: Vec<Var>,
    bits: Vec<Var>,
    /// What can be used besides variables.
    fixed: Vec<Value>,
    input: Value,
}

impl Generator {
    fn pick(&mut self, vars: fn(&Generator) -> &Vec<Var>) -> Var {
        let n = vars(self).len();
        let i = self.r.below(n);
        vars(self)[i]
    }

    fn int(&mut self) -> Value {
        match self.r.below(4) {
            0 => self.fixed[self.r.below(self.fixed.len())],
            1 => {
                let c = self.r.next() % 9;
                self.b.iconst(Type::I32, c)
            }
            _ => {
                let v = self.pick(|g| &g.ints);
                self.b.get(v)
            }
        }
    }

    fn bit(&mut self) -> Value {
        let v = self.pick(|g| &g.bits);
        self.b.get(v)
    }

    fn assign(&mut self) {
        match self.r.below(9) {
            0..=2 => {
                let op = INTS[self.r.below(INTS.len())];
                let (a, c) = (self.int(), self.int());
                let v = self.b.int(op, a, c);
                let to = self.pick(|g| &g.ints);
                self.b.set(to, v);
            }
            3 => {
                let v = self.int();
                let signed = self.r.below(2) == 0;
                let wide = self.b.ext(v, Elem::I64, signed);
                let from = self.pick(|g| &g.wides);
                let old = self.b.get(from);
                let sum = self.b.int(INTS[self.r.below(4)], old, wide);
                let to = self.pick(|g| &g.wides);
                self.b.set(to, sum);
            }
            4 => {
                let from = self.pick(|g| &g.wides);
                let old = self.b.get(from);
                let v = self.b.zext(old, Elem::I32);
                let to = self.pick(|g| &g.ints);
                self.b.set(to, v);
            }
            5 => {
                let op = IntCmp::ALL[self.r.below(6)];
                let (a, c) = (self.int(), self.int());
                let v = self.b.cmp(op, a, c);
                let to = self.pick(|g| &g.bits);
                self.b.set(to, v);
            }
            6 => {
                let (c, x, y) = (self.bit(), self.int(), self.int());
                let v = self.b.select(c, x, y);
                let to = self.pick(|g| &g.ints);
                self.b.set(to, v);
            }
            7 => {
                // A load somewhere in the input, now and then guarded.
                let i = self.int();
                let i = self.b.int_imm(IntBin::And, i, INPUT / 4 - 1);
                let input = self.input;
                let at = element(&mut self.b, input, i, 4);
                let guard = (self.r.below(3) == 0).then(|| self.bit());
                let v = self.b.guarded(Op::Load(Mem::weak(Space::Global)), &[at], guard, Type::I32);
                let to = self.pick(|g| &g.ints);
                self.b.set(to, v);
            }
            _ => {
                let (x, y) = (self.pick(|g| &g.floats), self.pick(|g| &g.floats));
                let (x, y) = (self.b.get(x), self.b.get(y));
                let i = self.int();
                let i = self.b.inst(Op::IntToF { signed: true, round: Round::Nearest }, &[i], Type::F32);
                let sum = self.b.float(FBin::Add, Round::Nearest, false, x, i);
                let v = self.b.inst(Op::FMin { nan: false }, &[sum, y], Type::F32);
                let to = self.pick(|g| &g.floats);
                self.b.set(to, v);
            }
        }
    }

    fn structured(&mut self, depth: u32) {
        for _ in 0..1 + self.r.below(4) {
            match self.r.below(if depth == 0 { 4 } else { 8 }) {
                0..=3 => self.assign(),
                4 | 5 => {
                    let c = self.bit();
                    let (yes, no, join) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
                    self.b.branch(c, yes, no);
                    self.b.switch_to(yes);
                    self.structured(depth - 1);
                    self.b.jump(join);
                    self.b.switch_to(no);
                    if self.r.below(2) == 0 {
                        self.structured(depth - 1);
                    }
                    if self.r.below(12) == 0 {
                        self.b.terminate(Term::Exit);
                    }
                    self.b.jump(join);
                    self.b.switch_to(join);
                }
                _ => self.counted(depth),
            }
        }
    }

    /// A loop of a few iterations, as many in each lane or not, with a way out in the middle now and then.
    fn counted(&mut self, depth: u32) {
        let (head, body, out) = (self.b.new_block(), self.b.new_block(), self.b.new_block());
        let k = self.b.new_var(Type::I32);
        let zero = self.b.iconst(Type::I32, 0);
        self.b.set(k, zero);
        let end = self.int();
        let end = self.b.int_imm(IntBin::And, end, 3);
        self.b.jump(head);
        self.b.switch_to(head);
        let i = self.b.get(k);
        let c = self.b.cmp(IntCmp::LtU, i, end);
        self.b.branch(c, body, out);
        self.b.switch_to(body);
        self.structured(depth - 1);
        if self.r.below(3) == 0 {
            let c = self.bit();
            let on = self.b.new_block();
            self.b.branch(c, out, on);
            self.b.switch_to(on);
        }
        let i = self.b.get(k);
        let i = self.b.int_imm(IntBin::Add, i, 1);
        self.b.set(k, i);
        // Seen outside too, so that the last iteration matters.
        let to = self.pick(|g| &g.ints);
        if self.r.below(3) == 0 {
            self.b.set(to, i);
        }
        self.b.jump(head);
        self.b.switch_to(out);
    }

    fn tangled(&mut self) {
        let n = 3 + self.r.below(6);
        let blocks: Vec<Block> = (0..n).map(|_| self.b.new_block()).collect();
        let end = self.b.new_block();
        let fuel = self.b.new_var(Type::I32);
        let full = self.b.iconst(Type::I32, 12);
        self.b.set(fuel, full);
        self.b.jump(blocks[0]);
        for b in &blocks {
            self.b.switch_to(*b);
            let left = self.b.get(fuel);
            let left = self.b.int_imm(IntBin::Sub, left, 1);
            self.b.set(fuel, left);
            for _ in 0..self.r.below(4) {
                self.assign();
            }
            let none = self.b.cmp_imm(IntCmp::Eq, left, 0);
            let on = self.b.new_block();
            self.b.branch(none, end, on);
            self.b.switch_to(on);
            let mut to = || if self.r.below(8) == 0 { end } else { blocks[self.r.below(n)] };
            let targets = [to(), to(), to()].map(Target::new);
            match self.r.below(4) {
                0 => self.b.jump(targets[0].block),
                1 => {
                    let v = self.int();
                    self.b.terminate(Term::Switch(v, targets.to_vec()));
                }
                _ => {
                    let c = self.bit();
                    self.b.branch(c, targets[0].block, targets[1].block);
                }
            }
        }
        self.b.switch_to(end);
    }
}

/// A function that reads the input (parameter 0) and writes its variables to the output (parameter 1), 64 bytes per thread.
fn random_function(seed: u64) -> Function {
    let mut b = Builder::new("random");
    let input = param(&mut b, 0);
    let output = param(&mut b, 1);
    let t = tid(&mut b);
    let lane = b.special(Special::LaneId);
    let cta = b.special(Special::Ctaid(Axis::X));
    let mut g = Generator {
        ints: (0..4).map(|_| b.new_var(Type::I32)).collect(),
        wides: (0..2).map(|_| b.new_var(Type::I64)).collect(),
        floats: (0..2).map(|_| b.new_var(Type::F32)).collect(),
        bits: (0..3).map(|_| b.new_var(Type::I1)).collect(),
        fixed: vec![t, lane, cta],
        r: Random(seed),
        input,
        b,
    };
    if seed.is_multiple_of(3) {
        g.tangled()
    } else {
        g.structured(3)
    }
    let mut b = g.b;
    let cta = b.special(Special::Ctaid(Axis::X));
    let size = b.special(Special::Ntid(Axis::X));
    let first = b.mul(cta, size);
    let t = tid(&mut b);
    let i = b.add(first, t);
    let row = element(&mut b, output, i, 64);
    let mut at = 0;
    for v in g.ints.iter().chain(&g.wides).chain(&g.floats).chain(&g.bits) {
        let mut x = b.get(*v);
        if b.ty(x) == Type::I1 {
            x = b.zext(x, Elem::I32);
        }
        let size = b.ty(x).bytes() as u64;
        at = u64::next_multiple_of(at, size);
        let addr = b.int_imm(IntBin::Add, row, at);
        store(&mut b, Space::Global, addr, x);
        at += size;
    }
    assert!(at <= 64);
    b.terminate(Term::Exit);
    b.finish()
}

/// Runs one warp lane by lane in the plan's order and checks the plan on the way.
struct Model<'a> {
    func: &'a Function,
    plan: &'a Plan,
    /// One value per lane; `None` if not computed there.
    values: Vec<[Option<u64>; 32]>,
    /// What invariant values were first.
    first: Vec<Option<u64>>,
    pc: [Option<Block>; 32],
    input: &'a [u32],
    bases: [u64; 2],
    cta: u64,
    warp: u64,
    threads: u64,
    /// Bytes written, by address.
    written: Vec<(u64, u64, usize)>,
}

impl Model<'_> {
    fn run(&mut self) {
        let mut last = None;
        while self.pc.iter().any(Option::is_some) {
            let there = self.pc.iter().flatten().map(|b| self.plan.position[b.index()]);
            let there: Vec<u32> = there.collect();
            let next = self.plan.runs_next(last, &there);
            last = Some(next);
            let block = self.plan.order[next as usize];
            let lanes: Vec<usize> = (0..32).filter(|l| self.pc[*l] == Some(block)).collect();
            if !self.plan.masked[block.index()] {
                assert_eq!(
                    lanes.len(),
                    32,
                    "{block} is run by some lanes only: {lanes:?}\n{}{}",
                    self.plan,
                    self.func
                );
            }
            let data = self.func.block(block);
            for i in &data.insts {
                for a in i.args.iter().chain(&i.guard) {
                    self.check(*a, &lanes);
                }
                for l in &lanes {
                    let v = self.inst(i, *l);
                    if let Some(r) = i.result {
                        self.values[r.index()][*l] = v;
                    }
                }
                if let Some(r) = i.result {
                    self.check(r, &lanes);
                }
            }
            let mut went = vec![];
            for l in &lanes {
                went.push(self.leave(data, *l));
            }
            if !self.plan.divergent[block.index()] {
                assert!(
                    went.windows(2).all(|w| w[0] == w[1]),
                    "{block} splits lanes\n{}{}",
                    self.plan,
                    self.func
                );
            }
        }
    }

    fn get(&self, v: Value, lane: usize) -> u64 {
        self.values[v.index()][lane].expect("computed before it is used")
    }

    /// What the plan claims of a value, over the lanes that are running.
    fn check(&mut self, v: Value, lanes: &[usize]) {
        let of = |l: usize| self.get(v, l);
        let (l0, mask) = (lanes[0], self.func.ty(v).elem.mask());
        match self.plan.shape[v.index()] {
            Shape::Uniform => {
                assert!(
                    lanes.iter().all(|l| of(*l) == of(l0)),
                    "{v} is not uniform:\n{}{}",
                    self.plan,
                    self.func
                )
            }
            Shape::Affine { stride, may_wrap: false, by_row: false } => {
                for l in lanes {
                    let want = of(l0).wrapping_add(((l - l0) as i64).wrapping_mul(stride) as u64) & mask;
                    assert_eq!(of(*l), want, "{v} does not go up by {stride}:\n{}{}", self.plan, self.func);
                }
            }
            Shape::Affine { .. } | Shape::Varying => {}
        }
        if self.plan.invariance[v.index()] != Invariance::None {
            let now = of(l0);
            assert!(lanes.iter().all(|l| of(*l) == now));
            assert_eq!(*self.first[v.index()].get_or_insert(now), now, "{v} changes");
        }
    }

    fn inst(&mut self, i: &Inst, lane: usize) -> Option<u64> {
        if i.guard.is_some_and(|g| self.get(g, lane) == 0) {
            return Some(0);
        }
        let args: Vec<u64> = i.args.iter().map(|a| self.get(*a, lane)).collect();
        match i.op {
            Op::Special(s) => Some(match s {
                Special::Tid(Axis::X) => self.warp * 32 + lane as u64,
                Special::LaneId => lane as u64,
                Special::Ctaid(Axis::X) => self.cta,
                Special::Ntid(Axis::X) => self.threads,
                other => panic!("{other:?} is not made"),
            }),
            Op::Load(m) if m.space == Space::Param => Some(self.bases[args[0] as usize / 8]),
            Op::Load(_) => Some(u64::from(self.input[((args[0] - self.bases[0]) / 4) as usize])),
            Op::Store(_) => {
                let ty = self.func.ty(i.args[1]);
                let nan = ty == Type::F32 && f32::from_bits(args[1] as u32).is_nan();
                self.written.push((args[0], if nan { 0x7fff_ffff } else { args[1] }, ty.bytes()));
                None
            }
            op => {
                let columns: Vec<[u64; 1]> = args.iter().map(|a| [*a]).collect();
                let columns: Vec<&[u64]> = columns.iter().map(|c| c.as_slice()).collect();
                let types: Vec<Type> = i.args.iter().map(|a| self.func.ty(*a)).collect();
                let result = self.func.ty(i.result.expect("pure"));
                Some(eval_op(op, &columns, &types, result, 1).unwrap_or_else(|| panic!("{op}"))[0])
            }
        }
    }

    fn leave(&mut self, data: &BlockData, lane: usize) -> Option<Block> {
        let to = match &data.term {
            Term::Jump(t) => t,
            Term::Branch(c, yes, no) => {
                if self.get(*c, lane) != 0 {
                    yes
                } else {
                    no
                }
            }
            Term::Switch(v, ts) => &ts[(self.get(*v, lane) as usize).min(ts.len() - 1)],
            Term::Exit => {
                self.pc[lane] = None;
                return None;
            }
            other => panic!("{other:?} is not made"),
        };
        let args: Vec<u64> = to.args.iter().map(|a| self.get(*a, lane)).collect();
        for (p, a) in self.func.block(to.block).params.iter().zip(args) {
            self.values[p.index()][lane] = Some(a);
        }
        self.pc[lane] = Some(to.block);
        Some(to.block)
    }
}

fn check_seed(seed: u64) {
    let mut func = random_function(seed);
    if seed.is_multiple_of(2) {
        optimize(&mut func);
    }
    verify_primitive(&func).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    let threads = [64, 96, 544][seed as usize % 3];
    let device = device();
    let mut random = Random(!seed);
    let words: Vec<u32> = (0..INPUT / 4).map(|_| (random.next() >> (random.next() % 60)) as u32).collect();
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let input = device.alloc(INPUT).expect("room");
    device.write(input, &bytes).expect("inside");
    let size = 2 * u64::from(threads) * 64;
    let output = device.alloc(size).expect("room");
    let assume = Assume { contiguous_x: true, share_slots: !seed.is_multiple_of(5), ..Assume::default() };
    let levels = Level::available();
    let program = Program::with_level(func.clone(), assume, levels[seed as usize % levels.len()]);
    let mut launch = Launch::new(&program, &device, [2, 1, 1], [threads, 1, 1]);
    launch.set_params(&params(&[input, output]));
    let budget = if seed.is_multiple_of(7) { 0 } else { u64::MAX };
    let room = if seed.is_multiple_of(4) { Cta::new } else { Cta::for_some };
    assert_eq!(run_in(&launch, budget, room), Outcome::Done);
    let mut got = vec![0; size as usize];
    device.read(output, &mut got).expect("inside");
    let mut want = vec![0; size as usize];
    for cta in 0..2 {
        for warp in 0..u64::from(threads) / 32 {
            let mut model = Model {
                func: &func,
                plan: program.plan(),
                values: vec![[None; 32]; func.types.len()],
                first: vec![None; func.types.len()],
                pc: [Some(Block::ENTRY); 32],
                input: &words,
                bases: [input, output],
                cta,
                warp,
                threads: threads.into(),
                written: vec![],
            };
            model.run();
            for (addr, bits, size) in model.written {
                want[(addr - output) as usize..][..size].copy_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
    }
    for t in 0..size as usize / 64 {
        assert_eq!(
            got[t * 64..][..64],
            want[t * 64..][..64],
            "seed {seed}, thread {t}\n{func}{}",
            program.plan()
        );
    }
}

#[test]
fn random_functions_agree_and_keep_the_plans_promises() {
    for seed in 0..400 {
        check_seed(seed);
    }
}

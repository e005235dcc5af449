//! A generated kernel: structured, so that it can be made smaller, and its text.

use hostwarp_isa::Ty;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A kind of register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bank {
    /// Predicates.
    P,
    /// 16 bits.
    H,
    /// 32 bits.
    R,
    /// f32
    F,
    /// 64 bits.
    L,
    /// f64
    D,
    /// 128 bits.
    Q,
    /// 32 bits for the length of a statement.
    T,
    /// 64 bits for the length of a statement: addresses.
    A,
    /// Turns of loops so far.
    K,
    /// Turns that loops make.
    N,
    /// Conditions of loops.
    G,
    /// Lanes of the warp that are here together.
    M,
    /// What the prologue computes: see [`Kernel::text`].
    B,
    /// As `B`, in 32 bits.
    I,
    /// 16 bits that nobody looks at.
    X,
}

impl Bank {
    /// The banks instructions work on.
    pub const GENERAL: [Bank; 7] = [Bank::P, Bank::H, Bank::R, Bank::F, Bank::L, Bank::D, Bank::Q];

    /// The type its registers are declared with.
    pub fn ty(self) -> Ty {
        match self {
            Bank::P | Bank::G => Ty::Pred,
            Bank::H | Bank::X => Ty::B16,
            Bank::R | Bank::T | Bank::K | Bank::N | Bank::M | Bank::I => Ty::B32,
            Bank::F => Ty::F32,
            Bank::L | Bank::A | Bank::B => Ty::B64,
            Bank::D => Ty::F64,
            Bank::Q => Ty::B128,
        }
    }

    fn letter(self) -> &'static str {
        match self {
            Bank::P => "p",
            Bank::H => "h",
            Bank::R => "r",
            Bank::F => "f",
            Bank::L => "l",
            Bank::D => "d",
            Bank::Q => "q",
            Bank::T => "t",
            Bank::A => "a",
            Bank::K => "k",
            Bank::N => "n",
            Bank::G => "g",
            Bank::M => "m",
            Bank::B => "base",
            Bank::I => "id",
            Bank::X => "x",
        }
    }
}

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Reg(pub Bank, pub u8);

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "%{}{}", self.0.letter(), self.1)
    }
}

/// What stands in an operand place.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A register.
    Reg(Reg),
    /// A constant, as it is written, and whether it is a float.
    Constant(String, bool),
    /// `_`
    Sink,
    /// `{a, b}`
    Vector(Vec<What>),
    /// `[a+8]`
    Address(Reg, i64),
    /// `[name+8]`
    Named(&'static str, i64),
    /// A special register.
    Special(&'static str),
    /// The address of a variable.
    Name(&'static str),
}

/// An operand.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// What it is.
    pub what: What,
    /// It is written to.
    pub dest: bool,
    /// Joined to the operand before it by `|`.
    pub pair: bool,
    /// Has a minus.
    pub neg: bool,
    /// Has an exclamation mark.
    pub not: bool,
    /// Its selector, with the dot.
    pub selector: Option<&'static str>,
}

impl Operand {
    /// A plain source.
    pub fn source(what: What) -> Operand {
        Operand { what, dest: false, pair: false, neg: false, not: false, selector: None }
    }

    /// A plain destination.
    pub fn dest(what: What) -> Operand {
        Operand { dest: true, ..Operand::source(what) }
    }
}

/// `@p` or `@!p`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The predicate.
    pub reg: Reg,
    /// Complemented.
    pub not: bool,
}

impl Guard {
    /// The opposite.
    pub fn inverted(self) -> Guard {
        Guard { not: !self.not, ..self }
    }
}

/// One instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct Inst {
    /// Its guard.
    pub guard: Option<Guard>,
    /// Opcode and modifiers.
    pub head: String,
    /// Operands.
    pub operands: Vec<Operand>,
    /// The form it was made from, if it was made at random.
    pub form: Option<&'static str>,
}

impl Inst {
    /// From the head, the destinations and the sources.
    pub fn new(head: impl Into<String>, dests: &[What], sources: &[What]) -> Inst {
        let dests = dests.iter().cloned().map(Operand::dest);
        let operands = dests.chain(sources.iter().cloned().map(Operand::source)).collect();
        Inst { guard: None, head: head.into(), operands, form: None }
    }

    /// With a guard.
    pub fn guarded(self, guard: Guard) -> Inst {
        Inst { guard: Some(guard), ..self }
    }

    /// Registers it writes.
    pub fn writes(&self) -> Vec<Reg> {
        let mut out = vec![];
        for o in self.operands.iter().filter(|o| o.dest) {
            registers(&o.what, &mut out);
        }
        out
    }

    /// Registers it reads.
    pub fn reads(&self) -> Vec<Reg> {
        let mut out: Vec<Reg> = self.guard.iter().map(|g| g.reg).collect();
        for o in self.operands.iter().filter(|o| !o.dest) {
            registers(&o.what, &mut out);
        }
        out
    }
}

fn registers(what: &What, out: &mut Vec<Reg>) {
    match what {
        What::Reg(r) | What::Address(r, _) => out.push(*r),
        What::Vector(es) => es.iter().for_each(|e| registers(e, out)),
        _ => {}
    }
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            What::Reg(r) => r.fmt(f),
            What::Constant(text, _) => f.write_str(text),
            What::Sink => f.write_str("_"),
            What::Vector(es) => {
                let parts: Vec<String> = es.iter().map(What::to_string).collect();
                write!(f, "{{{}}}", parts.join(", "))
            }
            What::Address(r, 0) => write!(f, "[{r}]"),
            What::Address(r, at) => write!(f, "[{r}{at:+}]"),
            What::Named(name, at) => write!(f, "[{name}{at:+}]"),
            What::Special(name) | What::Name(name) => f.write_str(name),
        }
    }
}

impl std::fmt::Display for Inst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(g) = self.guard {
            write!(f, "@{}{} ", if g.not { "!" } else { "" }, g.reg)?;
        }
        f.write_str(&self.head)?;
        for (i, o) in self.operands.iter().enumerate() {
            let before = match (i, o.pair) {
                (0, _) => " ",
                (_, true) => "|",
                _ => ", ",
            };
            let sign = match (o.neg, o.not) {
                (true, _) => "-",
                (_, true) => "!",
                _ => "",
            };
            write!(f, "{before}{sign}{}{}", o.what, o.selector.unwrap_or(""))?;
        }
        f.write_str(";")
    }
}

/// One statement.
#[derive(Clone, PartialEq, Debug)]
pub enum Stmt {
    /// An instruction on registers.
    Inst(Inst),
    /// Instructions that only make sense together: an access with its address, an exchange between its barriers.
    Group(Vec<Inst>),
    /// Statements that only make sense together.
    Fixed(Vec<Stmt>),
    /// A branch. `mask`: where warp operations need to know who is here, the lanes that come, those that go one way and those
    /// that go the other.
    If {
        /// Who goes the first way.
        guard: Guard,
        /// Masks of the three.
        mask: Option<[Reg; 3]>,
        /// The first way.
        then: Vec<Stmt>,
        /// The other.
        otherwise: Vec<Stmt>,
    },
    /// One of several ways, by a register modulo their number.
    Switch {
        /// The register.
        by: Reg,
        /// A power of two of them; one may fall into the next.
        ways: Vec<Vec<Stmt>>,
        /// Ways that fall into the next.
        falls: Vec<bool>,
    },
    /// A loop.
    Loop(Loop),
    /// Leaves a loop, or goes on with its next turn. The masks are of the loop and of its body.
    Leave {
        /// Who does.
        guard: Guard,
        /// Which loop, by its counter.
        counter: Reg,
        /// Goes on with the next turn.
        goes_on: bool,
        /// The masks of those who stay.
        masks: Vec<Reg>,
    },
    /// Ends the thread, with the mask of those who stay.
    Exit {
        /// Who does.
        guard: Guard,
        /// Those who stay.
        mask: Option<Reg>,
        /// As `ret`.
        ret: bool,
    },
}

/// A loop that makes `turns` turns.
#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// Counts turns; names the loop.
    pub counter: Reg,
    /// How many turns it makes.
    pub turns: Reg,
    /// Computes `turns`.
    pub setup: Vec<Inst>,
    /// Its condition.
    pub condition: Reg,
    /// Looks at the condition before the first turn.
    pub looks_first: bool,
    /// Lanes make different numbers of turns.
    pub divergent: bool,
    /// Masks: who comes to the loop, who is still in it, who is in the body.
    pub masks: Option<[Reg; 3]>,
    /// What it repeats.
    pub body: Vec<Stmt>,
}

/// How a kernel is launched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads with a number from here on end at once.
    pub limit: Option<u32>,
    /// Some threads end before the others.
    pub exits: bool,
}

impl Shape {
    /// Threads of a CTA.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// CTAs.
    pub fn ctas(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Threads in all.
    pub fn all_threads(&self) -> u64 {
        u64::from(self.threads()) * u64::from(self.ctas())
    }

    /// Words of input: some for everybody, one for each thread, and one for each thread that holds the same for all.
    pub fn input_words(&self) -> u64 {
        layout::INPUT_WORDS + 2 * self.all_threads()
    }

    /// Where the same word for every thread lies.
    pub fn same_at(&self) -> u64 {
        8 * (layout::INPUT_WORDS + self.all_threads())
    }
}

/// A kernel with its launch.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Where it comes from.
    pub seed: u64,
    /// How it is launched.
    pub shape: Shape,
    /// What registers hold at first.
    pub init: Vec<Stmt>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Shared words that atomics work on, cleared first and stored at the end.
    pub shared_cells: u32,
    /// Registers that are stored at the end.
    pub results: Vec<Reg>,
    /// One thread may access what is not there: then the launch ends with a fault, the same one on every engine.
    pub faults: bool,
}

/// Where things lie in memory; all sizes in bytes.
pub mod layout {
    /// Words of input besides one for each thread.
    pub const INPUT_WORDS: u64 = 512;
    /// Bytes a thread has to itself, one thread after the other.
    pub const OWN: u64 = 64;
    /// Words a thread has to itself in columns.
    pub const COLUMNS: u64 = 4;
    /// Words that all threads may change atomically.
    pub const CELLS: u64 = 64;
    /// Bytes of shared memory that a thread has to itself.
    pub const SLOT: u64 = 16;
    /// Rows that the tile has more than the block.
    pub const TILE_MORE: usize = 3;
    /// Bytes of local memory.
    pub const LOCAL: u64 = 64;
    /// Bytes of constants.
    pub const TABLE: u64 = 256;
    /// Bytes of the parameter that is an array.
    pub const BAG: u64 = 32;
}

impl Kernel {
    /// Words of the memory it may write: cells, shared cells of each CTA, columns, own bytes, results.
    pub fn memory_words(&self) -> u64 {
        self.results_at() / 8 + self.shape.all_threads()
    }

    /// Where the shared cells are stored.
    pub fn shared_cells_at(&self) -> u64 {
        layout::CELLS * 8
    }

    /// Where columns are.
    pub fn columns_at(&self) -> u64 {
        self.shared_cells_at() + u64::from(self.shared_cells * self.shape.ctas()) * 8
    }

    /// Where each thread's own bytes are.
    pub fn own_at(&self) -> u64 {
        let at = self.columns_at() + layout::COLUMNS * 8 * self.shape.all_threads();
        at.next_multiple_of(64)
    }

    /// Where the results are.
    pub fn results_at(&self) -> u64 {
        self.own_at() + layout::OWN * self.shape.all_threads()
    }

    /// Every instruction, in order.
    pub fn instructions(&self) -> Vec<&Inst> {
        fn walk<'a>(stmts: &'a [Stmt], out: &mut Vec<&'a Inst>) {
            for s in stmts {
                match s {
                    Stmt::Inst(i) => out.push(i),
                    Stmt::Group(is) => out.extend(is),
                    Stmt::Fixed(stmts) => walk(stmts, out),
                    Stmt::If { then, otherwise, .. } => {
                        walk(then, out);
                        walk(otherwise, out);
                    }
                    Stmt::Switch { ways, .. } => ways.iter().for_each(|w| walk(w, out)),
                    Stmt::Loop(l) => {
                        out.extend(&l.setup);
                        walk(&l.body, out);
                    }
                    Stmt::Leave { .. } | Stmt::Exit { .. } => {}
                }
            }
        }
        let mut out = vec![];
        walk(&self.init, &mut out);
        walk(&self.body, &mut out);
        out
    }

    /// Whether what a register holds at first is said.
    pub fn has_value(&self, r: Reg) -> bool {
        self.init.iter().any(|s| match s {
            Stmt::Inst(i) => i.writes().contains(&r),
            Stmt::Group(is) => is.iter().any(|i| i.writes().contains(&r)),
            _ => false,
        })
    }

    /// The whole module.
    ///
    /// Registers the prologue makes: `%id0` the thread's number in its CTA, `%id1` the CTA's, `%id2` the thread's in the grid;
    /// `%base0` input, `%base1` memory, `%base2` the thread's word of input, `%base3` its own bytes, `%base4` its word of the first
    /// column, `%base5` its slot of shared memory, `%base6` a cache policy.
    pub fn text(&self) -> String {
        let mut w = Writer { s: String::new(), uses: BTreeMap::new(), next: 0, loops: BTreeSet::new() };
        self.prologue(&mut w);
        w.statements(&self.init);
        w.statements(&self.body);
        self.epilogue(&mut w);
        let mut s = String::from(".version 8.8\n.target sm_90\n.address_size 64\n\n");
        if w.s.contains("table") {
            let mut r = crate::random::Random::new(self.seed ^ 0xc0);
            let bytes: Vec<String> = (0..layout::TABLE).map(|_| (r.bits() & 255).to_string()).collect();
            let _ =
                writeln!(s, ".const .align 16 .b8 table[{}] = {{{}}};\n", layout::TABLE, bytes.join(", "));
        }
        let _ = writeln!(
            s,
            ".visible .entry torture(.param .u64 in, .param .u64 mem, .param .u32 limit, .param .align 16 .b8 bag[{}])\n{{",
            layout::BAG
        );
        for (bank, count) in &w.uses {
            let _ = writeln!(s, "    .reg {} %{}<{}>;", bank.ty(), bank.letter(), count);
        }
        if w.s.contains("slots") {
            let size = u64::from(self.shape.threads()) * layout::SLOT;
            let _ = writeln!(s, "    .shared .align 16 .b8 slots[{size}];");
        }
        if w.s.contains("tile") {
            let rows = (self.shape.block[1] * self.shape.block[2]) as usize + layout::TILE_MORE;
            let _ = writeln!(s, "    .shared .align 4 .b32 tile[{}];", self.shape.block[0] as usize * rows);
        }
        if self.shared_cells > 0 {
            let _ = writeln!(s, "    .shared .align 8 .b64 cells[{}];", self.shared_cells);
        }
        if w.s.contains("mine") {
            let _ = writeln!(s, "    .local .align 16 .b8 mine[{}];", layout::LOCAL);
        }
        s += &w.s;
        s += "}\n";
        s
    }

    fn prologue(&self, w: &mut Writer) {
        for line in [
            "mov.u32 %id0, %tid.z;",
            "mov.u32 %id1, %ntid.y;",
            "mov.u32 %id2, %tid.y;",
            "mad.lo.u32 %id0, %id0, %id1, %id2;",
            "mov.u32 %id1, %ntid.x;",
            "mov.u32 %id2, %tid.x;",
            "mad.lo.u32 %id0, %id0, %id1, %id2;",
            "mov.u32 %id1, %ctaid.y;",
            "mov.u32 %id2, %nctaid.x;",
            "mov.u32 %id3, %ctaid.x;",
            "mad.lo.u32 %id1, %id1, %id2, %id3;",
        ] {
            w.line(line);
        }
        w.line(&format!("mad.lo.u32 %id2, %id1, {}, %id0;", self.shape.threads()));
        w.line("ld.param.u64 %base0, [in];");
        w.line("ld.param.u64 %base1, [mem];");
        w.line("mad.wide.u32 %base2, %id2, 8, %base0;");
        w.line(&format!("mad.wide.u32 %base3, %id2, {}, %base1;", layout::OWN));
        w.line(&format!("add.s64 %base3, %base3, {};", self.own_at()));
        w.line("mad.wide.u32 %base4, %id2, 8, %base1;");
        w.line(&format!("add.s64 %base4, %base4, {};", self.columns_at()));
        w.used(Reg(Bank::I, 3));
        w.used(Reg(Bank::B, 5));
        if self.instructions().iter().any(|i| i.reads().contains(&POLICY)) {
            w.line(&format!("createpolicy.fractional.L2::evict_last.b64 {POLICY};"));
        }
        // Nothing is read that was never written.
        if self.uses_slots() {
            w.line("mov.u64 %base5, slots;");
            w.line(&format!("mad.wide.u32 %base5, %id0, {}, %base5;", layout::SLOT));
            w.line("st.shared.v2.u64 [%base5], {0, 0};");
        }
        if self.instructions().iter().any(|i| i.to_string().contains("tile")) {
            w.used(Reg(Bank::T, 3));
            w.line("mov.u32 %t0, tile;");
            w.line("mad.lo.u32 %t0, %id0, 4, %t0;");
            for down in 0..=layout::TILE_MORE {
                w.line(&format!("st.shared.b32 [%t0+{}], 0;", 4 * down * self.shape.block[0] as usize));
            }
            w.line("bar.sync 0;");
        }
        if self.instructions().iter().any(|i| i.to_string().contains("mine")) {
            for at in (0..layout::LOCAL).step_by(16) {
                w.line(&format!("st.local.v4.u32 [mine+{at}], {{%id2, {at}, %id0, {at}}};"));
            }
        }
        if self.shared_cells > 0 {
            w.used(Reg(Bank::G, 0));
            w.used(Reg(Bank::A, 0));
            w.used(Reg(Bank::T, 0));
            w.line("mov.u64 %a0, cells;");
            w.line("mad.wide.u32 %a0, %id0, 8, %a0;");
            // Few threads clear many words.
            for first in (0..self.shared_cells).step_by(self.shape.threads() as usize) {
                w.line(&format!("setp.lt.u32 %g0, %id0, {};", self.shared_cells - first));
                w.line(&format!("@%g0 st.shared.u64 [%a0+{}], 0;", first * 8));
            }
        }
        if self.shape.limit.is_some() {
            w.line("ld.param.u32 %id3, [limit];");
            w.line("setp.ge.u32 %g0, %id2, %id3;");
            w.line("@%g0 exit;");
            w.used(Reg(Bank::G, 0));
        }
        if self.shared_cells > 0 {
            w.line("bar.sync 0;");
        }
    }

    fn uses_slots(&self) -> bool {
        self.instructions().iter().any(|i| i.reads().contains(&Reg(Bank::B, 5)))
    }

    fn epilogue(&self, w: &mut Writer) {
        // All results in one word: whatever differs shows, and one store is soon compiled.
        let mix = |w: &mut Writer, with: &str| {
            w.line(&format!("mad.lo.u64 %a0, %a0, {MIX}, {with};"));
        };
        w.used(Reg(Bank::A, 3));
        w.line("mov.u64 %a0, 1;");
        for r in &self.results {
            w.used(*r);
            match r.0 {
                Bank::P => w.line(&format!("selp.u64 %a1, 1, 2, {r};")),
                Bank::H => w.line(&format!("cvt.u64.u16 %a1, {r};")),
                Bank::R => w.line(&format!("cvt.u64.u32 %a1, {r};")),
                Bank::F => w.line(&format!("mov.b64 %a1, {{{r}, {r}}};")),
                Bank::Q => {
                    w.line(&format!("mov.b128 {{%a2, %a1}}, {r};"));
                    mix(w, "%a2");
                }
                _ => w.line(&format!("mov.b64 %a1, {r};")),
            }
            mix(w, "%a1");
        }
        w.line(&format!("st.global.u64 [%base4+{}], %a0;", self.results_at() - self.columns_at()));
        if self.shared_cells > 0 {
            w.used(Reg(Bank::G, 0));
            w.used(Reg(Bank::A, 3));
            w.line("bar.sync 0;");
            w.line("mov.u64 %a0, cells;");
            w.line("mad.wide.u32 %a0, %id0, 8, %a0;");
            w.line(&format!("mad.wide.u32 %a1, %id1, {}, %base1;", self.shared_cells * 8));
            w.line("mad.wide.u32 %a1, %id0, 8, %a1;");
            for first in (0..self.shared_cells).step_by(self.shape.threads() as usize) {
                w.line(&format!("setp.lt.u32 %g0, %id0, {};", self.shared_cells - first));
                w.line(&format!("@%g0 ld.shared.u64 %a2, [%a0+{}];", first * 8));
                w.line(&format!(
                    "@%g0 st.global.u64 [%a1+{}], %a2;",
                    self.shared_cells_at() + u64::from(first) * 8
                ));
            }
        }
        w.line("ret;");
    }
}

/// A cache policy.
pub const POLICY: Reg = Reg(Bank::B, 6);

/// What results are multiplied with before the next is added: odd, so that nothing is lost.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

struct Writer {
    s: String,
    /// How many registers of each bank there must be.
    uses: BTreeMap<Bank, u32>,
    next: u32,
    /// Loops we are in, by counter.
    loops: BTreeSet<Reg>,
}

impl Writer {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.s, "    {text}");
    }

    fn used(&mut self, r: Reg) {
        let count = self.uses.entry(r.0).or_default();
        *count = (*count).max(u32::from(r.1) + 1);
    }

    fn inst(&mut self, i: &Inst) {
        for r in i.reads().into_iter().chain(i.writes()) {
            self.used(r);
        }
        self.line(&i.to_string());
    }

    fn branch(&mut self, g: Guard, label: &str) {
        self.used(g.reg);
        self.line(&format!("@{}{} bra {label};", if g.not { "!" } else { "" }, g.reg));
    }

    /// `to` becomes the lanes of `from` for which the guard holds.
    fn ballot(&mut self, to: Reg, g: Guard, from: Reg) {
        [to, g.reg, from].into_iter().for_each(|r| self.used(r));
        self.line(&format!("vote.sync.ballot.b32 {to}, {}{}, {from};", if g.not { "!" } else { "" }, g.reg));
    }

    fn statements(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            match s {
                Stmt::Inst(i) => self.inst(i),
                Stmt::Group(is) => is.iter().for_each(|i| self.inst(i)),
                Stmt::Fixed(stmts) => self.statements(stmts),
                Stmt::If { guard, mask, then, otherwise } => self.branches(*guard, mask, then, otherwise),
                Stmt::Switch { by, ways, falls } => self.switch(*by, ways, falls),
                Stmt::Loop(l) => self.looped(l),
                // Once the loop is gone there is nothing to leave.
                Stmt::Leave { counter, .. } if !self.loops.contains(counter) => {}
                Stmt::Leave { guard, counter, goes_on, masks } => {
                    // The body's mask comes last: those are here to vote.
                    if let Some(body) = masks.last() {
                        let leaving = Reg(Bank::T, 0);
                        self.ballot(leaving, *guard, *body);
                        self.line(&format!("not.b32 {leaving}, {leaving};"));
                        for m in masks {
                            self.line(&format!("and.b32 {m}, {m}, {leaving};"));
                        }
                    }
                    let label = if *goes_on { "next" } else { "end" };
                    self.branch(*guard, &format!("{label}_{}", counter.1));
                }
                Stmt::Exit { guard, mask, ret } => {
                    if let Some(m) = mask {
                        self.ballot(*m, guard.inverted(), *m);
                    }
                    self.used(guard.reg);
                    let (sign, how) = (if guard.not { "!" } else { "" }, if *ret { "ret" } else { "exit" });
                    self.line(&format!("@{sign}{} {how};", guard.reg));
                }
            }
        }
    }

    fn branches(&mut self, guard: Guard, mask: &Option<[Reg; 3]>, then: &[Stmt], otherwise: &[Stmt]) {
        let n = self.next;
        self.next += 1;
        if let Some([all, yes, no]) = mask {
            self.ballot(*yes, guard, *all);
            self.used(*no);
            self.line(&format!("xor.b32 {no}, {all}, {yes};"));
        }
        let (else_label, end) = (format!("else_{n}"), format!("endif_{n}"));
        self.branch(guard.inverted(), if otherwise.is_empty() { &end } else { &else_label });
        self.statements(then);
        if !otherwise.is_empty() {
            self.line(&format!("bra {end};"));
            let _ = writeln!(self.s, "{else_label}:");
            self.statements(otherwise);
        }
        let _ = writeln!(self.s, "{end}:");
    }

    fn switch(&mut self, by: Reg, ways: &[Vec<Stmt>], falls: &[bool]) {
        let n = self.next;
        self.next += 1;
        let index = Reg(Bank::T, 0);
        self.used(by);
        self.used(index);
        self.line(&format!("and.b32 {index}, {by}, {};", ways.len() - 1));
        let labels: Vec<String> = (0..ways.len()).map(|i| format!("way_{n}_{i}")).collect();
        let _ = writeln!(self.s, "ways_{n}: .branchtargets {};", labels.join(", "));
        self.line(&format!("brx.idx {index}, ways_{n};"));
        for (i, way) in ways.iter().enumerate() {
            let _ = writeln!(self.s, "{}:", labels[i]);
            self.statements(way);
            if !falls.get(i).copied().unwrap_or(false) {
                self.line(&format!("bra endways_{n};"));
            }
        }
        let _ = writeln!(self.s, "endways_{n}:");
    }

    fn looped(&mut self, l: &Loop) {
        [l.counter, l.turns, l.condition].into_iter().for_each(|r| self.used(r));
        l.setup.iter().for_each(|i| self.inst(i));
        let (k, n, c) = (l.counter, l.turns, l.condition);
        let id = k.1;
        let goes_on = Guard { reg: c, not: false };
        self.line(&format!("mov.u32 {k}, 0;"));
        if let Some([all, in_loop, body]) = l.masks {
            [all, in_loop, body].into_iter().for_each(|r| self.used(r));
            self.line(&format!("mov.b32 {in_loop}, {all};"));
            self.line(&format!("mov.b32 {body}, {all};"));
        }
        let test = |w: &mut Writer| {
            w.line(&format!("setp.lt.u32 {c}, {k}, {n};"));
            if let Some([_, in_loop, body]) = l.masks {
                w.ballot(in_loop, goes_on, in_loop);
                w.line(&format!("mov.b32 {body}, {in_loop};"));
            }
        };
        let _ = writeln!(self.s, "loop_{id}:");
        if l.looks_first {
            test(self);
            self.branch(goes_on.inverted(), &format!("end_{id}"));
        }
        self.loops.insert(k);
        self.statements(&l.body);
        self.loops.remove(&k);
        let _ = writeln!(self.s, "next_{id}:");
        self.line(&format!("add.u32 {k}, {k}, 1;"));
        if l.looks_first {
            self.line(&format!("bra loop_{id};"));
        } else {
            test(self);
            self.branch(goes_on, &format!("loop_{id}"));
        }
        let _ = writeln!(self.s, "end_{id}:");
    }
}

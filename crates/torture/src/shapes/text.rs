//! A [`Program`] as PTX.

use super::{
    Arith, Bank, Callee, Class, Data, Edge, Func, Inst, Logic, Op, Place, Program, Reg, Special, Src, Term,
    Warp, layout,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

impl Program {
    /// The whole module.
    pub fn text(&self) -> String {
        let mut s = String::from(".version 8.8\n.target sm_90\n.address_size 64\n\n");
        if self.dynamic_shared() > 0 {
            s += ".extern .shared .align 16 .b8 more[];\n\n";
        }
        let threads = self.threads();
        if self.has_slots() {
            let _ = writeln!(s, ".shared .align 16 .b8 slots[{}];\n", 8 * layout::SLOT * u64::from(threads));
        }
        if self.exchanges(false) {
            let _ = writeln!(s, ".shared .align 4 .b32 area[{threads}];\n");
        }
        self.declarations(&mut s);
        // Callees come first.
        for n in (0..self.funcs.len()).rev() {
            let mut w =
                Writer { p: self, f: &self.funcs[n], number: n, s: String::new(), edges: vec![], next: 0 };
            w.body();
            let body = w.s;
            self.head(n, &mut s);
            let results = declare(&self.funcs[n], n, &mut s);
            prologue(self, n, &body, &mut s);
            clear(&results, &mut s);
            s += &body;
            s += "}\n";
        }
        s
    }

    fn has_slots(&self) -> bool {
        let is_shared =
            |i: &Inst| matches!(i.op, Op::Load(_, Place::Shared(_)) | Op::Store(Place::Shared(_), _));
        self.funcs.iter().any(|f| f.insts().any(is_shared))
    }

    /// Functions that are named before they are defined, and tables of them.
    fn declarations(&self, s: &mut String) {
        let early = |c: &Callee| c.bounded || c.by.is_some();
        if !self.callees().any(early) {
            return;
        }
        for n in 1..self.funcs.len() {
            let _ = writeln!(s, "{};", self.signature(n, &format!("f{n}")));
        }
        let tables: BTreeSet<&Callee> =
            self.callees().filter(|c| c.by.is_some() && c.funcs.len() > 1).collect();
        let tables: BTreeMap<String, &Callee> = tables.into_iter().map(|c| (table(c), c)).collect();
        for (name, callee) in tables {
            let funcs: Vec<String> = callee.funcs.iter().map(|f| format!("f{f}")).collect();
            let _ = writeln!(s, ".global .align 8 .u64 {name}[{}] = {{{}}};", funcs.len(), funcs.join(", "));
        }
    }

    /// Whether functions are told how many calls are under way.
    fn counts_calls(&self) -> bool {
        self.callees().any(|c| c.bounded)
    }

    fn head(&self, n: usize, s: &mut String) {
        if n == 0 {
            *s += ".visible .entry torture(.param .u64 in, .param .u64 mem, .param .u32 limit, .param .align 16 .b8 bag[32])\n{\n";
            return;
        }
        let _ = writeln!(s, "{}\n{{", self.signature(n, &format!("f{n}")));
    }

    /// Results, name and parameters of a function; `_` is that of a prototype.
    fn signature(&self, n: usize, name: &str) -> String {
        let f = &self.funcs[n];
        let list = |banks: &[Bank], class: Class, letter: char| -> Vec<String> {
            let one = |(i, b): (usize, &Bank)| match f.by_register {
                true => format!(".reg {} {}", b.ty(), Reg::new(*b, class, i)),
                false => format!(".param {} {letter}{i}", b.ty()),
            };
            banks.iter().enumerate().map(one).collect()
        };
        let results = list(&f.results, Class::Result, 'o').join(", ");
        let results = if results.is_empty() { results } else { format!("({results}) ") };
        let base = if f.by_register {
            [".reg .b64 %b0", ".reg .b64 %b1", ".reg .b32 %dep"]
        } else {
            [".param .b64 in", ".param .b64 mem", ".param .b32 dep"]
        };
        let base = base[..2 + usize::from(self.counts_calls())].iter().map(|b| b.to_string()).collect();
        let params = [base, list(&f.params, Class::Argument, 'i')].concat();
        let kind = if name == "_" { ".callprototype" } else { ".func" };
        format!("{kind} {results}{name}({})", params.join(", "))
    }
}

/// The name of a table of functions.
fn table(callee: &Callee) -> String {
    let names: Vec<String> = callee.funcs.iter().map(usize::to_string).collect();
    format!("table_{}", names.join("_"))
}

/// Declarations of the registers a function uses. Returns those that hold results.
fn declare(f: &Func, n: usize, s: &mut String) -> Vec<Reg> {
    let mut most: BTreeMap<(Bank, Class), u8> = BTreeMap::new();
    let mut seen = |r: Reg| {
        let m = most.entry((r.bank, r.class)).or_default();
        *m = (*m).max(r.n + 1);
    };
    for i in f.insts() {
        i.op.writes().into_iter().chain(i.op.reads()).chain(i.guard.map(|g| g.0)).for_each(&mut seen);
    }
    for b in &f.blocks {
        match &b.term {
            Term::If(p, ..) => seen(*p),
            Term::Switch(by, _) => seen(*by),
            _ => {}
        }
        b.term.edges().iter().filter_map(|e| e.fuel).for_each(|(r, _)| seen(r));
    }
    f.results.iter().enumerate().for_each(|(i, b)| seen(Reg::new(*b, Class::Result, i)));
    f.params.iter().enumerate().for_each(|(i, b)| seen(Reg::new(*b, Class::Argument, i)));
    let mut results = vec![];
    for ((bank, class), count) in most {
        if class == Class::Result {
            results.extend((0..count).map(|n| Reg { bank, class, n }));
        }
        let given = n > 0 && f.by_register;
        if given && matches!(class, Class::Result | Class::Argument) {
            // The head declares those it has; a function without them may still name them.
            let has = if class == Class::Result { &f.results } else { &f.params };
            for i in (0..count).filter(|i| has.get(usize::from(*i)) != Some(&bank)) {
                let _ = writeln!(s, "    .reg {} {};", bank.ty(), Reg { bank, class, n: i });
            }
            continue;
        }
        let _ = writeln!(s, "    .reg {} %{}{}<{count}>;", bank.ty(), bank.letter(), class.letter());
    }
    results
}

/// What a function computes at its beginning, as far as its body needs it: `%id0` the thread's number in its CTA, `%id2` in the grid,
/// `%b0` input, `%b1` memory, `%b2` the thread's word of input, `%b3` its column, `%b4` its row, `%s0` its shared cells, `%m0` the lanes
/// of its warp.
fn prologue(p: &Program, n: usize, body: &str, s: &mut String) {
    let f = &p.funcs[n];
    let uses = |name: &str| body.contains(name);
    let threads = p.threads();
    let _ = writeln!(
        s,
        "    .reg .b32 %id<4>;\n    .reg .b32 %t<2>;\n    .reg .b64 %ad<2>;\n    .reg .f64 %td;\n    .reg .pred %tp;"
    );
    match n > 0 && f.by_register {
        true => *s += "    .reg .b64 %b2, %b3, %b4;\n",
        false => *s += "    .reg .b64 %b<5>;\n",
    }
    if uses("%s0") {
        *s += "    .reg .b32 %s<1>;\n";
    }
    if uses("%m0") {
        *s += "    .reg .b32 %m<1>;\n";
    }
    let by_register = n > 0 && f.by_register;
    if uses("%dep") {
        *s += if by_register { "    .reg .b32 %de1;\n" } else { "    .reg .b32 %dep, %de1;\n" };
    }
    if uses("priv") {
        let _ = writeln!(s, "    .local .align 8 .b64 priv[{}];", layout::LOCAL);
        // Nothing is read that was never written, or by the last call.
        for cell in 0..layout::LOCAL {
            let _ = writeln!(s, "    st.local.b64 [priv+{}], 0;", 8 * cell);
        }
    }
    match n {
        0 if uses("%dep") => *s += "    mov.u32 %dep, 0;\n",
        _ if uses("%dep") && !by_register => *s += "    ld.param.b32 %dep, [dep];\n",
        _ => {}
    }
    if !(n > 0 && f.by_register) {
        *s += "    ld.param.u64 %b0, [in];\n    ld.param.u64 %b1, [mem];\n";
    }
    if n > 0 && !f.by_register {
        for (i, bank) in f.params.iter().enumerate() {
            let _ = writeln!(s, "    ld.param{} {}, [i{i}];", bank.ty(), Reg::new(*bank, Class::Argument, i));
        }
    }
    let columns = 8 * layout::CELLS;
    let rows = columns + 8 * layout::COLUMN * p.all_threads();
    let global = ["%b2", "%b3", "%b4", "%id2"].iter().any(|r| uses(r));
    let areas: Vec<&str> = match n {
        0 => [("area", false), ("more", true)].iter().filter(|a| p.exchanges(a.1)).map(|a| a.0).collect(),
        _ => vec![],
    };
    let clears = n == 0 && (p.has_slots() || !areas.is_empty());
    if global || clears || ["%id0", "%s0", "%m0"].iter().any(|r| uses(r)) {
        *s += "    mov.u32 %id0, %tid.x;\n";
        for (axis, step) in [('y', p.block[0]), ('z', p.block[0] * p.block[1])] {
            if axis == 'y' && p.block[1] > 1 || axis == 'z' && p.block[2] > 1 {
                let _ = writeln!(s, "    mov.u32 %t0, %tid.{axis};\n    mad.lo.u32 %id0, %t0, {step}, %id0;");
            }
        }
    }
    if global {
        *s += "    mov.u32 %id1, %ctaid.x;\n";
        if p.grid[1] > 1 {
            let _ = writeln!(s, "    mov.u32 %t0, %ctaid.y;\n    mad.lo.u32 %id1, %t0, {}, %id1;", p.grid[0]);
        }
        let _ = writeln!(s, "    mad.lo.u32 %id2, %id1, {threads}, %id0;");
    }
    if uses("%b2") {
        *s += "    mad.wide.u32 %b2, %id2, 8, %b0;\n";
    }
    if uses("%b3") {
        let _ = writeln!(s, "    mad.wide.u32 %b3, %id2, 8, %b1;\n    add.u64 %b3, %b3, {columns};");
    }
    if uses("%b4") {
        let _ = writeln!(
            s,
            "    mad.wide.u32 %b4, %id2, {}, %b1;\n    add.u64 %b4, %b4, {rows};",
            8 * layout::ROW
        );
    }
    if clears && p.has_slots() {
        let _ = writeln!(s, "    mov.u32 %t0, slots;\n    mad.lo.u32 %t0, %id0, {}, %t0;", 8 * layout::SLOT);
        for cell in 0..layout::SLOT {
            let _ = writeln!(s, "    st.shared.b64 [%t0+{}], 0;", 8 * cell);
        }
    }
    for area in &areas {
        let _ = writeln!(
            s,
            "    mov.u32 %t0, {area};\n    mad.lo.u32 %t0, %id0, 4, %t0;\n    st.shared.b32 [%t0], 0;"
        );
    }
    if !areas.is_empty() {
        *s += "    bar.sync 0;\n";
    }
    if uses("%s0") {
        let _ = writeln!(s, "    mov.u32 %s0, slots;\n    mad.lo.u32 %s0, %id0, {}, %s0;", 8 * layout::SLOT);
    }
    if uses("%m0") {
        let _ = writeln!(
            s,
            "    and.b32 %m0, %id0, -32;\n    sub.u32 %m0, {threads}, %m0;\n    min.u32 %m0, %m0, 32;\n    sub.u32 %m0, 32, %m0;\n    mov.u32 %t0, -1;\n    shr.u32 %m0, %t0, %m0;"
        );
    }
}

/// What a function returns that has computed nothing.
fn clear(results: &[Reg], s: &mut String) {
    for r in results {
        let _ = match r.bank {
            Bank::P => writeln!(s, "    setp.ne.u32 {r}, 0, 0;"),
            Bank::Q => writeln!(s, "    mov.u64 %ad0, 0;\n    mov.b128 {r}, {{%ad0, %ad0}};"),
            bank => writeln!(s, "    mov{} {r}, {};", bank.ty(), src(Src::Const(0), bank)),
        };
    }
}

struct Writer<'a> {
    p: &'a Program,
    f: &'a Func,
    number: usize,
    s: String,
    /// Edges with fuel, to be written as blocks of their own.
    edges: Vec<(String, Edge)>,
    /// Tables of branch targets so far.
    next: usize,
}

macro_rules! line {
    ($w:expr, $($arg:tt)*) => {{ let _ = writeln!($w.s, "    {}", format_args!($($arg)*)); }};
}

impl Writer<'_> {
    fn body(&mut self) {
        let f = self.f;
        f.init.iter().for_each(|i| self.inst(i));
        if f.layout.first() != Some(&0) {
            line!(self, "bra B0;");
        }
        for (n, b) in f.layout.iter().enumerate() {
            let _ = writeln!(self.s, "B{b}:");
            f.blocks[*b].insts.iter().for_each(|i| self.inst(i));
            self.term(*b, f.layout.get(n + 1).copied());
            for (label, edge) in std::mem::take(&mut self.edges) {
                let Some((fuel, otherwise)) = edge.fuel else { continue };
                let _ = writeln!(self.s, "{label}:");
                line!(self, "setp.eq.u32 %tp, {fuel}, 0;");
                line!(self, "@%tp bra B{otherwise};");
                line!(self, "sub.u32 {fuel}, {fuel}, 1;");
                line!(self, "bra B{};", edge.to);
            }
        }
    }

    /// The label to branch to for an edge.
    fn label(&mut self, from: usize, way: usize, e: &Edge) -> String {
        if e.fuel.is_none() {
            return format!("B{}", e.to);
        }
        let label = format!("E{from}_{way}");
        self.edges.push((label.clone(), e.clone()));
        label
    }

    fn term(&mut self, from: usize, next: Option<usize>) {
        let f = self.f;
        match &f.blocks[from].term {
            Term::Goto(e) if e.fuel.is_none() && Some(e.to) == next => {}
            // The block of the edge comes right behind.
            Term::Goto(e) if e.fuel.is_some() => {
                self.label(from, 0, e);
            }
            Term::Goto(e) => {
                // As ever, by the numbers of the blocks: `.uni` says nothing where all lanes go.
                let uni = if (from + e.to).is_multiple_of(3) { ".uni" } else { "" };
                line!(self, "bra{uni} B{};", e.to);
            }
            Term::If(p, not, yes, no) => {
                let (mut not, mut ways) = (*not, [(0, yes), (1, no)]);
                // What follows is fallen into.
                if yes.fuel.is_none() && Some(yes.to) == next {
                    (not, ways) = (!not, [(1, no), (0, yes)]);
                }
                let bang = if not { "!" } else { "" };
                let to = self.label(from, ways[0].0, ways[0].1);
                line!(self, "@{bang}{p} bra {to};");
                let falls = ways[1].1.fuel.is_none() && Some(ways[1].1.to) == next && self.edges.is_empty();
                if !falls {
                    let to = self.label(from, ways[1].0, ways[1].1);
                    line!(self, "bra {to};");
                }
            }
            Term::Switch(by, ways) => {
                let labels: Vec<String> =
                    ways.iter().enumerate().map(|(i, e)| self.label(from, i, e)).collect();
                line!(self, "rem.u32 %t0, {by}, {};", ways.len());
                let table = format!("W{from}_{}", self.next);
                self.next += 1;
                let _ = writeln!(self.s, "{table}: .branchtargets {};", labels.join(", "));
                line!(self, "brx.idx %t0, {table};");
            }
            Term::Leave { exit } => self.leave("", *exit),
        }
    }

    fn leave(&mut self, guard: &str, exit: bool) {
        if exit {
            line!(self, "{guard}exit;");
            return;
        }
        if self.number > 0 && !self.f.by_register {
            for (i, bank) in self.f.results.iter().enumerate() {
                line!(self, "st.param{} [o{i}], {};", bank.ty(), Reg::new(*bank, Class::Result, i));
            }
        }
        line!(self, "{guard}ret;");
    }

    fn inst(&mut self, i: &Inst) {
        let g = guarded(i.guard);
        match &i.op {
            Op::Arith(op, d, a, b) => {
                let (name, ty) = (arith_name(*op), arith_type(*op, d.bank));
                // Shifts are by words.
                let by = if matches!(op, Arith::Shl | Arith::Shr) { Bank::R } else { d.bank };
                line!(self, "{g}{name}{ty} {d}, {}, {};", src(*a, d.bank), src(*b, by));
            }
            Op::Mad(d, a, b, c) => {
                let name = match d.bank {
                    Bank::F => "fma.rn.f32",
                    Bank::H => "mad.lo.u16",
                    Bank::R => "mad.lo.u32",
                    _ => "mad.lo.u64",
                };
                let [a, b, c] = [a, b, c].map(|s| src(*s, d.bank));
                line!(self, "{g}{name} {d}, {a}, {b}, {c};");
            }
            Op::Accumulate(d, a, s) => {
                match s {
                    Src::Const(c) => line!(self, "mov.u32 %t0, {c};"),
                    Src::Reg(r) => line!(self, "mov.u32 %t0, {r};"),
                }
                line!(self, "cvt.rn.f64.s32 %td, %t0;");
                line!(self, "{g}add.rn.f64 {d}, {a}, %td;");
            }
            Op::Move(d, s) => {
                let ty = if d.bank == Bank::P { ".pred" } else { d.bank.ty() };
                match (d.bank, s) {
                    // Predicates and 128 bits have no constants.
                    (Bank::P, Src::Const(c)) => line!(self, "{g}setp.ne.u32 {d}, {}, 0;", c & 1),
                    (Bank::Q, Src::Const(c)) => {
                        line!(self, "mov.u64 %ad0, {c};");
                        line!(self, "mov.u64 %ad1, 0;");
                        line!(self, "{g}mov.b128 {d}, {{%ad0, %ad1}};");
                    }
                    _ => line!(self, "{g}mov{ty} {d}, {};", src(*s, d.bank)),
                }
            }
            Op::Select(d, a, b, p) => {
                line!(self, "{g}selp{} {d}, {}, {}, {p};", d.bank.ty(), src(*a, d.bank), src(*b, d.bank));
            }
            Op::Compare(cmp, signed, d, a, b) => {
                let cmp = format!("{cmp:?}").to_lowercase();
                let ty = match (a.bank, signed) {
                    (Bank::F, _) => ".f32".into(),
                    (bank, true) => format!(".s{}", bank.bits()),
                    (bank, _) => format!(".u{}", bank.bits()),
                };
                line!(self, "{g}setp.{cmp}{ty} {d}, {a}, {};", src(*b, a.bank));
            }
            Op::Logic(Logic::Not, d, a, _) => line!(self, "{g}not.pred {d}, {a};"),
            Op::Logic(op, d, a, b) => {
                line!(self, "{g}{}.pred {d}, {a}, {b};", format!("{op:?}").to_lowercase());
            }
            Op::Convert(d, s, signed) => {
                let kind = if *signed { 's' } else { 'u' };
                match d.bank {
                    Bank::F | Bank::D => line!(self, "{g}cvt.rn{}.s32 {d}, {s};", d.bank.ty()),
                    _ => line!(self, "{g}cvt.{kind}{}.{kind}{} {d}, {s};", d.bank.bits(), s.bank.bits()),
                }
            }
            Op::Bits(d, s) => line!(self, "{g}mov.b{} {d}, {s};", d.bank.bits()),
            Op::Pack(d, lo, hi) => line!(self, "{g}mov.b128 {d}, {{{lo}, {hi}}};"),
            Op::Unpack(lo, hi, s) => line!(self, "{g}mov.b128 {{{lo}, {hi}}}, {s};"),
            Op::Special(d, s) => {
                let axis = |n: &u8| ['x', 'y', 'z'][usize::from(*n)];
                match s {
                    Special::Tid(n) => line!(self, "{g}mov.u32 {d}, %tid.{};", axis(n)),
                    Special::Cta(n) => line!(self, "{g}mov.u32 {d}, %ctaid.{};", axis(n)),
                    Special::Ntid => line!(self, "{g}mov.u32 {d}, %ntid.x;"),
                    Special::Lane => line!(self, "{g}mov.u32 {d}, %laneid;"),
                    Special::Flat => line!(self, "{g}mov.u32 {d}, %id0;"),
                    Special::Global => line!(self, "{g}mov.u32 {d}, %id2;"),
                    Special::Limit => line!(self, "{g}ld.param.u32 {d}, [limit];"),
                }
            }
            Op::Input(d, data) => {
                let address = match data {
                    Data::Own => format!("%b2+{}", 8 * layout::TABLE),
                    Data::Same => format!("%b2+{}", 8 * (layout::TABLE + self.p.all_threads())),
                    Data::Table(s) => self.indexed(*s, layout::TABLE, "%b0"),
                };
                line!(self, "{g}ld.global.b{} {d}, [{address}];", d.bank.bits());
            }
            Op::Load(d, place) => {
                let (space, address) = self.place(*place);
                line!(self, "{g}ld{space}.b{} {d}, [{address}];", d.bank.bits());
            }
            Op::Store(place, s) => {
                let (space, address) = self.place(*place);
                line!(self, "{g}st{space}.b{} [{address}], {s};", s.bank.bits());
            }
            Op::Point(d, s) => match self.indexed(*s, layout::TABLE / 2, "%b0").split_once('+') {
                Some((base, by)) => line!(self, "{g}add.u64 {d}, {base}, {by};"),
                None => line!(self, "{g}mov.u64 {d}, %ad0;"),
            },
            Op::Advance(d, by, None) => line!(self, "{g}add.s64 {d}, {d}, {};", 8 * i64::from(*by)),
            Op::Advance(d, by, Some(more)) => {
                line!(self, "and.b32 %t0, {more}, 3;");
                line!(self, "mad.wide.u32 %ad0, %t0, 8, {};", 8 * i64::from(*by));
                line!(self, "{g}add.s64 {d}, {d}, %ad0;");
            }
            Op::Follow(d, w) => line!(self, "{g}ld.global.b{} {d}, [{w}];", d.bank.bits()),
            Op::Count(cell, by) => {
                line!(self, "{g}red.global.add.u32 [%b1+{}], {};", 8 * u64::from(*cell), src(*by, Bank::R));
            }
            Op::Barrier { id, aligned: true } => line!(self, "{g}bar.sync {id};"),
            Op::Barrier { id, .. } => line!(self, "{g}barrier.sync {id};"),
            Op::Exchange { d, s, step, dynamic } => self.exchange(*d, *s, *step, *dynamic),
            Op::Warp(op, d, s) => {
                let mask = if self.p.threads().is_multiple_of(32) { "-1" } else { "%m0" };
                match op {
                    Warp::Index(n) => line!(self, "shfl.sync.idx.b32 {d}, {s}, {n}, 31, {mask};"),
                    Warp::Butterfly(n) => line!(self, "shfl.sync.bfly.b32 {d}, {s}, {n}, 31, {mask};"),
                    Warp::Up(n) => line!(self, "shfl.sync.up.b32 {d}, {s}, {n}, 0, {mask};"),
                    Warp::Down(n) => line!(self, "shfl.sync.down.b32 {d}, {s}, {n}, 31, {mask};"),
                    Warp::Ballot => line!(self, "vote.sync.ballot.b32 {d}, {s}, {mask};"),
                    Warp::Any => line!(self, "vote.sync.any.pred {d}, {s}, {mask};"),
                    Warp::All => line!(self, "vote.sync.all.pred {d}, {s}, {mask};"),
                    Warp::Sync => line!(self, "bar.warp.sync {mask};"),
                }
            }
            Op::Call { callee, args, results } => self.call(i.guard, callee, args, results),
            Op::Leave { exit } => self.leave(&g, *exit),
        }
    }

    /// `%ad0`, the address of word `s` modulo `count` from `base` on.
    fn indexed(&mut self, s: Src, count: u64, base: &str) -> String {
        match s {
            Src::Const(c) => format!("{base}+{}", 8 * (c % count)),
            Src::Reg(r) => {
                line!(self, "and.b32 %t0, {r}, {};", count - 1);
                line!(self, "mad.wide.u32 %ad0, %t0, 8, {base};");
                "%ad0".into()
            }
        }
    }

    fn place(&mut self, place: Place) -> (&'static str, String) {
        match place {
            Place::Column(n) => (".global", format!("%b3+{}", 8 * u64::from(n) * self.p.all_threads())),
            Place::Row(s) => (".global", self.indexed(s, layout::ROW, "%b4")),
            Place::Shared(Src::Const(c)) => (".shared", format!("%s0+{}", 8 * (c % layout::SLOT))),
            Place::Shared(Src::Reg(r)) => {
                line!(self, "and.b32 %t0, {r}, {};", layout::SLOT - 1);
                line!(self, "mad.lo.u32 %t0, %t0, 8, %s0;");
                (".shared", "%t0".into())
            }
            Place::Local(Src::Const(c)) => (".local", format!("priv+{}", 8 * (c % layout::LOCAL))),
            Place::Local(Src::Reg(r)) => {
                line!(self, "and.b32 %t0, {r}, {};", layout::LOCAL - 1);
                line!(self, "mov.u32 %t1, priv;");
                line!(self, "mad.lo.u32 %t0, %t0, 8, %t1;");
                (".local", "%t0".into())
            }
        }
    }

    fn exchange(&mut self, d: Reg, s: Reg, step: u32, dynamic: bool) {
        let threads = self.p.threads();
        line!(self, "mov.u32 %t1, {};", if dynamic { "more" } else { "area" });
        line!(self, "mad.lo.u32 %t0, %id0, 4, %t1;");
        line!(self, "st.shared.b32 [%t0], {s};");
        line!(self, "barrier.sync 0;");
        line!(self, "add.u32 %t0, %id0, {step};");
        line!(self, "rem.u32 %t0, %t0, {threads};");
        line!(self, "mad.lo.u32 %t0, %t0, 4, %t1;");
        line!(self, "ld.shared.b32 {d}, [%t0];");
        line!(self, "barrier.sync 0;");
    }

    /// What is called, and what stands behind the arguments.
    fn callee(&mut self, callee: &Callee) -> (String, String) {
        let first = callee.funcs[0];
        let Some(by) = callee.by else { return (format!("f{first}"), String::new()) };
        if callee.funcs.len() == 1 {
            line!(self, "mov.u64 %ad0, f{first};");
        } else {
            line!(self, "rem.u32 %t0, {by}, {};", callee.funcs.len());
            line!(self, "mov.u64 %ad0, {};", table(callee));
            line!(self, "mad.wide.u32 %ad0, %t0, 8, %ad0;");
            line!(self, "ld.global.u64 %ad0, [%ad0];");
        }
        let label = format!("C{}", self.next);
        self.next += 1;
        if callee.listed {
            let names: Vec<String> = callee.funcs.iter().map(|f| format!("f{f}")).collect();
            let _ = writeln!(self.s, "{label}: .calltargets {};", names.join(", "));
        } else {
            let _ = writeln!(self.s, "{label}: {};", self.p.signature(first, "_"));
        }
        ("%ad0".into(), format!(", {label}"))
    }

    fn call(&mut self, guard: Option<(Reg, bool)>, callee: &Callee, args: &[Src], results: &[Reg]) {
        let mut g = guarded(guard);
        let (target, behind) = self.callee(callee);
        let counts = self.p.counts_calls();
        if counts {
            line!(self, "add.u32 %de1, %dep, 1;");
        }
        if callee.bounded {
            line!(self, "and.b32 %t0, %id0, 1;");
            line!(self, "add.u32 %t0, %t0, {};", self.p.depth);
            match guard {
                Some((p, not)) => {
                    line!(self, "setp.lt.and.u32 %tp, %dep, %t0, {}{p};", if not { "!" } else { "" })
                }
                None => line!(self, "setp.lt.u32 %tp, %dep, %t0;"),
            }
            g = "@%tp ".into();
        }
        let callee = &self.p.funcs[callee.funcs[0]];
        let join = |list: Vec<String>| list.join(", ");
        let banks = callee.params.iter().zip(args);
        if callee.by_register {
            let base = ["%b0", "%b1", "%de1"].iter().take(2 + usize::from(counts)).map(|b| b.to_string());
            let given = join(base.chain(banks.map(|(b, s)| src(*s, *b))).collect());
            let back = join(results.iter().map(Reg::to_string).collect());
            let back = if back.is_empty() { back } else { format!("({back}), ") };
            line!(self, "{g}call {back}{target}, ({given}){behind};");
            return;
        }
        line!(self, "{{");
        line!(self, ".param .b64 a, b;");
        line!(self, "st.param.b64 [a], %b0;");
        line!(self, "st.param.b64 [b], %b1;");
        let mut given = vec!["a".to_string(), "b".to_string()];
        if counts {
            line!(self, ".param .b32 depth;");
            line!(self, "st.param.b32 [depth], %de1;");
            given.push("depth".into());
        }
        for (i, (bank, s)) in banks.enumerate() {
            line!(self, ".param {} a{i};", bank.ty());
            line!(self, "st.param{} [a{i}], {};", bank.ty(), src(*s, *bank));
            given.push(format!("a{i}"));
        }
        let mut back = vec![];
        for (i, bank) in callee.results.iter().enumerate() {
            line!(self, ".param {} c{i};", bank.ty());
            back.push(format!("c{i}"));
        }
        let list = if back.is_empty() { String::new() } else { format!("({}), ", join(back)) };
        line!(self, "{g}call {list}{target}, ({}){behind};", join(given));
        for (i, r) in results.iter().enumerate() {
            line!(self, "{g}ld.param{} {r}, [c{i}];", r.bank.ty());
        }
        line!(self, "}}");
    }
}

/// What stands in front of an instruction with a guard.
fn guarded(guard: Option<(Reg, bool)>) -> String {
    guard.map_or(String::new(), |(p, not)| format!("@{}{p} ", if not { "!" } else { "" }))
}

/// An operand of this type.
fn src(s: Src, bank: Bank) -> String {
    match s {
        Src::Reg(r) => r.to_string(),
        Src::Const(c) => match bank {
            Bank::F => format!("0f{:08x}", c as u32),
            Bank::D => format!("0d{c:016x}"),
            _ => c.to_string(),
        },
    }
}

fn arith_name(op: Arith) -> String {
    match op {
        Arith::Mul => "mul".into(),
        op => format!("{op:?}").to_lowercase(),
    }
}

fn arith_type(op: Arith, bank: Bank) -> String {
    let bits = bank.bits();
    match (op, bank) {
        (_, Bank::F) => ".rn.f32".into(),
        (Arith::Mul, _) => format!(".lo.u{bits}"),
        (Arith::And | Arith::Or | Arith::Xor | Arith::Shl, _) => format!(".b{bits}"),
        (Arith::Max, _) => format!(".s{bits}"),
        _ => format!(".u{bits}"),
    }
}

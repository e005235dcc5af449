//! Vector IR as LLVM text. Nothing is decided here.
//!
//! One function runs groups of lanes one after the other, goes on with the next round behind a barrier and with the next CTA ([`driver`]), and is entered by a `switch`
//! at the starts of regions. Registers are LLVM's, variables are allocas, which LLVM turns into registers.

mod atomic;
mod atomic_op;
mod dot;
mod driver;
mod memory;
mod mma;
#[cfg(all(test, target_arch = "x86_64"))]
mod mma_test;
pub(crate) mod ops;
#[cfg(all(test, target_arch = "x86_64"))]
mod ops_test;
mod strided;
pub(crate) mod text;
mod wide;
mod x86;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{Axis, Block, Elem, Function, Order, Scope, Special, Type};
use hostwarp_plan::Assume;
use hostwarp_vector::{Extent, Inst, Kernel, Label, Op, Place, Reg as VReg, Status, Term, Ty, Var};

use crate::abi::{self, Callbacks, Ctx};
use crate::lanes;
use crate::target::Target;
use ops::Cpu;
use text::{Reg, Shape, Text};

/// Iterations of a waiting loop in one call.
const PATIENCE: u32 = 256;

/// How far a group whose lanes are not all in one place may overdraw the budget.
const SLACK: i64 = 1 << 22;

/// Prints a kernel.
pub(crate) fn print(
    k: &Kernel,
    func: &Function,
    assume: Assume,
    target: &Target,
) -> Result<String, Unsupported> {
    let cpu = Cpu::new(target);
    let mut p = Printer {
        k,
        func,
        assume,
        cpu,
        w: k.width,
        t: Text::new(cpu.avx512),
        entry: String::new(),
        group_entry: String::new(),
        once: BTreeMap::new(),
        helpers: BTreeMap::new(),
        reg: vec![String::new(); k.regs.len()],
        logic: vec![false; k.vars.len()],
        patient: false,
    };
    p.kernel()?;
    Ok(p.finish())
}

struct Printer<'a> {
    k: &'a Kernel,
    func: &'a Function,
    assume: Assume,
    cpu: Cpu,
    w: u32,
    t: Text,
    /// What goes to the start of the function, and to where a group begins.
    entry: String,
    group_entry: String,
    once: BTreeMap<String, Reg>,
    helpers: BTreeMap<String, String>,
    /// Registers as written at their uses.
    reg: Vec<Reg>,
    /// Variables that hold what logic has made.
    logic: Vec<bool>,
    /// There is a loop that waits for others.
    patient: bool,
}

impl Printer<'_> {
    fn finish(self) -> String {
        let mut text = String::new();
        for helper in self.helpers.values() {
            text.push_str(helper);
        }
        let _ = write!(
            text,
            "define i32 @kernel(ptr noalias %ctx, ptr noalias %frame, i32 %lane0.first, i32 %resume.first, i32 %whole.first) nounwind {{
entry:
  %windows = alloca [{} x i64], align 8
  %windows.seen = getelementptr i8, ptr %ctx, i64 {}
  store ptr %windows, ptr %windows.seen, align 8
{}{}  br label %group
group:
  %lane0 = load i32, ptr %lane0.slot, align 8
  %resume = load i32, ptr %resume.slot, align 8
{}{}}}
",
            2 * self.k.windows.len().max(1),
            offset_of!(Ctx, windows),
            self.t.allocas.concat(),
            self.entry,
            self.group_entry,
            self.t.body
        );
        for declaration in &self.t.declarations {
            let _ = writeln!(text, "{declaration}");
        }
        text.push_str("!0 = !{!\"branch_weights\", i32 2000, i32 1}\n!1 = !{}\n");
        text
    }

    fn kernel(&mut self) -> Result<(), Unsupported> {
        self.variables();
        self.slots();
        let mut cases = String::new();
        for (b, label) in &self.k.entries {
            let name = self.label(*label);
            if *b == Block::ENTRY {
                let _ = write!(cases, " i32 {}, label %{name}", b.0);
            }
            let _ = write!(cases, " i32 {}, label %{name}", b.0 | abi::BRIEF);
        }
        for (b, label) in self.k.general.iter().flat_map(|g| &g.entries) {
            let _ = write!(cases, " i32 {}, label %{}", b.0 | abi::BRIEF | abi::GENERAL, self.label(*label));
        }
        self.t.line(format_args!("switch i32 %resume, label %nowhere [{cases}]"));
        self.t.label("nowhere");
        self.t.line(format_args!("unreachable"));
        for (n, data) in self.k.blocks.iter().enumerate().filter(|(_, b)| !b.name.is_empty()) {
            let label = self.label(Label(n as u32));
            self.t.label(&label);
            for i in &data.insts {
                self.inst(i)?;
            }
            self.term(&data.term);
        }
        self.t.label("fault");
        self.t.line(format_args!("store i32 {}, ptr %status, align 8", abi::FAULT));
        self.t.jump("leave");
        self.next_group();
        Ok(())
    }

    /// No name that `Text::fresh_label` gives, which has a full stop.
    fn label(&self, l: Label) -> String {
        format!("{}${}", self.k.blocks[l.0 as usize].name, l.0)
    }

    fn variables(&mut self) {
        let mut blended = vec![false; self.k.vars.len()];
        let mut made_by_logic = vec![false; self.k.regs.len()];
        let insts = || self.k.blocks.iter().flat_map(|b| &b.insts);
        use hostwarp_ir::{IntBin, IntUn, Op as Core};
        for i in insts() {
            if let (
                Op::Core(Core::Int(IntBin::And | IntBin::Or | IntBin::Xor) | Core::IntUn(IntUn::Not)),
                Some(r),
            ) = (&i.op, i.result)
            {
                made_by_logic[r.0 as usize] = true;
            }
            self.patient |= matches!(i.op, Op::Fuel { waits: true, .. });
        }
        for i in insts() {
            match i.op {
                Op::Blend(v) => {
                    blended[v.0 as usize] = true;
                    self.logic[v.0 as usize] |= made_by_logic[i.args[0].0 as usize];
                }
                Op::Set(v) => self.logic[v.0 as usize] |= made_by_logic[i.args[0].0 as usize],
                _ => {}
            }
        }
        for (n, ty) in self.k.vars.iter().enumerate() {
            let shape = self.shape(*ty);
            let align = if ty.extent == Extent::Group { 8 } else { 64 };
            let _ = writeln!(self.entry, "  %v{n} = alloca {shape}, align {align}");
            if blended[n] || ty.of.elem == Elem::I1 || n < 2 {
                let zero = Text::constant(shape, 0);
                let _ = writeln!(self.group_entry, "  store {shape} {zero}, ptr %v{n}, align 8");
            }
        }
    }

    fn slots(&mut self) {
        let w = self.w;
        // The widest value has eight elements of eight bytes.
        let _ = writeln!(self.entry, "  %addresses = alloca [{w} x i64], align 64");
        let _ = writeln!(self.entry, "  %data = alloca [{} x i8], align 64", w * 64);
        let _ = writeln!(self.entry, "  %compare = alloca [{} x i8], align 64", w * 8);
        let most = lanes::MOST;
        let _ = writeln!(
            self.entry,
            "  %lanes.out = alloca i{most}, align 8\n  store i{most} 0, ptr %lanes.out, align 8"
        );
        let given = [
            ("fuel", "i64", offset_of!(Ctx, fuel)),
            ("ctas", "i32", offset_of!(Ctx, ctas)),
            ("ctaid.x", "i32", offset_of!(Ctx, ctaid)),
            ("ctaid.y", "i32", offset_of!(Ctx, ctaid) + 4),
            ("ctaid.z", "i32", offset_of!(Ctx, ctaid) + 8),
        ];
        for (name, ty, offset) in given {
            let _ = writeln!(
                self.entry,
                "  %out.{name} = getelementptr i8, ptr %ctx, i64 {offset}\n  %{name}.given = load {ty}, ptr %out.{name}, align 4"
            );
        }
        let slots = [
            ("lane0.slot", "i32", "%lane0.first"),
            ("resume.slot", "i32", "%resume.first"),
            ("round.from", "i32", "-1"),
            ("end.from", "i32", "-1"),
            ("end.to", "i32", "0"),
            ("fuel", "i64", "%fuel.given"),
            ("ctas", "i32", "%ctas.given"),
            ("ctaid.x", "i32", "%ctaid.x.given"),
            ("ctaid.y", "i32", "%ctaid.y.given"),
            ("ctaid.z", "i32", "%ctaid.z.given"),
            ("status", "i32", "0"),
            ("patience", "i32", "0"),
        ];
        for (name, ty, first) in slots {
            let _ = writeln!(
                self.entry,
                "  %{name} = alloca {ty}, align 8\n  store {ty} {first}, ptr %{name}, align 8"
            );
        }
        if self.patient {
            let _ = writeln!(self.group_entry, "  store i32 {PATIENCE}, ptr %patience, align 8");
        }
    }

    fn shape(&self, ty: Ty) -> Shape {
        let count = u32::from(ty.of.count);
        Shape::new(ty.of.elem, self.count(ty.extent) * count)
    }

    fn count(&self, extent: Extent) -> u32 {
        match extent {
            Extent::Group => 1,
            Extent::Rows => self.w / self.k.row,
            Extent::Lanes => self.w,
        }
    }

    fn mask_shape(&self) -> Shape {
        Shape::new(Elem::I1, self.w)
    }

    fn r(&self, r: VReg) -> &str {
        &self.reg[r.0 as usize]
    }

    fn once(&mut self, name: &str, inst: impl FnOnce(&mut Self) -> String) -> Reg {
        self.make_once(name, inst, |e| &mut e.entry)
    }

    fn per_group(&mut self, name: &str, inst: impl FnOnce(&mut Self) -> String) -> Reg {
        self.make_once(name, inst, |e| &mut e.group_entry)
    }

    fn make_once(
        &mut self,
        name: &str,
        inst: impl FnOnce(&mut Self) -> String,
        place: impl FnOnce(&mut Self) -> &mut String,
    ) -> Reg {
        if let Some(reg) = self.once.get(name) {
            return reg.clone();
        }
        let inst = inst(self);
        let reg = format!("%{name}");
        let _ = writeln!(place(self), "  {reg} = {inst}");
        self.once.insert(name.to_owned(), reg.clone());
        reg
    }

    /// A field of the context that does not change during the call.
    fn field(&mut self, name: &str, ty: &str, offset: usize) -> Reg {
        let at = self.once(&format!("{name}.at"), |_| format!("getelementptr i8, ptr %ctx, i64 {offset}"));
        self.once(name, |_| format!("load {ty}, ptr {at}, align 4, !invariant.load !1"))
    }

    /// A callback, about to be called: it looks for the CTA's number in the context.
    fn callback(&mut self, name: &str, offset: usize) -> Reg {
        let index = self.t.inst(format_args!("load i32, ptr %ctaid.x, align 8"));
        self.t.line(format_args!("store i32 {index}, ptr %out.ctaid.x, align 4"));
        self.field(&format!("call.{name}"), "ptr", offset_of!(Ctx, callbacks) + offset)
    }

    fn lane(&mut self) -> Reg {
        self.per_group("lane", |_| "zext i32 %lane0 to i64".into())
    }

    fn bits(&mut self, mask: &str) -> Reg {
        let (w, lanes) = (self.w, self.mask_shape());
        self.t.inst(format_args!("bitcast {lanes} {mask} to i{w}"))
    }

    /// Lanes as callbacks take them: a place that holds them.
    fn handed(&mut self, bits: &str) -> &'static str {
        self.t.line(format_args!("store i{} {bits}, ptr %lanes.out, align 8", self.w));
        "ptr %lanes.out"
    }

    fn define(&mut self, r: VReg, text: Reg) {
        self.reg[r.0 as usize] = text;
    }

    fn inst(&mut self, i: &Inst) -> Result<(), Unsupported> {
        let args: Vec<Reg> = i.args.iter().map(|a| self.r(*a).to_owned()).collect();
        let arg = |n: usize| args[n].as_str();
        if let Some(r) = i.result {
            let ty = self.k.ty(r);
            let shape = self.shape(ty);
            let made = match &i.op {
                Op::Const(bits) => Text::constant(shape, *bits),
                Op::Each(each) => Text::list(ty.of.elem, each.iter().map(|v| *v as u64)),
                Op::Core(op) => {
                    let typed: Vec<(&str, Type)> =
                        args.iter().zip(&i.args).map(|(text, a)| (text.as_str(), self.k.ty(*a).of)).collect();
                    let extents = i.args.iter().map(|a| self.k.ty(*a).extent).chain([ty.extent]);
                    let lanes = self.count(extents.max().unwrap_or(Extent::Group));
                    ops::pure_op(&mut self.t, self.cpu, op, ty.of, &typed, lanes)
                        .ok_or_else(|| Unsupported(format!("{op:?} on this CPU")))?
                }
                Op::Special(s) => self.special(*s),
                Op::SpecialLanes(s) => self.special_lanes(*s),
                Op::Param(at) => self.parameter(*at, ty.of),
                Op::Splat => self.t.repeat(self.shape(Ty::narrow(ty.of)), arg(0), self.count(ty.extent)),
                Op::Spread(offsets) => self.spread(ty.of.elem, arg(0), offsets),
                Op::Widen(offsets) => self.widen(ty.of.elem, arg(0), offsets),
                Op::Origins(offsets) => self.origins(ty.of.elem, &args, offsets),
                Op::Extract => self.extract(ty.of, arg(0), arg(1)),
                Op::Any => {
                    let bits = self.bits(arg(0));
                    self.t.inst(format_args!("icmp ne i{} {bits}, 0", self.w))
                }
                Op::Same => {
                    let (a, b) = (self.bits(arg(0)), self.bits(arg(1)));
                    self.t.inst(format_args!("icmp eq i{} {a}, {b}", self.w))
                }
                Op::Ballot => self.bits(arg(0)),
                Op::Named => self.t.inst(format_args!("bitcast i{} {} to {shape}", self.w, arg(0))),
                Op::First => self.count_zeros("cttz", arg(0)),
                Op::Last => {
                    let above = self.count_zeros("ctlz", arg(0));
                    self.t.inst(format_args!("sub i32 {}, {above}", self.w - 1))
                }
                Op::AnyBit => {
                    let from = Shape::new(Elem::I32, self.w);
                    self.t.intrinsic(&format!("vector.reduce.or.{}", from.suffix()), shape, &[(from, arg(0))])
                }
                Op::Active => self.active(),
                Op::Get(v) => self.get(*v, shape),
                Op::FrameGet(place) => self.frame_get(*place, ty, args.first()),
                Op::Load(access) => self.load(access, ty.is_wide()),
                Op::Atomic(op, access) => self.atomic(*op, access, &i.args, true)?,
                Op::LaneRead => self.lane_read(shape, &args),
                Op::Permute(from) => {
                    let k = u32::from(ty.of.count);
                    let order = from.iter().flat_map(|l| (0..k).map(move |n| l * k + n));
                    self.t.shuffle(shape, arg(0), "poison", order)
                }
                Op::Clock(s) => self.clock(*s),
                Op::Ask { site, access } => self.ask(*site, access, &args, true),
                other => return Err(Unsupported(format!("{other:?} has no result"))),
            };
            self.define(r, made);
            return Ok(());
        }
        match &i.op {
            Op::Set(v) => {
                let shape = self.shape(self.k.vars[v.0 as usize]);
                self.t.line(format_args!("store {shape} {}, ptr %v{}, align 8", arg(0), v.0));
            }
            Op::Blend(v) => {
                let ty = self.k.vars[v.0 as usize];
                let shape = self.shape(ty);
                let old = self.t.inst(format_args!("load {shape}, ptr %v{}, align 8", v.0));
                let new = ops::select(&mut self.t, ty.of, (arg(1), Type::I1), arg(0), &old, self.w);
                self.t.line(format_args!("store {shape} {new}, ptr %v{}, align 8", v.0));
            }
            Op::FramePut(place) => self.frame_put(*place, self.k.ty(i.args[0]), arg(0), args.get(1)),
            Op::Test(exit) => {
                let on = self.t.fresh_label("on");
                let exit = self.label(*exit);
                self.t.branch_likely(arg(0), &on, &exit);
                self.t.label(&on);
            }
            Op::Check(access, exit) => {
                let exit = self.label(*exit);
                self.check(access, &exit);
            }
            Op::Fuel { cost, waits, slack, exit } => {
                self.fuel(*cost, *waits, if *slack { -SLACK } else { 0 }, *exit);
            }
            Op::Store(access) => self.store(access, arg(0)),
            Op::Atomic(op, access) => {
                self.atomic(*op, access, &i.args, false)?;
            }
            Op::Order { order, before } => self.order(*order, *before),
            Op::Fence(scope) => {
                // A CTA stays on one thread of the host: inside it only LLVM must keep the order.
                let of = if *scope == Scope::Cta { "syncscope(\"singlethread\") " } else { "" };
                self.t.line(format_args!("fence {of}seq_cst"));
            }
            Op::Status(status) => self.status(*status),
            Op::Ask { site, access } => {
                self.ask(*site, access, &args, false);
            }
            Op::Park(b) => self.tell("park", offset_of!(Callbacks, park), *b, arg(0), ""),
            Op::Trap(b) => self.tell("trap", offset_of!(Callbacks, trap), *b, arg(0), ""),
            Op::WarpSync(b) => {
                let more = format!(", i32 {}", arg(1));
                self.tell("warp_sync", offset_of!(Callbacks, warp_sync), *b, arg(0), &more);
            }
            Op::Arrive(b) => {
                let more = format!(", i32 {}, i32 {}", arg(1), arg(2));
                self.tell("barrier", offset_of!(Callbacks, barrier), *b, arg(0), &more);
            }
            other => return Err(Unsupported(format!("{other:?} has a result"))),
        }
        Ok(())
    }

    fn term(&mut self, term: &Term) {
        match term {
            Term::Jump(to) => {
                let to = self.label(*to);
                self.t.jump(&to);
            }
            Term::Branch { condition, yes, no, likely } => {
                let (c, yes, no) = (self.r(*condition).to_owned(), self.label(*yes), self.label(*no));
                match likely {
                    true => self.t.branch_likely(&c, &yes, &no),
                    false => self.t.branch(&c, &yes, &no),
                }
            }
            Term::Switch(v, targets) => {
                let v = self.r(*v).to_owned();
                let labels: Vec<String> = targets.iter().map(|l| self.label(*l)).collect();
                let Some((last, others)) = labels.split_last() else { return };
                let cases: String =
                    others.iter().enumerate().map(|(n, l)| format!(" i32 {n}, label %{l}")).collect();
                self.t.line(format_args!("switch i32 {v}, label %{last} [{cases}]"));
            }
            Term::Barrier { from, to } => self.group_ends(from.0, to.0 | abi::BRIEF),
            Term::Exited => self.group_ends(abi::EXITED, Block::ENTRY.0),
            Term::Leave { from } => {
                if let Some(from) = from {
                    self.t.line(format_args!("store i32 {}, ptr %end.from, align 8", from.0));
                }
                self.t.jump("leave");
            }
        }
    }

    fn group_ends(&mut self, from: u32, to: u32) {
        self.t.line(format_args!("store i32 {}, ptr %end.from, align 8", from as i32));
        self.t.line(format_args!("store i32 {to}, ptr %end.to, align 8"));
        self.t.jump("group.end");
    }

    fn get(&mut self, v: Var, shape: Shape) -> Reg {
        let got = self.t.inst(format_args!("load {shape}, ptr %v{}, align 8", v.0));
        self.t.is_from_variable(&got, v.0);
        if self.logic[v.0 as usize] {
            self.t.is_logic(&got);
        }
        got
    }

    fn status(&mut self, status: Status) {
        let code = match status {
            Status::Parked => abi::PARKED,
            Status::Fault => abi::FAULT,
            Status::Handed => abi::HANDED,
            Status::HandedApart => abi::HANDED_APART,
            Status::Budget if self.patient => {
                let patience = self.t.inst(format_args!("load i32, ptr %patience, align 8"));
                let waited = self.t.inst(format_args!("icmp sle i32 {patience}, 0"));
                let code =
                    self.t.inst(format_args!("select i1 {waited}, i32 {}, i32 {}", abi::WAITS, abi::BUDGET));
                return self.t.line(format_args!("store i32 {code}, ptr %status, align 8"));
            }
            Status::Budget => abi::BUDGET,
        };
        self.t.line(format_args!("store i32 {code}, ptr %status, align 8"));
    }

    /// Tells the engine something of lanes at a block.
    fn tell(&mut self, name: &str, offset: usize, b: Block, lanes: &str, more: &str) {
        let callback = self.callback(name, offset);
        let bits = self.bits(lanes);
        let lanes = self.handed(&bits);
        self.t.line(format_args!("call void {callback}(ptr %ctx, i32 {}, i32 %lane0, {lanes}{more})", b.0));
    }

    fn fuel(&mut self, cost: u32, waits: bool, least: i64, exit: Label) {
        let fuel = self.t.inst(format_args!("load i64, ptr %fuel, align 8"));
        let left = self.t.inst(format_args!("sub i64 {fuel}, {cost}"));
        self.t.line(format_args!("store i64 {left}, ptr %fuel, align 8"));
        let mut enough = self.t.inst(format_args!("icmp sge i64 {left}, {least}"));
        if waits {
            let patience = self.t.inst(format_args!("load i32, ptr %patience, align 8"));
            let less = self.t.inst(format_args!("sub i32 {patience}, 1"));
            self.t.line(format_args!("store i32 {less}, ptr %patience, align 8"));
            let some = self.t.inst(format_args!("icmp sgt i32 {less}, 0"));
            enough = self.t.inst(format_args!("and i1 {enough}, {some}"));
        }
        let on = self.t.fresh_label("on");
        let exit = self.label(exit);
        self.t.branch_likely(&enough, &on, &exit);
        self.t.label(&on);
    }

    fn order(&mut self, order: Order, before: bool) {
        let fence = match (order, before) {
            (Order::SeqCst, true) => "seq_cst",
            (Order::Release | Order::AcqRel, true) => "release",
            (Order::Acquire | Order::AcqRel | Order::SeqCst, false) => "acquire",
            _ => return,
        };
        self.t.line(format_args!("fence {fence}"));
    }

    /// The number of zeros, as i32; less than the width even if there is no one.
    fn count_zeros(&mut self, name: &str, lanes: &str) -> Reg {
        let (w, bits) = (self.w, self.bits(lanes));
        self.t.declarations.insert(format!("declare i{w} @llvm.{name}.i{w}(i{w}, i1)"));
        let n = self.t.inst(format_args!("call i{w} @llvm.{name}.i{w}(i{w} {bits}, i1 false)"));
        let n = match w {
            32 => n,
            8 | 16 => self.t.inst(format_args!("zext i{w} {n} to i32")),
            _ => self.t.inst(format_args!("trunc i{w} {n} to i32")),
        };
        self.t.inst(format_args!("and i32 {n}, {}", w - 1))
    }

    fn active(&mut self) -> Reg {
        let w = self.w;
        let whole = self.whole();
        let at = offset_of!(Ctx, active);
        self.per_group("active.at", |_| format!("getelementptr i8, ptr %ctx, i64 {at}"));
        // The first of the words that hold them.
        self.per_group("active.bits", |_| format!("load i{w}, ptr %active.at, align 8"));
        self.per_group("active.all", |_| format!("select i1 {whole}, i{w} -1, i{w} %active.bits"));
        self.per_group("active", |_| format!("bitcast i{w} %active.all to <{w} x i1>"))
    }

    /// A constant for each lane added to one value.
    fn spread(&mut self, elem: Elem, first: &str, offsets: &[i64]) -> Reg {
        let (one, count) = (Shape::new(elem, 1), offsets.len() as u32);
        let all = self.t.repeat(one, first, count);
        self.t.binary("add", one.times(count), &all, &Text::list(elem, offsets.iter().map(|o| *o as u64)))
    }

    /// What each row has in all of its lanes.
    fn each_row(&mut self, shape: Shape, rows: &str) -> Reg {
        let row = self.k.row;
        self.t.shuffle(shape, rows, "poison", (0..shape.n).flat_map(|n| (0..row).map(move |_| n)))
    }

    /// A constant for each lane of a row added to what the row has.
    fn widen(&mut self, elem: Elem, rows: &str, offsets: &[i64]) -> Reg {
        let all = self.each_row(Shape::new(elem, self.w / self.k.row), rows);
        match offsets.iter().all(|o| *o == 0) {
            true => all,
            false => {
                let each = (0..self.w).map(|l| offsets[(l % self.k.row) as usize] as u64);
                self.t.binary("add", Shape::new(elem, self.w), &all, &Text::list(elem, each))
            }
        }
    }

    /// What rows begin with: that of their first lanes, or where not all lanes take part, of those that do, who agree on it.
    fn origins(&mut self, elem: Elem, args: &[Reg], offsets: &[i64]) -> Reg {
        let (all, row) = (Shape::new(elem, self.w), self.k.row);
        let mut each = args[0].clone();
        if let Some(mask) = args.get(1) {
            let back = (0..self.w).map(|l| offsets[(l % row) as usize].wrapping_neg() as u64);
            each = self.t.binary("add", all, &each, &Text::list(elem, back));
            each = self.t.select(self.mask_shape(), mask, all, &each, "zeroinitializer");
            let mut step = row / 2;
            while step > 0 {
                let other = self.t.shuffle(all, &each, "poison", (0..self.w).map(|l| l ^ step));
                each = self.t.binary("or", all, &each, &other);
                step /= 2;
            }
        }
        self.t.shuffle(all, &each, "poison", (0..self.w).step_by(row as usize))
    }

    /// What one lane holds.
    fn extract(&mut self, ty: Type, wide: &str, lane: &str) -> Reg {
        let (all, one) = (self.shape(Ty::wide(ty)), self.shape(Ty::narrow(ty)));
        if ty.count == 1 && ty.elem != Elem::I1 {
            return self.t.inst(format_args!("extractelement {all} {wide}, i32 {lane}"));
        }
        // Through memory: packed values have no element of their own, and bits no address.
        let held = if ty.elem == Elem::I1 { all.with(Elem::I8) } else { all };
        let held_one = one.with(held.elem);
        let wide = self.t.convert("zext", all, wide, held);
        self.t.line(format_args!("store {held} {wide}, ptr %data, align 64"));
        let at = self.t.inst(format_args!("zext i32 {lane} to i64"));
        let at = self.t.inst(format_args!("mul i64 {at}, {}", ty.bytes()));
        let at = self.t.inst(format_args!("getelementptr i8, ptr %data, i64 {at}"));
        let value = self.t.inst(format_args!("load {held_one}, ptr {at}, align 1"));
        self.t.convert("trunc", held_one, &value, one)
    }

    /// Threads of a CTA, if all have the same size.
    fn threads_known(&self) -> Option<u32> {
        self.assume.block?.iter().try_fold(1, |n: u32, d| n.checked_mul(*d)).filter(|n| *n <= 1 << 16)
    }

    fn threads(&mut self) -> Reg {
        match self.threads_known() {
            Some(threads) => threads.to_string(),
            None => self.field("threads", "i32", offset_of!(Ctx, threads)),
        }
    }

    /// A value's column in the frame, from the group's first lane on.
    fn column(&mut self, place: Place) -> Reg {
        let lane = self.lane();
        let (slot, bytes) = (place.slot, place.ty.bytes());
        let offset = match self.threads_known() {
            // Whole warps.
            Some(threads) => (u64::from(threads).next_multiple_of(32) * u64::from(slot)).to_string(),
            None => {
                let lanes = self.field("lanes", "i64", offset_of!(Ctx, lanes));
                self.once(&format!("column.{slot}.offset"), |_| format!("mul i64 {lanes}, {slot}"))
            }
        };
        let column =
            self.once(&format!("column.{slot}"), |_| format!("getelementptr i8, ptr %frame, i64 {offset}"));
        let within = self.per_group(&format!("lane.{bytes}"), |_| format!("mul i64 {lane}, {bytes}"));
        self.t.inst(format_args!("getelementptr i8, ptr {column}, i64 {within}"))
    }

    /// How a value lies in its column: an i1 takes a byte.
    fn column_type(place: Place) -> Type {
        if place.ty.elem == Elem::I1 { place.ty.with(Elem::I8) } else { place.ty }
    }

    fn frame_get(&mut self, place: Place, ty: Ty, lane: Option<&Reg>) -> Reg {
        let mut at = self.column(place);
        let (held, to) = (self.shape(Ty { of: Self::column_type(place), ..ty }), self.shape(ty));
        if let Some(lane) = lane.filter(|lane| *lane != "0") {
            let offset = self.t.inst(format_args!("zext i32 {lane} to i64"));
            let offset = self.t.inst(format_args!("mul i64 {offset}, {}", place.ty.bytes()));
            at = self.t.inst(format_args!("getelementptr i8, ptr {at}, i64 {offset}"));
        }
        let value = self.t.inst(format_args!("load {held}, ptr {at}, align 1"));
        self.t.convert("trunc", held, &value, to)
    }

    fn frame_put(&mut self, place: Place, ty: Ty, value: &str, mask: Option<&Reg>) {
        let at = self.column(place);
        let held_type = Self::column_type(place);
        let (from, held) = (self.shape(ty), self.shape(Ty { of: held_type, ..ty }));
        let mut value = self.t.convert("zext", from, value, held);
        if let Some(mask) = mask {
            let old = self.t.inst(format_args!("load {held}, ptr {at}, align 1"));
            value = ops::select(&mut self.t, held_type, (mask, Type::I1), &value, &old, self.w);
        }
        self.t.line(format_args!("store {held} {value}, ptr {at}, align 1"));
    }

    fn parameter(&mut self, at: u32, ty: Type) -> Reg {
        let one = self.shape(Ty::narrow(ty));
        let param = self.field("param", "ptr", offset_of!(Ctx, param));
        let there =
            self.once(&format!("param.{at}.at"), |_| format!("getelementptr i8, ptr {param}, i64 {at}"));
        let (name, align) = (format!("param.{at}.{}", one.suffix()), ty.elem.bytes());
        self.once(&name, |_| format!("load {one}, ptr {there}, align {align}, !invariant.load !1"))
    }

    fn special(&mut self, special: Special) -> Reg {
        let number = |a: Axis| match a {
            Axis::X => 0,
            Axis::Y => 1,
            Axis::Z => 2,
        };
        let name = |a: Axis| ["x", "y", "z"][number(a)];
        let (label, ty, offset) = match special {
            Special::Tid(Axis::X) if self.assume.one_dimensional => return "%lane0".into(),
            Special::Tid(_) if self.assume.one_dimensional => return "0".into(),
            Special::Tid(a) => {
                let at = self.tid_pointer(number(a));
                return self.per_group(&format!("tid.{}.first", name(a)), |_| {
                    format!("load i32, ptr {at}, align 4, !invariant.load !1")
                });
            }
            Special::LaneId if self.w >= 32 => return "0".into(),
            Special::LaneId => return self.per_group("laneid.first", |_| "and i32 %lane0, 31".into()),
            Special::WarpId => return self.per_group("warpid", |_| "lshr i32 %lane0, 5".into()),
            Special::SmId | Special::Clock | Special::Clock64 | Special::GlobalTimer => return "0".into(),
            Special::Ctaid(a) => {
                return self.t.inst(format_args!("load i32, ptr %ctaid.{}, align 8", name(a)));
            }
            Special::Ntid(a) => (format!("ntid.{}", name(a)), "i32", offset_of!(Ctx, ntid) + 4 * number(a)),
            Special::Nctaid(a) => {
                (format!("nctaid.{}", name(a)), "i32", offset_of!(Ctx, nctaid) + 4 * number(a))
            }
            Special::NWarpId => ("nwarpid".into(), "i32", offset_of!(Ctx, nwarpid)),
            Special::NSmId => ("nsmid".into(), "i32", offset_of!(Ctx, nsmid)),
            Special::DynamicSharedSize => ("dynamic.shared".into(), "i32", offset_of!(Ctx, dynamic_shared)),
            Special::TotalSharedSize => ("total.shared".into(), "i32", offset_of!(Ctx, total_shared)),
            Special::GridId => ("gridid".into(), "i64", offset_of!(Ctx, grid_id)),
            Special::GlobalsBase => ("globals.base".into(), "i64", offset_of!(Ctx, globals_base)),
            Special::GridWorkspace => ("workspace".into(), "i64", offset_of!(Ctx, grid_workspace)),
        };
        self.field(&label, ty, offset)
    }

    fn special_lanes(&mut self, special: Special) -> Reg {
        let w = self.w;
        match special {
            Special::Tid(a) => {
                let axis = match a {
                    Axis::X => 0,
                    Axis::Y => 1,
                    Axis::Z => 2,
                };
                let at = self.tid_pointer(axis);
                self.per_group(&format!("tid.{axis}.all"), |_| {
                    format!("load <{w} x i32>, ptr {at}, align 4, !invariant.load !1")
                })
            }
            Special::LaneId => {
                let first = self.special(special);
                self.spread(Elem::I32, &first, &(0..i64::from(w)).map(|l| l % 32).collect::<Vec<_>>())
            }
            Special::WarpId => {
                let first = self.special(special);
                self.spread(Elem::I32, &first, &(0..i64::from(w)).map(|l| l / 32).collect::<Vec<_>>())
            }
            _ => {
                let one = Shape::new(if special.is_wide() { Elem::I64 } else { Elem::I32 }, 1);
                let first = self.special(special);
                self.t.repeat(one, &first, w)
            }
        }
    }

    fn tid_pointer(&mut self, axis: usize) -> Reg {
        let lane = self.lane();
        let table = self.field(&format!("tid.{axis}"), "ptr", offset_of!(Ctx, tid) + 8 * axis);
        self.per_group(&format!("tid.{axis}.here"), |_| format!("getelementptr i32, ptr {table}, i64 {lane}"))
    }

    fn clock(&mut self, special: Special) -> Reg {
        let which = u32::from(special == Special::GlobalTimer);
        let callback = self.callback("clock", offset_of!(Callbacks, clock));
        let now = self.t.inst(format_args!("call i64 {callback}(ptr %ctx, i32 {which})"));
        match special.is_wide() {
            true => now,
            false => self.t.inst(format_args!("trunc i64 {now} to i32")),
        }
    }

    /// (own, lane, executing lanes if not all)
    fn lane_read(&mut self, all: Shape, args: &[Reg]) -> Reg {
        let (own, ints) = (&args[0], Shape::new(Elem::I32, self.w));
        let index = self.t.binary("and", ints, &args[1], &Text::constant(ints, 31));
        let read = if self.cpu.avx512 && all.n == 32 && all.elem.bits() == 32 {
            self.permute_words(all, own, &index)
        } else {
            self.permute_through_memory(all, own, &index)
        };
        let Some(mask) = args.get(2) else { return read };
        let (lanes, bits) = (self.mask_shape(), self.bits(mask));
        let bits = self.t.repeat(Shape::new(Elem::I32, 1), &bits, self.w);
        let there = self.t.binary("lshr", ints, &bits, &index);
        let there = self.t.convert("trunc", ints, &there, lanes);
        self.t.select(lanes, &there, all, &read, own)
    }

    /// 32 words are two 512-bit registers, from which one instruction picks any.
    fn permute_words(&mut self, all: Shape, own: &str, index: &str) -> Reg {
        let (ints, half) = (Shape::new(Elem::I32, 32), Shape::new(Elem::I32, 16));
        let words = self.t.convert("bitcast", all, own, ints);
        let low = self.t.shuffle(ints, &words, "poison", 0..16);
        let high = self.t.shuffle(ints, &words, "poison", 16..32);
        let mut picked = vec![];
        for from in [0, 16] {
            let index = self.t.shuffle(ints, index, "poison", from..from + 16);
            let args = [(half, low.as_str()), (half, index.as_str()), (half, high.as_str())];
            picked.push(self.t.intrinsic("x86.avx512.vpermi2var.d.512", half, &args));
        }
        let joined = self.t.shuffle(half, &picked[0], &picked[1], 0..32);
        self.t.convert("bitcast", ints, &joined, all)
    }

    fn permute_through_memory(&mut self, all: Shape, own: &str, index: &str) -> Reg {
        let (one, ints) = (all.times(all.n / self.w), Shape::new(Elem::I32, self.w));
        // An i1 has no place in memory: it travels as a byte.
        let (held, held_one) =
            if all.elem == Elem::I1 { (all.with(Elem::I8), one.with(Elem::I8)) } else { (all, one) };
        let own = self.t.convert("zext", all, own, held);
        self.t.line(format_args!("store {held} {own}, ptr %data, align 64"));
        let mut read = "poison".to_owned();
        for lane in 0..self.w {
            let at = self.t.inst(format_args!("extractelement {ints} {index}, i64 {lane}"));
            let at = self.t.inst(format_args!("zext i32 {at} to i64"));
            let at = self.t.inst(format_args!("getelementptr {held_one}, ptr %data, i64 {at}"));
            let element = self.t.inst(format_args!("load {held_one}, ptr {at}, align 1"));
            read = self.t.inst(format_args!("insertelement {held} {read}, {held_one} {element}, i64 {lane}"));
        }
        self.t.convert("trunc", held, &read, all)
    }
}

/// What makes 64 bits of the number of a lane, `%lane.w`, of as many bits as there are lanes.
fn lane_number(w: u32) -> String {
    match w {
        64 => "add i64 %lane.w, 0".into(),
        65.. => format!("trunc i{w} %lane.w to i64"),
        _ => format!("zext i{w} %lane.w to i64"),
    }
}

/// Why a kernel is left to the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(pub String);

//! LLVM IR as text: registers, constants, vector shapes, declarations. Knows no core op.
//!
//! Only constructs that mean the same on LLVM 15 to 19 are written; `tests/` compiles each of them on every library there is.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::{self, Write};

use hostwarp_ir::Elem;

/// A flat vector: `n` elements, a scalar when `n` is 1.
///
/// A packed value of `k` elements over `w` lanes is a flat vector of `w * k`, lane after lane, so that seeing it as one wide
/// element per lane is a bitcast. f16 and bf16 are kept as i16: LLVM must do no arithmetic on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) elem: Elem,
    pub(crate) n: u32,
}

impl Shape {
    pub(crate) fn new(elem: Elem, n: u32) -> Shape {
        Shape { elem, n }
    }

    pub(crate) fn with(self, elem: Elem) -> Shape {
        Shape { elem, ..self }
    }

    pub(crate) fn times(self, n: u32) -> Shape {
        Shape { n, ..self }
    }

    /// The integer shape of the same width.
    pub(crate) fn to_int(self) -> Shape {
        self.with(self.elem.to_int())
    }

    /// LLVM's name of the element type.
    pub(crate) fn element(self) -> &'static str {
        match self.elem {
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::I16 | Elem::F16 | Elem::BF16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F32 => "float",
            Elem::F64 => "double",
        }
    }

    /// How intrinsics are named after it: `v32i32`, `f64`.
    pub(crate) fn suffix(self) -> String {
        let element = match self.elem {
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            _ => self.element(),
        };
        if self.n == 1 { element.to_owned() } else { format!("v{}{element}", self.n) }
    }
}

/// As LLVM writes the type.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.n == 1 { f.write_str(self.element()) } else { write!(f, "<{} x {}>", self.n, self.element()) }
    }
}

/// A register or a constant, as written at its use.
pub(crate) type Reg = String;

/// The text of one function under construction.
#[derive(Default)]
pub(crate) struct Text {
    pub(crate) body: String,
    next: u32,
    /// The label of the block being written.
    pub(crate) current: String,
    falls_to: Option<String>,
    /// Whole `declare` lines.
    pub(crate) declarations: BTreeSet<String>,
    /// Whether [`Text::select`] has to keep LLVM from what it [does wrong](Text::keep_apart).
    keeps_selects_apart: bool,
    /// Vectors that logic has made, if so.
    logic: HashSet<Reg>,
    /// Functions of the module that are defined.
    defined: HashSet<String>,
    /// What [`Text::once`] has written, with its block.
    written: HashMap<String, (String, Reg)>,
    /// Variables that registers were read from.
    variables: HashMap<Reg, u32>,
    /// What [`Text::slot`] has given out, and how often one for the second time.
    slots: Vec<(usize, Vec<String>)>,
    handed_out: usize,
    /// Memory of the function: lines for its beginning.
    pub(crate) allocas: Vec<String>,
}

/// Slots of one size.
const SLOTS: usize = 16;

impl Text {
    /// None yet, for a CPU with masked logic on three vectors or one without.
    pub(crate) fn new(masked_logic: bool) -> Text {
        Text { keeps_selects_apart: masked_logic, ..Text::default() }
    }

    /// A register name not used yet.
    pub(crate) fn fresh(&mut self) -> Reg {
        self.next += 1;
        format!("%t{}", self.next)
    }

    /// Writes a line without a result.
    pub(crate) fn line(&mut self, line: fmt::Arguments<'_>) {
        self.body.push_str("  ");
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(line);
        self.body.push('\n');
    }

    /// Writes an instruction and answers the register of its result.
    pub(crate) fn inst(&mut self, inst: fmt::Arguments<'_>) -> Reg {
        let reg = self.fresh();
        let begin = self.body.len();
        self.line(format_args!("{reg} = {inst}"));
        if self.keeps_selects_apart {
            let line = &self.body[begin..];
            let Some((_, inst)) = line.split_once(" = ") else { return reg };
            let is_logic = ["and <", "or <", "xor <"].iter().any(|op| inst.starts_with(op));
            // The same under another type, or put together.
            let moves = inst.starts_with("bitcast <") || inst.starts_with("shufflevector <");
            let of_logic = || inst.split([' ', ',']).any(|word| self.logic.contains(word));
            if is_logic || moves && of_logic() {
                self.logic.insert(reg.clone());
            }
        }
        reg
    }

    /// As [`Text::inst`], of an instruction that always gives the same, and has been written in this block already if so.
    pub(crate) fn once(&mut self, inst: String) -> Reg {
        self.once_as(&inst, |t| t.inst(format_args!("{inst}")))
    }

    /// As [`Text::once`], of several instructions that go by a name of their own.
    pub(crate) fn once_as(&mut self, name: &str, make: impl FnOnce(&mut Text) -> Reg) -> Reg {
        if let Some((_, reg)) = self.written.get(name).filter(|(block, _)| *block == self.current) {
            return reg.clone();
        }
        let reg = make(self);
        self.written.insert(name.to_owned(), (self.current.clone(), reg.clone()));
        reg
    }

    /// Memory of so many bytes of the function, the last four of which are 0 at its beginning, for what is made of these registers; others may
    /// have had it since. Registers that are read from the same variables get the same.
    pub(crate) fn slot(&mut self, bytes: usize, registers: &[&str]) -> Reg {
        let from = |r: &&str| self.variables.get(*r).map_or_else(|| (*r).to_owned(), |v| format!("v{v}"));
        let of: Vec<String> = registers.iter().map(from).collect();
        if let Some(n) = self.slots.iter().position(|slot| *slot == (bytes, of.clone())) {
            return format!("%slot.{n}");
        }
        let of_this_size = (0..self.slots.len()).filter(|n| self.slots[*n].0 == bytes);
        let n = if of_this_size.clone().count() < SLOTS {
            let n = self.slots.len();
            let at = bytes - 4;
            self.allocas.push(format!(
                "  %slot.{n} = alloca [{bytes} x i8], align 64\n  %slot.end.{n} = getelementptr i8, ptr %slot.{n}, i64 {at}\n  store i32 0, ptr %slot.end.{n}, align 4\n"
            ));
            self.slots.push((bytes, of));
            n
        } else {
            // The oldest.
            self.handed_out += 1;
            let n = of_this_size.clone().nth(self.handed_out % SLOTS).unwrap_or(0);
            self.slots[n].1 = of;
            n
        };
        format!("%slot.{n}")
    }

    /// Says that a register was read from a variable.
    pub(crate) fn is_from_variable(&mut self, reg: &str, variable: u32) {
        self.variables.insert(reg.to_owned(), variable);
    }

    /// Whether a function of the module has been defined.
    pub(crate) fn is_defined(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Defines a function of the module.
    pub(crate) fn define(&mut self, name: String, definition: String) {
        self.declarations.insert(definition);
        self.defined.insert(name);
    }

    /// Says that a vector was made by logic, though not in sight.
    pub(crate) fn is_logic(&mut self, reg: &str) {
        if self.keeps_selects_apart {
            self.logic.insert(reg.to_owned());
        }
    }

    /// Starts a block.
    pub(crate) fn label(&mut self, label: &str) {
        if self.falls_to.take().as_deref() == Some(label) {
            return;
        }
        label.clone_into(&mut self.current);
        let _ = writeln!(self.body, "{label}:");
    }

    /// A label not used yet.
    pub(crate) fn fresh_label(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{what}.{}", self.next)
    }

    /// Ends a block with a branch that nearly always goes to `likely`.
    pub(crate) fn branch_likely(&mut self, condition: &str, likely: &str, unlikely: &str) {
        self.line(format_args!("br i1 {condition}, label %{likely}, label %{unlikely}, !prof !0"));
    }

    /// Ends a block with a branch.
    pub(crate) fn branch(&mut self, condition: &str, then: &str, otherwise: &str) {
        self.line(format_args!("br i1 {condition}, label %{then}, label %{otherwise}"));
    }

    /// Ends a block.
    pub(crate) fn jump(&mut self, to: &str) {
        self.line(format_args!("br label %{to}"));
    }

    /// A constant with the same bits in every element.
    pub(crate) fn constant(shape: Shape, bits: u64) -> Reg {
        if shape.elem == Elem::F32 || shape.elem == Elem::F64 {
            let int = shape.to_int();
            return format!("bitcast ({int} {} to {shape})", Text::constant(int, bits));
        }
        if shape.n == 1 {
            return match shape.elem {
                Elem::I1 => if bits & 1 == 1 { "true" } else { "false" }.to_owned(),
                _ => (bits & shape.elem.mask()).to_string(),
            };
        }
        if bits == 0 {
            return "zeroinitializer".to_owned();
        }
        let one = shape.times(1);
        let element = Text::constant(one, bits);
        let mask = shape.with(Elem::I32);
        format!(
            "shufflevector ({shape} insertelement ({shape} poison, {one} {element}, i64 0), {shape} poison, {mask} zeroinitializer)"
        )
    }

    /// A constant vector of integers.
    pub(crate) fn list(elem: Elem, values: impl IntoIterator<Item = u64>) -> Reg {
        let name = Shape::new(elem, 1).element();
        let mut text = String::from("<");
        for (i, value) in values.into_iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let _ = write!(text, "{comma}{name} {}", value & elem.mask());
        }
        text.push('>');
        text
    }

    /// `op shape a, b`
    pub(crate) fn binary(&mut self, op: &str, shape: Shape, a: &str, b: &str) -> Reg {
        self.inst(format_args!("{op} {shape} {a}, {b}"))
    }

    /// A conversion from one shape to another; nothing where they are the same.
    pub(crate) fn convert(&mut self, op: &str, from: Shape, a: &str, to: Shape) -> Reg {
        if from.to_string() == to.to_string() {
            return a.to_owned();
        }
        self.inst(format_args!("{op} {from} {a} to {to}"))
    }

    /// Integer or float comparison; the predicate with its mnemonic (`icmp ult`).
    pub(crate) fn compare(&mut self, predicate: &str, shape: Shape, a: &str, b: &str) -> Reg {
        self.inst(format_args!("{predicate} {shape} {a}, {b}"))
    }

    /// `condition` of as many elements as `shape`, or a single i1.
    pub(crate) fn select(&mut self, condition: Shape, c: &str, shape: Shape, a: &str, b: &str) -> Reg {
        let [a, b] =
            [a, b].map(|arm| if condition.n > 1 { self.keep_apart(shape, arm) } else { arm.to_owned() });
        self.inst(format_args!("select {condition} {c}, {shape} {a}, {shape} {b}"))
    }

    /// The same value, such that LLVM does not see how it was made. Where an arm of a select is logic on three vectors, one of them a constant
    /// or loaded and one the other arm, it makes one masked `vpternlog` of it, with the wrong table: all versions up to 22 do (llvm-project issue
    /// 157929).
    fn keep_apart(&mut self, shape: Shape, a: &str) -> Reg {
        let bits = shape.n * shape.elem.bits();
        if !self.logic.contains(a) || shape.elem == Elem::I1 || !bits.is_multiple_of(32) || bits < 64 {
            return a.to_owned();
        }
        self.opaque(shape, a)
    }

    /// The same integers, such that LLVM does not see how they were made. What would divide by 0 is replaced by 1, and its quotient by something else: as
    /// LLVM knows that nobody asks for that quotient it divides by 0 after all where it sees both, which ends the process (in all versions; seen with a
    /// divisor that is a shifted constant).
    pub(crate) fn opaque(&mut self, shape: Shape, a: &str) -> Reg {
        let bits = shape.n * shape.elem.bits();
        if !bits.is_multiple_of(32) {
            // A single short one.
            let word = Shape::new(Elem::I32, 1);
            let wide = self.convert("zext", shape, a, word);
            let fenced = self.opaque(word, &wide);
            return self.convert("trunc", word, &fenced, shape);
        }
        let floats = Shape::new(Elem::F32, bits / 32);
        let a = self.convert("bitcast", shape, a, floats);
        let fenced =
            self.intrinsic(&format!("arithmetic.fence.{}", floats.suffix()), floats, &[(floats, &a)]);
        self.convert("bitcast", floats, &fenced, shape)
    }

    /// A call of an intrinsic, declared on the way. `name` is without `llvm.` and with its suffixes.
    pub(crate) fn intrinsic(&mut self, name: &str, result: Shape, args: &[(Shape, &str)]) -> Reg {
        let types = args.iter().map(|(shape, _)| shape.to_string()).collect::<Vec<_>>().join(", ");
        self.declarations.insert(format!("declare {result} @llvm.{name}({types})"));
        let args = args.iter().map(|(shape, arg)| format!("{shape} {arg}")).collect::<Vec<_>>().join(", ");
        self.inst(format_args!("call {result} @llvm.{name}({args})"))
    }

    /// `shufflevector` of two vectors of one shape by a constant mask.
    pub(crate) fn shuffle(
        &mut self,
        shape: Shape,
        a: &str,
        b: &str,
        mask: impl IntoIterator<Item = u32>,
    ) -> Reg {
        let mask: Vec<u32> = mask.into_iter().collect();
        let n = mask.len();
        let mask = Text::list(Elem::I32, mask.into_iter().map(u64::from));
        self.inst(format_args!("shufflevector {shape} {a}, {shape} {b}, <{n} x i32> {mask}"))
    }

    /// Vectors of one shape, a power of two of them, one after the other.
    pub(crate) fn concat(&mut self, shape: Shape, parts: &[Reg]) -> Reg {
        match parts {
            [] => "poison".into(),
            [one] => one.clone(),
            _ => {
                let (low, high) = parts.split_at(parts.len() / 2);
                let (low, high) = (self.concat(shape, low), self.concat(shape, high));
                let half = shape.times(shape.n * (parts.len() / 2) as u32);
                self.shuffle(half, &low, &high, 0..2 * half.n)
            }
        }
    }

    /// The elements of a flat vector (or a scalar) repeated `times` over.
    pub(crate) fn repeat(&mut self, shape: Shape, a: &str, times: u32) -> Reg {
        if times == 1 {
            return a.to_owned();
        }
        if shape.n > 1 {
            return self.shuffle(shape, a, "poison", (0..times).flat_map(|_| 0..shape.n));
        }
        let wide = shape.times(times);
        let first = self.inst(format_args!("insertelement {wide} poison, {shape} {a}, i64 0"));
        let mask = wide.with(Elem::I32);
        self.inst(format_args!("shufflevector {wide} {first}, {wide} poison, {mask} zeroinitializer"))
    }
}

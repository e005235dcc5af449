//! Legal instructions: random ones of each form of an opcode that the instruction set and the compiler let pass.

use super::ours;
use super::ptxas::Judgeable;
use super::random::Random;
use super::sample::Sample;
use hostwarp_isa::form::{Class, Of, OperandSlot, Parsed};
use hostwarp_isa::{Env, Instr, Operand, OperandKind, Ty, find, resolve};
use std::collections::HashSet;

/// Versions and targets of legal instructions; the first is by far the most frequent.
pub const HEADERS: &[(&str, &str)] = &[
    ("8.8", "sm_90"),
    ("9.4", "sm_90"),
    ("9.3", "sm_100"),
    ("8.6", "sm_100"),
    ("9.4", "sm_120"),
    ("9.0", "sm_103"),
    ("8.8", "sm_90a"),
    ("8.8", "sm_100a"),
    ("7.8", "sm_90"),
    ("7.8", "sm_89"),
    ("8.1", "sm_90"),
    ("8.3", "sm_80"),
    ("7.0", "sm_80"),
    ("7.1", "sm_86"),
    ("6.3", "sm_75"),
    ("6.5", "sm_75"),
    ("6.0", "sm_70"),
    ("6.2", "sm_70"),
    ("5.0", "sm_60"),
    ("4.2", "sm_53"),
    ("4.0", "sm_50"),
    ("3.1", "sm_35"),
    ("3.0", "sm_30"),
    ("2.3", "sm_20"),
    ("8.8", "sm_20"),
    ("8.8", "sm_52"),
    ("9.4", "sm_35"),
    ("8.0", "sm_70"),
];

/// Up to `count` different legal samples of an opcode; fewer if it has no more.
pub fn samples(opcode: &'static str, count: usize, random: &mut Random) -> Vec<Sample> {
    let Some((entry, opcode)) = find(opcode) else { return vec![] };
    let lists = entry.forms.iter().any(|f| f.operands.iter().any(|o| matches!(o.class, Class::List(0, _))));
    // Of lists only few have the right length.
    let attempts = if lists { 600 } else { 60 };
    let mut seen = HashSet::new();
    let mut out = vec![];
    for _ in 0..count * attempts {
        if out.len() == count {
            break;
        }
        let parsed = random.pick(&entry.forms);
        let Some(mut sample) = instruction(opcode, parsed, random) else { continue };
        for attempt in 0..8 {
            let usual = attempt == 0 && random.one_in(2);
            let (version, target) = if usual { HEADERS[0] } else { *random.pick(HEADERS) };
            (sample.version, sample.target) = (version.into(), target.into());
            if ours::verdict(&sample).is_legal() {
                if seen.insert(sample.module()) {
                    out.push(sample);
                }
                break;
            }
        }
    }
    out
}

/// A random instruction of a form, if the form's rules let it pass; no header yet.
fn instruction(opcode: &'static str, parsed: &'static Parsed, random: &mut Random) -> Option<Sample> {
    let mods: Vec<Option<&'static str>> = parsed
        .mods
        .iter()
        .map(|m| if m.optional && random.one_in(2) { None } else { Some(*random.pick(m.members)) })
        .collect();
    let counts = counts(&mods);
    let mut maker = Maker { parsed, mods: &mods, random, registers: vec![], counts };
    let mut operands: Vec<(Operand<'static>, String)> = vec![];
    for place in &parsed.operands {
        if place.optional && maker.random.one_in(2) {
            if place.pair { continue } else { break }
        }
        let (operand, text) = maker.operand(place);
        match operands.pop_if(|_| place.pair) {
            Some((first, first_text)) => {
                let pair = OperandKind::Pair(Box::new(first), Box::new(operand));
                operands.push((Operand::new(pair), format!("{first_text}|{text}")));
            }
            None => operands.push((operand, text)),
        }
    }
    let mut registers = maker.registers;
    let (operands, texts): (Vec<Operand<'static>>, Vec<String>) = operands.into_iter().unzip();
    let given: Vec<&'static str> = mods.iter().flatten().copied().collect();
    resolve(&Instr { opcode, mods: &given, operands: &operands }, Env::NEWEST).ok()?;
    let guard = match random.below(6) {
        0 => "@%g",
        1 => "@!%g",
        _ => "",
    };
    if !guard.is_empty() {
        registers.push((".pred".into(), "%g".into()));
    }
    Some(Sample {
        opcode,
        version: String::new(),
        target: String::new(),
        registers,
        guard: guard.into(),
        head: [opcode].into_iter().chain(given).map(String::from).collect(),
        operands: texts,
        mutations: vec![],
    })
}

/// The numbers of registers that a list of this instruction may have: the room's rule picks among them.
fn counts(mods: &[Option<&'static str>]) -> Vec<usize> {
    let columns =
        mods.iter().flatten().find_map(|m| m.strip_prefix(".m64n")?.split('k').next()?.parse::<usize>().ok());
    let times = mods.iter().flatten().find_map(|m| m.strip_prefix(".x")?.parse::<usize>().ok());
    match (columns, times) {
        (Some(n), _) => vec![n / 2, n / 4],
        (_, Some(n)) => vec![n, 2 * n, 4 * n],
        _ => vec![1, 2, 4, 8],
    }
}

struct Maker<'a> {
    parsed: &'static Parsed,
    mods: &'a [Option<&'static str>],
    random: &'a mut Random,
    registers: Vec<(String, String)>,
    /// How many registers may make up a matrix.
    counts: Vec<usize>,
}

impl Maker<'_> {
    /// A new register.
    fn declare(&mut self, ty: Ty) -> (OperandKind<'static>, String) {
        let name = format!("%r{}", self.registers.len());
        self.registers.push((ty.text().into(), name.clone()));
        (OperandKind::Reg(ty), name)
    }

    /// A register that may stand where this type is wanted: declared with it, or with another that goes with it.
    fn register(&mut self, want: Ty, wider: bool) -> (OperandKind<'static>, String) {
        let packed =
            |t: Ty| matches!(t, Ty::F32x2 | Ty::BF16x2 | Ty::U16x2 | Ty::S16x2 | Ty::Tf32 | Ty::BF16);
        let good: Vec<Ty> = (Ty::ALL.iter().copied())
            .filter(|t| !packed(*t) && (want.accepts(*t) || wider && t.bits() > want.bits()))
            .collect();
        let own = !packed(want) && self.random.one_in(2);
        let ty = if own || good.is_empty() { want } else { *self.random.pick(&good) };
        self.declare(ty)
    }

    /// An address of two parts, as tensors and textures have it.
    fn tuple(&mut self) -> (OperandKind<'static>, String) {
        let (base_kind, base) = self.declare(Ty::U64);
        let n = 1 + self.random.below(5);
        let (place_kind, place) = self.list(Ty::S32, n);
        let parts = vec![Operand::new(base_kind), Operand::new(place_kind)];
        (OperandKind::Tuple(parts), format!("[{base}, {place}]"))
    }

    /// A vector of registers of one type.
    fn list(&mut self, ty: Ty, n: usize) -> (OperandKind<'static>, String) {
        let (elements, names): (Vec<_>, Vec<_>) = (0..n).map(|_| self.declare(ty)).unzip();
        let elements = elements.into_iter().map(Operand::new).collect();
        (OperandKind::Vector(elements), format!("{{{}}}", names.join(", ")))
    }

    fn ty(&self, slot: usize) -> Ty {
        self.mods[slot].and_then(Ty::parse).unwrap_or(Ty::B32)
    }

    fn operand(&mut self, place: &OperandSlot) -> (Operand<'static>, String) {
        let (kind, text) = self.kind(place);
        let mut operand = Operand::new(kind);
        let mut text = text;
        if let Some((members, optional)) = place.selector
            && !(optional && self.random.one_in(2))
        {
            let selector = *self.random.pick(members);
            operand.selector = Some(selector);
            text += selector;
        }
        if place.neg && self.random.one_in(3) {
            operand.neg = true;
            text.insert(0, '-');
        } else if place.not && self.random.one_in(3) {
            operand.not = true;
            text.insert(0, '!');
        }
        (operand, text)
    }

    fn kind(&mut self, place: &OperandSlot) -> (OperandKind<'static>, String) {
        if place.class == Class::Tuple {
            return self.tuple();
        }
        if place.class == Class::Handle {
            let (kind, name) = self.declare(Ty::U64);
            return if place.address {
                (OperandKind::Address(Some(Ty::U64)), format!("[{name}]"))
            } else {
                (kind, name)
            };
        }
        if place.address && place.class == Class::Is(Ty::B32) {
            let (_, name) = self.declare(Ty::B32);
            return (OperandKind::Address(Some(Ty::B32)), format!("[{name}]"));
        }
        if place.address {
            return self.address(place.within);
        }
        if place.sink && self.random.one_in(5) {
            return (OperandKind::Sink, "_".into());
        }
        let immediate = place.constant || place.immediate && self.random.one_in(4);
        let (want, wider) = match place.class {
            Class::Label => return (OperandKind::Label, "L".into()),
            Class::Name => return self.name(),
            Class::Tuple | Class::Handle => return self.tuple(),
            Class::Operand => {
                return match self.random.below(3) {
                    0 => self.declare(Ty::B32),
                    1 => self.declare(Ty::B64),
                    _ => {
                        let n = 1 + self.random.below(4);
                        self.list(Ty::B32, n)
                    }
                };
            }
            Class::List(count, of) => {
                let ty = match of {
                    Of::Is(ty) => ty,
                    Of::Slot(i) => match self.ty(i) {
                        ty @ (Ty::F32 | Ty::F64 | Ty::S32 | Ty::U32) => ty,
                        _ => Ty::B32,
                    },
                };
                let n = match count {
                    0 => *self.random.pick(&self.counts),
                    n => usize::from(n),
                };
                return self.list(ty, n);
            }
            Class::Is(t) => (t, false),
            Class::Video32 => (Ty::B32, false),
            Class::Slot(i) => (self.ty(i), false),
            Class::Wide(i) => (self.ty(i).doubled().unwrap_or(Ty::B64), false),
            Class::AtLeast(i) => (self.ty(i), true),
            Class::Vector(i) => {
                let vec = self.parsed.mods.iter().position(|m| m.name == ".vec").and_then(|v| self.mods[v]);
                let ty = self.ty(i);
                match vec.and_then(|v| v[2..].parse::<usize>().ok()) {
                    None => (ty, true),
                    Some(n) => return self.vector(ty, n, place.dest),
                }
            }
            Class::Any(i) => {
                let ty = self.ty(i);
                let vectors: Vec<u32> = [2, 4].into_iter().filter(|n| ty.bits() / n >= 8).collect();
                match self.random.below(6) {
                    0 if !place.dest => return self.name(),
                    1 if !place.dest => {
                        let name = *self.random.pick(&["%laneid", "%tid.x", "%clock64", "%ntid.y", "%smid"]);
                        let ty = if name == "%clock64" { Ty::U64 } else { Ty::U32 };
                        return (OperandKind::Special(ty), name.into());
                    }
                    2 if !vectors.is_empty() => {
                        let n = *self.random.pick(&vectors);
                        let bits = ty.bits() / n;
                        let part = [Ty::B8, Ty::B16, Ty::B32, Ty::B64].into_iter().find(|t| t.bits() == bits);
                        return self.vector(part.unwrap_or(Ty::B32), n as usize, false);
                    }
                    3 if !place.dest => return self.constant(ty),
                    _ => (ty, false),
                }
            }
        };
        if let (true, Some(range)) = (immediate, place.range) {
            let i = if self.random.one_in(2) { 0 } else { self.random.below(1 << 16) as u32 };
            return (OperandKind::Int, range.text(i));
        }
        if immediate { self.constant(want) } else { self.register(want, wider) }
    }

    fn name(&mut self) -> (OperandKind<'static>, String) {
        (OperandKind::Name, (*self.random.pick(&["vg", "vs", "vc", "vl"])).into())
    }

    fn vector(&mut self, ty: Ty, n: usize, dest: bool) -> (OperandKind<'static>, String) {
        let mut elements = vec![];
        let mut texts = vec![];
        let width = self.register(ty, true).0;
        self.registers.pop();
        for _ in 0..n {
            let (kind, text) = match (&width, dest && self.random.one_in(8)) {
                (_, true) => (OperandKind::Sink, "_".into()),
                (OperandKind::Reg(t), _) => self.declare(*t),
                _ => self.declare(ty),
            };
            elements.push(Operand::new(kind));
            texts.push(text);
        }
        (OperandKind::Vector(elements), format!("{{{}}}", texts.join(", ")))
    }

    fn constant(&mut self, want: Ty) -> (OperandKind<'static>, String) {
        if matches!(want, Ty::F32 | Ty::F64) {
            let (width, text) = *self.random.pick(&[
                (Some(32), "0f3f800000"),
                (Some(64), "0d4000000000000000"),
                (None, "1.5"),
                (None, "0.0"),
                (None, "-2.0"),
            ]);
            return (OperandKind::Float(width), text.into());
        }
        let text =
            *self.random.pick(&["0", "1", "-1", "7", "31", "255", "0x7f", "4096", "0x7fffffff", "3U", "'@'"]);
        let text = if text == "'@'" { "0b101" } else { text };
        (OperandKind::Int, text.into())
    }

    fn address(&mut self, within: Option<&'static str>) -> (OperandKind<'static>, String) {
        let space = self.mods.iter().flatten().find_map(|m| {
            let name = m.split(':').next().unwrap_or(m);
            matches!(name, ".global" | ".shared" | ".local" | ".const" | ".param").then_some(name)
        });
        let variable = match space.or(within) {
            Some(".shared") => "vs",
            Some(".local") => "vl",
            Some(".const") => "vc",
            Some(".param") => "vp",
            _ => "vg",
        };
        let offset = *self.random.pick(&["", "", "+16", "+0", "+-16", "-32"]);
        if variable == "vp" || self.random.one_in(3) {
            let offset = if offset.contains('-') { "+32" } else { offset };
            return (OperandKind::Address(None), format!("[{variable}{offset}]"));
        }
        let narrow = matches!(space, Some(".shared" | ".local" | ".const"));
        let wide = [Ty::U64, Ty::B64, Ty::S64];
        let ty = if narrow && self.random.one_in(2) { Ty::U32 } else { *self.random.pick(&wide) };
        let (_, name) = self.declare(ty);
        (OperandKind::Address(Some(ty)), format!("[{name}{offset}]"))
    }
}

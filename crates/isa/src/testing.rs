//! For tests: concrete instructions of every form, and the meaning of each built on operands that come from nowhere.
//!
//! [`crate::instances`] has every instruction on plain registers; this has a sample of everything else too: addresses, vectors, pairs,
//! labels, names, special registers, with and without a guard.

use crate::form::{Class, Of, OperandSlot, Parsed};
use crate::instances::combinations;
use crate::{Arg, Cx, Env, Instr, Match, Operand, OperandKind, Profile, Ty, resolve};
use hostwarp_ir::{Builder, Elem, Function, Op, Space, Special, Type, Value, eval, expand, verify};

/// A concrete instruction and the form it has.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its opcode.
    pub opcode: &'static str,
    /// Its modifiers with their dots.
    pub mods: Vec<&'static str>,
    /// Its operands.
    pub operands: Vec<Operand<'static>>,
    /// What stands where.
    pub matched: Match,
    /// What constants are.
    pub constant: u64,
}

impl Shape {
    /// The instruction as PTX, with registers named after their types (`%u32_1`), addresses in `%b64_9`, the label `L`, the variable `v` and the
    /// special registers `%laneid` and `%clock64`.
    pub fn text(&self) -> String {
        let operands = self.operand_texts();
        let space = if operands.is_empty() { "" } else { " " };
        format!("{}{}{space}{};", self.opcode, self.mods.concat(), operands.join(", "))
    }

    /// The operands as PTX, named as in [`Shape::text`].
    pub fn operand_texts(&self) -> Vec<String> {
        self.operands.iter().enumerate().map(|(i, operand)| operand_text(operand, i + 1)).collect()
    }
}

fn operand_text(operand: &Operand<'_>, n: usize) -> String {
    let sign = if operand.neg {
        "-"
    } else if operand.not {
        "!"
    } else {
        ""
    };
    let selector = operand.selector.unwrap_or("");
    let body = match &operand.kind {
        OperandKind::Reg(ty) => format!("%{}_{n}", &ty.text()[1..]),
        OperandKind::Special(ty) if ty.bits() == 64 => "%clock64".into(),
        OperandKind::Special(_) => "%laneid".into(),
        OperandKind::Int => "1".into(),
        OperandKind::Float(_) => "1.0".into(),
        OperandKind::Sink => "_".into(),
        OperandKind::Address(_) => "[%b64_9]".into(),
        OperandKind::Tuple(parts) => {
            let parts: Vec<String> = parts.iter().enumerate().map(|(i, e)| operand_text(e, 9 - i)).collect();
            format!("[{}]", parts.join(", "))
        }
        OperandKind::Label => "L".into(),
        OperandKind::Name => "v".into(),
        OperandKind::Other(what) => (*what).into(),
        OperandKind::Pair(a, b) => format!("{}|{}", operand_text(a, n), operand_text(b, n + 1)),
        OperandKind::Vector(es) => {
            let parts: Vec<String> = es.iter().enumerate().map(|(i, e)| operand_text(e, n + i)).collect();
            format!("{{{}}}", parts.join(", "))
        }
    };
    format!("{sign}{body}{selector}")
}

/// Shapes of a form for one opcode: each modifier and each kind of operand is there, of their combinations at most `limit`, spread evenly.
pub fn shapes(opcode: &'static str, parsed: &'static Parsed, limit: usize) -> Vec<Shape> {
    let mod_choices: Vec<Vec<Option<&'static str>>> = (parsed.mods.iter())
        .map(|m| m.optional.then_some(None).into_iter().chain(m.members.iter().copied().map(Some)).collect())
        .collect();
    let mut out = vec![];
    for mods in combinations(&mod_choices, limit) {
        let given: Vec<&'static str> = mods.iter().flatten().copied().collect();
        let operand_choices: Vec<Vec<Option<Operand<'static>>>> =
            parsed.operands.iter().map(|o| choices(parsed, &mods, o)).collect();
        for operands in combinations(&operand_choices, 24) {
            let operands = join_pairs(parsed, operands);
            let instr = Instr { opcode, mods: &given, operands: &operands };
            if let Ok(matched) = resolve(&instr, Env::NEWEST)
                && std::ptr::eq(matched.parsed, parsed)
            {
                out.push(Shape { opcode, mods: given.clone(), operands, matched, constant: 1 });
            }
        }
    }
    out
}

/// What to try in an operand place; `None` leaves it out.
fn choices(
    parsed: &Parsed,
    mods: &[Option<&'static str>],
    place: &OperandSlot,
) -> Vec<Option<Operand<'static>>> {
    let ty = |i: usize| mods[i].and_then(Ty::parse).unwrap_or(Ty::B32);
    let reg = |t: Ty| OperandKind::Reg(register(t));
    let mut kinds = vec![];
    match place.class {
        Class::Tuple => {
            let place = |n| Operand::new(OperandKind::Vector(vec![Operand::new(reg(Ty::B32)); n]));
            kinds.extend((1..=5).map(|n| OperandKind::Tuple(vec![Operand::new(reg(Ty::B64)), place(n)])));
        }
        _ if place.address => kinds.push(OperandKind::Address(Some(Ty::B64))),
        Class::Operand => kinds.push(reg(Ty::B32)),
        Class::Handle => kinds.push(reg(Ty::B64)),
        Class::List(count, of) => {
            let t = match of {
                Of::Is(t) => t,
                Of::Slot(i) => ty(i),
            };
            kinds.push(OperandKind::Vector(vec![Operand::new(reg(t)); usize::from(count.max(1))]));
        }
        Class::Label => kinds.push(OperandKind::Label),
        Class::Name => kinds.push(OperandKind::Name),
        Class::Is(t) => kinds.push(reg(t)),
        Class::Video32 => kinds.push(reg(Ty::B32)),
        Class::Slot(i) | Class::AtLeast(i) => kinds.push(reg(ty(i))),
        Class::Wide(i) => kinds.push(reg(ty(i).doubled().unwrap_or(Ty::B64))),
        Class::Vector(i) => {
            let vec = parsed.mods.iter().position(|m| m.name == ".vec").and_then(|v| mods[v]);
            match vec.and_then(|v| v[2..].parse::<usize>().ok()) {
                None => kinds.push(reg(ty(i))),
                Some(n) => {
                    let mut elements = vec![Operand::new(reg(ty(i))); n];
                    kinds.push(OperandKind::Vector(elements.clone()));
                    if place.dest {
                        elements[0] = Operand::new(OperandKind::Sink);
                        kinds.push(OperandKind::Vector(elements));
                    }
                }
            }
        }
        Class::Any(i) => {
            kinds.push(reg(ty(i)));
            for n in [2, 4] {
                if let Some(t) = bits_type(ty(i).bits() / n) {
                    kinds.push(OperandKind::Vector(vec![Operand::new(reg(t)); n as usize]));
                }
            }
            if !place.dest {
                let special = if ty(i).bits() == 64 { Ty::U64 } else { Ty::U32 };
                kinds.extend([OperandKind::Special(special), OperandKind::Int, OperandKind::Name]);
            }
        }
    }
    if place.sink {
        kinds.push(OperandKind::Sink);
    }
    if place.constant {
        kinds.clear();
    }
    if place.immediate && !place.address && matches!(place.class, Class::Is(_) | Class::Slot(_)) {
        kinds.push(OperandKind::Int);
    }
    let mut out: Vec<Option<Operand<'static>>> = vec![];
    if place.optional {
        out.push(None);
    }
    for kind in kinds {
        let selectors = place.selector.map(|(members, _)| members[members.len() / 2]);
        for selector in [None, selectors] {
            out.push(Some(Operand { selector, ..Operand::new(kind.clone()) }));
        }
        if place.neg || place.not {
            out.push(Some(Operand { neg: place.neg, not: place.not, ..Operand::new(kind) }));
        }
    }
    out.dedup();
    out
}

/// The type a register is declared with where there is none of the format's own.
fn register(ty: Ty) -> Ty {
    match (ty.is_float(), ty.bits()) {
        (true, 16) => Ty::B16,
        (true, 32) if ty != Ty::F32 => Ty::B32,
        (true, 64) if ty != Ty::F64 => Ty::B64,
        _ => ty.declared(),
    }
}

fn bits_type(bits: u32) -> Option<Ty> {
    [Ty::B8, Ty::B16, Ty::B32, Ty::B64].into_iter().find(|t| t.bits() == bits)
}

fn join_pairs(parsed: &Parsed, operands: Vec<Option<Operand<'static>>>) -> Vec<Operand<'static>> {
    let mut out: Vec<Operand<'static>> = vec![];
    for (place, operand) in parsed.operands.iter().zip(operands) {
        let Some(operand) = operand else { continue };
        match out.pop_if(|_| place.pair) {
            Some(first) => out.push(Operand::new(OperandKind::Pair(Box::new(first), Box::new(operand)))),
            None => out.push(operand),
        }
    }
    out
}

/// The instruction `head` (opcode and modifiers) with these operands. Panics if no form fits.
pub fn shape(head: &'static str, operands: &[Operand<'static>]) -> Shape {
    let (opcode, tail) = head.split_at(head.find('.').unwrap_or(head.len()));
    let starts: Vec<usize> = tail.match_indices('.').map(|(i, _)| i).chain([tail.len()]).collect();
    let mods: Vec<&'static str> = starts.windows(2).map(|w| &tail[w[0]..w[1]]).collect();
    match resolve(&Instr { opcode, mods: &mods, operands }, Env::NEWEST) {
        Ok(matched) => {
            Shape { opcode: matched.opcode, mods, operands: operands.to_vec(), matched, constant: 1 }
        }
        Err((_, misfits)) => panic!("{head}: {misfits:?}"),
    }
}

/// A register operand.
pub fn reg(ty: Ty) -> Operand<'static> {
    Operand::new(OperandKind::Reg(ty))
}

/// Two operands joined by `|`.
pub fn pair(a: Operand<'static>, b: Operand<'static>) -> Operand<'static> {
    Operand::new(OperandKind::Pair(Box::new(a), Box::new(b)))
}

/// Operands in braces.
pub fn vector(elements: &[Operand<'static>]) -> Operand<'static> {
    Operand::new(OperandKind::Vector(elements.to_vec()))
}

/// `_`
pub fn sink() -> Operand<'static> {
    Operand::new(OperandKind::Sink)
}

/// A meaning, built.
struct Built {
    b: Builder,
    /// The values of the sources in order, elements of vectors one by one.
    sources: Vec<Value>,
    results: Vec<(usize, Vec<Value>)>,
}

/// `None`: the room says that this is not done yet.
fn lower(shape: &Shape, guarded: bool, profile: Profile) -> Option<Built> {
    let m = &shape.matched;
    let mut b = Builder::new("shape");
    let windowed = matches!(m.space(), Space::Shared | Space::Local | Space::Const | Space::Param);
    let address_type = if guarded && windowed { Type::I32 } else { Type::I64 };
    let (mut args, mut lens, mut selectors, mut negated) = (vec![], vec![], vec![], vec![]);
    let mut sources = vec![];
    for slot in 0..m.parsed.operands.len() {
        let operand = operand_at(shape, slot);
        selectors.push(operand.and_then(|o| o.selector));
        negated.push(operand.is_some_and(|o| o.neg));
        lens.push(match operand.map(|o| &o.kind) {
            None => 0,
            Some(OperandKind::Vector(es)) => es.len(),
            Some(_) => 1,
        });
        let mut arg = match operand {
            Some(o) if !m.parsed.operands[slot].dest => argument(&mut b, shape, slot, o, address_type),
            _ => Arg::None,
        };
        match &mut arg {
            Arg::Vector(vs) => sources.extend_from_slice(vs),
            Arg::Address(v) => sources.push(*v),
            Arg::Value(v) => {
                sources.push(*v);
                if operand.is_some_and(|o| o.not) {
                    *v = b.not(*v);
                }
            }
            _ => {}
        }
        args.push(arg);
    }
    let guard = guarded.then(|| b.iconst(Type::I1, 1));
    let caller = guarded.then(|| b.new_block());
    let (flag, stack) = (b.new_var(Type::I1), b.new_var(Type::I32));
    let mut cx = Cx {
        b: &mut b,
        m,
        args,
        selectors,
        negated,
        lens,
        guard,
        profile,
        caller,
        flag,
        stack,
        results: vec![],
        strict: false,
    };
    m.give_meaning(&mut cx).ok()?;
    let results = cx.results;
    Some(Built { b, sources, results })
}

/// Builds the meaning of a shape and checks that it is valid IR and gives every destination exactly one value of the right type.
/// `Ok(None)`: the room says that this is not done yet.
pub fn build(shape: &Shape, guarded: bool, profile: Profile) -> Result<Option<Function>, String> {
    let Some(built) = lower(shape, guarded, profile) else { return Ok(None) };
    check_results(shape, &built.b, &built.results)?;
    let func = built.b.finish();
    verify(&func).map_err(|e| format!("{e}\n{func}"))?;
    Ok(Some(func))
}

/// What a shape makes of columns of inputs, one for each source (elements of vectors one by one); the results in the order they are written, empty
/// where memory or other lanes have a say. The lane of row `i` is `i`.
pub fn evaluate(shape: &Shape, inputs: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let built = lower(shape, false, Profile::Isa).expect("not done yet");
    let mut func = built.b.finish();
    expand::expand(&mut func, expand::Caps::default());
    let lanes = inputs.first().map_or(32, Vec::len);
    let lane_ids: Vec<u64> = (0..lanes as u64).collect();
    assert_eq!(built.sources.len(), inputs.len(), "{}", shape.text());
    let mut known: Vec<(Value, &[u64])> =
        built.sources.iter().zip(inputs).map(|(v, column)| (*v, column.as_slice())).collect();
    let specials = func.blocks.iter().flat_map(|b| &b.insts).filter(|i| i.op == Op::Special(Special::LaneId));
    known.extend(specials.filter_map(|i| i.result).map(|v| (v, lane_ids.as_slice())));
    let outputs: Vec<Value> = built.results.into_iter().flat_map(|(_, vs)| vs).collect();
    let column = |v: &Value| eval::run_straight_line(&func, &known, &[*v], lanes)?.pop();
    outputs.iter().map(|v| column(v).unwrap_or_default()).collect()
}

fn argument(b: &mut Builder, shape: &Shape, slot: usize, operand: &Operand<'_>, address: Type) -> Arg {
    let m = &shape.matched;
    let own_width = matches!(m.parsed.operands[slot].class, Class::Any(_));
    let ty = m.operand_ty(slot).unwrap_or(Ty::B32).container();
    match &operand.kind {
        OperandKind::Address(_) => Arg::Address(b.iconst(address, 64)),
        OperandKind::Label => Arg::Label(b.new_block()),
        OperandKind::Vector(es) => {
            let element = |e: &Operand<'_>| match e.kind {
                OperandKind::Reg(t) if own_width => t.container(),
                _ => ty,
            };
            Arg::Vector(es.iter().map(|e| b.iconst(element(e), 1)).collect())
        }
        OperandKind::Int => Arg::Value(b.iconst(ty, shape.constant)),
        // Known at run time only, unlike a constant: the evaluation is told what it is.
        _ if ty == Type::I32 => Arg::Value(b.special(Special::SmId)),
        _ => Arg::Value(b.iconst(ty, 1)),
    }
}

/// What stands in an operand place; of a pair, its half.
fn operand_at(shape: &Shape, slot: usize) -> Option<&Operand<'static>> {
    let operand = &shape.operands[shape.matched.operands[slot]?];
    Some(match &operand.kind {
        OperandKind::Pair(_, second) if shape.matched.parsed.operands[slot].pair => second,
        OperandKind::Pair(first, _) => first,
        _ => operand,
    })
}

fn check_results(shape: &Shape, b: &Builder, results: &[(usize, Vec<Value>)]) -> Result<(), String> {
    let m = &shape.matched;
    for (slot, place) in m.parsed.operands.iter().enumerate() {
        let written: Vec<_> = results.iter().filter(|(s, _)| *s == slot).collect();
        let Some(operand) = operand_at(shape, slot).filter(|_| place.dest) else {
            if written.is_empty() {
                continue;
            }
            return Err(format!("`{}` is no destination here and is written", place.name));
        };
        let [(_, values)] = written[..] else {
            return Err(format!("`{}` is written {} times", place.name, written.len()));
        };
        let ty = m.operand_ty(slot).unwrap_or(Ty::B32).container();
        let want = match (&operand.kind, place.class) {
            (OperandKind::Vector(es), Class::Any(_)) => {
                let bits = ty.bits() / es.len() as u32;
                vec![Type::scalar(Elem::int(bits).unwrap_or(Elem::I64)); es.len()]
            }
            (OperandKind::Vector(es), _) => vec![ty; es.len()],
            _ => vec![ty],
        };
        let got: Vec<Type> = values.iter().map(|v| b.ty(*v)).collect();
        if got != want {
            return Err(format!("`{}` is given {got:?}, not {want:?}", place.name));
        }
    }
    Ok(())
}

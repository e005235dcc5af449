//! Every instruction on plain registers against the oracle, which reads the manual on its own: the meaning of each instance is built,
//! expanded and evaluated, and must give the oracle's bits on edge and random values.
//!
//! The default run gives each instance few inputs; `cargo test -p hostwarp-isa --release --test oracle -- --ignored` gives it many.

use hostwarp_ir::{Builder, Mem, Op, Space, Type, Value, eval, expand};
use hostwarp_isa::{
    Arg, Cx, Env, Instance, Instr, Operand, OperandKind, Profile, Ty, find, instances, opcodes, resolve,
};
use hostwarp_oracle::Oracle;
use std::collections::{BTreeMap, HashMap};

/// How thorough a run is.
struct Effort {
    /// Selectors tried for each operand of the 2- and 4-forms.
    selectors: usize,
    /// Inputs for each instance of an opcode with up to a thousand of them; fewer for one with more.
    inputs: usize,
}

#[test]
fn meanings_agree_with_the_oracle() {
    check(Effort { selectors: 5, inputs: 400 });
}

#[test]
#[ignore = "minutes"]
fn meanings_agree_with_the_oracle_on_many_inputs() {
    check(Effort { selectors: 40, inputs: 20_000 });
}

/// Opcodes of which the oracle knows every form on plain registers.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "mul", "mad", "fma", "min", "max", "neg", "abs", "and", "or", "xor", "not", "shl", "shr", "setp", "selp", "cvt",
    "vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad",
    "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2",
    "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4",
];

#[derive(Default)]
struct Tally {
    checked: usize,
    unknown: Vec<String>,
    different: Vec<String>,
}

fn check(effort: Effort) {
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut edges: HashMap<Ty, Vec<u64>> = HashMap::new();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for opcode in opcodes() {
        let (entry, opcode) = find(opcode).expect("listed");
        let all: Vec<Instance> = (entry.forms.iter())
            .filter(|p| !p.form.undocumented)
            .flat_map(|p| instances(opcode, p, effort.selectors))
            // The carry is no operand: one instruction alone does not show it.
            .filter(|i| !i.mods.contains(&".cc") && !matches!(opcode, "addc" | "subc" | "madc"))
            .collect();
        let inputs = effort.inputs / (all.len() / 1000 + 1);
        let tally = tallies.entry(opcode).or_default();
        for instance in all {
            match Oracle::parse(&instance.text()) {
                Err(why) => tally.unknown.push(format!("{}: {why}", instance.text())),
                Ok(oracle) => {
                    tally.checked += 1;
                    let columns = columns(&instance, inputs.max(8), &mut edges, &mut random);
                    if let Err(why) = compare(&instance, &oracle, &columns) {
                        tally.different.push(format!("{}: {why}", instance.text()));
                    }
                }
            }
        }
    }
    let mut failed = 0;
    for (opcode, tally) in &tallies {
        if tally.checked + tally.unknown.len() == 0 {
            continue;
        }
        println!(
            "{opcode}: {} checked, {} different, {} not known to the oracle",
            tally.checked,
            tally.different.len(),
            tally.unknown.len()
        );
        for (what, list) in [("different", &tally.different), ("unknown", &tally.unknown)] {
            if tally.checked > 0 {
                list.iter().take(12).for_each(|line| println!("  {what}: {line}"));
            }
        }
        failed += tally.different.len();
    }
    assert_eq!(failed, 0, "instances that differ from the oracle");
    for opcode in WHOLE {
        assert!(tallies[opcode].checked > 0, "`{opcode}` was not checked");
        assert!(tallies[opcode].unknown.is_empty(), "the oracle does not know all of `{opcode}`");
    }
    let scalar_video = ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad"];
    assert_eq!(scalar_video.map(|o| tallies[o].checked).iter().sum::<usize>(), 83_104);
}

/// What the meaning makes of the columns, compared with what the oracle makes of each lane.
fn compare(instance: &Instance, oracle: &Oracle, columns: &[Vec<u64>]) -> Result<(), String> {
    let lanes = columns.first().map_or(1, Vec::len);
    let ours = evaluate(instance, columns, lanes)?;
    for lane in 0..lanes {
        let sources: Vec<u64> = columns.iter().map(|c| c[lane]).collect();
        let theirs = oracle.eval(&sources);
        let ours: Vec<u64> = ours.iter().map(|c| c[lane]).collect();
        if ours != theirs {
            return Err(
                format!("{sources:#x?} gives {ours:#x?}, the oracle says {theirs:#x?}").replace('\n', "")
            );
        }
    }
    Ok(())
}

/// The destinations' columns, one value for each lane.
fn evaluate(instance: &Instance, columns: &[Vec<u64>], lanes: usize) -> Result<Vec<Vec<u64>>, String> {
    let operands = operands(instance);
    let instr = Instr { opcode: instance.opcode, mods: &instance.mods, operands: &operands };
    let m = resolve(&instr, Env::NEWEST).map_err(|_| "does not resolve")?;
    let mut b = Builder::new("one");
    let places = m.parsed.operands.len();
    let mut args = vec![Arg::None; places];
    let mut selectors = vec![None; places];
    let mut negated = vec![false; places];
    let mut lens = vec![0; places];
    let mut inputs: Vec<(Value, &[u64])> = vec![];
    let address = b.iconst(Type::I64, 0);
    for o in &instance.operands {
        (selectors[o.slot], negated[o.slot], lens[o.slot]) = (o.selector, o.neg, 1);
        if !o.dest {
            // Something nobody can see through; the evaluation is told what it is.
            let v = b.inst(Op::Load(Mem::weak(Space::Global)), &[address], o.ty.container());
            inputs.push((v, &columns[inputs.len()]));
            args[o.slot] = Arg::Value(if o.not { b.not(v) } else { v });
        }
    }
    let flag = b.new_var(Type::I1);
    let mut cx = Cx {
        flag,
        b: &mut b,
        m: &m,
        args,
        selectors,
        negated,
        lens,
        guard: None,
        caller: None,
        profile: Profile::Isa,
        results: vec![],
    };
    (m.room.meaning)(&mut cx)?;
    let mut results = std::mem::take(&mut cx.results);
    results.sort_by_key(|(slot, _)| *slot);
    let outputs: Vec<Value> = results.into_iter().flat_map(|(_, vs)| vs).collect();
    let func = b.func();
    expand::expand(func, expand::Caps::default());
    let values = eval::run_straight_line(func, &inputs, &outputs, lanes)
        .ok_or("has an op that cannot be evaluated")?;
    outputs.iter().zip(values).map(|(v, column)| Ok(whole(func.ty(*v), &column))).collect()
}

/// The elements of each lane as one number.
fn whole(ty: Type, column: &[u64]) -> Vec<u64> {
    let bits = ty.elem.bits() % 64;
    column.chunks_exact(ty.count.into()).map(|es| es.iter().rev().fold(0, |acc, e| acc << bits | e)).collect()
}

/// The operands as the front end would hand them over.
fn operands(instance: &Instance) -> Vec<Operand<'static>> {
    let register = |ty: Ty| match ty {
        Ty::BF16 => Ty::B16,
        Ty::F16x2 | Ty::BF16x2 => Ty::B32,
        Ty::F32x2 => Ty::B64,
        t => t,
    };
    let mut out: Vec<Operand<'static>> = vec![];
    for o in &instance.operands {
        let kind = OperandKind::Reg(register(o.ty));
        let operand = Operand { selector: o.selector, neg: o.neg, not: o.not, ..Operand::new(kind) };
        match out.pop_if(|_| o.pair) {
            Some(first) => out.push(Operand::new(OperandKind::Pair(Box::new(first), Box::new(operand)))),
            None => out.push(operand),
        }
    }
    out
}

/// Inputs: for one source all its edge values and random ones; for more, edges and random values mixed in all positions.
fn columns(
    instance: &Instance,
    count: usize,
    edges: &mut HashMap<Ty, Vec<u64>>,
    random: &mut Random,
) -> Vec<Vec<u64>> {
    let sources: Vec<Ty> = instance.operands.iter().filter(|o| !o.dest).map(|o| o.ty).collect();
    for ty in &sources {
        edges.entry(*ty).or_insert_with(|| edge_values(*ty));
    }
    if let [ty] = sources[..] {
        let mask = u64::MAX >> (64 - ty.bits());
        let mut column = edges[&ty].clone();
        column.extend((0..count).map(|_| random.next() & mask));
        return vec![column];
    }
    sources
        .iter()
        .map(|ty| {
            let (edges, mask) = (&edges[ty], u64::MAX >> (64 - ty.bits()));
            (0..count)
                .map(|_| {
                    let r = random.next();
                    match r % 4 {
                        // Equal and neighbouring operands must meet often enough.
                        0 => edges[(r >> 8) as usize % edges.len().min(16)],
                        1 => r >> 3 & mask,
                        _ => edges[(r >> 8) as usize % edges.len()],
                    }
                })
                .collect()
        })
        .collect()
}

fn edge_values(ty: Ty) -> Vec<u64> {
    if ty == Ty::F32x2 {
        let single = hostwarp_oracle::edges("f32");
        let count = single.len();
        return (0..count).map(|i| single[i] << 32 | single[(i * 7 + 3) % count]).collect();
    }
    let found = hostwarp_oracle::edges(&ty.text()[1..]);
    assert!(!found.is_empty(), "no edge values for {ty}");
    found
}

/// Marsaglia's xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

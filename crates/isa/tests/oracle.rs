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

/// Who checks what the oracle does not know.
enum Elsewhere {
    /// A recording of a GPU, replayed by `hostwarp-conformance`; and why the oracle does not know it.
    Recorded(&'static str),
    /// Nobody, or a test of its own: why, and which.
    Unchecked(&'static str),
}

use Elsewhere::{Recorded, Unchecked};

const LANES: Elsewhere = Recorded("what it gives depends on the other lanes of the warp");
const MEMORY: Elsewhere = Recorded("what it does is in memory");
const FLOW: Elsewhere = Recorded("it has no result: what counts is where lanes go and when");
const NOTHING: Elsewhere = Recorded("it changes nothing a program can see");
const APPROXIMATE: Elsewhere = Recorded("the manual gives a bound for the error, no bits");
const WINDOWS: Elsewhere = Recorded("where state spaces lie among generic addresses is the machine's");

const CLUSTER: Elsewhere = Unchecked(
    "a cluster is one CTA here; `tests/kernels/cp_async_bulk.ptx` and `cluster_of_one.ptx` have it",
);
const MATRICES: Elsewhere = Unchecked(
    "the registers of a whole warp count; `tests/matrix.rs` of `conformance` and `hostwarp` have it",
);

const STACK: Elsewhere = Unchecked("it moves the stack; `tests/kernels/stack.ptx` has it");

/// What the oracle does not know: an opcode, or the start of an instruction. Every opcode and every form on plain registers that is not
/// listed here is compared with the oracle, and what is listed without need is an error.
const ELSEWHERE: &[(&str, Elsewhere)] = &[
    ("alloca", STACK),
    ("activemask", LANES),
    ("applypriority", NOTHING),
    ("atom", MEMORY),
    ("bar", FLOW),
    ("barrier", FLOW),
    ("bra", FLOW),
    ("brkpt", Unchecked("a GPU without a debugger faults; `hostwarp/tests/faults.rs` has it")),
    (
        "clusterlaunchcontrol",
        Unchecked("what it answers is opaque; `tests/kernels/launch_control.ptx` has it"),
    ),
    ("cos", APPROXIMATE),
    (
        "cp",
        Unchecked("what it does is in memory; `tests/kernels/cp_async.ptx` and `cp_async_bulk.ptx` have it"),
    ),
    ("createpolicy", Unchecked("its result is opaque; `tests/kernels/special_system.ptx` uses it")),
    ("cvta", WINDOWS),
    ("discard", NOTHING),
    ("div.approx", APPROXIMATE),
    ("div.full", APPROXIMATE),
    ("elect", LANES),
    ("ex2", APPROXIMATE),
    ("exit", FLOW),
    ("fence", FLOW),
    ("getctarank", CLUSTER),
    ("griddepcontrol", Unchecked("it changes nothing a program can see, and has no operands")),
    ("isspacep", WINDOWS),
    ("ld", MEMORY),
    ("ldmatrix", MATRICES),
    ("ldu", MEMORY),
    ("lg2", APPROXIMATE),
    ("lop3", Recorded("its table is a constant; all 256 are recorded")),
    ("mapa", CLUSTER),
    ("match", LANES),
    (
        "mbarrier",
        Unchecked(
            "what it does is in memory; `ir/tests/mbarrier.rs` and `tests/kernels/mbarrier.ptx` have it",
        ),
    ),
    ("membar", FLOW),
    ("mma", MATRICES),
    ("mov", Recorded("its operands are vectors, special registers and names")),
    ("movmatrix", MATRICES),
    ("nanosleep", NOTHING),
    ("pmevent", NOTHING),
    ("prefetch", NOTHING),
    ("prefetchu", NOTHING),
    ("rcp.approx", APPROXIMATE),
    ("red", MEMORY),
    ("redux", LANES),
    ("ret", FLOW),
    ("rsqrt", APPROXIMATE),
    ("setmaxnreg", Unchecked("it changes nothing a program can see")),
    ("shfl", LANES),
    ("sin", APPROXIMATE),
    ("sqrt.approx", APPROXIMATE),
    ("st", MEMORY),
    ("stackrestore", STACK),
    ("stacksave", STACK),
    ("stmatrix", MATRICES),
    ("tanh", APPROXIMATE),
    ("trap", Unchecked("it ends the launch; `hostwarp/tests/faults.rs` has it")),
    ("vote", LANES),
    ("wmma", MATRICES),
];

/// The entry about an instruction, if there is one.
fn elsewhere(text: &str) -> Option<usize> {
    let starts = |name: &str| {
        text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
    };
    ELSEWHERE.iter().position(|(name, _)| starts(name))
}

fn opcode_of(entry: &str) -> &str {
    entry.split('.').next().unwrap_or(entry)
}

/// The list above names opcodes there are, once each, with a recording where it says so.
#[test]
fn what_is_checked_elsewhere_is() {
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/recordings/h200");
    for (entry, who) in ELSEWHERE {
        let opcode = opcode_of(entry);
        assert!(find(opcode).is_some(), "there is no `{opcode}`");
        assert_eq!(ELSEWHERE.iter().filter(|(e, _)| e == entry).count(), 1, "`{entry}` is listed twice");
        let recorded = std::fs::metadata(format!("{recordings}/{opcode}.rec")).is_ok_and(|m| m.len() > 0);
        match who {
            Recorded(why) => assert!(recorded && !why.is_empty(), "there is no recording of `{opcode}`"),
            Unchecked(why) => assert!(!recorded && !why.is_empty(), "`{opcode}` is recorded"),
        }
    }
}

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
    let mut needed = vec![false; ELSEWHERE.len()];
    let mut unchecked = vec![];
    for opcode in opcodes() {
        let (entry, opcode) = find(opcode).expect("listed");
        if entry.forms.iter().all(|p| p.form.later) {
            // Not supported yet: there is nothing to check.
            continue;
        }
        let all: Vec<Instance> = (entry.forms.iter())
            .filter(|p| !p.form.undocumented && !p.form.later)
            .flat_map(|p| instances(opcode, p, effort.selectors))
            .collect();
        let inputs = effort.inputs / (all.len() / 1000 + 1);
        let tally = tallies.entry(opcode).or_default();
        if all.is_empty() {
            match elsewhere(opcode) {
                Some(entry) => needed[entry] = true,
                None => unchecked.push(format!(
                    "{opcode}: has no form on plain registers, and nobody is said to check it"
                )),
            }
        }
        for instance in all {
            let text = instance.text();
            match (Oracle::parse(&text), elsewhere(&text)) {
                (Err(why), None) => unchecked.push(format!("{text}: {why}")),
                (Err(_), Some(entry)) => {
                    needed[entry] = true;
                    tally.unknown.push(text);
                }
                (Ok(_), Some(entry)) => unchecked.push(format!(
                    "{text}: the oracle knows it, yet `{}` is said to be checked elsewhere",
                    ELSEWHERE[entry].0
                )),
                (Ok(oracle), None) => {
                    tally.checked += 1;
                    let columns = columns(&instance, inputs.max(8), &mut edges, &mut random);
                    if let Err(why) = compare(&instance, &oracle, &columns) {
                        tally.different.push(format!("{text}: {why}"));
                    }
                }
            }
        }
    }
    for (opcode, Tally { checked, unknown, different }) in &tallies {
        println!("{opcode}: {checked} checked, {} different, {} elsewhere", different.len(), unknown.len());
        different.iter().take(12).for_each(|line| println!("  different: {line}"));
    }
    unchecked.extend(
        (ELSEWHERE.iter().zip(needed))
            .filter(|(_, n)| !n)
            .map(|((e, _), _)| format!("`{e}` is listed in vain")),
    );
    assert!(
        unchecked.is_empty(),
        "checked by nobody (teach the oracle, or name the reason in ELSEWHERE): {}\n{}",
        unchecked.len(),
        unchecked[..unchecked.len().min(20)].join("\n")
    );
    let different: usize = tallies.values().map(|t| t.different.len()).sum();
    assert_eq!(different, 0, "instances that differ from the oracle");
    let scalar_video = ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad"];
    assert_eq!(scalar_video.map(|o| tallies[o].checked).iter().sum::<usize>(), 83_104);
}

/// The carry flag is an operand that is not written: the last source, the last result.
fn takes_carry(instance: &Instance) -> bool {
    matches!(instance.opcode, "addc" | "subc" | "madc")
}

fn leaves_carry(instance: &Instance) -> bool {
    instance.mods.contains(&".cc")
}

/// What the meaning makes of the columns, compared with what the oracle makes of each lane.
fn compare(instance: &Instance, oracle: &Oracle, columns: &[Vec<u64>]) -> Result<(), String> {
    let lanes = columns.first().map_or(1, Vec::len);
    let ours = evaluate(instance, columns, lanes)?;
    for lane in 0..lanes {
        let sources: Vec<u64> = columns.iter().map(|c| c[lane]).collect();
        let mut theirs = oracle.eval(&sources);
        if takes_carry(instance) && !leaves_carry(instance) {
            theirs.truncate(1);
        }
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
    if takes_carry(instance) {
        let carry = b.inst(Op::Load(Mem::weak(Space::Global)), &[address], Type::I1);
        inputs.push((carry, &columns[inputs.len()]));
        b.set(flag, carry);
    }
    let mut cx = Cx {
        flag,
        stack: b.new_var(Type::I32),
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
        strict: false,
    };
    m.give_meaning(&mut cx)?;
    let mut results = std::mem::take(&mut cx.results);
    results.sort_by_key(|(slot, _)| *slot);
    let mut outputs: Vec<Value> = results.into_iter().flat_map(|(_, vs)| vs).collect();
    outputs.extend(leaves_carry(instance).then(|| b.get(flag)));
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
    let mut out: Vec<Operand<'static>> = vec![];
    for o in &instance.operands {
        let kind = OperandKind::Reg(o.ty.declared());
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
    let mut sources: Vec<Ty> = instance.operands.iter().filter(|o| !o.dest).map(|o| o.ty).collect();
    sources.extend(takes_carry(instance).then_some(Ty::Pred));
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
    if ty.is_narrow() {
        return (0..1 << ty.bits().min(16)).collect();
    }
    // Where .tf32 is read rather than written it stands for 32 bits of exactly that kind of register.
    let found = hostwarp_oracle::edges(if ty == Ty::Tf32 { "b32" } else { &ty.text()[1..] });
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

//! Mutants: a legal instruction with one or two things changed. Some are still legal; that is for the judges to say.

use super::judged_opcodes;
use super::ptxas::Judgeable;
use super::random::Random;
use super::sample::Sample;
use hostwarp_isa::{Ty, find};
use std::collections::HashSet;

/// Up to `count` mutants of these samples, none of them among the samples or twice.
pub fn mutants(legal: &[Sample], count: usize, random: &mut Random) -> Vec<Sample> {
    let mut seen: HashSet<String> = legal.iter().map(Sample::module).collect();
    let mut out = vec![];
    for _ in 0..count * 60 {
        if out.len() == count || legal.is_empty() {
            break;
        }
        let mut sample = random.pick(legal).clone();
        for _ in 0..if random.one_in(6) { 2 } else { 1 } {
            if let Some(name) = mutate(&mut sample, random) {
                sample.mutations.push(name);
            }
        }
        if !sample.mutations.is_empty() && seen.insert(sample.module()) {
            out.push(sample);
        }
    }
    out
}

type Mutation = (&'static str, fn(&mut Sample, &mut Random) -> Option<()>);

/// What can be done, the more frequent named more than once.
const MUTATIONS: &[Mutation] = &[
    ("modifier dropped", drop_modifier),
    ("modifier dropped", drop_modifier),
    ("modifier doubled", double_modifier),
    ("modifiers swapped", swap_modifiers),
    ("modifier replaced", replace_modifier),
    ("modifier replaced", replace_modifier),
    ("modifier added", add_modifier),
    ("type replaced", replace_type),
    ("type replaced", replace_type),
    ("opcode replaced", replace_opcode),
    ("operand dropped", drop_operand),
    ("operand doubled", double_operand),
    ("operands swapped", swap_operands),
    ("operand replaced", replace_operand),
    ("operand replaced", replace_operand),
    ("selector changed", change_selector),
    ("selector changed", change_selector),
    ("sign changed", change_sign),
    ("register retyped", retype_register),
    ("register retyped", retype_register),
    ("version changed", change_version),
    ("target changed", change_target),
];

fn mutate(sample: &mut Sample, random: &mut Random) -> Option<&'static str> {
    let (name, change) = random.pick(MUTATIONS);
    change(sample, random)?;
    Some(name)
}

/// A place among the modifiers.
fn modifier(sample: &Sample, random: &mut Random) -> Option<usize> {
    let count = sample.head.len() - 1;
    (count > 0).then(|| 1 + random.below(count))
}

fn drop_modifier(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = modifier(sample, random)?;
    sample.head.remove(i);
    Some(())
}

fn double_modifier(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = modifier(sample, random)?;
    sample.head.insert(i, sample.head[i].clone());
    Some(())
}

fn swap_modifiers(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let (i, j) = (modifier(sample, random)?, modifier(sample, random)?);
    (sample.head[i] != sample.head[j]).then(|| sample.head.swap(i, j))
}

/// A modifier some form of the opcode has, or one of another instruction.
fn any_modifier(opcode: &str, random: &mut Random) -> String {
    const OTHERS: &[&str] = &[
        ".sat",
        ".ftz",
        ".rn",
        ".rz",
        ".rni",
        ".hi",
        ".lo",
        ".wide",
        ".add",
        ".min",
        ".max",
        ".clamp",
        ".wrap",
        ".eq",
        ".lt",
        ".and",
        ".global",
        ".shared",
        ".local",
        ".const",
        ".param",
        ".v2",
        ".v4",
        ".relu",
        ".oob",
        ".po",
        ".shr7",
        ".shr15",
        ".b0",
        ".h1",
        ".b3210",
        ".h10",
        ".uni",
        ".sync",
        ".aligned",
        ".cc",
        ".to",
        ".volatile",
        ".relaxed",
        ".gpu",
        ".nan",
        ".xorsign.abs",
        ".approx",
        ".full",
        ".cas",
        ".up",
        ".idx",
        ".none",
    ];
    if let Some((entry, _)) = find(opcode)
        && !random.one_in(3)
    {
        let form = random.pick(&entry.forms);
        if !form.mods.is_empty() {
            let members = random.pick(&form.mods).members;
            return (*random.pick(members)).into();
        }
    }
    (*random.pick(OTHERS)).into()
}

fn replace_modifier(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = modifier(sample, random)?;
    let new = any_modifier(sample.opcode, random);
    (sample.head[i] != new).then(|| sample.head[i] = new)
}

fn add_modifier(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = 1 + random.below(sample.head.len());
    let new = any_modifier(sample.opcode, random);
    sample.head.insert(i, new);
    Some(())
}

fn replace_type(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let types: Vec<usize> =
        (1..sample.head.len()).filter(|i| Ty::parse(&sample.head[*i]).is_some()).collect();
    if types.is_empty() {
        return None;
    }
    let i = *random.pick(&types);
    let new = random.pick(Ty::ALL).text();
    (sample.head[i] != new).then(|| sample.head[i] = new.into())
}

fn replace_opcode(sample: &mut Sample, random: &mut Random) -> Option<()> {
    // Mostly rejected, and little is learnt: rarely.
    if !random.one_in(3) {
        return None;
    }
    let new = *random.pick(&judged_opcodes());
    (sample.head[0] != new).then(|| sample.head[0] = new.into())
}

fn operand(sample: &Sample, random: &mut Random) -> Option<usize> {
    (!sample.operands.is_empty()).then(|| random.below(sample.operands.len()))
}

fn drop_operand(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = operand(sample, random)?;
    sample.operands.remove(i);
    Some(())
}

fn double_operand(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = operand(sample, random)?;
    sample.operands.insert(i, sample.operands[i].clone());
    Some(())
}

fn swap_operands(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let (i, j) = (operand(sample, random)?, operand(sample, random)?);
    (sample.operands[i] != sample.operands[j]).then(|| sample.operands.swap(i, j))
}

fn replace_operand(sample: &mut Sample, random: &mut Random) -> Option<()> {
    const OTHERS: &[&str] = &[
        "0",
        "1",
        "-1",
        "0xffffffff",
        "4294967296",
        "1.0",
        "0f3f800000",
        "0d3ff0000000000000",
        "_",
        "%laneid",
        "%tid.x",
        "%tid",
        "%clock64",
        "L",
        "vg",
        "vs",
        "[vg]",
        "[vs+4]",
        "[vl]",
        "[16]",
        "{%x, %y}",
        "%x|%y",
        "%undeclared",
        "WARP_SZ",
        "%x",
        "%x",
        "(1)",
        "%x+1",
        "vg+4",
        "{%x, %x, %x, %x}",
        "[%x]",
        "[%x+4]",
    ];
    let i = operand(sample, random)?;
    let new = *random.pick(OTHERS);
    if new.contains("%x") {
        let ty = *random.pick(REGISTERS);
        sample.registers.push((ty.into(), "%x".into()));
        if new.contains("%y") {
            sample.registers.push((ty.into(), "%y".into()));
        }
    }
    sample.operands[i] = new.into();
    // A name can be declared once only.
    sample.registers.sort_by(|a, b| a.1.cmp(&b.1));
    sample.registers.dedup_by(|a, b| a.1 == b.1);
    Some(())
}

/// Types registers are declared with, right and wrong.
const REGISTERS: &[&str] = &[
    ".b32", ".u32", ".s32", ".f32", ".b64", ".u64", ".s64", ".f64", ".b16", ".u16", ".s16", ".f16", ".f16x2",
    ".pred", ".b8", ".u8", ".b128", ".bf16",
];

fn change_selector(sample: &mut Sample, random: &mut Random) -> Option<()> {
    const SELECTORS: &[&str] = &[
        ".b0", ".b1", ".b2", ".b3", ".b4", ".h0", ".h1", ".h2", ".b3210", ".b7654", ".b8000", ".b10", ".h10",
        ".h32", ".h44", ".x", ".y", ".w", ".b01", ".b0123", ".r", "",
    ];
    let i = operand(sample, random)?;
    // Where there is none yet it is mostly wrong: seldom.
    let text = &sample.operands[i];
    if !text.contains('.') && !random.one_in(4) || text.contains(['[', '{']) {
        return None;
    }
    let end = text.find('.').unwrap_or(text.len());
    let new = format!("{}{}", &text[..end], random.pick(SELECTORS));
    (new != *text).then(|| sample.operands[i] = new)
}

fn change_sign(sample: &mut Sample, random: &mut Random) -> Option<()> {
    let i = operand(sample, random)?;
    let text = &mut sample.operands[i];
    match text.strip_prefix(['-', '!']) {
        Some(rest) => *text = rest.into(),
        None => text.insert(0, *random.pick(&['-', '!', '~'])),
    }
    Some(())
}

fn retype_register(sample: &mut Sample, random: &mut Random) -> Option<()> {
    if sample.registers.is_empty() {
        return None;
    }
    let i = random.below(sample.registers.len());
    let new = *random.pick(REGISTERS);
    (sample.registers[i].0 != new).then(|| sample.registers[i].0 = new.into())
}

fn change_version(sample: &mut Sample, random: &mut Random) -> Option<()> {
    const VERSIONS: &[&str] = &[
        "1.4", "2.0", "2.3", "3.0", "3.1", "3.2", "4.0", "4.1", "4.2", "4.3", "5.0", "5.1", "6.0", "6.1",
        "6.2", "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0",
        "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5",
        "2.9", "6.9", "7.9", "10.0", "0.9",
    ];
    let new = *random.pick(VERSIONS);
    (sample.version != new).then(|| sample.version = new.into())
}

fn change_target(sample: &mut Sample, random: &mut Random) -> Option<()> {
    const TARGETS: &[&str] = &[
        "sm_10",
        "sm_11",
        "sm_13",
        "sm_20",
        "sm_21",
        "sm_30",
        "sm_32",
        "sm_35",
        "sm_37",
        "sm_50",
        "sm_52",
        "sm_53",
        "sm_60",
        "sm_61",
        "sm_62",
        "sm_70",
        "sm_72",
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_87",
        "sm_88",
        "sm_89",
        "sm_90",
        "sm_90a",
        "sm_100",
        "sm_100a",
        "sm_100f",
        "sm_101",
        "sm_103",
        "sm_107",
        "sm_110",
        "sm_120",
        "sm_121",
        "sm_99",
        "sm_91",
        "compute_90",
    ];
    let new = *random.pick(TARGETS);
    (sample.target != new).then(|| sample.target = new.into())
}

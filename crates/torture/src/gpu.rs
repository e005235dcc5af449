//! Runs a kernel on an NVIDIA GPU and compares what it leaves with what the interpreter does.
//!
//! Kernels whose outcome PTX leaves open where it is fixed here are left out: those that fault, and those that look at addresses, at
//! numbers of the multiprocessor, or at which lanes happen to run together.

use crate::generate::reads_carry;
use crate::run::{Bench, Case};
use hostwarp::{Misuse, Profile};
use hostwarp_conformance::cuda::{Assembly, Gpu, Grid};
use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// How long a kernel may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes of stack of every thread: functions call themselves.
const STACK: usize = 16 << 10;

/// Registers of a multiprocessor.
const REGISTERS: u32 = 65536;

/// Bytes by which memory is elsewhere the second time, to see whether a kernel looks at addresses.
const ELSEWHERE: usize = 0x1_2340;

/// What running a case on a GPU came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The same bits.
    Same,
    /// Not run, and why.
    Left(&'static str),
    /// The driver's assembler does not take it, and what it says.
    Refused(String),
    /// Words that differ: place, the interpreter's, the GPU's. All of them.
    Differs(Vec<(usize, u64, u64)>),
    /// The GPU left other words the second time; so many differ.
    Wavers(usize),
    /// It faulted or did not end: the context is of no use any more.
    Lost(String),
}

impl Verdict {
    /// Whether something is to be looked at.
    pub fn is_failure(&self) -> bool {
        !matches!(self, Verdict::Same | Verdict::Left(_))
    }

    /// Whether the other is of the same kind.
    pub fn is_like(&self, other: &Verdict) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Same => f.write_str("same"),
            Verdict::Left(why) => write!(f, "left out: {why}"),
            Verdict::Refused(why) => write!(f, "refused: {why}"),
            Verdict::Differs(words) => {
                write!(f, "differs: {} words, here and there", words.len())?;
                for (word, here, there) in words.iter().take(4) {
                    write!(f, "; {word}: {here:#018x} {there:#018x}")?;
                }
                Ok(())
            }
            Verdict::Wavers(words) => write!(f, "wavers: two runs on the GPU differ in {words} words"),
            Verdict::Lost(why) => write!(f, "lost: {why}"),
        }
    }
}

/// A GPU and the interpreter to compare it with.
pub struct Card {
    gpu: Gpu,
    bench: Bench,
    /// What the driver's assembler optimises.
    level: u32,
}

impl Card {
    /// The first GPU.
    pub fn open(level: u32) -> Result<Card, String> {
        let gpu = Gpu::open()?;
        gpu.stack(STACK)?;
        Ok(Card { gpu, bench: Bench::plain(Profile::Sm90)?, level })
    }

    /// Its name, and its driver's version.
    pub fn name(&self) -> String {
        format!("{} (sm_{}), CUDA {}", self.gpu.name, self.gpu.sm, self.gpu.driver)
    }

    /// Runs a case here and there.
    pub fn compare(&self, case: &Case) -> Verdict {
        if let Some(why) = left_open(case, self.level).or_else(|| made_wrong(case, &self.gpu.driver)) {
            return Verdict::Left(why);
        }
        let Ok(want) = self.bench.reference(case, 0) else {
            return Verdict::Left("the interpreter does not run it");
        };
        if !self.bench.reference(case, ELSEWHERE).is_ok_and(|again| again == want) {
            return Verdict::Left("looks at addresses");
        }
        // What a GPU makes of the others is known, or they are races, which see below.
        match self.bench.relies_on(case) {
            Some(Misuse::Uninitialised { .. }) => {
                return Verdict::Left("reads a register that was never written");
            }
            Some(Misuse::UninitialisedShared { .. }) => {
                return Verdict::Left("reads shared memory that was never written");
            }
            _ => {}
        }
        let threads = case.block.iter().product::<u32>();
        // Unoptimised code takes many.
        let registers = (threads > 256).then(|| REGISTERS / threads.next_multiple_of(128) / 8 * 8);
        let module = match self.gpu.assemble(&case.text, Assembly { level: self.level, registers }) {
            Ok(module) => module,
            Err(why) => return Verdict::Refused(why.replace('\n', " / ")),
        };
        let mut seen: Option<Vec<u64>> = None;
        for _ in 0..2 {
            let got = match self.run(&module, case) {
                Ok(got) => got,
                Err(why) => return Verdict::Lost(why),
            };
            if let Some(first) = &seen
                && *first != got
            {
                return Verdict::Wavers(first.iter().zip(&got).filter(|(a, b)| a != b).count());
            }
            seen = Some(got);
        }
        let got = seen.unwrap_or_default();
        let words = want.iter().zip(&got).enumerate().filter(|(_, (w, g))| w != g);
        let words: Vec<_> = words.map(|(i, (w, g))| (i, *w, *g)).collect();
        if words.is_empty() { Verdict::Same } else { Verdict::Differs(words) }
    }

    /// Whether lanes of a warp race for shared memory, as far as a strict launch sees it.
    pub fn races(&self, case: &Case) -> bool {
        matches!(self.bench.relies_on(case), Some(Misuse::ReadRace { .. } | Misuse::WriteRace { .. }))
    }

    fn run(&self, module: &hostwarp_conformance::cuda::Module<'_>, case: &Case) -> Result<Vec<u64>, String> {
        let (input, memory, bag) = case.contents();
        let (inputs, buffer) = (self.gpu.memory(8 * input.len())?, self.gpu.memory(8 * memory.len())?);
        inputs.write(&input)?;
        buffer.write(&memory)?;
        let params = [
            inputs.address().to_le_bytes().to_vec(),
            buffer.address().to_le_bytes().to_vec(),
            case.limit.to_le_bytes().to_vec(),
            bag,
        ];
        let grid = Grid { grid: case.grid, block: case.block, shared: case.shared, cooperative: false };
        if !module.launch_within("torture", grid, &params, PATIENCE)? {
            return Err(format!("did not end within {} s", PATIENCE.as_secs()));
        }
        buffer.read(memory.len())
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Card({})", self.name())
    }
}

/// Why a GPU may do something else.
fn left_open(case: &Case, level: u32) -> Option<&'static str> {
    if case.faults {
        return Some("may fault");
    }
    let insts = || case.text.lines().map(str::trim_start);
    let opcodes = || insts().map(unguarded);
    if insts().any(|l| l.contains("%warpid") || l.contains("%nwarpid")) {
        return Some("numbers of the multiprocessor");
    }
    // All lanes are there at the beginning.
    if opcodes().any(|l| l.starts_with("activemask") && !l.contains(" %m0;")) {
        return Some("lanes that run together");
    }
    // Other than for an access.
    let windows = |l: &str| l.starts_with("cvta") && !l.contains(" %a0,") || l.starts_with("isspacep");
    if opcodes().any(|l| windows(l) || l.starts_with("mapa") || l.starts_with("getctarank")) {
        return Some("windows of addresses");
    }
    if carry_is_open(insts()) {
        return Some("a carry that nobody has set");
    }
    if opcodes().any(|l| l.starts_with("mbarrier.pending_count")) {
        return Some("states of mbarriers, which are opaque");
    }
    // But the one that is a policy.
    if opcodes().any(|l| l.starts_with("createpolicy") && !l.contains(" %base6;")) {
        return Some("policies, which are opaque");
    }
    if level > 0 && opcodes().any(may_be_fused) {
        return Some("products that may be fused");
    }
    None
}

/// What the driver's assembler is known to do wrong ([docs/torture.md](../../../docs/torture.md)): most in all versions, the one of 13.0 more.
fn made_wrong(case: &Case, driver: &str) -> Option<&'static str> {
    let mut version = driver.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let old = (version.next()?, version.next()?) < (13, 4);
    // Registers that hold an f32 somewhere.
    let mut floats = BTreeSet::new();
    let mut lines: Vec<(&str, &str, &str)> = vec![];
    for line in case.text.lines().map(str::trim_start) {
        let Some((head, operands)) = unguarded(line).split_once(' ') else { continue };
        if head.contains(".f32") {
            let end = if operands.starts_with('{') { '}' } else { ',' };
            let dest = operands.split(end).next().unwrap_or_default();
            floats.extend(dest.split(['{', '|', ',', ' ']));
        }
        lines.push((line, head, operands));
    }
    lines.into_iter().find_map(|(line, head, operands)| {
        let guarded = line.starts_with('@');
        let opcode = head.split('.').next().unwrap_or_default();
        let dest = operands.split(',').next().unwrap_or_default();
        let dropped = operands.starts_with('_');
        let mut types = head.rsplit('.');
        let (source, of) = (types.next().unwrap_or_default(), types.next().unwrap_or_default());
        match opcode {
            "testp" if guarded => return Some("a guarded testp, which the assembler makes unguarded"),
            "vsub4" if guarded && head.ends_with(".add") => {
                return Some("a guarded vsub4 that adds, which the assembler makes unguarded");
            }
            "set"
                if guarded
                    && (of.starts_with(['f', 'b']) || of.ends_with("32") && source.ends_with("16")) =>
            {
                return Some("a guarded set that converts, which the assembler makes wrong");
            }
            "setp" if guarded && dropped => return Some("the assembler ends the process"),
            "atom" if old && dropped && head.contains(".noftz") && source.starts_with("bf") => {
                return Some("the assembler ends the process");
            }
            "shl" | "shr" if source.ends_with("64") => {
                let amount = operands.rsplit(' ').next().unwrap_or_default().trim_end_matches(';');
                if floats.contains(amount) {
                    return Some("a shift by a float's bits, which the assembler converts");
                }
            }
            _ => {}
        }
        if old
            && opcode.starts_with('v')
            && opcode.ends_with(|c: char| c.is_ascii_lowercase())
            && dest.ends_with(".h1")
        {
            return Some("merges into .h1, which the assembler makes wrong");
        }
        let nan = |word: &str| {
            let hex = |prefix| word.strip_prefix(prefix).and_then(|h: &str| u64::from_str_radix(h, 16).ok());
            hex("0f").is_some_and(|bits| f32::from_bits(bits as u32).is_nan())
                || hex("0d").is_some_and(|bits| f64::from_bits(bits).is_nan())
        };
        let words = || operands.split(|c: char| !c.is_ascii_alphanumeric());
        words().any(nan).then_some("a constant that is a NaN, which the assembler negates and moves about")
    })
}

/// An instruction without its guard.
fn unguarded(inst: &str) -> &str {
    inst.split_once(' ').filter(|(g, _)| g.starts_with('@')).map_or(inst, |(_, inst)| inst)
}

/// Whether an instruction takes a carry that the one before it does not set: how long it is kept is not said.
fn carry_is_open<'a>(insts: impl Iterator<Item = &'a str>) -> bool {
    let mut set = false;
    for inst in insts {
        if reads_carry(unguarded(inst)) && !set {
            return true;
        }
        set = inst.split_whitespace().next().is_some_and(|head| head.split('.').any(|m| m == "cc"));
    }
    false
}

/// Whether it is a product of floats without a rounding mode, which an optimising assembler may fuse with a sum.
fn may_be_fused(inst: &str) -> bool {
    let head = inst.split_whitespace().next().unwrap_or_default();
    let mut parts = head.split('.');
    let float = |m: &str| m.starts_with('f') && m != "ftz" || m.starts_with("bf");
    parts.next() == Some("mul")
        && parts.clone().any(float)
        && !parts.any(|m| matches!(m, "rn" | "rz" | "rm" | "rp"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;

    fn why(line: &str, level: u32) -> Option<&'static str> {
        let case = Subject::make(0).case();
        let case = Case { text: format!("{{\n    {line}\n}}"), faults: false, ..case };
        left_open(&case, level)
    }

    #[test]
    fn what_an_assembler_makes_wrong_is_left_out() {
        let wrong = |line: &str, driver: &str| {
            let case = Case { text: format!("{{\n    {line}\n}}"), ..Subject::make(0).case() };
            made_wrong(&case, driver).is_some()
        };
        let inst = "@%p0 vadd.s32.u32.s32.sat %r1.h1, %r2, %r3, %r4;";
        assert!(wrong(inst, "13.0") && wrong(inst, "12.8"));
        for inst in [
            "@%p0 setp.ge.s32 _|%p1, %r2, %r4;",
            "@!%p0 testp.subnormal.f64 %p1, %d1;",
            "@!%p1 vsub4.u32.u32.u32.add %r3, %r0, %r1, %r3;",
            "@%p2 set.ltu.ftz.s32.f16 %r0, %h1, %h0;",
            "@%p2 set.lt.bf16.f16 %h0, %h1, %h0;",
            "@%p2 set.lt.or.f32.s64 %f0, %l1, %l0, %p1;",
            "@!%p2 set.ne.u32.b16 %r0, %h1, %h0;",
        ] {
            assert!(wrong(inst, "13.0") && wrong(inst, "13.5"), "{inst}");
            let unguarded = inst.split_once(' ').map_or("", |(_, inst)| inst);
            assert!(!wrong(unguarded, "13.0"), "{inst}");
        }
        assert!(!wrong(inst, "13.4") && !wrong(inst, "14.0"));
        for inst in
            ["@!%p1 setp.leu.or.bf16x2 _, %r1, %r5, %p2;", "atom.shared.add.noftz.bf16x2 _, [%a0], %r2;"]
        {
            assert!(wrong(inst, "13.0"), "{inst}");
        }
        assert!(!wrong("@%p0 set.ne.u32.b32 %r0, %r1, %r2;", "13.0"));
        assert!(!wrong("sub.f64 %d0, %d1, 0d7ff0000000000000;", "13.0"));
        assert!(!wrong("min.f32 %r2, %r1, %r3;\n    shr.s64 %l0, %l1, %r1;", "13.0"));
        assert!(!wrong("min.f32 %r1, %r2, %r3;\n    shr.s32 %r0, %r2, %r1;", "13.0"));
        assert!(!wrong("atom.add.noftz.f16x2 _, [%a0], %r2;", "13.0"));
        assert!(!wrong("vadd.s32.u32.s32.sat %r1.h0, %r2.h1, %r3, %r4;", "13.0"));
        assert!(!wrong("vadd2.s32.u32.s32.sat %r1.h1, %r2, %r3, %r4;", "13.0"));
    }

    #[test]
    fn kernels_that_look_at_more_than_ptx_says_are_left_out() {
        for line in [
            "mov.u32 %r0, %warpid;",
            "@%p0 activemask.b32 %r0;",
            "@!%p0 isspacep.shared %p1, %l0;",
            "cvta.to.shared.u64 %l1, %l0;",
            "mapa.u64 %l1, %l0, 0;",
            "addc.u32 %r0, %r1, %r2;",
            "mbarrier.pending_count.b64 %r0, %l1;",
            "createpolicy.fractional.L2::evict_last.b64 %l0;",
        ] {
            assert!(why(line, 0).is_some(), "{line}");
        }
        for line in [
            "add.cc.u32 %r0, %r1, %r2;\n    @%p0 addc.u32 %r0, %r1, %r2;",
            "createpolicy.fractional.L2::evict_last.b64 %base6;",
            "activemask.b32 %m0;",
            "cvta.shared.u64 %a0, %base5;",
            "mov.u32 %r0, %laneid;",
        ] {
            assert_eq!(why(line, 0), None, "{line}");
        }
        for (line, fused) in [
            ("mul.f32 %f0, %f1, %f0;", true),
            ("@%p0 mul.ftz.f32 %f0, %f1, %f0;", true),
            ("mul.rn.f32 %f0, %f1, %f0;", false),
            ("mul.lo.u32 %r0, %r1, %r0;", false),
        ] {
            assert_eq!(why(line, 4).is_some(), fused, "{line}");
            assert_eq!(why(line, 0), None, "{line}");
        }
    }

    /// Whatever lies before what it works on, a kernel leaves the same; else the GPU would leave something else.
    #[test]
    fn few_kernels_look_at_addresses() {
        let bench = Bench::plain(Profile::Sm90).expect("a device");
        let looks = |seed: &u64| {
            let case = Subject::make(*seed).case();
            left_open(&case, 0).is_none()
                && bench.reference(&case, 0).ok() != bench.reference(&case, ELSEWHERE).ok()
        };
        let seeds = (0..60).chain((0..20).map(|i| crate::shapes::SHAPES + i));
        assert_eq!(seeds.filter(looks).collect::<Vec<u64>>(), Vec::<u64>::new());
    }
}

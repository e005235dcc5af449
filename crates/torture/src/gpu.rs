//! Runs a kernel on an NVIDIA GPU and compares what it leaves with what the interpreter does.
//!
//! Kernels whose outcome PTX leaves open where it is fixed here are left out: those that fault, and those that look at addresses, at
//! numbers of the multiprocessor, or at which lanes happen to run together.

use crate::run::{Bench, Case};
use hostwarp_conformance::cuda::{Assembly, Gpu, Grid};
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
        Ok(Card { gpu, bench: Bench::plain()?, level })
    }

    /// Its name, and its driver's version.
    pub fn name(&self) -> String {
        format!("{} (sm_{}), CUDA {}", self.gpu.name, self.gpu.sm, self.gpu.driver)
    }

    /// Runs a case here and there.
    pub fn compare(&self, case: &Case) -> Verdict {
        if let Some(why) = left_open(case, self.level) {
            return Verdict::Left(why);
        }
        let Ok(want) = self.bench.reference(case, 0) else {
            return Verdict::Left("the interpreter does not run it");
        };
        if !self.bench.reference(case, ELSEWHERE).is_ok_and(|again| again == want) {
            return Verdict::Left("looks at addresses");
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
    let opcodes =
        || insts().map(|l| l.split_once(' ').filter(|(g, _)| g.starts_with('@')).map_or(l, |(_, l)| l));
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
    if level > 0 && opcodes().any(may_be_fused) {
        return Some("products that may be fused");
    }
    None
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
    fn kernels_that_look_at_more_than_ptx_says_are_left_out() {
        for line in [
            "mov.u32 %r0, %warpid;",
            "@%p0 activemask.b32 %r0;",
            "@!%p0 isspacep.shared %p1, %l0;",
            "cvta.to.shared.u64 %l1, %l0;",
            "mapa.u64 %l1, %l0, 0;",
        ] {
            assert!(why(line, 0).is_some(), "{line}");
        }
        for line in ["activemask.b32 %m0;", "cvta.shared.u64 %a0, %base5;", "mov.u32 %r0, %laneid;"] {
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
        let bench = Bench::plain().expect("a device");
        let looks = |seed: &u64| {
            let case = Subject::make(*seed).case();
            left_open(&case, 0).is_none()
                && bench.reference(&case, 0).ok() != bench.reference(&case, ELSEWHERE).ok()
        };
        let seeds = (0..60).chain((0..20).map(|i| crate::shapes::SHAPES + i));
        assert_eq!(seeds.filter(looks).collect::<Vec<u64>>(), Vec::<u64>::new());
    }
}

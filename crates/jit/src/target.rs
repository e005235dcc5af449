//! The CPU that code is made for.
//!
//! Detected without LLVM, because a kernel found in a cache of compiled objects must run without ever loading it. A target is
//! written out in full (every feature by name), so that its text form can be part of a cache key.

use hostwarp_memory::map::GLOBAL_BASE;
use std::fmt;

/// Instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Arch {
    /// The instruction set of this process, where Hostwarp can make code for it.
    pub fn host() -> Option<Arch> {
        if cfg!(target_arch = "x86_64") {
            Some(Arch::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Arch::Aarch64)
        } else {
            None
        }
    }

    /// The triple objects are made for: always ELF, whatever the host, because the loader is our own.
    pub fn triple(self) -> &'static str {
        match self {
            Arch::X86_64 => "x86_64-unknown-linux-gnu",
            Arch::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }
}

/// Steps of x86-64 that are worth telling apart; each holds those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum X86Level {
    /// What every x86-64 has: vectors of 128 bits.
    Sse2,
    /// SSE4.2 and popcnt: vectors of 128 bits.
    Sse42,
    /// AVX2, FMA, F16C, BMI: vectors of 256 bits, no masks.
    Avx2,
    /// AVX-512 F, BW, DQ, VL, CD: vectors of 512 bits with masks.
    Avx512,
}

impl X86Level {
    /// All, the lowest first.
    pub const ALL: [X86Level; 4] = [X86Level::Sse2, X86Level::Sse42, X86Level::Avx2, X86Level::Avx512];

    /// What the command line calls it.
    pub fn name(self) -> &'static str {
        match self {
            X86Level::Sse2 => "sse2",
            X86Level::Sse42 => "sse4.2",
            X86Level::Avx2 => "avx2",
            X86Level::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for X86Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

const SSE42: &[&str] = &["sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"];
const AVX2: &[&str] = &["avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"];
const AVX512: &[&str] = &["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"];

/// A CPU to make code for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The instruction set.
    pub arch: Arch,
    /// LLVM's name of the CPU whose instructions may be used (`x86-64`), before `features` are added.
    pub cpu: String,
    /// LLVM's name of the CPU to schedule for. It gives no permission to use an instruction.
    pub tune: String,
    /// LLVM's names of the features present beyond `cpu`, without a sign, sorted.
    pub features: Vec<String>,
    /// The widest vector register to use, in bits.
    pub vector_bits: u32,
    /// The device address at which the table of granules begins: [`map::GLOBAL_BASE`](hostwarp_memory::map::GLOBAL_BASE), or 0 for devices with raw pointers.
    pub base: u64,
}

impl Target {
    /// The CPU this process runs on. `None` where Hostwarp makes no code for its instruction set.
    pub fn host() -> Option<Target> {
        match Arch::host()? {
            Arch::X86_64 => Some(host_x86()),
            Arch::Aarch64 => Some(Target {
                arch: Arch::Aarch64,
                cpu: "generic".into(),
                tune: "generic".into(),
                features: if cfg!(target_vendor = "apple") { vec!["reserve-x18".into()] } else { vec![] },
                vector_bits: 128,
                base: GLOBAL_BASE,
            }),
        }
    }

    /// The given step of x86-64 if this CPU has it, and nothing beyond: how older CPUs are tried.
    pub fn host_up_to(level: X86Level) -> Option<Target> {
        Some(Target::x86(level)).filter(|target| Target::host().is_some_and(|host| target.runs_on(&host)))
    }

    /// A plain x86-64 of the given step, with nothing of the host in it: for tests, and for objects made for another machine.
    pub fn x86(level: X86Level) -> Target {
        let mut features: Vec<&str> = vec!["sse2"];
        if level >= X86Level::Sse42 {
            features.extend(SSE42);
        }
        if level >= X86Level::Avx2 {
            features.extend(AVX2);
        }
        if level >= X86Level::Avx512 {
            features.extend(AVX512);
        }
        let (tune, vector_bits) = match level {
            X86Level::Sse2 => ("x86-64", 128),
            X86Level::Sse42 => ("nehalem", 128),
            X86Level::Avx2 => ("haswell", 256),
            X86Level::Avx512 => ("skylake-avx512", 512),
        };
        Target::with(Arch::X86_64, "x86-64", tune, features, vector_bits)
    }

    fn with(arch: Arch, cpu: &str, tune: &str, mut features: Vec<&str>, vector_bits: u32) -> Target {
        features.sort_unstable();
        let features = features.into_iter().map(String::from).collect();
        Target { arch, cpu: cpu.into(), tune: tune.into(), features, vector_bits, base: GLOBAL_BASE }
    }

    /// How many vector registers there are.
    pub fn vector_registers(&self) -> u32 {
        if self.arch == Arch::Aarch64 || self.has("avx512vl") { 32 } else { 16 }
    }

    /// Whether the CPU has a feature, by LLVM's name.
    pub fn has(&self, feature: &str) -> bool {
        self.features.binary_search_by(|have| have.as_str().cmp(feature)).is_ok()
    }

    /// Whether code made for `self` may run on `host`.
    pub fn runs_on(&self, host: &Target) -> bool {
        self.arch == host.arch && self.cpu == host.cpu && self.features.iter().all(|f| host.has(f))
    }

    /// The features as LLVM takes them: `+avx,+avx2`.
    pub(crate) fn feature_string(&self) -> String {
        self.features.iter().map(|f| format!("+{f}")).collect::<Vec<_>>().join(",")
    }
}

/// One line that holds everything that can change the object made: part of a cache key.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Target { arch, cpu, tune, features, vector_bits, base } = self;
        let (arch, features) = (arch.triple(), features.join(" "));
        write!(f, "{arch} cpu={cpu} tune={tune} bits={vector_bits} base={base:#x} [{features}]")
    }
}

#[cfg(target_arch = "x86_64")]
fn host_x86() -> Target {
    let mut features = Vec::new();
    // The pairs are (what the standard library calls it, what LLVM calls it).
    macro_rules! detect {
        ($($std:tt $llvm:literal),* $(,)?) => {
            $(if std::arch::is_x86_feature_detected!($std) { features.push($llvm); })*
        };
    }
    detect!(
        "sse2" "sse2", "sse3" "sse3", "ssse3" "ssse3", "sse4.1" "sse4.1", "sse4.2" "sse4.2", "popcnt" "popcnt",
        "cmpxchg16b" "cx16", "avx" "avx", "avx2" "avx2", "fma" "fma", "f16c" "f16c", "bmi1" "bmi", "bmi2" "bmi2",
        "lzcnt" "lzcnt", "movbe" "movbe", "avx512f" "avx512f", "avx512bw" "avx512bw", "avx512dq" "avx512dq",
        "avx512vl" "avx512vl", "avx512cd" "avx512cd", "avx512ifma" "avx512ifma", "avx512vbmi" "avx512vbmi",
        "avx512vbmi2" "avx512vbmi2", "avx512vnni" "avx512vnni", "avx512bitalg" "avx512bitalg",
        "avx512vpopcntdq" "avx512vpopcntdq", "gfni" "gfni",
    );
    if has_prefetchw() {
        features.push("prfchw");
    }
    let amd = is_amd();
    let avx512 = AVX512.iter().all(|f| features.contains(f));
    let (tune, vector_bits) = match (features.contains(&"avx2"), avx512, amd) {
        (_, true, true) => ("znver4", 512),
        (_, true, false) if has_avx512_fp16() => ("sapphirerapids", 512),
        (_, true, false) if features.contains(&"avx512vbmi2") => ("icelake-server", 512),
        (_, true, false) => ("skylake-avx512", 512),
        (true, false, true) => ("znver3", 256),
        (true, false, false) => ("haswell", 256),
        (false, ..) => ("nehalem", 128),
    };
    Target::with(Arch::X86_64, "x86-64", tune, features, vector_bits)
}

#[cfg(not(target_arch = "x86_64"))]
fn host_x86() -> Target {
    Target::x86(X86Level::Sse42)
}

/// Whether a line can be asked for that will be written, which the standard library does not tell.
#[cfg(target_arch = "x86_64")]
fn has_prefetchw() -> bool {
    use std::arch::x86_64::__cpuid;
    const EXTENDED: u32 = 0x8000_0000;
    __cpuid(EXTENDED).eax > EXTENDED && __cpuid(EXTENDED + 1).ecx & 1 << 8 != 0
}

/// Whether there is arithmetic on halves, which tells a generation of CPUs. It is not used.
#[cfg(target_arch = "x86_64")]
fn has_avx512_fp16() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & 1 << 23 != 0
}

#[cfg(target_arch = "x86_64")]
fn is_amd() -> bool {
    let leaf = std::arch::x86_64::__cpuid(0);
    let vendor = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).concat();
    vendor == b"AuthenticAMD" || vendor == b"HygonGenuine"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_hold_each_other_and_the_host_holds_itself() {
        assert!(X86Level::ALL.is_sorted());
        let sse = Target::x86(X86Level::Sse42);
        assert!(Target::x86(X86Level::Sse2).runs_on(&sse) && !sse.runs_on(&Target::x86(X86Level::Sse2)));
        let avx2 = Target::x86(X86Level::Avx2);
        let avx512 = Target::x86(X86Level::Avx512);
        assert!(sse.runs_on(&avx2) && avx2.runs_on(&avx512) && sse.runs_on(&avx512));
        assert!(!avx512.runs_on(&avx2) && !avx2.runs_on(&sse));
        assert!(avx2.has("fma") && !sse.has("fma"));
        if let Some(host) = Target::host() {
            assert!(host.runs_on(&host));
            assert!(host.features.is_sorted());
        }
    }

    #[test]
    fn the_text_form_tells_targets_apart() {
        let mut narrow = Target::x86(X86Level::Avx512);
        narrow.vector_bits = 256;
        assert_ne!(narrow.to_string(), Target::x86(X86Level::Avx512).to_string());
    }
}

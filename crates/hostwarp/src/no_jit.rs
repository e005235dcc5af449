//! What stands for the jit in builds without it: every kernel is refused with a reason, so the interpreter runs it.
//!
//! The same names as `hostwarp_jit` for what this crate uses of it. Whatever only exists once something was compiled has no value here
//! ([`Never`]), so none of it can be reached.

use hostwarp_interp::{Cta, Launch, Outcome, Program, Runner};
use std::sync::Arc;

/// Why nothing is compiled.
pub const WHY: &str = if cfg!(feature = "jit") {
    "the jit does not know this CPU or system; use the interpreter"
} else {
    "this Hostwarp was built without the jit (the cargo feature `jit`)"
};

/// Has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Never {}

/// Why there is no compiled kernel: [`WHY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JitError(());

impl JitError {
    /// It stays so.
    pub fn is_passing(&self) -> bool {
        false
    }
}

impl std::fmt::Display for JitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(WHY)
    }
}

impl std::error::Error for JitError {}

/// Whether compiled code relies on what nearly always holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Speculation {
    /// It does.
    On,
    /// It does not.
    Off,
}

/// A kernel as LLVM IR: there is none.
pub struct KernelText(Never);

impl KernelText {
    /// Refuses every kernel.
    pub fn check(_: &Program) -> Result<(), JitError> {
        Err(JitError(()))
    }

    /// Refuses every kernel.
    pub fn new(_: &Arc<Program>, _: &target::Target, _: Speculation) -> Result<KernelText, JitError> {
        Err(JitError(()))
    }

    /// Refuses every kernel.
    pub fn in_groups_of(
        _: u32,
        _: &Arc<Program>,
        _: &target::Target,
        _: Speculation,
    ) -> Result<KernelText, JitError> {
        Err(JitError(()))
    }

    /// Nothing is compiled, so nothing depends on it.
    pub fn width(_: &Program, _: [u32; 3], _: Option<&target::Target>) -> u32 {
        32
    }

    /// Refuses every kernel.
    pub fn vector(_: &Program, _: hostwarp_plan::Assume, _: Speculation) -> Result<String, JitError> {
        Err(JitError(()))
    }

    /// The text.
    pub fn text(&self) -> &str {
        match self.0 {}
    }

    /// The CPU it is for.
    pub fn target(&self) -> &target::Target {
        match self.0 {}
    }

    /// Compiles it.
    pub fn compile(self, _: llvm::Llvm, _: &llvm::Tier) -> Result<JitKernel, JitError> {
        match self.0 {}
    }

    /// Loads what was compiled.
    pub fn load(self, _: llvm::Object) -> Result<JitKernel, JitError> {
        match self.0 {}
    }
}

/// A compiled kernel: there is none.
#[derive(Debug)]
pub struct JitKernel(Never);

impl JitKernel {
    /// Whether it takes anything for granted.
    pub fn speculation(&self) -> Speculation {
        match self.0 {}
    }

    /// Lanes of a vector.
    pub fn width(&self) -> u32 {
        match self.0 {}
    }

    /// Who runs a CTA that it has.
    pub fn runner(&self) -> Runner {
        match self.0 {}
    }

    /// CTAs it has left to the interpreter.
    pub fn handed_over(&self) -> u32 {
        match self.0 {}
    }

    /// The object it was loaded from.
    pub fn object(&self) -> &llvm::Object {
        match self.0 {}
    }

    /// Runs CTAs.
    pub fn start(&self, _: &Launch<'_>, _: &mut Cta, _: u64, _: u64, _: u64) -> (u64, Outcome) {
        match self.0 {}
    }

    /// Goes on with a CTA.
    pub fn run(&self, _: &Launch<'_>, _: &mut Cta, _: u64) -> Outcome {
        match self.0 {}
    }

    /// Takes a CTA from whoever runs it.
    pub fn take_over(&self, _: &Launch<'_>, _: &mut Cta) -> bool {
        match self.0 {}
    }
}

pub mod llvm {
    //! LLVM, which is not used.
    use super::Never;
    use std::fmt;
    use std::path::Path;

    /// A libLLVM: there is none.
    #[derive(Clone, Copy, Debug)]
    pub struct Llvm(Never);

    impl Llvm {
        /// Finds none.
        pub fn find(_: Option<&Path>) -> Result<Llvm, super::JitError> {
            Err(super::JitError(()))
        }

        /// Its version.
        pub fn version(self) -> String {
            match self.0 {}
        }

        /// Where it is.
        pub fn path(self) -> &'static Path {
            match self.0 {}
        }
    }

    /// How much LLVM does.
    #[derive(Clone, Debug)]
    pub struct Tier(());

    impl Tier {
        /// Little.
        pub fn quick() -> Tier {
            Tier(())
        }

        /// Enough for fast code.
        pub fn light() -> Tier {
            Tier(())
        }
    }

    impl fmt::Display for Tier {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("none")
        }
    }

    /// Machine code.
    #[derive(Clone, Debug)]
    pub struct Object(pub Vec<u8>);

    /// There is nothing to wait for.
    pub fn wait_at_end() {}

    /// Nothing is used for a first time.
    pub fn wait_for_first_use() {}

    /// Nothing is used for a first time.
    #[derive(Debug)]
    pub struct FirstUse;

    impl FirstUse {
        /// Of nothing.
        pub fn begin() -> FirstUse {
            FirstUse
        }

        /// By nobody.
        pub fn on_this_thread(self) {}
    }
}

pub mod target {
    //! The CPU that code would be made for.
    use std::fmt;

    /// Steps of x86-64, which the command line can name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum X86Level {
        /// What every x86-64 has.
        Sse2,
        /// SSE4.2 and popcnt.
        Sse42,
        /// AVX2, FMA, F16C, BMI.
        Avx2,
        /// AVX-512 F, BW, DQ, VL, CD.
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

    /// A CPU to make code for: there is none.
    #[derive(Clone, Debug)]
    pub struct Target {
        /// Its features.
        pub features: Vec<String>,
        /// Bits of a vector.
        pub vector_bits: u32,
        /// The device address at which the table of granules begins.
        pub base: u64,
    }

    impl Target {
        /// None.
        pub fn host() -> Option<Target> {
            None
        }

        /// None.
        pub fn host_up_to(_: X86Level) -> Option<Target> {
            None
        }

        /// It has no feature.
        pub fn has(&self, _: &str) -> bool {
            false
        }

        /// How many vector registers there are.
        pub fn vector_registers(&self) -> u32 {
            32
        }

        /// Whether it foresees streams by itself.
        pub fn streams_alone(&self) -> bool {
            false
        }
    }

    impl fmt::Display for Target {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("none")
        }
    }
}

//! What compiling gives.

use hostwarp_ir as ir;
use hostwarp_isa::Ty;

/// A checked module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// `.version`, e.g. `(8, 8)`.
    pub version: (u32, u32),
    /// The number in `.target sm_90`.
    pub sm: u32,
    /// 32 or 64.
    pub address_size: u32,
    /// The kernels, in text order.
    pub kernels: Vec<Kernel>,
    /// The names of the functions (`.func`) it defines.
    pub functions: Vec<String>,
    /// The functions that its one file calls and does not define; device-side launch is not among them.
    pub undefined: Vec<String>,
    /// The variables in `.global`. In IR their address is `Special::GlobalsBase` plus the symbol's offset.
    pub globals: Image,
    /// The variables in `.const`. In IR their address is the symbol's offset in `Space::Const`.
    pub constants: Image,
    /// The files it was made of, and how many lines there are before each.
    pub files: Vec<(String, u32)>,
    /// What [probes](crate::Probes) tell of: the one with number [`crate::FIRST_SITE`] and those behind it.
    pub sites: Vec<crate::Site>,
}

impl Module {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }

    /// The file that a line is in, and its number there.
    pub fn place(&self, line: u32) -> (&str, u32) {
        let of = self.files.iter().rev().find(|(_, before)| *before < line);
        of.map_or(("", line), |(name, before)| (name, line - before))
    }
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters, laid out.
    pub params: Vec<Param>,
    /// Its IR, neither optimised nor expanded; or why there is none.
    pub function: Result<ir::Function, Unusable>,
    /// What its performance-tuning directives say.
    pub limits: Limits,
    /// Bytes the parameter block, static shared memory and each thread's local memory take.
    pub info: ir::KernelInfo,
    /// First and last line in the text.
    pub lines: (u32, u32),
}

/// Why a kernel has no IR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// It has errors; they are among the diagnostics.
    Invalid,
    /// It uses something Hostwarp does not do yet.
    Unsupported {
        /// Where.
        line: u32,
        /// What.
        what: String,
    },
    /// Only a check was asked for.
    NotBuilt,
}

/// A kernel parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// The type of an element.
    pub ty: Ty,
    /// Its alignment.
    pub align: u32,
    /// Its size in bytes, all elements together.
    pub size: u32,
    /// Where it stands in the parameter block.
    pub offset: u32,
    /// Whether it is declared as an array (a structure passed by value).
    pub array: bool,
    /// What `.ptr` says: the space (`None` for generic) and the alignment of what it points to.
    pub pointer: Option<(Option<ir::Space>, u32)>,
}

/// What the directives between a kernel's head and body ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// `.reqntid`: launches must have exactly this CTA.
    pub required_cta: Option<[u32; 3]>,
    /// `.maxntid`: the product bounds the threads of a CTA.
    pub max_cta: Option<[u32; 3]>,
    /// `.minnctapersm`
    pub min_ctas_per_sm: Option<u32>,
    /// `.maxnreg`
    pub max_registers: Option<u32>,
}

/// A block of memory that is made when the module is loaded.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Its size.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// What is not zero to begin with, by ascending offset, not overlapping.
    pub data: Vec<Data>,
    /// The variables, by ascending offset.
    pub symbols: Vec<Symbol>,
    /// Where addresses must be filled in.
    pub relocations: Vec<Relocation>,
}

impl Image {
    /// The variable of that name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|s| s.name == name)
    }
}

/// Some bytes of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    /// Where they begin.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A variable in an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The type of an element.
    pub ty: Ty,
    /// Where it begins.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// Whether other modules see it (`.visible`, `.weak`, `.common`).
    pub visible: bool,
}

/// A place in an image that takes the address of a variable when the module is loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Where it stands in its own image.
    pub offset: u64,
    /// How many bytes it takes, least significant first.
    pub bytes: u8,
    /// The space of the variable: `Global` or `Const`.
    pub space: ir::Space,
    /// Where the variable begins in the image of that space.
    pub target: u64,
    /// What is added to the address.
    pub addend: i64,
    /// Whether the generic address is wanted (`generic(x)`) rather than that of the space.
    pub generic: bool,
    /// Of the sum, these bits are taken and shifted down to bit 0: all ones unless a mask like `0xff00(x)` is written.
    pub mask: u64,
}

impl Relocation {
    /// The number to be stored, given the device address at which the globals were put.
    pub fn value(&self, globals_base: u64) -> u64 {
        let base = match self.space {
            ir::Space::Global => globals_base,
            space if self.generic => space.window(),
            _ => 0,
        };
        let address = base.wrapping_add(self.target).wrapping_add(self.addend as u64);
        (address & self.mask).checked_shr(self.mask.trailing_zeros()).unwrap_or(0)
    }
}

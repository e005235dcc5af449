//! The contents of the PTX manual (PTX ISA 9.3): every opcode with its section, and a page for what has no room of its own: `call` and `brx`,
//! directives, special registers.
//!
//! What is here and has no room is "not supported yet"; what is not here does not exist.

use std::sync::LazyLock;

/// The chapters on instructions, 9.7.1 to 9.7.20.
pub const CHAPTERS: &[&str] = &[
    "Integer arithmetic",
    "Extended-precision integer arithmetic",
    "Floating point",
    "Half precision",
    "Mixed precision",
    "Comparison and selection",
    "Half-precision comparison",
    "Logic and shift",
    "Data movement and conversion",
    "Fabric",
    "Textures",
    "Surfaces",
    "Control flow",
    "Synchronisation and communication",
    "Warp-level matrices",
    "Warp-group matrices",
    "Tensor core, fifth generation",
    "Stack",
    "Video",
    "Miscellaneous",
];

/// Chapter, section, and the opcodes it begins with; one that stands in several (`add` of integers, floats, halves) has the first.
#[rustfmt::skip]
const CONTENTS: &[(usize, u32, &str)] = &[
    (1, 1, "add"),
    (1, 2, "sub"),
    (1, 3, "mul"),
    (1, 4, "mad"),
    (1, 5, "clmad"),
    (1, 6, "mul24"),
    (1, 7, "mad24"),
    (1, 8, "sad"),
    (1, 9, "div"),
    (1, 10, "rem"),
    (1, 11, "abs"),
    (1, 12, "neg"),
    (1, 13, "min"),
    (1, 14, "max"),
    (1, 15, "popc"),
    (1, 16, "clz"),
    (1, 17, "bfind"),
    (1, 18, "fns"),
    (1, 19, "brev"),
    (1, 20, "bfe"),
    (1, 21, "bfi"),
    (1, 22, "szext"),
    (1, 23, "bmsk"),
    (1, 24, "dp4a"),
    (1, 25, "dp2a"),
    (2, 2, "addc"),
    (2, 4, "subc"),
    (2, 6, "madc"),
    (3, 1, "testp"),
    (3, 2, "copysign"),
    (3, 6, "fma"),
    (3, 13, "rcp"),
    (3, 15, "sqrt"),
    (3, 16, "rsqrt"),
    (3, 18, "sin"),
    (3, 19, "cos"),
    (3, 20, "lg2"),
    (3, 21, "ex2"),
    (3, 22, "tanh"),
    (6, 1, "set"),
    (6, 2, "setp"),
    (6, 3, "selp"),
    (6, 4, "slct"),
    (8, 1, "and"),
    (8, 2, "or"),
    (8, 3, "xor"),
    (8, 4, "not"),
    (8, 5, "cnot"),
    (8, 6, "lop3"),
    (8, 7, "shf"),
    (8, 8, "shl"),
    (8, 9, "shr"),
    (9, 3, "mov"),
    (9, 6, "shfl"),
    (9, 7, "prmt"),
    (9, 8, "ld"),
    (9, 10, "ldu"),
    (9, 11, "st"),
    (9, 15, "multimem"),
    (9, 16, "prefetch prefetchu"),
    (9, 17, "applypriority"),
    (9, 18, "discard"),
    (9, 19, "createpolicy"),
    (9, 20, "isspacep"),
    (9, 21, "cvta"),
    (9, 22, "cvt"),
    (9, 24, "mapa"),
    (9, 25, "getctarank"),
    (9, 26, "cp"),
    (9, 27, "tensormap"),
    (10, 5, "fabric"),
    (11, 3, "tex"),
    (11, 4, "tld4"),
    (11, 5, "txq"),
    (11, 6, "istypep"),
    (12, 1, "suld"),
    (12, 2, "sust"),
    (12, 3, "sured"),
    (12, 4, "suq"),
    (13, 3, "bra"),
    (13, 4, "brx"),
    (13, 5, "call"),
    (13, 6, "ret"),
    (13, 7, "exit"),
    (14, 1, "bar barrier"),
    (14, 4, "membar fence"),
    (14, 5, "atom"),
    (14, 6, "red"),
    (14, 10, "vote"),
    (14, 11, "match"),
    (14, 12, "activemask"),
    (14, 13, "redux"),
    (14, 14, "griddepcontrol"),
    (14, 15, "elect"),
    (14, 16, "mbarrier"),
    (14, 18, "clusterlaunchcontrol"),
    (15, 4, "wmma"),
    (15, 5, "mma ldmatrix stmatrix movmatrix"),
    (16, 5, "wgmma"),
    (17, 7, "tcgen05"),
    (18, 1, "stacksave"),
    (18, 2, "stackrestore"),
    (18, 3, "alloca"),
    (19, 1, "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset"),
    (19, 2, "vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4"),
    (20, 1, "brkpt"),
    (20, 2, "nanosleep"),
    (20, 3, "pmevent"),
    (20, 4, "trap"),
    (20, 5, "setmaxnreg"),
];

/// Where an opcode stands in the manual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The chapter: 1 for 9.7.1.
    pub chapter: usize,
    /// The section in it.
    pub section: u32,
}

impl Place {
    /// What the chapter is about.
    pub fn title(self) -> &'static str {
        CHAPTERS.get(self.chapter - 1).copied().unwrap_or("Other")
    }
}

/// `9.7.1.5`
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "9.7.{}.{}", self.chapter, self.section)
    }
}

static PLACES: LazyLock<Vec<(&'static str, Place)>> = LazyLock::new(|| {
    let mut all: Vec<_> = CONTENTS
        .iter()
        .flat_map(|&(chapter, section, list)| {
            list.split(' ').map(move |opcode| (opcode, Place { chapter, section }))
        })
        .collect();
    all.sort_unstable_by_key(|(opcode, _)| *opcode);
    all
});

/// Every opcode of PTX, sorted, those without a room included.
pub fn all() -> impl Iterator<Item = &'static str> {
    PLACES.iter().map(|(opcode, _)| *opcode)
}

/// Where an opcode stands; `None` if PTX has no such opcode.
pub fn place(opcode: &str) -> Option<Place> {
    PLACES.binary_search_by_key(&opcode, |(o, _)| *o).ok().map(|i| PLACES[i].1)
}

/// What there is to say about something that has no room.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// `call`, `.reqntid`, `%tid`. Of a special register the components and numbers left out.
    pub name: &'static str,
    /// Where it stands in the manual.
    pub section: &'static str,
    /// How it is written.
    pub syntax: &'static str,
    /// What it is.
    pub doc: &'static str,
    /// The source that handles it, from the root of the repository.
    pub file: &'static str,
}

/// The page about an instruction without a room, a directive (`.reqntid`) or a special register (`%tid.x`).
pub fn page(name: &str) -> Option<&'static Page> {
    let find = |name: &str| PAGES.iter().find(|p| p.name == name);
    if !name.starts_with('%') {
        return find(name);
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let digit = |c: char| c.is_ascii_digit();
    // `%envreg7`, `%pm3`, `%pm3_64`
    let numberless = match stem.strip_suffix("_64") {
        Some(wide) => format!("{}_64", wide.trim_end_matches(digit)),
        None => stem.trim_end_matches(digit).into(),
    };
    find(stem).or_else(|| find(&numberless))
}

/// Every page.
pub fn pages() -> &'static [Page] {
    PAGES
}

const CALL: &str = "crates/compile/src/call.rs";
const BRANCH: &str = "crates/compile/src/branch.rs";
const CHECK: &str = "crates/compile/src/check.rs";
const LAYOUT: &str = "crates/compile/src/layout.rs";
const SYNTAX: &str = "crates/syntax/src/parser/statement.rs";
const SPECIAL: &str = "crates/isa/src/special.rs";

const fn page_of(
    name: &'static str,
    section: &'static str,
    syntax: &'static str,
    doc: &'static str,
    file: &'static str,
) -> Page {
    Page { name, section, syntax, doc, file }
}

const fn register(name: &'static str, section: &'static str, doc: &'static str) -> Page {
    Page { name, section, syntax: "", doc, file: SPECIAL }
}

#[rustfmt::skip]
static PAGES: &[Page] = &[
    page_of("call", "9.7.13.5", "call{.uni} (result), name, (parameters);  call{.uni} (result), register, (parameters), prototype-or-targets;",
        "Calls a function. Results and parameters are registers, constants or variables in `.param`. Through a register it needs a label of a \
         `.callprototype` or of `.calltargets`. Functions are inlined where that is small; recursion and function pointers work, each lane has a stack. \
         What CUDA's device runtime offers is built in as far as it is there; any other `.extern` function is not supported yet.", CALL),
    page_of("brx", "9.7.13.4", "brx.idx{.uni} index, targets;",
        "Branches to the label of that number in a list made by `.branchtargets`. A number beyond the list is undefined.", BRANCH),

    page_of(".version", "11.1.1", ".version 8.8", "The version of PTX the module is written in; its first statement.", CHECK),
    page_of(".target", "11.1.2", ".target sm_90{, texmode_unified}{, debug}", "The architecture the module needs; decides what may be used, never a bit of a result.", CHECK),
    page_of(".address_size", "11.1.3", ".address_size 64", "The size of addresses in the module, 32 or 64.", CHECK),
    page_of(".entry", "11.2.1", ".entry name (.param .u64 a, …) { … }", "A kernel: what a launch begins with.", CHECK),
    page_of(".func", "11.2.2", ".func (.reg .b32 result) name (.param .b32 a) { … }", "A function: what `call` calls. It cannot be launched.", CHECK),
    page_of(".alias", "11.2.3", ".alias name, function;", "Another name for a function.", CHECK),
    page_of(".branchtargets", "11.3.1", "label: .branchtargets a, b, c;", "The labels `brx.idx` may branch to.", BRANCH),
    page_of(".calltargets", "11.3.2", "label: .calltargets f, g;", "The functions a `call` through a register may reach.", CALL),
    page_of(".callprototype", "11.3.3", "label: .callprototype (.param .b32 _) _ (.param .b32 _);", "What the functions a `call` through a register may reach look like.", CALL),
    page_of(".maxnreg", "11.4.1", ".maxnreg 32", "At most so many registers a thread: for an assembler, without effect here.", CHECK),
    page_of(".maxntid", "11.4.2", ".maxntid x, y, z", "At most so many threads in a CTA of this kernel; a launch with more is an error.", CHECK),
    page_of(".reqntid", "11.4.3", ".reqntid x, y, z", "The CTA's extents; a launch with others is an error, and one that names none takes these.", CHECK),
    page_of(".minnctapersm", "11.4.4", ".minnctapersm 4", "At least so many CTAs on a multiprocessor: for an assembler, without effect here.", CHECK),
    page_of(".maxnctapersm", "11.4.5", ".maxnctapersm 4", "Deprecated: `.minnctapersm` under an old name.", CHECK),
    page_of(".noreturn", "11.4.6", ".noreturn", "The function does not return to who called it.", CHECK),
    page_of(".pragma", "11.4.7", ".pragma \"nounroll\";", "A hint for an assembler, without effect here.", CHECK),
    page_of(".abi_preserve", "11.4.8", ".abi_preserve 8", "Registers a function keeps: for an assembler, without effect here.", CHECK),
    page_of(".abi_preserve_control", "11.4.9", ".abi_preserve_control 8", "As `.abi_preserve`, for control registers.", CHECK),
    page_of(".section", "11.5.2", ".section .debug_info { .b8 1, 2 }", "Data for a debugger; read and printed, not used.", SYNTAX),
    page_of(".file", "11.5.3", ".file 1 \"kernel.cu\"", "A source file that `.loc` refers to.", SYNTAX),
    page_of(".loc", "11.5.4", ".loc 1 9 3", "What follows comes from this file, line and column.", SYNTAX),
    page_of(".extern", "11.6.1", ".extern .shared .align 16 .b8 buffer[];", "Defined in another module; of shared memory without a size: the dynamic part, `--shared`.", CHECK),
    page_of(".visible", "11.6.2", ".visible .entry name", "Other modules and the host may use it. Here every kernel can be launched, visible or not.", CHECK),
    page_of(".weak", "11.6.3", ".weak .func name", "Other modules may have one of the same name.", CHECK),
    page_of(".common", "11.6.4", ".common .global .b32 name;", "Other modules may have a variable of the same name; the largest is taken.", CHECK),
    page_of(".reqnctapercluster", "11.7.1", ".reqnctapercluster x, y, z", "CTAs of a cluster.", CHECK),
    page_of(".explicitcluster", "11.7.2", ".explicitcluster", "The launch must say how large clusters are.", CHECK),
    page_of(".maxclusterrank", "11.7.3", ".maxclusterrank 8", "At most so many CTAs in a cluster.", CHECK),
    page_of(".blocksareclusters", "11.8.1", ".blocksareclusters", "The grid is counted in clusters.", CHECK),
    page_of(".language", "11.8.2", ".language \"C++\"", "What the module was written in; without effect.", CHECK),
    page_of(".reg", "5.1.1", ".reg .b32 %r<8>;  .reg .v4 .f32 %v;", "Registers: `%r<8>` declares %r0 to %r7. They begin as 0. One that is called like a special register hides it.", LAYOUT),
    page_of(".sreg", "5.1.2", ".sreg .b32 %tid;", "Special registers: they are there already and cannot be declared.", LAYOUT),
    page_of(".const", "5.1.3", ".const .f32 table[4] = {1, 2, 3, 4};", "Variables that kernels only read; the host sets them (`run … sym:table=…`).", LAYOUT),
    page_of(".global", "5.1.4", ".global .u32 counter = 0;", "Variables that all threads share and that stay from launch to launch.", LAYOUT),
    page_of(".local", "5.1.5", ".local .align 8 .b8 stack[64];", "Variables each thread has for itself.", LAYOUT),
    page_of(".param", "5.1.6", ".param .u64 x", "Parameters of kernels and functions.", LAYOUT),
    page_of(".shared", "5.1.7", ".shared .f32 tile[256];", "Variables the threads of a CTA share; a kernel must not rely on what they begin as.", LAYOUT),
    page_of(".tex", "5.1.8", ".tex .u64 texture;", "A texture, in old modules.", LAYOUT),
    page_of(".align", "5.4.5", ".align 16", "A variable begins at a multiple of so many bytes.", LAYOUT),
    page_of(".attribute", "5.4.8", ".attribute(.managed)", "Of a variable: managed by the driver, or unified between devices.", LAYOUT),

    register("%tid", "10.1", "The thread's place in its CTA: `%tid.x`, `.y`, `.z`."),
    register("%ntid", "10.2", "The extents of a CTA: `%ntid.x`, `.y`, `.z`."),
    register("%laneid", "10.3", "The lane within the warp, 0 to 31."),
    register("%warpid", "10.4", "The warp within the CTA."),
    register("%nwarpid", "10.5", "How many warps a multiprocessor can hold: 64, as on an H200."),
    register("%ctaid", "10.6", "The CTA's place in the grid: `%ctaid.x`, `.y`, `.z`."),
    register("%nctaid", "10.7", "The extents of the grid: `%nctaid.x`, `.y`, `.z`."),
    register("%smid", "10.8", "The multiprocessor: there is one, 0."),
    register("%nsmid", "10.9", "How many multiprocessors there are."),
    register("%gridid", "10.10", "The number of the launch."),
    register("%is_explicit_cluster", "10.11", "Whether the launch asked for clusters."),
    register("%clusterid", "10.12", "The cluster's place in the grid."),
    register("%nclusterid", "10.13", "The extents of the grid in clusters."),
    register("%cluster_ctaid", "10.14", "The CTA's place in its cluster."),
    register("%cluster_nctaid", "10.15", "The extents of a cluster."),
    register("%cluster_ctarank", "10.16", "The CTA's number in its cluster."),
    register("%cluster_nctarank", "10.17", "How many CTAs a cluster has."),
    register("%lanemask_eq", "10.18", "The bit of one's own lane."),
    register("%lanemask_le", "10.19", "The bits of one's own lane and those below."),
    register("%lanemask_lt", "10.20", "The bits of the lanes below one's own."),
    register("%lanemask_ge", "10.21", "The bits of one's own lane and those above."),
    register("%lanemask_gt", "10.22", "The bits of the lanes above one's own."),
    register("%clock", "10.23", "A counter of cycles, its lower word; a nanosecond is a cycle here."),
    register("%clock_hi", "10.23", "The upper word of `%clock64`."),
    register("%clock64", "10.24", "A counter of cycles; a nanosecond is a cycle here."),
    register("%pm", "10.25", "Performance counters, `%pm0` to `%pm7`."),
    register("%pm_64", "10.26", "Performance counters of 64 bits, `%pm0_64` to `%pm7_64`."),
    register("%envreg", "10.27", "What the driver tells a kernel, `%envreg0` to `%envreg31`."),
    register("%globaltimer", "10.28", "Nanoseconds since 1970."),
    register("%globaltimer_lo", "10.28", "The lower word of `%globaltimer`."),
    register("%globaltimer_hi", "10.28", "The upper word of `%globaltimer`."),
    register("%reserved_smem_offset_begin", "10.29", "Where the shared memory begins that the system keeps for itself."),
    register("%reserved_smem_offset_end", "10.29", "Where it ends."),
    register("%reserved_smem_offset_cap", "10.29", "How much it can be."),
    register("%reserved_smem_offset_", "10.29", "Parts of it, `%reserved_smem_offset_0` and `_1`."),
    register("%total_smem_size", "10.30", "Bytes of shared memory of a CTA, static and dynamic."),
    register("%aggr_smem_size", "10.31", "Bytes of shared memory of a CTA, what the system keeps included."),
    register("%dynamic_smem_size", "10.32", "Bytes of dynamic shared memory."),
    register("%current_graph_exec", "10.33", "The graph the kernel is part of, 0 if none."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_with_a_room_has_a_place() {
        let opcodes: Vec<_> = all().collect();
        assert!(opcodes.is_sorted_by(|a, b| a < b), "one is listed twice");
        let missing: Vec<_> = crate::opcodes().into_iter().filter(|o| place(o).is_none()).collect();
        assert!(missing.is_empty(), "not in CONTENTS: {missing:?}");
        assert!(CONTENTS.iter().all(|(chapter, ..)| (1..=CHAPTERS.len()).contains(chapter)));
        assert_eq!(place("clz").map(|p| p.to_string()).as_deref(), Some("9.7.1.16"));
    }

    #[test]
    fn every_special_register_has_a_page() {
        let missing: Vec<_> =
            crate::special::specials().iter().map(|s| s.name).filter(|n| page(n).is_none()).collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert_eq!(page("%pm3_64").map(|p| p.name), Some("%pm_64"));
        assert_eq!(page("%envreg12").map(|p| p.name), Some("%envreg"));
        assert!(page("%tit").is_none() && page("%nothing").is_none());
    }

    #[test]
    fn pages_name_files_there_are() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for page in pages() {
            assert!(std::path::Path::new(root).join(page.file).is_file(), "{}: {}", page.name, page.file);
        }
        // Rooms know their files by themselves.
        for form in crate::ROOMS.iter().flat_map(|r| r.iter()).flat_map(|r| r.forms) {
            assert!(std::path::Path::new(root).join(form.file()).is_file(), "{}", form.file());
        }
    }
}

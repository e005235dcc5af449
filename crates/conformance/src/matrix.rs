//! Matrices in the registers of a warp: every form of `mma` and `wmma`, on tiles that reveal order, width and rounding of sums, and of `ldmatrix`, `stmatrix` and
//! `movmatrix`, with rows in an order that differs from tile to tile.
//!
//! A tile is what one warp holds of `a`, `b` and `c`. Of each form a recording keeps a hash of what a GPU made of [`TILES`] tiles.

use crate::cuda::Gpu;
use hostwarp::{Device, Engine};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Tiles of each form.
pub const TILES: usize = 1024;
const LANES: usize = 32;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An element of `bits` bits whose exponents lie close together, or anything, or what is special.
    fn element(&mut self, kind: &str, wild: bool) -> u64 {
        let any = self.next();
        // Which two of four are stored, in order; which one of two.
        match kind {
            "ordered" | "metadata" if kind == "ordered" || !wild => {
                return [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110][(any >> 32) as usize % 6];
            }
            "pairs" => return [0b0100, 0b1110][(any >> 32) as usize % 2],
            _ => {}
        }
        let (fraction, exponent, below) = match kind {
            "f16" => (10, 5, 0),
            "bf16" => (7, 8, 0),
            "tf32" => (10, 8, 13),
            "f32" => (23, 8, 0),
            "f64" => (52, 11, 0),
            "e5m2" => (2, 5, 0),
            _ => return any,
        };
        match any >> 60 {
            0 if wild => 0,
            1 if wild => ((1u64 << exponent) - 1) << (fraction + below),
            2 if wild => any & ((1 << (fraction + below)) - 1),
            3..=5 if wild => any,
            _ => {
                let middle = (1u64 << (exponent - 1)) - 1;
                let field = middle - 3 + (any >> 32) % 6;
                let sign = (any >> 40 & 1) << (fraction + exponent + below);
                sign | field << (fraction + below) | any & ((1 << (fraction + below)) - 1)
            }
        }
    }

    /// A register full of elements.
    fn register(&mut self, kind: &str, bits: u32, wild: bool) -> u64 {
        let each = (32 / bits).max(1);
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        (0..each).fold(0, |all, i| all | (self.element(kind, wild) & mask) << (i * bits))
    }
}

fn bits(kind: &str) -> u32 {
    match kind {
        "f64" | "memory" => 64,
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" | "halves" => 16,
        "s4" | "u4" | "ordered" | "metadata" | "pairs" => 4,
        "b1" => 1,
        _ => 8,
    }
}

/// What a form is tried with.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    /// Registers in, registers out.
    Multiply,
    /// `wmma.load`: memory in, registers out.
    Load(Tile),
    /// `wmma.store`: registers in, memory out.
    Store(Tile),
    /// `ldmatrix`: each lane has a row of 16 bytes in shared memory, and gives the address of one.
    LoadRows,
    /// `stmatrix`: each lane gives the address of a row of 16 bytes, and then has the row that is its own.
    StoreRows,
    /// `movmatrix`
    Transpose,
}

/// A matrix in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tile {
    space: &'static str,
    /// In elements; `None` where the instruction does not say.
    stride: Option<usize>,
    /// Bytes of one tile, a multiple of 64.
    bytes: usize,
}

/// A form of `mma` or `wmma`.
#[derive(Clone, Debug)]
pub struct Form {
    /// The opcode with its modifiers.
    pub head: String,
    /// What follows the registers: a selector, a stride.
    tail: String,
    work: Work,
    /// Kind and number of the registers of d.
    d: (&'static str, usize),
    /// Kind and number of the registers of a, b, c and e.
    sources: Vec<(&'static str, usize)>,
}

/// The extents of a shape.
fn extents(shape: &str) -> [usize; 3] {
    let n: Vec<usize> = shape[1..].split(['n', 'k']).map(|n| n.parse().expect("a number")).collect();
    [n[0], n[1], n[2]]
}

/// Registers of one lane for so many elements.
fn held(elements: usize, kind: &str) -> usize {
    elements * bits(kind) as usize / bits(kind).max(32) as usize / 32
}

/// The dense forms of `mma`.
fn dense() -> Vec<Form> {
    let mut out: Vec<(String, [&str; 4])> = vec![];
    let mut add = |shapes: &[&str], d: &'static str, a: &'static str, b: &'static str, more: &str| {
        for shape in shapes {
            out.push((format!("mma.sync.aligned.{shape}.row.col{more}.{d}.{a}.{b}.{d}"), [d, a, b, d]));
        }
    };
    for d in ["f32", "f16"] {
        add(&["m16n8k8", "m16n8k16"], d, "f16", "f16", "");
    }
    add(&["m16n8k8", "m16n8k16"], "f32", "bf16", "bf16", "");
    add(&["m16n8k4", "m16n8k8"], "f32", "tf32", "tf32", "");
    for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
        add(&["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"], "f64", "f64", "f64", rounding);
    }
    for sat in ["", ".satfinite"] {
        for (a, b) in [("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")] {
            add(&["m8n8k16", "m16n8k16", "m16n8k32"], "s32", a, b, sat);
        }
        for (a, b) in [("s4", "s4"), ("u4", "s4"), ("s4", "u4"), ("u4", "u4")] {
            add(&["m8n8k32", "m16n8k32", "m16n8k64"], "s32", a, b, sat);
        }
    }
    for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
        for d in ["f32", "f16"] {
            add(&["m16n8k16", "m16n8k32"], d, a, b, "");
        }
    }
    for shape in ["m8n8k128", "m16n8k128", "m16n8k256"] {
        for op in ["xor", "and"] {
            out.push((
                format!("mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc"),
                ["s32", "b1", "b1", "s32"],
            ));
        }
    }
    for layout in LAYOUTS {
        for (d, c) in [("f32", "f32"), ("f32", "f16"), ("f16", "f16")] {
            out.push((format!("mma.sync.aligned.m8n8k4.{layout}.{d}.f16.f16.{c}"), [d, "f16", "f16", c]));
        }
    }
    let form = |(head, [d, a, b, c]): (String, [&'static str; 4])| {
        let shape = head.split('.').find(|m| m.starts_with('m') && m.contains('k')).expect("a shape");
        let [m, n, k] = extents(shape);
        // Four matrices at once.
        let times = if shape == "m8n8k4" && a == "f16" { 4 } else { 1 };
        let sources =
            vec![(a, held(times * m * k, a)), (b, held(times * n * k, b)), (c, held(times * m * n, c))];
        Form { tail: String::new(), work: Work::Multiply, d: (d, held(times * m * n, d)), sources, head }
    };
    out.into_iter().map(form).collect()
}

const LAYOUTS: [&str; 4] = ["row.col", "row.row", "col.row", "col.col"];

/// `mma.sp`, with every selector.
fn sparse() -> Vec<Form> {
    let mut out = vec![];
    for variant in ["sp", "sp::ordered_metadata"] {
        let mut add = |shape: &str, selectors: usize, kinds: [&'static str; 3], sat: &str| {
            let ([d, a, b], [m, n, k]) = (kinds, extents(shape));
            let metadata = match (a, variant) {
                ("tf32", _) => "pairs",
                (_, "sp") => "metadata",
                _ => "ordered",
            };
            for selector in 0..selectors {
                let sources =
                    vec![(a, held(m * k, a) / 2), (b, held(n * k, b)), (d, held(m * n, d)), (metadata, 1)];
                out.push(Form {
                    head: format!("mma.{variant}.sync.aligned.{shape}.row.col{sat}.{d}.{a}.{b}.{d}"),
                    tail: format!(", {selector}"),
                    work: Work::Multiply,
                    d: (d, held(m * n, d)),
                    sources,
                });
            }
        };
        for kinds in [["f32", "f16", "f16"], ["f16", "f16", "f16"], ["f32", "bf16", "bf16"]] {
            add("m16n8k16", 4, kinds, "");
            add("m16n8k32", 2, kinds, "");
        }
        add("m16n8k8", 4, ["f32", "tf32", "tf32"], "");
        add("m16n8k16", 2, ["f32", "tf32", "tf32"], "");
        for sat in ["", ".satfinite"] {
            for (a, b) in [("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")] {
                add("m16n8k32", 2, ["s32", a, b], sat);
                add("m16n8k64", 1, ["s32", a, b], sat);
            }
            for (a, b) in [("s4", "s4"), ("u4", "s4"), ("s4", "u4"), ("u4", "u4")] {
                add("m16n8k64", 2, ["s32", a, b], sat);
                add("m16n8k128", 1, ["s32", a, b], sat);
            }
        }
        for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
            add("m16n8k64", 1, ["f32", a, b], "");
        }
    }
    out
}

const WIDE: [&str; 3] = ["m16n16k16", "m8n32k16", "m32n8k16"];

/// The registers of a fragment of a or b.
fn fragment(elements: usize, kind: &str) -> usize {
    if kind == "f16" { 8 } else { held(elements, kind) }
}

/// `wmma.mma`
fn fragments() -> Vec<Form> {
    let mut out = vec![];
    let mut add = |head: String, shape: &str, [d, a, b, c]: [&'static str; 4]| {
        let [m, n, k] = extents(shape);
        let sources = vec![(a, fragment(m * k, a)), (b, fragment(n * k, b)), (c, held(m * n, c))];
        let d = (d, held(m * n, d));
        out.push(Form { head, tail: String::new(), work: Work::Multiply, d, sources });
    };
    for layout in LAYOUTS {
        let start = format!("wmma.mma.sync.aligned.{layout}");
        for shape in WIDE {
            for (d, c) in [("f32", "f32"), ("f32", "f16"), ("f16", "f32"), ("f16", "f16")] {
                add(format!("{start}.{shape}.{d}.{c}"), shape, [d, "f16", "f16", c]);
            }
            add(format!("{start}.{shape}.f32.bf16.bf16.f32"), shape, ["f32", "bf16", "bf16", "f32"]);
            for (kind, sat) in [("s8", ""), ("u8", ""), ("s8", ".satfinite"), ("u8", ".satfinite")] {
                add(format!("{start}.{shape}.s32.{kind}.{kind}.s32{sat}"), shape, ["s32", kind, kind, "s32"]);
            }
        }
        add(format!("{start}.m16n16k8.f32.tf32.tf32.f32"), "m16n16k8", ["f32", "tf32", "tf32", "f32"]);
        for rounding in ["", ".rn", ".rz", ".rm", ".rp"] {
            add(format!("{start}.m8n8k4{rounding}.f64.f64.f64.f64"), "m8n8k4", ["f64"; 4]);
        }
    }
    for (kind, sat) in [("s4", ""), ("u4", ""), ("s4", ".satfinite"), ("u4", ".satfinite")] {
        let head = format!("wmma.mma.sync.aligned.row.col.m8n8k32.s32.{kind}.{kind}.s32{sat}");
        add(head, "m8n8k32", ["s32", kind, kind, "s32"]);
    }
    for op in ["xor", "and"] {
        let head = format!("wmma.mma.{op}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
        add(head, "m8n8k128", ["s32", "b1", "b1", "s32"]);
    }
    out
}

/// `wmma.load` and `wmma.store`
fn moves() -> Vec<Form> {
    let mut out = vec![];
    let mut add = |what: &str, layout: &str, shape: &str, kind: &'static str| {
        let [m, n, k] = extents(shape);
        let (rows, columns) = match what {
            "load.a" => (m, k),
            "load.b" => (k, n),
            _ => (m, n),
        };
        let (lines, natural) = if layout == "row" { (rows, columns) } else { (columns, rows) };
        let of_factor = matches!(what, "load.a" | "load.b");
        let registers = if of_factor { fragment(rows * columns, kind) } else { held(rows * columns, kind) };
        for space in ["", ".global", ".shared"] {
            for more in [None, Some(128 / bits(kind) as usize)] {
                let distance = natural + more.unwrap_or(0);
                let bytes = (lines * distance * bits(kind) as usize / 8).next_multiple_of(64);
                let tile = Tile { space, stride: more.map(|_| distance), bytes };
                let tail = tile.stride.map_or(String::new(), |s| format!(", {s}"));
                let head = format!("wmma.{what}.sync.aligned.{layout}.{shape}{space}.{kind}");
                let work =
                    if what == "store.d" { Work::Store(tile.clone()) } else { Work::Load(tile.clone()) };
                let memory = ("memory", tile.bytes / 8);
                let registers = (kind, registers);
                let (d, source) = match work {
                    Work::Store(_) => (memory, registers),
                    _ => (registers, memory),
                };
                out.push(Form { head, tail, work, d, sources: vec![source] });
            }
        }
    };
    for layout in ["row", "col"] {
        for frag in ["load.a", "load.b"] {
            for shape in WIDE {
                for kind in ["f16", "bf16", "s8", "u8"] {
                    add(frag, layout, shape, kind);
                }
            }
            add(frag, layout, "m16n16k8", "tf32");
            add(frag, layout, "m8n8k4", "f64");
            if (frag == "load.a") == (layout == "row") {
                for (shape, kind) in [("m8n8k32", "s4"), ("m8n8k32", "u4"), ("m8n8k128", "b1")] {
                    add(frag, layout, shape, kind);
                }
            }
        }
        for what in ["load.c", "store.d"] {
            for shape in WIDE {
                for kind in ["f16", "f32", "s32"] {
                    add(what, layout, shape, kind);
                }
            }
            add(what, layout, "m16n16k8", "f32");
            add(what, layout, "m8n8k4", "f64");
            add(what, layout, "m8n8k32", "s32");
            add(what, layout, "m8n8k128", "s32");
        }
    }
    out
}

/// `ldmatrix`, `stmatrix` and `movmatrix`
fn rows() -> Vec<Form> {
    let mut out = vec![];
    for space in ["", ".shared", ".shared::cta"] {
        for trans in ["", ".trans"] {
            for n in [1, 2, 4] {
                let of = |opcode| format!("{opcode}.sync.aligned.m8n8.x{n}{trans}{space}.b16");
                let (row, registers) = (("memory", 2), ("halves", n));
                let form = |head, work, d, source| Form {
                    head,
                    tail: String::new(),
                    work,
                    d,
                    sources: vec![source],
                };
                out.push(form(of("ldmatrix"), Work::LoadRows, registers, row));
                out.push(form(of("stmatrix"), Work::StoreRows, row, registers));
            }
        }
    }
    let head = "movmatrix.sync.aligned.m8n8.trans.b16".into();
    let (d, sources) = (("halves", 1), vec![("halves", 1)]);
    out.push(Form { head, tail: String::new(), work: Work::Transpose, d, sources });
    out
}

/// Every form that Hostwarp executes.
pub fn forms() -> Vec<Form> {
    [dense(), sparse(), fragments(), moves(), rows()].concat()
}

/// The type of a register.
fn register(kind: &str) -> &'static str {
    match kind {
        "f64" => "f64",
        "f32" => "f32",
        _ => "b32",
    }
}

impl Form {
    /// The instruction as it stands in a recording.
    pub fn name(&self) -> String {
        self.head.clone() + &self.tail.replace(", ", "/")
    }

    /// How many words of 8 bytes a lane (of memory: a warp) has of `d`.
    pub fn results(&self) -> usize {
        self.d.1
    }

    /// How many words of 8 bytes a lane (of memory: a warp) has of each source.
    pub fn sources(&self) -> Vec<usize> {
        self.sources.iter().map(|s| s.1).collect()
    }

    /// The number behind the registers: a selector or a stride.
    pub fn number(&self) -> Option<usize> {
        self.tail.trim_start_matches(", ").parse().ok()
    }

    /// Whether what it makes of a tile are words of memory, not registers of 32 lanes.
    pub fn stores(&self) -> bool {
        matches!(self.work, Work::Store(_))
    }

    /// Whether a tile is memory, not registers of 32 lanes.
    pub fn loads(&self) -> bool {
        matches!(self.work, Work::Load(_))
    }

    fn words_in(&self, tiles: usize) -> usize {
        let each: usize = self.sources().iter().sum();
        tiles * if self.loads() { each } else { LANES * each }
    }

    fn words_out(&self, tiles: usize) -> usize {
        tiles * if self.stores() { self.d.1 } else { LANES * self.d.1 }
    }

    /// A kernel that runs the instruction once for each warp. Registers come one after the other, 8 bytes for each.
    pub fn ptx(&self) -> String {
        let mut s = String::from(".version 8.8\n.target sm_90\n.address_size 64\n");
        s += ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n    .reg .b64 %in, %out, %at;\n";
        s += "    .reg .b32 %t, %g, %n;\n    mov.u32 %t, %tid.x;\n    mov.u32 %g, %ctaid.x;\n    mov.u32 %n, %ntid.x;\n";
        s += "    mad.lo.u32 %t, %g, %n, %t;\n    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n";
        let each = |words: usize, per_warp: bool| {
            if per_warp {
                format!("    shr.u32 %g, %t, 5;\n    mul.wide.u32 %at, %g, {};\n", 8 * words)
            } else {
                format!("    mul.wide.u32 %at, %t, {};\n", 8 * words)
            }
        };
        s += &each(self.sources().iter().sum(), self.loads());
        s += "    add.u64 %in, %in, %at;\n";
        s += &each(self.d.1, self.stores());
        s += "    add.u64 %out, %out, %at;\n";
        match &self.work {
            Work::Multiply => s += &self.multiply(),
            Work::Load(tile) => s += &self.moves(tile, true),
            Work::Store(tile) => s += &self.moves(tile, false),
            Work::LoadRows | Work::StoreRows => s += &self.rows(),
            Work::Transpose => {
                s += "    .reg .b32 %a, %d0;\n    ld.global.b32 %a, [%in];\n";
                s += &format!("    {} %d0, %a;\n", self.head);
                s += &stored("b32", 1);
            }
        }
        s + "    ret;\n}\n"
    }

    fn multiply(&self) -> String {
        let mut s = String::new();
        let (of_d, d) = (register(self.d.0), self.d.1);
        s += &format!("    .reg .{of_d} %d<{d}>;\n");
        let names = ["a", "b", "c", "e"];
        let mut place = 0;
        let mut lists = vec![list("d", d)];
        for (name, (kind, n)) in names.iter().zip(&self.sources) {
            let ty = register(kind);
            s += &format!("    .reg .{ty} %{name}<{n}>;\n");
            for i in 0..*n {
                s += &format!("    ld.global.{ty} %{name}{i}, [%in+{place}];\n");
                place += 8;
            }
            lists.push(if *name == "e" { "%e0".into() } else { list(name, *n) });
        }
        s += &format!("    {} {}{};\n", self.head, lists.join(", "), self.tail);
        s + &stored(of_d, d)
    }

    /// Lane l gives the address of row (odd number of the tile) × l + tile; where rows are loaded, every fourth tile has rows twice.
    fn rows(&self) -> String {
        let load = self.work == Work::LoadRows;
        let n = if load { self.d.1 } else { self.sources[0].1 };
        let mut s = format!("    .shared .align 16 .b8 rows[{}];\n", 2 * LANES * 16);
        s += &format!(
            "    .reg .b32 %d<{n}>, %l, %m, %own, %row;\n    .reg .b64 %w<2>, %wide;\n    .reg .pred %p;\n"
        );
        s += "    mov.u32 %l, %laneid;\n    mov.u32 %g, %tid.x;\n    shr.u32 %g, %g, 5;\n    mov.u32 %row, rows;\n    mad.lo.u32 %row, %g, 512, %row;\n";
        s += "    mad.lo.u32 %own, %l, 16, %row;\n    shr.u32 %g, %t, 5;\n    and.b32 %m, %g, 15;\n    shl.b32 %m, %m, 1;\n    add.u32 %m, %m, 1;\n";
        if load {
            s += "    and.b32 %n, %g, 3;\n    setp.eq.u32 %p, %n, 3;\n    @%p add.u32 %m, %m, 1;\n";
            s += "    ld.global.v2.b64 {%w0, %w1}, [%in];\n";
        } else {
            s += "    mov.b64 %w0, 0;\n    mov.b64 %w1, 0;\n";
            s += &(0..n).map(|i| format!("    ld.global.b32 %d{i}, [%in+{}];\n", 8 * i)).collect::<String>();
        }
        s += "    mad.lo.u32 %m, %m, %l, %g;\n    and.b32 %m, %m, 31;\n    mad.lo.u32 %row, %m, 16, %row;\n    cvt.u64.u32 %wide, %row;\n";
        let generic = !self.head.contains(".shared");
        if generic {
            s += "    cvta.shared.u64 %wide, %wide;\n";
        }
        let at = if generic { "%wide" } else { "%row" };
        s += "    st.shared.v2.b64 [%own], {%w0, %w1};\n    bar.warp.sync -1;\n";
        if load {
            return s + &format!("    {} {}, [{at}];\n", self.head, list("d", n)) + &stored("b32", n);
        }
        s += &format!("    {} [{at}], {};\n    bar.warp.sync -1;\n", self.head, list("d", n));
        s + "    ld.shared.v2.b64 {%w0, %w1}, [%own];\n    st.global.v2.b64 [%out], {%w0, %w1};\n"
    }

    /// A load or store of fragments, through shared memory where the form asks for it.
    fn moves(&self, tile: &Tile, load: bool) -> String {
        let (kind, n) = if load { self.d } else { self.sources[0] };
        let ty = register(kind);
        let mut s = format!("    .reg .{ty} %d<{n}>;\n    .reg .pred %p;\n    .reg .b32 %i, %v, %s;\n");
        let shared = tile.space == ".shared";
        let at = match (shared, load) {
            (true, _) => "%s",
            (false, true) => "%in",
            (false, false) => "%out",
        };
        // Words of this warp's tile, one a lane at a time.
        let each_word = |label: &str, body: &str| {
            format!(
                "    mov.u32 %i, %laneid;\n    shl.b32 %i, %i, 2;\n{label}:\n    cvt.u64.u32 %at, %i;\n{body}    add.u32 %i, %i, 128;\n    setp.lt.u32 %p, %i, {};\n    @%p bra {label};\n    bar.warp.sync -1;\n",
                tile.bytes
            )
        };
        if shared {
            s += &format!("    .shared .align 64 .b8 tile[{}];\n", 2 * tile.bytes);
            s += "    mov.u32 %g, %tid.x;\n    shr.u32 %g, %g, 5;\n    mov.u32 %s, tile;\n";
            s += &format!("    mad.lo.u32 %s, %g, {}, %s;\n", tile.bytes);
            let word = if load {
                "    add.u64 %at, %in, %at;\n    ld.global.b32 %v, [%at];\n"
            } else {
                "    mov.b32 %v, 0;\n"
            };
            s += &each_word("FILL", &format!("{word}    add.u32 %g, %s, %i;\n    st.shared.b32 [%g], %v;\n"));
        }
        if load {
            s += &format!("    {} {}, [{at}]{};\n", self.head, list("d", n), self.tail);
            return s + &stored(ty, n);
        }
        for i in 0..n {
            s += &format!("    ld.global.{ty} %d{i}, [%in+{}];\n", 8 * i);
        }
        s += &format!("    {} [{at}], {}{};\n", self.head, list("d", n), self.tail);
        if shared {
            s += "    bar.warp.sync -1;\n";
            let body = "    add.u64 %at, %out, %at;\n    add.u32 %g, %s, %i;\n    ld.shared.b32 %v, [%g];\n    st.global.b32 [%at], %v;\n";
            s += &each_word("DRAIN", body);
        }
        s
    }

    /// The words of every lane of so many tiles. Every third tile has anything in it, special values too; of the others exponents lie close
    /// together, so that sums cancel.
    pub fn input(&self, tiles: usize) -> Vec<u64> {
        let name = self.name();
        let mut random = Random(name.bytes().fold(7, |h: u64, b| h.wrapping_mul(31).wrapping_add(b.into())));
        let mut input = vec![];
        let warps = if self.loads() { 1 } else { LANES };
        for lane in 0..tiles * warps {
            let wild = lane / warps % 3 == 2;
            for (kind, n) in &self.sources {
                input.extend((0..*n).map(|_| random.register(kind, bits(kind), wild)));
            }
        }
        assert_eq!(input.len(), self.words_in(tiles), "{name}");
        input
    }

    /// What every lane or warp makes, as an engine makes it.
    pub fn run(&self, device: &Device, engine: Engine, tiles: usize) -> Result<Vec<u64>, hostwarp::Error> {
        let input = device.buffer_from(&self.input(tiles))?;
        let output = device.buffer_from(&vec![0u64; self.words_out(tiles)])?;
        let kernel = device.load("mma.ptx", self.ptx())?.kernel("k")?;
        let launch = kernel.launch().grid([tiles as u32 / 2, 1, 1]).block([2 * LANES as u32, 1, 1]);
        launch.engine(engine).arg(&input).arg(&output).run()?;
        output.to_vec()
    }

    /// What every lane or warp makes, as a GPU makes it of an assembled kernel.
    pub fn record(&self, gpu: &Gpu, cubin: &[u8]) -> Result<Vec<u64>, String> {
        let module = gpu.load(cubin)?;
        let words = self.input(TILES);
        let (input, output) = (gpu.memory(8 * words.len())?, gpu.memory(8 * self.words_out(TILES))?);
        input.write(&words)?;
        output.clear()?;
        let params = [&input, &output].map(|m| m.address().to_le_bytes().to_vec());
        module.run("k", [TILES as u32 / 2, 1, 1], [2 * LANES as u32, 1, 1], &params)?;
        output.read(self.words_out(TILES))
    }
}

fn list(name: &str, n: usize) -> String {
    let all: Vec<String> = (0..n).map(|i| format!("%{name}{i}")).collect();
    format!("{{{}}}", all.join(", "))
}

/// Stores the registers of d.
fn stored(ty: &str, n: usize) -> String {
    (0..n).map(|i| format!("    st.global.{ty} [%out+{}], %d{i};\n", 8 * i)).collect()
}

/// A hash of what came out (FNV-1a over words).
pub fn hash(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, w| (h ^ w).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23))
}

/// Tiles at the beginning that have a hash of their own, for those in a hurry.
pub const FEW: usize = 12;

/// Hashes of what came out of [`FEW`] and of [`TILES`] tiles.
pub type Hashes = [u64; 2];

/// The hashes of what came out of [`TILES`] tiles.
pub fn hashes(words: &[u64]) -> Hashes {
    [hash(&words[..words.len() / TILES * FEW]), hash(words)]
}

/// A recording as text: a form and its hashes on each line.
pub fn write(recorded: &BTreeMap<String, Hashes>) -> String {
    let mut text = String::new();
    for (name, [few, all]) in recorded {
        let _ = writeln!(text, "{name} {few:016x} {all:016x}");
    }
    text
}

/// A recording from its text.
pub fn read(text: &str) -> Result<BTreeMap<String, Hashes>, String> {
    let line = |line: &str| {
        let mut parts = line.split(' ');
        let name = parts.next().unwrap_or_default().to_owned();
        let mut hash = || {
            let hash = parts.next().ok_or(format!("a hash is missing in `{line}`"))?;
            u64::from_str_radix(hash, 16).map_err(|e| format!("`{line}`: {e}"))
        };
        Ok((name, [hash()?, hash()?]))
    };
    text.lines().filter(|l| !l.starts_with('#')).map(line).collect()
}

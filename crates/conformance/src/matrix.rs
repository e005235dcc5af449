//! Products of matrices in the registers of a warp: every form of `mma`, on tiles that reveal order, width and rounding of sums.
//!
//! A tile is what one warp holds of `a`, `b` and `c`. Of each form a recording keeps a hash of what a GPU made of [`TILES`] tiles.

use crate::cuda::Gpu;
use crate::ptxas::Ptxas;
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
        "f64" => 64,
        "f32" | "tf32" | "s32" => 32,
        "f16" | "bf16" => 16,
        "s4" | "u4" => 4,
        "b1" => 1,
        _ => 8,
    }
}

/// A form of `mma`.
#[derive(Clone, Debug)]
pub struct Form {
    /// The opcode with its modifiers.
    pub head: String,
    /// The types of d, a and b.
    kinds: [&'static str; 3],
}

/// Every form that Hostwarp executes.
pub fn forms() -> Vec<Form> {
    let mut out: Vec<(String, [&str; 3])> = vec![];
    let mut add = |shapes: &[&str], d: &'static str, a: &'static str, b: &'static str, sat: &str| {
        for shape in shapes {
            out.push((format!("mma.sync.aligned.{shape}.row.col{sat}.{d}.{a}.{b}.{d}"), [d, a, b]));
        }
    };
    for d in ["f32", "f16"] {
        add(&["m16n8k8", "m16n8k16"], d, "f16", "f16", "");
    }
    add(&["m16n8k8", "m16n8k16"], "f32", "bf16", "bf16", "");
    add(&["m16n8k4", "m16n8k8"], "f32", "tf32", "tf32", "");
    add(&["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"], "f64", "f64", "f64", "");
    for sat in ["", ".satfinite"] {
        for (a, b) in [("s8", "s8"), ("u8", "s8"), ("s8", "u8"), ("u8", "u8")] {
            add(&["m8n8k16", "m16n8k16", "m16n8k32"], "s32", a, b, sat);
        }
        for (a, b) in [("s4", "s4"), ("u4", "s4"), ("s4", "u4"), ("u4", "u4")] {
            add(&["m8n8k32", "m16n8k32", "m16n8k64"], "s32", a, b, sat);
        }
    }
    for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
        add(&["m16n8k16", "m16n8k32"], "f32", a, b, "");
    }
    for shape in ["m8n8k128", "m16n8k128", "m16n8k256"] {
        for op in ["xor", "and"] {
            out.push((
                format!("mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.{op}.popc"),
                ["s32", "b1", "b1"],
            ));
        }
    }
    out.into_iter().map(|(head, kinds)| Form { head, kinds }).collect()
}

impl Form {
    /// How many registers a lane has of d, a and b.
    pub fn registers(&self) -> [usize; 3] {
        let (head, [d, a, b]) = (&self.head, self.kinds);
        let shape = head.split('.').find(|m| m.starts_with('m') && m.contains('k')).expect("a shape");
        let n: Vec<usize> = shape[1..].split(['n', 'k']).map(|n| n.parse().expect("a number")).collect();
        let held =
            |elements: usize, kind: &str| elements * bits(kind) as usize / bits(kind).max(32) as usize / 32;
        [held(n[0] * n[1], d), held(n[0] * n[2], a), held(n[2] * n[1], b)]
    }

    /// A kernel that runs the instruction once for each warp: registers of `a`, `b` and `c` one after the other, 8 bytes for each, then those of `d`.
    pub fn ptx(&self) -> String {
        let (head, kinds, [d, a, b]) = (&self.head, self.kinds, self.registers());
        let register = |kind: &str| match kind {
            "f64" => "f64",
            "f32" => "f32",
            _ => "b32",
        };
        let (of_d, of_ab) = (register(kinds[0]), if kinds[1] == "f64" { "f64" } else { "b32" });
        let list = |name: &str, n: usize| {
            let all: Vec<String> = (0..n).map(|i| format!("%{name}{i}")).collect();
            format!("{{{}}}", all.join(", "))
        };
        let mut s = String::from(".version 8.8\n.target sm_90\n.address_size 64\n");
        s += ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n    .reg .b64 %in, %out, %at;\n";
        s += &format!("    .reg .{of_d} %c<{d}>, %d<{d}>;\n    .reg .{of_ab} %a<{a}>, %b<{b}>;\n");
        s += "    .reg .b32 %t, %g, %n;\n    mov.u32 %t, %tid.x;\n    mov.u32 %g, %ctaid.x;\n    mov.u32 %n, %ntid.x;\n";
        s += "    mad.lo.u32 %t, %g, %n, %t;\n    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n";
        s += &format!("    mul.wide.u32 %at, %t, {};\n    add.u64 %in, %in, %at;\n", 8 * (a + b + d));
        s += &format!("    mul.wide.u32 %at, %t, {};\n    add.u64 %out, %out, %at;\n", 8 * d);
        let mut place = 0;
        for (name, n, ty) in [("a", a, of_ab), ("b", b, of_ab), ("c", d, of_d)] {
            for i in 0..n {
                s += &format!("    ld.global.{ty} %{name}{i}, [%in+{place}];\n");
                place += 8;
            }
        }
        s += &format!("    {head} {}, {}, {}, {};\n", list("d", d), list("a", a), list("b", b), list("c", d));
        for i in 0..d {
            s += &format!("    st.global.{of_d} [%out+{}], %d{i};\n", 8 * i);
        }
        s + "    ret;\n}\n"
    }

    /// The registers of every lane of so many tiles: of `a`, `b` and `c`. Every third tile has anything in it, special values too; of the others exponents lie close
    /// together, so that sums cancel.
    pub fn input(&self, tiles: usize) -> Vec<u64> {
        let [d, a, b] = self.registers();
        let mut random = Random(self.head.bytes().fold(7, |h: u64, b| h.wrapping_mul(31) + u64::from(b)));
        let mut input = vec![];
        for lane in 0..tiles * LANES {
            let wild = lane / LANES % 3 == 2;
            for (kind, n) in [(self.kinds[1], a), (self.kinds[2], b), (self.kinds[0], d)] {
                input.extend((0..n).map(|_| random.register(kind, bits(kind), wild)));
            }
        }
        input
    }

    /// The registers of `d` of every lane, as an engine makes them.
    pub fn run(&self, device: &Device, engine: Engine, tiles: usize) -> Result<Vec<u64>, hostwarp::Error> {
        let input = device.buffer_from(&self.input(tiles))?;
        let output = device.buffer::<u64>(tiles * LANES * self.registers()[0])?;
        let kernel = device.load("mma.ptx", self.ptx())?.kernel("k")?;
        let launch = kernel.launch().grid([tiles as u32 / 2, 1, 1]).block([2 * LANES as u32, 1, 1]);
        launch.engine(engine).arg(&input).arg(&output).run()?;
        output.to_vec()
    }

    /// The registers of `d` of every lane, as a GPU makes them.
    pub fn record(&self, gpu: &Gpu, ptxas: &Ptxas) -> Result<Vec<u64>, String> {
        let module = gpu.load(&ptxas.assemble(&self.ptx(), 0)?)?;
        let words = self.input(TILES);
        let (input, output) =
            (gpu.memory(8 * words.len())?, gpu.memory(8 * TILES * LANES * self.registers()[0])?);
        input.write(&words)?;
        output.clear()?;
        let params = [&input, &output].map(|m| m.address().to_le_bytes().to_vec());
        module.run("k", [TILES as u32 / 2, 1, 1], [2 * LANES as u32, 1, 1], &params)?;
        output.read(TILES * LANES * self.registers()[0])
    }
}

/// A hash of what came out (FNV-1a over words).
pub fn hash(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |h, w| (h ^ w).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23))
}

/// A recording as text: a form and its hash on each line.
pub fn write(hashes: &BTreeMap<String, u64>) -> String {
    let mut text = String::new();
    for (head, hash) in hashes {
        let _ = writeln!(text, "{head} {hash:016x}");
    }
    text
}

/// A recording from its text.
pub fn read(text: &str) -> Result<BTreeMap<String, u64>, String> {
    let line = |line: &str| {
        let (head, hash) = line.split_once(' ').ok_or(format!("no hash in `{line}`"))?;
        Ok((head.to_owned(), u64::from_str_radix(hash, 16).map_err(|e| format!("`{line}`: {e}"))?))
    };
    text.lines().filter(|l| !l.starts_with('#')).map(line).collect()
}

//! The kernels and their work.

use crate::generate;

/// A scalar argument.
#[derive(Clone, Copy)]
pub enum Scalar {
    U(u32),
    F(f32),
}

impl Scalar {
    pub fn bits(self) -> u32 {
        match self {
            Scalar::U(v) => v,
            Scalar::F(v) => v.to_bits(),
        }
    }
}

/// How outputs are compared with Hostwarp's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    Bits,
    /// Halves; C rounds its fused multiply-adds twice, so a few may be off by one in the last place.
    Halves,
}

/// A kernel with its work. Arguments are buffers in order, then scalars in order, everywhere.
pub struct Case {
    /// What the table calls it.
    pub name: String,
    /// What there is to do.
    pub work: String,
    /// The kernel's name in PTX and in OpenCL.
    pub kernel: String,
    /// Its name in C, without the vector width.
    pub native: String,
    pub ptx: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Units of work of the native loop, and how many a thread takes at a time.
    pub units: usize,
    pub grain: usize,
    pub threads: usize,
    pub buffers: Vec<Vec<u32>>,
    /// The buffer that PTX has as this variable in constant memory.
    pub constant: Option<(usize, &'static str)>,
    pub scalars: Vec<Scalar>,
    pub output: usize,
    pub compare: Compare,
    /// Why OpenCL does not take part, where it does not.
    pub no_opencl: Option<&'static str>,
}

/// The same numbers on every run: a mix of the index and a seed.
fn random(seed: u32, i: usize) -> u32 {
    let mut x = (i as u32).wrapping_add(seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 15)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 13)
}

pub fn words(n: usize, seed: u32) -> Vec<u32> {
    (0..n).map(|i| random(seed, i)).collect()
}

/// Floats from -1 to 1.
pub fn floats(n: usize, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (random(seed, i) as i32 as f32 / 2_147_483_648.0).to_bits()).collect()
}

/// Multiples of 1/8 from -4 to 4: their sums are exact, so that the order of additions cannot matter.
fn eighths(n: usize, seed: u32) -> Vec<u32> {
    (0..n).map(|i| (((random(seed, i) >> 26) as f32 - 32.0) / 8.0).to_bits()).collect()
}

/// Pairs of halves from -1 to 1: a sign, an exponent from -8 to -1, any mantissa.
pub fn halves(n: usize, seed: u32) -> Vec<u32> {
    let one = |r: u32| (r & 0x8000) | (7 + (r >> 10 & 7)) << 10 | r & 0x3ff;
    (0..n).map(|i| random(seed, i)).map(|r| one(r & 0xffff) | one(r >> 16) << 16).collect()
}

const M: usize = 1 << 20;

fn file(kernel: &str) -> String {
    let path = format!("{}/kernels/{kernel}.ptx", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// A case over `n` elements, 256 threads a CTA, one element a thread.
fn elements(kernel: &str, name: &str, n: usize, threads: usize) -> Case {
    Case {
        name: name.into(),
        work: format!("{} elements", count(n)),
        kernel: kernel.into(),
        native: kernel.into(),
        ptx: file(kernel),
        grid: [n.div_ceil(256) as u32, 1, 1],
        block: [256, 1, 1],
        units: n,
        grain: (n / (threads * 16)).next_multiple_of(256),
        threads,
        buffers: vec![],
        constant: None,
        scalars: vec![],
        output: 1,
        compare: Compare::Bits,
        no_opencl: None,
    }
}

/// `n` in words: 64M, 32K, 100.
pub fn count(n: usize) -> String {
    match n {
        n if n >= M && n.is_multiple_of(M) => format!("{}M", n >> 20),
        n if n >= 1024 && n.is_multiple_of(1024) => format!("{}K", n >> 10),
        n => n.to_string(),
    }
}

pub fn saxpy(n: usize, threads: usize) -> Case {
    Case {
        buffers: vec![floats(n, 1), floats(n, 2)],
        scalars: vec![Scalar::F(0.75), Scalar::U(n as u32)],
        ..elements("saxpy", "saxpy", n, threads)
    }
}

pub fn horner(threads: usize) -> Case {
    let n = 16 * M;
    Case {
        buffers: vec![floats(n, 1), vec![0; n], floats(65, 2)],
        constant: Some((2, "coefficients")),
        ..elements("horner", "Horner f32", n, threads)
    }
}

/// 64 passes over what fits the second-level cache: as 64 layers of the grid, in order because one thread runs them.
fn saxpy_l2() -> Case {
    let n = 64 << 10;
    let one = saxpy(n, 1);
    Case {
        name: "saxpy in L2".into(),
        work: "64K elements, 64 times, 1 thread".into(),
        native: "saxpy_again".into(),
        grid: [one.grid[0], 1, 64],
        units: 64,
        grain: 64,
        no_opencl: Some("cannot be held to one thread"),
        ..one
    }
}

fn sad(threads: usize) -> Case {
    let n = 64 * M;
    Case {
        buffers: vec![words(n, 1), words(n, 2), words(n, 3)],
        output: 2,
        ..elements("sad", "SAD stream", n, threads)
    }
}

fn sad_window(threads: usize) -> Case {
    let n = 16 * M;
    Case {
        work: "16M elements, window of 16 words".into(),
        buffers: vec![words(n + 16, 1), words(n + 16, 2), vec![0; n]],
        output: 2,
        ..elements("sad_window", "SAD window", n, threads)
    }
}

fn vmad(threads: usize) -> Case {
    let n = 4 * M;
    Case {
        work: "4M elements, 64 steps".into(),
        buffers: vec![words(n, 1), vec![0; n]],
        scalars: vec![Scalar::U(0x1234_5678), Scalar::U(0x0badcafe)],
        ..elements("vmad", "vmad chain", n, threads)
    }
}

fn horner_half(threads: usize) -> Case {
    let n = 8 * M;
    let twice = |c: u32| c & 0xffff | c << 16;
    Case {
        work: "16M elements, two a thread".into(),
        buffers: vec![halves(n, 1), vec![0; n], halves(65, 2).into_iter().map(twice).collect()],
        constant: Some((2, "coefficients")),
        compare: Compare::Halves,
        no_opencl: Some("no halves"),
        ..elements("horner_half", "Horner f16x2", n, threads)
    }
}

fn mandelbrot(threads: usize) -> Case {
    Case {
        work: "1024 × 1024, 256 steps".into(),
        grid: [4, 1024, 1],
        units: 1024,
        grain: 16,
        buffers: vec![vec![0; M]],
        scalars: vec![Scalar::F(3.0 / 1024.0)],
        output: 0,
        ..elements("mandelbrot", "Mandelbrot", M, threads)
    }
}

fn sgemm(threads: usize) -> Case {
    let n = 1024;
    Case {
        work: "1024 × 1024, tiles of 16 × 16".into(),
        grid: [64, 64, 1],
        block: [16, 16, 1],
        units: n / 16,
        grain: 2,
        buffers: vec![floats(n * n, 1), floats(n * n, 2), vec![0; n * n]],
        scalars: vec![Scalar::U(n as u32)],
        output: 2,
        ..elements("sgemm", "sgemm", n * n, threads)
    }
}

fn tree(threads: usize) -> Case {
    let n = 32 * M;
    Case {
        work: "32M elements, 512 a CTA".into(),
        grid: [(n / 512) as u32, 1, 1],
        block: [512, 1, 1],
        units: n / 512,
        grain: 1024,
        buffers: vec![eighths(n, 1), vec![0; n / 512]],
        ..elements("tree", "tree reduction", n, threads)
    }
}

fn shuffle(threads: usize) -> Case {
    let n = 32 * M;
    Case {
        work: "32M elements, 32 a warp".into(),
        units: n / 32,
        grain: 16384,
        buffers: vec![eighths(n, 1), vec![0; n / 32]],
        no_opencl: Some("no shuffles"),
        ..elements("shuffle", "shuffle reduction", n, threads)
    }
}

fn histogram(threads: usize) -> Case {
    let bytes = 64 * M;
    Case {
        work: "64M bytes, 256 bins".into(),
        grid: [(bytes >> 16) as u32, 1, 1],
        units: bytes >> 16,
        grain: 32,
        buffers: vec![words(bytes / 4, 1), vec![0; 256]],
        ..elements("histogram", "histogram", bytes / 4, threads)
    }
}

/// A kernel of `instructions` generated instructions.
pub fn large(instructions: usize, n: usize, threads: usize) -> Case {
    Case {
        name: "large".into(),
        work: format!("{} elements, {instructions} instructions", count(n)),
        kernel: "large".into(),
        native: "large".into(),
        ptx: generate::ptx(instructions),
        buffers: vec![words(n, 1), vec![0; n]],
        ..elements("saxpy", "large", n, threads)
    }
}

/// Makes a case.
type Make = Box<dyn Fn() -> Case>;

/// All cases, each made when its turn comes: together they would take gigabytes.
pub fn all(threads: usize) -> Vec<(&'static str, Make)> {
    vec![
        ("saxpy", Box::new(move || saxpy(32 * M, threads))),
        ("saxpy_l2", Box::new(saxpy_l2)),
        ("sad", Box::new(move || sad(threads))),
        ("sad_window", Box::new(move || sad_window(threads))),
        ("vmad", Box::new(move || vmad(threads))),
        ("horner", Box::new(move || horner(threads))),
        ("horner_half", Box::new(move || horner_half(threads))),
        ("mandelbrot", Box::new(move || mandelbrot(threads))),
        ("sgemm", Box::new(move || sgemm(threads))),
        ("tree", Box::new(move || tree(threads))),
        ("shuffle", Box::new(move || shuffle(threads))),
        ("histogram", Box::new(move || histogram(threads))),
        ("large", Box::new(move || large(generate::LARGE, M, threads))),
    ]
}

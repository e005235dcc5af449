//! Instructions with one f32 operand on every one of its 2³² values: what a GPU gives is kept as hashes, what Hostwarp gives must have the same.
//!
//! A kernel goes over [`BLOCK`] operands in each CTA and adds up a hash of every operand with its result, so that the order is of no consequence. Of each form the
//! file keeps the sum over all CTAs and those of a few ([`sample`]); who has seconds compares these, who has minutes everything.

use crate::cuda::Gpu;
use crate::ptxas::Ptxas;
use hostwarp::{Device, Engine, Error, Options, Profile};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Operands of a CTA: the lower 16 bits of their words.
pub const BLOCK: u32 = 1 << 16;
/// CTAs that go over all operands.
pub const BLOCKS: u32 = 1 << 16;

/// The forms that are tried on every operand.
pub const FORMS: [&str; 15] = [
    "cos.approx.f32",
    "cos.approx.ftz.f32",
    "ex2.approx.f32",
    "ex2.approx.ftz.f32",
    "lg2.approx.f32",
    "lg2.approx.ftz.f32",
    "rcp.approx.f32",
    "rcp.approx.ftz.f32",
    "rsqrt.approx.f32",
    "rsqrt.approx.ftz.f32",
    "sin.approx.f32",
    "sin.approx.ftz.f32",
    "sqrt.approx.f32",
    "sqrt.approx.ftz.f32",
    "tanh.approx.f32",
];

const KERNEL: &str = "exhaustive";
const THREADS: u32 = 256;

/// A module with the kernel for a form: `exhaustive(.param .u64 out, .param .u32 first)`. CTA i goes over the operands whose upper half-word is `first` + i.
pub fn ptx(form: &str) -> String {
    let turns = BLOCK / THREADS;
    let body = [
        ".reg .b64 %out, %z, %w, %sum;".into(),
        ".reg .b32 %thread, %cta, %first, %x, %i, %d;".into(),
        ".reg .f32 %a, %b;".into(),
        ".reg .pred %p;".into(),
        "ld.param.u64 %out, [out];".into(),
        "ld.param.u32 %first, [first];".into(),
        "mov.u32 %thread, %tid.x;".into(),
        "mov.u32 %cta, %ctaid.x;".into(),
        "add.u32 %first, %first, %cta;".into(),
        "shl.b32 %x, %first, 16;".into(),
        "add.u32 %x, %x, %thread;".into(),
        "mov.u32 %i, 0;".into(),
        "mov.u64 %sum, 0;".into(),
        "next:".into(),
        "mov.b32 %a, %x;".into(),
        format!("{form} %b, %a;"),
        "mov.b32 %d, %b;".into(),
        "mov.b64 %z, {%d, %x};".into(),
        "mul.lo.u64 %z, %z, 0x9E3779B97F4A7C15;".into(),
        "shr.u64 %w, %z, 32;".into(),
        "xor.b64 %z, %z, %w;".into(),
        "mul.lo.u64 %z, %z, 0xD6E8FEB86659FD93;".into(),
        "shr.u64 %w, %z, 32;".into(),
        "xor.b64 %z, %z, %w;".into(),
        "add.u64 %sum, %sum, %z;".into(),
        format!("add.u32 %x, %x, {THREADS};"),
        "add.u32 %i, %i, 1;".into(),
        format!("setp.lt.u32 %p, %i, {turns};"),
        "@%p bra next;".into(),
        "mul.wide.u32 %w, %cta, 8;".into(),
        "add.u64 %out, %out, %w;".into(),
        "red.global.add.u64 [%out], %sum;".into(),
        "ret;".into(),
    ];
    let mut s = String::from(crate::generate::HEADER);
    let _ = writeln!(s, ".visible .entry {KERNEL}(.param .u64 out, .param .u32 first)\n{{");
    body.iter().for_each(|line: &String| s += &format!("    {line}\n"));
    s + "}\n"
}

/// The sums of the CTAs from `first` on, from a GPU.
pub fn record(gpu: &Gpu, ptxas: &Ptxas, form: &str) -> Result<Vec<u64>, String> {
    let module = gpu.load(&ptxas.assemble(&ptx(form), 0)?)?;
    let sums = gpu.memory(BLOCKS as usize * 8)?;
    let params = [sums.address().to_le_bytes().to_vec(), 0u32.to_le_bytes().to_vec()];
    module.run(KERNEL, [BLOCKS, 1, 1], [THREADS, 1, 1], &params)?;
    sums.read(BLOCKS as usize)
}

/// The sums of `count` CTAs from `first` on, from Hostwarp.
pub fn run(device: &Device, form: &str, engine: Engine, first: u32, count: u32) -> Result<Vec<u64>, Error> {
    let module = device.load_with("exhaustive", ptx(form), Options { profile: Profile::Sm90 })?;
    let sums = device.buffer::<u64>(count as usize)?;
    let kernel = module.kernel(KERNEL)?;
    let launch = kernel.launch().grid([count, 1, 1]).block([THREADS, 1, 1]).engine(engine);
    launch.arg(&sums).arg(first).run()?;
    sums.to_vec()
}

/// The CTAs whose sums are kept: operands from 2⁻³⁰ to 2³⁰ of both signs, and all over the place.
pub fn sample() -> Vec<u32> {
    let near = (0..12).map(|i| 0x3080 + i * 0x283);
    let far = (0..8).map(|i| i * 0x1fed);
    near.clone().chain(near.map(|b| b | 0x8000)).chain(far).collect()
}

/// What is kept of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The sum over all operands.
    pub all: u64,
    /// Those of the CTAs in [`sample`].
    pub some: Vec<u64>,
}

impl Kept {
    /// Of the sums of all CTAs.
    pub fn new(sums: &[u64]) -> Kept {
        let all = sums.iter().fold(0, |all: u64, s| all.wrapping_add(*s));
        Kept { all, some: sample().iter().map(|b| sums[*b as usize]).collect() }
    }
}

/// A line for each form: its name, the sum over all operands, those of the sample.
pub fn write(forms: &BTreeMap<String, Kept>) -> String {
    let mut s = String::new();
    for (form, Kept { all, some }) in forms {
        let some: Vec<String> = some.iter().map(|h| format!("{h:016x}")).collect();
        let _ = writeln!(s, "{form} {all:016x} {}", some.join(" "));
    }
    s
}

/// What [`write()`] wrote.
pub fn read(text: &str) -> Result<BTreeMap<String, Kept>, String> {
    let line = |line: &str| {
        let (form, sums) = line.split_once(' ')?;
        let sums: Option<Vec<u64>> = sums.split(' ').map(|s| u64::from_str_radix(s, 16).ok()).collect();
        let (all, some) = sums.as_deref()?.split_first()?;
        (some.len() == sample().len()).then(|| (form.to_string(), Kept { all: *all, some: some.to_vec() }))
    };
    text.lines().map(|l| line(l).ok_or_else(|| format!("not a form with its sums: `{l}`"))).collect()
}

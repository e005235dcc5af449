//! What is changed in a kernel that nobody may tune for: block, types, guards, loops over the grid. `bench/suite/suite.h` reads it.

use super::rows::{Grid, Row};
use std::fmt;

/// One way to write a kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    pub(crate) block: [u32; 2],
    pub(crate) element: &'static str,
    index: &'static str,
    guard: u8,
    pub(crate) stride: bool,
    /// Of nvcc.
    pub(crate) options: Vec<&'static str>,
}

/// What compilers may be asked for without changing a bit; the first is what is measured and committed.
pub(crate) const OPTIONS: [&[&str]; 10] = [
    &["-arch=sm_90"],
    &["-arch=sm_75"],
    &["-arch=sm_80", "-lineinfo"],
    &["-arch=sm_100"],
    &["-arch=sm_90", "-G"],
    &["-arch=sm_90", "-Xcicc", "-O1"],
    &["-arch=sm_80", "-Xcicc", "-O0"],
    &["-arch=sm_90", "-rdc=true"],
    &["-arch=sm_120"],
    &["-arch=sm_80", "-Xcicc", "-O2", "-maxrregcount=32"],
];

impl Variant {
    /// What is committed.
    pub(crate) fn base(row: &Row) -> Variant {
        let options = OPTIONS[0].to_vec();
        let (block, element) = (row.blocks[0], row.elements[0]);
        Variant { block, element, index: "int", guard: 0, stride: false, options }
    }

    /// `count` different ones by a seed, or as many as there are; also with other options of the compiler if those are asked for.
    pub(crate) fn draw(row: &Row, seed: u64, count: usize, options: bool) -> Vec<Variant> {
        let name = row.name.bytes().fold(seed, |s, b| (s ^ u64::from(b)).wrapping_mul(0x100000001b3));
        let mut state = name | 1;
        let mut pick = |count: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as usize % count
        };
        let loops = matches!(row.grid, Grid::Items | Grid::Plane);
        let mut all: Vec<Variant> = vec![];
        for _ in 0..20 * count {
            let variant = Variant {
                block: row.blocks[pick(row.blocks.len())],
                element: row.elements[pick(row.elements.len())],
                index: ["int", "unsigned", "long long"][pick(3)],
                guard: if loops { pick(3) as u8 } else { 0 },
                stride: loops && pick(4) == 0,
                options: OPTIONS[if options { pick(OPTIONS.len()) } else { 0 }].to_vec(),
            };
            if all.len() < count && !all.contains(&variant) {
                all.push(variant);
            }
        }
        all
    }

    /// For both compilers.
    pub(crate) fn defines(&self) -> Vec<String> {
        vec![
            format!("-DBX={}", self.block[0]),
            format!("-DBY={}", self.block[1]),
            format!("-DELEMENT={}", self.element),
            format!("-DINDEX={}", self.index),
            format!("-DGUARD={}", self.guard),
            format!("-DSTRIDE={}", u8::from(self.stride)),
        ]
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y], stride) = (self.block, if self.stride { " stride" } else { "" });
        write!(f, "{x}x{y} {} {} guard{}{stride}", self.element, self.index, self.guard)?;
        let measured = self.options == OPTIONS[0];
        self.options.iter().filter(|_| !measured).try_for_each(|o| write!(f, " {o}"))
    }
}

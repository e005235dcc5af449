//! `mma.sync`: the product of two matrices that the registers of a warp hold, with a third one added.
//!
//! The manual says which lane holds which element, and leaves open how sums are rounded. What is written here about that was fitted to an
//! H200: see [`float_sum`].

use rustc_apfloat::ieee::{Double, Half};
use rustc_apfloat::{Float, FloatConvert, Round};

/// What elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    F16,
    Bf16,
    Tf32,
    F64,
    E4m3,
    E5m2,
    S(u32),
    U(u32),
    B1,
}

impl Kind {
    fn parse(name: &str) -> Option<Kind> {
        Some(match name {
            "f16" => Kind::F16,
            "bf16" => Kind::Bf16,
            "tf32" => Kind::Tf32,
            "f64" => Kind::F64,
            "e4m3" => Kind::E4m3,
            "e5m2" => Kind::E5m2,
            "s8" => Kind::S(8),
            "u8" => Kind::U(8),
            "s4" => Kind::S(4),
            "u4" => Kind::U(4),
            "b1" => Kind::B1,
            _ => return None,
        })
    }

    /// Bits from one to the next in a register.
    fn bits(self) -> usize {
        match self {
            Kind::F64 => 64,
            Kind::Tf32 => 32,
            Kind::F16 | Kind::Bf16 => 16,
            Kind::E4m3 | Kind::E5m2 => 8,
            Kind::S(n) | Kind::U(n) => n as usize,
            Kind::B1 => 1,
        }
    }

    /// The element as a number. All but f64 have at most 12 bits.
    fn number(self, bits: u64) -> f64 {
        let small = |fraction: u32, exponent: u32, bias: i32, finite: bool| {
            let sign = if bits >> (fraction + exponent) & 1 == 1 { -1.0 } else { 1.0 };
            let field = bits >> fraction & ((1 << exponent) - 1);
            let rest = bits & ((1 << fraction) - 1);
            let top = (1 << exponent) - 1;
            if field == top && !finite {
                return if rest == 0 { sign * f64::INFINITY } else { f64::NAN };
            }
            if field == top && finite && rest == (1 << fraction) - 1 {
                return f64::NAN;
            }
            let significand = if field == 0 { rest } else { rest | 1 << fraction };
            sign * significand as f64 * 2f64.powi(field.max(1) as i32 - bias - fraction as i32)
        };
        match self {
            Kind::F16 => small(10, 5, 15, false),
            Kind::Bf16 => small(7, 8, 127, false),
            Kind::Tf32 => Kind::tf32(bits),
            Kind::E4m3 => small(3, 4, 7, true),
            Kind::E5m2 => small(2, 5, 15, false),
            Kind::F64 => f64::from_bits(bits),
            Kind::S(n) => ((bits << (64 - n)) as i64 >> (64 - n)) as f64,
            Kind::U(n) => (bits & ((1 << n) - 1)) as f64,
            Kind::B1 => (bits & 1) as f64,
        }
    }

    /// The lowest 13 bits do not count.
    fn tf32(bits: u64) -> f64 {
        f64::from(f32::from_bits(bits as u32 & !0x1fff))
    }

    /// The exponent a factor counts with: that of its leading one, or of the smallest normal number.
    fn exponent(self, number: f64) -> i32 {
        let least = match self {
            Kind::F16 => -14,
            _ => -126,
        };
        exponent(number).max(least)
    }
}

/// Of a number that is not 0.
fn exponent(number: f64) -> i32 {
    (number.abs().to_bits() >> 52) as i32 - 1023
}

/// A `mma.sync` or `mma.sp` of one of the shapes that hold whole rows in groups of four lanes.
#[derive(Debug, Clone)]
pub struct Mma {
    rows: usize,
    depth: usize,
    a: Kind,
    b: Kind,
    half: bool,
    saturating: bool,
    and: bool,
    /// Only some elements of `a` are stored.
    sparse: bool,
    /// Of f64.
    round: Round,
}

const COLUMNS: usize = 8;
const LANES: usize = 32;

/// A matrix of numbers: `[row][column]`.
type Numbers = Vec<Vec<f64>>;

impl Mma {
    /// Parses the opcode with its modifiers, `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`.
    pub fn parse(head: &str) -> Result<Mma, String> {
        let mods: Vec<&str> = head.split('.').collect();
        let shape = mods.iter().find(|m| m.starts_with('m') && m.contains('k')).ok_or("no shape")?;
        let extents = shape[1..].split(['n', 'k']).map(str::parse::<usize>).collect::<Result<Vec<_>, _>>();
        let [rows, COLUMNS, depth] = extents.map_err(|e| e.to_string())?[..] else {
            return Err(format!("the shape {shape}"));
        };
        let types: Vec<&str> = mods
            .iter()
            .copied()
            .filter(|m| Kind::parse(m).is_some() || matches!(*m, "f32" | "s32"))
            .collect();
        let [d, a, b, _] = types[..] else { return Err(format!("the types {types:?}")) };
        let kind = |name: &str| Kind::parse(name).ok_or(format!("elements {name}"));
        if (rows, depth, a) == (8, 4, "f16") {
            return Err("four matrices at once".into());
        }
        let has = |m: &str| mods.contains(&m);
        if mods[0] != "mma" {
            return Err("fragments".into());
        }
        let rounds =
            [("rz", Round::TowardZero), ("rm", Round::TowardNegative), ("rp", Round::TowardPositive)];
        let round = rounds.iter().find(|(m, _)| has(m)).map_or(Round::NearestTiesToEven, |(_, round)| *round);
        Ok(Mma {
            rows,
            depth,
            a: kind(a)?,
            b: kind(b)?,
            half: d == "f16",
            saturating: has("satfinite"),
            and: has("and"),
            sparse: mods[1].starts_with("sp"),
            round,
        })
    }

    /// Where element `i` of a lane's factors is: its row (of `a`; column of `b`) and its place along the sum.
    fn place(&self, kind: Kind, lane: usize, i: usize, both_halves: bool) -> (usize, usize) {
        let each = (32 / kind.bits()).max(1);
        let (register, within) = (i / each, i % each);
        let (upper, block) = if both_halves { (register % 2, register / 2) } else { (0, register) };
        (lane / 4 + 8 * upper, (block * 4 + lane % 4) * each + within)
    }

    fn unpack(&self, kind: Kind, registers: &[Vec<u64>], extent: usize, depth: usize) -> Numbers {
        let mut out = vec![vec![0.0; depth]; extent];
        let each = (32 / kind.bits()).max(1);
        for (lane, held) in registers.iter().enumerate() {
            for i in 0..held.len() * each {
                let bits = held[i / each] >> (i % each * kind.bits());
                let bits = if kind.bits() == 64 { bits } else { bits & ((1 << kind.bits()) - 1) };
                let (row, k) = self.place(kind, lane, i, extent == 16);
                out[row][k] = kind.number(bits);
            }
        }
        out
    }

    /// The registers of `d` in each lane, from those of `a`, `b` and `c`.
    pub fn eval(&self, a: &[Vec<u64>], b: &[Vec<u64>], c: &[Vec<u64>]) -> Vec<Vec<u64>> {
        self.eval_stored(a, b, c, None)
    }

    /// Whether [`Mma::eval_stored`] wants metadata.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// Where the stored elements of a row stand in the whole row: of every four two, in order, of tf32 of every two one, of nibbles of every four pairs
    /// two. Metadata has four bits for each such group, the place of the first in the lower two.
    fn places(&self, row: usize, metadata: &[u64], selector: usize) -> Vec<usize> {
        let group = match self.a.bits() {
            32 => 2,
            4 => 8,
            _ => 4,
        };
        let bits = self.depth / group * 4;
        let quad = row % 8 * 4;
        let all: u64 = if self.a.bits() >= 16 {
            // One half-word of a row in a lane, rows g and g + 8 beside each other; where one is not enough, in two lanes.
            let lanes = bits / 16;
            let half = |i: usize| metadata[quad + selector * lanes + i] >> (16 * (row / 8)) & 0xffff;
            (0..lanes).map(|i| half(i) << (16 * i)).sum()
        } else {
            // A word of row g, in the next lane that of row g + 8; where one is not enough, the same once more.
            let word = |i: usize| metadata[quad + 2 * (selector + i) + row / 8] & 0xffff_ffff;
            (0..bits / 32).map(|i| word(i) << (32 * i)).sum()
        };
        let mut out = vec![];
        for (n, first) in (0..self.depth).step_by(group).enumerate() {
            let two = [0, 2].map(|by| (all >> (4 * n + by) & 3) as usize);
            match group {
                // 0b0100 and 0b1110 are all there is.
                2 => out.push(first + two[0] / 2),
                4 => out.extend(two.map(|place| first + place)),
                _ => out.extend(two.iter().flat_map(|pair| [0, 1].map(|i| first + 2 * pair + i))),
            }
        }
        out
    }

    /// As [`Mma::eval`], with the metadata of each lane and the selector if it [is sparse](Mma::is_sparse).
    pub fn eval_stored(
        &self,
        a: &[Vec<u64>],
        b: &[Vec<u64>],
        c: &[Vec<u64>],
        metadata: Option<(&[u64], usize)>,
    ) -> Vec<Vec<u64>> {
        assert!([a, b, c].iter().all(|m| m.len() == LANES), "all lanes of a warp");
        let stored = if self.sparse { self.depth / 2 } else { self.depth };
        let left = self.unpack(self.a, a, self.rows, stored);
        let right = self.unpack(self.b, b, COLUMNS, self.depth);
        let places: Vec<Vec<usize>> = (0..self.rows)
            .map(|row| metadata.map_or((0..self.depth).collect(), |(m, sel)| self.places(row, m, sel)))
            .collect();
        (0..LANES)
            .map(|lane| {
                let mut d = vec![0; c[lane].len()];
                for i in 0..2 * self.rows / 8 {
                    let (row, column) = (lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2);
                    let (register, shift) = if self.half { (i / 2, 16 * (i % 2)) } else { (i, 0) };
                    let addend = c[lane][register] >> shift;
                    let addend = if self.half { addend & 0xffff } else { addend };
                    let beside: Vec<f64> = places[row].iter().map(|k| right[column][*k]).collect();
                    d[register] |= self.element(&left[row], &beside, addend) << shift;
                }
                d
            })
            .collect()
    }

    fn element(&self, a: &[f64], b: &[f64], c: u64) -> u64 {
        match self.a {
            Kind::F64 => {
                a.iter().zip(b).fold(c, |sum, (a, b)| fma(a.to_bits(), b.to_bits(), sum, self.round))
            }
            Kind::F16 | Kind::Bf16 | Kind::Tf32 => float_sum(self.a, a.iter().zip(b), c, self.half),
            // sm_90 has none of its own: two bytes of each register as f16 first, then the two others on top, c last.
            Kind::E4m3 | Kind::E5m2 => {
                let part = |which: usize, sum: u64| {
                    let terms = a.iter().zip(b).enumerate().filter(|(k, _)| k % 4 / 2 == which);
                    float_sum(Kind::F16, terms.map(|(_, t)| t), sum, self.half)
                };
                if self.half {
                    let [sum, c] = [part(1, part(0, 0)), c].map(|v| Half::from_bits(v.into()));
                    let sum = (sum + c).value;
                    return if sum.is_nan() { 0x7fff } else { sum.to_bits() as u64 };
                }
                let sum = f32::from_bits(part(1, part(0, 0)) as u32) + f32::from_bits(c as u32);
                u64::from(if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() })
            }
            Kind::B1 => {
                let both = |(a, b): (&f64, &f64)| if self.and { a * b } else { f64::from(a != b) };
                (a.iter().zip(b).map(both).sum::<f64>() as i64 + c as i64) as u64 & 0xffff_ffff
            }
            Kind::S(_) | Kind::U(_) => {
                let products = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() as i64;
                let sum = products + i64::from(c as u32 as i32);
                let sum = if self.saturating { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                u64::from(sum as u32)
            }
        }
    }
}

/// `fma` of f64; what is not finite does not depend on how it is rounded.
fn fma(a: u64, b: u64, c: u64, round: Round) -> u64 {
    let [x, y, z] = [a, b, c].map(|bits| Double::from_bits(bits.into()));
    if round == Round::NearestTiesToEven || ![x, y, z].iter().all(|v| v.is_finite()) {
        return super::float::fma_f64(a, b, c);
    }
    x.mul_add_r(y, z, round).value.to_bits() as u64
}

/// A sum as the matrix unit of an H200 makes it: every term, c too, is cut toward zero 25 bits below the largest exponent, a product
/// counting with the sum of its factors' exponents; the sum of that is exact, and is cut to f32 or rounded to f16.
fn float_sum<'a>(kind: Kind, factors: impl Iterator<Item = (&'a f64, &'a f64)>, c: u64, half: bool) -> u64 {
    let addend = if half { Kind::F16.number(c) } else { f64::from(f32::from_bits(c as u32)) };
    let mut terms = vec![];
    for (a, b) in factors {
        let weight = if *a == 0.0 || *b == 0.0 { None } else { Some(kind.exponent(*a) + kind.exponent(*b)) };
        terms.push((a * b, weight));
    }
    let least = if half { -14 } else { -126 };
    terms.push((addend, (addend != 0.0).then(|| exponent(addend).max(least))));
    // All are exact: a NaN or an infinity among them is that of the result.
    let plain: f64 = terms.iter().map(|t| t.0).sum();
    if terms.iter().any(|t| !t.0.is_finite()) {
        return match (half, plain) {
            (true, x) if x.is_nan() => 0x7fff,
            (false, x) if x.is_nan() => 0x7fff_ffff,
            (true, x) => 0x7c00 | u64::from(x < 0.0) << 15,
            (false, x) => 0x7f80_0000 | u64::from(x < 0.0) << 31,
        };
    }
    let Some(largest) = terms.iter().filter_map(|t| t.1).max() else { return 0 };
    let unit = 2f64.powi(largest - 25);
    let sum: f64 = terms.iter().map(|t| (t.0 / unit).trunc()).sum();
    if sum == 0.0 {
        return 0;
    }
    // At most 33 bits: exact, but where it is too small for f64's normal numbers, and then for f32's as well.
    let exact = sum * unit;
    if half {
        let exact = Double::from_bits(exact.to_bits().into());
        let rounded: Half = exact.convert_r(Round::NearestTiesToEven, &mut false).value;
        return rounded.to_bits() as u64;
    }
    let nearest = exact as f32;
    let cut = if nearest.is_finite() && f64::from(nearest).abs() > exact.abs() {
        f32::from_bits(nearest.to_bits() - 1)
    } else {
        nearest
    };
    // Rounding to nearest may have gone to infinity where the largest number is below.
    let largest = f64::from(f32::MAX);
    let cut = if cut.is_infinite() && exact.abs() < largest + 2f64.powi(104) {
        f32::MAX.copysign(exact as f32)
    } else {
        cut
    };
    // What is cut to nothing is +0.
    u64::from(if cut == 0.0 { 0 } else { cut.to_bits() })
}

/// `mma` m8n8k4 of f16: four products at once, each of eight lanes, 4 i to 4 i + 3 and the same of the other half of the warp.
#[derive(Debug, Clone)]
pub struct Quads {
    /// Rows, or columns, of `a` and `b` lie in a lane.
    rows: [bool; 2],
    /// Sums, and addends, are f32.
    wide: [bool; 2],
}

impl Quads {
    /// Parses the opcode with its modifiers, `mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32`.
    pub fn parse(head: &str) -> Result<Quads, String> {
        let mods: Vec<&str> = head.split('.').collect();
        match mods[..] {
            ["mma", "sync", "aligned", "m8n8k4", a, b, d, "f16", "f16", c] => {
                Ok(Quads { rows: [a == "row", b == "row"], wide: [d == "f32", c == "f32"] })
            }
            _ => Err("another shape".into()),
        }
    }

    /// The registers of `d` in each lane, from those of `a`, `b` and `c`.
    pub fn eval(&self, a: &[Vec<u64>], b: &[Vec<u64>], c: &[Vec<u64>]) -> Vec<Vec<u64>> {
        let halves = |registers: &[u64]| -> Vec<u64> {
            registers.iter().flat_map(|r| [r & 0xffff, r >> 16 & 0xffff]).collect()
        };
        let upper = |lane: usize| if lane < 16 { 0 } else { 4 };
        // The row and the column of element i of a lane.
        let of_sums = |wide: bool, lane: usize, i: usize| match wide {
            false => (lane % 4 + upper(lane), i),
            true => ((lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)),
        };
        let mut d = vec![vec![]; LANES];
        for quad in 0..4 {
            let lanes = || (0..LANES).filter(|lane| lane % 16 / 4 == quad);
            let (mut left, mut right, mut addends) = ([[0.0; 4]; 8], [[0.0; 4]; 8], [[0; 8]; 8]);
            for lane in lanes() {
                let beside = lane % 4;
                // A lane has a row of four, or one place of four rows; and so of columns.
                for (i, bits) in halves(&a[lane]).into_iter().enumerate() {
                    let (row, k) =
                        if self.rows[0] { (beside + upper(lane), i) } else { (i + upper(lane), beside) };
                    left[row][k] = Kind::F16.number(bits) as f32;
                }
                for (i, bits) in halves(&b[lane]).into_iter().enumerate() {
                    let (k, column) =
                        if self.rows[1] { (beside, i + upper(lane)) } else { (i, beside + upper(lane)) };
                    right[column][k] = Kind::F16.number(bits) as f32;
                }
                let held = if self.wide[1] { c[lane].clone() } else { halves(&c[lane]) };
                for (i, bits) in held.into_iter().enumerate() {
                    let (row, column) = of_sums(self.wide[1], lane, i);
                    addends[row][column] = bits;
                }
            }
            for lane in lanes() {
                let sums: Vec<u64> = (0..8)
                    .map(|i| {
                        let (row, column) = of_sums(self.wide[0], lane, i);
                        self.element(left[row], right[column], addends[row][column])
                    })
                    .collect();
                d[lane] = match self.wide[0] {
                    true => sums,
                    false => sums.chunks(2).map(|two| two[0] | two[1] << 16).collect(),
                };
            }
        }
        d
    }

    /// Software on sm_90: along the sum from +0, `c` last; or, in f16, two pairs that are added to `c` one after the other.
    fn element(&self, a: [f32; 4], b: [f32; 4], c: u64) -> u64 {
        let addend = if self.wide[1] { f32::from_bits(c as u32) } else { Kind::F16.number(c) as f32 };
        if self.wide[0] {
            let sum = a.iter().zip(b).fold(0f32, |sum, (a, b)| a.mul_add(b, sum)) + addend;
            return u64::from(if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() });
        }
        let [first, second] = [0, 2].map(|k| a[k + 1].mul_add(b[k + 1], a[k] * b[k]));
        let sum = (addend + first) + second;
        if sum.is_nan() {
            return 0x7fff;
        }
        let exact = Double::from_bits(f64::from(sum).to_bits().into());
        let rounded: Half = exact.convert_r(Round::NearestTiesToEven, &mut false).value;
        rounded.to_bits() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_ones() {
        let mma = Mma::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").unwrap();
        let ones = |n: usize| vec![vec![0x3c00_3c00; n]; 32];
        let d = mma.eval(&ones(4), &ones(2), &vec![vec![0; 4]; 32]);
        assert_eq!(d, vec![vec![u64::from(16f32.to_bits()); 4]; 32]);
    }

    #[test]
    fn elements_lie_where_the_manual_says() {
        let mma = Mma::parse("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32").unwrap();
        // Row 9, place 21, is a byte of lane 5 in register 3.
        assert_eq!(mma.place(Kind::S(8), 5, 3 * 4 + 1, true), (9, 21));
        assert_eq!(mma.place(Kind::U(8), 5, 4 + 1, false), (1, 21));
    }
}

//! Buffers as people and programs see them.

use crate::number::{self, type_name};
use crate::output;
use crate::value::{PIECE, elements, type_text};
use hostwarp::isa::{Kind, Ty};
use serde_json::{Value as Json, json};

/// How many elements are shown.
const FIRST: usize = 8;

/// What there is to say about a buffer.
pub struct Summary {
    ty: String,
    first: Vec<u64>,
    len: usize,
    element: Ty,
    min: Option<u64>,
    max: Option<u64>,
    nans: usize,
}

/// The least and the greatest element, with what they are compared by.
#[derive(Default)]
struct Extremes {
    min: Option<(i64, u64)>,
    max: Option<(i64, u64)>,
    nans: usize,
}

impl Extremes {
    /// A loop of its own for each kind and width: millions of elements are looked at after every run.
    fn take<const WIDTH: usize>(&mut self, ty: Ty, bytes: &[u8]) {
        let (elements, _) = bytes.as_chunks::<WIDTH>();
        let unused = 64 - 8 * WIDTH as u32;
        let sign = 1 << (8 * WIDTH - 1);
        // Floats are a sign and a magnitude, which is in the order of the values; zeros are equal.
        let float = |infinity: i64| {
            move |bits: u64| {
                let magnitude = (bits & (sign - 1)) as i64;
                (magnitude <= infinity).then_some(if bits & sign != 0 { -magnitude } else { magnitude })
            }
        };
        match ty {
            Ty::F16 => self.by(elements, float(0x7c00)),
            Ty::BF16 => self.by(elements, float(0x7f80)),
            Ty::F32 | Ty::Tf32 => self.by(elements, float(0x7f80_0000)),
            Ty::F64 => self.by(elements, float(0x7ff0_0000_0000_0000)),
            ty if ty.kind() == Kind::Signed => {
                self.by(elements, |bits| Some(((bits << unused) as i64) >> unused));
            }
            _ => self.by(elements, |bits| Some((bits ^ (1 << 63)) as i64)),
        }
    }

    /// `rank` is in the order of the elements, and none for what has no place in it.
    fn by<const WIDTH: usize>(&mut self, elements: &[[u8; WIDTH]], rank: impl Fn(u64) -> Option<i64>) {
        for element in elements {
            let mut bits = [0; 8];
            bits[..WIDTH].copy_from_slice(element);
            let bits = u64::from_le_bytes(bits);
            let Some(rank) = rank(bits) else {
                self.nans += 1;
                continue;
            };
            if self.min.is_none_or(|(least, _)| rank < least) {
                self.min = Some((rank, bits));
            }
            if self.max.is_none_or(|(greatest, _)| rank > greatest) {
                self.max = Some((rank, bits));
            }
        }
    }
}

impl Summary {
    /// Looks at every element of a buffer of so many bytes, which `read` gives from an offset on.
    pub fn new<E>(
        ty: Ty,
        shape: &[usize],
        bytes: usize,
        mut read: impl FnMut(usize, &mut [u8]) -> Result<(), E>,
    ) -> Result<Summary, E> {
        let mut extremes = Extremes::default();
        let mut first = vec![];
        let mut piece = vec![0; PIECE.min(bytes)];
        for at in (0..bytes).step_by(PIECE) {
            hostwarp_system::limits::poll_many(PIECE / 64);
            let piece = &mut piece[..PIECE.min(bytes - at)];
            read(at, piece)?;
            if at == 0 {
                first.extend(elements(ty, piece).take(FIRST));
            }
            match number::size(ty) {
                1 => extremes.take::<1>(ty, piece),
                2 => extremes.take::<2>(ty, piece),
                4 => extremes.take::<4>(ty, piece),
                _ => extremes.take::<8>(ty, piece),
            }
        }
        Ok(Summary {
            ty: type_text(ty, shape),
            len: bytes / number::size(ty),
            first,
            element: ty,
            min: extremes.min.map(|(_, bits)| bits),
            max: extremes.max.map(|(_, bits)| bits),
            nans: extremes.nans,
        })
    }

    fn json_element(&self, bits: u64) -> Json {
        match self.element.kind() {
            Kind::Signed => json!(number::signed(bits, self.element.bits())),
            Kind::Float => {
                let v = number::to_f64(bits, self.element);
                // JSON has no NaN and no infinity.
                if v.is_finite() { json!(v) } else { json!(number::show(bits, self.element)) }
            }
            _ => json!(bits),
        }
    }

    /// For programs.
    pub fn json(&self, name: &str) -> Json {
        json!({
            "name": name,
            "type": type_name(self.element),
            "shape": self.ty.split_once('[').map(|(_, s)| {
                s.trim_end_matches(']').split(',').filter_map(|n| n.parse::<u64>().ok()).collect::<Vec<_>>()
            }),
            "length": self.len,
            "first": self.first.iter().map(|b| self.json_element(*b)).collect::<Vec<_>>(),
            "min": self.min.map(|b| self.json_element(b)),
            "max": self.max.map(|b| self.json_element(b)),
            "nan": self.nans,
        })
    }
}

/// One line for each buffer, in columns.
pub fn table(buffers: &[(String, Summary)]) -> String {
    let width = |f: &dyn Fn(&(String, Summary)) -> usize| output::column(buffers.iter().map(f));
    let names = width(&|b| b.0.chars().count());
    let types = width(&|b| b.1.ty.len());
    let firsts: Vec<String> = buffers
        .iter()
        .map(|(_, s)| {
            let mut text: Vec<_> = s.first.iter().map(|b| number::show(*b, s.element)).collect();
            if s.len > s.first.len() {
                text.push("…".into());
            }
            text.join(" ")
        })
        .collect();
    let shown = output::column(firsts.iter().map(|f| f.chars().count()));
    let mut out = String::new();
    let bold = anstyle::Style::new().bold();
    let dim = anstyle::Style::new().dimmed();
    for ((name, s), first) in buffers.iter().zip(&firsts) {
        out += &format!("{bold}{name:names$}{bold:#}  {dim}{:types$}{dim:#}  {first:shown$}", s.ty);
        if let (Some(min), Some(max)) = (s.min, s.max) {
            out += &format!("  {dim}min{dim:#} {}", number::show(min, s.element));
            out += &format!("  {dim}max{dim:#} {}", number::show(max, s.element));
        }
        if s.nans > 0 {
            out += &format!("  {} NaN", s.nans);
        }
        out = out.trim_end().to_string();
        out.push('\n');
    }
    out
}

/// A duration in a unit that fits.
pub fn time(d: std::time::Duration) -> String {
    let s = d.as_secs_f64();
    match s {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{:.*} ms", usize::from(s < 0.1), s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(ty: Ty, bits: &[u64]) -> Summary {
        let bytes: Vec<u8> = bits.iter().flat_map(|b| b.to_le_bytes()[..number::size(ty)].to_vec()).collect();
        let read = |at: usize, to: &mut [u8]| -> Result<(), ()> {
            to.copy_from_slice(&bytes[at..][..to.len()]);
            Ok(())
        };
        Summary::new(ty, &[bits.len()], bytes.len(), read).expect("nothing fails")
    }

    #[test]
    fn buffers_are_looked_at_to_their_end() {
        let bits: Vec<u64> = (0..PIECE as u64).map(|i| i + 5).collect();
        let s = summary(Ty::U32, &bits);
        assert_eq!((s.len, s.min, s.max), (bits.len(), bits.first().copied(), bits.last().copied()));
        assert_eq!(s.first, bits[..FIRST]);
        let s = summary(Ty::F32, &[]);
        assert_eq!((s.len, s.min, s.first.len()), (0, None, 0));
    }

    #[test]
    fn extremes_are_taken_in_the_elements_type() {
        let s = summary(Ty::S8, &[0x80, 0x7f, 0]);
        assert_eq!((s.min, s.max), (Some(0x80), Some(0x7f)));
        let s = summary(Ty::U8, &[0x80, 0x7f, 0]);
        assert_eq!((s.min, s.max), (Some(0), Some(0x80)));
        let s = summary(Ty::F32, &[0xbf80_0000, 0x7fff_ffff, 0x3f80_0000]);
        assert_eq!((s.min, s.max, s.nans), (Some(0xbf80_0000), Some(0x3f80_0000), 1));
        assert_eq!(s.json("x")["first"][1], "nan");
        assert_eq!(s.json("x")["shape"], json!([3]));
        let infinity = 0x7ff0_0000_0000_0000;
        let s = summary(Ty::F64, &[0, 1 << 63, infinity, infinity + 1]);
        assert_eq!((s.min, s.max, s.nans), (Some(0), Some(infinity), 1));
        let s = summary(Ty::F16, &[0xfc00, 0x7e00, 0xbc00]);
        assert_eq!((s.min, s.max, s.nans), (Some(0xfc00), Some(0xbc00), 1));
        let s = summary(Ty::U64, &[u64::MAX, 1]);
        assert_eq!((s.min, s.max), (Some(1), Some(u64::MAX)));
    }

    #[test]
    fn columns_line_up() {
        let s = |n: u64| summary(Ty::U32, &(0..n).collect::<Vec<_>>());
        let text =
            anstream::adapter::strip_str(&table(&[("a".into(), s(2)), ("long".into(), s(20))])).to_string();
        let expected = "\
            a     u32[2]   0 1                min 0  max 1\n\
            long  u32[20]  0 1 2 3 4 5 6 7 …  min 0  max 19\n";
        assert_eq!(text, expected);
        assert_eq!(table(&[]), "");
    }
}

//! Buffers as people and programs see them.

use crate::number::{self, type_name};
use crate::value::Data;
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

impl Summary {
    /// Looks at every element.
    pub fn new(data: &Data) -> Summary {
        let ty = data.ty;
        let (mut min, mut max, mut nans) = (None, None, 0);
        let less = |a: u64, b: u64| match ty.kind() {
            Kind::Float => number::to_f64(a, ty) < number::to_f64(b, ty),
            Kind::Signed => number::signed(a, ty.bits()) < number::signed(b, ty.bits()),
            _ => a < b,
        };
        for bits in data.elements() {
            if ty.is_float() && number::to_f64(bits, ty).is_nan() {
                nans += 1;
                continue;
            }
            if min.is_none_or(|m| less(bits, m)) {
                min = Some(bits);
            }
            if max.is_none_or(|m| less(m, bits)) {
                max = Some(bits);
            }
        }
        let elements = data.elements();
        Summary {
            ty: data.type_text(),
            len: elements.len(),
            first: elements.take(FIRST).collect(),
            element: ty,
            min,
            max,
            nans,
        }
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
    let width = |f: &dyn Fn(&(String, Summary)) -> usize| buffers.iter().map(f).max().unwrap_or(0);
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
    let shown = firsts.iter().map(|f| f.chars().count()).max().unwrap_or(0);
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

    fn data(ty: Ty, bits: &[u64]) -> Data {
        let bytes = bits.iter().flat_map(|b| b.to_le_bytes()[..number::size(ty)].to_vec()).collect();
        Data { ty, shape: vec![bits.len()], bytes }
    }

    #[test]
    fn extremes_are_taken_in_the_elements_type() {
        let s = Summary::new(&data(Ty::S8, &[0x80, 0x7f, 0]));
        assert_eq!((s.min, s.max), (Some(0x80), Some(0x7f)));
        let s = Summary::new(&data(Ty::U8, &[0x80, 0x7f, 0]));
        assert_eq!((s.min, s.max), (Some(0), Some(0x80)));
        let s = Summary::new(&data(Ty::F32, &[0xbf80_0000, 0x7fff_ffff, 0x3f80_0000]));
        assert_eq!((s.min, s.max, s.nans), (Some(0xbf80_0000), Some(0x3f80_0000), 1));
        assert_eq!(s.json("x")["first"][1], "nan");
        assert_eq!(s.json("x")["shape"], json!([3]));
    }

    #[test]
    fn columns_line_up() {
        let s = |n: u64| Summary::new(&data(Ty::U32, &(0..n).collect::<Vec<_>>()));
        let text =
            anstream::adapter::strip_str(&table(&[("a".into(), s(2)), ("long".into(), s(20))])).to_string();
        let expected = "\
            a     u32[2]   0 1                min 0  max 1\n\
            long  u32[20]  0 1 2 3 4 5 6 7 …  min 0  max 19\n";
        assert_eq!(text, expected);
        assert_eq!(table(&[]), "");
    }
}

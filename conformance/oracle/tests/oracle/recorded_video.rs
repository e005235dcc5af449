//! The rules that reproduce all recorded scalar video forms of sm_90, for those forms in which the
//! hardware follows the manual. Written from the recordings, not from the pseudo-code, so it is a
//! second opinion on the oracle's reading.

use hostwarp_oracle::{Oracle, edges};

use crate::exact::Random;
use crate::oracle;

const OPS: [&str; 8] = ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"];

#[derive(Clone, Copy)]
struct Form {
    op: &'static str,
    /// Is d, a, b signed?
    signed: [bool; 3],
    sat: bool,
    clamp: bool,
    op2: &'static str,
    /// Of d, a, b.
    selectors: [&'static str; 3],
}

fn field(register: u32, selector: &str) -> (u32, u32) {
    let index: u32 = selector.get(1..).unwrap_or("0").parse().unwrap_or(0);
    match selector.chars().next() {
        Some('b') => (register >> (8 * index), 8),
        Some('h') => (register >> (16 * index), 16),
        _ => (register, 32),
    }
}

fn extended(register: u32, selector: &str, signed: bool) -> i64 {
    let (value, bits) = field(register, selector);
    let unused = 64 - bits;
    let high = u64::from(value) << unused;
    if signed { high as i64 >> unused } else { (high >> unused) as i64 }
}

fn sext(value: i64, bits: u32) -> i64 {
    value << (64 - bits) >> (64 - bits)
}

impl Form {
    fn text(self) -> String {
        let [d, a, b] = self.signed.map(|signed| if signed { ".s32" } else { ".u32" });
        let mut text = self.op.to_string();
        if self.op != "vset" {
            text += d;
        }
        text = text + a + b;
        if self.sat {
            text += ".sat";
        }
        match self.op {
            "vshl" | "vshr" => text += if self.clamp { ".clamp" } else { ".wrap" },
            "vset" => text += ".lt",
            _ => {}
        }
        if !self.op2.is_empty() {
            text = text + "." + self.op2;
        }
        let dot = |s: &str| if s.is_empty() { String::new() } else { format!(".{s}") };
        let [d, a, b] = self.selectors.map(dot);
        format!("{text} d{d}, a{a}, b{b}, c")
    }

    /// Hardware and manual agree on these, say the recordings.
    fn follows_the_manual(self) -> bool {
        let [dsel, ..] = self.selectors;
        let compares = self.op2 == "min" || self.op2 == "max";
        if self.op == "vset" {
            return !self.sat && (!self.signed[1] || !compares);
        }
        match (self.sat, self.signed[0]) {
            (false, _) => !compares,
            (true, true) => dsel.is_empty(),
            (true, false) => {
                dsel.is_empty() && !compares && matches!(self.op, "vmin" | "vmax" | "vshl" | "vshr")
            }
        }
    }

    fn hardware(self, [a, b, c]: [u32; 3]) -> u32 {
        let [dsel, asel, bsel] = self.selectors;
        let x = extended(a, asel, self.signed[1]);
        let mut y = extended(b, bsel, self.signed[2]);
        let sgn = if self.op == "vset" { self.signed[1] } else { self.signed[0] };
        let shift = matches!(self.op, "vshl" | "vshr");
        let sum = matches!(self.op, "vadd" | "vsub");
        if shift {
            y = if self.clamp { y.min(32) } else { y & 31 };
        }
        let mut t = match self.op {
            "vadd" => x + y,
            "vsub" => x - y,
            "vabsdiff" => (x - y).abs(),
            "vmin" => x.min(y),
            "vmax" => x.max(y),
            "vshl" => x.wrapping_shl(y as u32),
            "vshr" => x >> y,
            _ => i64::from(x < y),
        };
        let (min32, max32) = (i64::from(i32::MIN), i64::from(i32::MAX));
        if !self.sat && sum {
            t = sext(t, 32);
        }
        if self.sat && shift {
            t = sext(t, 34);
            t = if sgn { t.clamp(min32, max32) } else { t.clamp(0, i64::from(u32::MAX)) };
            t = sext(t, 32);
        } else if self.sat && !dsel.is_empty() {
            let (_, bits) = field(0, dsel);
            let max = if sgn { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
            t = (t as u64).min(max) as i64;
        } else if self.sat && sgn {
            t = t.clamp(min32, max32);
        } else if self.sat {
            t = t.max(0);
        }
        let signed_c = i64::from(c as i32);
        match self.op2 {
            "add" => (t as u32).wrapping_add(c),
            "min" if sgn => t.min(signed_c) as u32,
            "max" if sgn => t.max(signed_c) as u32,
            "min" => (t as u64).min(c.into()) as u32,
            "max" => (t as u64).max(c.into()) as u32,
            _ if dsel.is_empty() => t as u32,
            _ => {
                let (_, bits) = field(0, dsel);
                let at = bits * dsel[1..].parse::<u32>().unwrap();
                let mask = ((1 << bits) - 1) << at;
                ((t as u32) << at) & mask | c & !mask
            }
        }
    }
}

#[test]
fn scalar_video_where_hardware_follows_the_manual() {
    let parts = ["", "b0", "b1", "b2", "b3", "h0", "h1"];
    let values = edges("u32");
    let mut random = Random(8);
    let mut compared = 0;
    for op in OPS {
        for bits in 0..32 {
            for op2 in ["", "add", "min", "max"] {
                for dsel in parts {
                    let asel = parts[random.next() as usize % 7];
                    let bsel = parts[random.next() as usize % 7];
                    let bit = |i: u32| bits >> i & 1 == 1;
                    let selectors = [dsel, asel, bsel];
                    let signed = [bit(0), bit(1), bit(2)];
                    let form = Form { op, signed, sat: bit(3), clamp: bit(4), op2, selectors };
                    let shift = matches!(op, "vshl" | "vshr");
                    let exists =
                        (dsel.is_empty() || op2.is_empty()) && !(shift && signed[2]) && (shift || form.clamp);
                    if !exists || !form.follows_the_manual() {
                        continue;
                    }
                    let text = form.text();
                    let oracle = oracle(&text);
                    compared += 1;
                    for i in 0..96 {
                        let operands = [(); 3].map(|()| {
                            let pick = random.next();
                            if i % 2 == 0 { pick as u32 } else { values[pick as usize % values.len()] as u32 }
                        });
                        assert_eq!(
                            oracle.eval(&operands.map(u64::from)),
                            [form.hardware(operands).into()],
                            "{text} of {operands:x?}"
                        );
                    }
                }
            }
        }
    }
    assert!(compared > 600, "only {compared} forms were compared");
}

#[test]
fn vmad_where_hardware_follows_the_manual() {
    // Neither scale nor saturation: everything modulo 2^32, so signs and extensions cannot matter
    // beyond the selected parts.
    let mut random = Random(9);
    for types in ["u32.u32", "u32.s32", "s32.u32", "s32.s32"] {
        for (asel, bsel) in [("", ""), ("b3", "h1"), ("h0", "b0"), ("", "b2"), ("h1", "")] {
            for (signs, po) in
                [("   ", ""), ("-  ", ""), (" - ", ""), ("-- ", ""), ("  -", ""), ("   ", ".po")]
            {
                let dot = |s: &str| if s.is_empty() { String::new() } else { format!(".{s}") };
                let (sa, sb, sc) = (&signs[..1], &signs[1..2], &signs[2..]);
                let text = format!("vmad.u32.{types}{po} d, {sa}a{}, {sb}b{}, {sc}c", dot(asel), dot(bsel));
                let form = Oracle::parse(&text.replace("  ", " ")).unwrap();
                for _ in 0..500 {
                    let [a, b, c] = [(); 3].map(|()| random.next() as u32);
                    let x = extended(a, asel, types.starts_with('s')) as u32;
                    let y = extended(b, bsel, types.ends_with("s32")) as u32;
                    let mut t = x.wrapping_mul(y);
                    if (sa == "-") != (sb == "-") {
                        t = t.wrapping_neg();
                    }
                    let c_term = if sc == "-" { c.wrapping_neg() } else { c };
                    let d = t.wrapping_add(c_term).wrapping_add(u32::from(!po.is_empty()));
                    assert_eq!(form.eval(&[a, b, c].map(u64::from)), [d.into()], "{text}: {a:x} {b:x} {c:x}");
                }
            }
        }
    }
}

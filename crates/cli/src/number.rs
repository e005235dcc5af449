//! Numbers as people write them, in the type a parameter or element has, and back.

use crate::half::{BF16, F16};
use hostwarp::isa::{Kind, Ty};

/// The types an element of a buffer can have.
pub const ELEMENTS: &[Ty] = &[
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::S8,
    Ty::S16,
    Ty::S32,
    Ty::S64,
    Ty::B8,
    Ty::B16,
    Ty::B32,
    Ty::B64,
    Ty::F16,
    Ty::BF16,
    Ty::F32,
    Ty::F64,
];

/// An element type by its name without the dot.
pub fn element(name: &str) -> Option<Ty> {
    ELEMENTS.iter().copied().find(|t| t.text()[1..] == *name)
}

/// The type's name without its dot.
pub fn type_name(ty: Ty) -> &'static str {
    &ty.text()[1..]
}

/// Bytes of one element.
pub fn size(ty: Ty) -> usize {
    ty.bits() as usize / 8
}

/// The bits of a number in a type, in the low bits; the text says what is wrong.
///
/// Integers are decimal, `0x…` or `0b…`, and must fit as signed or as unsigned, since PTX made by compilers calls every `int`
/// a `.u32`. Floats are decimal, `nan`, `inf`, or the exact bits as `0f…` (32) and `0d…` (64). Types of plain bits take both.
pub fn parse(text: &str, ty: Ty) -> Result<u64, String> {
    match ty.kind() {
        Kind::Float => float(text, ty),
        Kind::Bits if looks_like_float(text) => match ty {
            Ty::B16 => {
                Err(format!("`{text}` is a float, and .b16 could be .f16 or .bf16: give its bits as 0x…"))
            }
            Ty::B32 => float(text, Ty::F32),
            Ty::B64 => float(text, Ty::F64),
            _ => Err(format!("`{text}` is a float, but {ty} is wanted")),
        },
        Kind::Pred => match text {
            "0" | "false" => Ok(0),
            "1" | "true" => Ok(1),
            _ => Err(format!("`{text}` is no predicate: give 0 or 1")),
        },
        _ if ty.bits() > 64 => Err(format!("{ty} takes bytes, not `{text}`")),
        _ => integer(text, ty.bits(), ty),
    }
}

/// Whether the text is a float rather than an integer.
pub fn looks_like_float(text: &str) -> bool {
    let t = text.trim_start_matches(['-', '+']).to_ascii_lowercase();
    if t.starts_with("0x") || t.starts_with("0b") {
        return false;
    }
    matches!(&*t, "nan" | "inf" | "infinity")
        || t.starts_with("0f")
        || t.starts_with("0d")
        || t.contains(['.', 'e'])
}

fn integer(text: &str, bits: u32, ty: Ty) -> Result<u64, String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase().replace('_', "");
    let read = match lower.get(..2) {
        Some("0x") => u128::from_str_radix(&lower[2..], 16),
        Some("0b") => u128::from_str_radix(&lower[2..], 2),
        _ => lower.parse(),
    };
    let Ok(value) = read else {
        let hint = if looks_like_float(text) { "; it is a float" } else { "" };
        return Err(format!("`{text}` is no integer{hint}, but {ty} is wanted"));
    };
    let limit = if negative { 1u128 << (bits - 1) } else { (1u128 << bits) - 1 };
    if value > limit {
        return Err(format!("`{text}` does not fit in {bits} bits ({ty})"));
    }
    let value = value as u64;
    let value = if negative { value.wrapping_neg() } else { value };
    Ok(if bits == 64 { value } else { value & ((1 << bits) - 1) })
}

fn float(text: &str, ty: Ty) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let bits = |digits: &str, count: usize, want: Ty| {
        if ty != want {
            return Err(format!("`{text}` is a {}-bit float, but {ty} is wanted", want.bits()));
        }
        match u64::from_str_radix(digits, 16) {
            Ok(v) if digits.len() == count => Ok(v),
            _ => Err(format!("`{text}`: behind `{}` stand {count} hex digits", &text[..2])),
        }
    };
    if let Some(digits) = lower.strip_prefix("0f") {
        return bits(digits, 8, Ty::F32);
    }
    if let Some(digits) = lower.strip_prefix("0d") {
        return bits(digits, 16, Ty::F64);
    }
    if let Some(digits) = lower.strip_prefix("0x") {
        // Halves have no notation of their own in PTX.
        return match (ty, u64::from_str_radix(digits, 16)) {
            (Ty::F16 | Ty::BF16, Ok(v)) if v <= 0xffff => Ok(v),
            (Ty::F32, _) => Err(format!("`{text}`: for the bits of an {ty} write 0f and 8 hex digits")),
            (Ty::F64, _) => Err(format!("`{text}`: for the bits of an {ty} write 0d and 16 hex digits")),
            _ => Err(format!("`{text}` is no {ty}")),
        };
    }
    if lower.trim_start_matches(['-', '+']) == "nan" {
        let sign = u64::from(lower.starts_with('-')) << (ty.bits() - 1);
        // What the hardware makes in f16, bf16 and f32; a plain quiet NaN in f64.
        return Ok(sign
            | match ty {
                Ty::F64 => 0x7ff8_0000_0000_0000,
                Ty::F32 | Ty::Tf32 => 0x7fff_ffff,
                _ => 0x7fff,
            });
    }
    let wrong = || format!("`{text}` is no float, but {ty} is wanted");
    let wide: f64 = lower.parse().map_err(|_| wrong())?;
    let bits: u64 = match ty {
        Ty::F64 => wide.to_bits(),
        Ty::F16 => F16.round(wide).into(),
        Ty::BF16 => BF16.round(wide).into(),
        // Read directly: through f64 it would be rounded twice.
        _ => lower.parse::<f32>().map_err(|_| wrong())?.to_bits().into(),
    };
    let value = to_f64(bits, ty);
    // Behind the exponent's `e` stand digits, too.
    let digits = lower.split('e').next().unwrap_or_default();
    if value.is_infinite() && digits.contains(|c: char| c.is_ascii_digit()) {
        return Err(format!("`{text}` is too large for {ty}; infinity is written inf"));
    }
    if value == 0.0 && digits.contains(|c: char| matches!(c, '1'..='9')) {
        return Err(format!("`{text}` is too small for {ty}: nothing but 0 would be left of it"));
    }
    Ok(bits)
}

/// An element as a double, exactly for all but 64-bit integers.
pub fn to_f64(bits: u64, ty: Ty) -> f64 {
    match ty {
        Ty::F16 => F16.to_f64(bits as u16),
        Ty::BF16 => BF16.to_f64(bits as u16),
        Ty::F32 | Ty::Tf32 => f32::from_bits(bits as u32).into(),
        Ty::F64 => f64::from_bits(bits),
        _ if ty.is_signed() => signed(bits, ty.bits()) as f64,
        _ => bits as f64,
    }
}

/// The bits read as a signed number.
pub fn signed(bits: u64, width: u32) -> i64 {
    ((bits << (64 - width)) as i64) >> (64 - width)
}

/// An element as people read it: shortest decimal that gives the bits back, hex for plain bits.
pub fn show(bits: u64, ty: Ty) -> String {
    match ty {
        Ty::F16 => {
            short(F16.to_f64(bits as u16) as f32, |s| s.parse().is_ok_and(|v| F16.round(v) == bits as u16))
        }
        Ty::BF16 => {
            short(BF16.to_f64(bits as u16) as f32, |s| s.parse().is_ok_and(|v| BF16.round(v) == bits as u16))
        }
        Ty::F32 | Ty::Tf32 => plain(f32::from_bits(bits as u32).into(), |e| match e {
            true => format!("{:e}", f32::from_bits(bits as u32)),
            false => format!("{}", f32::from_bits(bits as u32)),
        }),
        Ty::F64 => plain(f64::from_bits(bits), |e| match e {
            true => format!("{:e}", f64::from_bits(bits)),
            false => format!("{}", f64::from_bits(bits)),
        }),
        _ => match ty.kind() {
            Kind::Signed => signed(bits, ty.bits()).to_string(),
            Kind::Unsigned => bits.to_string(),
            Kind::Pred => bits.to_string(),
            _ => hex(bits, ty.bits()),
        },
    }
}

/// The bits as hex, as wide as the type.
pub fn hex(bits: u64, width: u32) -> String {
    format!("0x{bits:0digits$x}", digits = width.div_ceil(4) as usize)
}

fn plain(value: f64, format: impl Fn(bool) -> String) -> String {
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.into();
    }
    let a = value.abs();
    format(a != 0.0 && a.is_finite() && !(1e-5..1e16).contains(&a))
}

/// The fewest digits that still name this half.
fn short(value: f32, same: impl Fn(&str) -> bool) -> String {
    plain(value.into(), |e| {
        if !e && same(&format!("{value:.0}")) {
            return format!("{value:.0}");
        }
        for digits in 0..10 {
            let s = format!("{value:.digits$e}");
            if same(&s) {
                return if e { s } else { s.parse::<f32>().map_or(s, |v| v.to_string()) };
            }
        }
        value.to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_fit_as_signed_or_unsigned() {
        assert_eq!(parse("-1", Ty::U32), Ok(0xffff_ffff));
        assert_eq!(parse("0xFFFF_FFFF", Ty::S32), Ok(0xffff_ffff));
        assert_eq!(parse("0b101", Ty::B8), Ok(5));
        assert_eq!(parse("-128", Ty::S8), Ok(0x80));
        assert_eq!(parse("18446744073709551615", Ty::U64), Ok(u64::MAX));
        assert!(parse("-129", Ty::S8).unwrap_err().contains("8 bits"));
        assert!(parse("4294967296", Ty::U32).is_err());
        assert!(parse("1.5", Ty::U32).unwrap_err().contains("float"));
        assert!(parse("", Ty::U32).is_err());
        assert!(parse("0x", Ty::U32).is_err());
        assert!(parse("zwei", Ty::U32).is_err());
    }

    #[test]
    fn floats_are_decimal_or_exact_bits() {
        assert_eq!(parse("1.5", Ty::F32), Ok(0x3fc0_0000));
        assert_eq!(parse("2", Ty::F32), Ok(0x4000_0000));
        assert_eq!(parse("0f7fc00000", Ty::F32), Ok(0x7fc0_0000));
        assert_eq!(parse("0d3ff8000000000000", Ty::F64), Ok(0x3ff8_0000_0000_0000));
        assert_eq!(parse("-inf", Ty::F16), Ok(0xfc00));
        assert_eq!(parse("nan", Ty::F32), Ok(0x7fff_ffff));
        assert_eq!(parse("0x3c00", Ty::F16), Ok(0x3c00));
        assert_eq!(parse("1.5", Ty::B32), Ok(0x3fc0_0000));
        assert!(parse("0f3f8", Ty::F32).unwrap_err().contains("8 hex digits"));
        assert!(parse("0d3ff8000000000000", Ty::F32).is_err());
        assert!(parse("0x3f800000", Ty::F32).unwrap_err().contains("0f"));
    }

    #[test]
    fn what_is_shown_reads_back() {
        for ty in [Ty::F16, Ty::BF16] {
            for bits in 0..=0xffffu64 {
                if to_f64(bits, ty).is_nan() {
                    continue;
                }
                assert_eq!(parse(&show(bits, ty), ty), Ok(bits), "{}", show(bits, ty));
            }
        }
        assert_eq!(show(0x3555, Ty::F16), "0.3333");
        assert_eq!(show(0x7f7f_ffff, Ty::F32), "3.4028235e38");
        assert_eq!(show(0xffff_fffe, Ty::S32), "-2");
        assert_eq!(show(0xab, Ty::B16), "0x00ab");
        assert_eq!(show(0x4e800000, Ty::F32), "1073741800");
    }
}

//! C's `printf`, with arguments where CUDA's device runtime puts them: one behind the other, each at a multiple of its size.

/// Where the arguments come from.
pub(crate) trait Arguments {
    /// Why one cannot be had.
    type Error;
    /// The next one, if it has 4 bytes.
    fn word(&mut self) -> Result<u32, Self::Error>;
    /// The next one, if it has 8 bytes.
    fn long(&mut self) -> Result<u64, Self::Error>;
    /// The bytes at an address up to the first zero, or so many.
    fn string(&mut self, at: u64, most: usize) -> Result<Vec<u8>, Self::Error>;
}

/// What stands between `%` and the letter.
#[derive(Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// How wide an integer is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    Char,
    Short,
    Int,
    Long,
}

/// No field is wider, whatever is asked for.
const WIDEST: usize = 1 << 16;
/// Behind so many decimals every f64 has zeros only. The formatting of Rust's library takes no precision above 65,535.
const EXACT: usize = 1100;

/// The text, and how many arguments went into it.
pub(crate) fn format<A: Arguments>(format: &[u8], args: &mut A) -> Result<(Vec<u8>, u32), A::Error> {
    let (mut out, mut count) = (vec![], 0);
    let mut rest = format;
    while let Some(at) = rest.iter().position(|b| *b == b'%') {
        out.extend_from_slice(&rest[..at]);
        let from = &rest[at..];
        rest = &from[1..];
        let mut spec = Spec::default();
        while let [flag @ (b'-' | b'+' | b' ' | b'#' | b'0' | b'\''), after @ ..] = rest {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                // In the C locale thousands are not grouped.
                _ => {}
            }
            rest = after;
        }
        if let [b'*', after @ ..] = rest {
            let width = args.word()? as i32;
            count += 1;
            spec.left |= width < 0;
            spec.width = (width.unsigned_abs() as usize).min(WIDEST);
            rest = after;
        } else {
            spec.width = number(&mut rest);
        }
        if let [b'.', after @ ..] = rest {
            rest = after;
            if let [b'*', after @ ..] = rest {
                // A negative one counts as none.
                spec.precision = usize::try_from(args.word()? as i32).ok().map(|p| p.min(WIDEST));
                count += 1;
                rest = after;
            } else {
                spec.precision = Some(number(&mut rest));
            }
        }
        let mut size = Size::Int;
        while let [letter @ (b'h' | b'l' | b'L' | b'q' | b'j' | b'z' | b't'), after @ ..] = rest {
            size = match (letter, size) {
                (b'h', Size::Short) => Size::Char,
                (b'h', _) => Size::Short,
                _ => Size::Long,
            };
            rest = after;
        }
        let Some((letter, after)) = rest.split_first() else {
            // An unfinished one is text.
            out.extend_from_slice(from);
            return Ok((out, count));
        };
        rest = after;
        match letter {
            b'%' => {
                out.push(b'%');
                continue;
            }
            b'd' | b'i' => {
                let value = match size {
                    Size::Char => i64::from(args.word()? as i8),
                    Size::Short => i64::from(args.word()? as i16),
                    Size::Int => i64::from(args.word()? as i32),
                    Size::Long => args.long()? as i64,
                };
                spec.put_integer(&mut out, sign(value < 0, spec), value.unsigned_abs().to_string());
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = match size {
                    Size::Char => u64::from(args.word()? as u8),
                    Size::Short => u64::from(args.word()? as u16),
                    Size::Int => u64::from(args.word()?),
                    Size::Long => args.long()?,
                };
                let prefixed = spec.alternate && value != 0;
                let (prefix, digits) = match letter {
                    b'u' => ("", value.to_string()),
                    b'o' => {
                        let digits = format!("{value:o}");
                        // A zero in front, unless there is one.
                        if spec.alternate && spec.precision.is_none_or(|p| p <= digits.len()) {
                            spec.precision = Some(digits.len() + usize::from(value != 0));
                        }
                        ("", digits)
                    }
                    b'x' => (if prefixed { "0x" } else { "" }, format!("{value:x}")),
                    _ => (if prefixed { "0X" } else { "" }, format!("{value:X}")),
                };
                spec.put_integer(&mut out, prefix, digits);
            }
            b'p' => match args.long()? {
                0 => spec.put_text(&mut out, b"(nil)"),
                value => spec.put_integer(&mut out, "0x", format!("{value:x}")),
            },
            b'c' => spec.put_text(&mut out, &[args.word()? as u8]),
            b's' => {
                let most = spec.precision.unwrap_or(usize::MAX);
                let text = match args.long()? {
                    0 if most < 6 => vec![],
                    0 => b"(null)".to_vec(),
                    at => args.string(at, most)?,
                };
                spec.put_text(&mut out, &text);
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                spec.put_float(&mut out, *letter, f64::from_bits(args.long()?));
            }
            _ => {
                // Not a conversion: text.
                let len = from.len() - rest.len();
                out.extend_from_slice(&from[..len]);
                continue;
            }
        }
        count += 1;
    }
    out.extend_from_slice(rest);
    Ok((out, count))
}

/// Reads digits.
fn number(rest: &mut &[u8]) -> usize {
    let mut n = 0usize;
    while let [digit @ b'0'..=b'9', after @ ..] = *rest {
        n = (n * 10 + usize::from(digit - b'0')).min(WIDEST);
        *rest = after;
    }
    n
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match negative {
        true => "-",
        false if spec.plus => "+",
        false if spec.space => " ",
        false => "",
    }
}

impl Spec {
    /// Pads; zeros go between the prefix and the rest.
    fn put(&self, out: &mut Vec<u8>, prefix: &str, text: &[u8], zeros: bool) {
        let missing = self.width.saturating_sub(prefix.len() + text.len());
        let pad = |out: &mut Vec<u8>, with: u8| out.resize(out.len() + missing, with);
        if !self.left && !zeros {
            pad(out, b' ');
        }
        out.extend_from_slice(prefix.as_bytes());
        if zeros && !self.left {
            pad(out, b'0');
        }
        out.extend_from_slice(text);
        if self.left {
            pad(out, b' ');
        }
    }

    fn put_text(&self, out: &mut Vec<u8>, text: &[u8]) {
        self.put(out, "", text, false);
    }

    /// A precision is the fewest digits, and then zeros do not fill the field. No digits are left of 0 with a precision of 0.
    fn put_integer(&self, out: &mut Vec<u8>, prefix: &str, digits: String) {
        let digits = match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(p) => "0".repeat(p.saturating_sub(digits.len())) + &digits,
            None => digits,
        };
        self.put(out, prefix, digits.as_bytes(), self.zero && self.precision.is_none());
    }

    fn put_float(&self, out: &mut Vec<u8>, letter: u8, x: f64) {
        let mut prefix = sign(x.is_sign_negative(), *self).to_string();
        let x = x.abs();
        let upper = letter.is_ascii_uppercase();
        let finite = x.is_finite();
        let text = match letter.to_ascii_lowercase() {
            _ if x.is_nan() => "nan".to_string(),
            _ if !finite => "inf".to_string(),
            b'f' => self.fixed(x, self.precision.unwrap_or(6)),
            b'e' => self.scientific(x, self.precision.unwrap_or(6)),
            b'g' => self.shorter(x),
            _ => {
                prefix += "0x";
                self.hexadecimal(x)
            }
        };
        let (prefix, text) =
            if upper { (prefix.to_uppercase(), text.to_uppercase()) } else { (prefix, text) };
        self.put(out, &prefix, text.as_bytes(), self.zero && finite);
    }

    fn fixed(&self, x: f64, precision: usize) -> String {
        let point = if self.alternate && precision == 0 { "." } else { "" };
        let exact = precision.min(EXACT);
        format!("{x:.exact$}{point}{}", "0".repeat(precision - exact))
    }

    fn scientific(&self, x: f64, precision: usize) -> String {
        let exact = precision.min(EXACT);
        let text = format!("{x:.exact$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let point = if self.alternate && precision == 0 { "." } else { "" };
        let sign = if exponent < 0 { '-' } else { '+' };
        let zeros = "0".repeat(precision - exact);
        format!("{digits}{zeros}{point}e{sign}{:02}", exponent.abs())
    }

    /// `%g`: so many significant digits, without an exponent where it is small, and without zeros at the end.
    fn shorter(&self, x: f64) -> String {
        let digits = self.precision.unwrap_or(6).max(1);
        let rounded = format!("{x:.*e}", (digits - 1).min(EXACT));
        let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
        let in_range = exponent >= -4 && exponent < digits as i32;
        let text = if in_range {
            self.fixed(x, (digits as i32 - 1 - exponent) as usize)
        } else {
            self.scientific(x, digits - 1)
        };
        if self.alternate {
            return text;
        }
        let (digits, exponent) = match text.find('e') {
            Some(at) => text.split_at(at),
            None => (&text[..], ""),
        };
        let digits =
            if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
        format!("{digits}{exponent}")
    }

    /// `%a` without the prefix.
    fn hexadecimal(&self, x: f64) -> String {
        const DIGITS: usize = 13;
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52) as i32, bits & ((1 << 52) - 1));
        let (mut significand, exponent) = match (exponent, fraction) {
            (0, 0) => (0, 0),
            (0, _) => (fraction, -1022),
            _ => (1 << 52 | fraction, exponent - 1023),
        };
        let mut digits = DIGITS;
        if let Some(p) = self.precision.filter(|p| *p < DIGITS) {
            let cut = 4 * (DIGITS - p);
            let half = 1u64 << (cut - 1);
            significand = (significand + half - 1 + (significand >> cut & 1)) >> cut;
            digits = p;
        }
        let (lead, rest) = (significand >> (4 * digits), significand & ((1 << (4 * digits)) - 1));
        let mut fraction = if digits == 0 { String::new() } else { format!("{rest:0digits$x}") };
        match self.precision {
            None => fraction.truncate(fraction.trim_end_matches('0').len()),
            Some(p) => fraction += &"0".repeat(p.saturating_sub(fraction.len())),
        }
        let point = if fraction.is_empty() && !self.alternate { "" } else { "." };
        format!("{lead}{point}{fraction}p{exponent:+}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments one after the other, as words; a string is where its number says.
    struct List<'a>(std::iter::Copied<std::slice::Iter<'a, u64>>);

    impl Arguments for List<'_> {
        type Error = ();
        fn word(&mut self) -> Result<u32, ()> {
            self.0.next().map(|v| v as u32).ok_or(())
        }
        fn long(&mut self) -> Result<u64, ()> {
            self.0.next().ok_or(())
        }
        fn string(&mut self, at: u64, most: usize) -> Result<Vec<u8>, ()> {
            let text = ["", "one", "two words"][at as usize];
            Ok(text.bytes().take(most).collect())
        }
    }

    fn printed(text: &str, args: &[u64]) -> String {
        let mut list = List(args.iter().copied());
        let (out, count) = format(text.as_bytes(), &mut list).expect("there are enough");
        assert_eq!(count as usize, args.len(), "{text}");
        String::from_utf8(out).expect("is ASCII")
    }

    /// What a C library prints for the same, which was asked.
    #[test]
    fn integers() {
        let minus = -42i32 as u32 as u64;
        for (text, arg, want) in [
            ("%d", minus, "-42"),
            ("%i|", 7, "7|"),
            ("%5d|", minus, "  -42|"),
            ("%-5d|", minus, "-42  |"),
            ("%05d", minus, "-0042"),
            ("%+d", 42, "+42"),
            ("% d", 42, " 42"),
            ("%.5d", minus, "-00042"),
            ("%8.5d", 42, "   00042"),
            ("%08.5d", 42, "   00042"),
            ("%.0d|", 0, "|"),
            ("%u", minus, "4294967254"),
            ("%x", minus, "ffffffd6"),
            ("%#X", 255, "0XFF"),
            ("%#x", 0, "0"),
            ("%#08x", 255, "0x0000ff"),
            ("%o", 8, "10"),
            ("%#o", 8, "010"),
            ("%#o", 0, "0"),
            ("%#.4o", 8, "0010"),
            ("%hhd", 0x1ff, "-1"),
            ("%hu", 0x1_ffff, "65535"),
            ("%ld", u64::MAX, "-1"),
            ("%llu", u64::MAX, "18446744073709551615"),
            ("%lx", u64::MAX, "ffffffffffffffff"),
            ("%zu", 1 << 40, "1099511627776"),
            ("%c", 65, "A"),
            ("%3c|", 65, "  A|"),
            ("%p", 0, "(nil)"),
            ("%p", 0xabc, "0xabc"),
            ("%10p|", 0xabc, "     0xabc|"),
            ("%s", 2, "two words"),
            ("%.3s|", 2, "two|"),
            ("%6s|%%", 1, "   one|%"),
            ("%-6s|", 1, "one   |"),
            ("%s", 0, "(null)"),
        ] {
            assert_eq!(printed(text, &[arg]), want, "{text} {arg:#x}");
        }
        assert_eq!(printed("%*d|%-*d|%.*f", &[5, 1, 3, 2, 1, 0.25f64.to_bits()]), "    1|2  |0.2");
        assert_eq!(printed("100%, %y %", &[]), "100%, %y %");
    }

    #[test]
    fn floats() {
        for (text, x, want) in [
            ("%f", 1.5, "1.500000"),
            ("%.0f", 0.5, "0"),
            ("%.0f", 1.5, "2"),
            ("%#.0f", 1.0, "1."),
            ("%10.3f|", -1.0 / 3.0, "    -0.333|"),
            ("%010.3f|", -1.0 / 3.0, "-00000.333|"),
            ("%+f", 0.0, "+0.000000"),
            ("%f", -0.0, "-0.000000"),
            ("%.25f", 0.1, "0.1000000000000000055511151"),
            ("%f", 1e22, "10000000000000000000000.000000"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.0e", 12345.678, "1e+04"),
            ("%E", 1e-300, "1.000000E-300"),
            ("%e", 0.0, "0.000000e+00"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 123456.0, "123456"),
            ("%g", 1234567.0, "1.23457e+06"),
            ("%g", 999999.5, "1e+06"),
            ("%#g", 1.0, "1.00000"),
            ("%.3g", 100.0, "100"),
            ("%G", 1e-10, "1E-10"),
            ("%g", 0.0, "0"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%.2a", 0.1, "0x1.9ap-4"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%A", -10.0, "-0X1.4P+3"),
            ("%a", 5e-324, "0x0.0000000000001p-1022"),
            ("%a", 0.0, "0x0p+0"),
            ("%.15a", 1.0, "0x1.000000000000000p+0"),
            ("%f", f64::INFINITY, "inf"),
            ("%05e", f64::NEG_INFINITY, " -inf"),
            ("%F", f64::NAN, "NAN"),
        ] {
            assert_eq!(printed(text, &[x.to_bits()]), want, "{text} {x}");
        }
    }

    /// As wide and as exact as can be: Rust's own formatting ends with a panic above 65,535.
    #[test]
    fn the_widest_fields() {
        let zeros = |n: usize| "0".repeat(n);
        let tenth = "0.1000000000000000055511151231257827021181583404541015625";
        let x = 0.1f64.to_bits();
        for wide in [65_535, 65_536, 70_000, 4_000_000_000u64] {
            let kept = (wide as usize).min(WIDEST);
            assert_eq!(printed(&format!("%.{wide}d"), &[7]), zeros(kept - 1) + "7");
            assert_eq!(printed(&format!("%{wide}x"), &[10]), " ".repeat(kept - 1) + "a");
            assert_eq!(
                printed("%.*f", &[wide.min(1 << 30), x]),
                tenth.to_string() + &zeros(kept - tenth.len() + 2)
            );
            let e = tenth.trim_start_matches("0.1");
            assert_eq!(printed(&format!("%.{wide}e"), &[x]), format!("1.{e}{}e-01", zeros(kept - e.len())));
            assert_eq!(printed(&format!("%.{wide}g"), &[x]), tenth);
            assert_eq!(printed(&format!("%.{wide}a"), &[1f64.to_bits()]), format!("0x1.{}p+0", zeros(kept)));
        }
        // The most digits a number has, before and behind the point.
        assert_eq!(printed("%.2000f", &[1]).trim_end_matches('0').len(), 2 + 1074);
        assert_eq!(printed("%.2000e", &[1]).find('e'), Some(2002));
        assert_eq!(printed("%f", &[f64::MAX.to_bits()]).len(), 309 + 7);
    }
}

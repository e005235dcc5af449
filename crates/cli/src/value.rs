//! `NAME=VALUE`: what a kernel's parameter or a symbol is given.

use crate::failure::Failure;
use crate::half::{BF16, F16};
use crate::number::{self, element, size, type_name};
use crate::{input, npy};
use hostwarp::isa::{Kind, Ty};
use hostwarp_system::file::Replacement;
use std::path::{Path, PathBuf};

/// How values are written, for help and errors.
pub const HELP: &str = "\
A VALUE is
  42  -1  0x2a  0b101          a number in the parameter's type
  1.5  nan  inf  0f3fc00000    a float, or its exact bits (0f: 32 bits, 0d: 64 bits)
  f32[1024]                    a buffer of zeros, its address is passed; shapes like f32[64,64]
  f32[1024]=1.5                every element 1.5
  f32[1024]:iota               0, 1, 2, …
  f32[1024]:rand=7             random from the seed 7: floats in [0, 1), integers of any size
  @FILE                        what is in a file: .npy, or raw bytes; f32@FILE says their type
  &NAME  &NAME+16              an address in another argument's buffer, 16 bytes further on
  hex:00ff80…  @FILE           the bytes of a struct parameter
Elements: u8 u16 u32 u64 s8 s16 s32 s64 b8 b16 b32 b64 f16 bf16 f32 f64";

/// A value as written, its meaning in the parameter's type still open.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Anything without a mark of its own: a number.
    Number(String),
    /// `f32[…]…`
    Array(Array),
    /// `@FILE`, with the type of its elements if that is written before it.
    File(Option<Ty>, PathBuf),
    /// `hex:…`
    Bytes(Vec<u8>),
    /// `&NAME+OFFSET`
    Alias(String, u64),
}

/// An array that is made up.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// The elements' type.
    pub ty: Ty,
    /// The extents, outermost first.
    pub shape: Vec<usize>,
    /// What is in it.
    pub fill: Fill,
}

/// What an array holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fill {
    /// These bits in every element.
    Bits(u64),
    /// 0, 1, 2, …
    Iota,
    /// Random from this seed.
    Random(u64),
}

/// Buffers are filled and looked at in pieces of so many bytes, a whole number of elements of any type: what stays in the CPU's cache
/// takes no memory from the system, and getting that takes longer than a short kernel.
pub const PIECE: usize = 64 << 10;

/// Elements on the host.
#[derive(Clone, PartialEq, Debug)]
pub struct Data {
    /// The elements' type.
    pub ty: Ty,
    /// The extents, outermost first.
    pub shape: Vec<usize>,
    /// The elements, little endian.
    pub bytes: Vec<u8>,
}

/// Splits `NAME=VALUE`.
pub fn split(argument: &str) -> Result<(String, Value), String> {
    let Some((name, value)) = argument.split_once('=') else {
        return Err(format!("`{argument}` is no NAME=VALUE"));
    };
    if name.is_empty() {
        return Err(format!("`{argument}`: no name before the `=`"));
    }
    Ok((name.to_string(), Value::parse(value).map_err(|e| format!("{name}: {e}"))?))
}

impl Value {
    /// Reads a value.
    pub fn parse(text: &str) -> Result<Value, String> {
        if text.is_empty() {
            return Err("no value behind the `=`".into());
        }
        if let Some(digits) = text.strip_prefix("hex:") {
            return Ok(Value::Bytes(hex(digits)?));
        }
        if let Some(rest) = text.strip_prefix('&') {
            let (name, offset) = rest.split_once('+').unwrap_or((rest, "0"));
            let offset =
                number::parse(offset, Ty::U64).map_err(|_| format!("`{offset}` is no number of bytes"))?;
            return Ok(Value::Alias(name.to_string(), offset));
        }
        if let Some((head, path)) = text.split_once('@')
            && (head.is_empty() || element(head).is_some())
        {
            if path.is_empty() {
                return Err("no file behind the `@`".into());
            }
            return Ok(Value::File(element(head), path.into()));
        }
        if let Some((name, rest)) = text.split_once('[') {
            return Array::parse(name, rest).map(Value::Array);
        }
        Ok(Value::Number(text.to_string()))
    }

    /// What it is, for errors.
    pub fn describe(&self) -> String {
        match self {
            Value::Number(text) => format!("the number `{text}`"),
            Value::Array(a) => format!("an array {}", a.type_text()),
            Value::File(_, path) => format!("the file `{}`", path.display()),
            Value::Bytes(b) => format!("{} bytes", b.len()),
            Value::Alias(name, _) => format!("the address of `{name}`"),
        }
    }
}

impl Array {
    fn parse(name: &str, rest: &str) -> Result<Array, String> {
        let Some(ty) = element(name) else {
            let all: Vec<_> = number::ELEMENTS.iter().map(|t| type_name(*t)).collect();
            return Err(format!("`{name}` is no element type; there are {}", all.join(" ")));
        };
        let (extents, rest) = rest.split_once(']').ok_or("the `]` is missing")?;
        let mut shape = vec![];
        for extent in extents.split(',') {
            let n = extent.trim().replace('_', "");
            shape.push(n.parse().map_err(|_| format!("`{extent}` is no number of elements"))?);
        }
        let count = shape.iter().try_fold(1usize, |a, n| a.checked_mul(*n));
        if count.and_then(|c| c.checked_mul(size(ty))).is_none_or(|b| b > 1 << 46) {
            return Err(format!("{name}[{extents}] is more than any memory holds"));
        }
        let fill = if rest.is_empty() {
            Fill::Bits(0)
        } else if rest == ":iota" {
            Fill::Iota
        } else if let Some(seed) = rest.strip_prefix(":rand=") {
            Fill::Random(
                number::parse(seed, Ty::U64).map_err(|_| format!("`{seed}` is no seed: a number is"))?,
            )
        } else if rest == ":rand" {
            Fill::Random(0)
        } else if let Some(value) = rest.strip_prefix('=') {
            Fill::Bits(number::parse(value, ty)?)
        } else {
            return Err(format!("`{rest}` behind the shape: `:iota`, `:rand=SEED` and `=VALUE` are known"));
        };
        Ok(Array { ty, shape, fill })
    }

    fn type_text(&self) -> String {
        type_text(self.ty, &self.shape)
    }

    /// How many bytes the elements take.
    pub fn byte_len(&self) -> usize {
        self.shape.iter().product::<usize>() * size(self.ty)
    }

    /// The elements; an error if they do not fit in the host's memory.
    pub fn data(&self) -> Result<Data, String> {
        let mut bytes: Vec<u8> = vec![];
        bytes
            .try_reserve_exact(self.byte_len())
            .map_err(|_| format!("the host has no memory for {}", self.type_text()))?;
        bytes.resize(self.byte_len(), 0);
        self.write(0, &mut bytes);
        Ok(Data { ty: self.ty, shape: self.shape.clone(), bytes })
    }

    /// Whether all bits are zero, as they are in new memory.
    pub fn is_zero(&self) -> bool {
        self.fill == Fill::Bits(0)
    }

    /// Writes the elements from number `first` on.
    pub fn write(&self, first: usize, bytes: &mut [u8]) {
        match size(self.ty) {
            1 => self.fill::<1>(first, bytes),
            2 => self.fill::<2>(first, bytes),
            4 => self.fill::<4>(first, bytes),
            _ => self.fill::<8>(first, bytes),
        }
    }

    /// Of a width known when compiling: a start of the process must not be spent on copying elements byte by byte.
    fn fill<const WIDTH: usize>(&self, first: usize, bytes: &mut [u8]) {
        let (elements, _) = bytes.as_chunks_mut::<WIDTH>();
        for (i, element) in (first..).zip(elements) {
            let bits = match self.fill {
                Fill::Bits(bits) => bits,
                Fill::Iota => iota(i as u64, self.ty),
                Fill::Random(seed) => random(seed, i as u64, self.ty),
            };
            element.copy_from_slice(&bits.to_le_bytes()[..WIDTH]);
        }
    }
}

/// `f32[64,64]`
pub fn type_text(ty: Ty, shape: &[usize]) -> String {
    let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("{}[{}]", type_name(ty), extents.join(","))
}

fn iota(i: u64, ty: Ty) -> u64 {
    match ty {
        Ty::F16 => F16.round(i as f64).into(),
        Ty::BF16 => BF16.round(i as f64).into(),
        Ty::F32 => (i as f32).to_bits().into(),
        Ty::F64 => (i as f64).to_bits(),
        _ => i,
    }
}

/// SplitMix64 of the seed and the index: the same everywhere, for ever, since recorded outputs depend on it.
fn random(seed: u64, i: u64, ty: Ty) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    // As many bits as the significand has, so that nothing is rounded and 1 is never reached.
    let unit = |digits: u32| (z >> (64 - digits)) as f64 / (1u64 << digits) as f64;
    match ty {
        Ty::F16 => F16.round(unit(11)).into(),
        Ty::BF16 => BF16.round(unit(8)).into(),
        Ty::F32 => (unit(24) as f32).to_bits().into(),
        Ty::F64 => unit(53).to_bits(),
        _ => z,
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digits: String = digits.chars().filter(|c| !matches!(c, '_' | ' ' | ':')).collect();
    if !digits.is_ascii() || !digits.len().is_multiple_of(2) {
        return Err("`hex:` takes two hex digits for each byte".into());
    }
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16))
        .collect::<Result<_, _>>()
        .map_err(|_| "`hex:` takes two hex digits for each byte".into())
}

fn named_npy(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

impl Data {
    /// Reads a file: `.npy` by its first bytes, otherwise raw.
    pub fn read(ty: Option<Ty>, path: &Path) -> Result<Data, Failure> {
        // As raw bytes, as data, and in device memory.
        let bytes = input::read_file(path, 3, usize::MAX)
            .map_err(|e| input::failure(&format!("`{}`", path.display()), "", e))?;
        Data::from_bytes(ty, path, bytes).map_err(Failure::input)
    }

    fn from_bytes(ty: Option<Ty>, path: &Path, bytes: Vec<u8>) -> Result<Data, String> {
        let wrong = |e: String| format!("`{}`: {e}", path.display());
        if !npy::is_npy(&bytes) {
            if named_npy(path) {
                return Err(wrong("it does not begin as .npy does; raw bytes need another name".into()));
            }
            let raw = Data { ty: Ty::U8, shape: vec![bytes.len()], bytes };
            return raw.cast(ty.unwrap_or(Ty::U8)).map_err(wrong);
        }
        let data = npy::read(&bytes).map_err(wrong)?;
        let Some(ty) = ty else { return Ok(data) };
        // NumPy knows neither plain bits nor bf16, which are stored as what else has their size.
        let stored = data.ty == ty
            || ty.kind() == Kind::Bits && size(ty) == size(data.ty)
            || ty == Ty::BF16 && data.ty == Ty::U16;
        match stored {
            true => data.cast(ty).map_err(wrong),
            false => Err(wrong(format!(
                "its elements are {}, not {}; leave the type away, or save them as what they should be",
                type_name(data.ty),
                type_name(ty)
            ))),
        }
    }

    /// The same bytes as elements of another type.
    fn cast(self, ty: Ty) -> Result<Data, String> {
        let width = size(ty);
        if !self.bytes.len().is_multiple_of(width) {
            return Err(format!("{} bytes are no whole number of {}", self.bytes.len(), type_name(ty)));
        }
        let same = size(self.ty) == width;
        let shape = if same { self.shape } else { vec![self.bytes.len() / width] };
        Ok(Data { ty, shape, bytes: self.bytes })
    }

    /// Writes a file, all but in place: `.npy` by its extension, otherwise raw.
    pub fn write(&self, path: &Path) -> Result<Replacement, String> {
        let bytes = if named_npy(path) { &npy::write(self) } else { &self.bytes };
        Replacement::new(path, bytes).map_err(|e| format!("cannot write `{}`: {e}", path.display()))
    }
}

/// The bits of the elements in some bytes.
pub fn elements(ty: Ty, bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(size(ty)).map(|c| {
        let mut bits = [0; 8];
        bits[..c.len()].copy_from_slice(c);
        u64::from_le_bytes(bits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(text: &str) -> Array {
        match Value::parse(text) {
            Ok(Value::Array(a)) => a,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn every_notation_is_read() {
        assert_eq!(split("n=-1"), Ok(("n".into(), Value::Number("-1".into()))));
        assert_eq!(split("sym:t=3"), Ok(("sym:t".into(), Value::Number("3".into()))));
        assert_eq!(Value::parse("hex:00 ff_80"), Ok(Value::Bytes(vec![0, 255, 128])));
        assert_eq!(Value::parse("&x+0x10"), Ok(Value::Alias("x".into(), 16)));
        assert_eq!(Value::parse("@a=b@c.npy"), Ok(Value::File(None, "a=b@c.npy".into())));
        assert_eq!(Value::parse("f16@x.bin"), Ok(Value::File(Some(Ty::F16), "x.bin".into())));
        assert_eq!(array("u8[2,3]").shape, [2, 3]);
        assert_eq!(array("f32[1_000]=1.5").fill, Fill::Bits(0x3fc0_0000));
        assert_eq!(array("s16[4]=-1").fill, Fill::Bits(0xffff));
        assert_eq!(array("f64[4]:rand=0x10").fill, Fill::Random(16));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = |text: &str| split(text).unwrap_err();
        assert!(wrong("n").contains("NAME=VALUE"));
        assert!(wrong("=1").contains("no name"));
        assert!(wrong("n=").contains("no value"));
        assert!(wrong("x=f31[4]").contains("no element type"));
        assert!(wrong("x=f32[4").contains("`]`"));
        assert!(wrong("x=f32[a]").contains("`a`"));
        assert!(wrong("x=f32[4]:sorted").contains(":iota"));
        assert!(wrong("x=u8[4]=300").contains("8 bits"));
        assert!(wrong("x=u8[4]:rand=x").contains("seed"));
        assert!(wrong("x=f32[99999999999,99999999999]").contains("memory"));
        assert!(wrong("x=hex:0").contains("two hex digits"));
        assert!(wrong("x=hex:0g").contains("two hex digits"));
        assert!(wrong("x=hex:€a").contains("two hex digits"));
        assert!(wrong("x=&y+z").contains("bytes"));
        assert!(wrong("x=@").contains("no file"));
    }

    #[test]
    fn arrays_are_filled() {
        assert_eq!(array("u16[3]:iota").data().unwrap().bytes, [0, 0, 1, 0, 2, 0]);
        assert_eq!(array("f32[2]=1").data().unwrap().bytes, [0, 0, 128, 63, 0, 0, 128, 63]);
        assert_eq!(array("f32[0]").data().unwrap().bytes, Vec::<u8>::new());
        for ty in ["f16", "bf16", "f32", "f64"] {
            let data = array(&format!("{ty}[4096]:rand=1")).data().unwrap();
            let values: Vec<f64> =
                elements(data.ty, &data.bytes).map(|b| number::to_f64(b, data.ty)).collect();
            assert!(values.iter().all(|v| (0.0..1.0).contains(v)), "{ty}");
            let mean = values.iter().sum::<f64>() / 4096.0;
            assert!((0.45..0.55).contains(&mean), "{ty}: {mean}");
        }
        // Recorded outputs depend on these bits.
        assert_eq!(
            elements(Ty::U32, &array("u32[2]:rand=1").data().unwrap().bytes).collect::<Vec<_>>(),
            RANDOM_1
        );
        assert_ne!(array("u32[2]:rand=2").data(), array("u32[2]:rand=1").data());
    }

    // The low halves of SplitMix64 seeded with 1, whose first output is 0x910a2dec89025cc1.
    const RANDOM_1: [u64; 2] = [0x8902_5cc1, 0x658e_ec67];
}

//! Types of values.

use std::fmt;

/// The type of one element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Elem {
    I1,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

impl Elem {
    /// Width in bits.
    pub const fn bits(self) -> u32 {
        match self {
            Elem::I1 => 1,
            Elem::I8 => 8,
            Elem::I16 | Elem::F16 | Elem::BF16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 | Elem::F64 => 64,
        }
    }

    /// Bytes one element takes in a register column and in memory; an `i1` takes one byte, holding 0 or 1.
    pub const fn bytes(self) -> usize {
        (self.bits() as usize).div_ceil(8)
    }

    /// Whether this is one of the float types.
    pub const fn is_float(self) -> bool {
        matches!(self, Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64)
    }

    /// The integer type of the same width.
    pub const fn to_int(self) -> Elem {
        match self {
            Elem::F16 | Elem::BF16 => Elem::I16,
            Elem::F32 => Elem::I32,
            Elem::F64 => Elem::I64,
            int => int,
        }
    }

    /// The integer type of `bits` bits, if there is one.
    pub const fn int(bits: u32) -> Option<Elem> {
        Some(match bits {
            1 => Elem::I1,
            8 => Elem::I8,
            16 => Elem::I16,
            32 => Elem::I32,
            64 => Elem::I64,
            _ => return None,
        })
    }

    /// All ones in the width of the element.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// What one lane holds: `count` packed elements (1, 2, 4 or 8).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Type {
    /// The type of each element.
    pub elem: Elem,
    /// How many there are: 1, 2, 4 or 8.
    pub count: u8,
}

#[allow(missing_docs)]
impl Type {
    pub const I1: Type = Type::scalar(Elem::I1);
    pub const I8: Type = Type::scalar(Elem::I8);
    pub const I16: Type = Type::scalar(Elem::I16);
    pub const I32: Type = Type::scalar(Elem::I32);
    pub const I64: Type = Type::scalar(Elem::I64);
    pub const F16: Type = Type::scalar(Elem::F16);
    pub const BF16: Type = Type::scalar(Elem::BF16);
    pub const F32: Type = Type::scalar(Elem::F32);
    pub const F64: Type = Type::scalar(Elem::F64);
    pub const I8X4: Type = Type::new(Elem::I8, 4);
    pub const I16X2: Type = Type::new(Elem::I16, 2);
    pub const I16X4: Type = Type::new(Elem::I16, 4);
    pub const I32X2: Type = Type::new(Elem::I32, 2);
    pub const I64X2: Type = Type::new(Elem::I64, 2);
    pub const F16X2: Type = Type::new(Elem::F16, 2);
    pub const BF16X2: Type = Type::new(Elem::BF16, 2);
}

impl Type {
    /// One element.
    pub const fn scalar(elem: Elem) -> Type {
        Type { elem, count: 1 }
    }

    /// `count` packed elements.
    pub const fn new(elem: Elem, count: u8) -> Type {
        Type { elem, count }
    }

    /// The same shape with another element type.
    pub const fn with(self, elem: Elem) -> Type {
        Type { elem, count: self.count }
    }

    /// The same shape with the integer type of the same width as elements.
    pub const fn to_int(self) -> Type {
        self.with(self.elem.to_int())
    }

    /// Total bits of the elements.
    pub const fn bits(self) -> u32 {
        self.elem.bits() * self.count as u32
    }

    /// Bytes one lane takes in a register column.
    pub const fn bytes(self) -> usize {
        self.elem.bytes() * self.count as usize
    }

    /// Whether the elements are floats.
    pub const fn is_float(self) -> bool {
        self.elem.is_float()
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Elem::I1 => "i1",
            Elem::I8 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::F16 => "f16",
            Elem::BF16 => "bf16",
            Elem::F32 => "f32",
            Elem::F64 => "f64",
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 1 { write!(f, "{}", self.elem) } else { write!(f, "{}x{}", self.elem, self.count) }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

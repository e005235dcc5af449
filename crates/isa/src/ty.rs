//! PTX types, as modifiers and as register types.

use hostwarp_ir::{Elem, Type};
use std::fmt;

macro_rules! types {
    ($($name:ident $text:literal $bits:literal $kind:ident),* $(,)?) => {
        /// A PTX type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Ty { $($name),* }

        impl Ty {
            /// Every type.
            pub const ALL: &'static [Ty] = &[$(Ty::$name),*];

            /// The type as written, with its dot.
            pub const fn text(self) -> &'static str {
                match self { $(Ty::$name => $text),* }
            }

            /// Width in bits; 1 for predicates.
            pub const fn bits(self) -> u32 {
                match self { $(Ty::$name => $bits),* }
            }

            /// What kind of type it is.
            pub const fn kind(self) -> Kind {
                match self { $(Ty::$name => Kind::$kind),* }
            }

            /// From the text of a modifier, with its dot.
            pub fn parse(text: &str) -> Option<Ty> {
                match text { $($text => Some(Ty::$name),)* _ => None }
            }
        }
    };
}

/// What the bits of a type stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Kind {
    Unsigned,
    Signed,
    Bits,
    Float,
    /// Two floats in one word.
    Packed,
    Pred,
}

types! {
    U8 ".u8" 8 Unsigned, U16 ".u16" 16 Unsigned, U32 ".u32" 32 Unsigned, U64 ".u64" 64 Unsigned,
    S8 ".s8" 8 Signed, S16 ".s16" 16 Signed, S32 ".s32" 32 Signed, S64 ".s64" 64 Signed,
    B8 ".b8" 8 Bits, B16 ".b16" 16 Bits, B32 ".b32" 32 Bits, B64 ".b64" 64 Bits, B128 ".b128" 128 Bits,
    F16 ".f16" 16 Float, BF16 ".bf16" 16 Float, F32 ".f32" 32 Float, F64 ".f64" 64 Float,
    F16x2 ".f16x2" 32 Packed, BF16x2 ".bf16x2" 32 Packed, F32x2 ".f32x2" 64 Packed,
    U16x2 ".u16x2" 32 Packed, S16x2 ".s16x2" 32 Packed,
    U8x4 ".u8x4" 32 Packed, S8x4 ".s8x4" 32 Packed,
    Tf32 ".tf32" 32 Float,
    E4m3x2 ".e4m3x2" 16 Packed, E5m2x2 ".e5m2x2" 16 Packed, E2m3x2 ".e2m3x2" 16 Packed, E3m2x2 ".e3m2x2" 16 Packed,
    E2m1x2 ".e2m1x2" 8 Packed, Ue8m0x2 ".ue8m0x2" 16 Packed, S2f6x2 ".s2f6x2" 16 Packed,
    Pred ".pred" 1 Pred,
}

impl Ty {
    /// Whether it is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }

    /// Whether it is a float type (packed ones included).
    pub const fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::BF16x2 | Ty::F32x2 | Ty::Tf32)
    }

    /// Whether it is two numbers with a fraction in 8 bits or fewer each. To arithmetic they are bits.
    pub const fn is_narrow(self) -> bool {
        matches!(
            self,
            Ty::E4m3x2 | Ty::E5m2x2 | Ty::E2m3x2 | Ty::E3m2x2 | Ty::E2m1x2 | Ty::Ue8m0x2 | Ty::S2f6x2
        )
    }

    /// The type a register is declared with for this one, which cannot be declared itself, or can.
    pub const fn declared(self) -> Ty {
        match self {
            Ty::E2m1x2 => Ty::B8,
            Ty::BF16 => Ty::B16,
            Ty::F16x2 | Ty::BF16x2 | Ty::Tf32 | Ty::U16x2 | Ty::S16x2 | Ty::U8x4 | Ty::S8x4 => Ty::B32,
            Ty::F32x2 => Ty::B64,
            narrow if narrow.is_narrow() => Ty::B16,
            other => other,
        }
    }

    /// The IR type a register of this type is kept in: plain bits, `i1` for predicates.
    pub const fn container(self) -> Type {
        match self.bits() {
            1 => Type::I1,
            8 => Type::I8,
            16 => Type::I16,
            32 => Type::I32,
            64 => Type::I64,
            _ => Type::I64X2,
        }
    }

    /// The IR type arithmetic on this type works with.
    pub const fn arith(self) -> Type {
        match self {
            Ty::F16 => Type::F16,
            Ty::BF16 => Type::BF16,
            Ty::F32 | Ty::Tf32 => Type::F32,
            Ty::F64 => Type::F64,
            Ty::F16x2 => Type::F16X2,
            Ty::BF16x2 => Type::BF16X2,
            Ty::F32x2 => Type::new(Elem::F32, 2),
            Ty::U16x2 | Ty::S16x2 => Type::I16X2,
            Ty::U8x4 | Ty::S8x4 => Type::I8X4,
            other => other.container(),
        }
    }

    /// The element type of [`Ty::arith`].
    pub const fn elem(self) -> Elem {
        self.arith().elem
    }

    /// The type of twice the width, for `.wide` results.
    pub const fn doubled(self) -> Option<Ty> {
        Some(match self {
            Ty::U16 => Ty::U32,
            Ty::S16 => Ty::S32,
            Ty::U32 => Ty::U64,
            Ty::S32 => Ty::S64,
            Ty::U64 | Ty::S64 => Ty::B128,
            _ => return None,
        })
    }

    /// The manual's rule for operands: may a register of type `reg` stand where an instruction wants `self`? The same size,
    /// and: bits go with everything, integers with integers whatever their sign, floats with the same float only.
    pub fn accepts(self, reg: Ty) -> bool {
        if self.bits() != reg.bits() {
            return false;
        }
        match (self.kind(), reg.kind()) {
            (Kind::Bits, k) | (k, Kind::Bits) => k != Kind::Pred,
            (Kind::Unsigned | Kind::Signed, Kind::Unsigned | Kind::Signed) => true,
            _ => self == reg,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

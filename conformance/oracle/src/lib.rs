//! An oracle: what the PTX manual says one instruction computes, transcribed in plain integers.
//!
//! It exists to be compared with the engines, so it shares no code with them: it has its own tiny
//! parser ([`Oracle::parse`]), its own reading of the manual's pseudo-code, and exact integer or
//! software floating-point arithmetic. It follows the `isa` profile; what a particular GPU does
//! differently is not its business. Where the manual leaves a value open, the choice is made in one
//! named function.
//!
//! ```
//! use hostwarp_oracle::Oracle;
//!
//! let vmad = Oracle::parse("vmad.s32.s32.s32.sat r0, r1.b0, -r2, r3").unwrap();
//! // 0x..80 selects the byte -128; -(-128 * 3) + 1
//! assert_eq!(vmad.eval(&[0x80, 3, 1]), [385]);
//! ```
#![forbid(unsafe_code)]

mod bits;
mod carry;
mod compare;
mod cvt;
mod edges;
mod field;
mod float;
mod float_bits;
mod float_ops;
mod integer;
mod matrix;
mod narrow;
mod products;
mod text;
mod video;
mod video_simd;

pub use edges::edges;
pub use matrix::{Mma, Quads};
pub use narrow::randomly;
use text::Text;

/// A parsed instruction, ready to be evaluated any number of times.
#[derive(Debug, Clone)]
pub struct Oracle {
    inputs: Vec<Input>,
    meaning: Meaning,
}

/// Where the value of a source operand comes from.
#[derive(Debug, Clone, Copy)]
enum Input {
    /// A register: the next element of the slice given to [`Oracle::eval`].
    Source,
    /// An immediate written in the text, already in the raw bits of the operand's type.
    Immediate(u64),
}

/// No instruction here has more source operands.
const MAX_INPUTS: usize = 4;

#[derive(Debug, Clone)]
enum Meaning {
    Video(video::Scalar),
    Vmad(video::Mad),
    Simd(video_simd::Simd),
    Integer(integer::Integer),
    Carry(carry::Carry),
    Field(field::Field),
    Bits(bits::Bits),
    Product(products::Product),
    Quotient(float_ops::Quotient),
    FloatArith(float_ops::FloatArith),
    FloatMinMax(float_ops::FloatMinMax),
    FloatSign(float_ops::FloatSign),
    FloatRoot(float_bits::FloatRoot),
    FloatBits(float_bits::FloatBits),
    Setp(compare::Setp),
    Set(compare::Set),
    Selp(compare::Selp),
    Slct(compare::Slct),
    Cvt(cvt::Cvt),
    Narrow(narrow::Narrow),
}

impl Oracle {
    /// Parses one instruction, for example `vadd.s32.u32.s32.sat r1, r2.b0, r3.h0`. Register names
    /// mean nothing: every register operand is a new source.
    ///
    /// # Errors
    /// A sentence saying what is not understood: an unknown opcode, a modifier or operand that the
    /// instruction does not have, or a combination that is not a form of it.
    pub fn parse(text: &str) -> Result<Oracle, String> {
        let mut text = Text::parse(text)?;
        let (inputs, meaning) = parse_meaning(&mut text)?;
        text.mods.finish()?;
        Ok(Oracle { inputs, meaning })
    }

    /// The results for the given source operands, one per destination.
    ///
    /// `sources` are the register operands in operand order (a, b, c, ...) as raw bits, zero-extended;
    /// a predicate is 0 or 1. Immediates in the text are not repeated here. Results are raw bits,
    /// zero-extended; a destination with a selector yields the whole merged register.
    ///
    /// # Panics
    /// When `sources` does not have one element per register operand.
    #[must_use]
    pub fn eval(&self, sources: &[u64]) -> Vec<u64> {
        let mut values = [0; MAX_INPUTS];
        let mut next = sources.iter();
        for (value, input) in values.iter_mut().zip(&self.inputs) {
            *value = match input {
                Input::Source => *next.next().expect("a value for every register operand"),
                Input::Immediate(bits) => *bits,
            };
        }
        assert!(next.next().is_none(), "more source values than register operands");
        match &self.meaning {
            Meaning::Video(form) => vec![form.eval(values).into()],
            Meaning::Vmad(form) => vec![form.eval(values).into()],
            Meaning::Simd(form) => vec![form.eval(values).into()],
            Meaning::Integer(form) => vec![form.eval(values)],
            Meaning::Carry(form) => form.eval(values),
            Meaning::Field(form) => vec![form.eval(values)],
            Meaning::Bits(form) => vec![form.eval(values)],
            Meaning::Product(form) => vec![form.eval(values)],
            Meaning::Quotient(form) => vec![form.eval(values)],
            Meaning::FloatArith(form) => vec![form.eval(values)],
            Meaning::FloatMinMax(form) => vec![form.eval(values)],
            Meaning::FloatSign(form) => vec![form.eval(values)],
            Meaning::FloatRoot(form) => vec![form.eval(values)],
            Meaning::FloatBits(form) => vec![form.eval(values)],
            Meaning::Setp(form) => form.eval(values),
            Meaning::Set(form) => vec![form.eval(values)],
            Meaning::Slct(form) => vec![form.eval(values)],
            Meaning::Selp(form) => vec![form.eval(values)],
            Meaning::Cvt(form) => vec![form.eval(values)],
            Meaning::Narrow(form) => vec![form.eval(values)],
        }
    }

    /// How many values [`Oracle::eval`] wants: the number of source operands that are not immediates.
    #[must_use]
    pub fn source_count(&self) -> usize {
        self.inputs.iter().filter(|input| matches!(input, Input::Source)).count()
    }
}

fn parse_meaning(text: &mut Text) -> Result<(Vec<Input>, Meaning), String> {
    let float = text.mods.has_any(float::FLOAT_TYPES);
    let parsed = match text.opcode {
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" => {
            let form = video::Scalar::parse(text)?;
            (text.int_inputs(&[32; 3])?, Meaning::Video(form))
        }
        "vmad" => {
            let form = video::Mad::parse(text)?;
            (text.int_inputs(&[32; 3])?, Meaning::Vmad(form))
        }
        "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2" | "vmin2" | "vmax2" | "vset2" | "vadd4" | "vsub4"
        | "vavrg4" | "vabsdiff4" | "vmin4" | "vmax4" | "vset4" => {
            let form = video_simd::Simd::parse(text)?;
            (text.int_inputs(&[32; 3])?, Meaning::Simd(form))
        }
        "fma" | "mad" | "add" | "sub" | "mul" if float => {
            let form = float_ops::FloatArith::parse(text)?;
            (text.float_inputs(form.ty(), 3)?, Meaning::FloatArith(form))
        }
        "min" | "max" if float => {
            let form = float_ops::FloatMinMax::parse(text)?;
            (text.float_inputs(form.ty(), 3)?, Meaning::FloatMinMax(form))
        }
        "neg" | "abs" if float => {
            let form = float_ops::FloatSign::parse(text)?;
            (text.float_inputs(form.ty(), 1)?, Meaning::FloatSign(form))
        }
        "sqrt" => {
            let form = float_bits::FloatRoot::parse(text)?;
            (text.float_inputs(form.ty(), 1)?, Meaning::FloatRoot(form))
        }
        "copysign" | "testp" => {
            let form = float_bits::FloatBits::parse(text)?;
            (text.float_inputs(form.ty(), 2)?, Meaning::FloatBits(form))
        }
        "addc" | "subc" | "madc" | "add" | "sub" | "mad"
            if text.opcode.ends_with('c') || text.mods.has_any(&[("cc", ())]) =>
        {
            let form = carry::Carry::parse(text)?;
            let mut inputs = text.int_inputs(&form.widths())?;
            inputs.extend(form.takes_flag().then_some(Input::Source));
            (inputs, Meaning::Carry(form))
        }
        "add" | "sub" | "mul" | "mad" | "min" | "max" | "abs" | "neg" | "and" | "or" | "xor" | "not"
        | "shl" | "shr" => {
            let form = integer::Integer::parse(text)?;
            (text.int_inputs(&form.widths())?, Meaning::Integer(form))
        }
        "bfe" | "bfi" => {
            let form = field::Field::parse(text)?;
            (text.int_inputs(&form.widths())?, Meaning::Field(form))
        }
        "popc" | "clz" | "bfind" | "brev" | "bmsk" | "szext" | "cnot" | "shf" | "prmt" | "fns" => {
            let form = bits::Bits::parse(text)?;
            (text.int_inputs(&form.widths())?, Meaning::Bits(form))
        }
        "div" | "rcp" if float => {
            let form = float_ops::Quotient::parse(text)?;
            (text.float_inputs(form.ty(), 2)?, Meaning::Quotient(form))
        }
        "div" | "rem" | "sad" | "mul24" | "mad24" | "dp4a" | "dp2a" => {
            let form = products::Product::parse(text)?;
            (text.int_inputs(&form.widths())?, Meaning::Product(form))
        }
        "set" => {
            let (form, inputs) = compare::Set::parse(text)?;
            (inputs, Meaning::Set(form))
        }
        "slct" => {
            let (form, inputs) = compare::Slct::parse(text)?;
            (inputs, Meaning::Slct(form))
        }
        "setp" => {
            let (form, inputs) = compare::Setp::parse(text)?;
            (inputs, Meaning::Setp(form))
        }
        "selp" => {
            let (form, inputs) = compare::Selp::parse(text)?;
            (inputs, Meaning::Selp(form))
        }
        "cvt" if narrow::Narrow::knows(text) => {
            let (form, inputs) = narrow::Narrow::parse(text)?;
            (inputs, Meaning::Narrow(form))
        }
        "cvt" => {
            let (form, inputs) = cvt::Cvt::parse(text)?;
            (inputs, Meaning::Cvt(form))
        }
        other => return Err(format!("no instruction `{other}` here")),
    };
    Ok(parsed)
}

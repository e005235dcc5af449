//! `hostwarp eval`: single instructions on given registers.

use crate::failure::Failure;
use crate::input;
use crate::number::{self, hex, signed, type_name};
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::compile::{self, SnippetRegister};
use hostwarp::ir::Elem;
use hostwarp::isa::{self, Kind, Ty};
use hostwarp::{Error, EvalOutput, EvalStep, EvalValue, Profile};
use serde_json::{Value as Json, json};

/// Evaluate one or more instructions on given registers.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp eval 'vmad.s32.s32.u32.sat r0, r1, r2, -r3' r1=0x80000000 r2=2 r3=7
  hostwarp eval 'vadd4.u32.u32.u32.sat d, a, b, c' a=1,2,3,250 b=9,9,9,9 c=0 --trace
  hostwarp eval 'fma.rn.f16x2 d, a, b, c' a=1.5,2 b=0x3c003c00 c=0,-1
  hostwarp eval 'setp.lt.f32 p, a, 0.5; selp.b32 d, 7, 8, p' a=nan --profile both

Registers need no declaration: each has the type of the place it stands in. Values are numbers
as in `hostwarp run`; with commas they are the parts of a packed register, lowest first.
A register that is read must be given.")]
pub struct Eval {
    /// The instructions, separated by `;`.
    instructions: String,
    /// The registers that are read.
    #[arg(value_name = "REGISTER=VALUE")]
    registers: Vec<String>,
    /// Show the named steps inside.
    #[arg(long)]
    trace: bool,
    /// Whose bits: the manual's, an H200's, or both side by side.
    #[arg(long, default_value = "isa")]
    profile: ProfileArg,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum, Debug)]
enum ProfileArg {
    Isa,
    #[value(name = "sm_90")]
    Sm90,
    Both,
}

impl Eval {
    pub fn run(self) -> Result<(), Failure> {
        let profiles: &[(Profile, &str)] = match self.profile {
            ProfileArg::Isa => &[(Profile::Isa, "isa")],
            ProfileArg::Sm90 => &[(Profile::Sm90, "sm_90")],
            ProfileArg::Both => &[(Profile::Isa, "isa"), (Profile::Sm90, "sm_90")],
        };
        if self.instructions.trim().is_empty() {
            return Err(Failure::usage("which instruction? `hostwarp help eval` has examples"));
        }
        let given = self.inputs()?;
        let inputs: Vec<(&str, u128)> = given.iter().map(|(n, b)| (n.as_str(), *b)).collect();
        let mut results = vec![];
        for (profile, name) in profiles {
            let output = hostwarp::eval(&self.instructions, &inputs, *profile).map_err(failure)?;
            results.push((*name, output));
        }
        let said = results.first().map(|(_, r)| r.diagnostics.as_slice()).unwrap_or_default();
        if !said.is_empty() && !self.json {
            output::complain_raw(&input::render(said, &self.instructions, "instruction"));
        }
        let text = if self.json { format!("{:#}\n", self.json_of(&results)) } else { self.text_of(&results) };
        Ok(output::print(&text)?)
    }

    /// The bits of the registers that are read, in their types.
    fn inputs(&self) -> Result<Vec<(String, u128)>, Failure> {
        // What is wrong with the instructions is left to the evaluation to say.
        let wanted = compile::compile_snippet(&self.instructions, Profile::Isa).inputs;
        let mut inputs: Vec<(String, u128)> = vec![];
        for argument in &self.registers {
            let Some((name, value)) = argument.split_once('=') else {
                return Err(Failure::usage(format!("`{argument}` is no REGISTER=VALUE")));
            };
            let same = |r: &&SnippetRegister| r.name.trim_start_matches('%') == name.trim_start_matches('%');
            let Some(register) = wanted.iter().find(same) else {
                let all: Vec<_> = wanted.iter().map(|r| r.name.as_str()).collect();
                let there =
                    if all.is_empty() { "none is".into() } else { format!("read: {}", all.join(", ")) };
                return Err(Failure::launch(format!("`{name}` is not read by these instructions; {there}")));
            };
            if inputs.iter().any(|(n, _)| *n == register.name) {
                return Err(Failure::launch(format!("register `{name}` is given twice")));
            }
            let bits = packed(value, self.float_type(register.ty))
                .map_err(|e| Failure::launch(format!("register `{name}`: {e}")))?;
            inputs.push((register.name.clone(), bits));
        }
        Ok(inputs)
    }

    /// Halves and packed floats are kept in registers of plain bits; the modifiers tell which they are.
    fn float_type(&self, ty: Ty) -> Ty {
        let words = self.instructions.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        let modifiers = words.flat_map(|w| w.split('.').skip(1));
        let mut types = modifiers.filter_map(|m| Ty::parse(&format!(".{m}")));
        match ty.kind() {
            // Plain 32 and 64 bits take both integers and floats as they are.
            Kind::Bits => types
                .find(|t| {
                    t.bits() == ty.bits() && (t.kind() == Kind::Packed || matches!(t, Ty::F16 | Ty::BF16))
                })
                .unwrap_or(ty),
            _ => ty,
        }
    }

    /// How packed results are split for people: by the instruction that made them.
    fn parts(&self, ty: Ty) -> Option<Ty> {
        match ty {
            Ty::F16x2 => return Some(Ty::F16),
            Ty::BF16x2 => return Some(Ty::BF16),
            Ty::F32x2 => return Some(Ty::F32),
            Ty::U16x2 => return Some(Ty::U16),
            Ty::S16x2 => return Some(Ty::S16),
            Ty::U8x4 => return Some(Ty::U8),
            Ty::S8x4 => return Some(Ty::S8),
            _ => {}
        }
        let last = self.instructions.trim().trim_end_matches(';').rsplit(';').next()?.trim();
        let mnemonic = last.split_whitespace().find(|w| !w.starts_with('@'))?;
        let mut words = mnemonic.split('.');
        let opcode = words.next()?;
        let mut modifiers = words.map(|w| Ty::parse(&format!(".{w}")));
        let packed = modifiers.clone().flatten().find(|t| t.kind() == Kind::Packed && t.bits() == ty.bits());
        if let Some(packed) = packed.filter(|p| *p != ty) {
            return self.parts(packed);
        }
        let signed = modifiers.next().flatten().is_some_and(Ty::is_signed);
        isa::find(opcode).filter(|(e, _)| e.room.section.starts_with("9.7.18.2"))?;
        match (opcode.as_bytes().last(), signed) {
            (Some(b'4'), true) => Some(Ty::S8),
            (Some(b'4'), false) => Some(Ty::U8),
            (_, true) => Some(Ty::S16),
            (_, false) => Some(Ty::U16),
        }
    }

    fn text_of(&self, results: &[(&str, EvalOutput)]) -> String {
        let mut out = String::new();
        let several = results.len() > 1;
        for (profile, result) in results {
            if several {
                out += &format!("{DIM}{profile}{DIM:#}\n");
            }
            if self.trace {
                let width = output::column(result.trace.iter().map(|v| v.name.len()));
                let types = result.trace.iter().map(|v| v.ty.to_string().len()).max().unwrap_or(0);
                for v in &result.trace {
                    let ty = v.ty.to_string();
                    out += &format!(
                        "  {:width$}  {DIM}{ty:types$}{DIM:#}  {}\n",
                        v.name,
                        step_readings(v).join("  ")
                    );
                }
            }
            let width = output::column(result.outputs.iter().map(|v| v.name.len()));
            for v in &result.outputs {
                let mut readings = readings(v, self.parts(v.ty));
                readings[0] = format!("{CODE}{}{CODE:#}", readings[0]);
                out += &format!("{BOLD}{:width$}{BOLD:#}  {}\n", v.name, readings.join("  "));
            }
        }
        if let [(_, a), (_, b)] = results {
            let same = a.outputs.iter().zip(&b.outputs).all(|(a, b)| a.bits == b.bits);
            out += if same { "the profiles agree\n" } else { "the profiles differ\n" };
        }
        out
    }

    fn json_of(&self, results: &[(&str, EvalOutput)]) -> Json {
        let list: Vec<Json> = results
            .iter()
            .map(|(profile, r)| {
                let outputs: Vec<_> = r.outputs.iter().map(value_json).collect();
                let mut o = json!({ "profile": profile, "outputs": outputs });
                if self.trace {
                    o["trace"] = r.trace.iter().map(step_json).collect();
                }
                o
            })
            .collect();
        json!({ "instructions": self.instructions, "results": list })
    }
}

/// Without kernel, CTA and thread: there is only one of each.
fn failure(error: Error) -> Failure {
    let exit = error.kind().into();
    match error {
        Error::Fault(fault) => Failure::new(exit, fault.kind.to_string()),
        Error::Unsupported { what, .. } => Failure::new(exit, format!("not supported yet: {what}")),
        other => other.into(),
    }
}

/// A number, or the parts of a packed register, lowest first.
fn packed(text: &str, ty: Ty) -> Result<u128, String> {
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() == 1 {
        if ty.bits() == 128 {
            let digits = text.strip_prefix("0x").ok_or("128 bits are given as 0x…")?;
            return u128::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is no hex number"));
        }
        return number::parse(text, ty).map(u128::from);
    }
    let part = match (ty, ty.bits() as usize / parts.len()) {
        (Ty::F16x2, 16) => Ty::F16,
        (Ty::BF16x2, 16) => Ty::BF16,
        (Ty::F32x2, 32) => Ty::F32,
        (_, 8) => Ty::B8,
        (_, 16) => Ty::B16,
        (_, 32) => Ty::B32,
        (_, 64) => Ty::B64,
        _ => Ty::Pred,
    };
    if ty.kind() == Kind::Float || part.bits() as usize * parts.len() != ty.bits() as usize {
        return Err(format!("{} parts do not fill {ty}", parts.len()));
    }
    let mut bits = 0;
    for (i, text) in parts.iter().enumerate() {
        bits |= u128::from(number::parse(text.trim(), part)?) << (i as u32 * part.bits());
    }
    Ok(bits)
}

/// Hex first, then every way the bits can be read.
fn readings(v: &EvalValue, parts: Option<Ty>) -> Vec<String> {
    let width = v.ty.bits();
    if width == 1 {
        return vec![v.bits.to_string(), if v.bits == 1 { "true" } else { "false" }.into()];
    }
    if width > 64 {
        return vec![format!("0x{:032x}", v.bits)];
    }
    let bits = v.bits as u64;
    let mut out =
        vec![hex(bits, width), format!("s{width} {}", signed(bits, width)), format!("u{width} {bits}")];
    let float = match width {
        16 if v.ty == Ty::BF16 => Some(Ty::BF16),
        16 => Some(Ty::F16),
        32 => Some(Ty::F32),
        64 => Some(Ty::F64),
        _ => None,
    };
    if let Some(ty) = float {
        out.push(format!("{} {}", type_name(ty), number::show(bits, ty)));
    }
    if let Some(part) = parts.filter(|p| p.bits() < width) {
        let count = width / part.bits();
        let mask = (1u64 << part.bits()) - 1;
        let list: Vec<_> = (0..count).map(|i| number::show(bits >> (i * part.bits()) & mask, part)).collect();
        out.push(format!("{}x{count} {}", type_name(part), list.join(",")));
    }
    out
}

/// The elements of a step, lowest first.
fn elements(v: &EvalStep) -> Vec<u64> {
    // An i1 takes a byte.
    let width = v.ty.elem.bits().max(8);
    (0..u32::from(v.ty.count)).map(|i| (v.bits >> (i * width)) as u64 & v.ty.elem.mask()).collect()
}

/// A step read as what its type can be, all elements together.
fn step_readings(v: &EvalStep) -> Vec<String> {
    let (elements, width) = (elements(v), v.ty.elem.bits());
    let list = |f: &dyn Fn(u64) -> String| elements.iter().map(|e| f(*e)).collect::<Vec<_>>().join(",");
    let float = match v.ty.elem {
        Elem::F16 => Ty::F16,
        Elem::BF16 => Ty::BF16,
        Elem::F32 => Ty::F32,
        Elem::F64 => Ty::F64,
        Elem::I1 => return vec![list(&|e| e.to_string())],
        _ => {
            return vec![
                list(&|e| hex(e, width)),
                format!("s{width} {}", list(&|e| signed(e, width).to_string())),
                format!("u{width} {}", list(&|e| e.to_string())),
            ];
        }
    };
    vec![list(&|e| hex(e, width)), format!("{} {}", type_name(float), list(&|e| number::show(e, float)))]
}

fn step_json(v: &EvalStep) -> Json {
    let width = v.ty.elem.bits();
    let elements: Vec<_> = elements(v).into_iter().map(|e| hex(e, width)).collect();
    json!({ "name": v.name, "type": v.ty.to_string(), "elements": elements })
}

fn value_json(v: &EvalValue) -> Json {
    let width = v.ty.bits();
    let mut o = json!({ "name": v.name, "type": type_name(v.ty) });
    if width > 64 {
        o["hex"] = json!(format!("0x{:032x}", v.bits));
        return o;
    }
    let bits = v.bits as u64;
    o["hex"] = json!(hex(bits, width));
    o["unsigned"] = json!(bits);
    if width > 1 {
        o["signed"] = json!(signed(bits, width));
    }
    if let Some(ty) = [Ty::F16, Ty::F32, Ty::F64].into_iter().find(|t| t.bits() == width) {
        let ty = if v.ty == Ty::BF16 { Ty::BF16 } else { ty };
        let value = number::to_f64(bits, ty);
        // JSON has no NaN and no infinity.
        o["float"] = if value.is_finite() { json!(value) } else { json!(number::show(bits, ty)) };
    }
    o
}

#[cfg(test)]
mod tests {
    use super::packed;
    use hostwarp::isa::Ty;

    #[test]
    fn packed_registers_are_given_by_parts() {
        assert_eq!(packed("0x80000000", Ty::B32), Ok(0x8000_0000));
        assert_eq!(packed("1,2,3,250", Ty::B32), Ok(0xfa03_0201));
        assert_eq!(packed("-1,2", Ty::B32), Ok(0x0002_ffff));
        assert_eq!(packed("1.5,-2", Ty::F16x2), Ok(0xc000_3e00));
        assert_eq!(packed("0x10000000000000000", Ty::B128), Ok(1 << 64));
        assert!(packed("1,2,3", Ty::B32).is_err());
        assert!(packed("300,0,0,0", Ty::B32).is_err());
        assert!(packed("1,2", Ty::F64).is_err());
    }
}

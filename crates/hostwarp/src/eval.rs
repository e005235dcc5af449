//! Single instructions on given registers.

use crate::error::InputError;
use crate::schedule::run_grid;
use crate::{Device, Error};
use hostwarp_compile::{Severity, Snippet, Unusable, compile_snippet};
use hostwarp_interp::{Launch, Program};
use hostwarp_ir::{self as ir, Elem, Inst, IntBin, Mem, Op, Space, Type, Value};
use hostwarp_isa::{Profile, Ty};
use hostwarp_plan::Assume;
use hostwarp_system::time::Instant;
use std::time::Duration;

/// A register after [`eval`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalValue {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// Its bits.
    pub bits: u128,
}

/// A step inside an instruction, named as the manual names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalStep {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its bits, element 0 lowest; an i1 takes a byte.
    pub bits: u128,
}

/// What [`eval`] gives.
#[derive(Clone, Debug, Default)]
pub struct EvalOutput {
    /// The registers that were written.
    pub outputs: Vec<EvalValue>,
    /// The steps, in order.
    pub trace: Vec<EvalStep>,
    /// Warnings.
    pub diagnostics: Vec<hostwarp_compile::Diagnostic>,
}

/// Runs one or more instructions (separated by `;`) on registers with the given bits, one lane, on the reference engine. Registers
/// take the type of the place they stand in.
///
/// ```
/// # fn main() -> Result<(), hostwarp::Error> {
/// let inputs = [("r1", 0x8000_0000u128), ("r2", 2), ("r3", 7)];
/// let out = hostwarp::eval("vmad.s32.s32.u32.sat r0, r1, r2, -r3", &inputs, Default::default())?;
/// assert_eq!(out.outputs[0].bits, 0x8000_0000);
/// # Ok(())
/// # }
/// ```
pub fn eval(text: &str, inputs: &[(&str, u128)], profile: Profile) -> Result<EvalOutput, Error> {
    let snippet = compile_snippet(text, profile);
    let mut func = match &snippet.function {
        Ok(f) if !snippet.diagnostics.iter().any(|d| d.severity == Severity::Error) => f.clone(),
        Err(Unusable::Unsupported { line, what }) => {
            return Err(Error::Unsupported { kernel: "eval".into(), line: *line, what: what.clone() });
        }
        _ => {
            let (name, text) = ("instruction".to_string(), text.to_string());
            return Err(Error::Input(Box::new(InputError {
                name,
                text,
                diagnostics: snippet.diagnostics,
                others: vec![],
            })));
        }
    };
    let first_step = snippet.outputs.len() as u64 * u64::from(Snippet::STEP);
    let steps = store_steps(&mut func, first_step);
    ir::optimize(&mut func);
    ir::expand::expand(&mut func, ir::expand::Caps::default());
    ir::verify_primitive(&func).map_err(|e| Error::Bug(format!("`{text}` came out wrong: {e}")))?;

    let device = Device::builder().memory(1 << 24).threads(1).build()?;
    let out = device.buffer_named::<u8>("results", (first_step as usize + steps.len() * 16).max(16))?;
    let size = snippet.inputs.iter().map(|i| i.offset + Snippet::STEP).max().unwrap_or(16).max(16);
    let mut params = vec![0u8; size as usize];
    params[..8].copy_from_slice(&out.address().to_le_bytes());
    for input in &snippet.inputs {
        let Some((_, bits)) = inputs.iter().find(|(n, _)| same_register(n, &input.name)) else {
            let wants: Vec<String> =
                snippet.inputs.iter().map(|i| format!("{} ({})", i.name, i.ty)).collect();
            return Err(Error::launch(format!(
                "register `{}` has no value; the text reads {}",
                input.name,
                wants.join(", ")
            )));
        };
        let at = input.offset as usize;
        params[at..at + 16].copy_from_slice(&bits.to_le_bytes());
    }
    if let Some((extra, _)) =
        inputs.iter().find(|(n, _)| !snippet.inputs.iter().any(|i| same_register(n, &i.name)))
    {
        return Err(Error::launch(format!(
            "register `{extra}` is given a value, but the text does not read it"
        )));
    }
    let program = Program::new(func, Assume { group: 32, ..Assume::default() });
    let mut launch = Launch::new(&program, device.memory(), [1; 3], [1; 3]);
    launch.set_params(&params);
    launch.limits.deadline = Instant::now().checked_add(Duration::from_secs(10));
    run_grid(&launch, &crate::schedule::Interp, (device.kept_threads(), 1), None)?;

    let bytes = out.to_vec()?;
    let read =
        |at: usize, len: usize| bytes[at..at + len].iter().rev().fold(0u128, |v, b| v << 8 | u128::from(*b));
    let outputs = snippet
        .outputs
        .iter()
        .map(|o| EvalValue {
            name: o.name.clone(),
            ty: o.ty,
            bits: read(o.offset as usize, o.ty.bits().div_ceil(8) as usize),
        })
        .collect();
    let trace = steps
        .into_iter()
        .enumerate()
        .map(|(i, (name, ty))| EvalStep {
            name,
            ty,
            bits: read(first_step as usize + i * 16, ty.bytes().min(16)),
        })
        .collect();
    Ok(EvalOutput { outputs, trace, diagnostics: snippet.diagnostics })
}

fn same_register(a: &str, b: &str) -> bool {
    a.trim_start_matches('%') == b.trim_start_matches('%')
}

/// Stores every named value behind its definition, from `first` on, 16 bytes each. Gives their names and types.
fn store_steps(func: &mut ir::Function, first: u64) -> Vec<(String, Type)> {
    let mut steps = vec![];
    let make = |func: &mut ir::Function, insts: &mut Vec<Inst>, op: Op, args: &[Value], ty: Type| {
        let r = func.new_value(ty);
        insts.push(Inst { op, args: args.iter().copied().collect(), guard: None, result: Some(r), line: 0 });
        r
    };
    let names = func.names.clone();
    let store = |insts: &mut Vec<Inst>, address: Value, v: Value| {
        insts.push(Inst {
            op: Op::Store(Mem::weak(Space::Global)),
            args: [address, v].into_iter().collect(),
            guard: None,
            result: None,
            line: 0,
        });
    };
    for b in 0..func.blocks.len() {
        let mut insts = vec![];
        for inst in std::mem::take(&mut func.blocks[b].insts) {
            let named = inst.result.and_then(|r| names.get(&r).map(|n| (r, n.clone())));
            insts.push(inst);
            let Some((v, name)) = named else { continue };
            let ty = func.ty(v);
            if ty.bytes() > 16 {
                continue;
            }
            let bits = match ty.elem {
                Elem::I1 => make(func, &mut insts, Op::Zext, &[v], ty.with(Elem::I8)),
                e if e.is_float() => make(func, &mut insts, Op::ToBits, &[v], ty.to_int()),
                _ => v,
            };
            let zero = make(func, &mut insts, Op::Const(0), &[], Type::I64);
            let base = make(func, &mut insts, Op::Load(Mem::weak(Space::Param)), &[zero], Type::I64);
            let offset = first + steps.len() as u64 * 16;
            let offset = make(func, &mut insts, Op::Const(offset), &[], Type::I64);
            let address = make(func, &mut insts, Op::Int(IntBin::Add), &[base, offset], Type::I64);
            store(&mut insts, address, bits);
            steps.push((name, ty));
        }
        func.blocks[b].insts = insts;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ptxas keeps the low half of a constant amount before it clamps; an amount in a register is clamped.
    #[test]
    fn sm_90_keeps_16_bits_of_a_constant_amount() {
        let shifted = |text: &str, inputs: &[(&str, u128)], profile| {
            eval(text, inputs, profile).expect("runs").outputs[0].bits
        };
        for (amount, isa, sm_90) in [(0x8000_0000_u32, 0, 0x8001), (0x1_0001, 0, 2), (3, 8, 8), (16, 0, 0)] {
            let constant = format!("shl.b16 d, a, {amount}");
            assert_eq!(shifted(&constant, &[("a", 0x8001)], Profile::Isa), isa, "{amount}");
            assert_eq!(shifted(&constant, &[("a", 0x8001)], Profile::Sm90), sm_90, "{amount}");
            let given = [("a", 0x8001), ("b", amount.into())];
            assert_eq!(shifted("shl.b16 d, a, b", &given, Profile::Sm90), isa, "{amount}");
        }
        assert_eq!(shifted("shr.s16 d, a, 65537", &[("a", 0x8001)], Profile::Sm90), 0xc000);
        assert_eq!(shifted("shl.b32 d, a, 65537", &[("a", 1)], Profile::Sm90), 0);
    }
}

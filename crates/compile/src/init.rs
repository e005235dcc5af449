//! Initialisers of variables: bytes, and addresses that are filled in when the module is loaded.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::layout::{Dims, Place, Spec, Variable, ir_space};
use crate::module::{Data, Relocation};
use crate::scope::Entity;
use hostwarp_ir as ir;
use hostwarp_isa::{Kind, Ty};
use hostwarp_syntax::{BinaryOp, Const, Expr, ExprKind, Space};

/// Gaps up to this long are filled with zeros, longer ones begin a new piece.
const GAP: u64 = 64;

impl<'m> Checker<'m> {
    /// Evaluates the initialiser of a variable at `offset` of its image.
    pub fn initialise(
        &mut self,
        var: &mut Variable<'m>,
        dims: &Dims,
        spec: Spec,
        init: Expr<'m>,
        offset: u64,
    ) {
        if matches!(spec.ty, Ty::F16 | Ty::F16x2 | Ty::B128) {
            let text = format!("a variable of type `{}` cannot have an initial value", spec.ty);
            let d = Diagnostic::new(Code::NoInitialiser, text, init.span())
                .help("give its bits to a variable of an integer type");
            return self.report(d);
        }
        let mut bounds = dims.clone();
        if spec.vector > 1 {
            bounds.push(spec.vector as u64);
        }
        self.fill(var, &bounds, init, offset);
    }

    fn fill(&mut self, var: &mut Variable<'m>, bounds: &[u64], expr: Expr<'m>, offset: u64) {
        let Some((bound, inner)) = bounds.split_first() else {
            return self.leaf(var, expr, offset);
        };
        let ExprKind::Vector(list) = expr.kind() else {
            if !matches!(expr.kind(), ExprKind::Error) {
                let text = "an array or vector is initialised by a list in braces";
                self.report(Diagnostic::new(Code::BadInitialiser, text, expr.span()));
            }
            return;
        };
        if list.len() as u64 > *bound {
            let text = format!("{} values for {bound} elements", list.len());
            let first = list.get(*bound as usize).map_or(expr.span(), Expr::span);
            let last = list.get(list.len() - 1).map_or(first, Expr::span);
            let d = Diagnostic::new(Code::BadInitialiser, text, first.to(last));
            return self.report(d.label(if inner.is_empty() { "" } else { "one list in braces per row" }));
        }
        let scalar = (var.ty.bits() as u64).div_ceil(8);
        let stride = inner.iter().product::<u64>().saturating_mul(scalar);
        for (i, value) in list.iter().enumerate() {
            self.fill(var, inner, value, offset + i as u64 * stride);
        }
    }

    fn leaf(&mut self, var: &mut Variable<'m>, expr: Expr<'m>, offset: u64) {
        let ty = var.ty;
        let bytes = (ty.bits() as usize).div_ceil(8);
        if let Ok(value) = expr.evaluate() {
            return match float_or_int_bits(value, ty) {
                Some(bits) => self.write(var.space, offset, &bits.to_le_bytes()[..bytes.min(8)]),
                None => {
                    let found = if value.int_bits().is_some() { "an integer" } else { "a float" };
                    let text = format!("this is {found}, but the variable has type `{ty}`");
                    self.report(Diagnostic::new(Code::BadInitialiser, text, expr.span()));
                }
            };
        }
        if matches!(expr.kind(), ExprKind::Error) {
            return;
        }
        let Some(address) = symbol_address(expr) else {
            _ = self.constant(expr);
            return;
        };
        self.address(var, address, expr, offset, bytes as u8);
    }

    fn address(&mut self, var: &mut Variable<'m>, a: Address<'m>, expr: Expr<'m>, offset: u64, bytes: u8) {
        let fail = |c: &mut Self, text: String| {
            c.report(Diagnostic::new(Code::BadInitialiser, text, expr.span()));
        };
        let integer = !matches!(var.ty.kind(), Kind::Float | Kind::Packed | Kind::Pred);
        if !integer || (bytes < 4 && a.mask.is_none()) {
            return fail(self, format!("an address does not fit the type `{}`", var.ty));
        }
        // A run of ones, wherever it begins.
        if a.mask.is_some_and(|m| {
            m == 0 || (m >> m.trailing_zeros()) & ((m >> m.trailing_zeros()).wrapping_add(1)) != 0
        }) {
            return fail(self, "a mask names bits that stand together, such as `0xff00`".into());
        }
        let target = match self.scopes.lookup(a.name).map(|b| b.entity) {
            Some(Entity::Variable(index)) => self.variables[index as usize],
            Some(Entity::Function(index)) => {
                return self.function_address(var, index, a, expr, offset, bytes);
            }
            Some(Entity::Broken) => return,
            Some(other) => return fail(self, format!("`{}` is {}", a.name, other.describe())),
            None => {
                let text = format!("`{}` is not defined before this place", a.name);
                return self.report(Diagnostic::new(Code::UnknownName, text, expr.span()));
            }
        };
        if !matches!(target.space, Space::Global | Space::Const) {
            let text = format!(
                "the address of `{}` is not known before a launch: only `.global` and `.const` have one",
                a.name
            );
            return fail(self, text);
        }
        let Place::At(at) = target.place else {
            var.unsupported = Some("addresses of variables defined in other modules");
            return;
        };
        let relocation = Relocation {
            offset,
            bytes,
            space: ir_space(target.space),
            target: at,
            addend: a.addend,
            generic: a.generic,
            mask: a.mask.unwrap_or(u64::MAX),
        };
        self.image(var.space).relocations.push(relocation);
    }

    /// The address of a function is a number, known at once.
    fn function_address(
        &mut self,
        var: &mut Variable<'m>,
        index: u32,
        a: Address<'m>,
        expr: Expr<'m>,
        offset: u64,
        bytes: u8,
    ) {
        let file = self.file;
        let callable = &mut self.callables[index as usize];
        if callable.is_entry {
            var.unsupported = Some("addresses of kernels");
            return;
        }
        callable.called.get_or_insert((file, expr.span()));
        let address = self.program.take_address(ir::FuncId(index)).wrapping_add(a.addend as u64);
        let mask = a.mask.unwrap_or(u64::MAX);
        let number = (address & mask).checked_shr(mask.trailing_zeros()).unwrap_or(0);
        self.write(var.space, offset, &number.to_le_bytes()[..usize::from(bytes.min(8))]);
    }

    fn image(&mut self, space: Space) -> &mut crate::Image {
        if space == Space::Const { &mut self.out.constants } else { &mut self.out.globals }
    }

    fn write(&mut self, space: Space, offset: u64, bytes: &[u8]) {
        let data = &mut self.image(space).data;
        if let Some(last) = data.last_mut() {
            let end = last.offset + last.bytes.len() as u64;
            if offset >= end && offset - end <= GAP {
                last.bytes.resize((offset - last.offset) as usize, 0);
                last.bytes.extend_from_slice(bytes);
                return;
            }
        }
        data.push(Data { offset, bytes: bytes.to_vec() });
    }
}

/// `x`, `x + 4`, `generic(x) + 4`, `0xff00(x)`.
struct Address<'m> {
    name: &'m str,
    addend: i64,
    generic: bool,
    mask: Option<u64>,
}

fn symbol_address(expr: Expr<'_>) -> Option<Address<'_>> {
    match expr.kind() {
        ExprKind::Name(name) => Some(Address { name, addend: 0, generic: false, mask: None }),
        ExprKind::Paren(list) if list.len() == 1 => symbol_address(list.get(0)?),
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
            let mut address = symbol_address(left)?;
            let n = right.evaluate().ok()?.int_bits()? as i64;
            let n = if op == BinaryOp::Sub { n.wrapping_neg() } else { n };
            address.addend = address.addend.wrapping_add(n);
            Some(address)
        }
        ExprKind::Call(head, list) if list.len() == 1 => {
            let mut address = symbol_address(list.get(0)?)?;
            match head.name() {
                Some("generic") => address.generic = true,
                _ => address.mask = Some(head.evaluate().ok()?.int_bits()?),
            }
            Some(address)
        }
        _ => None,
    }
}

/// The bits of a constant as a variable or operand of this type has them: integers cut to the width, floats rounded.
/// Nothing where an integer meets a float type or the other way round.
pub(crate) fn float_or_int_bits(value: Const, ty: Ty) -> Option<u64> {
    let mask = u64::MAX >> (64 - ty.bits().min(64));
    match (ty, value) {
        (Ty::F32, Const::F64(v)) => Some(u64::from((v as f32).to_bits())),
        (Ty::F32, Const::F32Bits(bits)) => Some(u64::from(bits)),
        (Ty::F64, Const::F64(v)) => Some(v.to_bits()),
        (Ty::F64, Const::F32Bits(bits)) => Some(f64::from(f32::from_bits(bits)).to_bits()),
        (ty, _) if ty.is_float() => None,
        (_, value) => value.int_bits().map(|bits| bits & mask),
    }
}

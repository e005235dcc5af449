//! Constant expressions by the manual's rules: 64-bit integers, signed or unsigned, and doubles.
//!
//! The manual's text and its table disagree on `& | ^`; ptxas follows the text (the usual conversions), and so does
//! this. ptxas itself departs from both in two places where this does not: the result of `%` is unsigned there, and
//! `?:` keeps the type of the chosen side.

use crate::{BinaryOp, Expr, ExprKind, FloatLiteral, Span, UnaryOp};

/// The value of a constant expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Const {
    /// A signed integer.
    S64(i64),
    /// An unsigned integer.
    U64(u64),
    /// A double.
    F64(f64),
    /// The exact bits of a single, from a `0f…` literal; only on its own.
    F32Bits(u32),
}

impl Const {
    /// The 64 bits of an integer.
    pub fn int_bits(self) -> Option<u64> {
        match self {
            Const::S64(value) => Some(value as u64),
            Const::U64(value) => Some(value),
            _ => None,
        }
    }

    fn is_unsigned(self) -> bool {
        matches!(self, Const::U64(_))
    }
}

/// Why an expression has no constant value, and which part is to blame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EvalError {
    /// Why.
    pub kind: EvalErrorKind,
    /// The part.
    pub span: Span,
}

/// Why an expression has no constant value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EvalErrorKind {
    /// A name that is no constant, an address, a vector.
    NotConstant,
    /// The operator wants integers.
    WantsInteger,
    /// An integer and a float meet; PTX does not convert.
    MixedTypes,
    /// A `0f…` literal in an expression.
    SingleInExpression,
    /// Division or remainder by zero.
    DivisionByZero,
    /// A cast to something other than `.s64` or `.u64`.
    BadCast,
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.kind {
            EvalErrorKind::NotConstant => "this is not a constant",
            EvalErrorKind::WantsInteger => "this operator wants integers",
            EvalErrorKind::MixedTypes => "an integer and a floating-point value cannot be mixed",
            EvalErrorKind::SingleInExpression => "a `0f` literal cannot be part of an expression",
            EvalErrorKind::DivisionByZero => "division by zero",
            EvalErrorKind::BadCast => "only casts to `.s64` and `.u64` exist",
        })
    }
}

impl std::error::Error for EvalError {}

impl<'m> Expr<'m> {
    /// The value of a constant expression; `WARP_SZ` is 32.
    ///
    /// ```
    /// use hostwarp_syntax::{Const, Statement, parse};
    /// let module = parse(".global .u32 x = (7 - 8) >> 1 == -1 ? 0x10U * 2 : 0;").module;
    /// let Some(Statement::Declaration(d)) = module.items().next() else { panic!() };
    /// assert_eq!(d.variables().get(0).unwrap().init().unwrap().evaluate(), Ok(Const::U64(32)));
    /// ```
    pub fn evaluate(self) -> Result<Const, EvalError> {
        self.evaluate_with(&|_| None)
    }

    /// The same, with `lookup` for the names other than `WARP_SZ`.
    pub fn evaluate_with(self, lookup: &dyn Fn(&'m str) -> Option<Const>) -> Result<Const, EvalError> {
        let fail = |kind| Err(EvalError { kind, span: self.span() });
        match self.kind() {
            ExprKind::Int(int) if int.unsigned => Ok(Const::U64(int.value)),
            ExprKind::Int(int) => Ok(Const::S64(int.value as i64)),
            ExprKind::Float(FloatLiteral::F64(value)) => Ok(Const::F64(value)),
            ExprKind::Float(FloatLiteral::F32Bits(bits)) => Ok(Const::F32Bits(bits)),
            ExprKind::Name("WARP_SZ") => Ok(Const::S64(32)),
            ExprKind::Name(name) => match lookup(name) {
                Some(value) => Ok(value),
                None => fail(EvalErrorKind::NotConstant),
            },
            ExprKind::Paren(list) if list.len() == 1 => list
                .iter()
                .next()
                .map_or_else(|| fail(EvalErrorKind::NotConstant), |e| e.evaluate_with(lookup)),
            ExprKind::Unary(op, operand) => unary(op, operand.evaluate_with(lookup)?).or_else(fail),
            ExprKind::Binary(op, left, right) => {
                let (a, b) = (left.evaluate_with(lookup)?, right.evaluate_with(lookup)?);
                binary(op, a, b).or_else(fail)
            }
            ExprKind::Ternary(condition, yes, no) => {
                let (a, b) = (yes.evaluate_with(lookup)?, no.evaluate_with(lookup)?);
                match condition.evaluate_with(lookup)?.int_bits() {
                    None => Err(EvalError { kind: EvalErrorKind::WantsInteger, span: condition.span() }),
                    Some(c) => choose(c != 0, a, b).or_else(fail),
                }
            }
            ExprKind::Cast(name, operand) => {
                let Some(bits) = operand.evaluate_with(lookup)?.int_bits() else {
                    return fail(EvalErrorKind::WantsInteger);
                };
                match name {
                    "s64" => Ok(Const::S64(bits as i64)),
                    "u64" => Ok(Const::U64(bits)),
                    _ => fail(EvalErrorKind::BadCast),
                }
            }
            _ => fail(EvalErrorKind::NotConstant),
        }
    }
}

fn unary(op: UnaryOp, value: Const) -> Result<Const, EvalErrorKind> {
    Ok(match (op, value) {
        (UnaryOp::Plus, Const::F32Bits(_)) => return Err(EvalErrorKind::SingleInExpression),
        (UnaryOp::Plus, value) => value,
        (UnaryOp::Neg, Const::S64(v)) => Const::S64(v.wrapping_neg()),
        (UnaryOp::Neg, Const::U64(v)) => Const::U64(v.wrapping_neg()),
        (UnaryOp::Neg, Const::F64(v)) => Const::F64(-v),
        (UnaryOp::Neg, Const::F32Bits(_)) => return Err(EvalErrorKind::SingleInExpression),
        (UnaryOp::Not, value) => {
            Const::S64((value.int_bits().ok_or(EvalErrorKind::WantsInteger)? == 0) as i64)
        }
        (UnaryOp::Complement, value) => Const::U64(!value.int_bits().ok_or(EvalErrorKind::WantsInteger)?),
    })
}

fn choose(condition: bool, yes: Const, no: Const) -> Result<Const, EvalErrorKind> {
    let chosen = if condition { yes } else { no };
    match (yes.int_bits(), no.int_bits()) {
        (Some(_), Some(_)) if yes.is_unsigned() || no.is_unsigned() => {
            Ok(Const::U64(chosen.int_bits().unwrap_or_default()))
        }
        (Some(_), Some(_)) => Ok(chosen),
        (None, None) => Ok(chosen),
        _ => Err(EvalErrorKind::MixedTypes),
    }
}

fn binary(op: BinaryOp, left: Const, right: Const) -> Result<Const, EvalErrorKind> {
    if let (Some(a), Some(b)) = (left.int_bits(), right.int_bits()) {
        return integers(op, a, b, left.is_unsigned(), left.is_unsigned() || right.is_unsigned());
    }
    match (left, right) {
        (Const::F64(a), Const::F64(b)) => floats(op, a, b),
        (Const::F32Bits(_), _) | (_, Const::F32Bits(_)) => Err(EvalErrorKind::SingleInExpression),
        _ => Err(EvalErrorKind::MixedTypes),
    }
}

fn truth(value: bool) -> Const {
    Const::S64(value as i64)
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<Const, EvalErrorKind> {
    Ok(match op {
        BinaryOp::Add => Const::F64(a + b),
        BinaryOp::Sub => Const::F64(a - b),
        BinaryOp::Mul => Const::F64(a * b),
        BinaryOp::Div => Const::F64(a / b),
        BinaryOp::Less => truth(a < b),
        BinaryOp::LessEqual => truth(a <= b),
        BinaryOp::Greater => truth(a > b),
        BinaryOp::GreaterEqual => truth(a >= b),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        _ => return Err(EvalErrorKind::WantsInteger),
    })
}

fn integers(
    op: BinaryOp,
    a: u64,
    b: u64,
    left_unsigned: bool,
    unsigned: bool,
) -> Result<Const, EvalErrorKind> {
    let typed = |bits: u64| if unsigned { Const::U64(bits) } else { Const::S64(bits as i64) };
    let ordered = |u: fn(&u64, &u64) -> bool, s: fn(&i64, &i64) -> bool| {
        truth(if unsigned { u(&a, &b) } else { s(&(a as i64), &(b as i64)) })
    };
    // The manual leaves larger amounts open; ptxas takes them modulo 64.
    let amount = (b & 63) as u32;
    let kept = |bits: u64| if left_unsigned { Const::U64(bits) } else { Const::S64(bits as i64) };
    Ok(match op {
        BinaryOp::Add => typed(a.wrapping_add(b)),
        BinaryOp::Sub => typed(a.wrapping_sub(b)),
        BinaryOp::Mul => typed(a.wrapping_mul(b)),
        BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err(EvalErrorKind::DivisionByZero),
        BinaryOp::Div if unsigned => Const::U64(a / b),
        BinaryOp::Div => Const::S64((a as i64).wrapping_div(b as i64)),
        BinaryOp::Rem => Const::S64((a % b) as i64),
        BinaryOp::Shl => kept(a << amount),
        BinaryOp::Shr if left_unsigned => Const::U64(a >> amount),
        BinaryOp::Shr => Const::S64((a as i64) >> amount),
        BinaryOp::BitAnd => typed(a & b),
        BinaryOp::BitOr => typed(a | b),
        BinaryOp::BitXor => typed(a ^ b),
        BinaryOp::Less => ordered(u64::lt, i64::lt),
        BinaryOp::LessEqual => ordered(u64::le, i64::le),
        BinaryOp::Greater => ordered(u64::gt, i64::gt),
        BinaryOp::GreaterEqual => ordered(u64::ge, i64::ge),
        BinaryOp::Equal => truth(a == b),
        BinaryOp::NotEqual => truth(a != b),
        BinaryOp::And => truth(a != 0 && b != 0),
        BinaryOp::Or => truth(a != 0 || b != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Statement, parse};

    fn eval(text: &str) -> Result<Const, EvalErrorKind> {
        let parsed = parse(format!(".global .u64 x = {text};"));
        assert_eq!(parsed.errors, [], "{text}");
        let Some(Statement::Declaration(declaration)) = parsed.module.items().next() else {
            panic!("{text}")
        };
        declaration.variables().get(0).unwrap().init().unwrap().evaluate().map_err(|e| e.kind)
    }

    #[test]
    fn integers_are_signed_or_unsigned() {
        use Const::*;
        // Those marked ptxas were read from what it assembled.
        for (text, value) in [
            ("42", S64(42)),
            ("42U", U64(42)),
            ("0xfabc123400000000", U64(0xfabc123400000000)),
            ("-1U", U64(u64::MAX)),
            ("-(-42)", S64(42)),
            ("~0", U64(u64::MAX)),
            ("!5", S64(0)),
            ("!0", S64(1)),
            ("(-1 & -1) >> 60", S64(-1)),                  // ptxas
            ("(-1 | 0) / 2", S64(0)),                      // ptxas
            ("(-1 ^ 0) < 0", S64(1)),                      // ptxas
            ("~0 < 0", S64(0)),                            // ptxas
            ("((.u64)-1) >> 60", U64(15)),                 // ptxas
            ("((.s64)0xffffffffffffffff) >> 60", S64(-1)), // ptxas
            ("1 << 65", S64(2)),                           // ptxas
            ("-1 >> 64", S64(-1)),                         // ptxas
            ("1 << -1", S64(i64::MIN)),                    // ptxas
            ("-1 < 1U", S64(0)),                           // ptxas
            ("-1 == 0xffffffffffffffff", S64(1)),          // ptxas
            ("-7 % 3", S64(0)),                            // ptxas
            ("(5 - 6) % 4", S64(3)),                       // ptxas
            ("-1U / 2", U64(i64::MAX as u64)),             // ptxas
            ("-9223372036854775808 / -1", U64(0)),         // ptxas
            ("(.s64)0x8000000000000000 / -1", S64(i64::MIN)),
            ("-10 / 3", S64(-3)),
            ("2 + 3 * 4", S64(14)),
            ("8 >> 1 >> 1", S64(2)),
            ("1 ? 2 : 0 ? 3 : 4", S64(2)),
            ("0 ? 2 : 0 ? 3 : 4", S64(4)),
            ("1 ? -1 : 1U", U64(u64::MAX)),
            ("5 && 0 || 3", S64(1)),
            ("1 | 6 ^ 2 & 3", S64(5)),
            ("3 != 4 == 1", S64(1)),
            ("WARP_SZ - 1", S64(31)),
            ("010 + 0b11", S64(11)),
        ] {
            assert_eq!(eval(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn doubles() {
        assert_eq!(eval("1.5 + 2.0 * -0.5"), Ok(Const::F64(0.5)));
        assert_eq!(eval("1.0 / 3.0 < .5"), Ok(Const::S64(1)));
        assert_eq!(eval("1 ? 1.0 : 2.0"), Ok(Const::F64(1.0)));
        assert_eq!(eval("-0d3ff0000000000000"), Ok(Const::F64(-1.0)));
        assert_eq!(eval("0F3f800000"), Ok(Const::F32Bits(0x3f80_0000)));
    }

    #[test]
    fn what_has_no_value() {
        use EvalErrorKind::*;
        for (text, kind) in [
            ("x", NotConstant),
            ("{1}", NotConstant),
            ("1 + 1.0", MixedTypes),
            ("1 ? 1 : 1.0", MixedTypes),
            ("1.0 % 2.0", WantsInteger),
            ("~1.0", WantsInteger),
            ("1.0 ? 1 : 2", WantsInteger),
            ("-0f3f800000", SingleInExpression),
            ("0f3f800000 + 1.0", SingleInExpression),
            ("1 / 0", DivisionByZero),
            ("1 % 0", DivisionByZero),
            ("(.u32) 1", BadCast),
        ] {
            assert_eq!(eval(text), Err(kind), "{text}");
        }
    }
}

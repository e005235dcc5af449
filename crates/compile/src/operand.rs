//! Operands with their names looked up.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::scope::{Entity, Reg};
use crate::special::{self, Found, Special};
use hostwarp_isa::Ty;
use hostwarp_syntax::{BinaryOp, Const, EvalErrorKind, Expr, ExprKind, Span, UnaryOp};

/// An operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'m> {
    pub kind: Kind,
    /// Its selector, with the dot.
    pub selector: Option<&'m str>,
    pub neg: bool,
    pub not: bool,
    /// What is added to a register: `%r1+4`, as ptxas takes it where a register is read.
    pub plus: i64,
    pub span: Span,
}

/// What an operand is. Parts of vectors and pairs are in a [`Pool`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Reg(Reg),
    Special(&'static Special),
    Const(Const),
    Sink,
    /// First element and count.
    Vector(u32, u32),
    /// First half; the second follows.
    Pair(u32),
    Address(Address),
    Label(u32),
    /// The address of a variable plus an offset.
    Variable {
        index: u32,
        offset: i64,
    },
    /// A function or kernel: index into the module's table.
    Function(u32),
    Other(&'static str),
    /// Something was wrong with it and has been reported.
    Error,
}

/// What stands in brackets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub base: Base,
    pub offset: i64,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    Reg(Reg),
    Variable(u32),
    /// Nothing: the offset is the address.
    Absolute,
    /// A list, as textures take it.
    List(u32, u32),
}

/// Storage for the parts of one instruction's operands.
#[derive(Default)]
pub(crate) struct Pool<'m> {
    parts: Vec<Operand<'m>>,
}

impl<'m> Pool<'m> {
    pub fn clear(&mut self) {
        self.parts.clear();
    }

    pub fn slice(&self, first: u32, count: u32) -> &[Operand<'m>] {
        self.parts.get(first as usize..(first + count) as usize).unwrap_or_default()
    }

    fn add(&mut self, parts: &[Operand<'m>]) -> u32 {
        self.parts.extend_from_slice(parts);
        (self.parts.len() - parts.len()) as u32
    }
}

impl<'m> Checker<'m> {
    /// Looks up an operand that stands where no form says what it may be decorated with (a guard, an argument of a call, an index):
    /// nothing. Signs and selectors are reported.
    pub fn operand(&mut self, expr: Expr<'m>, pool: &mut Pool<'m>) -> Operand<'m> {
        let operand = self.decorated_operand(expr, pool);
        let what = match operand {
            Operand { kind: Kind::Error, .. } => return operand,
            Operand { neg: true, .. } => "cannot be negated here".to_string(),
            Operand { not: true, .. } => "cannot be complemented here".to_string(),
            Operand { plus, .. } if plus != 0 => "cannot be a sum here".to_string(),
            Operand { selector: Some(selector), .. } => format!("takes no selector, found `{selector}`"),
            _ => return operand,
        };
        let text = format!("`{}` {what}", expr.text());
        self.report(Diagnostic::new(Code::BadOperand, text, operand.span));
        plain(Kind::Error, operand.span)
    }

    /// Looks up everything in an operand of an instruction. Whoever calls this hands the signs and selectors to
    /// [`hostwarp_isa::resolve`], which refuses those that the form does not take.
    pub fn decorated_operand(&mut self, expr: Expr<'m>, pool: &mut Pool<'m>) -> Operand<'m> {
        let span = expr.span();
        let mut operand =
            Operand { kind: Kind::Error, selector: None, neg: false, not: false, plus: 0, span };
        operand.kind = match expr.kind() {
            ExprKind::Name(name) => self.named(name, span, pool),
            ExprKind::Int(int) if int.unsigned => Kind::Const(Const::U64(int.value)),
            ExprKind::Int(int) => Kind::Const(Const::S64(int.value as i64)),
            ExprKind::Float(_) => self.constant_kind(expr),
            ExprKind::Sink => Kind::Sink,
            ExprKind::Address(list) => self.address_kind(list, pool),
            ExprKind::Member(base, selector) => return self.member(expr, base, selector, pool),
            ExprKind::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), inner) if !is_number(inner) => {
                let inner = self.decorated_operand(inner, pool);
                if matches!(inner.kind, Kind::Error) {
                    return inner;
                }
                if inner.neg || inner.not {
                    return plain(Kind::Other("something with two signs"), span);
                }
                return Operand { neg: op == UnaryOp::Neg, not: op == UnaryOp::Not, span, ..inner };
            }
            ExprKind::Pair(a, b) => {
                let halves = [self.decorated_operand(a, pool), self.decorated_operand(b, pool)];
                match halves.iter().any(|h| matches!(h.kind, Kind::Error)) {
                    true => Kind::Error,
                    false => Kind::Pair(pool.add(&halves)),
                }
            }
            ExprKind::Vector(list) => {
                let elements: smallvec::SmallVec<[_; 8]> =
                    list.iter().map(|e| self.decorated_operand(e, pool)).collect();
                if elements.iter().any(|e| e.plus != 0) {
                    return plain(Kind::Other("a vector with a sum in it"), span);
                }
                match elements.iter().any(|h| matches!(h.kind, Kind::Error)) {
                    true => Kind::Error,
                    false => Kind::Vector(pool.add(&elements), elements.len() as u32),
                }
            }
            ExprKind::Index(..) | ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..) if matches!(expr.evaluate(), Err(e) if e.kind == EvalErrorKind::NotConstant) => {
                match self.register_sum(expr, pool).or_else(|| self.base_and_offset(expr, pool)) {
                    Some(Address { base: Base::Variable(index), offset }) => Kind::Variable { index, offset },
                    Some(Address { base: Base::Reg(reg), offset }) => {
                        operand.plus = offset;
                        Kind::Reg(reg)
                    }
                    Some(_) => Kind::Other("a sum"),
                    None => Kind::Error,
                }
            }
            ExprKind::Paren(list) if list.len() != 1 => Kind::Other("a list in parentheses"),
            ExprKind::Paren(list) if list.get(0).is_some_and(|e| !is_number(e)) => {
                Kind::Other("a list in parentheses")
            }
            ExprKind::Call(..) => Kind::Other("a call"),
            ExprKind::Str(_) => Kind::Other("a string"),
            ExprKind::DotName(_) => Kind::Other("a directive"),
            ExprKind::Assign(..) | ExprKind::Range(..) => Kind::Other("this"),
            ExprKind::Error => Kind::Error,
            _ => self.constant_kind(expr),
        };
        operand
    }

    fn constant_kind(&mut self, expr: Expr<'m>) -> Kind {
        self.constant(expr).map_or(Kind::Error, Kind::Const)
    }

    fn named(&mut self, name: &'m str, span: Span, pool: &mut Pool<'m>) -> Kind {
        match self.scopes.lookup(name).map(|b| b.entity) {
            Some(Entity::Reg(reg, 1)) => Kind::Reg(reg),
            Some(Entity::Reg(reg, elements)) => {
                let parts: smallvec::SmallVec<[_; 8]> =
                    (0..elements).map(|element| plain(Kind::Reg(Reg { element, ..reg }), span)).collect();
                Kind::Vector(pool.add(&parts), elements as u32)
            }
            Some(Entity::Variable(index)) => Kind::Variable { index, offset: 0 },
            Some(Entity::Label(index)) => Kind::Label(index),
            Some(Entity::Function(index)) => Kind::Function(index),
            Some(Entity::Targets(_) | Entity::CallTargets(_)) => Kind::Other("a list of targets"),
            Some(Entity::Prototype(_)) => Kind::Other("a prototype"),
            Some(Entity::Broken) => Kind::Error,
            None if name == "WARP_SZ" => Kind::Const(Const::S64(32)),
            None => self.special(name, span, pool),
        }
    }

    /// A name that was never declared: a special register, or a mistake.
    fn special(&mut self, name: &str, span: Span, pool: &mut Pool<'m>) -> Kind {
        match special::find(name) {
            Found::One(special) => self.special_since(special, span),
            Found::Vector(components) => {
                let parts: smallvec::SmallVec<[_; 4]> =
                    components.into_iter().map(|s| plain(Kind::Special(s), span)).collect();
                Kind::Vector(pool.add(&parts), parts.len() as u32)
            }
            Found::Nothing => {
                self.undefined(name, span);
                Kind::Error
            }
        }
    }

    fn special_since(&mut self, special: &'static Special, span: Span) -> Kind {
        let since = special.since;
        if self.env.ptx < since.ptx {
            let text = format!("`{}` came with PTX {}.{}", special.name, since.ptx / 10, since.ptx % 10);
            self.report(Diagnostic::new(Code::NeedsVersion, text, span));
            return Kind::Error;
        }
        if self.env.sm < since.sm {
            let text = format!("`{}` needs `sm_{}` or newer", special.name, since.sm);
            self.report(Diagnostic::new(Code::NeedsTarget, text, span));
            return Kind::Error;
        }
        Kind::Special(special)
    }

    pub fn undefined(&mut self, name: &str, span: Span) {
        let code = if name.starts_with(['%', '_']) { Code::UnknownName } else { Code::UnknownLabel };
        let (code, text) = match code {
            Code::UnknownName => (code, format!("`{name}` is not defined")),
            _ if self.branching => (code, format!("there is no label `{name}` to go to")),
            _ => (Code::UnknownName, format!("`{name}` is not defined")),
        };
        let d = Diagnostic::new(code, text, span).label("not defined");
        let d = self.suggest(d, name);
        self.report(d);
    }

    fn member(
        &mut self,
        expr: Expr<'m>,
        base: Expr<'m>,
        selector: &'m str,
        pool: &mut Pool<'m>,
    ) -> Operand<'m> {
        let span = expr.span();
        let with_dot = expr.selector_span().map_or("", |s| self.syntax.text(s));
        if let Some(name) = base.name() {
            match self.scopes.lookup(name).map(|b| b.entity) {
                Some(Entity::Reg(reg, elements)) if elements > 1 => {
                    return match component(selector).filter(|c| *c < elements) {
                        Some(element) => plain(Kind::Reg(Reg { element, ..reg }), span),
                        None => {
                            let text = format!("`{name}` has no component `.{selector}`");
                            let at = expr.selector_span().unwrap_or(span);
                            let names = &"xyzw"[..(elements as usize).min(4)];
                            let all: Vec<String> = names.chars().map(|c| format!(".{c}")).collect();
                            let d = Diagnostic::new(Code::UnknownName, text, at)
                                .help(format!("it has {}", all.join(" ")));
                            self.report(d);
                            plain(Kind::Error, span)
                        }
                    };
                }
                Some(_) => {}
                None => match special::find(expr.text()) {
                    Found::Nothing if special::has_components(name) => {
                        let text = format!("`{name}` has no component `.{selector}`");
                        let at = expr.selector_span().unwrap_or(span);
                        let d = Diagnostic::new(Code::UnknownName, text, at).help("it has .x .y .z");
                        self.report(d);
                        return plain(Kind::Error, span);
                    }
                    Found::Nothing => {}
                    _ => return plain(self.special(expr.text(), span, pool), span),
                },
            }
        }
        let inner = self.decorated_operand(base, pool);
        if matches!(inner.kind, Kind::Error) {
            return inner;
        }
        match inner.selector {
            None => Operand { selector: Some(with_dot), span, ..inner },
            Some(_) => plain(Kind::Other("something with two selectors"), span),
        }
    }

    fn address_kind(&mut self, list: hostwarp_syntax::ExprList<'m>, pool: &mut Pool<'m>) -> Kind {
        match (list.get(0), list.len()) {
            (Some(inner), 1) if matches!(inner.kind(), ExprKind::Index(..)) => {
                _ = self.bad_address(inner, "an element of an array stands without brackets around it");
                Kind::Error
            }
            (Some(inner), 1) => self.base_and_offset(inner, pool).map_or(Kind::Error, Kind::Address),
            _ => {
                let parts: smallvec::SmallVec<[_; 4]> =
                    list.iter().map(|e| self.decorated_operand(e, pool)).collect();
                match parts.iter().any(|p| matches!(p.kind, Kind::Error)) {
                    true => Kind::Error,
                    false => {
                        let base = Base::List(pool.add(&parts), parts.len() as u32);
                        Kind::Address(Address { base, offset: 0 })
                    }
                }
            }
        }
    }

    /// `%f1+4`: a number added to a register of any type.
    fn register_sum(&mut self, expr: Expr<'m>, pool: &mut Pool<'m>) -> Option<Address> {
        let ExprKind::Binary(BinaryOp::Add, left, right) = expr.kind() else { return None };
        let n = right.evaluate().ok()?.int_bits()?;
        let Some(Entity::Reg(..)) = self.scopes.lookup(left.name()?).map(|b| b.entity) else { return None };
        match self.operand(left, pool).kind {
            Kind::Reg(reg) if reg.ty != Ty::Pred => Some(Address { base: Base::Reg(reg), offset: n as i64 }),
            _ => None,
        }
    }

    /// `base`, `base + 4`, `array[2]`, `1024`.
    fn base_and_offset(&mut self, expr: Expr<'m>, pool: &mut Pool<'m>) -> Option<Address> {
        if let Ok(value) = expr.evaluate() {
            return match value.int_bits() {
                Some(bits) => Some(Address { base: Base::Absolute, offset: bits as i64 }),
                None => self.bad_address(expr, "a float is no address"),
            };
        }
        match expr.kind() {
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
                let n = match right.evaluate() {
                    Ok(n) => n.int_bits(),
                    Err(_) if matches!(right.kind(), ExprKind::Error) => return None,
                    Err(_) if left.evaluate().is_ok() => {
                        return self.bad_address(left, "the constant stands behind what it is added to");
                    }
                    Err(_) => return self.bad_address(right, "only a constant can be added in an address"),
                };
                let Some(n) = n else {
                    return self.bad_address(right, "a float cannot be added to an address");
                };
                if op == BinaryOp::Sub {
                    let why = format!("PTX has no minus in addresses; write `+-{}`", right.text());
                    return self.bad_address(expr, &why);
                }
                let (base, n) = (left, n as i64);
                let address = self.base_and_offset(base, pool)?;
                Some(Address { offset: address.offset.wrapping_add(n), ..address })
            }
            ExprKind::Index(base, index) => {
                let address = self.base_and_offset(base, pool)?;
                let Base::Variable(variable) = address.base else {
                    return self.bad_address(base, "only an array can be indexed");
                };
                let Some(n) = self.constant(index)?.int_bits() else {
                    return self.bad_address(index, "an index is an integer");
                };
                if !self.variables[variable as usize].array {
                    return self.bad_address(base, "only an array can be indexed");
                }
                let size = self.variables[variable as usize].element as i64;
                let offset = address.offset.wrapping_add((n as i64).wrapping_mul(size));
                Some(Address { offset, ..address })
            }
            ExprKind::Paren(list) if list.len() == 1 => self.base_and_offset(list.get(0)?, pool),
            ExprKind::Name(_) | ExprKind::Member(..) => {
                let operand = self.operand(expr, pool);
                match operand.kind {
                    Kind::Reg(reg) if operand.selector.is_none() => {
                        if is_address_type(reg.ty) {
                            return Some(Address { base: Base::Reg(reg), offset: 0 });
                        }
                        let text = format!("a register of type `{}` holds no address", reg.ty);
                        self.bad_address(expr, &text)
                    }
                    Kind::Variable { index, offset } => Some(Address { base: Base::Variable(index), offset }),
                    Kind::Error => None,
                    _ => self.bad_address(expr, "this is no address"),
                }
            }
            ExprKind::Error => None,
            _ => self.bad_address(expr, "this is no address"),
        }
    }

    fn bad_address(&mut self, expr: Expr<'m>, why: &str) -> Option<Address> {
        let d = Diagnostic::new(Code::BadAddress, why, expr.span()).note(
            "an address is a register or variable, with a constant added to it if need be: `[%rd1+4]`, `[array]`",
        );
        self.report(d);
        None
    }
}

fn plain<'m>(kind: Kind, span: Span) -> Operand<'m> {
    Operand { kind, selector: None, neg: false, not: false, plus: 0, span }
}

fn is_address_type(ty: Ty) -> bool {
    use hostwarp_isa::Kind::{Bits, Signed, Unsigned};
    matches!(ty.kind(), Bits | Unsigned | Signed) && ty.bits() <= 64
}

fn component(selector: &str) -> Option<u8> {
    Some(match selector {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}

/// Whether a sign before it belongs to a number rather than to a register.
fn is_number(expr: Expr<'_>) -> bool {
    match expr.kind() {
        ExprKind::Name("WARP_SZ") | ExprKind::Int(_) | ExprKind::Float(_) => true,
        ExprKind::Name(_) | ExprKind::Member(..) => false,
        ExprKind::Unary(_, inner) => is_number(inner),
        ExprKind::Paren(list) => list.len() == 1 && list.get(0).is_some_and(is_number),
        ExprKind::Binary(..) | ExprKind::Ternary(..) | ExprKind::Cast(..) => true,
        _ => false,
    }
}

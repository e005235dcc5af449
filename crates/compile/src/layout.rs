//! Variables in memory: what a declaration says, how large it is, where it goes.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::specifiers::Site;
use hostwarp_ir as ir;
use hostwarp_isa::{Kind, Ty};
use hostwarp_syntax::{self as syntax, Const, Expr, Linkage, Space, Span, Specifiers};
use smallvec::SmallVec;

/// What a declaration says about all of its variables.
#[derive(Clone, Copy)]
pub(crate) struct Spec {
    pub space: Space,
    pub ty: Ty,
    pub vector: u8,
    pub align: Option<u64>,
    pub linkage: Option<Linkage>,
    /// A texture, sampler or surface reference.
    pub opaque: bool,
}

/// Where a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// At this offset of its image, frame or parameter block.
    At(u64),
    /// In shared memory: index into the module's table. Each kernel that uses it finds a place for it.
    Shared(u32),
    /// In the function's frame, or a parameter that its caller has in local memory.
    Local,
    /// Behind all static shared memory.
    Dynamic,
    /// In another module.
    Elsewhere,
}

/// A variable in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variable<'m> {
    pub name: &'m str,
    pub space: Space,
    pub ty: Ty,
    /// Bytes of one element, vectors as a whole.
    pub element: u64,
    /// It can be indexed.
    pub array: bool,
    pub size: u64,
    pub align: u64,
    pub place: Place,
    /// A parameter that is handed in and not out.
    pub read_only: bool,
    /// Why a kernel that uses it cannot run.
    pub unsupported: Option<&'static str>,
}

/// The core IR's name for a space of variables.
pub(crate) fn ir_space(space: Space) -> ir::Space {
    match space {
        Space::Global | Space::Tex => ir::Space::Global,
        Space::Shared => ir::Space::Shared,
        Space::Local => ir::Space::Local,
        Space::Const => ir::Space::Const,
        Space::Param | Space::Reg | Space::Sreg => ir::Space::Param,
    }
}

/// A space as it is written.
pub(crate) fn space_text(space: ir::Space) -> &'static str {
    match space {
        ir::Space::Global => ".global",
        ir::Space::Shared => ".shared",
        ir::Space::Local => ".local",
        ir::Space::Const => ".const",
        ir::Space::Param => ".param",
        ir::Space::Generic => "generic",
    }
}

/// `offset` rounded up to a multiple of `align`, a power of two.
pub(crate) fn align_up(offset: u64, align: u64) -> u64 {
    offset.saturating_add(align - 1) & !(align - 1)
}

/// What a variable that is opaque holds.
pub(crate) const TEXTURES: &str = "textures, samplers and surfaces";

/// More than any device has: what is larger is an error, so that sums cannot overflow.
const MOST_BYTES: u64 = 1 << 40;

impl<'m> Checker<'m> {
    /// What the words before a variable's name say. Nothing if it cannot be used; that was reported.
    pub fn spec(&mut self, specs: Specifiers<'m>, at: Span, site: Site) -> Option<Spec> {
        let fits = self.specifiers_fit(specs, site);
        // What stands behind `.ptr` belongs to it.
        let pointer = specs.get("ptr").map(|p| p.span().start);
        let Some(space) = specs.space() else {
            let d = Diagnostic::new(Code::BadSpace, "this variable has no state space", at)
                .help("write `.reg`, `.global`, `.shared`, `.local`, `.const` or `.param` before the type");
            self.report(d);
            return None;
        };
        let mut types = specs.types().take_while(|t| pointer.is_none_or(|p| t.span.start < p));
        let Some(name) = types.next() else {
            let d = Diagnostic::new(Code::BadType, "this variable has no type", at)
                .help("write a type such as `.u32` before the name");
            self.report(d);
            return None;
        };
        let second = types.next();
        let dotted = Span::new(name.span.start.saturating_sub(1), name.span.end);
        let opaque = matches!(name.text, "texref" | "samplerref" | "surfref");
        let ty = if opaque { Some(Ty::B64) } else { parse_type(name.text) };
        let Some(ty) = ty else {
            self.report(unknown_type(name.text, dotted));
            return None;
        };
        if let Some(second) = second {
            let text = format!("a second type `.{}`", second.text);
            self.report(Diagnostic::new(Code::BadType, text, second.span).also(dotted, "the first one"));
            return None;
        }
        if ty.is_narrow()
            || matches!(ty, Ty::BF16 | Ty::BF16x2 | Ty::Tf32 | Ty::U16x2 | Ty::S16x2 | Ty::U8x4 | Ty::S8x4)
        {
            let bits = ty.declared();
            let text = format!("no variable can have the type `{ty}`");
            let help = format!("declare it as `{bits}`; instructions with `{ty}` take such registers");
            self.report(Diagnostic::new(Code::BadType, text, dotted).help(help));
            return None;
        }
        if ty == Ty::Pred && space != Space::Reg {
            let text = "predicates exist in registers only";
            self.report(Diagnostic::new(Code::BadType, text, dotted).help("use `.u8` or `.u32` in memory"));
            return None;
        }
        let vector = specs.vector().unwrap_or(1) as u8;
        if vector as u32 * ty.bits() > 128 || vector == 8 || (vector > 1 && ty == Ty::Pred) {
            let text = format!("a vector `.v{vector}` of `{ty}` does not exist");
            let d = Diagnostic::new(Code::BadType, text, dotted)
                .note("a vector has 2 or 4 elements and at most 128 bits; predicates have none");
            self.report(d);
            return None;
        }
        let align = match specs.align() {
            None => None,
            Some(expr) => Some(self.alignment(expr)?),
        };
        fits.then_some(())?;
        Some(Spec { space, ty, vector, align, linkage: specs.linkage(), opaque })
    }

    pub fn alignment(&mut self, expr: Expr<'m>) -> Option<u64> {
        let value = self.constant(expr)?.int_bits().unwrap_or(0);
        if value.is_power_of_two() && value <= 1 << 30 {
            return Some(value);
        }
        let text = format!("an alignment must be a power of two, not {}", expr.text());
        self.report(Diagnostic::new(Code::BadAlignment, text, expr.span()));
        None
    }

    /// The value of a constant expression, or a report.
    pub fn constant(&mut self, expr: Expr<'m>) -> Option<Const> {
        match expr.evaluate() {
            Ok(value) => Some(value),
            Err(error) => {
                if !matches!(expr.kind(), syntax::ExprKind::Error) {
                    self.report(
                        Diagnostic::new(Code::BadConstant, "this has no constant value", expr.span())
                            .also(error.span, error.to_string()),
                    );
                }
                None
            }
        }
    }

    /// Size, alignment and array bounds of a variable. Bounds come with 0 for `[]`.
    pub fn measure(&mut self, spec: Spec, variable: syntax::Variable<'m>) -> Option<(Variable<'m>, Dims)> {
        let name = variable.name().map_or("_", |name| name.text);
        let mut dims = Dims::new();
        for (i, dim) in variable.dims().enumerate() {
            let bound = match dim {
                None if i == 0 => 0,
                None => {
                    let text = "only the first bound of an array may be left out";
                    self.report(Diagnostic::new(Code::BadDimension, text, variable.span()));
                    return None;
                }
                Some(expr) => match self.constant(expr)? {
                    Const::S64(n) if n >= 0 => n as u64,
                    Const::U64(n) => n,
                    _ => {
                        let text = "the bound of an array must be a number of elements";
                        self.report(Diagnostic::new(Code::BadDimension, text, expr.span()));
                        return None;
                    }
                },
            };
            dims.push(bound);
        }
        let element = (spec.ty.bits() as u64).div_ceil(8) * spec.vector as u64;
        let count = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
        let size = count.and_then(|n| n.checked_mul(element)).filter(|s| *s <= MOST_BYTES);
        let Some(size) = size else {
            let text = format!("`{name}` is larger than any memory");
            self.report(Diagnostic::new(Code::TooLarge, text, variable.span()));
            return None;
        };
        let align = spec.align.unwrap_or_else(|| element.next_power_of_two().min(32));
        let measured = Variable {
            name,
            space: spec.space,
            ty: spec.ty,
            element,
            array: !dims.is_empty(),
            size,
            align,
            place: Place::At(0),
            read_only: false,
            unsupported: spec.opaque.then_some(TEXTURES),
        };
        Some((measured, dims))
    }

    /// Declares a variable outside of registers, in the module or in a body.
    pub fn variable(&mut self, spec: Spec, variable: syntax::Variable<'m>, in_body: bool) {
        let Some(name) = variable.name() else { return };
        let Some((mut var, mut dims)) = self.measure(spec, variable) else {
            return self.broken(name);
        };
        let external = spec.linkage == Some(Linkage::Extern);
        match (spec.space, in_body) {
            (Space::Local, false) if self.env.ptx >= 30 || external => {
                let text = "a variable in `.local` must be inside a function since PTX 3.0";
                self.report(Diagnostic::new(Code::BadSpace, text, name.span));
                return self.broken(name);
            }
            (Space::Param, false) => {
                let text = "a variable in `.param` must be a parameter, or inside a function";
                self.report(Diagnostic::new(Code::BadSpace, text, name.span));
                return self.broken(name);
            }
            _ => {}
        }
        let init = variable.init();
        if let (Some(init), true) = (init, external) {
            let text = format!("`{}` is defined in another module, which gives its initial value", name.text);
            self.report(Diagnostic::new(Code::NoInitialiser, text, init.span()));
        }
        if let (Some(init), Space::Shared | Space::Local | Space::Param) = (init, spec.space) {
            let text = format!("`{}` cannot have an initial value", name.text);
            let d = Diagnostic::new(Code::NoInitialiser, text, init.span())
                .note("only variables in `.global` and `.const` are initialised")
                .help("write the value at the beginning of the kernel");
            self.report(d);
        }
        if let (Some(0), Some(init)) = (dims.first(), init) {
            // The initialiser gives the bound that is left out.
            if let syntax::ExprKind::Vector(list) = init.kind() {
                let rest: u64 = dims[1..].iter().product();
                dims[0] = list.len() as u64;
                var.size = (dims[0] * rest).saturating_mul(var.element).min(MOST_BYTES);
            }
        }
        if var.size == 0 && !external {
            let text = format!("the size of `{}` is not known", name.text);
            let d = Diagnostic::new(Code::BadDimension, text, variable.span())
                .help("give its bound, an initialiser, or declare it `.extern`");
            self.report(d);
            return self.broken(name);
        }
        var.place = match spec.space {
            Space::Shared if external && dims.first() == Some(&0) => Place::Dynamic,
            Space::Shared => {
                self.program.shared.push(ir::Slot { size: var.size, align: var.align });
                Place::Shared(self.program.shared.len() as u32 - 1)
            }
            // Parameters of calls are in the caller's local memory.
            Space::Local | Space::Param => Place::Local,
            _ if external => Place::Elsewhere,
            _ => Place::At(0),
        };
        if var.place == Place::Elsewhere {
            var.unsupported = Some("variables defined in other modules");
        }
        let in_image = matches!(spec.space, Space::Global | Space::Const | Space::Tex) && !external;
        let shared =
            !in_body && spec.linkage.is_some() && var.place != Place::Dynamic && var.place != Place::Local;
        let at = (self.file, name.span);
        let taken = !external && self.names.wins(name.text, at);
        if shared
            && self.scopes.lookup(name.text).is_none()
            && let Some(index) = self.linked_variable(name, &var)
        {
            // Another module declared it before, and it has a place.
            var.place = self.variables[index as usize].place;
            self.define(name, crate::scope::Entity::Variable(index));
            if taken {
                self.external.remove(&index);
                if let (true, Some(init), Place::At(offset)) = (in_image && !spec.opaque, init, var.place) {
                    self.initialise(&mut var, &dims, spec, init, offset);
                    self.variables[index as usize].unsupported = var.unsupported;
                }
            }
            return;
        }
        if !in_body && self.declared_before(name, &mut var, spec) {
            if let (true, Some(init), Place::At(offset)) = (in_image && !spec.opaque, init, var.place) {
                self.initialise(&mut var, &dims, spec, init, offset);
            }
            return;
        }
        // What another module's definition says counts for one that is not taken.
        let elsewhere = in_image && shared && !taken;
        if in_image && !elsewhere {
            self.place_in_image(&mut var, spec);
        } else if let (true, Some((definition, defined))) = (
            elsewhere || var.place == Place::Elsewhere,
            self.defined_variables
                .get(name.text)
                .copied()
                .filter(|_| !elsewhere)
                .or(self.names.variable(name.text)),
        ) && let Some(size) = self.size_of(definition, defined)
        {
            // It is defined further down: its place is known from here on.
            var.unsupported = None;
            var.size = size;
            self.place_in_image(&mut var, Spec { linkage: definition.specifiers().linkage(), ..spec });
        }
        let index = self.variables.len() as u32;
        self.variables.push(var);
        if external || elsewhere {
            self.external.insert(index);
        }
        if shared {
            self.names.enter(name.text, crate::scope::Entity::Variable(index), at);
        }
        if spec.space == Space::Local && !in_body {
            self.thread_variables.insert(index);
        }
        self.define(name, crate::scope::Entity::Variable(index));
        // Its own address may stand in its initial value.
        if let (true, Some(init), Place::At(offset)) =
            (in_image && !elsewhere && !spec.opaque, init, var.place)
        {
            self.initialise(&mut var, &dims, spec, init, offset);
            self.variables[index as usize] = var;
        }
    }

    /// Whether the variable was declared `.extern` before; it then has the place it was given there.
    fn declared_before(&mut self, name: syntax::Name<'m>, var: &mut Variable<'m>, spec: Spec) -> bool {
        let Some(crate::scope::Entity::Variable(index)) = self.scopes.lookup(name.text).map(|b| b.entity)
        else {
            return false;
        };
        let old = self.variables[index as usize];
        if !self.external.contains(&index) {
            return false;
        }
        let same = (old.space, old.ty, old.element, old.align) == (var.space, var.ty, var.element, var.align)
            && (old.size == var.size || old.size == 0 || var.size == 0);
        if !same {
            return false;
        }
        if spec.linkage != Some(Linkage::Extern) {
            self.external.remove(&index);
        }
        var.place = old.place;
        true
    }

    /// The bytes of a variable that is defined further down; nothing if its initialiser says how many, or it is wrong: then it is said there.
    pub(crate) fn size_of(
        &mut self,
        d: syntax::Declaration<'m>,
        variable: syntax::Variable<'m>,
    ) -> Option<u64> {
        let element = d.specifiers().types().next().and_then(|t| parse_type(t.text))?.bits().div_ceil(8);
        let element = u64::from(element) * u64::from(d.specifiers().vector().unwrap_or(1));
        let mut size = element;
        for dim in variable.dims() {
            let bound = match (dim, variable.init().map(|i| i.kind())) {
                (Some(expr), _) => expr.int()?,
                (None, Some(syntax::ExprKind::Vector(list))) => list.len() as u64,
                _ => return None,
            };
            size = size.checked_mul(bound).filter(|s| *s <= MOST_BYTES)?;
        }
        Some(size).filter(|s| *s > 0)
    }

    fn place_in_image(&mut self, var: &mut Variable<'m>, spec: Spec) {
        let constant = spec.space == Space::Const;
        let image = if constant { &mut self.out.constants } else { &mut self.out.globals };
        let offset = align_up(image.size, var.align);
        image.size = offset.saturating_add(var.size);
        image.align = image.align.max(var.align);
        image.symbols.push(crate::Symbol {
            name: var.name.to_string(),
            ty: var.ty,
            offset,
            size: var.size,
            align: var.align,
            visible: spec.linkage.is_some(),
        });
        var.place = Place::At(offset);
        if image.size > MOST_BYTES || (constant && image.size > 0x1_0000) {
            let text = if constant {
                format!("the constants take {} bytes; there are 65536", image.size)
            } else {
                format!("the global variables take {} bytes, more than any memory", image.size)
            };
            let at = self.item;
            self.report(Diagnostic::new(Code::TooLarge, text, at));
        }
    }
}

/// Array bounds, outermost first.
pub(crate) type Dims = SmallVec<[u64; 4]>;

/// A type from its name without the dot.
pub(crate) fn parse_type(name: &str) -> Option<Ty> {
    Ty::ALL.iter().copied().find(|t| &t.text()[1..] == name)
}

fn unknown_type(name: &str, span: Span) -> Diagnostic {
    let d = Diagnostic::new(Code::BadType, format!("there is no type `.{name}`"), span);
    let known = Ty::ALL.iter().filter(|t| t.kind() != Kind::Packed).map(|t| &t.text()[1..]);
    match crate::near::nearest(name, known) {
        Some(near) => d.help(format!("did you mean `.{near}`?")),
        None => d,
    }
}

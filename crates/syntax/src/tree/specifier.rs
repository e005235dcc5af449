//! The dotted words of a declaration.

use super::Name;
use crate::arena::{Run, SpecData};
use crate::{Expr, Module, Span};

/// A state space of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // each is the space of its name
pub enum Space {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
}

impl Space {
    /// From a specifier's name without its dot. Sub-qualified names (`shared::cluster`) are not spaces of variables.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "reg" => Space::Reg,
            "sreg" => Space::Sreg,
            "const" => Space::Const,
            "global" => Space::Global,
            "local" => Space::Local,
            "param" => Space::Param,
            "shared" => Space::Shared,
            "tex" => Space::Tex,
            _ => return None,
        })
    }
}

/// How a name is seen by other modules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)] // each is the directive of its name
pub enum Linkage {
    Extern,
    Visible,
    Weak,
    Common,
}

impl Linkage {
    /// From a specifier's name without its dot.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "extern" => Linkage::Extern,
            "visible" => Linkage::Visible,
            "weak" => Linkage::Weak,
            "common" => Linkage::Common,
            _ => return None,
        })
    }
}

/// The dotted words before a name: linkage, space, alignment, attributes, vector size, type.
#[derive(Clone, Copy)]
pub struct Specifiers<'m> {
    pub(super) module: &'m Module,
    pub(super) run: Run,
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Specifier<'m> {
    pub(super) module: &'m Module,
    pub(super) data: &'m SpecData,
}

impl<'m> Specifier<'m> {
    /// Its name without the dot.
    pub fn name(self) -> &'m str {
        &self.module.text(self.data.name)[1..]
    }

    /// Where its name stands, the dot included.
    pub fn span(self) -> Span {
        self.data.name
    }

    /// `8` of `.align 8`, `(…)` of `.attribute(…)`, `2` of `.const[2]`.
    pub fn argument(self) -> Option<Expr<'m>> {
        Expr::new(self.module, self.data.argument)
    }
}

impl std::fmt::Debug for Specifier<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, ".{}", self.name())?;
        self.argument().map_or(Ok(()), |a| write!(f, " {a:?}"))
    }
}

impl<'m> Specifiers<'m> {
    pub(super) fn new(module: &'m Module, run: Run) -> Self {
        Self { module, run }
    }

    /// All of them, in text order.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Specifier<'m>> + DoubleEndedIterator {
        let module = self.module;
        module.arena.specs[self.run.range()].iter().map(move |data| Specifier { module, data })
    }

    /// The one called `name` (without its dot).
    pub fn get(self, name: &str) -> Option<Specifier<'m>> {
        self.iter().find(|s| s.name() == name)
    }

    /// The linkage; the last one if several are written.
    pub fn linkage(self) -> Option<Linkage> {
        self.iter().filter_map(|s| Linkage::from_name(s.name())).next_back()
    }

    /// The state space: the first one, since a second belongs to `.ptr`.
    pub fn space(self) -> Option<Space> {
        self.iter().find_map(|s| Space::from_name(s.name()))
    }

    /// The bank of `.const[bank]`.
    pub fn bank(self) -> Option<Expr<'m>> {
        self.get("const")?.argument()
    }

    /// The alignment of the variable itself.
    pub fn align(self) -> Option<Expr<'m>> {
        self.before_ptr().find(|s| s.name() == "align")?.argument()
    }

    /// The argument list of `.attribute(…)`: [`ExprKind::DotName`](crate::ExprKind::DotName)s and
    /// [`ExprKind::Call`](crate::ExprKind::Call)s.
    pub fn attributes(self) -> Option<Expr<'m>> {
        self.get("attribute")?.argument()
    }

    /// `2`, `4` or `8` of `.v2`, `.v4`, `.v8`.
    pub fn vector(self) -> Option<u32> {
        self.iter().find_map(|s| vector_size(s.name()))
    }

    /// The type: what is no other kind of specifier. Without its dot.
    pub fn types(self) -> impl Iterator<Item = Name<'m>> {
        self.iter()
            .filter(|s| is_type(s.name()))
            .map(|s| Name { text: s.name(), span: Span::new(s.data.name.start + 1, s.data.name.end) })
    }

    /// The first of [`types`](Self::types).
    pub fn type_name(self) -> Option<Name<'m>> {
        self.types().next()
    }

    /// What `.ptr` says about a kernel parameter.
    pub fn pointer(self) -> Option<Pointer<'m>> {
        let mut after = self.iter().skip_while(|s| s.name() != "ptr");
        after.next()?;
        let mut pointer = Pointer { space: None, align: None };
        for spec in after {
            match Space::from_name(spec.name()) {
                Some(space) => pointer.space = Some(space),
                None if spec.name() == "align" => pointer.align = spec.argument(),
                None => {}
            }
        }
        Some(pointer)
    }

    fn before_ptr(self) -> impl Iterator<Item = Specifier<'m>> {
        self.iter().take_while(|s| s.name() != "ptr")
    }
}

impl std::fmt::Debug for Specifiers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// What a kernel parameter points to: `.ptr .global .align 16`.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'m> {
    /// The space; generic if absent.
    pub space: Option<Space>,
    /// The alignment of what it points to; 4 if absent.
    pub align: Option<Expr<'m>>,
}

fn vector_size(name: &str) -> Option<u32> {
    match name {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    }
}

fn is_type(name: &str) -> bool {
    Space::from_name(name).is_none()
        && Linkage::from_name(name).is_none()
        && vector_size(name).is_none()
        && !matches!(name, "align" | "attribute" | "ptr")
}

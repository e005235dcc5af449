//! The dotted words of a declaration: in which order they stand, and which of them go together.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use hostwarp_isa::since;
use hostwarp_syntax::{Function, Linkage, Space, Specifier, Specifiers};

/// Where a declaration stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    Module,
    Body,
    /// A parameter of a kernel.
    Kernel,
    /// A parameter or result of a function or prototype.
    Function,
}

/// What stands where: linkage, then space, alignment and attributes in any order, then vector, type and `.ptr` with what belongs to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Linkage,
    Place,
    Vector,
    Type,
    Pointer,
    PointerSpace,
    PointerAlign,
}

const OPAQUE: [&str; 3] = ["texref", "samplerref", "surfref"];

fn part(s: Specifier<'_>, pointer: bool) -> Part {
    match s.name() {
        "ptr" => Part::Pointer,
        "align" if pointer => Part::PointerAlign,
        _ if pointer => Part::PointerSpace,
        "align" | "attribute" => Part::Place,
        "v2" | "v4" | "v8" => Part::Vector,
        name if Linkage::from_name(name).is_some() => Part::Linkage,
        name if Space::from_name(name).is_some() => Part::Place,
        _ => Part::Type,
    }
}

impl<'m> Checker<'m> {
    /// Whether the words of a declaration stand in order and go together; reports where they do not.
    pub fn specifiers_fit(&mut self, specs: Specifiers<'m>, site: Site) -> bool {
        let errors = self.errors();
        let mut last: Option<(Part, Specifier<'m>)> = None;
        let mut pointer = false;
        for s in specs.iter() {
            let now = part(s, pointer);
            pointer |= now == Part::Pointer;
            if let Some((before, other)) = last
                && (now < before || now == before && now != Part::Place && now != Part::Type)
                && !(s.name() == "align" && matches!(site, Site::Kernel | Site::Function))
            {
                let text = format!("`.{}` cannot stand behind `.{}`", s.name(), other.name());
                let d = Diagnostic::new(Code::BadType, text, s.span());
                self.report(d.help(
                    "a declaration is written as linkage, space, alignment, vector, type: `.visible .global .align 8 .v2 .u32 x`",
                ));
                return false;
            }
            last = Some((now, s));
            self.specifier_fits(specs, s, now, site);
        }
        let spaces: Vec<Specifier<'m>> = specs
            .iter()
            .take_while(|s| s.name() != "ptr")
            .filter(|s| Space::from_name(s.name()).is_some())
            .collect();
        if let [first, second, ..] = spaces[..] {
            let text = format!("a second state space `.{}`", second.name());
            self.report(
                Diagnostic::new(Code::BadSpace, text, second.span()).also(first.span(), "the first one"),
            );
        }
        if let (Some(v), Some(Space::Param)) =
            (specs.iter().find(|s| part(*s, false) == Part::Vector), specs.space())
        {
            let text = "a variable in `.param` must be a scalar or array, not a vector";
            self.report(Diagnostic::new(Code::BadSpace, text, v.span()));
        }
        let packed = specs.types().find(|t| t.text == "f16x2");
        if let (Some(ty), Some(Space::Param)) = (packed, specs.space()) {
            let text = "a variable in `.param` cannot have the type `.f16x2`";
            self.report(Diagnostic::new(Code::BadType, text, ty.span).help("write `.b32`"));
        }
        self.errors() == errors
    }

    /// What stands before `.func` and `.entry`: one word of linkage, which is not `.common`.
    pub fn function_specifiers_fit(&mut self, f: Function<'m>) {
        let specs = f.specifiers();
        for s in specs.iter() {
            let behind = s.span().start > f.keyword_span().start;
            let fits = s.name() == "attribute" || !behind && Linkage::from_name(s.name()).is_some();
            if !fits {
                let text = format!(
                    "`.{}` cannot stand {} here",
                    s.name(),
                    if behind { "behind the keyword" } else { "before a function" }
                );
                self.report(Diagnostic::new(Code::BadDirective, text, s.span()));
            }
        }
        let linkage = specs.iter().filter(|s| Linkage::from_name(s.name()).is_some());
        for (i, s) in linkage.enumerate() {
            if i > 0 || s.name() == "common" {
                let text = format!("`.{}` cannot stand here", s.name());
                let d = Diagnostic::new(Code::BadDirective, text, s.span());
                self.report(
                    d.note("a function has one of `.extern`, `.visible` and `.weak`, or none of them"),
                );
            }
        }
    }

    fn specifier_fits(&mut self, specs: Specifiers<'m>, s: Specifier<'m>, part: Part, site: Site) {
        let name = s.name();
        let bad = |code: Code, text: String| Some(Diagnostic::new(code, text, s.span()));
        let needed = match (part, name) {
            (Part::Linkage, "weak") => 31,
            (Part::Linkage, "common") => 50,
            (_, "attribute") => 40,
            (Part::Pointer, _) => 22,
            _ => 0,
        };
        if self.env.ptx < needed {
            let text = format!("`.{name}` came with PTX {}.{}", needed / 10, needed % 10);
            self.report(Diagnostic::new(Code::NeedsVersion, text, s.span()));
            return;
        }
        let space = specs.space();
        let d = match part {
            Part::Linkage if site != Site::Module => {
                bad(Code::BadSpace, format!("`.{name}` is for variables and functions of a module"))
            }
            Part::Linkage if name == "common" && space != Some(Space::Global) => {
                bad(Code::BadSpace, "only a variable in `.global` can be `.common`".into())
            }
            Part::Place if name == "attribute" => return self.attributes(s, space),
            Part::Pointer if site != Site::Kernel => {
                bad(Code::BadSpace, "only a parameter of a kernel can have `.ptr`".into())
            }
            Part::PointerSpace
                if !matches!(name, "const" | "global" | "local" | "shared") && !OPAQUE.contains(&name) =>
            {
                bad(Code::BadSpace, format!("a pointer cannot point to `.{name}`"))
            }
            Part::PointerAlign => {
                if let Some(argument) = s.argument() {
                    _ = self.alignment(argument);
                }
                None
            }
            Part::Type if OPAQUE.contains(&name) => match (space, site) {
                (Some(Space::Global), Site::Module) | (Some(Space::Param), Site::Kernel) => {
                    let unified = name == "samplerref" && !self.independent_samplers;
                    if unified {
                        bad(Code::BadType, "a sampler of its own needs `.target texmode_independent`".into())
                    } else {
                        None
                    }
                }
                // What it is called there is another complaint.
                (None, _) => None,
                _ => bad(
                    Code::BadSpace,
                    format!(
                        "a `.{name}` must be a variable of the module in `.global`, or a parameter of a kernel"
                    ),
                ),
            },
            _ => None,
        };
        if let Some(d) = d {
            self.report(d);
        }
    }

    /// `.attribute(.managed, .unified(19, 95))`
    fn attributes(&mut self, s: Specifier<'m>, space: Option<Space>) {
        use hostwarp_syntax::ExprKind;
        let Some(list) = s.argument() else { return };
        let ExprKind::Paren(list) = list.kind() else { return };
        for attribute in list {
            let text = attribute.text();
            let name = text.split('(').next().unwrap_or("").trim();
            let need = match name {
                ".managed" => since(40, 30),
                ".unified" => since(80, 90),
                _ => {
                    let text = format!("there is no attribute `{name}`");
                    self.report(Diagnostic::new(Code::BadDirective, text, attribute.span()));
                    continue;
                }
            };
            if name == ".managed" && space != Some(Space::Global) {
                let text = "only a variable in `.global` can be managed";
                self.report(Diagnostic::new(Code::BadSpace, text, attribute.span()));
            } else if self.env.ptx < need.ptx {
                let text = format!("`{name}` came with PTX {}.{}", need.ptx / 10, need.ptx % 10);
                self.report(Diagnostic::new(Code::NeedsVersion, text, attribute.span()));
            } else if self.env.sm < need.sm {
                let text = format!("`{name}` needs `sm_{}` or newer", need.sm);
                self.report(Diagnostic::new(Code::NeedsTarget, text, attribute.span()));
            }
        }
    }
}

//! The walk over a module: its head, its variables, its functions.

use crate::body::Role;
use crate::cache::Cache;
use crate::call::Signature;
use crate::diagnostic::{Code, Diagnostic, Severity, Sink};
use crate::layout::{Place as At, TEXTURES, Variable, align_up, ir_space};
use crate::link::{File, Names, Place};
use crate::module::Param;
use crate::scope::{Entity, Reg, Scopes};
use crate::specifiers::Site;
use crate::{Kernel, Module, Options, Unusable};
use hostwarp_ir as ir;
use hostwarp_isa::{Env, Features, Ty};
use hostwarp_syntax::{
    self as syntax, Declaration, Directive, DirectiveKind, Expr, Linkage, Name, Parsed, Space, Span,
    Statement,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The newest PTX version of each major one, from 1 on.
const VERSIONS: [u32; 9] = [5, 3, 2, 3, 1, 5, 8, 8, 5];

/// The targets there are, with the PTX version (major × 10 + minor) that brought each.
const TARGETS: &[(u32, u32)] = &[
    (10, 10),
    (11, 10),
    (12, 12),
    (13, 12),
    (20, 20),
    (21, 20),
    (30, 30),
    (32, 40),
    (35, 31),
    (37, 41),
    (50, 40),
    (52, 41),
    (53, 42),
    (60, 50),
    (61, 50),
    (62, 50),
    // The manual says 6.0.
    (70, 51),
    (72, 61),
    (75, 63),
    (80, 70),
    (86, 71),
    (87, 74),
    (88, 90),
    (89, 78),
    (90, 78),
    (100, 86),
    (101, 86),
    (103, 88),
    (107, 94),
    (110, 90),
    (120, 87),
    (121, 88),
];

/// A function or kernel of the module.
pub(crate) struct Callable<'m> {
    pub name: &'m str,
    pub signature: Signature<'m>,
    pub is_entry: bool,
    /// `.noreturn`
    never_returns: bool,
    linkage: Option<Linkage>,
    /// Where it was declared or defined first.
    pub declared: Place,
    /// Whether its definition was seen already.
    pub defined: bool,
    /// Where it is called, or its address taken, first.
    pub called: Option<Place>,
    /// Why it has no IR, though it is defined.
    pub unusable: Option<Unusable>,
    pub uses: Uses,
}

/// What a body uses that kernels have to account for.
#[derive(Clone, Default)]
pub(crate) struct Uses {
    /// Static variables in shared memory.
    pub shared: BTreeSet<u32>,
    pub calls: BTreeSet<ir::FuncId>,
    /// It calls through a register.
    pub calls_any: bool,
}

pub(crate) struct Checker<'m> {
    /// The module that is being looked at.
    pub syntax: &'m syntax::Module,
    /// All of them, and the number of that one.
    pub files: Vec<File<'m>>,
    pub file: u32,
    /// What names mean in all modules.
    pub names: Names<'m>,
    pub options: Options,
    pub env: Env,
    pub scopes: Scopes<'m>,
    pub variables: Vec<Variable<'m>>,
    pub callables: Vec<Callable<'m>>,
    pub cache: Cache,
    pub out: Module,
    /// The item of the module that is being looked at.
    pub item: Span,
    pub next_declaration: u32,
    /// The instruction that is being looked at goes to a label.
    pub branching: bool,
    /// Where syntax errors begin, ascending: what contains one is not looked at twice.
    pub syntax_errors: Vec<u32>,
    /// The functions, and what kernels and functions share.
    pub program: ir::Module,
    /// The names of the functions that are defined in the module.
    pub bodies: FxHashSet<&'m str>,
    /// What the kernels use, in the order of the kernels, and where they begin.
    kernel_uses: Vec<(Uses, Place)>,
    /// What is not supported yet is said once for each function.
    pub said: FxHashSet<String>,
    /// `.target texmode_independent`: samplers are variables of their own.
    pub independent_samplers: bool,
    /// `.alias`es: the new name, the function, where.
    pub aliases: Vec<(u32, u32, Span)>,
    /// Definitions of variables, by name: what is declared `.extern` before gets its place at once.
    pub defined_variables: FxHashMap<&'m str, (Declaration<'m>, syntax::Variable<'m>)>,
    /// Variables that are declared `.extern` and not defined so far.
    pub external: FxHashSet<u32>,
    /// Declarations of registers of the module (before PTX 3.0): every thread of a kernel has its own.
    pub thread_registers: FxHashSet<u32>,
    /// Variables in `.local` that are the module's.
    pub thread_variables: FxHashSet<u32>,
    /// Declarations of registers that nobody declared and nothing tells the type of: what does not fit them follows from something else.
    pub guessed: FxHashSet<u32>,
}

impl<'m> Checker<'m> {
    /// Of at least one module.
    pub fn new(modules: &[(&'m str, &'m Parsed)], options: Options) -> Self {
        let mut before = 0;
        let file = |(name, parsed): &(&'m str, &'m Parsed)| {
            let lines = parsed.module.line_index();
            let file = File {
                name,
                syntax: &parsed.module,
                before,
                sink: Sink::new(options.max_diagnostics),
                lines,
            };
            before += file.lines.line_count();
            file
        };
        let files: Vec<File<'m>> = modules.iter().map(file).collect();
        Checker {
            syntax: files[0].syntax,
            files,
            file: 0,
            names: Names::default(),
            options,
            env: Env::NEWEST,
            scopes: Scopes::default(),
            variables: vec![],
            callables: vec![],
            cache: Cache::default(),
            out: Module { address_size: 64, ..Module::default() },
            item: Span::at(0),
            next_declaration: 0,
            branching: false,
            syntax_errors: vec![],
            program: ir::Module::default(),
            bodies: FxHashSet::default(),
            kernel_uses: vec![],
            said: FxHashSet::default(),
            independent_samplers: false,
            aliases: vec![],
            external: FxHashSet::default(),
            defined_variables: FxHashMap::default(),
            thread_registers: FxHashSet::default(),
            thread_variables: FxHashSet::default(),
            guessed: FxHashSet::default(),
        }
    }

    pub fn report(&mut self, d: Diagnostic) {
        let unsupported = d.severity == Severity::Unsupported;
        if unsupported && !self.said.insert(d.message.clone()) {
            return;
        }
        self.sink().push(d);
    }

    /// Where what there is to say about the module that is being looked at goes.
    pub fn sink(&mut self) -> &mut Sink {
        &mut self.files[self.file as usize].sink
    }

    /// What was said about that module so far.
    pub fn errors(&self) -> usize {
        self.files[self.file as usize].sink.errors
    }

    /// The first line of the item that is being looked at.
    pub fn item_head(&self) -> Span {
        let lines = &self.files[self.file as usize].lines;
        let line = lines.line(self.item.start);
        let end = lines.line_span(self.syntax.source(), line).map_or(self.item.end, |s| s.end);
        Span::new(self.item.start, end.min(self.item.end).max(self.item.start))
    }

    /// The line, counted from the first of the first file.
    pub fn line(&self, span: Span) -> u32 {
        self.line_of((self.file, span))
    }

    fn line_of(&self, (file, span): Place) -> u32 {
        let file = &self.files[file as usize];
        file.before + file.lines.line(span.start)
    }

    /// Whether the parser found something wrong in there.
    pub fn has_syntax_error(&self, span: Span) -> bool {
        let next = self.syntax_errors.partition_point(|at| *at < span.start);
        self.syntax_errors.get(next).is_some_and(|at| *at <= span.end)
    }

    /// Defines a name in the innermost scope.
    pub fn define(&mut self, name: Name<'m>, entity: Entity) {
        if let Err(old) = self.scopes.define(name.text, entity, name.span) {
            let code = Code::Duplicate;
            let what = if matches!(entity, Entity::Label(_)) { "label" } else { "name" };
            let d = Diagnostic::new(code, format!("the {what} `{}` is defined twice", name.text), name.span)
                .label("defined again here")
                .also(old.span, "first defined here");
            self.report(d);
        }
    }

    /// Defines a name whose declaration has an error, so that its uses are not reported too.
    pub fn broken(&mut self, name: Name<'m>) {
        _ = self.scopes.define(name.text, Entity::Broken, name.span);
    }

    /// Looks at all modules, one after the other, and puts them together.
    pub fn modules(&mut self, parsed: &[(&'m str, &'m Parsed)]) {
        self.find_definitions();
        for (number, (_, parsed)) in parsed.iter().enumerate() {
            (self.file, self.syntax) = (number as u32, &parsed.module);
            self.scopes = Scopes::default();
            self.defined_variables = FxHashMap::default();
            self.env = Env::NEWEST;
            self.independent_samplers = false;
            for error in &parsed.errors {
                self.report(error.into());
            }
            self.syntax_errors = parsed.errors.iter().map(|e| e.span.start).collect();
            self.syntax_errors.sort_unstable();
            self.module();
        }
        self.link();
        self.out.files = self.files.iter().map(|f| (f.name.to_string(), f.before)).collect();
    }

    fn module(&mut self) {
        self.head();
        let defined = self.syntax.functions().filter(|f| f.body().is_some());
        self.bodies = defined.filter_map(|f| Some(f.name()?.text)).collect();
        for item in self.syntax.items() {
            let Statement::Declaration(d) = item else { continue };
            if d.specifiers().linkage() != Some(Linkage::Extern) {
                let named = d.variables().iter().filter_map(|v| Some((v.name()?.text, (d, v))));
                self.defined_variables.extend(named);
            }
        }
        let items = self.syntax.items();
        for item in items {
            self.item = item.span();
            match item {
                Statement::Declaration(d) => self.declaration(d, false),
                Statement::Function(f) => self.function(f),
                Statement::Directive(d) => self.directive(d),
                // Sections hold debugging information; the others were reported by the parser.
                _ => {}
            }
        }
        self.resolve_aliases();
    }

    fn head(&mut self) {
        let start = self.syntax.items().next().map_or(Span::at(0), |item| {
            let span = item.span();
            Span::new(span.start, span.end.min(span.start + 1))
        });
        let mut version = None;
        let mut target = None;
        let mut size = None;
        for item in self.syntax.items() {
            let Statement::Directive(d) = item else { continue };
            let first = match d.kind() {
                DirectiveKind::Version => &mut version,
                DirectiveKind::Target => &mut target,
                DirectiveKind::AddressSize => &mut size,
                _ => continue,
            };
            match first {
                None => *first = Some(d),
                Some(first) => {
                    let text = format!("a second `{}`", d.name().text);
                    let d = Diagnostic::new(Code::BadDirective, text, d.span())
                        .also(first.span(), "the first one");
                    self.report(d);
                }
            }
        }
        match version {
            Some(d) => self.version(d),
            None => self.report(
                Diagnostic::new(Code::MissingVersion, "the module has no `.version`", start)
                    .help("begin it with a line such as `.version 8.8`"),
            ),
        }
        for item in self.syntax.items() {
            if let Statement::Directive(d) = item
                && d.kind() == DirectiveKind::AddressSize
            {
                self.address_size(d);
            }
        }
        match target {
            Some(d) => self.target(d, version.is_some()),
            None => self.report(
                Diagnostic::new(Code::MissingTarget, "the module has no `.target`", start)
                    .help("write a line such as `.target sm_90` after `.version`"),
            ),
        }
    }

    fn version(&mut self, d: Directive<'m>) {
        let Some(argument) = d.arguments().get(0) else { return };
        let newest = (VERSIONS.len() as u32, VERSIONS[VERSIONS.len() - 1]);
        let help = format!("the newest known is {}.{}", newest.0, newest.1);
        let exists = |(major, minor): (u32, u32)| {
            let newest = major.checked_sub(1).and_then(|i| VERSIONS.get(i as usize));
            newest.is_some_and(|newest| minor <= *newest)
        };
        let (major, minor) = match self.syntax.version() {
            Some(version) if exists(version) => version,
            // Of a compiler that is newer than Hostwarp: most of its modules have nothing new.
            Some(version) if version > newest && version.0 <= newest.0 + 1 => {
                let text = format!("PTX {} is newer than Hostwarp", argument.text());
                let help = help + "; what is newer is reported where it stands";
                self.report(Diagnostic::new(Code::NewerVersion, text, argument.span()).help(help));
                newest
            }
            _ => {
                let text = format!("there is no PTX version {}", argument.text());
                return self.report(Diagnostic::new(Code::BadVersion, text, argument.span()).help(help));
            }
        };
        self.out.version = self.out.version.max((major, minor));
        self.env.ptx = (major * 10 + minor) as u16;
    }

    fn target(&mut self, d: Directive<'m>, has_version: bool) {
        const OPTIONS: &[&str] =
            &["texmode_unified", "texmode_independent", "texmode_raw", "debug", "map_f64_to_f32"];
        for argument in d.arguments() {
            let Some(name) = argument.name() else {
                let text = format!("`{}` is no target", argument.text());
                self.report(Diagnostic::new(Code::BadTarget, text, argument.span()));
                continue;
            };
            if OPTIONS.contains(&name) {
                self.independent_samplers |= matches!(name, "texmode_independent" | "texmode_raw");
                continue;
            }
            let number = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"));
            let plain = number.map(|n| n.trim_end_matches(['a', 'f']));
            let sm = plain.and_then(|n| n.parse::<u32>().ok());
            // What only one architecture or one family has.
            let suffix = number.zip(plain).map_or("", |(number, plain)| &number[plain.len()..]);
            let (least, suffix_since) = match suffix {
                "" => (0, 0),
                "a" => (90, 80),
                "f" => (100, 88),
                _ => (u32::MAX, 0),
            };
            let known = sm.and_then(|sm| TARGETS.iter().find(|(t, _)| *t == sm && sm >= least));
            match known.map(|(sm, since)| (sm, since.max(&suffix_since))) {
                None => {
                    let d = Diagnostic::new(
                        Code::BadTarget,
                        format!("there is no target `{name}`"),
                        argument.span(),
                    );
                    let all: Vec<String> = TARGETS.iter().map(|(t, _)| format!("sm_{t}")).collect();
                    let near = crate::near::nearest(name, all.iter().map(String::as_str));
                    self.report(match near {
                        Some(near) => d.help(format!("did you mean `{near}`?")),
                        None => d,
                    });
                }
                Some((sm, since)) => {
                    if has_version && u32::from(self.env.ptx) < *since {
                        let (major, minor) = (self.env.ptx / 10, self.env.ptx % 10);
                        let text = format!("`{name}` came with PTX {}.{}", since / 10, since % 10);
                        let help = format!("this module says `.version {major}.{minor}`");
                        self.report(Diagnostic::new(Code::BadTarget, text, argument.span()).note(help));
                    }
                    self.out.sm = self.out.sm.max(*sm);
                    self.env.sm = *sm as u16;
                    self.env.features = match suffix {
                        "a" => Features::Arch,
                        "f" => Features::Family,
                        _ => Features::Base,
                    };
                }
            }
        }
    }

    fn address_size(&mut self, d: Directive<'m>) {
        if (1..23).contains(&self.env.ptx) {
            let text = "`.address_size` came with PTX 2.3";
            self.report(Diagnostic::new(Code::NeedsVersion, text, d.span()));
        }
        let Some(argument) = d.arguments().get(0) else { return };
        match argument.int() {
            Some(bits @ (32 | 64)) => {
                if self.file > 0 && self.out.address_size != bits as u32 {
                    let text = format!(
                        "addresses have {bits} bits here and {} in the modules before",
                        self.out.address_size
                    );
                    self.report(Diagnostic::new(Code::BadAddressSize, text, argument.span()));
                }
                self.out.address_size = bits as u32;
            }
            _ => self.report(
                Diagnostic::new(Code::BadAddressSize, "addresses have 32 or 64 bits", argument.span())
                    .help("write `.address_size 64`"),
            ),
        }
    }

    fn directive(&mut self, d: Directive<'m>) {
        if d.kind() == DirectiveKind::Alias {
            self.alias(d);
        }
    }

    /// A variable declaration, in the module or in a body.
    pub fn declaration(&mut self, d: Declaration<'m>, in_body: bool) {
        let site = if in_body { Site::Body } else { Site::Module };
        let spec = self.spec(d.specifiers(), d.span(), site);
        for variable in d.variables().iter() {
            let Some(name) = variable.name() else { continue };
            match spec {
                None => self.broken(name),
                Some(spec) if matches!(spec.space, Space::Reg | Space::Sreg) => {
                    if spec.space == Space::Sreg {
                        let text = "special registers cannot be declared";
                        self.report(Diagnostic::new(Code::BadSpace, text, name.span));
                        self.broken(name);
                    } else if !in_body && self.env.ptx >= 30 {
                        let text = "registers belong to a function since PTX 3.0";
                        let d = Diagnostic::new(Code::BadSpace, text, name.span)
                            .help("move the declaration into the functions that use it");
                        self.report(d);
                        self.broken(name);
                    } else if variable.dims().len() > 0 || variable.init().is_some() {
                        let text = "a register is neither an array nor initialised";
                        self.report(Diagnostic::new(Code::BadSpace, text, variable.span()));
                        self.broken(name);
                    } else {
                        self.registers(name, spec, variable.count());
                        if !in_body {
                            self.thread_registers.insert(self.next_declaration - 1);
                        }
                    }
                }
                Some(spec) => {
                    if let Some(count) = variable.count() {
                        let text = "only registers can be declared as a range";
                        self.report(Diagnostic::new(Code::BadRegisterCount, text, count.span()));
                    }
                    self.variable(spec, variable, in_body);
                }
            }
        }
    }

    pub fn registers(&mut self, name: Name<'m>, spec: crate::layout::Spec, count: Option<Expr<'m>>) {
        let (ptx, sm) = match spec.ty {
            Ty::F16x2 => (0, 53),
            Ty::B128 => (83, 70),
            _ => (0, 0),
        };
        if self.env.ptx < ptx {
            let text = format!("registers of type `{}` came with PTX {}.{}", spec.ty, ptx / 10, ptx % 10);
            self.report(Diagnostic::new(Code::NeedsVersion, text, name.span));
        } else if self.env.sm < sm {
            let text = format!("registers of type `{}` need `sm_{sm}` or newer", spec.ty);
            self.report(Diagnostic::new(Code::NeedsTarget, text, name.span));
        }
        let reg = Reg { declaration: self.next_declaration, index: 0, element: 0, ty: spec.ty };
        self.next_declaration += 1;
        let Some(count) = count else {
            self.hides_special(name, None);
            return self.define(name, Entity::Reg(reg, spec.vector));
        };
        let Some(n) = count.int().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= i32::MAX as u32)
        else {
            let text = "a register range needs a number of registers";
            let d = Diagnostic::new(Code::BadRegisterCount, text, count.span())
                .help(format!("`{0}<4>` declares {0}0, {0}1, {0}2 and {0}3", name.text));
            self.report(d);
            return;
        };
        self.hides_special(name, Some(n));
        if let Err(old) = self.scopes.define_range(name.text, reg, spec.vector, n, name.span) {
            let text = format!("the registers `{}<…>` are declared twice", name.text);
            let d = Diagnostic::new(Code::Duplicate, text, name.span)
                .label("declared again here")
                .also(old, "first declared here");
            self.report(d);
        }
    }

    fn hides_special(&mut self, name: Name<'m>, count: Option<u32>) {
        if let Some(special) = crate::special::hidden_by(name.text, count) {
            let text = format!("this register hides the special register `{special}`");
            let d = Diagnostic::new(Code::HidesSpecial, text, name.span)
                .note(format!("`{special}` is the register from here on"))
                .help("give it another name");
            self.report(d);
        }
    }

    fn function(&mut self, f: syntax::Function<'m>) {
        let errors = self.errors();
        self.function_specifiers_fit(f);
        let signature = self.signature(f);
        let index = f.name().map(|name| self.define_function(f, name, &signature));
        self.said.clear();
        let before = self.scopes.begin_function();
        let params = self.params(f, &signature);
        let limits = self.limits(f);
        let Some(body) = f.body() else {
            return self.scopes.end_function(before);
        };
        let name = f.name().map_or("", |n| n.text);
        let role = if f.is_entry() { Role::Kernel } else { Role::Function(&signature) };
        let result = crate::body::check(self, body, name, role);
        self.scopes.end_function(before);
        let function = match result.function {
            _ if self.errors() > errors => Err(Unusable::Invalid),
            other => other,
        };
        let shared = f.specifiers().linkage().is_some_and(|l| l != Linkage::Extern);
        if let (true, Some(name)) = (shared, f.name())
            && !self.names.wins(name.text, (self.file, name.span))
        {
            // Another module's is taken.
            return;
        }
        if !f.is_entry() {
            let Some(index) = index else { return };
            let callable = &mut self.callables[index as usize];
            callable.uses = result.uses;
            match function {
                Ok(function) => self.program.functions[index as usize] = Some(function),
                Err(why) => callable.unusable = Some(why),
            }
            return;
        }
        let (start, end) = (f.span().start, f.span().end.saturating_sub(1));
        self.kernel_uses.push((result.uses, (self.file, self.item_head())));
        let lines = &self.files[self.file as usize];
        let line = |at| lines.before + lines.lines.line(at);
        self.out.kernels.push(Kernel {
            name: name.to_string(),
            info: ir::KernelInfo {
                param_bytes: params.last().map_or(0, |p| p.offset + p.size),
                ..ir::KernelInfo::default()
            },
            params,
            function,
            limits,
            lines: (line(start), line(end)),
        });
    }

    /// Declares or defines a function; answers its number.
    fn define_function(&mut self, f: syntax::Function<'m>, name: Name<'m>, signature: &Signature<'m>) -> u32 {
        let defined = f.body().is_some();
        let never_returns = f.directives().any(|d| d.kind() == DirectiveKind::NoReturn);
        let linkage = f.specifiers().linkage();
        if let Some(Entity::Function(index)) = self.scopes.lookup(name.text).map(|b| b.entity) {
            let old = &mut self.callables[index as usize];
            // A declaration may stand before the definition, and any number of times, but not behind it.
            if !old.defined {
                let differs = if let Some(what) = old.signature.differs(signature) {
                    Some(what)
                } else if old.is_entry != f.is_entry() {
                    Some("one is a kernel, the other a function")
                } else if old.never_returns != never_returns {
                    Some("only one of them is `.noreturn`")
                } else if !same_linkage(old.linkage, linkage) {
                    Some("the linkage is another here")
                } else {
                    None
                };
                old.defined |= defined;
                if let Some(label) = differs {
                    let text = format!("`{}` is declared in two ways", name.text);
                    let (file, declared) = old.declared;
                    if file != self.file {
                        self.declared_in_two_ways(name, label, (file, declared));
                        return index;
                    }
                    let d = Diagnostic::new(Code::Duplicate, text, name.span)
                        .label(label)
                        .also(declared, "first declared here");
                    self.report(d);
                }
                return index;
            }
        }
        if linkage.is_some()
            && self.scopes.lookup(name.text).is_none()
            && let Some((entity, first)) = self.names.entity(name.text)
        {
            let Entity::Function(index) = entity else {
                self.declared_in_two_ways(name, "a function here, a variable there", first);
                self.broken(name);
                return self.new_callable(f, name, signature);
            };
            let old = &mut self.callables[index as usize];
            let differs = if let Some(what) = old.signature.differs(signature) {
                Some(what)
            } else if old.is_entry != f.is_entry() {
                Some("one is a kernel, the other a function")
            } else if old.never_returns != never_returns {
                Some("only one of them is `.noreturn`")
            } else {
                None
            };
            old.defined |= defined;
            old.linkage = if defined { linkage } else { old.linkage };
            if let Some(what) = differs {
                self.declared_in_two_ways(name, what, first);
            }
            self.define(name, Entity::Function(index));
            return index;
        }
        if defined && linkage == Some(Linkage::Extern) {
            let text =
                format!("`{}` is `.extern`, so it is defined elsewhere and has no body here", name.text);
            self.report(Diagnostic::new(Code::Duplicate, text, name.span));
        }
        let index = self.new_callable(f, name, signature);
        self.define(name, Entity::Function(index));
        if linkage.is_some() {
            self.names.enter(name.text, Entity::Function(index), (self.file, name.span));
        }
        index
    }

    fn new_callable(&mut self, f: syntax::Function<'m>, name: Name<'m>, signature: &Signature<'m>) -> u32 {
        self.callables.push(Callable {
            name: name.text,
            signature: signature.clone(),
            is_entry: f.is_entry(),
            never_returns: f.directives().any(|d| d.kind() == DirectiveKind::NoReturn),
            linkage: f.specifiers().linkage(),
            declared: (self.file, name.span),
            defined: f.body().is_some(),
            called: None,
            unusable: None,
            uses: Uses::default(),
        });
        self.program.functions.push(None);
        self.callables.len() as u32 - 1
    }

    /// Puts kernels and the functions they call together.
    fn link(&mut self) {
        let linked = self.files.iter().filter(|f| f.name != crate::runtime::NAME).count() > 1;
        for callable in &self.callables {
            let (false, Some((file, at))) = (callable.defined || is_builtin(callable), callable.called)
            else {
                continue;
            };
            let of_others = "kernels that call it cannot be launched; all others can";
            let d = if crate::runtime::launches(callable.name) {
                let text = format!("device-side launch is not supported yet: `{}`", callable.name);
                Diagnostic::new(Code::UnsupportedFeature, text, at).note(of_others)
            } else if linked {
                let text = format!("no module defines the function `{}`", callable.name);
                Diagnostic::new(Code::UnknownName, text, at)
                    .label("called here")
                    .note(format!("it is declared {}", self.in_words(callable.declared)))
            } else {
                self.out.undefined.push(callable.name.to_string());
                let text = format!("the function `{}` of another module is not there", callable.name);
                Diagnostic::new(Code::UnsupportedFeature, text, at).note(of_others).help(
                    "load the module that defines it together with this one: `hostwarp run a.ptx b.ptx`",
                )
            };
            self.files[file as usize].sink.push(d);
        }
        let defined = self.callables.iter().filter(|callable| callable.defined);
        self.out.functions = defined.map(|callable| callable.name.to_string()).collect();
        for n in 0..self.out.kernels.len() {
            let (uses, (file, head)) = self.kernel_uses[n].clone();
            let (reached, shared) = self.reached(uses);
            let name = &self.out.kernels[n].name;
            let bytes = ir::calls::shared_layout(&self.program.shared, shared, 0).bytes;
            const MOST_SHARED: u64 = 0xc000;
            if bytes > MOST_SHARED {
                let text = format!(
                    "the static shared memory of `{name}` takes {bytes} bytes; there are {MOST_SHARED}"
                );
                let d = Diagnostic::new(Code::TooLarge, text, head)
                    .help("declare it `.extern .shared` without a bound and give its size at launch");
                self.files[file as usize].sink.push(d);
                self.out.kernels[n].function = Err(Unusable::Invalid);
            }
            // What a function it may call cannot do, it cannot either.
            let why = reached.iter().find_map(|id| {
                let callable = &self.callables[id.index()];
                why_not(callable, self.line_of(callable.called.unwrap_or(callable.declared)))
            });
            let kernel = &mut self.out.kernels[n];
            kernel.info.shared_bytes = bytes.min(u64::from(u32::MAX)) as u32;
            if matches!(kernel.function, Ok(_) | Err(Unusable::NotBuilt)) {
                if let Some(why) = why {
                    kernel.function = Err(why);
                } else if let Ok(function) = &kernel.function {
                    let options = ir::calls::Options::default();
                    kernel.function = match ir::calls::link(&self.program, function, options) {
                        Ok(mut linked) => {
                            linked.info.param_bytes = kernel.info.param_bytes;
                            kernel.info = linked.info.clone();
                            Ok(linked)
                        }
                        Err(_) => Err(Unusable::Invalid),
                    };
                }
            }
        }
    }

    /// The functions that can be reached from something that uses these, and all variables in shared memory they use.
    fn reached(&self, uses: Uses) -> (BTreeSet<ir::FuncId>, BTreeSet<u32>) {
        let mut shared = uses.shared;
        let mut found = BTreeSet::new();
        let mut work: Vec<ir::FuncId> = uses.calls.into_iter().collect();
        if uses.calls_any {
            work.extend(&self.program.taken);
        }
        while let Some(id) = work.pop() {
            if found.insert(id) {
                let uses = &self.callables[id.index()].uses;
                shared.extend(&uses.shared);
                work.extend(&uses.calls);
                if uses.calls_any {
                    work.extend(&self.program.taken);
                }
            }
        }
        (found, shared)
    }

    /// Declares the parameters; those of a kernel are laid out and returned.
    fn params(&mut self, f: syntax::Function<'m>, signature: &Signature<'m>) -> Vec<Param> {
        let mut out = vec![];
        let mut offset = 0;
        let returns = f.returns().len();
        let formals = signature.returns.iter().chain(&signature.params);
        for (i, (variable, formal)) in f.returns().iter().chain(f.params().iter()).zip(formals).enumerate() {
            let Some(name) = variable.name() else { continue };
            let Some(formal) = formal else {
                self.broken(name);
                continue;
            };
            let spec = formal.spec;
            match spec.space {
                Space::Reg if !f.is_entry() => {
                    if name.text != "_" {
                        self.registers(name, spec, None);
                    }
                    continue;
                }
                Space::Param if spec.vector == 1 || !f.is_entry() => {}
                _ => {
                    let text = format!("the parameter `{}` must be a scalar or array in `.param`", name.text);
                    self.report(Diagnostic::new(Code::BadSpace, text, name.span));
                    self.broken(name);
                    continue;
                }
            }
            if formal.size == 0 && f.is_entry() {
                let text = format!("the size of the parameter `{}` is not known", name.text);
                self.report(Diagnostic::new(Code::BadDimension, text, variable.span()));
            }
            offset = align_up(offset, formal.align);
            let pointer = variable.specifiers().pointer().map(|p| {
                let align = p.align.and_then(|a| a.int()).unwrap_or(4) as u32;
                (p.space.map(ir_space), align)
            });
            out.push(Param {
                name: name.text.to_string(),
                ty: spec.ty,
                align: formal.align as u32,
                size: formal.size.min(u32::MAX as u64) as u32,
                offset: offset.min(u32::MAX as u64) as u32,
                array: formal.array,
                pointer,
            });
            let index = self.variables.len() as u32;
            self.variables.push(Variable {
                name: name.text,
                space: Space::Param,
                ty: spec.ty,
                element: u64::from(spec.ty.bits().div_ceil(8)) * u64::from(spec.vector),
                array: formal.array,
                size: formal.size,
                align: formal.align,
                place: if f.is_entry() { At::At(offset) } else { At::Local },
                read_only: i >= returns,
                unsupported: spec.opaque.then_some(TEXTURES),
            });
            offset = offset.saturating_add(formal.size);
            if name.text != "_" {
                self.define(name, Entity::Variable(index));
            }
        }
        const MOST: u64 = 32764;
        if f.is_entry() && offset > MOST {
            let text = format!("the parameters take {offset} bytes; there are {MOST}");
            let at = f.name().map_or(f.keyword_span(), |n| n.span);
            self.report(Diagnostic::new(Code::TooLarge, text, at));
        }
        out
    }

    /// What an undefined name might have meant, as a help.
    pub fn suggest(&self, d: Diagnostic, name: &str) -> Diagnostic {
        if self.files[self.file as usize].sink.is_full() {
            return d;
        }
        if let Some((count, span)) = self.scopes.range_of(name) {
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let text = format!("`{prefix}0` to `{prefix}{}` are declared here", count.saturating_sub(1));
            return d.also(span, text);
        }
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(digits);
        let special =
            if name.starts_with('%') { crate::near::nearest(name, crate::special::names()) } else { None };
        let plain = crate::near::nearest(name, self.scopes.names()).or(special);
        let ranged = crate::near::nearest(stem, self.scopes.prefixes()).filter(|_| !number.is_empty());
        match (plain, ranged) {
            (Some(near), _) => d.help(format!("did you mean `{near}`?")),
            (None, Some(near)) => d.help(format!("did you mean `{near}{number}`?")),
            (None, None) => d,
        }
    }
}

/// Whether a function that was declared with the one may be declared again with the other. What the first says stays true if the second says
/// nothing, except that a function of another module is not one of this.
fn same_linkage(first: Option<Linkage>, second: Option<Linkage>) -> bool {
    first == second || second.is_none() && first != Some(Linkage::Extern)
}

/// What a function's body came to.
pub(crate) struct BodyResult {
    pub function: Result<ir::Function, Unusable>,
    pub uses: Uses,
}

/// Whether a function that no module defines is there all the same.
fn is_builtin(callable: &Callable<'_>) -> bool {
    crate::host::find(callable.name, &callable.signature).is_some()
}

/// Why a function that is called cannot be run.
fn why_not(callable: &Callable<'_>, line: u32) -> Option<Unusable> {
    if callable.defined {
        return callable.unusable.clone().filter(|why| *why != Unusable::NotBuilt);
    }
    let what = format!("the function `{}` of another module", callable.name);
    (!is_builtin(callable)).then_some(Unusable::Unsupported { line, what })
}

/// Whether there is an error among these.
pub(crate) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity == Severity::Error)
}

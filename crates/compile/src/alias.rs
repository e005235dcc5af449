//! `.alias`: a second name for a function.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::scope::Entity;
use hostwarp_syntax::Directive;

impl<'m> Checker<'m> {
    /// `.alias other, function;` gives a function that is declared the body of another.
    pub fn alias(&mut self, d: Directive<'m>) {
        if self.env.ptx < 63 {
            let text = "`.alias` came with PTX 6.3";
            return self.report(Diagnostic::new(Code::NeedsVersion, text, d.span()));
        }
        if self.env.sm < 30 {
            let text = "`.alias` needs `sm_30` or newer";
            return self.report(Diagnostic::new(Code::NeedsTarget, text, d.span()));
        }
        let mut functions = vec![];
        for argument in d.arguments() {
            let Some(name) = argument.name() else { return };
            match self.scopes.lookup(name).map(|b| b.entity) {
                Some(Entity::Function(index)) if !self.callables[index as usize].is_entry => {
                    functions.push(index);
                }
                Some(Entity::Broken) => return,
                Some(Entity::Function(_)) => {
                    let text = format!("`{name}` is a kernel, which has no other name");
                    return self.report(Diagnostic::new(Code::BadDirective, text, argument.span()));
                }
                _ => {
                    let d = Diagnostic::new(
                        Code::UnknownName,
                        format!("the function `{name}` is not declared"),
                        argument.span(),
                    );
                    return self.report(d.help("declare both functions before `.alias`"));
                }
            }
        }
        let [alias, function] = functions[..] else {
            let text = "`.alias` takes two names: the new one and that of a function";
            return self.report(Diagnostic::new(Code::BadDirective, text, d.span()));
        };
        let (a, f) = (&self.callables[alias as usize], &self.callables[function as usize]);
        let problem = if a.defined {
            Some((format!("`{}` has a body of its own", a.name), a.declared))
        } else {
            a.signature.differs(&f.signature).map(|what| (what.to_string(), f.declared))
        };
        if let Some((text, (_, at))) = problem {
            let text = format!("`{}` cannot stand for `{}`: {text}", a.name, f.name);
            return self
                .report(Diagnostic::new(Code::BadDirective, text, d.span()).also(at, "declared here"));
        }
        self.callables[alias as usize].defined = true;
        self.aliases.push((alias, function, d.span()));
    }

    /// Gives aliases what they stand for, when all bodies are known.
    pub fn resolve_aliases(&mut self) {
        for (alias, function, span) in std::mem::take(&mut self.aliases) {
            let (alias, function) = (alias as usize, function as usize);
            if !self.callables[function].defined {
                let text = format!(
                    "`{}` is not defined here, so nothing can stand for it",
                    self.callables[function].name
                );
                self.report(Diagnostic::new(Code::BadDirective, text, span));
                continue;
            }
            self.program.functions[alias] = self.program.functions[function].clone();
            self.callables[alias].unusable = self.callables[function].unusable.clone();
            self.callables[alias].uses = self.callables[function].uses.clone();
        }
    }
}

//! The directives between the head of a function and its body.

use crate::check::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::module::Limits;
use hostwarp_isa::{Since, since};
use hostwarp_syntax::{self as syntax, Directive, DirectiveKind as Kind};

/// What there is to know about a directive of a function.
struct Rule {
    kind: Kind,
    /// On kernels, on other functions.
    entry: bool,
    func: bool,
    /// How many numbers it takes, and the least of them.
    numbers: std::ops::RangeInclusive<usize>,
    least: u32,
    since: Since,
}

const fn rule(kind: Kind, numbers: std::ops::RangeInclusive<usize>, least: u32, since: Since) -> Rule {
    Rule { kind, entry: true, func: false, numbers, least, since }
}

const RULES: &[Rule] = &[
    rule(Kind::MaxNTid, 1..=3, 1, since(13, 10)),
    rule(Kind::ReqNTid, 1..=3, 1, since(21, 10)),
    rule(Kind::MinNCtaPerSm, 1..=1, 1, since(20, 10)),
    rule(Kind::MaxNCtaPerSm, 1..=1, 1, since(13, 10)),
    rule(Kind::MaxNReg, 1..=1, 1, since(13, 10)),
    rule(Kind::ReqNCtaPerCluster, 1..=3, 0, since(78, 90)),
    rule(Kind::MaxClusterRank, 1..=1, 0, since(78, 90)),
    rule(Kind::ExplicitCluster, 0..=0, 0, since(78, 90)),
    rule(Kind::BlocksAreClusters, 0..=0, 0, since(90, 90)),
    rule(Kind::Language, 1..=1, 0, since(92, 10)),
    Rule { entry: false, func: true, ..rule(Kind::NoReturn, 0..=0, 0, since(64, 30)) },
    Rule { entry: false, func: true, ..rule(Kind::AbiPreserve, 1..=1, 0, since(90, 80)) },
    Rule { entry: false, func: true, ..rule(Kind::AbiPreserveControl, 1..=1, 0, since(90, 80)) },
];

/// Directives that cannot both be there.
const CONFLICTS: &[(Kind, Kind)] =
    &[(Kind::MaxNTid, Kind::ReqNTid), (Kind::ReqNCtaPerCluster, Kind::MaxClusterRank)];

impl<'m> Checker<'m> {
    /// What the directives of a function say.
    pub fn limits(&mut self, f: syntax::Function<'m>) -> Limits {
        let mut limits = Limits::default();
        for d in f.directives() {
            let Some(numbers) = self.directive_numbers(f, d) else { continue };
            match d.kind() {
                Kind::MaxNTid => limits.max_cta = Some(numbers),
                Kind::ReqNTid => limits.required_cta = Some(numbers),
                Kind::MinNCtaPerSm => limits.min_ctas_per_sm = Some(numbers[0]),
                Kind::MaxNReg => limits.max_registers = Some(numbers[0]),
                _ => {}
            }
        }
        let all: Vec<Directive<'m>> = f.directives().collect();
        let find = |kind: Kind| all.iter().find(|d| d.kind() == kind);
        for (one, other) in CONFLICTS {
            if let (Some(one), Some(other)) = (find(*one), find(*other)) {
                let text = format!("`{}` and `{}` do not go together", one.name().text, other.name().text);
                let d =
                    Diagnostic::new(Code::BadDirective, text, other.span()).also(one.span(), "or this one");
                self.report(d);
            }
        }
        if let Some(d) = find(Kind::BlocksAreClusters)
            && self.env.ptx >= 90
            && (find(Kind::ReqNTid).is_none() || find(Kind::ReqNCtaPerCluster).is_none())
        {
            let text = "`.blocksareclusters` wants `.reqntid` and `.reqnctapercluster` too";
            self.report(Diagnostic::new(Code::BadDirective, text, d.span()));
        }
        if let Some(d) = find(Kind::NoReturn)
            && !f.returns().is_empty()
        {
            let text = "a function that never returns has no results";
            self.report(Diagnostic::new(Code::BadDirective, text, d.span()));
        }
        limits
    }

    /// The numbers of a directive, if it may stand there and all is well.
    fn directive_numbers(&mut self, f: syntax::Function<'m>, d: Directive<'m>) -> Option<[u32; 3]> {
        let name = d.name().text;
        let found = RULES.iter().find(|r| r.kind == d.kind());
        let Some(rule) = found else {
            if d.kind() != Kind::Pragma {
                let text = format!("there is no directive `{name}` for functions");
                self.report(Diagnostic::new(Code::UnknownDirective, text, d.name().span));
            } else if !f.is_entry() {
                let text = "`.pragma` stands inside of a function, not before its body";
                self.report(Diagnostic::new(Code::BadDirective, text, d.span()));
            }
            return None;
        };
        if !(if f.is_entry() { rule.entry } else { rule.func }) {
            let what = if f.is_entry() { "functions, not for kernels" } else { "kernels" };
            let text = format!("`{name}` is for {what}");
            self.report(Diagnostic::new(Code::BadDirective, text, d.span()));
            return None;
        }
        let since = rule.since;
        if self.env.ptx < since.ptx {
            let text = format!("`{name}` came with PTX {}.{}", since.ptx / 10, since.ptx % 10);
            self.report(Diagnostic::new(Code::NeedsVersion, text, d.span()));
            return None;
        }
        if self.env.sm < since.sm {
            let text = format!("`{name}` needs `sm_{}` or newer", since.sm);
            self.report(Diagnostic::new(Code::NeedsTarget, text, d.span()));
            return None;
        }
        if d.kind() == Kind::MaxNCtaPerSm && self.env.ptx >= 21 {
            let text = "PTX 2.1 and newer no longer have `.maxnctapersm`";
            self.report(Diagnostic::new(Code::BadDirective, text, d.span()).help("write `.minnctapersm`"));
            return None;
        }
        let given = d.arguments().len();
        let plain = |a: syntax::Expr<'m>| match a.kind() {
            syntax::ExprKind::Int(int) => u32::try_from(int.value).ok(),
            _ => None,
        };
        // ptxas takes blocks that no device has, but not the largest number.
        let block = matches!(d.kind(), Kind::MaxNTid | Kind::ReqNTid);
        let fits = |n: &u32| *n >= rule.least && !(block && *n == u32::MAX);
        let all: Option<Vec<u32>> = d.arguments().iter().map(|a| plain(a).filter(fits)).collect();
        match all {
            Some(all) if rule.numbers.contains(&given) => {
                let mut numbers = [1u32; 3];
                numbers[..given].copy_from_slice(&all);
                Some(numbers)
            }
            _ => {
                let text = match (*rule.numbers.end(), rule.least) {
                    (0, _) => format!("`{name}` takes no arguments"),
                    (1, 0) => format!("`{name}` takes a number"),
                    (1, _) => format!("`{name}` takes a positive number"),
                    (most, 0) => format!("`{name}` takes up to {most} numbers"),
                    (most, _) => format!("`{name}` takes up to {most} positive numbers"),
                };
                self.report(Diagnostic::new(Code::BadDirective, text, d.span()));
                None
            }
        }
    }
}

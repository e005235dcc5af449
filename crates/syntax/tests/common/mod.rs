//! The invariants that hold for any bytes, shared by the tests and the fuzzers.
#![allow(dead_code)] // not every user wants all of it

use hostwarp_syntax::*;

pub const SAMPLES: [&str; 3] = [
    include_str!("../data/everything.ptx"),
    include_str!("../data/old.ptx"),
    include_str!("../data/broken.ptx"),
];

/// The tokens as the printer may write them: white space at the end of a line-long token is not part of it.
fn tokens(text: &str) -> Vec<(TokenKind, &str)> {
    Lexer::new(text).map(|t| (t.kind, text[t.span.range()].trim_ascii_end())).collect()
}

/// Walks every handle of the tree and checks that spans nest and lie in the text.
pub fn check_tree(module: &Module) {
    let source = module.source();
    let whole = Span::new(0, source.len() as u32);
    statements(module.items(), whole, 0);
}

fn inside(inner: Span, outer: Span) {
    assert!(
        outer.start <= inner.start && inner.start <= inner.end && inner.end <= outer.end,
        "{inner:?} in {outer:?}"
    );
}

fn statements(list: Statements<'_>, within: Span, depth: usize) {
    assert!(depth <= MAX_NESTING);
    let mut last = within.start;
    for statement in list {
        let span = statement.span();
        inside(span, within);
        assert!(span.start >= last, "statements overlap: {span:?}");
        last = span.end;
        match statement {
            Statement::Function(f) | Statement::CallPrototype(f) => {
                f.returns().iter().chain(f.params().iter()).for_each(|v| variable(v, span));
                f.directives().for_each(|d| d.arguments().into_iter().for_each(|a| expr(a, span, 0)));
                f.body().into_iter().for_each(|b| {
                    inside(b.span(), span);
                    statements(b.statements(), b.span(), depth + 1);
                });
            }
            Statement::CallTargets(t) | Statement::BranchTargets(t) => {
                t.list.iter().for_each(|e| expr(e, span, 0))
            }
            Statement::Declaration(d) => d.variables().iter().for_each(|v| variable(v, span)),
            Statement::Directive(d) => {
                let _ = (d.kind(), d.loc());
                d.arguments().into_iter().for_each(|a| expr(a, span, 0));
            }
            Statement::Section(s) => statements(s.contents, s.span, depth + 1),
            Statement::Block(b) => statements(b.statements(), b.span(), depth + 1),
            Statement::Label(l) => inside(l.name.span, span),
            Statement::Instruction(i) => {
                inside(i.mnemonic_span(), span);
                i.modifiers().for_each(|m| inside(m.span, span));
                i.guard().into_iter().for_each(|g| expr(g.predicate, span, 0));
                i.operands().into_iter().for_each(|o| expr(o, span, 0));
                assert!(!i.print().is_empty());
            }
            Statement::Error(_) => {}
        }
    }
}

fn variable(v: Variable<'_>, within: Span) {
    inside(v.span(), within);
    let s = v.specifiers();
    let _ = (s.linkage(), s.space(), s.align(), s.vector(), s.pointer(), s.type_name());
    v.count().into_iter().chain(v.dims().flatten()).chain(v.init()).for_each(|e| expr(e, within, 0));
}

fn expr(e: Expr<'_>, within: Span, depth: usize) {
    assert!(depth <= MAX_NESTING);
    let span = e.span();
    inside(span, within);
    let _ = e.evaluate();
    let each = |list: ExprList<'_>| list.into_iter().for_each(|e| expr(e, span, depth + 1));
    match e.kind() {
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) | ExprKind::Member(a, _) => expr(a, span, depth + 1),
        ExprKind::Binary(_, a, b)
        | ExprKind::Pair(a, b)
        | ExprKind::Index(a, b)
        | ExprKind::Assign(a, b)
        | ExprKind::Range(a, b) => [a, b].into_iter().for_each(|e| expr(e, span, depth + 1)),
        ExprKind::Ternary(a, b, c) => [a, b, c].into_iter().for_each(|e| expr(e, span, depth + 1)),
        ExprKind::Call(a, list) => {
            expr(a, span, depth + 1);
            each(list);
        }
        ExprKind::Paren(list) | ExprKind::Vector(list) | ExprKind::Address(list) => each(list),
        _ => {}
    }
}

/// Parsing succeeds, the tree is sound, printing loses nothing and is stable.
pub fn check(bytes: &[u8]) {
    let parsed = parse(bytes);
    for error in &parsed.errors {
        assert!(
            error.span.start <= error.span.end && error.span.end as usize <= parsed.module.source().len()
        );
        let _ = (error.message(), error.label(), error.help());
    }
    check_tree(&parsed.module);
    let once = print(&parsed.module);
    assert_eq!(tokens(parsed.module.source()), tokens(&once), "a token changed in\n{once}");
    let again = parse(&once);
    check_tree(&again.module);
    let twice = print(&again.module);
    assert_eq!(once, twice, "printing is not stable for {:?}", parsed.module.source());
    assert_eq!(parsed.errors.len(), again.errors.len(), "white space changed the parse of\n{once}");
}

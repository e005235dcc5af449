//! What the tree of real PTX looks like through the public API.

use hostwarp_syntax::*;

const EVERYTHING: &str = include_str!("data/everything.ptx");

fn parsed(text: &str) -> Module {
    let parsed = parse(text);
    assert_eq!(parsed.errors, [], "{text}");
    parsed.module
}

/// The body of a kernel holding `text`, handed to `check` one instruction at a time.
fn instruction<T>(text: &str, check: impl FnOnce(Instruction<'_>) -> T) -> T {
    let module = parsed(&format!(".entry k() {{ {text} }}"));
    let kernel = module.functions().next().unwrap();
    match kernel.body().unwrap().statements().next() {
        Some(Statement::Instruction(instruction)) => check(instruction),
        other => panic!("{text}: {other:?}"),
    }
}

fn operands(text: &str) -> Vec<String> {
    instruction(text, |i| i.operands().into_iter().map(|o| format!("{o:?}")).collect())
}

#[test]
fn everything_parses() {
    let module = parsed(EVERYTHING);
    assert_eq!(module.version(), Some((8, 7)));
    let target: Vec<_> = module.target().unwrap().into_iter().map(|t| t.text()).collect();
    assert_eq!(target, ["sm_90a", "texmode_independent", "debug"]);
    assert_eq!(module.address_size(), Some(64));
    assert_eq!(module.foreign_lines().len(), 2);
    assert_eq!(module.comments().len(), 4);
    assert!(!module.items().any(|item| matches!(item, Statement::Error(_))));
}

#[test]
fn old_modules_parse() {
    let module = parsed(include_str!("data/old.ptx"));
    assert_eq!(module.version(), Some((1, 4)));
    assert_eq!(module.functions().next().unwrap().params().len(), 2);
}

#[test]
fn spans_nest() {
    fn check(statements: Statements<'_>, within: Span) -> u32 {
        let mut last = within.start;
        for statement in statements {
            let span = statement.span();
            assert!(span.start >= last && span.start < span.end && span.end <= within.end, "{statement:?}");
            last = span.end;
            match statement {
                Statement::Function(f) => {
                    if let Some(body) = f.body() {
                        check(body.statements(), body.span());
                    }
                }
                Statement::Block(block) => {
                    check(block.statements(), block.span());
                }
                Statement::Section(section) => {
                    check(section.contents, section.span);
                }
                _ => {}
            }
        }
        last
    }
    let module = parsed(EVERYTHING);
    check(module.items(), Span::new(0, EVERYTHING.len() as u32));
}

#[test]
fn kernel_header() {
    let module = parsed(EVERYTHING);
    let kernel = module.functions().find(|f| f.is_entry()).unwrap();
    assert_eq!(kernel.name().unwrap().text, "kernel");
    assert_eq!(module.text(kernel.name().unwrap().span), "kernel");
    assert_eq!(kernel.specifiers().linkage(), Some(Linkage::Visible));

    let params: Vec<_> = kernel.params().iter().collect();
    assert_eq!(params.len(), 3);
    let pointer = params[0].specifiers().pointer().unwrap();
    assert_eq!(pointer.space, Some(Space::Global));
    assert_eq!(pointer.align.unwrap().int(), Some(16));
    assert_eq!(params[0].specifiers().space(), Some(Space::Param));
    assert!(params[0].specifiers().align().is_none());
    assert_eq!(params[1].specifiers().align().unwrap().int(), Some(8));
    assert_eq!(params[1].dims().next().unwrap().unwrap().int(), Some(24));
    assert_eq!(params[2].specifiers().type_name().unwrap().text, "texref");

    let directives: Vec<_> = kernel.directives().map(|d| (d.kind(), d.arguments().len())).collect();
    use DirectiveKind::*;
    assert_eq!(
        directives,
        [
            (MaxNTid, 3),
            (MinNCtaPerSm, 1),
            (MaxNReg, 1),
            (ReqNCtaPerCluster, 2),
            (ExplicitCluster, 0),
            (MaxClusterRank, 1),
            (BlocksAreClusters, 0),
            (Language, 2),
            (Pragma, 1)
        ]
    );
}

#[test]
fn functions_with_and_without_a_body() {
    let module = parsed(EVERYTHING);
    let functions: Vec<_> = module
        .functions()
        .map(|f| (f.name().unwrap().text, f.returns().len(), f.params().len(), f.body().is_some()))
        .collect();
    assert_eq!(
        functions,
        [
            ("vprintf", 1, 2, false),
            ("stop", 0, 0, false),
            ("foo", 1, 2, true),
            ("bar", 0, 0, false),
            ("tail", 1, 2, false),
            ("kernel", 0, 3, true)
        ]
    );
    let tail = module.functions().find(|f| f.name().unwrap().text == "tail").unwrap();
    assert!(
        matches!(tail.specifiers().attributes().unwrap().kind(), ExprKind::Paren(list) if list.len() == 1)
    );
    assert!(tail.params().get(1).unwrap().dims().next().unwrap().is_none());
}

#[test]
fn variables() {
    let module = parsed(
        ".visible .const[3] .align 16 .v4 .f32 a, b[2][3] = {{1.0}, {2.0}}, c[];
         .entry k() { .reg .pred p, %q<4>; .shared .align 8 .b8 s[(1 << 4) * 2]; }",
    );
    let mut items = module.items();
    let Some(Statement::Declaration(declaration)) = items.next() else { panic!() };
    let specs = declaration.specifiers();
    assert_eq!(specs.linkage(), Some(Linkage::Visible));
    assert_eq!(specs.space(), Some(Space::Const));
    assert_eq!(specs.bank().unwrap().int(), Some(3));
    assert_eq!(specs.align().unwrap().int(), Some(16));
    assert_eq!(specs.vector(), Some(4));
    assert_eq!(specs.types().map(|t| t.text).collect::<Vec<_>>(), ["f32"]);
    let names: Vec<_> =
        declaration.variables().iter().map(|v| (v.name().unwrap().text, v.dims().len())).collect();
    assert_eq!(names, [("a", 0), ("b", 2), ("c", 1)]);
    assert!(
        matches!(declaration.variables().get(1).unwrap().init().unwrap().kind(), ExprKind::Vector(l) if l.len() == 2)
    );

    let Some(Statement::Function(kernel)) = items.next() else { panic!() };
    let mut body = kernel.body().unwrap().statements();
    let Some(Statement::Declaration(registers)) = body.next() else { panic!() };
    assert_eq!(registers.variables().get(1).unwrap().count().unwrap().int(), Some(4));
    let Some(Statement::Declaration(shared)) = body.next() else { panic!() };
    let bound = shared.variables().get(0).unwrap().dims().next().unwrap().unwrap();
    assert_eq!(bound.evaluate(), Ok(Const::S64(32)));
}

#[test]
fn mnemonics() {
    instruction(
        "@!%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b], 4, [c];",
        |i| {
            assert_eq!(i.opcode(), "cp");
            let modifiers: Vec<_> = i.modifiers().map(|m| m.text).collect();
            assert_eq!(
                modifiers,
                ["async", "bulk", "shared::cluster", "global", "mbarrier::complete_tx::bytes"]
            );
            let guard = i.guard().unwrap();
            assert!(guard.negated);
            assert_eq!(guard.predicate.name(), Some("%p1"));
            assert_eq!(i.operands().len(), 4);
        },
    );
    instruction("ld.const[2].b32 %r1, [a];", |i| {
        assert_eq!(i.modifiers().map(|m| m.text).collect::<Vec<_>>(), ["const[2]", "b32"]);
        assert_eq!(i.operands().len(), 2);
    });
    instruction("prefetch.const [2];", |i| assert_eq!(i.operands().len(), 1));
    instruction("ret;", |i| assert!(i.guard().is_none() && i.operands().is_empty()));
}

#[test]
fn simple_operands() {
    assert_eq!(
        operands("x %r1, _, -%r2, !p, 7, -0x8U, 1.5, L, WARP_SZ;"),
        [
            "Name(\"%r1\")",
            "Sink",
            "Unary(Neg, Name(\"%r2\"))",
            "Unary(Not, Name(\"p\"))",
            "Int(IntLiteral { value: 7, unsigned: false })",
            "Unary(Neg, Int(IntLiteral { value: 8, unsigned: true }))",
            "Float(F64(1.5))",
            "Name(\"L\")",
            "Name(\"WARP_SZ\")",
        ]
    );
}

#[test]
fn selectors() {
    assert_eq!(
        operands("x %tid.x, %r1.b3210, -%r2.h10, %r3.b00, [a].unified;"),
        [
            "Member(Name(\"%tid\"), \"x\")",
            "Member(Name(\"%r1\"), \"b3210\")",
            "Unary(Neg, Member(Name(\"%r2\"), \"h10\"))",
            "Member(Name(\"%r3\"), \"b00\")",
            "Member(Address([Name(\"a\")]), \"unified\")",
        ]
    );
    instruction("x %r1.b0;", |i| {
        let selector = i.operands().get(0).unwrap().selector_span().unwrap();
        assert_eq!(selector.len(), 3);
    });
}

#[test]
fn addresses() {
    let int = |v| format!("Int(IntLiteral {{ value: {v}, unsigned: false }})");
    assert_eq!(
        operands("x [a], [%r+4], [%r+-4], [a-4], [16], [t, {u, v}], [t, s, {u}], a[3];"),
        [
            "Address([Name(\"a\")])".to_string(),
            format!("Address([Binary(Add, Name(\"%r\"), {})])", int(4)),
            format!("Address([Binary(Add, Name(\"%r\"), Unary(Neg, {}))])", int(4)),
            format!("Address([Binary(Sub, Name(\"a\"), {})])", int(4)),
            format!("Address([{}])", int(16)),
            "Address([Name(\"t\"), Vector([Name(\"u\"), Name(\"v\")])])".to_string(),
            "Address([Name(\"t\"), Name(\"s\"), Vector([Name(\"u\")])])".to_string(),
            format!("Index(Name(\"a\"), {})", int(3)),
        ]
    );
}

#[test]
fn pairs_vectors_calls() {
    assert_eq!(
        operands("x p|q, {a, _}|p, {{a}, {}}, (r), f, (a, b), proto;"),
        [
            "Pair(Name(\"p\"), Name(\"q\"))",
            "Pair(Vector([Name(\"a\"), Sink]), Name(\"p\"))",
            "Vector([Vector([Name(\"a\")]), Vector([])])",
            "Paren([Name(\"r\")])",
            "Name(\"f\")",
            "Paren([Name(\"a\"), Name(\"b\")])",
            "Name(\"proto\")",
        ]
    );
    // Constants are or-ed, names are not.
    instruction("x 1|2;", |i| {
        assert!(matches!(i.operands().get(0).unwrap().kind(), ExprKind::Binary(BinaryOp::BitOr, ..)));
    });
}

#[test]
fn initialisers() {
    let module = parsed(
        ".global .u64 a[] = {generic(x)+8, 0xFF00(x+4), x, -1};\n.global .samplerref s = {filter_mode = nearest};",
    );
    let inits: Vec<_> = module
        .items()
        .map(|item| match item {
            Statement::Declaration(d) => format!("{:?}", d.variables().get(0).unwrap().init().unwrap()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(
        inits[0].starts_with("Vector([Binary(Add, Call(Name(\"generic\"), [Name(\"x\")]), Int("),
        "{}",
        inits[0]
    );
    assert!(
        inits[0].contains("Call(Int(IntLiteral { value: 65280, unsigned: false }), [Binary(Add, Name(\"x\")"),
        "{}",
        inits[0]
    );
    assert_eq!(inits[1], "Vector([Assign(Name(\"filter_mode\"), Name(\"nearest\"))])");
}

#[test]
fn locations() {
    let module = parsed(
        ".entry k() { .loc 1 2 3\n .loc 4 5 6, function_name .debug_str+16, inlined_at 7 8 9\n ret; }",
    );
    let body = module.functions().next().unwrap().body().unwrap();
    let locs: Vec<_> = body
        .statements()
        .filter_map(|s| match s {
            Statement::Directive(d) => d.loc(),
            _ => None,
        })
        .collect();
    let place = |file, line, column| SourcePlace { file, line, column };
    assert_eq!(locs[0].place, place(1, 2, 3));
    assert!(locs[0].inlined_at.is_none());
    assert_eq!(locs[1].place, place(4, 5, 6));
    assert_eq!(locs[1].function_name.unwrap().text(), ".debug_str+16");
    assert_eq!(locs[1].inlined_at, Some(place(7, 8, 9)));
}

#[test]
fn labels_prototypes_targets() {
    let module = parsed(
        ".entry k() { A: B: P: .callprototype (.param .b32 _) _ (.param .b8 _[12]) .noreturn; Q: .callprototype _;
         T: .calltargets f, g; U: .branchtargets A, N<5>; }",
    );
    let body = module.functions().next().unwrap().body().unwrap();
    let mut seen = Vec::new();
    for statement in body.statements() {
        match statement {
            Statement::Label(label) => seen.push(label.name.text.to_string()),
            Statement::CallPrototype(p) => {
                let name = p.name().unwrap().text;
                seen.push(format!(
                    "{name} {} {} {}",
                    p.returns().len(),
                    p.params().len(),
                    p.directives().len()
                ));
            }
            Statement::CallTargets(t) | Statement::BranchTargets(t) => {
                seen.push(format!(
                    "{} {:?}",
                    t.label.unwrap().text,
                    t.list.iter().map(|e| e.text()).collect::<Vec<_>>()
                ));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["A", "B", "P 1 1 1", "Q 0 0 0", "T [\"f\", \"g\"]", "U [\"A\", \"N<5>\"]"]);
}

#[test]
fn sections() {
    let module = parsed(EVERYTHING);
    let sections: Vec<_> = module
        .items()
        .filter_map(|item| match item {
            Statement::Section(section) => Some(section),
            _ => None,
        })
        .collect();
    assert_eq!(sections.len(), 2);
    assert_eq!(sections[0].name.unwrap().text, ".debug_str");
    assert_eq!(sections[0].contents.clone().count(), 7);
    assert_eq!(sections[1].contents.clone().count(), 0);
}

#[test]
fn scopes() {
    let module = parsed(".entry k() { { a; { b; } c; } d; }\n.entry l() { }");
    let body = module.functions().next().unwrap().body().unwrap();
    let Some(Statement::Block(block)) = body.statements().next() else { panic!() };
    assert_eq!(module.text(block.span()), "{ a; { b; } c; }");
    assert_eq!(block.statements().count(), 3);
    assert_eq!(body.statements().count(), 2);
    assert_eq!(module.items().count(), 2);
}

#[test]
fn strange_bytes_keep_their_offsets() {
    let parsed = parse(b".entry k() { // caf\xe9\n ret; }");
    assert_eq!(parsed.errors, []);
    let body = parsed.module.functions().next().unwrap().body().unwrap();
    assert_eq!(parsed.module.text(body.statements().next().unwrap().span()), "ret;");
    let parsed = parse(b"\xff\xfe.version 8.0");
    assert_eq!(parsed.errors[0].kind, ErrorKind::NotUtf8);
    assert_eq!(parsed.errors[0].span, Span::new(0, 2));
    assert_eq!(parsed.module.version(), Some((8, 0)));
    assert_eq!(parse("\u{feff}.version 8.0").errors, []);
}

#[test]
fn lists_of_every_shape_read_the_same_from_both_ends() {
    // One element, leaves in a row, leaves with something longer among them.
    for list in ["a", "1, b, 0f3F800000, _", "1, -2, 3", "[x], y", "{a, b}, c", "g(1), 2"] {
        let module = parsed(&format!(".entry k() {{ op {list}; }}"));
        let kernel = module.functions().next().unwrap();
        let Some(Statement::Instruction(op)) = kernel.body().unwrap().statements().next() else { panic!() };
        let operands = op.operands();
        let texts: Vec<_> = operands.iter().map(|o| o.text()).collect();
        assert_eq!(texts.join(", "), list);
        let mut back: Vec<_> = operands.iter().rev().map(|o| o.text()).collect();
        back.reverse();
        assert_eq!(back, texts);
        assert_eq!(operands.get(texts.len() - 1).unwrap().text(), texts[texts.len() - 1]);
        assert!(operands.get(texts.len()).is_none());
    }
}

#[test]
fn array_bounds_may_be_missing() {
    for (bounds, want) in
        [("[]", vec![None]), ("[][2]", vec![None, Some(2)]), ("[3][4]", vec![Some(3), Some(4)])]
    {
        let module = parsed(&format!(".extern .global .b8 x{bounds};"));
        let Some(Statement::Declaration(x)) = module.items().next() else { panic!() };
        let dims: Vec<_> = x.variables().get(0).unwrap().dims().map(|d| d.and_then(Expr::int)).collect();
        assert_eq!(dims, want);
    }
}

#[test]
fn data_lines_keep_name_arguments_and_place() {
    let text = ".section .debug_info\n{\n.b8 1 // one\nL:\n.b16 2, 3\n.b32 .debug_abbrev\n.b64 L+4\n}\n";
    let module = parsed(text);
    let Some(Statement::Section(section)) = module.items().next() else { panic!() };
    let lines: Vec<_> = section
        .contents
        .filter_map(|s| match s {
            Statement::Directive(d) => {
                let arguments: Vec<_> = d.arguments().iter().map(|a| a.text()).collect();
                assert_eq!(d.name().span.start, d.span().start);
                Some((d.name().text, arguments.join(" "), &text[d.span().range()]))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        lines,
        [
            (".b8", "1".into(), ".b8 1"),
            (".b16", "2 3".into(), ".b16 2, 3"),
            (".b32", ".debug_abbrev".into(), ".b32 .debug_abbrev"),
            (".b64", "L+4".into(), ".b64 L+4"),
        ]
    );
}

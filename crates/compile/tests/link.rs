//! Several modules as one: what nvlink makes of them.

use hostwarp_compile::{Code, Diagnostic, Module, Options, Severity, compile_all};

const HEAD: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

fn link(texts: &[&str]) -> (Module, Vec<Vec<Diagnostic>>) {
    let parsed: Vec<_> = texts.iter().map(|t| hostwarp_syntax::parse(format!("{HEAD}{t}"))).collect();
    let names = ["a.ptx", "b.ptx", "c.ptx"];
    let modules: Vec<_> = names.into_iter().zip(&parsed).collect();
    compile_all(&modules, &Options::default())
}

/// Both orders give a module without a word.
fn links(a: &str, b: &str) -> [Module; 2] {
    [[a, b], [b, a]].map(|texts| {
        let (module, said) = link(&texts);
        assert!(said.iter().all(Vec::is_empty), "{said:#?}");
        module
    })
}

/// The only error, and the file it is about.
fn fails(texts: &[&str]) -> (usize, Diagnostic) {
    let (_, said) = link(texts);
    let errors: Vec<(usize, &Diagnostic)> = said
        .iter()
        .enumerate()
        .flat_map(|(file, list)| list.iter().map(move |d| (file, d)))
        .filter(|(_, d)| d.severity == Severity::Error)
        .collect();
    let [(file, error)] = errors[..] else { panic!("{said:#?}") };
    (file, error.clone())
}

#[test]
fn functions_and_variables_of_other_modules_are_found_in_any_order() {
    let main = ".extern .func (.reg .u32 r) twice(.reg .u32 a);\n.extern .global .u32 x;\n.extern .const .u32 c[];\n\
        .entry k() { .reg .u32 r, s; ld.global.u32 r, [x]; ld.const.u32 s, [c+4]; add.u32 r, r, s; call (r), twice, (r); st.global.u32 [x], r; }";
    let library = ".visible .global .u32 x = 20;\n.visible .const .u32 c[2] = {0, 1};\n\
        .visible .func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }";
    for module in links(main, library) {
        assert!(module.kernel("k").unwrap().function.is_ok());
        assert_eq!((module.globals.symbols.len(), module.constants.symbols.len()), (1, 1));
        assert_eq!((module.globals.symbols[0].size, module.constants.symbols[0].size), (4, 8));
        assert_eq!(module.globals.data[0].bytes, [20, 0, 0, 0]);
    }
}

#[test]
fn names_that_others_do_not_see_are_each_modules_own() {
    let own =
        |n: u32| format!(".global .u32 x = {n};\n.func f() {{ ret; }}\n.entry k{n}() {{ call f; ret; }}");
    for module in links(&own(1), &own(2)) {
        assert_eq!((module.kernels.len(), module.globals.symbols.len(), module.globals.size), (2, 2, 8));
    }
}

#[test]
fn the_strong_definition_is_taken_and_of_common_ones_the_largest() {
    let weak = ".weak .global .u32 x = 1;\n.weak .func f() { ret; }\n.common .global .u32 y[2];\n.entry a() { .reg .u32 r; ld.global.u32 r, [x]; ld.global.u32 r, [y]; call f; }";
    let strong = ".visible .global .u32 x = 2;\n.visible .func f() { trap; ret; }\n.common .global .u32 y[4];\n.entry b() { .reg .u32 r; ld.global.u32 r, [x]; ld.global.u32 r, [y+12]; call f; }";
    for module in links(weak, strong) {
        let text = module.kernel("a").unwrap().function.as_ref().unwrap().to_string();
        assert!(text.contains("trap"), "{text}");
        let size = |name: &str| module.globals.symbol(name).unwrap().size;
        assert_eq!((module.globals.symbols.len(), size("x"), size("y")), (2, 4, 16));
        assert_eq!(module.globals.data.iter().map(|d| d.bytes[0]).collect::<Vec<_>>(), [2]);
    }
    let both = ".weak .global .u32 x = 1;\n.weak .entry k() { ret; }";
    for module in links(both, both) {
        assert_eq!((module.globals.symbols.len(), module.kernels.len()), (1, 1));
    }
}

#[test]
fn addresses_of_functions_are_the_same_in_all_modules() {
    let a = ".extern .func f();\n.global .u64 p = f;\n.entry k() { .reg .u64 r; mov.u64 r, f; st.global.u64 [p], r; }";
    let b = ".visible .func f() { ret; }\n.global .u64 q = f;";
    for module in links(a, b) {
        let bytes: Vec<u8> = module.globals.data.iter().flat_map(|d| d.bytes.clone()).collect();
        assert_eq!((bytes.len(), &bytes[..8]), (16, &bytes[8..]));
    }
}

#[test]
fn what_does_not_go_together_names_both_places() {
    let (file, error) = fails(&[".visible .global .u32 x;", "\n.visible .global .u32 x;"]);
    assert_eq!((file, error.code), (1, Code::Duplicate));
    assert_eq!(error.notes, ["first defined in a.ptx, line 4"]);
    let (file, error) = fails(&[".visible .entry k() { ret; }", ".visible .entry k() { ret; }"]);
    assert_eq!((file, error.code), (1, Code::Duplicate));

    let call =
        ".extern .func f(.param .u32 a);\n.entry k() { .param .u32 p; st.param.u32 [p], 1; call f, (p); }";
    let (file, error) = fails(&[call, ".visible .func f(.param .u64 a) { ret; }"]);
    assert_eq!((file, error.code), (1, Code::Duplicate));
    assert_eq!(error.primary.text, "a parameter or result has another type here");
    assert_eq!(error.notes, ["first declared in a.ptx, line 4"]);
    let (_, error) = fails(&[".extern .global .u32 x;", ".visible .global .u64 x;"]);
    assert_eq!(error.notes, ["first declared in a.ptx, line 4"]);
    let (_, error) = fails(&[".extern .global .u32 x;", ".visible .func x() { ret; }"]);
    assert_eq!(error.notes, ["first declared in a.ptx, line 4"]);

    let (file, error) = fails(&["", call]);
    assert_eq!((file, error.code), (1, Code::UnknownName));
    assert_eq!(error.notes, ["it is declared in b.ptx, line 4"]);
}

#[test]
fn each_module_has_its_version_and_its_lines() {
    let old = hostwarp_syntax::parse(".version 2.0\n.target sm_20\n.visible .func f() {\nret;\n}\n");
    let new = hostwarp_syntax::parse(format!("{HEAD}.extern .func f();\n.entry k() {{\ncall f;\ntrap; }}\n"));
    let (module, said) = compile_all(&[("old", &old), ("new", &new)], &Options::default());
    assert!(said.iter().all(Vec::is_empty), "{said:#?}");
    assert_eq!((module.version, module.sm), ((8, 8), 90));
    let kernel = module.kernel("k").unwrap();
    assert_eq!(module.place(kernel.lines.0), ("new", 5));
    assert_eq!(module.place(2), ("old", 2));
}

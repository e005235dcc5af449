//! Whatever the text, compile says something and goes on.

use hostwarp_compile::{Options, Style, compile, compile_snippet, render, to_json};
use hostwarp_isa::Profile;

/// A small generator of its own, so that a failure can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn samples() -> Vec<String> {
    let root = env!("CARGO_MANIFEST_DIR");
    let mut out = vec![];
    for dir in ["/tests/ui", "/../../examples"] {
        for entry in std::fs::read_dir(format!("{root}{dir}")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "ptx") {
                out.push(std::fs::read_to_string(path).unwrap());
            }
        }
    }
    out.sort();
    out
}

/// Words whose meaning in the wrong place is most likely to surprise.
const WORDS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ";",
    ":",
    "@",
    "!",
    "-",
    "|",
    "_",
    ".x",
    ".b0",
    ".b3210",
    "<4>",
    "= {1}",
    "%r1",
    "%rd1",
    "%p1",
    "%f1",
    "%tid.x",
    "%tid",
    "g",
    "k",
    "L:",
    "L",
    "0f3f800000",
    "1.5",
    "-1",
    "0xffffffffffffffff",
    "[0]",
    "4/0",
    ".v4",
    ".sat",
    ".u32",
    ".pred",
    ".b128",
    ".global",
    ".shared",
    ".param",
    ".reg",
    ".align 0",
    ".entry",
    ".func",
    "bra",
    "call",
    "mov",
    "mov.b128",
    "ld.global.v4.u32",
    "vadd4",
    "ret",
    "setp.lt.s32",
    "bar.sync",
    "atom.global.add.u32",
    "shfl.sync.idx.b32",
    "generic(g)",
    "0xff(g)",
    ".extern",
    ".v2",
];

fn mutate(text: &str, r: &mut Random) -> String {
    let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ',', ';', '[', ']', '{', '}']).collect();
    for _ in 0..1 + r.below(8) {
        let (i, j) = (r.below(words.len()), r.below(words.len()));
        match r.below(5) {
            0 => _ = words.remove(i),
            1 => words.swap(i, j),
            2 => words.insert(i, WORDS[r.below(WORDS.len())]),
            3 => words[i] = words[j],
            _ => words[i] = WORDS[r.below(WORDS.len())],
        }
        if words.is_empty() {
            words.push(";");
        }
    }
    words.concat()
}

fn check(text: &str) {
    let parsed = hostwarp_syntax::parse(text);
    let mut said = vec![];
    for check_only in [false, true] {
        let output = compile(&parsed, &Options { check_only, ..Options::default() });
        assert!(output.diagnostics.len() <= 401);
        let source = parsed.module.source();
        render(&output.diagnostics, source, "mutant.ptx", Style { colour: check_only, width: 80 });
        said.push(to_json(&output.diagnostics, source, "mutant.ptx"));
        for kernel in &output.module.kernels {
            if let Ok(f) = &kernel.function {
                assert!(!output.has_errors());
                hostwarp_ir::verify(f).unwrap_or_else(|e| panic!("{e}\n{text}"));
            }
        }
    }
    assert_eq!(said[0], said[1], "checking says something else than compiling:\n{text}");
}

#[test]
fn mutants() {
    let samples = samples();
    let mut r = Random(0x9e37_79b9_7f4a_7c15);
    for i in 0..1500 {
        let text = mutate(&samples[i % samples.len()], &mut r);
        check(&text);
    }
}

#[test]
fn nothing_and_noise() {
    let mut r = Random(42);
    check("");
    check("\u{0}\u{feff}é{{{{");
    for _ in 0..300 {
        let text: Vec<&str> = (0..r.below(60)).map(|_| WORDS[r.below(WORDS.len())]).collect();
        check(&text.join(" "));
        _ = compile_snippet(&text.join(" "), Profile::Isa);
    }
}

#[test]
fn checking_sees_what_cannot_be_built() {
    // The second of each pair has the shape of the first.
    let text = ".version 8.8\n.target sm_90\n.address_size 64\n.extern .global .u32 far;\n.global .u32 near;\n\
        .entry variable() { .reg .b32 r; ld.global.u32 r, [near]; ld.global.u32 r, [far]; }\n\
        .entry first() { .reg .b64 a, n; alloca.u64 a, n, 3; }\n\
        .entry second() { .reg .b64 a, n; alloca.u64 a, n, 3; }\n\
        .func once() { call once; ret; }\n.entry recursion() { call once; ret; }\n\
        .extern .func other();\n.entry elsewhere() { call other; ret; }\n";
    check(text);
    let options = Options { check_only: true, ..Options::default() };
    let output = compile(&hostwarp_syntax::parse(text), &options);
    assert_eq!(output.diagnostics.len(), 4, "{:?}", output.diagnostics);
    assert!(output.diagnostics.iter().all(|d| d.severity == hostwarp_compile::Severity::Unsupported));
}

#[test]
fn too_many_are_counted() {
    let text =
        format!(".version 8.8\n.target sm_90\n.entry k() {{\n{}}}\n", "add.u32 a, b, c;\n".repeat(500));
    let output = compile(&hostwarp_syntax::parse(&text), &Options::default());
    assert_eq!(output.diagnostics.len(), 201);
    assert!(output.diagnostics[..200].iter().all(|d| d.severity == hostwarp_compile::Severity::Error));
    assert!(output.diagnostics[200].message.contains("and 1300 more"), "{:?}", output.diagnostics[200]);
}

#[test]
fn what_is_not_there_yet_is_said_wherever_it_stands() {
    let places = [
        "@%envreg3 bra L;",
        "@!%envreg3 mov.u32 %r, 1;",
        "add.u32 %r, %r, %envreg3;",
        "call (%r), f, (%envreg3);",
    ];
    for place in places {
        let text = format!(
            ".version 8.3 .target sm_90 .address_size 64
            .func (.reg .b32 %o) f(.reg .b32 %i) {{ mov.b32 %o, %i; ret; }}
            .entry k() {{ .reg .b32 %r; {place}\nL: ret; }}"
        );
        let out = compile(&hostwarp_syntax::parse(&text), &Options::default());
        let kernel = out.module.kernel("k").expect("it is there");
        let wrong = out.diagnostics.iter().any(|d| d.severity == hostwarp_compile::Severity::Error);
        let unsupported = matches!(kernel.function, Err(hostwarp_compile::Unusable::Unsupported { .. }));
        // Never unusable without a word that it is wrong.
        assert!(wrong || unsupported, "{place}: {:?}", kernel.function);
    }
}

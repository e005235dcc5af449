//! Hostile text: huge, deep, cut off, mutated.

mod common;

use common::{SAMPLES, check, check_tree};
use hostwarp_syntax::{ErrorKind, MAX_NESTING, Statement, parse, print};

#[test]
fn cut_at_every_byte() {
    for sample in SAMPLES {
        for end in 0..sample.len() {
            let parsed = parse(&sample.as_bytes()[..end]);
            check_tree(&parsed.module);
            if end % 16 == 0 {
                check(&sample.as_bytes()[..end]);
            }
        }
    }
}

#[test]
fn begun_at_every_byte() {
    for sample in SAMPLES {
        for start in (0..sample.len()).step_by(7) {
            check(&sample.as_bytes()[start..]);
        }
    }
}

fn deep(text: String) {
    let parsed = parse(&text);
    let head = text.get(..20);
    assert!(
        parsed.errors.iter().any(|e| e.kind == ErrorKind::NestedTooDeeply),
        "{head:?}: {:?}",
        parsed.errors.first()
    );
    check_tree(&parsed.module);
    let once = print(&parsed.module);
    assert_eq!(once, print(&parse(&once).module), "{head:?}");
}

#[test]
fn deep_nesting() {
    let n = 100_000;
    deep(format!(".entry k() {{ {} ret; {} }}", "{".repeat(n), "}".repeat(n)));
    for (open, middle, close) in [
        ("(", "1", ")"),
        ("{", "1", "}"),
        ("-", "1", ""),
        ("!(", "1", ")"),
        ("generic(", "x", ")"),
        ("a[", "1", "]"),
        ("1?", "1", ":1"),
        ("1?1:", "1", ""),
        ("(.s64)", "1", ""),
        ("1+(", "1", ")"),
        ("", "1", "+1"),
        ("", "1", "*1-1<<1<1==1&1^1|1&&1||1"),
    ] {
        deep(format!(".global .u32 a = {}{middle}{};", open.repeat(n), close.repeat(n)));
        deep(format!(".entry k() {{ mov.u32 %r1, {}{middle}{}; }}", open.repeat(n), close.repeat(n)));
    }
    // Unclosed.
    deep(format!(".entry k() {{ mov.u32 %r1, {}", "[".repeat(n)));
    deep(".section x {".to_string() + ".entry k() {" + &"{".repeat(n));
}

#[test]
fn the_deepest_that_is_read() {
    let n = MAX_NESTING - 1;
    let block = format!(".entry k() {{ {} ret; {} }}", "{".repeat(n), "}".repeat(n));
    assert_eq!(parse(block).errors, []);
    let n = MAX_NESTING - 2;
    let expr = format!(".global .u32 a = {}1{};", "(".repeat(n), ")".repeat(n));
    let parsed = parse(expr);
    assert_eq!(parsed.errors, []);
    let Some(Statement::Declaration(d)) = parsed.module.items().next() else { panic!() };
    assert!(d.variables().get(0).unwrap().init().unwrap().evaluate().is_ok());
}

#[test]
fn statements_beyond_the_limit_are_kept() {
    let n = MAX_NESTING + 10;
    let parsed =
        parse(format!(".entry k() {{ {} a; {} b; }} .entry l() {{ }}", "{".repeat(n), "}".repeat(n)));
    assert_eq!(parsed.errors.len(), 1);
    assert_eq!(parsed.module.functions().count(), 2);
    let body = parsed.module.functions().next().unwrap().body().unwrap();
    assert_eq!(body.statements().count(), 2);
}

#[test]
fn ten_megabytes_on_one_line() {
    let n = 10_000_000;
    for text in [
        " ".repeat(n),
        "x".repeat(n),
        "0".repeat(n),
        ".".repeat(n),
        "\"".to_string() + &"s".repeat(n),
        "/*".to_string() + &"c".repeat(n),
        "//".to_string() + &"c".repeat(n),
        "\0".repeat(n),
        format!(".global .b8 a[] = {{{}0}};", "0,".repeat(n / 2)),
        format!(".entry k() {{ {} }}", "ret;".repeat(n / 4)),
        format!(".entry k() {{ mov.u32 a{}; }}", ".x".repeat(n / 2)),
        format!(".global .u32 {}a;", "a,".repeat(n / 2)),
    ] {
        let parsed = parse(&text);
        assert!(parsed.module.source().len() == text.len());
        assert!(parsed.module.items().count() <= 2);
    }
    let long = "x".repeat(20_000_000);
    let module = parse(format!(".entry k() {{ mov.u32 {long}, {{{long}}}; }}")).module;
    let body = module.functions().next().unwrap().body().unwrap();
    let Some(Statement::Instruction(i)) = body.statements().next() else { panic!() };
    assert_eq!(i.operands().get(0).unwrap().text().len(), long.len());
    assert_eq!(i.operands().get(1).unwrap().text().len(), long.len() + 2);
}

/// A small generator, so that every run mutates alike (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }
}

/// What a fuzzer would do, for a fixed number of rounds.
#[test]
fn mutated_samples() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let punctuation = b"{}[]();:,.@|!-+<>=%\"/*#\n \0\xff";
    for round in 0..3000 {
        let mut bytes = SAMPLES[round % SAMPLES.len()].as_bytes().to_vec();
        let start = random.below(bytes.len());
        bytes = bytes.split_off(start);
        bytes.truncate(1500);
        for _ in 0..1 + random.below(12) {
            let at = random.below(bytes.len());
            let to = (at + random.below(30)).min(bytes.len());
            match random.below(6) {
                0 => bytes.insert(at, punctuation[random.below(punctuation.len())]),
                1 => drop(bytes.drain(at..to)),
                2 => {
                    let copy = bytes[at..to].to_vec();
                    let dest = random.below(bytes.len());
                    bytes.splice(dest..dest, copy);
                }
                3 if at < bytes.len() => bytes[at] = random.below(256) as u8,
                4 if at < bytes.len() => bytes[at] = punctuation[random.below(punctuation.len())],
                _ => bytes[at..to].reverse(),
            }
        }
        check(&bytes);
    }
}

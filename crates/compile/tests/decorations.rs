//! No decoration of an operand is ever dropped: every operand of every form, and every part of it (halves of pairs, elements of
//! vectors, what stands in brackets), is given every sign, selector, partner and index there is. Each such instruction is rejected, or the form
//! declares the decoration; and then the IR is another one than without it.

use hostwarp_compile::{Options, Severity, compile};
use hostwarp_isa::form::{Class, OperandSlot};
use hostwarp_isa::testing::{Shape, shapes};
use hostwarp_isa::{Operand, OperandKind, Ty, find, opcodes};
use std::collections::BTreeSet;

/// What an operand is decorated with; `$` is the operand.
const DECORATIONS: &[&str] = &[
    "-$",
    "!$",
    "--$",
    "!!$",
    "-!$",
    "!-$",
    "~$",
    "+$",
    "$.x",
    "$.b0",
    "$.b3",
    "$.h1",
    "$.b7052",
    "$.h13",
    "$.b0.b1",
    "$.typo",
    "$|%pred_9",
    "$|_",
    "_|$",
    "$|$|$",
    "$+4",
    "$-4",
    "-$+4",
    "$[1]",
    "($)",
    "[$]",
    "{$}",
    "_",
];

/// An instruction with one decorated operand.
struct Mutant {
    text: String,
    plain: String,
    decoration: &'static str,
    /// The form has it.
    declared: bool,
    /// What is decorated is a number, and what it makes of it one too.
    number: bool,
}

/// A kernel with these lines in it, one a line from line `FIRST` on.
fn module(lines: &[&str]) -> String {
    let mut text = String::from(".version 9.0\n.target sm_90\n.global .align 8 .b8 v[64];\n.entry k() {\n");
    let declarable = |t: &&Ty| {
        // What has a type of its own to be declared with; `.f16x2` can be declared too.
        **t == Ty::F16x2 || t.declared() == **t
    };
    for ty in Ty::ALL.iter().filter(declarable) {
        text += &format!(".reg {ty} %{}_<12>; ", &ty.text()[1..]);
    }
    text += "\n";
    assert_eq!(text.lines().count(), FIRST - 1);
    for line in lines {
        text += line;
        text += "\n";
    }
    text + "L: ret;\n}\n"
}

const FIRST: usize = 6;

/// Which of the lines have errors.
fn rejected(lines: &[&str]) -> BTreeSet<usize> {
    let text = module(lines);
    let options = Options { max_diagnostics: usize::MAX, ..Options::default() };
    let output = compile(&hostwarp_syntax::parse(&text), &options);
    let index = hostwarp_syntax::parse(&text).module.line_index();
    let errors = output.diagnostics.iter().filter(|d| d.severity == Severity::Error);
    errors.map(|d| (index.line(d.primary.span.start) as usize).wrapping_sub(FIRST)).collect()
}

/// The IR of one instruction; nothing if it is wrong or not supported.
fn ir(line: &str) -> Option<String> {
    let output = compile(&hostwarp_syntax::parse(module(&[line])), &Options::default());
    let function = output.module.kernels.first()?.function.as_ref().ok()?;
    (!output.has_errors()).then(|| function.to_string())
}

/// The places in an operand's text that can be decorated, each as what stands before and behind it, with the place's own operand.
fn parts<'o>(
    operand: &'o Operand<'static>,
    text: &str,
) -> Vec<(String, String, String, &'o Operand<'static>, bool)> {
    let mut out = vec![(String::new(), text.to_string(), String::new(), operand, false)];
    match &operand.kind {
        OperandKind::Vector(elements) => {
            let inner: Vec<&str> = text.trim_matches(['{', '}']).split(", ").collect();
            for (i, element) in elements.iter().enumerate() {
                let before = inner[..i].iter().map(|t| format!("{t}, ")).collect::<String>();
                let behind = inner[i + 1..].iter().map(|t| format!(", {t}")).collect::<String>();
                out.push((format!("{{{before}"), inner[i].into(), format!("{behind}}}"), element, true));
            }
        }
        OperandKind::Pair(a, b) => {
            let (first, second) = text.split_once('|').expect("a pair");
            out.push((String::new(), first.into(), format!("|{second}"), a, false));
            out.push((format!("{first}|"), second.into(), String::new(), b, false));
        }
        OperandKind::Address(_) => {
            let inner = text.trim_matches(['[', ']']);
            out.push(("[".into(), inner.into(), "]".into(), operand, true));
        }
        _ => {}
    }
    out
}

/// Whether a form has the decoration in this place.
fn declares(
    slot: &OperandSlot,
    next: Option<&OperandSlot>,
    part: &Operand<'_>,
    inner: bool,
    decoration: &str,
) -> bool {
    let constant = matches!(part.kind, OperandKind::Int | OperandKind::Float(_));
    match (decoration, inner) {
        // Addresses have offsets, and a sum or a constant in parentheses is one.
        ("$+4" | "($)", true) => matches!(part.kind, OperandKind::Address(_)),
        ("_", true) => slot.dest && matches!(slot.class, Class::Vector(_) | Class::Any(_) | Class::List(..)),
        (_, true) => false,
        // Constant expressions.
        (_, _) if constant && !decoration.contains(['.', '_', '[', '{']) => true,
        // The address of a variable and beyond.
        ("$+4" | "$[1]", _) if part.kind == OperandKind::Name => true,
        // A sum with an integer register, where ptxas takes one: it must show in the IR.
        ("$+4", _) if matches!(part.kind, OperandKind::Reg(_)) => !slot.dest,
        ("-$", _) => slot.neg,
        ("!$", _) => slot.not,
        ("$|%pred_9" | "$|_", _) => next.is_some_and(|n| n.pair),
        ("_|$", _) => next.is_some_and(|n| n.pair) && slot.sink,
        ("_", _) => slot.sink,
        // One element is a vector too.
        ("{$}", _) => matches!(slot.class, Class::Vector(_) | Class::Any(_)),
        _ => {
            let selector = decoration.strip_prefix('$').unwrap_or("");
            slot.selector.is_some_and(|(members, _)| members.contains(&selector))
        }
    }
}

/// Every decorated variant of an instruction.
fn mutants(shape: &Shape) -> Vec<Mutant> {
    let plain = shape.text();
    let forms = &find(shape.opcode).expect("it has one").0.forms;
    let head = format!("{}{}", shape.opcode, shape.mods.concat());
    let texts: Vec<String> = shape.operand_texts();
    let mut out = vec![];
    for (i, operand) in shape.operands.iter().enumerate() {
        let first = shape.matched.operands.iter().position(|o| *o == Some(i)).expect("in its place");
        for (n, (before, inner, behind, part, nested)) in parts(operand, &texts[i]).into_iter().enumerate() {
            let half = usize::from(matches!(operand.kind, OperandKind::Pair(..)) && n == 2);
            let slot = first + half;
            let whole_pair = matches!(part.kind, OperandKind::Pair(..));
            for decoration in DECORATIONS {
                let decorated = format!("{before}{}{behind}", decoration.replace('$', &inner));
                if decorated == texts[i] {
                    continue;
                }
                let operands: Vec<&str> = (0..texts.len())
                    .map(|j| if i == j { decorated.as_str() } else { texts[j].as_str() })
                    .collect();
                // What stands before a pair is its first half's, what stands behind it its second's. Some decorations belong to another
                // form of the same instruction.
                let judged = if whole_pair && decoration.starts_with('$') { slot + 1 } else { slot };
                let paired = matches!(operand.kind, OperandKind::Pair(..));
                let declared = forms.iter().any(|form| {
                    let (place, next) = (form.operands.get(judged), form.operands.get(judged + 1));
                    place.is_some_and(|p| declares(p, next.filter(|_| !paired), part, nested, decoration))
                });
                let text = format!("{head} {};", operands.join(", "));
                let number = matches!(part.kind, OperandKind::Int | OperandKind::Float(_));
                out.push(Mutant { text, plain: plain.clone(), decoration, declared, number });
            }
        }
    }
    out
}

/// Shapes of each form: of the modifiers a few combinations, of operands all kinds.
const COMBINATIONS: usize = 3;

#[test]
fn no_decoration_is_dropped() {
    assert_eq!(rejected(&[]), BTreeSet::new());
    let (mut tried, mut accepted) = (0, 0);
    let mut wrong = vec![];
    for opcode in opcodes() {
        let (entry, opcode) = find(opcode).unwrap();
        for form in &entry.forms {
            let all = shapes(opcode, form, COMBINATIONS);
            let plain = |s: &&Shape| s.operands.iter().all(|o| !o.neg && !o.not && o.selector.is_none());
            let step = all.len().div_ceil(12).max(1);
            let chosen: Vec<&Shape> = all.iter().filter(plain).step_by(step).collect();
            let texts: Vec<String> = chosen.iter().map(|s| s.text()).collect();
            let bad = rejected(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            let fine = chosen.iter().enumerate().filter(|(i, _)| !bad.contains(i)).map(|(_, s)| *s);
            let mutants: Vec<Mutant> = fine.flat_map(mutants).collect();
            tried += mutants.len();
            // Behind each the undecorated one, which no recovery from an error may swallow.
            let lines: Vec<&str> = mutants.iter().flat_map(|m| [m.text.as_str(), m.plain.as_str()]).collect();
            let bad = rejected(&lines);
            for (i, m) in mutants.iter().enumerate() {
                if bad.contains(&(2 * i + 1)) {
                    wrong.push(format!("`{}` spoils the line behind it", m.text));
                }
                if bad.contains(&(2 * i)) {
                    continue;
                }
                let Some(with) = ir(&m.text) else { continue };
                accepted += 1;
                if !m.declared {
                    wrong.push(format!("`{}` is accepted", m.text));
                } else if shows(m.decoration) && !m.number && ir(&m.plain).is_some_and(|plain| plain == with)
                {
                    wrong.push(format!("`{}` has the IR of `{}`", m.text, m.plain));
                }
            }
        }
    }
    println!("{tried} decorated instructions, {accepted} accepted");
    assert!(tried > 100_000 && accepted > 1000, "{tried}, {accepted}");
    let shown = wrong.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {tried} (accepted: {accepted}):\n{shown}", wrong.len());
}

/// Whether a decoration changes what is computed, not only what is written.
fn shows(decoration: &str) -> bool {
    matches!(decoration, "-$" | "!$" | "$+4" | "$[1]") || decoration.starts_with("$.")
}

/// Where no form says what an operand may be: guards, arguments and results of calls, lists of targets, indices, initialisers. `$` is decorated.
#[test]
fn nothing_is_dropped_where_there_is_no_form() {
    const MODULE: &str = ".version 9.0\n.target sm_90\n.global .u32 v[4];\n.global .u64 u = GLOBAL;\n\
        .func (.reg .u32 r) f(.reg .u32 a, .param .u32 b) { mov.u32 r, a; ret; }\n\
        .entry k() { .reg .u32 %r<9>; .reg .pred %p<3>; .param .u32 q;\n\
        T: .branchtargets LABEL, M;\n@GUARD mov.u32 %r1, 1;\nld.global.u32 %r2, [ADDRESS];\n\
        call (RESULT), FUNCTION, (ARGUMENT, PARAM);\nbrx.idx INDEX, TARGETS;\nL: M: ret; }\n";
    const PLACES: &[(&str, &str, &[&str])] = &[
        ("GLOBAL", "v", &["$+4", "($)", "$-4"]),
        ("LABEL", "L", &[]),
        ("GUARD", "%p1", &["!$"]),
        ("ADDRESS", "v", &["$+4", "($)"]),
        ("RESULT", "%r3", &["_"]),
        ("FUNCTION", "f", &[]),
        ("ARGUMENT", "%r4", &["_"]),
        ("PARAM", "q", &["_"]),
        ("INDEX", "%r5", &[]),
        ("TARGETS", "T", &[]),
    ];
    let with = |which: &str, text: &str| {
        let fill = |module: String, (place, plain, _): &(&str, &str, &[&str])| {
            module.replace(place, if *place == which { text } else { plain })
        };
        let module = PLACES.iter().fold(MODULE.to_string(), fill);
        (compile(&hostwarp_syntax::parse(&module), &Options::default()).has_errors(), module)
    };
    assert!(!with("", "").0, "{}", with("", "").1);
    let mut wrong = vec![];
    for (place, plain, declared) in PLACES {
        for decoration in DECORATIONS {
            let (rejected, _) = with(place, &decoration.replace('$', plain));
            if rejected == declared.contains(decoration) {
                wrong.push(format!("{place} as `{decoration}`: rejected: {rejected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

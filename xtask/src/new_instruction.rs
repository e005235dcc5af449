//! `cargo xtask new-instruction NAME FAMILY`: the room, its registration, and stubs for oracle and test.
//!
//! Everything compiles at once, and the tests name what is missing: the meaning, then the oracle. CONTRIBUTING.md goes through it.

use crate::{Result, cargo};
use hostwarp_isa::{find, manual};
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// What a family registers its rooms in.
const REGISTER: &str = "pub static ROOMS";
const RULES: &str = "conformance/oracle/src/lib.rs";

/// The command.
pub fn run() -> Result {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let [name, family] = arguments.as_slice() else {
        return Err(format!("give a NAME and a FAMILY, one of {}", families()?.join(" ")));
    };
    let plan = plan(name, family)?;
    for (path, text) in &plan {
        fs::write(Path::new(ROOT).join(path), text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("{}", path.display());
    }
    cargo(&["fmt", "-p", "hostwarp-isa", "-p", "hostwarp-oracle"], &[])?;
    println!(
        "\nNow, step by step (CONTRIBUTING.md says more):\n  \
         1. forms and meaning in crates/isa/src/{family}/{name}.rs, then: cargo test -p hostwarp-isa --test forms\n  \
         2. cargo run --bin hostwarp -- eval '{name}.u32 d, a, b' a=1 b=2 --trace\n  \
         3. the manual once more in conformance/oracle/src/{name}.rs, then: cargo test -p hostwarp-isa --test oracle\n  \
         4. the manual's examples in the room's test, then: cargo test -p hostwarp-isa {name}\n  \
         5. cargo xtask ptxas-agreement --only {name}"
    );
    Ok(())
}

/// The folders rooms lie in.
fn families() -> Result<Vec<String>> {
    let folder = Path::new(ROOT).join("crates/isa/src");
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|e| fs::read_to_string(e.path().join("mod.rs")).is_ok_and(|t| t.contains(REGISTER)))
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// The files to write and their texts.
fn plan(name: &str, family: &str) -> Result<Vec<(PathBuf, String)>> {
    if let Some((entry, _)) = find(name) {
        let file = entry.forms.first().map_or("crates/isa", |f| f.form.file());
        return Err(format!("`{name}` has its room in {file}: add the forms there"));
    }
    let families = families()?;
    if !families.iter().any(|f| f == family) {
        return Err(format!("there is no family `{family}`: {}", families.join(" ")));
    }
    let Some(place) = manual::place(name) else {
        let near = hostwarp_isa::near(name, manual::all());
        return Err(format!(
            "PTX has no instruction `{name}` (near: {}); if it is new, add it to CONTENTS in crates/isa/src/manual.rs first",
            near.join(" ")
        ));
    };
    let read =
        |path: &str| fs::read_to_string(Path::new(ROOT).join(path)).map_err(|e| format!("{path}: {e}"));
    let mod_path = format!("crates/isa/src/{family}/mod.rs");
    Ok(vec![
        (format!("crates/isa/src/{family}/{name}.rs").into(), room(name, &place.to_string())),
        (mod_path.clone().into(), registered(&read(&mod_path)?, name)?),
        (format!("conformance/oracle/src/{name}.rs").into(), oracle(name)),
        (RULES.into(), taught(&read(RULES)?, name)?),
    ])
}

fn room(name: &str, section: &str) -> String {
    format!(
        r#"//! `{name}`
//!
//! Since PTX ?.?, sm_??.

use crate::{{Form, Room, since}};

const SETS: &[(&str, &str)] = &[(".type", ".u32 .s32")];

/// `{name}`
pub const ROOM: Room = Room {{
    opcodes: &["{name}"],
    title: "what it does, in a line",
    doc: "What a user should know: corners, what is undefined.",
    section: "{section}",
    // As the manual writes it, with the type of each operand behind a colon; `form.rs` explains the notation.
    forms: &[Form::new("{name}.type  d:.type, a:.type, b:.type", SETS, since(10, 10))],
    rule: None,
    meaning: |cx| {{
        // In core ops, in the order of the manual's pseudo-code; `cx.name(t, "t")` names what the manual names.
        let (_a, _b) = (cx.src("a"), cx.src("b"));
        Err("the instruction `{name}`".into())
    }},
    notes: &[],
}};

#[cfg(test)]
mod tests {{
    use crate::Ty;
    use crate::testing::{{evaluate, reg, shape}};

    #[test]
    fn the_examples_of_the_manual() {{
        let shape = shape("{name}.u32", &[reg(Ty::U32), reg(Ty::U32), reg(Ty::U32)]);
        // One column of values for each source; one result for each lane.
        assert_eq!(evaluate(&shape, &[vec![1], vec![2]]), [[3]], "write down what the manual says");
    }}
}}
"#
    )
}

fn oracle(name: &str) -> String {
    let ty = type_name(name);
    format!(
        r#"//! `{name}`, as the manual has it.

use crate::integer::IntType;
use crate::text::Text;

/// One of its forms.
#[derive(Debug, Clone)]
pub(crate) struct {ty} {{
    ty: IntType,
}}

impl {ty} {{
    pub fn parse(text: &mut Text) -> Result<{ty}, String> {{
        text.plain_operands(2)?;
        Ok({ty} {{ ty: IntType::take(text, &["u32", "s32"])? }})
    }}

    pub fn widths(&self) -> [u32; 2] {{
        [self.ty.bits; 2]
    }}

    /// The manual's pseudo-code in plain integers, without a look at the room's meaning.
    pub fn eval(&self, [a, b, ..]: [u64; 4]) -> u64 {{
        let (_a, _b) = (self.ty.value(a), self.ty.value(b));
        panic!("the oracle's `{name}` is not written yet: conformance/oracle/src/{name}.rs")
    }}
}}
"#
    )
}

/// `dp4a` → `Dp4a`
fn type_name(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// The family's `mod.rs` with the room in it.
fn registered(text: &str, name: &str) -> Result<String> {
    let text = with_module(text, &format!("pub mod {name};"))?;
    let at = text.find(REGISTER).ok_or("the family's mod.rs registers no rooms")?;
    let end = at + text[at..].find("];").ok_or("`ROOMS` does not end")?;
    let comma = if text[at..end].trim_end().ends_with([',', '[']) { "" } else { ", " };
    Ok(format!("{}{comma}{name}::ROOM{}", text[..end].trim_end(), &text[end..]))
}

/// The oracle with the instruction in it.
fn taught(text: &str, name: &str) -> Result<String> {
    let ty = type_name(name);
    let text = with_module(text, &format!("mod {name};"))?;
    let text = before(&text, "enum Meaning {", "\n}", &format!("\n    {ty}({name}::{ty}),"))?;
    let arm = format!("\n            Meaning::{ty}(form) => vec![form.eval(values)],");
    let text = before(&text, "match &self.meaning {", "\n        }", &arm)?;
    let arm = format!(
        "\n        \"{name}\" => {{\n            let form = {name}::{ty}::parse(text)?;\n            \
         (text.int_inputs(&form.widths())?, Meaning::{ty}(form))\n        }}"
    );
    before(&text, "fn parse_meaning", "\n        other =>", &arm)
}

/// With a line that declares a module among the others, where the alphabet wants it.
fn with_module(text: &str, line: &str) -> Result<String> {
    fn module(line: &str) -> Option<&str> {
        let (visibility, name) = line.strip_suffix(';')?.split_once("mod ")?;
        matches!(visibility, "" | "pub " | "pub(crate) ").then_some(name)
    }
    let lines: Vec<&str> = text.lines().collect();
    let modules: Vec<usize> = (0..lines.len()).filter(|i| module(lines[*i]).is_some()).collect();
    let last = *modules.last().ok_or("no line that declares a module")?;
    let at = modules.into_iter().find(|i| module(lines[*i]) > module(line)).unwrap_or(last + 1);
    let (above, below) = lines.split_at(at);
    Ok([above, &[line], below].concat().join("\n") + "\n")
}

/// With `what` before the first `end` behind `anchor`.
fn before(text: &str, anchor: &str, end: &str, what: &str) -> Result<String> {
    let missing = |part: &str| format!("no `{}` in {RULES}", part.trim());
    let from = text.find(anchor).ok_or_else(|| missing(anchor))?;
    let at = from + text[from..].find(end).ok_or_else(|| missing(end))?;
    Ok(format!("{}{what}{}", &text[..at], &text[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it writes fits the sources as they are, for an opcode that has no room yet.
    #[test]
    fn stubs_fit_the_sources() {
        let Some(name) = manual::all().find(|o| find(o).is_none() && manual::page(o).is_none()) else {
            return;
        };
        for family in families().unwrap() {
            let files = plan(name, &family).unwrap();
            let text = |n: usize| files[n].1.as_str();
            assert!(text(0).contains(&format!("opcodes: &[\"{name}\"]")));
            assert!(text(1).contains(&format!("pub mod {name};\n")), "{family}");
            assert!(text(1).contains(&format!("{name}::ROOM];")), "{family}:\n{}", text(1));
            let ty = type_name(name);
            for part in [
                format!("\nmod {name};\n"),
                format!("\n    {ty}({name}::{ty}),\n}}"),
                format!("Meaning::{ty}(form) => vec![form.eval(values)],\n        }}"),
                format!("\"{name}\" => {{"),
            ] {
                assert!(text(3).contains(&part), "{part}");
            }
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let why = |name, family| plan(name, family).unwrap_err();
        assert!(why("vmad", "video").contains("crates/isa/src/video/vmad.rs"));
        assert!(why("vmadd", "video").split([' ', ')']).any(|word| word == "vmad"));
        if let Some(name) = manual::all().find(|o| find(o).is_none()) {
            assert!(why(name, "videos").contains("no family `videos`"));
        }
    }
}

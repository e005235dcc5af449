//! Lines of real files with one token changed.
//!
//! Of a file all is kept that the line needs to mean something: the module's declarations, the heads of its functions, and in the
//! line's own function what declares, labels and calls. Lines that are not instructions are judged in the whole file.

use super::ours::{self, Ours};
use super::ptxas::{Judgeable, Ptxas, Verdict};
use super::random::Random;
use crate::Result;
use hostwarp_syntax::{self as syntax, Block, Function, Lexer, Span, Statement, TokenKind};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// A file of the corpus, taken apart.
struct File {
    name: String,
    text: String,
    target: String,
    /// The module without its kernels, functions with empty bodies.
    prologue: Arc<str>,
    /// Every line that is not empty and no comment.
    lines: Vec<Line>,
}

/// A line of a file.
struct Line {
    number: usize,
    span: Span,
    /// The function it is an instruction of: what stands before its name, between it and the line, and behind the line.
    place: Option<[Arc<str>; 3]>,
}

/// A line with one token changed, in its file.
pub struct Mutant {
    file: String,
    number: usize,
    mutation: &'static str,
    line: String,
    opcode: String,
    target: String,
    prologue: Arc<str>,
    /// What stands before the kernel's name, and behind it; the whole file where there is none.
    kernel: [String; 2],
    alone: bool,
}

impl Judgeable for Mutant {
    fn target(&self) -> &str {
        &self.target
    }

    fn prologue(&self) -> String {
        self.prologue.to_string()
    }

    fn kernel(&self, name: &str) -> String {
        let [before, behind] = &self.kernel;
        if behind.is_empty() { before.clone() } else { format!("{before}{name}{behind}\n") }
    }

    fn opcode(&self) -> &str {
        &self.opcode
    }

    fn alone(&self) -> bool {
        self.alone
    }
}

/// Text on one line, without its comments.
fn flat(text: &str) -> String {
    let mut out = String::new();
    let mut end = 0;
    for token in Lexer::new(text).filter(|t| t.kind != TokenKind::Eof) {
        if token.span.start as usize > end {
            out.push(' ');
        }
        end = token.span.end as usize;
        if !token.kind.is_comment() {
            out += &text[token.span.range()];
        }
    }
    out
}

/// Whether a line goes on being looked at when it is not its turn: what others need to mean something.
fn stays(statement: &Statement<'_>, text: &str) -> bool {
    match statement {
        Statement::Instruction(i) => {
            let head = &text[i.mnemonic_span().range()];
            i.opcode() == "call" || head.contains(".param")
        }
        _ => true,
    }
}

impl File {
    fn read(path: &Path) -> Result<File> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let parsed = syntax::parse(&text);
        let module = &parsed.module;
        let target = module.target().and_then(|t| t.get(0)).map(|t| t.text().to_string());
        let mut prologue = String::new();
        for item in module.items() {
            match item {
                Statement::Function(f) => {
                    let body = f.body();
                    if body.is_none() || !f.is_entry() {
                        let head = Span::new(f.span().start, body.map_or(f.span().end, |b| b.span().start));
                        prologue += &flat(&text[head.range()]);
                        prologue += if body.is_some() { "{ trap; }\n" } else { "\n" };
                    }
                }
                other => {
                    prologue += &flat(&text[other.span().range()]);
                    prologue += "\n";
                }
            }
        }
        let mut places: BTreeMap<usize, (Span, [Arc<str>; 3])> = BTreeMap::new();
        for f in module.functions() {
            slices(f, &text, &mut |span, place| _ = places.insert(span.start as usize, (span, place)));
        }
        let mut lines = vec![];
        let mut at = 0;
        for (i, line) in text.split_inclusive('\n').enumerate() {
            let start = at + line.len() - line.trim_start().len();
            let end = (at + line.trim_end().len()).max(start);
            at += line.len();
            let empty = flat(line).trim().is_empty();
            if empty {
                continue;
            }
            let (span, place) = match places.get(&start) {
                Some((span, place)) => (*span, Some(place.clone())),
                None => (Span::new(start as u32, end as u32), None),
            };
            lines.push(Line { number: i + 1, span, place });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let target = target.ok_or_else(|| format!("{name} has no `.target`"))?;
        Ok(File { name, text, target, prologue: prologue.into(), lines })
    }
}

/// Each instruction of a function with what it needs around it.
fn slices(f: Function<'_>, text: &str, found: &mut impl FnMut(Span, [Arc<str>; 3])) {
    let (Some(body), Some(name)) = (f.body(), f.name()) else { return };
    let before: Arc<str> = flat(&text[f.span().start as usize..name.span.start as usize]).into();
    let head = flat(&text[name.span.end as usize..body.span().start as usize]) + "{ ";
    in_block(body, text, &head, "ret; }", &mut |span, front, back| {
        found(span, [(before.to_string() + " ").into(), front.into(), back.into()]);
    });
}

fn in_block(
    block: Block<'_>,
    text: &str,
    front: &str,
    back: &str,
    found: &mut impl FnMut(Span, String, String),
) {
    let statements: Vec<(Statement<'_>, String)> = block
        .statements()
        .map(|s| {
            let kept = if stays(&s, text) { flat(&text[s.span().range()]) + " " } else { String::new() };
            (s, kept)
        })
        .collect();
    for (i, (statement, _)) in statements.iter().enumerate() {
        let join =
            |part: &[(Statement<'_>, String)]| part.iter().map(|(_, text)| text.as_str()).collect::<String>();
        let front = || format!("{front}{}", join(&statements[..i]));
        let back = || format!(" {}{back}", join(&statements[i + 1..]));
        match statement {
            Statement::Instruction(_) => found(statement.span(), front(), back()),
            Statement::Block(inner) => {
                in_block(*inner, text, &(front() + "{ "), &("} ".to_string() + &back()), found)
            }
            _ => {}
        }
    }
}

/// The tokens of a line, each with the white space before it.
fn tokens(line: &str) -> Vec<(String, TokenKind, String)> {
    let mut end = 0;
    let mut out = vec![];
    for token in Lexer::new(line).filter(|t| t.kind != TokenKind::Eof && !t.kind.is_comment()) {
        let gap = if token.span.start as usize > end { " " } else { "" };
        end = token.span.end as usize;
        out.push((gap.to_string(), token.kind, line[token.span.range()].to_string()));
    }
    out
}

/// The tokens of all files, to replace others with.
struct Pool {
    names: Vec<String>,
    modifiers: Vec<String>,
    others: Vec<String>,
}

impl Pool {
    fn of(texts: &[&str]) -> Pool {
        let mut all: BTreeMap<&str, TokenKind> = BTreeMap::new();
        for text in texts {
            all.extend(Lexer::new(text).map(|t| (&text[t.span.range()], t.kind)));
        }
        let of = |kind: fn(&TokenKind) -> bool| {
            all.iter().filter(|(_, k)| kind(k)).map(|(text, _)| text.to_string()).collect()
        };
        Pool {
            names: of(|k| *k == TokenKind::Ident),
            modifiers: of(|k| *k == TokenKind::Dot),
            others: of(|k| {
                !k.is_comment()
                    && !matches!(k, TokenKind::Ident | TokenKind::Dot | TokenKind::Eof | TokenKind::Line)
            }),
        }
    }
}

/// What numbers are replaced with.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "31",
    "32",
    "64",
    "127",
    "255",
    "256",
    "4095",
    "65535",
    "65536",
    "-8",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "0x1F",
    "0b11",
    "07",
    "9U",
    "18446744073709551615",
    "18446744073709551616",
    "1.0",
    "0f3F800000",
    "0d3FF0000000000000",
    "0f3F8",
    "1e3",
    "08",
    "0x",
];

/// What is done to some lines, which must be taken as they are.
const CONTROL: &str = "nothing";

/// Changes one token of a line; `near` are the tokens of its file.
fn mutate(line: &str, near: &Pool, all: &Pool, random: &mut Random) -> Option<(&'static str, String)> {
    let mut tokens = tokens(line);
    if tokens.is_empty() {
        return None;
    }
    if random.one_in(50) {
        return Some((CONTROL, line.into()));
    }
    let i = random.below(tokens.len());
    let kind = tokens[i].1;
    let pool = if random.one_in(8) { all } else { near };
    let token = |list: &[String], random: &mut Random| random.pick(list).clone();
    let what = match random.below(12) {
        0 => {
            tokens.remove(i);
            "token deleted"
        }
        1 => {
            tokens.insert(i, tokens[i].clone());
            if kind != TokenKind::Dot {
                tokens[i + 1].0 = " ".into();
            }
            "token doubled"
        }
        2 => {
            let j = i + 1;
            if j >= tokens.len() || tokens[i].2 == tokens[j].2 {
                return None;
            }
            let first = tokens[i].2.clone();
            tokens[i].2 = tokens[j].2.clone();
            tokens[j].2 = first;
            "tokens swapped"
        }
        3 => {
            let list = if random.one_in(2) { &near.others } else { &near.names };
            tokens[i].2 = token(list, random);
            "token replaced"
        }
        4 => {
            tokens.insert(i, (" ".into(), kind, token(&near.others, random)));
            tokens[i + 1].0 = " ".into();
            "token added"
        }
        5 => {
            tokens.insert(i + 1, (String::new(), TokenKind::Dot, token(&pool.modifiers, random)));
            "modifier added"
        }
        _ => match kind {
            TokenKind::Dot => {
                tokens[i].2 = token(&pool.modifiers, random);
                "modifier or type replaced"
            }
            TokenKind::Ident => {
                // Mostly by one that looks like it: a register by a register.
                let old = tokens[i].2.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
                let alike: Vec<String> = near.names.iter().filter(|n| n.starts_with(&old)).cloned().collect();
                let alike = if random.one_in(3) || alike.is_empty() { &pool.names } else { &alike };
                tokens[i].2 = token(alike, random);
                "name replaced"
            }
            TokenKind::Int | TokenKind::Float | TokenKind::FloatBits32 | TokenKind::FloatBits64 => {
                tokens[i].2 = (*random.pick(NUMBERS)).into();
                "number changed"
            }
            _ => return None,
        },
    };
    Some((what, tokens.iter().map(|(gap, _, text)| format!("{gap}{text}")).collect()))
}

impl File {
    /// The line with other text in it.
    fn with(&self, line: &Line, text: String, mutation: &'static str) -> Mutant {
        let opcode = match Lexer::new(&text).map(|t| t.span).collect::<Vec<_>>()[..] {
            [at, _, opcode, ..] if &text[at.range()] == "@" => &text[opcode.range()],
            [opcode, ..] => &text[opcode.range()],
            [] => "",
        };
        let opcode = opcode.to_string();
        let (prologue, kernel, alone) = match &line.place {
            Some([before, front, back]) => {
                let kernel = [before.to_string(), format!("{front}{text}{back}")];
                // What we cannot parse may make ptxas lose its way.
                let whole = format!("{}{}k{}", self.prologue, kernel[0], kernel[1]);
                let lost = !syntax::parse(&whole).errors.is_empty();
                (self.prologue.clone(), kernel, lost)
            }
            None => {
                let (front, back) =
                    (&self.text[..line.span.start as usize], &self.text[line.span.end as usize..]);
                ("".into(), [format!("{front}{text}{back}"), String::new()], true)
            }
        };
        Mutant {
            file: self.name.clone(),
            number: line.number,
            mutation,
            line: text,
            opcode,
            target: self.target.clone(),
            prologue,
            kernel,
            alone,
        }
    }
}

/// Up to `count` mutants, as many of each file, no line in the same way twice.
fn mutants(files: &[File], count: usize, seed: u64) -> Vec<Mutant> {
    let texts: Vec<&str> = files.iter().map(|f| f.text.as_str()).collect();
    let all = Pool::of(&texts);
    let mut out = vec![];
    for (n, file) in files.iter().enumerate() {
        let mut random = Random::new(seed, &file.name);
        let near = Pool::of(&[&file.text]);
        let most = count * (n + 1) / files.len();
        let mut seen: HashSet<(usize, String)> = HashSet::new();
        for _ in 0..(most - out.len()) * 20 {
            if out.len() == most {
                break;
            }
            let line = random.pick(&file.lines);
            let whole = flat(&file.text[line.span.range()]);
            if let Some((mutation, text)) = mutate(&whole, &near, &all, &mut random)
                && (text != whole || mutation == CONTROL)
                && seen.insert((line.number, text.clone()))
            {
                out.push(file.with(line, text, mutation));
            }
        }
    }
    out
}

/// The files in the corpus.
fn files() -> Result<Vec<File>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/corpus/ptx");
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{folder}: {e}"))?;
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "ptx"));
    paths.sort();
    paths.iter().map(|p| File::read(p)).collect()
}

/// A disagreement.
struct Differs {
    mutant: Mutant,
    ours: Ours,
    theirs: Verdict,
}

/// Judges mutated lines; the text is what the page says about them.
pub fn run(ptxas: &Ptxas, count: usize, seed: u64) -> Result<(f64, String)> {
    let files = files()?;
    let mutants = mutants(&files, count, seed);
    let in_file = mutants.iter().filter(|m| m.prologue.is_empty()).count();
    println!("{} mutated lines, {in_file} of them judged in their file", mutants.len());
    let theirs = ptxas.judge(&mutants)?;
    println!("{} runs of ptxas", ptxas.runs());
    let total = mutants.len();
    let accepted = theirs.iter().filter(|v| v.is_ok()).count();
    let mut kinds: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    let mut differs = vec![];
    for (mutant, theirs) in mutants.into_iter().zip(theirs) {
        let ours = ours::verdict(&mutant);
        let theirs = ptxas.once_more(&mutant, ours.is_legal(), theirs)?;
        let agrees = ours.is_legal() == theirs.is_ok();
        let kind = kinds.entry(mutant.mutation).or_default();
        *kind = (kind.0 + 1, kind.1 + usize::from(agrees));
        if !agrees {
            differs.push(Differs { mutant, ours, theirs });
        }
    }
    let percent = 100.0 * (total - differs.len()) as f64 / total.max(1) as f64;
    let mut out = format!(
        "{HEAD}\n\nOne token changed in a line of a file of `tests/corpus` (seed {seed}): {total} lines, of which ptxas accepts {accepted}. \
         Both say the same of {percent:.3} %.\n\n| what was done | lines | agreed | % |\n|---|---:|---:|---:|\n"
    );
    for (kind, (tried, agreed)) in kinds {
        let _ =
            writeln!(out, "| {kind} | {tried} | {agreed} | {:.2} |", 100.0 * agreed as f64 / tried as f64);
    }
    let mut groups: BTreeMap<String, Vec<&Differs>> = BTreeMap::new();
    for d in &differs {
        groups.entry(class(d)).or_default().push(d);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(class, group)| (std::cmp::Reverse(group.len()), class.clone()));
    for (class, group) in groups {
        let _ = writeln!(out, "\n### {class} ({})\n\n```text", group.len());
        for d in group {
            let ours = match &d.ours {
                Ours::Legal | Ours::Later => "accepted here".to_string(),
                Ours::Wrong(why) | Ours::Unknown(why) => format!("here: {why}"),
            };
            let theirs = match &d.theirs {
                Ok(()) => "accepted by ptxas".to_string(),
                Err(why) => format!("ptxas: {why}"),
            };
            let m = &d.mutant;
            let _ = writeln!(out, "{}:{}  {}\n    {theirs}; {ours}", m.file, m.number, m.line);
        }
        let _ = writeln!(out, "```");
    }
    Ok((percent, out))
}

/// Where the page begins to speak of lines.
pub const HEAD: &str = "## Mutated lines of real files";

/// What is the same about disagreements: what ptxas says, names left out, or what is said here.
fn class(d: &Differs) -> String {
    let plain = |text: &str| {
        let mut out = String::new();
        for (i, part) in text.split(['`', '\'']).enumerate() {
            out += if i % 2 == 0 { part } else { "…" };
        }
        out.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect::<String>().replace("##", "#")
    };
    match (&d.theirs, &d.ours) {
        (Err(why), _) => format!("ptxas refuses: {}", plain(why)),
        (Ok(()), Ours::Wrong(why) | Ours::Unknown(why)) => {
            format!("Refused here: {} {}", &why[..5], plain(&why[6..]))
        }
        _ => "Nothing".into(),
    }
}

//! `hostwarp info`: what is in a module.

use crate::failure::{Exit, Failure};
use crate::input;
use crate::output::{self, BOLD, CODE, DIM};
use hostwarp::isa::Ty;
use hostwarp::syntax::{
    Block, Const, DirectiveKind, Function, LineIndex, Linkage, Module, Space, Statement, Variable,
};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Show what is in a module: kernels and their parameters, registers, shared memory, symbols.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hostwarp info kernel.ptx
  hostwarp info --json kernel.ptx | jq '.kernels[].name'")]
pub struct Info {
    /// The file; `-` reads stdin.
    file: PathBuf,
    /// For programs.
    #[arg(long)]
    pub json: bool,
}

impl Info {
    pub fn run(self) -> Result<(), Failure> {
        let source = input::read(&self.file)?;
        let (module, errors) = source.parse();
        if !errors.is_empty() {
            return Err(Failure::Said {
                exit: Exit::Input,
                text: input::render(&errors, module.source(), &source.name),
                rendered: true,
            });
        }
        let facts = Facts::new(&module);
        let text =
            if self.json { format!("{:#}\n", facts.json(&source.name)) } else { facts.text(&source.name) };
        Ok(output::print(&text)?)
    }
}

struct Facts {
    version: Option<(u32, u32)>,
    target: Vec<String>,
    address_size: u64,
    functions: Vec<FunctionFacts>,
    symbols: Vec<VariableFacts>,
}

struct FunctionFacts {
    name: String,
    entry: bool,
    defined: bool,
    line: u32,
    params: Vec<VariableFacts>,
    returns: Vec<VariableFacts>,
    /// By type, in order of appearance.
    registers: Vec<(String, u64)>,
    shared: u64,
    local: u64,
    /// `.reqntid 256 1 1` and the like.
    bounds: Vec<(String, Vec<u64>)>,
    instructions: u64,
}

struct VariableFacts {
    name: String,
    space: &'static str,
    ty: String,
    dims: Vec<Option<u64>>,
    size: Option<u64>,
    linkage: Option<&'static str>,
    line: u32,
}

impl Facts {
    fn new(module: &Module) -> Facts {
        let lines = module.line_index();
        let mut symbols = vec![];
        for item in module.items() {
            if let Statement::Declaration(d) = item {
                symbols.extend(d.variables().iter().map(|v| VariableFacts::new(v, &lines)));
            }
        }
        Facts {
            version: module.version(),
            target: module
                .target()
                .map(|t| t.iter().map(|e| e.text().to_string()).collect())
                .unwrap_or_default(),
            address_size: module.address_size().unwrap_or(32),
            functions: module.functions().map(|f| FunctionFacts::new(f, &lines)).collect(),
            symbols,
        }
    }

    fn text(&self, name: &str) -> String {
        let version = self.version.map_or("no .version".into(), |(a, b)| format!("PTX {a}.{b}"));
        let target = if self.target.is_empty() { "no .target".into() } else { self.target.join(" ") };
        let mut out =
            format!("{BOLD}{name}{BOLD:#}: {version}, {target}, {}-bit addresses\n", self.address_size);
        for f in &self.functions {
            out.push('\n');
            out += &f.text();
        }
        if !self.symbols.is_empty() {
            out += &format!("\n{BOLD}symbols{BOLD:#}\n");
            for s in &self.symbols {
                let size = s.size.map_or("of the size given at launch".into(), |n| format!("{n} bytes"));
                let linkage = s.linkage.map(|l| format!("{l} ")).unwrap_or_default();
                out += &format!(
                    "  {DIM}{linkage}.{}{DIM:#} {CODE}{}{CODE:#}  {DIM}{size}, line {}{DIM:#}\n",
                    s.space,
                    s.declared(),
                    s.line
                );
            }
        }
        out
    }

    fn json(&self, name: &str) -> Json {
        let of = |entry: bool| -> Vec<Json> {
            self.functions.iter().filter(|f| f.entry == entry).map(FunctionFacts::json).collect()
        };
        json!({
            "file": name,
            "version": self.version.map(|(a, b)| format!("{a}.{b}")),
            "target": self.target,
            "address_size": self.address_size,
            "kernels": of(true),
            "functions": of(false),
            "symbols": self.symbols.iter().map(VariableFacts::json).collect::<Vec<_>>(),
        })
    }
}

impl FunctionFacts {
    fn new(f: Function<'_>, lines: &LineIndex) -> FunctionFacts {
        let list =
            |vs: hostwarp::syntax::Variables<'_>| vs.iter().map(|v| VariableFacts::new(v, lines)).collect();
        let mut facts = FunctionFacts {
            name: f.name().map(|n| n.text.to_string()).unwrap_or_default(),
            entry: f.is_entry(),
            defined: f.body().is_some(),
            line: lines.line(f.keyword_span().start),
            params: list(f.params()),
            returns: list(f.returns()),
            registers: vec![],
            shared: 0,
            local: 0,
            bounds: vec![],
            instructions: 0,
        };
        for d in f.directives() {
            use DirectiveKind::*;
            if matches!(
                d.kind(),
                ReqNTid | MaxNTid | MaxNReg | MinNCtaPerSm | MaxNCtaPerSm | ReqNCtaPerCluster
            ) {
                let numbers = d.arguments().iter().filter_map(|a| a.int()).collect();
                facts.bounds.push((d.name().text[1..].to_string(), numbers));
            }
        }
        if let Some(body) = f.body() {
            facts.walk(body, lines);
        }
        facts
    }

    /// Blocks are never nested deeply, so this may recurse.
    fn walk(&mut self, block: Block<'_>, lines: &LineIndex) {
        for statement in block.statements() {
            match statement {
                Statement::Block(inner) => self.walk(inner, lines),
                Statement::Instruction(_) => self.instructions += 1,
                Statement::Declaration(d) => {
                    for v in d.variables().iter() {
                        let facts = VariableFacts::new(v, lines);
                        let bytes = facts.size.unwrap_or(0);
                        match v.specifiers().space() {
                            Some(Space::Reg) => {
                                let count = v.count().and_then(constant).unwrap_or(1);
                                match self.registers.iter_mut().find(|(t, _)| *t == facts.ty) {
                                    Some((_, n)) => *n += count,
                                    None => self.registers.push((facts.ty, count)),
                                }
                            }
                            Some(Space::Shared) => self.shared += bytes,
                            Some(Space::Local) => self.local += bytes,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn signature(&self) -> String {
        let list =
            |vs: &[VariableFacts]| vs.iter().map(VariableFacts::declared).collect::<Vec<_>>().join(", ");
        let returns =
            if self.returns.is_empty() { String::new() } else { format!(" -> ({})", list(&self.returns)) };
        format!("{}({}){returns}", self.name, list(&self.params))
    }

    fn text(&self) -> String {
        let kind = if self.entry { "kernel" } else { "function" };
        let declared = if self.defined { "" } else { ", declared only" };
        let mut out = format!(
            "{BOLD}{kind}{BOLD:#} {CODE}{}{CODE:#}  {DIM}line {}{declared}{DIM:#}\n",
            self.signature(),
            self.line
        );
        if !self.defined {
            return out;
        }
        let registers: Vec<_> = self.registers.iter().map(|(t, n)| format!("{n} {t}")).collect();
        let mut row = |name: &str, value: String| out += &format!("  {DIM}{name:13}{DIM:#} {value}\n");
        row("instructions", self.instructions.to_string());
        if !registers.is_empty() {
            row("registers", registers.join(", "));
        }
        if self.shared > 0 {
            row("shared", format!("{} bytes", self.shared));
        }
        if self.local > 0 {
            row("local", format!("{} bytes", self.local));
        }
        for (name, numbers) in &self.bounds {
            row(name, numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "));
        }
        out
    }

    fn json(&self) -> Json {
        let registers: serde_json::Map<_, _> =
            self.registers.iter().map(|(t, n)| (t.clone(), json!(n))).collect();
        let bounds: serde_json::Map<_, _> = self.bounds.iter().map(|(t, n)| (t.clone(), json!(n))).collect();
        json!({
            "name": self.name,
            "line": self.line,
            "defined": self.defined,
            "signature": self.signature(),
            "params": self.params.iter().map(VariableFacts::json).collect::<Vec<_>>(),
            "returns": self.returns.iter().map(VariableFacts::json).collect::<Vec<_>>(),
            "instructions": self.instructions,
            "registers": registers,
            "shared": self.shared,
            "local": self.local,
            "bounds": bounds,
        })
    }
}

impl VariableFacts {
    fn new(v: Variable<'_>, lines: &LineIndex) -> VariableFacts {
        let specifiers = v.specifiers();
        let scalar = specifiers.type_name().map(|t| t.text).unwrap_or("");
        let vector = specifiers.vector();
        let dims: Vec<Option<u64>> = v.dims().map(|d| d.and_then(constant)).collect();
        let element = Ty::parse(&format!(".{scalar}")).map(|t| u64::from(t.bits().div_ceil(8)));
        let size = dims.iter().try_fold(element.unwrap_or(0) * u64::from(vector.unwrap_or(1)), |size, d| {
            size.checked_mul((*d)?)
        });
        VariableFacts {
            name: v.name().map(|n| n.text.to_string()).unwrap_or_default(),
            space: match specifiers.space() {
                Some(Space::Reg) => "reg",
                Some(Space::Sreg) => "sreg",
                Some(Space::Const) => "const",
                Some(Space::Global) => "global",
                Some(Space::Local) => "local",
                Some(Space::Param) => "param",
                Some(Space::Shared) => "shared",
                Some(Space::Tex) => "tex",
                None => "",
            },
            ty: vector.map_or(scalar.to_string(), |n| format!("v{n}.{scalar}")),
            size: size.filter(|_| element.is_some()),
            dims,
            linkage: specifiers.linkage().map(|l| match l {
                Linkage::Extern => ".extern",
                Linkage::Visible => ".visible",
                Linkage::Weak => ".weak",
                Linkage::Common => ".common",
            }),
            line: lines.line(v.span().start),
        }
    }

    /// `f32 table[256]`
    fn declared(&self) -> String {
        let dims: String =
            self.dims.iter().map(|d| format!("[{}]", d.map(|n| n.to_string()).unwrap_or_default())).collect();
        format!("{} {}{dims}", self.ty, self.name)
    }

    fn json(&self) -> Json {
        json!({
            "name": self.name,
            "space": self.space,
            "type": self.ty,
            "dims": self.dims,
            "size": self.size,
            "line": self.line,
        })
    }
}

fn constant(e: hostwarp::syntax::Expr<'_>) -> Option<u64> {
    e.evaluate().ok().and_then(Const::int_bits)
}

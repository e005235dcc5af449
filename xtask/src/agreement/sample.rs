//! One instruction in a module of its own.

use super::ptxas::Judgeable;

/// The module every instruction stands in, cut where the instruction goes. What stands before it ends at the end of a line.
const TEMPLATE: &str = include_str!("../../../conformance/verdicts/module.ptx");

/// A single-instruction module.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Sample {
    /// The opcode it is counted under: that of the legal instruction it comes from.
    pub opcode: &'static str,
    /// What `.version` says.
    pub version: String,
    /// What `.target` says.
    pub target: String,
    /// Registers: type with its dot, and name.
    pub registers: Vec<(String, String)>,
    /// `@%p` or nothing.
    pub guard: String,
    /// The opcode, then the modifiers with their dots.
    pub head: Vec<String>,
    /// The operands.
    pub operands: Vec<String>,
    /// What was done to a legal instruction; empty for a legal one.
    pub mutations: Vec<&'static str>,
}

impl Sample {
    /// The instruction.
    pub fn instruction(&self) -> String {
        let guard = if self.guard.is_empty() { String::new() } else { format!("{} ", self.guard) };
        let space = if self.operands.is_empty() { "" } else { " " };
        format!("{guard}{}{space}{};", self.head.concat(), self.operands.join(", "))
    }

    /// The declarations and the instruction, on one line.
    pub fn line(&self) -> String {
        let mut line = String::new();
        for (ty, name) in &self.registers {
            line += &format!(".reg {ty} {name}; ");
        }
        line + &self.instruction()
    }
}

impl Judgeable for Sample {
    fn target(&self) -> &str {
        &self.target
    }

    fn prologue(&self) -> String {
        let (prologue, _) = cut();
        prologue.replace("{version}", &self.version).replace("{target}", &self.target)
    }

    fn kernel(&self, name: &str) -> String {
        cut().1.replace("{name}", name).replace("{line}", &self.line())
    }

    fn opcode(&self) -> &str {
        self.head.first().and_then(|head| head.split('.').next()).unwrap_or_default()
    }
}

fn cut() -> (&'static str, &'static str) {
    TEMPLATE.split_at(TEMPLATE.find(".visible").unwrap_or(0))
}

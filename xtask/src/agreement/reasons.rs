//! Why verdicts differ where they do.

use super::{Judged, Ours};

/// A pattern over a disagreement and the reason behind it.
type Reason = (fn(&Judged) -> bool, &'static str);

/// The first that fits says why.
const REASONS: &[Reason] = &[
    (
        |j| theirs(j, "32-Bit ABI") || theirs(j, "32-Bit compilation"),
        "A 32-bit address of global memory in a module of 64-bit addresses: accepted here with the warning W0003, zero-extended",
    ),
    (
        |j| taken(j) && j.sample.operands.iter().any(|o| o.contains("%x+1") || o.contains("vg+4")),
        "A sum of a register or variable and a number as a plain operand: ptxas takes it for some types; no manual has it",
    ),
    (
        |j| taken(j) && j.sample.operands.iter().any(|o| o.ends_with(".b01")),
        "The selector `.b01`: ptxas lets it pass, on instructions without selectors too",
    ),
    (
        |j| theirs(j, "Parsing error near '.b1024'"),
        "The selector `.b1024`: legal by the manual, a syntax error to ptxas",
    ),
    (
        |j| taken(j) && old_target(j),
        "Targets before sm_20: the tables keep to the manual (`.f64` needs sm_13) where ptxas does not look",
    ),
    (|j| old_target(j), "Targets before sm_20: the tables do not have every restriction of these"),
    (
        |j| {
            taken(j)
                && head(j, "mov")
                && j.sample.head.iter().any(|m| m == ".b128" || m == ".v2" || m == ".v4")
        },
        "`mov` of a vector or 128 bits with an address, a constant or a predicate in it: ptxas lets it pass; the manual has no such form",
    ),
    (
        |j| taken(j) && head(j, "atom") && j.sample.operands.len() == 4,
        "A bitwise `atom` with a fourth operand: ptxas takes it for `.cas` as long as the types fit and drops the operand",
    ),
    (
        |j| taken(j) && j.sample.head.iter().any(|m| m == ".pred") && registers(j, ".f16x2"),
        "A register of type .f16x2 as a predicate: ptxas does not look",
    ),
    (
        |j| !taken(j) && head(j, "cvt") && registers(j, ".b128"),
        "A constant converted into a register of 128 bits: ptxas makes a `mov` of it, which then does not fit",
    ),
    (
        |j| taken(j) && head(j, "bar"),
        "A constant of more than 32 bits as barrier number or thread count: here the low 32 bits count",
    ),
    (
        |j| theirs(j, "::func"),
        "`.param::func` in a kernel: the tables do not tell the parameters of kernels and functions apart",
    ),
];

/// ptxas accepts it.
fn taken(j: &Judged) -> bool {
    j.theirs.is_ok() && !matches!(j.ours, Ours::Unknown(_))
}

fn theirs(j: &Judged, text: &str) -> bool {
    j.theirs.as_ref().is_err_and(|why| why.contains(text))
}

fn head(j: &Judged, opcode: &str) -> bool {
    j.sample.head[0] == opcode
}

fn registers(j: &Judged, ty: &str) -> bool {
    j.sample.registers.iter().any(|(t, _)| t == ty)
}

fn old_target(j: &Judged) -> bool {
    matches!(j.sample.target.as_str(), "sm_10" | "sm_11" | "sm_12" | "sm_13")
}

/// The reason of a disagreement.
pub fn reason(judged: &Judged) -> Option<&'static str> {
    REASONS.iter().find(|(fits, _)| fits(judged)).map(|(_, why)| *why)
}

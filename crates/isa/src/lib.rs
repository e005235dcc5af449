//! The PTX instruction set: one room per family, with its forms as the manual writes them and its meaning in core ops.
//!
//! A [`Room`] is everything there is to know about a family of instructions; nothing about a single instruction lives anywhere
//! else. [`resolve`] finds the form of an instruction (or says why there is none), [`Match`] holds what stands where, and the
//! room's meaning builds core ops through a [`Cx`].
#![forbid(unsafe_code)]

mod errata;
pub mod form;
mod instances;
mod lenient;
pub mod manual;
mod matching;
mod meaning;
mod ty;

pub mod arith;
pub mod atomic;
pub mod compare;
pub mod control;
pub mod copy;
pub mod cvt;
pub mod data;
pub mod float;
pub mod integer;
pub mod later;
pub mod logic;
pub mod matrix;
pub mod special;
#[doc(hidden)]
pub mod testing;
pub mod video;
pub mod warp;

pub use errata::{Erratum, Spelling, errata, errata_of};
pub use form::{Form, Parsed, Since, since};
pub use instances::{Instance, InstanceKind, InstanceOperand, instances, mixed_instances, with_constant};
pub use matching::{Env, Features, Instr, Match, Misfit, Operand, OperandKind, resolve};
pub use meaning::{Arg, Background, Cx, Outcome, Profile, Unspecified, probe};
pub use special::{SpecialRegister, special};
pub use ty::{Kind, Ty};

use std::collections::HashMap;
use std::sync::LazyLock;

/// A rule over a matched instruction.
pub type Rule = fn(&Match, &Instr<'_>) -> Result<(), String>;

/// A family of instructions.
pub struct Room {
    /// The opcodes it covers; a form's syntax starts with one of them, or with `vop` for all.
    pub opcodes: &'static [&'static str],
    /// One line: what it does.
    pub title: &'static str,
    /// Some paragraphs: what a user should know.
    pub doc: &'static str,
    /// Where it stands in the manual.
    pub section: &'static str,
    /// The forms.
    pub forms: &'static [Form],
    /// A rule the notation cannot say; the text completes "… is not allowed: ".
    pub rule: Option<Rule>,
    /// The meaning.
    pub meaning: fn(&mut Cx<'_>) -> Outcome,
    /// Where hardware, assembler and manual differ.
    pub notes: &'static [&'static str],
}

impl Room {
    /// Whether `what` holds for any of its forms. Asking a [`Match`] for what no form of its room has is a slip of the pen,
    /// not a question: builds with debug assertions panic.
    fn knows(&self, what: impl Fn(&Parsed) -> bool) -> bool {
        self.opcodes.iter().filter_map(|o| find(o)).flat_map(|(entry, _)| &entry.forms).any(what)
    }
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Room({})", self.opcodes.join(" "))
    }
}

/// Every room, in the order of the manual. Adding an instruction means adding its room here.
pub static ROOMS: &[&[Room]] = &[
    arith::ROOMS,
    integer::ROOMS,
    float::ROOMS,
    compare::ROOMS,
    logic::ROOMS,
    data::ROOMS,
    cvt::ROOMS,
    control::ROOMS,
    copy::ROOMS,
    atomic::ROOMS,
    warp::ROOMS,
    matrix::ROOMS,
    video::ROOMS,
];

/// A room with its forms read.
pub struct Entry {
    /// The room.
    pub room: &'static Room,
    /// Its forms.
    pub forms: Vec<Parsed>,
}

static TABLE: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let mut table = HashMap::new();
    let read = |room: &'static Room, opcode: &str| {
        let forms = room.forms.iter().filter(|f| form_is_for(f, opcode)).map(Parsed::new).collect();
        Entry { room, forms }
    };
    for room in ROOMS.iter().flat_map(|r| r.iter()) {
        for opcode in room.opcodes {
            let old = table.insert(*opcode, read(room, opcode));
            assert!(old.is_none(), "`{opcode}` has two rooms");
        }
    }
    // A family that has got a meaning has a room above.
    for room in later::ROOMS {
        for opcode in room.opcodes {
            table.entry(*opcode).or_insert_with(|| read(room, opcode));
        }
    }
    table
});

fn form_is_for(form: &Form, opcode: &str) -> bool {
    let head = form.syntax.split(['.', '{', ' ']).next().unwrap_or("");
    head == opcode || head.starts_with("vop")
}

/// The room of an opcode.
pub fn find(opcode: &str) -> Option<(&'static Entry, &'static str)> {
    TABLE.get_key_value(opcode).map(|(name, entry)| (entry, *name))
}

static SORTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut all: Vec<_> = TABLE.keys().copied().collect();
    all.sort_unstable();
    all
});

/// Every opcode that has a meaning, sorted.
pub fn opcodes() -> Vec<&'static str> {
    let has_one = |o: &&str| ROOMS.iter().flat_map(|r| r.iter()).any(|r| r.opcodes.contains(o));
    SORTED.iter().copied().filter(has_one).collect()
}

/// Every opcode there is, those without a meaning included, sorted.
pub fn all_opcodes() -> Vec<&'static str> {
    SORTED.clone()
}

/// Opcodes that look like this one.
pub fn near_opcodes(opcode: &str) -> Vec<&'static str> {
    near(opcode, SORTED.iter().copied())
}

/// The names closest to `name`, best first, at most three.
pub fn near<'a>(name: &str, all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let limit = (name.len() / 3).max(1);
    let mut found: Vec<(usize, &'a str)> =
        // A difference in length is part of the distance.
        all.filter(|c| c.len().abs_diff(name.len()) <= limit)
            .map(|c| (distance(name, c), c))
            // What has no letter in common is not near, however short.
            .filter(|(d, c)| *d <= limit && *d < name.len().max(c.len()))
            .collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, c)| c).take(3).collect()
}

/// Edit distance, adjacent swaps counted as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<u8>, Vec<u8>) = (a.bytes().take(64).collect(), b.bytes().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(a[i - 1] != b[j - 1]);
                let mut d = (rows[i - 1][j - 1] + same).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    d = d.min(rows[i - 2][j - 2] + 1);
                }
                d
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regs<'a>(n: usize) -> Vec<Operand<'a>> {
        vec![Operand::new(OperandKind::Reg(Ty::B32)); n]
    }

    fn misfits(opcode: &str, mods: &[&str], operands: &[Operand<'_>]) -> Vec<Misfit> {
        resolve(&Instr { opcode, mods, operands }, Env::NEWEST).expect_err("should not match").1
    }

    #[test]
    fn every_form_can_be_read_and_has_its_opcode() {
        for opcode in all_opcodes() {
            let (entry, _) = find(opcode).unwrap();
            assert!(!entry.forms.is_empty(), "{opcode} has no form");
        }
        let heads: Vec<&str> = ROOMS
            .iter()
            .flat_map(|r| r.iter())
            .flat_map(|r| r.forms.iter().map(move |f| (r, f)))
            .filter(|(r, f)| !r.opcodes.iter().any(|o| form_is_for(f, o)))
            .map(|(_, f)| f.syntax)
            .collect();
        assert!(heads.is_empty(), "forms no opcode uses: {heads:?}");
    }

    #[test]
    fn modifiers_may_stand_in_any_order() {
        let m = resolve(
            &Instr { opcode: "vadd", mods: &[".sat", ".s32", ".u32", ".s32"], operands: &regs(3) },
            Env::NEWEST,
        )
        .unwrap();
        assert_eq!(
            (m.ty(".dtype"), m.ty(".atype"), m.ty(".btype")),
            (Some(Ty::S32), Some(Ty::U32), Some(Ty::S32))
        );
        assert!(m.has(".sat"));
    }

    /// What a meaning or a rule asks for is what some form of its room has; see also `tests/forms.rs`, which runs them all.
    #[test]
    fn asking_for_what_no_form_has_is_found_out() {
        let m =
            resolve(&Instr { opcode: "vadd", mods: &[".s32"; 3], operands: &regs(3) }, Env::NEWEST).unwrap();
        let asks: [fn(&Match) -> bool; 3] =
            [|m| m.has(".stat"), |m| m.get(".ctype").is_some(), |m| m.slot("e").is_some()];
        for asks in asks {
            assert!(std::panic::catch_unwind(|| asks(&m)).is_err());
        }
        // Forms of the room that are not this one's may be asked for.
        assert!(!m.has(".sat") && !m.has(".add") && m.slot("c").is_none());
    }

    #[test]
    fn the_nearest_form_says_why_it_misses() {
        let wrong = misfits("vadd4", &[".u32", ".u32", ".u32", ".sat", ".add"], &regs(4));
        assert!(matches!(wrong[..], [Misfit::Conflict { .. }]), "{wrong:?}");
        let wrong = misfits("vadd4", &[".u32", ".u32"], &regs(4));
        assert!(matches!(wrong[..], [Misfit::Missing { name: ".btype", .. }]), "{wrong:?}");
        let wrong = misfits("vadd4", &[".u32", ".u32", ".u32"], &regs(3));
        assert!(matches!(wrong[..], [Misfit::OperandCount { least: 4, most: 4, got: 3 }]), "{wrong:?}");
        let wrong = misfits("vabsdif4", &[], &regs(4));
        assert_eq!(wrong, [Misfit::UnknownOpcode { near: vec!["vabsdiff", "vabsdiff4", "vabsdiff2"] }]);
    }

    #[test]
    fn versions_and_targets_are_checked() {
        let instr = Instr { opcode: "fma", mods: &[".rn", ".oob", ".f16x2"], operands: &regs(4) };
        let old = resolve(&instr, Env::new(80, 90)).unwrap_err().1;
        assert!(matches!(old[..], [Misfit::Version { since: Since { ptx: 81, sm: 90 }, .. }]), "{old:?}");
        let small = resolve(&instr, Env::new(81, 89)).unwrap_err().1;
        assert!(matches!(small[..], [Misfit::Target { .. }]), "{small:?}");
        assert!(resolve(&instr, Env::new(81, 90)).is_ok());
    }

    #[test]
    fn scalar_video_has_its_forms() {
        let count = |op: &str| -> usize {
            let (entry, name) = find(op).unwrap();
            entry
                .forms
                .iter()
                .filter(|p| !p.form.undocumented)
                .map(|p| instances(name, p, usize::MAX).len())
                .sum()
        };
        assert_eq!(count("vadd"), 16 * 49 * 10);
        assert_eq!(count("vset"), 24 * 49 * 10);
        assert_eq!(count("vmad"), 8 * 6 * 49 * 7);
    }
}

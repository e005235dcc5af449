//! Atomics: lane after lane, in a function of the module.
//!
//! What memory held is kept only where somebody wants to know, an operand that all lanes have in common is one, and where all lanes take part and the op is a few instructions there
//! is no loop.

use std::fmt::Write;

use hostwarp_ir::{AtomicOp, Space, Type};
use hostwarp_vector::{Access, Reg as VReg, Ty};

use super::Printer;
use super::text::{Reg, Shape, Text};
use super::{Unsupported, atomic_op};

/// Longer ops stay in a loop.
const MOST_LINES: usize = 8;

/// How an atomic is asked for: what a function for it takes and answers.
struct Ask {
    op: AtomicOp,
    ty: Type,
    /// In shared memory: plain loads and stores will do, for a CTA stays on one thread of the host.
    alone: bool,
    index: Shape,
    /// Not all lanes take part.
    some: bool,
    /// All have the same operand.
    same: bool,
    /// Somebody wants to know what memory held.
    wanted: bool,
}

impl Printer<'_> {
    /// (value) or (expected, value). 0 for lanes that do not take part.
    pub(super) fn atomic(
        &mut self,
        op: AtomicOp,
        access: &Access,
        args: &[VReg],
        wanted: bool,
    ) -> Result<Reg, Unsupported> {
        let (base, offsets, index) = self.spots(access);
        let (all, one) = (self.shape(Ty::wide(access.ty)), self.shape(Ty::narrow(access.ty)));
        let (value, expected) = match args {
            [expected, value] => (*value, Some(*expected)),
            [value] => (*value, None),
            _ => return Err(Unsupported("an atomic without operands".into())),
        };
        let same = !self.k.ty(value).is_wide();
        let mask = self.mask_of(access);
        let (alone, some) = (access.space == Space::Shared, mask.is_some());
        let helper = self.atomic_helper(Ask { op, ty: access.ty, alone, index, some, same, wanted })?;
        let mut text = format!("ptr {base}, {index} {offsets}");
        if let Some(mask) = mask {
            let bits = self.bits(&mask);
            let _ = write!(text, ", i{} {bits}", self.w);
        }
        let _ = write!(text, ", {} {}", if same { one } else { all }, self.r(value));
        if let Some(expected) = expected {
            let _ = write!(text, ", {all} {}", self.r(expected));
        }
        if wanted {
            return Ok(self.t.inst(format_args!("call {all} {helper}({text})")));
        }
        self.t.line(format_args!("call void {helper}({text})"));
        Ok(String::new())
    }

    fn atomic_helper(&mut self, ask: Ask) -> Result<String, Unsupported> {
        let Ask { op, ty, alone, index, some, same, wanted } = ask;
        let (w, all, one) = (self.w, self.shape(Ty::wide(ty)), self.shape(Ty::narrow(ty)));
        let mut t = Text::default();
        let body = atomic_op::body(&mut t, self.cpu, op, ty, alone)
            .ok_or_else(|| Unsupported(format!("{op:?} on this CPU")))?;
        let op_name = format!("{op:?}").replace(|c: char| !c.is_alphanumeric(), "");
        let space = if alone { "shared" } else { "global" };
        let mut name = format!("@atomic.{op_name}.{space}.{}.{}", one.suffix(), index.suffix());
        for (is, what) in [(some, ".some"), (same, ".same"), (!wanted, ".unseen")] {
            name.push_str(if is { what } else { "" });
        }
        self.t.declarations.extend(t.declarations);
        if some {
            self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        }
        if self.helpers.contains_key(&name) {
            return Ok(name);
        }
        let (offset, size, cas) = (index.times(1), ty.bytes(), op == AtomicOp::Cas);
        let arrays = [
            (true, "o", index, "%offsets"),
            (!same, "v", all, "%values"),
            (cas, "c", all, "%expecteds"),
            (wanted, "r", all, "zeroinitializer"),
        ];
        let (mut entry, mut stores) = (String::new(), String::new());
        for (_, n, shape, from) in arrays.iter().filter(|(is, ..)| *is) {
            let _ = writeln!(entry, "  %{n} = alloca {shape}, align 64");
            let _ = writeln!(stores, "  store {shape} {from}, ptr %{n}, align 64");
        }
        entry.push_str(&stores);
        let each = |n: &str, what: &str, one: Shape| {
            format!(
                "  %{n}.at = getelementptr {one}, ptr %{n}, i64 %lane\n  %{what} = load {one}, ptr %{n}.at, align {}\n",
                one.elem.bytes()
            )
        };
        let given = |is: bool, what: String| if is { what } else { String::new() };
        let step = [
            each("o", "offset", offset),
            format!("  %p = getelementptr i8, ptr %base, {offset} %offset\n"),
            given(!same, each("v", "value", one)),
            given(cas, each("c", "expected", one)),
            body,
        ]
        .concat();
        let keep = given(
            wanted,
            format!(
                "  %r.at = getelementptr {one}, ptr %r, i64 %lane\n  store {one} %old, ptr %r.at, align {size}\n"
            ),
        );
        let ret = match wanted {
            true => format!("  %held = load {all}, ptr %r, align 64\n  ret {all} %held\n"),
            false => "  ret void\n".into(),
        };
        let is_short = step.lines().count() <= MOST_LINES && !step.contains("br ");
        let text = if is_short && !some && alone {
            let lanes: String = (0..w).map(|lane| of_lane(&(step.clone() + &keep), lane)).collect();
            format!("{entry}{lanes}{ret}")
        } else {
            let (first, next) = match some {
                true => (
                    format!(
                        "  %left = phi i{w} [%bits, %entry], [%rest, %done]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {}
",
                        super::lane_number(w)
                    ),
                    format!(
                        "  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
"
                    ),
                ),
                false => (
                    "  %lane = phi i64 [0, %entry], [%next, %done]\n".to_owned(),
                    format!("  %next = add i64 %lane, 1\n  %end = icmp eq i64 %next, {w}\n"),
                ),
            };
            let begin = match some {
                true => format!("  %none = icmp eq i{w} %bits, 0\n  br i1 %none, label %out, label %loop\n"),
                false => "  br label %loop\n".into(),
            };
            format!(
                "{entry}{begin}loop:\n{first}{step}  br label %done\ndone:\n{keep}{next}  br i1 %end, label %out, label %loop\nout:\n{ret}"
            )
        };
        let answer = if wanted { all.to_string() } else { "void".into() };
        let bits = given(some, format!(", i{w} %bits"));
        let operand = if same { format!("{one} %value") } else { format!("{all} %values") };
        let expected = given(cas, format!(", {all} %expecteds"));
        let text = format!(
            "define internal {answer} {name}(ptr %base, {index} %offsets{bits}, {operand}{expected}) noinline nounwind {{\nentry:\n{text}}}\n"
        );
        self.helpers.insert(name.clone(), text);
        Ok(name)
    }
}

/// A step of the loop for one lane: what it defines gets the lane's number.
fn of_lane(step: &str, lane: u32) -> String {
    let defined: Vec<&str> =
        step.lines().filter_map(|l| l.trim().split_once(" = ")).map(|(r, _)| r).collect();
    let mut text = String::new();
    for (n, piece) in step.split('%').enumerate() {
        if n == 0 {
            text.push_str(piece);
            continue;
        }
        let end = piece.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_').unwrap_or(piece.len());
        let (name, rest) = piece.split_at(end);
        match name {
            "lane" => {
                let _ = write!(text, "{lane}");
            }
            _ if defined.iter().any(|d| d[1..] == *name) => {
                let _ = write!(text, "%{name}.{lane}");
            }
            _ => {
                let _ = write!(text, "%{name}");
            }
        }
        text.push_str(rest);
    }
    text
}

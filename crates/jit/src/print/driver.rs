//! From group to group, from round to round and from CTA to CTA.

use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{Mem, Op, Space};

use super::Printer;
use super::text::Reg;
use crate::abi::{self, Callbacks, Ctx};

impl Printer<'_> {
    /// Whether the kernel accesses memory that each CTA finds zeroed.
    fn has_own_memory(&self) -> bool {
        let own = |mem: Mem| matches!(mem.space, Space::Shared | Space::Local | Space::Generic);
        let insts = self.func.blocks.iter().flat_map(|b| &b.insts);
        insts.into_iter().any(|i| matches!(i.op, Op::Load(m) | Op::Store(m) | Op::Atomic(_, m) if own(m)))
    }

    /// Whether all lanes of a group start: of the group to run the engine says so, of many all but perhaps the last are whole.
    pub(super) fn whole(&mut self) -> Reg {
        let many = self.field("many", "i32", offset_of!(Ctx, many));
        let threads = self.threads();
        let one = self.once("one", |_| format!("icmp eq i32 {many}, 0"));
        let said = self.once("whole.said", |_| "icmp ne i32 %whole.first, 0".into());
        let w = self.w;
        let end = self.per_group("group.end.lane", |_| format!("add i32 %lane0, {w}"));
        let fits = self.per_group("group.fits", |_| format!("icmp ule i32 {end}, {threads}"));
        self.per_group("whole", |_| format!("select i1 {one}, i1 {said}, i1 {fits}"))
    }

    /// What comes after a group. The engine need not be asked as long as all groups of a CTA come to the same barrier, or exit: then
    /// the next group runs, and after the last all go on, or the next CTA begins.
    pub(super) fn next_group(&mut self) {
        let w = self.w;
        let many = self.field("many", "i32", offset_of!(Ctx, many));
        let threads = self.threads();
        let begin = self.clear_memory();
        let index = self.next_index();
        let per_group = self.func.inst_count();
        let groups = self.once("groups.more", |_| format!("add i32 {threads}, {}", w - 1));
        let groups = self.once("groups.32", |_| format!("lshr i32 {groups}, {}", w.trailing_zeros()));
        let groups = self.once("groups", |_| format!("zext i32 {groups} to i64"));
        let cost = self.once("round.cost", |_| format!("mul i64 {groups}, {per_group}"));
        let out =
            |name: &str, offset: usize| format!("  %out.{name} = getelementptr i8, ptr %ctx, i64 {offset}\n");
        let outs = out("lane0", offset_of!(Ctx, lane0))
            + &out("round", offset_of!(Ctx, round))
            + &out("round.from", offset_of!(Ctx, round_from))
            + &out("from", offset_of!(Ctx, from));
        let others = format!(
            "  %gm.first = icmp eq i32 %lane0, 0
  %gm.others = load i32, ptr %round.from, align 8
  %gm.from = select i1 %gm.first, i32 %ge.from, i32 %gm.others
  store i32 %gm.from, ptr %round.from, align 8
  %gm.same = icmp eq i32 %gm.from, %ge.from
  store i32 {mixed}, ptr %status, align 8
  br i1 %gm.same, label %group.next, label %leave, !prof !0
group.next:
  %gn.lane0 = add i32 %lane0, {w}
  %gn.more = icmp ult i32 %gn.lane0, {threads}
  br i1 %gn.more, label %group.again, label %round.end
group.again:
  store i32 %gn.lane0, ptr %lane0.slot, align 8
  br label %group
",
            mixed = abi::MIXED,
        );
        let _ = write!(
            self.t.body,
            "group.end:
  %ge.from = load i32, ptr %end.from, align 8
  %ge.exited = icmp eq i32 %ge.from, {exited}
  %ge.one = icmp eq i32 {many}, 0
  br i1 %ge.one, label %group.only, label %group.many
group.only:
  %go.status = select i1 %ge.exited, i32 {done}, i32 {at_barrier}
  store i32 %go.status, ptr %status, align 8
  br label %leave
group.many:
{others}round.end:
  %re.old = load i64, ptr %fuel, align 8
  %re.fuel = sub i64 %re.old, {cost}
  store i64 %re.fuel, ptr %fuel, align 8
  store i32 {yielded}, ptr %status, align 8
  %re.enough = icmp sgt i64 %re.fuel, 0
  br i1 %re.enough, label %round.next, label %leave, !prof !0
round.next:
  %rn.to = load i32, ptr %end.to, align 8
  store i32 %rn.to, ptr %resume.slot, align 8
  store i32 0, ptr %lane0.slot, align 8
  br i1 %ge.exited, label %cta.end, label %group
cta.end:
  %ce.old = load i32, ptr %ctas, align 8
  %ce.left = sub i32 %ce.old, 1
  store i32 %ce.left, ptr %ctas, align 8
  store i32 {done}, ptr %status, align 8
  %ce.done = icmp eq i32 %ce.left, 0
  br i1 %ce.done, label %leave, label %cta.next
cta.next:
{index}{begin}leave:
{outs}  %l.fuel = load i64, ptr %fuel, align 8
  store i64 %l.fuel, ptr %out.fuel, align 8
  %l.ctas = load i32, ptr %ctas, align 8
  store i32 %l.ctas, ptr %out.ctas, align 4
  %l.index = load i32, ptr %ctaid.x, align 8
  store i32 %l.index, ptr %out.ctaid.x, align 4
  store i32 %lane0, ptr %out.lane0, align 4
  store i32 %resume, ptr %out.round, align 4
  %l.round = load i32, ptr %round.from, align 8
  store i32 %l.round, ptr %out.round.from, align 4
  %l.from = load i32, ptr %end.from, align 8
  store i32 %l.from, ptr %out.from, align 4
  %l.status = load i32, ptr %status, align 8
  ret i32 %l.status
",
            exited = abi::EXITED as i32,
            done = abi::DONE,
            at_barrier = abi::AT_BARRIER,
            yielded = abi::YIELD,
        );
    }

    /// Makes the memory of the CTA to come zero, at `cta.begin`, and goes on to its first group.
    fn clear_memory(&mut self) -> String {
        if !self.has_own_memory() {
            return "  br label %group\n".into();
        }
        if self.func.info.local_bytes > 0 {
            let callback = offset_of!(Ctx, callbacks) + offset_of!(Callbacks, next_cta);
            let callback = self.field("call.next_cta", "ptr", callback);
            return format!(
                "  %begin.x = load i32, ptr %ctaid.x, align 8
  store i32 %begin.x, ptr %out.ctaid.x, align 4
  call void {callback}(ptr %ctx)
  br label %group
"
            );
        }
        // Shared memory lies in whole lines.
        let line = hostwarp_memory::SHARED_LINE;
        let (shared, len) = self.space(Space::Shared);
        format!(
            "  %clear.any = icmp ugt i64 {len}, 0
  br i1 %clear.any, label %cta.clear, label %group
cta.clear:
  %clear.from = phi i64 [0, %cta.begin], [%clear.to, %cta.clear]
  %clear.at = getelementptr i8, ptr {shared}, i64 %clear.from
  store <{line} x i8> zeroinitializer, ptr %clear.at, align {line}
  %clear.to = add i64 %clear.from, {line}
  %clear.more = icmp ult i64 %clear.to, {len}
  br i1 %clear.more, label %cta.clear, label %group
"
        )
    }

    /// The next CTA's index, and on to `cta.begin`: nearly always the next along x.
    fn next_index(&mut self) -> String {
        let mut text = String::new();
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            let extent = self.field(&format!("grid.{name}"), "i32", offset_of!(Ctx, grid) + 4 * axis);
            let carry = ["cta.next.y", "cta.next.z", "cta.begin"][axis];
            // Along x it is told when somebody asks.
            let tell = match axis {
                0 => String::new(),
                _ => format!("  store i32 %next.{name}, ptr %out.ctaid.{name}, align 4\n"),
            };
            let _ = write!(
                text,
                "  %next.{name}.old = load i32, ptr %ctaid.{name}, align 8
  %next.{name}.new = add i32 %next.{name}.old, 1
  %next.{name}.fits = icmp ult i32 %next.{name}.new, {extent}
  %next.{name} = select i1 %next.{name}.fits, i32 %next.{name}.new, i32 0
  store i32 %next.{name}, ptr %ctaid.{name}, align 8
{tell}  br i1 %next.{name}.fits, label %cta.begin, label %{carry}, !prof !0
{carry}:
"
            );
        }
        text
    }
}

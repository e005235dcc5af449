//! Blocks that few lanes of a wide group run, the first of them: as in the last rounds of a tree. Their masked version goes over all
//! registers of the group to find most of them idle, so there is a narrow one beside it for when the lanes lie in the first.

use hostwarp_ir::{Block, Inst, Op, Order, Term, Value};
use hostwarp_plan::Shape as Spread;

use super::ops::LIKELY_PART as FEW;
use super::{Emitter, Unsupported, is_seen};

impl Emitter<'_> {
    /// Writes the narrow version of a masked block, if there is to be one, and goes on where the wide one begins. Where a check fails the wide one is
    /// run in its place.
    pub(super) fn few_lanes(&mut self, b: Block) -> Result<(), Unsupported> {
        let Some(mask) = self.mask.clone().filter(|_| self.suits_few(b)) else { return Ok(()) };
        let (w, bits) = (self.w, self.bits(&mask));
        let above = self.t.inst(format_args!("lshr i{w} {bits}, {FEW}"));
        let none = self.t.inst(format_args!("icmp eq i{w} {above}, 0"));
        let (few, many) = (self.t.fresh_label("few"), self.t.fresh_label("many"));
        self.t.branch(&none, &few, &many);
        self.t.label(&few);
        let known = self.known.clone();
        let low = self.t.inst(format_args!("trunc i{w} {bits} to i{FEW}"));
        let narrow = self.t.inst(format_args!("bitcast i{FEW} {low} to <{FEW} x i1>"));
        (self.w, self.mask, self.careful) = (FEW, Some(narrow), Some(many.clone()));
        let data = self.func.block(b);
        for (index, inst) in data.insts.iter().enumerate() {
            self.inst(index, inst)?;
        }
        (self.w, self.mask, self.careful) = (w, Some(mask), None);
        self.known = known.clone();
        self.end_masked(b, &data.term);
        self.known = known;
        self.t.label(&many);
        Ok(())
    }

    /// Whether a block has a narrow version: it takes scalars, leaves nothing behind but what it stores, at its end, and accesses rows.
    fn suits_few(&self, b: Block) -> bool {
        let data = self.func.block(b);
        let wide = self.cpu.avx512 && self.rows == 1 && self.w >= 4 * FEW;
        let jumps = matches!(&data.term, Term::Jump(to) if to.args.is_empty());
        if !wide || !jumps || !self.plan.masked[b.index()] {
            return false;
        }
        let results: Vec<Value> = data.insts.iter().filter_map(|i| i.result).collect();
        let scalar = |v: &Value| self.spread(*v) != Spread::Varying && !self.wraps[v.index()];
        let own_or_scalar = |v: &Value| results.contains(v) || scalar(v);
        let simple = |i: &Inst| match i.op {
            Op::Load(mem) | Op::Store(mem) => mem.order == Order::Weak,
            _ => i.op.is_pure(),
        };
        let accesses = |i: &&Inst| matches!(i.op, Op::Load(_) | Op::Store(_));
        let mut memory = data.insts.iter().filter(accesses).rev();
        let row = |i: &Inst| {
            let size = match (i.op, i.result, i.args.get(1)) {
                (Op::Load(_), Some(v), _) | (Op::Store(_), _, Some(&v)) => self.ty(v).bytes() as i64,
                _ => return false,
            };
            i.args
                .first()
                .is_some_and(|at| matches!(self.spread(*at), Spread::Affine { stride, .. } if stride == size))
        };
        results.iter().all(|r| !self.crosses[r.index()] && !self.wraps[r.index()])
            && data.insts.iter().all(|i| simple(i) && i.args.iter().chain(&i.guard).all(own_or_scalar))
            && memory.next().is_some_and(|last| is_seen(&last.op) && row(last))
            && memory.all(|i| !is_seen(&i.op) && row(i))
    }
}

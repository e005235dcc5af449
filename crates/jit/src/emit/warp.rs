//! Ops that see other lanes of the warp. The group is the warp here.

use hostwarp_ir::{Elem, Inst, Op, Value};
use hostwarp_plan::Shape as Spread;

use super::{Emitter, Known, Reg, Shape, Text};

impl Emitter<'_> {
    pub(super) fn warp_op(&mut self, inst: &Inst) {
        let Some(r) = inst.result else { return };
        match inst.op {
            Op::ActiveMask => {
                let lanes = self.executing();
                if self.mask.is_none() {
                    self.by_lane_here.insert(r, vec![u32::MAX.into(); self.w as usize].into());
                }
                self.define_scalar(r, lanes);
            }
            Op::Ballot => {
                let lanes = self.lanes();
                let mut said = self.vector(inst.args[0]);
                if let Some(mask) = self.mask.clone() {
                    said = self.t.inst(format_args!("and {lanes} {said}, {mask}"));
                }
                let bits = self.bits(&said);
                self.define_scalar(r, bits);
            }
            _ => self.lane_read(inst, r),
        }
    }

    /// The executing lanes as i32.
    fn executing(&mut self) -> Reg {
        match self.mask.clone() {
            None => "-1".into(),
            Some(mask) => self.bits(&mask),
        }
    }

    fn lane_read(&mut self, inst: &Inst, r: Value) {
        let (value, lane) = (inst.args[0], inst.args[1]);
        let ty = self.ty(r);
        if self.spread(value) == Spread::Uniform {
            // Whichever lane is asked, the answer is the same.
            let scalar = self.scalar(value);
            return self.define_scalar(r, scalar);
        }
        let own = self.vector(value);
        let (all, ints, lanes) = (self.all(ty), Shape::new(Elem::I32, self.w), self.lanes());
        if let (Some(from), None) = (self.in_each_lane(lane), &self.mask) {
            let k = u32::from(ty.count);
            let order = from.iter().flat_map(|from| (0..k).map(move |n| (*from as u32 & 31) * k + n));
            let read = self.t.shuffle(all, &own, "poison", order);
            return self.define(r, Known { vector: Some(read), ..Known::default() });
        }
        let index = self.vector(lane);
        let index = self.t.binary("and", ints, &index, &Text::constant(ints, 31));
        // Through memory: one store, and a load per lane from a place that is certainly there.
        let read = if self.cpu.avx512 && matches!(ty.elem.bits(), 32) {
            self.permute_words(all, &own, &index)
        } else {
            self.permute_through_memory(all, &own, &index)
        };
        let read = match self.mask.clone() {
            None => read,
            Some(mask) => {
                let bits = self.bits(&mask);
                let bits = self.t.repeat(Shape::new(Elem::I32, 1), &bits, self.w);
                let there = self.t.binary("lshr", ints, &bits, &index);
                let there = self.t.convert("trunc", ints, &there, lanes);
                self.t.select(lanes, &there, all, &read, &own)
            }
        };
        self.define(r, Known { vector: Some(read), ..Known::default() });
    }

    /// 32 words are two 512-bit registers, from which one instruction picks any.
    fn permute_words(&mut self, all: Shape, own: &str, index: &str) -> Reg {
        let ints = Shape::new(Elem::I32, 32);
        let half = Shape::new(Elem::I32, 16);
        let words = self.t.convert("bitcast", all, own, ints);
        let low = self.t.shuffle(ints, &words, "poison", 0..16);
        let high = self.t.shuffle(ints, &words, "poison", 16..32);
        let mut picked = vec![];
        for from in [0, 16] {
            let index = self.t.shuffle(ints, index, "poison", from..from + 16);
            let args = [(half, low.as_str()), (half, index.as_str()), (half, high.as_str())];
            picked.push(self.t.intrinsic("x86.avx512.vpermi2var.d.512", half, &args));
        }
        let joined = self.t.shuffle(half, &picked[0], &picked[1], 0..32);
        self.t.convert("bitcast", ints, &joined, all)
    }

    fn permute_through_memory(&mut self, all: Shape, own: &str, index: &str) -> Reg {
        let one = all.times(1);
        let ints = Shape::new(Elem::I32, self.w);
        // An i1 has no place in memory: it travels as a byte.
        let (held, held_one) =
            if all.elem == Elem::I1 { (all.with(Elem::I8), one.with(Elem::I8)) } else { (all, one) };
        let own = self.t.convert("zext", all, own, held);
        self.t.line(format_args!("store {held} {own}, ptr %data, align 64"));
        let mut read = "poison".to_owned();
        for lane in 0..self.w {
            let at = self.t.inst(format_args!("extractelement {ints} {index}, i64 {lane}"));
            let at = self.t.inst(format_args!("zext i32 {at} to i64"));
            let at = self.t.inst(format_args!("getelementptr {held_one}, ptr %data, i64 {at}"));
            let element = self.t.inst(format_args!("load {held_one}, ptr {at}, align 1"));
            read = self.t.inst(format_args!("insertelement {held} {read}, {held_one} {element}, i64 {lane}"));
        }
        self.t.convert("trunc", held, &read, all)
    }

    /// The lanes that running lanes name: all of them together, should they differ.
    pub(super) fn named_lanes(&mut self, named: Value, mask: &str) -> Reg {
        if self.spread(named) == Spread::Uniform {
            return self.scalar(named);
        }
        let (ints, lanes, one) = (Shape::new(Elem::I32, self.w), self.lanes(), Shape::new(Elem::I32, 1));
        let named = self.vector(named);
        let said = self.t.select(lanes, mask, ints, &named, "zeroinitializer");
        self.t.intrinsic(&format!("vector.reduce.or.{}", ints.suffix()), one, &[(ints, &said)])
    }
}

//! Accesses and their checks.
//!
//! Global memory: a window remembers the part of an allocation that was found last, from which address on and in how many places an access may begin there. Where
//! that fails a function looks lanes up in the table of granules one by one. Other spaces are all there from their beginning to their end.

use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{Elem, Space, Type};
use hostwarp_memory::RawView;
use hostwarp_vector::{Access, At, Form, Reg as VReg, Ty};

use super::Printer;
use super::text::{Reg, Shape, Text};
use super::{ops, wide};
use crate::abi::{Callbacks, Ctx};

const I64: Shape = Shape { elem: Elem::I64, n: 1 };

impl Printer<'_> {
    /// Where a space begins in the host, and its size.
    pub(super) fn space(&mut self, space: Space) -> (Reg, Reg) {
        let global = offset_of!(Ctx, global);
        let (name, base, len) = match space {
            Space::Global | Space::Generic => {
                ("global", global + offset_of!(RawView, zero), global + offset_of!(RawView, global_size))
            }
            Space::Shared => ("shared", offset_of!(Ctx, shared), offset_of!(Ctx, shared_len)),
            Space::Local => ("local", offset_of!(Ctx, local), offset_of!(Ctx, local_len)),
            Space::Const => ("const", offset_of!(Ctx, constant), offset_of!(Ctx, constant_len)),
            Space::Param => ("param", offset_of!(Ctx, param), offset_of!(Ctx, param_len)),
        };
        (self.field(name, "ptr", base), self.field(&format!("{name}.len"), "i64", len))
    }

    fn is_global(space: Space) -> bool {
        matches!(space, Space::Global | Space::Generic)
    }

    /// In how many places, `align` apart, `len` bytes of a space can begin.
    fn places(&mut self, space: Space, len: u64, align: u32) -> Reg {
        let (_, size) = self.space(space);
        let name = format!("{}.{len}.{align}", size.trim_start_matches('%'));
        self.t.declarations.insert("declare i64 @llvm.usub.sat.i64(i64, i64)".into());
        let (shift, over) = (align.trailing_zeros(), len - u64::from(align).min(len));
        let room = self.once(&format!("{name}.room"), |_| {
            format!("call i64 @llvm.usub.sat.i64(i64 {size}, i64 {over})")
        });
        self.once(&format!("{name}.places"), |_| format!("lshr i64 {room}, {shift}"))
    }

    /// An address register as 64 bits. Of what is at known distances from lane 0, lane 0 may be below the space where it does not take part.
    fn address(&mut self, access: &Access) -> Reg {
        match access.at {
            At::Uniform(r) => {
                let from = self.shape(self.k.ty(r));
                let text = self.r(r).to_owned();
                self.t.convert("zext", from, &text, I64)
            }
            At::Spread { first: r, .. } => {
                let from = self.shape(self.k.ty(r));
                let text = self.r(r).to_owned();
                self.t.convert("sext", from, &text, I64)
            }
            At::Rows { .. } | At::Lanes(_) => String::new(),
        }
    }

    /// The addresses of the first lanes of rows, 64 bits each, and how many there are.
    fn row_addresses(&mut self, each: VReg) -> (Reg, Shape) {
        let from = self.shape(self.k.ty(each));
        let (all, each) = (I64.times(from.n), self.r(each).to_owned());
        (self.t.convert("sext", from, &each, all), all)
    }

    /// Where the first lane of each row accesses, in the host.
    fn row_places(&mut self, access: &Access, each: VReg) -> Vec<Reg> {
        let (base, _) = self.space(access.space);
        let (each, all) = self.row_addresses(each);
        (0..all.n)
            .map(|n| {
                let at = self.t.inst(format_args!("extractelement {all} {each}, i64 {n}"));
                self.t.inst(format_args!("getelementptr i8, ptr {base}, i64 {at}"))
            })
            .collect()
    }

    /// The addresses of all lanes, 64 bits each.
    fn addresses(&mut self, access: &Access) -> Reg {
        let all = I64.times(self.w);
        match &access.at {
            At::Uniform(_) => {
                let one = self.address(access);
                self.t.repeat(I64, &one, self.w)
            }
            At::Spread { first, offsets, .. } => {
                let elem = self.k.ty(*first).of.elem;
                let first = self.r(*first).to_owned();
                let each = self.spread(elem, &first, offsets);
                self.t.convert("zext", Shape::new(elem, self.w), &each, all)
            }
            At::Rows { each, offsets } => {
                let elem = self.k.ty(*each).of.elem;
                let rows = self.r(*each).to_owned();
                let each = self.widen(elem, &rows, offsets);
                self.t.convert("zext", Shape::new(elem, self.w), &each, all)
            }
            At::Lanes(r) => {
                let from = self.shape(self.k.ty(*r));
                let each = self.r(*r).to_owned();
                self.t.convert("zext", from, &each, all)
            }
        }
    }

    /// An offset counted in units of the alignment. A rotation puts the low bits of one that is not aligned on top, so that it is beyond any end.
    fn in_units(&mut self, shape: Shape, offset: &str, align: u32) -> Reg {
        match align.trailing_zeros() {
            0 => offset.to_owned(),
            shift => {
                let by = Text::constant(shape, shift.into());
                let args = [(shape, offset), (shape, offset), (shape, &by)];
                self.t.intrinsic(&format!("fshr.{}", shape.suffix()), shape, &args)
            }
        }
    }

    /// Goes to `exit` unless what all lanes that take part access is there.
    pub(super) fn check(&mut self, access: &Access, exit: &str) {
        let (low, len) = access.extent();
        let fast = self.t.fresh_label("there");
        if let At::Rows { each, .. } = access.at {
            let fine = self.are_rows_within(access, each, low, len);
            let missed = self.t.fresh_label("missed");
            self.t.branch_likely(&fine, &fast, &missed);
            self.t.label(&missed);
        } else if !matches!(access.at, At::Lanes(_)) {
            let mut begin = self.address(access);
            if low != 0 {
                begin = self.t.inst(format_args!("add i64 {begin}, {low}"));
            }
            let fine = self.is_within(access, &begin, len);
            // Of one place there is no more to be known, nor where all lanes take part and none can be in another allocation.
            let (global, one) = (Self::is_global(access.space), matches!(access.at, At::Uniform(_)));
            if !global && (one || access.mask.is_none()) {
                self.t.branch_likely(&fine, &fast, exit);
                return self.t.label(&fast);
            }
            let missed = self.t.fresh_label("missed");
            self.t.branch_likely(&fine, &fast, &missed);
            self.t.label(&missed);
        }
        if Self::is_global(access.space) {
            self.check_lanes_global(access, &fast, exit);
        } else {
            let fine = self.is_each_within(access);
            self.t.branch_likely(&fine, &fast, exit);
        }
        self.t.label(&fast);
    }

    /// Whether so many bytes from an address on are in the window, or in the space.
    fn is_within(&mut self, access: &Access, begin: &str, len: u64) -> Reg {
        let align = access.size();
        if !Self::is_global(access.space) {
            let places = self.places(access.space, len, align);
            let place = self.in_units(I64, begin, align);
            return self.t.inst(format_args!("icmp ult i64 {place}, {places}"));
        }
        let (from, places) = self.window(access.window);
        let from = self.t.inst(format_args!("load i64, ptr {from}, align 8"));
        let places = self.t.inst(format_args!("load i64, ptr {places}, align 8"));
        let within = self.t.inst(format_args!("sub i64 {begin}, {from}"));
        let place = self.in_units(I64, &within, align);
        self.t.inst(format_args!("icmp ult i64 {place}, {places}"))
    }

    /// Whether so many bytes of every row are in the window, or in the space.
    fn are_rows_within(&mut self, access: &Access, each: VReg, low: i64, len: u64) -> Reg {
        let align = access.size();
        let (mut begin, all) = self.row_addresses(each);
        if low != 0 {
            begin = self.t.binary("add", all, &begin, &Text::constant(all, low as u64));
        }
        let places = match Self::is_global(access.space) {
            true => {
                let (from, places) = self.window(access.window);
                let from = self.t.inst(format_args!("load i64, ptr {from}, align 8"));
                let from = self.t.repeat(I64, &from, all.n);
                begin = self.t.binary("sub", all, &begin, &from);
                self.t.inst(format_args!("load i64, ptr {places}, align 8"))
            }
            false => self.places(access.space, len, align),
        };
        let place = self.in_units(all, &begin, align);
        let places = self.t.repeat(I64, &places, all.n);
        let good = self.t.compare("icmp ult", all, &place, &places);
        let (n, lanes) = (all.n, all.with(Elem::I1));
        let bits = self.t.inst(format_args!("bitcast {lanes} {good} to i{n}"));
        self.t.inst(format_args!("icmp eq i{n} {bits}, -1"))
    }

    /// Where a window is kept.
    fn window(&mut self, n: u32) -> (Reg, Reg) {
        let mut word = |name: &str, index: u32| {
            let name = format!("window.{n}.{name}");
            let is_new = !self.once.contains_key(&name);
            let reg = self.once(&name, |_| format!("getelementptr i64, ptr %windows, i64 {index}"));
            if is_new {
                let _ = writeln!(self.entry, "  store i64 0, ptr {reg}, align 8");
            }
            reg
        };
        (word("from", 2 * n), word("places", 2 * n + 1))
    }

    /// Whether each lane that takes part is in a space that is all there.
    fn is_each_within(&mut self, access: &Access) -> Reg {
        let (size, w) = (access.size(), self.w);
        let narrow = match &access.at {
            At::Spread { first: r, .. } | At::Rows { each: r, .. } | At::Lanes(r) | At::Uniform(r) => {
                self.k.ty(*r).of.elem == Elem::I32
            }
        };
        let mut places = self.places(access.space, access.span().into(), size);
        let (mut each, mut one) = (self.addresses(access), I64);
        if narrow {
            // Spaces have less than 2^31 places.
            one = Shape::new(Elem::I32, 1);
            each = self.t.convert("trunc", I64.times(w), &each, one.times(w));
            let name = places.trim_start_matches('%').to_owned();
            places = self.once(&format!("{name}.32"), |_| format!("trunc i64 {places} to i32"));
        }
        let all = one.times(w);
        let place = self.in_units(all, &each, size);
        let places = self.t.repeat(one, &places, w);
        let good = self.t.compare("icmp ult", all, &place, &places);
        self.all_that_take_part(access, good)
    }

    fn all_that_take_part(&mut self, access: &Access, mut good: Reg) -> Reg {
        let (w, lanes) = (self.w, self.mask_shape());
        if let Some(mask) = access.mask {
            let mask = self.r(mask).to_owned();
            let off = self.t.binary("xor", lanes, &mask, &Text::constant(lanes, 1));
            good = self.t.binary("or", lanes, &good, &off);
        }
        let bits = self.bits(&good);
        self.t.inst(format_args!("icmp eq i{w} {bits}, -1"))
    }

    /// Looks at lanes one by one, if the window says nothing of them.
    fn check_lanes_global(&mut self, access: &Access, fast: &str, exit: &str) {
        let (w, size) = (self.w, access.size());
        let all = I64.times(w);
        let each = self.addresses(access);
        let (from, places) = self.window(access.window);
        if matches!(access.at, At::Lanes(_)) {
            let first = self.t.inst(format_args!("load i64, ptr {from}, align 8"));
            let count = self.t.inst(format_args!("load i64, ptr {places}, align 8"));
            let first = self.t.repeat(I64, &first, w);
            let count = self.t.repeat(I64, &count, w);
            let within = self.t.binary("sub", all, &each, &first);
            let place = self.in_units(all, &within, size);
            let good = self.t.compare("icmp ult", all, &place, &count);
            let fine = self.all_that_take_part(access, good);
            let missed = self.t.fresh_label("missed");
            self.t.branch_likely(&fine, fast, &missed);
            self.t.label(&missed);
        }
        let bits = match access.mask {
            Some(mask) => {
                let mask = self.r(mask).to_owned();
                self.bits(&mask)
            }
            None => "-1".into(),
        };
        let (low, len) = access.extent();
        let helper = self.look_up();
        let spread = matches!(access.at, At::Spread { .. });
        self.t.line(format_args!("store {all} {each}, ptr %addresses, align 64"));
        let found = self.t.inst(format_args!(
            "call i1 {helper}(ptr %ctx, ptr {from}, ptr %addresses, i{w} {bits}, i64 {low}, i1 {spread}, i64 {}, i64 {}, i64 {len})",
            size.trailing_zeros(),
            access.span(),
        ));
        self.t.branch_likely(&found, fast, exit);
    }

    /// A function that looks every lane's address up in the table of granules, and remembers what the lowest is in: of lanes at known distances that of all, whether they take part or not.
    /// Elements have two to the power of `shift` bytes; looked at are `span` bytes of each lane, and `len` of all of them are remembered.
    fn look_up(&mut self) -> String {
        let w = self.w;
        let name = "@look_up".to_owned();
        self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        self.t.declarations.insert("declare i64 @llvm.umin.i64(i64, i64)".into());
        let (global, base_of_granules) = (offset_of!(Ctx, global), self.cpu.base);
        let extend = super::lane_number(w);
        self.helpers.entry(name.clone()).or_insert_with(|| {
            format!(
                "define internal i1 {name}(ptr %ctx, ptr %window, ptr %addresses, i{w} %bits, i64 %low, i1 %spread, i64 %shift, i64 %span, i64 %len) noinline cold nounwind {{
entry:
  %unit = shl i64 1, %shift
  %unit.mask = sub i64 %unit, 1
  %size.at = getelementptr i8, ptr %ctx, i64 {size_at}
  %size = load i64, ptr %size.at, align 8
  %granules.at = getelementptr i8, ptr %ctx, i64 {granules_at}
  %granules = load ptr, ptr %granules.at, align 8
  %none = icmp eq i{w} %bits, 0
  br i1 %none, label %yes, label %loop
loop:
  %left = phi i{w} [%bits, %entry], [%rest, %next]
  %lowest = phi i64 [-1, %entry], [%lower, %next]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {extend}
  %at = getelementptr i64, ptr %addresses, i64 %lane
  %address = load i64, ptr %at, align 8
  %offset = sub i64 %address, {base}
  %inside = icmp ult i64 %offset, %size
  br i1 %inside, label %look, label %no
look:
  %number = lshr i64 %offset, 8
  %entry.at = getelementptr i32, ptr %granules, i64 %number
  %valid.32 = load i32, ptr %entry.at, align 4
  %valid = zext i32 %valid.32 to i64
  %within = and i64 %offset, 255
  %end = add i64 %within, %span
  %fits = icmp ule i64 %end, %valid
  %low.bits = and i64 %address, %unit.mask
  %aligned = icmp eq i64 %low.bits, 0
  %fine = and i1 %fits, %aligned
  br i1 %fine, label %next, label %no
next:
  %lower = call i64 @llvm.umin.i64(i64 %lowest, i64 %address)
  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %over = icmp eq i{w} %rest, 0
  br i1 %over, label %remember, label %loop
remember:
  %zero = load i64, ptr %addresses, align 8
  %all = add i64 %zero, %low
  %begin = select i1 %spread, i64 %all, i64 %lower
  %begin.offset = sub i64 %begin, {base}
  %begins = icmp ult i64 %begin.offset, %size
  br i1 %begins, label %measure, label %yes
measure:
  %begin.number = lshr i64 %begin.offset, 8
  %begin.at = getelementptr i32, ptr %granules, i64 %begin.number
  %begin.32 = load i32, ptr %begin.at, align 4
  %begin.valid = zext i32 %begin.32 to i64
  %room = icmp uge i64 %begin.valid, %len
  br i1 %room, label %keep, label %yes
keep:
  %granule = and i64 %begin, -256
  %beyond = sub i64 %begin.valid, %len
  %last = lshr i64 %beyond, %shift
  %count = add i64 %last, 1
  store i64 %granule, ptr %window, align 8
  %places.at = getelementptr i64, ptr %window, i64 1
  store i64 %count, ptr %places.at, align 8
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}}
",
                size_at = global + offset_of!(RawView, global_size),
                granules_at = global + offset_of!(RawView, granules),
                base = base_of_granules,
            )
        });
        name
    }

    /// The number of a lane as an address needs it, from `%lane.w` of as many bits as there are lanes.
    /// A value as rows and gathers see it: one element per lane, several where it is wider than 64 bits.
    fn parts(&self, ty: Type) -> (Shape, u32) {
        let bits = ty.bits();
        let elem = Elem::int(bits.min(64)).unwrap_or(Elem::I64);
        (Shape::new(elem, self.w), (bits / 64).max(1))
    }

    fn volatile(access: &Access) -> &'static str {
        if access.volatile { "volatile " } else { "" }
    }

    /// Whether part of a row can be accessed at once; else lanes are accessed one by one.
    fn can_mask(&self, access: &Access) -> bool {
        let part = self.parts(access.ty).0.elem.bits();
        access.mask.is_none() || self.cpu.avx512 || self.cpu.avx && part >= 32
    }

    pub(super) fn mask_of(&self, access: &Access) -> Option<Reg> {
        access.mask.map(|m| self.r(m).to_owned())
    }

    /// Where lane 0 accesses, in the host. Where no lane takes part that may be a place that is not mapped, and CPUs take hundreds of cycles over a masked access to one: then
    /// it is some place that is.
    fn place(&mut self, access: &Access) -> Reg {
        let (base, _) = self.space(access.space);
        let address = self.address(access);
        let at = self.t.inst(format_args!("getelementptr i8, ptr {base}, i64 {address}"));
        let spread = matches!(access.at, At::Spread { .. });
        match self.mask_of(access).filter(|_| access.guarded && spread && Self::is_global(access.space)) {
            Some(mask) => {
                let (bits, w) = (self.bits(&mask), self.w);
                let none = self.t.inst(format_args!("icmp eq i{w} {bits}, 0"));
                self.t.inst(format_args!("select i1 {none}, ptr %data, ptr {at}"))
            }
            None => at,
        }
    }

    pub(super) fn load(&mut self, access: &Access, wide: bool) -> Reg {
        let (volatile, align) = (Self::volatile(access), access.ty.elem.bytes());
        let one = self.shape(Ty::narrow(access.ty));
        match &access.at {
            At::Uniform(_) => {
                let at = self.place(access);
                let value = self.t.inst(format_args!("load {volatile}{one}, ptr {at}, align {align}"));
                if wide { self.t.repeat(one, &value, self.w) } else { value }
            }
            _ if !self.can_mask(access) => self.gather(access),
            At::Spread { form: Form::Row, .. } => {
                let (at, mask) = (self.place(access), self.mask_of(access));
                self.load_row(access, &at, mask.as_deref(), self.w)
            }
            At::Spread { form: Form::Permuted(order), .. } => {
                let at = self.low_place(access);
                let (order, lanes) = (order.clone(), self.mask_shape());
                let mask = self.mask_of(access).map(|mask| {
                    let back = inverse(&order);
                    self.t.shuffle(lanes, &mask, "poison", back)
                });
                let row = self.load_row(access, &at, mask.as_deref(), self.w);
                self.permute(access.ty, &row, order.iter().copied())
            }
            At::Spread { form: Form::Strided(stride), .. } if self.can_stride(access, false) => {
                let (at, mask) = (self.place(access), self.mask_of(access));
                self.load_strided(access, &at, mask.as_deref(), *stride)
            }
            // Lanes of a row that are all in one place need not all take part.
            At::Rows { each, offsets } if offsets.iter().any(|o| *o != 0) || access.mask.is_none() => {
                let row = self.k.row;
                let is_row = offsets.iter().any(|o| *o != 0);
                let mut rows = vec![];
                for (n, there) in (0..).zip(self.row_places(access, *each)) {
                    rows.push(match is_row {
                        true => {
                            let mask =
                                self.mask_of(access).map(|mask| self.part_of_mask(&mask, n * row, row));
                            self.load_row(access, &there, mask.as_deref(), row)
                        }
                        false => {
                            let value =
                                self.t.inst(format_args!("load {volatile}{one}, ptr {there}, align {align}"));
                            self.t.repeat(one, &value, row)
                        }
                    });
                }
                self.t.concat(one.times(one.n * row), &rows)
            }
            At::Spread { form: Form::Rows(len), offsets, .. } => {
                let (at, len) = (self.place(access), *len);
                let mut rows = vec![];
                for n in 0..self.w / len {
                    let there = self.step(&at, offsets[(n * len) as usize]);
                    let mask = self.mask_of(access).map(|mask| self.part_of_mask(&mask, n * len, len));
                    rows.push(self.load_row(access, &there, mask.as_deref(), len));
                }
                self.t.concat(one.times(one.n * len), &rows)
            }
            At::Spread { form: Form::Splats(len), offsets, .. } if access.mask.is_none() => {
                let (at, len) = (self.place(access), *len);
                let mut pieces = vec![];
                for offset in offsets.iter().step_by(len as usize) {
                    let there = self.step(&at, *offset);
                    let value = self.t.inst(format_args!("load {volatile}{one}, ptr {there}, align {align}"));
                    pieces.push(self.t.repeat(one, &value, len));
                }
                self.t.concat(one.times(one.n * len), &pieces)
            }
            At::Spread { form: Form::Runs { runs, of }, .. } if access.mask.is_none() => {
                let at = self.place(access);
                self.load_runs(access, &at, runs, of)
            }
            _ => self.gather(access),
        }
    }

    /// Every run is loaded once, and its places go to the lanes they are of.
    fn load_runs(&mut self, access: &Access, at: &str, runs: &[(i64, u32)], of: &[(u32, u32)]) -> Reg {
        let (all, k) = (self.shape(Ty::wide(access.ty)), u32::from(access.ty.count));
        let mut joined = String::new();
        for (n, (offset, len)) in (0u32..).zip(runs) {
            let there = self.step(at, *offset);
            let run = self.load_row(access, &there, None, *len);
            let from = Shape::new(access.ty.elem, len * k);
            let here = |(run, place): &(u32, u32)| if *run == n { *place } else { 0 };
            let each = match *len * k {
                1 => self.t.repeat(from, &run, self.w),
                _ => self.t.shuffle(
                    from,
                    &run,
                    "poison",
                    of.iter().map(here).flat_map(|place| (0..k).map(move |n| place * k + n)),
                ),
            };
            joined = match n {
                0 => each,
                n => {
                    let (w, side) = (self.w, |run: u32| u32::from(run == n));
                    let order = (0..)
                        .zip(of)
                        .flat_map(|(lane, (run, _))| (0..k).map(move |e| side(*run) * w * k + lane * k + e));
                    self.t.shuffle(all, &joined, &each, order)
                }
            };
        }
        joined
    }

    pub(super) fn step(&mut self, at: &str, by: i64) -> Reg {
        match by {
            0 => at.to_owned(),
            _ => self.t.inst(format_args!("getelementptr i8, ptr {at}, i64 {by}")),
        }
    }

    fn low_place(&mut self, access: &Access) -> Reg {
        let at = self.place(access);
        self.step(&at, access.extent().0)
    }

    fn permute(&mut self, ty: Type, value: &str, order: impl Iterator<Item = u32>) -> Reg {
        let (all, k) = (self.shape(Ty::wide(ty)), u32::from(ty.count));
        self.t.shuffle(all, value, "poison", order.flat_map(|l| (0..k).map(move |n| l * k + n)))
    }

    fn part_of_mask(&mut self, mask: &str, from: u32, len: u32) -> Reg {
        let lanes = self.mask_shape();
        self.t.shuffle(lanes, mask, "poison", from..from + len)
    }

    pub(super) fn load_row(&mut self, access: &Access, at: &str, mask: Option<&str>, lanes: u32) -> Reg {
        let count = u32::from(access.ty.count);
        let all = Shape::new(access.ty.elem, lanes * count);
        let (volatile, align) = (Self::volatile(access), access.ty.elem.bytes());
        let Some(mask) = mask else {
            return self.t.inst(format_args!("load {volatile}{all}, ptr {at}, align {align}"));
        };
        let (part, parts) = self.parts(access.ty);
        let row = part.times(lanes * parts);
        let mask = self.repeat_mask(mask, parts, lanes);
        let (bits, suffix) = (row.with(Elem::I1), row.suffix());
        self.t
            .declarations
            .insert(format!("declare {row} @llvm.masked.load.{suffix}.p0(ptr, i32, {bits}, {row})"));
        let loaded = self.t.inst(format_args!(
            "call {row} @llvm.masked.load.{suffix}.p0(ptr {at}, i32 {align}, {bits} {mask}, {row} zeroinitializer)"
        ));
        self.t.convert("bitcast", row, &loaded, all)
    }

    fn repeat_mask(&mut self, mask: &str, count: u32, lanes: u32) -> Reg {
        if count == 1 {
            return mask.to_owned();
        }
        let shape = Shape::new(Elem::I1, lanes);
        self.t.shuffle(shape, mask, "poison", (0..lanes).flat_map(|l| (0..count).map(move |_| l)))
    }

    pub(super) fn store(&mut self, access: &Access, value: &str) {
        let (volatile, align) = (Self::volatile(access), access.ty.elem.bytes());
        let one = self.shape(Ty::narrow(access.ty));
        match &access.at {
            At::Uniform(_) => {
                let at = self.place(access);
                self.t.line(format_args!("store {volatile}{one} {value}, ptr {at}, align {align}"));
            }
            _ if !self.can_mask(access) => self.scatter(access, value),
            At::Spread { form: Form::Row, .. } => {
                let (at, mask) = (self.place(access), self.mask_of(access));
                self.store_row(access, &at, mask.as_deref(), value, self.w);
            }
            At::Spread { form: Form::Permuted(order), .. } => {
                let at = self.low_place(access);
                let (back, lanes) = (inverse(order), self.mask_shape());
                let mask =
                    self.mask_of(access).map(|mask| self.t.shuffle(lanes, &mask, "poison", back.clone()));
                let value = self.permute(access.ty, value, back.into_iter());
                self.store_row(access, &at, mask.as_deref(), &value, self.w);
            }
            At::Spread { form: Form::Strided(stride), .. } if self.can_stride(access, true) => {
                let (at, mask) = (self.place(access), self.mask_of(access));
                self.store_strided(access, &at, mask.as_deref(), value, *stride);
            }
            At::Rows { each, offsets } if offsets.iter().any(|o| *o != 0) => {
                // In the order of lanes: of rows that overlap the last stays.
                let (row, all) = (self.k.row, self.shape(Ty::wide(access.ty)));
                for (n, there) in (0..).zip(self.row_places(access, *each)) {
                    let mask = self.mask_of(access).map(|mask| self.part_of_mask(&mask, n * row, row));
                    let part = self.t.shuffle(all, value, "poison", n * row * one.n..(n + 1) * row * one.n);
                    self.store_row(access, &there, mask.as_deref(), &part, row);
                }
            }
            At::Spread { form: Form::Rows(len), offsets, .. } => {
                // In the order of lanes: of rows that overlap the last stays.
                let (at, len, all) = (self.place(access), *len, self.shape(Ty::wide(access.ty)));
                for n in 0..self.w / len {
                    let there = self.step(&at, offsets[(n * len) as usize]);
                    let mask = self.mask_of(access).map(|mask| self.part_of_mask(&mask, n * len, len));
                    let part = self.t.shuffle(all, value, "poison", n * len * one.n..(n + 1) * len * one.n);
                    self.store_row(access, &there, mask.as_deref(), &part, len);
                }
            }
            _ => self.scatter(access, value),
        }
    }

    pub(super) fn store_row(
        &mut self,
        access: &Access,
        at: &str,
        mask: Option<&str>,
        value: &str,
        lanes: u32,
    ) {
        let all = Shape::new(access.ty.elem, lanes * u32::from(access.ty.count));
        let (volatile, align) = (Self::volatile(access), access.ty.elem.bytes());
        let Some(mask) = mask else {
            return self.t.line(format_args!("store {volatile}{all} {value}, ptr {at}, align {align}"));
        };
        let (part, parts) = self.parts(access.ty);
        let row = part.times(lanes * parts);
        let value = self.t.convert("bitcast", all, value, row);
        let mask = self.repeat_mask(mask, parts, lanes);
        let (bits, suffix) = (row.with(Elem::I1), row.suffix());
        self.t
            .declarations
            .insert(format!("declare void @llvm.masked.store.{suffix}.p0({row}, ptr, i32, {bits})"));
        self.t.line(format_args!(
            "call void @llvm.masked.store.{suffix}.p0({row} {value}, ptr {at}, i32 {align}, {bits} {mask})"
        ));
    }

    /// Where each lane accesses: a base in the host, and offsets of 64 bits, or of 32 with a sign.
    pub(super) fn spots(&mut self, access: &Access) -> (Reg, Reg, Shape) {
        let (base, _) = self.space(access.space);
        let w = self.w;
        if let At::Spread { offsets, .. } = &access.at {
            let at = self.place(access);
            let offsets = Text::list(Elem::I64, offsets.iter().map(|o| *o as u64));
            return (at, offsets, I64.times(w));
        }
        if let (At::Lanes(r), false, false) =
            (&access.at, access.space == Space::Local, Self::is_global(access.space))
            && self.k.ty(*r).of == Type::I32
        {
            return (base, self.r(*r).to_owned(), Shape::new(Elem::I32, w));
        }
        let all = I64.times(w);
        let mut each = self.addresses(access);
        if access.space == Space::Local {
            let lane = self.lane();
            let stride = self.field("local.stride", "i64", offset_of!(Ctx, local_stride));
            let first = self.t.repeat(I64, &lane, w);
            let lanes = Text::list(Elem::I64, 0..u64::from(w));
            let lane = self.t.binary("add", all, &first, &lanes);
            let stride = self.t.repeat(I64, &stride, w);
            let own = self.t.binary("mul", all, &lane, &stride);
            each = self.t.binary("add", all, &each, &own);
        }
        (base, each, all)
    }

    fn gather(&mut self, access: &Access) -> Reg {
        let (base, offsets, index) = self.spots(access);
        let (part, count) = self.parts(access.ty);
        let (lanes, w) = (self.mask_shape(), self.w);
        let all = self.shape(Ty::wide(access.ty));
        let mask = self.mask_of(access);
        let align = access.ty.elem.bytes();
        if count > 1 {
            let bits = mask.map(|mask| self.bits(&mask));
            let one = all.times(all.n / w);
            return wide::gather(&mut self.t, one, &base, (&offsets, index), bits.as_deref());
        }
        let mut loaded = vec![];
        for n in 0..count {
            let at = match n {
                0 => offsets.clone(),
                n => self.t.binary("add", index, &offsets, &Text::constant(index, u64::from(8 * n))),
            };
            let on = mask.clone().unwrap_or_else(|| Text::constant(lanes, 1));
            if self.cpu.avx512 && part.elem.bits() >= 32 {
                let pointers = self.t.inst(format_args!("getelementptr i8, ptr {base}, {index} {at}"));
                let suffix = part.suffix();
                self.t.declarations.insert(format!(
                    "declare {part} @llvm.masked.gather.{suffix}.v{w}p0(<{w} x ptr>, i32, {lanes}, {part})"
                ));
                loaded.push(self.t.inst(format_args!(
                    "call {part} @llvm.masked.gather.{suffix}.v{w}p0(<{w} x ptr> {pointers}, i32 {align}, {lanes} {on}, {part} zeroinitializer)"
                )));
                continue;
            }
            let helper = self.gather_helper(part, index);
            let bits = self.bits(&on);
            loaded.push(
                self.t.inst(format_args!("call {part} {helper}(ptr {base}, {index} {at}, i{w} {bits})")),
            );
        }
        let joined = ops::interleave(&mut self.t, part, &loaded);
        self.t.convert("bitcast", part.times(w * count), &joined, all)
    }

    /// A function that loads one element per lane, for CPUs that have no good instruction for it: 0 for those that do not take part.
    fn gather_helper(&mut self, part: Shape, index: Shape) -> String {
        let name = format!("@gather.{}.{}", part.suffix(), index.suffix());
        let (w, one, offset) = (self.w, part.times(1), index.times(1));
        let extend = super::lane_number(w);
        self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        self.helpers.entry(name.clone()).or_insert_with(|| {
            let mut all = String::new();
            let mut value = "poison".to_owned();
            for lane in 0..w {
                let _ = writeln!(all, "  %o{lane} = extractelement {index} %offsets, i64 {lane}");
                let _ = writeln!(all, "  %p{lane} = getelementptr i8, ptr %base, {offset} %o{lane}");
                let _ = writeln!(all, "  %x{lane} = load {one}, ptr %p{lane}, align 1");
                let _ =
                    writeln!(all, "  %v{lane} = insertelement {part} {value}, {one} %x{lane}, i64 {lane}");
                value = format!("%v{lane}");
            }
            format!(
                "define internal {part} {name}(ptr %base, {index} %offsets, i{w} %bits) noinline nounwind {{
entry:
  %o = alloca {index}, align 64
  %r = alloca {part}, align 64
  %whole = icmp eq i{w} %bits, -1
  br i1 %whole, label %all, label %some
all:
{all}  ret {part} {value}
some:
  store {index} %offsets, ptr %o, align 64
  store {part} zeroinitializer, ptr %r, align 64
  %none = icmp eq i{w} %bits, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i{w} [%bits, %some], [%rest, %loop]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {extend}
  %oa = getelementptr {offset}, ptr %o, i64 %lane
  %offset = load {offset}, ptr %oa, align 4
  %p = getelementptr i8, ptr %base, {offset} %offset
  %x = load {one}, ptr %p, align 1
  %ra = getelementptr {one}, ptr %r, i64 %lane
  store {one} %x, ptr %ra, align 1
  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
  br i1 %end, label %done, label %loop
done:
  %loaded = load {part}, ptr %r, align 64
  ret {part} %loaded
}}
"
            )
        });
        name
    }

    fn scatter(&mut self, access: &Access, value: &str) {
        let (base, offsets, index) = self.spots(access);
        let (part, count) = self.parts(access.ty);
        let (lanes, w) = (self.mask_shape(), self.w);
        let row = part.times(w * count);
        let value = self.t.convert("bitcast", self.shape(Ty::wide(access.ty)), value, row);
        let on = self.mask_of(access).unwrap_or_else(|| Text::constant(lanes, 1));
        let align = access.ty.elem.bytes();
        for n in 0..count {
            let (at, value) = match count {
                1 => (offsets.clone(), value.clone()),
                _ => (
                    self.t.binary("add", index, &offsets, &Text::constant(index, u64::from(8 * n))),
                    self.t.shuffle(row, &value, "poison", (0..w).map(|l| l * count + n)),
                ),
            };
            // Where lanes meet in one place the highest stays, in hardware as in the loop.
            if self.cpu.avx512 && part.elem.bits() >= 32 {
                let pointers = self.t.inst(format_args!("getelementptr i8, ptr {base}, {index} {at}"));
                let suffix = part.suffix();
                self.t.declarations.insert(format!(
                    "declare void @llvm.masked.scatter.{suffix}.v{w}p0({part}, <{w} x ptr>, i32, {lanes})"
                ));
                self.t.line(format_args!(
                    "call void @llvm.masked.scatter.{suffix}.v{w}p0({part} {value}, <{w} x ptr> {pointers}, i32 {align}, {lanes} {on})"
                ));
                continue;
            }
            let helper = self.scatter_helper(part, index);
            let bits = self.bits(&on);
            self.t.line(format_args!(
                "call void {helper}(ptr {base}, {index} {at}, {part} {value}, i{w} {bits})"
            ));
        }
    }

    fn scatter_helper(&mut self, part: Shape, index: Shape) -> String {
        let name = format!("@scatter.{}.{}", part.suffix(), index.suffix());
        let (w, one, offset) = (self.w, part.times(1), index.times(1));
        let extend = super::lane_number(w);
        self.t.declarations.insert(format!("declare i{w} @llvm.cttz.i{w}(i{w}, i1)"));
        self.helpers.entry(name.clone()).or_insert_with(|| {
            format!(
                "define internal void {name}(ptr %base, {index} %offsets, {part} %values, i{w} %bits) noinline nounwind {{
entry:
  %o = alloca {index}, align 64
  %v = alloca {part}, align 64
  store {index} %offsets, ptr %o, align 64
  store {part} %values, ptr %v, align 64
  %none = icmp eq i{w} %bits, 0
  br i1 %none, label %done, label %loop
loop:
  %left = phi i{w} [%bits, %entry], [%rest, %loop]
  %lane.w = call i{w} @llvm.cttz.i{w}(i{w} %left, i1 false)
  %lane = {extend}
  %oa = getelementptr {offset}, ptr %o, i64 %lane
  %offset = load {offset}, ptr %oa, align 4
  %va = getelementptr {one}, ptr %v, i64 %lane
  %value = load {one}, ptr %va, align 1
  %p = getelementptr i8, ptr %base, {offset} %offset
  store {one} %value, ptr %p, align 1
  %less = sub i{w} %left, 1
  %rest = and i{w} %left, %less
  %end = icmp eq i{w} %rest, 0
  br i1 %end, label %done, label %loop
done:
  ret void
}}
"
            )
        });
        name
    }

    /// The engine does the access, lane by lane: (data if any, expected if any).
    pub(super) fn ask(&mut self, site: u32, access: &Access, args: &[Reg], answer: bool) -> Reg {
        let (w, all) = (self.w, self.shape(Ty::wide(access.ty)));
        let addresses = self.addresses(access);
        self.t.line(format_args!("store <{w} x i64> {addresses}, ptr %addresses, align 64"));
        for (value, to) in args.iter().zip(["%data", "%compare"]) {
            self.t.line(format_args!("store {all} {value}, ptr {to}, align 64"));
        }
        let bits = match self.mask_of(access) {
            Some(mask) => self.bits(&mask),
            None => "-1".into(),
        };
        let callback = self.callback("memory", offset_of!(Callbacks, memory));
        let lanes = self.handed(&bits);
        let failed = self.t.inst(format_args!(
            "call i32 {callback}(ptr %ctx, i32 {site}, i32 %lane0, {lanes}, ptr %addresses, ptr %data, ptr %compare)"
        ));
        let fine = self.t.inst(format_args!("icmp eq i32 {failed}, 0"));
        let on = self.t.fresh_label("answered");
        self.t.branch_likely(&fine, &on, "fault");
        self.t.label(&on);
        if !answer {
            return String::new();
        }
        let loaded = self.t.inst(format_args!("load {all}, ptr %data, align 64"));
        match self.mask_of(access) {
            None => loaded,
            // The engine has written nothing for the others.
            Some(mask) => {
                ops::select(&mut self.t, access.ty, (&mask, Type::I1), &loaded, "zeroinitializer", self.w)
            }
        }
    }
}

/// Which lane is at each place.
fn inverse(order: &[u32]) -> Vec<u32> {
    let mut back = vec![0; order.len()];
    for (lane, place) in order.iter().enumerate() {
        back[*place as usize] = lane as u32;
    }
    back
}

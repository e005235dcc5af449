//! The checks in front of accesses: whether what lanes reach is there, in line and as few as will do.

use std::fmt::Write;
use std::mem::offset_of;

use hostwarp_ir::{Block, Elem, IntBin, Op, Space, Type, Value};
use hostwarp_memory::RawView;

use super::ahead::Stream;
use super::memory::{Access, I64, Pattern};
use super::{Emitter, Reg, Shape, Text};
use crate::abi::Ctx;

/// Accesses further apart than this many bytes are checked by themselves.
const MOST_JOINT: i64 = 1 << 14;

/// One check for several accesses of a block.
#[derive(Clone)]
pub(super) struct JointCheck {
    root: Value,
    /// What they access, in bytes from the root: the first lane's, and for rows that of all lanes.
    from: i64,
    to: i64,
    align: u32,
    /// Instructions, and where each is from the root.
    members: Vec<(usize, i64)>,
    /// The address of `from`, for each row that differs, once it has been checked.
    begin: Option<Rows>,
}

/// Part of an allocation, remembered in memory.
#[derive(Clone)]
pub(super) struct Window {
    /// Where it is kept from which address on.
    from: Reg,
    /// And in how many places from there an access may begin.
    pub(super) places: Reg,
}

/// Where rows begin, or what all lanes access.
#[derive(Clone)]
struct Rows {
    /// Their addresses, or that of the first of those that move on [in step](super::in_step).
    addresses: Vec<Reg>,
    /// What they are in step with, and the window that is kept for them.
    in_step: Option<(Value, u32)>,
}

/// Where lanes access memory, each in its own place.
pub(super) struct Spots {
    pub(super) base: Reg,
    /// From the base, for each lane.
    pub(super) offsets: Reg,
    /// What offsets are: 32 bits, with a sign, or 64.
    pub(super) index: Shape,
    /// An offset, of one lane, that is certainly there if any is.
    pub(super) safe: Reg,
}

impl Rows {
    /// Rows that may all move on by themselves.
    fn each(addresses: Vec<Reg>) -> Rows {
        Rows { addresses, in_step: None }
    }
}

impl Emitter<'_> {
    /// Where a space begins in the host, and its size, as registers; for global memory the size of all of it.
    pub(super) fn window(&mut self, space: Space) -> (Reg, Reg) {
        let global = offset_of!(Ctx, global);
        let (name, base, len) = match space {
            Space::Global | Space::Generic => {
                ("global", global + offset_of!(RawView, host), global + offset_of!(RawView, global_size))
            }
            Space::Shared => ("shared", offset_of!(Ctx, shared), offset_of!(Ctx, shared_len)),
            Space::Local => ("local", offset_of!(Ctx, local), offset_of!(Ctx, local_len)),
            Space::Const => ("const", offset_of!(Ctx, constant), offset_of!(Ctx, constant_len)),
            Space::Param => ("param", offset_of!(Ctx, param), offset_of!(Ctx, param_len)),
        };
        (self.field(name, "ptr", base), self.field(&format!("{name}.len"), "i64", len))
    }

    /// Where an address is in the host, if it is there at all.
    pub(super) fn place(&mut self, space: Space, address: &str) -> Reg {
        let base = match space {
            // Not made from where the space begins: LLVM would take the distance for part of every address.
            Space::Global | Space::Generic => {
                self.field("global.zero", "ptr", offset_of!(Ctx, global) + offset_of!(RawView, zero))
            }
            _ => self.window(space).0,
        };
        self.t.inst(format_args!("getelementptr i8, ptr {base}, i64 {address}"))
    }

    /// Goes to `fast` if at each of some addresses of a space, which must be multiples of `align`, there are `len` bytes, and if `even`; to
    /// `slow` else.
    fn check_ranges(
        &mut self,
        space: Space,
        rows: &Rows,
        (len, align): (u64, u32),
        even: Option<Reg>,
        stream: Option<Stream>,
        (fast, slow): (&str, &str),
    ) {
        let mut addresses = rows.addresses.clone();
        addresses.sort();
        addresses.dedup();
        let window = match rows.in_step {
            Some((_, n)) => Some(self.window_of(n)),
            None => matches!(space, Space::Global | Space::Generic).then(|| self.fresh_window()),
        };
        let missed = match &window {
            Some(_) => self.t.fresh_label("missed"),
            None => slow.to_owned(),
        };
        if let Some(even) = even {
            let on = self.t.fresh_label("even");
            self.t.branch_likely(&even, &on, slow);
            self.t.label(&on);
        }
        let mut room = None;
        let last = if stream.is_some() { self.t.fresh_label("found") } else { fast.to_owned() };
        for (n, address) in addresses.iter().enumerate() {
            let fine = match &window {
                Some(Window { from, places }) => {
                    let from = self.t.inst(format_args!("load i64, ptr {from}, align 8"));
                    let places = self.t.inst(format_args!("load i64, ptr {places}, align 8"));
                    room = Some(places.clone());
                    let within = self.t.inst(format_args!("sub i64 {address}, {from}"));
                    let place = self.in_units(&within, align);
                    self.t.inst(format_args!("icmp ult i64 {place}, {places}"))
                }
                None => self.is_in_space(space, address, len, align),
            };
            let next = if n + 1 == addresses.len() { last.clone() } else { self.t.fresh_label("row") };
            self.t.branch_likely(&fine, &next, &missed);
            if next != fast {
                self.t.label(&next);
            }
        }
        if let (Some(stream), Some(room)) = (stream, room) {
            self.ask_ahead(&stream, &room, len, align, fast);
        }
        if let Some(window) = window {
            self.t.label(&missed);
            if let Some((root, _)) = rows.in_step {
                let apart = self.apart(root);
                addresses = self.rows_after(&addresses[0], &apart);
            }
            self.look_up(&window, &addresses, rows.in_step.is_some(), (len, align), (fast, slow));
        }
    }

    /// An offset counted in units of the alignment. A rotation puts the low bits of one that is not aligned on top, so that it is beyond any
    /// end.
    fn in_units(&mut self, offset: &str, align: u32) -> Reg {
        match align.trailing_zeros() {
            0 => offset.to_owned(),
            shift => {
                self.t.intrinsic("fshr.i64", I64, &[(I64, offset), (I64, offset), (I64, &shift.to_string())])
            }
        }
    }

    /// Whether there are `len` bytes at an offset of a space that is all there from its beginning to its end.
    fn is_in_space(&mut self, space: Space, offset: &str, len: u64, align: u32) -> Reg {
        let places = self.places(space, len, align);
        let place = self.in_units(offset, align);
        let there = self.t.inst(format_args!("icmp ult i64 {place}, {places}"));
        let declared = u64::from(self.func.info.shared_bytes);
        if space != Space::Shared || self.assume.cta.is_none() || declared < len {
            return there;
        }
        // Of what is declared LLVM can tell where the offset is known, as it often is in a group that is all of the CTA.
        let places = (declared - len) / u64::from(align) + 1;
        let surely = self.t.inst(format_args!("icmp ult i64 {place}, {places}"));
        self.t.inst(format_args!("or i1 {surely}, {there}"))
    }

    /// A new place to remember part of an allocation in: from which address on, and in how many places an access may begin there. Kept as
    /// long as the call, so what was looked up once is checked in a few instructions from then on. In memory, not in registers, which it
    /// takes too many of, and so that nothing has to be joined wherever blocks meet.
    fn fresh_window(&mut self) -> Window {
        self.windows += 1;
        self.window_of(self.windows - 1)
    }

    pub(super) fn window_of(&mut self, n: u32) -> Window {
        let word = |e: &mut Self, name: &str, index: u32| {
            let name = format!("window.{n}.{name}");
            let is_new = !e.once.contains_key(&name);
            let reg = e.once(&name, |_| format!("getelementptr i64, ptr %windows, i64 {index}"));
            if is_new {
                let _ = writeln!(e.entry, "  store i64 0, ptr {reg}, align 8");
            }
            reg
        };
        Window { from: word(self, "from", 2 * n), places: word(self, "places", 2 * n + 1) }
    }

    /// Looks for the allocation that all of some addresses are in, and remembers it; if they move on in step, where the first of them may be
    /// so that all are in it.
    fn look_up(
        &mut self,
        window: &Window,
        addresses: &[Reg],
        in_step: bool,
        (len, align): (u64, u32),
        (fast, slow): (&str, &str),
    ) {
        let mut offsets = vec![];
        for address in addresses {
            offsets.push(self.offset(Space::Global, I64, address));
        }
        let lowest = self.fold("umin.i64", &offsets);
        let highest = self.fold("umax.i64", &offsets);
        let (_, size) = self.window(Space::Global);
        let begins = self.t.inst(format_args!("icmp ult i64 {lowest}, {size}"));
        let inside = self.t.fresh_label("inside");
        self.t.branch_likely(&begins, &inside, slow);
        self.t.label(&inside);
        let valid = self.valid_after(&lowest);
        let granule = self.t.inst(format_args!("and i64 {lowest}, -256"));
        let within = self.t.inst(format_args!("sub i64 {highest}, {granule}"));
        // Of several rows the highest may be so high that its end would wrap: it begins below the device.
        let mut room = self.t.inst(format_args!("sub i64 {valid}, {len}"));
        let some = self.t.inst(format_args!("icmp uge i64 {valid}, {len}"));
        let fits = self.t.inst(format_args!("icmp ule i64 {within}, {room}"));
        let mut fine = self.and(some, Some(fits));
        if align > 1 {
            let mut low = offsets[0].clone();
            for offset in &offsets[1..] {
                low = self.t.inst(format_args!("or i64 {low}, {offset}"));
            }
            let aligned = self.is_aligned(&low, align);
            fine = self.and(fine, aligned);
        }
        let found = self.t.fresh_label("found");
        self.t.branch_likely(&fine, &found, slow);
        self.t.label(&found);
        let mut begin = self.t.inst(format_args!("add i64 {granule}, {}", self.cpu.base));
        if in_step {
            let below = self.t.inst(format_args!("sub i64 {}, {lowest}", offsets[0]));
            begin = self.t.inst(format_args!("add i64 {begin}, {below}"));
            let span = self.t.inst(format_args!("sub i64 {highest}, {lowest}"));
            room = self.t.inst(format_args!("sub i64 {room}, {span}"));
        }
        let last = self.t.inst(format_args!("lshr i64 {room}, {}", align.trailing_zeros()));
        let count = self.t.inst(format_args!("add i64 {last}, 1"));
        self.t.line(format_args!("store i64 {begin}, ptr {}, align 8", window.from));
        self.t.line(format_args!("store i64 {count}, ptr {}, align 8", window.places));
        self.t.jump(fast);
    }

    /// The lowest or highest of some numbers.
    fn fold(&mut self, intrinsic: &str, numbers: &[Reg]) -> Reg {
        let mut all = numbers[0].clone();
        for number in &numbers[1..] {
            all = self.t.intrinsic(intrinsic, I64, &[(I64, &all), (I64, number)]);
        }
        all
    }

    /// In how many places, `align` apart, `len` bytes of a windowed space can begin.
    fn places(&mut self, space: Space, len: u64, align: u32) -> Reg {
        let (_, size) = self.window(space);
        let name = format!("{}.{len}.{align}", size.trim_start_matches('%'));
        self.t.declarations.insert("declare i64 @llvm.usub.sat.i64(i64, i64)".into());
        let (shift, over) = (align.trailing_zeros(), len - u64::from(align).min(len));
        let room = self.once(&format!("{name}.room"), |_| {
            format!("call i64 @llvm.usub.sat.i64(i64 {size}, i64 {over})")
        });
        self.once(&format!("{name}.places"), |_| format!("lshr i64 {room}, {shift}"))
    }

    /// How many bytes are there from the granule of an offset in global memory on.
    fn valid_after(&mut self, offset: &str) -> Reg {
        let granules = self.field("granules", "ptr", offset_of!(Ctx, global) + offset_of!(RawView, granules));
        let granule = self.t.inst(format_args!("lshr i64 {offset}, 8"));
        let entry = self.t.inst(format_args!("getelementptr i32, ptr {granules}, i64 {granule}"));
        let valid = self.t.inst(format_args!("load i32, ptr {entry}, align 4"));
        self.t.inst(format_args!("zext i32 {valid} to i64"))
    }

    /// Whether `len` bytes at offset `from` of a space are there. Both are 64-bit registers or numbers.
    fn range_is_there(&mut self, space: Space, from: &str, len: &str) -> Reg {
        let (_, size) = self.window(space);
        let begins = self.t.inst(format_args!("icmp ult i64 {from}, {size}"));
        let end = match space {
            Space::Global | Space::Generic => {
                // Outside, any entry will do: the answer is no anyway.
                let inside = self.t.inst(format_args!("select i1 {begins}, i64 {from}, i64 0"));
                let valid = self.valid_after(&inside);
                let within = self.t.inst(format_args!("and i64 {from}, 255"));
                let end = self.t.inst(format_args!("add i64 {within}, {len}"));
                self.t.inst(format_args!("icmp ule i64 {end}, {valid}"))
            }
            _ => {
                let end = self.t.inst(format_args!("add i64 {from}, {len}"));
                self.t.inst(format_args!("icmp ule i64 {end}, {size}"))
            }
        };
        self.t.inst(format_args!("and i1 {begins}, {end}"))
    }

    /// What an address in a space is as an offset from where the space begins.
    fn offset(&mut self, space: Space, shape: Shape, address: &str) -> Reg {
        match space {
            Space::Global | Space::Generic => {
                self.t.binary("sub", shape, address, &Text::constant(shape, self.cpu.base))
            }
            _ => address.to_owned(),
        }
    }

    fn is_aligned(&mut self, offset: &str, size: u32) -> Option<Reg> {
        if size == 1 {
            return None;
        }
        let low = self.t.inst(format_args!("and i64 {offset}, {}", size - 1));
        Some(self.t.inst(format_args!("icmp eq i64 {low}, 0")))
    }

    pub(super) fn and(&mut self, a: Reg, b: Option<Reg>) -> Reg {
        match b {
            None => a,
            Some(b) => self.t.inst(format_args!("and i1 {a}, {b}")),
        }
    }

    /// Checks the `len` bytes that each row accesses, or that all lanes do; answers where they are.
    pub(super) fn check_rows(&mut self, access: &Access, len: u64, fast: &str, slow: &str) -> Vec<Reg> {
        if let Some(places) = self.check_jointly(access, (fast, slow)) {
            return places;
        }
        let (root, offset) = self.root(self.block, access.address);
        if let Some(rows) = self.rows_in_step(root, offset) {
            return self.check_in_step(access.space, &rows, (len, access.size()), 0, (fast, slow));
        }
        let rows = Rows::each(self.wide_addresses_of_rows(access.address));
        let places = self.places_of(access.space, &rows, 0);
        let even = self.even(access.address);
        let stream = self.stream(access, &places, &[access.index]);
        self.check_ranges(access.space, &rows, (len, access.size()), even, stream, (fast, slow));
        places
    }

    /// What is some bytes from rows that move on in step, if those of `root` do.
    fn rows_in_step(&mut self, root: Value, offset: i64) -> Option<Rows> {
        let window = self.mask.is_none().then(|| self.next_window_in_step(root))??;
        let first = self.first_in_step(root);
        let first = self.t.binary("add", I64, &first, &offset.to_string());
        Some(Rows { addresses: vec![first], in_step: Some((root, window)) })
    }

    /// Checks rows that move on in step, each of `len` bytes; answers where they are, some bytes on.
    fn check_in_step(
        &mut self,
        space: Space,
        rows: &Rows,
        (len, align): (u64, u32),
        offset: i64,
        (fast, slow): (&str, &str),
    ) -> Vec<Reg> {
        let found = self.t.fresh_label("in.step");
        self.check_ranges(space, rows, (len, align), None, None, (&found, slow));
        self.t.label(&found);
        let places = self.places_of(space, rows, offset);
        self.t.fall_to(fast);
        places
    }

    /// Where each row is in the host, some bytes on.
    fn places_of(&mut self, space: Space, rows: &Rows, offset: i64) -> Vec<Reg> {
        let addresses = self.by_place(&rows.addresses, |e, address| match offset {
            0 => address.to_owned(),
            _ => e.t.inst(format_args!("add i64 {address}, {offset}")),
        });
        let mut places = self.by_place(&addresses, |e, address| e.place(space, address));
        if let Some((root, _)) = rows.in_step {
            for apart in self.apart(root) {
                places.push(self.t.inst(format_args!("getelementptr i8, ptr {}, i64 {apart}", places[0])));
            }
        }
        places
    }

    /// Checks a row from its first lane in the mask to its last; answers where its first lane's place is. Without a mask there may be
    /// several rows.
    pub(super) fn check_row(
        &mut self,
        access: &Access,
        mask: Option<&str>,
        fast: &str,
        slow: &str,
    ) -> Vec<Reg> {
        let size = access.size();
        let Some(mask) = mask else {
            return self.check_rows(access, u64::from(size * self.row()), fast, slow);
        };
        let address = self.wide_addresses_of_rows(access.address).swap_remove(0);
        let offset = self.offset(access.space, I64, &address);
        let (base, _) = self.window(access.space);
        let at = self.t.inst(format_args!("getelementptr i8, ptr {base}, i64 {offset}"));
        let even = self.even(access.address);
        if let Some(even) = &even {
            let on = self.t.fresh_label("even");
            self.t.branch_likely(even, &on, slow);
            self.t.label(&on);
        }
        if !matches!(access.space, Space::Global | Space::Generic) {
            // Mostly all of the row is there, whatever lanes run.
            let all = self.is_in_space(access.space, &offset, u64::from(size * self.w), size);
            let part = self.t.fresh_label("part");
            self.t.branch_likely(&all, fast, &part);
            self.t.label(&part);
        }
        let bits = self.bits(mask);
        let below = self.count_zeros("cttz", &bits);
        let above = self.count_zeros("ctlz", &bits);
        let skipped = self.t.inst(format_args!("mul i64 {below}, {size}"));
        let first = self.t.inst(format_args!("add i64 {offset}, {skipped}"));
        let outside = self.t.inst(format_args!("add i64 {below}, {above}"));
        let lanes = self.t.inst(format_args!("sub i64 {}, {outside}", self.w));
        let len = self.t.inst(format_args!("mul i64 {lanes}, {size}"));
        let there = self.range_is_there(access.space, &first, &len);
        let aligned = self.is_aligned(&offset, size);
        let fine = self.and(there, aligned);
        self.t.branch_likely(&fine, fast, slow);
        vec![at]
    }

    /// Accesses of the block being written, run by all lanes, that are a known distance apart: they are checked together, when the
    /// first of them is come to. Only as long as the block can be run [again](Emitter::careful), for the check says no more than
    /// that something is wrong with one of them.
    pub(super) fn find_joint_checks(&mut self) {
        self.joint_checks.clear();
        let func = self.func;
        let mut found: Vec<((Space, Value, Pattern), JointCheck)> = vec![];
        for (index, inst) in func.block(self.block).insts.iter().enumerate() {
            let (mem, ty) = match inst.op {
                Op::Load(mem) => (Some(mem), inst.result.map(|r| self.ty(r))),
                Op::Store(mem) => (Some(mem), Some(self.ty(inst.args[1]))),
                _ => (None, None),
            };
            if let (Some(mem), Some(ty), None) = (mem, ty, inst.guard) {
                let access = self.access(index, inst, mem, ty);
                let lanes = match access.pattern {
                    Pattern::One => 1,
                    Pattern::OnePerRow => i64::from(matches!(inst.op, Op::Load(_))),
                    Pattern::Row => i64::from(self.row()),
                    Pattern::Any => 0,
                };
                let (root, offset) = self.root(self.block, access.address);
                let (size, key) = (i64::from(access.size()), (mem.space, root, access.pattern));
                let (from, to) = (offset, offset + size * lanes);
                if lanes > 0 && !(mem.space == Space::Param && self.constant(access.address).is_some()) {
                    let near = |c: &JointCheck| {
                        (offset - c.from) % size == 0
                            && size as u32 == c.align
                            && to.max(c.to) - from.min(c.from) <= MOST_JOINT
                    };
                    match found.iter_mut().find(|(k, c)| *k == key && near(c)) {
                        Some((_, c)) => {
                            (c.from, c.to) = (c.from.min(from), c.to.max(to));
                            c.members.push((index, offset));
                        }
                        None => found.push((
                            key,
                            JointCheck {
                                root,
                                from,
                                to,
                                align: size as u32,
                                members: vec![(index, offset)],
                                begin: None,
                            },
                        )),
                    }
                }
            }
            if super::is_seen(&inst.op) {
                break;
            }
        }
        self.joint_checks = found.into_iter().map(|(_, c)| c).filter(|c| c.members.len() > 1).collect();
    }

    /// An address in a block as another value there plus a number of bytes.
    pub(super) fn root(&self, block: Block, mut address: Value) -> (Value, i64) {
        let mut offset = 0i64;
        while let Some((b, n)) = self.maker[address.index()].filter(|(b, _)| *b == block) {
            let inst = &self.func.block(b).insts[n];
            let (Op::Int(IntBin::Add), [x, y]) = (inst.op, &inst.args[..]) else { break };
            let bits = self.ty(address).bits();
            let (next, step) = match (self.constant(*x), self.constant(*y)) {
                (None, Some(step)) => (*x, step),
                (Some(step), None) => (*y, step),
                _ => break,
            };
            let step = (step << (64 - bits)) as i64 >> (64 - bits);
            if step.unsigned_abs() > MOST_JOINT as u64 || offset.unsigned_abs() > MOST_JOINT as u64 {
                break;
            }
            offset += step;
            address = next;
        }
        (address, offset)
    }

    /// Checks an access together with others, or not at all if that has been done; answers where each row's first place is. None for one
    /// that is to be checked by itself.
    fn check_jointly(&mut self, access: &Access, (fast, slow): (&str, &str)) -> Option<Vec<Reg>> {
        self.careful.as_ref()?;
        let index = access.index;
        let position =
            |c: &JointCheck| c.members.iter().find(|(i, _)| *i == index).map(|(_, offset)| *offset);
        let (n, offset) =
            self.joint_checks.iter().enumerate().find_map(|(n, c)| position(c).map(|offset| (n, offset)))?;
        let check = self.joint_checks[n].clone();
        let len = (check.to - check.from) as u64;
        let begin = match &check.begin {
            Some(begin) => begin.clone(),
            None if let Some(rows) = self.rows_in_step(check.root, check.from) => {
                self.joint_checks[n].begin = Some(rows.clone());
                let range = (len, check.align);
                let on = offset - check.from;
                return Some(self.check_in_step(access.space, &rows, range, on, (fast, slow)));
            }
            None => {
                let narrow = self.one(self.ty(check.root));
                let roots = self.bases(check.root);
                // Modulo the width of the address, as the lanes count. If the range is there nothing in it has wrapped.
                let from = Text::constant(narrow, check.from as u64 & narrow.elem.mask());
                Rows::each(self.by_place(&roots, |e, root| {
                    let first = e.t.binary("add", narrow, root, &from);
                    e.t.convert("zext", narrow, &first, I64)
                }))
            }
        };
        let places = self.places_of(access.space, &begin, offset - check.from);
        if check.begin.is_some() {
            self.t.fall_to(fast);
        } else {
            let even = self.even(check.root);
            let members: Vec<usize> = check.members.iter().map(|(index, _)| *index).collect();
            let stream = self.stream(access, &places, &members);
            self.check_ranges(access.space, &begin, (len, check.align), even, stream, (fast, slow));
            self.joint_checks[n].begin = Some(begin);
        }
        Some(places)
    }

    /// Checks every lane: all must be in one allocation, which they are if they are in the lowest one's.
    pub(super) fn check_any(&mut self, access: &Access, mask: Option<&str>, fast: &str, slow: &str) -> Spots {
        let size = access.size();
        let windowed = matches!(access.space, Space::Shared | Space::Const | Space::Param);
        if windowed && self.ty(access.address) == Type::I32 {
            return self.check_any_in_window(access, mask, fast, slow);
        }
        let all = Shape::new(Elem::I64, self.w);
        let lanes = self.lanes();
        let w = self.w;
        let addresses = self.wide_addresses(access.address);
        let offsets = self.offset(access.space, all, &addresses);
        let (base, len) = self.window(access.space);
        // Lanes that are off must not spoil the answer.
        let counted = match mask {
            None => offsets.clone(),
            Some(mask) => self.t.select(lanes, mask, all, &offsets, &Text::constant(all, u64::MAX)),
        };
        let mut safe =
            self.t.intrinsic(&format!("vector.reduce.umin.{}", all.suffix()), I64, &[(all, &counted)]);
        let (from, room) = if matches!(access.space, Space::Global | Space::Generic) {
            let begins = self.t.inst(format_args!("icmp ult i64 {safe}, {len}"));
            let inside = self.t.inst(format_args!("select i1 {begins}, i64 {safe}, i64 0"));
            let granules =
                self.field("granules", "ptr", offset_of!(Ctx, global) + offset_of!(RawView, granules));
            let granule = self.t.inst(format_args!("lshr i64 {inside}, 8"));
            let entry = self.t.inst(format_args!("getelementptr i32, ptr {granules}, i64 {granule}"));
            let valid = self.t.inst(format_args!("load i32, ptr {entry}, align 4"));
            let valid = self.t.inst(format_args!("zext i32 {valid} to i64"));
            let valid = self.t.inst(format_args!("select i1 {begins}, i64 {valid}, i64 0"));
            (self.t.inst(format_args!("and i64 {safe}, -256")), valid)
        } else {
            ("0".to_owned(), len)
        };
        // Room for one less than nothing is no room at all.
        let enough = self.t.inst(format_args!("icmp uge i64 {room}, {size}"));
        let last = self.t.inst(format_args!("sub i64 {room}, {size}"));
        let from = self.t.repeat(I64, &from, w);
        let last = self.t.repeat(I64, &last, w);
        let distance = self.t.binary("sub", all, &offsets, &from);
        let mut good = self.t.compare("icmp ule", all, &distance, &last);
        if size > 1 {
            let low = self.t.binary("and", all, &offsets, &Text::constant(all, u64::from(size - 1)));
            let aligned = self.t.compare("icmp eq", all, &low, "zeroinitializer");
            good = self.t.binary("and", lanes, &good, &aligned);
        }
        if let Some(mask) = mask {
            let off = self.t.binary("xor", lanes, mask, &Text::constant(lanes, 1));
            good = self.t.binary("or", lanes, &good, &off);
        }
        let bits = self.bits(&good);
        let every = self.t.inst(format_args!("icmp eq i{w} {bits}, -1"));
        let fine = self.and(every, Some(enough));
        let mut places = offsets;
        if access.space == Space::Local {
            let lane = self.lane();
            let stride = self.field("local.stride", "i64", offset_of!(Ctx, local_stride));
            let first = self.t.repeat(I64, &lane, w);
            let lanes = Text::list(Elem::I64, 0..u64::from(w));
            let lane = self.t.binary("add", all, &first, &lanes);
            let stride_all = self.t.repeat(I64, &stride, w);
            let own = self.t.binary("mul", all, &lane, &stride_all);
            places = self.t.binary("add", all, &places, &own);
            let first = self.lane();
            let own = self.t.inst(format_args!("mul i64 {first}, {stride}"));
            safe = self.t.inst(format_args!("add i64 {safe}, {own}"));
        }
        self.t.branch_likely(&fine, fast, slow);
        Spots { base, offsets: places, index: all, safe }
    }

    /// The same for a space that is all there from its beginning to its end, with addresses of 32 bits: a rotation and a comparison of each.
    fn check_any_in_window(&mut self, access: &Access, mask: Option<&str>, fast: &str, slow: &str) -> Spots {
        let (size, w, lanes) = (access.size(), self.w, self.lanes());
        let (base, len) = self.window(access.space);
        let places = self.places(access.space, size.into(), size);
        let name = format!("{}.{size}.any", len.trim_start_matches('%'));
        let shift = size.trailing_zeros();
        // Offsets are taken as signed.
        let most = i32::MAX as u64 >> shift;
        self.t.declarations.insert("declare i64 @llvm.umin.i64(i64, i64)".into());
        let few = self
            .once(&format!("{name}.few"), |_| format!("call i64 @llvm.umin.i64(i64 {places}, i64 {most})"));
        let places = self.once(&name, |_| format!("trunc i64 {few} to i32"));
        let one = Shape::new(Elem::I32, 1);
        let index = one.times(w);
        let offsets = self.vector(access.address);
        let mut place = offsets.clone();
        if shift > 0 {
            let shift = Text::constant(index, shift.into());
            let args = [(index, offsets.as_str()), (index, &offsets), (index, &shift)];
            place = self.t.intrinsic(&format!("fshr.{}", index.suffix()), index, &args);
        }
        let places = self.t.repeat(one, &places, w);
        let mut good = self.t.compare("icmp ult", index, &place, &places);
        if let Some(mask) = mask {
            let off = self.t.binary("xor", lanes, mask, &Text::constant(lanes, 1));
            good = self.t.binary("or", lanes, &good, &off);
        }
        let bits = self.bits(&good);
        let every = self.t.inst(format_args!("icmp eq i{w} {bits}, -1"));
        self.t.branch_likely(&every, fast, slow);
        Spots { base, offsets, index, safe: "0".into() }
    }
}

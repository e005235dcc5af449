//! Accesses to memory that do not depend on the order in which threads run: what is read was never written, or by the same thread, or
//! before a barrier; what all threads change is changed by operations whose order does not matter.

use crate::instruction::{Family, Maker, OpForm, forms};
use crate::program::{Bank, Guard, Inst, Operand, Reg, Shape, Stmt, What, layout};
use hostwarp_isa::Ty;

const INPUT: Reg = Reg(Bank::B, 0);
const INPUT_WORD: Reg = Reg(Bank::B, 2);
const OWN: Reg = Reg(Bank::B, 3);
const COLUMN: Reg = Reg(Bank::B, 4);
const SLOT: Reg = Reg(Bank::B, 5);
const MEMORY: Reg = Reg(Bank::B, 1);
/// The thread's number in its CTA and in the grid.
pub const THREAD: Reg = Reg(Bank::I, 0);
/// The thread's number in the grid.
pub const GLOBAL_THREAD: Reg = Reg(Bank::I, 2);
const INDEX: Reg = Reg(Bank::T, 0);
const ADDRESS: Reg = Reg(Bank::A, 0);

/// A place that a thread may access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Region {
    /// Never written.
    Input,
    /// The thread's own bytes.
    Own,
    /// The thread's own words, in columns.
    Column,
    /// The thread's own bytes of shared memory.
    Slot,
    Local,
    Table,
    /// The array parameter.
    Bag,
}

/// A number, as an operand.
pub fn constant(n: impl ToString) -> What {
    What::Constant(n.to_string(), false)
}

fn inst(head: &str, dest: Reg, sources: &[What]) -> Inst {
    Inst::new(head, &[What::Reg(dest)], sources)
}

/// A load or a store with the instructions that make its address.
pub fn access(m: &mut Maker<'_>, k: &Shape) -> Option<Vec<Inst>> {
    let rooms = forms(Family::Access);
    let room = &rooms[m.r.below(rooms.len())];
    // The first form is the plain one, and the only one for all spaces; the many others differ in hints.
    let form = if m.r.percent(60) { room[0] } else { *m.r.pick(room) };
    let mods = m.mods(form.parsed);
    let has = |name: &str| mods.iter().flatten().any(|x| *x == name);
    let starts = |prefix: &str| mods.iter().flatten().any(|x| x.starts_with(prefix));
    let store = form.opcode == "st";
    let bytes = bytes(form, &mods)?;
    let generic =
        !(starts(".global") || starts(".shared") || starts(".local") || starts(".const") || starts(".param"));
    let region = if starts(".shared") {
        Region::Slot
    } else if starts(".local") {
        Region::Local
    } else if starts(".const") {
        Region::Table
    } else if starts(".param") {
        Region::Bag
    } else if has(".nc") || form.opcode == "ldu" {
        Region::Input
    } else if generic && !has(".mmio") && !starts(".L") {
        *m.r.pick(&[Region::Own, Region::Slot, Region::Local, Region::Column])
    } else if store {
        *m.r.pick(&[Region::Own, Region::Column])
    } else {
        *m.r.pick(&[Region::Input, Region::Input, Region::Own, Region::Column])
    };
    if store && matches!(region, Region::Table | Region::Bag) {
        return None;
    }
    let (mut lines, at) = address(m, k, region, bytes, generic)?;
    let access = (0..4).find_map(|_| m.with_mods(form, &mods, Some(&at)))?;
    lines.push(access);
    Some(lines)
}

/// A load of input from where a pattern over the threads of the CTA says: pieces that are permuted, strided, repeated, apart.
pub fn pattern(m: &mut Maker<'_>, k: &Shape) -> Vec<Inst> {
    let (at, high) = (INDEX, Reg(Bank::T, 1));
    let threads = k.threads();
    let from = match m.r.below(4) {
        0 => What::Special("%tid.x"),
        _ => What::Reg(THREAD),
    };
    let mut lines = vec![inst("mov.u32", at, &[from])];
    let low = 1u64 << (1 + m.r.below(4));
    let mut size = *m.r.pick(&[4, 4, 8, 2, 1]);
    match m.r.below(8) {
        0 => lines.push(inst("xor.b32", at, &[What::Reg(at), constant(1 + m.r.below(31))])),
        1 => lines.push(inst("and.b32", at, &[What::Reg(at), constant(-(low as i64))])),
        2 => lines.push(inst("shr.u32", at, &[What::Reg(at), constant(low.ilog2())])),
        3 => {
            let by = 2 + m.r.below(4) as u64;
            size = size.min(if by > 4 { 2 } else { 4 });
            lines.push(inst("mul.lo.u32", at, &[What::Reg(at), constant(by)]));
        }
        4 => lines.push(inst("sub.u32", at, &[constant(threads - 1), What::Reg(at)])),
        5 => lines.push(inst("rem.u32", at, &[What::Reg(at), constant(low + 1)])),
        // Rows become columns, or come apart.
        n => {
            lines.push(inst("shr.u32", high, &[What::Reg(at), constant(low.ilog2())]));
            lines.push(inst("and.b32", at, &[What::Reg(at), constant(low - 1)]));
            let (times, plus) = if n == 6 { (at, high) } else { (high, at) };
            let by = match n {
                // Close together, so that one begins where the one before ends, or not much later.
                6 if m.r.percent(60) => 32 / low as usize + m.r.below(3),
                6 => 1 + m.r.below(24),
                _ => 1 + m.r.below(2 * low as usize),
            };
            lines.push(inst("mad.lo.u32", at, &[What::Reg(times), constant(by), What::Reg(plus)]));
        }
    }
    lines.push(inst("mad.wide.u32", ADDRESS, &[What::Reg(at), constant(size), What::Reg(INPUT)]));
    let ty = match size {
        1 => ".u8",
        2 => ".b16",
        4 => ".b32",
        _ => ".b64",
    };
    let to = m.typed(if size < 4 { Ty::B16 } else { Ty::parse(ty).unwrap_or(Ty::B32) });
    lines.push(inst(&format!("ld.global{ty}"), to, &[What::Address(ADDRESS, 0)]));
    lines
}

/// Bytes that an access takes.
fn bytes(form: OpForm, mods: &[Option<&'static str>]) -> Option<u64> {
    let get = |name: &str| form.parsed.mods.iter().position(|m| m.name == name).and_then(|i| mods[i]);
    let count = get(".vec").map_or(Some(1), |v| v[2..].parse::<u64>().ok())?;
    let bytes = count * u64::from(Ty::parse(get(".type")?)?.bits()) / 8;
    (bytes <= 16).then_some(bytes)
}

/// An address in the region for an access of so many bytes.
fn address(
    m: &mut Maker<'_>,
    k: &Shape,
    region: Region,
    bytes: u64,
    generic: bool,
) -> Option<(Vec<Inst>, What)> {
    let (base, size) = match region {
        Region::Input => (INPUT, layout::INPUT_WORDS * 8),
        Region::Own => (OWN, layout::OWN),
        Region::Slot => (SLOT, layout::SLOT),
        Region::Local => (ADDRESS, layout::LOCAL),
        Region::Table => (ADDRESS, layout::TABLE),
        Region::Bag => (ADDRESS, layout::BAG),
        Region::Column if bytes <= 8 => {
            // Neighbours access neighbouring words.
            let column = m.r.below(layout::COLUMNS as usize) as u64 * 8 * k.all_threads();
            let within = m.r.below((8 / bytes) as usize) as u64 * bytes;
            return Some((vec![], What::Address(COLUMN, (column + within) as i64)));
        }
        Region::Column => return None,
    };
    let mut lines = vec![];
    let fixed = |m: &mut Maker<'_>| (m.r.below((size / bytes) as usize) as u64 * bytes) as i64;
    match region {
        Region::Bag => return Some((lines, What::Named("bag", fixed(m)))),
        Region::Table if m.r.percent(30) => return Some((lines, What::Named("table", fixed(m)))),
        Region::Local if !generic && m.r.percent(30) => {
            return Some((lines, What::Named("mine", fixed(m))));
        }
        // The thread's own word, and how far apart threads are, as the size of the access says.
        Region::Input if bytes <= 8 && m.r.percent(40) => {
            let at = fixed(m) & !7;
            if m.r.percent(50) {
                return Some((lines, What::Address(INPUT_WORD, at)));
            }
            let sources = [What::Reg(GLOBAL_THREAD), constant(bytes), What::Reg(INPUT)];
            lines.push(inst("mad.wide.u32", ADDRESS, &sources));
            return Some((lines, What::Address(ADDRESS, at)));
        }
        Region::Local => lines.push(inst("mov.u64", ADDRESS, &[What::Name("mine")])),
        Region::Table => lines.push(inst("mov.u64", ADDRESS, &[What::Name("table")])),
        _ => {}
    }
    if generic {
        let convert = match region {
            Region::Local => Some("cvta.local.u64"),
            Region::Slot => Some("cvta.shared.u64"),
            Region::Table => Some("cvta.const.u64"),
            _ => None,
        };
        if let Some(convert) = convert {
            lines.push(inst(convert, ADDRESS, &[What::Reg(base)]));
        }
    }
    let base = if lines.is_empty() { base } else { ADDRESS };
    if m.r.percent(40) {
        return Some((lines, What::Address(base, fixed(m))));
    }
    let r = m.reg(Bank::R);
    let mask = (size - 1) & !(bytes - 1);
    lines.push(inst("and.b32", INDEX, &[What::Reg(r), constant(mask)]));
    let wide = Reg(Bank::A, 1);
    if m.r.percent(50) {
        lines.push(inst("cvt.u64.u32", wide, &[What::Reg(INDEX)]));
        lines.push(inst("add.s64", ADDRESS, &[What::Reg(base), What::Reg(wide)]));
    } else {
        lines.push(inst("mad.wide.u32", ADDRESS, &[What::Reg(INDEX), constant(1), What::Reg(base)]));
    }
    Some((lines, What::Address(ADDRESS, 0)))
}

/// Cells that atomics work on: each is always changed in the same way.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    global: Vec<String>,
    shared: Vec<String>,
}

/// Cells that one operation has.
const EACH: u64 = 4;

impl Cells {
    /// How many shared cells there must be.
    pub fn shared_count(&self) -> u32 {
        self.shared.len() as u32 * EACH as u32
    }

    /// The first cell of the operation on this type.
    fn of(&mut self, key: &str, shared: bool) -> Option<u64> {
        let cells = if shared { &mut self.shared } else { &mut self.global };
        let index = match cells.iter().position(|k| k == key) {
            Some(i) => i,
            None if (cells.len() as u64) < layout::CELLS / EACH => {
                cells.push(key.to_string());
                cells.len() - 1
            }
            None => return None,
        };
        Some(index as u64 * EACH)
    }
}

/// An atomic operation, on the thread's own bytes or on cells that all threads change.
pub fn atomic(m: &mut Maker<'_>, k: &Shape, cells: &mut Cells) -> Option<Vec<Inst>> {
    let rooms = forms(Family::Atomic);
    let room = m.r.below(rooms.len());
    let form = *m.r.pick(&rooms[room]);
    let mods = m.mods(form.parsed);
    let get = |name: &str| form.parsed.mods.iter().position(|x| x.name == name).and_then(|i| mods[i]);
    let bytes = bytes(form, &mods)?;
    let (op, ty) = (get(".op")?, Ty::parse(get(".type")?)?);
    let space = get(".space");
    let in_shared = space.is_some_and(|s| s.starts_with(".shared"));
    let exact = matches!(ty, Ty::F32 | Ty::F64) && op == ".add" && get(".vec").is_none();
    let orderless = exact
        || !ty.is_float()
            && matches!(op, ".add" | ".and" | ".or" | ".xor" | ".min" | ".max" | ".inc" | ".dec");
    // Few threads would take long to clear many cells.
    let room = !in_shared || k.threads() >= 32;
    if !orderless || !room || m.r.percent(40) {
        let region = if in_shared { Region::Slot } else { Region::Own };
        let (mut lines, at) = address(m, k, region, bytes, space.is_none())?;
        lines.push((0..4).find_map(|_| m.with_mods(form, &mods, Some(&at)))?);
        return Some(lines);
    }
    let key = format!("{op}{ty}");
    let first = cells.of(&key, in_shared)?;
    let r = m.reg(Bank::R);
    let mut lines = vec![inst("and.b32", INDEX, &[What::Reg(r), constant(EACH - 1)])];
    if in_shared {
        lines.push(inst("mov.u64", ADDRESS, &[What::Name("cells")]));
    }
    let base = if in_shared { ADDRESS } else { MEMORY };
    lines.push(inst("mad.wide.u32", ADDRESS, &[What::Reg(INDEX), constant(8), What::Reg(base)]));
    let mut access = m.with_mods(form, &mods, Some(&What::Address(ADDRESS, first as i64 * 8)))?;
    // Who comes first sees something else than who comes second.
    for o in access.operands.iter_mut().filter(|o| o.dest) {
        o.what = What::Sink;
    }
    // What is added or counted to.
    let at = access.operands.iter().position(|o| matches!(o.what, What::Address(..)))? + 1;
    if exact {
        // Small integers add up exactly, in whatever order.
        let (number, word) = (m.r.below(100), Reg(Bank::T, 1));
        let source = m.reg(Bank::R);
        let value = if ty == Ty::F32 { Reg(Bank::T, 2) } else { Reg(Bank::A, 2) };
        if number < 50 {
            lines.push(inst("and.b32", word, &[What::Reg(source), constant(255)]));
            lines.push(inst(&format!("cvt.rn{ty}.u32"), value, &[What::Reg(word)]));
            access.operands[at] = Operand::source(What::Reg(value));
        } else {
            let text = match ty {
                Ty::F32 => format!("0f{:08x}", (number as f32).to_bits()),
                _ => format!("0d{:016x}", (number as f64).to_bits()),
            };
            access.operands[at] = Operand::source(What::Constant(text, true));
        }
    } else if matches!(op, ".inc" | ".dec") {
        access.operands[at] = Operand::source(constant(7 + first));
    }
    lines.push(access);
    Some(lines)
}

/// A register modulo a number, as the index.
fn within(r: Reg, n: u32) -> Inst {
    if n.is_power_of_two() {
        return inst("and.b32", INDEX, &[What::Reg(r), constant(n - 1)]);
    }
    inst("rem.u32", INDEX, &[What::Reg(r), constant(n)])
}

/// Every thread stores something in its slot of shared memory, waits for all, and reads what another one has stored.
pub fn exchange(m: &mut Maker<'_>, k: &Shape) -> Vec<Inst> {
    let threads = k.threads();
    let ty = *m.r.pick(&[Ty::B32, Ty::B64, Ty::B16, Ty::F32]);
    let at = m.r.below((layout::SLOT / u64::from(ty.bits() / 8)) as usize) as i64 * i64::from(ty.bits() / 8);
    let (value, result) = (m.typed(ty), m.typed(ty));
    let store = format!("st.shared{ty}");
    let mut lines = vec![Inst::new(store, &[], &[What::Address(SLOT, at), What::Reg(value)]), barrier(m, k)];
    let by = m.r.below(threads as usize) as u32;
    match m.r.below(4) {
        // The neighbour, round the corner.
        0 => {
            lines.push(inst("add.u32", INDEX, &[What::Reg(THREAD), constant(by)]));
            lines.push(within(INDEX, threads));
        }
        // The other end.
        1 => lines.push(inst("sub.u32", INDEX, &[constant(threads - 1), What::Reg(THREAD)])),
        // All the same one.
        2 => lines.push(inst("mov.u32", INDEX, &[constant(by)])),
        // Whatever a register says.
        _ => {
            let r = m.reg(Bank::R);
            lines.push(within(r, threads));
        }
    }
    lines.push(inst("mov.u64", ADDRESS, &[What::Name("slots")]));
    lines.push(inst(
        "mad.wide.u32",
        ADDRESS,
        &[What::Reg(INDEX), constant(layout::SLOT), What::Reg(ADDRESS)],
    ));
    lines.push(inst(&format!("ld.shared{ty}"), result, &[What::Address(ADDRESS, at)]));
    lines.push(barrier(m, k));
    lines
}

/// As [`exchange`], among the lanes of a warp that are here.
pub fn warp_exchange(m: &mut Maker<'_>, k: &Shape, mask: Reg) -> Vec<Inst> {
    let (value, result, lane) = (m.reg(Bank::R), m.reg(Bank::R), m.reg(Bank::R));
    let at = m.r.below(4) as i64 * 4;
    let first = Reg(Bank::T, 1);
    let sync = Inst::new("bar.warp.sync", &[], &[What::Reg(mask)]);
    let here = Reg(Bank::G, 0);
    vec![
        Inst::new("st.shared.b32", &[], &[What::Address(SLOT, at), What::Reg(value)]),
        sync.clone(),
        // A lane of this warp: the first, or one of those there.
        inst("and.b32", first, &[What::Reg(THREAD), constant("0xffffffe0")]),
        inst("and.b32", INDEX, &[What::Reg(lane), constant(31)]),
        inst("shr.u32", Reg(Bank::T, 2), &[What::Reg(mask), What::Reg(INDEX)]),
        inst("and.b32", Reg(Bank::T, 2), &[What::Reg(Reg(Bank::T, 2)), constant(1)]),
        inst("setp.ne.u32", here, &[What::Reg(Reg(Bank::T, 2)), constant(0)]),
        inst("add.u32", INDEX, &[What::Reg(INDEX), What::Reg(first)]),
        // Its own slot where that lane is not here.
        inst("selp.b32", INDEX, &[What::Reg(INDEX), What::Reg(THREAD), What::Reg(here)]),
        inst("min.u32", INDEX, &[What::Reg(INDEX), constant(k.threads() - 1)]),
        inst("mov.u64", ADDRESS, &[What::Name("slots")]),
        inst("mad.wide.u32", ADDRESS, &[What::Reg(INDEX), constant(layout::SLOT), What::Reg(ADDRESS)]),
        inst("ld.shared.b32", result, &[What::Address(ADDRESS, at)]),
        sync,
    ]
}

/// Threads store words in the tile, each in its row or a few further down, wait for all, and read rows back: one of them all, their own, or a
/// word each.
pub fn tile(m: &mut Maker<'_>, k: &Shape) -> Vec<Inst> {
    let width = i64::from(k.block[0]);
    let height = (k.block[1] * k.block[2]) as usize;
    let (tile, own, column, row) = (Reg(Bank::T, 1), INDEX, Reg(Bank::T, 2), Reg(Bank::T, 3));
    let mut lines = vec![
        inst("mov.u32", tile, &[What::Name("tile")]),
        inst("mad.lo.u32", own, &[What::Reg(THREAD), constant(4), What::Reg(tile)]),
        inst("mov.u32", column, &[What::Special("%tid.x")]),
        inst("shl.b32", column, &[What::Reg(column), constant(2)]),
        inst("sub.u32", row, &[What::Reg(own), What::Reg(column)]),
        inst("add.u32", column, &[What::Reg(column), What::Reg(tile)]),
    ];
    // Mostly whole rows of what has just been stored.
    let kinds = if m.r.percent(75) { 6 } else { 8 };
    for _ in 0..1 + m.r.below(2) {
        let down = m.r.below(layout::TILE_MORE + 1);
        let (value, sum) = (m.reg(Bank::R), m.reg(Bank::R));
        let mut to = own;
        if m.r.percent(35) {
            // In another one's place: each in one of its own.
            let threads = k.threads();
            to = Reg(Bank::T, 4);
            let swap = 1 << m.r.below(6);
            match m.r.below(3) {
                0 => lines.push(inst("sub.u32", to, &[constant(threads - 1), What::Reg(THREAD)])),
                1 if threads.is_multiple_of(2 * swap) => {
                    lines.push(inst("xor.b32", to, &[What::Reg(THREAD), constant(swap)]));
                }
                _ => {
                    lines.push(inst("add.u32", to, &[What::Reg(THREAD), constant(1 + m.r.below(40))]));
                    lines.push(inst("rem.u32", to, &[What::Reg(to), constant(threads)]));
                }
            }
            lines.push(inst("mad.lo.u32", to, &[What::Reg(to), constant(4), What::Reg(tile)]));
        }
        let at = What::Address(to, 4 * width * down as i64);
        lines.push(Inst::new("st.shared.b32", &[], &[at, What::Reg(value)]));
        lines.push(barrier(m, k));
        if m.r.percent(30) {
            // Rows in two allocations.
            let (which, from) = (Reg(Bank::G, 0), ADDRESS);
            let some = constant(m.r.below(k.threads() as usize + 1));
            lines.push(inst("setp.lt.u32", which, &[What::Reg(THREAD), some]));
            lines.push(inst("selp.b64", from, &[What::Reg(INPUT_WORD), What::Reg(OWN), What::Reg(which)]));
            lines.push(inst("ld.global.b32", sum, &[What::Address(from, 0)]));
        }
        for _ in 0..1 + m.r.below(4) {
            let read = m.reg(Bank::R);
            let any = match kinds {
                6 => down + m.r.below(height),
                _ => m.r.below(height + layout::TILE_MORE),
            };
            let at = match m.r.below(kinds) {
                0..=3 => What::Address(column, 4 * width * any as i64),
                4 | 5 => What::Address(own, 4 * width * down as i64),
                6 => What::Address(own, 4 * width * m.r.below(layout::TILE_MORE + 1) as i64),
                _ => What::Address(row, 4 * m.r.below(width as usize) as i64),
            };
            lines.push(inst("ld.shared.b32", read, &[at]));
            lines.push(inst("mad.lo.u32", sum, &[What::Reg(sum), constant(3), What::Reg(read)]));
        }
        lines.push(barrier(m, k));
    }
    lines
}

/// Threads store a word each in the tile, and then ever fewer of them put together what others have: how many turns that takes, what comes before the
/// loop, what is in it, and what comes after.
pub fn tree(m: &mut Maker<'_>, k: &Shape) -> (usize, Vec<Inst>, Vec<Stmt>, Vec<Inst>) {
    let (tile, own, half, other) = (Reg(Bank::T, 1), INDEX, Reg(Bank::T, 2), Reg(Bank::T, 3));
    let threads = k.threads() as usize;
    // Most halve all of them.
    let most = (threads / 2).max(1);
    let begin = if m.r.percent(70) { most } else { 1 + m.r.below(most) };
    let (value, sum) = (m.reg(Bank::R), m.reg(Bank::R));
    let before = vec![
        inst("mov.u32", tile, &[What::Name("tile")]),
        inst("mad.lo.u32", own, &[What::Reg(THREAD), constant(4), What::Reg(tile)]),
        inst("mov.u32", half, &[constant(begin)]),
        Inst::new("st.shared.b32", &[], &[What::Address(own, 0), What::Reg(value)]),
    ];
    // Barriers that groups of a whole CTA need not wait at, most of them.
    let plain = m.r.percent(85);
    let wait = |m: &mut Maker<'_>| match plain {
        true => Inst::new("bar.sync", &[], &[constant(0)]),
        false => barrier(m, k),
    };
    // Those below half take in who is half further on, or the last ones who is half further back.
    let (p, upper) = (Reg(Bank::G, 0), threads > 1 && m.r.percent(25));
    let mut decide = vec![wait(m)];
    if upper {
        decide.push(inst("sub.u32", other, &[constant(threads), What::Reg(half)]));
        decide.push(inst("setp.ge.u32", p, &[What::Reg(THREAD), What::Reg(other)]));
    } else {
        decide.push(inst("setp.lt.u32", p, &[What::Reg(THREAD), What::Reg(half)]));
    }
    let (a, b) = (Reg(Bank::T, 4), Reg(Bank::T, 5));
    let apart = if upper { "sub.u32" } else { "add.u32" };
    let join = *m.r.pick(&["add.u32", "max.s32", "xor.b32", "mul.lo.u32"]);
    let body = vec![
        inst("shl.b32", other, &[What::Reg(half), constant(2)]),
        inst(apart, other, &[What::Reg(own), What::Reg(other)]),
        inst("ld.shared.b32", a, &[What::Address(own, 0)]),
        inst("ld.shared.b32", b, &[What::Address(other, 0)]),
        inst(join, a, &[What::Reg(a), What::Reg(b)]),
        Inst::new("st.shared.b32", &[], &[What::Address(own, 0), What::Reg(a)]),
    ];
    let guard = Guard { reg: p, not: false };
    let branch = Stmt::If { guard, mask: None, then: vec![Stmt::Group(body)], otherwise: vec![] };
    let less = Stmt::Inst(inst("shr.u32", half, &[What::Reg(half), constant(1)]));
    let word = if upper { threads - 1 - m.r.below(3.min(threads)) } else { m.r.below(3.min(threads)) };
    let read = match m.r.below(3) {
        0 => What::Address(own, 0),
        _ => What::Address(tile, 4 * word as i64),
    };
    let after = vec![
        wait(m),
        inst("ld.shared.b32", a, &[read]),
        inst("mad.lo.u32", sum, &[What::Reg(sum), constant(3), What::Reg(a)]),
        wait(m),
    ];
    (begin.ilog2() as usize + 1, before, vec![Stmt::Group(decide), branch, less], after)
}

/// Whether a thread's place in its row is below or above some place in the first half of it.
pub fn by_column(m: &mut Maker<'_>, k: &Shape, to: Reg, place: Reg) -> Vec<Stmt> {
    // Of one row those of a warp.
    let most = k.block[0].clamp(2, 32) as usize;
    let n = if m.r.percent(60) { most / 2 } else { m.r.below(most) };
    let cmp = *m.r.pick(&["lt", "ge", "ge", "gt", "ne"]);
    let column = inst("mov.u32", place, &[What::Special("%tid.x")]);
    let compare = Inst::new(format!("setp.{cmp}.u32"), &[What::Reg(to)], &[What::Reg(place), constant(n)]);
    vec![Stmt::Group(vec![column, compare])]
}

/// How a word compares that is the same for every thread, each of which reads its own.
pub fn by_same_word(m: &mut Maker<'_>, k: &Shape, to: Reg, place: Reg) -> Vec<Stmt> {
    let load = inst("ld.global.u32", place, &[What::Address(INPUT_WORD, k.same_at() as i64)]);
    let cmp = *m.r.pick(&["lt", "ge", "eq", "ne"]);
    let n = constant(1 + m.r.below(4));
    let compare = Inst::new(format!("setp.{cmp}.u32"), &[What::Reg(to)], &[What::Reg(place), n]);
    vec![Stmt::Group(vec![load, compare])]
}

/// Accesses at some distances from one address, each under a guard of its own or none, of which one thread has another address: one at which nothing is,
/// one beside the first or behind the last word, or one that is not aligned. `end` is the number of bytes of the memory kernels may write.
pub fn beyond(m: &mut Maker<'_>, k: &Shape, end: u64) -> Vec<Inst> {
    let (is_it, address, other) = (Reg(Bank::G, 0), ADDRESS, Reg(Bank::A, 1));
    match m.r.below(10) {
        0 | 1 => return odd(m, k),
        2 | 3 => return past(m, k, end),
        _ => {}
    }
    let which = m.r.below(k.all_threads() as usize);
    let mut lines = vec![inst("setp.eq.u32", is_it, &[What::Reg(GLOBAL_THREAD), constant(which)])];
    let ty = *m.r.pick(&[Ty::B32, Ty::B32, Ty::B64, Ty::B64, Ty::B16, Ty::F32]);
    let size = i64::from(ty.bits() / 8);
    let shared = m.r.percent(15);
    // Where all may be: words of input around the thread's own, or its own bytes. Others may write beside what is its own in columns.
    let (base, stores, apart) = match m.r.below(5) {
        _ if shared => (SLOT, true, 0),
        0 => (COLUMN, true, 0),
        1 => (OWN, true, 2),
        _ => (INPUT_WORD, false, 2),
    };
    let middle = 2 * size * i64::from(apart > 0);
    let at = |distance: i64| What::Address(address, middle + distance * size);
    let from_base = |to: i64| [What::Reg(base), constant(to)];
    lines.push(inst("add.s64", address, &from_base(0)));
    let wild = |m: &mut Maker<'_>| match (shared, m.r.below(5)) {
        (true, _) => constant(m.r.pick(&["0x20000", "0x7ffffff0", "-64"])),
        (_, 0) => constant("-64"),
        (_, 1) => constant("0x100"),
        _ => constant("0x7fff12345600"),
    };
    // Beside the first or the last word are more kinds of mistakes to be made than where nothing is.
    match m.r.weighted(&[1, 1, 1, 3]) {
        0 => {
            let wild = wild(m);
            lines.push(inst("mov.u64", other, &[wild]));
        }
        1 if size > 1 => {
            let by = 1 + m.r.below(size as usize - 1) as i64;
            lines.push(inst("add.s64", other, &from_base(by)));
        }
        // The first word or the last one there is: some of what follows is beside it.
        2 if base == INPUT_WORD => {
            lines.push(inst("add.s64", other, &[What::Reg(INPUT), constant(-middle)]));
        }
        _ if base != SLOT && !stores => {
            let last = end as i64 - size - middle;
            lines.push(inst("add.s64", other, &[What::Reg(MEMORY), constant(last)]));
        }
        _ => {
            let wild = wild(m);
            lines.push(inst("mov.u64", other, &[wild]));
        }
    }
    lines.push(inst("selp.b64", address, &[What::Reg(other), What::Reg(address), What::Reg(is_it)]));
    if m.r.percent(50) {
        // As a pointer that was loaded: the word is at most 4, which nobody can know.
        let zero = Reg(Bank::A, 2);
        lines.push(inst("ld.global.u64", zero, &[What::Address(INPUT_WORD, k.same_at() as i64)]));
        lines.push(inst("shr.u64", zero, &[What::Reg(zero), constant(3)]));
        lines.push(inst("add.s64", address, &[What::Reg(address), What::Reg(zero)]));
    }
    let space = if shared { ".shared" } else { *m.r.pick(&[".global", ".global", ".global", ""]) };
    let alike = m.r.percent(50);
    for _ in 0..1 + m.r.below(5) {
        let distance = m.r.below(2 * apart as usize + 1) as i64 - apart;
        let value = m.typed(ty);
        let mut access = match stores && m.r.percent(40) {
            true => Inst::new(format!("st{space}{ty}"), &[], &[at(distance), What::Reg(value)]),
            // What it reads may be another's by now: nobody is told.
            false => inst(&format!("ld{space}{ty}"), sink(ty), &[at(distance)]),
        };
        if !alike && m.r.percent(60) {
            access.guard = Some(Guard { reg: m.reg(Bank::P), not: m.r.percent(50) });
        }
        lines.push(access);
    }
    lines
}

/// Threads read the last words there are, of several sizes, and the last thread what is behind: of several that do which is first would be open.
fn past(m: &mut Maker<'_>, k: &Shape, end: u64) -> Vec<Inst> {
    let base = [What::Reg(GLOBAL_THREAD), constant(8), What::Reg(MEMORY)];
    let mut lines = vec![inst("mad.wide.u32", ADDRESS, &base)];
    let sizes = [Ty::B32, Ty::B64, Ty::B16];
    let alike = m.r.percent(50).then(|| *m.r.pick(&sizes));
    for _ in 0..2 + m.r.below(3) {
        let ty = alike.unwrap_or_else(|| *m.r.pick(&sizes));
        let behind = m.r.below(2) as u64;
        let at = end - 8 * k.all_threads() + 8 * behind;
        let mut load = inst(&format!("ld.global{ty}"), sink(ty), &[What::Address(ADDRESS, at as i64)]);
        if m.r.percent(25) {
            load.guard = Some(Guard { reg: m.reg(Bank::P), not: m.r.percent(50) });
        }
        lines.push(load);
    }
    lines
}

/// Threads read words that lie too close to each other: in groups whose first lane's is aligned. Those of other CTAs do not, or there are none.
fn odd(m: &mut Maker<'_>, k: &Shape) -> Vec<Inst> {
    let (is_first, leads) = (Reg(Bank::G, 0), Reg(Bank::G, 1));
    let ty = *m.r.pick(&[Ty::B32, Ty::B64]);
    let size = i64::from(ty.bits() / 8);
    let apart = [size / 2, size + size / 2, size + 1][m.r.below(3)];
    let first = m.r.below(4) as i64 * size;
    let read = |space: &str, guard: Option<Reg>| {
        let load = inst(&format!("ld{space}{ty}"), sink(ty), &[What::Address(ADDRESS, first)]);
        Inst { guard: guard.map(|reg| Guard { reg, not: false }), ..load }
    };
    if k.ctas() == 1 && m.r.percent(50) {
        return vec![
            inst("mov.u64", ADDRESS, &[What::Name("slots")]),
            inst("mad.wide.u32", ADDRESS, &[What::Reg(THREAD), constant(apart), What::Reg(ADDRESS)]),
            read(".shared", None),
        ];
    }
    let of_warp = [What::Reg(INDEX), constant(0), What::Reg(is_first)];
    vec![
        inst("setp.eq.u32", is_first, &[What::Reg(Reg(Bank::I, 1)), constant(0)]),
        inst("and.b32", INDEX, &[What::Reg(THREAD), constant(31)]),
        inst("setp.eq.and.u32", leads, &of_warp),
        inst("mad.wide.u32", ADDRESS, &[What::Reg(THREAD), constant(apart), What::Reg(INPUT)]),
        // Where the first have found it others look, too.
        read(".global", Some(leads)),
        read(".global", Some(is_first)),
    ]
}

/// A register of the type that no result depends on.
fn sink(ty: Ty) -> Reg {
    match ty.bits() {
        16 => Reg(Bank::X, 0),
        32 => Reg(Bank::T, 5),
        _ => Reg(Bank::A, 3),
    }
}

/// What comes before a loop of at most so many turns, and what is in it: rows of the block, some words apart, read on through the input.
pub fn walk(m: &mut Maker<'_>, k: &Shape, turns: usize) -> (Vec<Inst>, Vec<Inst>) {
    let [width, height, _] = k.block.map(|n| n as usize);
    let (column, step, value) = (Reg(Bank::T, 1), Reg(Bank::A, 1), Reg(Bank::T, 2));
    // Words of four bytes, of which all rows stay among those that are there for everybody, and one beside.
    let words = 2 * layout::INPUT_WORDS as usize - 1;
    let by = m.r.below(41);
    let apart = m.r.below((words - width - turns * by) / height + 1);
    let room = words - width - (height - 1) * apart - turns * by;
    // The address goes on, or the index, forwards only, of which addresses are made in the loop.
    let extends = m.r.percent(40);
    let back = !extends && m.r.percent(40);
    let first = m.r.below(room + 1) + if back { turns * by } else { 0 };
    let bytes = if back { -4 * by as i64 } else { 4 * by as i64 };
    let mut lines = vec![
        inst("mov.u32", INDEX, &[What::Special("%tid.y")]),
        inst("mov.u32", column, &[What::Special("%tid.x")]),
    ];
    let pitch = match m.r.below(2) {
        0 => constant(apart),
        _ => {
            // Not known before, and the same for all.
            let pitch = Reg(Bank::T, 3);
            let word = 8 * m.r.below(layout::INPUT_WORDS as usize) as i64;
            lines.push(inst("ld.global.u32", pitch, &[What::Address(INPUT, word)]));
            lines.push(inst("rem.u32", pitch, &[What::Reg(pitch), constant(apart + 1)]));
            What::Reg(pitch)
        }
    };
    lines.push(inst("mad.lo.u32", INDEX, &[What::Reg(INDEX), pitch, What::Reg(column)]));
    let made = [
        inst("mad.wide.u32", ADDRESS, &[What::Reg(INDEX), constant(4), What::Reg(INPUT)]),
        inst("add.s64", ADDRESS, &[What::Reg(ADDRESS), constant(4 * first)]),
    ];
    if !extends {
        lines.extend(made.clone());
    }
    let on = match m.r.below(2) {
        0 => constant(bytes),
        _ => {
            // Every other CTA stays where it is.
            lines.push(inst("and.b32", column, &[What::Reg(Reg(Bank::I, 1)), constant(1)]));
            lines.push(inst("cvt.u64.u32", step, &[What::Reg(column)]));
            lines.push(inst("mul.lo.s64", step, &[What::Reg(step), constant(bytes)]));
            What::Reg(step)
        }
    };
    let sum = m.reg(Bank::R);
    let mut body = if extends { made.to_vec() } else { vec![] };
    body.extend([
        inst("ld.global.b32", value, &[What::Address(ADDRESS, 0)]),
        inst("mad.lo.u32", sum, &[What::Reg(sum), constant(5), What::Reg(value)]),
    ]);
    if m.r.percent(40) {
        body.push(inst("ld.global.b32", value, &[What::Address(ADDRESS, 4)]));
        body.push(inst("add.u32", sum, &[What::Reg(sum), What::Reg(value)]));
    }
    if m.r.percent(30) {
        // How far it has come is worth something by itself.
        let way = Reg(Bank::A, 2);
        body.push(inst("sub.s64", way, &[What::Reg(ADDRESS), What::Reg(INPUT)]));
        body.push(inst("cvt.u32.u64", value, &[What::Reg(way)]));
        body.push(inst("add.u32", sum, &[What::Reg(sum), What::Reg(value)]));
    }
    if extends {
        body.push(inst("add.u32", INDEX, &[What::Reg(INDEX), constant(by)]));
    } else {
        body.push(inst("add.s64", ADDRESS, &[What::Reg(ADDRESS), on]));
    }
    (lines, body)
}

/// A range of the threads, or some of each warp, work on words that lie in rows, and the others go round.
pub fn part(m: &mut Maker<'_>, k: &Shape) -> Stmt {
    let (p, bound) = (Reg(Bank::G, 0), Reg(Bank::T, 1));
    let mut lines = vec![];
    let most = k.threads() as usize + 20;
    let mut limit = constant(m.r.below(most) as i64 - 4);
    if m.r.percent(50) {
        // Another one for each CTA.
        let sources = [What::Reg(Reg(Bank::I, 1)), constant(m.r.below(most)), limit];
        lines.push(inst("mad.lo.u32", bound, &sources));
        limit = What::Reg(bound);
    }
    let mut thread = What::Reg(THREAD);
    if m.r.percent(40) {
        // The number of a lane in its warp, or of the warp.
        lines.push(inst(
            "mov.u32",
            INDEX,
            &[What::Special(m.r.pick::<&str>(&["%tid.x", "%tid.x", "%laneid"]))],
        ));
        let parts = [
            ("and.b32", 31),
            ("and.b32", 31),
            ("rem.u32", 32),
            ("and.b32", 15),
            ("and.b32", 63),
            ("shr.u32", 5),
        ];
        let (op, by) = *m.r.pick(&parts);
        lines.push(inst(op, INDEX, &[What::Reg(INDEX), constant(by)]));
        (thread, limit) = (What::Reg(INDEX), constant(m.r.below(if op == "shr.u32" { 4 } else { 34 })));
    } else if m.r.percent(30) {
        lines.push(inst("add.u32", INDEX, &[thread, constant(m.r.below(90) as i64 - 45)]));
        thread = What::Reg(INDEX);
    }
    let compare = format!(
        "setp.{}.{}",
        m.r.pick(&["lt", "le", "gt", "ge", "lt", "ge", "eq", "ne"]),
        m.r.pick(&["u32", "s32"])
    );
    let sources = if m.r.percent(50) { [thread, limit] } else { [limit, thread] };
    lines.push(inst(&compare, p, &sources));

    let (a, b) = (Reg(Bank::A, 0), Reg(Bank::A, 1));
    let column = |m: &mut Maker<'_>| {
        let at = m.r.below(layout::COLUMNS as usize) as u64 * 8 * k.all_threads();
        What::Address(COLUMN, at as i64)
    };
    let to = column(m);
    let mut body = vec![inst("ld.global.b64", a, &[column(m)])];
    match m.r.below(4) {
        0 => body.push(inst("ld.global.b64", b, &[What::Address(INPUT_WORD, 0)])),
        3 => {
            let any = What::Reg(m.reg(Bank::R));
            body.push(inst("cvt.u64.u32", b, &[any]));
        }
        1 => body.push(inst("cvt.u64.u32", b, &[What::Reg(THREAD)])),
        _ => body.push(inst("ld.global.b64", b, std::slice::from_ref(&to))),
    }
    body.push(inst("mad.lo.u64", a, &[What::Reg(a), constant(m.r.below(9) + 2), What::Reg(b)]));
    if m.r.percent(40) {
        body.push(inst("shf.l.wrap.b32", INDEX, &[What::Reg(THREAD), What::Reg(THREAD), constant(5)]));
        body.push(inst("mad.wide.u32", a, &[What::Reg(INDEX), constant(7), What::Reg(a)]));
    }
    body.push(Inst::new("st.global.b64", &[], &[to, What::Reg(a)]));
    let guard = Guard { reg: p, not: m.r.percent(50) };
    let branch = Stmt::If { guard, mask: None, then: vec![Stmt::Group(body)], otherwise: vec![] };
    Stmt::Fixed(vec![Stmt::Group(lines), branch])
}

/// Barriers that some threads arrive at without waiting. Nobody waits there for anything else: those who have arrived may come to the
/// next barrier before the others have come to this one.
const ARRIVALS: [usize; 4] = [12, 13, 14, 15];

/// A barrier for all threads of the CTA, in one of its spellings.
pub fn barrier(m: &mut Maker<'_>, k: &Shape) -> Inst {
    let id = if m.r.percent(70) { 0 } else { m.r.below(ARRIVALS[0]) };
    // With a count exited threads are missed, so only where nobody exits; and it counts whole warps.
    let counts = !k.exits && k.threads().is_multiple_of(32) && id != 0 && m.r.percent(40);
    let places = [Some(constant(id)), counts.then(|| constant(k.threads()))].into_iter().flatten();
    if m.r.percent(20) {
        return reduction(m, places.collect());
    }
    let head = *m.r.pick(&["bar.sync", "bar.sync", "bar.cta.sync", "barrier.sync", "barrier.sync.aligned"]);
    Inst::new(head, &[], &places.collect::<Vec<_>>())
}

/// `bar.red`, where all are told for how many of them, for all or for any something holds.
pub fn reduction(m: &mut Maker<'_>, mut places: Vec<What>) -> Inst {
    let start = *m.r.pick(&["bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red"]);
    let (op, ty) = *m.r.pick(&[(".popc", ".u32"), (".and", ".pred"), (".or", ".pred")]);
    let aligned = if start.starts_with("barrier") && m.r.percent(30) { ".aligned" } else { "" };
    let d = m.reg(if ty == ".u32" { Bank::R } else { Bank::P });
    places.push(What::Reg(m.reg(Bank::P)));
    let mut inst = Inst::new(format!("{start}{op}{aligned}{ty}"), &[What::Reg(d)], &places);
    if let Some(c) = inst.operands.last_mut() {
        c.not = m.r.percent(40);
    }
    inst
}

/// Some warps store and go on, the others wait for them and read.
pub fn producers(m: &mut Maker<'_>, k: &Shape) -> Option<Stmt> {
    let warps = k.threads() / 32;
    if !k.threads().is_multiple_of(32) || warps < 2 || k.exits {
        return None;
    }
    let first = 1 + m.r.below(warps as usize - 1) as u32;
    let condition = Reg(Bank::G, 0);
    let decide = vec![inst("setp.lt.u32", condition, &[What::Reg(THREAD), constant(first * 32)])];
    let (value, result) = (m.reg(Bank::R), m.reg(Bank::R));
    let id = constant(m.r.pick(&ARRIVALS));
    let all = constant(k.threads());
    let produce = vec![
        Inst::new("st.shared.b32", &[], &[What::Address(SLOT, 0), What::Reg(value)]),
        Inst::new("bar.arrive", &[], &[id.clone(), all.clone()]),
    ];
    let r = m.reg(Bank::R);
    let consume = vec![
        Inst::new("bar.sync", &[], &[id, all]),
        inst("rem.u32", INDEX, &[What::Reg(r), constant(first * 32)]),
        inst("mov.u64", ADDRESS, &[What::Name("slots")]),
        inst("mad.wide.u32", ADDRESS, &[What::Reg(INDEX), constant(layout::SLOT), What::Reg(ADDRESS)]),
        inst("ld.shared.b32", result, &[What::Address(ADDRESS, 0)]),
    ];
    let [then, otherwise] = [produce, consume].map(|is| vec![Stmt::Group(is)]);
    let guard = Guard { reg: condition, not: false };
    // Nobody stores again before all have read.
    let last = Stmt::Inst(barrier(m, k));
    let branch = Stmt::If { guard, mask: None, then, otherwise };
    Some(Stmt::Fixed(vec![Stmt::Group(decide), branch, last]))
}

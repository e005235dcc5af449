//! Plants faults in a copy of the engines, one after the other, and lets `torture` look for each; writes what it found into
//! docs/torture.md.
//!
//!     cargo run -p hostwarp-torture --example faults [kernels] [directory for the copy] [ops | shapes | words of a fault or its file]…
//!
//! `ops` plants those that kernels of all instructions look for, `shapes` those in the analyses of control flow, which `--shapes` looks
//! for; words those whose description or file has them. What comes of each is written at once, with the day of the code; the lines of others stay. Without
//! a fault the same kernels must not fail.
//!
//! Takes some minutes: each fault is a build of its own. A run has [`LIMIT`]; what makes it hang is found only if the run itself says so
//! before.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The time a run may take.
const LIMIT: Duration = Duration::from_secs(300);

/// A fault: in `file` below crates/ the text `from`, which is there exactly once, becomes `to`.
struct Fault {
    what: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    Fault { what: "values that leave a loop at different turns count as uniform", file: "plan/src/shape.rs", from: "escapes[v.index()].iter().any(|(l, at)| control.comes_from(*l, *at))", to: "escapes[v.index()].iter().any(|(l, at)| false && control.comes_from(*l, *at))" },
    Fault { what: "a barrier lets warps through when one is still missing", file: "interp/src/cta.rs", from: "b.arrivals += new.count_ones();", to: "b.arrivals += new.count_ones() + u32::from(warp == 1);" },
    Fault { what: "in vector code lanes that are not running take the other way of a branch", file: "vector/src/lower/control.rs", from: "edges.push((no.clone(), self.int(IntBin::And, lanes, not)));", to: "edges.push((no.clone(), not));" },
    Fault { what: "in vector code lanes that leave a loop overwrite what others took out of it", file: "vector/src/lower/control.rs", from: "leaves_a_loop || sources", to: "sources" },
    Fault { what: "vector code of rows takes the row after next for the next", file: "vector/src/facts.rs", from: "Special::Tid(Axis::Y) => thread / x % y,", to: "Special::Tid(Axis::Y) => thread / x % y * 2," },
    Fault { what: "vector code goes on with all lanes where some have exited", file: "vector/src/lower/control.rs", from: " && !meets[b.index()]", to: "" },
    Fault { what: "vector code takes lanes that go both ways to go the first", file: "vector/src/lower/versions.rs", from: "self.is_same(lanes, started)", to: "self.is_same(started, started)" },
    Fault { what: "shuffles of vector code reach half of the warp", file: "jit/src/print.rs", from: "&args[1], &Text::constant(ints, 31)", to: "&args[1], &Text::constant(ints, 15)" },
    Fault { what: "an extended index counts as evenly spaced even where it wraps", file: "plan/src/shape.rs", from: "Affine { stride, by_row, .. } => affine(stride, true, by_row),", to: "Affine { stride, by_row, .. } => affine(stride, false, by_row)," },
    Fault { what: "what differs between lanes by a branch counts as uniform behind it", file: "plan/src/shape.rs", from: "if self.control.is_join(at, back) && self.mixed", to: "if false && self.control.is_join(at, back) && self.mixed" },
    Fault { what: "atomic minimum of signed words is unsigned", file: "jit/src/print/atomic_op.rs", from: "AtomicOp::MinS => \"min\"", to: "AtomicOp::MinS => \"umin\"" },
    Fault { what: "atomic decrement in shared memory does not start again", file: "jit/src/print/atomic_op.rs", from: "\"or\", one.with(Elem::I1), &none, &above", to: "\"and\", one.with(Elem::I1), &none, &above" },
    Fault { what: "the first lane beyond the end of a CTA runs", file: "jit/src/engine.rs", from: "launch.threads().saturating_sub(lane0).min(self.width)", to: "launch.threads().saturating_sub(lane0).saturating_add(1).min(self.width)" },
    Fault { what: "a signed comparison is unsigned", file: "jit/src/print/ops.rs", from: "IntCmp::LtS => \"icmp slt\"", to: "IntCmp::LtS => \"icmp ult\"" },
    Fault { what: "an affine value comes out of the frame wrong when the first lane is missing", file: "vector/src/lower.rs", from: "self.int(IntBin::Sub, there, offset)", to: "self.int(IntBin::Add, there, offset)" },
    Fault { what: "lanes that wait lose what others have in the frame", file: "jit/src/print.rs", from: "value = ops::select(&mut self.t, held_type, (mask, Type::I1), &value, &old, self.w);", to: "let _ = (mask, old);" },
    Fault { what: "the interpreter shifts signed words by the amount modulo their width", file: "interp/src/kernels/int.rs", from: "b.min(u::BITS as u - 1) as u32", to: "b as u32" },
    Fault { what: "what a row begins with is looked for in half of the row", file: "jit/src/print.rs", from: "let mut step = row / 2;", to: "let mut step = row / 4;" },
    Fault { what: "the interpreter takes over with what only first lanes have in the frame", file: "jit/src/engine.rs", from: "let at = Block(self.ctx.from);\n            self.fill_in(lane0, at);", to: "let at = Block(self.ctx.from);" },
    Fault { what: "a parameter that lanes bring to a barrier counts as there in the frame", file: "vector/src/lower/frame.rs", from: "saved.remove_all(&self.func.block(b).params);", to: "let _ = &mut saved;" },
    Fault { what: "what is in the frame in brief counts where lane 0 is missing", file: "vector/src/lower/saved.rs", from: "filter(|v| !(*partial && is_narrow(**v)))", to: "filter(|v| !(false && *partial && is_narrow(**v)))" },
    Fault { what: "a group that is all of its CTA counts on a frame it has not written", file: "vector/src/lower/control.rs", from: "saved::find(self.func, self.plan, &starts, !self.cta,", to: "saved::find(self.func, self.plan, &starts, true," },
    Fault { what: "values that are folded lane by lane are those of the next lane", file: "vector/src/lower.rs", from: "values.into_iter().map(|v| v as i64).collect();
            known.wide", to: "values.into_iter().skip(1).chain([0]).map(|v| v as i64).collect();
            known.wide" },
    Fault { what: "dead code takes what only a side exit needs for dead", file: "vector/src/dce.rs", from: "None if !only_defines(&i.op) => work.push(i),", to: "None if !only_defines(&i.op) && !matches!(i.op, Op::FramePut(_)) => work.push(i)," },
    Fault { what: "in the interpreter lanes overwrite what others still need", file: "interp/src/columns.rs", from: "dst.free || !self.others ||", to: "true || dst.free || !self.others ||" },
    Fault { what: "the next CTA finds the first bytes of shared memory zero only", file: "jit/src/print/driver.rs", from: "%clear.more = icmp ult i64 %clear.to, {len}", to: "%clear.more = icmp ult i64 %clear.to, 8" },
    Fault { what: "what is computed from places of reshaped CTAs counts as computed from threads' numbers", file: "ir/src/reshape.rs", from: "if tid.wrapping_mul(self.n.into()) & mask == ctaid & mask {", to: "if tid.wrapping_mul(self.n.into()) & mask == ctaid & mask || tid == 0 {" },
    Fault { what: "threads beyond the end of a reshaped grid run", file: "ir/src/reshape.rs", from: "Term::Branch(there, Target::new(body), Target::new(end))", to: "Term::Branch(there, Target::new(body), Target::new(body))" },
    Fault { what: "kernels whose warps talk are reshaped", file: "ir/src/reshape.rs", from: "Op::Mma(_) | Op::Ballot | Op::ActiveMask | Op::Atomic(AtomicOp::System(_), _) => false,", to: "Op::Mma(_) | Op::Atomic(AtomicOp::System(_), _) => false," },
    Fault { what: "the end of a chain of f64 arithmetic is not looked at", file: "vector/src/lower/nans.rs", from: "self.unsettled.ends.insert(r, now);", to: "self.unsettled.covered.insert(r, now);" },
    Fault { what: "NaNs of f64 in some lanes only are those of the CPU", file: "vector/src/lower/nans.rs", from: "self.is_any(lanes)", to: "{ let all = self.all_lanes(); self.is_same(lanes, all) }" },
    Fault { what: "a load that is if-converted is done in all lanes", file: "ir/src/passes/if_convert.rs", from: "i.guard = Some(match i.guard {", to: "let _ = Some(match i.guard {" },
    Fault { what: "the number of the next CTA does not carry", file: "jit/src/print/driver.rs", from: "label %cta.begin, label %{carry}, !prof !0", to: "label %cta.begin, label %cta.begin, !prof !0" },
    Fault { what: "all groups of a CTA have the first one's thread numbers", file: "jit/src/print.rs", from: "if self.assume.one_dimensional => return \"%lane0\".into()", to: "if self.assume.one_dimensional => return \"0\".into()" },
    Fault { what: "CTAs that run as one write to the shared memory of the first", file: "interp/src/cta.rs", from: "match self.cta_of(warp).0 {", to: "match self.cta_of(warp).0 * 0 {" },
    Fault { what: "compiled code takes over what the interpreter has not written out", file: "jit/src/takeover.rs", from: "            settle(launch, cta);\n", to: "" },
    Fault { what: "compiled code takes over lanes that are out of step", file: "jit/src/engine.rs", from: "self.is_as_planned(cta, lane0, live, at, first)", to: "{ let _ = self.is_as_planned(cta, lane0, live, at, first); true }" },
    Fault { what: "groups that are narrower than planned count as one row", file: "plan/src/lib.rs", from: "rows: group / self.row().min(group), cta: None", to: "rows: 1, cta: None" },
    Fault { what: "lanes of a permuted row are counted from the other end", file: "vector/src/lower/memory.rs", from: "Form::Permuted(Arc::from(places))", to: "Form::Permuted(places.into_iter().rev().collect())" },
    Fault { what: "what is strided in its first lanes counts as strided", file: "vector/src/lower/memory.rs", from: "offsets.iter().zip(0..).all(|(o, l)| *o == l * size * i64::from(*s))", to: "offsets.iter().zip(0..).take(4).all(|(o, l)| *o == l * size * i64::from(*s))" },
    Fault { what: "pieces of a row are as long as those of which half is one place", file: "vector/src/lower/memory.rs", from: "if every(len, 0) && w / len > MOST_RUNS", to: "if every(len / 2, 0) && w / len > MOST_RUNS" },
    Fault { what: "pieces whose steps are longer count as rows", file: "vector/src/lower/memory.rs", from: "piece.windows(2).all(|p| p[1] - p[0] == step)", to: "piece.windows(2).all(|p| p[1] - p[0] >= step)" },
    Fault { what: "in runs of places the fourth and all behind it count as the third", file: "vector/src/lower/memory.rs", from: "then_some((run as u32, within as u32))", to: "then_some((run as u32, within.min(2) as u32))" },
    Fault { what: "of accesses that are checked at once only the first is", file: "vector/src/lower/memory.rs", from: "check.more = more;", to: "check.more = 0;" },
    Fault { what: "what is checked for some lanes counts for all", file: "vector/src/lower/memory.rs", from: "self.checked.insert((base, kind, i.guard), (first, last));", to: "self.checked.insert((base, kind, None), (first, last));" },
    Fault { what: "of accesses at known distances only the first lane's alignment is looked at", file: "vector/src/lower/memory.rs", from: "false if offsets.iter().any(|o| o % size != 0) =>", to: "false if offsets[0] % size != 0 =>" },
    Fault { what: "rows that are found while running begin at the place of their lowest lane", file: "vector/src/lower/segments.rs", from: "self.set(first, origin);", to: "self.set(first, there);" },
    Fault { what: "what and leaves of a lane's number is all of it", file: "vector/src/facts.rs", from: "IntBin::And => lane(a, l) & lane(b, l),", to: "IntBin::And => lane(a, l) | lane(b, l)," },
    Fault { what: "accesses of all lengths share a window", file: "vector/src/lower/windows.rs", from: "self.windows.of.entry((len, align, root))", to: "self.windows.of.entry((0, 0, root))" },
    Fault { what: "rows longer than a group need not be multiples of it", file: "plan/src/lib.rs", from: "group != 0 && block[0].is_multiple_of(group);", to: "group != 0 && block[0] >= group;" },
    Fault { what: "in the interpreter what wraps is affine when it is extended", file: "interp/src/shape.rs", from: "a.range(extents, false, wide)?;", to: "let _ = a.range(extents, false, wide);" },
    Fault { what: "the CTA behind one that yields first is never begun", file: "hostwarp/src/schedule.rs", from: "mine.start += u64::from(cta.count());", to: "mine.start += u64::from(cta.count()) + u64::from(mine.start == 1);" },
];

/// Faults in uniformity, reconvergence, liveness and the passes that both engines share, which kernels of arbitrary control flow look for: these have a
/// simulator to be compared with.
#[rustfmt::skip]
const SHAPES: &[Fault] = &[
    Fault { what: "passes: if-conversion selects the other side", file: "ir/src/passes/if_convert.rs", from: "args: smallvec![c, a, b]", to: "args: smallvec![c, b, a]" },
    Fault { what: "passes: an or of what may share bits is a sum", file: "ir/src/passes/known_bits.rs", from: "&& !zero[x.index()] & !zero[y.index()] == 0", to: "&& !zero[x.index()] & !zero[y.index()] & !6 == 0" },
    Fault { what: "passes: a pointer that is split does not move", file: "ir/src/passes/induction.rs", from: "let handed = if *back { moved } else { zero };", to: "let handed = if *back { zero } else { zero };" },
    Fault { what: "passes: value numbering takes differences to commute", file: "ir/src/passes/gvn.rs", from: "Op::Int(Add | Mul |", to: "Op::Int(Sub | Add | Mul |" },
    Fault { what: "passes: threading of guards exits where the comparison fails", file: "ir/src/passes/guards.rs", from: "true => Term::Branch(*leaf, exit.clone(), next),", to: "true => Term::Branch(*leaf, next, exit.clone())," },
    Fault { what: "passes: folding takes a predicate for its negation", file: "ir/src/passes/fold.rs", from: "if is_one == wanted { Same(c) }", to: "if is_one != wanted { Same(c) }" },
    Fault { what: "passes: value numbering takes loads of what is written for equal", file: "ir/src/passes/gvn.rs", from: "matches!(i.op, Op::Load(m) if unwritten(m))", to: "matches!(i.op, Op::Load(m) if unwritten(m) || m.space != Space::Param)" },
    Fault { what: "passes: a local variable that is promoted changes where the guard is off", file: "ir/src/passes/promote.rs", from: "value = b.select(guard, value, old);", to: "value = b.select(guard, old, value);" },
    Fault { what: "calls: half of what lives across a call is not stored", file: "ir/src/calls/outline.rs", from: "if let Some(n) = slot.get(&r) {", to: "if let Some(n) = slot.get(&r).filter(|n| **n % 2 == 0) {" },
    Fault { what: "calls: a call returns behind the call before it", file: "ir/src/calls/outline.rs", from: "position(|s| s.next == call.next.block).unwrap_or(0)", to: "position(|s| s.next == call.next.block).unwrap_or(0).saturating_sub(1)" },
    Fault { what: "uniformity: what lanes take out of a loop at different iterations is uniform", file: "plan/src/shape.rs", from: "escapes[v.index()].iter().any(|(l, at)| control.comes_from(*l, *at))", to: "escapes[v.index()].iter().any(|(l, at)| false && control.comes_from(*l, *at))" },
    Fault { what: "uniformity: where divergent paths join parameters are uniform", file: "plan/src/shape.rs", from: "if self.control.is_join(at, back) && self.mixed", to: "if false && self.control.is_join(at, back) && self.mixed" },
    Fault { what: "uniformity: a switch does not diverge", file: "plan/src/shape.rs", from: "!same(*v) && term.only().is_none()", to: "!same(*v) && term.only().is_none() && !matches!(term, Term::Switch(..))" },
    Fault { what: "uniformity: a loop that lanes leave by different exits is left by all at once", file: "plan/src/shape.rs", from: "map(|l| a.control.is_split(l))", to: "map(|l| a.control.is_split(l) && l > loops.len())" },
    Fault { what: "reconvergence: lanes that come to a block replace those that wait there", file: "vector/src/lower/control.rs", from: "let all = self.int(IntBin::Or, old, lanes);", to: "let all = self.int(IntBin::Or, lanes, lanes);
        let _ = old;" },
    Fault { what: "reconvergence: a loop ends though lanes wait for its next iteration", file: "vector/src/lower/control.rs", from: "yes: again, no: on, likely: false", to: "yes: on, no: on, likely: false" },
    Fault { what: "reconvergence: in the interpreter the first lane is lost where others wait", file: "interp/src/exec.rs", from: "for (m, new) in g.masks.iter_mut().zip(masks) {\n                *m |= new;", to: "for (m, new) in g.masks.iter_mut().zip(masks) {\n                *m |= new & !1;" },
    Fault { what: "reconvergence: in the interpreter a switch takes lanes behind the first of its warp along", file: "interp/src/exec.rs", from: "u32::from(to[w][l] == target) << l", to: "u32::from(to[w][l] >= target) << l" },
    Fault { what: "liveness: values are not alive round a back edge", file: "ir/src/analysis/liveness.rs", from: "if from != home {\n                        work.push(from);", to: "if from != home && from < b {\n                        work.push(from);" },
    Fault { what: "liveness: variables are not alive round a back edge", file: "ir/src/ssa.rs", from: ".filter(|from| !written(from))", to: ".filter(|from| !written(from) && **from < b)" },
    Fault { what: "liveness: a value is computed in the slot of a parameter that is needed still", file: "plan/src/frame.rs", from: "&& self.and_copies(*p).all(|v| !self.live.is_live_out(*b, v))", to: "" },
    Fault { what: "liveness: a value is computed in the slot of a parameter that is handed on", file: "plan/src/frame.rs", from: "last.get(p).is_none_or(|last| last <= at)", to: "last.get(p).is_none_or(|last| *last == usize::MAX || last <= at)" },
    Fault { what: "liveness: a value is computed in the slot of a parameter and needed when that has another", file: "plan/src/frame.rs", from: "&& self.are_apart(*b, a, *p)", to: "" },
    Fault { what: "liveness: two values that are needed at once are computed in the slot of one parameter", file: "plan/src/frame.rs", from: ".all(|(other, home)| {", to: ".all(|(other, home)| true || {" },
    Fault { what: "liveness: of a parameter's copies nobody looks whether they are needed still", file: "plan/src/frame.rs", from: "std::iter::once(v).chain(self.copies.get(&v).into_iter().flatten().copied())", to: "std::iter::once(v)" },
    Fault { what: "liveness: in a block a slot is free when its value is used first", file: "plan/src/frame.rs", from: "last_use[&a] == n, self", to: "last_use[&a] >= n, self" },
    Fault { what: "liveness: a slot is free in the block where its value ends", file: "plan/src/frame.rs", from: "*last < from", to: "*last <= from" },
    Fault { what: "liveness: what lanes need behind a loop that others are in is not kept for them", file: "vector/src/lower.rs", from: "outlives[v.index()] = true;", to: "outlives[v.index()] = false;" },
    Fault { what: "liveness: in the interpreter lanes at other blocks need nothing", file: "interp/src/exec.rs", from: "unite(&mut self.needed, &self.code.blocks[g.block as usize].needs);", to: "let _ = g;" },
];

impl Fault {
    /// The sources below `crates` with the fault in them.
    fn plant(&self, crates: &Path) -> Result<(PathBuf, String), String> {
        let path = crates.join(self.file);
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        match text.matches(self.from).count() {
            1 => Ok((path, text.replace(self.from, self.to))),
            n => Err(format!("{}: `{}` is {n} times in {}", self.what, self.from, self.file)),
        }
    }
}

/// How a fault was found, in the code of that day.
struct Fate<'a> {
    fault: &'a Fault,
    found: Option<(u64, String)>,
    day: &'a str,
}

fn main() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kernels = std::env::args().nth(1).unwrap_or_else(|| "400".into());
    let copy = std::env::args().nth(2).map_or_else(
        || std::env::temp_dir().join(format!("hostwarp-faults-{}", std::process::id())),
        PathBuf::from,
    );
    for part in ["crates", "bench", "conformance/oracle", "xtask", "Cargo.toml", "Cargo.lock"] {
        copy_tree(&root.join(part), &copy.join(part)).map_err(|e| format!("{part}: {e}"))?;
    }
    for fault in FAULTS.iter().chain(SHAPES) {
        fault.plant(&copy.join("crates"))?;
    }
    let words: Vec<String> = std::env::args().skip(3).collect();
    let code = Command::new("git").args(["show", "-s", "--format=%cs"]).current_dir(&root).output();
    let day = code.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_string()).unwrap_or_default();
    let mut missed = 0;
    for (list, faults, modes) in
        [("ops", FAULTS, &[&[][..], &["--wide"][..]][..]), ("shapes", SHAPES, &[&["--shapes"]])]
    {
        let has =
            |f: &Fault, word: &String| word == list || f.what.contains(&**word) || f.file.contains(&**word);
        let wanted = |f: &&Fault| words.is_empty() || words.iter().any(|word| has(f, word));
        let wanted: Vec<&Fault> = faults.iter().filter(wanted).collect();
        if wanted.is_empty() {
            continue;
        }
        if let Some((seed, how)) = look(&copy, &kernels, modes)? {
            return Err(format!("kernel {seed} fails without a planted fault: {how}"));
        }
        for fault in wanted {
            let found = plant(fault, &copy, &kernels, modes)?;
            missed += usize::from(found.is_none());
            write_row(&root.join("docs/torture.md"), list, faults, &Fate { fault, found, day: &day })?;
        }
    }
    match missed {
        0 => Ok(()),
        n => Err(format!("{n} faults were not found")),
    }
}

/// Plants a fault, and looks for it with these kinds of kernels.
fn plant(
    fault: &Fault,
    copy: &Path,
    kernels: &str,
    modes: &[&[&str]],
) -> Result<Option<(u64, String)>, String> {
    let (path, faulty) = fault.plant(&copy.join("crates"))?;
    let original = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
    std::fs::write(&path, faulty).map_err(|e| e.to_string())?;
    let found = look(copy, kernels, modes);
    std::fs::write(&path, original).map_err(|e| e.to_string())?;
    let found = found.map_err(|e| format!("{}: {e}", fault.what))?;
    match &found {
        Some((seed, how)) => println!("{}: kernel {seed}: {how}", fault.what),
        None => println!("{}: NOT FOUND in {kernels} kernels", fault.what),
    }
    Ok(found)
}

/// Builds the copy and runs it until something fails: the number of that kernel, and how it failed. All kernels of one kind come before those of the next.
fn look(copy: &Path, kernels: &str, modes: &[&[&str]]) -> Result<Option<(u64, String)>, String> {
    let cargo = || {
        let mut c = Command::new(env!("CARGO"));
        c.env("CARGO_TARGET_DIR", copy.join("target")).current_dir(copy);
        c
    };
    let built = cargo()
        .args(["build", "--quiet", "--offline", "-p", "hostwarp-torture", "--bin", "torture"])
        .output()
        .map_err(|e| e.to_string())?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into_owned());
    }
    for mode in modes {
        if let Some(found) = run(copy, kernels, mode)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn run(copy: &Path, kernels: &str, more: &[&str]) -> Result<Option<(u64, String)>, String> {
    let mut child = Command::new(copy.join("target/debug/torture"))
        .args(["--kernels", kernels, "--seed", "0", "--failures", "1", "--no-reduce", "--quick-jit"])
        .args(more)
        // One process, that says which kernels it begins and ends.
        .env("HOSTWARP_TORTURE_CHILD", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let (to, lines) = channel();
    let out = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    let reader = std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|l| to.send(l)));
    let (end, mut under_way) = (Instant::now() + LIMIT, vec![]);
    let found = loop {
        let line = match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => {
                eprintln!(
                    "nothing was reported in {} s; kernels {under_way:?} were under way",
                    LIMIT.as_secs()
                );
                break None;
            }
        };
        let number = |prefix: &str| line.strip_prefix(prefix).and_then(|n| n.parse::<u64>().ok());
        if let Some(seed) = number("begin ") {
            under_way.push(seed);
        } else if let Some(seed) = number("end ") {
            under_way.retain(|s| *s != seed);
        } else if let Some((seed, how)) = line.strip_prefix("seed ").and_then(|l| l.split_once(": ")) {
            break Some((seed.parse().unwrap_or(0), how.to_string()));
        }
    };
    // Where it has ended this does nothing.
    let _ = child.kill();
    let status = child.wait().map_err(|e| e.to_string())?;
    drop(lines);
    let _ = reader.join();
    // A crash is a find too.
    let crashed = found.is_none() && status.code().is_none() && Instant::now() < end;
    Ok(if crashed { Some((under_way.first().copied().unwrap_or(0), status.to_string())) } else { found })
}

/// Puts the line of a fault into the table of its list, in place of the one it had.
fn write_row(path: &Path, list: &str, faults: &[Fault], fate: &Fate) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    std::fs::write(path, with_row(&text, list, faults, fate)?).map_err(|e| format!("{}: {e}", path.display()))
}

fn with_row(text: &str, list: &str, faults: &[Fault], fate: &Fate) -> Result<String, String> {
    let begin =
        format!("<!-- faults in {list}: written by `cargo run -p hostwarp-torture --example faults` -->\n");
    let end = format!("<!-- end of faults in {list} -->\n");
    let (before, rest) = text.split_once(&begin).ok_or("docs/torture.md has no place for the table")?;
    let (old, after) = rest.split_once(&end).ok_or("docs/torture.md has no end of the table")?;
    let mut table =
        String::from("| planted fault | in | found at kernel | seen as | code of |\n|---|---|---|---|---|\n");
    for fault in faults {
        let Fault { what, file, .. } = fault;
        let (kernel, how) = match &fate.found {
            Some((seed, how)) => (seed.to_string(), how.clone()),
            None => ("not found".into(), String::new()),
        };
        // What differs is enough; where is the kernel's business.
        let how = how.split([';', '\n']).next().unwrap_or("").replace('|', "\\|");
        let new = format!("| {what} | `{file}` | {kernel} | {how} | {} |", fate.day);
        let old = old.lines().find(|l| l.starts_with(&format!("| {what} | ")));
        let not_run = || format!("| {what} | `{file}` | not run yet | | |");
        let row = if fault.what == fate.fault.what { Some(new) } else { old.map(str::to_string) };
        table += &format!("{}\n", row.unwrap_or_else(not_run));
    }
    Ok(format!("{before}{begin}{table}{end}{after}"))
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_file() {
        std::fs::create_dir_all(to.parent().unwrap_or(to))?;
        return std::fs::copy(from, to).map(|_| ());
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() != "target" {
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_can_be_planted() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let wrong: Vec<String> = FAULTS.iter().chain(SHAPES).filter_map(|f| f.plant(&crates).err()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_line_is_replaced_and_others_stay() {
        let fault = |what| Fault { what, file: "f.rs", from: "", to: "" };
        let faults = [fault("a"), fault("b"), fault("c")];
        let mark = |what| format!("<!-- {what} -->\n");
        let begin = mark("faults in ops: written by `cargo run -p hostwarp-torture --example faults`");
        let text = format!(
            "x\n{begin}head\n| b | `f.rs` | 1 | old | day |\n| gone | |\n{}y\n",
            mark("end of faults in ops")
        );
        let found = |n, how: &str| Some((n, how.to_string()));
        let text =
            with_row(&text, "ops", &faults, &Fate { fault: &faults[0], found: found(7, "p|q; r"), day: "D" });
        let text =
            with_row(&text.unwrap(), "ops", &faults, &Fate { fault: &faults[2], found: None, day: "D" });
        let text = text.unwrap();
        let rows: Vec<&str> = text.lines().filter(|l| l.starts_with("| ")).skip(1).collect();
        let want = [
            "| a | `f.rs` | 7 | p\\|q | D |",
            "| b | `f.rs` | 1 | old | day |",
            "| c | `f.rs` | not found |  | D |",
        ];
        assert_eq!(rows, want);
        assert!(text.starts_with("x\n<!--") && text.ends_with("-->\ny\n"));
    }
}

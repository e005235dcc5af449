//! `mutants [DIR [FAULT…]]`, in the root of the repository: puts faults into the meanings, one per instruction and round, and replays a sample of the
//! recordings. Every fault must be caught under its instruction's name. Writes what became of them into conformance/results.json.
//!
//! Works on a copy of the workspace in DIR (a new directory under the system's temporary one unless given), which is built anew for each round. With parts of
//! the names of faults only those are tried, and what is known of the others is kept.
use hostwarp_conformance::docs::{Mutant, Results};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fault: in `file` below crates/isa/src the text `from`, which is there exactly once, becomes `to`.
struct Fault {
    what: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    /// The instructions it can be seen in. The first must catch it.
    seen_in: &'static [&'static str],
}

const SCALAR: &[&str] = &["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"];
#[rustfmt::skip]
const SIMD: &[&str] = &[
    "vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4", "vset4", "vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2", "vset2",
];

/// What works on slots in memory. The first catches.
#[rustfmt::skip]
const MEMORY: &[&str] = &[
    "st", "ld", "atom", "red", "cvta", "fence", "membar", "nanosleep", "pmevent", "prefetch", "prefetchu", "applypriority", "discard", "call",
];

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    Fault { what: "`add.sat` saturates as unsigned", file: "arith/add.rs", from: "IntBin::AddSatS], float::add", to: "IntBin::AddSatU], float::add", seen_in: &["add"] },
    Fault { what: "`sub.sat` adds", file: "arith/add.rs", from: "IntBin::SubSatS], float::sub", to: "IntBin::AddSatS], float::sub", seen_in: &["sub"] },
    Fault { what: "float `sub` adds", file: "float/arith.rs", from: "two_operands(cx, FBin::Sub)", to: "two_operands(cx, FBin::Add)", seen_in: &["sub"] },
    Fault { what: "`mul.hi` of signed operands is unsigned", file: "arith/mul.rs", from: "cx.b.int(IntBin::MulHiS, a, b)", to: "cx.b.int(IntBin::MulHiU, a, b)", seen_in: &["mul", "mad"] },
    Fault { what: "`mad.hi.sat` wraps", file: "arith/mul.rs", from: "{ IntBin::AddSatS } else", to: "{ IntBin::Add } else", seen_in: &["mad"] },
    Fault { what: "`abs` negates", file: "arith/sign.rs", from: "IntUn::Abs, float::abs", to: "IntUn::Neg, float::abs", seen_in: &["abs"] },
    Fault { what: "`neg.f64` subtracts from +0", file: "float/arith.rs", from: "let zero = cx.b.fconst(Type::F64, 1 << 63);\n        cx.b.float(FBin::Sub", to: "let zero = cx.b.fconst(Type::F64, 0);\n        cx.b.float(FBin::Sub", seen_in: &["neg"] },
    Fault { what: "`min` mixes up signed and unsigned", file: "arith/minmax.rs", from: "IntBin::MinS, IntBin::MinU, float::min", to: "IntBin::MinU, IntBin::MinS, float::min", seen_in: &["min"] },
    Fault { what: "`max.NaN` ignores NaN", file: "float/arith.rs", from: "Op::FMax { nan: cx.has(\".NaN\") }", to: "Op::FMax { nan: false }", seen_in: &["max"] },
    Fault { what: "B1 is not followed", file: "integer/field.rs", from: "if cx.departs(&WHOLE_PLACES) { v }", to: "if false && cx.departs(&WHOLE_PLACES) { v }", seen_in: &["bfe", "bfi"] },
    Fault { what: "`sad` of signed operands is unsigned", file: "integer/sad.rs", from: "{ IntBin::AbsDiffS } else", to: "{ IntBin::AbsDiffU } else", seen_in: &["sad"] },
    Fault { what: "`rem` of signed operands is unsigned", file: "integer/rem.rs", from: "{ IntBin::RemS } else", to: "{ IntBin::RemU } else", seen_in: &["rem"] },
    Fault { what: "float `div` multiplies", file: "arith/div.rs", from: "FBin::Div, round", to: "FBin::Mul, round", seen_in: &["div"] },
    Fault { what: "the square in the approximate reciprocal is short of a bit more", file: "float/approx.rs", from: "for i in 2..9 {", to: "for i in 2..8 {", seen_in: &["div", "rcp", "rsqrt", "lg2"] },
    Fault { what: "`dp4a` of mixed signs is unsigned", file: "integer/dot.rs", from: "ta.is_signed() || tb.is_signed()", to: "ta.is_signed() && tb.is_signed()", seen_in: &["dp4a", "dp2a"] },
    Fault { what: "`dp2a` mixes up `.lo` and `.hi`", file: "integer/dot.rs", from: "{ 2 } else { 0 }", to: "{ 0 } else { 2 }", seen_in: &["dp2a"] },
    Fault { what: "`bfind` counts from 1", file: "integer/bits.rs", from: "const_like(zeros, width - 1)", to: "const_like(zeros, width)", seen_in: &["bfind"] },
    Fault { what: "`slct` takes `b` for 0", file: "compare/slct.rs", from: "IntCmp::LeS, zero, c", to: "IntCmp::LtS, zero, c", seen_in: &["slct"] },
    Fault { what: "`prmt.ecr` repeats the wrong byte", file: "data/prmt.rs", from: "[0x0000, 0x1110", to: "[0x0000, 0x1100", seen_in: &["prmt"] },
    Fault { what: "`cnot` is 0 for 0", file: "logic/more.rs", from: "cx.b.cmp_imm(IntCmp::Eq, a, 0)", to: "cx.b.cmp_imm(IntCmp::Ne, a, 0)", seen_in: &["cnot"] },
    Fault { what: "`shf` copies the sign of `a`", file: "logic/more.rs", from: "cx.b.int(IntBin::ShrU, a, down)", to: "cx.b.int(IntBin::ShrS, a, down)", seen_in: &["shf"] },
    Fault { what: "`or` is exclusive", file: "logic/bitwise.rs", from: "\"or\" => IntBin::Or", to: "\"or\" => IntBin::Xor", seen_in: &["or"] },
    Fault { what: "`not` does nothing", file: "logic/bitwise.rs", from: "let d = cx.b.not(a);", to: "let d = a;", seen_in: &["not"] },
    Fault { what: "16-bit shifts clamp at 15", file: "logic/shift.rs", from: "IntBin::MinU, b, 16", to: "IntBin::MinU, b, 15", seen_in: &["shl", "shr"] },
    Fault { what: "`selp` swaps its operands", file: "compare/selp.rs", from: "cx.b.select(c, a, b)", to: "cx.b.select(c, b, a)", seen_in: &["selp", "setp", "and", "or", "xor", "not", "vote", "isspacep", "lop3", "shfl", "match", "elect", "mov", "addc", "subc", "madc"] },
    Fault { what: "`setp.gt` is `ge`", file: "compare/setp.rs", from: "\".gt\" | \".hi\" => (lt, b, a)", to: "\".gt\" | \".hi\" => (le, b, a)", seen_in: &["setp", "set"] },
    Fault { what: "`setp.leu` is `ltu`", file: "float/arith.rs", from: "FCmp::Leu", to: "FCmp::Ltu", seen_in: &["setp", "set"] },
    Fault { what: "`cvt.sat` of signed integers clamps at 0", file: "cvt/integer.rs", from: "IntBin::MaxS, a, !highest", to: "IntBin::MaxS, a, 0", seen_in: &["cvt"] },
    Fault { what: "`cvt.ftz.f16.f32` flushes its operand", file: "cvt/float.rs", from: "from == Ty::F32 && to != Ty::F16", to: "from == Ty::F32", seen_in: &["cvt"] },
    Fault { what: "NaN to a 64-bit integer is 0", file: "cvt/float.rs", from: "if from == Ty::F64 || to.bits() == 64 {", to: "if from == Ty::F64 {", seen_in: &["cvt"] },
    Fault { what: "the out-of-bounds NaN is 0x7ff6", file: "float/fma.rs", from: "IntCmp::Eq, magnitude, 0x7ff7", to: "IntCmp::Eq, magnitude, 0x7ff6", seen_in: &["fma"] },
    Fault { what: "`fma` ignores its rounding", file: "float/fma.rs", from: "rounding(cx.get(\".rnd4\"))", to: "rounding(None)", seen_in: &["fma"] },
    Fault { what: "`.relu` makes NaN 0", file: "float/mod.rs", from: "FCmp::Gtu, v, zero", to: "FCmp::Gt, v, zero", seen_in: &["fma", "cvt"] },
    Fault { what: "`.sat` of floats clamps at 0.5", file: "float/mod.rs", from: "Elem::F32 => 0x3f80_0000", to: "Elem::F32 => 0x3f00_0000", seen_in: &["mul", "add", "sub", "mad", "fma", "cvt"] },
    Fault { what: "bytes are always zero-extended", file: "video/mod.rs", from: "cx.b.ext(piece, Elem::I64, ty.is_signed())", to: "cx.b.ext(piece, Elem::I64, ty.is_signed() && selector.is_none())", seen_in: &["vsub", "vadd", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset", "vmad"] },
    Fault { what: "scalar `vabsdiff` loses its sign the wrong way", file: "video/scalar.rs", from: "cx.b.int_un(IntUn::Abs, difference)", to: "cx.b.int_un(IntUn::Neg, difference)", seen_in: &["vabsdiff"] },
    Fault { what: "scalar `vmin` is unsigned", file: "video/scalar.rs", from: "\"vmin\" => cx.b.int(IntBin::MinS, ta, tb)", to: "\"vmin\" => cx.b.int(IntBin::MinU, ta, tb)", seen_in: &["vmin"] },
    Fault { what: "`vshl.clamp` clamps at 31", file: "video/scalar.rs", from: "IntBin::MinU, tb, 32", to: "IntBin::MinU, tb, 31", seen_in: &["vshl", "vshr"] },
    Fault { what: "`vset.ge` is `gt`", file: "video/scalar.rs", from: "_ => (IntCmp::LeS, b, a)", to: "_ => (IntCmp::LtS, b, a)", seen_in: &["vset", "vset2", "vset4"] },
    Fault { what: "R1 is not followed", file: "video/scalar.rs", from: "signed(cx) || cx.departs(&SET_COMPARES_BY_ATYPE)", to: "signed(cx)", seen_in: &["vset"] },
    Fault { what: "R2 keeps 33 bits", file: "video/scalar.rs", from: "sext_from(cx, tmp, 32)", to: "sext_from(cx, tmp, 33)", seen_in: &["vadd", "vsub"] },
    Fault { what: "R3 does not sign-extend", file: "video/scalar.rs", from: "sext_from(cx, clamped, 32)", to: "sext_from(cx, clamped, 33)", seen_in: &["vshl", "vshr"] },
    Fault { what: "R4 clamps as signed", file: "video/scalar.rs", from: "IntBin::MinU, tmp, high as u64", to: "IntBin::MinS, tmp, high as u64", seen_in: &["vmin", "vadd", "vsub", "vabsdiff", "vmax"] },
    Fault { what: "R5 does not clamp below", file: "video/scalar.rs", from: "IntBin::MaxS, tmp, 0", to: "IntBin::MaxS, tmp, 1 << 63", seen_in: &["vsub", "vadd", "vabsdiff"] },
    Fault { what: "R6 takes the signed minimum", file: "video/scalar.rs", from: "if unsigned => IntBin::MinU", to: "if unsigned => IntBin::MinS", seen_in: SCALAR },
    Fault { what: "R7 is not followed", file: "video/scalar.rs", from: "} else if cx.departs(&ALL_BITS) {", to: "} else if false && cx.departs(&ALL_BITS) {", seen_in: &["vshl", "vabsdiff"] },
    Fault { what: "a merge takes the wrong part", file: "video/scalar.rs", from: "if i == index { piece }", to: "if i == ty.count - 1 - index { piece }", seen_in: SCALAR },
    Fault { what: "`vmad` forgets the 1 of a negated `c`", file: "video/vmad.rs", from: "|| negate_product || cx.neg(\"c\");\n    let c = if lsb", to: "|| negate_product;\n    let c = if lsb", seen_in: &["vmad"] },
    Fault { what: "`vmad.shr15` shifts by 16", file: "video/vmad.rs", from: "Some(_) => 15", to: "Some(_) => 16", seen_in: &["vmad"] },
    Fault { what: "V1 is not followed", file: "video/vmad.rs", from: "cx.selector(name).is_none() && cx.departs(&WORDS_ARE_SIGNED)", to: "false", seen_in: &["vmad"] },
    Fault { what: "V2 is not followed", file: "video/vmad.rs", from: "signed_final || cx.departs(&C_IS_SIGNED)", to: "signed_final", seen_in: &["vmad"] },
    Fault { what: "V3 clamps at 1", file: "video/vmad.rs", from: "clamp(cx, result, 0, i64::from(u32::MAX))", to: "clamp(cx, result, 1, i64::from(u32::MAX))", seen_in: &["vmad"] },
    Fault { what: "`vavrg` rounds down", file: "video/simd.rs", from: "IntBin::Add, sum, 1", to: "IntBin::Add, sum, 0", seen_in: &["vavrg4", "vavrg2"] },
    Fault { what: "sums of `vabsdiff` are signed", file: "video/simd.rs", from: "IntBin::AbsDiffU), false)", to: "IntBin::AbsDiffU), true)", seen_in: &["vabsdiff4", "vabsdiff2"] },
    Fault { what: "`vadd` of unsigned elements saturates as signed", file: "video/simd.rs", from: "by_sign(IntBin::AddSatS, IntBin::AddSatU)", to: "by_sign(IntBin::AddSatS, IntBin::AddSatS)", seen_in: &["vadd2", "vadd4"] },
    Fault { what: "masks are read backwards", file: "video/simd.rs", from: "(b'0' + i)", to: "(b'0' + n - 1 - i)", seen_in: SIMD },
    Fault { what: "selectors are read backwards", file: "video/simd.rs", from: "[1 + n - i]", to: "[2 + i]", seen_in: SIMD },
    Fault { what: "`mov` unpacks from the top", file: "data/mov.rs", from: "(0..n as u8).map(|i| cx.b.extract(parts, i))", to: "(0..n as u8).rev().map(|i| cx.b.extract(parts, i))", seen_in: &["mov"] },
    Fault { what: "`lop3` looks up `c`, `b`, `a`", file: "logic/more.rs", from: "look_up(cx, table, [a, b, c])", to: "look_up(cx, table, [c, b, a])", seen_in: &["lop3"] },
    Fault { what: "`ld.const` reads parameters", file: "data/mod.rs", from: "\".const\" => Space::Const", to: "\".const\" => Space::Param", seen_in: &["ld", "cvta", "isspacep"] },
    Fault { what: "`st` stores vectors backwards", file: "data/st.rs", from: "let (address, elements) = (cx.src(\"a\"), cx.elements(\"b\"));", to: "let (address, mut elements) = (cx.src(\"a\"), cx.elements(\"b\"));\n    elements.reverse();", seen_in: MEMORY },
    Fault { what: "`cvta.to` adds", file: "data/cvta.rs", from: "if cx.has(\".to\") { IntBin::Sub }", to: "if cx.has(\".to\") { IntBin::Add }", seen_in: &["cvta"] },
    Fault { what: "parameters are not global", file: "data/isspacep.rs", from: "IntCmp::LeU, windows, number", to: "IntCmp::LtU, windows, number", seen_in: &["isspacep"] },
    Fault { what: "`atom.inc` does not start again", file: "atomic/ops.rs", from: "(\".inc\", _) => AtomicOp::Inc", to: "(\".inc\", _) => AtomicOp::Add", seen_in: &["atom", "red"] },
    Fault { what: "`atom.add.f32` flushes in shared memory", file: "atomic/ops.rs", from: "Space::Shared => add(cx, false, guard)", to: "Space::Shared => add(cx, true, guard)", seen_in: &["atom", "red"] },
    Fault { what: "`atom.min` of half precision takes NaN", file: "atomic/ops.rs", from: "Op::FMin { nan: false }", to: "Op::FMin { nan: true }", seen_in: &["atom", "red"] },
    Fault { what: "`red.and` is `or`", file: "atomic/ops.rs", from: "(\".and\", _) => AtomicOp::And", to: "(\".and\", _) => AtomicOp::Or", seen_in: &["red", "atom"] },
    Fault { what: "`shfl.up` goes down", file: "warp/shfl.rs", from: "Some(\".up\") => cx.b.sub(lane, bval)", to: "Some(\".up\") => cx.b.add(lane, bval)", seen_in: &["shfl"] },
    Fault { what: "`vote.any` is none", file: "warp/vote.rs", from: "Some(\".any\") => cx.b.cmp_imm(IntCmp::Ne, yes, 0)", to: "Some(\".any\") => cx.b.cmp_imm(IntCmp::Eq, yes, 0)", seen_in: &["vote"] },
    Fault { what: "`match` finds the others", file: "warp/redux.rs", from: "cx.b.select(mine, ballot, opposite)", to: "cx.b.select(mine, opposite, ballot)", seen_in: &["match"] },
    Fault { what: "`redux.min.s32` is unsigned", file: "warp/redux.rs", from: "if signed { 1 << 31 }", to: "if signed && max { 1 << 31 }", seen_in: &["redux"] },
    Fault { what: "`elect` counts from 1", file: "warp/redux.rs", from: "cx.b.int_imm(IntBin::Sub, members, 1)", to: "cx.b.int_imm(IntBin::Sub, members, 2)", seen_in: &["elect"] },
    Fault { what: "`activemask` does not look at its guard", file: "warp/activemask.rs", from: "Some(g) => cx.b.inst(Op::Ballot, &[g], Type::I32)", to: "Some(_) => cx.b.inst(Op::ActiveMask, &[], Type::I32)", seen_in: &["activemask"] },
    Fault { what: "barriers do not wait", file: "control/barrier.rs", from: "    cx.end(behind, Term::Barrier { kind, id, count, next });", to: "    let _ = (kind, id, count);\n    cx.end(behind, Term::Jump(next));", seen_in: &["bar", "barrier"] },
    Fault { what: "a guarded branch goes the other way", file: "meaning.rs", from: "Term::Branch(g, t.clone(), Target::new(next))", to: "Term::Branch(g, Target::new(next), t.clone())", seen_in: &["bra", "brx", "call", "exit", "ret", "bar", "barrier"] },
    Fault { what: "`ret` in a function ends the thread", file: "control/branch.rs", from: "cx.caller.map_or(Term::Exit, |to| Term::Jump(Target::new(to)))", to: "cx.caller.map_or(Term::Exit, |_| Term::Exit)", seen_in: &["ret", "call", "exit"] },
    Fault { what: "`exit` does nothing", file: "control/branch.rs", from: "meaning: |cx| end(cx, Term::Exit),", to: "meaning: |_| Ok(()),", seen_in: &["exit"] },
    Fault { what: "`addc.cc` forgets one of two carries", file: "arith/carry.rs", from: "(sum, carry) = (with, cx.b.or(carry, more));", to: "(sum, carry) = (with, more);", seen_in: &["addc", "madc"] },
    Fault { what: "`subc` adds the borrow", file: "arith/carry.rs", from: "cx.b.int(IntBin::Sub, difference, one)", to: "cx.b.int(IntBin::Add, difference, one)", seen_in: &["subc"] },
    Fault { what: "a subtraction leaves its borrow", file: "arith/carry.rs", from: "let flag = cx.b.not(borrow);", to: "let flag = borrow;", seen_in: &["sub", "subc"] },
];

impl Fault {
    /// Puts the fault into the text of its file.
    fn plant(&self, text: &str) -> Result<String, String> {
        match text.matches(self.from).count() {
            1 => Ok(text.replace(self.from, self.to)),
            n => Err(format!("{}: `{}` is {n} times in {}", self.what, self.from, self.file)),
        }
    }
}

fn main() -> Result<(), String> {
    let root = std::env::current_dir().map_err(|e| e.to_string())?;
    let copy = std::env::args().nth(1).map_or_else(
        || std::env::temp_dir().join(format!("hostwarp-mutants-{}", std::process::id())),
        PathBuf::from,
    );
    for part in ["crates", "conformance/oracle", "bench", "xtask", "Cargo.toml", "Cargo.lock"] {
        copy_tree(&root.join(part), &copy.join(part)).map_err(|e| format!("{part}: {e}"))?;
    }
    let sources = copy.join("crates/isa/src");
    let recordings = root.join("conformance/recordings/h200");
    let results = root.join("conformance/results.json");
    let known = Results::read(&results)?.mutants;
    let wanted: Vec<String> = std::env::args().skip(2).collect();
    let is_wanted = |i: &usize| wanted.is_empty() || wanted.iter().any(|w| FAULTS[*i].what.contains(w));
    let mut fates: BTreeMap<usize, Mutant> = BTreeMap::new();
    for (i, fault) in FAULTS.iter().enumerate() {
        let fate = known.iter().find(|m| m.change == fault.what);
        fates.extend(fate.map(|m| (i, m.clone())));
    }
    for round in rounds((0..FAULTS.len()).filter(is_wanted)) {
        let mut originals: BTreeMap<&str, String> = BTreeMap::new();
        let mut texts: BTreeMap<&str, String> = BTreeMap::new();
        for fault in round.iter().map(|i| &FAULTS[*i]) {
            let path = sources.join(fault.file);
            let read = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let text = texts.entry(fault.file).or_insert_with(|| read.clone());
            originals.entry(fault.file).or_insert(read);
            *text = fault.plant(text)?;
        }
        put(&sources, &texts)?;
        let differing = build_and_replay(&copy, &recordings);
        put(&sources, &originals)?;
        let differing = differing?;
        for i in round {
            let fault = &FAULTS[i];
            let forms = differing.get(fault.seen_in[0]).copied().unwrap_or(0);
            let caught_by = (forms > 0).then(|| fault.seen_in[0].to_string());
            println!("{}: {} ({forms} forms)", fault.what, caught_by.as_deref().unwrap_or("NOT CAUGHT"));
            fates.insert(i, Mutant { change: fault.what.into(), caught_by, forms });
        }
    }
    let mut all = Results::read(&results)?;
    all.mutants = fates.into_values().collect();
    all.write(&results)?;
    match all.mutants.iter().filter(|m| m.caught_by.is_none()).count() {
        0 => Ok(()),
        n => Err(format!("{n} faults were not caught")),
    }
}

/// Faults that cannot be seen in the same instruction may share a build.
fn rounds(faults: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = vec![];
    for i in faults {
        let fault = &FAULTS[i];
        let apart = |j: &usize| !FAULTS[*j].seen_in.iter().any(|o| fault.seen_in.contains(o));
        match rounds.iter_mut().find(|r| r.iter().all(apart)) {
            Some(round) => round.push(i),
            None => rounds.push(vec![i]),
        }
    }
    rounds
}

fn put(sources: &Path, texts: &BTreeMap<&str, String>) -> Result<(), String> {
    for (file, text) in texts {
        std::fs::write(sources.join(file), text).map_err(|e| format!("{file}: {e}"))?;
    }
    Ok(())
}

/// Replays one form in eight with the copy: by opcode how many forms differ.
fn build_and_replay(copy: &Path, recordings: &Path) -> Result<BTreeMap<String, usize>, String> {
    let out = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--offline", "-p", "hostwarp-conformance", "--example", "replay", "--"])
        .arg(recordings)
        .args(["interp", "sm_90"])
        .env("ONE_IN", "8")
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .current_dir(copy)
        .output()
        .map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    // The table's rows: opcode, agreed, forms.
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let row = |line: &str| -> Option<(String, usize)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [opcode, agreed, forms] = words[..] else { return None };
        Some((opcode.to_string(), forms.parse::<usize>().ok()? - agreed.parse::<usize>().ok()?))
    };
    let rows: BTreeMap<String, usize> = text.lines().filter_map(row).collect();
    if rows.len() < 2 { Err(format!("no table in what the replay said:\n{text}")) } else { Ok(rows) }
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
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../isa/src");
        let plant = |f: &Fault| {
            let text = std::fs::read_to_string(sources.join(f.file)).map_err(|e| format!("{}: {e}", f.file));
            f.plant(&text?)
        };
        let wrong: Vec<String> = FAULTS.iter().filter_map(|f| plant(f).err()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

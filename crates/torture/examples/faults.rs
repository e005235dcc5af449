//! Plants faults in a copy of the engines, one after the other, and lets `torture` look for each; writes what it found into
//! docs/torture.md.
//!
//!     cargo run -p hostwarp-torture --example faults [kernels] [directory for the copy] [words of the fault]
//!
//! With words, only faults whose description has them are planted, and nothing is written.
//!
//! Takes some minutes: each fault is a build of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A fault: in `file` below crates/ the text `from`, which is there exactly once, becomes `to`.
struct Fault {
    what: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    Fault { what: "lanes that are not running take the other way of a branch", file: "jit/src/emit/control.rs", from: "to_no = self.t.inst(format_args!(\"and {lanes} {mask}, {to_no}\"));", to: "" },
    Fault { what: "values that leave a loop at different turns count as uniform", file: "plan/src/shape.rs", from: "let escapes = self.escapes", to: "let escapes = false && self.escapes" },
    Fault { what: "lanes that leave a loop overwrite what others took out of it", file: "jit/src/emit/control.rs", from: "leaves_a_loop || !first", to: "!first" },
    Fault { what: "a barrier lets warps through when one is still missing", file: "interp/src/cta.rs", from: "b.arrivals += new.count_ones();", to: "b.arrivals += new.count_ones() + u32::from(warp == 1);" },
    Fault { what: "shuffles reach half of the warp", file: "jit/src/emit/warp.rs", from: "&index, &Text::constant(ints, 31)", to: "&index, &Text::constant(ints, 15)" },
    Fault { what: "an extended index counts as evenly spaced even where it wraps", file: "plan/src/shape.rs", from: "Affine { stride, .. } => affine(stride, true, elem),", to: "Affine { stride, .. } => affine(stride, false, elem)," },
    Fault { what: "what differs between lanes by a branch counts as uniform behind it", file: "plan/src/shape.rs", from: "if self.join[at] && self.mixed[param.index()] {", to: "if false && self.join[at] && self.mixed[param.index()] {" },
    Fault { what: "atomic minimum of signed words is unsigned", file: "jit/src/emit/atomic.rs", from: "AtomicOp::MinS => \"min\"", to: "AtomicOp::MinS => \"umin\"" },
    Fault { what: "atomic decrement in shared memory does not start again", file: "jit/src/emit/atomic.rs", from: "\"or\", one.with(Elem::I1), &none, &above", to: "\"and\", one.with(Elem::I1), &none, &above" },
    Fault { what: "the first lane beyond the end of a CTA runs", file: "jit/src/engine.rs", from: "launch.threads().saturating_sub(lane0).min(self.width)", to: "launch.threads().saturating_sub(lane0).saturating_add(1).min(self.width)" },
    Fault { what: "a signed comparison is unsigned", file: "jit/src/emit/ops.rs", from: "IntCmp::LtS => \"icmp slt\"", to: "IntCmp::LtS => \"icmp ult\"" },
    Fault { what: "an evenly spaced value comes out of the frame wrong when the first lane is missing", file: "jit/src/emit/frame.rs", from: "scalar = self.t.binary(\"sub\", one, &scalar, &passed);", to: "scalar = self.t.binary(\"add\", one, &scalar, &passed);" },
    Fault { what: "lanes that wait lose what others have in the frame", file: "jit/src/emit/frame.rs", from: "value = ops::select(&mut self.t, ty, (lanes, Type::I1), &value, &old, self.w);", to: "let _ = (lanes, old);" },
    Fault { what: "shared addresses wrap at 256 bytes", file: "jit/src/emit/memory.rs", from: "_ => address.to_owned(),", to: "Space::Shared => self.t.binary(\"and\", shape, address, &Text::constant(shape, 255)),\n            _ => address.to_owned()," },
    Fault { what: "the interpreter shifts signed words by the amount modulo their width", file: "interp/src/kernels/int.rs", from: "b.min(u::BITS as u - 1) as u32", to: "b as u32" },
];

/// How a fault was found.
struct Fate {
    what: &'static str,
    where_: &'static str,
    found: Option<(u64, String)>,
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
    for fault in FAULTS {
        let text = std::fs::read_to_string(copy.join("crates").join(fault.file))
            .map_err(|e| format!("{}: {e}", fault.file))?;
        if text.matches(fault.from).count() != 1 {
            return Err(format!("`{}` is not in {} exactly once", fault.from, fault.file));
        }
    }
    let only = std::env::args().nth(3);
    let wanted = |f: &&Fault| only.as_ref().is_none_or(|words| f.what.contains(words.as_str()));
    let mut fates = vec![];
    for fault in FAULTS.iter().filter(wanted) {
        let path = copy.join("crates").join(fault.file);
        let original = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        std::fs::write(&path, original.replace(fault.from, fault.to)).map_err(|e| e.to_string())?;
        let found = look(&copy, &kernels);
        std::fs::write(&path, original).map_err(|e| e.to_string())?;
        let found = found.map_err(|e| format!("{}: {e}", fault.what))?;
        match &found {
            Some((seed, how)) => println!("{}: kernel {seed}: {how}", fault.what),
            None => println!("{}: NOT FOUND in {kernels} kernels", fault.what),
        }
        fates.push(Fate { what: fault.what, where_: fault.file, found });
    }
    if only.is_none() {
        write_table(&root.join("docs/torture.md"), &fates)?;
    }
    match fates.iter().filter(|f| f.found.is_none()).count() {
        0 => Ok(()),
        n => Err(format!("{n} faults were not found")),
    }
}

/// Builds the copy and runs it until something fails: the number of that kernel, and how it failed.
fn look(copy: &Path, kernels: &str) -> Result<Option<(u64, String)>, String> {
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
    let out = Command::new(copy.join("target/debug/torture"))
        .args(["--kernels", kernels, "--seed", "0", "--failures", "1", "--no-reduce", "--quick-jit"])
        .output()
        .map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("seed "));
    let found = line.and_then(|l| l.split_once(": ")).map(|(seed, how)| (seed.parse().unwrap_or(0), how));
    match found {
        Some((seed, how)) => Ok(Some((seed, how.to_string()))),
        // A crash is a find too.
        None if out.status.code().is_none() => Ok(Some((0, format!("{}", out.status)))),
        None => Ok(None),
    }
}

const BEGIN: &str = "<!-- faults: written by `cargo run -p hostwarp-torture --example faults` -->\n";
const END: &str = "<!-- end of faults -->\n";

fn write_table(path: &Path, fates: &[Fate]) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (before, rest) = text.split_once(BEGIN).ok_or("docs/torture.md has no place for the table")?;
    let (_, after) = rest.split_once(END).ok_or("docs/torture.md has no end of the table")?;
    let mut table = String::from("| planted fault | in | found at kernel | seen as |\n|---|---|---|---|\n");
    for f in fates {
        let (kernel, how) = match &f.found {
            Some((seed, how)) => (seed.to_string(), how.clone()),
            None => ("not found".into(), String::new()),
        };
        // What differs is enough; where is the kernel's business.
        let how = how.split([';', '\n']).next().unwrap_or("").replace('|', "\\|");
        table += &format!("| {} | `{}` | {kernel} | {how} |\n", f.what, f.where_);
    }
    let new = format!("{before}{BEGIN}{table}{END}{after}");
    std::fs::write(path, new).map_err(|e| format!("{}: {e}", path.display()))
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

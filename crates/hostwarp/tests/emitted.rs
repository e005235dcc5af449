//! What the jit makes of kernels: the shape of its LLVM IR, and objects that stand alone.

#![cfg(all(feature = "jit", unix, target_arch = "x86_64"))]

use hostwarp::jit::llvm::{Llvm, Tier};
use hostwarp::jit::object::undefined_symbols;
use hostwarp::jit::target::Target;
use hostwarp::{Device, Emit};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

fn device() -> Device {
    Device::builder().memory(1 << 26).threads(1).build().expect("a device")
}

/// The LLVM IR of a kernel, for blocks of 64 threads in a row.
fn llvm_ir(file: &str, kernel: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let ptx = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let module = device().load(file, ptx).unwrap_or_else(|e| panic!("{e}"));
    let kernel = module.kernel(kernel).unwrap_or_else(|e| panic!("{e}"));
    let launch = kernel.launch().block([64, 1, 1]);
    launch.emit(Emit::Llvm).unwrap_or_else(|e| panic!("{e}"))
}

/// The lines that run where all lanes of a group go the same way and every check says yes: what is reached from the beginning
/// without the second way out of a branch that is marked as hardly ever taken.
fn hot_path(text: &str) -> String {
    let mut blocks: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut label = "";
    // Helpers come before it.
    let kernel = text.split("define i32 @kernel(").nth(1).expect("a kernel");
    for line in kernel.lines().take_while(|l| *l != "}") {
        match line.strip_suffix(':') {
            Some(l) => label = l,
            None => blocks.entry(label).or_default().push(line),
        }
    }
    let targets = |line: &str| -> Vec<String> {
        let cold = line.contains("!prof");
        let all = line.split("label %").skip(1).map(|l| l.split([',', ' ']).next().unwrap_or(l).to_string());
        all.take(if cold { 1 } else { usize::MAX }).collect()
    };
    // The switch at the beginning names the entry's way in first, behind what is never so.
    let ways_in = text.lines().find(|l| l.contains("switch i32 %resume")).expect("ways in");
    let mut open: Vec<String> = targets(ways_in).into_iter().skip(1).take(1).collect();
    let mut seen: HashSet<String> = HashSet::new();
    let mut out = String::new();
    while let Some(label) = open.pop() {
        // The next group begins as this one did.
        if label == "group" || !seen.insert(label.clone()) {
            continue;
        }
        for line in blocks.get(label.as_str()).unwrap_or_else(|| panic!("no block {label}")) {
            out += line;
            out += "\n";
            if line.trim_start().starts_with("br ") {
                open.extend(targets(line));
            }
        }
    }
    assert!(out.contains("ret i32"), "the path does not come to an end:\n{out}");
    out
}

/// On x86 and elsewhere: an access lane by lane, by an instruction or by a function of ours.
fn is_by_lane(line: &str) -> bool {
    line.contains("call") && (line.contains("gather") || line.contains("scatter"))
}

#[test]
fn contiguous_accesses_are_whole_vectors() {
    if Target::host().is_none() {
        return;
    }
    let text = llvm_ir("examples/saxpy.ptx", "saxpy");
    let by_lane: Vec<&str> = text.lines().filter(|l| is_by_lane(l)).collect();
    assert!(by_lane.is_empty(), "{by_lane:#?}\n{text}");
    let hot = hot_path(&text);
    let loads = hot.lines().filter(|l| l.contains("= load <") && l.contains("x i32>, ptr %t")).count();
    let stores = hot.lines().filter(|l| l.contains("store <") && l.contains("x i32> %t")).count();
    assert!(loads >= 2 && stores >= 1, "{hot}");
    // And where addresses are anybody's guess it is by lane, or this test says nothing.
    let text = llvm_ir("tests/kernels/strides.ptx", "walk");
    assert!(text.lines().any(is_by_lane), "{text}");
}

#[test]
fn uniform_branches_are_plain_branches() {
    if Target::host().is_none() {
        return;
    }
    let hot = hot_path(&llvm_ir("tests/kernels/uniform_loop.ptx", "horner"));
    let masks: Vec<&str> = hot.lines().filter(|l| l.contains("x i1>")).collect();
    assert!(masks.is_empty(), "{masks:#?}\n{hot}");
    let branches = hot.lines().filter(|l| l.contains("br i1 ") && !l.contains("!prof")).count();
    assert!(branches >= 2, "before the loop and at its end:\n{hot}");
    // A row that all lanes read is read once.
    assert!(hot.contains("= load i32, ptr"), "{hot}");
    // And a loop of different lengths takes masks, or this test says nothing.
    let hot = hot_path(&llvm_ir("tests/kernels/loops.ptx", "loops"));
    assert!(hot.contains("x i1>"), "{hot}");
}

/// The libLLVM, or a note that there is none.
fn llvm() -> Option<(Llvm, Target)> {
    match (device().llvm(), Target::host()) {
        (Ok(llvm), Some(target)) => Some((llvm, target)),
        (llvm, _) => {
            let why = llvm.err().unwrap_or("the jit does not know this CPU".into());
            let required = std::env::var_os("HOSTWARP_REQUIRE_LLVM").is_some_and(|v| v != "0");
            assert!(!required, "{why}");
            eprintln!("compiled objects are left out: {why}");
            None
        }
    }
}

#[test]
fn objects_need_nothing() {
    let Some((llvm, target)) = llvm() else { return };
    let mut compiled = 0;
    for directory in ["tests/kernels", "examples"] {
        for path in ptx_files(directory) {
            let ptx = std::fs::read(&path).expect("a readable file");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let module = device().load(&name, ptx).unwrap_or_else(|e| panic!("{e}"));
            for kernel in module.kernels() {
                let how = format!("{name}: {}", kernel.name());
                let text = kernel.launch().emit(Emit::Llvm).unwrap_or_else(|e| panic!("{how}: {e}"));
                let object =
                    llvm.compile(&text, &target, &Tier::light()).unwrap_or_else(|e| panic!("{how}: {e}"));
                let undefined = undefined_symbols(&object.0).unwrap_or_else(|e| panic!("{how}: {e}"));
                assert!(undefined.is_empty(), "{how} needs {undefined:?}");
                compiled += 1;
            }
        }
    }
    assert!(compiled > 50, "only {compiled} kernels were compiled");
}

fn ptx_files(directory: &str) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(directory);
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "ptx")).collect()
}

/// Vectors narrower than a warp change the order of its memory operations, so they are chosen only where no lane reads what another
/// may write.
#[test]
fn narrow_vectors_only_where_nobody_can_tell() {
    if Target::host().is_none() {
        return;
    }
    let lanes = |between: &str| {
        let ptx = format!(
            ".version 8.8 .target sm_90 .address_size 64
            .visible .entry k(.param .u64 from, .param .u64 to) {{
                .shared .align 4 .b32 tile[256];
                .reg .b32 %x, %y, %at, %v; .reg .b64 %from, %to, %d;
                mov.u32 %x, %tid.x;
                mov.u32 %y, %tid.y;
                mad.lo.u32 %at, %y, 64, %x;
                ld.param.u64 %from, [from];
                ld.param.u64 %to, [to];
                mul.wide.u32 %d, %at, 4;
                add.u64 %from, %from, %d;
                add.u64 %to, %to, %d;
                ld.global.b32 %v, [%from];
                {between}
                st.global.b32 [%to], %v;
                ret;
            }}"
        );
        let module = device().load("k.ptx", ptx.into_bytes()).unwrap_or_else(|e| panic!("{e}"));
        let kernel = module.kernel("k").expect("a kernel");
        let text = kernel.launch().block([48, 4, 1]).emit(Emit::Vector).unwrap_or_else(|e| panic!("{e}"));
        [8, 16, 32].into_iter().find(|w| text.contains(&format!("kernel k in groups of {w}\n")))
    };
    // A store of one lane may come before a load of another.
    assert_eq!(lanes(""), Some(32));
    // A barrier is between them.
    assert_eq!(lanes("bar.sync 0;"), Some(16));
    // Nothing but the barrier's other side is the same memory.
    assert_eq!(lanes("st.shared.b32 [tile], %v; bar.sync 0; ld.shared.b32 %v, [tile];"), Some(16));
    assert_eq!(lanes("bar.sync 0; st.shared.b32 [tile], %v; ld.shared.b32 %v, [tile];"), Some(32));
}

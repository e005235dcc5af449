//! The command as its users see it: a process with arguments, output and an exit code.

mod common;

use common::*;
use serde_json::Value as Json;
use std::path::Path;
use std::process::Stdio;

// Command line.

#[test]
fn a_wrong_command_line_exits_2() {
    hostwarp(&["frobnicate"]).exits(2).complains("frobnicate");
    hostwarp(&["run"]).exits(2).complains("FILE");
    hostwarp(&["run", &example("saxpy.ptx"), "--grid", "0x"]).exits(2).complains("--grid");
    hostwarp(&["run", &example("saxpy.ptx"), "--engine", "gpu"]).exits(2).complains("interp");
    hostwarp(&["run", &example("saxpy.ptx"), "n"]).exits(2).complains("NAME=VALUE");
    hostwarp(&["run", &example("saxpy.ptx"), "n=f31[3]"]).exits(2).complains("no element type");
    hostwarp(&["run", &example("saxpy.ptx"), "--out", "y"]).exits(2).complains("NAME=FILE");
    hostwarp(&["run", &example("saxpy.ptx"), "--timeout", "-1"]).exits(2);
    hostwarp(&["run", &example("saxpy.ptx"), "--threads", "0"]).exits(2);
}

#[test]
fn help_has_examples_and_exit_codes() {
    hostwarp(&["--help"]).exits(0).says("Exit codes:").says("70");
    for c in ["run", "eval", "check", "fmt", "info", "explain", "isa", "conformance", "doctor", "completions"]
    {
        hostwarp(&["help", c]).exits(0).says("Examples:").says(&format!("hostwarp {c}"));
    }
    for c in ["exec", "ptxas"] {
        hostwarp(&["help", c]).exits(0).says("Examples:").says(&format!("hostwarp {c}"));
    }
    hostwarp(&["--version"]).exits(0).says("hostwarp ");
    for shell in ["bash", "zsh", "fish", "powershell"] {
        hostwarp(&["completions", shell]).exits(0).says("hostwarp");
    }
}

#[test]
fn ptxas_writes_what_the_driver_loads() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("k.cubin").display().to_string();
    hostwarp(&["ptxas", "-arch=sm_90", "-v", &example("saxpy.ptx"), "-o", &out]).exits(0);
    let written = std::fs::read(&out).expect("it is there");
    assert_eq!(written.last(), Some(&0));
    assert_eq!(written[..written.len() - 1], std::fs::read(example("saxpy.ptx")).expect("it is there")[..]);
    hostwarp(&["ptxas", "--version"]).exits(0).says("release 12.9");
    hostwarp(&["ptxas", "-o", &out]).exits(2);
}

#[test]
fn colour_only_where_it_is_wanted() {
    let escape = "\u{1b}[";
    assert!(!hostwarp(&["explain", "vmad"]).exits(0).out.contains(escape));
    hostwarp(&["explain", "vmad", "--color", "always"]).exits(0).says(escape);
    assert!(!hostwarp(&["explain", "vmad", "--color", "never"]).exits(0).out.contains(escape));
    hostwarp(&["check", "--color=always", "-"]).exits(1).complains(escape);
}

// run

#[test]
fn run_shows_every_buffer() {
    let saxpy = example("saxpy.ptx");
    let args = [&saxpy, "--grid", "2", "--block", "32", "n=40", "a=2.5", "x=f32[64]:iota", "y=f32[64]=1"];
    interp(&args)
        .exits(0)
        .says("x  f32[64]  0 1 2 3")
        .says("y  f32[64]  1 3.5 6")
        .says("max 98.5")
        .complains("2 CTAs");
    let mut args = args.to_vec();
    args.push("--json");
    let json = interp(&args).exits(0).json();
    assert_eq!(json["kernel"], "saxpy");
    assert_eq!(json["engine"], "interp");
    assert_eq!(json["block"], serde_json::json!([32, 1, 1]));
    assert_eq!(json["buffers"][1]["name"], "y");
    assert_eq!(json["buffers"][1]["first"][1], 3.5);
    assert_eq!(json["buffers"][1]["max"], 98.5);
    assert_eq!(json["buffers"][1]["shape"], serde_json::json!([64]));
}

#[test]
fn run_takes_parameters_by_position_and_buffers_by_reference() {
    let m = example("matmul.ptx");
    interp(&[&m, "--block", "16,16", "0=16", "1=f32[16,16]=2", "2=&1", "3=f32[16,16]"])
        .exits(0)
        .says("64 64 64");
    interp(&[&m, "--block", "16,16", "0=16", "1=f32[16,16]", "2=&4", "3=f32[16,16]"])
        .exits(3)
        .complains("`&4`");
}

#[test]
fn run_reads_and_writes_files() {
    let x = Scratch::new("x.bin", [0, 0, 128, 63, 0, 0, 0, 64]);
    let (raw, npy) = (Scratch::new("y.bin", ""), Scratch::new("y.npy", ""));
    let saxpy = example("saxpy.ptx");
    let (x_arg, outs) =
        (format!("x=f32@{}", x.text()), [format!("y={}", raw.text()), format!("y={}", npy.text())]);
    interp(&[&saxpy, "--block", "2", "n=2", "a=1", &x_arg, "y=f32[2]", "--out", &outs[0], "--out", &outs[1]])
        .exits(0)
        .says("y  f32[2]  1 2");
    assert_eq!(std::fs::read(&raw.0).unwrap(), [0, 0, 128, 63, 0, 0, 0, 64]);
    let again = format!("x=@{}", npy.text());
    interp(&[&saxpy, "--block", "2", "n=2", "a=10", &again, "y=f32[2]"]).exits(0).says("y  f32[2]  10 20");
    interp(&[&saxpy, "n=2", "a=1", "x=@nowhere", "y=f32[2]"]).exits(1).complains("`nowhere`");
    interp(&[&saxpy, "n=0", "a=1", "x=f32[1]", "y=f32[2]", "--out", "y=no/where/y"])
        .exits(1)
        .complains("no folder");
}

#[test]
fn wrong_arguments_show_the_signature() {
    let saxpy = example("saxpy.ptx");
    let wrong = |arguments: &[&str], what: &str| {
        let mut all = vec![saxpy.as_str()];
        all.extend(arguments);
        interp(&all).exits(3).complains(what).complains("saxpy(n: .u32, a: .f32, x: .u64, y: .u64)");
    };
    wrong(&[], "`n`, `a`, `x`, `y` are missing");
    wrong(&["n=1", "a=1", "x=f32[1]"], "parameter `y` is missing");
    wrong(&["n=1", "a=1", "x=f32[1]", "y=f32[1]", "z=1"], "no parameter `z`");
    wrong(&["n=1", "n=1", "a=1", "x=f32[1]", "y=f32[1]"], "given twice");
    wrong(&["n=1.5", "a=1", "x=f32[1]", "y=f32[1]"], "`1.5`");
    wrong(&["n=f32[1]", "a=1", "x=f32[1]", "y=f32[1]"], "takes a number");
    wrong(&["n=99999999999", "a=1", "x=f32[1]", "y=f32[1]"], "32 bits");
    wrong(&["n=hex:00", "a=1", "x=f32[1]", "y=f32[1]"], "takes 4 bytes, not 1");
    interp(&[&saxpy, "n=1", "a=1", "x=f32[1]", "y=f32[1]", "--out", "n=f"]).exits(3).complains("no buffer");
}

#[test]
fn wrong_launches_exit_3() {
    let saxpy = example("saxpy.ptx");
    let args = ["n=1", "a=1", "x=f32[1]", "y=f32[1]"];
    let with = |more: &[&str]| interp(&[&[saxpy.as_str()], &args[..], more].concat());
    with(&["--block", "2048"]).exits(3).complains("1024");
    with(&["--grid", "0"]).exits(3).complains("at least 1");
    with(&["--shared", "999999"]).exits(3).complains("shared");
    interp(&[&saxpy, "n=1", "a=1", "x=f32[99999999999]", "y=f32[1]"]).exits(3).complains("memory");
    with(&["--entry", "daxpy"]).exits(3).complains("`daxpy`").complains("saxpy");
    let json = with(&["--block", "2048", "--json"]).exits(3).json();
    assert_eq!(json["error"]["kind"], "launch");
    let two =
        Scratch::new("two.ptx", format!("{HEAD}.entry a() {{ ret; }}\n.entry b(.param .u32 n) {{ ret; }}\n"));
    interp(&[two.text()]).exits(3).complains("--entry").complains("b(n: .u32)");
    interp(&[two.text(), "--entry", "a"]).exits(0);
    let none = Scratch::new("none.ptx", HEAD);
    interp(&[none.text()]).exits(3).complains("no kernel");
}

#[test]
fn wrong_ptx_exits_1_with_file_and_line() {
    let k = kernel("wrong.ptx", ".reg .b32 %r<4>;\nadd.s33 %r1, %r2, %r3;");
    interp(&[k.text(), "out=u32[1]"]).exits(1).complains("wrong.ptx:6").complains("s33");
    interp(&["nowhere.ptx"]).exits(1).complains("nowhere.ptx");
    interp(&[&example("matmul.cu")]).exits(1).complains("nvcc --ptx");
    let elf = Scratch::new("k.cubin", b"\x7fELF\x02");
    interp(&[elf.text()]).exits(1).complains("cuobjdump");
}

#[test]
fn several_files_are_linked() {
    let main = Scratch::new(
        "main.ptx",
        format!(
            "{HEAD}.extern .func (.reg .u32 r) half(.reg .u32 a);\n.visible .entry k(.param .u64 out) {{ .reg .u64 p; .reg .u32 r;\n\
             ld.param.u64 p, [out]; mov.u32 r, 14; call (r), half, (r); st.global.u32 [p], r; }}\n"
        ),
    );
    let library = Scratch::new(
        "library.ptx",
        format!(
            "{HEAD}.visible .func (.reg .u32 r) half(.reg .u32 a) {{\n.reg .pred q; and.b32 r, a, 1; setp.ne.u32 q, r, 0;\n\
             @q trap;\nshr.u32 r, a, 1; ret; }}\n"
        ),
    );
    let odd = Scratch::new(
        "odd.ptx",
        format!(
            "{HEAD}.extern .func (.reg .u32 r) half(.reg .u32 a);\n.visible .entry odd() {{ .reg .u32 r; mov.u32 r, 13; call (r), half, (r); }}\n"
        ),
    );
    interp(&[main.text(), library.text(), "out=u32[1]"]).exits(0).says("out  u32[1]  7");
    interp(&[library.text(), main.text(), "out=u32[1]"]).exits(0).says("out  u32[1]  7");
    interp(&[main.text(), "out=u32[1]"]).exits(5).complains("half").complains("a.ptx b.ptx");
    interp(&[main.text(), odd.text(), "--entry", "k", "out=u32[1]"]).exits(1).complains("no module defines");
    interp(&[library.text(), library.text()]).exits(1).complains("first defined in");
    let fault = interp(&[main.text(), odd.text(), library.text(), "--entry", "odd"]).exits(4);
    fault.complains("library.ptx:6").complains("@q trap").complains("line 6 of ");
}

#[test]
fn faults_exit_4_with_file_line_and_a_way_out() {
    let bad =
        kernel("bad.ptx", ".reg .b64 %rd<4>;\nld.param.u64 %rd1, [out];\nst.global.u32 [%rd1+4096], 7;");
    interp(&[bad.text(), "out=u32[1]"])
        .exits(4)
        .complains("bad.ptx:7")
        .complains("st.global.u32")
        .complains("out");
    let trap = kernel("trap.ptx", "trap;");
    interp(&[trap.text(), "out=u32[1]"]).exits(4).complains("trap");
    let endless = kernel("endless.ptx", "L: bra L;");
    interp(&[endless.text(), "out=u32[1]", "--fuel", "100000"]).exits(4).complains("--fuel");
    interp(&[endless.text(), "out=u32[1]", "--timeout", "0.2"]).exits(4).complains("--timeout");
    let json = interp(&[trap.text(), "out=u32[1]", "--json"]).exits(4).json();
    assert_eq!(json["error"]["kind"], "fault");
}

#[test]
fn symbols_are_set_and_read() {
    let k = Scratch::new(
        "sym.ptx",
        format!(
            "{HEAD}.visible .const .f32 factor = 1.0;\n.visible .global .f32 table[4];\n\
             .visible .entry k(.param .u64 out) {{\n.reg .f32 %f<4>; .reg .b64 %rd<4>;\n\
             ld.param.u64 %rd1, [out];\nld.const.f32 %f1, [factor];\nld.global.f32 %f2, [table+4];\n\
             mul.f32 %f3, %f1, %f2;\nst.global.f32 [%rd1], %f3;\nst.global.f32 [table], %f3;\nret;\n}}\n"
        ),
    );
    let table = Scratch::new("table.npy", "");
    let out = format!("sym:table={}", table.text());
    interp(&[k.text(), "out=f32[1]", "sym:factor=3", "sym:table=f32[4]:iota", "--out", &out])
        .exits(0)
        .says("out  f32[1]  3");
    assert!(
        std::fs::read(&table.0).unwrap().ends_with(&[0, 0, 64, 64, 0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64])
    );
    interp(&[k.text(), "out=f32[1]", "sym:nothing=3"]).exits(3).complains("`nothing`");
    interp(&[k.text(), "out=f32[1]", "sym:factor=x"]).exits(3).complains("`factor`");
    interp(&[k.text(), "out=f32[1]", "sym:table=f32[5]"]).exits(3).complains("table");
}

#[test]
fn stages_are_shown() {
    interp(&[&example("saxpy.ptx"), "--emit", "ir"]).exits(0).says("saxpy");
    assert!(!interp(&[&example("saxpy.ptx"), "--emit", "plan"]).exits(0).out.is_empty());
}

#[test]
fn the_cache_is_on_or_off() {
    let doctor = |switch: &str| {
        let mut c = command(&["doctor"]);
        c.env("HOSTWARP_CACHE", switch).env("HOSTWARP_CACHE_DIR", "kept-nowhere");
        ran(c.output().expect("the binary is there"))
    };
    doctor("off").exits(0).says("off");
    doctor("on").exits(0).says("kept-nowhere");
    doctor("").exits(0).says("kept-nowhere");
    doctor("Off").exits(2).complains("HOSTWARP_CACHE is `Off`: it can be `on` or `off`");
}

/// LLVM does not survive the end of a process while it works, and most of these end when it has just been asked to.
#[test]
fn a_process_that_ends_while_a_kernel_is_compiled_ends_well() {
    for ctas in [64, 512, 1024, 2048, 4096, 8192, 16384] {
        let n = format!("n={}", ctas * 256);
        let [x, y] = ["x", "y"].map(|name| format!("{name}=f32[{}]=1", ctas * 256));
        let grid = ctas.to_string();
        let arguments = ["--json", "--no-cache", "--block", "256", "a=2", &n, &x, &y, "--grid", &grid];
        let saxpy = example("saxpy.ptx");
        let run = [&["run", saxpy.as_str()], &arguments[..]].concat();
        assert_eq!(hostwarp(&run).exits(0).json()["ctas"], ctas);
    }
}

#[test]
fn compiled_kernels_are_kept_and_found_again() {
    if hostwarp(&["doctor", "--json"]).json()["engine"] != "jit" {
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept-kernels");
    let _ = std::fs::remove_dir_all(&directory);
    let kept = |arguments: &[&str]| {
        let mut c = command(arguments);
        c.env_remove("HOSTWARP_CACHE").env("HOSTWARP_CACHE_DIR", &directory);
        c
    };
    let k = kernel(
        "kept.ptx",
        ".reg .b64 %a; .reg .b32 %t; ld.param.u64 %a, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %a, %t, 4, %a; st.global.u32 [%a], %t;",
    );
    let run = ["run", "--json", "--engine", "jit", "--block", "32", k.text(), "out=u32[32]"];
    let without = [&run[..], &["--no-cache"]].concat();
    let cached = |arguments: &[&str]| {
        let r = ran(kept(arguments).output().expect("the binary is there")).exits(0).json();
        assert_eq!((&r["engine"], &r["buffers"][0]["max"]), (&"jit".into(), &31.into()), "{r}");
        r["cached"].as_bool().expect("said")
    };
    let kernels =
        || ran(kept(&["doctor", "--json"]).output().expect("it is there")).json()["cache"]["kernels"].clone();
    assert!(!cached(&without) && !directory.exists());
    assert_eq!(kernels(), 0);
    // Several at once, all of which find nothing.
    let all: Vec<_> =
        (0..4).map(|_| kept(&run).stdout(Stdio::piped()).spawn().expect("it is there")).collect();
    for child in all {
        ran(child.wait_with_output().expect("it ends")).exits(0);
    }
    assert!(cached(&run) && !cached(&without));
    assert_eq!(kernels(), 1);
    let told = ran(kept(&["doctor"]).output().expect("it is there")).exits(0);
    told.says("kept-kernels").says("1 compiled kernel,");
    hostwarp(&["doctor"]).exits(0).says("off");
    let _ = std::fs::remove_dir_all(&directory);
}

/// The arguments an example's header runs it with, files to write left out.
fn header_arguments(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("text");
    let line =
        text.lines().find_map(|l| l.strip_prefix("//   hostwarp run ")).expect("a command in the header");
    let line = line.split(" --out ").next().expect("the first part").replace('"', "");
    let mut arguments = vec![path.display().to_string()];
    arguments.extend(line.split_whitespace().skip(1).map(String::from));
    arguments
}

/// Every example gives, on every engine there is, the bits an H200 gave.
#[test]
fn examples_give_the_bits_of_an_h200() {
    use sha2::{Digest, Sha256};
    let recorded = std::fs::read_to_string(example("h200.txt")).expect("the recording");
    let recorded: Vec<Vec<&str>> =
        recorded.lines().filter(|l| !l.starts_with('#')).map(|l| l.split_whitespace().collect()).collect();
    let jit = hostwarp(&["doctor", "--json"]).json()["engine"] == "jit";
    let mut seen = 0;
    for file in std::fs::read_dir(example("")).expect("there are examples") {
        let path = file.expect("readable").path();
        if path.extension().is_none_or(|e| e != "ptx") {
            continue;
        }
        let stem = path.file_stem().and_then(|s| s.to_str()).expect("plain name");
        let buffers: Vec<_> = recorded.iter().filter(|r| r[0] == stem).collect();
        assert!(!buffers.is_empty(), "{stem} is not recorded");
        for engine in if jit { &["interp", "jit"][..] } else { &["interp"] } {
            let files: Vec<_> =
                buffers.iter().map(|b| Scratch::new(&format!("{engine}-{stem}-{}", b[1]), "")).collect();
            let mut arguments = header_arguments(&path);
            arguments.extend(["--engine".into(), engine.to_string()]);
            for (b, f) in buffers.iter().zip(&files) {
                arguments.extend(["--out".into(), format!("{}={}", b[1], f.text())]);
            }
            let arguments: Vec<_> =
                std::iter::once("run").chain(arguments.iter().map(String::as_str)).collect();
            hostwarp(&arguments).exits(0);
            for (b, f) in buffers.iter().zip(&files) {
                let hash = Sha256::digest(std::fs::read(&f.0).expect("written"));
                let hash: String = hash.iter().take(8).map(|b| format!("{b:02x}")).collect();
                assert_eq!(hash, b[2], "{stem}: {} on {engine}", b[1]);
            }
        }
        seen += 1;
    }
    assert!(seen >= 10, "{seen} examples");
}

/// The examples' README shows what is really printed.
#[test]
fn the_readme_of_the_examples_is_true() {
    let readme = std::fs::read_to_string(example("README.md")).expect("there is one");
    let blocks: Vec<&str> = readme.split("```console\n$ hostwarp run examples/").skip(1).collect();
    assert!(blocks.len() >= 10, "{} commands", blocks.len());
    for block in blocks {
        let (block, _) = block.split_once("```").expect("closed");
        let (line, shown) = block.split_once('\n').expect("a command and its output");
        let name = line.split_whitespace().next().expect("a file");
        let arguments = header_arguments(Path::new(&example(name)));
        assert!(line.replace('"', "").starts_with(&format!("{name} {}", arguments[1..].join(" "))), "{line}");
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        assert_eq!(interp(&arguments).exits(0).out, shown, "{name}");
    }
}

#[test]
fn mistakes_get_suggestions() {
    let k = kernel("suggest.ptx", ".reg .b32 %r<4>;");
    interp(&[k.text(), "ou=f32[1]"]).exits(3).complains("no parameter `ou`; did you mean `out`?");
    let f = Scratch::new(
        "func.ptx",
        format!("{HEAD}.func helper() {{\nret;\n}}\n.visible .entry kernel() {{\nret;\n}}\n"),
    );
    interp(&[f.text(), "--entry", "helper"]).exits(3).complains("`helper` is a function (.func)");
    interp(&[f.text(), "--entry", "kernle"]).exits(3).complains("did you mean `kernel`?");
    let t = kernel("hides.ptx", ".reg .u32 %tid;\n.reg .b64 %clock<65>;");
    hostwarp(&["check", t.text()]).exits(0).complains("W0004").complains("`%tid`").complains("`%clock64`");
}

/// With LLVM or without: what the jit cannot do is not the launch's fault.
#[test]
fn a_jit_that_cannot_exits_5() {
    let sum = example("warpsum.ptx");
    let mut arguments = header_arguments(Path::new(&sum));
    arguments.extend(["--engine", "jit", "--width", "64"].map(String::from));
    let arguments: Vec<_> = std::iter::once("run").chain(arguments.iter().map(String::as_str)).collect();
    hostwarp(&arguments).exits(5).complains("the jit cannot run this kernel");
}

// eval

#[test]
fn eval_shows_the_bits_in_every_reading() {
    let vmad = "vmad.s32.s32.u32.sat r0, r1, r2, -r3";
    hostwarp(&["eval", vmad, "r1=0x80000000", "r2=2", "r3=7"])
        .exits(0)
        .says("0x80000000")
        .says("s32 -2147483648")
        .says("u32 2147483648");
    hostwarp(&["eval", vmad, "r1=3", "r2=2", "r3=7", "--trace"]).exits(0).says("product").says("s32 -1");
    hostwarp(&["eval", "vadd4.u32.u32.u32.sat d, a, b, c", "a=1,2,3,250", "b=9,9,9,9", "c=0"])
        .exits(0)
        .says("u8x4 10,11,12,255");
    hostwarp(&["eval", "fma.rn.f16x2 d, a, b, c", "a=1.5,2", "b=0x3c003c00", "c=0,-1"])
        .exits(0)
        .says("f16x2 1.5,1");
    hostwarp(&["eval", "setp.lt.f32 p, a, 0f3f000000; selp.b32 d, 7, 8, p", "a=nan"])
        .exits(0)
        .says("u32 8")
        .says("false");
    let json = hostwarp(&["eval", "--json", "--trace", "--profile", "both", vmad, "r1=3", "r2=2", "r3=7"])
        .exits(0)
        .json();
    assert_eq!(json["results"][1]["profile"], "sm_90");
    assert_eq!(json["results"][0]["outputs"][0]["hex"], "0xffffffff");
    assert_eq!(json["results"][0]["outputs"][0]["signed"], -1);
    assert!(!json["results"][0]["trace"].as_array().expect("a list").is_empty());
}

#[test]
fn eval_says_what_is_wrong() {
    let add = "add.s32 d, a, b";
    hostwarp(&["eval", add, "a=1"]).exits(3).complains("`b`");
    hostwarp(&["eval", add, "a=1", "b=2", "c=3"]).exits(3).complains("`c`");
    hostwarp(&["eval", add, "a=1", "a=1", "b=2"]).exits(3).complains("twice");
    hostwarp(&["eval", add, "a=1.5", "b=2"]).exits(3).complains("`1.5`");
    hostwarp(&["eval", add, "a"]).exits(2).complains("REGISTER=VALUE");
    hostwarp(&["eval", "ad.s32 d, a, b", "a=1", "b=2"]).exits(1).complains("add");
    hostwarp(&["eval"]).exits(2);
    hostwarp(&["eval", " "]).exits(2).complains("which instruction?");
    assert_eq!(hostwarp(&["eval", "--json", "ad.s32 d, a, b"]).exits(1).json()["error"]["kind"], "input");
}

/// Columns are as wide as names, and Rust formats none that is wider than 65,535.
#[test]
fn names_are_as_long_as_one_likes() {
    let long = "n".repeat(70_000);
    let add = format!("add.u32 {long}, a, b; add.u32 d, a, b");
    hostwarp(&["eval", &add, "a=1", "b=2", "--trace"]).exits(0).says("\nd").says("  0x00000003");
    let k = format!("{HEAD}.visible .entry {long}(.param .u64 {long}) {{ ret; }}\n");
    let k = Scratch::new("long_names.ptx", k);
    interp(&[k.text(), "0=u32[2]=7"]).exits(0).says("  u32[2]  7 7");
    hostwarp(&["info", k.text()]).exits(0);
    // And as deep as one likes is what is indented.
    let down: String = (0..40_000).map(|i| format!("L{i}:\n")).collect();
    let up: String = (0..40_000).rev().map(|i| format!("@%p bra L{i};\n")).collect();
    let text = format!(
        "{HEAD}.visible .entry k() {{ .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 7;\n{down}{up}ret; }}\n"
    );
    let deep = Scratch::new("deep_loops.ptx", text);
    let ran = hostwarp(&["run", deep.text(), "--block", "32", "--emit", "plan"]).exits(0).says("diverges");
    assert!(ran.out.len() < 40_000 * 300, "{}", ran.out.len());
}

/// `%.65536d` and more: no kernel prints so much that it is a bug of ours.
#[test]
fn a_kernel_prints_fields_of_any_width() {
    let format = "%.65536d %.70000f\\0";
    let bytes: Vec<String> = format.replace("\\0", "\0").bytes().map(|b| b.to_string()).collect();
    let k = Scratch::new(
        "wide_fields.ptx",
        format!(
            "{HEAD}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .u8 text[{}] = {{{}}};
.visible .entry k() {{
.local .align 8 .b8 list[16]; .reg .b64 %a, %b; .reg .b32 %r;
mov.u64 %b, list; st.local.u32 [%b], 7; st.local.f64 [%b+8], 0d3fe0000000000000; cvta.local.u64 %b, %b;
mov.u64 %a, text; cvta.global.u64 %a, %a;
{{ .param .b64 p0; .param .b64 p1; .param .b32 q; st.param.b64 [p0], %a; st.param.b64 [p1], %b;
call (q), vprintf, (p0, p1); ld.param.b32 %r, [q]; }}
ret; }}\n",
            bytes.len(),
            bytes.join(",")
        ),
    );
    let ran = interp(&[k.text()]).exits(0).says("00007 0.5000");
    assert!(ran.out.len() > 2 * 65_536, "{}", ran.out.len());
}

// check, fmt, info

#[test]
fn check_reports_everything_and_exits_1() {
    hostwarp(&["check", &example("saxpy.ptx")]).exits(0).says("ok");
    let k = kernel("two_errors.ptx", ".reg .b32 %r<4>;\nadd.s32 %r1, %r2;\nmov.u32 %r9, 1;");
    hostwarp(&["check", k.text()]).exits(1).complains(":6").complains(":7").says("2 errors");
    let json = hostwarp(&["check", "--json", k.text()]).exits(1);
    let lines: Vec<Json> =
        json.out.lines().map(|l| serde_json::from_str(l).expect("an object per line")).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["line"], 6);
    assert!(lines[0]["code"].as_str().is_some_and(|c| c.starts_with('E')));
    with_stdin(&["check", "-"], HEAD).exits(0).says("<stdin>: ok");
    with_stdin(&["check", "-"], "\u{0}\u{ff}garbage{{{").exits(1);
    hostwarp(&["check", "nowhere.ptx", &example("saxpy.ptx")]).exits(1).complains("nowhere.ptx").says("ok");
    let json = hostwarp(&["check", "--json", "nowhere.ptx", k.text()]).exits(1);
    let lines: Vec<Json> =
        json.out.lines().map(|l| serde_json::from_str(l).expect("an object per line")).collect();
    assert!(lines.len() == 3 && lines[0]["file"] == "nowhere.ptx" && lines[0]["error"]["kind"] == "input");
    assert_eq!(json.err, "");
}

#[test]
fn fmt_rewrites_only_what_is_right() {
    let messy = format!("{HEAD}.visible   .entry k( ) {{ ret ; }}\n");
    let file = Scratch::new("messy.ptx", &messy);
    hostwarp(&["fmt", "--check", file.text()]).exits(1).says("not formatted").says("@@ line");
    assert_eq!(std::fs::read_to_string(&file.0).unwrap(), messy);
    hostwarp(&["fmt", file.text()]).exits(0);
    let tidy = std::fs::read_to_string(&file.0).unwrap();
    assert_ne!(tidy, messy);
    hostwarp(&["fmt", "--check", file.text()]).exits(0);
    assert_eq!(with_stdin(&["fmt", "-"], &messy).exits(0).out, tidy);
    let broken = Scratch::new("broken.ptx", "{{{ nothing");
    hostwarp(&["fmt", broken.text()]).exits(1).complains("broken.ptx");
    assert_eq!(std::fs::read_to_string(&broken.0).unwrap(), "{{{ nothing");
}

#[test]
fn info_tells_what_is_in_a_file() {
    hostwarp(&["info", &example("reduce.ptx")])
        .exits(0)
        .says("PTX 7.0, sm_70, 64-bit")
        .says("reduce(u64 x, u64 out)")
        .says("1024 bytes")
        .says("256, 1, 1");
    let json = hostwarp(&["info", "--json", &example("reduce.ptx")]).exits(0).json();
    assert_eq!(json["kernels"][0]["params"][1]["name"], "out");
    assert_eq!(json["kernels"][0]["shared"], 1024);
    assert_eq!(json["kernels"][0]["bounds"]["reqntid"], serde_json::json!([256, 1, 1]));
    with_stdin(&["info", "-"], "}").exits(1);
}

// explain, isa, doctor

#[test]
fn explain_knows_opcodes_and_codes() {
    hostwarp(&["explain", "vmad"]).exits(0).says("vmad.dtype.atype.btype").says("PTX 2.0");
    hostwarp(&["explain", "VADD4.u32"]).exits(0).says("vadd4");
    hostwarp(&["explain", "vmadd"]).exits(1).complains("`vmad`");
    hostwarp(&["explain", "xyzzy"]).exits(1).complains("hostwarp isa");
    hostwarp(&["explain", "e0030"]).exits(0).says("E0030");
    hostwarp(&["explain", "E9999"]).exits(1).complains("E0030");
    assert_eq!(hostwarp(&["explain", "--json", "vmad"]).exits(0).json()["name"], "vmad");
    assert_eq!(hostwarp(&["explain", "--json", "E0030"]).exits(0).json()["code"], "E0030");
    assert_eq!(hostwarp(&["explain", "--json", "vmadd"]).exits(1).json()["error"]["kind"], "input");
}

#[test]
fn explain_knows_what_has_no_room_and_where_things_are() {
    hostwarp(&["explain", "vmad"]).exits(0).says("9.7.19.1").says("Source crates/isa/src/video/vmad.rs");
    hostwarp(&["explain", "add"]).exits(0).says("arith/add.rs").says("float/arith.rs");
    hostwarp(&["explain", "call"]).exits(0).says("9.7.13.5").says("crates/compile/src/call.rs");
    hostwarp(&["explain", ".reqntid"]).exits(0).says("11.4.3").says("crates/compile/src/check.rs");
    hostwarp(&["explain", "%tid.x"]).exits(0).says(".u32").says("10.1");
    hostwarp(&["explain", "%laneid"]).exits(0).says("crates/isa/src/special.rs");
    hostwarp(&["explain", "tcgen05.mma"]).exits(0).says("not supported yet").says("9.7.17");
    hostwarp(&["explain", "vmadd"]).exits(1).complains("PTX has no instruction `vmadd`");
    hostwarp(&["explain", ".reqntids"]).exits(1).complains("no directive").complains("`.reqntid`");
    for what in ["%tid.q", "%envreg32", "%pm8", "%envreg99999999999999999999"] {
        hostwarp(&["explain", what]).exits(1).complains("no special register");
    }
    for what in ["%tid", "%envreg31", "%envreg", "%pm", "%pm3", "%aggr_smem_size"] {
        hostwarp(&["explain", what]).exits(0);
    }
    hostwarp(&["explain", "%lanid"]).exits(1).complains("no special register").complains("`%laneid`");
    assert_eq!(hostwarp(&["explain", "--json", "tcgen05"]).exits(0).json()["supported"], false);
    assert_eq!(hostwarp(&["explain", "--json", "%tid"]).exits(0).json()["type"], ".u32");
}

#[test]
fn isa_lists_what_there_is() {
    hostwarp(&["isa"]).exits(0).says("9.7.19 Video").says("vabsdiff4").says("opcodes").says("tcgen05");
    let json = hostwarp(&["isa", "--json"]).exits(0).json();
    let names: Vec<_> =
        json["opcodes"].as_array().expect("a list").iter().map(|o| o["name"].clone()).collect();
    assert!(names.contains(&Json::from("vmad")) && names.contains(&Json::from("fma")));
}

#[test]
fn doctor_says_what_there_is() {
    hostwarp(&["doctor"]).exits(0).says("memory").says("LLVM");
    let json = hostwarp(&["doctor", "--json"]).exits(0).json();
    assert!(json["cores"].as_u64().is_some_and(|n| n > 0));
    assert!(json["engine"] == "jit" || json["engine"] == "interp");
}

//! Nothing is lost, and nothing is guessed: files are replaced whole, and what does not fit is said.
#![cfg(target_os = "linux")]

mod common;

use common::*;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

/// A folder that goes away with the test.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the folder is ours")
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    let mut names: Vec<String> =
        entries.map(|e| e.expect("it is there").file_name().into_string().expect("plain")).collect();
    names.sort();
    names
}

fn saxpy(arguments: &[&str]) -> Ran {
    let file = example("saxpy.ptx");
    let mut all = vec![file.as_str(), "--block", "2", "n=2"];
    all.extend(arguments);
    interp(&all)
}

#[test]
fn a_full_disk_leaves_the_source_as_it_was() {
    let folder = folder();
    let path = folder.path().join("k.ptx");
    let source = format!("{HEAD}.visible .entry k() {{ ret; }}\n");
    fs::write(&path, &source).unwrap();
    let fmt = || command(&["fmt", path.to_str().unwrap()]);
    let mut failed = 0;
    for nth in 1.. {
        let asked = folder.path().join("asked");
        let output = fmt().env("HOSTWARP_FAIL", format!("file:{nth}")).env("HOSTWARP_ASKED", &asked).output();
        let ran = ran(output.unwrap());
        let refused = fs::read_to_string(&asked).unwrap().contains("refused");
        fs::remove_file(&asked).unwrap();
        if !refused {
            ran.exits(0);
            break;
        }
        ran.exits(1).complains("k.ptx`: made to fail");
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), names(folder.path())),
            (source.clone(), vec!["k.ptx".into()])
        );
        failed += 1;
    }
    assert!(
        failed >= 6,
        "opened, read, opened to write, made, written twice, kept, synced, renamed: {failed}"
    );
    assert_ne!(fs::read_to_string(&path).unwrap(), source);
    assert_eq!(names(folder.path()), ["k.ptx"]);
}

#[test]
fn comments_in_another_encoding_are_kept() {
    let folder = folder();
    let path = folder.path().join("k.ptx");
    let source =
        [b"// caf\xe9 \x1a\n".as_slice(), HEAD.as_bytes(), b".global   .u32 x; /* \xff\xfe */\n"].concat();
    fs::write(&path, &source).unwrap();
    hostwarp(&["fmt", path.to_str().unwrap()]).exits(0);
    let written = fs::read(&path).unwrap();
    assert_ne!(written, source);
    assert!(written.starts_with(b"// caf\xe9 \x1a\n"), "{}", written.escape_ascii());
    assert!(written.windows(8).any(|w| w == b"/* \xff\xfe */"), "{}", written.escape_ascii());
    hostwarp(&["fmt", "--check", path.to_str().unwrap()]).exits(0);
}

#[test]
fn only_files_are_rewritten() {
    let folder = folder();
    let path = folder.path().join("k.ptx");
    let source = format!("{HEAD}\n\n\n.visible    .entry    k() {{    ret;    }}\n");
    fs::write(&path, &source).unwrap();
    // What is opened for reading must not be written to, and what comes from a pipe has no place to go to.
    for stdin in [
        Stdio::from(File::open(&path).unwrap()),
        Stdio::from(File::options().read(true).write(true).open(&path).unwrap()),
    ] {
        let output = command(&["fmt", "/dev/stdin"]).stdin(stdin).output().unwrap();
        ran(output).exits(1).complains("`/dev/stdin` is no file that can be rewritten");
        assert_eq!(fs::read_to_string(&path).unwrap(), source);
    }
    let mut child = command(&["fmt", "/dev/stdin"]);
    let child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), source.as_bytes()).unwrap();
    ran(child.wait_with_output().unwrap()).exits(1).complains("no file that can be rewritten");
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error() {
    let folder = folder();
    let path = folder.path().join("k.ptx");
    let source = format!("{HEAD}.visible    .entry    k() {{    ret;    }}\n");
    fs::write(&path, &source).unwrap();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hostwarp"), "fmt"]).arg(&path);
    ran(limited.output().unwrap()).exits(1).complains("File too large");
    assert_eq!((fs::read_to_string(&path).unwrap(), names(folder.path())), (source, vec!["k.ptx".into()]));
}

#[test]
fn ptxas_does_not_write_over_what_it_reads() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let source = format!("{HEAD}.visible .entry k() {{ ret; }}\n");
    fs::write(at("k.ptx"), &source).unwrap();
    std::os::unix::fs::symlink(at("k.ptx"), at("link")).unwrap();
    for out in ["k.ptx", "link"] {
        hostwarp(&["ptxas", &at("k.ptx"), "-o", &at(out)]).exits(2).complains("is the file that is read");
        assert_eq!(fs::read_to_string(at("k.ptx")).unwrap(), source);
    }
    hostwarp(&["ptxas", &at("k.ptx"), "-o", ""]).exits(2).complains("where to?");
    hostwarp(&["ptxas", &at("k.ptx"), "-o", &at("k.cubin")]).exits(0);
    assert_eq!(fs::read_to_string(at("k.cubin")).unwrap(), source + "\0");
}

#[test]
fn a_file_that_cannot_be_written_is_said_before_the_run() {
    let folder = folder();
    let endless = kernel("endless.ptx", "L: bra L;");
    // Without the check this ends after the timeout, with exit code 4.
    let out = format!("out={}", folder.path().display());
    interp(&[endless.text(), "--timeout", "5", "out=u32[1]", "--out", &out]).exits(1).complains("--out");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn who_reads_a_pipe_gets_all_of_it() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    // Long enough for the reader to notice when the pipe is opened and closed before the run.
    let k = kernel(
        "slow.ptx",
        ".reg .b32 %r<3>; .reg .pred %p; mov.u32 %r1, 0;
L: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 1000000; @%p bra L;",
    );
    let out = format!("out={}", pipe.display());
    interp(&[k.text(), "out=u32[2]=7", "--out", &out, "--timeout", "20"]).exits(0);
    assert_eq!(reader.join().unwrap(), [7, 0, 0, 0, 7, 0, 0, 0]);
}

#[test]
fn what_is_half_written_when_the_time_is_up_goes() {
    let folder = folder();
    let at = |name: &str| format!("{}={}", name, folder.path().join(name).display());
    let pipe = std::process::Command::new("mkfifo").arg(folder.path().join("y")).status();
    assert!(pipe.unwrap().success());
    // The first is written, and nobody reads the second.
    let outs = [at("x"), at("y")];
    let arguments = ["a=1", "x=f32[2]", "y=f32[2]", "--out", &outs[0], "--out", &outs[1], "--timeout", "0.3"];
    saxpy(&arguments).exits(4).complains("time limit");
    assert_eq!(names(folder.path()), ["y"]);
}

#[test]
fn all_outs_are_written_or_none() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let [x, y] = ["x", "y"].map(|n| format!("{n}={}", at(n)));
    let arguments = ["a=1", "x=f32[2]=1", "y=f32[2]", "--out", &x, "--out", &y];
    saxpy(&arguments).exits(0);
    let (old, all) = (fs::read(at("y")).unwrap(), ["x", "y"]);
    assert_eq!((old.len(), names(folder.path())), (8, all.map(String::from).to_vec()));
    let mut changed = arguments;
    changed[0] = "a=2";
    let file = example("saxpy.ptx");
    // Up to the first commit nothing is changed; the first request after it is the second one's.
    for nth in 1..40 {
        let mut c = command(&["run", "--engine", "interp", &file, "--block", "2", "n=2"]);
        let ran = ran(c.args(changed).env("HOSTWARP_FAIL", format!("file:{nth}")).output().unwrap());
        assert_eq!(names(folder.path()), all, "{nth}");
        if ran.code == 0 {
            assert!(nth > 12, "{nth}");
            assert_ne!(fs::read(at("y")).unwrap(), old);
            return;
        }
        // Once both are in place only the table is missing.
        if !ran.err.contains("stdout") {
            assert_eq!(fs::read(at("y")).unwrap(), old, "{nth}: {}", ran.err);
        }
    }
    panic!("it always fails");
}

#[test]
fn two_outs_to_one_file_are_said() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::os::unix::fs::symlink(at("a"), at("link")).unwrap();
    for (one, other) in [("a", "a"), ("a", "./a"), ("a", "link")] {
        let (one, other) = (format!("x={}", at(one)), format!("y={}", at(other)));
        saxpy(&["a=1", "x=f32[2]", "y=f32[2]", "--out", &one, "--out", &other])
            .exits(2)
            .complains("would both be written to");
    }
    saxpy(&["a=1", "x=f32[2]", "y=f32[2]", "--out", "x=/dev/null", "--out", "y=/dev/null"]).exits(0);
    // The kernel is not what anybody wants to lose.
    let k = kernel("kept.ptx", "");
    let out = format!("out={}", k.text());
    interp(&[k.text(), "out=u32[1]", "--out", &out]).exits(2).complains("the file with the kernel");
    assert!(fs::read_to_string(&k.0).unwrap().contains(".entry"));
    let (second, text) = (at("second.ptx"), format!("{HEAD}.visible .func f() {{ ret; }}\n"));
    fs::write(&second, &text).unwrap();
    let out = format!("out={second}");
    interp(&[k.text(), &second, "out=u32[1]", "--out", &out]).exits(2).complains("the file with the kernel");
    assert_eq!(fs::read_to_string(&second).unwrap(), text);
}

#[test]
fn stdout_as_a_file_holds_all_that_is_written() {
    let folder = folder();
    let path = folder.path().join("out");
    let file = example("saxpy.ptx");
    let arguments =
        ["run", &file, "--block", "2", "n=2", "a=1", "x=f32[2]=1", "y=f32[2]", "--out", "y=/dev/stdout"];
    let status = command(&arguments).stdout(File::create(&path).unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let text = fs::read(&path).unwrap();
    assert_eq!(text[..8], [0, 0, 128, 63, 0, 0, 128, 63]);
    assert!(String::from_utf8_lossy(&text[8..]).contains("f32[2]"));
}

#[test]
fn files_that_are_not_what_is_asked_for_are_said() {
    let folder = folder();
    let npy = folder.path().join("x.npy").display().to_string();
    let out = format!("y={npy}");
    saxpy(&["a=1", "x=f32[2]=1", "y=f32[2]=2", "--out", &out]).exits(0);
    let with = |ty: &str| saxpy(&["a=1", &format!("x={ty}@{npy}"), "y=f32[2]"]);
    with("f32").exits(0).says("y  f32[2]  3 3");
    with("b32").exits(0).says("y  f32[2]  3 3");
    for ty in ["s32", "u32", "f16", "f64", "b64", "u8"] {
        with(ty).exits(1).complains(&format!("its elements are f32, not {ty}"));
    }
    let [u16s, bf16s] = ["u16", "bf16"].map(|t| folder.path().join(format!("{t}.npy")).display().to_string());
    let h = kernel("half_types.ptx", "");
    interp(&[h.text(), "out=bf16[2]=1", "--out", &format!("out={bf16s}")]).exits(0);
    interp(&[h.text(), "out=u16[2]=1", "--out", &format!("out={u16s}")]).exits(0);
    interp(&[h.text(), &format!("out=bf16@{bf16s}")]).exits(0).says("bf16[2]  1 1");
    interp(&[h.text(), &format!("out=f16@{u16s}")]).exits(1).complains("u16, not f16");
    // A name that promises more than the file holds.
    fs::write(&npy, [0; 8]).unwrap();
    for ty in ["", "f32"] {
        with(ty).exits(1).complains("does not begin as .npy does");
    }
    let raw = folder.path().join("x.bin");
    fs::rename(&npy, &raw).unwrap();
    saxpy(&["a=1", &format!("x=f32@{}", raw.display()), "y=f32[2]=4"]).exits(0).says("4 4");
}

#[test]
fn numbers_that_do_not_fit_are_said() {
    for (a, why) in [("1e999", "too large"), ("-1e39", "too large"), ("1e-999", "too small")] {
        saxpy(&[&format!("a={a}"), "x=f32[2]", "y=f32[2]"]).exits(3).complains(why);
    }
    for (a, y) in [("inf", "inf"), ("-inf", "-inf"), ("0e999", "0"), ("1e-45", "1e-45"), ("3.4e38", "3.4e38")]
    {
        saxpy(&[&format!("a={a}"), "x=f32[2]=1", "y=f32[2]"]).exits(0).says(&format!("y  f32[2]  {y} "));
    }
    let h = kernel("half_numbers.ptx", "");
    interp(&[h.text(), "out=f16[2]=65520"]).exits(2).complains("too large for .f16");
    interp(&[h.text(), "out=f16[2]=65504"]).exits(0);
}

/// Every command, in a way that it works.
fn commands(folder: &Path) -> Vec<Vec<String>> {
    let (saxpy, k) = (example("saxpy.ptx"), folder.join("k.ptx").display().to_string());
    fs::write(&k, format!("{HEAD}.visible .entry k() {{ ret; }}\n")).unwrap();
    fs::write(format!("{k}.wrong"), "no PTX").unwrap();
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies two folders down");
    let recordings = root.join("conformance/recordings/h200").display().to_string();
    let lines = [
        format!("run {saxpy} --block 2 n=2 a=1 x=f32[2] y=f32[2]"),
        format!("run --json {saxpy} --block 2 n=2 a=1 x=f32[2] y=f32[2]"),
        format!("run {saxpy} --block 2 --emit ir"),
        format!("check {saxpy}"),
        format!("check --json {k}.wrong"),
        format!("fmt --check {k}"),
        format!("info {saxpy}"),
        format!("info --json {saxpy}"),
        "explain add".into(),
        "explain --json add".into(),
        "isa".into(),
        "isa --json".into(),
        "doctor".into(),
        "completions bash".into(),
        "--help".into(),
        "help run".into(),
        "--version".into(),
        format!("conformance replay --dir {recordings} vadd --one-in 1000"),
    ];
    let split = |line: &String| line.split(' ').map(String::from).collect();
    let mut all: Vec<Vec<String>> = lines.iter().map(split).collect();
    all.push(["eval", "add.u32 %d, %a, %b", "a=1", "b=2"].map(String::from).to_vec());
    all
}

#[test]
fn output_that_nobody_gets_is_said() {
    let folder = folder();
    for arguments in commands(folder.path()) {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = command(&arguments).output().unwrap();
        assert!(!output.stdout.is_empty(), "{arguments:?} has nothing to say");
        let full = || Stdio::from(File::options().write(true).open("/dev/full").expect("Linux has it"));
        let gone = || {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            Stdio::from(writer)
        };
        for (stdout, why) in [(full(), "No space left"), (gone(), "Broken pipe")] {
            let output = command(&arguments).stdout(stdout).stderr(Stdio::piped()).output().unwrap();
            ran(output).exits(1).complains("cannot write to stdout").complains(why);
        }
        // No handle at all, which only a shell can give.
        let mut closed = std::process::Command::new("sh");
        closed.args(["-c", "exec \"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_hostwarp")]).args(&arguments);
        let output = closed.env("HOSTWARP_CACHE", "off").output().unwrap();
        ran(output).exits(1).complains("cannot write to stdout: stdout is closed");
    }
}

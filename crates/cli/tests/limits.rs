//! One budget from the first byte read to the last written: whatever is under way when it is used up stops, with an error by kind.
#![cfg(target_os = "linux")]

mod common;

use common::*;
use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::process::Stdio;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the folder is ours")
}

/// The path of a file with this text in the folder.
fn file(folder: &tempfile::TempDir, text: &str) -> String {
    let path = folder.path().join("k.ptx");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out) {{
.reg .b32 %r<8>; .reg .pred %p<4>; .reg .b64 %a;
ld.param.u64 %a, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0;
{body}
st.global.u32 [%a], %r2; ret; }}"
    )
}

#[test]
fn a_pipe_nobody_writes_to_ends_with_the_time() {
    let folder = folder();
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    for command in ["check", "info", "run"] {
        hostwarp(&[command, path.to_str().unwrap(), "--timeout", "0.1"]).exits(4).complains("time limit");
    }
}

#[test]
fn a_file_without_an_end_is_too_large() {
    for command in ["check", "fmt", "run"] {
        hostwarp(&[command, "/dev/zero", "--memory", "60M"])
            .exits(3)
            .complains("while `/dev/zero` was read")
            .complains("--memory");
    }
    let folder = folder();
    let path = file(&folder, &kernel(""));
    interp(&[&path, "out=@/dev/zero", "--memory", "60M"]).exits(3).complains("while `/dev/zero` was read");
}

#[test]
fn a_reader_who_does_not_read_ends_with_the_time() {
    let folder = folder();
    let path = file(&folder, &kernel(&"mad.lo.s32 %r2, %r2, %r1, 3;\n".repeat(10_000)));
    let mut child = command(&["fmt", "-", "--timeout", "0.5"])
        .stdin(fs::File::open(path).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let code = child.wait().unwrap().code();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((code, said.contains("time limit")), (Some(4), true), "{said}");
}

#[test]
fn llvm_is_not_waited_for() {
    let mut body = String::new();
    for i in 0..3000 {
        writeln!(body, "add.u32 %r3, %r1, {i}; setp.gt.u32 %p1, %r3, 16; @%p1 bra M{i};").unwrap();
        writeln!(body, "H{i}: add.u32 %r2, %r2, 1;").unwrap();
        writeln!(body, "M{i}: add.u32 %r3, %r3, 7; setp.lt.u32 %p2, %r3, 20; @%p2 bra H{i};").unwrap();
    }
    let folder = folder();
    let path = file(&folder, &kernel(&body));
    let ran = hostwarp(&["run", &path, "--engine", "jit", "--block", "64", "out=u32[1]", "--timeout", "0.5"]);
    if ran.code == 5 {
        return eprintln!("left out: {}", ran.err);
    }
    ran.exits(4).complains("time limit");
}

#[test]
fn parsing_and_checking_end_with_the_time() {
    let folder = folder();
    let path = file(&folder, &kernel(&"mad.lo.s32 %r2, %r2, %r1, 3;\n".repeat(400_000)));
    for command in ["check", "run"] {
        hostwarp(&[command, &path, "--timeout", "0.05"]).exits(4).complains("time limit");
    }
}

#[test]
fn memory_is_counted_before_it_is_taken() {
    let local = |bytes: u32| {
        kernel(&format!(".local .b8 a[{bytes}]; .reg .b64 %l; mov.u64 %l, a; st.local.u32 [%l], %r1;"))
    };
    let folder = folder();
    // What no GPU has.
    let path = file(&folder, &local((512 << 10) + 4));
    interp(&[&path, "out=u32[1]"]).exits(3).complains("at most 524288");
    let path = file(&folder, &local(64 << 10));
    let run = |memory: &str, block: &str| {
        interp(&[&path, "--grid", "8", "--block", block, "out=u32[1]", "--memory", memory])
    };
    run("30M", "1024").exits(3).complains("the CTA does not fit").complains("--memory");
    run("30M", "32").exits(0);
    interp(&[&path, "out=u32[100000000]", "--memory", "30M"]).exits(3);
    hostwarp(&["check", &path, "--memory", "1G"]).exits(0);
}

/// `exec` becomes the program: nobody is left who could stop it.
#[test]
fn exec_promises_no_limits() {
    let folder = folder();
    fs::write(folder.path().join("libcuda.so.1"), "").unwrap();
    for limit in [["--timeout", "1"], ["--memory", "1G"]] {
        let mut c = command(&["exec", limit[0], limit[1], "--", "true"]);
        ran(c.env("HOSTWARP_DROPIN", folder.path()).output().unwrap()).exits(2).complains("`timeout`");
    }
    let mut c = command(&["exec", "--", "true"]);
    ran(c.env("HOSTWARP_DROPIN", folder.path()).output().unwrap()).exits(0);
}

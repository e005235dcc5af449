//! `hostwarp.h` as C sees it: a program compiled by cc, linked with the library, run.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn out() -> PathBuf {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("capi");
    std::fs::create_dir_all(&out).unwrap();
    let built = std::env::current_exe().unwrap().with_file_name("libhostwarp_capi.so");
    std::fs::copy(&built, out.join("libhostwarp.so")).unwrap();
    out
}

/// Both ways that programs lie in memory: without `-pie` the heap is at low addresses.
fn program(pie: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = out();
    let program = out.join(format!("program{pie}"));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", pie])
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("tests/program.c"))
        .arg(out.join("libhostwarp.so"))
        .arg("-o")
        .arg(&program)
        .status()
        .expect("cc is there");
    assert!(compiled.success());
    let ran = Command::new(&program).env("LD_LIBRARY_PATH", &out).output().unwrap();
    assert!(ran.status.success(), "{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_c_program_runs() {
    program("-pie");
    program("-no-pie");
}

/// The header promises names and C++ takes it.
#[test]
fn cxx_takes_the_header() {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("header.cc");
    std::fs::write(&out, "#include \"hostwarp.h\"\nint main() { return hostwarp_api_version() == 0; }\n")
        .unwrap();
    let compiled = Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .arg(&out)
        .status();
    assert!(compiled.expect("c++ is there").success());
}

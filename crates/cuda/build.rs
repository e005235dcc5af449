//! Writes a stub for every name of `names.txt` that no source file defines, and the table for `cuGetProcAddress`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=names.txt");
    println!("cargo:rerun-if-changed=src");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    }
    let mut defined = HashSet::new();
    collect(Path::new("src"), &mut defined);
    let names = fs::read_to_string("names.txt").expect("names.txt is there");
    let (mut stubs, mut table) = (String::new(), String::new());
    for line in names.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let (kind, symbol) = (words[0], words[1]);
        if !defined.contains(symbol) {
            writeln!(
                stubs,
                "#[unsafe(no_mangle)] pub extern \"C\" fn {symbol}() -> i32 {{ static ONCE: std::sync::Once = std::sync::Once::new(); crate::log::missing(&ONCE, \"{symbol}\"); 801 }}"
            )
            .expect("a string takes all");
        }
        if kind == "driver" && words[4] != "old" {
            let ptds = words[4] == "ptds";
            let done = defined.contains(symbol);
            writeln!(
                table,
                "    Entry {{ name: \"{}\", version: {}, ptds: {ptds}, done: {done}, symbol: \"{symbol}\", address: {} as *const () }},",
                words[2],
                words[3],
                if done { format!("crate::driver::{symbol}") } else { format!("crate::stubs::{symbol}") }
            )
            .expect("a string takes all");
        }
    }
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("stubs.rs"), stubs).expect("the directory is cargo's");
    fs::write(Path::new(&out).join("table.rs"), format!("&[\n{table}]")).expect("the directory is cargo's");
}

/// The names of exported functions in all files.
fn collect(directory: &Path, defined: &mut HashSet<String>) {
    for entry in fs::read_dir(directory).expect("the sources are there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            collect(&path, defined);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("it can be read");
            for line in text.lines() {
                let line = line.trim_start();
                let line = line.strip_prefix("pub unsafe extern \"C\" ").unwrap_or(line);
                let Some(line) = line.strip_prefix("fn ") else { continue };
                let head = line.split('(').next().unwrap_or("");
                for name in head.split('/').map(str::trim) {
                    // These names are the small libraries' (`runtime/twelve.rs`).
                    let name = name.strip_prefix("hostwarp13_").unwrap_or(name);
                    if name.starts_with("cu") || name.starts_with("__cuda") {
                        defined.insert(name.to_string());
                    }
                }
            }
        }
    }
}

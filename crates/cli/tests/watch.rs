//! `run --stats`, `--trace`, `--strict` and `--schedule` as users see them.

mod common;

use common::*;
use serde_json::Value as Json;

const SAXPY: [&str; 8] = ["--grid", "4", "--block", "64", "n=256", "a=2", "x=f32[256]:iota", "y=f32[256]=1"];

fn saxpy(more: &[&str]) -> Ran {
    let file = example("saxpy.ptx");
    let mut args = vec!["run", &file];
    args.extend(SAXPY);
    args.extend(more);
    hostwarp(&args)
}

#[test]
fn statistics() {
    saxpy(&["--stats"]).exits(0).says("32.00 of 32 lanes active").says("global load").says("ld.global");
    saxpy(&["--stats", "--engine", "jit"]).exits(0).complains("statistics are counted there");
    let json: Json = serde_json::from_str(&saxpy(&["--stats", "--json"]).exits(0).out).expect("JSON");
    let memory = json["stats"]["memory"].as_array().expect("a list");
    let stored = memory.iter().find(|m| m["space"] == "global" && m["access"] == "store").expect("stored");
    assert_eq!((stored["bytes"].as_u64(), stored["transactions"].as_u64()), (Some(1024), Some(32)));
}

#[test]
fn traces() {
    saxpy(&["--trace", "1,3"]).exits(0).says("ld.global").says(" = 0x");
    saxpy(&["--trace", "1,3", "--trace-limit", "2"]).exits(0).complains("more lines of the trace");
    saxpy(&["--trace", "9,3"]).exits(3).complains("no CTA (9, 0, 0)");
    saxpy(&["--trace", "9"]).exits(2).complains("a CTA and a thread");
    let ran = saxpy(&["--trace", "1,3", "--trace-limit", "1", "--json"]).exits(0);
    let first: Json = serde_json::from_str(ran.out.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["step"], 0);
}

#[test]
fn strict_launches_and_schedules() {
    saxpy(&["--strict", "--schedule", "3"]).exits(0);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.ptx").display().to_string();
    let ptx = ".version 8.0 .target sm_70 .address_size 64\n.visible .entry k() { .reg .b32 %r<3>;\nadd.u32 %r1, %r2, 1; ret; }\n";
    std::fs::write(&file, ptx).expect("it can be written");
    hostwarp(&["run", &file]).exits(0);
    hostwarp(&["run", &file, "--strict"])
        .exits(4)
        .complains("line 3")
        .complains("`%r2` is read and was never written");
}

//! `hostwarp conformance`, `explain` and `eval` where hardware and manual differ, as processes.

use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies two folders down")
}

fn hostwarp(arguments: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_hostwarp"));
    c.args(arguments).current_dir(root()).output().expect("the binary is there")
}

/// Stdout of a run that must exit with `code`.
#[track_caller]
fn out(arguments: &[&str], code: i32) -> String {
    let o = hostwarp(arguments);
    let (out, err) = (String::from_utf8_lossy(&o.stdout), String::from_utf8_lossy(&o.stderr));
    assert_eq!(o.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
    out.into_owned()
}

/// Stderr of a run that must exit with `code`.
#[track_caller]
fn err(arguments: &[&str], code: i32) -> String {
    let o = hostwarp(arguments);
    let err = String::from_utf8_lossy(&o.stderr).into_owned();
    assert_eq!(o.status.code(), Some(code), "{err}");
    err
}

#[track_caller]
fn json(arguments: &[&str], code: i32) -> Json {
    let text = out(arguments, code);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the folder is ours");
        Folder(path)
    }

    fn text(&self) -> &str {
        self.0.to_str().expect("plain name")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn replay_agrees_with_the_recordings() {
    let text = out(&["conformance", "replay", "clz", "po*"], 0);
    for opcode in ["clz", "popc", "all"] {
        let row: Vec<_> = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>()).collect();
        let row = row.iter().find(|r| r.first() == Some(&opcode)).expect(opcode);
        assert!(row.len() == 3 && row[1] == row[2] && row[1] != "0", "{text}");
    }
    assert!(!text.contains("shl") && !text.contains("Differences"), "{text}");
}

#[test]
fn a_replay_that_compares_nothing_is_not_green() {
    let nothing = err(&["conformance", "replay", "--one-in", "18446744073709551614", "vmad", "clz"], 1);
    assert!(nothing.contains("nothing of `vmad` was compared"), "{nothing}");
}

#[test]
fn replay_of_the_manual_differs_where_errata_say_so() {
    let options = ["conformance", "replay", "--profile", "isa", "--one-in", "64", "vmad"];
    let text = out(&options, 0);
    assert!(text.contains("Differences that errata explain\n  vmad."), "{text}");
    assert!(text.contains("expected 0x") && text.contains("    hostwarp eval 'vmad."), "{text}");
    let json = json(&[options.as_slice(), &["--json"]].concat(), 0);
    let row = &json["instructions"][0];
    assert_eq!(row["opcode"], "vmad");
    assert_eq!(
        (&json["unexplained"], &json["profile"], &json["engine"]),
        (&0.into(), &"isa".into(), &"interp".into())
    );
    let differences = json["differences"].as_array().expect("a list");
    let number = |v: &Json| v.as_u64().expect("a number") as usize;
    assert_eq!(number(&row["agreed"]) + differences.len(), number(&row["total"]));
    assert!(!differences.is_empty());
    for d in differences {
        // Most vectors are kept as a hash: which of them differs cannot be said.
        let shown = d["expected"] != d["got"] && d["eval"].is_string();
        assert!(d["errata"][0].is_string() && (shown || d["why"].is_string()), "{d}");
    }
}

#[test]
fn a_difference_that_no_erratum_explains_exits_1() {
    // The recording of `clz` with one result changed.
    use hostwarp_conformance::file::{Recording, path};
    let folder = Folder::new("conformance-changed");
    let mut recording =
        Recording::read(&path(&root().join("conformance/recordings/h200"), "clz")).expect("it is there");
    recording.cases[0].raw[0] ^= 1;
    let form = recording.cases[0].text.clone();
    std::fs::write(path(&folder.0, "clz"), recording.encode().expect("it was one")).expect("ours");
    for profile in ["isa", "sm_90"] {
        let options = ["conformance", "replay", "--dir", folder.text(), "--profile", profile];
        let text = out(&options, 1);
        assert!(
            text.contains(&format!("Differences\n  {form}")) && text.contains("hostwarp eval 'clz"),
            "{text}"
        );
        let json = json(&[options.as_slice(), &["--json"]].concat(), 1);
        assert_eq!(json["unexplained"], 1);
        assert_eq!(json["differences"][0]["form"], form.as_str());
    }
}

#[test]
fn missing_recordings_are_said_so() {
    let said = err(&["conformance", "replay", "--dir", "no/such/folder"], 1);
    assert!(said.contains("no recordings in no/such/folder") && said.contains("--dir"), "{said}");
    let said = err(&["conformance", "replay", "xyzzy"], 1);
    assert!(said.contains("no recording of `xyzzy`") && said.contains("vmad"), "{said}");
    let said = err(&["conformance", "docs", "--dir", "no/such/folder"], 1);
    assert!(said.contains("no recordings"), "{said}");
    assert_eq!(json(&["conformance", "replay", "--json", "--dir", "no"], 1)["error"]["kind"], "input");
    err(&["conformance"], 2);
}

#[test]
fn recording_needs_a_gpu_and_ptxas() {
    let folder = Folder::new("conformance-record");
    let said = err(&["conformance", "record", "--ptxas", "no/such/ptxas", "--out", folder.text(), "clz"], 1);
    // Where there is a GPU, ptxas is what is missing.
    assert!(said.contains("cannot record: ") || said.contains("cannot run no/such/ptxas"), "{said}");
    assert_eq!(std::fs::read_dir(&folder.0).expect("ours").count(), 0);
    let said = err(&["conformance", "record", "--ptxas", "ptxas", "xyzzy"], 1);
    assert!(said.contains("`xyzzy`"), "{said}");
    assert!(err(&["conformance", "record"], 2).contains("--ptxas"));
}

#[test]
fn docs_are_written() {
    let folder = Folder::new("conformance-docs");
    out(&["conformance", "docs", "--out", folder.text()], 0);
    let read = |name: &str| std::fs::read_to_string(folder.0.join(name)).expect("it was written");
    assert!(read("errata.md").contains("--profile both"));
    assert!(read("conformance.md").contains("| vmad |"));
}

#[test]
fn explain_has_the_errata_of_the_instruction() {
    let text = out(&["explain", "vmad"], 0);
    assert!(text.contains("V1: full words are multiplied as signed numbers"), "{text}");
    assert!(text.contains("tested forms") && text.contains("    hostwarp eval 'vmad."), "{text}");
    assert!(!text.contains("R1:"), "{text}");
    assert!(!out(&["explain", "clz"], 0).contains("Errata"));
    let json = json(&["explain", "--json", "vmad"], 0);
    let first = &json["errata"][0];
    assert_eq!(first["id"], "V1");
    assert!(first["covered"].as_u64() < first["forms"].as_u64());
    // What it says is what the command gives.
    let command = first["example"]["eval"].as_str().expect("a command");
    let (before, rest) = command.split_once('\'').expect("quoted");
    let (instruction, rest) = rest.split_once('\'').expect("quoted");
    assert_eq!(before, "hostwarp eval ");
    let mut arguments = vec!["eval", instruction, "--json"];
    arguments.extend(rest.split_whitespace());
    let results = self::json(&arguments, 0)["results"].clone();
    for (i, profile) in ["isa", "sm_90"].into_iter().enumerate() {
        let hex = |v: &Json| u64::from_str_radix(v.as_str().expect("text").trim_start_matches("0x"), 16);
        assert_eq!(results[i]["profile"], profile);
        assert_eq!(hex(&results[i]["outputs"][0]["hex"]), hex(&first["example"][profile]));
    }
}

#[test]
fn explain_lists_only_the_sets_of_the_forms() {
    let text = out(&["explain", "vadd4"], 0);
    assert!(!text.contains(".cmp") && text.contains("    .mask  = .b0"), "{text}");
    assert!(out(&["explain", "vset4"], 0).contains("    .cmp   = .eq"));
    let json = json(&["explain", "--json", "vadd4"], 0);
    assert!(json["forms"][0]["sets"][".mask"].is_array() && json["forms"][0]["sets"][".cmp"].is_null());
}

#[test]
fn eval_shows_both_profiles() {
    let vmad = ["eval", "vmad.u32.u32.u32.sat r0, r1, r2, r3", "r1=0xffffffff", "r2=2", "r3=0"];
    let text = out(&[vmad.as_slice(), &["--profile", "both"]].concat(), 0);
    assert!(text.contains("isa\nr0  0xffffffff") && text.contains("sm_90\nr0  0x00000000"), "{text}");
    assert!(text.contains("the profiles differ"), "{text}");
}

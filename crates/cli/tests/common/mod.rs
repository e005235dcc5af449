//! What the tests of the command share.
#![allow(dead_code)] // Not each of them needs all of it.

use serde_json::Value as Json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Fails the test, with all that was said, unless the exit code is this one.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(self, part: &str) -> Ran {
        assert!(self.out.contains(part), "no `{part}` in stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn complains(self, part: &str) -> Ran {
        assert!(self.err.contains(part), "no `{part}` in stderr:\n{}\nstdout:\n{}", self.err, self.out);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}:\n{}\n{}", self.out, self.err))
    }
}

pub fn command(arguments: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_hostwarp"));
    c.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    // What one test compiles is nothing another should find, nor the user.
    c.env("HOSTWARP_CACHE", "off");
    c
}

pub fn ran(output: Output) -> Ran {
    Ran {
        code: output.status.code().expect("not killed"),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

pub fn hostwarp(arguments: &[&str]) -> Ran {
    ran(command(arguments).output().expect("the binary is there"))
}

pub fn with_stdin(arguments: &[&str], stdin: &str) -> Ran {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary is there");
    child.stdin.take().expect("piped").write_all(stdin.as_bytes()).expect("it reads");
    ran(child.wait_with_output().expect("it ends"))
}

pub fn example(name: &str) -> String {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies two folders down");
    root.join("examples").join(name).display().to_string()
}

/// A file that goes away with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str, contents: impl AsRef<[u8]>) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, contents).expect("the folder is ours");
        Scratch(path)
    }

    pub fn text(&self) -> &str {
        self.0.to_str().expect("plain name")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

pub fn kernel(name: &str, body: &str) -> Scratch {
    Scratch::new(name, format!("{HEAD}.visible .entry k(.param .u64 out) {{\n{body}\nret;\n}}\n"))
}

pub fn interp(arguments: &[&str]) -> Ran {
    let mut all = vec!["run", "--engine", "interp"];
    all.extend(arguments);
    hostwarp(&all)
}

//! `hostwarp ptxas`: ptxas's command line. What it writes in place of a cubin is the checked PTX, which our libcuda loads.

use crate::failure::{Exit, Failure};
use crate::{input, output};
use hostwarp::compile::{self, Severity};
use hostwarp::syntax;
use hostwarp_system::file;
use std::path::{Path, PathBuf};

/// Stand in for ptxas: check PTX and write it where a cubin is expected, for the drop-in libcuda to load.
#[derive(clap::Args, Debug)]
#[command(
    disable_version_flag = true,
    disable_help_flag = true,
    after_help = "\
Examples:
  hostwarp ptxas -arch=sm_90 k.ptx -o k.cubin
  printf '#!/bin/sh\\nexec hostwarp ptxas \"$@\"\\n' > ptxas; chmod +x ptxas
  TRITON_PTXAS_PATH=$PWD/ptxas TRITON_PTXAS_BLACKWELL_PATH=$PWD/ptxas hostwarp exec -- python k.py

Options of ptxas that choose how code is made have no effect. Exits 0 if the PTX is right, also if a
kernel needs something Hostwarp does not do yet: other kernels of the module may run."
)]
pub struct Ptxas {
    /// As ptxas takes them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<String>,
}

/// What Triton and others look for; they write PTX of the version that belongs to the release.
const VERSION: &str = "ptxas: NVIDIA (R) Ptx optimizing assembler (stand-in: hostwarp)\nCuda compilation tools, release 12.9, V12.9.86\n";

/// Options whose value may be the next argument.
const WITH_VALUE: &[&str] = &[
    "-arch",
    "--gpu-name",
    "-o",
    "--output-file",
    "-maxrregcount",
    "--maxrregcount",
    "-m",
    "--machine",
    "-O",
    "--opt-level",
    "-opt-level",
    "-e",
    "--entry",
    "-optf",
    "--options-file",
    "-split-compile",
    "--split-compile",
];

impl Ptxas {
    pub fn run(self) -> Result<(), Failure> {
        let (mut files, mut out) = (vec![], PathBuf::from("elf.o"));
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            let (name, value) = match arg.split_once('=') {
                Some((name, value)) if arg.starts_with('-') => (name, Some(value.to_string())),
                _ => (arg.as_str(), None),
            };
            if ["--help", "-h"].contains(&name) {
                return Err(Failure::usage("`hostwarp help ptxas` says what there is"));
            }
            if ["--version", "-V"].contains(&name) {
                output::print(VERSION)?;
                return Ok(());
            }
            if !name.starts_with('-') {
                files.push(PathBuf::from(arg));
                continue;
            }
            let value = match value {
                None if WITH_VALUE.contains(&name) => args.next().cloned(),
                value => value,
            };
            if ["-o", "--output-file"].contains(&name) {
                let value = value.filter(|v| !v.is_empty());
                out = PathBuf::from(value.ok_or_else(|| Failure::usage("-o: where to?"))?);
            }
        }
        match files.as_slice() {
            [file] => Ptxas::one(file, &out),
            [] => Err(Failure::usage("which file? `hostwarp help ptxas` has examples")),
            _ => Err(Failure::usage("one file at a time, please")),
        }
    }

    fn one(path: &Path, out: &Path) -> Result<(), Failure> {
        // With a NUL behind it it would be PTX no longer.
        if file::same(path, out) {
            return Err(Failure::usage(format!("`{}` is the file that is read", out.display())));
        }
        let source = input::read(path)?;
        let parsed = syntax::parse(&source.bytes);
        let options = compile::Options { check_only: true, ..compile::Options::default() };
        let diagnostics = compile::compile(&parsed, &options).diagnostics;
        if !diagnostics.is_empty() {
            output::complain_raw(&input::render(&diagnostics, parsed.module.source(), &source.name));
        }
        if diagnostics.iter().any(|d| d.severity == Severity::Error) {
            return Err(Failure::Quiet(Exit::Input));
        }
        // The driver is given no size: the text ends with NUL.
        let mut bytes = source.bytes;
        bytes.push(0);
        file::replace(out, &bytes)
            .map_err(|e| Failure::input(format!("cannot write `{}`: {e}", out.display())))
    }
}

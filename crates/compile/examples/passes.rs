//! In how many kernels of some PTX files each pass over the IR fires, and what it leaves: `cargo run -p hostwarp-compile --example passes -- FILE.ptx…`
//!
//! With `--without NAME` (several times if need be) the pass is left out, so that its worth can be told.

use hostwarp_compile::{Options, compile};
use hostwarp_ir::{Function, Op, passes};
use std::process::ExitCode;

/// What a kernel consists of.
#[derive(Clone, Copy, Default, PartialEq)]
struct Size {
    ops: usize,
    blocks: usize,
    local: usize,
}

impl Size {
    fn of(func: &Function) -> Size {
        let insts = || func.blocks.iter().flat_map(|b| &b.insts);
        // Constants cost nothing when a kernel runs.
        let ops = insts().filter(|i| !matches!(i.op, Op::Const(_) | Op::Special(_))).count();
        let local = insts().filter(|i| i.op.to_string().contains(".local")).count();
        Size { ops, blocks: func.blocks.len(), local }
    }
}

fn main() -> ExitCode {
    let (mut files, mut without) = (vec![], vec![]);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--without" => without.extend(args.next()),
            _ => files.push(arg),
        }
    }
    let pipeline: Vec<passes::Pass> =
        passes::LOWER.iter().filter(|p| !without.iter().any(|name| name == p.name)).copied().collect();
    // By place in the pipeline: kernels it changes, ops and blocks that are less afterwards.
    let mut fires = vec![(0usize, 0isize, 0isize); pipeline.len()];
    println!("{:24} {:>6} {:>6} {:>6} {:>6} {:>6}", "kernel", "linked", "blocks", "ops", "blocks", "local");
    let mut kernels = 0;
    for file in &files {
        let text = match std::fs::read(file) {
            Ok(text) => text,
            Err(e) => {
                eprintln!("cannot read `{file}`: {e}");
                return ExitCode::FAILURE;
            }
        };
        let output = compile(&hostwarp_syntax::parse(&text), &Options::default());
        for kernel in output.module.kernels {
            let Ok(mut func) = kernel.function else {
                println!("{:24} cannot be used", kernel.name);
                continue;
            };
            kernels += 1;
            let first = Size::of(&func);
            let (mut n, mut before, mut last) = (0, func.clone(), first);
            passes::run(&mut func, &pipeline, |_, func| {
                let size = Size::of(func);
                if before != *func {
                    fires[n].0 += 1;
                    fires[n].1 += last.ops as isize - size.ops as isize;
                    fires[n].2 += last.blocks as isize - size.blocks as isize;
                    before = func.clone();
                }
                (n, last) = (n + 1, size);
                true
            });
            let Size { ops, blocks, local } = last;
            println!("{:24} {:6} {:6} {ops:6} {blocks:6} {local:6}", kernel.name, first.ops, first.blocks);
        }
    }
    println!("\n{:20} {:>7} of {kernels} {:>8} {:>8}", "pass", "fires in", "ops less", "blocks less");
    for (pass, (fired, ops, blocks)) in pipeline.iter().zip(&fires) {
        println!("{:20} {fired:7} {ops:14} {blocks:10}", pass.name);
    }
    ExitCode::SUCCESS
}

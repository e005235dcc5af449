//! A kernel of either kind, made from a seed, run and made small.

use crate::generate::{WIDE, generate};
use crate::program::Kernel;
use crate::run::Case;
use crate::shapes::sim::Done;
use crate::shapes::{self, Program, SHAPES};

/// Bits of a seed that say what kind of kernel it is.
pub const KIND: u64 = WIDE | SHAPES;

/// What is run.
#[derive(Clone, Debug)]
pub enum Subject {
    /// Instructions from all forms, between structured control.
    Ops(Kernel),
    /// Any control flow graph, with what a simulator says of it.
    Shape(Program, Done),
}

impl Subject {
    /// The kernel of a seed.
    pub fn make(seed: u64) -> Subject {
        if seed & SHAPES == 0 {
            return Subject::Ops(generate(seed));
        }
        let (program, done) = shapes::make::make(seed);
        Subject::Shape(program, done)
    }

    /// As text, with its launch.
    pub fn case(&self) -> Case {
        match self {
            Subject::Ops(kernel) => Case::of(kernel),
            Subject::Shape(program, done) => Case::of_program(program, done.memory.clone()),
        }
    }

    /// The smallest case found that still fails, and how many were tried.
    pub fn reduce(&self, mut fails: impl FnMut(&Case) -> bool) -> (Case, usize) {
        match self {
            Subject::Ops(kernel) => {
                let (small, tried) = crate::reduce::reduce(kernel, |k| fails(&Case::of(k)));
                (Case::of(&small), tried)
            }
            Subject::Shape(program, done) => {
                let (small, tried) = shapes::reduce::reduce(program, &mut fails);
                let memory = shapes::make::outcome(&small).map_or(done.memory.clone(), |d| d.memory);
                (Case::of_program(&small, memory), tried)
            }
        }
    }
}

//! How values differ between lanes, and where control may split them.

use crate::{Assume, Invariance, Loop, Shape};
use hostwarp_ir::{Block, Function, Term};

pub(crate) struct Control<'a> {
    func: &'a Function,
}

pub(crate) struct Shapes {
    pub(crate) shape: Vec<Shape>,
    pub(crate) divergent: Vec<bool>,
    pub(crate) masked: Vec<bool>,
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        func: &'a Function,
        _order: &'a [Block],
        _position: &'a [u32],
        _loops: &'a [Loop],
        _loop_of: &'a [Option<usize>],
    ) -> Control<'a> {
        Control { func }
    }

    pub(crate) fn shapes(&self, _assume: Assume, _invariance: &[Invariance]) -> Shapes {
        Shapes {
            shape: vec![Shape::Varying; self.func.types.len()],
            divergent: self
                .func
                .blocks
                .iter()
                .map(|b| matches!(b.term, Term::Branch(..) | Term::Switch(..)))
                .collect(),
            masked: vec![true; self.func.blocks.len()],
        }
    }
}

//! A function as the interpreter runs it.

use hostwarp_ir::Function;
use hostwarp_plan::Plan;

#[derive(Debug)]
pub(crate) struct Code {}

impl Code {
    pub(crate) fn new(_func: &Function, _plan: &Plan) -> Code {
        Code {}
    }
}

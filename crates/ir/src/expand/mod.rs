//! Float ops spelled out in primitive ones: exact algorithms in round-to-nearest f32/f64 and integer arithmetic, the same for
//! every engine.

use crate::Function;

/// What an engine can do beyond the primitive ops.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, Hash)]
pub struct Caps {}

/// Rewrites every op that is not [primitive](crate::Op::is_primitive). Result values keep their ids.
pub fn expand(func: &mut Function, caps: Caps) {
    let _ = (func, caps);
}

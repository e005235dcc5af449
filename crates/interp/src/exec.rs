//! Running a CTA.

use crate::cta::{Cta, Outcome};
use crate::fault::KernelFaultKind;
use crate::launch::Launch;

#[derive(Debug, Default)]
pub(crate) struct Scratch {}

/// Runs a CTA until it is done, faults, or has run about `budget` instructions (counted once per warp).
pub fn run(launch: &Launch, cta: &mut Cta, budget: u64) -> Outcome {
    let _ = (launch.program.code(), budget, &cta.scratch);
    let kind = KernelFaultKind::Unsupported("the interpreter".into());
    Outcome::Fault(Box::new(cta.fault(launch, kind, 0, None)))
}

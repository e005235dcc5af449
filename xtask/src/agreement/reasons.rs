//! Why verdicts differ where they do.

use super::Judged;

/// A pattern over a disagreement and the reason behind it.
type Reason = (fn(&Judged) -> bool, &'static str);

/// The first that fits says why.
const REASONS: &[Reason] = &[];

/// The reason of a disagreement.
pub fn reason(judged: &Judged) -> Option<&'static str> {
    REASONS.iter().find(|(fits, _)| fits(judged)).map(|(_, why)| *why)
}

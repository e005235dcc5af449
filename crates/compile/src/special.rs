//! Special registers as operands.

use hostwarp_isa::special::specials;

pub(crate) use hostwarp_isa::SpecialRegister as Special;

/// What a name that begins with `%` and was never declared stands for.
pub(crate) enum Found {
    One(&'static Special),
    /// `%tid` without a component: all of them.
    Vector(Vec<&'static Special>),
    Nothing,
}

/// The special register of that name; components with their dot: `%tid.x`.
pub(crate) fn find(name: &str) -> Found {
    if let Some(one) = hostwarp_isa::special(name) {
        return Found::One(one);
    }
    let parts: Vec<_> = specials().iter().filter(|s| stem(s.name) == Some(name)).collect();
    if !parts.is_empty() {
        return Found::Vector(parts);
    }
    Found::Nothing
}

/// Whether a special register of that name has components.
pub(crate) fn has_components(name: &str) -> bool {
    specials().iter().any(|s| stem(s.name) == Some(name))
}

/// The special register that a register of this name hides, or one of the range `name0` … `name<count - 1>`.
pub(crate) fn hidden_by(name: &str, count: Option<u32>) -> Option<&'static str> {
    if !name.starts_with('%') {
        return None;
    }
    names().find(|special| match count {
        None => *special == name,
        Some(count) => {
            let number = special.strip_prefix(name).filter(|n| *n == "0" || !n.starts_with('0'));
            number.and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n < count)
        }
    })
}

/// Names without components, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    specials().iter().map(|s| stem(s.name).unwrap_or(s.name))
}

fn stem(name: &str) -> Option<&str> {
    name.split_once('.').map(|(stem, _)| stem)
}

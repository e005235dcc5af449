//! Names that look like a name.

/// The candidate closest to `name`, if one is close.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.len() / 3).max(1);
    candidates
        .filter(|c| c.len().abs_diff(name.len()) <= limit)
        .map(|c| (distance(name, c), c))
        .filter(|(d, _)| *d <= limit && *d > 0)
        .min()
        .map(|(_, c)| c)
}

/// Edit distance, adjacent swaps counted as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let (mut before, mut above) = (vec![0; b.len() + 1], (0..=b.len()).collect::<Vec<_>>());
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            let mut d = (above[j - 1] + differs).min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                d = d.min(before[j - 2] + 1);
            }
            row[j] = d;
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swaps_count_once() {
        assert_eq!(distance("loop", "lopo"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(nearest("%tdi", ["%tid", "%pid"].into_iter()), Some("%tid"));
        assert_eq!(nearest("%r", ["%tid", "%laneid"].into_iter()), None);
    }
}

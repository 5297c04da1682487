//! "Maybe you meant": the nearest known names to a mistyped one.

/// The at most `limit` candidates within edit distance `max(1, len / 3)`, nearest first.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let lower = word.to_ascii_lowercase();
    let bound = (lower.len() / 3).max(1);
    let mut found: Vec<(usize, &str)> = candidates
        .filter(|c| c.len().abs_diff(word.len()) <= bound)
        .map(|c| (edit_distance(lower.as_bytes(), c.to_ascii_lowercase().as_bytes()), c))
        .filter(|(distance, _)| *distance <= bound)
        .collect();
    found.sort();
    found.dedup();
    found.into_iter().take(limit).map(|(_, c)| c).collect()
}

/// Levenshtein distance in bytes.
fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    #[test]
    fn nearest_first() {
        let names = ["toInt32", "toUInt32", "toString", "sum"];
        assert_eq!(super::nearest("toint32", names.iter().copied(), 2), ["toInt32", "toUInt32"]);
        assert!(super::nearest("zzz", names.iter().copied(), 2).is_empty());
    }
}

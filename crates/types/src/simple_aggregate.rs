//! `SimpleAggregateFunction(f, T)`: a column of type `T` whose values merges combine with `f`. The function is a property of
//! the column, not of its values.

/// `f` and `T` of the text of such a type; `None` for the text of another.
pub fn simple_aggregate(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim().strip_prefix("SimpleAggregateFunction")?.trim_start();
    let inner = inner.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0;
    for (at, c) in inner.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return Some((inner[..at].trim(), inner[at + 1..].trim())),
            _ => {}
        }
    }
    None
}

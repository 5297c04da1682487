//! Where rows end in text of JSON values that follow each other.

use chalet_text::read::cursor::Cursor;

/// From this many bytes on, the end of any row does.
const MANY: usize = 1 << 16;

/// The end of the first value (and of the line it stands on) that ends at or after `at_least`. Brackets are counted
/// from the beginning, because a value may span lines. `wrapped`: the rows may stand in an array.
pub fn find_row_end(bytes: &[u8], at_least: usize, wrapped: bool) -> Option<usize> {
    // Several rows may share a line: this finds the end of some row, which will do when there are many.
    if at_least > MANY
        && let Some(end) = line_between_values(bytes, at_least)
    {
        return Some(end);
    }
    let mut depth = 0usize;
    let mut at = 0;
    // The brackets around all rows of a file that is one array are not those of a row.
    if wrapped && opens_array_of_objects(bytes) {
        at = memchr::memchr(b'[', bytes)? + 1;
    }
    loop {
        match bytes.get(at)? {
            b'"' => at = string_end(bytes, at + 1)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
                if depth == 0 && at >= at_least {
                    return Some(behind_separators(bytes, at));
                }
            }
            _ => {
                let rest = &bytes[at..];
                at += rest.iter().position(|b| matches!(b, b'"' | b'{' | b'[' | b'}' | b']'))?;
            }
        }
    }
}

/// The end of a line that ends a value and is followed by one that begins the next: what stands inside of a value
/// cannot look like that, for its parts are separated by commas. Looks at a few lines only.
fn line_between_values(bytes: &[u8], at_least: usize) -> Option<usize> {
    const LINES: usize = 16;
    let mut at = at_least.min(bytes.len());
    for _ in 0..LINES {
        at += memchr::memchr(b'\n', bytes.get(at..)?)? + 1;
        let last = bytes[..at].iter().rfind(|b| !b.is_ascii_whitespace())?;
        let next = bytes[at..].iter().find(|b| !b.is_ascii_whitespace())?;
        if matches!((last, next), (b'}', b'{') | (b']', b'[')) {
            return Some(at);
        }
    }
    None
}

/// Includes the commas and blanks up to the next value: units begin where a row does.
fn behind_separators(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b';')) {
        at += 1;
    }
    at
}

fn opens_array_of_objects(bytes: &[u8]) -> bool {
    let mut plain = bytes.iter().filter(|b| !b.is_ascii_whitespace());
    plain.next() == Some(&b'[') && plain.next() == Some(&b'{')
}

/// Behind the quote that ends the string whose text begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Steps over the rest of the line on which the row begins.
pub fn skip_row(cur: &mut Cursor<'_>) {
    cur.skip_whitespace();
    let rest = cur.rest();
    cur.advance(memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1));
}

#[cfg(test)]
mod tests {
    use super::find_row_end;

    #[test]
    fn rows_end_where_values_do() {
        let text = b"{\"a\":\"}\\\"\"}\n{\"b\":[{}]}, {\"c\":1}";
        assert_eq!(find_row_end(text, 1, true), Some(12));
        assert_eq!(find_row_end(text, 13, true), Some(24));
        assert_eq!(find_row_end(text, text.len(), true), Some(text.len()));
        assert_eq!(find_row_end(text, text.len() + 1, true), None);
        assert_eq!(find_row_end(b"[{\"a\":1},\n{\"a\":2}]", 2, true), Some(10));
        assert_eq!(find_row_end(b"{\"a\":\"", 1, true), None);
    }
}

//! How many columns of a terminal a text takes.

use chalet_base::simd_dispatch::dispatch_simd;
use unicode_width::UnicodeWidthChar;

/// Tabs reach to the next multiple of this.
const TAB: usize = 8;

/// As in the kernel, wide are the scripts of East Asia but not pictures.
fn char_width(c: char) -> usize {
    match c {
        '\u{2028}' | '\u{2029}' => 0,
        '\u{1f000}'..='\u{1ffff}' => 1,
        _ => c.width().unwrap_or(0),
    }
}

/// The width of a line that begins at column `start`. Escape sequences and bytes that are not UTF-8 take no place.
pub fn width(text: &[u8], start: usize) -> usize {
    // To the end whatever comes, so that many bytes are looked at at once.
    if dispatch_simd(|| text.iter().fold(true, |all, b| all & (0x20..0x7f).contains(b))) {
        return text.len();
    }
    let mut total = 0;
    for chunk in text.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\t' => total += TAB - (start + total) % TAB,
                '\x1b' if chars.peek() == Some(&'[') => {
                    chars.next();
                    for c in chars.by_ref() {
                        if ('@'..='~').contains(&c) {
                            break;
                        }
                    }
                }
                _ => total += char_width(c),
            }
        }
    }
    total
}

/// The longest beginning of a text of at most `limit` columns.
pub fn cut(text: &[u8], limit: usize) -> &[u8] {
    let mut at = 0;
    let mut total = 0;
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            total += char_width(c);
            if total > limit {
                return &text[..at];
            }
            at += c.len_utf8();
        }
        at += chunk.invalid().len();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        for (text, expected) in
            [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("a\x1b[31mred", 4), ("b\0c", 2), ("", 0)]
        {
            assert_eq!(width(text.as_bytes(), 0), expected, "{text:?}");
        }
        assert_eq!(width(b"z\xff", 0), 1);
        assert_eq!(cut("日本x".as_bytes(), 3), "日".as_bytes());
    }
}

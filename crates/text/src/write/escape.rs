//! Strings between delimiters: the escapes of each text format.

/// Appends `text`, with each byte for which `replacement` gives something replaced by it.
#[inline]
fn replacing(out: &mut Vec<u8>, text: &[u8], replacement: impl Fn(u8) -> Option<&'static [u8]>) {
    let mut done = 0;
    for (i, &byte) in text.iter().enumerate() {
        if let Some(escape) = replacement(byte) {
            out.extend_from_slice(&text[done..i]);
            out.extend_from_slice(escape);
            done = i + 1;
        }
    }
    out.extend_from_slice(&text[done..]);
}

#[inline(always)]
fn backslashed(byte: u8, quote: bool) -> Option<&'static [u8]> {
    // Everything above is plain.
    if byte > b'\\' {
        return None;
    }
    Some(match byte {
        0x08 => b"\\b",
        0x0c => b"\\f",
        b'\n' => b"\\n",
        b'\r' => b"\\r",
        b'\t' => b"\\t",
        0 => b"\\0",
        b'\'' if quote => b"\\'",
        b'\\' => b"\\\\",
        _ => return None,
    })
}

/// As in tab-separated files: the quote is escaped too.
pub fn escaped(out: &mut Vec<u8>, text: &[u8]) {
    replacing(out, text, |byte| backslashed(byte, true));
}

/// A literal in single quotes.
pub fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    replacing(out, text, |byte| backslashed(byte, true));
    out.push(b'\'');
}

/// In single quotes, inner ones doubled; backslashes stay as they are.
pub fn quoted_with_quotes(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'\'');
    replacing(out, text, |byte| match byte {
        b'\'' => Some(b"''"),
        b'\\' => None,
        other => backslashed(other, false),
    });
    out.push(b'\'');
}

/// In double quotes, inner ones doubled.
pub fn csv(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    replacing(out, text, |byte| (byte == b'"').then_some(b"\"\""));
    out.push(b'"');
}

/// Angle brackets and ampersands as entities.
pub fn xml(out: &mut Vec<u8>, text: &[u8]) {
    replacing(out, text, |byte| match byte {
        b'<' => Some(b"&lt;"),
        b'&' => Some(b"&amp;"),
        _ => None,
    });
}

/// How strings of JSON are written.
#[derive(Clone, Copy, Debug)]
pub struct JsonStrings {
    pub escape_slashes: bool,
    /// Replace what is not UTF-8 by U+FFFD.
    pub validate: bool,
}

/// The text with each run of bytes that are no UTF-8 replaced by one U+FFFD, as the kernel does.
pub fn lossy(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut in_run = false;
    for chunk in text.utf8_chunks() {
        in_run &= chunk.valid().is_empty();
        out.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() && !std::mem::replace(&mut in_run, true) {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
    }
    out
}

/// A JSON string in double quotes.
pub fn json(out: &mut Vec<u8>, text: &[u8], how: JsonStrings) {
    out.push(b'"');
    if how.validate && std::str::from_utf8(text).is_err() {
        json_body(out, &lossy(text), how.escape_slashes);
    } else {
        json_body(out, text, how.escape_slashes);
    }
    out.push(b'"');
}

fn json_body(out: &mut Vec<u8>, text: &[u8], escape_slashes: bool) {
    let mut done = 0;
    for (i, &byte) in text.iter().enumerate() {
        // Most bytes are plain: one comparison each side.
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'/' if escape_slashes => b"\\/",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0..=0x1f => {
                out.extend_from_slice(&text[done..i]);
                done = i + 1;
                let hex = b"0123456789ABCDEF";
                let (high, low) = (hex[usize::from(byte >> 4)], hex[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
                continue;
            }
            // The separators of lines and paragraphs, which JavaScript does not allow in strings.
            0xe2 if matches!(text.get(i + 1..i + 3), Some([0x80, 0xa8 | 0xa9])) => {
                out.extend_from_slice(&text[done..i]);
                out.extend_from_slice(if text[i + 2] == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                done = i + 3;
                continue;
            }
            _ => continue,
        };
        out.extend_from_slice(&text[done..i]);
        out.extend_from_slice(escape);
        done = i + 1;
    }
    out.extend_from_slice(&text[done..]);
}

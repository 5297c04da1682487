//! Identifiers, strings and numbers as text.

/// Words that read as something else where an identifier may stand.
const QUOTED: &[&str] = &[
    "ALL",
    "AND",
    "AS",
    "BETWEEN",
    "CASE",
    "DISTINCT",
    "DIV",
    "ELSE",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FROM",
    "ILIKE",
    "IN",
    "INF",
    "INFINITY",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "LIKE",
    "MOD",
    "NAN",
    "NOT",
    "NULL",
    "ON",
    "OR",
    "RECURSIVE",
    "REGEXP",
    "SELECT",
    "TABLE",
    "THEN",
    "TOP",
    "TRUE",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WITH",
];

/// Writes an identifier, quoted when a bare word would read as something else.
pub fn write_ident(out: &mut String, name: &str) {
    let plain = is_plain(name) && !QUOTED.iter().any(|word| name.eq_ignore_ascii_case(word));
    if plain {
        out.push_str(name);
    } else {
        write_quoted(out, name);
    }
}

fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}

/// Writes an identifier in back quotes.
pub fn write_quoted(out: &mut String, name: &str) {
    out.push('`');
    escape(out, name, '`');
    out.push('`');
}

/// Writes a string literal with the kernel's escapes; bytes that are no UTF-8 become `\xHH`.
pub fn write_string(out: &mut String, bytes: &[u8]) {
    out.push('\'');
    for chunk in bytes.utf8_chunks() {
        escape(out, chunk.valid(), '\'');
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02X}"));
        }
    }
    out.push('\'');
}

/// A string literal, as [`write_string`] writes it.
pub fn string_literal(text: impl AsRef<[u8]>) -> String {
    let mut out = String::new();
    write_string(&mut out, text.as_ref());
    out
}

fn escape(out: &mut String, text: &str, quote: char) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
}

/// The shortest text that reads back as the same number, always with a sign that it is no integer: `5.`, `0.1`, `1e300`.
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        return format!("{value:e}");
    }
    let mut text = format!("{value}");
    if !text.contains('.') {
        text.push('.');
    }
    text
}

/// Writes a name where no word has another meaning: quoted only for its characters.
pub fn write_word(out: &mut String, name: &str) {
    if is_plain(name) {
        out.push_str(name);
    } else {
        write_quoted(out, name);
    }
}

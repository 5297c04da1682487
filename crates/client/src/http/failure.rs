//! Errors as text: a response of their own, or behind rows that were sent before.

use crate::exception;
use chalet_base::Error;

/// The error that a text tells, if it does.
pub(super) fn of_text(text: &str, host: &str) -> Option<Error> {
    let (code, rest) = text.trim_start().strip_prefix("Code: ")?.split_once([',', '.'])?;
    let code = code.trim().parse().ok()?;
    let rest = rest.trim_start().strip_prefix("e.displayText() = ").unwrap_or(rest.trim_start());
    let message = rest.trim_end();
    let message = message.split(", e.what() = ").next().unwrap_or_default();
    // Over the native protocol neither follows.
    let message = message.split(" (version ").next().unwrap_or_default().trim_end();
    let message = match message.rsplit_once(" (") {
        Some((before, name))
            if name.strip_suffix(')').is_some_and(|name| {
                !name.is_empty()
                    && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            }) =>
        {
            before
        }
        _ => message,
    };
    Some(exception::of_parts(code, "DB::Exception", message, host))
}

/// The error at the end of a body whose rows broke off. Newer servers say by `tag` where it begins.
pub(super) fn behind_rows(bytes: &[u8], tag: &str, host: &str) -> Option<Error> {
    let mark = format!("__exception__\r\n{tag}\r\n");
    if !tag.is_empty()
        && let Some(at) = find_last(bytes, mark.as_bytes())
    {
        let text = String::from_utf8_lossy(&bytes[at + mark.len()..]).into_owned();
        let text = text.split(&format!(" {tag}\r\n__exception__")).next().unwrap_or_default().to_owned();
        // The length of the message stands before the tag.
        let text = text.trim_end_matches(|c: char| c.is_ascii_digit());
        return of_text(text, host);
    }
    let at = find_last(bytes, b"Code: ")?;
    let text = String::from_utf8_lossy(&bytes[at..]);
    // In front of what an exception is called there is nothing but the code.
    text.get(..text.len().min(60)).is_none_or(|head| head.contains("DB::")).then(|| of_text(&text, host))?
}

fn find_last(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).rposition(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let told =
            |text: &str| of_text(text, "h").map(|error| (error.code().number, error.message().to_owned()));
        for text in [
            "Code: 395, e.displayText() = DB::Exception: Too much, e.what() = DB::Exception\n",
            "Code: 395. DB::Exception: Too much. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO) (version 25.6.1.1 (official build))\n",
            "Code: 395. DB::Exception: Too much",
        ] {
            assert_eq!(told(text), Some((395, "Received from h. DB::Exception: Too much".into())), "{text}");
        }
        assert_eq!(told("<html>Code: 1"), None);
        assert_eq!(told("Code: x. y"), None);
    }

    #[test]
    fn marks() {
        let rows = b"\x01\x02rows Code: of no error";
        assert!(behind_rows(rows, "", "h").is_none());
        let old =
            [&rows[..], b"Code: 241, e.displayText() = DB::Exception: No memory, e.what() = DB::Exception\n"]
                .concat();
        assert_eq!(behind_rows(&old, "", "h").unwrap().code().number, 241);
        let new = [
            &rows[..],
            b"\r\n__exception__\r\nabcd\r\nCode: 241. DB::Exception: No memory\n36 abcd\r\n__exception__\r\n",
        ]
        .concat();
        let error = behind_rows(&new, "abcd", "h").unwrap();
        assert_eq!(error.message(), "Received from h. DB::Exception: No memory");
        assert!(behind_rows(&rows[..], "abcd", "h").is_none());
    }
}

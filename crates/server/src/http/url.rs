//! Parameters of a URL, or of a form, in percent encoding.

use chalet_base::{Result, bail};
use chalet_client::query::statement;

/// Fails where a `%` begins no escape: what is meant cannot be known, since others are taken for escapes.
pub fn check(text: &str) -> Result<()> {
    for (_, rest) in text.match_indices('%').map(|(at, _)| text.split_at(at + 1)) {
        let is_digit = |i: usize| rest.as_bytes().get(i).map(u8::is_ascii_hexdigit);
        let why = match (is_digit(0), is_digit(1)) {
            (Some(true), Some(true)) => continue,
            (None, _) => "no hex digit following percent sign",
            (Some(_), None) => "two hex digits must follow percent sign",
            _ => "not a hex digit",
        };
        bail!(
            POCO_EXCEPTION,
            "Bad URI syntax: URI encoding: {why}: %{}",
            rest.chars().take(2).collect::<String>()
        );
    }
    Ok(())
}

/// A text without its escapes. What is no UTF-8 then is replaced; a `%` that begins no escape stays.
pub fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&bytes_of(text)).into_owned()
}

fn bytes_of(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |i: usize| bytes.get(at + i).and_then(|&digit| char::from(digit).to_digit(16));
        match (byte, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    out
}

/// `name=value&name=value`, in order.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(name, value)| match name {
            // Its literals may have any bytes.
            "query" => (name.into(), statement(&bytes_of(value))),
            _ => (decoded(name), decoded(value)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        assert_eq!(decoded("SELECT+1%2B1%20%e2%82%ac%"), "SELECT 1+1 € %".replace("€ ", "€"));
        assert_eq!(decoded("%zz%f"), "%zz%f");
        assert!(check("a=%2B%20%e2").is_ok() && check("").is_ok());
        for bad in ["%", "a%2", "%zz", "%2z", "%%20", "%€"] {
            assert_eq!(check(bad).unwrap_err().code().number, 1000, "{bad}");
        }
        assert_eq!(decoded("%ff"), "\u{fffd}");
        assert_eq!(pairs("query=SELECT+'%ff'"), [("query".to_owned(), "SELECT '\\xFF'".to_owned())]);
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(pairs("a=1&&b&c=%3D=x"), [pair("a", "1"), pair("b", ""), pair("c", "==x")]);
    }
}

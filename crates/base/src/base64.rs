//! Bytes as text of 64 digits (RFC 4648).

use base64_simd::{Base64, Out, STANDARD as PADDED, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Which digits stand for the last two values, and whether `=` fills the last four digits up.
#[derive(Clone, Copy)]
pub struct Form {
    padded: &'static Base64,
    /// For digits without padding.
    bare: &'static Base64,
}

/// The usual form.
pub static STANDARD: Form = Form { padded: &PADDED, bare: &STANDARD_NO_PAD };
/// The form for URLs, without padding.
pub static URL: Form = Form { padded: &URL_SAFE_NO_PAD, bare: &URL_SAFE_NO_PAD };

/// Appends bytes as digits, four for three bytes.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>, form: Form) {
    let start = out.len();
    out.resize(start + form.padded.encoded_length(bytes.len()), 0);
    _ = form.padded.encode(bytes, Out::from_slice(&mut out[start..]));
}

/// Appends the bytes that digits stand for; none where they are not base64. Spaces and ends of lines between them do not count. With
/// `padded`, there are four digits for three bytes.
pub fn decode(text: &[u8], out: &mut Vec<u8>, form: Form, padded: bool) -> Option<()> {
    let start = out.len();
    if decode_digits(text, out, form, padded).is_some() {
        return Some(());
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c');
    if !text.iter().any(is_space) {
        return None;
    }
    out.truncate(start);
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !is_space(byte)).collect();
    decode_digits(&digits, out, form, padded)
}

fn decode_digits(text: &[u8], out: &mut Vec<u8>, form: Form, padded: bool) -> Option<()> {
    if padded && !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take(2).take_while(|&&byte| byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if digits.len() % 4 == 1 || padding > 0 && (digits.len() + padding) % 4 != 0 {
        return None;
    }
    // Bits of the last digit that are of no byte may be any: where there are such, digits that make them zeros take its place.
    let (whole, rest) = digits.split_at(digits.len() / 4 * 4);
    let start = out.len();
    out.resize(start + whole.len() / 4 * 3, 0);
    form.bare.decode(whole, Out::from_slice(&mut out[start..])).ok()?;
    if !rest.is_empty() {
        let mut last = [b'A'; 4];
        last[..rest.len()].copy_from_slice(rest);
        let mut bytes = [0; 3];
        form.bare.decode(&last, Out::from_slice(&mut bytes[..])).ok()?;
        out.extend_from_slice(&bytes[..rest.len() - 1]);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    /// Bit by bit.
    fn expected(bytes: &[u8]) -> Vec<u8> {
        let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
        let digit = |at: usize| DIGITS[usize::from((0..6).fold(0, |value, i| value << 1 | bit(6 * at + i)))];
        let mut text: Vec<u8> = (0..(bytes.len() * 4).div_ceil(3)).map(digit).collect();
        text.resize(bytes.len().div_ceil(3) * 4, b'=');
        text
    }

    fn decoded(text: &[u8], form: Form, padded: bool) -> Option<Vec<u8>> {
        let mut out = b"before".to_vec();
        decode(text, &mut out, form, padded)?;
        Some(out.split_off(6))
    }

    #[test]
    fn digits_and_bytes_of_every_length() {
        for n in 0..200usize {
            let bytes: Vec<u8> = (0..n).map(|i| (i * 151 + n * 7) as u8).collect();
            let mut text = b"x".to_vec();
            encode(&bytes, &mut text, STANDARD);
            assert_eq!(text[1..], expected(&bytes)[..]);
            assert_eq!(decoded(&text[1..], STANDARD, true).unwrap(), bytes);
            let bare: Vec<u8> = text[1..].iter().copied().filter(|&byte| byte != b'=').collect();
            assert_eq!(decoded(&bare, STANDARD, false).unwrap(), bytes);
            assert_eq!(decoded(&bare, STANDARD, true).is_some(), n % 3 == 0);
            let mut url = Vec::new();
            encode(&bytes, &mut url, URL);
            let as_url = |&byte: &u8| match byte {
                b'+' => b'-',
                b'/' => b'_',
                _ => byte,
            };
            assert_eq!(url, bare.iter().map(as_url).collect::<Vec<u8>>());
            assert_eq!(decoded(&url, URL, false).unwrap(), bytes);
            // A byte that is no digit, at every place.
            for at in 0..bare.len() {
                for wrong in [b'=', b'-', 0, 0xff, 0x0b] {
                    let mut other = bare.clone();
                    other[at] = wrong;
                    let is_padding = wrong == b'=' && at + 1 == bare.len() && bare.len() % 4 == 0;
                    assert_eq!(decoded(&other, STANDARD, false).is_some(), is_padding, "{n} {at} {wrong}");
                }
            }
        }
    }

    #[test]
    fn bits_behind_the_last_byte_may_be_any() {
        assert_eq!(decoded(b"YR==", STANDARD, true).unwrap(), b"a");
        assert_eq!(decoded(b"YWJ=", STANDARD, true).unwrap(), b"ab");
        assert_eq!(decoded(b" Y\tW\nJ\r= ", STANDARD, true).unwrap(), b"ab");
        assert_eq!(decoded(b"YQ \x0c", URL, false).unwrap(), b"a");
        for text in [&b"Y"[..], b"Y===", b"====", b"=", b"YQ=", b"Y=Q=", b"Y Q=", b"Y "] {
            assert!(decoded(text, STANDARD, true).is_none() && decoded(text, STANDARD, false).is_none());
        }
    }
}

//! `base64Encode`, `base64Decode` and their forms for URLs.

use super::codec::Run;

crate::codecs! {
    "base64Encode" &["TO_BASE64"], Run::Encode(|bytes, out| encode(bytes, out, STANDARD, true)),
        "The bytes of a string in base64." "base64Encode(s)"
        "SELECT base64Encode('clickhouse')" => "Y2xpY2tob3VzZQ==";
    "base64Decode" &["FROM_BASE64"], Run::Decode { decode: |text, out| decode(text, out, STANDARD, true), or_empty: false },
        "The bytes that a string in base64 stands for; an error when it is none." "base64Decode(s)"
        "SELECT base64Decode('Y2xpY2tob3VzZQ==')" => "clickhouse";
    "tryBase64Decode" &[], Run::Decode { decode: |text, out| decode(text, out, STANDARD, true), or_empty: true },
        "As base64Decode, with an empty string instead of an error." "tryBase64Decode(s)"
        "SELECT tryBase64Decode('Y2xpY2tob3VzZQ=='), tryBase64Decode('?')" => "clickhouse\t";
    "base64URLEncode" &[], Run::Encode(|bytes, out| encode(bytes, out, URL, false)),
        "The bytes of a string in the form of base64 for URLs." "base64URLEncode(s)"
        "SELECT base64URLEncode('https://clickhouse.com')" => "aHR0cHM6Ly9jbGlja2hvdXNlLmNvbQ";
    "base64URLDecode" &[], Run::Decode { decode: |text, out| decode(text, out, URL, false), or_empty: false },
        "The bytes that a string in the form of base64 for URLs stands for; an error when it is none." "base64URLDecode(s)"
        "SELECT base64URLDecode('aHR0cHM6Ly9jbGlja2hvdXNlLmNvbQ')" => "https://clickhouse.com";
    "tryBase64URLDecode" &[], Run::Decode { decode: |text, out| decode(text, out, URL, false), or_empty: true },
        "As base64URLDecode, with an empty string instead of an error." "tryBase64URLDecode(s)"
        "SELECT tryBase64URLDecode('!')" => "";
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encode(bytes: &[u8], out: &mut Vec<u8>, alphabet: &[u8; 64], pad: bool) {
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i <= chunk.len() {
                out.push(alphabet[(word >> (18 - 6 * i) & 63) as usize]);
            } else if pad {
                out.push(b'=');
            }
        }
    }
}

fn decode(text: &[u8], out: &mut Vec<u8>, alphabet: &[u8; 64], padded: bool) -> Option<()> {
    if padded && !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take(2).take_while(|&&byte| byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if digits.len() % 4 == 1 || padding > 0 && (digits.len() + padding) % 4 != 0 {
        return None;
    }
    let mut table = [255u8; 256];
    alphabet.iter().enumerate().for_each(|(value, &digit)| table[usize::from(digit)] = value as u8);
    for chunk in digits.chunks(4) {
        let mut word = 0u32;
        for &digit in chunk {
            let value = table[usize::from(digit)];
            if value == 255 {
                return None;
            }
            word = word << 6 | u32::from(value);
        }
        word <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(())
}

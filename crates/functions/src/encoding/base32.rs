//! `base32Encode` and `base32Decode`.

use super::codec::Run;

crate::codecs! {
    "base32Encode" &[], Run::Encode(encode),
        "The bytes of a string in base32." "base32Encode(s)"
        "SELECT base32Encode('Encoded')" => "IVXGG33EMVSA====";
    "base32Decode" &[], Run::Decode { decode, or_empty: false },
        "The bytes that a string in base32 stands for; an error when it is none." "base32Decode(s)"
        "SELECT base32Decode('IVXGG33EMVSA====')" => "Encoded";
    "tryBase32Decode" &[], Run::Decode { decode, or_empty: true },
        "As base32Decode, with an empty string instead of an error." "tryBase32Decode(s)"
        "SELECT tryBase32Decode('1')" => "";
}

const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.chunks(5) {
        let word =
            chunk.iter().fold(0u64, |word, &byte| word << 8 | u64::from(byte)) << (8 * (5 - chunk.len()));
        let digits = (chunk.len() * 8).div_ceil(5);
        for i in 0..8 {
            out.push(if i < digits { DIGITS[(word >> (35 - 5 * i) & 31) as usize] } else { b'=' });
        }
    }
}

fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if !text.len().is_multiple_of(8) {
        return None;
    }
    let padding = text.iter().rev().take_while(|&&byte| byte == b'=').count();
    if !matches!(padding, 0 | 1 | 3 | 4 | 6) {
        return None;
    }
    for chunk in text[..text.len() - padding].chunks(8) {
        let mut word = 0u64;
        for digit in chunk {
            let value = DIGITS.iter().position(|d| *d == digit.to_ascii_uppercase())?;
            word = word << 5 | value as u64;
        }
        word <<= 5 * (8 - chunk.len());
        out.extend_from_slice(&word.to_be_bytes()[3..3 + chunk.len() * 5 / 8]);
    }
    Some(())
}

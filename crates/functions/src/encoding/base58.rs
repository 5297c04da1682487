//! `base58Encode` and `base58Decode`, with the alphabet of Bitcoin.

use super::codec::Run;

crate::codecs! {
    "base58Encode" &[], Run::Encode(encode),
        "The bytes of a string in base58." "base58Encode(s)"
        "SELECT base58Encode('ClickHouse')" => "4nhk8K7GHXf6zx";
    "base58Decode" &[], Run::Decode { decode, or_empty: false },
        "The bytes that a string in base58 stands for; an error when it is none." "base58Decode(s)"
        "SELECT base58Decode('4nhk8K7GHXf6zx')" => "ClickHouse";
    "tryBase58Decode" &[], Run::Decode { decode, or_empty: true },
        "As base58Decode, with an empty string instead of an error." "tryBase58Decode(s)"
        "SELECT tryBase58Decode('0')" => "";
}

const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// The digits of a number in another base, least first; zeros in front stay apart.
fn convert(digits: impl Iterator<Item = u32>, from: u32, to: u32) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for digit in digits {
        let mut carry = digit;
        for place in &mut out {
            carry += u32::from(*place) * from;
            *place = (carry % to) as u8;
            carry /= to;
        }
        while carry > 0 {
            out.push((carry % to) as u8);
            carry /= to;
        }
    }
    out
}

fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    out.resize(out.len() + zeros, DIGITS[0]);
    let digits = convert(bytes[zeros..].iter().map(|&byte| byte.into()), 256, 58);
    out.extend(digits.iter().rev().map(|&digit| DIGITS[usize::from(digit)]));
}

fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let zeros = text.iter().take_while(|&&digit| digit == DIGITS[0]).count();
    let values =
        text[zeros..].iter().map(|digit| DIGITS.iter().position(|d| d == digit).map(|value| value as u32));
    let values = values.collect::<Option<Vec<u32>>>()?;
    out.resize(out.len() + zeros, 0);
    out.extend(convert(values.into_iter(), 58, 256).iter().rev());
    Some(())
}

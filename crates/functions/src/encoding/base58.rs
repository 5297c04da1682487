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

/// 58 to the power of [`LIMB_DIGITS`], the most that 32 bits hold.
const LIMB: u64 = 58u64.pow(LIMB_DIGITS as u32);
const LIMB_DIGITS: usize = 5;

/// The value of each digit; [`NO_DIGIT`] for other bytes.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < 58 {
        values[DIGITS[value] as usize] = value as u8;
        value += 1;
    }
    values
};

const NO_DIGIT: u8 = u8::MAX;

/// `limbs * factor + digit` for a number of limbs below `base`, the least first.
#[inline(always)]
fn multiply_add(limbs: &mut Vec<u32>, factor: u64, digit: u64, base: u64) {
    let mut carry = digit;
    for limb in limbs.iter_mut() {
        carry += u64::from(*limb) * factor;
        *limb = (carry % base) as u32;
        carry /= base;
    }
    while carry > 0 {
        limbs.push((carry % base) as u32);
        carry /= base;
    }
}

fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).count();
    out.resize(out.len() + zeros, DIGITS[0]);
    // Four bytes at once, of which the first may be fewer, become limbs of five digits.
    let mut limbs = Vec::with_capacity(bytes.len() / 3 + 1);
    let (first, rest) = bytes[zeros..].split_at((bytes.len() - zeros) % 4);
    for word in std::iter::once(first).chain(rest.chunks_exact(4)).filter(|word| !word.is_empty()) {
        let value = word.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        multiply_add(&mut limbs, 1 << 32, value, LIMB);
    }
    let start = out.len();
    for limb in limbs.iter().rev() {
        let mut digits = [0; LIMB_DIGITS];
        let mut rest = *limb;
        for digit in digits.iter_mut().rev() {
            *digit = DIGITS[(rest % 58) as usize];
            rest /= 58;
        }
        // Zeros in front of the first limb are no digits.
        let shown =
            if out.len() == start { digits.iter().take_while(|&&d| d == DIGITS[0]).count() } else { 0 };
        out.extend_from_slice(&digits[shown..]);
    }
}

/// Digits whose value fits a word, and twice as many and one: 58 to the power of 21 is less than 2 to the power of 128.
const WORD_DIGITS: usize = 10;
const SHORT_DIGITS: usize = 2 * WORD_DIGITS + 1;

/// The value of some digits, at most [`WORD_DIGITS`].
#[inline(always)]
fn value_of(digits: &[u8]) -> Option<u64> {
    let (mut value, mut sound) = (0u64, true);
    for &digit in digits {
        let digit = VALUES[usize::from(digit)];
        sound &= digit != NO_DIGIT;
        value = value * 58 + u64::from(digit);
    }
    sound.then_some(value)
}

fn decode(text: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let zeros = text.iter().take_while(|&&digit| digit == DIGITS[0]).count();
    if text.len() - zeros <= SHORT_DIGITS {
        let mut value = 0u128;
        for digits in text[zeros..].chunks(WORD_DIGITS) {
            value = value * u128::from(58u64.pow(digits.len() as u32)) + u128::from(value_of(digits)?);
        }
        out.resize(out.len() + zeros, 0);
        out.extend_from_slice(&value.to_be_bytes()[value.leading_zeros() as usize / 8..]);
        return Some(());
    }
    // Five digits at once, of which the first may be fewer, become limbs of four bytes.
    let mut limbs = Vec::with_capacity(text.len() / 5 + 1);
    let (first, rest) = text[zeros..].split_at((text.len() - zeros) % LIMB_DIGITS);
    for digits in std::iter::once(first).chain(rest.chunks_exact(LIMB_DIGITS)).filter(|part| !part.is_empty())
    {
        multiply_add(&mut limbs, 58u64.pow(digits.len() as u32), value_of(digits)?, 1 << 32);
    }
    out.resize(out.len() + zeros, 0);
    let start = out.len();
    out.extend(limbs.iter().rev().flat_map(|limb| limb.to_be_bytes()));
    let unused = out[start..].iter().take_while(|&&byte| byte == 0).count();
    out.drain(start..start + unused);
    Some(())
}

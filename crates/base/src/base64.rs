//! Bytes as text of 64 digits (RFC 4648).

use base64_simd::{Base64, Out, STANDARD as PADDED, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Which digits stand for the last two values, and whether `=` fills the last four digits up.
#[derive(Clone, Copy)]
pub struct Form {
    padded: &'static Base64,
    /// For digits without padding.
    bare: &'static Base64,
    is_padded: bool,
    /// The digits of 62 and 63.
    last: [u8; 2],
}

/// The usual form.
pub static STANDARD: Form = Form { padded: &PADDED, bare: &STANDARD_NO_PAD, is_padded: true, last: *b"+/" };
/// The form for URLs, without padding.
pub static URL: Form =
    Form { padded: &URL_SAFE_NO_PAD, bare: &URL_SAFE_NO_PAD, is_padded: false, last: *b"-_" };

/// Appends bytes as digits, four for three bytes.
#[inline]
pub fn encode(bytes: &[u8], out: &mut Vec<u8>, form: Form) {
    #[cfg(target_arch = "x86_64")]
    if crate::simd_dispatch::has_avx2() {
        // SAFETY: the processor has AVX2.
        unsafe { avx2::encode(bytes, out, form.last) };
        if form.is_padded {
            out.extend_from_slice(&b"=="[..(3 - bytes.len() % 3) % 3]);
        }
        return;
    }
    encode_anywhere(bytes, out, form);
}

fn encode_anywhere(bytes: &[u8], out: &mut Vec<u8>, form: Form) {
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

/// Digits of short texts, whose end is put into a register as all before it: texts of some ten bytes are over before a loop for long
/// ones has begun.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    /// Bytes that become one register of digits, and those that are loaded for it.
    const STEP: usize = 24;
    const LOADED: usize = 28;
    const DIGITS: usize = 32;

    /// Appends the digits without padding.
    #[target_feature(enable = "avx2")]
    pub fn encode(bytes: &[u8], out: &mut Vec<u8>, last: [u8; 2]) {
        let n = (bytes.len() * 4).div_ceil(3);
        // Registers are stored as a whole.
        out.reserve(n + 2 * DIGITS);
        let (mut places, _) = out.spare_capacity_mut().as_chunks_mut::<DIGITS>();
        let mut rest = bytes;
        let digits = digits_by_class(last);
        while let Some((step, _)) = rest.split_first_chunk::<LOADED>() {
            store(step, &mut places, digits);
            rest = &rest[STEP..];
        }
        let mut end = [0; STEP + LOADED];
        end[..rest.len()].copy_from_slice(rest);
        for step in [0, STEP].into_iter().filter(|step| *step < rest.len()) {
            if let Some(step) = end[step..].first_chunk() {
                store(step, &mut places, digits);
            }
        }
        let len = out.len() + n;
        // SAFETY: there is room for them, and each place of 32 digits up to the last one was stored.
        unsafe { out.set_len(len) };
    }

    /// What is added to a value to have its digit, by class: 26 to 51, the ten that digits are of, 62, 63, and 0 to 25.
    #[target_feature(enable = "avx2")]
    fn digits_by_class([digit_62, digit_63]: [u8; 2]) -> __m256i {
        let mut added = [0u8; 16];
        added[0] = b'a' - 26;
        added[1..11].fill(b'0'.wrapping_sub(52));
        added[11] = digit_62.wrapping_sub(62);
        added[12] = digit_63.wrapping_sub(63);
        added[13] = b'A';
        let bits = u128::from_le_bytes(added);
        _mm256_broadcastsi128_si256(_mm_set_epi64x((bits >> 64) as i64, bits as i64))
    }

    /// Stores the digits of the first 24 bytes in the next place.
    #[target_feature(enable = "avx2")]
    fn store(bytes: &[u8; LOADED], places: &mut &mut [[MaybeUninit<u8>; DIGITS]], digits: __m256i) {
        let Some((place, others)) = std::mem::take(places).split_first_mut() else { return };
        *places = others;
        // SAFETY: both loads are of 16 of the 28 bytes, from the first and from the 13th on.
        let (low, high) = unsafe {
            (_mm_loadu_si128(bytes.as_ptr().cast()), _mm_loadu_si128(bytes.as_ptr().add(12).cast()))
        };
        let both = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
        // Three bytes in each group of four, the middle one twice: a multiplication shifts each pair of values by its own width.
        let threes = _mm256_shuffle_epi8(
            both,
            _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10)),
        );
        let first_and_third = _mm256_mulhi_epu16(
            _mm256_and_si256(threes, _mm256_set1_epi32(0x0fc0_fc00)),
            _mm256_set1_epi32(0x0400_0040),
        );
        let second_and_fourth = _mm256_mullo_epi16(
            _mm256_and_si256(threes, _mm256_set1_epi32(0x003f_03f0)),
            _mm256_set1_epi32(0x0100_0010),
        );
        let values = _mm256_or_si256(first_and_third, second_and_fourth);
        // 0 for values up to 51, and 1 to 12 for the others; 13 for those up to 25.
        let beyond = _mm256_subs_epu8(values, _mm256_set1_epi8(51));
        let is_upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), values);
        let class = _mm256_or_si256(beyond, _mm256_and_si256(is_upper, _mm256_set1_epi8(13)));
        let text = _mm256_add_epi8(values, _mm256_shuffle_epi8(digits, class));
        // SAFETY: the place has 32 bytes, and may lie anywhere.
        unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), text) };
    }
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
            for form in [STANDARD, URL] {
                let (mut text, mut other) = (b"x".to_vec(), b"x".to_vec());
                encode(&bytes, &mut text, form);
                encode_anywhere(&bytes, &mut other, form);
                assert_eq!(text, other);
            }
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

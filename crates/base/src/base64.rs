//! Bytes as text of 64 digits (RFC 4648).

use base64_simd::{Base64, Out, STANDARD as PADDED, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Which digits stand for the last two values, and whether `=` fills the last four digits up.
#[derive(Clone, Copy)]
pub struct Form {
    padded: &'static Base64,
    /// For digits without padding.
    bare: &'static Base64,
    is_padded: bool,
    /// See [`added`].
    added: [u8; 16],
}

/// The usual form.
pub static STANDARD: Form =
    Form { padded: &PADDED, bare: &STANDARD_NO_PAD, is_padded: true, added: added(b'+', b'/') };
/// The form for URLs, without padding.
pub static URL: Form =
    Form { padded: &URL_SAFE_NO_PAD, bare: &URL_SAFE_NO_PAD, is_padded: false, added: added(b'-', b'_') };

/// Appends bytes as digits, four for three bytes.
#[inline]
pub fn encode(bytes: &[u8], out: &mut Vec<u8>, form: Form) {
    #[cfg(target_arch = "x86_64")]
    if crate::simd_dispatch::has_avx2() {
        // SAFETY: the processor has AVX2.
        unsafe { avx2::encode(bytes, out, &form.added) };
        if form.is_padded && !bytes.len().is_multiple_of(3) {
            out.extend_from_slice(&b"=="[..3 - bytes.len() % 3]);
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

/// Digits of short texts, 24 and twelve bytes at a time and their end as all before it: texts of some ten bytes are over before a loop for long
/// ones has begun.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    /// Bytes of a step, those that are loaded for it, and its digits.
    const STEP: usize = 12;
    const LOADED: usize = 16;
    const DIGITS: usize = 16;

    /// Appends the digits without padding. `added` is what is added to a value to have its digit, by class.
    #[target_feature(enable = "avx2")]
    pub fn encode(bytes: &[u8], out: &mut Vec<u8>, added: &[u8; 16]) {
        let n = (bytes.len() * 4).div_ceil(3);
        // Registers are stored as a whole.
        out.reserve(n + 2 * DIGITS);
        let mut places = out.spare_capacity_mut().as_chunks_mut::<DIGITS>().0.iter_mut();
        let added = _mm256_broadcastsi128_si256(word(u128::from_le_bytes(*added)));
        let mut rest = bytes;
        while let Some(loaded) = rest.first_chunk::<{ STEP + LOADED }>() {
            // SAFETY: both loads are of 16 of the 28 bytes, and may lie anywhere.
            let halves = unsafe {
                let first: *const u8 = loaded.as_ptr();
                _mm256_loadu2_m128i(first.add(STEP).cast(), first.cast())
            };
            let digits = digits(halves, added);
            store(_mm256_castsi256_si128(digits), places.next());
            store(_mm256_extracti128_si256::<1>(digits), places.next());
            rest = &rest[2 * STEP..];
        }
        let mut last = |bytes: __m128i| {
            let digits = digits(_mm256_castsi128_si256(bytes), added);
            store(_mm256_castsi256_si128(digits), places.next());
        };
        while let Some(loaded) = rest.first_chunk::<LOADED>() {
            // SAFETY: all of the 16 bytes are there, and may lie anywhere.
            last(unsafe { _mm_loadu_si128(loaded.as_ptr().cast()) });
            rest = &rest[STEP..];
        }
        let end = end(bytes, rest.len());
        if !rest.is_empty() {
            last(word(end));
        }
        if rest.len() > STEP {
            last(word(end >> (8 * STEP)));
        }
        let len = out.len() + n;
        // SAFETY: there is room for them, and each place of 16 digits up to the last one was stored.
        unsafe { out.set_len(len) };
    }

    /// The last bytes of a text, fewer than 16, with zeros behind them. What was just stored byte by byte cannot be loaded as a whole without
    /// waiting, so they are shifted into their place.
    #[inline(always)]
    fn end(bytes: &[u8], n: usize) -> u128 {
        if let Some(last) = bytes.last_chunk::<LOADED>() {
            return u128::from_le_bytes(*last).checked_shr(8 * (LOADED - n) as u32).unwrap_or(0);
        }
        // Where the halves overlap, they are equal.
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (n - 8))
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            u128::from(u32::from_le_bytes(*first)) | u128::from(u32::from_le_bytes(*last)) << (8 * (n - 4))
        } else {
            bytes.iter().rev().fold(0, |all, byte| all << 8 | u128::from(*byte))
        }
    }

    #[inline(always)]
    fn word(bits: u128) -> __m128i {
        // SAFETY: every processor of this architecture has SSE2.
        unsafe { _mm_set_epi64x((bits >> 64) as i64, bits as i64) }
    }

    #[inline(always)]
    fn store(digits: __m128i, place: Option<&mut [MaybeUninit<u8>; DIGITS]>) {
        if let Some(place) = place {
            // SAFETY: every processor of this architecture has SSE2; the place has 16 bytes, and may lie anywhere.
            unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), digits) };
        }
    }

    /// The digits of the first twelve bytes of each half.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn digits(bytes: __m256i, added: __m256i) -> __m256i {
        // Three bytes in each group of four, the middle one twice: a multiplication shifts each pair of values by its own width.
        let order = _mm_setr_epi8(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10);
        let threes = _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(order));
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
        _mm256_add_epi8(values, _mm256_shuffle_epi8(added, class))
    }
}

/// What is added to a value from 0 to 63 to have its digit, by class: 26 to 51, the ten that digits are of, 62, 63, and 0 to 25.
const fn added(digit_62: u8, digit_63: u8) -> [u8; 16] {
    let mut added = [b'0'.wrapping_sub(52); 16];
    added[0] = b'a' - 26;
    added[11] = digit_62.wrapping_sub(62);
    added[12] = digit_63.wrapping_sub(63);
    added[13] = b'A';
    added
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

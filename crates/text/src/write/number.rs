//! Numbers as text: integers of all widths, shortest floats, decimals.

use chalet_types::{I256, U256};

/// Any integer that `itoa` knows.
#[inline]
pub fn integer(out: &mut Vec<u8>, x: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(x).as_bytes());
}

pub fn u256(out: &mut Vec<u8>, x: U256) {
    if let Ok(short) = u64::try_from(x) {
        return integer(out, short);
    }
    if let Ok(short) = u128::try_from(x) {
        return integer(out, short);
    }
    // Groups of 19 digits fit 64 bits: they are what long division by 10^19 leaves, word by word from the highest one down.
    const GROUP: u128 = 10u128.pow(19);
    let (high, low) = x.into_words();
    let mut words = [high >> 64, high, low >> 64, low].map(|word| word as u64);
    let mut groups = [0u64; 5];
    let (mut n, mut first) = (0, 0);
    while first < words.len() {
        let mut rest = 0u64;
        for word in &mut words[first..] {
            let dividend = u128::from(rest) << 64 | u128::from(*word);
            (*word, rest) = ((dividend / GROUP) as u64, (dividend % GROUP) as u64);
        }
        groups[n] = rest;
        n += 1;
        first += words[first..].iter().take_while(|word| **word == 0).count();
    }
    integer(out, groups[n - 1]);
    for group in groups[..n - 1].iter().rev() {
        padded(out, *group, 19);
    }
}

pub fn i256(out: &mut Vec<u8>, x: I256) {
    if x < 0 {
        out.push(b'-');
    }
    u256(out, x.unsigned_abs());
}

/// Digits with leading zeros up to a width of at most 20.
#[inline]
pub fn padded(out: &mut Vec<u8>, x: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(x).as_bytes();
    out.extend_from_slice(&b"00000000000000000000"[..width.saturating_sub(digits.len())]);
    out.extend_from_slice(digits);
}

/// The shortest text that reads back as the same float, laid out as the kernel does: plain up to 21 digits
/// before the point and six zeros after it, else with an exponent.
#[inline]
pub fn f64(out: &mut Vec<u8>, x: f64) {
    // Whole numbers are common and cheap.
    if x.abs() < 9e15 && x.trunc() == x && (x != 0.0 || x.is_sign_positive()) {
        return integer(out, x as i64);
    }
    if !x.is_finite() {
        return not_finite(out, x.is_nan(), x > 0.0);
    }
    float_layout(out, zmij::Buffer::new().format_finite(x).as_bytes());
}

#[inline]
pub fn f32(out: &mut Vec<u8>, x: f32) {
    if x.abs() < 16_777_216.0 && x.trunc() == x && (x != 0.0 || x.is_sign_positive()) {
        return integer(out, x as i32);
    }
    if !x.is_finite() {
        return not_finite(out, x.is_nan(), x > 0.0);
    }
    float_layout(out, zmij::Buffer::new().format_finite(x).as_bytes());
}

fn not_finite(out: &mut Vec<u8>, nan: bool, positive: bool) {
    out.extend_from_slice(match (nan, positive) {
        (true, _) => b"nan",
        (false, true) => b"inf",
        (false, false) => b"-inf",
    });
}

/// Rounds the float whose text begins at `start` to so many digits behind the point, without zeros at its end. What is too
/// small or too large for plain digits stays as it is.
pub fn round_float(out: &mut Vec<u8>, start: usize, precision: usize) {
    const MOST_DIGITS: i32 = 60;
    let text = String::from_utf8_lossy(&out[start..]).into_owned();
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", &*text), |rest| ("-", rest));
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    // Digits before the point.
    let mut point = whole.len() as i32 + exponent;
    let has_exponent = unsigned.contains('e');
    let behind = (digits.len() as i32 - point).max(0) as usize;
    if point > MOST_DIGITS || (has_exponent && exponent < 0 && behind > precision) {
        return;
    }
    if point < 0 {
        digits.splice(0..0, std::iter::repeat_n(b'0', -point as usize));
        point = 0;
    }
    if digits.len() < point as usize {
        digits.resize(point as usize, b'0');
    }
    let kept = point as usize + precision;
    if kept < digits.len() {
        let up = digits[kept] >= b'5';
        digits.truncate(kept);
        let mut carry = up;
        for digit in digits.iter_mut().rev() {
            if !carry {
                break;
            }
            carry = *digit == b'9';
            *digit = if carry { b'0' } else { *digit + 1 };
        }
        if carry {
            digits.insert(0, b'1');
            point += 1;
        }
    }
    let (whole, fraction) = digits.split_at(point as usize);
    let end = fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
    out.truncate(start);
    out.extend_from_slice(sign.as_bytes());
    let first = whole.iter().position(|digit| *digit != b'0').unwrap_or(whole.len());
    match &whole[first..] {
        [] => out.push(b'0'),
        whole => out.extend_from_slice(whole),
    }
    if end > 0 {
        out.push(b'.');
        out.extend_from_slice(&fraction[..end]);
    }
}

/// Ends the number that begins at `start` with a point where it has none.
pub fn put_point(out: &mut Vec<u8>, start: usize) {
    if !out[start..].iter().any(|byte| matches!(byte, b'.' | b'e')) {
        out.push(b'.');
    }
}

/// Lays out `shortest`, which is digits, perhaps with a point and an exponent.
#[inline]
fn float_layout(out: &mut Vec<u8>, shortest: &[u8]) {
    // An exponent has at most three digits and a sign. Without one the text is as the kernel has it: it is chosen in a smaller range.
    let end = &shortest[shortest.len().saturating_sub(5)..];
    if end.contains(&b'e') {
        return float_with_exponent(out, shortest);
    }
    out.extend_from_slice(shortest.strip_suffix(b".0").unwrap_or(shortest));
}

fn float_with_exponent(out: &mut Vec<u8>, shortest: &[u8]) {
    let unsigned = match shortest.strip_prefix(b"-") {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => shortest,
    };
    // Digits without point and zeros around them; `point` digits stand before the point.
    let mut digits = [0u8; 32];
    let (mut n, mut point, mut seen_point, mut exponent) = (0usize, 0i32, false, 0i32);
    let mut bytes = unsigned.iter();
    while let Some(&b) = bytes.next() {
        match b {
            b'.' => seen_point = true,
            b'e' | b'E' => {
                let text = std::str::from_utf8(bytes.as_slice()).unwrap_or("0");
                exponent = text.trim_start_matches('+').parse().unwrap_or(0);
                break;
            }
            digit => {
                if n == 0 && digit == b'0' {
                    point -= i32::from(seen_point);
                } else {
                    digits[n.min(31)] = digit;
                    n += 1;
                    point += i32::from(!seen_point);
                }
            }
        }
    }
    while n > 0 && digits[n - 1] == b'0' {
        n -= 1;
    }
    let digits = &digits[..n];
    let point = point + exponent;
    if n == 0 {
        out.push(b'0');
    } else if (1..=21).contains(&point) {
        let point = point as usize;
        if n <= point {
            out.extend_from_slice(digits);
            out.resize(out.len() + point - n, b'0');
        } else {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    } else if (-5..=0).contains(&point) {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + (-point) as usize, b'0');
        out.extend_from_slice(digits);
    } else {
        out.push(digits[0]);
        if n > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        integer(out, point - 1);
    }
}

/// A decimal of at most 128 bits.
pub fn decimal(out: &mut Vec<u8>, x: i128, scale: u8, trailing_zeros: bool) {
    if x < 0 {
        out.push(b'-');
    }
    let start = out.len();
    match u64::try_from(x.unsigned_abs()) {
        Ok(small) if (1..=MOST_PLACES).contains(&scale) => {
            return short_decimal(out, small, scale, trailing_zeros);
        }
        Ok(small) => integer(out, small),
        Err(_) => integer(out, x.unsigned_abs()),
    }
    place_point(out, start, scale, trailing_zeros);
}

/// Powers of ten up to this one are below 2^64.
const MOST_PLACES: u8 = 19;

/// What is before the point and what is behind it are written one after the other, so that no digit moves.
fn short_decimal(out: &mut Vec<u8>, x: u64, scale: u8, trailing_zeros: bool) {
    let unit = 10u64.pow(scale.into());
    let fraction = x % unit;
    integer(out, x / unit);
    if fraction == 0 && !trailing_zeros {
        return;
    }
    out.push(b'.');
    padded(out, fraction, scale.into());
    if !trailing_zeros {
        let end = out.iter().rposition(|&byte| byte != b'0').map_or(0, |last| last + 1);
        out.truncate(end);
    }
}

/// A decimal of 256 bits.
pub fn decimal256(out: &mut Vec<u8>, x: I256, scale: u8, trailing_zeros: bool) {
    if x < 0 {
        out.push(b'-');
    }
    let start = out.len();
    u256(out, x.unsigned_abs());
    place_point(out, start, scale, trailing_zeros);
}

/// Puts the point `scale` digits before the end of the digits from `start` on.
fn place_point(out: &mut Vec<u8>, start: usize, scale: u8, trailing_zeros: bool) {
    let scale = usize::from(scale);
    if scale == 0 {
        return;
    }
    let missing = (scale + 1).saturating_sub(out.len() - start);
    if missing > 0 {
        out.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
    let point = out.len() - scale;
    if !trailing_zeros {
        let mut end = out.len();
        while end > point && out[end - 1] == b'0' {
            end -= 1;
        }
        out.truncate(end);
    }
    if out.len() > point {
        out.insert(point, b'.');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_are_shortest() {
        for (x, expected) in [
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (123456789012345680.0, "123456789012345680"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-10, "1.5e-10"),
            (-0.0, "-0"),
            (0.0, "0"),
            (-1.25, "-1.25"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (f64::NEG_INFINITY, "-inf"),
            (1234567.125, "1234567.125"),
            (9007199254740994.0, "9007199254740994"),
            (-9e15, "-9000000000000000"),
            (-0.00001234, "-0.00001234"),
            (1.0 / 97.0, "0.010309278350515464"),
        ] {
            assert_eq!(text(|out| f64(out, x)), expected);
        }
        assert_eq!(text(|out| f32(out, 123456789.0)), "123456790");
        assert_eq!(text(|out| f32(out, 0.1)), "0.1");
    }

    #[test]
    fn floats_are_rounded() {
        for (x, precision, expected) in [
            (0.1 + 0.2, 3, "0.3"),
            (0.135, 2, "0.14"),
            (0.05, 1, "0.1"),
            (-0.04, 1, "-0"),
            (99.96, 1, "100"),
            (0.00012345, 5, "0.00012"),
            (1e-5, 2, "0"),
            (1.23456e-7, 5, "1.23456e-7"),
            (1.23456e-7, 20, "0.000000123456"),
            (1e21, 2, "1000000000000000000000"),
            (1.5e300, 2, "1.5e300"),
            (3.0, 2, "3"),
        ] {
            let rounded = text(|out| {
                f64(out, x);
                round_float(out, 0, precision);
            });
            assert_eq!(rounded, expected);
        }
    }

    #[test]
    fn decimals() {
        for (x, scale, zeros, expected) in [
            (150, 2, false, "1.5"),
            (150, 2, true, "1.50"),
            (-5, 2, false, "-0.05"),
            (0, 4, false, "0"),
            (0, 2, true, "0.00"),
            (100, 2, false, "1"),
            (1, 10, false, "0.0000000001"),
        ] {
            assert_eq!(text(|out| decimal(out, x, scale, zeros)), expected);
            assert_eq!(text(|out| decimal256(out, I256::from(x), scale, zeros)), expected);
        }
    }

    #[test]
    fn wide_integers() {
        assert_eq!(text(|out| u256(out, U256::MAX)), U256::MAX.to_string());
        assert_eq!(text(|out| i256(out, I256::MIN)), I256::MIN.to_string());
        let mut x = U256::ONE;
        for factor in [3u64, 10, 1 << 40, 10_000_000_000_000_000_000].into_iter().cycle().take(300) {
            x = x.wrapping_mul(factor.into());
            assert_eq!(text(|out| u256(out, x)), x.to_string());
            assert_eq!(text(|out| u256(out, !x)), (!x).to_string());
            let before = x.wrapping_sub(U256::ONE);
            assert_eq!(text(|out| u256(out, before)), before.to_string());
            x = if x == 0 { U256::MAX / 7 } else { x };
        }
        assert_eq!(text(|out| u256(out, U256::from(10u64).pow(19))), "10000000000000000000");
    }
}

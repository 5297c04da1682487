//! Run-length encodings of ORC, written: bytes, bits, and integers of the second version.

use crate::protobuf_wire::zigzag;

/// The longest run of one byte, and the longest literal.
const MAX_BYTES_RUN: usize = 130;
const MAX_LITERAL: usize = 128;

pub fn bytes(values: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut literal = 0..0;
    let flush = |out: &mut Vec<u8>, literal: std::ops::Range<usize>| {
        for part in values[literal].chunks(MAX_LITERAL) {
            out.push((-(part.len() as i64)) as u8);
            out.extend_from_slice(part);
        }
    };
    while at < values.len() {
        let run = values[at..].iter().take(MAX_BYTES_RUN).take_while(|value| **value == values[at]).count();
        if run >= 3 {
            flush(&mut out, literal);
            out.extend_from_slice(&[(run - 3) as u8, values[at]]);
            at += run;
            literal = at..at;
        } else {
            at += run;
            literal.end = at;
        }
    }
    flush(&mut out, literal);
    out
}

/// Bits in bytes, highest first.
pub fn bits(values: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut packed = vec![0u8; values.len().div_ceil(8)];
    for (i, value) in values.enumerate() {
        packed[i / 8] |= u8::from(value) << (7 - i % 8);
    }
    bytes(&packed)
}

pub fn signed(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    runs(values, &|value| zigzag(value), &mut out);
    out
}

pub fn unsigned(values: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    runs(values, &|value| value as u64, &mut out);
    out
}

/// Widths that a header can name, and their codes.
const WIDTHS: [(u32, u8); 32] = {
    let wide = [26, 28, 30, 32, 40, 48, 56, 64];
    let mut widths = [(0, 0); 32];
    let mut i = 0;
    while i < 32 {
        widths[i] = if i < 24 { (i as u32 + 1, i as u8) } else { (wide[i - 24], i as u8) };
        i += 1;
    }
    widths
};

/// Equal values in short repeats or in a delta of zero, all others packed.
fn runs(values: &[i64], raw: &dyn Fn(i64) -> u64, out: &mut Vec<u8>) {
    const MAX_RUN: usize = 512;
    let mut at = 0;
    let mut literal = 0;
    while at < values.len() {
        let rest = &values[at..];
        let step = rest.get(1).map_or(0, |second| second.wrapping_sub(rest[0]));
        let steps = |pair: &&[i64]| pair[1].wrapping_sub(pair[0]) == step;
        let run = 1 + rest.windows(2).take(MAX_RUN - 1).take_while(steps).count();
        let equal = step == 0;
        if run < 3 || !equal && (run < 10 || rest[0].checked_add(step).is_none()) {
            at += if equal { run } else { 1 };
            continue;
        }
        direct(&values[literal..at], raw, out);
        if equal && run <= 10 {
            let value = raw(rest[0]);
            let width = (8 - value.leading_zeros() as usize / 8).max(1);
            out.push(((width - 1) << 3 | (run - 3)) as u8);
            out.extend_from_slice(&value.to_be_bytes()[8 - width..]);
        } else {
            let length = run - 1;
            out.extend_from_slice(&[0xc0 | (length >> 8) as u8, length as u8]);
            crate::binary::put_var_uint(out, raw(rest[0]));
            crate::binary::put_var_uint(out, zigzag(step));
        }
        at += run;
        literal = at;
    }
    direct(&values[literal..], raw, out);
}

fn direct(values: &[i64], raw: &dyn Fn(i64) -> u64, out: &mut Vec<u8>) {
    for part in values.chunks(512) {
        let widest = part.iter().map(|value| 64 - raw(*value).leading_zeros()).max().unwrap_or(1);
        let (width, code) = WIDTHS.iter().copied().find(|(width, _)| *width >= widest).unwrap_or((64, 31));
        let length = part.len() - 1;
        out.extend_from_slice(&[0x40 | code << 1 | (length >> 8) as u8, length as u8]);
        let (mut pending, mut n_pending) = (0u128, 0);
        for value in part {
            pending = pending << width | u128::from(raw(*value));
            n_pending += width;
            while n_pending >= 8 {
                n_pending -= 8;
                out.push((pending >> n_pending) as u8);
            }
            pending &= (1 << n_pending) - 1;
        }
        if n_pending > 0 {
            out.push((pending << (8 - n_pending)) as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rle;

    #[test]
    fn what_is_written_is_read() {
        let mut state = 1u64;
        for round in 0..400 {
            let mut values = Vec::new();
            while values.len() < round * 5 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (width, run) = (state >> 58, state >> 40 & 63);
                let value = (state as i64) >> width;
                let step = if state >> 30 & 3 == 0 { value >> 50 } else { 0 };
                for i in 0..if state >> 33 & 1 == 0 { 1 } else { run as i64 * 20 } {
                    values.push(value.wrapping_add(step.wrapping_mul(i)));
                }
            }
            values.truncate(round * 5);
            let n = values.len();
            assert_eq!(rle::integers(&super::signed(&values), n, true, true).unwrap(), values);
            assert_eq!(rle::integers(&super::unsigned(&values), n, false, true).unwrap(), values);
            let bytes: Vec<u8> = values.iter().map(|value| *value as u8).collect();
            assert_eq!(rle::bytes(&super::bytes(&bytes), n).unwrap(), bytes);
            let bits: Vec<bool> = bytes.iter().map(|byte| byte % 3 == 0).collect();
            let read = rle::bits(&super::bits(bits.iter().copied()), n).unwrap();
            assert!(read.iter().eq(bits.iter().copied()));
        }
    }
}

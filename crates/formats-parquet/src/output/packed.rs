//! Numbers in as few bits as they need, as pages have them: the hybrid of runs and bit-packed groups of codes and levels, and
//! differences (DELTA_BINARY_PACKED).

use chalet_formats::binary::put_var_uint;

/// Values that are packed together: so many of any width end at a byte.
const GROUP: usize = 8;
/// Equal values from which on a run is written: a shorter one interrupts a packed sequence for nothing.
const SHORTEST_RUN: usize = 2 * GROUP;
/// Values of a block of differences, and of each of its parts, which have a width of their own.
const BLOCK: usize = 128;
const PART: usize = 32;

/// Bits that hold numbers up to this one.
pub fn width_of(most: u32) -> usize {
    (u32::BITS - most.leading_zeros()) as usize
}

/// Appends values of at most `width` bits each, in runs and packed groups.
pub fn put_hybrid(values: &[u32], width: usize, out: &mut Vec<u8>) {
    let mut at = 0;
    // Where values begin that belong to no run.
    let mut unpacked = 0;
    while at < values.len() {
        let run = run_at(values, at);
        if run < SHORTEST_RUN {
            at += GROUP;
            continue;
        }
        put_groups(&values[unpacked..at], width, out);
        // What follows begins with a whole group, unless nothing does.
        let n = if at + run == values.len() { run } else { run / GROUP * GROUP };
        put_var_uint(out, (n as u64) << 1);
        out.extend_from_slice(&values[at].to_le_bytes()[..width.div_ceil(8)]);
        at += n;
        unpacked = at;
    }
    put_groups(&values[unpacked..], width, out);
}

/// How many values from `at` on are equal.
fn run_at(values: &[u32], at: usize) -> usize {
    let first = values[at];
    let whole = values[at..].chunks_exact(GROUP);
    let groups =
        whole.take_while(|group| group.iter().fold(0, |differ, &x| differ | (x ^ first)) == 0).count();
    let from = at + groups * GROUP;
    groups * GROUP + values[from..].iter().take_while(|&&x| x == first).count()
}

/// The last group is filled with zeros.
fn put_groups(values: &[u32], width: usize, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    put_var_uint(out, (values.len().div_ceil(GROUP) as u64) << 1 | 1);
    let (groups, rest) = values.as_chunks::<GROUP>();
    groups.iter().for_each(|group| put_group(group, width, out));
    if !rest.is_empty() {
        let mut group = [0; GROUP];
        group[..rest.len()].copy_from_slice(rest);
        put_group(&group, width, out);
    }
}

fn put_group(group: &[u32; GROUP], width: usize, out: &mut Vec<u8>) {
    let half = |values: &[u32]| values.iter().rev().fold(0u128, |held, &x| held << width | u128::from(x));
    let (low, high) = (half(&group[..4]), half(&group[4..]));
    let n = 4 * width;
    let mut bytes = [0u8; 32];
    let first = if n == 128 { low } else { low | high << n };
    bytes[..16].copy_from_slice(&first.to_le_bytes());
    if n > 64 {
        bytes[16..].copy_from_slice(&(high >> (128 - n)).to_le_bytes());
    }
    out.extend_from_slice(&bytes[..width]);
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Appends integers as differences. Those of 32 bits are differences of 32 bits: `narrow`.
pub fn put_differences(values: &[i64], narrow: bool, out: &mut Vec<u8>) {
    put_var_uint(out, BLOCK as u64);
    put_var_uint(out, (BLOCK / PART) as u64);
    put_var_uint(out, values.len() as u64);
    put_var_uint(out, zigzag(values.first().copied().unwrap_or(0)));
    let difference = |pair: &[i64]| {
        let wide = pair[1].wrapping_sub(pair[0]);
        if narrow { i64::from(wide as i32) } else { wide }
    };
    let mut differences = [0i64; BLOCK];
    let mut at = 0;
    while at + 1 < values.len() {
        let n = (values.len() - 1 - at).min(BLOCK);
        for (place, pair) in differences.iter_mut().zip(values[at..at + n + 1].windows(2)) {
            *place = difference(pair);
        }
        put_block(&differences[..n], narrow, out);
        at += n;
    }
}

fn put_block(differences: &[i64], narrow: bool, out: &mut Vec<u8>) {
    let least = differences.iter().copied().min().unwrap_or(0);
    put_var_uint(out, zigzag(least));
    let above = |x: i64| {
        let above = x.wrapping_sub(least) as u64;
        if narrow { u64::from(above as u32) } else { above }
    };
    let widths = out.len();
    out.resize(widths + BLOCK / PART, 0);
    for (place, part) in differences.chunks(PART).enumerate() {
        let used = part.iter().fold(0, |used, &x| used | above(x));
        let width = u64::BITS - used.leading_zeros();
        out[widths + place] = width as u8;
        // A part is always written as a whole.
        let rest = std::iter::repeat_n(0, PART - part.len());
        put_wide(part.iter().map(|&x| above(x)).chain(rest), width, out);
    }
}

/// Appends so many values that they end at a byte.
fn put_wide(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut held, mut n_held) = (0u128, 0);
    for value in values {
        held |= u128::from(value) << n_held;
        n_held += width;
        if n_held >= u64::BITS {
            out.extend_from_slice(&(held as u64).to_le_bytes());
            held >>= u64::BITS;
            n_held -= u64::BITS;
        }
    }
    out.extend_from_slice(&held.to_le_bytes()[..n_held.div_ceil(8) as usize]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{delta, rle::Rle};
    use arrow_buffer::Buffer;

    fn numbers(n: usize, bits: u32) -> Vec<u64> {
        let mut state = 9u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> (u64::BITS - bits)
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn codes_come_back() {
        for width in 0..=32usize {
            for n in [0, 1, 7, 8, 9, 63, 64, 1000] {
                let mixed: Vec<u32> = match width {
                    0 => vec![0; n],
                    _ => numbers(n, width as u32).into_iter().map(|x| x as u32).collect(),
                };
                // Runs of all lengths between values that differ.
                let runs: Vec<u32> =
                    mixed.iter().enumerate().flat_map(|(i, &x)| vec![x; i * i % 53]).take(4000).collect();
                for values in [mixed, runs] {
                    let mut bytes = Vec::new();
                    put_hybrid(&values, width, &mut bytes);
                    let mut read = Vec::new();
                    Rle::new(Buffer::from_vec(bytes), width).unwrap().read(values.len(), &mut read).unwrap();
                    assert_eq!(read, values, "width {width}, {n} values");
                }
            }
        }
    }

    #[test]
    fn long_runs_take_few_bytes() {
        let mut bytes = Vec::new();
        put_hybrid(&[5; 100_000], 3, &mut bytes);
        assert!(bytes.len() <= 4, "{bytes:?}");
    }

    #[test]
    fn differences_come_back() {
        for bits in [1, 8, 31, 32, 33, 63, 64] {
            for n in [0, 1, 2, 32, 33, 128, 129, 130, 1000] {
                let values: Vec<i64> = numbers(n, bits).into_iter().map(|x| x as i64).collect();
                let mut bytes = Vec::new();
                put_differences(&values, false, &mut bytes);
                assert_eq!(delta::decode::<i64>(&bytes, n).unwrap().0, values, "{bits} bits, {n} values");
                let narrow: Vec<i64> = values.iter().map(|&x| i64::from(x as i32)).collect();
                bytes.clear();
                put_differences(&narrow, true, &mut bytes);
                let (read, _) = delta::decode::<i32>(&bytes, n).unwrap();
                let read: Vec<i64> = read.into_iter().map(i64::from).collect();
                assert_eq!(read, narrow, "{bits} bits, {n} values");
            }
        }
    }
}

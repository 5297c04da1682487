//! DELTA_BINARY_PACKED: a first value, then blocks of bit-packed differences.

use super::cut_short;
use chalet_base::{Result, bail, ensure};

/// At most `max` values, and the number of bytes they took. Differences wrap, as the format demands.
pub fn decode(bytes: &[u8], max: usize) -> Result<(Vec<i64>, usize)> {
    let mut at = 0;
    let block = varint(bytes, &mut at)?;
    let n_mini = varint(bytes, &mut at)?;
    let total = varint(bytes, &mut at)?;
    let first = zigzag(varint(bytes, &mut at)?);
    ensure!(
        n_mini > 0 && block > 0 && block <= 1 << 24 && block % n_mini == 0 && (block / n_mini) % 8 == 0,
        INCORRECT_DATA,
        "Invalid delta encoding in Parquet page: blocks of {block} values in {n_mini} parts"
    );
    ensure!(
        total <= max as u64,
        INCORRECT_DATA,
        "Delta encoding has {total} values where the page has {max}"
    );
    let (per_mini, n_mini, total) = ((block / n_mini) as usize, n_mini as usize, total as usize);
    let mut values = Vec::with_capacity(total);
    if total == 0 {
        return Ok((values, at));
    }
    values.push(first);
    let mut last = first;
    while values.len() < total {
        let least = zigzag(varint(bytes, &mut at)?);
        let widths_at = at;
        at += n_mini;
        let Some(widths) = bytes.get(widths_at..at) else { return Err(cut_short("delta widths")) };
        for &width in widths {
            if values.len() >= total {
                // Parts behind the last value have a width but no bytes.
                break;
            }
            if width > 64 {
                bail!(INCORRECT_DATA, "Invalid bit width {width} in delta encoding of Parquet page");
            }
            let width = usize::from(width);
            let Some(packed) = bytes.get(at..at + per_mini * width / 8) else {
                // The last part may be cut after the bytes that are needed.
                let wanted = (total - values.len()).min(per_mini);
                let packed =
                    bytes.get(at..at + (wanted * width).div_ceil(8)).ok_or_else(|| cut_short("deltas"))?;
                unpack(packed, width, wanted, least, &mut last, &mut values);
                at = bytes.len();
                continue;
            };
            at += packed.len();
            let wanted = (total - values.len()).min(per_mini);
            unpack(packed, width, wanted, least, &mut last, &mut values);
        }
    }
    Ok((values, at))
}

fn unpack(packed: &[u8], width: usize, n: usize, least: i64, last: &mut i64, values: &mut Vec<i64>) {
    if width == 0 {
        for _ in 0..n {
            *last = last.wrapping_add(least);
            values.push(*last);
        }
        return;
    }
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    for i in 0..n {
        let bit = i * width;
        let (byte, shift) = (bit / 8, bit % 8);
        let mut window = [0u8; 16];
        let end = packed.len().min(byte + 16);
        window[..end - byte].copy_from_slice(&packed[byte..end]);
        let delta = (u128::from_le_bytes(window) >> shift) as u64 & mask;
        *last = last.wrapping_add(least).wrapping_add(delta as i64);
        values.push(*last);
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or_else(|| cut_short("delta header"))?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    bail!(INCORRECT_DATA, "Too long an integer in delta encoding of Parquet page")
}

fn zigzag(raw: u64) -> i64 {
    (raw >> 1) as i64 ^ -((raw & 1) as i64)
}

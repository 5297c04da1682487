//! DELTA_BINARY_PACKED: a first value, then blocks of bit-packed differences.

use super::{cut_short, rle};
use chalet_base::{Result, bail, ensure};

/// An integer that is stored so: differences wrap at its width, as the format demands.
pub trait Integer: Copy {
    fn of(value: i64) -> Self;
}

impl Integer for i32 {
    fn of(value: i64) -> i32 {
        value as i32
    }
}

impl Integer for i64 {
    fn of(value: i64) -> i64 {
        value
    }
}

/// At most `max` values, and the number of bytes they took.
pub fn decode<T: Integer>(bytes: &[u8], max: usize) -> Result<(Vec<T>, usize)> {
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
    let mut scratch = Vec::with_capacity(per_mini);
    if total == 0 {
        return Ok((values, at));
    }
    values.push(T::of(first));
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
            let (width, wanted) = (usize::from(width), (total - values.len()).min(per_mini));
            // The last part may be cut after the bytes that are needed.
            let packed = bytes.get(at..).filter(|packed| packed.len() >= (wanted * width).div_ceil(8));
            let packed = packed.ok_or_else(|| cut_short("deltas"))?;
            unpack(packed, width, wanted, least, &mut last, &mut values, &mut scratch);
            at = (at + per_mini * width / 8).min(bytes.len());
        }
    }
    Ok((values, at))
}

/// Appends the values behind `last` whose `n` differences stand at the beginning of `packed`, behind which other bytes may follow.
fn unpack<T: Integer>(
    packed: &[u8],
    width: usize,
    n: usize,
    least: i64,
    last: &mut i64,
    values: &mut Vec<T>,
    scratch: &mut Vec<u32>,
) {
    let mut next = |delta: u64| {
        // One addition after the other is all that has to wait for the value before.
        *last = last.wrapping_add(least.wrapping_add(delta as i64));
        T::of(*last)
    };
    if width <= 32 {
        scratch.clear();
        rle::unpack(packed, width, 0, n, scratch);
        values.extend(scratch.iter().map(|&delta| next(delta.into())));
        return;
    }
    let mask = u64::MAX >> (64 - width);
    values.extend((0..n).map(|i| {
        let (byte, shift) = (i * width / 8, i * width % 8);
        let window = match packed[byte..].first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0u8; 16];
                bytes[..packed.len() - byte].copy_from_slice(&packed[byte..]);
                u128::from_le_bytes(bytes)
            }
        };
        next((window >> shift) as u64 & mask)
    }));
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

//! Run-length encodings of ORC: bytes, bits, and integers in two versions. Each decodes `n` values of a whole stream.

use crate::protobuf_wire::{take, take_varint, unzigzag};
use chalet_base::{Result, bail, ensure};
use chalet_columns::BooleanBuffer;

fn byte(rest: &mut &[u8]) -> Result<u8> {
    Ok(take(rest, 1)?[0])
}

/// Runs of up to 130 equal bytes, or up to 128 literal ones.
pub fn bytes(mut rest: &[u8], n: usize) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    while out.len() < n {
        let control = byte(&mut rest)? as i8;
        if control < 0 {
            out.extend_from_slice(take(&mut rest, u64::from(control.unsigned_abs()))?);
        } else {
            let value = byte(&mut rest)?;
            out.resize(out.len() + control as usize + 3, value);
        }
    }
    out.truncate(n);
    Ok(out)
}

/// Bits in bytes, highest first.
pub fn bits(rest: &[u8], n: usize) -> Result<BooleanBuffer> {
    let packed = bytes(rest, n.div_ceil(8))?;
    Ok(BooleanBuffer::collect_bool(n, |i| packed[i / 8] >> (7 - i % 8) & 1 == 1))
}

/// Integers of either version; `signed` ones are in zigzag form.
pub fn integers(rest: &[u8], n: usize, signed: bool, v2: bool) -> Result<Vec<i64>> {
    match v2 {
        true => integers_v2(rest, n, signed),
        false => integers_v1(rest, n, signed),
    }
}

fn number(rest: &mut &[u8], signed: bool) -> Result<i64> {
    let value = take_varint(rest)?;
    Ok(if signed { unzigzag(value) } else { value as i64 })
}

fn integers_v1(mut rest: &[u8], n: usize, signed: bool) -> Result<Vec<i64>> {
    let mut out = Vec::new();
    while out.len() < n {
        let control = byte(&mut rest)? as i8;
        if control < 0 {
            for _ in 0..control.unsigned_abs() {
                out.push(number(&mut rest, signed)?);
            }
        } else {
            let delta = i64::from(byte(&mut rest)? as i8);
            let mut value = number(&mut rest, signed)?;
            for _ in 0..control as usize + 3 {
                out.push(value);
                value = value.wrapping_add(delta);
            }
        }
    }
    out.truncate(n);
    Ok(out)
}

/// The width in bits that five bits of a header stand for.
fn width(code: u8) -> u32 {
    match code {
        0..=23 => u32::from(code) + 1,
        24 => 26,
        25 => 28,
        26 => 30,
        27 => 32,
        28 => 40,
        29 => 48,
        30 => 56,
        _ => 64,
    }
}

/// The narrowest width with a code that holds so many bits.
fn closest_width(bits: u32) -> u32 {
    (0..32).map(width).find(|width| *width >= bits).unwrap_or(64)
}

/// Numbers of `width` bits, highest bit first.
struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
    at: usize,
}

impl<'a> Packed<'a> {
    fn take(rest: &mut &'a [u8], n: usize, width: u32) -> Result<Packed<'a>> {
        let bytes = take(rest, (n as u64 * u64::from(width)).div_ceil(8))?;
        Ok(Packed { bytes, width, at: 0 })
    }

    fn next(&mut self) -> u64 {
        let mut value = 0u64;
        let mut left = self.width as usize;
        while left > 0 {
            let offset = self.at % 8;
            let some = left.min(8 - offset);
            let byte = u64::from(self.bytes.get(self.at / 8).copied().unwrap_or(0));
            let part = byte >> (8 - offset - some) & ((1 << some) - 1);
            value = value << (some % 64) | part;
            self.at += some;
            left -= some;
        }
        value
    }
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn integers_v2(mut rest: &[u8], n: usize, signed: bool) -> Result<Vec<i64>> {
    let mut out = Vec::new();
    let value_of = |raw: u64| if signed { unzigzag(raw) } else { raw as i64 };
    while out.len() < n {
        let first = byte(&mut rest)?;
        match first >> 6 {
            // Short repeat.
            0 => {
                let bytes = take(&mut rest, u64::from(first >> 3 & 7) + 1)?;
                let value = value_of(big_endian(bytes));
                out.resize(out.len() + usize::from(first & 7) + 3, value);
            }
            // Direct.
            1 => {
                let length = (usize::from(first & 1) << 8 | usize::from(byte(&mut rest)?)) + 1;
                let mut packed = Packed::take(&mut rest, length, width(first >> 1 & 31))?;
                (0..length).for_each(|_| out.push(value_of(packed.next())));
            }
            2 => patched_base(first, &mut rest, &mut out)?,
            _ => delta(first, &mut rest, signed, &mut out)?,
        }
    }
    out.truncate(n);
    Ok(out)
}

/// Small offsets from a base, with the high bits of outliers listed behind them.
fn patched_base(first: u8, rest: &mut &[u8], out: &mut Vec<i64>) -> Result<()> {
    let bits = width(first >> 1 & 31);
    let length = (usize::from(first & 1) << 8 | usize::from(byte(rest)?)) + 1;
    let (third, fourth) = (byte(rest)?, byte(rest)?);
    let base_width = u32::from(third >> 5) + 1;
    let (patch_width, gap_width) = (width(third & 31), u32::from(fourth >> 5) + 1);
    let n_patches = usize::from(fourth & 31);
    ensure!(
        patch_width + gap_width <= 64 && n_patches > 0,
        INCORRECT_DATA,
        "Corrupt run of integers in an ORC file"
    );
    let raw = big_endian(take(rest, base_width.into())?);
    let sign = 1u64 << (base_width * 8 - 1);
    let base = if raw & sign != 0 { ((raw & !sign) as i64).wrapping_neg() } else { raw as i64 };
    let start = out.len();
    let mut packed = Packed::take(rest, length, bits)?;
    let mut offsets: Vec<u64> = (0..length).map(|_| packed.next()).collect();
    let mut patches = Packed::take(rest, n_patches, closest_width(patch_width + gap_width))?;
    let mut at = 0usize;
    for _ in 0..n_patches {
        let entry = patches.next();
        let gap = entry.checked_shr(patch_width).unwrap_or(0) & ((1 << gap_width) - 1);
        let patch = if patch_width == 64 { entry } else { entry & ((1 << patch_width) - 1) };
        at += gap as usize;
        // A gap too long for its bits is spread over entries without a patch.
        if patch == 0 {
            continue;
        }
        let Some(offset) = offsets.get_mut(at) else {
            bail!(INCORRECT_DATA, "Corrupt run of integers in an ORC file");
        };
        *offset |= patch.checked_shl(bits).unwrap_or(0);
    }
    out.extend(offsets.iter().map(|offset| base.wrapping_add(*offset as i64)));
    debug_assert_eq!(out.len(), start + length);
    Ok(())
}

/// A first value and steps of one sign.
fn delta(first: u8, rest: &mut &[u8], signed: bool, out: &mut Vec<i64>) -> Result<()> {
    let code = first >> 1 & 31;
    let length = (usize::from(first & 1) << 8 | usize::from(byte(rest)?)) + 1;
    let mut value = number(rest, signed)?;
    let step = unzigzag(take_varint(rest)?);
    out.push(value);
    if length == 1 {
        return Ok(());
    }
    value = value.wrapping_add(step);
    out.push(value);
    let further = length - 2;
    if code == 0 {
        for _ in 0..further {
            value = value.wrapping_add(step);
            out.push(value);
        }
        return Ok(());
    }
    let mut packed = Packed::take(rest, further, width(code))?;
    for _ in 0..further {
        let by = packed.next() as i64;
        value = if step < 0 { value.wrapping_sub(by) } else { value.wrapping_add(by) };
        out.push(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification of the format.
    #[test]
    fn examples_of_the_specification() {
        assert_eq!(bytes(&[0x61, 0x00], 100).unwrap(), vec![0; 100]);
        assert_eq!(bytes(&[0xfe, 0x44, 0x45], 2).unwrap(), vec![0x44, 0x45]);
        assert_eq!(integers(&[0x61, 0x00, 0x07], 100, false, false).unwrap(), vec![7; 100]);
        let down: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(integers(&[0x61, 0xff, 0x64], 100, false, false).unwrap(), down);
        assert_eq!(
            integers(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b], 5, false, false).unwrap(),
            [2, 3, 6, 7, 11]
        );
        assert_eq!(integers(&[0x0a, 0x27, 0x10], 5, false, true).unwrap(), [10000; 5]);
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(integers(&direct, 4, false, true).unwrap(), [23713, 43806, 57005, 48879]);
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a,
            0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        assert_eq!(
            integers(&patched, 20, false, true).unwrap(),
            [
                2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130,
                2140, 2150, 2160, 2170, 2180, 2190
            ]
        );
        let primes = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(integers(&primes, 10, false, true).unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    }
}

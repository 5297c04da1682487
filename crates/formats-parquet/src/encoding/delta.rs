//! DELTA_BINARY_PACKED: a first value, then blocks of bit-packed differences.

use super::{cut_short, rle};
use arrow_buffer::{ArrowNativeType, Buffer, ToByteSlice};
use chalet_base::{Result, bail, ensure};

/// An integer that is stored so: differences wrap at its width, as the format demands.
pub trait Integer: Copy {
    fn of(value: i64) -> Self;

    /// Appends the values behind `last`, whose differences are these above `least`; returns the last one, of which the bits
    /// that the type has are right.
    fn sums(deltas: &[u32], least: i64, mut last: i64, values: &mut Vec<Self>) -> i64 {
        values.extend(deltas.iter().map(|&delta| {
            // One addition after the other is all that has to wait for the value before.
            last = last.wrapping_add(least.wrapping_add(delta.into()));
            Self::of(last)
        }));
        last
    }
}

impl Integer for i32 {
    fn of(value: i64) -> i32 {
        value as i32
    }

    /// Four sums at a time: the value before is waited for once in four.
    fn sums(deltas: &[u32], least: i64, last: i64, values: &mut Vec<i32>) -> i64 {
        let (least, mut last) = (least as i32, last as i32);
        let steps = [1, 2, 3, 4].map(|n: i32| least.wrapping_mul(n));
        let start = values.len();
        values.resize(start + deltas.len(), 0);
        let (fours, rest) = values[start..].as_chunks_mut::<4>();
        let (from, from_rest) = deltas.as_chunks::<4>();
        for (four, &[a, b, c, d]) in fours.iter_mut().zip(from) {
            let ab = a.wrapping_add(b);
            let sums = [a, ab, ab.wrapping_add(c), ab.wrapping_add(c.wrapping_add(d))];
            *four = std::array::from_fn(|i| last.wrapping_add(steps[i].wrapping_add(sums[i] as i32)));
            last = four[3];
        }
        for (value, &delta) in rest.iter_mut().zip(from_rest) {
            last = last.wrapping_add(least.wrapping_add(delta as i32));
            *value = last;
        }
        last.into()
    }
}

impl Integer for i64 {
    fn of(value: i64) -> i64 {
        value
    }
}

/// At most `max` values, and the number of bytes they took.
pub fn decode<T: Integer>(bytes: &[u8], max: usize) -> Result<(Vec<T>, usize)> {
    let mut values = Values::open(bytes, 0, max)?;
    let mut decoded = Vec::with_capacity(values.total);
    values.decode(bytes, values.total, &mut decoded)?;
    Ok((decoded, values.at))
}

/// Values that are decoded part by part. They are given the bytes each time: who owns those may own this, too.
pub struct Values {
    per_mini: usize,
    n_mini: usize,
    total: usize,
    /// Values that were decoded, and the last of them; before any was, the first one.
    decoded: usize,
    last: i64,
    /// Where the next block begins.
    at: usize,
}

impl Values {
    /// At most `max` values, which begin at a place in the bytes.
    pub fn open(bytes: &[u8], mut at: usize, max: usize) -> Result<Values> {
        let block = varint(bytes, &mut at)?;
        let n_mini = varint(bytes, &mut at)?;
        let total = varint(bytes, &mut at)?;
        let last = zigzag(varint(bytes, &mut at)?);
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
        Ok(Values { per_mini, n_mini, total, decoded: 0, last, at })
    }

    /// Where the bytes behind all of them begin: widths say it, nothing is decoded.
    pub fn end(&self, bytes: &[u8]) -> Result<usize> {
        let (mut at, mut left) = (self.at, self.total - self.decoded);
        // The first value stands before all blocks.
        left -= usize::from(self.decoded == 0 && left > 0);
        while left > 0 {
            let (_, widths) = self.block(bytes, &mut at)?;
            for same in widths.chunk_by(|a, b| a == b) {
                if left == 0 {
                    break;
                }
                let wanted = left.min(self.per_mini * same.len());
                at = self.part(bytes, at, same, wanted)?.1;
                left -= wanted;
            }
        }
        Ok(at)
    }

    /// Appends values until `n` of all were decoded, or some more: whole blocks are.
    pub fn decode<T: Integer>(&mut self, bytes: &[u8], n: usize, values: &mut Vec<T>) -> Result<()> {
        if self.decoded == 0 && n > 0 && self.total > 0 {
            values.push(T::of(self.last));
            self.decoded = 1;
        }
        let n = n.min(self.total);
        if self.decoded >= n {
            return Ok(());
        }
        let per_block = self.per_mini * self.n_mini;
        values.reserve((n - self.decoded).next_multiple_of(per_block).min(self.total - self.decoded));
        let mut scratch = Vec::with_capacity(per_block.min(self.total));
        while self.decoded < n {
            let mut at = self.at;
            let (least, widths) = self.block(bytes, &mut at)?;
            // Parts of one width are one stretch of bits.
            for same in widths.chunk_by(|a, b| a == b) {
                let wanted = (self.total - self.decoded).min(self.per_mini * same.len());
                if wanted == 0 {
                    // Parts behind the last value have a width but no bytes.
                    break;
                }
                let (packed, end) = self.part(bytes, at, same, wanted)?;
                self.last = unpack(packed, same[0].into(), wanted, least, self.last, values, &mut scratch);
                self.decoded += wanted;
                at = end;
            }
            self.at = at;
        }
        Ok(())
    }

    /// The least difference of a block and the widths of its parts, which begin behind them.
    fn block<'a>(&self, bytes: &'a [u8], at: &mut usize) -> Result<(i64, &'a [u8])> {
        let least = zigzag(varint(bytes, at)?);
        let widths = bytes.get(*at..).and_then(|rest| rest.get(..self.n_mini));
        let widths = widths.ok_or_else(|| cut_short("delta widths"))?;
        *at += self.n_mini;
        Ok((least, widths))
    }

    /// The packed differences of parts of one width, of which `wanted` are there, and where what follows begins.
    fn part<'a>(&self, bytes: &'a [u8], at: usize, same: &[u8], wanted: usize) -> Result<(&'a [u8], usize)> {
        let width = usize::from(same[0]);
        if width > 64 {
            bail!(INCORRECT_DATA, "Invalid bit width {width} in delta encoding of Parquet page");
        }
        // The last part may be cut after the bytes that are needed.
        let packed = bytes.get(at..).filter(|packed| packed.len() >= (wanted * width).div_ceil(8));
        let packed = packed.ok_or_else(|| cut_short("deltas"))?;
        // Parts behind the last value have no bytes.
        let n_parts = wanted.div_ceil(self.per_mini);
        Ok((packed, (at + n_parts * self.per_mini * width / 8).min(bytes.len())))
    }
}

/// Values that are decoded as far as they were asked for.
pub struct Lazy<T> {
    coded: Values,
    pub decoded: Vec<T>,
}

impl<T: Integer> Lazy<T> {
    /// At most `max` values, which begin at a place in the bytes.
    pub fn open(bytes: &[u8], at: usize, max: usize) -> Result<Lazy<T>> {
        Ok(Lazy { coded: Values::open(bytes, at, max)?, decoded: Vec::new() })
    }

    /// How many there are, decoded or not.
    pub fn len(&self) -> usize {
        self.coded.total
    }

    /// Where the bytes behind all of them begin.
    pub fn end(&self, bytes: &[u8]) -> Result<usize> {
        self.coded.end(bytes)
    }

    /// Decodes the first `n`, which there are.
    pub fn decode(&mut self, bytes: &[u8], n: usize) -> Result<()> {
        self.coded.decode(bytes, n, &mut self.decoded)
    }
}

/// The values of a page, taken or passed by: those behind the last that is wanted are not decoded.
pub struct Numbers<T> {
    page: Buffer,
    values: Lazy<T>,
    /// The next one.
    at: usize,
}

impl<T: Integer + ArrowNativeType> Numbers<T> {
    /// A page of at most `max` values.
    pub fn open(page: Buffer, max: usize) -> Result<Numbers<T>> {
        Ok(Numbers { values: Lazy::open(&page, 0, max)?, page, at: 0 })
    }

    pub fn skip(&mut self, n: usize) -> Result<()> {
        ensure!(
            n <= self.values.len() - self.at,
            CANNOT_READ_ALL_DATA,
            "Parquet page ends before its values"
        );
        self.at += n;
        Ok(())
    }

    /// The bytes of the next `n` values.
    pub fn take(&mut self, n: usize) -> Result<&[u8]> {
        let start = self.at;
        self.skip(n)?;
        self.values.decode(&self.page, self.at)?;
        Ok(self.values.decoded[start..self.at].to_byte_slice())
    }
}

/// Appends the values behind `last` whose `n` differences stand at the beginning of `packed`, behind which other bytes may follow;
/// returns the last one.
fn unpack<T: Integer>(
    packed: &[u8],
    width: usize,
    n: usize,
    least: i64,
    mut last: i64,
    values: &mut Vec<T>,
    scratch: &mut Vec<u32>,
) -> i64 {
    if width == 0 {
        // All differences are the same one: no value waits for the one before.
        values.extend((0..n).map(|i| T::of(last.wrapping_add(least.wrapping_mul(i as i64 + 1)))));
        return last.wrapping_add(least.wrapping_mul(n as i64));
    }
    if width <= 32 {
        scratch.clear();
        rle::unpack(packed, width, 0, n, scratch);
        return T::sums(scratch, least, last, values);
    }
    values.reserve(n);
    rle::unpack_wide(packed, width, n, |delta| {
        last = last.wrapping_add(least.wrapping_add(delta as i64));
        values.push(T::of(last));
    });
    last
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

#[cfg(test)]
mod tests {
    use super::*;

    fn put_varint(mut value: u64, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    fn put_zigzag(value: i64, out: &mut Vec<u8>) {
        put_varint((value << 1 ^ value >> 63) as u64, out);
    }

    /// Blocks of 128 values in four parts; the last part is cut behind its last difference.
    fn encode(values: &[i64]) -> Vec<u8> {
        let mut out = Vec::new();
        [128, 4, values.len() as u64].into_iter().for_each(|number| put_varint(number, &mut out));
        put_zigzag(values.first().copied().unwrap_or(0), &mut out);
        let deltas: Vec<i64> = values.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        for block in deltas.chunks(128) {
            let least = block.iter().copied().min().unwrap_or(0);
            put_zigzag(least, &mut out);
            let parts: Vec<Vec<u64>> = block
                .chunks(32)
                .map(|part| part.iter().map(|delta| delta.wrapping_sub(least) as u64).collect())
                .collect();
            let width =
                |part: &Vec<u64>| 64 - part.iter().fold(0, |bits, delta| bits | delta).leading_zeros();
            out.extend((0..4).map(|i| parts.get(i).map_or(0, |part| width(part) as u8)));
            for part in &parts {
                let width = width(part) as usize;
                let is_last = part.len() < 32 || std::ptr::eq(part, &raw const parts[parts.len() - 1]);
                let n = if is_last { part.len() } else { 32 };
                let mut packed = vec![0u8; (n * width).div_ceil(8)];
                for (i, delta) in part.iter().enumerate() {
                    for bit in (0..width).filter(|bit| delta >> bit & 1 == 1) {
                        packed[(i * width + bit) / 8] |= 1 << ((i * width + bit) % 8);
                    }
                }
                out.extend(packed);
            }
        }
        out
    }

    #[test]
    fn differences_of_every_width() {
        let mut state = 5u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ state >> 29
        };
        for width in 0..=64u32 {
            for n in [0usize, 1, 2, 31, 33, 34, 129] {
                let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
                let mut value = i64::MAX - 7;
                let values: Vec<i64> = (0..n)
                    .map(|_| {
                        value = value.wrapping_add((random() & mask) as i64).wrapping_sub(3);
                        value
                    })
                    .collect();
                let bytes = encode(&values);
                let (decoded, len) = decode::<i64>(&bytes, n).unwrap();
                assert_eq!((&decoded, len), (&values, bytes.len()), "{width} bits, {n} values");
                let mut parts = Values::open(&bytes, 0, n).unwrap();
                assert_eq!((parts.total, parts.end(&bytes).unwrap()), (n, bytes.len()));
                let mut decoded = Vec::<i64>::new();
                for wanted in [0, 1, 2, 40, n] {
                    parts.decode(&bytes, wanted.min(n), &mut decoded).unwrap();
                    assert!(decoded.len() >= wanted.min(n), "{width} bits, {wanted} of {n} values");
                    assert_eq!(decoded, values[..decoded.len()]);
                    assert_eq!(parts.end(&bytes).unwrap(), bytes.len());
                }
                let mut numbers = Numbers::<i64>::open(bytes.clone().into(), n).unwrap();
                let (mut at, mut step) = (0, 0);
                while at < n {
                    numbers.skip(step.min(n - at)).unwrap();
                    at += step.min(n - at);
                    let part = &values[at..n.min(at + 7)];
                    assert_eq!(numbers.take(part.len()).unwrap(), part.to_byte_slice());
                    (at, step) = (at + part.len(), step + 9);
                }
                assert!(numbers.take(1).is_err() && numbers.skip(1).is_err());
                let narrow: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                assert_eq!(decode::<i32>(&bytes, n).unwrap().0, narrow);
                for cut in 0..bytes.len() {
                    assert!(
                        decode::<i64>(&bytes[..cut], n).is_err(),
                        "{width} bits, {n} values, {cut} bytes"
                    );
                    assert!(
                        Values::open(&bytes[..cut], 0, n).and_then(|all| all.end(&bytes[..cut])).is_err()
                    );
                }
            }
        }
    }
}

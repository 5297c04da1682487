//! The hybrid of runs and bit-packed groups that dictionary codes and levels are stored in.

use super::cut_short;
use arrow_buffer::{BooleanBufferBuilder, Buffer};
use chalet_base::{Result, ensure, err};

/// Reads codes of a fixed bit width, some at a time.
pub struct Rle {
    bytes: Buffer,
    /// Where the next run begins.
    at: usize,
    width: usize,
    run: Run,
}

#[derive(Clone)]
enum Run {
    Repeat {
        value: u32,
        left: usize,
    },
    /// Values `done..n` of the group that begins at byte `start` are still to come.
    Packed {
        start: usize,
        done: usize,
        n: usize,
    },
}

impl Rle {
    /// `width` bits per code, 0 to 32.
    pub fn new(bytes: Buffer, width: usize) -> Result<Rle> {
        ensure!(width <= 32, INCORRECT_DATA, "Invalid bit width {width} in Parquet page");
        Ok(Rle { bytes, at: 0, width, run: Run::Repeat { value: 0, left: 0 } })
    }

    /// Makes a run current that has values left.
    fn next_run(&mut self) -> Result<()> {
        let mut head = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(|| cut_short("codes"))?;
            self.at += 1;
            head |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let n = usize::try_from(head >> 1).map_err(|_| cut_short("codes"))?;
        if head & 1 == 0 {
            let bytes = self.width.div_ceil(8);
            let stored = self.bytes.get(self.at..self.at + bytes).ok_or_else(|| cut_short("codes"))?;
            let mut value = [0u8; 4];
            value[..bytes].copy_from_slice(stored);
            let value = u32::from_le_bytes(value);
            ensure!(
                self.width == 32 || value >> self.width == 0,
                INCORRECT_DATA,
                "A code of Parquet page does not fit its {} bits",
                self.width
            );
            self.at += bytes;
            self.run = Run::Repeat { value, left: n };
            return Ok(());
        }
        // Groups of eight. The last group may be cut after the values that are needed.
        let left = self.bytes.len() - self.at;
        let values =
            n.checked_mul(8).ok_or_else(|| err!(INCORRECT_DATA, "Too long a run in Parquet page"))?;
        let (values, bytes) = match self.width {
            0 => (values, 0),
            width => match n.checked_mul(width).filter(|&bytes| bytes <= left) {
                Some(bytes) => (values, bytes),
                None => (left * 8 / width, left),
            },
        };
        if values == 0 && n > 0 {
            return Err(cut_short("codes"));
        }
        self.run = Run::Packed { start: self.at, done: 0, n: values };
        self.at += bytes;
        Ok(())
    }

    /// How many values the current run can give, after making a run current.
    fn available(&mut self) -> Result<usize> {
        // Empty runs are legal but pointless; a page of them ends, because each takes a byte.
        loop {
            let left = match self.run {
                Run::Repeat { left, .. } => left,
                Run::Packed { done, n, .. } => n - done,
            };
            if left > 0 {
                return Ok(left);
            }
            self.next_run()?;
        }
    }

    /// Are the next `n` codes all the same? They are not taken. False also where that would take long to find out.
    pub fn is_all(&self, mut n: usize, code: u32) -> bool {
        let mut ahead =
            Rle { bytes: self.bytes.clone(), at: self.at, width: self.width, run: self.run.clone() };
        while n > 0 {
            let Ok(available) = ahead.available() else { return false };
            let take = available.min(n);
            let is_same = match &mut ahead.run {
                Run::Repeat { value, left } => {
                    *left -= take;
                    *value == code
                }
                Run::Packed { start, done, .. } => {
                    *done += take;
                    let byte = if code == 0 { 0 } else { u8::MAX };
                    let (whole, rest) = (take / 8, take % 8);
                    let bytes = &ahead.bytes[*start..];
                    // Whole runs, which begin at a byte.
                    self.width == 1
                        && *done == take
                        && bytes[..whole].iter().all(|&bits| bits == byte)
                        && (rest == 0 || (bytes[whole] ^ byte).trailing_zeros() as usize >= rest)
                }
            };
            if !is_same {
                return false;
            }
            n -= take;
        }
        true
    }

    /// Appends the next `n` codes.
    pub fn read(&mut self, mut n: usize, out: &mut Vec<u32>) -> Result<()> {
        while n > 0 {
            let take = self.available()?.min(n);
            match &mut self.run {
                Run::Repeat { value, left } => {
                    out.resize(out.len() + take, *value);
                    *left -= take;
                }
                Run::Packed { start, done, .. } => {
                    unpack(&self.bytes[*start..], self.width, *done, take, out);
                    *done += take;
                }
            }
            n -= take;
        }
        Ok(())
    }

    pub fn skip(&mut self, mut n: usize) -> Result<()> {
        while n > 0 {
            let take = self.available()?.min(n);
            match &mut self.run {
                Run::Repeat { left, .. } => *left -= take,
                Run::Packed { done, .. } => *done += take,
            }
            n -= take;
        }
        Ok(())
    }

    /// Appends the next `n` one-bit codes as bits.
    pub fn read_bits(&mut self, mut n: usize, out: &mut BooleanBufferBuilder) -> Result<()> {
        debug_assert_eq!(self.width, 1);
        while n > 0 {
            let take = self.available()?.min(n);
            match &mut self.run {
                Run::Repeat { value, left } => {
                    out.append_n(take, *value != 0);
                    *left -= take;
                }
                Run::Packed { start, done, .. } => {
                    out.append_packed_range(*done..*done + take, &self.bytes[*start..self.at]);
                    *done += take;
                }
            }
            n -= take;
        }
        Ok(())
    }
}

/// Appends values `first..first + n` of packed values; they lie inside `packed`, behind which other bytes may follow.
pub(super) fn unpack(packed: &[u8], width: usize, first: usize, n: usize, out: &mut Vec<u32>) {
    macro_rules! by_width {
        ($($w:literal)*) => {
            match width {
                $($w => unpack_width::<$w>(packed, first, n, out),)*
                _ => out.resize(out.len() + n, 0),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// Gives the first `n` packed values of 1 to 64 bits, which lie inside `packed`, to `each` in turn.
pub(super) fn unpack_wide(packed: &[u8], width: usize, n: usize, mut each: impl FnMut(u64)) {
    let mask = u64::MAX >> (64 - width);
    for i in 0..n {
        let (byte, shift) = (i * width / 8, i * width % 8);
        let window = match packed[byte..].first_chunk() {
            Some(bytes) => u128::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0u8; 16];
                bytes[..packed.len() - byte].copy_from_slice(&packed[byte..]);
                u128::from_le_bytes(bytes)
            }
        };
        each((window >> shift) as u64 & mask);
    }
}

fn unpack_width<const W: usize>(packed: &[u8], first: usize, n: usize, out: &mut Vec<u32>) {
    let mask = (1u64 << W) - 1;
    let single = |i: usize| -> u32 {
        let (byte, shift) = (i * W / 8, i * W % 8);
        let mut window = [0u8; 8];
        let end = packed.len().min(byte + 8);
        window[..end - byte].copy_from_slice(&packed[byte..end]);
        ((u64::from_le_bytes(window) >> shift) & mask) as u32
    };
    let start = out.len();
    out.resize(start + n, 0);
    // Values before the first group that begins at a byte.
    let ahead = (first.next_multiple_of(8) - first).min(n);
    let (head, rest) = out[start..].split_at_mut(ahead);
    head.iter_mut().enumerate().for_each(|(i, code)| *code = single(first + i));
    // Eight values are W bytes; each is cut out of eight bytes loaded at a constant place.
    let (groups, tail) = rest.as_chunks_mut::<8>();
    let mut i = first + ahead;
    let mut done = 0;
    #[cfg(target_arch = "x86_64")]
    if W <= MAX_SHUFFLED && chalet_base::simd_dispatch::has_avx2() {
        // SAFETY: the processor has the instructions.
        done = unsafe { unpack_shuffled::<W>(&packed[i / 8 * W..], groups) };
        i += 8 * done;
    }
    for codes in &mut groups[done..] {
        let at = i / 8 * W;
        match packed.get(at..at + W + 8) {
            Some(group) => {
                for (k, code) in codes.iter_mut().enumerate() {
                    let (byte, shift) = (k * W / 8, k * W % 8);
                    let window =
                        group[byte..].first_chunk::<8>().map_or(0, |&window| u64::from_le_bytes(window));
                    *code = ((window >> shift) & mask) as u32;
                }
            }
            None => codes.iter_mut().enumerate().for_each(|(k, code)| *code = single(i + k)),
        }
        i += 8;
    }
    tail.iter_mut().enumerate().for_each(|(k, code)| *code = single(i + k));
}

/// Bits of values that lie in four bytes wherever they begin.
#[cfg(target_arch = "x86_64")]
const MAX_SHUFFLED: usize = 25;

/// As many of the groups of eight values as can be had by loading 16 bytes for each half of one: a shuffle gives each
/// value the four bytes that it lies in, and a shift cuts it out. Gives their number.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn unpack_shuffled<const W: usize>(packed: &[u8], groups: &mut [[u32; 8]]) -> usize {
    use std::arch::x86_64::*;
    /// Bits from the byte that the half of value `k` begins with.
    const fn bit(k: usize, width: usize) -> usize {
        k * width - if k < 4 { 0 } else { 4 * width / 8 * 8 }
    }
    struct Plan<const W: usize>;
    impl<const W: usize> Plan<W> {
        const BYTES: [u8; 32] = {
            let mut bytes = [0; 32];
            let mut i = 0;
            while i < 32 {
                bytes[i] = (bit(i / 4, W) / 8 + i % 4) as u8;
                i += 1;
            }
            bytes
        };
        const SHIFTS: [u32; 8] = {
            let mut shifts = [0; 8];
            let mut k = 0;
            while k < 8 {
                shifts[k] = (bit(k, W) % 8) as u32;
                k += 1;
            }
            shifts
        };
    }
    let (bytes, shifts) = (Plan::<W>::BYTES, Plan::<W>::SHIFTS);
    // SAFETY: both are 32 bytes.
    let (bytes, shifts) = unsafe {
        (_mm256_loadu_si256((&raw const bytes).cast()), _mm256_loadu_si256((&raw const shifts).cast()))
    };
    let mask = _mm256_set1_epi32(((1u64 << W) - 1) as i32);
    let second = 4 * W / 8;
    let n = groups.len().min((packed.len() + W).saturating_sub(second + 16) / W);
    for (i, codes) in groups[..n].iter_mut().enumerate() {
        // SAFETY: `n` groups of `W` bytes leave `second + 16` bytes from where the last of them begins.
        let (low, high) = unsafe {
            let at = packed.as_ptr().add(i * W);
            (_mm_loadu_si128(at.cast()), _mm_loadu_si128(at.add(second).cast()))
        };
        let values = _mm256_shuffle_epi8(_mm256_set_m128i(high, low), bytes);
        let values = _mm256_and_si256(_mm256_srlv_epi32(values, shifts), mask);
        // SAFETY: eight values of 32 bits.
        unsafe { _mm256_storeu_si256(codes.as_mut_ptr().cast(), values) };
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(values: &[u32], width: usize) -> Vec<u8> {
        let mut bytes = vec![0u8; (values.len() * width).div_ceil(8)];
        for (i, &value) in values.iter().enumerate() {
            for bit in 0..width {
                if value >> bit & 1 == 1 {
                    bytes[(i * width + bit) / 8] |= 1 << ((i * width + bit) % 8);
                }
            }
        }
        bytes
    }

    #[test]
    fn codes_that_are_all_the_same() {
        // 21 ones in three groups, of which the last is cut by what follows: 100 times one.
        let ones = [7u8, 0xff, 0xff, 0xff, 0b1100_1000, 1, 1];
        let of = |bytes: &[u8]| Rle::new(bytes.to_vec().into(), 1).unwrap();
        assert!(of(&ones).is_all(24, 1) && of(&ones).is_all(124, 1) && of(&ones).is_all(0, 0));
        assert!(!of(&ones).is_all(1, 0) && !of(&ones).is_all(125, 1), "there are no more");
        for bit in 0..24 {
            let mut with_zero = ones;
            with_zero[1 + bit / 8] ^= 1 << (bit % 8);
            let mut rle = of(&with_zero);
            assert!(rle.is_all(bit, 1) && !rle.is_all(bit + 1, 1), "bit {bit}");
            let mut read = Vec::new();
            rle.read(24, &mut read).unwrap();
            assert_eq!(read.iter().filter(|&&code| code == 1).count(), 23, "nothing was taken before");
        }
    }

    #[test]
    fn all_widths_in_odd_pieces() {
        for width in 1..=32usize {
            let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
            let values: Vec<u32> = (0..64u32).map(|i| i.wrapping_mul(0x9e37_79b9) & mask).collect();
            let mut bytes = vec![((64 / 8) << 1) | 1];
            bytes.extend(pack(&values, width));
            // Then the last value 300 times.
            bytes.extend([0b1101_1000, 0b100]);
            bytes.extend(&values[63].to_le_bytes()[..width.div_ceil(8)]);
            let mut expected = values.clone();
            expected.resize(64 + 300, values[63]);
            for step in [1, 3, 7, 8, 30, 364] {
                let mut rle = Rle::new(bytes.clone().into(), width).unwrap();
                let mut out = Vec::new();
                while out.len() < 364 {
                    rle.read(step.min(364 - out.len()), &mut out).unwrap();
                }
                assert_eq!(out, expected, "width {width}, step {step}");
                assert!(rle.read(1, &mut out).is_err());
            }
            let mut rle = Rle::new(bytes.clone().into(), width).unwrap();
            let mut out = Vec::new();
            rle.skip(13).unwrap();
            rle.read(5, &mut out).unwrap();
            assert_eq!(out, expected[13..18]);
        }
    }
}

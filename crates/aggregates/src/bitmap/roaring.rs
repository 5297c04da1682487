//! The portable bytes of Roaring bitmaps: containers of 65,536 numbers each, held as sorted numbers, as bits or as runs,
//! whichever is smallest. Numbers of 64 bits are one such bitmap per upper half.

use chalet_base::{Result, ensure};
use chalet_columns::wire::{take, take_array, take_u64};

/// The first number of the bytes: with run containers, whose number is in the upper half, or without.
const WITH_RUNS: u32 = 12347;
const WITHOUT_RUNS: u32 = 12346;
/// From so many containers on, offsets are there even beside runs.
const OFFSETS_FROM: usize = 4;
/// A container of more numbers is held as bits.
const MAX_ARRAY: usize = 4096;
const BITS_BYTES: usize = 8192;

/// Numbers of one container.
struct Container<'a> {
    key: u16,
    values: &'a [u64],
}

impl Container<'_> {
    fn low(value: u64) -> u16 {
        value as u16
    }

    fn runs(&self) -> Vec<(u16, u16)> {
        let mut runs: Vec<(u16, u16)> = Vec::new();
        for &value in self.values {
            let low = Self::low(value);
            match runs.last_mut() {
                Some((start, more)) if u32::from(*start) + u32::from(*more) + 1 == u32::from(low) => {
                    *more += 1
                }
                _ => runs.push((low, 0)),
            }
        }
        runs
    }

    /// The runs, if they take fewer bytes than what else would be there.
    fn as_runs(&self) -> Option<Vec<(u16, u16)>> {
        let runs = self.runs();
        let other = if self.values.len() <= MAX_ARRAY { 2 * self.values.len() + 2 } else { BITS_BYTES };
        (2 + 4 * runs.len() < other).then_some(runs)
    }

    fn put(&self, runs: Option<&Vec<(u16, u16)>>, out: &mut Vec<u8>) {
        if let Some(runs) = runs {
            out.extend((runs.len() as u16).to_le_bytes());
            for (start, more) in runs {
                out.extend(start.to_le_bytes());
                out.extend(more.to_le_bytes());
            }
        } else if self.values.len() <= MAX_ARRAY {
            self.values.iter().for_each(|&value| out.extend(Self::low(value).to_le_bytes()));
        } else {
            let start = out.len();
            out.resize(start + BITS_BYTES, 0);
            for &value in self.values {
                let low = usize::from(Self::low(value));
                out[start + low / 8] |= 1 << (low % 8);
            }
        }
    }
}

/// Appends numbers that ascend and have the same upper 32 bits.
pub fn put_narrow(values: &[u64], out: &mut Vec<u8>) {
    let containers: Vec<Container> = values
        .chunk_by(|a, b| a >> 16 == b >> 16)
        .map(|values| Container { key: (values[0] >> 16) as u16, values })
        .collect();
    let runs: Vec<Option<Vec<(u16, u16)>>> = containers.iter().map(Container::as_runs).collect();
    let start = out.len();
    let n = containers.len();
    let has_runs = runs.iter().any(Option::is_some);
    if has_runs {
        out.extend((WITH_RUNS | (n as u32 - 1) << 16).to_le_bytes());
        let flags = out.len();
        out.resize(flags + n.div_ceil(8), 0);
        for (i, _) in runs.iter().enumerate().filter(|(_, runs)| runs.is_some()) {
            out[flags + i / 8] |= 1 << (i % 8);
        }
    } else {
        out.extend(WITHOUT_RUNS.to_le_bytes());
        out.extend((n as u32).to_le_bytes());
    }
    for container in &containers {
        out.extend(container.key.to_le_bytes());
        out.extend((container.values.len() as u16).wrapping_sub(1).to_le_bytes());
    }
    let mut offsets = None;
    if !has_runs || n >= OFFSETS_FROM {
        offsets = Some(out.len());
        out.resize(out.len() + 4 * n, 0);
    }
    for (i, (container, runs)) in containers.iter().zip(&runs).enumerate() {
        if let Some(offsets) = offsets {
            let offset = ((out.len() - start) as u32).to_le_bytes();
            out[offsets + 4 * i..offsets + 4 * i + 4].copy_from_slice(&offset);
        }
        container.put(runs.as_ref(), out);
    }
}

/// Appends numbers that ascend, in bitmaps by their upper 32 bits.
pub fn put_wide(values: &[u64], out: &mut Vec<u8>) {
    let halves: Vec<&[u64]> = values.chunk_by(|a, b| a >> 32 == b >> 32).collect();
    out.extend((halves.len() as u64).to_le_bytes());
    for values in halves {
        out.extend(((values[0] >> 32) as u32).to_le_bytes());
        put_narrow(values, out);
    }
}

/// Takes a bitmap of numbers of 32 bits, to which the upper half is added.
pub fn take_narrow(bytes: &mut &[u8], upper: u64, values: &mut Vec<u64>) -> Result<()> {
    let cookie = u32::from_le_bytes(take_array(bytes)?);
    let (n, flags): (usize, &[u8]) = if cookie & 0xffff == WITH_RUNS {
        let n = (cookie >> 16) as usize + 1;
        (n, take(bytes, n.div_ceil(8))?)
    } else {
        ensure!(cookie == WITHOUT_RUNS, INCORRECT_DATA, "Roaring bitmap begins with {cookie}");
        (u32::from_le_bytes(take_array(bytes)?) as usize, &[])
    };
    ensure!(n <= 1 << 16, INCORRECT_DATA, "Roaring bitmap has {n} containers");
    let headers = take(bytes, 4 * n)?;
    if flags.is_empty() || n >= OFFSETS_FROM {
        take(bytes, 4 * n)?;
    }
    for (i, header) in headers.chunks_exact(4).enumerate() {
        let base = upper | u64::from(u16::from_le_bytes([header[0], header[1]])) << 16;
        let count = usize::from(u16::from_le_bytes([header[2], header[3]])) + 1;
        let before = values.len();
        let word = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
        if flags.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1) {
            let n_runs = usize::from(u16::from_le_bytes(take_array(bytes)?));
            for run in take(bytes, 4 * n_runs)?.chunks_exact(4) {
                let (start, more) = (u64::from(word(&run[..2])), u64::from(word(&run[2..])));
                values.extend((start..=(start + more).min(0xffff)).map(|low| base | low));
            }
        } else if count <= MAX_ARRAY {
            values.extend(take(bytes, 2 * count)?.chunks_exact(2).map(|low| base | u64::from(word(low))));
        } else {
            for (at, &byte) in take(bytes, BITS_BYTES)?.iter().enumerate() {
                let set = (0..8u64).filter(|bit| byte >> bit & 1 == 1);
                values.extend(set.map(|bit| base | (at as u64 * 8 + bit)));
            }
        }
        ensure!(
            values.len() - before == count,
            INCORRECT_DATA,
            "Container of a Roaring bitmap has {} numbers instead of {count}",
            values.len() - before
        );
    }
    Ok(())
}

/// Takes what [`put_wide`] wrote.
pub fn take_wide(bytes: &mut &[u8], values: &mut Vec<u64>) -> Result<()> {
    let n = take_u64(bytes)?;
    ensure!(
        n <= bytes.len() as u64,
        CANNOT_READ_ALL_DATA,
        "Bitmap promises {n} parts in {} bytes",
        bytes.len()
    );
    for _ in 0..n {
        let upper = u64::from(u32::from_le_bytes(take_array(bytes)?)) << 32;
        take_narrow(bytes, upper, values)?;
    }
    Ok(())
}

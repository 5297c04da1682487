//! Digests of many strings side by side, one in each lane of a register: a digest is one long chain of dependent additions,
//! which leaves most of a processor idle.

use super::lane_words::{Portable, Words};
use chalet_base::simd_dispatch::{Level, level};

/// A digest whose state is `N` words and whose blocks are of 64 bytes, with the length in bits in the last 8.
pub trait LaneDigest<const N: usize> {
    /// The state of every digest before its first block.
    const START: [u32; N];
    const BIG_ENDIAN: bool;

    /// What is added to the state for a block. Must be inlined to be compiled for wide registers.
    fn compress<const L: usize, W: Words<L>>(block: &[W; 16], state: [W; N]) -> [W; N];
}

/// Adds a block of each of `L` strings to their states.
type Compress<const N: usize, const L: usize> = fn(&[[u32; L]; 16], [[u32; L]; N]) -> [[u32; L]; N];

#[inline(always)]
fn compress<const N: usize, const L: usize, D: LaneDigest<N>, W: Words<L>>(
    block: &[[u32; L]; 16],
    state: [[u32; L]; N],
) -> [[u32; L]; N] {
    let before = state.each_ref().map(W::load);
    let after = D::compress::<L, W>(&block.each_ref().map(W::load), before);
    std::array::from_fn(|word| after[word].add(before[word]).store())
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::super::lane_words::x86::{Avx2, Avx512};
    use super::{LaneDigest, compress};

    #[target_feature(enable = "avx2")]
    pub fn eight<const N: usize, D: LaneDigest<N>>(
        block: &[[u32; 8]; 16],
        state: [[u32; 8]; N],
    ) -> [[u32; 8]; N] {
        compress::<N, 8, D, Avx2>(block, state)
    }

    #[target_feature(enable = "avx512f")]
    pub fn sixteen<const N: usize, D: LaneDigest<N>>(
        block: &[[u32; 16]; 16],
        state: [[u32; 16]; N],
    ) -> [[u32; 16]; N] {
        compress::<N, 16, D, Avx512>(block, state)
    }
}

/// The digests of strings, one behind the other.
pub fn digests<'a, const N: usize, D: LaneDigest<N>>(
    strings: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    digests_at::<N, D>(level(), strings)
}

fn digests_at<'a, const N: usize, D: LaneDigest<N>>(
    level: Level,
    strings: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            let sixteen: Compress<N, 16> = |block, state| {
                // SAFETY: the processor has the instructions of its level.
                unsafe { x86::sixteen::<N, D>(block, state) }
            };
            side_by_side::<N, 16, D>(sixteen, strings)
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            let eight: Compress<N, 8> = |block, state| {
                // SAFETY: as above.
                unsafe { x86::eight::<N, D>(block, state) }
            };
            side_by_side::<N, 8, D>(eight, strings)
        }
        _ => side_by_side::<N, 8, D>(compress::<N, 8, D, Portable>, strings),
    }
}

/// A string in a lane.
#[derive(Clone, Copy)]
struct Job<'a> {
    row: usize,
    /// What no block has taken yet.
    rest: &'a [u8],
    /// Bytes of the whole string.
    len: usize,
    /// The bit behind the last byte has been put.
    is_ended: bool,
}

#[inline(always)]
fn word(bytes: [u8; 4], big_endian: bool) -> u32 {
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// A lane takes the next string when it is done with one.
fn side_by_side<'a, const N: usize, const L: usize, D: LaneDigest<N>>(
    compress: Compress<N, L>,
    strings: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let width = N * 4;
    let mut out = vec![0; strings.len() * width];
    let mut strings = strings.enumerate();
    let mut next = || strings.next().map(|(row, s)| Job { row, rest: s, len: s.len(), is_ended: false });
    let mut jobs: [Option<Job>; L] = std::array::from_fn(|_| next());
    let mut block = [[0; L]; 16];
    let mut used = [WORDS; L];
    let mut state = D::START.map(|word| [word; L]);
    while jobs.iter().any(Option::is_some) {
        let mut is_last = [false; L];
        for (lane, job) in jobs.iter_mut().enumerate() {
            if let Some(job) = job {
                is_last[lane] = fill(&mut block, &mut used[lane], lane, job, D::BIG_ENDIAN);
            }
        }
        state = compress(&block, state);
        for (lane, job) in jobs.iter_mut().enumerate().filter(|(lane, _)| is_last[*lane]) {
            if let Some(Job { row, .. }) = job {
                let places = out[*row * width..][..width].as_chunks_mut::<4>().0;
                for ((word, place), start) in state.iter_mut().zip(places).zip(D::START) {
                    *place = if D::BIG_ENDIAN { word[lane].to_be_bytes() } else { word[lane].to_le_bytes() };
                    word[lane] = start;
                }
            }
            *job = next();
        }
    }
    out
}

/// Words of a block before those with the length.
const WORDS: usize = 14;

/// Puts the next block of a string into a lane: whether it is the last one. `used` are the words of the lane, but for those of the
/// length, that may be other than 0.
#[inline(always)]
fn fill<const L: usize>(
    block: &mut [[u32; L]; 16],
    used: &mut usize,
    lane: usize,
    job: &mut Job,
    big_endian: bool,
) -> bool {
    if let Some((bytes, rest)) = job.rest.split_first_chunk::<64>() {
        for (place, bytes) in block.iter_mut().zip(bytes.as_chunks::<4>().0) {
            place[lane] = word(*bytes, big_endian);
        }
        (job.rest, *used) = (rest, WORDS);
        return false;
    }
    let (words, rest) = job.rest.as_chunks::<4>();
    for (place, bytes) in block.iter_mut().zip(words) {
        place[lane] = word(*bytes, big_endian);
    }
    let mut now = words.len();
    if !job.is_ended {
        let mut last = [0; 4];
        last.iter_mut().zip(rest.iter().chain(&[0x80])).for_each(|(place, byte)| *place = *byte);
        block[now][lane] = word(last, big_endian);
        now += 1;
    }
    (job.rest, job.is_ended) = (b"", true);
    // The length takes the last two words, if they are free.
    let has_room = now <= WORDS;
    let end = if has_room { WORDS } else { 16 };
    block[now..end.min(now.max(*used))].iter_mut().for_each(|word| word[lane] = 0);
    if !has_room {
        block[now..].iter_mut().for_each(|word| word[lane] = 0);
        *used = WORDS;
        return false;
    }
    *used = now;
    let bits = job.len as u64 * 8;
    let (low, high) = (bits as u32, (bits >> 32) as u32);
    let (first, second) = if big_endian { (high, low) } else { (low, high) };
    (block[WORDS][lane], block[WORDS + 1][lane]) = (first, second);
    true
}

/// The digests of strings at each level that this processor has.
#[cfg(test)]
pub fn digests_at_each_level<const N: usize, D: LaneDigest<N>>(texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let levels = [Level::Plain, Level::Avx2, Level::Avx512].into_iter().filter(|one| *one <= level());
    levels.map(|level| digests_at::<N, D>(level, texts.iter().map(|text| &text[..]))).collect()
}

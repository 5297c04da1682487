//! Digests of many strings side by side, one in each lane of a register: a digest is one long chain of dependent additions,
//! which leaves most of a processor idle.

use chalet_base::simd_dispatch::dispatch_simd;

/// Strings at once: as many as a register of 256 bits has lanes.
pub const LANES: usize = 8;

pub type Lanes = [u32; LANES];

/// A digest whose state is `N` words and whose blocks are of 64 bytes, with the length in bits in the last 8.
pub trait LaneDigest<const N: usize> {
    /// The state of every digest before its first block.
    const START: [u32; N];
    const BIG_ENDIAN: bool;

    /// What is added to the state for a block. Must be inlined to be compiled for wide registers.
    fn compress(block: &[Lanes; 16], state: [Lanes; N]) -> [Lanes; N];
}

/// A number in every lane.
#[inline(always)]
pub fn each(f: impl Fn(usize) -> u32) -> Lanes {
    std::array::from_fn(f)
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

/// The digests of strings, one behind the other. A lane takes the next string when it is done with one.
pub fn digests<'a, const N: usize, D: LaneDigest<N>>(
    strings: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let width = N * 4;
    let mut out = vec![0; strings.len() * width];
    let mut strings = strings.enumerate();
    let mut next = || strings.next().map(|(row, s)| Job { row, rest: s, len: s.len(), is_ended: false });
    let mut jobs: [Option<Job>; LANES] = std::array::from_fn(|_| next());
    let mut block = [[0; LANES]; 16];
    let mut used = [WORDS; LANES];
    let mut state = D::START.map(|word| [word; LANES]);
    while jobs.iter().any(Option::is_some) {
        let mut is_last = [false; LANES];
        for (lane, job) in jobs.iter_mut().enumerate() {
            if let Some(job) = job {
                is_last[lane] = fill(&mut block, &mut used[lane], lane, job, D::BIG_ENDIAN);
            }
        }
        state = dispatch_simd(|| {
            let mut after = D::compress(&block, state);
            for (lanes, before) in after.iter_mut().zip(state) {
                lanes.iter_mut().zip(before).for_each(|(word, before)| *word = word.wrapping_add(before));
            }
            after
        });
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
fn fill(block: &mut [Lanes; 16], used: &mut usize, lane: usize, job: &mut Job, big_endian: bool) -> bool {
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

//! SHA-1 of many strings by the processor's instructions for it, two strings at a time: each of the instructions waits for the one
//! before it, and those of another string have time meanwhile.

use super::sha::{SHA1, ending, sha1};
use sha1::block_api::compress as compress_one;

/// The digests of strings one behind the other; none without the instructions.
pub fn digests<'a>(mut strings: impl ExactSizeIterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let compress = compress_pair()?;
    let mut out = Vec::with_capacity(20 * strings.len());
    while let Some(first) = strings.next() {
        match strings.next() {
            Some(second) => pair([first, second], compress, &mut out),
            None => sha1(first, &mut out),
        }
    }
    Some(out)
}

/// Adds a block to each of two states.
type CompressPair = fn(&mut [[u32; 5]; 2], [&[u8; 64]; 2]);

fn pair(texts: [&[u8]; 2], compress: CompressPair, out: &mut Vec<u8>) {
    let ends = texts.map(ending::<64, 8>);
    let whole = texts.map(|text| text.as_chunks::<64>().0);
    let n_blocks = [0, 1].map(|lane: usize| whole[lane].len() + ends[lane].1);
    let block =
        |lane: usize, at: usize| whole[lane].get(at).unwrap_or_else(|| &ends[lane].0[at - whole[lane].len()]);
    let mut states = [SHA1; 2];
    let shared = n_blocks[0].min(n_blocks[1]);
    (0..shared).for_each(|at| compress(&mut states, [block(0, at), block(1, at)]));
    for (lane, state) in states.iter_mut().enumerate() {
        (shared..n_blocks[lane]).for_each(|at| compress_one(state, std::slice::from_ref(block(lane, at))));
        out.extend_from_slice(state.map(u32::to_be_bytes).as_flattened());
    }
}

#[cfg(target_arch = "x86_64")]
fn compress_pair() -> Option<CompressPair> {
    use std::arch::is_x86_feature_detected as has;
    let has_instructions = has!("sha") && has!("ssse3") && has!("sse4.1");
    // SAFETY: the processor has the instructions.
    has_instructions.then_some(|states, blocks| unsafe { x86::compress(states, blocks) })
}

#[cfg(not(target_arch = "x86_64"))]
fn compress_pair() -> Option<CompressPair> {
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Words of two blocks, four in each register, and what was made of them.
    struct Lanes {
        words: [[__m128i; 4]; 2],
        abcd: [__m128i; 2],
        /// `abcd` four steps ago, which the fifth word of the state is told by.
        before: [__m128i; 2],
        e: [__m128i; 2],
    }

    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    pub fn compress(states: &mut [[u32; 5]; 2], blocks: [&[u8; 64]; 2]) {
        let reversed = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
        let words = blocks.map(|block| {
            let (eights, _) = block.as_chunks::<8>();
            let eight = |at: usize| i64::from_le_bytes(eights[at]);
            [0, 2, 4, 6].map(|at| _mm_shuffle_epi8(_mm_set_epi64x(eight(at + 1), eight(at)), reversed))
        });
        let abcd = states.map(|state| {
            let [a, b, c, d, _] = state.map(u32::cast_signed);
            _mm_set_epi32(a, b, c, d)
        });
        let e = states.map(|state| _mm_set_epi32(state[4].cast_signed(), 0, 0, 0));
        let mut lanes = Lanes { words, abcd, before: abcd, e };
        twenty_steps::<0, 0>(&mut lanes);
        twenty_steps::<5, 1>(&mut lanes);
        twenty_steps::<10, 2>(&mut lanes);
        twenty_steps::<15, 3>(&mut lanes);
        for (lane, state) in states.iter_mut().enumerate() {
            let last = _mm_sha1nexte_epu32(lanes.before[lane], e[lane]);
            let first = _mm_add_epi32(lanes.abcd[lane], abcd[lane]);
            *state = [
                _mm_extract_epi32::<3>(first),
                _mm_extract_epi32::<2>(first),
                _mm_extract_epi32::<1>(first),
                _mm_extract_epi32::<0>(first),
                _mm_extract_epi32::<3>(last),
            ]
            .map(i32::cast_unsigned);
        }
    }

    /// Five times four steps with one function and constant.
    #[inline]
    #[target_feature(enable = "sha,sse2,ssse3,sse4.1")]
    fn twenty_steps<const FIRST: usize, const FUNCTION: i32>(lanes: &mut Lanes) {
        for at in FIRST..FIRST + 5 {
            for lane in 0..2 {
                let words = &mut lanes.words[lane];
                if at >= 4 {
                    let [oldest, second, third, newest] = [0, 1, 2, 3].map(|n| words[(at + n) % 4]);
                    let mixed = _mm_xor_si128(_mm_sha1msg1_epu32(oldest, second), third);
                    words[at % 4] = _mm_sha1msg2_epu32(mixed, newest);
                }
                let added = match at {
                    0 => _mm_add_epi32(lanes.e[lane], words[0]),
                    _ => _mm_sha1nexte_epu32(lanes.before[lane], words[at % 4]),
                };
                lanes.before[lane] = lanes.abcd[lane];
                lanes.abcd[lane] = _mm_sha1rnds4_epu32::<FUNCTION>(lanes.abcd[lane], added);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::sha1::Digest;

    #[test]
    fn digests_are_those_of_the_crate() {
        let texts: Vec<Vec<u8>> =
            (0..301usize).map(|n| (0..n * 7 % 300).map(|i| (i * 31 + n) as u8).collect()).collect();
        let Some(found) = digests(texts.iter().map(|text| &text[..])) else { return };
        let expected: Vec<u8> = texts.iter().flat_map(::sha1::Sha1::digest).collect();
        assert_eq!(found, expected);
    }
}

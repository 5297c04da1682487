//! A small fast generator of random numbers, seeded apart for each call and each block. Not cryptographic.

use chalet_base::simd_dispatch::{Level, level};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// xoshiro256++.
pub struct Generator {
    state: [u64; 4],
}

/// One step of SplitMix64, which turns any seed into good ones.
fn split_mix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Generator {
    pub fn seeded(mut seed: u64) -> Generator {
        Generator { state: std::array::from_fn(|_| split_mix(&mut seed)) }
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let t = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= t;
        *d = d.rotate_left(45);
        result
    }

    /// From 0 to below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// From above 0 to 1.
    pub fn positive_unit(&mut self) -> f64 {
        1.0 - self.unit()
    }

    /// From 0 to below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Of mean 0 and deviation 1, by the polar method.
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        let bytes = if bytes.len() >= LEAST_FOR_LANES { self.fill_by_lanes(bytes) } else { bytes };
        let (words, rest) = bytes.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| *word = self.next().to_le_bytes());
        let word = self.next().to_le_bytes();
        rest.iter_mut().zip(word).for_each(|(byte, random)| *byte = random);
    }

    /// Fills the beginning by several generators side by side, one in each lane of vectors. The rest is given back.
    fn fill_by_lanes<'a>(&mut self, bytes: &'a mut [u8]) -> &'a mut [u8] {
        let mut state = [[0u64; LANES]; 4];
        for lane in 0..LANES {
            let own = Generator::seeded(self.next());
            state.iter_mut().zip(own.state).for_each(|(of_lanes, word)| of_lanes[lane] = word);
        }
        let (chunks, rest) = bytes.as_chunks_mut::<{ LANES * 8 }>();
        match level() {
            // SAFETY: the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => unsafe { x86::fill(&state, chunks) },
            _ => fill_chunks(state, chunks),
        }
        rest
    }
}

/// Fills chunks with the words that each lane gives.
fn fill_chunks([mut a, mut b, mut c, mut d]: [[u64; LANES]; 4], chunks: &mut [[u8; LANES * 8]]) {
    for chunk in chunks {
        for (lane, word) in chunk.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            // As `next`.
            let (w, x, y, z) = (a[lane], b[lane], c[lane], d[lane]);
            *word = w.wrapping_add(z).rotate_left(23).wrapping_add(w).to_le_bytes();
            let (y, z) = (y ^ w, z ^ x);
            (a[lane], b[lane], c[lane], d[lane]) = (w ^ z, x ^ y, y ^ (x << 17), z.rotate_left(45));
        }
    }
}

/// The same by registers of four lanes: the compiler does not find them in the loop over words (148 and 40 ns for 1,000 bytes, 2026-11-27).
#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::LANES;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx2")]
    pub fn fill(state: &[[u64; LANES]; 4], chunks: &mut [[u8; LANES * 8]]) {
        let mut halves = [0, 1].map(|half| {
            state.each_ref().map(|words| {
                let [a, b, c, d] = words.as_chunks::<4>().0[half].map(u64::cast_signed);
                _mm256_setr_epi64x(a, b, c, d)
            })
        });
        for chunk in chunks {
            let (places, _) = chunk.as_chunks_mut::<32>();
            for (place, [a, b, c, d]) in places.iter_mut().zip(&mut halves) {
                let sum = _mm256_add_epi64(*a, *d);
                let turned = _mm256_or_si256(_mm256_slli_epi64::<23>(sum), _mm256_srli_epi64::<41>(sum));
                // SAFETY: the place has 32 bytes, and may lie anywhere.
                unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), _mm256_add_epi64(turned, *a)) };
                let shifted = _mm256_slli_epi64::<17>(*b);
                *c = _mm256_xor_si256(*c, *a);
                *d = _mm256_xor_si256(*d, *b);
                *b = _mm256_xor_si256(*b, *c);
                *a = _mm256_xor_si256(*a, *d);
                *c = _mm256_xor_si256(*c, shifted);
                *d = _mm256_or_si256(_mm256_slli_epi64::<45>(*d), _mm256_srli_epi64::<19>(*d));
            }
        }
    }
}

/// Generators that run side by side.
const LANES: usize = 8;

/// Fewer bytes are not worth seeding so many.
const LEAST_FOR_LANES: usize = 1 << 10;

/// Random bytes made ahead, many at once: strings are mostly short.
pub struct Pool {
    bytes: Vec<u8>,
    used: usize,
}

/// Bytes that are made at once.
const POOL: usize = 1 << 13;

impl Pool {
    pub fn new() -> Pool {
        Pool { bytes: Vec::new(), used: 0 }
    }

    /// So many bytes that nobody else gets, at most [`Pool::MOST`].
    #[inline]
    pub fn take(&mut self, n: usize, generator: &mut Generator) -> &[u8] {
        if self.bytes.len() - self.used < n {
            self.bytes.resize(POOL, 0);
            generator.fill(&mut self.bytes);
            self.used = 0;
        }
        let start = self.used;
        self.used += n;
        &self.bytes[start..start + n]
    }

    pub const MOST: usize = POOL / 8;
}

/// Where the generators of one call come from.
pub struct Source {
    next: AtomicU64,
}

impl Source {
    /// Apart from every other one: the standard library's hash keys are random.
    pub fn new() -> Source {
        let random = std::hash::RandomState::new().build_hasher().finish();
        Source { next: AtomicU64::new(random) }
    }

    pub fn generator(&self) -> Generator {
        Generator::seeded(self.next.fetch_add(0x632b_e59b_d9b4_e019, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes from one generator or from several side by side: about as many of each, and no two words are equal.
    #[test]
    fn random_bytes_are_spread() {
        for size in [997, 100_003] {
            let mut bytes = vec![0; size];
            Generator::seeded(7).fill(&mut bytes);
            let mut words: Vec<[u8; 8]> = bytes.as_chunks::<8>().0.to_vec();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), size / 8);
            let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            let share = f64::from(ones) / (8.0 * size as f64);
            assert!((0.48..0.52).contains(&share), "{share}");
        }
        // Each lane is the generator that it was seeded as.
        let mut lanes = Generator::seeded(9);
        let mut bytes = vec![0; 2 * LANES * 8];
        lanes.fill_by_lanes(&mut bytes);
        let mut first = Generator::seeded(Generator::seeded(9).next());
        let words = bytes.as_chunks::<8>().0;
        assert_eq!((words[0], words[LANES]), (first.next().to_le_bytes(), first.next().to_le_bytes()));
        // By any registers.
        let state =
            std::array::from_fn(|word| std::array::from_fn(|lane| (word * 77 + lane) as u64 | 1 << 60));
        let mut chunks = [[0u8; LANES * 8]; 50];
        fill_chunks(state, &mut chunks);
        #[cfg(target_arch = "x86_64")]
        if level() > Level::Plain {
            let mut others = [[0u8; LANES * 8]; 50];
            // SAFETY: the processor has AVX2.
            unsafe { x86::fill(&state, &mut others) };
            assert_eq!(chunks, others);
        }
    }

    #[test]
    fn nobody_gets_the_same_bytes_of_a_pool() {
        let (mut pool, mut generator) = (Pool::new(), Generator::seeded(3));
        let mut all: Vec<[u8; 16]> =
            (0..5000).map(|_| pool.take(16, &mut generator).try_into().unwrap()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 5000);
    }
}

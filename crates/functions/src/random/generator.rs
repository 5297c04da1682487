//! A small fast generator of random numbers, seeded apart for each call and each block. Not cryptographic.

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
        for chunk in bytes.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
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

//! Random numbers that depend on nothing but their seed, and the skewed choices made of them.

/// Mixes a number into another one, bit by bit unrelated (the finaliser of splitmix64).
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Mixes two numbers; the order matters.
pub fn mix2(a: u64, b: u64) -> u64 {
    mix(mix(a) ^ b)
}

/// A number in 0..1 out of random bits.
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// An index in 0..n, the lower the likelier: `power` 1 is even, 2 halves the first quarter, and so on.
pub fn skewed(bits: u64, n: u64, power: f64) -> u64 {
    ((unit(bits).powf(power) * n as f64) as u64).min(n.saturating_sub(1))
}

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        skewed(self.bits(), n, 1.0)
    }

    pub fn chance(&mut self, share: f64) -> bool {
        unit(self.bits()) < share
    }
}

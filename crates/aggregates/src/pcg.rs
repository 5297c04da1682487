//! The random numbers of sampling aggregates: PCG with a multiplicative state of 64 bits and an output of 32 bits
//! (XSH-RS), seeded as the kernel seeds it, so that samples agree.

use chalet_base::{Result, err};

#[derive(Clone)]
pub struct Pcg32(u64);

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

impl Default for Pcg32 {
    fn default() -> Self {
        Pcg32::new(123_456)
    }
}

impl Pcg32 {
    pub fn new(seed: u64) -> Pcg32 {
        Pcg32(seed | 3)
    }

    /// As the kernel's states have it: multiplier, increment and state.
    pub fn to_text(&self) -> String {
        format!("{MULTIPLIER} 0 {}", self.0)
    }

    /// What [`to_text`](Self::to_text) wrote.
    pub fn from_text(text: &[u8]) -> Result<Pcg32> {
        let state = std::str::from_utf8(text).ok().and_then(|text| text.rsplit(' ').next()?.parse().ok());
        state
            .map(Pcg32)
            .ok_or_else(|| err!(INCORRECT_DATA, "Random numbers of an aggregate state are damaged"))
    }

    #[inline]
    pub fn draw(&mut self) -> u32 {
        let state = self.0;
        self.0 = state.wrapping_mul(MULTIPLIER);
        ((state ^ (state >> 22)) >> (22 + (state >> 61))) as u32
    }

    /// A number below `limit`.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit <= u64::from(u32::MAX) {
            u64::from(self.draw()) % limit
        } else {
            let high = u64::from(self.draw()) << 32;
            (high | u64::from(self.draw())) % limit
        }
    }
}

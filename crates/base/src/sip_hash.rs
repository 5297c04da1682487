//! SipHash-2-4, the state of it: what the functions `sipHash...` and the format Hash end in different ways.

/// Bytes on their way into a hash.
#[derive(Clone)]
pub struct Sip {
    v: [u64; 4],
    /// Bytes that fill no word yet, and the number of all bytes so far.
    tail: [u8; 8],
    length: u64,
}

impl Sip {
    #[inline]
    pub fn new(key: (u64, u64)) -> Sip {
        let v = [
            key.0 ^ 0x736f_6d65_7073_6575,
            key.1 ^ 0x646f_7261_6e64_6f6d,
            key.0 ^ 0x6c79_6765_6e65_7261,
            key.1 ^ 0x7465_6462_7974_6573,
        ];
        Sip { v, tail: [0; 8], length: 0 }
    }

    /// The start of the 128-bit variant of the authors of SipHash.
    pub fn new_reference_128(key: (u64, u64)) -> Sip {
        let mut sip = Sip::new(key);
        sip.v[1] ^= 0xee;
        sip
    }

    pub fn update(&mut self, mut bytes: &[u8]) {
        let filled = (self.length % 8) as usize;
        self.length = self.length.wrapping_add(bytes.len() as u64);
        if filled > 0 {
            let n = bytes.len().min(8 - filled);
            self.tail[filled..filled + n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if filled + n < 8 {
                return;
            }
            self.word(u64::from_le_bytes(self.tail));
        }
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        self.tail[..rest.len()].copy_from_slice(rest);
    }

    /// The state after the 64-bit ending.
    pub fn finish(self) -> [u64; 4] {
        self.finish_with(0xff).v
    }

    /// The state after an ending that mixes `mark` in.
    pub fn finish_with(mut self, mark: u64) -> Sip {
        let filled = (self.length % 8) as usize;
        self.tail[filled..].fill(0);
        self.tail[7] = self.length as u8;
        self.word(u64::from_le_bytes(self.tail));
        self.v[2] ^= mark;
        self.rounds(4);
        self
    }

    /// The state after these bytes, which are all, and an ending that mixes `mark` in.
    #[inline]
    pub fn whole(mut self, bytes: &[u8], mark: u64) -> Sip {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        self.word((bytes.len() as u64) << 56 | few(rest));
        self.v[2] ^= mark;
        self.rounds(4);
        self
    }

    /// The state itself.
    #[inline]
    pub fn words(&self) -> [u64; 4] {
        self.v
    }

    /// The second half of the 128-bit variant of the authors: first both halves are one word.
    pub fn halves(mut self) -> (u64, u64) {
        let word = |v: &[u64; 4]| v[0] ^ v[1] ^ v[2] ^ v[3];
        let low = word(&self.v);
        self.v[1] ^= 0xdd;
        self.rounds(4);
        (low, word(&self.v))
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.v[3] ^= word;
        self.rounds(2);
        self.v[0] ^= word;
    }

    #[inline(always)]
    fn rounds(&mut self, n: usize) {
        for _ in 0..n {
            let [v0, v1, v2, v3] = &mut self.v;
            *v0 = v0.wrapping_add(*v1);
            *v1 = v1.rotate_left(13) ^ *v0;
            *v0 = v0.rotate_left(32);
            *v2 = v2.wrapping_add(*v3);
            *v3 = v3.rotate_left(16) ^ *v2;
            *v0 = v0.wrapping_add(*v3);
            *v3 = v3.rotate_left(21) ^ *v0;
            *v2 = v2.wrapping_add(*v1);
            *v1 = v1.rotate_left(17) ^ *v2;
            *v2 = v2.rotate_left(32);
        }
    }
}

/// Up to seven bytes as a word.
#[inline(always)]
fn few(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
        return first | last << (8 * (n - 4));
    }
    match bytes {
        [] => 0,
        [first, ..] => {
            let at = |index: usize| u64::from(bytes[index]) << (8 * index);
            u64::from(*first) | at(n / 2) | at(n - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sip;

    #[test]
    fn pieces_are_the_whole() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut whole = Sip::new((1, 2));
        whole.update(&bytes);
        for step in 1..20 {
            let mut pieces = Sip::new((1, 2));
            bytes.chunks(step).for_each(|piece| pieces.update(piece));
            assert_eq!(pieces.finish(), whole.clone().finish());
        }
    }

    #[test]
    fn all_at_once_is_the_same() {
        let bytes: Vec<u8> = (100..130).collect();
        for n in 0..bytes.len() {
            let mut sip = Sip::new((3, 4));
            sip.update(&bytes[..n]);
            assert_eq!(Sip::new((3, 4)).whole(&bytes[..n], 0xff).words(), sip.finish());
        }
    }
}

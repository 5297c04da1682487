//! Bloom filters, one of each granule, as they lie in the file.

use chalet_base::{Result, ensure};
use chalet_formats::Buffer;
use chalet_formats::binary::{Cursor, put_var_uint};
use std::ops::Range;

/// A filter that is being filled.
pub struct FilterBuilder {
    bits: Vec<u8>,
    hashes: usize,
}

/// The places of a value in a filter of so many bits: double hashing.
fn places(hash: u64, hashes: usize, n_bits: u64) -> impl Iterator<Item = u64> {
    let step = hash.rotate_left(32) | 1;
    (0..hashes as u64).map(move |i| {
        let h = hash.wrapping_add(i.wrapping_mul(step));
        // Of the high bits, without a division.
        ((u128::from(h) * u128::from(n_bits)) >> 64) as u64
    })
}

impl FilterBuilder {
    /// Of so many bytes, for so many hash functions.
    pub fn new(bytes: usize, hashes: usize) -> FilterBuilder {
        FilterBuilder { bits: vec![0; bytes.clamp(1, MOST_BYTES)], hashes: hashes.clamp(1, MOST_HASHES) }
    }

    /// As large as `n` values need to be mistaken no more often than that.
    pub fn sized(n: usize, false_positives: f64) -> FilterBuilder {
        let p = false_positives.clamp(1e-9, 0.9);
        let bits_per_value = -p.ln() / std::f64::consts::LN_2.powi(2);
        let bytes = (n.max(1) as f64 * bits_per_value / 8.0).ceil();
        FilterBuilder::new(bytes as usize, (bits_per_value * std::f64::consts::LN_2).round() as usize)
    }

    pub fn add(&mut self, hash: u64) {
        let n_bits = self.bits.len() as u64 * 8;
        for place in places(hash, self.hashes, n_bits) {
            self.bits[(place / 8) as usize] |= 1 << (place % 8);
        }
    }

    /// Appends its head to `heads` and its bits to `bits`.
    pub fn finish(self, heads: &mut Vec<u8>, bits: &mut Vec<u8>) {
        put_var_uint(heads, self.hashes as u64);
        put_var_uint(heads, self.bits.len() as u64);
        bits.extend(self.bits);
    }
}

/// Bytes of a filter, at most.
const MOST_BYTES: usize = 1 << 28;
/// Hash functions of a filter, at most.
const MOST_HASHES: usize = 64;

/// The filters of an index: for each expression one of each granule.
pub struct Filters {
    bytes: Buffer,
    n_granules: usize,
    filters: Vec<(usize, Range<usize>)>,
}

impl Filters {
    /// What builders have appended, expression by expression; the bits follow the heads.
    pub fn decode(
        from: &mut Cursor<'_>,
        bytes: &Buffer,
        n_exprs: usize,
        n_granules: usize,
    ) -> Result<Filters> {
        let n = n_exprs.saturating_mul(n_granules);
        ensure!(n <= from.rest.len(), INCORRECT_DATA, "The filters of an index are cut short");
        let mut heads = Vec::with_capacity(n);
        for _ in 0..n {
            heads.push((from.var_uint()?, from.var_uint()?));
        }
        let mut start = bytes.len() - from.rest.len();
        let mut filters = Vec::with_capacity(n);
        for (hashes, len) in heads {
            let len = from.take(usize::try_from(len).unwrap_or(usize::MAX))?.len();
            let is_sound = (1..=MOST_HASHES as u64).contains(&hashes) && len > 0;
            ensure!(is_sound, INCORRECT_DATA, "A filter of an index has {hashes} hash functions");
            filters.push((hashes as usize, start..start + len));
            start += len;
        }
        Ok(Filters { bytes: bytes.clone(), n_granules, filters })
    }

    /// How many granules there are.
    pub fn n_granules(&self) -> usize {
        self.n_granules
    }

    /// May a granule have this value of an expression?
    pub fn may_have(&self, expr: usize, granule: usize, hash: u64) -> bool {
        let Some((hashes, range)) = self.filters.get(expr * self.n_granules + granule) else { return true };
        let bits = &self.bytes[range.clone()];
        let n_bits = bits.len() as u64 * 8;
        places(hash, *hashes, n_bits).all(|place| bits[(place / 8) as usize] & (1 << (place % 8)) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    #[test]
    fn finds_all_and_mistakes_few() {
        let (mut heads, mut bits) = (Vec::new(), Vec::new());
        let hash = |x: u64| xxh3_64(&x.to_le_bytes());
        for granule in 0..3u64 {
            let mut filter = FilterBuilder::sized(1000, 0.01);
            (granule * 1000..granule * 1000 + 1000).for_each(|x| filter.add(hash(x)));
            filter.finish(&mut heads, &mut bits);
        }
        heads.extend(bits);
        let bytes = Buffer::from_vec(heads);
        let filters = Filters::decode(&mut Cursor::new(&bytes), &bytes, 1, 3).expect("whole");
        for granule in 0..3usize {
            let own = granule as u64 * 1000..granule as u64 * 1000 + 1000;
            assert!(own.clone().all(|x| filters.may_have(0, granule, hash(x))));
            let mistaken = (10_000..20_000).filter(|&x| filters.may_have(0, granule, hash(x))).count();
            assert!(mistaken < 250, "{mistaken} of 10,000 at 1 %");
        }
        assert!(Filters::decode(&mut Cursor::new(&bytes[..50]), &bytes, 1, 3).is_err());
    }
}

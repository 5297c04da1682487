//! The order in which an open-addressing hash table gives its keys: hash functions that do not depend on the process, linear probing, at
//! most half full, four times as many slots when it grows. ClickHouse's functions that collect sets give their elements in this order,
//! and the answers of programs show it.

use crate::city_hash::city_hash64;
use crate::crc32c::{crc32c, crc32c_of_word};

/// The finaliser of MurmurHash3.
#[inline]
pub fn murmur_mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// The hash of words, by CRC-32C.
#[inline]
pub fn hash_of_words(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(u32::MAX, crc32c_of_word).into()
}

/// The hash of a byte string: of its words and its last eight bytes, or CityHash where it is shorter.
pub fn hash_of_bytes(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    match bytes.last_chunk::<8>() {
        _ if n == 0 => 0,
        None => city_hash64(bytes) & u64::from(u32::MAX),
        Some(last) => {
            let whole = (n - 1) / 8 * 8;
            let sum = crc32c(u32::MAX, if n == 8 { bytes } else { &bytes[..whole] });
            u64::from(crc32c(sum, last))
        }
    }
}

/// The slots of so many bits have a bit each in one word.
const MOST_BITS_OF_WORD: u32 = 6;

/// The order of keys for which the table need not grow: which slots are taken is told by the bits of a word, so that none of them is cleared
/// before, nor looked at.
fn in_one_word(bits: u32, hashes: impl Iterator<Item = Option<u64>>, mut give: impl FnMut(u32)) {
    let n_slots = 1u32 << bits;
    // Slots that are not there count as taken.
    let mut taken = u64::MAX.checked_shl(n_slots).unwrap_or(0);
    let absent = taken;
    let mut numbers = [0u32; 1 << MOST_BITS_OF_WORD];
    let mut zero = None;
    for (number, hash) in (0u32..).zip(hashes) {
        let Some(hash) = hash else {
            zero = Some(number);
            continue;
        };
        let first = hash as u32 & (n_slots - 1);
        // At most half are taken: the first free one from there on, or from the beginning.
        let behind = !taken >> first;
        let slot = if behind != 0 { first + behind.trailing_zeros() } else { (!taken).trailing_zeros() };
        taken |= 1 << slot;
        numbers[slot as usize % numbers.len()] = number;
    }
    zero.into_iter().for_each(&mut give);
    let mut left = taken ^ absent;
    while left != 0 {
        give(numbers[left.trailing_zeros() as usize % numbers.len()]);
        left &= left - 1;
    }
}

/// Finds the order. The table is kept, so that many sets need one.
#[derive(Default)]
pub struct TableOrder {
    /// The number of a key + 1; 0 is empty.
    slots: Vec<u32>,
    hashes: Vec<u64>,
}

impl TableOrder {
    /// Numbers of different keys, which are inserted one after the other into a table of 2^`bits` slots: none for the key that is all
    /// zeros, which has a place of its own before the others.
    pub fn of(
        &mut self,
        mut bits: u32,
        hashes: impl ExactSizeIterator<Item = Option<u64>>,
        mut give: impl FnMut(u32),
    ) {
        if bits <= MOST_BITS_OF_WORD && hashes.len() <= 1 << (bits - 1) {
            return in_one_word(bits, hashes, give);
        }
        self.slots.clear();
        self.slots.resize(1 << bits, 0);
        self.hashes.clear();
        let mut zero = None;
        for (number, hash) in (0u32..).zip(hashes) {
            self.hashes.push(hash.unwrap_or_default());
            if hash.is_none() {
                zero = Some(number);
                continue;
            }
            let slot = self.slot_for(number);
            self.slots[slot] = number + 1;
            if number as usize + 1 > 1 << (bits - 1) {
                bits += if bits >= 23 { 1 } else { 2 };
                self.grow(1 << bits);
            }
        }
        zero.into_iter().for_each(&mut give);
        self.slots.iter().filter(|slot| **slot > 0).for_each(|slot| give(slot - 1));
    }

    /// Where a key is, or the first free slot where it may be.
    #[inline]
    fn slot_for(&self, number: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hashes[number as usize] as usize & mask;
        while self.slots[slot] != 0 && self.slots[slot] != number + 1 {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// Moves each key, slot by slot, and those behind the old end that belong to a run which began before it.
    fn grow(&mut self, n: usize) {
        let before = self.slots.len();
        self.slots.resize(n, 0);
        let mut slot = 0;
        while slot < before || slot < n && self.slots[slot] != 0 {
            let key = std::mem::take(&mut self.slots[slot]);
            if key > 0 {
                self.slots[slot] = key;
                let to = self.slot_for(key - 1);
                self.slots[slot] = 0;
                self.slots[to] = key;
            }
            slot += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(bits: u32, hashes: &[Option<u64>]) -> Vec<u32> {
        let mut order = Vec::new();
        TableOrder::default().of(bits, hashes.iter().copied(), |number| order.push(number));
        order
    }

    #[test]
    fn keys_come_by_slot_and_the_zero_key_first() {
        assert_eq!(order(4, &[Some(9), Some(3), None, Some(19)]), [2, 1, 3, 0]);
        assert_eq!(order(4, &[]), [0; 0]);
    }

    /// Both ways, for tables of each size up to a word.
    #[test]
    fn few_keys_come_in_the_order_of_the_table() {
        let mut state = 7u64;
        for round in 0..5_000u64 {
            let bits = 1 + (round % u64::from(MOST_BITS_OF_WORD)) as u32;
            let n = 1 + (round / 7) as usize % (1 << (bits - 1));
            let hashes: Vec<Option<u64>> = (0..n)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let near_the_end = if round % 2 == 0 { state >> 33 } else { 0xfff0 | state >> 60 };
                    (state >> 20 & 31 != 0).then_some(near_the_end)
                })
                .collect();
            if hashes.iter().filter(|hash| hash.is_none()).count() > 1 {
                continue;
            }
            // A slot after the other, in a table with room.
            let (mut slots, mut zero) = (vec![None; 1 << bits], None);
            for (number, hash) in (0u32..).zip(&hashes) {
                let Some(hash) = hash else {
                    zero = Some(number);
                    continue;
                };
                let mut slot = *hash as usize % slots.len();
                while slots[slot].is_some() {
                    slot = (slot + 1) % slots.len();
                }
                slots[slot] = Some(number);
            }
            let expected: Vec<u32> = zero.into_iter().chain(slots.into_iter().flatten()).collect();
            assert_eq!(order(bits, &hashes), expected, "{bits} {hashes:?}");
        }
    }

    #[test]
    fn a_run_around_the_end_is_moved_when_the_table_grows() {
        let hashes: Vec<_> = [7, 7, 15, 23, 1].map(Some).to_vec();
        assert_eq!(order(3, &hashes), [4, 0, 1, 2, 3]);
    }

    #[test]
    fn hashes_of_bytes_of_each_length() {
        let bytes = b"0123456789abcdefghij";
        assert_eq!(hash_of_bytes(b""), 0);
        assert_eq!(hash_of_bytes(&bytes[..8]), hash_of_words([0x3736_3534_3332_3130; 2]));
        assert_eq!(
            hash_of_bytes(&bytes[..16]),
            hash_of_words([0x3736_3534_3332_3130, 0x6665_6463_6261_3938])
        );
    }
}

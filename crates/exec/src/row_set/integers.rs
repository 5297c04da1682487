//! A set of integers of up to 8 bytes, as words that are equal when the integers are.

use chalet_base::hash::HashSet;
use chalet_base::simd_dispatch::dispatch_simd;
use std::sync::OnceLock;

/// Sets of no more words are searched by comparisons.
const FEW: usize = 8;
/// Values whose answers stay in the cache while all words are compared with them.
const AT_ONCE: usize = 1 << 10;
/// A bitmap has no more bits than this many per word, which take four bytes, or as many as fit into the first cache.
const BITS_PER_WORD: u64 = 32;
const CACHED_BITS: u64 = 1 << 16;

/// An integer as a word.
pub trait Integer: Copy + PartialEq {
    fn word(self) -> u64;
    fn of_word(word: u64) -> Self;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Integer for $ty {
            #[inline(always)]
            fn word(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn of_word(word: u64) -> $ty {
                word as $ty
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 i8 i16 i32 i64);

#[derive(Default)]
pub struct IntegerSet {
    set: HashSet<u64>,
    /// Made when the first value is searched.
    lookup: OnceLock<Lookup>,
}

enum Lookup {
    Few(Vec<u64>),
    /// A bit for each value from the least on.
    Bitmap {
        least: u64,
        bits: Vec<u64>,
    },
    Hashed,
}

impl IntegerSet {
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Bytes held, the lookup that may be made included.
    pub fn memory(&self) -> usize {
        self.set.capacity() * 9 + self.set.len() * (BITS_PER_WORD / 8) as usize
    }

    /// Adds a value, if it is not there.
    pub fn insert(&mut self, value: impl Integer) -> bool {
        let is_new = self.set.insert(value.word());
        if is_new {
            self.lookup.take();
        }
        is_new
    }

    /// 1 for each value that is there.
    pub fn find<T: Integer>(&self, values: &[T]) -> Vec<u8> {
        match self.lookup.get_or_init(|| Lookup::of(&self.set)) {
            Lookup::Few(words) => find_few(values, words),
            Lookup::Bitmap { least, bits } => {
                let find = |value: &T| {
                    let bit = value.word().wrapping_sub(*least);
                    bits.get((bit / 64) as usize).map_or(0, |word| (word >> (bit % 64) & 1) as u8)
                };
                values.iter().map(find).collect()
            }
            Lookup::Hashed => values.iter().map(|value| u8::from(self.set.contains(&value.word()))).collect(),
        }
    }
}

impl Lookup {
    fn of(set: &HashSet<u64>) -> Lookup {
        if set.len() <= FEW {
            return Lookup::Few(set.iter().copied().collect());
        }
        let signed = || set.iter().map(|&word| word as i64);
        let (least, most) = signed().fold((i64::MAX, i64::MIN), |(a, b), x| (a.min(x), b.max(x)));
        let span = most.wrapping_sub(least) as u64;
        if span >= CACHED_BITS.max(BITS_PER_WORD.saturating_mul(set.len() as u64)) {
            return Lookup::Hashed;
        }
        let least = least as u64;
        let mut bits = vec![0u64; (span / 64) as usize + 1];
        for word in set {
            let bit = word.wrapping_sub(least);
            bits[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        Lookup::Bitmap { least, bits }
    }
}

/// Compares each value with each word, many values at once.
fn find_few<T: Integer>(values: &[T], words: &[u64]) -> Vec<u8> {
    let mut found = vec![0u8; values.len()];
    dispatch_simd(|| {
        for (values, found) in values.chunks(AT_ONCE).zip(found.chunks_mut(AT_ONCE)) {
            for &word in words {
                let wanted = T::of_word(word);
                found.iter_mut().zip(values).for_each(|(found, &value)| *found |= u8::from(value == wanted));
            }
        }
    });
    found
}

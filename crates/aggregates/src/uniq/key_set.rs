//! A set of fixed-width keys: one or two in place, more in an open-addressing table, or in several by the hash, which several
//! threads have merged.

use chalet_base::Result;
use chalet_base::hash::{combine, hash_u64};

/// A key of a set. The default stands for an empty slot of a table.
pub trait Key: Copy + Eq + Default + Send + 'static {
    fn hash(self) -> u64;
    fn put(self, out: &mut Vec<u8>);
    fn take(bytes: &mut &[u8]) -> Result<Self>;
}

macro_rules! keys {
    ($($ty:ty, $hash:expr;)*) => {$(
        impl Key for $ty {
            #[inline(always)]
            fn hash(self) -> u64 {
                $hash(self)
            }
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn take(bytes: &mut &[u8]) -> Result<Self> {
                Ok(<$ty>::from_le_bytes(chalet_columns::wire::take_array(bytes)?))
            }
        }
    )*};
}

keys! {
    u32, |x: u32| hash_u64(x.into());
    u64, hash_u64;
    u128, |x: u128| combine(hash_u64(x as u64), (x >> 64) as u64);
}

impl Key for [u64; 4] {
    #[inline(always)]
    fn hash(self) -> u64 {
        self.into_iter().fold(0, |hash, word| combine(hash_u64(word), hash))
    }
    fn put(self, out: &mut Vec<u8>) {
        self.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
    fn take(bytes: &mut &[u8]) -> Result<Self> {
        let mut words = [0; 4];
        for word in &mut words {
            *word = chalet_columns::wire::take_u64(bytes)?;
        }
        Ok(words)
    }
}

/// 16, 24 or 48 bytes for keys of 4, 8 and 16 bytes.
#[derive(Default)]
pub enum KeySet<K: Key> {
    #[default]
    Empty,
    One(K),
    Two(K, K),
    Many(Box<Table<K>>),
    Divided(Box<Divided<K>>),
}

/// A power of two of tables: a key is in the one that the first bits of its hash say.
pub struct Divided<K> {
    tables: Vec<Table<K>>,
}

impl<K: Key> KeySet<K> {
    #[inline]
    pub fn insert(&mut self, key: K) {
        match self {
            KeySet::Many(table) => table.insert(key),
            KeySet::Divided(divided) => divided.insert(key),
            KeySet::Empty => *self = KeySet::One(key),
            KeySet::One(a) if *a == key => {}
            KeySet::One(a) => *self = KeySet::Two(*a, key),
            KeySet::Two(a, b) if *a == key || *b == key => {}
            KeySet::Two(a, b) => {
                let mut table = Box::new(Table::with_room(3));
                [*a, *b, key].into_iter().for_each(|key| table.insert(key));
                *self = KeySet::Many(table);
            }
        }
    }

    /// Keeps only the keys that `keep` holds of.
    pub fn retain(&mut self, keep: impl Fn(K) -> bool) {
        let all = std::mem::take(self);
        // Keys come in the order of their hashes: in a smaller table they would all want the places at its beginning.
        self.reserve(all.len());
        all.for_each(|key| {
            if keep(key) {
                self.insert(key);
            }
        });
    }

    /// Makes room for so many more keys.
    pub fn reserve(&mut self, more: usize) {
        match self {
            KeySet::Many(table) => table.reserve(more),
            KeySet::Divided(divided) => {
                let more = more / divided.tables.len();
                divided.tables.iter_mut().for_each(|table| table.reserve(more));
            }
            _ if more > 2 => {
                let mut table = Box::new(Table::with_room(self.len() + more));
                self.for_each(|key| table.insert(key));
                *self = KeySet::Many(table);
            }
            _ => {}
        }
    }

    /// The keys by the first bits of their hashes, in a power of two of sets: for [`KeySet::of_parts`], and to be merged with parts of
    /// the same number.
    pub fn divide(self, parts: usize) -> Vec<KeySet<K>> {
        let mut tables: Vec<Table<K>> = Vec::with_capacity(parts);
        // The hash deals keys out evenly; a little more spares most tables that they grow.
        let room = self.len() / parts;
        tables.resize_with(parts, || Table::of_part(room + room / 8, parts.trailing_zeros()));
        self.for_each(|key| tables[part_of(key, parts)].insert(key));
        tables.into_iter().map(|table| KeySet::Many(Box::new(table))).collect()
    }

    /// The keys of all parts that a set was divided into, in their order.
    pub fn of_parts(parts: Vec<KeySet<K>>) -> KeySet<K> {
        let bits = parts.len().trailing_zeros();
        let table = |part| match part {
            KeySet::Many(table) => *table,
            few => {
                let mut table = Table::of_part(few.len(), bits);
                few.for_each(|key| table.insert(key));
                table
            }
        };
        KeySet::Divided(Box::new(Divided { tables: parts.into_iter().map(table).collect() }))
    }

    pub fn len(&self) -> usize {
        match self {
            KeySet::Empty => 0,
            KeySet::One(_) => 1,
            KeySet::Two(..) => 2,
            KeySet::Many(table) => table.len(),
            KeySet::Divided(divided) => divided.tables.iter().map(Table::len).sum(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn for_each(&self, mut f: impl FnMut(K)) {
        match self {
            KeySet::Empty => {}
            KeySet::One(a) => f(*a),
            KeySet::Two(a, b) => {
                f(*a);
                f(*b);
            }
            KeySet::Many(table) => table.for_each(f),
            KeySet::Divided(divided) => divided.tables.iter().for_each(|table| table.for_each(&mut f)),
        }
    }

    /// Adds the keys of another set; the larger one is kept.
    pub fn merge(&mut self, mut other: KeySet<K>) {
        if other.len() > self.len() {
            std::mem::swap(self, &mut other);
        }
        if let (KeySet::Many(table), KeySet::Many(more)) = (&mut *self, &other) {
            table.reserve(more.len() / 2);
        }
        other.for_each(|key| self.insert(key));
    }

    /// Bytes beyond its own size.
    pub fn heap(&self) -> usize {
        match self {
            KeySet::Many(table) => table.memory(),
            KeySet::Divided(divided) => divided.tables.iter().map(Table::memory).sum(),
            _ => 0,
        }
    }
}

/// Which of a power of two of parts a key belongs to.
#[inline(always)]
fn part_of<K: Key>(key: K, parts: usize) -> usize {
    key.hash().rotate_left(parts.trailing_zeros()) as usize & (parts - 1)
}

impl<K: Key> Divided<K> {
    fn insert(&mut self, key: K) {
        let part = part_of(key, self.tables.len());
        self.tables[part].insert(key);
    }
}

/// Linear probing, at most half full.
pub struct Table<K> {
    /// A power of two of slots, empty ones hold the default.
    slots: Vec<K>,
    /// Keys in the slots.
    used: usize,
    has_default: bool,
    /// The first bits of the hash that are the same for all keys.
    common_bits: u32,
    /// What the hash is shifted right by to get a slot, after these bits are cut off.
    shift: u32,
}

impl<K: Key> Table<K> {
    fn with_room(n: usize) -> Self {
        Table::of_part(n, 0)
    }

    /// For keys whose hashes begin with the same bits.
    fn of_part(n: usize, common_bits: u32) -> Self {
        let size = (n * 2).next_power_of_two().max(8);
        let shift = 64 - common_bits - size.trailing_zeros();
        Table { slots: vec![K::default(); size], used: 0, has_default: false, common_bits, shift }
    }

    /// Bytes held, its own size included.
    fn memory(&self) -> usize {
        size_of::<Table<K>>() + self.slots.capacity() * size_of::<K>()
    }

    fn len(&self) -> usize {
        self.used + usize::from(self.has_default)
    }

    #[inline(always)]
    fn insert(&mut self, key: K) {
        if key == K::default() {
            self.has_default = true;
            return;
        }
        let mask = self.slots.len() - 1;
        let mut slot = (key.hash() >> self.shift) as usize & mask;
        loop {
            let found = self.slots[slot];
            if found == key {
                return;
            }
            if found == K::default() {
                break;
            }
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = key;
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.resize(self.slots.len() * 2);
        }
    }

    fn reserve(&mut self, more: usize) {
        let size = ((self.used + more) * 2).next_power_of_two();
        if size > self.slots.len() {
            self.resize(size);
        }
    }

    #[cold]
    fn resize(&mut self, size: usize) {
        let old = std::mem::replace(&mut self.slots, vec![K::default(); size]);
        self.shift = 64 - self.common_bits - size.trailing_zeros();
        let mask = size - 1;
        for key in old.into_iter().filter(|key| *key != K::default()) {
            let mut slot = (key.hash() >> self.shift) as usize & mask;
            while self.slots[slot] != K::default() {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = key;
        }
    }

    fn for_each(&self, mut f: impl FnMut(K)) {
        if self.has_default {
            f(K::default());
        }
        self.slots.iter().filter(|key| **key != K::default()).for_each(|key| f(*key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_what_was_put_in() {
        let (mut a, mut b) = (KeySet::default(), KeySet::default());
        for x in 0u64..5000 {
            a.insert(x * 7 % 1000);
            b.insert(x % 700 * 3);
        }
        assert_eq!((a.len(), b.len()), (1000, 700));
        a.merge(b);
        let mut all = Vec::new();
        a.for_each(|x| all.push(x));
        all.sort_unstable();
        let expected: Vec<u64> = (0..2100).filter(|x| *x < 1000 || x % 3 == 0).collect();
        assert_eq!(all, expected);
        assert_eq!(a.len(), expected.len());
    }

    #[test]
    fn divided_sets_hold_what_their_parts_did() {
        const PARTS: usize = 16;
        let set = |keys: std::ops::Range<u128>| {
            let mut set = KeySet::default();
            keys.for_each(|key| set.insert(key * 3));
            set
        };
        let mut united = KeySet::of_parts(
            set(0..4000)
                .divide(PARTS)
                .into_iter()
                .zip(set(2000..7000).divide(PARTS))
                .map(|(mut a, b)| {
                    a.merge(b);
                    a
                })
                .collect(),
        );
        assert_eq!(united.len(), 7000);
        united.reserve(1000);
        united.merge(set(6999..7003));
        (0..7003).for_each(|key| united.insert(key * 3));
        assert_eq!(united.len(), 7003);
        let mut small = set(0..2);
        small.merge(united);
        let mut all = Vec::new();
        small.for_each(|key| all.push(key));
        all.sort_unstable();
        assert_eq!(all, (0..7003).map(|key| key * 3).collect::<Vec<_>>());
    }
}

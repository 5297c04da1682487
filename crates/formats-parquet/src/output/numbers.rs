//! Column chunks of numbers.

use super::bounds::{Bounds, Order};
use super::kind::Kind;
use chalet_base::hash::hash_u64;

/// A number as it is stored.
pub trait Number: Copy + PartialEq {
    /// Orders as the numbers do.
    type Key: Copy + Ord;
    const LOWEST: Self::Key;
    const HIGHEST: Self::Key;
    const CAN_BE_NAN: bool;

    /// The bits, which differ where values do.
    fn bits(self) -> u64;
    fn is_nan(self) -> bool;
    /// `unsigned`: integers without a sign.
    fn key(self, unsigned: bool) -> Self::Key;
    fn put_key(key: Self::Key, unsigned: bool) -> Vec<u8>;
    fn put(self, bytes: &mut Vec<u8>);
}

macro_rules! integer {
    ($($type:ident)*) => {$(
        impl Number for $type {
            type Key = $type;
            const LOWEST: $type = $type::MIN;
            const HIGHEST: $type = $type::MAX;
            const CAN_BE_NAN: bool = false;

            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            #[inline(always)]
            fn key(self, unsigned: bool) -> $type {
                if unsigned { self ^ $type::MIN } else { self }
            }

            fn put_key(key: $type, unsigned: bool) -> Vec<u8> {
                key.key(unsigned).to_le_bytes().to_vec()
            }

            #[inline(always)]
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )*};
}

integer!(i32 i64);

macro_rules! float {
    ($type:ident $bits:ident $key:ident) => {
        impl Number for $type {
            type Key = $key;
            const LOWEST: $key = $key::MIN;
            const HIGHEST: $key = $key::MAX;
            const CAN_BE_NAN: bool = true;

            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::is_nan(self)
            }

            /// As `total_cmp` orders: all bits but the sign are turned around below zero.
            #[inline(always)]
            fn key(self, _: bool) -> $key {
                let bits = self.to_bits() as $key;
                bits ^ ((bits >> ($key::BITS - 1)) as $bits >> 1) as $key
            }

            fn put_key(key: $key, _: bool) -> Vec<u8> {
                // It is its own inverse.
                $type::from_bits(key as $bits).key(false).to_le_bytes().to_vec()
            }

            #[inline(always)]
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

float!(f32 u32 i32);
float!(f64 u64 i64);

const EMPTY: u32 = u32::MAX;
/// Slots of a new table.
const FIRST_SLOTS: usize = 1 << 6;
/// Slots of a table that is indexed by values of 16 bits.
const DIRECT_SLOTS: usize = 1 << 16;

pub struct Numbers<T: Number> {
    order: Order,
    dictionary: Vec<u8>,
    n_distinct: usize,
    table: Table<T>,
    /// The value before, and its code.
    last: Option<(T, u32)>,
    least: T::Key,
    greatest: T::Key,
    n_in_page: usize,
    n_nans: u64,
    /// Any of the values of the page that is not a number.
    nan: Option<T>,
}

enum Table<T> {
    /// Codes by value: all are of 16 bits.
    Direct(Vec<u32>),
    /// Values and their codes by hash: linear probing, at most half full.
    Hashed(Vec<(T, u32)>),
}

impl<T: Number + Default> Numbers<T> {
    /// `narrow`: all values have at most 16 bits.
    pub fn new(order: Order, narrow: bool) -> Numbers<T> {
        let table = match narrow {
            true => Table::Direct(vec![EMPTY; DIRECT_SLOTS]),
            false => Table::Hashed(vec![(T::default(), EMPTY); FIRST_SLOTS]),
        };
        Numbers {
            order,
            dictionary: Vec::new(),
            n_distinct: 0,
            table,
            last: None,
            least: T::HIGHEST,
            greatest: T::LOWEST,
            n_in_page: 0,
            n_nans: 0,
            nan: None,
        }
    }

    fn widen(&mut self, values: &[T]) {
        let unsigned = self.order.is_unsigned();
        let (mut least, mut greatest) = (self.least, self.greatest);
        let mut n_nans = 0;
        for &value in values {
            let (low, high) = match value.is_nan() {
                true => (T::HIGHEST, T::LOWEST),
                false => (value.key(unsigned), value.key(unsigned)),
            };
            n_nans += u64::from(value.is_nan());
            least = least.min(low);
            greatest = greatest.max(high);
        }
        (self.least, self.greatest) = (least, greatest);
        self.n_in_page += values.len();
        self.n_nans += n_nans;
        if n_nans > 0 {
            self.nan = values.iter().copied().find(|value| value.is_nan());
        }
    }

    /// The code of a value that may be new.
    #[inline(always)]
    fn code(&mut self, value: T) -> u32 {
        let new = self.n_distinct as u32;
        match &mut self.table {
            Table::Direct(codes) => {
                let slot = &mut codes[usize::from(value.bits() as u16)];
                if *slot != EMPTY {
                    return *slot;
                }
                *slot = new;
            }
            Table::Hashed(slots) => {
                let mask = slots.len() - 1;
                let mut at = hash_u64(value.bits()) as usize & mask;
                loop {
                    let (held, code) = slots[at];
                    if code == EMPTY {
                        break;
                    }
                    if held.bits() == value.bits() {
                        return code;
                    }
                    at = (at + 1) & mask;
                }
                slots[at] = (value, new);
            }
        }
        self.add(value);
        new
    }

    #[cold]
    fn add(&mut self, value: T) {
        value.put(&mut self.dictionary);
        self.n_distinct += 1;
        let Table::Hashed(slots) = &mut self.table else { return };
        if 2 * self.n_distinct < slots.len() {
            return;
        }
        let more = vec![(T::default(), EMPTY); 4 * slots.len()];
        let mask = more.len() - 1;
        for (value, code) in std::mem::replace(slots, more).into_iter().filter(|slot| slot.1 != EMPTY) {
            let mut at = hash_u64(value.bits()) as usize & mask;
            while slots[at].1 != EMPTY {
                at = (at + 1) & mask;
            }
            slots[at] = (value, code);
        }
    }
}

impl<T: Number + Default> Kind for Numbers<T> {
    type Value<'a> = T;

    fn fitting(values: &[T], bytes: usize) -> usize {
        (bytes / size_of::<T>()).clamp(1, values.len().max(1))
    }

    fn codes(&mut self, values: &[T], codes: &mut Vec<u32>) {
        self.widen(values);
        codes.reserve(values.len());
        for &value in values {
            let code = match self.last {
                // Neighbours are often equal.
                Some((last, code)) if last.bits() == value.bits() => code,
                _ => self.code(value),
            };
            self.last = Some((value, code));
            codes.push(code);
        }
    }

    fn put(&mut self, values: &[T], bytes: &mut Vec<u8>, _: Option<&mut Vec<i64>>) {
        self.widen(values);
        bytes.reserve(size_of_val(values));
        values.iter().for_each(|value| value.put(bytes));
    }

    fn dictionary(&self) -> (&[u8], usize) {
        (&self.dictionary, self.n_distinct)
    }

    fn take_bounds(&mut self) -> Option<Bounds> {
        let unsigned = self.order.is_unsigned();
        let is_empty = std::mem::take(&mut self.n_in_page) == 0;
        let least = std::mem::replace(&mut self.least, T::HIGHEST);
        let greatest = std::mem::replace(&mut self.greatest, T::LOWEST);
        let nan = self.nan.take();
        if is_empty {
            return None;
        }
        if least <= greatest {
            return Some(Bounds {
                least: T::put_key(least, unsigned),
                greatest: T::put_key(greatest, unsigned),
            });
        }
        nan.map(|nan| {
            let mut bytes = Vec::new();
            nan.put(&mut bytes);
            Bounds { least: bytes.clone(), greatest: bytes }
        })
    }

    fn n_nans(&self) -> Option<u64> {
        T::CAN_BE_NAN.then_some(self.n_nans)
    }

    fn start_block(&mut self, _: usize) {}
}

//! Sets of integers, which are states of `groupBitmap`: up to 32 numbers in the order in which they came, or sorted, with
//! the kernel's bytes.
//!
//! - [`roaring`]: the bytes of many numbers
//! - [`combine`]: `groupBitmapAnd`, `groupBitmapOr`, `groupBitmapXor`

pub mod combine;
pub mod roaring;

use chalet_base::{Result, ensure};
use chalet_columns::wire::{put_len, take, take_len, take_u8};
use chalet_types::DataType;

/// The first byte of a state that no bitmap was added to, which is not the same as an empty one: only the former leaves what
/// it is intersected with as it is. The kernel has no such byte.
pub const NONE: u8 = 2;

/// More numbers are sorted.
pub const MAX_SMALL: usize = 32;

/// How numbers of a type are held: as 32 bits, or as 64 where the type has as many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes of a number of the type.
    pub width: usize,
    pub signed: bool,
}

impl Element {
    /// Of an integer of up to 64 bits.
    pub fn of(ty: &DataType) -> Option<Element> {
        let width = ty.physical().width().filter(|width| ty.is_integer() && *width <= 8)?;
        Some(Element { width, signed: ty.is_signed() })
    }

    pub fn is_wide(self) -> bool {
        self.width == 8
    }

    /// A number, its sign extended to 64 bits, as it is held.
    pub fn held(self, value: u64) -> u64 {
        if self.is_wide() { value } else { value & 0xffff_ffff }
    }

    /// The number that a held one stands for, its sign extended to 64 bits.
    pub fn value(self, held: u64) -> u64 {
        if self.signed && !self.is_wide() { i64::from(held as u32 as i32) as u64 } else { held }
    }

    /// The largest unsigned number of the width.
    pub fn max_unsigned(self) -> u64 {
        u64::MAX >> (64 - 8 * self.width)
    }

    /// A held number as an unsigned one of its own width: what it is compared as.
    pub fn unsigned(self, held: u64) -> u64 {
        held & self.max_unsigned()
    }

    /// How an unsigned number is held; none that is wider than the type.
    pub fn held_unsigned(self, value: u64) -> Option<u64> {
        let negative = self.signed && value > self.max_unsigned() / 2;
        let extended = if negative { value | !self.max_unsigned() } else { value };
        (value <= self.max_unsigned()).then(|| self.held(extended))
    }
}

/// Numbers as they are held.
#[derive(Clone, Debug)]
pub enum Bitmap {
    /// No more than [`MAX_SMALL`], in the order in which they came.
    Small(Vec<u64>),
    /// Ascending.
    Large(Vec<u64>),
}

impl Bitmap {
    pub fn new() -> Bitmap {
        Bitmap::Small(Vec::new())
    }

    /// The set of numbers in the order in which they come.
    pub fn of(values: impl IntoIterator<Item = u64>) -> Bitmap {
        let mut values = values.into_iter();
        let mut small = Vec::with_capacity(values.size_hint().0.min(MAX_SMALL + 1));
        for value in values.by_ref() {
            if small.contains(&value) {
                continue;
            }
            small.push(value);
            if small.len() > MAX_SMALL {
                small.extend(values);
                return Bitmap::large(small);
            }
        }
        Bitmap::Small(small)
    }

    /// The set of numbers, sorted whatever their number is.
    pub fn large(mut values: Vec<u64>) -> Bitmap {
        values.sort_unstable();
        values.dedup();
        Bitmap::Large(values)
    }

    pub fn values(&self) -> &[u64] {
        match self {
            Bitmap::Small(values) | Bitmap::Large(values) => values,
        }
    }

    pub fn into_values(self) -> Vec<u64> {
        match self {
            Bitmap::Small(values) | Bitmap::Large(values) => values,
        }
    }

    pub fn is_small(&self) -> bool {
        matches!(self, Bitmap::Small(_))
    }

    pub fn contains(&self, value: u64) -> bool {
        match self {
            Bitmap::Small(values) => values.contains(&value),
            Bitmap::Large(values) => values.binary_search(&value).is_ok(),
        }
    }

    /// The set of some numbers of another one, which are in its order.
    pub fn of_part(values: Vec<u64>) -> Bitmap {
        if values.len() > MAX_SMALL { Bitmap::Large(values) } else { Bitmap::Small(values) }
    }

    /// Ascending.
    pub fn sorted(&self) -> Vec<u64> {
        self.clone().into_sorted()
    }

    /// Ascending.
    pub fn into_sorted(self) -> Vec<u64> {
        match self {
            Bitmap::Small(mut values) => {
                values.sort_unstable();
                values
            }
            Bitmap::Large(values) => values,
        }
    }

    pub fn and(&self, other: &Bitmap) -> Bitmap {
        let (few, many) = if self.is_small() || !other.is_small() { (self, other) } else { (other, self) };
        let both = few.values().iter().copied().filter(|value| many.contains(*value)).collect();
        if few.is_small() { Bitmap::Small(both) } else { Bitmap::Large(both) }
    }

    pub fn or(&self, other: &Bitmap) -> Bitmap {
        let all = self.values().iter().chain(other.values()).copied();
        if self.is_small() && other.is_small() { Bitmap::of(all) } else { Bitmap::large(all.collect()) }
    }

    pub fn xor(&self, other: &Bitmap) -> Bitmap {
        let own = self.values().iter().filter(|value| !other.contains(**value));
        let others = other.values().iter().filter(|value| !self.contains(**value));
        Bitmap::large(own.chain(others).copied().collect())
    }

    pub fn and_not(&self, other: &Bitmap) -> Bitmap {
        let rest = self.values().iter().copied().filter(|value| !other.contains(*value)).collect();
        if self.is_small() { Bitmap::Small(rest) } else { Bitmap::Large(rest) }
    }

    pub fn put(&self, element: Element, out: &mut Vec<u8>) {
        match self {
            Bitmap::Small(values) => {
                out.extend([0, values.len() as u8]);
                values.iter().for_each(|value| out.extend(&value.to_le_bytes()[..element.width]));
            }
            Bitmap::Large(values) => put_large(values, element, out),
        }
    }

    pub fn take(element: Element, bytes: &mut &[u8]) -> Result<Bitmap> {
        let kind = take_u8(bytes)?;
        ensure!(kind <= NONE, INCORRECT_DATA, "Unknown kind of bitmap: {kind}");
        if kind == NONE {
            return Ok(Bitmap::new());
        }
        if kind == 0 {
            let n = usize::from(take_u8(bytes)?);
            let taken = take(bytes, n * element.width)?;
            let value = |bytes: &[u8]| {
                let negative = element.signed && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
                let mut wide = [if negative { 0xff } else { 0 }; 8];
                wide[..bytes.len()].copy_from_slice(bytes);
                element.held(u64::from_le_bytes(wide))
            };
            return Ok(Bitmap::of(taken.chunks_exact(element.width).map(value)));
        }
        let n = take_len(bytes)?;
        let mut rest = take(bytes, n)?;
        let mut values = Vec::new();
        if element.is_wide() {
            roaring::take_wide(&mut rest, &mut values)?;
        } else {
            roaring::take_narrow(&mut rest, 0, &mut values)?;
        }
        Ok(Bitmap::large(values))
    }
}

impl Default for Bitmap {
    fn default() -> Self {
        Bitmap::new()
    }
}

/// The bytes of numbers that ascend.
pub fn put_large(values: &[u64], element: Element, out: &mut Vec<u8>) {
    let mut blob = Vec::new();
    if element.is_wide() {
        roaring::put_wide(values, &mut blob);
    } else {
        roaring::put_narrow(values, &mut blob);
    }
    out.push(1);
    put_len(blob.len(), out);
    out.extend(blob);
}

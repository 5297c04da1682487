//! The rows of a block that are kept. Columns of numbers and strings of which many rows are kept move them by the bits, two to
//! eight values at once; all others by the numbers of the rows, which are found out once.

use crate::bits::{self, set_rows};
use crate::{Block, Buf, Column, Data, Native, Vector, each_native};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use std::cell::OnceCell;

/// A selection of rows, given by a bit for each.
pub struct RowMask<'a> {
    bits: &'a BooleanBuffer,
    len: usize,
    rows: OnceCell<Vec<u32>>,
}

/// Where no more than one row of so many is kept, most values are better never looked at.
#[cfg(target_arch = "x86_64")]
const SPARSE: usize = 20;

impl<'a> RowMask<'a> {
    /// Rows whose bit is set.
    pub fn new(bits: &'a BooleanBuffer) -> RowMask<'a> {
        RowMask { bits, len: bits.count_set_bits(), rows: OnceCell::new() }
    }

    /// How many rows are kept.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Is no row kept?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Are all rows kept?
    pub fn is_all(&self) -> bool {
        self.len == self.bits.len()
    }

    /// The numbers of the rows that are kept.
    pub fn rows(&self) -> &[u32] {
        self.rows.get_or_init(|| set_rows(self.bits))
    }

    /// The values of the rows that are kept.
    pub fn values<T: Native>(&self, values: &[T]) -> Buf<T> {
        #[cfg(target_arch = "x86_64")]
        if self.len * SPARSE > self.bits.len()
            && matches!(size_of::<T>(), 4 | 8 | 16)
            && chalet_base::simd_dispatch::has_avx2()
        {
            // SAFETY: the processor has these instructions.
            return Buf::from_vec(unsafe { compressed(values, self.bits, self.len) });
        }
        self.rows().iter().map(|&row| values[row as usize]).collect()
    }

    /// The rows that are kept of a vector.
    pub fn vector(&self, vector: &Vector) -> Vector {
        fn pick<T: Native>(mask: &RowMask, values: &Buf<T>) -> Data {
            T::wrap(mask.values(values))
        }
        let data = each_native!(&vector.data, values => pick(self, values),
            Data::Str(strings) => Data::Str(strings.with_views(self.values(strings.views()))),
            _ => return vector.gather(self.rows()));
        let nulls = vector.validity.as_ref().filter(|validity| validity.null_count() > 0);
        Vector::new(data, nulls.map(|validity| NullBuffer::new(bits::gather(validity.inner(), self.rows()))))
    }
}

impl Column {
    /// The rows that are kept. The mask is as long as the column.
    pub fn select(&self, mask: &RowMask) -> Column {
        if mask.is_all() {
            return self.clone();
        }
        match self {
            Column::Flat(vector) => Column::Flat(mask.vector(vector)),
            Column::Const { value, .. } => Column::Const { value: value.clone(), len: mask.len() },
            Column::Dict { codes, values } => {
                Column::Dict { codes: mask.values(codes), values: values.clone() }
            }
        }
    }
}

impl Block {
    /// The rows that are kept. The mask is as long as the block.
    pub fn select(&self, mask: &RowMask) -> Block {
        if mask.is_all() {
            return self.clone();
        }
        Block::new(self.columns().iter().map(|column| column.select(mask)).collect(), mask.len())
    }
}

/// By the bits of some lanes, the order of 32-bit pieces of 256 bits that moves the set lanes to the front.
#[cfg(target_arch = "x86_64")]
const fn orders<const N: usize>() -> [[u32; 8]; N] {
    // Lanes are as many as there are bits; each is made of as many pieces.
    let lanes = N.ilog2() as usize;
    let pieces = 8 / lanes;
    let mut orders = [[0; 8]; N];
    let mut bits = 0;
    while bits < N {
        let (mut lane, mut to) = (0, 0);
        while lane < lanes {
            let mut piece = 0;
            while bits >> lane & 1 == 1 && piece < pieces {
                orders[bits][to] = (lane * pieces + piece) as u32;
                to += 1;
                piece += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    orders
}

#[cfg(target_arch = "x86_64")]
static ORDERS_OF_2: [[u32; 8]; 4] = orders();
#[cfg(target_arch = "x86_64")]
static ORDERS_OF_4: [[u32; 8]; 16] = orders();
#[cfg(target_arch = "x86_64")]
static ORDERS_OF_8: [[u32; 8]; 256] = orders();

/// The values whose bit is set, `n` of them; of 4, 8 or 16 bytes each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn compressed<T: Native>(values: &[T], bits: &BooleanBuffer, n: usize) -> Vec<T> {
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_permutevar8x32_epi32, _mm256_storeu_si256};
    const { assert!(size_of::<T>() <= 32) };
    // So many fill a register, of which all is written whatever is in it.
    let lanes = 32 / size_of::<T>();
    let orders = match lanes {
        2 => &ORDERS_OF_2[..],
        4 => &ORDERS_OF_4[..],
        _ => &ORDERS_OF_8[..],
    };
    assert!(orders.len() == 1 << lanes && values.len() == bits.len());
    let mut out: Vec<T> = Vec::with_capacity(n + lanes);
    let mut len = 0;
    let (chunks, rest) = values.as_chunks::<64>();
    let mut words = bits.bit_chunks().iter_padded();
    for (chunk, mut word) in chunks.iter().zip(&mut words) {
        if word == 0 {
            continue;
        }
        for some in chunk.chunks_exact(lanes) {
            let set = word as usize & (orders.len() - 1);
            word >>= lanes;
            // SAFETY: loads are of `lanes` values and of an order; no more than `n` bits are set in all, so that `lanes` values
            // from `len` on are within what was allocated.
            unsafe {
                let lanes = _mm256_loadu_si256(some.as_ptr().cast::<__m256i>());
                let order = _mm256_loadu_si256(orders.get_unchecked(set).as_ptr().cast::<__m256i>());
                let ordered = _mm256_permutevar8x32_epi32(lanes, order);
                _mm256_storeu_si256(out.as_mut_ptr().add(len).cast::<__m256i>(), ordered);
            }
            len += set.count_ones() as usize;
        }
    }
    assert!(len <= n);
    // SAFETY: so many values were written.
    unsafe { out.set_len(len) };
    let last = words.next().unwrap_or(0);
    out.extend(rest.iter().enumerate().filter(|(bit, _)| last >> bit & 1 == 1).map(|(_, value)| value));
    assert_eq!(out.len(), n);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of every width, with bits that begin anywhere, come out as those whose bit is set.
    #[test]
    fn by_bits_and_by_rows() {
        fn check<T: Native>(value: impl Fn(u32) -> T) {
            let values: Vec<T> = (0..3000).map(value).collect();
            for one_of in [1, 2, 3, 7, 19, 21, 64, 4000] {
                let bits = BooleanBuffer::collect_bool(values.len(), |row| row * 7919 % 10_007 % one_of == 0);
                for (start, len) in [(0, 3000), (0, 0), (1, 63), (5, 64), (3, 65), (64, 128), (1001, 1999)] {
                    let (bits, values) = (bits.slice(start, len), &values[start..start + len]);
                    let expected: Vec<T> = bits.set_indices().map(|row| values[row]).collect();
                    let column = Column::Flat(Vector::new(T::wrap(values.to_vec().into()), None));
                    let selected = column.select(&RowMask::new(&bits));
                    let Column::Flat(vector) = &selected else { panic!("a flat column") };
                    assert_eq!(T::unwrap(&vector.data).map(|values| &values[..]), Some(&expected[..]));
                }
            }
        }
        check(|n| n as u8);
        check(|n| n as u16);
        check(|n| n);
        check(f64::from);
        check(|n| i64::from(n) << 33);
        check(|n| n as f32);
        check(|n| i128::from(n) << 70);
    }

    #[test]
    fn other_columns() {
        let bits = BooleanBuffer::collect_bool(100, |row| row % 2 == 1);
        let numbers = Vector::from((0..100u64).collect::<Vec<_>>());
        let codes: Buf<u32> = (0..100u32).rev().collect();
        let nullable = Vector::new(numbers.data.clone(), Some((0..100).map(|row| row % 3 > 0).collect()));
        let columns = vec![
            Column::Flat(nullable),
            Column::Dict { codes, values: numbers.clone() },
            Column::Const { value: numbers.slice(7, 1), len: 100 },
        ];
        let block = Block::new(columns, 100);
        let odd: Vec<u32> = (0..100).filter(|row| row % 2 == 1).collect();
        let (selected, gathered) = (block.select(&RowMask::new(&bits)), block.gather(&odd));
        assert_eq!(selected.n_rows(), 50);
        for (a, b) in selected.columns().iter().zip(gathered.columns()) {
            (0..50).for_each(|row| assert_eq!(a.value(row), b.value(row)));
        }
    }
}

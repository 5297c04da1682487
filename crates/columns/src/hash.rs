//! Row hashes for hash tables: equal rows hash equally whatever form their column has.

use crate::{Column, Data, Vector, each_native};
use chalet_base::hash::{combine, hash_bytes, hash_u64};
use chalet_types::{I256, U256, bf16};

/// The hash of NULL.
const NULL: u64 = 0x6e75_6c6c_0000_0001;

/// Fixed-width values as hash input.
trait HashWord: Copy {
    fn hash(self) -> u64;
}

macro_rules! small_words {
    ($($ty:ty),*) => {$(
        impl HashWord for $ty {
            #[inline(always)]
            fn hash(self) -> u64 {
                hash_u64(self as u64)
            }
        }
    )*};
}

small_words!(u8, u16, u32, u64, i8, i16, i32, i64);

impl HashWord for u128 {
    #[inline(always)]
    fn hash(self) -> u64 {
        combine(hash_u64(self as u64), (self >> 64) as u64)
    }
}

impl HashWord for i128 {
    #[inline(always)]
    fn hash(self) -> u64 {
        (self as u128).hash()
    }
}

impl HashWord for U256 {
    fn hash(self) -> u64 {
        combine(self.0[0].hash(), self.0[1].hash())
    }
}

impl HashWord for I256 {
    fn hash(self) -> u64 {
        self.as_u256().hash()
    }
}

impl HashWord for f64 {
    /// Zeros of both signs are equal, NaNs are one group.
    #[inline(always)]
    fn hash(self) -> u64 {
        let x = if self == 0.0 { 0.0 } else { self };
        hash_u64(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
    }
}

impl HashWord for f32 {
    #[inline(always)]
    fn hash(self) -> u64 {
        f64::from(self).hash()
    }
}

impl HashWord for bf16 {
    fn hash(self) -> u64 {
        f64::from(self).hash()
    }
}

impl Vector {
    /// The hash of every row.
    pub fn hashes(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = each_native!(&self.data, values => values.iter().map(|x| x.hash()).collect(),
        Data::Nothing(n) => vec![NULL; *n],
        Data::Str(s) => s.iter().map(hash_bytes).collect(),
        Data::Fixed(f) => f.iter().map(hash_bytes).collect(),
        Data::List(l) => {
            let elements = l.values.hashes();
            l.ranges().map(|r| {
                let len = r.len() as u64;
                elements[r].iter().fold(hash_u64(len), |hash, &element| combine(hash, element))
            }).collect()
        }
        Data::Struct(s) => {
            let mut hashes = vec![hash_u64(s.fields.len() as u64); s.len];
            s.fields.iter().for_each(|f| fold(&mut hashes, &f.hashes()));
            hashes
        });
        if let Some(validity) = &self.validity {
            hashes
                .iter_mut()
                .zip(validity.iter())
                .filter(|(_, valid)| !valid)
                .for_each(|(hash, _)| *hash = NULL);
        }
        hashes
    }
}

fn fold(hashes: &mut [u64], more: &[u64]) {
    hashes.iter_mut().zip(more).for_each(|(hash, &word)| *hash = combine(*hash, word));
}

impl Column {
    /// The hash of every row; a dictionary is hashed once per value.
    pub fn hashes(&self) -> Vec<u64> {
        match self {
            Column::Flat(vector) => vector.hashes(),
            Column::Const { value, len } => vec![value.hashes()[0]; *len],
            Column::Dict { codes, values } => {
                let hashes = values.hashes();
                codes.iter().map(|&code| hashes[code as usize]).collect()
            }
        }
    }
}

/// One hash per row over several columns.
pub fn row_hashes(columns: &[&Column], n_rows: usize) -> Vec<u64> {
    match columns {
        [] => vec![0; n_rows],
        [first, rest @ ..] => {
            let mut hashes = first.hashes();
            rest.iter().for_each(|column| fold(&mut hashes, &column.hashes()));
            hashes
        }
    }
}

//! `Vector`: a flat run of values of one type, with validity when the type is Nullable.

use crate::{Buf, Native, Strings};
use arrow_buffer::NullBuffer;
use chalet_base::{Result, err};
use chalet_types::{DataType, I256, Physical, U256, bf16};
use std::sync::Arc;

/// Values and their validity. The logical type travels beside it.
///
/// Invariant: without Nullable in the type there is no validity; with it there may be (none means all valid).
/// Under a NULL stands some value of the type, by habit the default.
#[derive(Clone, Debug)]
pub struct Vector {
    pub data: Data,
    pub validity: Option<NullBuffer>,
}

/// One variant per [`Physical`] representation.
#[derive(Clone, Debug)]
pub enum Data {
    /// Only a length.
    Nothing(usize),
    U8(Buf<u8>),
    U16(Buf<u16>),
    U32(Buf<u32>),
    U64(Buf<u64>),
    U128(Buf<u128>),
    U256(Buf<U256>),
    I8(Buf<i8>),
    I16(Buf<i16>),
    I32(Buf<i32>),
    I64(Buf<i64>),
    I128(Buf<i128>),
    I256(Buf<I256>),
    BF16(Buf<bf16>),
    F32(Buf<f32>),
    F64(Buf<f64>),
    Str(Strings),
    Fixed(Fixed),
    List(List),
    Struct(Struct),
}

/// Byte strings of one length.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Bytes per value, at least 1.
    pub width: usize,
    pub bytes: Buf<u8>,
}

impl Fixed {
    /// The number of values.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Are there no values?
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes of a value. Panics beyond the last.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.bytes[row * self.width..(row + 1) * self.width]
    }

    /// The bytes of all values, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        self.bytes.chunks_exact(self.width)
    }
}

/// Lists of elements; a Map is a list of key-value structs.
#[derive(Clone, Debug)]
pub struct List {
    /// One more than rows; row `i` holds the elements `offsets[i]..offsets[i + 1]`. Need not begin at 0.
    pub offsets: Buf<i64>,
    pub values: Arc<Vector>,
}

impl List {
    /// The number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Are there no lists?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a row, as a range of `values`.
    #[inline]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// Ranges of all rows.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + Clone + '_ {
        self.offsets.windows(2).map(|w| w[0] as usize..w[1] as usize)
    }

    /// The elements of all rows and nothing else, and offsets that begin at 0.
    pub fn normalised(&self) -> List {
        let (first, last) = (self.offsets[0], self.offsets[self.len()]);
        if first == 0 && last as usize == self.values.len() {
            return self.clone();
        }
        List {
            offsets: self.offsets.iter().map(|o| o - first).collect(),
            values: Arc::new(self.values.slice(first as usize, (last - first) as usize)),
        }
    }
}

/// Tuples: one vector per field.
#[derive(Clone, Debug)]
pub struct Struct {
    pub fields: Vec<Vector>,
    /// Rows; needed for the empty tuple.
    pub len: usize,
}

impl Vector {
    /// Values and where they are valid; a validity without NULLs is dropped. Both have the same length.
    pub fn new(data: Data, validity: Option<NullBuffer>) -> Self {
        debug_assert!(validity.as_ref().is_none_or(|v| v.len() == data.len()));
        Vector { data, validity: validity.filter(|v| v.null_count() > 0) }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is the value of a row NULL?
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| v.is_null(row))
    }

    /// The number of rows that are NULL.
    pub fn null_count(&self) -> usize {
        self.validity.as_ref().map_or(0, |v| v.null_count())
    }

    /// The same values without validity.
    pub fn without_nulls(&self) -> Vector {
        Vector { data: self.data.clone(), validity: None }
    }

    /// The same values, NULL where `validity` says so or where they were NULL.
    pub fn with_nulls(self, validity: Option<&NullBuffer>) -> Vector {
        let validity = NullBuffer::union(self.validity.as_ref(), validity);
        Vector::new(self.data, validity)
    }

    /// Are both the same rows in the same memory? `false` where it is not known; what is equal may be elsewhere.
    pub fn is_same(&self, other: &Vector) -> bool {
        fn same<T: Native>(values: &Buf<T>, other: &Data) -> bool {
            T::unwrap(other).is_some_and(|other| std::ptr::eq(&values[..], &other[..]))
        }
        let bits = |vector: &Vector| {
            vector.validity.as_ref().map(|nulls| {
                let bits = nulls.inner();
                (bits.inner().as_ptr(), bits.offset(), bits.len())
            })
        };
        let same_data = match (&self.data, &other.data) {
            (Data::Str(own), Data::Str(other)) => {
                let (buffers, others) = (own.buffers(), other.buffers());
                std::ptr::eq(&own.views()[..], &other.views()[..])
                    && buffers.len() == others.len()
                    && buffers.iter().zip(others.iter()).all(|(own, other)| own.as_ptr() == other.as_ptr())
            }
            (Data::Fixed(own), Data::Fixed(other)) => std::ptr::eq(&own.bytes[..], &other.bytes[..]),
            (own, other) => crate::each_native!(own, values => same(values, other), _ => false),
        };
        same_data && bits(self) == bits(other)
    }

    /// Values of a fixed-width representation.
    ///
    /// Errors when the representation is another one, which is a bug of the caller, not of the user.
    pub fn values<T: Native>(&self) -> Result<&[T]> {
        self.buf::<T>().map(|b| &b[..])
    }

    /// The shared buffer of a fixed-width representation. Fails as [`values`](Self::values) does.
    pub fn buf<T: Native>(&self) -> Result<&Buf<T>> {
        T::unwrap(&self.data).ok_or_else(|| self.mismatch(T::PHYSICAL))
    }

    /// The values of a String. Fails when the representation is another one, which is a bug of the caller.
    pub fn strings(&self) -> Result<&Strings> {
        match &self.data {
            Data::Str(strings) => Ok(strings),
            _ => Err(self.mismatch(Physical::Str)),
        }
    }

    /// The values of a FixedString and its like. Fails when the representation is another one, which is a bug of the
    /// caller.
    pub fn fixed(&self) -> Result<&Fixed> {
        match &self.data {
            Data::Fixed(fixed) => Ok(fixed),
            _ => Err(self.mismatch(Physical::Fixed(0))),
        }
    }

    /// The values of an Array or Map. Fails when the representation is another one, which is a bug of the caller.
    pub fn list(&self) -> Result<&List> {
        match &self.data {
            Data::List(list) => Ok(list),
            _ => Err(self.mismatch(Physical::List)),
        }
    }

    /// The values of a Tuple. Fails when the representation is another one, which is a bug of the caller.
    pub fn structure(&self) -> Result<&Struct> {
        match &self.data {
            Data::Struct(s) => Ok(s),
            _ => Err(self.mismatch(Physical::Struct)),
        }
    }

    #[cold]
    fn mismatch(&self, wanted: Physical) -> chalet_base::Error {
        err!(LOGICAL_ERROR, "Column is {:?} where {wanted:?} was expected", self.data.physical())
    }

    /// Bytes of memory that the values occupy; shared memory counts in full.
    pub fn memory(&self) -> usize {
        self.validity.as_ref().map_or(0, |v| v.len() / 8) + self.data.memory()
    }
}

impl Data {
    /// The number of values.
    pub fn len(&self) -> usize {
        crate::each_native!(self, values => values.len(),
            Data::Nothing(n) => *n,
            Data::Str(s) => s.len(),
            Data::Fixed(f) => f.len(),
            Data::List(l) => l.len(),
            Data::Struct(s) => s.len)
    }

    /// Are there no values?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The representation.
    pub fn physical(&self) -> Physical {
        fn of<T: Native>(_: &Buf<T>) -> Physical {
            T::PHYSICAL
        }
        crate::each_native!(self, values => of(values),
            Data::Nothing(_) => Physical::Nothing,
            Data::Str(_) => Physical::Str,
            Data::Fixed(f) => Physical::Fixed(f.width as u32),
            Data::List(_) => Physical::List,
            Data::Struct(_) => Physical::Struct)
    }

    /// Bytes of memory that the values occupy; shared memory counts in full.
    pub fn memory(&self) -> usize {
        crate::each_native!(self, values => values.memory(),
            Data::Nothing(_) => 0,
            Data::Str(s) => s.views().memory() + s.buffers().iter().map(|b| b.len()).sum::<usize>(),
            Data::Fixed(f) => f.bytes.memory(),
            Data::List(l) => l.offsets.memory() + l.values.memory(),
            Data::Struct(s) => s.fields.iter().map(Vector::memory).sum())
    }

    /// `n` default values of a type: zeros, empty strings, empty lists.
    pub fn defaults(ty: &DataType, n: usize) -> Data {
        fn zeros<T: Native>(n: usize) -> Data {
            T::wrap(Buf::from_vec(vec![T::default(); n]))
        }
        match ty.physical() {
            Physical::Nothing => Data::Nothing(n),
            Physical::U8 => zeros::<u8>(n),
            Physical::U16 => zeros::<u16>(n),
            Physical::U32 => zeros::<u32>(n),
            Physical::U64 => zeros::<u64>(n),
            Physical::U128 => zeros::<u128>(n),
            Physical::U256 => zeros::<U256>(n),
            // The default of an Enum is its first entry.
            Physical::I8 => match ty.bare() {
                DataType::Enum8(values) => i8::wrap(Buf::from_vec(vec![values.entries()[0].1 as i8; n])),
                _ => zeros::<i8>(n),
            },
            Physical::I16 => match ty.bare() {
                DataType::Enum16(values) => i16::wrap(Buf::from_vec(vec![values.entries()[0].1; n])),
                _ => zeros::<i16>(n),
            },
            Physical::I32 => zeros::<i32>(n),
            Physical::I64 => zeros::<i64>(n),
            Physical::I128 => zeros::<i128>(n),
            Physical::I256 => zeros::<I256>(n),
            Physical::BF16 => zeros::<bf16>(n),
            Physical::F32 => zeros::<f32>(n),
            Physical::F64 => zeros::<f64>(n),
            Physical::Str => match ty.bare() {
                DataType::Json(json) if !json.typed.is_empty() => {
                    let object = crate::json::default_object(json);
                    Data::Str((0..n).map(|_| &object).collect())
                }
                // The default of a state is that of a group without rows.
                DataType::AggregateFunction(states) => {
                    let empty = states.operations().empty();
                    Data::Str(std::iter::repeat_n(empty, n).collect())
                }
                _ => Data::Str(Strings::empties(n)),
            },
            Physical::Fixed(width) => {
                let width = width as usize;
                Data::Fixed(Fixed { width, bytes: Buf::from_vec(vec![0; n * width]) })
            }
            Physical::List => {
                let element = ty.bare().element().unwrap_or(DataType::Nothing);
                Data::List(List {
                    offsets: Buf::from_vec(vec![0; n + 1]),
                    values: Arc::new(Vector::defaults(&element, 0)),
                })
            }
            Physical::Struct => {
                let fields = match ty.bare() {
                    DataType::Tuple(fields) => fields.iter().map(|f| Vector::defaults(&f.ty, n)).collect(),
                    _ => Vec::new(),
                };
                Data::Struct(Struct { fields, len: n })
            }
        }
    }
}

/// 1900-01-01 in days since 1970-01-01.
const FIRST_DATE32: i32 = -25_567;

impl Vector {
    /// `n` defaults of a type: NULLs for Nullable.
    pub fn defaults(ty: &DataType, n: usize) -> Vector {
        let validity = ty.is_nullable().then(|| NullBuffer::new_null(n));
        Vector::new(Data::defaults(ty, n), validity)
    }

    /// What a column has where nothing was said of it: as the default, but a Date32 begins with its first day, 1900-01-01.
    pub fn unsaid(ty: &DataType, n: usize) -> Vector {
        match ty {
            DataType::Date32 => Vector::from(vec![FIRST_DATE32; n]),
            DataType::Tuple(fields) if n > 0 && !fields.is_empty() => {
                let fields = fields.iter().map(|field| Vector::unsaid(&field.ty, n)).collect();
                Vector::new(Data::Struct(Struct { fields, len: n }), None)
            }
            _ => Vector::defaults(ty, n),
        }
    }

    /// What fills a row that has no partner: as the default, but an Enum that names 0 has 0.
    pub fn fillers(ty: &DataType, n: usize) -> Vector {
        let (DataType::Enum8(names) | DataType::Enum16(names)) = ty else { return Vector::defaults(ty, n) };
        if names.name_of(0).is_none() {
            return Vector::defaults(ty, n);
        }
        let zeros = match ty.physical() {
            Physical::I8 => Data::I8(Buf::from_vec(vec![0; n])),
            _ => Data::I16(Buf::from_vec(vec![0; n])),
        };
        Vector::new(zeros, None)
    }
}

impl From<Data> for Vector {
    fn from(data: Data) -> Self {
        Vector { data, validity: None }
    }
}

impl From<Strings> for Vector {
    fn from(strings: Strings) -> Self {
        Data::Str(strings).into()
    }
}

impl<T: Native> From<Vec<T>> for Vector {
    fn from(values: Vec<T>) -> Self {
        T::wrap(Buf::from_vec(values)).into()
    }
}

/// Runs one expression for whichever fixed-width representation the data has; the other variants follow as match arms.
#[macro_export]
macro_rules! each_native {
    ($data:expr, $values:ident => $body:expr, $($rest:tt)*) => {
        match $data {
            $crate::Data::U8($values) => $body,
            $crate::Data::U16($values) => $body,
            $crate::Data::U32($values) => $body,
            $crate::Data::U64($values) => $body,
            $crate::Data::U128($values) => $body,
            $crate::Data::U256($values) => $body,
            $crate::Data::I8($values) => $body,
            $crate::Data::I16($values) => $body,
            $crate::Data::I32($values) => $body,
            $crate::Data::I64($values) => $body,
            $crate::Data::I128($values) => $body,
            $crate::Data::I256($values) => $body,
            $crate::Data::BF16($values) => $body,
            $crate::Data::F32($values) => $body,
            $crate::Data::F64($values) => $body,
            $($rest)*
        }
    };
}

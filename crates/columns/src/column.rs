//! `Column`: how a vector is held: as it is, as one value for all rows, or as codes into distinct values.

use crate::{Buf, Vector};
use std::borrow::Cow;

/// The values of one column of a block. The logical type travels beside it.
#[derive(Clone, Debug)]
pub enum Column {
    Flat(Vector),
    /// `value` has one row and stands for `len` rows.
    Const {
        value: Vector,
        len: usize,
    },
    /// Row `i` is `values[codes[i]]`. Values need not be distinct; NULL is a value of its own.
    Dict {
        codes: Buf<u32>,
        values: Vector,
    },
}

impl Column {
    /// A column of `len` rows that all hold the one row of `value`.
    pub fn constant(value: Vector, len: usize) -> Column {
        debug_assert_eq!(value.len(), 1);
        Column::Const { value, len }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Flat(vector) => vector.len(),
            Column::Const { len, .. } => *len,
            Column::Dict { codes, .. } => codes.len(),
        }
    }

    /// Has it no rows?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is it held as one value for all rows?
    pub fn is_const(&self) -> bool {
        matches!(self, Column::Const { .. })
    }

    /// The plain vector, made if needed.
    pub fn flat(&self) -> Cow<'_, Vector> {
        match self {
            Column::Flat(vector) => Cow::Borrowed(vector),
            Column::Const { value, len } => Cow::Owned(value.repeat(*len)),
            Column::Dict { codes, values } => Cow::Owned(values.gather(codes)),
        }
    }

    /// The plain vector, made if needed; as [`flat`](Self::flat), without a copy where it is plain.
    pub fn into_flat(self) -> Vector {
        match self {
            Column::Flat(vector) => vector,
            other => other.flat().into_owned(),
        }
    }

    /// The vector that holds the value of `row`, and the row in it.
    #[inline]
    pub fn locate(&self, row: usize) -> (&Vector, usize) {
        match self {
            Column::Flat(vector) => (vector, row),
            Column::Const { value, .. } => (value, 0),
            Column::Dict { codes, values } => (values, codes[row] as usize),
        }
    }

    /// Is the value of a row NULL?
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        let (vector, row) = self.locate(row);
        vector.is_null(row)
    }

    /// Bytes of memory that the column occupies; shared memory counts in full.
    pub fn memory(&self) -> usize {
        match self {
            Column::Flat(vector) => vector.memory(),
            Column::Const { value, .. } => value.memory(),
            Column::Dict { codes, values } => codes.memory() + values.memory(),
        }
    }
}

impl From<Vector> for Column {
    fn from(vector: Vector) -> Self {
        Column::Flat(vector)
    }
}

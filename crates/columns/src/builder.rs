//! `Builder`: appends values of a type chosen at run time. Readers and casts downcast it once per column.

use crate::{Buf, Data, Fixed, List, Native, StringBuilder, Struct, Vector};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use chalet_base::{Result, bail, err};
use chalet_types::{DataType, I256, Physical, U256, Value, bf16};
use std::sync::Arc;

/// Values being appended, with validity when the type is Nullable.
pub struct Builder {
    pub values: Values,
    validity: Option<NullBufferBuilder>,
    default: Value,
}

/// The growing form of [`Data`].
pub enum Values {
    Nothing(usize),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    U128(Vec<u128>),
    U256(Vec<U256>),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    I256(Vec<I256>),
    BF16(Vec<bf16>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Str(StringBuilder),
    Fixed { width: usize, bytes: Vec<u8> },
    List(ListBuilder),
    Struct { fields: Vec<Builder>, len: usize },
}

/// A list being appended: push elements into `values`, then `close` the row.
pub struct ListBuilder {
    pub offsets: Vec<i64>,
    pub values: Box<Builder>,
}

impl ListBuilder {
    /// Ends a row: the elements pushed since the last one ended are its elements.
    pub fn close(&mut self) {
        self.offsets.push(self.values.len() as i64);
    }
}

/// Runs one expression for whichever fixed-width representation the builder has.
macro_rules! each_values {
    ($values:expr, $v:ident => $body:expr, $($rest:tt)*) => {
        match $values {
            Values::U8($v) => $body,
            Values::U16($v) => $body,
            Values::U32($v) => $body,
            Values::U64($v) => $body,
            Values::U128($v) => $body,
            Values::U256($v) => $body,
            Values::I8($v) => $body,
            Values::I16($v) => $body,
            Values::I32($v) => $body,
            Values::I64($v) => $body,
            Values::I128($v) => $body,
            Values::I256($v) => $body,
            Values::BF16($v) => $body,
            Values::F32($v) => $body,
            Values::F64($v) => $body,
            $($rest)*
        }
    };
}

impl Builder {
    /// An empty builder of vectors of this type; LowCardinality is built decoded.
    pub fn new(ty: &DataType) -> Builder {
        let bare = ty.bare();
        let values = match bare.physical() {
            Physical::Nothing => Values::Nothing(0),
            Physical::U8 => Values::U8(Vec::new()),
            Physical::U16 => Values::U16(Vec::new()),
            Physical::U32 => Values::U32(Vec::new()),
            Physical::U64 => Values::U64(Vec::new()),
            Physical::U128 => Values::U128(Vec::new()),
            Physical::U256 => Values::U256(Vec::new()),
            Physical::I8 => Values::I8(Vec::new()),
            Physical::I16 => Values::I16(Vec::new()),
            Physical::I32 => Values::I32(Vec::new()),
            Physical::I64 => Values::I64(Vec::new()),
            Physical::I128 => Values::I128(Vec::new()),
            Physical::I256 => Values::I256(Vec::new()),
            Physical::BF16 => Values::BF16(Vec::new()),
            Physical::F32 => Values::F32(Vec::new()),
            Physical::F64 => Values::F64(Vec::new()),
            Physical::Str => Values::Str(StringBuilder::default()),
            Physical::Fixed(width) => Values::Fixed { width: width as usize, bytes: Vec::new() },
            Physical::List => {
                let element = bare.element().unwrap_or(DataType::Nothing);
                Values::List(ListBuilder { offsets: vec![0], values: Box::new(Builder::new(&element)) })
            }
            Physical::Struct => {
                let fields = match bare {
                    DataType::Tuple(fields) => fields.iter().map(|f| Builder::new(&f.ty)).collect(),
                    _ => Vec::new(),
                };
                Values::Struct { fields, len: 0 }
            }
        };
        let default = match bare {
            DataType::Enum8(names) | DataType::Enum16(names) => Value::Int(names.entries()[0].1.into()),
            DataType::Json(json) if !json.typed.is_empty() => {
                Value::Bytes(crate::json::default_object(json).into())
            }
            DataType::AggregateFunction(states) => Value::string(states.operations().empty()),
            _ => Value::Null,
        };
        Builder { values, validity: ty.is_nullable().then(|| NullBufferBuilder::new(0)), default }
    }

    /// The number of rows appended so far.
    pub fn len(&self) -> usize {
        each_values!(&self.values, v => v.len(),
            Values::Nothing(n) => *n,
            Values::Str(s) => s.len(),
            Values::Fixed { width, bytes } => bytes.len() / width,
            Values::List(l) => l.offsets.len() - 1,
            Values::Struct { len, .. } => *len)
    }

    /// Has nothing been appended?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Is the type Nullable, so that there is a validity bitmap?
    pub fn is_nullable(&self) -> bool {
        self.validity.is_some()
    }

    /// The vector of a fixed-width representation, to append to. For a Nullable type call
    /// [`mark_valid`](Self::mark_valid) after each append.
    pub fn natives<T: Native>(&mut self) -> Result<&mut Vec<T>> {
        let physical = self.physical();
        each_values!(&mut self.values, v => (v as &mut dyn std::any::Any).downcast_mut::<Vec<T>>(), _ => None)
            .ok_or_else(|| {
                err!(LOGICAL_ERROR, "Builder is {physical:?} where {:?} was expected", T::PHYSICAL)
            })
    }

    /// The representation of the values.
    pub fn physical(&self) -> Physical {
        fn of<T: Native>(_: &[T]) -> Physical {
            T::PHYSICAL
        }
        each_values!(&self.values, v => of(v),
            Values::Nothing(_) => Physical::Nothing,
            Values::Str(_) => Physical::Str,
            Values::Fixed { width, .. } => Physical::Fixed(*width as u32),
            Values::List(_) => Physical::List,
            Values::Struct { .. } => Physical::Struct)
    }

    /// Says that the value appended last is not NULL.
    #[inline]
    pub fn mark_valid(&mut self) {
        if let Some(validity) = &mut self.validity {
            validity.append_non_null();
        }
    }

    /// Appends NULL to a Nullable type, the default to others.
    pub fn push_default(&mut self) {
        let default = &self.default;
        each_values!(&mut self.values, v => v.push(if default.is_null() { Default::default() } else { native_of(default).unwrap_or_default() }),
        Values::Nothing(n) => *n += 1,
        Values::Str(s) => s.push(default.as_bytes().unwrap_or_default()),
        Values::Fixed { width, bytes } => bytes.resize(bytes.len() + *width, 0),
        Values::List(l) => l.close(),
        Values::Struct { fields, len } => {
            fields.iter_mut().for_each(Builder::push_default);
            *len += 1;
        });
        if let Some(validity) = &mut self.validity {
            validity.append_null();
        }
    }

    /// Appends a value that is already of the type's representation.
    pub fn push_value(&mut self, value: &Value) -> Result<()> {
        if value.is_null() {
            if self.validity.is_none() && !matches!(self.values, Values::Nothing(_)) {
                bail!(
                    CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
                    "Cannot insert NULL value into a column of non-Nullable type"
                );
            }
            self.push_default();
            return Ok(());
        }
        let mismatch = || err!(TYPE_MISMATCH, "Value {value:?} is not of the column's type");
        each_values!(&mut self.values, v => v.push(native_of(value).ok_or_else(mismatch)?),
        Values::Nothing(_) => return Err(mismatch()),
        Values::Str(s) => s.push(value.as_bytes().ok_or_else(mismatch)?),
        Values::Fixed { width, bytes } => {
            let given = value.as_bytes().filter(|b| b.len() <= *width).ok_or_else(mismatch)?;
            let end = bytes.len() + *width;
            bytes.extend_from_slice(given);
            bytes.resize(end, 0);
        }
        Values::List(l) => {
            match value {
                Value::Array(items) => items.iter().try_for_each(|item| l.values.push_value(item))?,
                Value::Map(pairs) => pairs.iter().try_for_each(|(key, item)| {
                    l.values.push_value(&Value::Tuple(vec![key.clone(), item.clone()]))
                })?,
                _ => return Err(mismatch()),
            }
            l.close();
        }
        Values::Struct { fields, len } => {
            let Value::Tuple(items) = value else { return Err(mismatch()) };
            if items.len() != fields.len() {
                return Err(mismatch());
            }
            fields.iter_mut().zip(items).try_for_each(|(field, item)| field.push_value(item))?;
            *len += 1;
        });
        self.mark_valid();
        Ok(())
    }

    /// Appends one row of a vector of the same type.
    pub fn push_from(&mut self, vector: &Vector, row: usize) {
        if vector.is_null(row) {
            return self.push_default();
        }
        fn copy<T: Native>(out: &mut Vec<T>, data: &Data, row: usize) {
            if let Some(values) = T::unwrap(data) {
                out.push(values[row]);
            }
        }
        each_values!(&mut self.values, v => copy(v, &vector.data, row),
        Values::Nothing(n) => *n += 1,
        Values::Str(s) => if let Data::Str(from) = &vector.data { s.push(from.get(row)) },
        Values::Fixed { bytes, .. } => {
            if let Data::Fixed(from) = &vector.data { bytes.extend_from_slice(from.get(row)) }
        }
        Values::List(l) => if let Data::List(from) = &vector.data {
            from.range(row).for_each(|e| l.values.push_from(&from.values, e));
            l.close();
        },
        Values::Struct { fields, len } => if let Data::Struct(from) = &vector.data {
            fields.iter_mut().zip(&from.fields).for_each(|(f, v)| f.push_from(v, row));
            *len += 1;
        });
        self.mark_valid();
    }

    /// Appends some rows of a vector of the same type.
    pub fn push_rows(&mut self, vector: &Vector, rows: &[u32]) {
        fn copy<T: Native>(out: &mut Vec<T>, data: &Data, rows: &[u32]) {
            if let Some(values) = T::unwrap(data) {
                out.extend(rows.iter().map(|&row| values[row as usize]));
            }
        }
        each_values!(&mut self.values, v => copy(v, &vector.data, rows),
            _ => return rows.iter().for_each(|&row| self.push_from(vector, row as usize)));
        if let Some(validity) = &mut self.validity {
            rows.iter().for_each(|&row| validity.append(!vector.is_null(row as usize)));
        }
    }

    /// Makes room for `n` more values of a fixed-width representation.
    pub fn reserve(&mut self, n: usize) {
        each_values!(&mut self.values, v => v.reserve_exact(n),
            Values::Fixed { width, bytes } => bytes.reserve_exact(n * *width),
            _ => {});
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        fn of<T>(values: &Vec<T>) -> usize {
            values.capacity() * size_of::<T>()
        }
        let values = each_values!(&self.values, v => of(v),
            Values::Nothing(_) => 0,
            Values::Str(s) => s.memory(),
            Values::Fixed { bytes, .. } => bytes.capacity(),
            Values::List(l) => of(&l.offsets) + l.values.memory(),
            Values::Struct { fields, .. } => fields.iter().map(Builder::memory).sum());
        values + self.validity.as_ref().map_or(0, |validity| validity.len() / 8)
    }

    /// Drops the values from `len` on: undoes a row that failed half-way.
    pub fn truncate(&mut self, len: usize) {
        each_values!(&mut self.values, v => v.truncate(len),
        Values::Nothing(n) => *n = len.min(*n),
        Values::Str(s) => s.truncate(len),
        Values::Fixed { width, bytes } => bytes.truncate(len * *width),
        Values::List(l) => {
            l.offsets.truncate(len + 1);
            let elements = l.offsets[l.offsets.len() - 1] as usize;
            l.values.truncate(elements);
        }
        Values::Struct { fields, len: n } => {
            fields.iter_mut().for_each(|f| f.truncate(len));
            *n = len.min(*n);
        });
        if let Some(validity) = &mut self.validity
            && validity.len() > len
        {
            validity.truncate(len);
        }
    }

    /// The vector of all rows.
    pub fn finish(self) -> Vector {
        fn wrap<T: Native>(values: Vec<T>) -> Data {
            T::wrap(Buf::from_vec(values))
        }
        let data = each_values!(self.values, v => wrap(v),
        Values::Nothing(n) => Data::Nothing(n),
        Values::Str(s) => Data::Str(s.finish()),
        Values::Fixed { width, bytes } => Data::Fixed(Fixed { width, bytes: bytes.into() }),
        Values::List(l) => {
            Data::List(List { offsets: l.offsets.into(), values: Arc::new(l.values.finish()) })
        }
        Values::Struct { fields, len } => {
            Data::Struct(Struct { fields: fields.into_iter().map(Builder::finish).collect(), len })
        });
        let validity: Option<NullBuffer> = self.validity.and_then(|mut v| v.finish());
        Vector::new(data, validity)
    }
}

/// The value as `T`, when it fits exactly (floats: nearest).
fn native_of<T: Native>(value: &Value) -> Option<T> {
    use std::any::Any;
    fn same<T: Native, U: Native>(x: U) -> Option<T> {
        (&x as &dyn Any).downcast_ref::<T>().copied()
    }
    match T::PHYSICAL {
        Physical::U8 => same(u8::try_from(value.as_u64()?).ok()?),
        Physical::U16 => same(u16::try_from(value.as_u64()?).ok()?),
        Physical::U32 => same(u32::try_from(value.as_u64()?).ok()?),
        Physical::U64 => same(value.as_u64()?),
        Physical::U128 => match value {
            Value::UInt256(x) => same(u128::try_from(*x).ok()?),
            _ => same(u128::try_from(value.as_i256()?).ok()?),
        },
        Physical::U256 => match value {
            Value::UInt256(x) => same(*x),
            _ => same(U256::try_from(value.as_i256()?).ok()?),
        },
        Physical::I8 => same(i8::try_from(value.as_i64()?).ok()?),
        Physical::I16 => same(i16::try_from(value.as_i64()?).ok()?),
        Physical::I32 => same(i32::try_from(value.as_i64()?).ok()?),
        Physical::I64 => same(value.as_i64()?),
        Physical::I128 => same(i128::try_from(value.as_i256()?).ok()?),
        Physical::I256 => same(value.as_i256()?),
        Physical::BF16 => same(bf16::from_f64(value.as_f64()?)),
        Physical::F32 => same(value.as_f64()? as f32),
        Physical::F64 => same(value.as_f64()?),
        _ => None,
    }
}

//! Single values in and out of vectors: for literals, constants and tests, not for loops.

use crate::{Builder, Column, Data, Vector};
use chalet_base::Result;
use chalet_types::{DataType, Value};

impl Vector {
    /// The value of one row.
    pub fn value(&self, row: usize) -> Value {
        if self.is_null(row) {
            return Value::Null;
        }
        match &self.data {
            Data::Nothing(_) => Value::Null,
            Data::U8(v) => Value::UInt(v[row].into()),
            Data::U16(v) => Value::UInt(v[row].into()),
            Data::U32(v) => Value::UInt(v[row].into()),
            Data::U64(v) => Value::UInt(v[row]),
            Data::U128(v) => Value::UInt128(v[row]),
            Data::U256(v) => Value::UInt256(v[row]),
            Data::I8(v) => Value::Int(v[row].into()),
            Data::I16(v) => Value::Int(v[row].into()),
            Data::I32(v) => Value::Int(v[row].into()),
            Data::I64(v) => Value::Int(v[row]),
            Data::I128(v) => Value::Int128(v[row]),
            Data::I256(v) => Value::Int256(v[row]),
            Data::BF16(v) => Value::Float(v[row].into()),
            Data::F32(v) => Value::Float(v[row].into()),
            Data::F64(v) => Value::Float(v[row]),
            Data::Str(s) => Value::Bytes(s.get(row).into()),
            Data::Fixed(f) => Value::Bytes(f.get(row).into()),
            Data::List(l) => Value::Array(l.range(row).map(|e| l.values.value(e)).collect()),
            Data::Struct(s) => Value::Tuple(s.fields.iter().map(|f| f.value(row)).collect()),
        }
    }

    /// A vector of one row. The value is of the type's representation (see [`Value`]).
    pub fn of_value(value: &Value, ty: &DataType) -> Result<Vector> {
        let mut builder = Builder::new(ty);
        builder.push_value(value)?;
        Ok(builder.finish())
    }
}

impl Column {
    /// The value of a row.
    pub fn value(&self, row: usize) -> Value {
        let (vector, row) = self.locate(row);
        vector.value(row)
    }

    /// A constant column.
    pub fn of_value(value: &Value, ty: &DataType, len: usize) -> Result<Column> {
        Ok(Column::Const { value: Vector::of_value(value, ty)?, len })
    }
}

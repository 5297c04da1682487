//! `emptyArrayUInt8` and its kin: empty arrays of a type.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction};
use chalet_types::DataType;

struct EmptyArray {
    record: Record,
    element: DataType,
}

macro_rules! empty_arrays {
    ($($name:literal $syntax:literal $sql:literal $element:expr;)*) => {
        static FUNCTIONS: &[EmptyArray] = &[$(EmptyArray {
            record: Record {
                name: $name,
                summary: "An empty array of the type in the name.",
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: "[]" }],
                total: true,
                ..Record::DEFAULT
            },
            element: $element,
        }),*];
    };
}

empty_arrays! {
    "emptyArrayUInt8" "emptyArrayUInt8()" "SELECT emptyArrayUInt8()" DataType::UInt8;
    "emptyArrayUInt16" "emptyArrayUInt16()" "SELECT emptyArrayUInt16()" DataType::UInt16;
    "emptyArrayUInt32" "emptyArrayUInt32()" "SELECT emptyArrayUInt32()" DataType::UInt32;
    "emptyArrayUInt64" "emptyArrayUInt64()" "SELECT emptyArrayUInt64()" DataType::UInt64;
    "emptyArrayInt8" "emptyArrayInt8()" "SELECT emptyArrayInt8()" DataType::Int8;
    "emptyArrayInt16" "emptyArrayInt16()" "SELECT emptyArrayInt16()" DataType::Int16;
    "emptyArrayInt32" "emptyArrayInt32()" "SELECT emptyArrayInt32()" DataType::Int32;
    "emptyArrayInt64" "emptyArrayInt64()" "SELECT emptyArrayInt64()" DataType::Int64;
    "emptyArrayFloat32" "emptyArrayFloat32()" "SELECT emptyArrayFloat32()" DataType::Float32;
    "emptyArrayFloat64" "emptyArrayFloat64()" "SELECT emptyArrayFloat64()" DataType::Float64;
    "emptyArrayDate" "emptyArrayDate()" "SELECT emptyArrayDate()" DataType::Date;
    "emptyArrayDateTime" "emptyArrayDateTime()" "SELECT emptyArrayDateTime()" DataType::DateTime(None);
    "emptyArrayString" "emptyArrayString()" "SELECT emptyArrayString()" DataType::String;
}

impl ScalarFunction for &'static EmptyArray {
    fn record(&self) -> &'static Record {
        let function: &'static EmptyArray = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 0..=0)?;
        Ok(self.element.clone().array().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(Column::constant(Vector::defaults(call.result, 1), call.n_rows))
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}

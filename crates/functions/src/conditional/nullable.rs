//! `assumeNotNull`, `toNullable`: the same values in a type without and with NULL.

use chalet_base::{Result, ensure};
use chalet_columns::{Buf, Column, Data, Native, NullBuffer, Vector, bits, each_native};
use chalet_function_api::call::scatter;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction, SeveralTypes,
};

const ASSUME_NOT_NULL: Record = Record {
    name: "assumeNotNull",
    several_types: SeveralTypes::Seen,
    summary: "The value in a type without NULL; in place of NULL stands some value of the type.",
    syntax: "assumeNotNull(x)",
    examples: &[Example { sql: "SELECT toTypeName(assumeNotNull(toNullable(5)))", result: "UInt8" }],
    nulls: Nulls::Seen,
    total: true,
    ..Record::DEFAULT
};

const TO_NULLABLE: Record = Record {
    name: "toNullable",
    several_types: SeveralTypes::Seen,
    summary: "The value in a Nullable type.",
    syntax: "toNullable(x)",
    examples: &[Example { sql: "SELECT toTypeName(toNullable(5))", result: "Nullable(UInt8)" }],
    nulls: Nulls::Seen,
    total: true,
    ..Record::DEFAULT
};

pub struct AssumeNotNull;
pub struct ToNullable;

/// Numbers that are 0 where they were NULL; none for values that are no numbers.
fn default_beneath_nulls(data: &Data, validity: &NullBuffer) -> Option<Data> {
    fn numbers<T: Native>(values: &Buf<T>, validity: &NullBuffer) -> Data {
        let is_valid = bits::to_bytes(validity.inner());
        let value = |(&value, valid): (&T, u8)| if valid != 0 { value } else { T::default() };
        T::wrap(values.iter().zip(is_valid).map(value).collect())
    }
    Some(each_native!(data, values => numbers(values, validity), _ => return None))
}

impl ScalarFunction for AssumeNotNull {
    fn record(&self) -> &'static Record {
        &ASSUME_NOT_NULL
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(ASSUME_NOT_NULL.name, args.len(), 1..=1)?;
        Ok(args[0].ty.without_nullable().clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let vector = call.vector(0);
        ensure!(
            !matches!(vector.data, Data::Nothing(n) if n > 0),
            ILLEGAL_COLUMN,
            "Cannot create non-empty column with type Nothing"
        );
        let validity = vector.validity.as_ref().filter(|_| !call.args[0].ty.is_of_several_types());
        let Some(validity) = validity else {
            return Ok(vector.clone().into());
        };
        // Beneath a NULL may stand anything: the default is what the kernel shows.
        if vector.null_count() == 0 {
            return Ok(vector.without_nulls().into());
        }
        // The default of an Enum is its first word, whatever number that has.
        if !call.result.is_enum()
            && let Some(data) = default_beneath_nulls(&vector.data, validity)
        {
            return Ok(Vector::new(data, None).into());
        }
        let rows: Vec<u32> = validity.valid_indices().map(|row| row as u32).collect();
        Ok(scatter(&vector.without_nulls().gather(&rows), validity.inner(), call.result).into())
    }
}

impl ScalarFunction for ToNullable {
    fn record(&self) -> &'static Record {
        &TO_NULLABLE
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(TO_NULLABLE.name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(
            (ty.is_nullable() && !ty.is_of_several_types()) || ty.can_be_nullable(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Nested type {ty} cannot be inside Nullable type"
        );
        Ok(ty.clone().nullable().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let vector = call.vector(0);
        if let Data::Nothing(n) = vector.data {
            return Ok(Vector::new(Data::Nothing(n), Some(NullBuffer::new_null(n))).into());
        }
        Ok(vector.clone().into())
    }
}

//! `isNull`, `isNotNull`, `isNullable`, `isZeroOrNull`: questions about NULL.

use chalet_base::{Result, ensure};
use chalet_columns::bits;
use chalet_columns::{Column, Data, Native, Vector, each_native};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, ScalarFunction, SeveralTypes,
};
use chalet_types::DataType;

const IS_NULL: Record = Record {
    name: "isNull",
    several_types: SeveralTypes::Seen,
    case_insensitive: true,
    summary: "1 for NULL, else 0.",
    syntax: "x IS NULL",
    examples: &[Example { sql: "SELECT NULL IS NULL, 1 IS NULL", result: "1\t0" }],
    nulls: Nulls::Seen,
    dictionaries: Dictionaries::Decoded,
    total: true,
    ..Record::DEFAULT
};

const IS_NOT_NULL: Record = Record {
    name: "isNotNull",
    case_insensitive: false,
    summary: "0 for NULL, else 1.",
    syntax: "x IS NOT NULL",
    examples: &[Example { sql: "SELECT NULL IS NOT NULL, 1 IS NOT NULL", result: "0\t1" }],
    ..IS_NULL
};

const IS_NULLABLE: Record = Record {
    name: "isNullable",
    case_insensitive: false,
    summary: "1 when the type of the argument is Nullable.",
    syntax: "isNullable(x)",
    examples: &[Example { sql: "SELECT isNullable(1), isNullable(toNullable(1))", result: "0\t1" }],
    ..IS_NULL
};

const IS_ZERO_OR_NULL: Record = Record {
    name: "isZeroOrNull",
    case_insensitive: false,
    summary: "1 for zero and for NULL, else 0.",
    syntax: "isZeroOrNull(x)",
    examples: &[Example {
        sql: "SELECT isZeroOrNull(0), isZeroOrNull(NULL), isZeroOrNull(5)",
        result: "1\t1\t0",
    }],
    ..IS_NULL
};

pub struct Question {
    record: &'static Record,
    answer: fn(&Vector, &DataType) -> Result<Vec<u8>>,
}

pub const IS_NULL_FUNCTION: Question = Question { record: &IS_NULL, answer: |v, _| Ok(nulls(v, 1)) };
pub const IS_NOT_NULL_FUNCTION: Question = Question { record: &IS_NOT_NULL, answer: |v, _| Ok(nulls(v, 0)) };
pub const IS_NULLABLE_FUNCTION: Question =
    Question { record: &IS_NULLABLE, answer: |v, ty| Ok(vec![u8::from(ty.is_nullable()); v.len()]) };
pub const IS_ZERO_OR_NULL_FUNCTION: Question = Question { record: &IS_ZERO_OR_NULL, answer: zero_or_null };

fn nulls(vector: &Vector, null: u8) -> Vec<u8> {
    if let Data::Nothing(n) = vector.data {
        return vec![null; n];
    }
    match &vector.validity {
        None => vec![null ^ 1; vector.len()],
        Some(validity) if null == 0 => bits::to_bytes(validity.inner()),
        Some(validity) => bits::to_bytes(&!validity.inner()),
    }
}

fn zero_or_null(vector: &Vector, _: &DataType) -> Result<Vec<u8>> {
    fn zeros<T: Native>(values: &[T]) -> Vec<u8> {
        values.iter().map(|x| u8::from(*x == T::default())).collect()
    }
    let zero = each_native!(&vector.data, values => zeros(values), _ => vec![1; vector.len()]);
    let null = nulls(vector, 1);
    Ok(zero.iter().zip(&null).map(|(zero, null)| zero | null).collect())
}

impl ScalarFunction for Question {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 1..=1)?;
        if self.record.name == IS_ZERO_OR_NULL.name {
            let ty = args[0].ty.bare();
            ensure!(
                ty.is_number() || *ty == DataType::Nothing,
                BAD_ARGUMENTS,
                "The argument of function isZeroOrNull must have simple numeric type, possibly Nullable or Null"
            );
            ensure!(!ty.is_decimal(), ILLEGAL_COLUMN, "Function isZeroOrNull does not take a {ty}");
        }
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(Vector::from((self.answer)(call.vector(0), call.args[0].ty)?).into())
    }
}

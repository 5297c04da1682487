//! `negate`: the operator `-` of one argument.

use super::operation::{as_number, is_address};
use crate::lanes::{Operand, unary};
use crate::number::Integer;
use crate::with_integer;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::{DataType, Physical, promotion};

const RECORD: Record = Record {
    name: "negate",
    summary: "The number with the other sign; unsigned integers become signed. Also of intervals, and of tuples by element.",
    syntax: "-x",
    examples: &[Example { sql: "SELECT -toUInt8(10), -(1, -2)", result: "-10\t(-1,2)" }],
    total: true,
    ..Record::DEFAULT
};

pub struct Negate;

/// The type of `-x`, none when there is none.
pub fn negated(ty: &DataType) -> Option<DataType> {
    match ty {
        DataType::Interval(_) | DataType::Decimal { .. } => Some(ty.clone()),
        DataType::Tuple(fields) => {
            let types = fields.iter().map(|f| {
                let inner = negated(f.ty.without_nullable())?;
                Some(if f.ty.is_nullable() { inner.nullable() } else { inner })
            });
            Some(DataType::tuple(types.collect::<Option<Vec<_>>>()?))
        }
        DataType::Nothing => Some(DataType::Nothing),
        DataType::IPv6 => None,
        _ => promotion::negation(
            Some(as_number(ty)).filter(|number| number.is_number() && !is_address(ty))?.as_ref(),
        ),
    }
}

impl ScalarFunction for Negate {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        match negated(ty) {
            Some(result) => Ok(result.into()),
            None => {
                bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {}", RECORD.name)
            }
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(negate(call.vector(0), call.result, call.n_rows)?.into())
    }
}

/// The negated values; `result` is what [`negated`] said.
pub fn negate(vector: &Vector, result: &DataType, n: usize) -> Result<Vector> {
    if let (Data::Struct(tuple), DataType::Tuple(fields)) = (&vector.data, result) {
        let fields = tuple.fields.iter().zip(fields.iter()).map(|(v, f)| negate(v, &f.ty, n));
        let data = Data::Struct(Struct { fields: fields.collect::<Result<_>>()?, len: n });
        return Ok(Vector::new(data, vector.validity.clone()));
    }
    let operand = Operand { ty: result, vector, constant: false };
    let values = with_integer!(result.physical(), C => Vector::from(unary::<C, C>(operand, n, C::neg)?),
    _ => match result.physical() {
        Physical::F32 => unary::<f32, f32>(operand, n, |x| -x)?.into(),
        Physical::F64 => unary::<f64, f64>(operand, n, |x| -x)?.into(),
        _ => vector.without_nulls(),
    });
    Ok(Vector { data: values.data, validity: vector.validity.clone() })
}

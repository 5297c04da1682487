//! What the `OrZero` and `OrDefault` functions put in the place of NULL.

use crate::select::{Branch, select};
use chalet_base::Result;
use chalet_columns::{Buf, Column, Native, NullBuffer, Vector, each_native};
use chalet_function_api::Call;
use chalet_types::DataType;

/// The zero of a type: for Date32 that is 1900-01-01.
fn zero(ty: &DataType) -> Vector {
    const FIRST_OF_1900: i32 = -25_567;
    match ty {
        DataType::Date32 => vec![FIRST_OF_1900].into(),
        other => Vector::defaults(other, 1),
    }
}

/// The values, and zeros where they are NULL.
pub fn zeros(converted: Vector, ty: &DataType) -> Result<Column> {
    where_null(converted, Branch { vector: &zero(ty), constant: true })
}

/// The converted values, and where they are NULL the argument at `index`, or the zero of the type without it.
pub fn filled(converted: Vector, call: &Call, index: usize) -> Result<Column> {
    match call.args.get(index) {
        Some(arg) => where_null(converted, Branch { vector: &arg.vector, constant: arg.constant }),
        None => zeros(converted, call.result),
    }
}

fn where_null(converted: Vector, other: Branch) -> Result<Column> {
    let Some(validity) = &converted.validity else {
        return Ok(converted.into());
    };
    if other.constant {
        let filled =
            each_native!(&converted.data, values => numbers(values, validity, other.vector), _ => None);
        if let Some(filled) = filled {
            return Ok(filled.into());
        }
    }
    let choice: Vec<u8> = validity.iter().map(|valid| u8::from(!valid)).collect();
    let values = converted.without_nulls();
    Ok(select(&[Branch { vector: &values, constant: false }, other], &choice)?.into())
}

/// Numbers, and one other where they are NULL, unless that is NULL too.
fn numbers<T: Native>(values: &Buf<T>, validity: &NullBuffer, other: &Vector) -> Option<Vector> {
    let default = *T::unwrap(&other.data).filter(|_| other.validity.is_none())?.first()?;
    let filled = values.iter().zip(validity.iter()).map(|(&x, valid)| if valid { x } else { default });
    Some(T::wrap(filled.collect()).into())
}

//! What the `OrZero` and `OrDefault` functions put in the place of NULL.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
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
    let Some(validity) = converted.validity.clone() else {
        return Ok(converted.into());
    };
    let n = converted.len() as u32;
    let joined = Vector::concat(&[&converted.without_nulls(), &zero(ty)]);
    let rows: Vec<u32> = (0..n).map(|row| if validity.is_valid(row as usize) { row } else { n }).collect();
    Ok(joined.gather(&rows).into())
}

/// The converted values, and where they are NULL the argument at `index`, or the zero of the type without it.
pub fn filled(converted: Vector, call: &Call, index: usize) -> Result<Column> {
    let Some(arg) = call.args.get(index) else {
        return zeros(converted, call.result);
    };
    let Some(validity) = converted.validity.clone() else {
        return Ok(converted.into());
    };
    let values = converted.without_nulls();
    let n = values.len() as u32;
    let joined = Vector::concat(&[&values, &arg.vector]);
    let rows: Vec<u32> = (0..n)
        .map(|row| match validity.is_valid(row as usize) {
            true => row,
            false if arg.constant => n,
            false => n + row,
        })
        .collect();
    Ok(joined.gather(&rows).into())
}

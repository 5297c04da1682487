//! What the `OrDefault` functions put in the place of NULL.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::Call;

/// The converted values, and where they are NULL the argument at `index`, or the default of the type without it.
pub fn filled(converted: Vector, call: &Call, index: usize) -> Result<Column> {
    let Some(validity) = converted.validity.clone() else {
        return Ok(converted.into());
    };
    let values = converted.without_nulls();
    let n = values.len() as u32;
    let default = match call.args.get(index) {
        Some(arg) => arg.vector.clone().into_owned(),
        None => Vector::defaults(call.result, 1),
    };
    let per_row = default.len() == call.n_rows && call.args.get(index).is_some_and(|arg| !arg.constant);
    let joined = Vector::concat(&[&values, &default]);
    let rows: Vec<u32> = (0..n)
        .map(|row| match validity.is_valid(row as usize) {
            true => row,
            false if per_row => n + row,
            false => n,
        })
        .collect();
    Ok(joined.gather(&rows).into())
}

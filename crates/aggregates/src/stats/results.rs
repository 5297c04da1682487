//! Tuples of named floats, as tests of hypotheses give them.

use chalet_base::{Result, bail};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_types::{DataType, TupleField};

/// A tuple of Float64 fields of these names.
pub fn named_floats(names: &[&str]) -> DataType {
    let field = |name: &&str| TupleField { name: Some((*name).into()), ty: DataType::Float64 };
    DataType::Tuple(names.iter().map(field).collect())
}

/// Appends a tuple of floats; what is beyond the fields of the builder is left out.
pub fn push_floats(results: &[f64], out: &mut Builder) -> Result<()> {
    let Values::Struct { fields, len } = &mut out.values else {
        bail!(LOGICAL_ERROR, "The result is not a tuple of floats");
    };
    for (field, result) in fields.iter_mut().zip(results) {
        field.natives::<f64>()?.push(*result);
    }
    *len += 1;
    Ok(())
}

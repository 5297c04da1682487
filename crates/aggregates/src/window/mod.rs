//! Functions that exist only over windows.
//!
//! - [`ranks`], for `row_number`, `rank`, `dense_rank`, `percent_rank`, `cume_dist`, `ntile`
//! - [`neighbours`], for `lag`, `lead`, `lagInFrame`, `leadInFrame`
//! - [`nth_value`], for `nth_value`
//! - [`derivative`], for `nonNegativeDerivative`
//! - [`time_decayed`], for `exponentialTimeDecayedSum` and its kin

pub mod derivative;
pub mod neighbours;
pub mod nth_value;
pub mod ranks;
pub mod time_decayed;

use chalet_base::{Result, bail};
use chalet_columns::{Builder, Data, Vector};
use chalet_function_api::Registry;
use chalet_types::DataType;

pub fn register(registry: &mut Registry) {
    ranks::Rank::ALL.into_iter().for_each(|f| registry.add_window(f));
    neighbours::Neighbour::ALL.into_iter().for_each(|f| registry.add_window(f));
    registry.add_window(nth_value::NthValue);
    registry.add_window(derivative::NonNegativeDerivative);
    time_decayed::TimeDecayed::ALL.iter().for_each(|f| registry.add_window(*f));
}

/// The offset in a row of an argument of integers.
fn offset(name: &str, least: i64, vector: &Vector, row: usize) -> Result<usize> {
    let given = match &vector.data {
        Data::U64(v) => i64::try_from(v[row]).unwrap_or(-1),
        Data::I64(v) => v[row],
        _ => vector.value(row).as_i64().unwrap_or(-1),
    };
    if given < least {
        bail!(
            BAD_ARGUMENTS,
            "The offset for function {name} must be in ({least}, {}], {given} given",
            i64::MAX
        );
    }
    Ok(given as usize)
}

/// Values with the default of the type behind them, and where it is.
fn with_default(values: &Vector, ty: &DataType) -> (Vector, u32) {
    let mut default = Builder::new(ty);
    default.push_default();
    (Vector::concat(&[values, &default.finish()]), values.len() as u32)
}

//! Conversions between types: CAST, the `toType` family, parsing and formatting of moments and addresses.

pub mod cast;
mod cast_function;
mod or_default;

use cast_function::{CastFunction, OrDefault};
use chalet_function_api::Registry;

pub use cast::cast_column;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(CastFunction::CAST);
    registry.add_scalar(CastFunction::INTERNAL);
    registry.add_scalar(CastFunction::ACCURATE);
    registry.add_scalar(CastFunction::OR_NULL);
    registry.add_scalar(OrDefault);
}

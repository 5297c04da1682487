//! Values whose type is known in their rows only: Variant, Dynamic and JSON.
//!
//! - [`subcolumn`]: parts of columns by name
//! - [`elements`]: the values of one type
//! - [`types`]: the types of values
//! - [`paths`]: the paths of JSON objects
//! - `all_values`: their values as text

mod all_values;
mod elements;
mod paths;
pub mod subcolumn;
mod types;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&all_values::FUNCTION);
    registry.add_scalar(&elements::VARIANT_ELEMENT);
    registry.add_scalar(&elements::DYNAMIC_ELEMENT);
    registry.add_scalar(&types::VARIANT_TYPE);
    registry.add_scalar(&types::DYNAMIC_TYPE);
    registry.add_scalar(&types::IS_IN_SHARED_DATA);
    registry.add_scalar(&subcolumn::FUNCTION);
    paths::Paths::ALL.into_iter().for_each(|function| registry.add_scalar(function));
}

//! Functions of maps that take no lambda.

mod construct;

pub use construct::check_key;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&construct::FUNCTION);
}

//! Functions of maps that take no lambda.

mod construct;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&construct::FUNCTION);
}

//! Functions of arrays that take no lambda.

mod construct;
mod element;
mod emptiness;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&construct::FUNCTION);
    registry.add_scalar(&element::FUNCTION);
    registry.add_scalar(&element::OR_NULL);
    registry.add_scalar(&emptiness::EMPTY);
    registry.add_scalar(&emptiness::NOT_EMPTY);
}

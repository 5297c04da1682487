//! Functions of tuples. Their arithmetic is with the arithmetic of numbers.

mod construct;
mod element;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&construct::FUNCTION);
    registry.add_scalar(&element::FUNCTION);
}

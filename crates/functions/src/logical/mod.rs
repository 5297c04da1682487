//! Logic.

pub mod and;
mod not;
mod xor;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(and::AND_FUNCTION);
    registry.add_scalar(and::OR_FUNCTION);
    registry.add_scalar(not::Not);
    registry.add_scalar(xor::Xor);
}

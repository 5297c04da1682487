//! Bits of numbers and strings.

mod count;
mod integers;
mod not;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(count::Count);
    registry.add_scalar(count::Hamming);
    registry.add_scalar(count::TEST_ALL_FUNCTION);
    registry.add_scalar(count::TEST_ANY_FUNCTION);
    registry.add_scalar(count::TEST_FUNCTION);
    integers::register(registry);
    registry.add_scalar(not::ByteSwap);
    registry.add_scalar(not::Not);
}

//! Random values.

mod bytes;
mod distributions;
pub(crate) mod generator;
mod numbers;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(bytes::FIXED_FUNCTION);
    registry.add_scalar(bytes::FUZZ_FUNCTION);
    registry.add_scalar(bytes::PRINTABLE_FUNCTION);
    registry.add_scalar(bytes::STRING_FUNCTION);
    registry.add_scalar(bytes::UTF8_FUNCTION);
    registry.add_scalar(bytes::UUID4_FUNCTION);
    registry.add_scalar(bytes::UUID7_FUNCTION);
    numbers::register(registry);
}

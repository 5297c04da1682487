//! Functions of tuples. Their arithmetic is with the arithmetic of numbers.

mod concat;
mod construct;
mod element;
mod flatten;
mod hamming;
mod names;

use chalet_function_api::Registry;
pub use concat::FUNCTION as CONCAT;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&concat::FUNCTION);
    registry.add_scalar(&construct::FUNCTION);
    registry.add_scalar(&element::FUNCTION);
    registry.add_scalar(&flatten::FUNCTION);
    registry.add_scalar(&hamming::FUNCTION);
    registry.add_scalar(&names::NAMES);
    registry.add_scalar(&names::PAIRS);
}

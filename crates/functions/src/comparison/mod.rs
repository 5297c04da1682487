//! Comparisons.

mod bytes;
mod compare;
mod distinct;
pub mod equals;
mod greater;
mod greater_or_equals;
mod less;
mod less_or_equals;
mod not_equals;
mod numbers;
mod order;
mod plan;

use chalet_function_api::Registry;
pub use order::Order;
pub use plan::{Plan, Planner, Side};

pub fn register(registry: &mut Registry) {
    registry.add_scalar(distinct::FROM);
    registry.add_scalar(distinct::NOT_FROM);
    registry.add_scalar(equals::FUNCTION);
    registry.add_scalar(greater::FUNCTION);
    registry.add_scalar(greater_or_equals::FUNCTION);
    registry.add_scalar(less::FUNCTION);
    registry.add_scalar(less_or_equals::FUNCTION);
    registry.add_scalar(not_equals::FUNCTION);
}

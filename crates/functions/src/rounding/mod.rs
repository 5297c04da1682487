//! Rounding.

mod ceil;
mod floor;
mod kernel;
mod round;
mod round_bankers;
mod steps;
mod trunc;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(ceil::FUNCTION);
    registry.add_scalar(floor::FUNCTION);
    registry.add_scalar(round::FUNCTION);
    registry.add_scalar(round_bankers::FUNCTION);
    registry.add_scalar(steps::AGE_FUNCTION);
    registry.add_scalar(steps::DURATION_FUNCTION);
    registry.add_scalar(steps::Down);
    registry.add_scalar(steps::ToExp2);
    registry.add_scalar(trunc::FUNCTION);
}

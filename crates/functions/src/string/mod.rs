//! Functions of strings.

mod length;
mod reverse;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(length::Length);
    registry.add_scalar(reverse::Reverse);
}

//! URLs: their parts, their parameters, percent encoding.

mod host;
pub mod lists;
mod parameter;
mod parts;
mod percent;
mod port;
mod significant;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    lists::register(registry);
    parameter::register(registry);
    parts::register(registry);
    percent::register(registry);
    port::register(registry);
    significant::register(registry);
}

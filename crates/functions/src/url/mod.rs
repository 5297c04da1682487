//! URLs: their parts, their parameters, percent encoding.

mod host;
mod lists;
mod parameter;
mod parts;
mod percent;
mod port;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    lists::register(registry);
    parameter::register(registry);
    parts::register(registry);
    percent::register(registry);
    port::register(registry);
}

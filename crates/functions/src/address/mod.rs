//! Addresses of the Internet protocols.

mod ip;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    ip::register(registry);
}

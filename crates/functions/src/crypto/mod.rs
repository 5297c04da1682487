//! Encryption with AES, and message authentication codes.

mod cipher;
mod encrypt;
mod hmac;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    encrypt::register(registry);
    registry.add_scalar(&hmac::FUNCTION);
}

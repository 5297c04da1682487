//! Bytes as text and back: hexadecimal, base64 and others.

mod base32;
mod base58;
mod base64;
mod bitmask;
mod char;
mod codec;
mod conv;
mod convert_charset;
pub(crate) mod digits;
mod hex;
mod html;
mod xml;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    base32::register(registry);
    base58::register(registry);
    base64::register(registry);
    registry.add_scalar(&bitmask::LIST);
    registry.add_scalar(&bitmask::ARRAY);
    registry.add_scalar(&bitmask::POSITIONS);
    registry.add_scalar(&char::FUNCTION);
    registry.add_scalar(&conv::FUNCTION);
    registry.add_scalar(&convert_charset::FUNCTION);
    registry.add_scalar(&hex::HEX);
    registry.add_scalar(&hex::BIN);
    registry.add_scalar(&html::DECODE);
    registry.add_scalar(&digits::UNHEX);
    registry.add_scalar(&digits::UNBIN);
    registry.add_scalar(&xml::ENCODE);
    registry.add_scalar(&xml::DECODE);
}

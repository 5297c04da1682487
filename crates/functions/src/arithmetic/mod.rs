//! Arithmetic.

mod abs;
mod binary;
mod decimal_scale;
mod decimals;
mod divide;
mod dot_product;
mod gcd;
mod int_div;
mod minus;
mod modulo;
mod multiply;
mod negate;
mod numbers;
mod operation;
mod plus;
pub mod shifted_sum;
mod sqr;
mod states;
mod timestamps;
mod tuple_functions;
mod vectors;

use chalet_function_api::Registry;
pub use operation::{as_number, as_numbers, convert as convert_numbers, is_address};

pub fn register(registry: &mut Registry) {
    registry.add_scalar(abs::Abs);
    registry.add_scalar(&decimal_scale::DIVIDE);
    registry.add_scalar(&decimal_scale::MULTIPLY);
    registry.add_scalar(divide::FUNCTION);
    registry.add_scalar(divide::OR_NULL);
    registry.add_scalar(&dot_product::ANY);
    registry.add_scalar(&dot_product::ARRAYS);
    registry.add_scalar(gcd::FUNCTION);
    registry.add_scalar(gcd::LCM);
    registry.add_scalar(int_div::FUNCTION);
    registry.add_scalar(int_div::OR_NULL);
    registry.add_scalar(int_div::OR_ZERO);
    registry.add_scalar(minus::FUNCTION);
    registry.add_scalar(modulo::FUNCTION);
    registry.add_scalar(modulo::LEGACY);
    registry.add_scalar(modulo::OR_NULL);
    registry.add_scalar(modulo::OR_ZERO);
    registry.add_scalar(modulo::POSITIVE);
    registry.add_scalar(modulo::POSITIVE_OR_NULL);
    registry.add_scalar(multiply::FUNCTION);
    registry.add_scalar(negate::Negate);
    registry.add_scalar(plus::FUNCTION);
    registry.add_scalar(&sqr::FUNCTION);
    tuple_functions::register(registry);
}

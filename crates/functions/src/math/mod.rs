//! Mathematics.

mod colors;
mod constants;
mod distance;
mod exponential;
mod financial;
pub mod float_function;
mod gamma;
mod integers;
mod is_nan;
mod normal;
mod power;
mod sample_size;
mod trigonometric;
mod width_bucket;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    colors::register(registry);
    registry.add_scalar(constants::E_FUNCTION);
    registry.add_scalar(constants::PI_FUNCTION);
    distance::register(registry);
    registry.add_scalar(&exponential::CBRT);
    registry.add_scalar(&exponential::EXP);
    registry.add_scalar(&exponential::EXP10);
    registry.add_scalar(&exponential::EXP2);
    registry.add_scalar(&exponential::LOG);
    registry.add_scalar(&exponential::LOG10);
    registry.add_scalar(&exponential::LOG1P);
    registry.add_scalar(&exponential::LOG2);
    registry.add_scalar(&exponential::SIGMOID);
    registry.add_scalar(&exponential::SQRT);
    financial::register(registry);
    registry.add_scalar(&gamma::ERF);
    registry.add_scalar(&gamma::ERFC);
    registry.add_scalar(&gamma::LGAMMA);
    registry.add_scalar(&gamma::TGAMMA);
    registry.add_scalar(integers::FACTORIAL_FUNCTION);
    registry.add_scalar(integers::INT_EXP10_FUNCTION);
    registry.add_scalar(integers::INT_EXP2_FUNCTION);
    registry.add_scalar(integers::SIGN_FUNCTION);
    registry.add_scalar(is_nan::IS_FINITE_FUNCTION);
    registry.add_scalar(is_nan::IS_INFINITE_FUNCTION);
    registry.add_scalar(is_nan::IS_NAN_FUNCTION);
    registry.add_scalar(is_nan::IfNotFinite);
    registry.add_scalar(&power::ATAN2);
    registry.add_scalar(&power::HYPOT);
    registry.add_scalar(&power::MAX2);
    registry.add_scalar(&power::MIN2);
    registry.add_scalar(&power::POW);
    sample_size::register(registry);
    registry.add_scalar(&trigonometric::ACOS);
    registry.add_scalar(&trigonometric::ACOSH);
    registry.add_scalar(&trigonometric::ASIN);
    registry.add_scalar(&trigonometric::ASINH);
    registry.add_scalar(&trigonometric::ATAN);
    registry.add_scalar(&trigonometric::ATANH);
    registry.add_scalar(&trigonometric::COS);
    registry.add_scalar(&trigonometric::COSH);
    registry.add_scalar(&trigonometric::DEGREES);
    registry.add_scalar(&trigonometric::RADIANS);
    registry.add_scalar(&trigonometric::SIN);
    registry.add_scalar(&trigonometric::SINH);
    registry.add_scalar(&trigonometric::TAN);
    registry.add_scalar(&trigonometric::TANH);
    registry.add_scalar(width_bucket::WidthBucket);
}

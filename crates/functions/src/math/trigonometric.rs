//! Trigonometric and hyperbolic functions.

use super::sine;
use crate::float_functions;
use crate::math::float_function::{FloatFunction, Loop, record};
use chalet_function_api::Example;

pub static SIN: FloatFunction = FloatFunction {
    record: record(
        "sin",
        true,
        "The sine of an angle in radians.",
        "sin(x)",
        &[Example { sql: "SELECT sin(0)", result: "0" }],
    ),
    run: Loop::One(sine::sin),
};

pub static COS: FloatFunction = FloatFunction {
    record: record(
        "cos",
        true,
        "The cosine of an angle in radians.",
        "cos(x)",
        &[Example { sql: "SELECT cos(0)", result: "1" }],
    ),
    run: Loop::One(sine::cos),
};

pub static TAN: FloatFunction = FloatFunction {
    record: record(
        "tan",
        true,
        "The tangent of an angle in radians.",
        "tan(x)",
        &[Example { sql: "SELECT tan(0)", result: "0" }],
    ),
    run: Loop::One(sine::tan),
};

float_functions! {
    ASIN: "asin", true, "The angle whose sine is x.", "SELECT asin(0)" => "0", libm::asin;
    ACOS: "acos", true, "The angle whose cosine is x.", "SELECT acos(1)" => "0", libm::acos;
    ATAN: "atan", true, "The angle whose tangent is x.", "SELECT atan(0)" => "0", libm::atan;
    SINH: "sinh", false, "The hyperbolic sine.", "SELECT sinh(0)" => "0", f64::sinh;
    COSH: "cosh", false, "The hyperbolic cosine.", "SELECT cosh(0)" => "1", f64::cosh;
    TANH: "tanh", true, "The hyperbolic tangent.", "SELECT tanh(0)" => "0", |x| 2.0 / (1.0 + (-2.0 * x).exp()) - 1.0;
    ASINH: "asinh", false, "The inverse of the hyperbolic sine.", "SELECT asinh(0)" => "0", libm::asinh;
    ACOSH: "acosh", false, "The inverse of the hyperbolic cosine.", "SELECT acosh(1)" => "0", libm::acosh;
    ATANH: "atanh", false, "The inverse of the hyperbolic tangent.", "SELECT atanh(0)" => "0", libm::atanh;
    DEGREES: "degrees", true, "An angle in radians as degrees.", "SELECT degrees(pi())" => "180", |x| x * (180.0 / std::f64::consts::PI);
    RADIANS: "radians", true, "An angle in degrees as radians.", "SELECT radians(180) = pi()" => "1", |x| x * (std::f64::consts::PI / 180.0);
}

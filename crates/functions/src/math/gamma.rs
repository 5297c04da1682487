//! The error function and the gamma function.

use crate::float_functions;

/// Not a number where the gamma function has its poles, but for 0.
fn lgamma(x: f64) -> f64 {
    if x < 0.0 && x.trunc() == x { f64::NAN } else { libm::lgamma(x) }
}

float_functions! {
    ERF: "erf", false, "The error function.", "SELECT erf(0)" => "0", libm::erf;
    ERFC: "erfc", false, "1 - erf(x), exact for large x.", "SELECT erfc(0)" => "1", libm::erfc;
    LGAMMA: "lgamma", false, "The logarithm of the absolute value of the gamma function.", "SELECT lgamma(3) = log(2)" => "1", lgamma;
    TGAMMA: "tgamma", false, "The gamma function.", "SELECT tgamma(5)" => "24", |x| if x == 0.0 { f64::INFINITY } else { libm::tgamma(x) };
}

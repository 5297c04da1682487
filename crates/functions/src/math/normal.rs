//! The standard normal distribution.

use std::f64::consts::{PI, SQRT_2};

/// The chance that a normally distributed number is below z.
pub fn below(z: f64) -> f64 {
    libm::erfc(-z / SQRT_2) / 2.0
}

/// The number below which a normally distributed one is by the given chance: `below` inverted. The rational approximation of
/// Abramowitz and Stegun (26.2.23) and Halley's method, which gains three times the digits with each step.
pub fn quantile(chance: f64) -> f64 {
    if !(0.0..=1.0).contains(&chance) {
        return f64::NAN;
    }
    if chance == 0.0 || chance == 1.0 {
        return if chance == 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    if chance > 0.5 {
        return -quantile(1.0 - chance);
    }
    let t = (-2.0 * chance.ln()).sqrt();
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut z = numerator / denominator - t;
    for _ in 0..3 {
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        if density == 0.0 {
            break;
        }
        let error = (below(z) - chance) / density;
        z -= error / (1.0 + z * error / 2.0);
    }
    z
}

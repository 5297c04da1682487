//! Random numbers of the gamma, Poisson and binomial distributions, each in a time that does not grow with the parameters.

use super::generator::Generator;

/// The least mean for which the transformed rejection of Hoermann (1993) is exact; below it counting up takes as many steps as
/// the result says.
const LEAST_MEAN_OF_REJECTION: f64 = 10.0;

/// From this mean on the logarithm of the density has no digits left to decide by, and a relative error of the normal distribution
/// of 1e-6 is nothing.
const LEAST_MEAN_OF_NORMAL: f64 = 1e12;

impl Generator {
    /// Of the gamma distribution with scale 1, by Marsaglia and Tsang.
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            let boost = self.positive_unit().powf(1.0 / shape);
            return self.gamma(shape + 1.0) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.positive_unit().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// Of the Poisson distribution; the greatest number where the mean is greater.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        if !mean.is_finite() {
            return u64::MAX;
        }
        if mean >= LEAST_MEAN_OF_NORMAL {
            return (mean + mean.sqrt() * self.normal()).round() as u64;
        }
        if mean >= LEAST_MEAN_OF_REJECTION {
            return self.poisson_by_rejection(mean);
        }
        let bound = (-mean).exp();
        let mut count = 0;
        let mut product = self.positive_unit();
        while product > bound {
            count += 1;
            product *= self.positive_unit();
        }
        count
    }

    /// Hoermann's PTRS.
    fn poisson_by_rejection(&mut self, mean: f64) -> u64 {
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let squeeze = 0.9277 - 3.6224 / (b - 2.0);
        let log_mean = mean.ln();
        loop {
            let (u, v) = (self.unit() - 0.5, self.positive_unit());
            let distance = 0.5 - u.abs();
            let k = ((2.0 * a / distance + b) * u + mean + 0.43).floor();
            if distance >= 0.07 && v <= squeeze {
                return k as u64;
            }
            if k < 0.0 || distance < 0.013 && v > distance {
                continue;
            }
            let density = k * log_mean - mean - libm::lgamma(k + 1.0);
            if (v * inverse_alpha / (a / (distance * distance) + b)).ln() <= density {
                return k as u64;
            }
        }
    }

    /// The successes of so many trials of a probability.
    pub fn binomial(&mut self, trials: u64, probability: f64) -> u64 {
        if probability > 0.5 {
            return trials - self.binomial(trials, 1.0 - probability);
        }
        if trials as f64 * probability >= LEAST_MEAN_OF_REJECTION {
            return self.binomial_by_rejection(trials, probability);
        }
        // From success to success: the failures between two have the geometric distribution.
        let log_failure = (-probability).ln_1p();
        let (mut place, mut count) = (0.0, 0);
        loop {
            place += (self.positive_unit().ln() / log_failure).floor() + 1.0;
            // Not a number when no trial succeeds.
            if place.is_nan() || place > trials as f64 {
                return count;
            }
            count += 1;
        }
    }

    /// Hoermann's BTRS, for probabilities up to a half.
    fn binomial_by_rejection(&mut self, trials: u64, probability: f64) -> u64 {
        let n = trials as f64;
        let deviation = (n * probability * (1.0 - probability)).sqrt();
        let b = 1.15 + 2.53 * deviation;
        let a = -0.0873 + 0.0248 * b + 0.01 * probability;
        let center = n * probability + 0.5;
        let squeeze = 0.92 - 4.2 / b;
        let alpha = (2.83 + 5.1 / b) * deviation;
        let log_odds = (probability / (1.0 - probability)).ln();
        let mode = ((n + 1.0) * probability).floor();
        let at_mode = libm::lgamma(mode + 1.0) + libm::lgamma(n - mode + 1.0);
        loop {
            let (u, v) = (self.unit() - 0.5, self.positive_unit());
            let distance = 0.5 - u.abs();
            let k = ((2.0 * a / distance + b) * u + center).floor();
            if k < 0.0 || k > n {
                continue;
            }
            if distance >= 0.07 && v <= squeeze {
                return k as u64;
            }
            let density = at_mode - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0) + (k - mode) * log_odds;
            if (v * alpha / (a / (distance * distance) + b)).ln() <= density {
                return k as u64;
            }
        }
    }
}

//! Distribution functions that tests of hypotheses need, by series and continued fractions.

/// ln of the gamma function of a positive number (Lanczos, g = 7).
fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = TERMS
        .iter()
        .enumerate()
        .fold(0.999_999_999_999_809_9, |sum, (i, term)| sum + term / (x + i as f64 + 1.0));
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularised incomplete beta function.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    // The fraction converges fast on one side only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    const TINY: f64 = 1e-300;
    let guard = |x: f64| if x.abs() < TINY { TINY } else { x };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..1000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / guard(1.0 + term * d);
            c = guard(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front * fraction
}

/// The chance that Student's t of that many degrees of freedom is outside of -t..t.
pub fn student_outside(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The t with which `student_outside` is the given chance.
pub fn student_bound(chance: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while student_outside(high, freedom) > chance && high < 1e15 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if student_outside(middle, freedom) > chance { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The chance that Fisher's F of these degrees of freedom is above `f`.
pub fn fisher_above(f: f64, freedom: f64, freedom_within: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    // The complement of the distribution function, without its loss of digits.
    incomplete_beta(freedom_within / 2.0, freedom / 2.0, freedom_within / (freedom_within + freedom * f))
}

/// The z above which a normally distributed number is with the given chance.
pub fn normal_bound(chance: f64) -> f64 {
    if chance > 0.5 {
        return -normal_bound(1.0 - chance);
    }
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if normal_above(middle) > chance { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The chance that a normally distributed number is above z.
pub fn normal_above(z: f64) -> f64 {
    if z < 0.0 {
        return 1.0 - normal_above(-z);
    }
    let x = z * z / 2.0;
    let front = (-x + 0.5 * x.ln() - ln_gamma(0.5)).exp();
    if z == 0.0 {
        return 0.5;
    }
    if x < 1.5 {
        // The series of the lower incomplete gamma function of 1/2.
        let (mut term, mut sum, mut n) = (2.0, 2.0, 0.5);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (1.0 - front * sum) / 2.0;
    }
    let mut b = x + 0.5;
    let mut c = 1e300;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for i in 1..1000 {
        let i = f64::from(i);
        let term = -i * (i - 0.5);
        b += 2.0;
        d = 1.0 / (term * d + b);
        c = b + term / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front * fraction / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(normal_above(1.959_963_984_540_054), 0.025);
        close(normal_bound(0.025), 1.959_963_984_540_054);
        close(normal_bound(0.975), -1.959_963_984_540_054);
        close(fisher_above(4.0, 2.0, 5.0), 0.091_741_667_595_568_37);
        close(normal_above(0.5), 0.308_537_538_725_986_9);
        close(student_outside(2.776_445_105_197_793, 4.0), 0.05);
        close(student_bound(0.05, 4.0), 2.776_445_105_197_793);
    }
}

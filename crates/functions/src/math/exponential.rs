//! Powers of fixed bases and logarithms.

use crate::float_functions;
use crate::math::float_function::{FloatFunction, Loop, record};
use chalet_function_api::{Example, Record};
use std::sync::LazyLock;

float_functions! {
    SQRT: "sqrt", true, "The square root.", "SELECT sqrt(16)" => "4", f64::sqrt;
    CBRT: "cbrt", false, "The cube root.", "SELECT cbrt(27)" => "3", libm::cbrt;
    EXP: "exp", true, "e to the power of x.", "SELECT round(exp(1), 6)" => "2.718282", f64::exp;
    EXP2: "exp2", false, "2 to the power of x.", "SELECT exp2(3)" => "8", f64::exp2;
    EXP10: "exp10", false, "10 to the power of x.", "SELECT exp10(3)" => "1000", exp10;
    LOG2: "log2", true, "The logarithm to base 2.", "SELECT log2(8)" => "3", f64::log2;
    LOG10: "log10", true, "The logarithm to base 10.", "SELECT log10(100)" => "2", libm::log10;
    LOG1P: "log1p", false, "The natural logarithm of 1 + x, exact for small x.", "SELECT log1p(0)" => "0", libm::log1p;
    SIGMOID: "sigmoid", false, "1 / (1 + exp(-x)).", "SELECT sigmoid(0)" => "0.5", |x| 1.0 / (1.0 + (-x).exp());
}

/// `10^x` as the power of its whole part, which is exact to the last bit, times that of its fraction: as in the kernel.
fn exp10(x: f64) -> f64 {
    const LEAST: i32 = -323;
    const GREATEST: i32 = 308;
    static POWERS: LazyLock<Vec<f64>> =
        LazyLock::new(|| (LEAST..=GREATEST).map(|x| format!("1e{x}").parse().unwrap_or(f64::NAN)).collect());
    if x >= f64::from(GREATEST + 1) {
        return f64::INFINITY;
    }
    if x <= f64::from(LEAST - 1) {
        return 0.0;
    }
    let whole = x.trunc();
    let power = POWERS[(whole as i32 - LEAST) as usize];
    if whole == x { power } else { ((x - whole) * std::f64::consts::LOG2_10).exp2() * power }
}

/// With an alias that the macro has no place for.
pub static LOG: FloatFunction = FloatFunction {
    record: Record {
        any_case_aliases: &["ln"],
        ..record(
            "log",
            true,
            "The natural logarithm.",
            "log(x)",
            &[Example { sql: "SELECT log(1), ln(1)", result: "0\t0" }],
        )
    },
    run: Loop::One(|x, n| crate::lanes::unary::<f64, f64>(x, n, f64::ln)),
};

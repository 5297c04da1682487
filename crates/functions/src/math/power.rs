//! Functions of two floats: `pow`, `atan2`, `hypot`, `max2`, `min2`.

use super::float_function::{FloatFunction, Loop, record, two};
use chalet_function_api::{Example, Record};

pub static POW: FloatFunction = FloatFunction {
    record: Record {
        any_case_aliases: &["power"],
        ..record(
            "pow",
            true,
            "x to the power of y.",
            "pow(x, y)",
            &[Example { sql: "SELECT pow(2, 10), pow(9, 0.5)", result: "1024\t3" }],
        )
    },
    run: Loop::Two(|a, b, n| two(a, b, n, f64::powf)),
};

pub static ATAN2: FloatFunction = FloatFunction {
    record: record(
        "atan2",
        true,
        "The angle between the x axis and the point (x, y), in radians.",
        "atan2(y, x)",
        &[Example { sql: "SELECT atan2(0, 1)", result: "0" }],
    ),
    run: Loop::Two(|a, b, n| two(a, b, n, libm::atan2)),
};

pub static HYPOT: FloatFunction = FloatFunction {
    record: record(
        "hypot",
        true,
        "The length of the hypotenuse of a right triangle.",
        "hypot(x, y)",
        &[Example { sql: "SELECT hypot(3, 4)", result: "5" }],
    ),
    run: Loop::Two(|a, b, n| two(a, b, n, f64::hypot)),
};

pub static MAX2: FloatFunction = FloatFunction {
    record: record(
        "max2",
        true,
        "The greater of two numbers, as Float64.",
        "max2(x, y)",
        &[Example { sql: "SELECT max2(-1, 2)", result: "2" }],
    ),
    run: Loop::Two(|a, b, n| two(a, b, n, |x, y| if x > y { x } else { y })),
};

pub static MIN2: FloatFunction = FloatFunction {
    record: record(
        "min2",
        true,
        "The lesser of two numbers, as Float64.",
        "min2(x, y)",
        &[Example { sql: "SELECT min2(-1, 2)", result: "-1" }],
    ),
    run: Loop::Two(|a, b, n| two(a, b, n, |x, y| if x < y { x } else { y })),
};

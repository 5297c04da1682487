//! `pointInEllipses`: is a point inside of any of several ellipses?

use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "pointInEllipses",
        summary: "Is a point inside of any of the ellipses of the given centres and half axes?",
        syntax: "pointInEllipses(x, y, x0, y0, a0, b0, ...)",
        examples: &[Example { sql: "SELECT pointInEllipses(10., 10., 10., 9.1, 1., 0.9999)", result: "1" }],
        constants: Constants::Seen,
        null_before_arity: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// Centre and half axes.
struct Ellipses(Vec<[f64; 4]>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        args.len() >= 6 && args.len() % 4 == 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Incorrect number of arguments of function {name}. Must be 2 for your point plus 4 * N for ellipses (x_i, y_i, a_i, b_i)"
    );
    for (index, arg) in args.iter().enumerate() {
        ensure!(
            arg.ty == DataType::Float64,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {} of function {name}. Must be Float64",
            arg.ty,
            index + 1
        );
    }
    let mut numbers = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate().skip(2) {
        match arg.constant.as_ref().and_then(|constant| constant.as_f64()) {
            Some(number) => numbers.push(number),
            None => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument {} of function {name}. Must be const Float64",
                arg.ty,
                index + 1
            ),
        }
    }
    ensure!(
        args[0].constant.is_some() == args[1].constant.is_some(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal types of arguments 1, 2 of function {name}. Both must be either const or vector"
    );
    let ellipses = numbers.chunks_exact(4).map(|of| [of[0], of[1], of[2], of[3]]);
    Ok(Bound::with_state(DataType::UInt8, Ellipses(ellipses.collect())))
}

fn execute(call: &Call) -> Result<Column> {
    let Ellipses(ellipses) = call.state()?;
    let (x, y) = (call.natives::<f64>(0)?, call.natives::<f64>(1)?);
    let inside = |row: usize| {
        ellipses.iter().any(|[x0, y0, a, b]| {
            let (x, y) = (x.get(row) - x0, y.get(row) - y0);
            x * x / (a * a) + y * y / (b * b) <= 1.0
        })
    };
    let covered: Vec<u8> = (0..call.n_rows).map(|row| u8::from(inside(row))).collect();
    Ok(Vector::from(covered).into())
}

//! `bar`: a bar chart out of block characters.

use crate::lanes::{Operand, unary};
use crate::math::float_function::floats;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::DataType;

const RECORD: Record = Record {
    name: "bar",
    summary: "A bar whose length is in proportion to x - min, and `width` characters (80 unless told) for max.",
    syntax: "bar(x, min, max[, width])",
    examples: &[Example { sql: "SELECT bar(3.5, 0, 10, 10)", result: "███▌" }],
    ..Record::DEFAULT
};

pub struct Bar;

/// Nothing to seven eighths of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

impl ScalarFunction for Bar {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 3..=4)?;
        for (index, arg) in args.iter().enumerate() {
            ensure!(
                arg.ty.is_number(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument {} of function bar",
                arg.ty,
                index + 1
            );
        }
        if let Some(width) = args.get(3) {
            ensure!(
                width.constant.is_some(),
                ILLEGAL_COLUMN,
                "Argument at index 3 for function bar must be constant"
            );
        }
        Ok(DataType::String.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let n = call.n_rows;
        let numbers = |index: usize| -> Result<Vec<f64>> {
            let operand = Operand::of(call, index);
            let vector = floats(operand, n)?;
            unary::<f64, f64>(Operand { vector: &vector, ..operand }, n, |x| x)
        };
        let (x, min, max) = (numbers(0)?, numbers(1)?, numbers(2)?);
        let width = if call.args.len() > 3 { numbers(3)? } else { vec![80.0; n] };
        let mut out = StringBuilder::with_capacity(n);
        for row in 0..n {
            let width = width[row];
            ensure!(!width.is_nan(), ILLEGAL_TYPE_OF_ARGUMENT, "Argument 'max_width' must not be NaN");
            ensure!(width >= 1.0, ARGUMENT_OUT_OF_BOUND, "Argument 'max_width' must be >= 1");
            ensure!(width <= 1000.0, ARGUMENT_OUT_OF_BOUND, "Argument 'max_width' must be <= 1000");
            ensure!(
                max[row] - min[row] != f64::INFINITY || !(x[row] > min[row] && x[row] < max[row]),
                BAD_ARGUMENTS,
                "Value of width must not be NaN and Inf"
            );
            let length = match () {
                _ if x[row] <= min[row] || x[row].is_nan() => 0.0,
                _ if x[row] >= max[row] => width,
                _ => (x[row] - min[row]) / (max[row] - min[row]) * width,
            };
            // In eighths of a character.
            let eighths = (length * 8.0) as usize;
            out.push_with(|bytes| {
                (0..eighths / 8).for_each(|_| bytes.extend_from_slice("█".as_bytes()));
                bytes.extend_from_slice(EIGHTHS[eighths % 8].as_bytes());
            });
        }
        Ok(Vector::from(out.finish()).into())
    }
}

//! `seriesOutliersDetectTukey`: how far values are outside of Tukey's fences.

use crate::lanes::{Operand, unary};
use crate::lists::{list, list_of};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "seriesOutliersDetectTukey",
        summary: "For each value of a series, how far it is beyond the fences that are `k` ranges between the percentiles outside of these; 0 \
                  within.",
        syntax: "seriesOutliersDetectTukey(series[, min_percentile, max_percentile, k])",
        examples: &[Example {
            sql: "SELECT seriesOutliersDetectTukey([-3, 2, 15, 3, 5, 6, 4, 5, 12, 45, 12, 3, 3, 4, 5, 6])",
            result: "[0,0,0,0,0,0,0,0,0,27,0,0,0,0,0,0]",
        }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Fences {
    low: f64,
    high: f64,
    k: f64,
}

/// Fewer values have no percentiles to speak of.
const FEWEST: usize = 4;

const HIGHEST_PERCENTILE: f64 = 0.98;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        matches!(args.len(), 1 | 4),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} needs either 1 or 4 arguments; passed {}",
        args.len()
    );
    let wrong = |index: usize, expected: &str| {
        let (place, what) =
            [("1st", "time_series"), ("2nd", "min_percentile"), ("3rd", "max_percentile"), ("4th", "k")]
                [index];
        format!(
            "A value of illegal type was provided as {place} argument '{what}' to function '{name}'. Expected: {expected}, got: {}",
            args[index].ty
        )
    };
    let native = |ty: &DataType| ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8);
    match &args[0].ty {
        DataType::Array(element) => ensure!(
            native(element) || matches!(**element, DataType::Float32 | DataType::Float64),
            ILLEGAL_COLUMN,
            "Illegal column {} of first argument of function {name}",
            args[0].ty
        ),
        _ => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{}", wrong(0, "Array")),
    }
    if args.len() == 1 {
        return Ok(Bound::with_state(DataType::Float64.array(), Fences { low: 0.25, high: 0.75, k: 1.5 }));
    }
    let mut numbers = [0.0; 3];
    for (index, arg) in args.iter().enumerate().skip(1) {
        ensure!(
            arg.ty.is_float() || index == 3 && native(&arg.ty),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{}",
            wrong(index, "Number")
        );
        match arg.constant.as_ref().and_then(|constant| constant.as_f64()) {
            Some(number) => numbers[index - 1] = number,
            None => bail!(ILLEGAL_COLUMN, "{}", wrong(index, "Number")),
        }
    }
    let [low, high, k] = numbers;
    ensure!(
        (0.02..=HIGHEST_PERCENTILE).contains(&low),
        BAD_ARGUMENTS,
        "The second argument of function {name} must be in range [0.02, 0.98]"
    );
    ensure!(
        (low..=HIGHEST_PERCENTILE).contains(&high),
        BAD_ARGUMENTS,
        "The third argument of function {name} must be in range [0.02, 0.98]"
    );
    ensure!(k >= 0.0, BAD_ARGUMENTS, "The fourth argument of function {name} must be a non-negative number");
    Ok(Bound::with_state(DataType::Float64.array(), Fences { low, high, k }))
}

/// The middle of two values where the percentile falls between them.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len() as f64;
    let index = place as usize;
    if place == place.floor() && index > 0 {
        f64::midpoint(sorted[index - 1], sorted[index.min(sorted.len() - 1)])
    } else {
        sorted[index.min(sorted.len() - 1)]
    }
}

fn execute(call: &Call) -> Result<Column> {
    let fences: &Fences = call.state()?;
    let series = list_of(&call.args[0], call.n_rows)?;
    let operand = Operand { ty: &DataType::Float64, vector: &series.values, constant: false };
    let values = unary::<f64, f64>(operand, series.values.len(), |x| x)?;
    let mut scores = Vec::with_capacity(values.len());
    let mut sorted = Vec::new();
    for range in series.ranges() {
        ensure!(
            range.len() >= FEWEST,
            BAD_ARGUMENTS,
            "At least four data points are needed for function seriesOutliersDetectTukey"
        );
        sorted.clear();
        sorted.extend_from_slice(&values[range.clone()]);
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (percentile(&sorted, fences.low), percentile(&sorted, fences.high));
        let margin = (high - low) * fences.k;
        let (low, high) = (low - margin, high + margin);
        scores.extend(values[range].iter().map(|&x| match x {
            x if x.is_nan() => x,
            x if x < low => x - low,
            x if x > high => x - high,
            _ => 0.0,
        }));
    }
    Ok(list(series.offsets.to_vec(), Vector::from(scores)).into())
}

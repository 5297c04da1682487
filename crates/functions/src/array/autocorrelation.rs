//! `arrayAutocorrelation`: how much a series resembles itself some steps later.

use crate::lanes::{Operand, unary};
use crate::lists::{array_element, list, list_of};
use crate::plain::Plain;
use crate::string_args::{check_type, integers};
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayAutocorrelation",
        summary: "The autocorrelations of a series at the lags 0, 1, ..., at most `max_lag` of them; NaN when all values are equal.",
        syntax: "arrayAutocorrelation(arr[, max_lag])",
        examples: &[Example { sql: "SELECT arrayAutocorrelation([1, 2, 3, 4, 5], 2)", result: "[1,0.4]" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    let element = array_element(name, args, 0)?;
    check_type(
        element.is_number() || *element == DataType::Nothing,
        name,
        0,
        "Array of numbers",
        &args[0].ty,
    )?;
    if let Some(lag) = args.get(1) {
        check_type(lag.ty.is_integer(), name, 1, "Integer", &lag.ty)?;
    }
    Ok(DataType::Float64.array().into())
}

fn execute(call: &Call) -> Result<Column> {
    let series = list_of(&call.args[0], call.n_rows)?;
    let element = call.args[0].ty.element().unwrap_or(DataType::Nothing);
    let operand = Operand { ty: &element, vector: &series.values, constant: false };
    let values = if element == DataType::Nothing {
        Vec::new()
    } else {
        let floats = crate::math::float_function::floats(operand, series.values.len())?;
        unary::<f64, f64>(Operand { vector: &floats, ..operand }, series.values.len(), |x| x)?
    };
    let lags = if call.args.len() == 2 { Some(integers(call, 1)?) } else { None };
    let mut out = Vec::new();
    let mut offsets = vec![0i64];
    for (row, range) in series.ranges().enumerate() {
        let x = &values[range];
        let n_lags = match &lags {
            None => x.len(),
            Some(lags) => {
                ensure!(
                    lags[row] >= 0,
                    BAD_ARGUMENTS,
                    "Argument max_lag of function arrayAutocorrelation must be non-negative"
                );
                x.len().min(usize::try_from(lags[row]).unwrap_or(usize::MAX))
            }
        };
        autocorrelations(x, n_lags, &mut out);
        offsets.push(out.len() as i64);
    }
    Ok(list(offsets, Vector::from(out)).into())
}

fn autocorrelations(x: &[f64], n_lags: usize, out: &mut Vec<f64>) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let product = |lag: usize| x.iter().zip(&x[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let variance = product(0);
    out.extend((0..n_lags).map(|lag| if variance == 0.0 { f64::NAN } else { product(lag) / variance }));
}

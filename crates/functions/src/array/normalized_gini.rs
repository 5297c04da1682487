//! `arrayNormalizedGini`: how well predictions order the true values.

use super::concat::all_arrays;
use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, List, Struct, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "arrayNormalizedGini",
        summary: "The Gini coefficients of values in the order of predictions and in their own, and the ratio of both.",
        syntax: "arrayNormalizedGini(predicted, label)",
        examples: &[Example { sql: "SELECT arrayNormalizedGini([1, 2, 3], [1, 4, 3]).3 < 1", result: "1" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    for (arg, which) in args.iter().zip(["First", "Second"]) {
        let number = arg.ty.element().is_some_and(|element| element.is_number());
        ensure!(
            number && matches!(arg.ty, DataType::Array(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{which} argument for function {name} must be an Array of numeric type, got {}",
            arg.ty
        );
    }
    all_arrays(name, args)?;
    Ok(DataType::tuple(vec![DataType::Float64; 3]).into())
}

fn execute(call: &Call) -> Result<Column> {
    let n = call.n_rows;
    let lists = [list_of(&call.args[0], n)?, list_of(&call.args[1], n)?];
    let floats = |index: usize, list: &List| -> Result<Vec<f64>> {
        let element = call.args[index].ty.element().unwrap_or(DataType::Float64);
        let operand = Operand { ty: &element, vector: &list.values, constant: false };
        let vector = crate::math::float_function::floats(operand, list.values.len())?;
        unary::<f64, f64>(Operand { vector: &vector, ..operand }, list.values.len(), |x| x)
    };
    let (predicted, labels) = (floats(0, &lists[0])?, floats(1, &lists[1])?);
    let mut results: [Vec<f64>; 3] = Default::default();
    for (x, y) in lists[0].ranges().zip(lists[1].ranges()) {
        ensure!(
            x.len() == y.len(),
            ILLEGAL_COLUMN,
            "All array in function arrayNormalizedGini should have same size"
        );
        let row = coefficients(&predicted[x], &labels[y]);
        results.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let fields = results.into_iter().map(Vector::from).collect();
    Ok(Vector::from(Data::Struct(Struct { fields, len: n })).into())
}

/// In the order of the predictions, in their own order, and the former by the latter.
fn coefficients(predicted: &[f64], labels: &[f64]) -> [f64; 3] {
    let total: f64 = labels.iter().sum();
    let n = labels.len() as f64;
    // How far the sums so far, in some order, fall short of those of equal values.
    let shortfall = |order: &[usize]| {
        let mut sum = 0.0;
        let sums: f64 = order
            .iter()
            .map(|&i| {
                sum += labels[i] / total;
                sum
            })
            .sum();
        (0.5 * (n + 1.0) - sums) / n
    };
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&a, &b| predicted[a].total_cmp(&predicted[b]));
    let by_prediction = shortfall(&order);
    order.sort_by(|&a, &b| labels[a].total_cmp(&labels[b]));
    let own = shortfall(&order);
    [by_prediction, own, by_prediction / own]
}

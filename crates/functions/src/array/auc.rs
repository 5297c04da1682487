//! `arrayROCAUC` and `arrayAUCPR`: areas under the curves of a classifier.

use super::concat::all_arrays;
use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, Value};

pub static ROC: Plain = Plain {
    record: Record {
        name: "arrayROCAUC",
        aliases: &["arrayAUC"],
        summary: "The area under the receiver operating characteristic curve of scores and labels; without scaling it is the area itself and not its share.",
        syntax: "arrayROCAUC(scores, labels[, scale])",
        examples: &[Example {
            sql: "SELECT arrayROCAUC([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])",
            result: "0.75",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 3),
    execute: |call| {
        let Scale(scale) = call.state()?;
        each_row(call, |sorted| roc(sorted, *scale))
    },
};

pub static PR: Plain = Plain {
    record: Record {
        name: "arrayAUCPR",
        aliases: &["arrayPRAUC"],
        summary: "The area under the precision-recall curve of scores and labels.",
        syntax: "arrayAUCPR(scores, labels)",
        examples: &[Example {
            sql: "SELECT arrayAUCPR([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])",
            result: "0.8333333333333333",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 2),
    execute: |call| each_row(call, precision_recall),
};

/// Is the area divided by that of the whole square?
struct Scale(bool);

fn bind(name: &'static str, args: &[Argument], _: &Context, most: usize) -> Result<Bound> {
    check_arity(name, args.len(), 2..=most)?;
    all_arrays(name, &args[..2])?;
    for (arg, what) in args[..2].iter().zip(["scores", "labels"]) {
        let element = arg.ty.element().unwrap_or(DataType::Nothing);
        ensure!(
            element.is_integer() || element.is_float() || (what == "labels" && element.is_enum()),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{name} cannot process {what} of type {element}"
        );
    }
    let scale = match args.get(2) {
        None => true,
        Some(arg) => {
            ensure!(
                arg.ty == DataType::Bool || arg.ty == DataType::UInt8,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Third argument (scale) for function {name} must be of type Bool"
            );
            arg.constant.as_ref().and_then(Value::as_u64) != Some(0)
        }
    };
    Ok(Bound::with_state(DataType::Float64, Scale(scale)))
}

/// Scores and labels of a row, greatest score first.
fn each_row(call: &Call, area: impl Fn(&[(f64, bool)]) -> f64) -> Result<Column> {
    let (scores, labels) = (list_of(&call.args[0], call.n_rows)?, list_of(&call.args[1], call.n_rows)?);
    ensure!(
        scores.offsets[..] == labels.offsets[..],
        BAD_ARGUMENTS,
        "Label and score arrays should have the same size"
    );
    let numbers = |vector: &Vector| {
        unary::<f64, f64>(Operand { ty: &DataType::Float64, vector, constant: false }, vector.len(), |x| x)
    };
    let (x, y) = (numbers(&scores.values)?, numbers(&labels.values)?);
    let areas = scores.ranges().map(|range| {
        let mut sorted: Vec<(f64, bool)> = range.map(|e| (x[e], y[e] > 0.0)).collect();
        sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
        area(&sorted)
    });
    Ok(Vector::from(areas.collect::<Vec<f64>>()).into())
}

fn roc(sorted: &[(f64, bool)], scale: bool) -> f64 {
    let (mut area, mut before) = (0.0, (0.0, 0.0));
    let (mut falses, mut trues) = (0.0, 0.0);
    for (index, (score, label)) in sorted.iter().enumerate() {
        if *label {
            trues += 1.0
        } else {
            falses += 1.0
        }
        // Equal scores make one step.
        if sorted.get(index + 1).is_none_or(|next| next.0 != *score) {
            area += (falses - before.0) * (trues + before.1) / 2.0;
            before = (falses, trues);
        }
    }
    if !scale {
        return area;
    }
    if falses == 0.0 || trues == 0.0 { f64::NAN } else { area / (falses * trues) }
}

fn precision_recall(sorted: &[(f64, bool)]) -> f64 {
    let (mut area, mut before, mut trues) = (0.0, 0.0, 0.0);
    for (index, (score, label)) in sorted.iter().enumerate() {
        trues += f64::from(u8::from(*label));
        if sorted.get(index + 1).is_none_or(|next| next.0 != *score) {
            area += trues / (index as f64 + 1.0) * (trues - before);
            before = trues;
        }
    }
    if trues == 0.0 { 0.0 } else { area / trues }
}

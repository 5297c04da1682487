//! `arrayROCAUC` and `arrayAUCPR`: areas under the curves of a classifier.

use super::concat::all_arrays;
use crate::lanes::{Operand, unary};
use crate::lists::list_of;
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Arg, Argument, Bound, Call, Context, Example, Record};
use chalet_types::{DataType, Value};

pub static ROC: Plain = Plain {
    record: Record {
        name: "arrayROCAUC",
        aliases: &["arrayAUC"],
        summary: "The area under the receiver operating characteristic curve of scores and labels; without scaling it is the area itself and not its share.",
        syntax: "arrayROCAUC(scores, labels[, scale[, partial_offsets]])",
        examples: &[Example {
            sql: "SELECT arrayROCAUC([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])",
            result: "0.75",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 4),
    execute: |call| {
        let Scale(scale) = call.state()?;
        each_row(call, 3, |sorted, start| roc(sorted, *scale, start))
    },
};

pub static PR: Plain = Plain {
    record: Record {
        name: "arrayAUCPR",
        aliases: &["arrayPRAUC"],
        summary: "The area under the precision-recall curve of scores and labels.",
        syntax: "arrayAUCPR(scores, labels[, partial_offsets])",
        examples: &[Example {
            sql: "SELECT arrayAUCPR([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])",
            result: "0.8333333333333333",
        }],
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, 3),
    execute: |call| each_row(call, 2, precision_recall),
};

/// Is the area divided by that of the whole square?
struct Scale(bool);

/// Where a curve starts when the array is one partition of many, and how many labels there are in all; zeros say nothing.
#[derive(Clone, Copy, Default)]
struct Start {
    trues: f64,
    falses: f64,
    all_trues: f64,
    all_falses: f64,
}

/// Checks the array of partial offsets.
fn check_offsets(name: &str, ty: &DataType, which: &str) -> Result<()> {
    let Some(element) = ty.element() else {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{which} argument (arr_partial_offsets) for function {name} must be of type Array"
        );
    };
    ensure!(
        element.is_integer(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "{which} argument (arr_partial_offsets) for function {name} is of type {element}, should be integer"
    );
    Ok(())
}

/// `most` arguments at most; the last of them are the partial offsets.
fn bind(name: &'static str, args: &[Argument], _: &Context, most: usize) -> Result<Bound> {
    check_arity(name, args.len(), 2..=most)?;
    if args.len() == most {
        check_offsets(name, &args[most - 1].ty, if most == 4 { "Fourth" } else { "Third" })?;
    }
    all_arrays(name, &args[..2])?;
    for (arg, what) in args[..2].iter().zip(["scores", "labels"]) {
        let element = arg.ty.element().unwrap_or(DataType::Nothing);
        ensure!(
            element.is_integer() || element.is_float() || (what == "labels" && element.is_enum()),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "{name} cannot process {what} of type {element}"
        );
    }
    let scale = match args.get(2).filter(|_| most == 4) {
        None => true,
        Some(arg) => {
            ensure!(
                arg.ty == DataType::Bool && arg.constant.is_some(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Third argument (scale) for function {name} must be of type const Bool"
            );
            arg.constant.as_ref().and_then(Value::as_u64) != Some(0)
        }
    };
    Ok(Bound::with_state(DataType::Float64, Scale(scale)))
}

/// Scores and labels of a row, greatest score first, and what its partial offsets say, which are argument `offsets`.
fn each_row(call: &Call, offsets: usize, area: impl Fn(&[(f64, bool)], Start) -> f64) -> Result<Column> {
    let starts = match call.args.get(offsets) {
        None => None,
        Some(arg) => Some(starts(arg, offsets + 1, call.n_rows)?),
    };
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
    let areas = scores.ranges().enumerate().map(|(row, range)| {
        let start = starts.as_ref().map_or(Start::default(), |starts| starts[row]);
        let mut sorted: Vec<(f64, bool)> = range.map(|e| (x[e], y[e] > 0.0)).collect();
        sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
        area(&sorted, start)
    });
    Ok(Vector::from(areas.collect::<Vec<f64>>()).into())
}

/// The partial offsets of each row: `size` numbers.
fn starts(arg: &Arg, size: usize, n_rows: usize) -> Result<Vec<Start>> {
    let which = if size == 4 { "Fourth" } else { "Third" };
    let name = if size == 4 { "arrayROCAUC" } else { "arrayAUCPR" };
    let list = list_of(arg, n_rows)?;
    let n = list.values.len();
    let numbers =
        unary::<i64, i64>(Operand { ty: &DataType::Int64, vector: &list.values, constant: false }, n, |x| x)?;
    let mut out = Vec::with_capacity(n_rows);
    for range in list.ranges() {
        let own = &numbers[range];
        ensure!(
            own.len() == size,
            BAD_ARGUMENTS,
            "{which} argument (arr_partial_offsets) for function {name} must contain Arrays of size {size}"
        );
        ensure!(
            own.iter().all(|x| *x >= 0),
            BAD_ARGUMENTS,
            "{which} argument (arr_partial_offsets) for function {name} must not contain negative values"
        );
        out.push(Start {
            trues: own[0] as f64,
            falses: own[1] as f64,
            all_trues: own[2] as f64,
            all_falses: own.get(3).copied().unwrap_or(0) as f64,
        });
    }
    Ok(out)
}

/// The number that was given, or the one that was counted.
fn given_or(given: f64, counted: f64) -> f64 {
    if given > 0.0 { given } else { counted }
}

fn roc(sorted: &[(f64, bool)], scale: bool, start: Start) -> f64 {
    let mut area = 0.0;
    let (mut falses, mut trues) = (start.falses, start.trues);
    let mut before = (falses, trues);
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
    let (falses, trues) = (given_or(start.all_falses, falses), given_or(start.all_trues, trues));
    if falses == 0.0 || trues == 0.0 { f64::NAN } else { area / (falses * trues) }
}

fn precision_recall(sorted: &[(f64, bool)], start: Start) -> f64 {
    let (mut area, mut before, mut trues) = (0.0, start.trues, start.trues);
    let earlier = start.trues + start.falses;
    for (index, (score, label)) in sorted.iter().enumerate() {
        trues += f64::from(u8::from(*label));
        if sorted.get(index + 1).is_none_or(|next| next.0 != *score) {
            area += trues / (earlier + index as f64 + 1.0) * (trues - before);
            before = trues;
        }
    }
    let trues = given_or(start.all_trues, trues);
    if trues == 0.0 { 0.0 } else { area / trues }
}

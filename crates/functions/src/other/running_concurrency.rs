//! `runningConcurrency`: how many events of the same block go on when one begins.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Dictionaries, Example, Nulls, Record, Volatility};
use chalet_types::DataType;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "runningConcurrency",
        summary: "The number of events of the same block that go on when each of them begins; they are sorted by their beginnings, and \
                  ends do not belong to them. Use window functions instead.",
        syntax: "runningConcurrency(start, end)",
        examples: &[Example {
            sql: "SELECT runningConcurrency(toDate('2025-03-03'), toDate('2025-03-11'))",
            result: "1",
        }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::Decoded,
        volatility: Volatility::PerRow,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    ensure!(
        args[0].ty == args[1].ty,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} must be called with two arguments having the same type"
    );
    ensure!(
        matches!(args[0].ty, DataType::Date | DataType::DateTime(_) | DataType::DateTime64(..)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} must be called with arguments of type Date, DateTime, or DateTime64"
    );
    Ok(DataType::UInt32.into())
}

fn execute(call: &Call) -> Result<Column> {
    let times = |index: usize| unary::<i64, i64>(Operand::of(call, index), call.n_rows, |x| x);
    let (starts, ends) = (times(0)?, times(1)?);
    let mut going_on = BinaryHeap::new();
    let mut counts = Vec::with_capacity(call.n_rows);
    for (row, (&start, &end)) in starts.iter().zip(&ends).enumerate() {
        ensure!(start <= end, INCORRECT_DATA, "Incorrect order of events: {start} > {end}");
        ensure!(
            row == 0 || starts[row - 1] <= start,
            INCORRECT_DATA,
            "Incorrect order of events: the start {start} comes after a later one"
        );
        going_on.push(Reverse(end));
        while going_on.peek().is_some_and(|Reverse(end)| *end <= start) {
            going_on.pop();
        }
        counts.push(going_on.len() as u32);
    }
    Ok(Vector::from(counts).into())
}

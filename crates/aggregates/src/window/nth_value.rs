//! `nth_value`: the value of the n-th row of the frame.

use crate::window::{offset, with_default};
use chalet_base::{Result, bail, ensure};
use chalet_columns::Vector;
use chalet_function_api::{AggregateRecord, Argument, Context, Example, Partitions, Reach, WindowFunction};
use chalet_types::{DataType, Value};

const RECORD: AggregateRecord = AggregateRecord {
    name: "nth_value",
    case_insensitive: true,
    summary: "The value of the `n`-th row of the frame, from 1; the default of the type if there is no such row.",
    syntax: "nth_value(x, n) OVER (ORDER BY ...)",
    examples: &[Example {
        sql: "SELECT groupArray(x) FROM (SELECT nth_value(number + 5, 2) OVER (ORDER BY number) AS x FROM numbers(3))",
        result: "[0,6,6]",
    }],
    window_only: true,
    ..AggregateRecord::DEFAULT
};

pub struct NthValue;

impl WindowFunction for NthValue {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn result_type(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<DataType> {
        ensure!(parameters.is_empty(), BAD_ARGUMENTS, "Function nth_value cannot be parameterized");
        ensure!(
            args.len() == 2,
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Function nth_value takes exactly two arguments"
        );
        if !args[1].ty.is_integer() {
            bail!(BAD_ARGUMENTS, "Offset must be an integer, '{}' given", args[1].ty);
        }
        Ok(args[0].ty.recursively_without_low_cardinality())
    }

    fn reach(&self, _: &[Option<Value>]) -> Reach {
        Reach::Frame
    }

    fn execute(&self, partitions: &Partitions, _: &[DataType], result: &DataType) -> Result<Vector> {
        let (values, default) = with_default(&partitions.args[0], result);
        let mut rows = Vec::with_capacity(partitions.n_rows);
        for (row, frame) in partitions.frames.iter().enumerate() {
            let n = offset(RECORD.name, 1, &partitions.args[1], row)?;
            rows.push(if n <= frame.len() { (frame.start + n - 1) as u32 } else { default });
        }
        Ok(values.gather(&rows))
    }
}

//! `arrayReduceInRanges`: an aggregate over ranges of the elements of arrays.

use super::array_reduce::{Found, element_types, elements};
use super::named::named;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, List, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};
use chalet_types::DataType;
use std::sync::Arc;

const RECORD: Record = Record {
    name: "arrayReduceInRanges",
    summary: "For each range, a tuple of a position (from 1, or from -1 at the end) and a length, the result of an aggregate function over the elements in it.",
    syntax: "arrayReduceInRanges('aggregate', ranges, arr1, ...)",
    examples: &[Example {
        sql: "SELECT arrayReduceInRanges('sum', [(1, 2), (2, 3)], [10, 20, 30, 40])",
        result: "[30,90]",
    }],
    nulls: Nulls::Seen,
    ..Record::DEFAULT
};

pub struct ArrayReduceInRanges;

impl ScalarFunction for ArrayReduceInRanges {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        check_arity(RECORD.name, args.len(), 3..=usize::MAX)?;
        let range = args[1].ty.element();
        let fits = matches!(&range, Some(DataType::Tuple(fields)) if fields.len() == 2 && fields.iter().all(|f| f.ty.is_integer()));
        ensure!(
            fits,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Second argument for function {} must be an array of tuples (index, length), got {}",
            RECORD.name,
            args[1].ty
        );
        let found = named(RECORD.name, &args[0], element_types(RECORD.name, args, 2)?, ctx)?;
        Ok(Bound::with_state(found.result.array(), Found(found.aggregate)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Found(aggregate) = call.state()?;
        let (offsets, arrays) = elements(&call.args[2..])?;
        let ranges = call.vector(1).list()?.normalised();
        let Data::Struct(pairs) = &ranges.values.data else {
            bail!(LOGICAL_ERROR, "Ranges are not tuples");
        };
        let number = |field: usize, row: usize| pairs.fields[field].value(row).as_i64().unwrap_or(0);
        let mut states = aggregate.states();
        states.grow(ranges.values.len());
        for row in 0..call.n_rows {
            let (start, end) = (offsets[row], offsets[row + 1]);
            for range in ranges.range(row) {
                let (position, length) = (number(0, range), number(1, range));
                let from = if position > 0 { start + position - 1 } else { end + position };
                // A range that begins before the array is empty.
                let reaches = from >= start;
                let to = from.saturating_add(length).clamp(start, end);
                let from = from.clamp(start, end);
                if reaches && position != 0 && from < to {
                    states.add(range, &arrays, from as usize..to as usize)?;
                }
            }
        }
        let values = Arc::new(states.finish(ranges.values.len())?);
        Ok(Vector::from(Data::List(List { offsets: ranges.offsets, values })).into())
    }
}

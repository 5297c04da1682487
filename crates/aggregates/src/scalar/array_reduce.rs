//! `arrayReduce`: an aggregate over the elements of arrays.

use super::named::named;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Column, Vector};
use chalet_function_api::{
    Aggregate, Arg, Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction,
};
use chalet_types::DataType;
use std::sync::Arc;

const RECORD: Record = Record {
    name: "arrayReduce",
    summary: "The result of an aggregate function, named by a constant string with its parameters, over the elements of arrays of one length.",
    syntax: "arrayReduce('aggregate', arr1, ...)",
    examples: &[Example {
        sql: "SELECT arrayReduce('max', [1, 5, 3]), arrayReduce('quantile(0.5)', [1, 2, 9])",
        result: "5\t2",
    }],
    nulls: Nulls::Seen,
    ..Record::DEFAULT
};

pub struct ArrayReduce;

/// The aggregate that `bind` found.
pub struct Found(pub Arc<dyn Aggregate>);

impl ScalarFunction for ArrayReduce {
    fn record(&self) -> &'static Record {
        &RECORD
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        ensure!(
            args.len() >= 2,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Number of arguments for function {} doesn't match: passed {}, should be at least 2",
            RECORD.name,
            args.len()
        );
        let found = named(RECORD.name, &args[0], element_types(RECORD.name, args, 1)?, ctx)?;
        Ok(Bound::with_state(found.result, Found(found.aggregate)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let Found(aggregate) = call.state()?;
        let (offsets, arrays) = elements(&call.args[1..])?;
        let mut groups: Vec<u32> = Vec::with_capacity(arrays[0].len());
        for (row, window) in offsets.windows(2).enumerate() {
            groups.resize(groups.len() + (window[1] - window[0]) as usize, row as u32);
        }
        let mut states = aggregate.states();
        states.grow(call.n_rows);
        states.add_groups(&groups, &arrays)?;
        Ok(states.finish(call.n_rows)?.into())
    }
}

/// The types of elements of the arguments from `first` on, which must be arrays.
pub fn element_types(name: &str, args: &[Argument], first: usize) -> Result<Vec<DataType>> {
    let mut types = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate().skip(first) {
        match &arg.ty {
            DataType::Array(element) => types.push(DataType::clone(element)),
            ty => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument {} for function {name} must be an array but it has type {ty}",
                index + 1
            ),
        }
    }
    Ok(types)
}

/// Offsets and elements of arrays of one length.
pub fn elements(args: &[Arg]) -> Result<(Buf<i64>, Vec<Vector>)> {
    let lists = args.iter().map(|arg| Ok(arg.vector.list()?.normalised())).collect::<Result<Vec<_>>>()?;
    for list in &lists {
        ensure!(
            list.offsets[..] == lists[0].offsets[..],
            SIZES_OF_ARRAYS_DONT_MATCH,
            "Lengths of all arrays passed to the function must be equal"
        );
    }
    Ok((lists[0].offsets.clone(), lists.iter().map(|list| Vector::clone(&list.values)).collect()))
}

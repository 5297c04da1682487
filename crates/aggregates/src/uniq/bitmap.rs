//! `groupBitmap`: the number of different integers, in the type of the integers.

use crate::check::{illegal_type, no_parameters, one_argument};
use crate::floats::{integer, push_integer};
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_columns::wire::{put_len, take_count, take_u64};
use chalet_columns::{Builder, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, I256, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupBitmap",
    summary: "The number of different integers of up to 64 bits, as a number of their own type.",
    syntax: "groupBitmap(x)",
    examples: &[Example { sql: "SELECT groupBitmap(number % 3) FROM numbers(10)", result: "3" }],
    ..AggregateRecord::DEFAULT
};

pub struct GroupBitmap;

impl AggregateFunction for GroupBitmap {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(RECORD.name, parameters)?;
        one_argument(RECORD.name, args)?;
        let ty = match &args[0].ty {
            DataType::Bool => DataType::UInt8,
            ty if ty.is_integer() && ty.physical().width().is_some_and(|width| width <= 8) => ty.clone(),
            ty => return Err(illegal_type(RECORD.name, ty)),
        };
        Ok(EachState::of(Bitmap { ty }))
    }
}

struct Bitmap {
    ty: DataType,
}

impl RowAggregate for Bitmap {
    type State = HashSet<u64>;
    type Input<'a> = &'a Vector;

    fn result_type(&self) -> DataType {
        self.ty.clone()
    }

    fn empty(&self) -> HashSet<u64> {
        HashSet::default()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a Vector> {
        Ok(&args[0])
    }

    fn add(&self, state: &mut HashSet<u64>, values: &&Vector, row: usize) -> Result<()> {
        state.insert(integer(&values.data, row).as_u64());
        Ok(())
    }

    fn merge(&self, state: &mut HashSet<u64>, other: HashSet<u64>) -> Result<()> {
        state.extend(other);
        Ok(())
    }

    fn serialise(&self, state: &HashSet<u64>, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        state.iter().for_each(|x| out.extend(x.to_le_bytes()));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<HashSet<u64>> {
        (0..take_count(bytes, size_of::<u64>())?).map(|_| take_u64(bytes)).collect()
    }

    fn finish(&self, state: &mut HashSet<u64>, out: &mut Builder) -> Result<()> {
        push_integer(I256::from(state.len() as u64), out)
    }

    fn heap_memory(&self, state: &HashSet<u64>) -> usize {
        state.capacity() * 2 * size_of::<u64>()
    }
}

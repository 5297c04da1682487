//! `groupArrayIntersect`: the elements that all arrays have.

use crate::check::one_argument;
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail, ensure};
use chalet_columns::builder::Values;
use chalet_columns::rows::RowCodec;
use chalet_columns::wire::{put_bytes, put_len, take_bytes, take_count, take_u8};
use chalet_columns::{Builder, List, Vector};
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "groupArrayIntersect",
    summary: "An array of the different elements that all arrays have. The order is not defined.",
    syntax: "groupArrayIntersect(arr)",
    examples: &[Example { sql: "SELECT groupArrayIntersect([number, 7]) FROM numbers(3)", result: "[7]" }],
    ..AggregateRecord::DEFAULT
};

pub struct GroupArrayIntersect;

impl AggregateFunction for GroupArrayIntersect {
    fn record(&self) -> &'static AggregateRecord {
        &RECORD
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        ensure!(
            parameters.is_empty(),
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Incorrect number of parameters for aggregate function {}, should be 0",
            RECORD.name
        );
        one_argument(RECORD.name, args)?;
        let DataType::Array(element) = &args[0].ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Aggregate function {} accepts only array type argument",
                RECORD.name
            );
        };
        let element = element.without_low_cardinality().clone();
        // A geometry is one still.
        let named = args[0].ty.geometry().is_some();
        let result = if named { args[0].ty.clone() } else { element.clone().array() };
        Ok(EachState::of(Intersect { codec: RowCodec::new(&element), result }))
    }
}

struct Intersect {
    codec: RowCodec,
    result: DataType,
}

/// The bytes of the elements that all arrays so far have, as they came first; none before the first array.
type State = Option<Vec<Box<[u8]>>>;

impl RowAggregate for Intersect {
    type State = State;
    type Input<'a> = &'a List;

    fn result_type(&self) -> DataType {
        self.result.clone()
    }

    fn empty(&self) -> State {
        None
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a List> {
        args[0].list()
    }

    fn add(&self, state: &mut State, list: &&List, row: usize) -> Result<()> {
        if state.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        let keys = list.range(row).map(|element| {
            let mut key = Vec::new();
            self.codec.put(&list.values, element, &mut key);
            key.into_boxed_slice()
        });
        match state {
            None => {
                let mut seen = HashSet::default();
                *state = Some(keys.filter(|key| seen.insert(key.clone())).collect());
            }
            Some(common) => {
                let keys: HashSet<Box<[u8]>> = keys.collect();
                common.retain(|key| keys.contains(key));
            }
        }
        Ok(())
    }

    fn merge(&self, state: &mut State, other: State) -> Result<()> {
        match (state.as_mut(), other) {
            (_, None) => {}
            (None, other) => *state = other,
            (Some(common), Some(other)) => {
                let other: HashSet<Box<[u8]>> = other.into_iter().collect();
                common.retain(|key| other.contains(key));
            }
        }
        Ok(())
    }

    fn serialise(&self, state: &State, out: &mut Vec<u8>) {
        out.push(u8::from(state.is_some()));
        let keys = state.as_deref().unwrap_or_default();
        put_len(keys.len(), out);
        keys.iter().for_each(|key| put_bytes(key, out));
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<State> {
        let some = take_u8(bytes)? != 0;
        let keys = (0..take_count(bytes, 1)?).map(|_| Ok(take_bytes(bytes)?.into()));
        let keys = keys.collect::<Result<Vec<Box<[u8]>>>>()?;
        Ok(some.then_some(keys))
    }

    fn finish(&self, state: &mut State, out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else {
            bail!(LOGICAL_ERROR, "groupArrayIntersect does not make an array");
        };
        for key in state.as_deref().unwrap_or_default() {
            self.codec.take(&mut &key[..], &mut list.values)?;
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &State) -> usize {
        let keys = state.as_deref().unwrap_or_default();
        keys.iter().map(|key| key.len() + size_of::<Box<[u8]>>()).sum()
    }
}

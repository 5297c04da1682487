//! The types of states: their names, which of them are alike, and what types are told of their bytes.

use crate::resolve::{Resolved, base_record};
use chalet_base::Result;
use chalet_function_api::{Aggregate, Argument, Registry, States};
use chalet_types::aggregate_function::KnownFunction;
use chalet_types::{AggregateType, DataType, StateOperations, Value};
use std::sync::Arc;

/// The type of the states of an aggregate that was found for these parameters and arguments.
pub fn state_type(
    registry: &Registry,
    found: &Resolved,
    parameters: &[Value],
    args: &[Argument],
) -> DataType {
    let types: Vec<DataType> = args.iter().map(|arg| arg.ty.clone()).collect();
    let known = known(registry, found, parameters, &types);
    DataType::AggregateFunction(Arc::new(AggregateType::of(None, known, parameters.to_vec(), types)))
}

/// What a type is told of an aggregate that was found.
pub fn known(
    registry: &Registry,
    found: &Resolved,
    parameters: &[Value],
    types: &[DataType],
) -> KnownFunction {
    let Names { shown, representation, version } = names(registry, &found.name, parameters, types);
    let operations = Arc::new(Operations::of(found.aggregate.clone()));
    KnownFunction { name: shown, version, representation, operations }
}

struct Names {
    shown: String,
    representation: String,
    version: u64,
}

fn names(registry: &Registry, name: &str, parameters: &[Value], types: &[DataType]) -> Names {
    let stripped = types.iter().map(DataType::recursively_without_low_cardinality);
    let stripped: Vec<DataType> = stripped.collect();
    let Some((record, suffixes)) = base_record(registry, name) else {
        let representation = format!("{name}{parameters:?}{stripped:?}");
        return Names { shown: name.into(), representation, version: 0 };
    };
    let base = if record.name_in_types.is_empty() { record.name } else { record.name_in_types };
    let representation = match record.states_of {
        "" => format!("{base}{suffixes}{parameters:?}{stripped:?}"),
        same => format!("{same}{suffixes}{stripped:?}"),
    };
    // Around a function that skips NULLs the version is that of the wrapper.
    let nullable = types.iter().any(DataType::is_nullable);
    let version = if suffixes.is_empty() && !nullable { record.state_version } else { 0 };
    Names { shown: format!("{base}{suffixes}"), representation, version }
}

/// States of one aggregate as bytes.
struct Operations {
    aggregate: Arc<dyn Aggregate>,
    empty: Vec<u8>,
}

impl Operations {
    fn of(aggregate: Arc<dyn Aggregate>) -> Operations {
        let mut operations = Operations { aggregate, empty: Vec::new() };
        let mut empty = Vec::new();
        operations.one().serialise(0, &mut empty);
        operations.empty = empty;
        operations
    }

    fn one(&self) -> Box<dyn States> {
        let mut states = self.aggregate.states();
        states.grow(1);
        states
    }
}

impl StateOperations for Operations {
    fn empty(&self) -> &[u8] {
        &self.empty
    }

    fn length(&self, bytes: &[u8]) -> Result<usize> {
        let mut rest = bytes;
        self.one().deserialise(0, &mut rest)?;
        Ok(bytes.len() - rest.len())
    }

    fn merged(&self, a: &[u8], b: &[u8]) -> Result<Vec<u8>> {
        let mut state = self.one();
        for mut bytes in [a, b] {
            state.deserialise(0, &mut bytes)?;
        }
        let mut out = Vec::new();
        state.serialise(0, &mut out);
        Ok(out)
    }
}

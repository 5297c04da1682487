//! `distinctDynamicTypes`, `distinctJSONPaths`, `distinctJSONPathsAndTypes`: what columns of several types hold.

use crate::check::{no_parameters, one_argument};
use chalet_base::{Result, ensure};
use chalet_columns::builder::Values;
use chalet_columns::wire::{put_bytes, put_len, take_bytes, take_count};
use chalet_columns::{Builder, Vector, json, variant};
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, EachState, Example, RowAggregate,
};
use chalet_types::{DataType, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Types,
    Paths,
    PathsAndTypes,
}

pub struct Distinct {
    record: &'static AggregateRecord,
    what: What,
}

const BASE: AggregateRecord =
    AggregateRecord { nulls: AggregateNulls::SkipPlainResult, ..AggregateRecord::DEFAULT };

const TYPES: AggregateRecord = AggregateRecord {
    name: "distinctDynamicTypes",
    summary: "The names of the types of the values of a Dynamic, sorted.",
    syntax: "distinctDynamicTypes(dynamic)",
    examples: &[Example {
        sql: "SELECT distinctDynamicTypes(arrayJoin([1::UInt8::Dynamic, 'a', NULL]))",
        result: "['String','UInt8']",
    }],
    ..BASE
};

const PATHS: AggregateRecord = AggregateRecord {
    name: "distinctJSONPaths",
    summary: "The paths of JSON objects, sorted.",
    syntax: "distinctJSONPaths(json)",
    examples: &[Example {
        sql: "SELECT distinctJSONPaths(arrayJoin(['{\"a\":1}', '{\"b\":{\"c\":2}}'])::JSON)",
        result: "['a','b.c']",
    }],
    ..BASE
};

const PATHS_AND_TYPES: AggregateRecord = AggregateRecord {
    name: "distinctJSONPathsAndTypes",
    summary: "The paths of JSON objects, and of each the names of the types of its values, sorted.",
    syntax: "distinctJSONPathsAndTypes(json)",
    examples: &[Example {
        sql: "SELECT distinctJSONPathsAndTypes(arrayJoin(['{\"a\":1}', '{\"a\":\"x\"}'])::JSON)",
        result: "{'a':['Int64','String']}",
    }],
    ..BASE
};

impl Distinct {
    pub const ALL: [Distinct; 3] = [
        Distinct { record: &TYPES, what: What::Types },
        Distinct { record: &PATHS, what: What::Paths },
        Distinct { record: &PATHS_AND_TYPES, what: What::PathsAndTypes },
    ];
}

impl AggregateFunction for Distinct {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, parameters: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        no_parameters(self.record.name, parameters)?;
        one_argument(self.record.name, args)?;
        let ty = args[0].ty.clone();
        let (fits, wanted) = match self.what {
            What::Types => (matches!(ty, DataType::Dynamic(_)), "Dynamic"),
            _ => (matches!(ty, DataType::Json(_)), "JSON"),
        };
        ensure!(
            fits,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {ty} of argument for aggregate function {}, expected {wanted}",
            self.record.name
        );
        Ok(EachState::of(Bound { ty, what: self.what }))
    }
}

struct Bound {
    ty: DataType,
    what: What,
}

/// Of each path the names of types; of types alone each is a path of its own.
type Found = BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>;

fn name_of(tag: &[u8]) -> &[u8] {
    tag.strip_suffix(&[0]).unwrap_or(tag)
}

impl RowAggregate for Bound {
    type State = Found;
    type Input<'a> = &'a Vector;

    fn result_type(&self) -> DataType {
        match self.what {
            What::PathsAndTypes => DataType::map(DataType::String, DataType::String.array()),
            _ => DataType::String.array(),
        }
    }

    fn empty(&self) -> Found {
        Found::new()
    }

    fn input<'a>(&self, args: &'a [Vector]) -> Result<&'a Vector> {
        Ok(&args[0])
    }

    fn add(&self, state: &mut Found, values: &&Vector, row: usize) -> Result<()> {
        if values.is_null(row) {
            return Ok(());
        }
        let value = values.strings()?.get(row);
        let DataType::Json(json) = &self.ty else {
            state.entry(name_of(variant::split(&self.ty, value)?.0).to_vec()).or_default();
            return Ok(());
        };
        for (path, value) in json::entries(value)? {
            if json.typed_path(&path).is_none() {
                let name = name_of(variant::split(&DataType::DYNAMIC, &value)?.0).to_vec();
                state.entry(path).or_default().insert(name);
            }
        }
        for (path, ty) in &json.typed {
            state.entry(path.as_bytes().to_vec()).or_default().insert(ty.to_string().into_bytes());
        }
        Ok(())
    }

    fn merge(&self, state: &mut Found, other: Found) -> Result<()> {
        for (path, types) in other {
            state.entry(path).or_default().extend(types);
        }
        Ok(())
    }

    fn serialise(&self, state: &Found, out: &mut Vec<u8>) {
        put_len(state.len(), out);
        for (path, types) in state {
            put_bytes(path, out);
            put_len(types.len(), out);
            types.iter().for_each(|name| put_bytes(name, out));
        }
    }

    fn deserialise(&self, bytes: &mut &[u8]) -> Result<Found> {
        let mut found = Found::new();
        for _ in 0..take_count(bytes, 1)? {
            let path = take_bytes(bytes)?.to_vec();
            let types = (0..take_count(bytes, 1)?).map(|_| Ok(take_bytes(bytes)?.to_vec()));
            found.insert(path, types.collect::<Result<_>>()?);
        }
        Ok(found)
    }

    fn finish(&self, state: &mut Found, out: &mut Builder) -> Result<()> {
        let Values::List(list) = &mut out.values else { return Ok(()) };
        for (path, types) in state.iter() {
            match &mut list.values.values {
                Values::Struct { fields, len } => {
                    fields[0].push_value(&Value::string(path))?;
                    let names = types.iter().map(Value::string).collect();
                    fields[1].push_value(&Value::Array(names))?;
                    *len += 1;
                }
                _ => list.values.push_value(&Value::string(path))?,
            }
        }
        list.close();
        Ok(())
    }

    fn heap_memory(&self, state: &Found) -> usize {
        let entry = |(path, types): (&Vec<u8>, &BTreeSet<Vec<u8>>)| {
            path.len() + types.iter().map(|name| name.len() + size_of::<Vec<u8>>()).sum::<usize>()
        };
        state.iter().map(entry).sum()
    }
}

//! `JSONAllPaths` and its kin: the paths of JSON objects, with or without the types of their values.

use chalet_base::{Result, bail, ensure};
use chalet_columns::{Buf, Column, Data, List, StringBuilder, Struct, Vector, json, variant};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};
use chalet_types::{DataType, JsonType};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which paths a function lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    All,
    /// Those without a type in the JSON type that the column keeps apart.
    Dynamic,
    /// Those beyond `max_dynamic_paths`.
    Shared,
}

pub struct Paths {
    record: &'static Record,
    which: Which,
    with_types: bool,
}

const BASE: Record = Record { nulls: Nulls::Seen, ..Record::DEFAULT };

macro_rules! paths {
    ($name:literal, $which:ident, $types:literal, $summary:literal, $json:literal => $result:literal) => {
        Paths {
            record: const {
                &Record {
                    name: $name,
                    summary: $summary,
                    syntax: concat!($name, "(json)"),
                    examples: &[Example { sql: concat!("SELECT ", $name, "(", $json, ")"), result: $result }],
                    ..BASE
                }
            },
            which: Which::$which,
            with_types: $types,
        }
    };
}

impl Paths {
    pub const ALL: [Paths; 6] = [
        paths!("JSONAllPaths", All, false, "The paths of a JSON object, sorted.",
            "'{\"b\":1,\"a\":{\"c\":2}}'::JSON" => "['a.c','b']"),
        paths!("JSONAllPathsWithTypes", All, true, "The paths of a JSON object and the types of their values.",
            "'{\"b\":1,\"a\":{\"c\":\"x\"}}'::JSON" => "{'a.c':'String','b':'Int64'}"),
        paths!("JSONDynamicPaths", Dynamic, false, "The paths of a JSON object that are kept apart and have no type in the type of the column.",
            "'{\"b\":1,\"a\":2}'::JSON(a UInt8)" => "['b']"),
        paths!("JSONDynamicPathsWithTypes", Dynamic, true, "The paths of a JSON object that are kept apart and have no type in the type of the column, and the types of their values.",
            "'{\"b\":1,\"a\":2}'::JSON(a UInt8)" => "{'b':'Int64'}"),
        paths!("JSONSharedDataPaths", Shared, false, "The paths of a JSON object that are beyond its max_dynamic_paths.",
            "'{\"b\":1,\"a\":2}'::JSON(max_dynamic_paths = 0)" => "['a','b']"),
        paths!("JSONSharedDataPathsWithTypes", Shared, true, "The paths of a JSON object that are beyond its max_dynamic_paths, and the types of their values.",
            "'{\"b\":1}'::JSON(max_dynamic_paths = 0)" => "{'b':'Int64'}"),
    ];

    /// Are untyped paths listed? Which of them a column keeps apart is known only where it keeps all or none.
    fn lists_untyped(&self, ty: &JsonType, vector: &Vector) -> Result<bool> {
        if self.which == Which::All {
            return Ok(true);
        }
        if ty.max_dynamic_paths == 0 {
            return Ok(self.which == Which::Shared);
        }
        let mut known = BTreeSet::new();
        for (row, object) in vector.strings()?.iter().enumerate() {
            if vector.is_null(row) {
                continue;
            }
            for (path, _) in json::entries(object)? {
                if ty.typed_path(&path).is_none() {
                    known.insert(path);
                }
            }
        }
        ensure!(
            known.len() <= ty.max_dynamic_paths as usize,
            NOT_IMPLEMENTED,
            "{} of objects with more than {} paths is not supported",
            self.record.name,
            ty.max_dynamic_paths
        );
        Ok(self.which == Which::Dynamic)
    }
}

impl ScalarFunction for Paths {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        check_arity(name, args.len(), 1..=1)?;
        ensure!(
            matches!(args[0].ty.without_nullable(), DataType::Json(_)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {name} requires argument with type JSON, got: {}",
            args[0].ty
        );
        Ok(match self.with_types {
            true => DataType::map(DataType::String, DataType::String).into(),
            false => DataType::String.array().into(),
        })
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let vector = call.vector(0);
        let DataType::Json(ty) = call.args[0].ty.without_nullable() else {
            bail!(LOGICAL_ERROR, "{} is not JSON", call.args[0].ty);
        };
        let untyped = self.lists_untyped(ty, vector)?;
        let mut paths = StringBuilder::default();
        let mut types = StringBuilder::default();
        let mut offsets = vec![0i64];
        for (row, object) in vector.strings()?.iter().enumerate() {
            // NULL has the paths that every object of its type has.
            let entries = if vector.is_null(row) { Vec::new() } else { json::entries(object)? };
            let mut all: Vec<(&[u8], String)> = Vec::new();
            for (path, value) in &entries {
                if ty.typed_path(path).is_none() && untyped {
                    let (tag, _) = variant::split(&DataType::DYNAMIC, value)?;
                    let name = tag.strip_suffix(&[0]).unwrap_or(tag);
                    all.push((path, String::from_utf8_lossy(name).into_owned()));
                }
            }
            if self.which == Which::All {
                all.extend(ty.typed.iter().map(|(path, of)| (path.as_bytes(), of.to_string())));
            }
            all.sort();
            for (path, name) in all {
                paths.push(path);
                types.push(name.as_bytes());
            }
            offsets.push(paths.len() as i64);
        }
        let len = paths.len();
        let paths = Vector::from(paths.finish());
        let values = match self.with_types {
            true => Data::Struct(Struct { fields: vec![paths, types.finish().into()], len }).into(),
            false => paths,
        };
        let list = List { offsets: Buf::from_vec(offsets), values: Arc::new(values) };
        Ok(Vector::from(Data::List(list)).into())
    }
}

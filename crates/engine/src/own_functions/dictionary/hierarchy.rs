//! `dictGetHierarchy`, `dictGetRoot`, `dictIsIn`, `dictGetChildren`, `dictGetDescendants`: ways up and down a hierarchy.

use super::lookup::{BASE, Keys, all_null, dictionary, exactly};
use crate::dictionaries::hierarchy::Hierarchy;
use crate::dictionaries::loaded::Loaded;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, List, NullBuffer, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record, Registry};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};
use std::sync::Arc;

struct Lookup {
    loaded: Arc<Loaded>,
    keys: Keys,
    /// Of an ancestor.
    other: Option<Keys>,
    level: u64,
}

impl Lookup {
    fn hierarchy(&self) -> Result<&Hierarchy> {
        match self.loaded.hierarchy()? {
            Some(hierarchy) => Ok(hierarchy),
            None => bail!(UNSUPPORTED_METHOD, "The dictionary does not support hierarchy"),
        }
    }
}

fn lookup(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Lookup> {
    let loaded = dictionary(name, args, ctx)?;
    ensure!(
        loaded.definition.hierarchical().is_some(),
        UNSUPPORTED_METHOD,
        "The dictionary does not support hierarchy"
    );
    let keys = Keys::new(name, &args[1].ty, &loaded.definition)?;
    Ok(Lookup { loaded, keys, other: None, level: 0 })
}

fn bind_one(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Lookup> {
    check_arity(name, args.len(), 2..=2)?;
    lookup(name, args, ctx)
}

fn bind_keys(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    let lookup = bind_one(name, args, ctx)?;
    Ok(Bound::with_state(lookup.keys.result(DataType::UInt64.array()), lookup))
}

fn bind_root(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    let lookup = bind_one(name, args, ctx)?;
    Ok(Bound::with_state(lookup.keys.result(DataType::UInt64), lookup))
}

fn bind_descendants(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=3)?;
    let mut lookup = lookup(name, args, ctx)?;
    if let Some(level) = args.get(2) {
        let constant = level.constant.as_ref().filter(|_| level.ty.bare().is_unsigned());
        let Some(level) = constant.and_then(Value::as_u64) else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type of third argument of function {name}. Expected const unsigned integer"
            );
        };
        lookup.level = level;
    }
    Ok(Bound::with_state(lookup.keys.result(DataType::UInt64.array()), lookup))
}

fn bind_is_in(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=3)?;
    let mut lookup = lookup(name, args, ctx)?;
    let other = Keys::new(name, &args[2].ty, &lookup.loaded.definition)?;
    lookup.keys.is_null |= other.is_null;
    lookup.keys.is_nullable |= other.is_nullable;
    lookup.other = Some(other);
    Ok(Bound::with_state(lookup.keys.result(DataType::UInt8), lookup))
}

/// An array of keys per row.
fn arrays(call: &Call, of: impl Fn(&Hierarchy, &Lookup, u64, &mut Vec<u64>)) -> Result<Column> {
    let lookup: &Lookup = call.state()?;
    if lookup.keys.is_null {
        return Ok(Column::Flat(all_null(call)));
    }
    let hierarchy = lookup.hierarchy()?;
    let (keys, _) = lookup.keys.vectors(call.vector(1), call.ctx)?;
    let mut found = Vec::new();
    let mut offsets: Vec<i64> = vec![0];
    for key in keys[0].values::<u64>()? {
        of(hierarchy, lookup, *key, &mut found);
        offsets.push(found.len() as i64);
    }
    let values = Arc::new(Vector::from(found));
    Ok(Vector::from(Data::List(List { offsets: offsets.into_iter().collect(), values })).into())
}

fn execute_root(call: &Call) -> Result<Column> {
    let lookup: &Lookup = call.state()?;
    if lookup.keys.is_null {
        return Ok(Column::Flat(all_null(call)));
    }
    let hierarchy = lookup.hierarchy()?;
    let (keys, validity) = lookup.keys.vectors(call.vector(1), call.ctx)?;
    let roots = keys[0].values::<u64>()?.iter().map(|key| hierarchy.ancestors(*key).last().copied());
    let roots = Vector::from(roots.map(Option::unwrap_or_default).collect::<Vec<u64>>());
    Ok(Column::Flat(if lookup.keys.is_nullable { roots.with_nulls(validity.as_ref()) } else { roots }))
}

fn execute_is_in(call: &Call) -> Result<Column> {
    let lookup: &Lookup = call.state()?;
    let (Some(other), false) = (&lookup.other, lookup.keys.is_null) else {
        return Ok(Column::Flat(all_null(call)));
    };
    let hierarchy = lookup.hierarchy()?;
    let (keys, validity) = lookup.keys.vectors(call.vector(1), call.ctx)?;
    let from = call.args[2].ty.without_nullable();
    let ancestor = exactly(&call.vector(2).without_nulls(), from, &DataType::UInt64, call.ctx)?;
    let validity = NullBuffer::union(validity.as_ref(), call.vector(2).validity.as_ref());
    let pairs = keys[0].values::<u64>()?.iter().zip(ancestor.values::<u64>()?);
    let is_in: Vec<u8> =
        pairs.map(|(key, ancestor)| u8::from(hierarchy.ancestors(*key).contains(ancestor))).collect();
    let is_in = Vector::from(is_in);
    let nullable = lookup.keys.is_nullable || other.is_nullable;
    Ok(Column::Flat(if nullable { is_in.with_nulls(validity.as_ref()) } else { is_in }))
}

static FUNCTIONS: [Plain; 5] = [
    Plain {
        record: Record {
            name: "dictGetHierarchy",
            summary: "A key of a hierarchical dictionary, its parent, and so on to the top.",
            syntax: "dictGetHierarchy('dictionary', key)",
            ..BASE
        },
        bind: bind_keys,
        execute: |call| arrays(call, |hierarchy, _, key, found| found.extend(hierarchy.ancestors(key))),
    },
    Plain {
        record: Record {
            name: "dictGetRoot",
            summary: "The key at the top of the hierarchy above a key; 0 for a key that the dictionary has not.",
            syntax: "dictGetRoot('dictionary', key)",
            ..BASE
        },
        bind: bind_root,
        execute: execute_root,
    },
    Plain {
        record: Record {
            name: "dictIsIn",
            summary: "1 if the second key is the first, or above it in the hierarchy.",
            syntax: "dictIsIn('dictionary', key, ancestor)",
            ..BASE
        },
        bind: bind_is_in,
        execute: execute_is_in,
    },
    Plain {
        record: Record {
            name: "dictGetChildren",
            summary: "The keys whose parent is this one.",
            syntax: "dictGetChildren('dictionary', key)",
            ..BASE
        },
        bind: bind_keys,
        execute: |call| arrays(call, |hierarchy, _, key, found| found.extend(hierarchy.children(key))),
    },
    Plain {
        record: Record {
            name: "dictGetDescendants",
            summary: "The keys below this one, or those so many levels below.",
            syntax: "dictGetDescendants('dictionary', key[, level])",
            ..BASE
        },
        bind: bind_descendants,
        execute: |call| {
            arrays(call, |hierarchy, lookup, key, found| {
                found.extend(hierarchy.descendants(key, lookup.level));
            })
        },
    },
];

pub(super) fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}

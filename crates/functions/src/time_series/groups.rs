//! From tags to groups and identifiers, and back.

use super::arguments::{check_group, check_tags, tags_column, tags_of, tags_type};
use super::tags::{Known, Tags, shown};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::rows::RowCodec;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, Registry, Volatility,
};
use chalet_types::DataType;

/// What a query numbers is asked row by row, and never folded: a number means nothing outside of it.
pub const BASE: Record =
    Record { dictionaries: Dictionaries::Decoded, volatility: Volatility::PerRow, ..Record::DEFAULT };

static TAGS_TO_GROUP: Plain = Plain {
    record: Record {
        name: "timeSeriesTagsToGroup",
        summary: "The number that the query gives to a set of tags.",
        syntax: "timeSeriesTagsToGroup(tags_array, tag_name_1, tag_value_1, ...)",
        examples: &[Example {
            sql: "SELECT timeSeriesTagsToGroup([('region', 'eu')], 'env', 'dev')",
            result: "1",
        }],
        nulls: Nulls::Seen,
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_tags(name, args, 0)?;
        Ok(DataType::UInt64.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let all = tags_of("timeSeriesTagsToGroup", call, 0)?;
        let known = call.ctx.shared.get::<Known>();
        let mut groups = known.lock();
        let numbers: Vec<u64> = all.into_iter().map(|tags| groups.number(tags)).collect();
        Ok(Vector::from(numbers).into())
    },
};

static TAGS_TO_MAP: Plain = Plain {
    record: Record {
        name: "timeSeriesTagsToMap",
        summary: "A set of tags as a map.",
        syntax: "timeSeriesTagsToMap(tags_array, tag_name_1, tag_value_1, ...)",
        examples: &[Example {
            sql: "SELECT timeSeriesTagsToMap([('region', 'eu')], 'env', 'dev')",
            result: "{'env':'dev','region':'eu'}",
        }],
        nulls: Nulls::Seen,
        dictionaries: Dictionaries::Decoded,
        ..Record::DEFAULT
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_tags(name, args, 0)?;
        Ok(DataType::map(DataType::String, DataType::String).into())
    },
    execute: |call: &Call| -> Result<Column> {
        tags_column(call.result, &tags_of("timeSeriesTagsToMap", call, 0)?)
    },
};

fn sets(call: &Call, index: usize) -> Result<Vec<Tags>> {
    let known = call.ctx.shared.get::<Known>();
    let groups = known.lock();
    call.vector(index).values::<u64>()?.iter().map(|&group| groups.tags(group)).collect()
}

static GROUP_TO_TAGS: Plain = Plain {
    record: Record {
        name: "timeSeriesGroupToTags",
        aliases: &["timeSeriesTagsGroupToTags"],
        summary: "The tags of a group.",
        syntax: "timeSeriesGroupToTags(group)",
        examples: &[Example {
            sql: "SELECT timeSeriesGroupToTags(timeSeriesTagsToGroup([('b', '2')], 'a', '1'))",
            result: "[('a','1'),('b','2')]",
        }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        check_group(name, args, 0)?;
        Ok(tags_type().into())
    },
    execute: |call: &Call| -> Result<Column> { tags_column(call.result, &sets(call, 0)?) },
};

static THROW: Plain = Plain {
    record: Record {
        name: "timeSeriesThrowDuplicateSeriesIf",
        summary: "Fails where the condition is true: several series have the tags of the group.",
        syntax: "timeSeriesThrowDuplicateSeriesIf(condition, group)",
        examples: &[Example { sql: "SELECT timeSeriesThrowDuplicateSeriesIf(0, 0::UInt64)", result: "0" }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 2..=2)?;
        ensure!(
            args[0].ty.is_number(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function {name} must be a number (passed: {})",
            args[0].ty
        );
        check_group(name, args, 1)?;
        Ok(DataType::UInt8.into())
    },
    execute: |call: &Call| -> Result<Column> {
        let zero = Vector::defaults(call.args[0].ty, 1);
        let condition = call.vector(0);
        if let Some(row) = (0..call.n_rows).find(|&row| condition.compare(row, &zero, 0).is_ne()) {
            let known = call.ctx.shared.get::<Known>();
            let tags = known.lock().tags(call.vector(1).values::<u64>()?[row])?;
            bail!(
                CANNOT_EXECUTE_PROMQL_QUERY,
                "Multiple series have the same tags {}, duplicate series in the same result set are not allowed",
                shown(&tags)
            );
        }
        Ok(Vector::from(vec![0u8; call.n_rows]).into())
    },
};

/// The bytes that identifiers are known by: the type belongs to them.
fn identifiers(ty: &DataType, vector: &Vector) -> Vec<Vec<u8>> {
    let bare = ty.without_nullable();
    let codec = RowCodec::new(bare);
    let prefix = bare.to_string().into_bytes();
    let plain = vector.without_nulls();
    let identifier = |row| {
        let mut bytes = prefix.clone();
        codec.put(&plain, row, &mut bytes);
        bytes
    };
    (0..vector.len()).map(identifier).collect()
}

fn shown_value(vector: &Vector, ty: &DataType, row: usize) -> String {
    match vector.value(row) {
        value if value.as_i256().is_some() && !ty.is_decimal() => {
            value.as_i256().unwrap_or_default().to_string()
        }
        value => value.as_str().map_or_else(|| format!("of type {ty}"), String::from),
    }
}

static STORE_TAGS: Plain = Plain {
    record: Record {
        name: "timeSeriesStoreTags",
        summary: "Remembers the tags of the series of an identifier for the rest of the query, and returns the identifier.",
        syntax: "timeSeriesStoreTags(id, tags_array, tag_name_1, tag_value_1, ...)",
        examples: &[Example {
            sql: "SELECT timeSeriesStoreTags(7, [('a', '1')]) AS id, timeSeriesIdToTags(id)",
            result: "7\t[('a','1')]",
        }],
        nulls: Nulls::Seen,
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_tags(name, args, 1)?;
        ensure!(
            !args[0].ty.is_only_null(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument #1 of function {name} has wrong type {}, it must be a comparable non-Nullable type",
            args[0].ty
        );
        Ok(args[0].ty.clone().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let (ty, ids) = (call.args[0].ty, call.vector(0));
        let all = tags_of("timeSeriesStoreTags", call, 1)?;
        let known = call.ctx.shared.get::<Known>();
        let mut groups = known.lock();
        for (row, (bytes, tags)) in identifiers(ty, ids).into_iter().zip(all).enumerate() {
            if !ids.is_null(row) {
                groups.store(&bytes, tags, || shown_value(ids, ty, row))?;
            }
        }
        Ok(ids.clone().into())
    },
};

/// The groups of identifiers.
fn stored(call: &Call) -> Result<Vec<u64>> {
    let (ty, ids) = (call.args[0].ty, call.vector(0));
    let known = call.ctx.shared.get::<Known>();
    let groups = known.lock();
    let group = |(row, bytes): (usize, Vec<u8>)| {
        groups
            .of_identifier(&bytes)
            .ok_or_else(|| err!(BAD_ARGUMENTS, "Unknown identifier {}", shown_value(ids, ty, row)))
    };
    identifiers(ty, ids).into_iter().enumerate().map(group).collect()
}

static ID_TO_GROUP: Plain = Plain {
    record: Record {
        name: "timeSeriesIdToGroup",
        aliases: &["timeSeriesIdToTagsGroup"],
        summary: "The group of the tags that timeSeriesStoreTags remembers of an identifier.",
        syntax: "timeSeriesIdToGroup(id)",
        examples: &[Example {
            sql: "SELECT timeSeriesIdToGroup(timeSeriesStoreTags(7, [('a', '1')]))",
            result: "1",
        }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        Ok(DataType::UInt64.into())
    },
    execute: |call: &Call| -> Result<Column> { Ok(Vector::from(stored(call)?).into()) },
};

static ID_TO_TAGS: Plain = Plain {
    record: Record {
        name: "timeSeriesIdToTags",
        summary: "The tags that timeSeriesStoreTags remembers of an identifier.",
        syntax: "timeSeriesIdToTags(id)",
        examples: &[Example {
            sql: "SELECT timeSeriesIdToTags(timeSeriesStoreTags(7, [('a', '1')]))",
            result: "[('a','1')]",
        }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 1..=1)?;
        Ok(tags_type().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let numbers = stored(call)?;
        let known = call.ctx.shared.get::<Known>();
        let groups = known.lock();
        let all: Result<Vec<Tags>> = numbers.into_iter().map(|group| groups.tags(group)).collect();
        tags_column(call.result, &all?)
    },
};

static EXTRACT: Plain = Plain {
    record: Record {
        name: "timeSeriesExtractTag",
        summary: "The value of a tag of a group, or NULL.",
        syntax: "timeSeriesExtractTag(group, tag_to_extract)",
        examples: &[Example {
            sql: "SELECT timeSeriesExtractTag(timeSeriesTagsToGroup([('a', '1')]), 'a')",
            result: "1",
        }],
        constants: Constants::Seen,
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| -> Result<Bound> {
        check_arity(name, args.len(), 2..=2)?;
        check_group(name, args, 0)?;
        super::arguments::check_text(name, args, 1, false)?;
        Ok(DataType::String.nullable().into())
    },
    execute: |call: &Call| -> Result<Column> {
        let tag = super::arguments::constant(call, 1, "timeSeriesExtractTag")?;
        let known = call.ctx.shared.get::<Known>();
        let groups = known.lock();
        let numbers = call.natives::<u64>(0)?;
        let mut out = chalet_columns::Builder::new(call.result);
        for row in 0..call.n_rows {
            match super::tags::value_of(&groups.tags(numbers.get(row))?, tag) {
                Some(value) => out.push_value(&chalet_types::Value::string(value))?,
                None => out.push_default(),
            }
        }
        Ok(out.finish().into())
    },
};

pub fn register(registry: &mut Registry) {
    let functions = [
        &TAGS_TO_GROUP,
        &TAGS_TO_MAP,
        &GROUP_TO_TAGS,
        &THROW,
        &STORE_TAGS,
        &ID_TO_GROUP,
        &ID_TO_TAGS,
        &EXTRACT,
    ];
    functions.into_iter().for_each(|function| registry.add_scalar(function));
}

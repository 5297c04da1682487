//! Groups of other tags, as the operators of PromQL make them.

use super::arguments::{check_group, check_text, constant, constants};
use super::groups::BASE;
use super::tags::{Groups, Known, Tags, set_of, value_of};
use crate::plain::Plain;
use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Registry};
use chalet_types::DataType;
use regex::bytes::Regex;

/// What an argument is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Group,
    Text,
    Strings,
}

fn bind(name: &str, args: &[Argument], kinds: &[Kind]) -> Result<Bound> {
    check_arity(name, args.len(), kinds.len()..=kinds.len())?;
    for (index, kind) in kinds.iter().enumerate() {
        match kind {
            Kind::Group => check_group(name, args, index)?,
            Kind::Text => check_text(name, args, index, false)?,
            Kind::Strings => check_text(name, args, index, true)?,
        }
    }
    Ok(DataType::UInt64.into())
}

/// The groups of changed tags; groups that come again are changed once.
fn change(call: &Call, changed: impl Fn(&Groups, u64, &Tags) -> Result<Tags>) -> Result<Column> {
    let known = call.ctx.shared.get::<Known>();
    let mut groups = known.lock();
    let numbers = call.natives::<u64>(0)?;
    let mut done: HashMap<(u64, u64), u64> = HashMap::default();
    let other = if call.args.len() > 1 && *call.args[1].ty == DataType::UInt64 { 1 } else { 0 };
    let others = call.natives::<u64>(other)?;
    let mut result = Vec::with_capacity(call.n_rows);
    for row in 0..call.n_rows {
        let key = (numbers.get(row), others.get(row));
        let number = match done.get(&key) {
            Some(number) => *number,
            None => {
                let tags = groups.tags(key.0)?;
                let tags = changed(&groups, key.1, &tags)?;
                let number = groups.number(tags);
                done.insert(key, number);
                number
            }
        };
        result.push(number);
    }
    Ok(Vector::from(result).into())
}

/// The tags with other values of some.
fn replaced<'a>(tags: &Tags, by: &[(&'a [u8], Option<&'a [u8]>)]) -> Result<Tags> {
    let is_replaced = |name: &[u8]| by.iter().any(|(replaced, _)| *replaced == name);
    let kept = tags.iter().map(|(name, value)| (&**name, &**value)).filter(|(name, _)| !is_replaced(name));
    let new = by.iter().filter_map(|&(name, value)| Some((name, value?)));
    set_of("timeSeriesReplaceTag", kept.chain(new))
}

fn copy(call: &Call, names: &[&[u8]]) -> Result<Column> {
    change(call, |groups, source, tags| {
        let source = groups.tags(source)?;
        let new: Vec<_> = names.iter().map(|&name| (name, value_of(&source, name))).collect();
        replaced(tags, &new)
    })
}

fn keep(call: &Call, is_kept: impl Fn(&[u8]) -> bool) -> Result<Column> {
    change(call, |_, _, tags| Ok(tags.iter().filter(|(name, _)| is_kept(name)).cloned().collect()))
}

macro_rules! editors {
    ($($function:ident, $name:literal, $summary:literal, $arguments:literal, [$($kind:ident),*], $example:literal => $result:literal, $execute:expr;)*) => {
        $(static $function: Plain = Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(", $arguments, ")"),
                examples: &[Example {
                    sql: concat!("WITH timeSeriesTagsToGroup([('a', '1'), ('b', '2')]) AS g, \
                                  timeSeriesTagsToGroup([('b', '3')]) AS h SELECT timeSeriesGroupToTags(", $name, "(", $example, "))"),
                    result: $result,
                }],
                constants: Constants::Seen,
                ..BASE
            },
            bind: |name: &'static str, args: &[Argument], _: &Context| bind(name, args, &[$(Kind::$kind),*]),
            execute: |call: &Call| -> Result<Column> {
                let execute: fn(&Call, &'static str) -> Result<Column> = $execute;
                execute(call, $name)
            },
        };)*

        pub fn register(registry: &mut Registry) {
            $(registry.add_scalar(&$function);)*
        }
    };
}

editors! {
    COPY_TAG, "timeSeriesCopyTag", "The group with a tag as it is in another group.", "dest_group, src_group, tag_to_copy",
        [Group, Group, Text], "g, h, 'b'" => "[('a','1'),('b','3')]",
        |call, name| copy(call, &[constant(call, 2, name)?]);
    COPY_TAGS, "timeSeriesCopyTags", "The group with tags as they are in another group.", "dest_group, src_group, tags_to_copy",
        [Group, Group, Strings], "g, h, ['a', 'b']" => "[('b','3')]",
        |call, name| copy(call, &constants(call, 2, name)?);
    REMOVE_TAG, "timeSeriesRemoveTag", "The group without a tag.", "group, tag_to_remove",
        [Group, Text], "g, 'a'" => "[('b','2')]",
        |call, name| {
            let removed = constant(call, 1, name)?;
            keep(call, |tag| tag != removed)
        };
    REMOVE_TAGS, "timeSeriesRemoveTags", "The group without some tags.", "group, tags_to_remove",
        [Group, Strings], "g, ['a', 'c']" => "[('b','2')]",
        |call, name| {
            let removed = constants(call, 1, name)?;
            keep(call, |tag| !removed.contains(&tag))
        };
    REMOVE_OTHERS, "timeSeriesRemoveAllTagsExcept", "The group of only some tags.", "group, tags_to_keep",
        [Group, Strings], "g, ['a', 'c']" => "[('a','1')]",
        |call, name| {
            let kept = constants(call, 1, name)?;
            keep(call, |tag| kept.contains(&tag))
        };
    JOIN, "timeSeriesJoinTags", "The group with a tag whose value is those of others, joined.", "group, dest_tag, separator, src_tags",
        [Group, Text, Text, Strings], "g, 'c', '-', ['a', 'b']" => "[('a','1'),('b','2'),('c','1-2')]",
        |call, name| {
            let (to, separator) = (constant(call, 1, name)?, constant(call, 2, name)?);
            let from = constants(call, 3, name)?;
            change(call, |_, _, tags| {
                let values: Vec<&[u8]> = from.iter().map(|tag| value_of(tags, tag).unwrap_or_default()).collect();
                replaced(tags, &[(to, Some(&values.join(separator)))])
            })
        };
    REPLACE, "timeSeriesReplaceTag", "The group with a tag made of what a regular expression finds in another.",
        "group, dest_tag, replacement, src_tag, regex",
        [Group, Text, Text, Text, Text], "g, 'c', 'x$1', 'a', '(.*)'" => "[('a','1'),('b','2'),('c','x1')]",
        |call, name| {
            let (to, replacement, from) = (constant(call, 1, name)?, constant(call, 2, name)?, constant(call, 3, name)?);
            let regex = whole(constant(call, 4, name)?)?;
            change(call, |_, _, tags| {
                let Some(found) = regex.captures(value_of(tags, from).unwrap_or_default()) else {
                    return Ok(tags.clone());
                };
                let mut value = Vec::new();
                found.expand(replacement, &mut value);
                replaced(tags, &[(to, Some(&value))])
            })
        };
}

/// A regular expression that has to match all of a value.
fn whole(text: &[u8]) -> Result<Regex> {
    let text = String::from_utf8_lossy(text);
    let invalid = |why: regex::Error| err!(BAD_ARGUMENTS, "Invalid regular expression '{text}': {why}");
    // By itself first: a parenthesis must not close the one around it.
    Regex::new(&text).map_err(invalid)?;
    Regex::new(&format!("^(?s:{text})$")).map_err(invalid)
}

//! `multiMatchAny`, `multiMatchAnyIndex`, `multiMatchAllIndices`: several regular expressions on one string.

use super::pattern::Pattern;
use crate::lists::{list, list_of};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, ensure, err};
use chalet_columns::Vector;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::{DataType, Value};
use std::collections::HashMap;
use std::sync::Arc;

pub static ANY: Plain = Plain {
    record: Record {
        name: "multiMatchAny",
        summary: "Whether any of the regular expressions matches in a string.",
        syntax: "multiMatchAny(haystack, [pattern1, ...])",
        examples: &[Example { sql: "SELECT multiMatchAny('Hello', ['x', 'l+'])", result: "1" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt8),
    execute: |call| {
        let mut found = Vec::with_capacity(call.n_rows);
        for_each_row(call, |text, patterns| {
            found.push(u8::from(patterns.iter().any(|p| p.matches(text))));
        })?;
        Ok(Vector::from(found).into())
    },
};

pub static ANY_INDEX: Plain = Plain {
    record: Record {
        name: "multiMatchAnyIndex",
        summary: "The number, from 1, of a regular expression that matches in a string; 0 when none does.",
        syntax: "multiMatchAnyIndex(haystack, [pattern1, ...])",
        examples: &[Example { sql: "SELECT multiMatchAnyIndex('Hello', ['x', 'l+'])", result: "2" }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64),
    execute: |call| {
        let mut found = Vec::with_capacity(call.n_rows);
        for_each_row(call, |text, patterns| {
            found.push(patterns.iter().position(|p| p.matches(text)).map_or(0, |i| i as u64 + 1));
        })?;
        Ok(Vector::from(found).into())
    },
};

pub static ALL_INDICES: Plain = Plain {
    record: Record {
        name: "multiMatchAllIndices",
        summary: "The numbers, from 1, of all regular expressions that match in a string.",
        syntax: "multiMatchAllIndices(haystack, [pattern1, ...])",
        examples: &[Example {
            sql: "SELECT multiMatchAllIndices('Hello', ['H', 'x', 'l+'])",
            result: "[1,3]",
        }],
        constants: Constants::Seen,
        ..Record::DEFAULT
    },
    bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64.array()),
    execute: |call| {
        let (mut indices, mut offsets): (Vec<u64>, Vec<i64>) = (Vec::new(), vec![0]);
        for_each_row(call, |text, patterns| {
            let matching = patterns.iter().enumerate().filter(|(_, p)| p.matches(text));
            indices.extend(matching.map(|(i, _)| i as u64 + 1));
            offsets.push(indices.len() as i64);
        })?;
        Ok(list(offsets, indices.into()).into())
    },
};

/// The patterns; `None` where each row has its own.
struct Patterns(Option<Vec<Arc<Pattern>>>);

/// Calls a function with the text and the patterns of each row.
fn for_each_row(call: &Call, mut look: impl FnMut(&[u8], &[Arc<Pattern>])) -> Result<()> {
    let (Patterns(patterns), texts) = (call.state()?, StringArg::of(call, 0)?);
    if let Some(patterns) = patterns {
        (0..call.n_rows).for_each(|row| look(texts.get(row), patterns));
        return Ok(());
    }
    ensure!(
        !call.args[0].constant,
        ILLEGAL_COLUMN,
        "Functions of several patterns do not search a constant haystack for patterns that are none"
    );
    let list = list_of(&call.args[1], call.n_rows)?;
    let values = list.values.strings()?;
    let mut known: HashMap<&[u8], Arc<Pattern>> = HashMap::new();
    for row in 0..call.n_rows {
        let range = list.range(row);
        check_patterns(range.clone().map(|i| values.get(i)), call.ctx)?;
        let mut patterns = Vec::with_capacity(range.len());
        for text in range.map(|i| values.get(i)) {
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            if !known.contains_key(text) {
                known.insert(text, Arc::new(compiled(text)?));
            }
            patterns.push(known[text].clone());
        }
        look(texts.get(row), &patterns);
    }
    Ok(())
}

/// So many compiled patterns are kept while rows have patterns of their own.
const MOST_KNOWN: usize = 1000;

/// Fails where the settings forbid what the kernel's library of several patterns, Vectorscan, would be asked.
pub fn check_allowed(ctx: &Context) -> Result<()> {
    ensure!(
        setting(ctx, "allow_hyperscan").is_none_or(|allowed| allowed != 0),
        FUNCTION_NOT_ALLOWED,
        "Hyperscan functions are disabled, because setting 'allow_hyperscan' is set to 0"
    );
    Ok(())
}

fn setting(ctx: &Context, name: &str) -> Option<u64> {
    ctx.settings.all.0(name).and_then(|(value, _)| value.as_u64())
}

/// Repetitions of more than this are slow in that library.
const MANY_REPETITIONS: u64 = 50;

/// Does a number in braces ask for many repetitions?
fn is_slow(pattern: &[u8]) -> bool {
    let text = String::from_utf8_lossy(pattern);
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).any(|(inside, _)| {
        let bounds = inside.split_once(',').unwrap_or((inside, ""));
        [bounds.0, bounds.1].iter().all(|n| n.bytes().all(|b| b.is_ascii_digit()))
            && !bounds.0.is_empty()
            && [bounds.0, bounds.1].iter().any(|n| n.parse().is_ok_and(|n: u64| n > MANY_REPETITIONS))
    })
}

/// Checks the limits of patterns.
pub fn check_patterns<'a>(patterns: impl Iterator<Item = &'a [u8]>, ctx: &Context) -> Result<()> {
    let longest = setting(ctx, "max_hyperscan_regexp_length").unwrap_or(0);
    let most = setting(ctx, "max_hyperscan_regexp_total_length").unwrap_or(0);
    let rejects = setting(ctx, "reject_expensive_hyperscan_regexps").is_none_or(|rejects| rejects != 0);
    let mut total = 0;
    for pattern in patterns {
        let len = pattern.len() as u64;
        ensure!(longest == 0 || len <= longest, BAD_ARGUMENTS, "Regexp length too large ({len} > {longest})");
        total += len;
        ensure!(
            most == 0 || total <= most,
            BAD_ARGUMENTS,
            "Total regexp lengths too large ({total} > {most})"
        );
        ensure!(
            !rejects || !is_slow(pattern),
            HYPERSCAN_CANNOT_SCAN_TEXT,
            "Regular expression evaluation in vectorscan will be too slow. To ignore this error, disable setting \
             'reject_expensive_hyperscan_regexps'"
        );
    }
    Ok(())
}

/// A pattern, whose errors have another code here.
fn compiled(pattern: &[u8]) -> Result<Pattern> {
    Pattern::of_regexp(pattern, "").map_err(|error| {
        let text = String::from_utf8_lossy(pattern);
        err!(BAD_ARGUMENTS, "Pattern '{text}' failed with error '{}'", error.message())
    })
}

fn bind(name: &'static str, args: &[Argument], ctx: &Context, result: DataType) -> Result<Bound> {
    check_allowed(ctx)?;
    check_arity(name, args.len(), 2..=2)?;
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument of function {name}",
        args[0].ty
    );
    ensure!(
        matches!(args[1].ty.element(), Some(DataType::String)),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument of function {name}",
        args[1].ty
    );
    let Some(Value::Array(items)) = &args[1].constant else {
        return Ok(Bound::with_state(result, Patterns(None)));
    };
    check_patterns(items.iter().filter_map(Value::as_bytes), ctx)?;
    let patterns = items.iter().filter_map(Value::as_bytes).map(|text| compiled(text).map(Arc::new));
    Ok(Bound::with_state(result, Patterns(Some(patterns.collect::<Result<_>>()?))))
}

//! `multiFuzzyMatchAny`, `multiFuzzyMatchAnyIndex`, `multiFuzzyMatchAllIndices`: several regular expressions on one string, each
//! within an edit distance.

use super::fuzzy::Fuzzy;
use super::multi_match::{check_allowed, check_patterns};
use crate::lists::{list, list_of};
use crate::plain::Plain;
use crate::string_args::StringArg;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, Registry};
use chalet_types::{DataType, Value};

/// The edits that are allowed, and the patterns where they are constant.
struct Patterns {
    edits: u32,
    constant: Option<Vec<Fuzzy>>,
}

fn bind(name: &str, args: &[Argument], ctx: &Context, result: DataType) -> Result<Bound> {
    check_allowed(ctx)?;
    check_arity(name, args.len(), 3..=3)?;
    let fits = [
        args[0].ty == DataType::String,
        args[1].ty.is_unsigned(),
        matches!(args[2].ty.element(), Some(DataType::String)),
    ];
    if let Some(wrong) = fits.iter().position(|fits| !fits) {
        bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {} of argument of function {name}", args[wrong].ty);
    }
    let Some(edits) = args[1].constant.as_ref().and_then(Value::as_u64) else {
        bail!(ILLEGAL_COLUMN, "Argument at index 1 for function {name} must be constant");
    };
    let edits = u32::try_from(edits).unwrap_or(u32::MAX);
    let constant = match &args[2].constant {
        Some(Value::Array(items)) => {
            check_patterns(items.iter().filter_map(Value::as_bytes), ctx)?;
            let patterns = items.iter().filter_map(Value::as_bytes).map(|text| Fuzzy::new(text, edits));
            Some(patterns.collect::<Result<Vec<_>>>()?)
        }
        _ => None,
    };
    ensure!(
        constant.is_some() || args[0].constant.is_none(),
        ILLEGAL_COLUMN,
        "Function '{name}' doesn't support search with non-constant needles in constant haystack"
    );
    Ok(Bound::with_state(result, Patterns { edits, constant }))
}

/// Texts from which on a table, which takes up to a millisecond, is worth its making.
const MANY: usize = 4096;

fn prepare(patterns: &[Fuzzy], n_rows: usize) {
    if n_rows >= MANY {
        patterns.iter().for_each(Fuzzy::prepare);
    }
}

/// Calls back for each row whether a pattern matches.
fn each_row_any(call: &Call, mut row_matches: impl FnMut(bool)) -> Result<()> {
    let (state, texts) = (call.state::<Patterns>()?, StringArg::of(call, 0)?);
    let Some(patterns) = &state.constant else {
        return each_row(call, |numbers| row_matches(!numbers.is_empty()));
    };
    prepare(patterns, call.n_rows);
    for row in 0..call.n_rows {
        row_matches(patterns.iter().any(|pattern| pattern.earliest_end(texts.get(row)).is_some()));
    }
    Ok(())
}

/// Calls back for each row with the numbers from 1 of the patterns that match, the one first whose match ends first.
fn each_row(call: &Call, mut row_matches: impl FnMut(&[u64])) -> Result<()> {
    let (state, texts) = (call.state::<Patterns>()?, StringArg::of(call, 0)?);
    let (mut ends, mut numbers) = (Vec::new(), Vec::new());
    let mut matching = |patterns: &[Fuzzy], text: &[u8]| {
        ends.clear();
        let matches = patterns.iter().enumerate();
        ends.extend(matches.filter_map(|(i, p)| Some((p.earliest_end(text)?, i as u64 + 1))));
        ends.sort_unstable();
        numbers.clear();
        numbers.extend(ends.iter().map(|(_, number)| *number));
        row_matches(&numbers);
    };
    if let Some(patterns) = &state.constant {
        prepare(patterns, call.n_rows);
        (0..call.n_rows).for_each(|row| matching(patterns, texts.get(row)));
        return Ok(());
    }
    let needles = list_of(&call.args[2], call.n_rows)?;
    let strings = needles.values.strings()?;
    for (row, range) in needles.ranges().enumerate() {
        let patterns: Result<Vec<Fuzzy>> = range.map(|at| Fuzzy::new(strings.get(at), state.edits)).collect();
        matching(&patterns?, texts.get(row));
    }
    Ok(())
}

fn any(call: &Call) -> Result<Column> {
    let mut found: Vec<u8> = Vec::with_capacity(call.n_rows);
    each_row_any(call, |matches| found.push(u8::from(matches)))?;
    Ok(Vector::from(found).into())
}

fn any_index(call: &Call) -> Result<Column> {
    let mut found: Vec<u64> = Vec::with_capacity(call.n_rows);
    each_row(call, |numbers| found.push(numbers.first().copied().unwrap_or(0)))?;
    Ok(Vector::from(found).into())
}

fn all_indices(call: &Call) -> Result<Column> {
    let (mut found, mut offsets): (Vec<u64>, Vec<i64>) = (Vec::new(), vec![0]);
    each_row(call, |numbers| {
        found.extend_from_slice(numbers);
        offsets.push(found.len() as i64);
    })?;
    Ok(list(offsets, found.into()).into())
}

static FUNCTIONS: [Plain; 3] = [
    Plain {
        record: Record {
            name: "multiFuzzyMatchAny",
            summary: "Whether any of the regular expressions matches in a string within an edit distance (in bytes).",
            syntax: "multiFuzzyMatchAny(haystack, distance, [pattern1, ...])",
            examples: &[Example {
                sql: "SELECT multiFuzzyMatchAny('Hallo, world', 2, ['Hello, w.*d'])",
                result: "1",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt8),
        execute: any,
    },
    Plain {
        record: Record {
            name: "multiFuzzyMatchAnyIndex",
            summary: "The number, from 1, of the regular expression whose match within an edit distance (in bytes) ends first; 0 when none \
                      matches.",
            syntax: "multiFuzzyMatchAnyIndex(haystack, distance, [pattern1, ...])",
            examples: &[Example {
                sql: "SELECT multiFuzzyMatchAnyIndex('Hallo, world', 1, ['abcd', 'Hello'])",
                result: "2",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64),
        execute: any_index,
    },
    Plain {
        record: Record {
            name: "multiFuzzyMatchAllIndices",
            summary: "The numbers, from 1, of all regular expressions that match in a string within an edit distance (in bytes).",
            syntax: "multiFuzzyMatchAllIndices(haystack, distance, [pattern1, ...])",
            examples: &[Example {
                sql: "SELECT multiFuzzyMatchAllIndices('Hallo, world', 1, ['Hello', 'abcd', 'worlds'])",
                result: "[1,3]",
            }],
            constants: Constants::Seen,
            ..Record::DEFAULT
        },
        bind: |name, args, ctx| bind(name, args, ctx, DataType::UInt64.array()),
        execute: all_indices,
    },
];

pub fn register(registry: &mut Registry) {
    for function in &FUNCTIONS {
        registry.add_scalar(function);
    }
}

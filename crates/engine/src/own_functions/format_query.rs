//! `formatQuery` and its variants: a statement in the layout of the printer.

use chalet_base::{Result, bail, ensure};
use chalet_columns::{BooleanBuffer, Column, NullBuffer, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_functions::plain::Plain;
use chalet_syntax::{parse_statements, print};
use chalet_types::DataType;

fn formatted(query: &[u8], many_lines: bool) -> Result<String> {
    let text = String::from_utf8_lossy(query);
    let statements = parse_statements(&text)?;
    let [statement] = &statements[..] else {
        bail!(SYNTAX_ERROR, "Syntax error (Multi-statements are not allowed)");
    };
    Ok(print::without_data(statement, many_lines))
}

fn bind(name: &'static str, args: &[Argument], or_null: bool) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'query' to function '{name}'. Expected: String, got: {}",
        args[0].ty
    );
    Ok(if or_null { DataType::String.nullable() } else { DataType::String }.into())
}

fn execute(call: &Call, many_lines: bool, or_null: bool) -> Result<Column> {
    let mut out = StringBuilder::with_capacity(call.n_rows);
    let mut valid = Vec::with_capacity(call.n_rows);
    for query in call.vector(0).strings()?.iter() {
        let text = match formatted(query, many_lines) {
            Ok(text) => Some(text),
            Err(_) if or_null => None,
            Err(error) => return Err(error),
        };
        valid.push(text.is_some());
        out.push(text.unwrap_or_default().as_bytes());
    }
    let validity = or_null.then(|| NullBuffer::new(BooleanBuffer::from(valid)));
    Ok(Vector::new(Vector::from(out.finish()).data, validity).into())
}

macro_rules! variant {
    ($name:literal, $summary:literal, $many_lines:literal, $or_null:literal, $sql:literal => $result:literal) => {
        Plain {
            record: Record {
                name: $name,
                summary: $summary,
                syntax: concat!($name, "(query)"),
                examples: &[Example { sql: $sql, result: $result }],
                ..Record::DEFAULT
            },
            bind: |name, args, _: &Context| bind(name, args, $or_null),
            execute: |call| execute(call, $many_lines, $or_null),
        }
    };
}

static FUNCTIONS: &[Plain] = &[
    variant!("formatQuery", "A statement laid out on several lines.", true, false,
        "SELECT formatQuery('select 1+1')" => "SELECT 1 + 1"),
    variant!("formatQueryOrNull", "As formatQuery; NULL for what is no statement.", true, true,
        "SELECT formatQueryOrNull('select 1 1 1')" => "\\N"),
    variant!("formatQuerySingleLine", "A statement laid out on one line.", false, false,
        "SELECT formatQuerySingleLine('select   a,b from t')" => "SELECT a, b FROM t"),
    variant!("formatQuerySingleLineOrNull", "As formatQuerySingleLine; NULL for what is no statement.", false, true,
        "SELECT formatQuerySingleLineOrNull('select 1 1 1')" => "\\N"),
];

pub(crate) fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}

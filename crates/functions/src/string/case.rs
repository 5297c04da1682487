//! `lower` and `upper`: the case of ASCII letters.

use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, Data, Fixed, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};

pub static LOWER: Plain = Plain {
    record: Record {
        name: "lower",
        aliases: &["lcase"],
        case_insensitive: true,
        summary: "The string with its ASCII letters in lower case.",
        syntax: "lower(s)",
        examples: &[Example { sql: "SELECT lower('ClickHouse')", result: "clickhouse" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, <[u8]>::make_ascii_lowercase),
};

pub static UPPER: Plain = Plain {
    record: Record {
        name: "upper",
        aliases: &["ucase"],
        case_insensitive: true,
        summary: "The string with its ASCII letters in upper case.",
        syntax: "upper(s)",
        examples: &[Example { sql: "SELECT upper('ClickHouse')", result: "CLICKHOUSE" }],
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute: |call| execute(call, <[u8]>::make_ascii_uppercase),
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    match &args[0].ty {
        ty if ty.is_string() => Ok(ty.clone().into()),
        ty => bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}"),
    }
}

fn execute(call: &Call, change: fn(&mut [u8])) -> Result<Column> {
    let data = match &call.vector(0).data {
        Data::Fixed(fixed) => {
            let mut bytes = fixed.bytes.to_vec();
            change(&mut bytes);
            Data::Fixed(Fixed { width: fixed.width, bytes: bytes.into() })
        }
        _ => {
            let strings = call.vector(0).strings()?;
            let mut out = StringBuilder::with_capacity(strings.len());
            for text in strings.iter() {
                out.push_with(|bytes| {
                    let start = bytes.len();
                    bytes.extend_from_slice(text);
                    change(&mut bytes[start..]);
                });
            }
            Data::Str(out.finish())
        }
    };
    Ok(Vector::from(data).into())
}

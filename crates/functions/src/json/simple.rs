//! Functions that look for `"key":` in JSON written without spaces, without parsing it: `simpleJSONExtractInt` and
//! its kin.

use super::document;
use crate::plain::Plain;
use crate::search::position::find_prepared;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Native, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

/// What is looked for: the key with its quotes and the colon.
struct Needle(Vec<u8>);

fn bind(name: &'static str, args: &[Argument], result: DataType) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    for arg in args {
        ensure!(
            arg.ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}, expected String",
            arg.ty
        );
    }
    let Some(key) = args[1].constant.as_ref().and_then(|key| key.as_bytes()) else {
        bail!(ILLEGAL_COLUMN, "Second argument of function {name} must be a constant string");
    };
    Ok(Bound::with_state(result, Needle([b"\"", key, b"\":"].concat())))
}

/// The text behind the first place where the key stands, in each row.
fn behind<'a>(call: &'a Call) -> Result<impl Iterator<Item = Option<&'a [u8]>>> {
    let needle = &call.state::<Needle>()?.0;
    let finder = memchr::memmem::Finder::new(needle);
    let rows = call.vector(0).strings()?.iter();
    Ok(rows.map(move |json| find_prepared(json, &finder).map(|at| &json[at + needle.len()..])))
}

fn each<R: Native>(call: &Call, f: impl Fn(Option<&[u8]>) -> R) -> Result<Column>
where
    Vector: From<Vec<R>>,
{
    Ok(Vector::from(behind(call)?.map(f).collect::<Vec<R>>()).into())
}

/// The number at the beginning of a text, as far as it reaches.
fn leading(text: &[u8], is_float: bool) -> &str {
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let len = text
        .iter()
        .enumerate()
        .take_while(|&(index, b)| match b {
            b'0'..=b'9' => true,
            b'-' | b'+' => index == 0 || is_float && matches!(text[index - 1], b'e' | b'E'),
            b'.' | b'e' | b'E' => is_float,
            _ => false,
        })
        .count();
    std::str::from_utf8(&text[..len]).unwrap_or_default()
}

fn number<T: std::str::FromStr + Default>(text: Option<&[u8]>, is_float: bool) -> T {
    text.and_then(|text| leading(text, is_float).parse().ok()).unwrap_or_default()
}

/// The value at the beginning of a text, up to the comma or bracket behind it.
fn raw(text: &[u8]) -> Option<&[u8]> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for (index, &b) in text.iter().enumerate() {
        if in_string {
            match b {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match b {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return Some(&text[..index]),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "simpleJSONHas",
            takes_enum: true,
            aliases: &["visitParamHas"],
            summary: "Does a key stand anywhere in JSON without spaces?",
            syntax: "simpleJSONHas(json, key)",
            examples: &[Example { sql: "SELECT simpleJSONHas('{\"a\":1}', 'a')", result: "1" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::UInt8),
        execute: |call| each(call, |text| u8::from(text.is_some())),
    },
    Plain {
        record: Record {
            name: "simpleJSONExtractUInt",
            takes_enum: true,
            aliases: &["visitParamExtractUInt"],
            summary: "The number behind a key of JSON without spaces as UInt64; 0 where there is none.",
            syntax: "simpleJSONExtractUInt(json, key)",
            examples: &[Example { sql: "SELECT simpleJSONExtractUInt('{\"a\":1}', 'a')", result: "1" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::UInt64),
        execute: |call| each(call, |text| number::<u64>(text, false)),
    },
    Plain {
        record: Record {
            name: "simpleJSONExtractInt",
            takes_enum: true,
            aliases: &["visitParamExtractInt"],
            summary: "The number behind a key of JSON without spaces as Int64; 0 where there is none.",
            syntax: "simpleJSONExtractInt(json, key)",
            examples: &[Example { sql: "SELECT simpleJSONExtractInt('{\"a\":-1}', 'a')", result: "-1" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::Int64),
        execute: |call| each(call, |text| number::<i64>(text, false)),
    },
    Plain {
        record: Record {
            name: "simpleJSONExtractFloat",
            takes_enum: true,
            aliases: &["visitParamExtractFloat"],
            summary: "The number behind a key of JSON without spaces as Float64; 0 where there is none.",
            syntax: "simpleJSONExtractFloat(json, key)",
            examples: &[Example { sql: "SELECT simpleJSONExtractFloat('{\"a\":1.5}', 'a')", result: "1.5" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::Float64),
        execute: |call| each(call, |text| number::<f64>(text, true)),
    },
    Plain {
        record: Record {
            name: "simpleJSONExtractBool",
            takes_enum: true,
            aliases: &["visitParamExtractBool"],
            summary: "Does `true` stand behind a key of JSON without spaces?",
            syntax: "simpleJSONExtractBool(json, key)",
            examples: &[Example { sql: "SELECT simpleJSONExtractBool('{\"a\":true}', 'a')", result: "1" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::UInt8),
        execute: |call| each(call, |text| u8::from(text.is_some_and(|text| text.starts_with(b"true")))),
    },
    Plain {
        record: Record {
            name: "simpleJSONExtractRaw",
            aliases: &["visitParamExtractRaw"],
            summary: "The value behind a key of JSON without spaces, as it stands there.",
            syntax: "simpleJSONExtractRaw(json, key)",
            examples: &[Example {
                sql: "SELECT simpleJSONExtractRaw('{\"a\":[1,2]}', 'a')",
                result: "[1,2]",
            }],
            ..Record::DEFAULT
        },
        bind: |name, args, _| bind(name, args, DataType::String),
        execute: |call| {
            let mut out = StringBuilder::with_capacity(call.n_rows);
            behind(call)?.for_each(|text| out.push(text.and_then(raw).unwrap_or_default()));
            Ok(Vector::from(out.finish()).into())
        },
    },
    Plain {
        record: Record {
            name: "simpleJSONExtractString",
            aliases: &["visitParamExtractString"],
            summary: "What the string behind a key of JSON without spaces says; empty where there is none.",
            syntax: "simpleJSONExtractString(json, key)",
            examples: &[Example { sql: "SELECT simpleJSONExtractString('{\"a\":\"x\"}', 'a')", result: "x" }],
            ..Record::DEFAULT
        },
        bind: |name, args, _: &Context| bind(name, args, DataType::String),
        execute: |call| {
            let mut out = StringBuilder::with_capacity(call.n_rows);
            for text in behind(call)? {
                let quoted = text.and_then(|text| text.strip_prefix(b"\""));
                out.push_with(|out| {
                    let start = out.len();
                    if quoted.and_then(|text| document::string(text, out)).is_none() {
                        out.truncate(start);
                    }
                });
            }
            Ok(Vector::from(out.finish()).into())
        },
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}

//! One parameter of a URL by its name: `extractURLParameter`, `cutURLParameter`.

use super::host::until;
use crate::plain::Plain;
use crate::search::position::find_prepared;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::{DataType, Value};
use memchr::memmem::Finder;

/// Searches for the parameters, each with its equals sign.
struct Needles(Vec<Finder<'static>>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 2..=2)?;
    let many = name == "cutURLParameter" && args[1].ty == DataType::String.array();
    let needles = |value: &Value| match value {
        Value::Bytes(text) => Some(vec![[text, &b"="[..]].concat()]),
        Value::Array(items) => {
            items.iter().map(|item| Some([item.as_bytes()?, &b"="[..]].concat())).collect()
        }
        _ => None,
    };
    for (index, arg) in args.iter().enumerate() {
        ensure!(
            arg.ty == DataType::String || index == 1 && many,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument {} of function {name}",
            arg.ty,
            index + 1
        );
    }
    let Some(needles) = args[1].constant.as_ref().and_then(needles) else {
        bail!(ILLEGAL_COLUMN, "Second argument of function {name} must be constant");
    };
    let finders = needles.iter().map(|needle: &Vec<u8>| Finder::new(needle).into_owned());
    Ok(Bound::with_state(DataType::String, Needles(finders.collect())))
}

/// Where a parameter stands, and where its value does.
fn find(url: &[u8], needle: &Finder) -> Option<(usize, std::ops::Range<usize>)> {
    let mut from = until(url, b"?#").len() + 1;
    loop {
        let at = from + find_prepared(url.get(from..)?, needle)?;
        if b"?&#".contains(&url[at - 1]) {
            let value = at + needle.needle().len();
            return Some((at, value..value + until(&url[value..], b"&#").len()));
        }
        from = at + 1;
    }
}

/// Takes a parameter out of a URL, with the ampersand that separates it.
fn cut(url: &mut Vec<u8>, needle: &Finder) {
    let Some((mut start, value)) = find(url, needle) else { return };
    let mut end = value.end;
    if url.get(end) == Some(&b'&') {
        end += 1;
    } else if url[start - 1] == b'&' {
        start -= 1;
    }
    url.drain(start..end);
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "extractURLParameter",
            summary: "The value of a parameter of a URL; empty where it has none of that name.",
            syntax: "extractURLParameter(url, name)",
            examples: &[Example {
                sql: "SELECT extractURLParameter('http://e.com/?a=1&b=2', 'b')",
                result: "2",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call: &Call| -> Result<Column> {
            let Needles(needles) = call.state()?;
            let mut out = StringBuilder::with_capacity(call.n_rows);
            for url in call.vector(0).strings()?.iter() {
                let found = needles.first().and_then(|needle| find(url, needle));
                out.push(found.map_or(b"", |(_, value)| &url[value]));
            }
            Ok(Vector::from(out.finish()).into())
        },
    },
    Plain {
        record: Record {
            name: "cutURLParameter",
            summary: "The URL without a parameter, or without several.",
            syntax: "cutURLParameter(url, name_or_names)",
            examples: &[Example {
                sql: "SELECT cutURLParameter('http://e.com/?a=1&b=2', 'a')",
                result: "http://e.com/?b=2",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call: &Call| -> Result<Column> {
            let Needles(needles) = call.state()?;
            let mut out = StringBuilder::with_capacity(call.n_rows);
            let mut rest = Vec::new();
            for url in call.vector(0).strings()?.iter() {
                rest.clear();
                rest.extend_from_slice(url);
                needles.iter().for_each(|needle| cut(&mut rest, needle));
                out.push(&rest);
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

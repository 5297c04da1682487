//! Functions of URLs that make arrays: parameters, and hierarchies of paths.

use crate::plain::Plain;
use chalet_base::{Result, bail};
use chalet_columns::{Column, StringBuilder, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    if args[0].ty != DataType::String {
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}, must be String",
            args[0].ty
        );
    }
    Ok(DataType::String.array().into())
}

fn find(url: &[u8], from: usize, stops: &[u8]) -> usize {
    url[from..].iter().position(|b| stops.contains(b)).map_or(url.len(), |at| from + at)
}

/// Calls `found` with the parameters of a URL, without their values if `names`.
fn parameters(url: &[u8], names: bool, found: &mut dyn FnMut(&[u8])) {
    let mut at = find(url, 0, b"?#") + 1;
    while at < url.len() {
        let (start, end) = loop {
            let end = find(url, at, b"=&#?");
            match url.get(end) {
                // A name that the URL ends with is no parameter.
                None => return,
                Some(b'?') => at = end + 1,
                _ => break (at, end),
            }
        };
        let behind = find(url, end, b"&#");
        found(&url[start..if names { end } else { behind }]);
        at = behind + 1;
    }
}

/// Where the path of a URL begins: the slash, question mark or number sign behind its host.
fn behind_host(url: &[u8]) -> Option<usize> {
    // Schemes with other letters than these are not known here.
    let scheme = url.iter().take_while(|b| b.is_ascii_lowercase() || b.is_ascii_digit()).count();
    if scheme == 0 || scheme + 3 >= url.len() || !url[scheme..].starts_with(b"://") {
        return None;
    }
    Some(find(url, scheme + 3, b"/?#"))
}

/// Calls `found` with the ends of the levels of a path that begins at `at`.
fn levels(url: &[u8], mut at: usize, found: &mut dyn FnMut(usize)) {
    loop {
        while url.get(at).is_some_and(|b| b"/?#".contains(b)) {
            at += 1;
        }
        if at >= url.len() {
            return;
        }
        at = (find(url, at, b"/?#") + 1).min(url.len());
        found(at);
    }
}

pub fn url_hierarchy(url: &[u8], found: &mut dyn FnMut(&[u8])) {
    if url.is_empty() {
        return;
    }
    let end = behind_host(url).map_or(url.len(), |at| (at + 1).min(url.len()));
    found(&url[..end]);
    levels(url, end, &mut |end| found(&url[..end]));
}

fn path_hierarchy(url: &[u8], found: &mut dyn FnMut(&[u8])) {
    if let Some(start) = behind_host(url) {
        levels(url, start + 1, &mut |end| found(&url[start..end]));
    }
}

fn lists(call: &Call, each: impl Fn(&[u8], &mut dyn FnMut(&[u8]))) -> Result<Column> {
    let mut offsets = Vec::with_capacity(call.n_rows + 1);
    offsets.push(0);
    let mut out = StringBuilder::default();
    for url in call.vector(0).strings()?.iter() {
        each(url, &mut |part| out.push(part));
        offsets.push(out.len() as i64);
    }
    Ok(crate::lists::list(offsets, Vector::from(out.finish())).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "extractURLParameters",
            summary: "The parameters of a URL, each as name=value.",
            syntax: "extractURLParameters(url)",
            examples: &[Example {
                sql: "SELECT extractURLParameters('http://e.com/?a=1&b=2')",
                result: "['a=1','b=2']",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| lists(call, |url, found| parameters(url, false, found)),
    },
    Plain {
        record: Record {
            name: "extractURLParameterNames",
            summary: "The names of the parameters of a URL.",
            syntax: "extractURLParameterNames(url)",
            examples: &[Example {
                sql: "SELECT extractURLParameterNames('http://e.com/?a=1&b=2')",
                result: "['a','b']",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| lists(call, |url, found| parameters(url, true, found)),
    },
    Plain {
        record: Record {
            name: "URLHierarchy",
            summary: "A URL cut off behind each slash, question mark and number sign of its path.",
            syntax: "URLHierarchy(url)",
            examples: &[Example {
                sql: "SELECT URLHierarchy('https://e.com/a/b')",
                result: "['https://e.com/','https://e.com/a/','https://e.com/a/b']",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| lists(call, url_hierarchy),
    },
    Plain {
        record: Record {
            name: "URLPathHierarchy",
            summary: "The path of a URL cut off behind each of its slashes, question marks and number signs.",
            syntax: "URLPathHierarchy(url)",
            examples: &[Example {
                sql: "SELECT URLPathHierarchy('https://e.com/a/b')",
                result: "['/a/','/a/b']",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| lists(call, path_hierarchy),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}

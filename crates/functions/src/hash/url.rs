//! `URLHash`: a hash of a URL, or of one level of its hierarchy, that a closing separator does not change.

use super::city::city_hash64;
use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::StringArg;
use crate::url::lists::url_hierarchy;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "URLHash",
        summary: "cityHash64 of a URL without one trailing slash, question mark or number sign; with a number, of that level of URLHierarchy, counted from 0.",
        syntax: "URLHash(url[, level])",
        examples: &[Example {
            sql: "SELECT URLHash('http://a.b/c/') = URLHash('http://a.b/c')",
            result: "1",
        }],
        constants: Constants::Seen,
        total: true,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        matches!(args.len(), 1 | 2),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} doesn't match: passed {}, should be 1 or 2",
        args.len()
    );
    for (index, arg) in args.iter().enumerate() {
        ensure!(
            if index == 0 { arg.ty.is_string() } else { arg.ty.is_integer() },
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of argument of function {name}",
            arg.ty
        );
    }
    Ok(DataType::UInt64.into())
}

fn execute(call: &Call) -> Result<Column> {
    let (n, texts) = (call.n_rows, StringArg::of(call, 0)?);
    let hashes: Vec<u64> = match call.args.len() {
        1 => (0..n).map(|row| hash(texts.get(row))).collect(),
        _ => {
            let levels = unary::<u64, u64>(Operand::of(call, 1), n, |x| x)?;
            levels.into_iter().enumerate().map(|(row, wanted)| level(texts.get(row), wanted)).collect()
        }
    };
    Ok(Vector::from(hashes).into())
}

fn hash(url: &[u8]) -> u64 {
    city_hash64(match url {
        [bare @ .., b'/' | b'?' | b'#'] => bare,
        all => all,
    })
}

/// The hash of a level, of nothing when there is no such level.
fn level(url: &[u8], wanted: u64) -> u64 {
    let (mut number, mut end) = (0, 0);
    url_hierarchy(url, &mut |part| {
        if number == wanted {
            end = part.len();
        }
        number += 1;
    });
    hash(&url[..end])
}

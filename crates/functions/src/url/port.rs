//! `port`: the number behind the host of a URL.

use super::host::{host, host_rfc, port};
use crate::plain::Plain;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Registry};
use chalet_types::DataType;

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    ensure!(
        args[0].ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of first argument of function {name}. Must be String",
        args[0].ty
    );
    let default = match args.get(1) {
        None => 0,
        Some(arg) if arg.ty != DataType::UInt16 => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of second argument of function {name}. Must be UInt16",
            arg.ty
        ),
        Some(arg) => match arg.constant.as_ref().and_then(|value| value.as_u64()) {
            Some(default) => default as u16,
            None => bail!(ILLEGAL_COLUMN, "Second argument of function {name} must be constant"),
        },
    };
    Ok(Bound::with_state(DataType::UInt16, default))
}

fn execute(call: &Call, host: fn(&[u8]) -> Option<(&[u8], &[u8])>) -> Result<Column> {
    let default = *call.state::<u16>()?;
    let number =
        |url: &[u8]| host(url).and_then(|(_, behind)| port(behind)).filter(|&n| n != 0).unwrap_or(default);
    let numbers: Vec<u16> = match &call.vector(0).data {
        Data::Fixed(fixed) => fixed.iter().map(number).collect(),
        _ => call.vector(0).strings()?.iter().map(number).collect(),
    };
    Ok(Vector::from(numbers).into())
}

static FUNCTIONS: &[Plain] = &[
    Plain {
        record: Record {
            name: "port",
            summary: "The port of a URL; 0, or the given default, where it has none.",
            syntax: "port(url[, default])",
            examples: &[Example { sql: "SELECT port('http://example.com:8080/')", result: "8080" }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| execute(call, host),
    },
    Plain {
        record: Record {
            name: "portRFC",
            summary: "The port of a URL by RFC 3986; 0, or the given default, where it has none.",
            syntax: "portRFC(url[, default])",
            examples: &[Example {
                sql: "SELECT portRFC('http://user:pw@example.com:8080/')",
                result: "8080",
            }],
            total: true,
            ..Record::DEFAULT
        },
        bind,
        execute: |call| execute(call, host_rfc),
    },
];

pub fn register(registry: &mut Registry) {
    for function in FUNCTIONS {
        registry.add_scalar(function);
    }
}

//! `getServerSetting` and `getMergeTreeSetting`: the values of settings of the process and of tables.

use crate::settings::{merge_tree, server};
use chalet_base::{Result, bail, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Registry, Volatility};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};

const BASE: Record = Record { nulls: Nulls::Seen, volatility: Volatility::PerQuery, ..Record::DEFAULT };

static FUNCTIONS: [Plain; 2] = [
    Plain {
        record: Record {
            name: "getServerSetting",
            summary: "The value of a setting of the process.",
            syntax: "getServerSetting(name)",
            examples: &[Example {
                sql: "SELECT getServerSetting('max_server_memory_usage') > 0",
                result: "1",
            }],
            ..BASE
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            bind(name, args, |wanted| server::find(wanted).map(|setting| ((setting.value)(), setting.kind)))
        },
        execute,
    },
    Plain {
        record: Record {
            name: "getMergeTreeSetting",
            summary: "The value of a setting of MergeTree tables, for those that do not say their own.",
            syntax: "getMergeTreeSetting(name)",
            examples: &[Example { sql: "SELECT getMergeTreeSetting('index_granularity')", result: "8192" }],
            ..BASE
        },
        bind: |name: &'static str, args: &[Argument], _: &Context| {
            let known = |wanted: &str| {
                merge_tree::find(wanted).map(|found| (found.known.default.to_owned(), found.known.kind))
            };
            bind(name, args, known)
        },
        execute,
    },
];

struct Known(Vector);

fn bind(
    name: &'static str,
    args: &[Argument],
    find: impl Fn(&str) -> Option<(String, &'static str)>,
) -> Result<Bound> {
    check_arity(name, args.len(), 1..=1)?;
    let wanted = match &args[0].constant {
        Some(value) if args[0].ty == DataType::String => value.as_str().unwrap_or_default(),
        _ => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The argument of function {name} should be a constant string with the name of a setting"
        ),
    };
    let (text, kind) = find(wanted).ok_or_else(|| err!(UNKNOWN_SETTING, "Unknown setting '{wanted}'"))?;
    let (ty, value) = typed(&text, kind);
    Ok(Bound::with_state(ty.clone(), Known(Vector::of_value(&value, &ty)?)))
}

/// Integers have the narrowest type that holds them, as literals do.
fn typed(text: &str, kind: &str) -> (DataType, Value) {
    if kind.contains("Float") || kind == "Double" {
        return (DataType::Float64, Value::Float(text.parse().unwrap_or(0.0)));
    }
    match text.parse::<u64>() {
        Ok(n) if kind != "String" => {
            let ty = match n {
                0..=0xff => DataType::UInt8,
                0x100..=0xffff => DataType::UInt16,
                0x1_0000..=0xffff_ffff => DataType::UInt32,
                _ => DataType::UInt64,
            };
            (ty, Value::UInt(n))
        }
        _ => (DataType::String, Value::string(text)),
    }
}

fn execute(call: &Call) -> Result<Column> {
    let Known(value) = call.state()?;
    Ok(Column::constant(value.clone(), call.n_rows))
}

pub(crate) fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
}

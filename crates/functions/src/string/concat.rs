//! `concat` and `concatWithSeparator`: the text forms of values one after the other.

use crate::plain::Plain;
use crate::string_args::build;
use crate::text::settings;
use chalet_base::{Result, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Constants, Context, Example, Record, ScalarFunction};
use chalet_text::{Style, Writer};
use chalet_types::DataType;

const CONCATENATION: Record = Record { constants: Constants::Seen, total: true, ..Record::DEFAULT };

pub static CONCAT: Plain = Plain {
    record: Record {
        name: "concat",
        case_insensitive: true,
        summary: "The text forms of the arguments one after the other. Arrays, tuples or maps alone are concatenated as such.",
        syntax: "concat(x1, x2, ...)",
        examples: &[Example { sql: "SELECT concat('a', 1, '-', [2])", result: "a1-[2]" }],
        ..CONCATENATION
    },
    bind,
    execute,
};

pub static ASSUME_INJECTIVE: Plain = Plain {
    record: Record {
        name: "concatAssumeInjective",
        summary: "As concat. The caller says that different arguments give different results.",
        syntax: "concatAssumeInjective(x1, x2, ...)",
        examples: &[Example { sql: "SELECT concatAssumeInjective('a', 'b')", result: "ab" }],
        ..CONCATENATION
    },
    bind: |name, args, _| {
        ensure!(
            args.len() != 1,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Number of arguments for function {name} should not be 1"
        );
        Ok(DataType::String.into())
    },
    // Containers are text here.
    execute: |call| match call.result {
        DataType::String if call.args.len() > 1 => texts(call, 0, b""),
        _ => execute(call),
    },
};

pub static WITH_SEPARATOR: Plain = Plain {
    record: Record {
        name: "concatWithSeparator",
        any_case_aliases: &["concat_ws"],
        summary: "The text forms of the arguments with a constant separator, the first argument, between them.",
        syntax: "concatWithSeparator(separator, x1, x2, ...)",
        examples: &[Example { sql: "SELECT concatWithSeparator('-', 'a', 1, 'b')", result: "a-1-b" }],
        ..CONCATENATION
    },
    bind: bind_separator,
    execute: execute_separator,
};

pub static WITH_SEPARATOR_ASSUME_INJECTIVE: Plain = Plain {
    record: Record {
        name: "concatWithSeparatorAssumeInjective",
        summary: "As concatWithSeparator. The caller says that different arguments give different results.",
        syntax: "concatWithSeparatorAssumeInjective(separator, x1, x2, ...)",
        examples: &[Example {
            sql: "SELECT concatWithSeparatorAssumeInjective('-', 'a', 'b')",
            result: "a-b",
        }],
        ..CONCATENATION
    },
    bind: bind_separator,
    execute: execute_separator,
};

/// Of containers alone, the function that concatenates them.
fn of_containers(types: &[&DataType]) -> Option<&'static Plain> {
    let all = |test: fn(&DataType) -> bool| types.iter().all(|ty| test(ty));
    match () {
        // One alone is text.
        _ if types.len() < 2 => None,
        _ if all(|ty| matches!(ty, DataType::Array(_))) => Some(&crate::array::CONCAT),
        _ if all(|ty| matches!(ty, DataType::Tuple(_))) => Some(&crate::tuple::CONCAT),
        _ if all(|ty| matches!(ty, DataType::Map(..))) => Some(&crate::map::CONCAT),
        _ => None,
    }
}

fn bind(_: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    match of_containers(&args.iter().map(|arg| &arg.ty).collect::<Vec<_>>()) {
        Some(function) => (&function).bind(args, ctx),
        None => Ok(DataType::String.into()),
    }
}

fn execute(call: &Call) -> Result<Column> {
    match of_containers(&call.args.iter().map(|arg| arg.ty).collect::<Vec<_>>()) {
        Some(function) => (function.execute)(call),
        None => match (call.args, call.args.first().map(|arg| &arg.vector.data)) {
            ([arg], Some(Data::Fixed(fixed))) if arg.ty.is_string() => Ok(build(call.n_rows, |row, out| {
                out.extend_from_slice(without_trailing_zeros(fixed.get(if arg.constant { 0 } else { row })));
            })),
            _ => texts(call, 0, b""),
        },
    }
}

/// A FixedString alone is cast to String, which ends where only zero bytes follow.
fn without_trailing_zeros(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1)]
}

fn bind_separator(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=usize::MAX)?;
    ensure!(
        args[0].ty.is_string(),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {} of argument 1 of function {name}. Must be a constant String",
        args[0].ty
    );
    ensure!(
        args[0].constant.is_some(),
        ILLEGAL_COLUMN,
        "Illegal column String of first argument of function {name}. Must be a constant String"
    );
    Ok(DataType::String.into())
}

fn execute_separator(call: &Call) -> Result<Column> {
    let separator = match &call.vector(0).data {
        Data::Str(strings) => strings.get(0),
        _ => call.vector(0).fixed()?.get(0),
    };
    texts(call, 1, separator)
}

/// The arguments from `first` on.
fn texts(call: &Call, first: usize, separator: &[u8]) -> Result<Column> {
    let settings = settings(call.ctx);
    let args = &call.args[first.min(call.args.len())..];
    if let [arg] = args
        && !arg.constant
        && matches!(arg.vector.data, Data::Str(_))
    {
        // The same strings.
        return Ok(Vector::clone(&arg.vector).into());
    }
    let writers: Vec<Writer> = args.iter().map(|arg| Writer::new(arg.ty, Style::Plain, &settings)).collect();
    Ok(build(call.n_rows, |row, out| {
        for (index, (arg, writer)) in args.iter().zip(&writers).enumerate() {
            if index > 0 {
                out.extend_from_slice(separator);
            }
            let row = if arg.constant { 0 } else { row };
            match &arg.vector.data {
                Data::Str(strings) => out.extend_from_slice(strings.get(row)),
                _ => writer.write(out, &arg.vector, row),
            }
        }
    }))
}

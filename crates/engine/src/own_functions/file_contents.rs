//! `file`: the bytes of a file as a String.

use super::session_view::OwnHost;
use chalet_base::{Result, codes, ensure, err};
use chalet_columns::{Builder, Column};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Volatility};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};
use std::io::ErrorKind;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "file",
        summary: "The bytes of a file; of one that cannot be read, the default if there is one.",
        syntax: "file(path[, default])",
        examples: &[Example { sql: "SELECT file('no such file', 'none')", result: "none" }],
        nulls: Nulls::Seen,
        volatility: Volatility::PerQuery,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

/// What there is in place of a file that cannot be read.
struct Instead(Option<Value>);

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 1..=2)?;
    let path = &args[0].ty;
    ensure!(
        *path == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 1st argument 'path' to function '{name}'. Expected: String, got: {path}"
    );
    let Some(default) = args.get(1) else { return Ok(Bound::with_state(DataType::String, Instead(None))) };
    let is_null = matches!(default.ty.bare(), DataType::Nothing);
    ensure!(
        is_null || default.ty == DataType::String,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "A value of illegal type was provided as 2nd argument 'default' to function '{name}'. Expected: String or Null, got: {}",
        default.ty
    );
    let value = default.constant.clone();
    let value = value
        .ok_or_else(|| err!(ILLEGAL_COLUMN, "Argument at index 1 for function {name} must be constant"))?;
    let ty = if is_null { DataType::String.nullable() } else { DataType::String };
    Ok(Bound::with_state(ty, Instead(Some(value))))
}

fn execute(call: &Call) -> Result<Column> {
    let Instead(default) = call.state()?;
    let view = OwnHost::of(call.ctx)?;
    let paths = call.strings(0)?;
    let mut out = Builder::new(call.result);
    for row in 0..call.n_rows {
        let written = String::from_utf8_lossy(paths.get(row));
        let read = view.user_path(&written).and_then(|path| {
            std::fs::read(&path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => err!(FILE_DOESNT_EXIST, "Cannot open file {path}: {error}"),
                ErrorKind::IsADirectory => err!(INCORRECT_FILE_NAME, "{path} is a directory"),
                _ => err!(CANNOT_OPEN_FILE, "Cannot open file {path}: {error}"),
            })
        });
        match (read, default) {
            (Ok(bytes), _) => out.push_value(&Value::string(bytes))?,
            // Who may not read a file is told so.
            (Err(error), Some(default)) if error.code() != codes::ACCESS_DENIED => out.push_value(default)?,
            (Err(error), _) => return Err(error),
        }
    }
    Ok(Column::Flat(out.finish()))
}

//! What programs ask a server for, answered as by one that has nothing of it: ports, macros, variables, a log, names of PostgreSQL.

use crate::plain::Plain;
use crate::string_args::{check_type, constant_text};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, Volatility};
use chalet_types::{DataType, Value};

const BASE: Record = Record { nulls: Nulls::Seen, volatility: Volatility::PerQuery, ..Record::DEFAULT };

/// The one value of all rows, which is known when the function is bound.
struct Known(Value);

fn known(ty: DataType, value: Value) -> Result<Bound> {
    Ok(Bound::with_state(ty, Known(value)))
}

fn execute(call: &Call) -> Result<Column> {
    let Known(value) = call.state()?;
    Ok(Column::constant(Vector::of_value(value, call.result)?, call.n_rows))
}

/// The constant text of the only argument.
fn only_text<'a>(name: &'static str, args: &'a [Argument]) -> Result<&'a [u8]> {
    check_arity(name, args.len(), 1..=1)?;
    check_type(args[0].ty == DataType::String, name, 0, "const String", &args[0].ty)?;
    constant_text(name, args, 0)
}

pub static MAX_TABLE_NAME: Plain = Plain {
    record: Record {
        name: "getMaxTableNameLengthForDatabase",
        summary: "The longest name, in bytes, that a table of the database can have.",
        syntax: "getMaxTableNameLengthForDatabase(database)",
        examples: &[Example { sql: "SELECT getMaxTableNameLengthForDatabase('default')", result: "206" }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        // The name of a file less what the server adds to it when the table is dropped.
        const LONGEST: u64 = 213;
        let database = only_text(name, args)?;
        ensure!(!database.is_empty(), INCORRECT_DATA, "Incorrect name for a database. It shouldn't be empty");
        let escaped =
            database.iter().map(|byte| if byte.is_ascii_alphanumeric() || *byte == b'_' { 1 } else { 3 });
        known(DataType::UInt64, Value::UInt(LONGEST.saturating_sub(escaped.sum())))
    },
    execute,
};

pub static MACRO: Plain = Plain {
    record: Record {
        name: "getMacro",
        summary: "The value of a macro of the server's configuration. There is none here, so it always fails.",
        syntax: "getMacro(name)",
        examples: &[Example {
            sql: "SELECT count() FROM system.functions WHERE name = 'getMacro'",
            result: "1",
        }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        let wanted = String::from_utf8_lossy(only_text(name, args)?);
        bail!(NO_ELEMENTS_IN_CONFIG, "No macro {wanted} in config")
    },
    execute,
};

pub static PORT: Plain = Plain {
    record: Record {
        name: "getServerPort",
        summary: "The number of a port that the server listens on. There is none here, so it always fails.",
        syntax: "getServerPort(port_name)",
        examples: &[Example {
            sql: "SELECT count() FROM system.functions WHERE name = 'getServerPort'",
            result: "1",
        }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        let wanted = String::from_utf8_lossy(only_text(name, args)?);
        bail!(CLUSTER_DOESNT_EXIST, "There is no port named {wanted}")
    },
    execute,
};

pub static LOG_TRACE: Plain = Plain {
    record: Record {
        name: "logTrace",
        summary: "Writes a message to the server's log, of which there is none here. Always 0.",
        syntax: "logTrace(message)",
        examples: &[Example { sql: "SELECT logTrace('message')", result: "0" }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        only_text(name, args)?;
        known(DataType::UInt8, Value::UInt(0))
    },
    execute,
};

pub static GLOBAL_VARIABLE: Plain = Plain {
    record: Record {
        name: "globalVariable",
        summary: "A variable that programs for MySQL ask for; 0 for an unknown one.",
        syntax: "globalVariable(name)",
        examples: &[Example { sql: "SELECT globalVariable('max_allowed_packet')", result: "67108864" }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        let wanted = only_text(name, args)?.to_ascii_lowercase();
        let text = |text: &str| known(DataType::String, Value::string(text));
        match &wanted[..] {
            b"max_allowed_packet" => known(DataType::Int32, Value::Int(67_108_864)),
            b"version" => text("5.7.30"),
            b"version_comment" => text(""),
            b"transaction_isolation" => text("READ-UNCOMMITTED"),
            _ => known(DataType::Int32, Value::Int(0)),
        }
    },
    execute,
};

pub static PG_USER: Plain = Plain {
    record: Record {
        name: "pgGetUserById",
        any_case_aliases: &["pg_get_userbyid"],
        summary: "The name of the user, as programs for PostgreSQL ask for it by a number.",
        syntax: "pgGetUserById(id)",
        examples: &[Example { sql: "SELECT pgGetUserById(10)", result: "default" }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], ctx: &Context| {
        check_arity(name, args.len(), 1..=1)?;
        known(DataType::String, Value::string(&ctx.user))
    },
    execute,
};

pub static PG_VISIBLE: Plain = Plain {
    record: Record {
        name: "pgTableIsVisible",
        any_case_aliases: &["pg_table_is_visible"],
        summary: "Whether a table can be named without its schema, as programs for PostgreSQL ask. Always 1.",
        syntax: "pgTableIsVisible(oid)",
        examples: &[Example { sql: "SELECT pgTableIsVisible(5)", result: "1" }],
        ..BASE
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        check_arity(name, args.len(), 1..=1)?;
        known(DataType::UInt8, Value::UInt(1))
    },
    execute,
};

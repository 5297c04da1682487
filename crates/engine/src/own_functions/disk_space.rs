//! `filesystemAvailable`, `filesystemCapacity`, `filesystemUnreserved`: how large the disk of the database is.

use super::session_view::OwnHost;
use chalet_base::{Result, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Volatility};
use chalet_functions::plain::Plain;
use chalet_storage::disk::space::{Space, space};
use chalet_types::{DataType, Value};

const BASE: Record = Record { volatility: Volatility::PerQuery, ..Record::DEFAULT };

/// Bytes of the disk; the same in all rows.
struct Bytes(u64);

fn bind(name: &'static str, args: &[Argument], ctx: &Context, of: fn(Space) -> u64) -> Result<Bound> {
    ensure!(
        args.len() <= 1,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Arguments size of function {name} should be 0 or 1"
    );
    if let Some(disk) = args.first() {
        ensure!(
            disk.ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Arguments of function {name} should be String or FixedString"
        );
        let given = disk.constant.as_ref().and_then(Value::as_str).unwrap_or_default();
        let given = given.trim_end_matches('\0');
        ensure!(given == "default", UNKNOWN_DISK, "Unknown disk name {given} while execute function {name}");
    }
    let folder = OwnHost::of(ctx)?.folder();
    let space = space(&folder).map_err(|error| {
        err!(CANNOT_STATVFS, "Could not calculate available disk space of {}: {error}", folder.display())
    })?;
    Ok(Bound::with_state(DataType::UInt64, Bytes(of(space))))
}

fn execute(call: &Call) -> Result<Column> {
    let Bytes(bytes) = *call.state()?;
    Ok(Column::constant(Vector::from(vec![bytes]), call.n_rows))
}

pub static AVAILABLE: Plain = Plain {
    record: Record {
        name: "filesystemAvailable",
        summary: "The bytes that are free for this user on the disk of the database.",
        syntax: "filesystemAvailable([disk])",
        examples: &[Example { sql: "SELECT filesystemAvailable() <= filesystemCapacity()", result: "1" }],
        ..BASE
    },
    bind: |name, args, ctx| bind(name, args, ctx, |space| space.available),
    execute,
};

pub static CAPACITY: Plain = Plain {
    record: Record {
        name: "filesystemCapacity",
        summary: "All bytes of the disk of the database.",
        syntax: "filesystemCapacity([disk])",
        examples: &[Example { sql: "SELECT filesystemCapacity('default') > 0", result: "1" }],
        ..BASE
    },
    bind: |name, args, ctx| bind(name, args, ctx, |space| space.capacity),
    execute,
};

pub static UNRESERVED: Plain = Plain {
    record: Record {
        name: "filesystemUnreserved",
        summary: "The bytes that are free for this user on the disk of the database and that no merge of parts has taken for itself: nothing is reserved here.",
        syntax: "filesystemUnreserved([disk])",
        examples: &[Example { sql: "SELECT filesystemUnreserved() <= filesystemCapacity()", result: "1" }],
        ..BASE
    },
    bind: |name, args, ctx| bind(name, args, ctx, |space| space.available),
    execute,
};

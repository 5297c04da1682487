//! `hasColumnInTable`: does a table have a column of that name?

use super::session_view::OwnHost;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, Volatility};
use chalet_functions::plain::Plain;
use chalet_types::{DataType, Value};

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "hasColumnInTable",
        summary: "1 if the table of a database has a column of the name; all three are constant.",
        syntax: "hasColumnInTable(database, table, column)",
        examples: &[Example { sql: "SELECT hasColumnInTable('system', 'one', 'dummy')", result: "1" }],
        volatility: Volatility::PerQuery,
        ..Record::DEFAULT
    },
    bind,
    execute,
};

struct Found(bool);

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=3)?;
    let mut names = Vec::with_capacity(3);
    for (arg, which) in args.iter().zip(["First", "Second", "Third"]) {
        let Some(text) = arg.constant.as_ref().and_then(Value::as_str) else {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "{which} argument for function {name} must be const String");
        };
        names.push(text);
    }
    let (database, table, column) = (names[0], names[1], names[2]);
    ensure!(!table.is_empty(), UNKNOWN_TABLE, "Table name is empty");
    ensure!(!database.is_empty(), UNKNOWN_DATABASE, "Empty database name");
    let table = OwnHost::of(ctx)?.table(database, table)?;
    let found = table.schema().columns.iter().any(|known| !known.is_virtual && *known.name == *column);
    Ok(Bound::with_state(DataType::UInt8, Found(found)))
}

fn execute(call: &Call) -> Result<Column> {
    let Found(found) = *call.state()?;
    Ok(Column::constant(Vector::from(vec![u8::from(found)]), call.n_rows))
}

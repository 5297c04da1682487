//! `dictGetAll`: all values that a dictionary of regular expressions has for a key. No other layout has it, and that one is
//! not here.

use super::lookup::{BASE, dictionary};
use chalet_base::{Result, bail};
use chalet_columns::Column;
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Record};
use chalet_functions::plain::Plain;

pub(super) static FUNCTION: Plain = Plain {
    record: Record {
        name: "dictGetAll",
        summary: "The values of an attribute of all nodes of a dictionary of regular expressions that match a key. Dictionaries \
                  of that layout are not supported.",
        syntax: "dictGetAll('dictionary', 'attribute', key[, limit])",
        ..BASE
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], ctx: &Context) -> Result<Bound> {
    check_arity(name, args.len(), 3..=4)?;
    let loaded = dictionary(name, args, ctx)?;
    let layout = loaded.definition.layout.type_name;
    bail!(
        NOT_IMPLEMENTED,
        "Method getColumnAllValues is not supported for dictionaries of the layout {layout}"
    )
}

fn execute(_: &Call) -> Result<Column> {
    bail!(NOT_IMPLEMENTED, "Method getColumnAllValues is not supported")
}

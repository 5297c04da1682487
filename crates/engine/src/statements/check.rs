//! CHECK TABLE and CHECK ALL TABLES: read all bytes of tables and compare them with their checksums.

use super::alter::{Wanted, wanted};
use super::output::{Output, print_rows};
use crate::query_context::QueryContext;
use crate::system::names::is_system;
use crate::tables::existing;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::part::PartInfo;
use chalet_syntax::ast;
use chalet_types::{DataType, Value};

pub(crate) fn run(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    part: Option<&[u8]>,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let Some(table) = table.as_any().downcast_ref::<MergeTree>() else {
        bail!(
            NOT_IMPLEMENTED,
            "Table {} does not support check query: its engine is {}",
            name.name.name,
            table.engine()
        )
    };
    let wanted = match (partition, part) {
        (Some(partition), _) => wanted(table, partition, ctx)?,
        (None, Some(part)) => Wanted::Part(String::from_utf8_lossy(part).into_owned()),
        (None, None) => Wanted::All,
    };
    if let Wanted::Part(part) = &wanted {
        let is_name = PartInfo::is_name(part);
        ensure!(is_name, BAD_DATA_PART_NAME, "Unexpected part name: {part} for format version: 1");
    }
    let rows = checked(table, &wanted, ctx)?;
    if let Wanted::Part(part) = &wanted {
        ensure!(
            !rows.is_empty(),
            NO_SUCH_DATA_PART,
            "No such data part '{part}' to check in table '{}'",
            name.name.name
        );
    }
    if ctx.state.settings.flag("check_query_single_value_result").unwrap_or(false) {
        let passed = rows.iter().all(|(_, message)| message.is_empty());
        return print_rows(
            &[("result", DataType::UInt8)],
            vec![vec![Value::from(passed)]],
            statement,
            ctx,
            output,
        );
    }
    let header =
        [("part_path", DataType::String), ("is_passed", DataType::UInt8), ("message", DataType::String)];
    let rows = rows.iter().map(|(part, message)| {
        vec![Value::from(part.as_str()), Value::from(message.is_empty()), Value::from(message.as_str())]
    });
    print_rows(&header, rows.collect(), statement, ctx, output)
}

/// The parts that are wanted, each with what is wrong with it.
fn checked(table: &MergeTree, wanted: &Wanted, ctx: &QueryContext) -> Result<Vec<(String, String)>> {
    let mut rows = Vec::new();
    for part in table.parts().snapshot()?.parts.iter().filter(|part| wanted.has(&part.info)) {
        ctx.control.check_with_interrupt()?;
        let message = part.check().err().map(|error| error.message().to_string()).unwrap_or_default();
        rows.push((part.info.name(), message));
    }
    Ok(rows)
}

/// CHECK ALL TABLES: those that can be checked.
pub(crate) fn all(statement: &ast::Statement, ctx: &QueryContext, output: &mut Output) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    let mut rows = Vec::new();
    for ((database, name), entry) in catalog.matching(|entry| entry.table.as_any().is::<MergeTree>()) {
        let Some(table) = entry.table.as_any().downcast_ref::<MergeTree>() else { continue };
        for (part, message) in checked(table, &Wanted::All, ctx)? {
            rows.push(vec![
                Value::from(database.as_str()),
                Value::from(name.as_str()),
                Value::from(part.as_str()),
                Value::from(message.is_empty()),
                Value::from(message.as_str()),
            ]);
        }
    }
    let text = DataType::String;
    let header = [
        ("database", text.clone()),
        ("table", text.clone()),
        ("part_path", text.clone()),
        ("is_passed", DataType::UInt8),
        ("message", text),
    ];
    print_rows(&header, rows, statement, ctx, output)
}

/// CHECK DATABASE: a database whose metadata can be read is in order, and that of one that is open has been read.
pub(crate) fn database(name: &ast::Ident, ctx: &QueryContext) -> Result<()> {
    let name = &name.name;
    let known = ctx.database.shared.catalog.database_exists(name) || is_system(name);
    ensure!(known, UNKNOWN_DATABASE, "Database {name} does not exist");
    Ok(())
}

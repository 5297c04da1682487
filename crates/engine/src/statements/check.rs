//! CHECK TABLE: reads all bytes of a table and compares them with their checksums.

use super::alter::{Wanted, wanted};
use super::output::{Output, print_rows};
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
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
    let mut rows = Vec::new();
    for part in table.parts().snapshot()?.parts.iter().filter(|part| wanted.has(&part.info)) {
        ctx.control.check_with_interrupt()?;
        let message = part.check().err().map(|error| error.message().to_string()).unwrap_or_default();
        rows.push((part.info.name(), message));
    }
    if let Wanted::Part(name) = &wanted {
        ensure!(!rows.is_empty(), NO_SUCH_DATA_PART, "No part {name} in table");
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

//! ALTER TABLE ... ATTACH and DROP DETACHED PARTITION or PART: parts that are kept aside.

use super::partitions::{Wanted, copied, wanted_parts};
use super::target::merge_tree;
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::Part;
use chalet_syntax::ast;
use std::sync::Arc;

/// ATTACH PARTITION and ATTACH PART: rows that were kept aside are there again, as parts that follow all others.
pub(super) fn attach(
    name: &ast::ObjectName,
    part: bool,
    partition: &ast::Partition,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let table = merge_tree(&*table)?;
    table.parts().check_writable()?;
    let parts = found(table, part, partition, ctx)?;
    let mut change = Change::default();
    for part in &parts {
        // The columns may be others by now, and readers may still have the part under its old name.
        change.added.extend(copied(table, table, part, ctx)?);
        change.dropped_detached.push(part.info.number);
    }
    if parts.is_empty() { Ok(()) } else { table.parts().commit(change) }
}

/// DROP DETACHED PARTITION and DROP DETACHED PART.
pub(super) fn drop(
    name: &ast::ObjectName,
    part: bool,
    partition: &ast::Partition,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let table = merge_tree(&*table)?;
    ensure!(
        ctx.state.settings.flag("allow_drop_detached") == Some(true),
        SUPPORT_IS_DISABLED,
        "Cannot execute query: DROP DETACHED PART is disabled (see allow_drop_detached setting)"
    );
    table.parts().check_writable()?;
    let parts = found(table, part, partition, ctx)?;
    let dropped_detached: Vec<u64> = parts.iter().map(|part| part.info.number).collect();
    match parts.is_empty() {
        true => Ok(()),
        false => table.parts().commit(Change { dropped_detached, ..Change::default() }),
    }
}

/// The parts that are kept aside and that a statement means.
fn found(
    table: &MergeTree,
    part: bool,
    partition: &ast::Partition,
    ctx: &QueryContext,
) -> Result<Vec<Arc<Part>>> {
    let wanted = wanted_parts(table, part, partition, ctx)?;
    let state = table.parts().snapshot()?;
    let found: Vec<Arc<Part>> =
        state.detached.iter().filter(|part| wanted.has(&part.info)).cloned().collect();
    if let (Wanted::Part(name), true) = (&wanted, found.is_empty()) {
        bail!(BAD_DATA_PART_NAME, "Detached part \"{name}\" not found");
    }
    Ok(found)
}

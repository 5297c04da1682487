//! SYSTEM: commands about what works in the background.

use crate::merge_tree::background;
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, bail};
use chalet_storage::Table;
use chalet_storage::merge_tree::MergeTree;
use chalet_syntax::ast;
use std::sync::Arc;

pub(crate) fn run(command: &str, target: Option<&ast::ObjectName>, ctx: &QueryContext) -> Result<()> {
    match command {
        "STOP MERGES" => merges(true, target, ctx),
        "START MERGES" => merges(false, target, ctx),
        _ => bail!(NOT_IMPLEMENTED, "SYSTEM {command} is not supported"),
    }
}

/// Stops or starts the merges of a table, or of all.
fn merges(stop: bool, target: Option<&ast::ObjectName>, ctx: &QueryContext) -> Result<()> {
    let tables: Vec<Arc<dyn Table>> = match target {
        Some(name) => vec![existing(name, ctx)?.0],
        None => {
            let catalog = &ctx.database.shared.catalog;
            let mut all = Vec::new();
            for database in catalog.database_names() {
                all.extend(catalog.tables(&database)?.into_iter().map(|(_, entry)| entry.table));
            }
            all
        }
    };
    for table in tables {
        if let Some(table) = table.as_any().downcast_ref::<MergeTree>() {
            table.parts().set_merges_stopped(stop);
            if !stop {
                background::wake(table, ctx);
            }
        }
    }
    Ok(())
}

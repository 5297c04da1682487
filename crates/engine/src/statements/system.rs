//! SYSTEM: commands about what works in the background.

use crate::dictionaries::attached::Attached;
use crate::dictionaries::source::attached;
use crate::dictionaries::table::Dictionary;
use crate::merge_tree::background;
use crate::query_context::QueryContext;
use crate::tables::{existing, find};
use chalet_base::{Result, bail};
use chalet_storage::Table;
use chalet_storage::merge_tree::MergeTree;
use chalet_syntax::ast;
use std::sync::Arc;

pub(crate) fn run(
    command: &str,
    target: Option<&ast::ObjectName>,
    rest: &str,
    ctx: &QueryContext,
) -> Result<()> {
    match command {
        "STOP MERGES" => merges(target, ctx, &|table| table.parts().set_merges_stopped(true)),
        "START MERGES" => merges(target, ctx, &|table| {
            table.parts().set_merges_stopped(false);
            background::wake(table, ctx);
        }),
        "STOP TTL MERGES" => merges(target, ctx, &|table| table.parts().set_ttl_merges_stopped(true)),
        "START TTL MERGES" => merges(target, ctx, &|table| table.parts().set_ttl_merges_stopped(false)),
        "RELOAD DICTIONARY" => reload(target, rest, ctx),
        "RELOAD DICTIONARIES" => reload_all(ctx),
        _ => bail!(NOT_IMPLEMENTED, "SYSTEM {command} is not supported"),
    }
}

/// Stops or starts the merges of a table, or of all.
fn merges(target: Option<&ast::ObjectName>, ctx: &QueryContext, change: &dyn Fn(&MergeTree)) -> Result<()> {
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
            change(table);
        }
    }
    Ok(())
}

/// Reads the source of a dictionary now; its name may be a string.
fn reload(target: Option<&ast::ObjectName>, rest: &str, ctx: &QueryContext) -> Result<()> {
    let (database, name) = match target {
        Some(name) => {
            (name.database.as_ref().map(|database| database.name.as_str()), name.name.name.as_str())
        }
        None => {
            let written = rest.trim().trim_matches('\'');
            written.split_once('.').map_or((None, written), |(database, name)| (Some(database), name))
        }
    };
    let found = find(ctx, database, name)?;
    match found.as_ref().and_then(|(table, _)| table.as_any().downcast_ref::<Attached>()) {
        Some(dictionary) => dictionary.reloaded().map(drop),
        None => bail!(BAD_ARGUMENTS, "Dictionary (`{name}`) not found"),
    }
}

/// Reads the sources of all dictionaries that were loaded before.
fn reload_all(ctx: &QueryContext) -> Result<()> {
    let catalog = &ctx.database.shared.catalog;
    for database in catalog.database_names() {
        for (_, entry) in catalog.tables(&database)? {
            if let Some(dictionary) = entry.table.as_any().downcast_ref::<Dictionary>()
                && dictionary.status().started.is_some()
            {
                attached(dictionary, ctx).reloaded()?;
            }
        }
    }
    Ok(())
}

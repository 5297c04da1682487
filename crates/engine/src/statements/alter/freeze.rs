//! ALTER TABLE ... FREEZE and UNFREEZE: parts under a second name, as a database in a folder of its own.

use super::partitions::{Wanted, wanted};
use super::target::merge_tree;
use crate::backup::{freeze as copy, rows_of};
use crate::database::Database;
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, ensure, err};
use chalet_storage::merge_tree::part::PartInfo;
use chalet_syntax::ast;
use std::path::{Path, PathBuf};

/// Below the folder of the database.
const SHADOW: &str = "shadow";

/// FREEZE [PARTITION] [WITH NAME]: the folder `shadow/NAME` is a database with the table as it is now.
pub(super) fn freeze(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    shadow: Option<&[u8]>,
    ctx: &QueryContext,
) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let merge_tree = merge_tree(&*table)?;
    let wanted = partition.map_or(Ok(Wanted::All), |partition| wanted(merge_tree, partition, ctx))?;
    let (database, table) = full_name(name, ctx);
    let Some(entry) = ctx.entry(Some(&database), &table).filter(|entry| rows_of(&entry.table).is_some())
    else {
        return Err(crate::tables::missing(name, ctx));
    };
    let folder = shadow_folder(shadow, ctx)?;
    let frozen = Database::open(&folder.to_string_lossy())?;
    let to = ctx.in_database(frozen);
    copy(&entry, &database, &table, &|info: &PartInfo| wanted.has(info), &to)
}

/// UNFREEZE WITH NAME: the table is gone from that folder, and the folder with its last table.
pub(super) fn unfreeze(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    shadow: &[u8],
    ctx: &QueryContext,
) -> Result<()> {
    ensure!(
        partition.is_none(),
        NOT_IMPLEMENTED,
        "ALTER TABLE ... UNFREEZE PARTITION is not supported: UNFREEZE WITH NAME takes the whole table"
    );
    merge_tree(&*existing(name, ctx)?.0)?;
    let folder = shadow_folder(Some(shadow), ctx)?;
    if !folder.exists() {
        return Ok(());
    }
    let (database, table) = full_name(name, ctx);
    let frozen = Database::open(&folder.to_string_lossy())?;
    let catalog = &frozen.shared.catalog;
    catalog.drop_table(&database, &table, true)?;
    let is_empty = catalog.matching(|_| true).is_empty();
    drop(frozen);
    if is_empty {
        std::fs::remove_dir_all(&folder)
            .map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot remove folder {}: {e}", folder.display()))?;
    }
    Ok(())
}

fn full_name(name: &ast::ObjectName, ctx: &QueryContext) -> (String, String) {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |database| &database.name);
    (database.to_owned(), name.name.name.clone())
}

/// The folder of a name; without one the next number's.
fn shadow_folder(name: Option<&[u8]>, ctx: &QueryContext) -> Result<PathBuf> {
    let store = ctx.database.shared.catalog.store();
    let store = store.ok_or_else(|| err!(NOT_IMPLEMENTED, "A database in memory has no parts to freeze"))?;
    store.check_writable()?;
    let shadow = store.root().join(SHADOW);
    let Some(name) = name else { return Ok(next_number(&shadow)) };
    let name = String::from_utf8_lossy(name);
    let is_plain = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    ensure!(is_plain, BAD_ARGUMENTS, "The name of a frozen table cannot be '{name}'");
    Ok(shadow.join(&*name))
}

fn next_number(shadow: &Path) -> PathBuf {
    let names = std::fs::read_dir(shadow).into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    shadow.join((numbers.max().unwrap_or(0) + 1).to_string())
}

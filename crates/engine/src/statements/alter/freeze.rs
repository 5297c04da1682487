//! ALTER TABLE ... FREEZE and UNFREEZE: parts under a second name, as a database in a folder of its own.

use super::partitions::{Wanted, wanted};
use super::target::merge_tree;
use crate::backup::{freeze as copy, rows_of};
use crate::database::{Database, FrozenPart};
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, ensure, err};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::part::{Part, PartInfo};
use chalet_syntax::ast;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Below the folder of the database.
const SHADOW: &str = "shadow";

/// FREEZE [PARTITION] [WITH NAME]: the folder `shadow/NAME` is a database with the table as it is now. Of a table in memory
/// the parts themselves are kept.
pub(super) fn freeze(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    shadow: Option<&[u8]>,
    ctx: &QueryContext,
) -> Result<()> {
    let (found, _) = existing(name, ctx)?;
    let merge_tree = merge_tree(&*found)?;
    let wanted = one_or_all(merge_tree, partition, ctx)?;
    let (database, table) = full_name(name, ctx);
    let snapshot = merge_tree.parts().snapshot()?;
    let parts: Vec<&Arc<Part>> = snapshot.parts.iter().filter(|part| wanted.has(&part.info)).collect();
    if merge_tree.parts().folder().is_none() {
        let shadow = shadow.map(plain_name).transpose()?;
        let of_table = (database, table);
        let kept = parts.iter().map(|part| FrozenPart { table: of_table.clone(), part: Arc::clone(part) });
        ctx.database.shared.frozen.keep(shadow.as_deref(), kept.collect())?;
    } else {
        let Some(entry) = ctx.entry(Some(&database), &table).filter(|entry| rows_of(&entry.table).is_some())
        else {
            return Err(crate::tables::missing(name, ctx));
        };
        let folder = shadow_folder(shadow, ctx)?;
        let frozen = Database::open(&folder.to_string_lossy())?;
        ensure!(
            frozen.shared.catalog.find(&database, &table).is_none(),
            DIRECTORY_ALREADY_EXISTS,
            "Directory {} already exists and has table {database}.{table}",
            folder.display()
        );
        let to = ctx.in_database(frozen);
        copy(&entry, &database, &table, &|info: &PartInfo| wanted.has(info), &to)?;
    }
    parts.iter().for_each(|part| part.set_frozen());
    Ok(())
}

/// UNFREEZE [PARTITION] WITH NAME: these parts are gone from that folder, with their last one the table, and the folder with its
/// last table.
pub(super) fn unfreeze(
    name: &ast::ObjectName,
    partition: Option<&ast::Partition>,
    shadow: &[u8],
    ctx: &QueryContext,
) -> Result<()> {
    let (found, _) = existing(name, ctx)?;
    let merge_tree = merge_tree(&*found)?;
    let wanted = one_or_all(merge_tree, partition, ctx)?;
    let (database, table) = full_name(name, ctx);
    if merge_tree.parts().folder().is_none() {
        let of_table = (database, table);
        let is_meant = |kept: &FrozenPart| kept.table == of_table && wanted.has(&kept.part.info);
        ctx.database.shared.frozen.release(&plain_name(shadow)?, &is_meant);
        return Ok(());
    }
    let folder = shadow_folder(Some(shadow), ctx)?;
    if !folder.exists() {
        return Ok(());
    }
    let frozen = Database::open(&folder.to_string_lossy())?;
    let catalog = &frozen.shared.catalog;
    if let Some(kept) = catalog.find(&database, &table).filter(|_| partition.is_some())
        && let Some(kept) = rows_of(&kept.table).and_then(|rows| rows.as_any().downcast_ref::<MergeTree>())
    {
        kept.remove_parts(|info| wanted.has(info), false, &|| ctx.control.check_with_interrupt())?;
        if !kept.parts().snapshot()?.parts.is_empty() {
            return Ok(());
        }
    }
    catalog.drop_table(&database, &table, true)?;
    let is_empty = catalog.matching(|_| true).is_empty();
    drop(frozen);
    if is_empty {
        std::fs::remove_dir_all(&folder)
            .map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot remove folder {}: {e}", folder.display()))?;
    }
    Ok(())
}

/// What is meant with and without PARTITION; ALL is a word of other statements.
fn one_or_all(table: &MergeTree, partition: Option<&ast::Partition>, ctx: &QueryContext) -> Result<Wanted> {
    ensure!(
        !matches!(partition, Some(ast::Partition::All)),
        SUPPORT_IS_DISABLED,
        "Only support DROP/DETACH/ATTACH PARTITION ALL currently"
    );
    partition.map_or(Ok(Wanted::All), |partition| wanted(table, partition, ctx))
}

fn full_name(name: &ast::ObjectName, ctx: &QueryContext) -> (String, String) {
    let database = name.database.as_ref().map_or(ctx.state.database.as_str(), |database| &database.name);
    (database.to_owned(), name.name.name.clone())
}

/// The folder of a name; without one the next number's.
fn shadow_folder(name: Option<&[u8]>, ctx: &QueryContext) -> Result<PathBuf> {
    let store = ctx.database.shared.catalog.store();
    let store = store.ok_or_else(|| err!(LOGICAL_ERROR, "A table in a folder of a database in memory"))?;
    store.check_writable()?;
    let shadow = store.root().join(SHADOW);
    let Some(name) = name else { return Ok(next_number(&shadow)) };
    Ok(shadow.join(plain_name(name)?))
}

/// A name that can be one of a folder.
fn plain_name(name: &[u8]) -> Result<String> {
    let name = String::from_utf8_lossy(name);
    let is_plain = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
    ensure!(is_plain, BAD_ARGUMENTS, "The name of a frozen table cannot be '{name}'");
    Ok(name.into_owned())
}

fn next_number(shadow: &Path) -> PathBuf {
    let names = std::fs::read_dir(shadow).into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    shadow.join((numbers.max().unwrap_or(0) + 1).to_string())
}

//! Tables from one database to another.

use crate::query_context::QueryContext;
use crate::statements::copied;
use crate::statements::create::{Found, create_stored, open, stored};
use chalet_base::{Result, ensure, err};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::export::Links;
use chalet_storage::merge_tree::part::PartInfo;
use chalet_storage::view::MaterializedView;
use chalet_storage::{Entry, ScanContext, ScanRequest, Table};
use std::sync::Arc;

/// What becomes of the rows of a table.
pub(crate) struct Options<'a> {
    pub with_rows: bool,
    /// Of a MergeTree: which parts.
    pub wanted: &'a dyn Fn(&PartInfo) -> bool,
    pub links: Links,
}

/// A table as one of another database, under a name and with a definition; it is not in the catalog yet.
pub(crate) fn copy_table(
    source: &Entry,
    database: &str,
    name: &str,
    definition: String,
    options: &Options,
    to: &QueryContext,
) -> Result<Entry> {
    let kept = Entry { definition: definition.into(), ..source.clone() };
    let sql = kept.create_sql((kept.kind != "TEMPORARY TABLE").then_some(database), name);
    let rows = rows_of(&source.table).filter(|_| options.with_rows);
    let store = to.database.shared.catalog.store().filter(|_| kept.kind != "TEMPORARY TABLE");
    if let (Some(store), Some(merge_tree)) = (store, rows.and_then(as_merge_tree))
        && merge_tree.parts().folder().is_some()
    {
        let folder = Arc::new(store.new_folder()?);
        let check = || to.control.check_with_interrupt();
        merge_tree.parts().export(&folder, options.wanted, &options.links, &check)?;
        let mut warnings = Vec::new();
        let (table, comment) = stored(&sql, to, |create| {
            let shown = format!("{database}.{name}");
            open(Found {
                create,
                ctx: to,
                name: shown,
                folder: Some(folder.clone()),
                warnings: &mut warnings,
            })
        })?;
        return Ok(Entry { table, comment, ..kept });
    }
    let (table, comment) = stored(&sql, to, |create| create_stored(create, to))?;
    if let (Some(rows), Some(target)) = (rows, rows_of(&table)) {
        fill(rows, target, options.wanted, to)?;
    }
    Ok(Entry { table, comment, ..kept })
}

/// Puts the rows of a table into one that is there.
pub(crate) fn fill_table(source: &Entry, target: &Entry, options: &Options, to: &QueryContext) -> Result<()> {
    match (rows_of(&source.table), rows_of(&target.table)) {
        (Some(rows), Some(target)) if options.with_rows => fill(rows, target, options.wanted, to),
        _ => Ok(()),
    }
}

/// FREEZE: the parts of a table as a table of another database, without copies of their files.
pub(crate) fn freeze(
    source: &Entry,
    database: &str,
    name: &str,
    wanted: &dyn Fn(&PartInfo) -> bool,
    to: &QueryContext,
) -> Result<()> {
    let options = Options { with_rows: true, wanted, links: Links::Own };
    let entry = copy_table(source, database, name, source.definition.to_string(), &options, to)?;
    let catalog = &to.database.shared.catalog;
    catalog.create_database(database, true, "")?;
    catalog.create_table(database, name, entry, false, false)
}

/// The table that has the rows of a table, if it keeps any: of a view its own.
pub(crate) fn rows_of(table: &Arc<dyn Table>) -> Option<&Arc<dyn Table>> {
    if let Some(view) = table.as_any().downcast_ref::<MaterializedView>() {
        return view.inner().and_then(rows_of);
    }
    let keeps_rows = table.folder().is_some()
        || as_merge_tree(table).is_some()
        || matches!(
            table.engine(),
            "Memory" | "Log" | "TinyLog" | "StripeLog" | "Join" | "Set" | "EmbeddedRocksDB" | "KeeperMap"
        );
    keeps_rows.then_some(table)
}

fn as_merge_tree(table: &Arc<dyn Table>) -> Option<&MergeTree> {
    table.as_any().downcast_ref()
}

fn fill(
    source: &Arc<dyn Table>,
    target: &Arc<dyn Table>,
    wanted: &dyn Fn(&PartInfo) -> bool,
    ctx: &QueryContext,
) -> Result<()> {
    if let (Some(source), Some(target)) = (as_merge_tree(source), as_merge_tree(target)) {
        let mut change = Change::default();
        for part in source.parts().snapshot()?.parts.iter().filter(|part| wanted(&part.info)) {
            change.added.extend(copied(target, source, part, ctx)?);
        }
        return if change.added.is_empty() { Ok(()) } else { target.parts().commit(change) };
    }
    ensure!(
        as_merge_tree(target).is_none() && source.engine() != "Set",
        NOT_IMPLEMENTED,
        "The rows of a table with engine {} cannot be copied to one with engine {} by BACKUP or RESTORE",
        source.engine(),
        target.engine()
    );
    let columns = source.schema().stored_positions();
    let context = ScanContext { progress: Arc::default(), ..ctx.exec.scan.clone() };
    let request = ScanRequest { columns, context, ..ScanRequest::default() };
    let mut rows = source.scan(&request)?.worker()?;
    let mut out = target.insert().map_err(|e| err_of_engine(&**target, &e))?;
    while let Some(morsel) = rows.next()? {
        ctx.control.check_with_interrupt()?;
        out.write(morsel.block)?;
    }
    out.finish()
}

fn err_of_engine(table: &dyn Table, error: &chalet_base::Error) -> chalet_base::Error {
    err!(
        CANNOT_BACKUP_TABLE,
        "Cannot write rows of a table with engine {}: {}",
        table.engine(),
        error.message()
    )
}

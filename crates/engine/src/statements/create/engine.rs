//! What an engine of tables is: how it makes a table and how it opens one that is kept on disk.

use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::Table;
use chalet_storage::disk::{Store, TableFolder};
use chalet_syntax::ast;
use std::sync::Arc;

/// A kind of tables.
pub(super) struct Engine {
    pub name: &'static str,
    pub takes_arguments: bool,
    /// Whether PARTITION BY, PRIMARY KEY and ORDER BY may follow.
    pub takes_keys: bool,
    /// Whether PARTITION BY alone may follow.
    pub takes_partitions: bool,
    /// Whether PRIMARY KEY alone may follow.
    pub takes_primary_key: bool,
    /// Settings that are supported.
    pub settings: &'static [&'static str],
    /// Settings of the kernel's engine that are not.
    pub other_settings: &'static [&'static str],
    /// Makes the table of CREATE, and says the engine as SHOW CREATE prints it. In a database on disk the table asks the
    /// store for a folder when it keeps rows.
    pub create: fn(&New) -> Result<(Arc<dyn Table>, String)>,
    /// Makes the table of a definition that was found on disk, over the folder that it had.
    pub open: fn(&'static Engine, Found) -> Result<Arc<dyn Table>>,
}

/// A table that CREATE asks for.
pub(super) struct New<'a> {
    pub engine: &'static Engine,
    pub create: &'a ast::CreateTable,
    /// The engine and its clauses, which CREATE TABLE ... AS takes from another table.
    pub storage: &'a ast::Storage,
    pub ctx: &'a QueryContext,
    /// Where it is kept; `None` for temporary tables and databases in memory.
    pub store: Option<&'a Arc<Store>>,
}

/// A table that was found on disk.
pub(crate) struct Found<'a> {
    pub create: &'a ast::CreateTable,
    pub ctx: &'a QueryContext,
    /// `database.table`, for messages.
    pub name: String,
    /// `None` for tables that keep nothing.
    pub folder: Option<Arc<TableFolder>>,
    /// Takes what the user should know.
    pub warnings: &'a mut Vec<String>,
}

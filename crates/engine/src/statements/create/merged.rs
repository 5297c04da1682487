//! ENGINE = Merge: tables whose names match, one behind the other.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use crate::merged::{Matching, MergeEngine};
use crate::query_context::QueryContext;
use chalet_base::{Result, ensure};
use chalet_binder::table_columns::bind_table_arguments;
use chalet_storage::Table;
use chalet_syntax::ast;
use std::sync::Arc;

/// `Merge(database, pattern)`.
pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let matching = matching(new.storage, new.ctx)?;
    let is_described = !new.create.definition.columns.is_empty() || new.create.source.is_some();
    let schema = if is_described { schema_of(new.create, new.ctx)? } else { matching.schema(new.ctx)? };
    let shown = format!("Merge({})", matching.shown());
    Ok((Arc::new(MergeEngine { schema, matching }), shown))
}

pub(super) fn open(_: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let matching = matching(&found.create.storage, found.ctx)?;
    Ok(Arc::new(MergeEngine { schema: stored_schema(&found.create.definition)?, matching }))
}

fn matching(storage: &ast::Storage, ctx: &QueryContext) -> Result<Matching> {
    let args = storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default();
    ensure!(
        args.len() == 2,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage Merge requires exactly 2 parameters - name of source database and regexp for table names"
    );
    Matching::new(&bind_table_arguments(args, ctx, &ctx.ids)?, ctx)
}

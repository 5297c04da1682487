//! ALTER TABLE ... MODIFY QUERY of a table that is no view: always refused. The kernel first gives the table the columns of the query, so
//! what depends on others is told in place of the refusal.

use crate::query_context::QueryContext;
use crate::statements::create;
use crate::stored_columns::bind_stored;
use crate::tables::existing;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast;

pub(super) fn refuse(name: &ast::ObjectName, query: &ast::Query, ctx: &QueryContext) -> Result<()> {
    let (table, _) = existing(name, ctx)?;
    let Some(tree) = table.as_any().downcast_ref::<MergeTree>() else {
        bail!(NOT_IMPLEMENTED, "Alter of type 'MODIFY_QUERY' is not supported by storage {}", table.engine())
    };
    let of_query = ctx.columns_of(&bind_query(query, ctx, &ctx.ids)?);
    let keys = &tree.definition().keys;
    let schema = TableSchema { columns: of_query.into(), ..tree.schema() };
    bind_stored(keys.all().map(|(text, _)| text), &schema, ctx)?;
    create::ttl::check(keys, &schema, ctx)?;
    create::skip_index::check_expressions(&schema, ctx)?;
    create::projection::check(&schema, ctx)?;
    bail!(NOT_IMPLEMENTED, "ALTER MODIFY QUERY is not supported by MergeTree engines family")
}

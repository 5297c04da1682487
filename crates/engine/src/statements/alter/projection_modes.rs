//! What the settings of a table say of projections where rows change.

use crate::query_context::QueryContext;
use crate::statements::create::MergeTreeSettings;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{Entry, Table};
use chalet_syntax::ast;

/// Fails for tables whose merges change rows, unless a setting says what becomes of projections.
pub(super) fn check_merging(table: &MergeTree, entry: &Entry, ctx: &QueryContext) -> Result<()> {
    if table.definition().keys.merging.is_none() {
        return Ok(());
    }
    let settings = settings_of(entry, ctx)?;
    ensure!(
        settings.merges_projections,
        SUPPORT_IS_DISABLED,
        "ADD PROJECTION is not supported in {} with deduplicate_merge_projection_mode = throw. Please set setting \
         'deduplicate_merge_projection_mode' to 'drop' or 'rebuild'",
        table.engine()
    );
    Ok(())
}

/// What a table was given in SETTINGS.
pub(super) fn settings_of(entry: &Entry, ctx: &QueryContext) -> Result<MergeTreeSettings> {
    let parsed = chalet_syntax::parse_printed(&entry.create_sql(None, "t"))?;
    let Some(ast::StatementKind::CreateTable(create)) = parsed.into_iter().next().map(|s| s.kind) else {
        bail!(LOGICAL_ERROR, "The definition of a table makes no table: {}", entry.definition)
    };
    MergeTreeSettings::of(&create.storage.settings, ctx)
}

/// What a table that a statement names was given in SETTINGS; none of one that is not in the catalog.
pub(super) fn settings_of_table(
    name: &ast::ObjectName,
    ctx: &QueryContext,
) -> Result<Option<MergeTreeSettings>> {
    let database = name.database.as_ref().map_or(&*ctx.state.database, |database| &database.name);
    let entry = ctx.database.shared.catalog.find(database, &name.name.name);
    entry.map(|entry| settings_of(&entry, ctx)).transpose()
}

/// Does the table say that DELETE FROM is allowed although it has projections?
pub(super) fn are_rebuilt(name: &ast::ObjectName, ctx: &QueryContext) -> Result<bool> {
    Ok(settings_of_table(name, ctx)?.is_some_and(|settings| settings.rebuilds_projections))
}

/// Does the table say what becomes of its projections when a merge drops rows?
pub(crate) fn merges_projections(name: &ast::ObjectName, ctx: &QueryContext) -> Result<bool> {
    Ok(settings_of_table(name, ctx)?.is_some_and(|settings| settings.merges_projections))
}

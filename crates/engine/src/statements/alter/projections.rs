//! ALTER TABLE ... PROJECTION: which projections a table has.

use crate::query_context::QueryContext;
use crate::statements::create::{MergeTreeSettings, projection};
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{Entry, Projection, Table};
use chalet_syntax::ast::{self, ColumnPosition, ProjectionDef};

/// ADD PROJECTION.
pub(super) fn add(
    projections: &mut Vec<Projection>,
    written: &ProjectionDef,
    position: Option<&ColumnPosition>,
    if_not_exists: bool,
) -> Result<()> {
    let name = &written.name.name;
    if projections.iter().any(|known| *known.name == **name) {
        ensure!(
            if_not_exists,
            ILLEGAL_PROJECTION,
            "Cannot add projection {name}: projection with this name already exists"
        );
        return Ok(());
    }
    let at = match position {
        None => projections.len(),
        Some(ColumnPosition::First) => 0,
        // Behind one that is not there is the end.
        Some(ColumnPosition::After(before)) => projections
            .iter()
            .position(|known| *known.name == *before.name)
            .map_or(projections.len(), |at| at + 1),
    };
    projections.insert(at, projection::declared(written));
    Ok(())
}

fn position_of(projections: &[Projection], name: &str) -> Result<usize> {
    if let Some(at) = projections.iter().position(|known| *known.name == *name) {
        return Ok(at);
    }
    let near = nearest(name, projections.iter().map(|known| &*known.name), 1);
    let hint = near.first().map_or(String::new(), |near| format!(". Maybe you meant: ['{near}']"));
    bail!(NO_SUCH_PROJECTION_IN_TABLE, "There is no projection {name} in table{hint}")
}

/// DROP PROJECTION.
pub(super) fn drop(projections: &mut Vec<Projection>, name: &str, if_exists: bool) -> Result<()> {
    match position_of(projections, name) {
        Ok(at) => _ = projections.remove(at),
        Err(_) if if_exists => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Fails for tables whose merges change rows, unless a setting says what becomes of projections.
pub(super) fn check_merging(table: &MergeTree, entry: &Entry, ctx: &QueryContext) -> Result<()> {
    if table.definition().keys.merging.is_none() {
        return Ok(());
    }
    let parsed = chalet_syntax::parse_printed(&entry.create_sql(None, "t"))?;
    let Some(ast::StatementKind::CreateTable(create)) = parsed.into_iter().next().map(|s| s.kind) else {
        bail!(LOGICAL_ERROR, "The definition of a table makes no table: {}", entry.definition)
    };
    let settings = MergeTreeSettings::of(&create.storage.settings, ctx)?;
    ensure!(
        settings.merges_projections,
        SUPPORT_IS_DISABLED,
        "ADD PROJECTION is not supported in {} with deduplicate_merge_projection_mode = throw. Please set setting \
         'deduplicate_merge_projection_mode' to 'drop' or 'rebuild'",
        table.engine()
    );
    Ok(())
}

//! The rows that parts have of projections: made by queries over the parts.

use super::program::ProjectionProgram;
use crate::merge_tree::part_query::{SOURCE, run};
use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::projection::ProjectionWriter;
use chalet_storage::merge_tree::{MergeTree, PartSet};
use std::sync::Arc;

/// What the rows of projections are computed under, whatever the session says.
const SETTINGS: &[(&str, &str)] = &[
    ("aggregate_functions_null_for_empty", "0"),
    ("transform_null_in", "0"),
    ("enable_positional_arguments", "0"),
    ("group_by_use_nulls", "0"),
    ("max_rows_to_group_by", "0"),
    ("max_rows_to_sort", "0"),
    ("limit", "0"),
    ("offset", "0"),
    ("final", "0"),
    ("additional_table_filters", "{}"),
    ("optimize_use_projections", "0"),
];

/// Gives a part that nobody has changed its projections. Of a part in the journal only their names are kept.
pub(crate) fn complete(
    table: &MergeTree,
    part: &Arc<Part>,
    programs: &[ProjectionProgram],
    ctx: &QueryContext,
) -> Result<()> {
    for program in programs {
        match table.is_on_disk() && part.resident().is_some() {
            true => part.declare_projection(program.stored.key()),
            false => written(table, part, program, ctx)?.finish()?,
        }
    }
    Ok(())
}

/// The rows that parts have of a projection; those of parts in the journal are made for the caller.
pub(crate) fn rows(
    table: &MergeTree,
    parts: &[Arc<Part>],
    program: &ProjectionProgram,
    ctx: &QueryContext,
) -> Result<Vec<Arc<Part>>> {
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| part.has_projection(program.stored.key())) {
        match part.projection(&program.stored) {
            Some(rows) => found.push(rows),
            None if part.resident().is_some() => found.push(written(table, part, program, ctx)?.into_part()?),
            None => {}
        }
    }
    Ok(found)
}

/// The rows of a projection, written.
pub(crate) fn written(
    table: &MergeTree,
    part: &Arc<Part>,
    program: &ProjectionProgram,
    ctx: &QueryContext,
) -> Result<ProjectionWriter> {
    let mut settings = ctx.state.settings.clone();
    SETTINGS.iter().try_for_each(|(name, value)| settings.set(name, value))?;
    let ctx = ctx.with_settings(settings)?;
    let source = Arc::new(PartSet { table: table.clone(), parts: vec![part.clone()] });
    let writer = table.project_part(part, &program.stored);
    run(source, &program.query(SOURCE), &ctx, writer, |writer, block| writer.write(block))
}

//! OPTIMIZE: the parts of each partition become one.

use super::alter::{self, wanted};
use crate::materialized;
use crate::merge_tree::merge::{MergeOptions, merge_parts};
use crate::merge_tree::ttl::has_ttl;
use crate::patterns::passes_pattern;
use crate::query_context::QueryContext;
use crate::redirected::Redirected;
use crate::stored_columns::bind_stored;
use crate::tables::existing;
use chalet_base::{Result, bail, codes, ensure};
use chalet_binder::row_rule::MergePurpose;
use chalet_plan::Expr;
use chalet_storage::keyed::KeyedTable;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::part::{Part, PartInfo};
use chalet_storage::{RowMerging, Table};
use chalet_syntax::ast::{self, ColumnsMatcher, ExprKind, Optimize, Transformer};
use std::sync::Arc;

/// How often it begins anew where the table is altered meanwhile.
const ATTEMPTS: usize = 3;

pub(crate) fn run(optimize: &Optimize, ctx: &QueryContext) -> Result<()> {
    let unsupported = [(optimize.dry_run, "DRY RUN")];
    if let Some((_, words)) = unsupported.iter().find(|(is_given, _)| *is_given) {
        bail!(NOT_IMPLEMENTED, "OPTIMIZE ... {words} is not supported");
    }
    for attempt in 1.. {
        match merge(optimize, ctx) {
            Err(error) if error.code() == codes::CANNOT_ASSIGN_OPTIMIZE && attempt < ATTEMPTS => {}
            done => return done,
        }
    }
    Ok(())
}

fn merge(optimize: &Optimize, ctx: &QueryContext) -> Result<()> {
    materialized::check_own(&optimize.table, ctx)?;
    let database = optimize.table.database.as_ref().map(|database| database.name.as_str());
    if ctx
        .entry(database, &optimize.table.name.name)
        .is_some_and(|entry| entry.table.as_any().is::<Redirected>())
    {
        // Nothing waits to be written, and what another table has is not merged in its name.
        return Ok(());
    }
    let (table, name) = existing(&optimize.table, ctx)?;
    let is_key_value = table.as_any().downcast_ref::<KeyedTable>().is_some_and(KeyedTable::is_key_value);
    if table.join_engine().is_some() || is_key_value {
        return Ok(());
    }
    let Some(table) = table.as_any().downcast_ref::<MergeTree>() else {
        bail!(NOT_IMPLEMENTED, "Method optimize is not supported by storage {}", table.engine())
    };
    table.parts().check_writable()?;
    let purpose = purpose(optimize, table)?;
    let distinct = optimize.deduplicate.as_deref();
    let distinct = distinct.map(|listed| distinct_columns(listed, table, &name, ctx)).transpose()?;
    if distinct.is_some() {
        check_projections(optimize, table, ctx)?;
    }
    // FINAL merges also a part that was never merged, and one whose rows are to be dropped.
    let may_expire = has_ttl(table);
    // Or one that keeps other things of where its rows came from.
    let kept = table.definition().keeps_blocks;
    let is_behind = |part: &PartInfo| part.level == 0 || part.blocks != kept;
    let drops = optimize.final_ && (distinct.is_some() || purpose != MergePurpose::Store || may_expire);
    let is_due =
        |parts: &[Arc<Part>]| parts.len() > 1 || drops || optimize.final_ && is_behind(&parts[0].info);
    let options = MergeOptions { purpose, distinct, mutation: None };
    let partition = optimize.partition.as_ref().map(|written| wanted(table, written, ctx)).transpose()?;
    let check = || ctx.control.check_with_interrupt();
    let (_claim, parts) =
        table.parts().claim_all(|info| partition.as_ref().is_none_or(|wanted| wanted.has(info)), &check)?;
    let same = |a: &Arc<Part>, b: &Arc<Part>| a.info.partition.id == b.info.partition.id;
    parts
        .chunk_by(same)
        .filter(|parts| is_due(parts))
        .try_for_each(|parts| merge_parts(table, parts, &options, ctx, &check))
}

/// Fails where the table has projections, unless a setting says what becomes of them when rows go.
fn check_projections(optimize: &Optimize, table: &MergeTree, ctx: &QueryContext) -> Result<()> {
    ensure!(
        table.schema().projections.is_empty() || alter::merges_projections(&optimize.table, ctx)?,
        SUPPORT_IS_DISABLED,
        "OPTIMIZE DEDUPLICATE query is not supported for table {} as it has projections. Please drop all projections \
         manually before running the query, or set setting 'deduplicate_merge_projection_mode' to 'drop' or 'rebuild'",
        optimize.table.name.name
    );
    Ok(())
}

/// What CLEANUP asks for, where it may.
fn purpose(optimize: &Optimize, table: &MergeTree) -> Result<MergePurpose> {
    if !optimize.cleanup {
        return Ok(MergePurpose::Store);
    }
    let RowMerging::Replacing { allows_cleanup, .. } = &table.definition().keys.merging else {
        bail!(
            CANNOT_ASSIGN_OPTIMIZE,
            "Cannot OPTIMIZE with CLEANUP table: only ReplacingMergeTree can be CLEANUP."
        )
    };
    ensure!(
        *allows_cleanup || !optimize.final_,
        SUPPORT_IS_DISABLED,
        "Experimental merges with CLEANUP are not allowed"
    );
    // Rows that say that others are deleted may be needed by those that are not merged with them.
    Ok(if optimize.final_ { MergePurpose::StoreWithoutDeleted } else { MergePurpose::Store })
}

/// The stored columns that `COLUMNS(...)` names.
fn matched(written: &ast::Expr, stored: &[&str], ctx: &QueryContext) -> Result<Vec<usize>> {
    let ExprKind::Columns { matcher, transformers, .. } = &written.kind else {
        bail!(LOGICAL_ERROR, "{written} matches no columns")
    };
    let mut found = Vec::new();
    for (at, name) in stored.iter().enumerate() {
        let is_named = match matcher {
            ColumnsMatcher::Regex(pattern) => passes_pattern("match", name, pattern, &ctx.functions)?,
            ColumnsMatcher::List(columns) => columns.iter().any(|column| column.to_string() == *name),
        };
        let is_left_out = transformers.iter().any(|transformer| {
            matches!(transformer, Transformer::Except { columns, .. } if columns.iter().any(|c| c.name == *name))
        });
        if is_named && !is_left_out {
            found.push(at);
        }
    }
    Ok(found)
}

/// The columns of DEDUPLICATE BY, as positions among the stored ones; all where none is listed.
fn distinct_columns(
    listed: &[ast::Expr],
    table: &MergeTree,
    name: &str,
    ctx: &QueryContext,
) -> Result<Vec<usize>> {
    let schema = table.schema();
    let stored: Vec<&str> = schema.stored().map(|c| &*c.name).collect();
    let mut found: Vec<usize> = Vec::new();
    for written in listed {
        match &written.kind {
            ExprKind::Star(transformers) => {
                let mut left: Vec<usize> = (0..stored.len()).collect();
                for transformer in transformers {
                    let Transformer::Except { columns, .. } = transformer else {
                        bail!(NOT_IMPLEMENTED, "DEDUPLICATE BY {written} is not supported")
                    };
                    left.retain(|&at| columns.iter().all(|column| column.name != stored[at]));
                }
                found.extend(left);
            }
            ExprKind::Columns { .. } => {
                let named = matched(written, &stored, ctx)?;
                ensure!(
                    !named.is_empty(),
                    EMPTY_LIST_OF_COLUMNS_QUERIED,
                    "Empty list of columns queried. There are columns: {}",
                    stored.join(", ")
                );
                found.extend(named);
            }
            ExprKind::Identifier(parts) => {
                let column = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
                let Some(at) = stored.iter().position(|known| *known == column) else {
                    bail!(
                        NO_SUCH_COLUMN_IN_TABLE,
                        "There is no column with name `{column}` in table {name}. There are columns: {}",
                        stored.join(", ")
                    )
                };
                ensure!(
                    !found.contains(&at),
                    COLUMN_QUERIED_MORE_THAN_ONCE,
                    "Column {column} queried more than once"
                );
                found.push(at);
            }
            _ => bail!(NOT_IMPLEMENTED, "DEDUPLICATE BY {written} is not supported"),
        }
    }
    if listed.is_empty() {
        found = (0..stored.len()).collect();
    }
    let (fields, bound) = bind_stored(table.definition().keys.all().map(|(text, _)| text), &schema, ctx)?;
    let read: Vec<_> = bound.iter().map(Expr::columns).collect();
    for (at, field) in fields.iter().enumerate() {
        ensure!(
            found.contains(&at) || !read.iter().any(|ids| ids.contains(&field.id)),
            THERE_IS_NO_COLUMN,
            "DEDUPLICATE BY expression must include all columns used in table's ORDER BY, PRIMARY KEY, or PARTITION BY but \
             '{}' is missing",
            field.name
        );
    }
    Ok(found)
}

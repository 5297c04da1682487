//! ALTER TABLE ... PROJECTION: which projections a table has, and which its parts.

use super::altering;
use super::indexes::parts_of;
use crate::projections::declared::{aggregates, parsed};
use crate::projections::program::{self, ProjectionProgram};
use crate::projections::write;
use crate::query_context::QueryContext;
use crate::statements::create::projection;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::change::Change;
use chalet_storage::merge_tree::part::Part;
use chalet_storage::{Projection, Table};
use chalet_syntax::ast::{self, ColumnPosition, ProjectionDef};
use std::sync::Arc;

/// Fails where columns get other types that projections aggregate: their states and keys cannot be converted.
pub(super) fn check_converted(
    projections: &[Projection],
    converted: &[Arc<str>],
    ctx: &QueryContext,
) -> Result<()> {
    for projection in projections.iter().filter(|_| !converted.is_empty()) {
        let written = parsed(projection)?;
        if !aggregates(&written, ctx) {
            continue;
        }
        let keys = match &written.query.group_by {
            Some(ast::GroupBy::Exprs(keys)) => &keys[..],
            _ => &[],
        };
        let is_named = |exprs: &[ast::Expr]| exprs.iter().any(|e| names_one(e, converted));
        let name = &projection.name;
        ensure!(
            !is_named(keys),
            ALTER_OF_COLUMN_IS_FORBIDDEN,
            "Cannot apply ALTER because it breaks projection {name}: Cannot ALTER column"
        );
        ensure!(
            !is_named(&written.query.projection),
            CANNOT_CONVERT_TYPE,
            "Cannot apply ALTER because it breaks projection {name}: Conversion of states of aggregate functions is not supported"
        );
    }
    Ok(())
}

/// Does an expression name one of these columns?
fn names_one(e: &ast::Expr, columns: &[Arc<str>]) -> bool {
    let mut found = false;
    chalet_syntax::visit::walk(e, &mut |e| {
        if let ast::ExprKind::Identifier(parts) = &e.kind {
            found |= parts.last().is_some_and(|part| columns.iter().any(|column| **column == *part.name));
        }
        !found
    });
    found
}

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

/// Gives the parts of a table, or of one partition, the rows of a projection that they lack. What is not there is left as it is,
/// as in the kernel, where a mutation finds out.
pub(super) fn materialize(
    name: &ast::ObjectName,
    projection: &str,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    with_program(name, projection, ctx, |table, program| {
        let key = program.stored.key();
        let mut projected = Vec::new();
        for part in parts_of(table, partition, ctx)? {
            ctx.control.check_with_interrupt()?;
            if part.has_projection(key) {
                continue;
            }
            match table.is_on_disk() && part.resident().is_some() {
                true => projected.push((part.info.number, key)),
                false => write::written(table, &part, program, ctx)?.finish()?,
            }
        }
        table.parts().sync_names()?;
        match projected.is_empty() {
            true => Ok(()),
            false => table.parts().commit(Change { projected, ..Change::default() }),
        }
    })
}

/// Removes the rows of a projection.
pub(super) fn clear(
    name: &ast::ObjectName,
    projection: &str,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    with_program(name, projection, ctx, |table, program| {
        let parts = parts_of(table, partition, ctx)?;
        remove(table, parts.iter(), program.stored.key())
    })
}

/// Removes the rows of projections that a table had.
pub(super) fn remove_dropped(table: &MergeTree, left: &[Projection], ctx: &QueryContext) -> Result<()> {
    let state = table.parts().snapshot()?;
    for one in table.schema().projections.iter().filter(|one| !left.contains(one)) {
        let is_renamed = left.iter().any(|other| other.name == one.name);
        if let (Some(program), false) = (program::program(table, one, ctx)?, is_renamed) {
            // The definition counts: what stays is right, and goes with its part.
            let _ = remove(table, state.parts.iter().chain(&state.detached), program.stored.key());
        }
    }
    Ok(())
}

fn remove<'a>(table: &MergeTree, parts: impl Iterator<Item = &'a Arc<Part>>, key: u64) -> Result<()> {
    let mut unprojected = Vec::new();
    for part in parts.filter(|part| part.has_projection(key)) {
        match table.is_on_disk() && part.resident().is_some() {
            true => unprojected.push((part.info.number, key)),
            false => part.remove_projection(key),
        }
    }
    match unprojected.is_empty() {
        true => Ok(()),
        false => table.parts().commit(Change { unprojected, ..Change::default() }),
    }
}

fn with_program(
    name: &ast::ObjectName,
    projection: &str,
    ctx: &QueryContext,
    work: impl FnOnce(&MergeTree, &ProjectionProgram) -> Result<()>,
) -> Result<()> {
    altering(name, ctx, |_, table| {
        let schema = table.schema();
        let found = schema.projections.iter().find(|known| *known.name == *projection);
        let Some(found) = found else { return Ok(()) };
        match program::program(table, found, ctx)? {
            Some(program) => work(table, &program),
            None => Ok(()),
        }
    })
}

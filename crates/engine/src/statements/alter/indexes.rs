//! ALTER TABLE ... INDEX: which indexes a table has.

use super::{altering, partitions, renamed};
use crate::implicit_indexes;
use crate::merge_tree::merge::open_part;
use crate::query_context::QueryContext;
use crate::skip_indexes;
use crate::statements::create::skip_index;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, ensure};
use chalet_storage::merge_tree::part::Part;
use chalet_storage::merge_tree::skip_index::SkipIndexProgram;
use chalet_storage::merge_tree::{ImplicitIndexes, MergeTree};
use chalet_storage::{SkipIndex, Table};
use chalet_syntax::ast::{self, ColumnPosition, IndexDef};
use std::sync::Arc;

/// ADD INDEX.
pub(super) fn add(
    indexes: &mut Vec<SkipIndex>,
    implicit: ImplicitIndexes,
    written: &IndexDef,
    position: Option<&ColumnPosition>,
    if_not_exists: bool,
) -> Result<()> {
    let index = skip_index::declared(written)?;
    let name = &index.name;
    ensure!(
        !implicit_indexes::is_reserved(name, implicit),
        BAD_ARGUMENTS,
        "Cannot add index {name} because it uses a reserved index name"
    );
    if indexes.iter().any(|known| known.name == *name) {
        ensure!(
            if_not_exists,
            ILLEGAL_COLUMN,
            "Cannot add index {name}: index with this name already exists"
        );
        return Ok(());
    }
    let at = match position {
        None => indexes.len(),
        Some(ColumnPosition::First) => 0,
        Some(ColumnPosition::After(before)) => {
            let Some(at) = indexes.iter().position(|known| *known.name == *before.name) else {
                bail!(BAD_ARGUMENTS, "Wrong index name. Cannot find index `{}` to insert after", before.name)
            };
            at + 1
        }
    };
    indexes.insert(at, index);
    Ok(())
}

/// DROP INDEX.
pub(super) fn drop(indexes: &mut Vec<SkipIndex>, name: &str, if_exists: bool) -> Result<()> {
    match indexes.iter().position(|known| *known.name == *name) {
        Some(at) => _ = indexes.remove(at),
        None if if_exists => {}
        None => {
            let near = nearest(name, indexes.iter().map(|known| &*known.name), 1);
            let hint = near.first().map_or(String::new(), |near| format!(", may be you meant: ['{near}']"));
            bail!(BAD_ARGUMENTS, "Wrong index name. Cannot find index `{name}` to drop{hint}")
        }
    }
    Ok(())
}

/// A column that indexes read has another name.
pub(super) fn rename(indexes: &mut [SkipIndex], from: &str, to: &str) -> Result<()> {
    for index in indexes {
        index.expr = renamed(&index.expr, from, to)?.into();
        if let Some(name) = implicit_indexes::renamed(index, from, to) {
            index.name = name;
        }
    }
    Ok(())
}

/// Gives the parts of a table, or of one partition, the files of an index that they lack. What is not there is left as it is, as in
/// the kernel, where a mutation finds out.
pub(super) fn materialize(
    name: &ast::ObjectName,
    index: &str,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    with_program(name, index, ctx, |table, program| {
        for part in parts_of(table, partition, ctx)? {
            if part.has_index(program.key()) {
                continue;
            }
            let mut rows = open_part(table, &part, 1)?;
            table.index_part(&part, std::slice::from_ref(program), &mut || {
                ctx.control.check_with_interrupt()?;
                Ok(rows.next()?.map(|morsel| morsel.block))
            })?;
        }
        Ok(())
    })
}

/// Removes the files of an index.
pub(super) fn clear(
    name: &ast::ObjectName,
    index: &str,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<()> {
    with_program(name, index, ctx, |table, program| {
        let parts = parts_of(table, partition, ctx)?;
        parts.iter().for_each(|part| part.remove_index(program.key()));
        Ok(())
    })
}

/// Removes the files of indexes that a table had.
pub(super) fn remove_dropped(table: &MergeTree, left: &[SkipIndex], ctx: &QueryContext) -> Result<()> {
    let state = table.parts().snapshot()?;
    for index in table.schema().indexes.iter().filter(|index| !left.contains(index)) {
        let is_renamed = left.iter().any(|other| other.name == index.name);
        if let (Some(program), false) = (skip_indexes::program(table, index, ctx)?, is_renamed) {
            state.parts.iter().chain(&state.detached).for_each(|part| part.remove_index(program.key()));
        }
    }
    Ok(())
}

fn with_program(
    name: &ast::ObjectName,
    index: &str,
    ctx: &QueryContext,
    work: impl FnOnce(&MergeTree, &SkipIndexProgram) -> Result<()>,
) -> Result<()> {
    altering(name, ctx, |_, table| {
        let schema = table.schema();
        let Some(index) = schema.indexes.iter().find(|known| *known.name == *index) else { return Ok(()) };
        match skip_indexes::program(table, index, ctx)? {
            Some(program) => work(table, &program),
            None => Ok(()),
        }
    })
}

pub(super) fn parts_of(
    table: &MergeTree,
    partition: Option<&ast::Partition>,
    ctx: &QueryContext,
) -> Result<Vec<Arc<Part>>> {
    let wanted = partition.map(|partition| partitions::wanted(table, partition, ctx)).transpose()?;
    let state = table.parts().snapshot()?;
    let is_wanted = |part: &&Arc<Part>| wanted.as_ref().is_none_or(|wanted| wanted.has(&part.info));
    Ok(state.parts.iter().filter(is_wanted).cloned().collect())
}

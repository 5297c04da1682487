//! ALTER TABLE ... COLUMN and COMMENT of tables without a sorting key: rows of Memory are made anew at once, Null has none.

use super::Kept;
use super::columns::{Altered, Draft};
use crate::merge_tree::part_defaults::PartDefaults;
use crate::query_context::QueryContext;
use crate::reading::caster;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use chalet_formats::input::Cast;
use chalet_storage::Table;
use chalet_storage::memory::MemoryTable;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::null::NullTable;
use chalet_syntax::ast::AlterCommand;
use chalet_types::DataType;
use std::sync::Arc;

/// Are the commands such that the table takes them here?
pub(super) fn takes(table: &dyn Table, commands: &[AlterCommand]) -> bool {
    let any = table.as_any();
    if commands.iter().all(|command| matches!(command, AlterCommand::ModifyComment(_))) {
        return !any.is::<MergeTree>() && table.view_query().is_none();
    }
    if !(any.is::<MemoryTable>() && table.engine() == "Memory" || any.is::<NullTable>()) {
        return false;
    }
    commands.iter().all(|command| match command {
        AlterCommand::AddColumn { column, .. } | AlterCommand::ModifyColumn { column, .. } => {
            column.ttl.is_none()
        }
        AlterCommand::DropColumn { .. }
        | AlterCommand::RenameColumn { .. }
        | AlterCommand::CommentColumn { .. }
        | AlterCommand::ModifyComment(_) => true,
        _ => false,
    })
}

/// Does all the commands as one change, which is seen as a whole.
pub(super) fn run(kept: &Kept, commands: &[AlterCommand], ctx: &QueryContext) -> Result<()> {
    let table = &*kept.entry.table;
    let before = table.schema();
    let stored: Vec<DataType> = before.stored().map(|column| column.ty.clone()).collect();
    let known = |name: &str| {
        let at = before.stored().position(|column| *column.name == *name)?;
        Some((u32::try_from(at).ok()?, Vector::unsaid(&stored[at], 1)))
    };
    let mut draft = Draft::of(kept, table, PartDefaults::new(ctx), known, ctx);
    let schema = draft.altered_by(commands)?;
    let publish = |altered: Arc<dyn Table>| {
        let engine = kept.engine()?.to_string();
        kept.replace_engine(altered, &schema, &engine, &draft.comment, ctx)
    };
    if commands.iter().all(|command| matches!(command, AlterCommand::ModifyComment(_))) {
        return publish(kept.entry.table.clone());
    }
    if table.as_any().is::<NullTable>() {
        return publish(Arc::new(NullTable { schema: schema.clone() }));
    }
    let Some(memory) = table.as_any().downcast_ref::<MemoryTable>() else {
        bail!(LOGICAL_ERROR, "Table {} is neither Memory nor Null", kept.name)
    };
    let columns: Vec<&Altered> = draft.columns.iter().filter(|column| column.schema.is_stored()).collect();
    let cast = caster(ctx);
    let change = |block: &Block| {
        ctx.control.check_with_interrupt()?;
        changed(block, &columns, &stored, &cast)
    };
    memory.alter(schema.clone(), change, |altered| publish(Arc::new(altered)))
}

/// A block with other columns: those that are new have the defaults of their types, as in ClickHouse.
fn changed(block: &Block, columns: &[&Altered], before: &[DataType], cast: &Cast) -> Result<Block> {
    let n_rows = block.n_rows();
    let column = |column: &&Altered| {
        let ty = &column.schema.ty;
        match column.id.map(|id| id as usize) {
            Some(at) if before[at] == *ty => Ok(block.column(at).clone()),
            Some(at) => cast(block.column(at), &before[at], ty),
            None => Ok(Column::constant(Vector::unsaid(ty, 1), n_rows)),
        }
    };
    Ok(Block::new(columns.iter().map(column).collect::<Result<_>>()?, n_rows))
}

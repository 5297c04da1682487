//! The rule by which a table merges rows of equal keys, over its stored columns.

use super::key_program::KeyProgram;
use crate::query_context::QueryContext;
use crate::stored_columns::bind_stored;
use chalet_base::Result;
use chalet_binder::row_rule::{MergePurpose, MergedColumn, row_rule};
use chalet_columns::Block;
use chalet_exec::expression::{Layout, layout};
use chalet_exec::operators::merge_rows::RowMerger;
use chalet_memory::{Reservation, Tracker};
use chalet_plan::{Expr, RowRule};
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::{Table, TableSchema};
use std::sync::Arc;

/// A rule, and where its columns are.
pub(crate) struct TableRule {
    rule: RowRule,
    layout: Layout,
}

impl TableRule {
    /// Over these columns; what is behind the stored ones is that of the first of several rows. `None` where all rows stay.
    pub fn of(
        table: &MergeTree,
        schema: &TableSchema,
        purpose: MergePurpose,
        ctx: &QueryContext,
    ) -> Result<Option<TableRule>> {
        let keys = &table.definition().keys;
        if keys.merging.is_none() {
            return Ok(None);
        }
        let (fields, bound) = bind_stored(keys.all().map(|(text, _)| text), schema, ctx)?;
        let columns: Vec<MergedColumn> = schema
            .stored()
            .zip(&fields)
            .map(|(column, field)| MergedColumn {
                field: field.clone(),
                simple_aggregate: column.simple_aggregate.clone(),
            })
            .collect();
        let n_stored = table.schema().stored().count();
        let behind = fields.iter().skip(n_stored).map(|field| field.id);
        let key_columns = bound.iter().flat_map(Expr::columns).chain(behind).collect();
        let rule = row_rule(&keys.merging, &columns, &key_columns, purpose, ctx)?;
        Ok(rule.map(|rule| TableRule { rule, layout: layout(&fields) }))
    }

    /// Begins a merge of the rows of one partition, which come sorted.
    pub fn merger(&self, memory: &Arc<Tracker>) -> Result<RowMerger> {
        RowMerger::new(&self.rule, &self.layout, Reservation::new(memory.clone()))
    }

    /// All rows of a partition at once.
    pub fn merged(&self, rows: Block, keys: &KeyProgram, memory: &Arc<Tracker>) -> Result<Vec<Block>> {
        let mut merger = self.merger(memory)?;
        let columns = keys.sorting_columns(&rows)?;
        let merged = [merger.push(rows, &columns)?, merger.finish()?];
        Ok(merged.into_iter().flatten().collect())
    }
}

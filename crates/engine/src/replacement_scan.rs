//! Replacement scans: names in FROM that the host program resolves to tables over rows that it holds.

use chalet_base::Result;
use chalet_columns::{Block, Column};
pub use chalet_storage::replacement_scan::{HeldRows, Opened, ReplacementTable, RowStream, Source};
pub use chalet_storage::{ColumnRange, Table};
use std::ops::Range;
use std::sync::Arc;

/// The host's side of replacement scans: resolves names in the statements of one caller to tables.
pub trait ReplacementScan: Send + Sync {
    /// What was given to the statements or the session under this name. Asked before the database.
    fn given(&self, name: &str) -> Result<Option<Arc<dyn Table>>>;

    /// Whatever the caller has under this name, if it is a table. Asked when the database has none of the name.
    fn found(&self, name: &str) -> Result<Option<Arc<dyn Table>>>;

    /// What the table function `python` names: as the others, but it is an error if there is none.
    fn named(&self, name: &str) -> Result<Arc<dyn Table>>;

    /// More to say of a name under which there is no table.
    fn hint(&self, name: &str) -> Option<String>;

    /// From now on tables may, or may not, have types that were taken from samples of the values. Who lets them settles them
    /// before the statement goes on.
    fn assume(&self, _assumes: bool) {}

    /// Makes types certain of columns that statements have named; whether any is another than the one that was assumed.
    fn settle(&self) -> Result<bool> {
        Ok(false)
    }

    /// Whether statements have named tables with types that were assumed.
    fn has_assumed(&self) -> bool {
        false
    }

    /// Memory (address ranges) that scans borrow from the caller, who may change it when the statement has ended.
    fn borrowed(&self) -> Vec<Range<usize>>;
}

/// The block with copies of whatever it borrows from the caller: it will outlive the statement.
pub(crate) fn detached(block: Block, replacement_scan: Option<&dyn ReplacementScan>) -> Block {
    let Some(replacement_scan) = replacement_scan else { return block };
    let borrowed = replacement_scan.borrowed();
    if borrowed.is_empty() {
        return block;
    }
    let is_borrowed = |address: usize| borrowed.iter().any(|range| range.contains(&address));
    let n_rows = block.n_rows();
    let columns = block.into_columns().into_iter().map(|column| match column {
        Column::Flat(vector) => Column::Flat(vector.detached(&is_borrowed)),
        Column::Const { value, len } => Column::Const { value: value.detached(&is_borrowed), len },
        Column::Dict { codes, values } => Column::Dict { codes, values: values.detached(&is_borrowed) },
    });
    Block::new(columns.collect(), n_rows)
}

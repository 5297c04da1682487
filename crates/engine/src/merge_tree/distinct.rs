//! OPTIMIZE ... DEDUPLICATE: of rows that are equal in some columns the first stays. The columns hold the keys of the table,
//! so that equal rows are of one partition.

use crate::query_context::QueryContext;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::Reservation;

/// Bytes of a row that was seen, beside its own.
const ENTRY: usize = 40;

pub(super) struct DistinctRows {
    columns: Vec<usize>,
    seen: HashSet<Box<[u8]>>,
    memory: Reservation,
}

impl DistinctRows {
    pub fn new(columns: &[usize], ctx: &QueryContext) -> DistinctRows {
        let memory = Reservation::new(ctx.control.memory.clone());
        DistinctRows { columns: columns.to_vec(), seen: HashSet::default(), memory }
    }

    /// The rows that are not equal to one before.
    pub fn of(&mut self, block: Block) -> Result<Block> {
        let columns: Vec<&Column> = self.columns.iter().map(|&at| block.column(at)).collect();
        let keys = group_keys(&columns, block.n_rows());
        let mut rows = Vec::new();
        let mut bytes = 0;
        for row in 0..block.n_rows() {
            let key = keys.get(row);
            if self.seen.insert(key.into()) {
                bytes += key.len() + ENTRY;
                rows.push(row as u32);
            }
        }
        self.memory.grow(bytes)?;
        Ok(if rows.len() == block.n_rows() { block } else { block.gather(&rows) })
    }
}

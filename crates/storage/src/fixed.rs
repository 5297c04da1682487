//! Tables of blocks that are there from the start: `values(...)`, `system.one`, snapshots of system tables.

use crate::scan::TaskQueue;
use crate::{Morsel, Scan, ScanRequest, ScanWorker, Table, TableSchema};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;
use std::any::Any;
use std::sync::Arc;

/// A read-only table over blocks in memory.
pub struct FixedTable {
    engine: String,
    schema: TableSchema,
    blocks: Arc<[Block]>,
}

impl FixedTable {
    /// A table of these blocks, which have the schema's columns.
    pub fn new(engine: impl Into<String>, schema: TableSchema, blocks: Vec<Block>) -> Self {
        FixedTable { engine: engine.into(), schema, blocks: blocks.into() }
    }

    /// `system.one`: one row with `dummy` = 0.
    pub fn one() -> Self {
        let block = Block::new(vec![Column::Flat(Vector::from(vec![0u8]))], 1);
        FixedTable::new("SystemOne", TableSchema::of([("dummy", DataType::UInt8)]), vec![block])
    }
}

impl Table for FixedTable {
    fn engine(&self) -> &str {
        &self.engine
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(BlockScan::new(self.blocks.clone(), request)))
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.blocks.iter().map(|b| b.n_rows() as u64).sum())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Reads blocks in memory; each block is a task.
pub struct BlockScan {
    shared: Arc<Shared>,
}

struct Shared {
    blocks: Arc<[Block]>,
    columns: Vec<usize>,
    max_block_size: usize,
    tasks: TaskQueue,
}

impl BlockScan {
    /// A scan of some columns of the blocks, cut to the request's block size.
    pub fn new(blocks: Arc<[Block]>, request: &ScanRequest) -> Self {
        BlockScan {
            shared: Arc::new(Shared {
                blocks,
                columns: request.columns.clone(),
                max_block_size: request.context.max_block_size.max(1),
                tasks: TaskQueue::default(),
            }),
        }
    }
}

impl Scan for BlockScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.shared.clone(), current: None }))
    }

    fn parallelism(&self) -> usize {
        self.shared.blocks.len()
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.shared.blocks.iter().map(|b| b.n_rows() as u64).sum())
    }
}

struct Worker {
    shared: Arc<Shared>,
    /// Task, rows of it already given, number of the next morsel.
    current: Option<(usize, usize, u32)>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            let (task, start, number) = match self.current.take() {
                Some(current) => current,
                None => match self.shared.tasks.take(self.shared.blocks.len()) {
                    Some(task) => (task, 0, 0),
                    None => return Ok(None),
                },
            };
            let block = &self.shared.blocks[task];
            let len = (block.n_rows() - start).min(self.shared.max_block_size);
            if len == 0 {
                continue;
            }
            self.current = Some((task, start + len, number + 1));
            let columns: Vec<Column> = self.shared.columns.iter().map(|&c| block.column(c).clone()).collect();
            let block = Block::new(columns, block.n_rows());
            let whole = start == 0 && len == block.n_rows();
            let block = if whole { block } else { block.slice(start, len) };
            return Ok(Some(Morsel { block, task: task as u32, number }));
        }
    }
}

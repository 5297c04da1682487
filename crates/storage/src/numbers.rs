//! `numbers`, `zeros` and `generateSeries`: arithmetic sequences made while they are read.

use crate::scan::TaskQueue;
use crate::{Morsel, Scan, ScanRequest, ScanWorker, Table, TableSchema};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_types::DataType;
use std::any::Any;
use std::sync::Arc;

/// Blocks per task: small enough to share, large enough that handing out costs nothing.
const BLOCKS_PER_TASK: u64 = 8;

/// `first, first + step, ...`, `count` values of them (endless when `None`); or as many zeros.
#[derive(Clone)]
pub struct Sequence {
    pub column: &'static str,
    pub first: u64,
    pub step: u64,
    pub count: Option<u64>,
    pub zeros: bool,
    pub engine: &'static str,
}

impl Table for Sequence {
    fn engine(&self) -> &str {
        self.engine
    }

    fn schema(&self) -> TableSchema {
        let ty = if self.zeros { DataType::UInt8 } else { DataType::UInt64 };
        TableSchema::of([(self.column, ty)])
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        let mut sequence = self.clone();
        if let (Some(limit), None) = (request.limit, &request.filter) {
            sequence.count = Some(sequence.count.map_or(limit, |count| count.min(limit)));
        }
        let block_size = request.context.max_block_size.max(1) as u64;
        let n_tasks = sequence.count.map(|count| count.div_ceil(block_size * BLOCKS_PER_TASK));
        let shared = Shared {
            sequence,
            block_size,
            n_tasks,
            n_columns: request.columns.len(),
            tasks: TaskQueue::default(),
        };
        Ok(Arc::new(SequenceScan(Arc::new(shared))))
    }

    fn total_rows(&self) -> Option<u64> {
        self.count
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Shared {
    sequence: Sequence,
    block_size: u64,
    n_tasks: Option<u64>,
    /// The one column may be asked for never or more than once.
    n_columns: usize,
    tasks: TaskQueue,
}

struct SequenceScan(Arc<Shared>);

impl Scan for SequenceScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), task: 0, number: BLOCKS_PER_TASK as u32 }))
    }

    fn parallelism(&self) -> usize {
        self.0.n_tasks.map_or(usize::MAX, |n| n as usize)
    }

    fn total_rows(&self) -> Option<u64> {
        self.0.sequence.count
    }

    fn exact_rows(&self) -> Option<u64> {
        self.0.sequence.count
    }
}

struct Worker {
    shared: Arc<Shared>,
    task: u64,
    /// Of the next block inside the task.
    number: u32,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        let Shared { sequence, block_size, n_tasks, n_columns, tasks } = &*self.shared;
        if u64::from(self.number) == BLOCKS_PER_TASK {
            let limit = n_tasks.map_or(usize::MAX, |n| n as usize);
            let Some(task) = tasks.take(limit) else { return Ok(None) };
            (self.task, self.number) = (task as u64, 0);
        }
        let start = (self.task * BLOCKS_PER_TASK + u64::from(self.number)) * block_size;
        let len = sequence.count.map_or(*block_size, |count| count.saturating_sub(start).min(*block_size));
        if len == 0 {
            self.number = BLOCKS_PER_TASK as u32;
            return self.next();
        }
        let number = self.number;
        self.number += 1;
        let column = if sequence.zeros {
            Column::constant(Vector::from(vec![0u8]), len as usize)
        } else {
            let first = sequence.first.wrapping_add(start.wrapping_mul(sequence.step));
            let values: Vec<u64> =
                (0..len).map(|i| first.wrapping_add(i.wrapping_mul(sequence.step))).collect();
            Column::Flat(Vector::from(values))
        };
        let block = Block::new(vec![column; *n_columns], len as usize);
        Ok(Some(Morsel { block, task: self.task as u32, number }))
    }
}

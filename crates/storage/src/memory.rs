//! The Memory engine: blocks behind a lock; readers take a snapshot and never wait for writers.

use crate::fixed::BlockScan;
use crate::insert::changed_meanwhile;
use crate::samples::{self, Sample, SampleSize, SampledColumns};
use crate::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_base::{Result, ensure};
use chalet_columns::{Block, Column};
use chalet_formats::TableStatistics;
use chalet_types::DataType;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

/// ENGINE = Memory: blocks as they were inserted; scans share them.
pub struct MemoryTable {
    engine: &'static str,
    schema: TableSchema,
    blocks: Arc<RwLock<Arc<[Block]>>>,
    /// Another table has taken the place of this one, with its rows.
    is_replaced: Arc<AtomicBool>,
    kept: Kept,
    known: Mutex<Known>,
}

/// When the oldest blocks go: while there is more than the most, unless less than the least would be left. A most of 0 is
/// no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    pub min_bytes: u64,
    pub max_bytes: u64,
    pub min_rows: u64,
    pub max_rows: u64,
}

impl Kept {
    /// How many of the oldest blocks go when one comes.
    fn n_too_old(&self, blocks: &[Block], new: &Block) -> usize {
        let size = |block: &Block| (block.memory() as u64, block.n_rows() as u64);
        let (mut bytes, mut rows) = size(new);
        for block in blocks {
            bytes += size(block).0;
            rows += size(block).1;
        }
        let mut n = 0;
        for block in blocks {
            let is_much =
                self.max_bytes > 0 && bytes > self.max_bytes || self.max_rows > 0 && rows > self.max_rows;
            let left = (bytes - size(block).0, rows - size(block).1);
            if !is_much || left.0 < self.min_bytes || left.1 < self.min_rows {
                break;
            }
            (bytes, rows) = left;
            n += 1;
        }
        n
    }
}

/// What samples said of one state of the rows; columns by their positions in the schema.
struct Known {
    blocks: Weak<[Block]>,
    columns: Arc<SampledColumns>,
}

impl MemoryTable {
    /// An empty table.
    pub fn new(schema: TableSchema) -> Self {
        MemoryTable::named("Memory", schema)
    }

    /// What another engine is in a database that is not on disk.
    pub fn named(engine: &'static str, schema: TableSchema) -> Self {
        MemoryTable {
            engine,
            schema,
            blocks: Arc::new(RwLock::new(Arc::new([]))),
            is_replaced: Arc::default(),
            kept: Kept::default(),
            known: Mutex::new(Known { blocks: Weak::<[Block; 0]>::new(), columns: Arc::default() }),
        }
    }

    /// The table with limits on its rows.
    pub fn keeping(self, kept: Kept) -> Self {
        MemoryTable { kept, ..self }
    }

    /// The table with other columns, given to `publish`, which puts it in this one's place; `change` makes its blocks of those that
    /// are here. Rows that are still being inserted here are refused from then on.
    pub fn alter(
        &self,
        schema: TableSchema,
        change: impl Fn(&Block) -> Result<Block>,
        publish: impl FnOnce(MemoryTable) -> Result<()>,
    ) -> Result<()> {
        let blocks = self.blocks.write().unwrap_or_else(PoisonError::into_inner);
        ensure!(!self.is_replaced.load(Relaxed), TABLE_IS_DROPPED, "The table was altered meanwhile");
        let changed: Arc<[Block]> = blocks.iter().map(change).collect::<Result<_>>()?;
        let altered = MemoryTable {
            blocks: Arc::new(RwLock::new(changed)),
            ..MemoryTable::named(self.engine, schema).keeping(self.kept)
        };
        publish(altered)?;
        self.is_replaced.store(true, Relaxed);
        Ok(())
    }

    fn inserter(&self, over: Option<Arc<[Block]>>) -> MemoryInserter {
        let stored = self.schema.columns.iter().filter(|column| column.is_stored());
        let coded = stored.map(|column| matches!(column.ty, DataType::LowCardinality(_))).collect();
        MemoryInserter {
            target: self.blocks.clone(),
            is_replaced: self.is_replaced.clone(),
            coded,
            kept: self.kept,
            over,
            pending: Vec::new(),
        }
    }

    /// Some rows of these columns, positions in the schema; `None` where one of them is not stored.
    fn sample_of(&self, blocks: &[Block], columns: &[usize], size: SampleSize) -> Option<Block> {
        let stored: Vec<usize> = self.schema.stored_positions();
        let positions = columns.iter().map(|column| stored.iter().position(|at| at == column));
        let positions: Vec<usize> = positions.collect::<Option<_>>()?;
        let all_rows = blocks.iter().map(|block| block.n_rows() as u64).sum();
        let sampled: Vec<Block> = samples::rows_of_pieces(blocks.iter().map(Block::n_rows), all_rows, size)
            .into_iter()
            .map(|(at, rows)| {
                let rows: Vec<u32> = rows.into_iter().map(|row| row as u32).collect();
                let columns = positions.iter().map(|&column| blocks[at].column(column).clone()).collect();
                Block::new(columns, blocks[at].n_rows()).gather(&rows)
            })
            .collect();
        (!sampled.is_empty()).then(|| Block::concat(&sampled))
    }

    fn snapshot(&self) -> Arc<[Block]> {
        self.blocks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Table for MemoryTable {
    fn engine(&self) -> &str {
        self.engine
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn identity(&self) -> Option<String> {
        Some(format!("rows at {:p}", Arc::as_ptr(&self.blocks)))
    }

    fn takes_prewhere(&self) -> bool {
        matches!(self.engine, "Memory" | "Log")
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        // Blocks hold stored columns only: positions differ from the schema's when others stand between.
        let mut request = request.clone();
        for column in &mut request.columns {
            *column = self.schema.columns[..*column].iter().filter(|c| c.is_stored()).count();
        }
        Ok(Arc::new(BlockScan::new(self.snapshot(), &request)))
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        Ok(Box::new(self.inserter(None)))
    }

    fn rewrite(&self) -> Result<Box<dyn Inserter>> {
        Ok(Box::new(self.inserter(Some(self.snapshot()))))
    }

    fn truncate(&self) -> Result<()> {
        *self.blocks.write().unwrap_or_else(PoisonError::into_inner) = Arc::new([]);
        Ok(())
    }

    fn total_rows(&self) -> Option<u64> {
        Some(self.snapshot().iter().map(|b| b.n_rows() as u64).sum())
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        let blocks = self.snapshot();
        let rows = blocks.iter().map(|block| block.n_rows() as u64).sum();
        let now = Arc::downgrade(&blocks);
        let sampled = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if !Weak::ptr_eq(&known.blocks, &now) {
                *known = Known { blocks: now, columns: Arc::default() };
            }
            known.columns.clone()
        };
        let read =
            |column| Some(self.sample_of(&blocks, &[column], SampleSize::Conditions)?.column(0).clone());
        Some(sampled.statistics(rows, columns, read))
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        Ok(self.sample_of(&self.snapshot(), columns, size).map(|block| Sample { block }))
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.snapshot().iter().map(|b| b.memory() as u64).sum())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct MemoryInserter {
    target: Arc<RwLock<Arc<[Block]>>>,
    is_replaced: Arc<AtomicBool>,
    /// Which columns are LowCardinality.
    coded: Vec<bool>,
    kept: Kept,
    /// What the rows take the place of.
    over: Option<Arc<[Block]>>,
    pending: Vec<Block>,
}

impl Inserter for MemoryInserter {
    fn write(&mut self, block: Block) -> Result<()> {
        if !block.is_empty() {
            let n_rows = block.n_rows();
            // Constants and dictionaries stay as they are; what they point into is kept no longer than needed.
            let columns = block.into_columns().into_iter().enumerate().map(|(at, column)| match column {
                Column::Flat(vector) if self.coded.get(at) == Some(&true) => match vector.into_dictionary() {
                    Column::Flat(vector) => Column::Flat(vector.compact()),
                    coded => coded,
                },
                Column::Flat(vector) => Column::Flat(vector.compact()),
                other => other,
            });
            self.pending.push(Block::new(columns.collect(), n_rows));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let mut blocks = self.target.write().unwrap_or_else(PoisonError::into_inner);
        ensure!(
            !self.is_replaced.load(Relaxed),
            TABLE_IS_DROPPED,
            "The table was altered while rows were written: none were inserted"
        );
        *blocks = match self.over {
            None if self.kept.max_bytes == 0 && self.kept.max_rows == 0 => {
                blocks.iter().cloned().chain(self.pending).collect()
            }
            None => {
                // What an INSERT brings is one block, however it came.
                let mut all = blocks.to_vec();
                if !self.pending.is_empty() {
                    let block = Block::concat(&self.pending);
                    all.drain(..self.kept.n_too_old(&all, &block));
                    all.push(block);
                }
                all.into()
            }
            Some(over) if Arc::ptr_eq(&over, &blocks) => self.pending.into(),
            Some(_) => return Err(changed_meanwhile()),
        };
        Ok(())
    }
}

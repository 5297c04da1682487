//! The engines Join, Set and EmbeddedRocksDB: rows over another table, of which one may be kept for each key.

use crate::disk::TableFolder;
use crate::samples::{Sample, SampleSize};
use crate::{Held, Inserter, Scan, ScanContext, ScanRequest, Table, TableSchema};
use chalet_base::Result;
use chalet_base::hash::{HashMap, HashSet};
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, BooleanBuffer, Column};
use chalet_formats::TableStatistics;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which rows of a key are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptRows {
    All,
    First,
    Last,
}

/// What a table of the engine Join can be joined as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinEngine {
    /// `ANY`, `ALL`, `SEMI`, `ANTI`.
    pub strictness: String,
    /// `LEFT`, `INNER`, `RIGHT`, `FULL`.
    pub kind: String,
    /// Columns that without a partner are NULL, not defaults.
    pub use_nulls: bool,
}

/// A table of one of these engines.
pub struct KeyedTable {
    engine: &'static str,
    /// May mutations change values and DELETE FROM remove rows?
    is_key_value: bool,
    rows: Arc<dyn Table>,
    shared: Arc<Shared>,
    join: Option<JoinEngine>,
}

struct Shared {
    /// Positions of the key among the stored columns.
    keys: Vec<usize>,
    kept: KeptRows,
    /// The keys that are there, once they are known. Held by an INSERT while it writes.
    seen: Mutex<Option<HashSet<Box<[u8]>>>>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<HashSet<Box<[u8]>>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keys_of(&self, block: &Block) -> Vec<Box<[u8]>> {
        let columns: Vec<&Column> = self.keys.iter().map(|key| block.column(*key)).collect();
        let keys = group_keys(&columns, block.n_rows());
        (0..block.n_rows()).map(|row| keys.get(row).into()).collect()
    }
}

impl KeyedTable {
    /// A table over `rows`, a table of the same schema. `keys` are positions among its columns.
    pub fn new(
        engine: &'static str,
        rows: Arc<dyn Table>,
        keys: Vec<usize>,
        kept: KeptRows,
        join: Option<JoinEngine>,
    ) -> KeyedTable {
        let shared = Arc::new(Shared { keys, kept, seen: Mutex::new(None) });
        KeyedTable { engine, is_key_value: false, rows, shared, join }
    }

    /// A table of values by key: the last row of each key is kept.
    pub fn key_value(engine: &'static str, rows: Arc<dyn Table>, keys: Vec<usize>) -> KeyedTable {
        KeyedTable { is_key_value: true, ..KeyedTable::new(engine, rows, keys, KeptRows::Last, None) }
    }

    /// May mutations change values and DELETE FROM remove rows?
    pub fn is_key_value(&self) -> bool {
        self.is_key_value
    }

    /// The names of the key's columns are at these positions.
    pub fn key_columns(&self) -> &[usize] {
        &self.shared.keys
    }

    /// All rows.
    pub fn read(&self) -> Result<Vec<Block>> {
        read(&*self.rows)
    }
}

fn read(table: &dyn Table) -> Result<Vec<Block>> {
    let schema = table.schema();
    let columns = (0..schema.columns.len()).filter(|column| schema.columns[*column].is_stored()).collect();
    let request = ScanRequest { columns, context: ScanContext::default(), ..ScanRequest::default() };
    let scan = table.scan(&request)?;
    let mut worker = scan.worker()?;
    let mut blocks = Vec::new();
    while let Some(morsel) = worker.next()? {
        blocks.push(morsel.block);
    }
    Ok(blocks)
}

impl Table for KeyedTable {
    fn engine(&self) -> &str {
        self.engine
    }

    fn schema(&self) -> TableSchema {
        self.rows.schema()
    }

    fn identity(&self) -> Option<String> {
        self.rows.identity()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        self.rows.scan(request)
    }

    fn join_engine(&self) -> Option<(&JoinEngine, &[usize])> {
        self.join.as_ref().map(|join| (join, &*self.shared.keys))
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        if self.shared.kept == KeptRows::All {
            return self.rows.insert();
        }
        Ok(Box::new(KeyedInserter {
            rows: self.rows.clone(),
            shared: self.shared.clone(),
            pending: Vec::new(),
        }))
    }

    fn rewrite(&self) -> Result<Box<dyn Inserter>> {
        Ok(Box::new(Rewriter { out: self.rows.rewrite()?, shared: self.shared.clone() }))
    }

    fn truncate(&self) -> Result<()> {
        let mut seen = self.shared.lock();
        *seen = None;
        self.rows.truncate()
    }

    fn total_rows(&self) -> Option<u64> {
        self.rows.total_rows()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.rows.total_bytes()
    }

    fn statistics(&self, columns: &[usize]) -> Option<TableStatistics> {
        self.rows.statistics(columns)
    }

    fn sample(&self, columns: &[usize], size: SampleSize) -> Result<Option<Sample>> {
        self.rows.sample(columns, size)
    }

    fn folder(&self) -> Option<&Arc<TableFolder>> {
        self.rows.folder()
    }

    fn hold(&self) -> Result<Option<Held>> {
        self.rows.hold()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// One INSERT. Its rows are sorted out when it ends, with no other INSERT between.
struct KeyedInserter {
    rows: Arc<dyn Table>,
    shared: Arc<Shared>,
    pending: Vec<Block>,
}

impl Inserter for KeyedInserter {
    fn write(&mut self, block: Block) -> Result<()> {
        self.pending.push(block);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let mut locked = self.shared.lock();
        let known = match locked.take() {
            Some(known) => known,
            None => read(&*self.rows)?.iter().flat_map(|block| self.shared.keys_of(block)).collect(),
        };
        let mut seen: HashSet<Box<[u8]>> = known;
        if self.shared.kept == KeptRows::Last {
            let new: Vec<Box<[u8]>> =
                self.pending.iter().flat_map(|block| self.shared.keys_of(block)).collect();
            // All rows are written anew only where some of them go.
            let (mut blocks, out) = match new.iter().any(|key| seen.contains(key)) {
                true => (read(&*self.rows)?, self.rows.rewrite()?),
                false => (Vec::new(), self.rows.insert()?),
            };
            blocks.extend(self.pending);
            last_of_each(&self.shared, blocks, out)?;
            seen.extend(new);
            *locked = Some(seen);
            return Ok(());
        }
        // Keys of an INSERT that fails are looked for again.
        let mut out = self.rows.insert()?;
        for block in self.pending {
            let new: BooleanBuffer =
                self.shared.keys_of(&block).into_iter().map(|key| seen.insert(key)).collect();
            out.write(block.filter(&new))?;
        }
        out.finish()?;
        *locked = Some(seen);
        Ok(())
    }
}

/// Writes the last row of each key.
fn last_of_each(shared: &Shared, blocks: Vec<Block>, mut out: Box<dyn Inserter>) -> Result<()> {
    let mut last: HashMap<Box<[u8]>, (usize, usize)> = HashMap::default();
    for (number, block) in blocks.iter().enumerate() {
        for (row, key) in shared.keys_of(block).into_iter().enumerate() {
            last.insert(key, (number, row));
        }
    }
    let mut kept: Vec<Vec<bool>> = blocks.iter().map(|block| vec![false; block.n_rows()]).collect();
    last.values().for_each(|&(block, row)| kept[block][row] = true);
    for (block, kept) in blocks.into_iter().zip(kept) {
        out.write(block.filter(&BooleanBuffer::from(kept)))?;
    }
    out.finish()
}

/// Rows that take the place of all others: which keys there are is looked at again.
struct Rewriter {
    out: Box<dyn Inserter>,
    shared: Arc<Shared>,
}

impl Inserter for Rewriter {
    fn write(&mut self, block: Block) -> Result<()> {
        self.out.write(block)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let mut seen = self.shared.lock();
        *seen = None;
        self.out.finish()
    }
}

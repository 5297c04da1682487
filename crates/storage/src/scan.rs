//! Reading a table: a scan hands morsels to the workers of a pipeline.

use crate::merge_tree::skip_index::SkipCondition;
use crate::sorted_runs::SortedRuns;
use chalet_base::Result;
use chalet_columns::Block;
pub use chalet_formats::input::{ColumnRange, FilterStage, Interval, Summary};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

/// What a query needs of a table.
#[derive(Clone, Default)]
pub struct ScanRequest {
    /// Indexes into the schema's columns, in the order that blocks have them.
    pub columns: Vec<usize>,
    /// Positions in `columns` of strings of which only the lengths are needed: they may come with any bytes.
    pub only_lengths: Vec<usize>,
    /// Conditions that every needed row meets, for skipping; all of them hold together.
    pub ranges: Vec<ColumnRange>,
    /// The ranges are hints, which do not hold for the rows: all rows of a granule are read, where any of them may be within.
    pub whole_granules: bool,
    /// What data skipping indexes of the table test of the filter.
    pub skip_conditions: Vec<SkipCondition>,
    /// The whole filter as code, for readers that decode the other columns only for rows that pass.
    pub filter: Option<ScanFilter>,
    /// Of operators above, such as the threshold of a top-k sort: rows that do not pass are not needed. They may get stricter
    /// from block to block. Hints: the scan may ignore them.
    pub dynamic_filters: Vec<ScanFilter>,
    /// No more than this many rows (that pass the filter) are needed.
    pub limit: Option<u64>,
    /// Blocks have one more column, the last: UInt64, the row id. Only of tables that have row ids.
    pub with_row_ids: bool,
    pub context: ScanContext,
}

/// A filter over some of the requested columns.
#[derive(Clone)]
pub struct ScanFilter {
    /// Positions in [`ScanRequest::columns`] that the filter reads.
    pub columns: Vec<usize>,
    /// Those of them that nobody else reads: readers that apply the filter may give any values for them.
    pub unread: Vec<usize>,
    /// Everything that the answer depends on beside the rows, as text that is equal only for equal conditions; `None`
    /// for conditions that may answer differently another time, or are too long to remember.
    pub condition: Option<Arc<str>>,
    /// Of a block of those columns: which rows pass.
    pub evaluate: Arc<dyn Fn(&Block) -> Result<chalet_columns::BooleanBuffer> + Send + Sync>,
    /// The same as several conditions that are best tested one after the other, where it is more than one.
    pub stages: Vec<FilterStage>,
}

impl ScanFilter {
    /// The rows of a block of the requested columns that pass.
    pub fn apply(&self, block: Block) -> Result<Block> {
        let inputs = self.columns.iter().map(|&column| block.column(column).clone()).collect();
        let passing = (self.evaluate)(&Block::new(inputs, block.n_rows()))?;
        Ok(block.filter(&passing))
    }
}

/// Settings of the query that readers obey.
#[derive(Clone)]
pub struct ScanContext {
    /// Rows of a block, at most.
    pub max_block_size: usize,
    /// Workers that will read, at most.
    pub max_threads: usize,
    pub use_query_condition_cache: bool,
    /// Are dictionaries of which few values are needed kept for the next query?
    pub use_dictionary_cache: bool,
    /// Whatever of the session may change what a condition answers: changed settings and the time zone.
    pub conditions_under: Arc<str>,
    pub progress: Arc<ScanProgress>,
}

impl Default for ScanContext {
    fn default() -> Self {
        ScanContext {
            max_block_size: 65_409,
            max_threads: 1,
            use_query_condition_cache: true,
            use_dictionary_cache: true,
            conditions_under: "".into(),
            progress: Arc::default(),
        }
    }
}

/// What was read so far, beyond the rows that the pipeline counts itself.
#[derive(Default)]
pub struct ScanProgress {
    /// Bytes of files read; 0 for tables that are not files.
    pub file_bytes: AtomicU64,
    /// Rows or bytes that statistics allowed to skip.
    pub skipped_rows: AtomicU64,
    /// Bytes of the files that will be read, as they lie on disk; of compressed ones the other counts say nothing.
    pub total_bytes: AtomicU64,
    /// Of those that were opened and know their rows: bytes and rows.
    pub opened_bytes: AtomicU64,
    pub opened_rows: AtomicU64,
}

impl ScanProgress {
    /// Rows of all files, estimated by those that were opened; none where files do not know their rows.
    pub fn expected_rows(&self) -> u64 {
        let opened = u128::from(self.opened_bytes.load(Relaxed));
        if opened == 0 {
            return 0;
        }
        let of_opened = u128::from(self.opened_rows.load(Relaxed));
        let all = of_opened * u128::from(self.total_bytes.load(Relaxed)) / opened;
        u64::try_from(all).unwrap_or(u64::MAX).saturating_sub(self.skipped_rows.load(Relaxed))
    }
}

/// A prepared read, shared by workers.
pub trait Scan: Send + Sync {
    /// One per worker.
    fn worker(&self) -> Result<Box<dyn ScanWorker>>;

    /// How many workers can find work.
    fn parallelism(&self) -> usize {
        1
    }

    /// From now on `wake` is called when there is something new for workers of which [`ScanWorker::poll_next`] said that nothing has
    /// come yet: once for each morsel, and when no more will come. It may be called from any thread.
    fn set_wake(&self, wake: Wake) {
        let _ = wake;
    }

    /// Rows that will come, when known; for progress.
    fn total_rows(&self) -> Option<u64> {
        None
    }

    /// What is known of all rows without reading them, when there is no filter; `columns` are positions in
    /// [`ScanRequest::columns`].
    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        let _ = columns;
        None
    }

    /// The same of the number of NULLs of each column.
    fn null_counts(&self, columns: &[usize]) -> Option<Vec<u64>> {
        let _ = columns;
        None
    }

    /// Every block holds exactly the rows that pass the filter of the request: nobody need filter again.
    fn applies_filter(&self) -> bool {
        false
    }

    /// Are the dynamic filters of the request used, as far as they can be?
    fn applies_dynamic_filters(&self) -> bool {
        false
    }

    /// The scan as runs that are in the order of the table's sorting key each, where it is of such; read instead of its workers. `key`
    /// is the position of the first sorting key among the requested columns, if it ascends and is one of them.
    fn sorted_runs(&self, key: Option<usize>) -> Option<Arc<dyn SortedRuns>> {
        let _ = key;
        None
    }

    /// Reads further columns of rows that were put out, by row id; none unless the request asked for row ids.
    fn rows_by_id(&self) -> Option<Arc<dyn RowsById>> {
        None
    }

    /// A line for EXPLAIN: pruning, files, parts.
    fn describe(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// Random access to the rows of a scan by row id, for late materialization. What is read is what the scan saw, whatever has
/// become of the table.
pub trait RowsById: Send + Sync {
    /// Cuts ascending row ids into the runs that are best read each for itself.
    fn runs(&self, row_ids: &[u64]) -> Vec<Range<usize>>;

    /// Columns (indexes into the schema) of the rows of ascending row ids.
    fn read(&self, row_ids: &[u64], columns: &[usize]) -> Result<Block>;
}

/// A run of rows and its place in the table's order.
pub struct Morsel {
    pub block: Block,
    /// Task and number inside the task: morsels of a scan sort by it into table order. A worker finishes a task
    /// before it takes the next; tasks are handed out in order.
    pub task: u32,
    pub number: u32,
}

/// Tells those who wait for a scan that it has something for them.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Reading by one worker.
pub trait ScanWorker: Send {
    /// The next rows, none when the worker finds no more work. Fails when reading does.
    fn next(&mut self) -> Result<Option<Morsel>>;

    /// As [`next`](Self::next), but does not wait for what comes from outside: `Pending` where nothing has come yet, see
    /// [`Scan::set_wake`]. The worker has finished its task then, and the next one is behind all that were taken.
    fn poll_next(&mut self) -> Result<Poll<Option<Morsel>>> {
        self.next().map(Poll::Ready)
    }

    /// Rows that were read since this was last asked and are in no morsel, because they do not pass the filter.
    fn take_passed_by(&mut self) -> u64 {
        0
    }
}

/// Hands out task numbers 0..n in order.
#[derive(Default)]
pub struct TaskQueue(AtomicU64);

impl TaskQueue {
    /// The next number below `n`, none when all have been taken.
    pub fn take(&self, n: usize) -> Option<usize> {
        let task = self.0.fetch_add(1, Relaxed) as usize;
        (task < n).then_some(task)
    }
}

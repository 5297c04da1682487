//! Samples of the rows of a table: runs of adjacent rows at even distances. For estimates of what conditions leave, where bounds and
//! counts of values say nothing: patterns, skewed values, columns that go together.
//!
//! Each run costs a page of every column, so that runs are few, and what was read of a state of a file is kept.

use chalet_base::forks::PerProcess;
use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use chalet_columns::Block;
use chalet_formats::FileIdentity;
use chalet_formats::input::FileScan;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a run.
const RUN_ROWS: u64 = 256;
/// Of so many rows there is another run, within these numbers of runs.
const ROWS_OF_RUN: u64 = 200_000;
const MIN_RUNS: u64 = 8;
const MAX_RUNS: u64 = 16;
/// Files, or parts of a table, that are looked into.
pub(crate) const MAX_SOURCES: usize = 8;
/// Bytes kept of all files together. When there are more, all go: they are read again at little cost.
const MAX_BYTES: usize = 16 << 20;

/// Which rows of a source to read: ascending numbers. `all_rows` are those of all sources together.
pub(crate) fn row_numbers(rows: u64, all_rows: u64) -> Vec<u64> {
    let n_runs = (all_rows / ROWS_OF_RUN).clamp(MIN_RUNS, MAX_RUNS);
    let n_runs = (n_runs as f64 * rows as f64 / all_rows.max(1) as f64).round().max(1.0) as u64;
    let distance = rows as f64 / n_runs as f64;
    let mut numbers = Vec::new();
    for run in 0..n_runs {
        // In the middle of its share: the ends of files are often unlike the rest.
        let middle = ((run as f64 + 0.5) * distance) as u64;
        let start = middle.saturating_sub(RUN_ROWS / 2).max(numbers.last().map_or(0, |last| last + 1));
        numbers.extend(start..(start + RUN_ROWS).min(rows));
    }
    numbers
}

/// Columns, by their positions in the structure of its request, of some rows of an opened file.
pub(crate) fn of_file(scan: &dyn FileScan, wanted: Arc<[usize]>, all_rows: Option<u64>) -> Result<Block> {
    let unknown = || err!(LOGICAL_ERROR, "A reader does not number rows");
    let rows = scan.summary(&[]).ok_or_else(unknown)?.rows;
    let reader = scan.rows_by_number().ok_or_else(unknown)?;
    reader.read(&row_numbers(rows, all_rows.unwrap_or(rows).max(rows)), wanted)
}

/// A state of a file, and what tells the columns that were read of it.
type Key = (Arc<FileIdentity>, String);

#[derive(Default)]
struct Cache {
    samples: HashMap<Key, Block>,
    bytes: usize,
}

static CACHE: PerProcess<Mutex<Cache>> = PerProcess::new(|_| Mutex::default());

/// What was read of a file before, else what is read now. Files that cannot be told from later states of themselves are read each time.
pub(crate) fn kept(
    identity: Option<Arc<FileIdentity>>,
    columns: String,
    read: impl FnOnce() -> Result<Block>,
) -> Result<Block> {
    let Some(identity) = identity else { return read() };
    let key = (identity, columns);
    let lock = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(block) = lock().samples.get(&key) {
        return Ok(block.clone());
    }
    let block = read()?;
    let bytes = block.memory() + key.0.memory() + key.1.len();
    let mut cache = lock();
    if cache.bytes + bytes > MAX_BYTES {
        *cache = Cache::default();
    }
    if bytes <= MAX_BYTES && cache.samples.insert(key, block.clone()).is_none() {
        cache.bytes += bytes;
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_few_and_spread_over_all() {
        for rows in [0, 1, 100, 256, 300, 5_000, 1_000_000, 100_000_000, 1 << 40] {
            let numbers = row_numbers(rows, rows);
            assert!(numbers.is_sorted_by(|a, b| a < b), "{rows}");
            assert!(numbers.last().is_none_or(|&last| last < rows), "{rows}");
            assert!(numbers.len() as u64 <= MAX_RUNS * RUN_ROWS);
            if rows >= 100_000 {
                assert!(numbers[0] < rows / 8 && numbers[numbers.len() - 1] > rows / 8 * 7);
            }
        }
        // A share of the runs that is a share of the rows, and one at least.
        assert_eq!(row_numbers(1_000_000, 10_000_000).len() as u64, 2 * RUN_ROWS);
        assert_eq!(row_numbers(1000, 10_000_000).len() as u64, RUN_ROWS);
    }
}

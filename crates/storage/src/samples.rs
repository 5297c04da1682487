//! Samples of the rows of a table: runs of adjacent rows at even distances. For estimates of what conditions leave, where bounds and
//! counts of values say nothing: patterns, skewed values, columns that go together.
//!
//! Each run costs a page of every column, so that runs are few, and what was read of a state of a file is kept.

use chalet_base::forks::PerProcess;
use chalet_base::hash::{HashMap, HashSet, hash_bytes, hash_u64};
use chalet_base::{Result, err};
use chalet_columns::{Block, Column, Data};
use chalet_formats::FileIdentity;
use chalet_formats::input::FileScan;
use chalet_formats::statistics::{ColumnStatistics, TableStatistics, extrapolate_distinct};
use std::sync::{Arc, Mutex, PoisonError};

/// Of fewer rows nothing is found out: whatever the plan, they are read in no time.
const MIN_ROWS: u64 = 10_000;
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

/// Some rows of a table.
pub struct Sample {
    pub block: Block,
    /// How many different values each column has in them, without NULL; `None` of values that are not compared here.
    pub distinct: Vec<Option<usize>>,
}

impl Sample {
    pub(crate) fn of(block: Block) -> Sample {
        let distinct = block.columns().iter().map(|column| {
            let flat = column.flat();
            let is_valid = |row: usize| flat.validity.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let hashes = hashes(&flat.data)?.into_iter().enumerate();
            Some(hashes.filter(|(row, _)| is_valid(*row)).map(|(_, hash)| hash).collect::<HashSet<_>>().len())
        });
        Sample { distinct: distinct.collect(), block }
    }
}

/// What samples said of columns of rows that stay as they are, by the numbers of the columns.
#[derive(Default)]
pub(crate) struct SampledColumns(Mutex<HashMap<usize, ColumnStatistics>>);

impl SampledColumns {
    /// Of some columns of so many rows. `read` reads the sample of one that nobody has asked about yet, under no lock.
    pub fn statistics(
        &self,
        rows: u64,
        columns: &[usize],
        read: impl Fn(usize) -> Option<Column>,
    ) -> TableStatistics {
        let mut all = TableStatistics::of_rows(rows as f64, columns.len());
        if rows < MIN_ROWS {
            return all;
        }
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (&column, statistics) in columns.iter().zip(&mut all.columns) {
            let known = lock().get(&column).cloned();
            *statistics = known.unwrap_or_else(|| {
                let found = read(column).map(|sample| column_statistics(&sample, rows)).unwrap_or_default();
                lock().insert(column, found.clone());
                found
            });
        }
        all
    }
}

/// Which rows to read of rows that lie in pieces of these lengths: the number of a piece, and rows in it.
pub(crate) fn rows_of_pieces(
    lengths: impl Iterator<Item = usize>,
    all_rows: u64,
) -> Vec<(usize, Vec<usize>)> {
    let numbers = row_numbers(all_rows, all_rows);
    let (mut rest, mut first, mut found) = (&numbers[..], 0, Vec::new());
    for (piece, length) in lengths.enumerate() {
        let end = first + length as u64;
        let (here, behind) = rest.split_at(rest.partition_point(|&number| number < end));
        if !here.is_empty() {
            found.push((piece, here.iter().map(|number| (number - first) as usize).collect()));
        }
        (rest, first) = (behind, end);
    }
    found
}

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

/// What a sample of runs says of a column, where nobody counted its values: how many different ones `all_rows` have, and NULLs. Nothing of
/// bounds, which only all rows know.
fn column_statistics(sample: &Column, all_rows: u64) -> ColumnStatistics {
    let flat = sample.flat();
    let n_rows = flat.len();
    let is_null = |row: usize| flat.validity.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let n_nulls = flat.validity.as_ref().map_or(0, |nulls| nulls.null_count());
    let null_fraction = (n_rows > 0).then(|| n_nulls as f64 / n_rows as f64);
    let Some(hashes) = hashes(&flat.data) else {
        return ColumnStatistics { null_fraction, ..ColumnStatistics::default() };
    };
    // Of all runs together, and of each for itself.
    let (mut all, mut of_runs) = (HashSet::default(), 0);
    for start in (0..n_rows).step_by(RUN_ROWS as usize) {
        let run = start..(start + RUN_ROWS as usize).min(n_rows);
        let own: HashSet<u64> = run.filter(|&row| !is_null(row)).map(|row| hashes[row]).collect();
        of_runs += own.len();
        all.extend(own);
    }
    let (distinct, rows) = (all.len() as f64, (n_rows - n_nulls) as f64);
    let all_rows = all_rows as f64 * (1.0 - null_fraction.unwrap_or(0.0));
    // Runs that have hardly a value in common are as different from the rest: rows are sorted by the column, or it is a key.
    let distinct = match distinct > 0.98 * of_runs as f64 && distinct > 1.0 {
        true => distinct / rows * all_rows,
        false => extrapolate_distinct(distinct, rows, all_rows),
    };
    ColumnStatistics { null_fraction, distinct: Some(distinct).filter(|&n| n >= 1.0), bounds: None }
}

/// Of values that have a place of their own each.
fn hashes(data: &Data) -> Option<Vec<u64>> {
    macro_rules! words {
        ($values:expr) => {
            $values.iter().map(|&value| hash_u64(value as u64)).collect()
        };
    }
    Some(match data {
        Data::U8(values) => words!(values),
        Data::U16(values) => words!(values),
        Data::U32(values) => words!(values),
        Data::U64(values) => words!(values),
        Data::I8(values) => words!(values),
        Data::I16(values) => words!(values),
        Data::I32(values) => words!(values),
        Data::I64(values) => words!(values),
        Data::U128(values) => words!(values),
        Data::I128(values) => words!(values),
        Data::F32(values) => values.iter().map(|value| hash_u64(value.to_bits().into())).collect(),
        Data::F64(values) => values.iter().map(|value| hash_u64(value.to_bits())).collect(),
        Data::Str(strings) => strings.iter().map(hash_bytes).collect(),
        Data::Fixed(fixed) => fixed.bytes.chunks(fixed.width).map(hash_bytes).collect(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_columns::Vector;

    #[test]
    fn different_values_are_counted_by_what_runs_have_in_common() {
        let rows = 4_000_000;
        let numbers = row_numbers(rows, rows);
        let distinct_of = |value: fn(u64) -> u64| {
            let column = Column::from(Vector::from(numbers.iter().map(|&n| value(n)).collect::<Vec<u64>>()));
            column_statistics(&column, rows).distinct.unwrap()
        };
        let near = |found: f64, expected: f64| {
            assert!((0.7..1.5).contains(&(found / expected)), "{found} for {expected}")
        };
        // A key; sorted, four rows of each value; a few values; many, at random.
        near(distinct_of(|n| n), 4e6);
        near(distinct_of(|n| n / 4), 1e6);
        near(distinct_of(|n| n % 7), 7.0);
        near(distinct_of(|n| hash_u64(n) % 1000), 1000.0);
    }

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

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
/// Of so many rows there is another run, within these numbers of runs.
const ROWS_OF_RUN: u64 = 200_000;
const MIN_RUNS: u64 = 8;
const MAX_RUNS: u64 = 16;
/// Files, or parts of a table, that are looked into.
pub(crate) const MAX_SOURCES: usize = 8;
/// Bits of hashes by which values are counted at first.
const COUNTED_BITS: u32 = 14;
/// Bytes kept of all files together. When there are more, all go: they are read again at little cost.
const MAX_BYTES: usize = 16 << 20;

/// How many rows of each run are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSize {
    /// To try conditions on.
    Conditions,
    /// To find values that a few in ten thousand rows have.
    Values,
}

impl SampleSize {
    fn run_rows(self) -> u64 {
        match self {
            SampleSize::Conditions => 256,
            SampleSize::Values => 4096,
        }
    }
}

/// Some rows of a table.
pub struct Sample {
    pub block: Block,
}

impl Sample {
    /// How many different values a column has in them, without NULL; `None` of values that are not compared here.
    pub fn distinct(&self, column: usize) -> Option<usize> {
        let values = self.hashes(column)?.collect::<HashSet<u64>>();
        Some(values.len())
    }

    /// The values of a column that at least so many rows have, the most frequent first: a hash, the same for equal values of one
    /// representation, and which part of the rows has it. Empty of values that are not compared here.
    ///
    /// Rows of one run may have a value in common because they lie together: such a value is frequent nowhere else, and left out.
    pub fn frequent(&self, column: usize, n_rows: usize) -> Vec<(u64, f64)> {
        let Some(hashes) = self.hashes(column) else { return Vec::new() };
        let hashes: Vec<u64> = hashes.collect();
        // Counts by some bits of the hash are never too low: few rows are left to be counted one by one.
        let place = |hash: u64| (hash >> (u64::BITS - COUNTED_BITS)) as usize;
        let mut counts = vec![0u32; 1 << COUNTED_BITS];
        hashes.iter().for_each(|&hash| counts[place(hash)] += 1);
        // Rows of a value, the first of them and the last.
        let mut found: HashMap<u64, (usize, usize, usize)> = HashMap::default();
        for (row, &hash) in hashes.iter().enumerate() {
            if counts[place(hash)] as usize >= n_rows {
                let (rows, _, last) = found.entry(hash).or_insert((0, row, row));
                *rows += 1;
                *last = row;
            }
        }
        let all = self.block.n_rows();
        let is_spread =
            |first: usize, last: usize| last - first >= all.min(SampleSize::Values.run_rows() as usize) / 2;
        let mut frequent: Vec<(u64, f64)> = found
            .into_iter()
            .filter(|(_, (rows, first, last))| *rows >= n_rows && is_spread(*first, *last))
            .map(|(value, (rows, ..))| (value, rows as f64 / all as f64))
            .collect();
        frequent.sort_by(|(a, more), (b, less)| less.total_cmp(more).then(a.cmp(b)));
        frequent
    }

    /// Of the values of a column, without NULL.
    fn hashes(&self, column: usize) -> Option<impl Iterator<Item = u64>> {
        let flat = self.block.column(column).flat();
        let hashes = hashes(&flat.data)?;
        let validity = flat.validity.clone();
        let is_valid = move |row: usize| validity.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        Some(hashes.into_iter().enumerate().filter(move |(row, _)| is_valid(*row)).map(|(_, hash)| hash))
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
    size: SampleSize,
) -> Vec<(usize, Vec<usize>)> {
    let numbers = row_numbers(all_rows, all_rows, size);
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
pub(crate) fn row_numbers(rows: u64, all_rows: u64, size: SampleSize) -> Vec<u64> {
    let n_runs = (all_rows / ROWS_OF_RUN).clamp(MIN_RUNS, MAX_RUNS);
    let n_runs = (n_runs as f64 * rows as f64 / all_rows.max(1) as f64).round().max(1.0) as u64;
    let (distance, run_rows) = (rows as f64 / n_runs as f64, size.run_rows());
    let mut numbers = Vec::new();
    for run in 0..n_runs {
        // In the middle of its share: the ends of files are often unlike the rest.
        let middle = ((run as f64 + 0.5) * distance) as u64;
        let start = middle.saturating_sub(run_rows / 2).max(numbers.last().map_or(0, |last| last + 1));
        numbers.extend(start..(start + run_rows).min(rows));
    }
    numbers
}

/// Columns, by their positions in the structure of its request, of some rows of an opened file.
pub(crate) fn of_file(
    scan: &dyn FileScan,
    wanted: Arc<[usize]>,
    all_rows: Option<u64>,
    size: SampleSize,
) -> Result<Block> {
    let unknown = || err!(LOGICAL_ERROR, "A reader does not number rows");
    let rows = scan.summary(&[]).ok_or_else(unknown)?.rows;
    let reader = scan.rows_by_number().ok_or_else(unknown)?;
    reader.read(&row_numbers(rows, all_rows.unwrap_or(rows).max(rows), size), wanted)
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
/// The sample is one for [conditions](SampleSize::Conditions).
fn column_statistics(sample: &Column, all_rows: u64) -> ColumnStatistics {
    let flat = sample.flat();
    let n_rows = flat.len();
    let is_null = |row: usize| flat.validity.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let n_nulls = flat.validity.as_ref().map_or(0, |nulls| nulls.null_count());
    let null_fraction = (n_rows > 0).then(|| n_nulls as f64 / n_rows as f64);
    let Some(hashes) = hashes(&flat.data) else {
        return ColumnStatistics { null_fraction, ..ColumnStatistics::default() };
    };
    let run_rows = SampleSize::Conditions.run_rows() as usize;
    // Of all runs together, and of each for itself.
    let (mut all, mut of_runs) = (HashSet::default(), 0);
    for start in (0..n_rows).step_by(run_rows) {
        let run = start..(start + run_rows).min(n_rows);
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
        let numbers = row_numbers(rows, rows, SampleSize::Conditions);
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
    fn values_are_frequent_where_they_are_in_all_parts() {
        let rows = 1_000_000;
        let numbers = row_numbers(rows, rows, SampleSize::Values);
        // One in five hundred rows has the value 7; 1 has a run of adjacent rows; the rest are keys.
        let value = |n: u64| {
            if hash_u64(n) % 500 == 0 {
                7
            } else if n / 2000 == numbers[0] / 2000 {
                1
            } else {
                n + 10
            }
        };
        let column = Column::from(Vector::from(numbers.iter().map(|&n| value(n)).collect::<Vec<u64>>()));
        let n_rows = column.len();
        let frequent = Sample { block: Block::new(vec![column], n_rows) }.frequent(0, 6);
        assert_eq!(frequent.len(), 1, "{frequent:?}");
        assert_eq!(frequent[0].0, hash_u64(7));
        assert!((0.001..0.004).contains(&frequent[0].1), "{frequent:?}");
    }

    #[test]
    fn rows_are_few_and_spread_over_all() {
        let run_rows = SampleSize::Conditions.run_rows();
        for rows in [0, 1, 100, 256, 300, 5_000, 1_000_000, 100_000_000, 1 << 40] {
            let numbers = row_numbers(rows, rows, SampleSize::Conditions);
            assert!(numbers.is_sorted_by(|a, b| a < b), "{rows}");
            assert!(numbers.last().is_none_or(|&last| last < rows), "{rows}");
            assert!(numbers.len() as u64 <= MAX_RUNS * run_rows);
            if rows >= 100_000 {
                assert!(numbers[0] < rows / 8 && numbers[numbers.len() - 1] > rows / 8 * 7);
            }
        }
        // A share of the runs that is a share of the rows, and one at least.
        let n_rows = |rows| row_numbers(rows, 10_000_000, SampleSize::Conditions).len() as u64;
        assert_eq!(n_rows(1_000_000), 2 * run_rows);
        assert_eq!(n_rows(1000), run_rows);
    }
}

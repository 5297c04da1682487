//! Sample sort: all workers together distribute rows over buckets, by splitters that are sampled from the keys; buckets are sorted
//! side by side, by whoever needs them.

use super::key_prefix::{Entry, Packing, place};
use super::sort_buffer::{SortBuffer, block_rows};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::tasks::collect_all;
use chalet_base::Result;
use chalet_columns::Block;
use chalet_memory::Reservation;
use std::ops::Range;
use std::sync::Arc;

/// Rows of a bucket, about: its entries are 1 MiB.
const BUCKET_ROWS: usize = 1 << 16;
const MOST_BUCKETS: usize = 1 << 12;
/// Samples of keys for each splitter.
const SAMPLES: usize = 16;
/// Parts of the input that each worker distributes.
const PARTS_A_WORKER: usize = 4;

/// Bytes that sorting takes for each row beside its columns and its key: its entry, twice while entries move to their buckets.
pub(super) const BYTES_A_ROW: usize = 2 * size_of::<Entry>();

/// Rows in buckets. All rows of a bucket sort before those of the next.
pub(super) struct Buckets {
    distribution: Arc<Distribution>,
    parts: Vec<Part>,
    /// The number of the first row of each bucket, and that of all rows.
    starts: Vec<usize>,
    /// Columns that nobody reads of the rows in order.
    unread: Vec<usize>,
}

impl Buckets {
    /// Distributes the rows of a buffer, whose memory is `memory`.
    pub fn new(mut buffer: SortBuffer, memory: Vec<Reservation>, ctx: &ExecContext) -> Result<Buckets> {
        buffer.number_blocks();
        let packing = buffer.packing();
        let n_buckets = (buffer.n_rows() / BUCKET_ROWS).clamp(1, MOST_BUCKETS);
        let splitters = sample(&buffer, &packing, n_buckets);
        let n_parts = if splitters.is_empty() { 1 } else { ctx.settings.max_threads * PARTS_A_WORKER };
        let distribution = Arc::new(Distribution {
            parts: parts(&buffer, n_parts),
            control: ctx.control.clone(),
            buffer,
            memory,
            packing,
            splitters,
        });
        let job = distribution.clone();
        let parts = collect_all(distribution.parts.len(), ctx, move |number| Ok(job.part(number)))?;
        let mut starts = vec![0];
        for bucket in 0..=distribution.splitters.len() {
            starts.push(starts[bucket] + parts.iter().map(|part| part.bucket(bucket).len()).sum::<usize>());
        }
        Ok(Buckets { distribution, parts, starts, unread: Vec::new() })
    }

    /// Leaves out what the columns at these positions hold.
    pub fn leave_out(self, unread: Vec<usize>) -> Buckets {
        Buckets { unread, ..self }
    }

    /// The number of the first row of each bucket, and that of all rows.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    pub fn n_rows(&self) -> usize {
        self.distribution.buffer.n_rows()
    }

    /// Puts the rows of a bucket into `entries`, in order.
    pub fn sort(&self, bucket: usize, entries: &mut Vec<Entry>) -> Result<()> {
        entries.clear();
        self.parts.iter().for_each(|part| entries.extend_from_slice(part.bucket(bucket)));
        let Distribution { buffer, packing, control, .. } = &*self.distribution;
        packing.sort(entries, false, &|e| buffer.key(e), &|| control.check())
    }

    /// The columns of some rows.
    pub fn gather(&self, entries: &[Entry]) -> Block {
        let buffer = &self.distribution.buffer;
        let mut rows = block_rows(entries);
        if rows.len() >= buffer.n_blocks() {
            return Block::interleave_read(&buffer.blocks(), &rows, &self.unread);
        }
        // Of many small blocks, only those that are needed are looked at.
        let mut numbers: Vec<u32> = rows.iter().map(|row| row.block).collect();
        numbers.sort_unstable();
        numbers.dedup();
        rows.iter_mut().for_each(|row| row.block = numbers.partition_point(|&n| n < row.block) as u32);
        let blocks: Vec<&Block> = numbers.iter().map(|&number| &buffer.block(number).1).collect();
        Block::interleave_read(&blocks, &rows, &self.unread)
    }
}

/// Rows in order, any of which can be looked at.
pub(super) struct SortedRows {
    buckets: Arc<Buckets>,
    sorted: Vec<Vec<Entry>>,
}

impl SortedRows {
    /// Sorts all buckets, all workers together.
    pub fn new(buckets: Buckets, ctx: &ExecContext) -> Result<SortedRows> {
        let buckets = Arc::new(buckets);
        let job = buckets.clone();
        let sorted = collect_all(buckets.starts.len() - 1, ctx, move |bucket| {
            let mut entries = Vec::with_capacity(job.starts[bucket + 1] - job.starts[bucket]);
            job.sort(bucket, &mut entries)?;
            Ok(entries)
        })?;
        Ok(SortedRows { buckets, sorted })
    }

    pub fn n_rows(&self) -> usize {
        self.buckets.n_rows()
    }

    /// The columns of all rows, gathered by all workers together.
    pub fn gather_all(self, ctx: &ExecContext) -> Result<Block> {
        let (buckets, sorted) = (self.buckets, self.sorted);
        let mut parts = collect_all(sorted.len(), ctx, move |bucket| Ok(buckets.gather(&sorted[bucket])))?;
        // Where rows have no key, one bucket has them all; the others do not even have columns.
        parts.retain(|part| !part.is_empty());
        Ok(Block::concat(&parts))
    }

    /// Bytes of memory that the rows hold.
    pub fn memory(&self) -> usize {
        self.buckets.distribution.memory.iter().map(Reservation::bytes).sum()
    }

    /// The columns of one row, by its number in the order.
    pub fn row(&self, row: usize) -> Block {
        let bucket = self.buckets.starts.partition_point(|&start| start <= row) - 1;
        let (block, row) = place(self.sorted[bucket][row - self.buckets.starts[bucket]]);
        self.buckets.distribution.buffer.block(block).1.slice(row as usize, 1)
    }

    /// The columns of some rows, by their numbers in the order.
    pub fn gather(&self, rows: Range<usize>) -> Block {
        let starts = &self.buckets.starts;
        let first = starts.partition_point(|&start| start <= rows.start) - 1;
        let mut entries = Vec::with_capacity(rows.len());
        for (start, sorted) in starts.iter().zip(&self.sorted).skip(first) {
            if *start >= rows.end {
                break;
            }
            let end = sorted.len().min(rows.end - start);
            entries.extend_from_slice(&sorted[rows.start.saturating_sub(*start).min(end)..end]);
        }
        self.buckets.gather(&entries)
    }
}

/// Prefixes that cut the rows into about `n_buckets` of one size, ascending and different.
fn sample(buffer: &SortBuffer, packing: &Packing, n_buckets: usize) -> Vec<u64> {
    if n_buckets == 1 {
        return Vec::new();
    }
    let step = (buffer.n_rows() / (n_buckets * SAMPLES)).max(1);
    let mut prefixes = Vec::with_capacity(n_buckets * SAMPLES + 1);
    let mut next = step / 2;
    for number in 0..buffer.n_blocks() as u32 {
        let (_, block, keys) = buffer.block(number);
        while next < block.n_rows() {
            prefixes.push(keys.prefix(next, packing));
            next += step;
        }
        next -= block.n_rows();
    }
    prefixes.sort_unstable();
    let mut splitters: Vec<u64> =
        (1..n_buckets).filter_map(|n| prefixes.get(n * prefixes.len() / n_buckets).copied()).collect();
    splitters.dedup();
    splitters
}

/// How many of some ascending numbers are at most `key`, found without branches that depend on it.
#[inline(always)]
fn n_not_above(numbers: &[u64], key: u64) -> usize {
    let (mut base, mut size) = (0, numbers.len());
    while size > 1 {
        let half = size / 2;
        base += if numbers[base + half - 1] <= key { half } else { 0 };
        size -= half;
    }
    base + usize::from(size == 1 && numbers[base] <= key)
}

/// Ranges of blocks with about as many rows each.
fn parts(buffer: &SortBuffer, n_parts: usize) -> Vec<Range<usize>> {
    let rows = buffer.n_rows().div_ceil(n_parts.max(1)).max(1);
    let (mut parts, mut start, mut held) = (Vec::new(), 0, 0);
    for number in 0..buffer.n_blocks() {
        held += buffer.block(number as u32).1.n_rows();
        if held >= rows || number + 1 == buffer.n_blocks() {
            parts.push(start..number + 1);
            (start, held) = (number + 1, 0);
        }
    }
    parts
}

/// Distributing all rows over buckets.
struct Distribution {
    buffer: SortBuffer,
    /// The memory of the rows, their keys and entries.
    memory: Vec<Reservation>,
    packing: Packing,
    splitters: Vec<u64>,
    parts: Vec<Range<usize>>,
    control: Arc<QueryControl>,
}

/// Entries of some blocks, bucket by bucket.
struct Part {
    entries: Vec<Entry>,
    /// Where each bucket begins, and the end of the last.
    starts: Vec<usize>,
}

impl Part {
    fn bucket(&self, number: usize) -> &[Entry] {
        &self.entries[self.starts[number]..self.starts[number + 1]]
    }
}

impl Distribution {
    /// The rows of a part of the input.
    fn part(&self, number: usize) -> Part {
        let blocks = self.parts[number].clone();
        let n_rows = blocks.clone().map(|number| self.buffer.block(number as u32).1.n_rows()).sum();
        let mut unordered: Vec<Entry> = Vec::with_capacity(n_rows);
        blocks.for_each(|number| self.buffer.entries_of(number, &self.packing, |e| unordered.push(e)));
        let n_buckets = self.splitters.len() + 1;
        if n_buckets == 1 {
            return Part { starts: vec![0, unordered.len()], entries: unordered };
        }
        let buckets: Vec<u16> =
            unordered.iter().map(|&e| n_not_above(&self.splitters, (e >> 64) as u64) as u16).collect();
        let mut starts = vec![0usize; n_buckets + 1];
        buckets.iter().for_each(|&bucket| starts[bucket as usize + 1] += 1);
        (0..n_buckets).for_each(|bucket| starts[bucket + 1] += starts[bucket]);
        let mut next = starts.clone();
        let mut entries: Vec<Entry> = vec![0; n_rows];
        for (&bucket, &entry) in buckets.iter().zip(&unordered) {
            let at = &mut next[bucket as usize];
            entries[*at] = entry;
            *at += 1;
        }
        Part { entries, starts }
    }
}

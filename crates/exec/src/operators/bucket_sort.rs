//! Sample sort: all workers together distribute rows over buckets, by splitters that are sampled from the keys; buckets are sorted
//! side by side, by whoever needs them. Where all rows will be gathered, each block is clustered on the way: its rows of one bucket
//! stand side by side then, so that gathering a bucket reads whole cache lines, and the same ones again.

use super::key_prefix::{Entry, Packing, Prefixed, Rest, STEP, WideEntry, moved, place, sort_by_number};
use super::sort::HeldRows;
use super::sort_buffer::{SortBuffer, block_rows};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::tasks::collect_all;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_columns::Block;
use chalet_memory::Reservation;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a bucket, about: its entries are 1 MiB.
const BUCKET_ROWS: usize = 1 << 16;
const MOST_BUCKETS: usize = 1 << 12;
/// Samples of keys for each splitter.
const SAMPLES: usize = 16;
/// Parts of the input that each worker distributes.
const PARTS_A_WORKER: usize = 4;

/// Bytes that sorting takes for each row beside its columns and its key: its entry, twice while entries move to their buckets.
pub(super) const BYTES_A_ROW: usize = 2 * size_of::<Entry>();

/// And what it takes for each row of which all that is compared is looked at, twice too.
const BYTES_A_WIDE_ROW: usize = 2 * size_of::<Rest>();

/// With fewer buckets, caches hold what is gathered anyway.
const LEAST_CLUSTERED_BUCKETS: usize = 16;

/// Smaller blocks are put together, in order or not.
pub(super) const LEAST_ORDERED_ROWS: usize = 1 << 12;

/// Blocks with fewer rows for each bucket are not clustered: these would share their cache lines with others.
const LEAST_CLUSTER: usize = 8;

/// Rows in buckets. All rows of a bucket sort before those of the next.
pub(super) struct Buckets {
    buffer: SortBuffer,
    /// The memory of the rows, their keys and entries.
    memory: Vec<Reservation>,
    packing: Packing,
    parts: Vec<Part>,
    /// The number of the first row of each bucket, and that of all rows.
    starts: Vec<usize>,
    /// Where the parts have a bucket for each value of the keys: the first of these that each bucket here is made of, and their number.
    values: Option<Vec<usize>>,
    /// Columns that nobody reads of the rows in order.
    unread: Arc<[usize]>,
    /// Entries are sorted with all that is compared of their keys.
    is_wide: bool,
    /// The rows came in order: each block is a bucket, and sorted.
    is_in_order: bool,
    control: Arc<QueryControl>,
}

impl Buckets {
    /// Distributes rows, of which a range of the order will be gathered without the columns at `unread`.
    pub fn new(rows: HeldRows, range: &Range<usize>, unread: &[usize], ctx: &ExecContext) -> Result<Buckets> {
        let HeldRows { buffer, mut memory, is_in_order } = rows;
        let packing = buffer.packing();
        if is_in_order {
            events::count(Event::SortsOfOrderedRows);
            return Ok(Buckets::in_order(buffer, packing, memory, unread, ctx));
        }
        if switches::is_on(Switch::OrderedInputs)
            && buffer.n_rows() >= buffer.n_blocks().max(1) * LEAST_ORDERED_ROWS
            && buffer.is_in_order(&packing)
        {
            events::count(Event::SortsOfOrderedRows);
            return Ok(Buckets::in_order(buffer, packing, memory, unread, ctx));
        }
        let pays = packing.is_wide()
            && switches::is_on(Switch::WideSorts)
            && rows_a_prefix(&buffer, &packing) >= LEAST_ROWS_A_PREFIX;
        let is_wide = pays && {
            let mut rests = Reservation::new(ctx.control.memory.clone());
            let is_granted = rests.grow(buffer.n_rows() * BYTES_A_WIDE_ROW).is_ok();
            memory.push(rests);
            is_granted
        };
        if is_wide {
            events::count(Event::WideSorts);
        }
        let n_parts = ctx.settings.max_threads * PARTS_A_WORKER;
        let values = Splitters::of_few_values(&buffer, &packing, n_parts);
        if values.is_some() {
            events::count(Event::CountingSorts);
        }
        let distribution =
            Arc::new(Distribution::new(buffer, packing, n_parts, range, unread, is_wide, values));
        let job = distribution.clone();
        let distributed = collect_all(job.inputs.len(), ctx, move |number| Ok(job.part(number)))?;
        Ok(Buckets::of(&distribution, distributed, memory, ctx.control.clone()))
    }

    /// Rows that are in order as they are.
    fn in_order(
        buffer: SortBuffer,
        packing: Packing,
        memory: Vec<Reservation>,
        unread: &[usize],
        ctx: &ExecContext,
    ) -> Buckets {
        let mut starts = vec![0];
        for block in buffer.blocks() {
            starts.push(starts[starts.len() - 1] + block.n_rows());
        }
        let (unread, control) = (unread.into(), ctx.control.clone());
        Buckets {
            buffer,
            memory,
            packing,
            parts: Vec::new(),
            starts,
            values: None,
            unread,
            is_wide: false,
            is_in_order: true,
            control,
        }
    }

    /// Distributes the rows of one worker, which are to be gathered all by it.
    pub fn alone(buffer: SortBuffer, control: &Arc<QueryControl>) -> Result<Buckets> {
        let packing = buffer.packing();
        // Few rows are sorted where they are: the memory that buckets take would be much beside theirs.
        let is_worth_it = n_buckets_of(buffer.n_rows()) >= LEAST_CLUSTERED_BUCKETS;
        let n_parts = if is_worth_it { PARTS_A_WORKER } else { 1 };
        let distribution = Distribution::new(buffer, packing, n_parts, &(0..usize::MAX), &[], false, None);
        let part = |number| {
            control.check_with_interrupt()?;
            Ok(distribution.part(number))
        };
        let distributed = (0..distribution.inputs.len()).map(part).collect::<Result<_>>()?;
        Ok(Buckets::of(&distribution, distributed, Vec::new(), control.clone()))
    }

    fn of(
        distribution: &Distribution,
        distributed: Vec<(SortBuffer, Part)>,
        memory: Vec<Reservation>,
        control: Arc<QueryControl>,
    ) -> Buckets {
        let mut buffer = SortBuffer::default();
        let mut parts = Vec::with_capacity(distributed.len());
        for (blocks, part) in distributed {
            buffer.append(blocks);
            parts.push(part);
        }
        let mut starts = vec![0];
        for bucket in 0..distribution.splitters.n_buckets {
            starts.push(
                starts[bucket] + parts.iter().map(|part: &Part| part.bucket(bucket).len()).sum::<usize>(),
            );
        }
        let values = distribution.splitters.are_values.then(|| {
            let values = put_together(&starts);
            starts = values.iter().map(|&value| starts[value]).collect();
            values
        });
        let Distribution { packing, unread, is_wide, .. } = distribution;
        let (packing, unread, is_wide) = (packing.clone(), unread.clone(), *is_wide);
        Buckets {
            buffer,
            memory,
            packing,
            parts,
            starts,
            values,
            unread,
            is_wide,
            is_in_order: false,
            control,
        }
    }

    /// The number of the first row of each bucket, and that of all rows.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    pub fn n_rows(&self) -> usize {
        self.buffer.n_rows()
    }

    pub fn n_buckets(&self) -> usize {
        self.starts.len() - 1
    }

    /// Some rows of a bucket as they came, where that is in order.
    pub fn slice(&self, bucket: usize, rows: Range<usize>) -> Option<Block> {
        self.is_in_order.then(|| self.buffer.block(bucket as u32).1.slice(rows.start, rows.len()))
    }

    /// The key of a row.
    pub fn key(&self, entry: Entry) -> &[u8] {
        self.buffer.key(entry)
    }

    /// Puts the rows of a bucket into `entries`, in order.
    pub fn sort(&self, bucket: usize, entries: &mut Vec<Entry>) -> Result<()> {
        entries.clear();
        let Buckets { buffer, packing, control, is_wide, .. } = self;
        let n_rows = self.starts[bucket + 1] - self.starts[bucket];
        if self.is_in_order {
            control.check()?;
            buffer.entries_of(bucket as u32, bucket as u32, packing, |entry| entries.push(entry));
            return Ok(());
        }
        if *is_wide && n_rows <= STEP {
            control.check()?;
            let mut wide = Vec::with_capacity(n_rows);
            self.parts.iter().for_each(|part| wide.extend(part.wide_bucket(bucket)));
            sort_by_number(&mut wide);
            entries.extend(wide.into_iter().map(WideEntry::entry));
            return Ok(());
        }
        entries.reserve_exact(n_rows);
        if let Some(values) = &self.values {
            control.check()?;
            for value in values[bucket]..values[bucket + 1] {
                self.parts.iter().for_each(|part| entries.extend_from_slice(part.bucket(value)));
            }
            return Ok(());
        }
        self.parts.iter().for_each(|part| entries.extend_from_slice(part.bucket(bucket)));
        packing.sort(entries, false, &|e| buffer.key(e), &|| control.check())
    }

    /// The same of a bucket that nobody asks for again.
    pub fn take_sorted(&mut self, bucket: usize, entries: &mut Vec<Entry>) -> Result<()> {
        match &mut self.parts[..] {
            [only] if only.starts.len() == 2 && !self.is_wide => {
                *entries = std::mem::take(&mut only.entries);
                let Buckets { buffer, packing, control, .. } = self;
                packing.sort(entries, false, &|e| buffer.key(e), &|| control.check())
            }
            _ => self.sort(bucket, entries),
        }
    }

    /// The columns of some rows.
    pub fn gather(&self, entries: &[Entry]) -> Block {
        let buffer = &self.buffer;
        if let (true, [first, .., last]) = (self.is_in_order, entries) {
            let ((block, row), (last_block, last_row)) = (place(*first), place(*last));
            if block == last_block && last_row as usize + 1 == row as usize + entries.len() {
                return buffer.block(block).1.slice(row as usize, entries.len());
            }
        }
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
        self.buckets.memory.iter().map(Reservation::bytes).sum()
    }

    /// Some rows, by their numbers in the order.
    pub fn entries(&self, rows: Range<usize>) -> Vec<Entry> {
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
        entries
    }

    /// One row, by its number in the order.
    pub fn entry(&self, row: usize) -> Entry {
        let bucket = self.buckets.starts.partition_point(|&start| start <= row) - 1;
        self.sorted[bucket][row - self.buckets.starts[bucket]]
    }

    /// The columns of one row, by its number in the order.
    pub fn row(&self, row: usize) -> Block {
        let (block, row) = place(self.entry(row));
        self.buckets.buffer.block(block).1.slice(row as usize, 1)
    }

    /// The columns of some rows.
    pub fn gather(&self, entries: &[Entry]) -> Block {
        self.buckets.gather(entries)
    }
}

/// How many buckets so many rows are distributed over.
fn n_buckets_of(n_rows: usize) -> usize {
    (n_rows / BUCKET_ROWS).clamp(1, MOST_BUCKETS)
}

/// Prefixes that cut the rows into about `n_buckets` of one size, ascending and different.
fn sample(buffer: &SortBuffer, packing: &Packing, n_buckets: usize) -> Vec<u64> {
    if n_buckets == 1 {
        return Vec::new();
    }
    let mut prefixes = sample_every(buffer, packing, (buffer.n_rows() / (n_buckets * SAMPLES)).max(1));
    prefixes.sort_unstable();
    let mut splitters: Vec<u64> =
        (1..n_buckets).filter_map(|n| prefixes.get(n * prefixes.len() / n_buckets).copied()).collect();
    splitters.dedup();
    splitters
}

/// Rows that are looked at for how many have one prefix.
const PREFIXES: usize = 1 << 16;

/// With fewer rows of one prefix, so few keys are looked at again that longer entries do not pay.
const LEAST_ROWS_A_PREFIX: f64 = 1.5;

/// How many rows have one prefix, about: the fewer prefixes there are, the more pairs of equal ones a sample has (the birthday problem).
fn rows_a_prefix(buffer: &SortBuffer, packing: &Packing) -> f64 {
    let step = buffer.n_rows().div_ceil(PREFIXES).max(1);
    let mut prefixes = sample_every(buffer, packing, step);
    prefixes.sort_unstable();
    let n_pairs: usize =
        prefixes.chunk_by(|a, b| a == b).map(|equal| equal.len() * (equal.len() - 1) / 2).sum();
    let n_sampled = prefixes.len().max(1) as f64;
    1.0 + 2.0 * n_pairs as f64 * buffer.n_rows() as f64 / (n_sampled * n_sampled)
}

/// The prefix of every so-many-th row.
fn sample_every(buffer: &SortBuffer, packing: &Packing, step: usize) -> Vec<u64> {
    let mut prefixes = Vec::with_capacity(buffer.n_rows() / step + 1);
    let mut next = step / 2;
    for number in 0..buffer.n_blocks() as u32 {
        let (_, block, keys) = buffer.block(number);
        while next < block.n_rows() {
            prefixes.push(keys.prefix(next, packing));
            next += step;
        }
        next -= block.n_rows();
    }
    prefixes
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

/// Finds buckets of prefixes: a table of equally wide ranges of prefixes tells most of them at once, where a search among the
/// splitters would take a chain of steps for each row.
struct Splitters {
    n_buckets: usize,
    /// Each bucket is of one value.
    are_values: bool,
    /// Ascending and different.
    splitters: Vec<u64>,
    /// Where the ranges begin, and how wide they are as a power of two.
    start: u64,
    shift: u32,
    /// Of each range, how many splitters are not above its first prefix, and its last.
    ranges: Vec<(u16, u16)>,
}

/// Bits of the number of ranges.
const RANGE_BITS: u32 = 11;

impl Splitters {
    fn new(splitters: Vec<u64>) -> Splitters {
        let (start, end) = (splitters.first().copied().unwrap_or(0), splitters.last().copied().unwrap_or(0));
        let shift = (u64::BITS - (end - start).leading_zeros()).saturating_sub(RANGE_BITS);
        let n_ranges = ((end - start) >> shift) + 1;
        let not_above = |prefix: u64| splitters.partition_point(|&splitter| splitter <= prefix) as u16;
        let range = |range: u64| {
            let first = start + (range << shift);
            (not_above(first), not_above(first.saturating_add((1 << shift) - 1)))
        };
        let mut ranges: Vec<(u16, u16)> = (0..n_ranges).map(range).collect();
        // The last takes in all that follows.
        if let Some(last) = ranges.last_mut() {
            last.1 = splitters.len() as u16;
        }
        Splitters { n_buckets: splitters.len() + 1, are_values: false, splitters, start, shift, ranges }
    }

    /// Buckets of one value each, where there are few values and many rows of each: then rows are in order where their buckets are (a
    /// counting sort).
    fn of_few_values(buffer: &SortBuffer, packing: &Packing, n_parts: usize) -> Option<Splitters> {
        let shift = packing.unused_bits()?;
        let (least, most) = (0..buffer.n_blocks() as u32).fold((u64::MAX, 0), |extremes, number| {
            let (_, block, keys) = buffer.block(number);
            (0..block.n_rows()).fold(extremes, |(least, most), row| {
                let prefix = keys.prefix(row, packing);
                (least.min(prefix), most.max(prefix))
            })
        });
        let n_values = (most.checked_sub(least)? >> shift) as usize + 1;
        if n_values > MOST_VALUES || n_values * n_parts * LEAST_ROWS_A_VALUE > buffer.n_rows() {
            return None;
        }
        let ranges = (0..n_values as u16).map(|value| (value, value)).collect();
        let splitters = Vec::new();
        Some(Splitters { n_buckets: n_values, are_values: true, splitters, start: least, shift, ranges })
    }

    /// The bucket of a prefix: the number of splitters that are not above it.
    #[inline(always)]
    fn bucket(&self, prefix: u64) -> u16 {
        let Some(distance) = prefix.checked_sub(self.start) else { return 0 };
        let range = ((distance >> self.shift) as usize).min(self.ranges.len() - 1);
        let (first, last) = self.ranges[range];
        if first == last {
            return first;
        }
        first + n_not_above(&self.splitters[usize::from(first)..usize::from(last)], prefix) as u16
    }
}

/// With more values, or fewer rows of each in a part, the places where these go would be more work than comparing them.
const MOST_VALUES: usize = 1 << 12;
const LEAST_ROWS_A_VALUE: usize = 4;

/// Neighbours among buckets, of which `starts` says where they begin, that are gathered together: the first of each, and the number of all.
fn put_together(starts: &[usize]) -> Vec<usize> {
    let n_buckets = starts.len() - 1;
    let mut firsts = vec![0];
    let mut start = 0;
    for bucket in 1..n_buckets {
        if starts[bucket + 1] - start > BUCKET_ROWS {
            firsts.push(bucket);
            start = starts[bucket];
        }
    }
    firsts.push(n_buckets);
    firsts
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
    /// The parts of the input, each with the number of its first block; whoever distributes a part takes it.
    inputs: Vec<(u32, Mutex<SortBuffer>)>,
    packing: Packing,
    splitters: Splitters,
    is_wide: bool,
    /// Rows of one bucket are brought together in their blocks.
    is_clustered: bool,
    unread: Arc<[usize]>,
}

/// Entries of some blocks, bucket by bucket.
struct Part {
    entries: Vec<Entry>,
    /// What is compared of their keys behind their prefixes, where that is looked at.
    rests: Vec<Rest>,
    /// Where each bucket begins, and the end of the last.
    starts: Vec<usize>,
}

impl Part {
    fn wide_bucket(&self, number: usize) -> impl Iterator<Item = WideEntry> {
        let rests = &self.rests[self.starts[number]..self.starts[number + 1]];
        self.bucket(number).iter().zip(rests).map(|(&entry, &rest)| WideEntry::new(entry, rest))
    }

    fn bucket(&self, number: usize) -> &[Entry] {
        &self.entries[self.starts[number]..self.starts[number + 1]]
    }
}

impl Distribution {
    /// Of these rows, of which a range of the order will be gathered, in about so many parts.
    fn new(
        buffer: SortBuffer,
        packing: Packing,
        n_parts: usize,
        range: &Range<usize>,
        unread: &[usize],
        is_wide: bool,
        values: Option<Splitters>,
    ) -> Distribution {
        let n_rows = buffer.n_rows();
        let mut n_buckets = if n_parts == 1 { 1 } else { n_buckets_of(n_rows) };
        let are_many = n_buckets >= LEAST_CLUSTERED_BUCKETS;
        let splitters = values.unwrap_or_else(|| Splitters::new(sample(&buffer, &packing, n_buckets)));
        if splitters.are_values {
            n_buckets = splitters.n_buckets;
        }
        let n_gathered = range.end.min(n_rows).saturating_sub(range.start);
        let is_clustered = switches::is_on(Switch::ClusteredSorts)
            && are_many
            && n_gathered > n_rows / 2
            && n_rows >= LEAST_CLUSTER * n_buckets * buffer.n_blocks()
            && unread.len() < buffer.block(0).1.columns().len();
        let ranges = parts(&buffer, if splitters.n_buckets == 1 { 1 } else { n_parts });
        let firsts = ranges.iter().map(|blocks| blocks.start as u32);
        let inputs = firsts.zip(buffer.split(&ranges).into_iter().map(Mutex::new)).collect();
        Distribution { inputs, packing, splitters, is_wide, is_clustered, unread: unread.into() }
    }

    /// The rows of a part of the input, and their entries.
    fn part(&self, number: usize) -> (SortBuffer, Part) {
        let (first, input) = &self.inputs[number];
        let mut buffer = std::mem::take(&mut *input.lock().unwrap_or_else(PoisonError::into_inner));
        if self.splitters.are_values && !self.is_clustered {
            let part = self.counted(*first, &buffer);
            return (buffer, part);
        }
        let mut unordered: Vec<Entry> = Vec::with_capacity(buffer.n_rows());
        let numbers = 0..buffer.n_blocks() as u32;
        numbers.clone().for_each(|number| {
            buffer.entries_of(number, first + number, &self.packing, |e| unordered.push(e));
        });
        let mut unordered_rests: Vec<Rest> = Vec::new();
        if self.is_wide {
            unordered_rests.reserve_exact(buffer.n_rows());
            for number in numbers.clone() {
                let (_, block, keys) = buffer.block(number);
                unordered_rests.extend((0..block.n_rows()).map(|row| keys.rest(row, &self.packing)));
            }
        }
        let n_buckets = self.splitters.n_buckets;
        if n_buckets == 1 {
            let starts = vec![0, unordered.len()];
            return (buffer, Part { starts, entries: unordered, rests: unordered_rests });
        }
        let buckets: Vec<u16> = unordered.iter().map(|&e| self.splitters.bucket(e.prefix())).collect();
        if self.is_clustered {
            let (mut entries, mut of_rows) = (&mut unordered[..], &buckets[..]);
            for number in numbers {
                let n_rows = buffer.block(number).1.n_rows();
                let (of_block, behind) = entries.split_at_mut(n_rows);
                let (of_block_rows, rows_behind) = of_rows.split_at(n_rows);
                (entries, of_rows) = (behind, rows_behind);
                if let Some(rows) = cluster(of_block, of_block_rows, n_buckets) {
                    buffer.reorder(number, rows, &self.unread);
                    events::count(Event::ClusteredBlocks);
                }
            }
        }
        let starts = starts(&buckets, n_buckets);
        let entries = by_bucket(&unordered, &buckets, &starts);
        let rests = by_bucket(&unordered_rests, &buckets, &starts);
        (buffer, Part { entries, rests, starts })
    }

    /// The entries of a part by their values, each of which is written once.
    fn counted(&self, first: u32, buffer: &SortBuffer) -> Part {
        let Distribution { packing, splitters, .. } = self;
        let mut starts = vec![0; splitters.n_buckets + 1];
        for number in 0..buffer.n_blocks() as u32 {
            let (_, block, keys) = buffer.block(number);
            for row in 0..block.n_rows() {
                starts[usize::from(splitters.bucket(keys.prefix(row, packing))) + 1] += 1;
            }
        }
        (0..splitters.n_buckets).for_each(|value| starts[value + 1] += starts[value]);
        let (mut next, mut entries) = (starts.clone(), vec![Entry::default(); buffer.n_rows()]);
        for number in 0..buffer.n_blocks() as u32 {
            buffer.entries_of(number, first + number, packing, |entry| {
                let at = &mut next[usize::from(splitters.bucket(entry.prefix()))];
                entries[*at] = entry;
                *at += 1;
            });
        }
        Part { entries, rests: Vec::new(), starts }
    }
}

/// Gives the entries of a block the places that their rows have when those of one bucket stand side by side, in their order; tells
/// which row stands where. None where that is so already.
fn cluster(entries: &mut [Entry], buckets: &[u16], n_buckets: usize) -> Option<Vec<u32>> {
    if buckets.is_sorted() {
        return None;
    }
    let mut next = starts(buckets, n_buckets);
    let mut rows = vec![0u32; entries.len()];
    for (row, (entry, &bucket)) in entries.iter_mut().zip(buckets).enumerate() {
        let at = &mut next[bucket as usize];
        rows[*at] = row as u32;
        *entry = moved(*entry, *at as u32);
        *at += 1;
    }
    Some(rows)
}

/// Where each bucket begins in the order of buckets, and the end of the last.
fn starts(buckets: &[u16], n_buckets: usize) -> Vec<usize> {
    let mut starts = vec![0; n_buckets + 1];
    buckets.iter().for_each(|&bucket| starts[bucket as usize + 1] += 1);
    (0..n_buckets).for_each(|bucket| starts[bucket + 1] += starts[bucket]);
    starts
}

/// Items in the order of their buckets; none where there are none.
fn by_bucket<T: Copy>(items: &[T], buckets: &[u16], starts: &[usize]) -> Vec<T> {
    let Some(&first) = items.first() else { return Vec::new() };
    let mut next = starts.to_vec();
    let mut ordered = vec![first; items.len()];
    for (&bucket, &item) in buckets.iter().zip(items) {
        let at = &mut next[bucket as usize];
        ordered[*at] = item;
        *at += 1;
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use chalet_base::hash::hash_u64;

    #[test]
    fn buckets_are_those_of_a_search() {
        let even: Vec<u64> = (1..400).map(|n| n << 40).collect();
        let close: Vec<u64> = (0..300).map(|n| (1 << 60) + n).chain([u64::MAX]).collect();
        let mut random: Vec<u64> = (0..1000).map(hash_u64).collect();
        random.sort_unstable();
        for splitters in [vec![], vec![0], vec![7], vec![u64::MAX], vec![0, u64::MAX], even, close, random] {
            let found = Splitters::new(splitters.clone());
            let around = splitters.iter().flat_map(|&s| [s.wrapping_sub(1), s, s.wrapping_add(1)]);
            for prefix in around.chain((0..5000).map(hash_u64)).chain([0, 1, u64::MAX]) {
                let n = splitters.iter().filter(|&&splitter| splitter <= prefix).count();
                assert_eq!(usize::from(found.bucket(prefix)), n, "{prefix} among {splitters:?}");
            }
        }
    }
}

//! Sort: all rows in the order of some keys; equal rows keep the input's order. Holds all rows, or with a limit a small
//! multiple of it: then rows that cannot be among the first are dropped as they come. When memory runs short, each worker
//! writes what it holds to disk as a sorted run, and whoever reads the result merges the runs.

use super::bucket_sort::{self, Buckets};
use super::key_prefix::{Entry, place};
use super::sort_buffer::SortBuffer;
use super::sort_unkeyed::{Unkeyed, borrowed, joined};
use super::sorted_scan;
use super::top_k_threshold::TopKThreshold;
use crate::ExecContext;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use crate::spill::merge_scan::MergeScan;
use crate::spill::runs::{RunKeys, RunSizes, RunWriter, merged, numbers_column};
use crate::spill::{Purpose, Threshold};
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_base::{Result, ensure, err};
use chalet_columns::in_order::elements;
use chalet_columns::keys::{Order, RowKeys, has_nine_bytes, whole_sort_keys};
use chalet_columns::{Block, Column, StringBuilder, Vector, bits};
use chalet_memory::Reservation;
use chalet_storage::Scan;
use std::any::Any;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What rows are sorted by.
#[derive(Clone)]
pub enum Keys {
    Program(Program),
    /// Columns of the rows themselves, by position.
    Columns(Vec<usize>),
}

impl Keys {
    fn evaluate(&self, block: &Block) -> Result<Vec<Column>> {
        match self {
            Keys::Program(program) => program.evaluate(block),
            Keys::Columns(columns) => Ok(columns.iter().map(|&at| block.column(at).clone()).collect()),
        }
    }

    /// The columns that the keys are, where all are columns.
    fn columns(&self) -> Option<Cow<'_, [usize]>> {
        match self {
            Keys::Program(program) => program.as_columns().map(Cow::Owned),
            Keys::Columns(columns) => Some(Cow::Borrowed(columns)),
        }
    }
}

/// The sink of ORDER BY.
pub struct Sort {
    pub keys: Keys,
    pub orders: Vec<Order>,
    /// Only so many first rows are put out.
    pub limit: Option<u64>,
    /// So many of these are left out.
    pub offset: u64,
    /// Rows that are equal in so many first keys, which are columns, are put out by one task.
    pub n_group: Option<usize>,
    /// Where the scan below looks how far rows count.
    pub top_k_threshold: Option<Arc<TopKThreshold>>,
    /// Positions of columns that nobody reads of the rows in order.
    pub unread: Vec<usize>,
    /// Somebody reads the keys of the rows in order.
    pub needs_keys: bool,
    /// Counts the rows.
    pub rows_in: Arc<AtomicU64>,
}

impl Sink for Sort {
    fn name(&self) -> &'static str {
        "Sort"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        let may_go_unkeyed =
            !self.needs_keys && self.limit.is_none() && switches::is_on(Switch::OrderedInputs);
        Ok(Box::new(Worker {
            unkeyed: may_go_unkeyed.then(Vec::new),
            keys: self.keys.clone(),
            orders: self.orders.clone(),
            rows_in: self.rows_in.clone(),
            top_k_threshold: self.top_k_threshold.clone(),
            limit: self.limit.and_then(|limit| usize::try_from(limit).ok()),
            max_rows: ctx.settings.max_rows_to_sort,
            rows: SortBuffer::default(),
            are_as_on_disk: true,
            threshold: None,
            memory: Reservation::new(ctx.control.memory.clone()),
            n_group: self.n_group,
            runs: None,
            n_spilled: 0,
            positions: Vec::new(),
            spill_threshold: Threshold::new(ctx.settings.external_sort, ctx),
            control: ctx.control.clone(),
        }))
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let limit = self.limit.map_or(usize::MAX, |limit| limit as usize);
        let range = usize::try_from(self.offset).unwrap_or(usize::MAX)..limit;
        match held(workers, range.clone(), ctx)? {
            Held::InMemory(rows) => {
                let buckets = Buckets::new(*rows, &range, &self.unread, ctx)?;
                Ok(sorted_scan::open(buckets, range, ctx))
            }
            Held::OnDisk(scan) => Ok(scan),
        }
    }
}

/// The rows that workers of a sort have taken.
pub(super) enum Held {
    InMemory(Box<HeldRows>),
    /// The runs that were written, as a table of rows in order.
    OnDisk(Arc<MergeScan>),
}

/// Rows that are to be sorted in memory.
#[derive(Default)]
pub(super) struct HeldRows {
    /// Numbered by where the rows come from.
    pub buffer: SortBuffer,
    /// The memory of the rows and their keys, and of entries for them.
    pub memory: Vec<Reservation>,
    /// The rows are in order as they are, and have no keys.
    pub is_in_order: bool,
}

impl HeldRows {
    /// Bytes of their memory.
    pub fn bytes(&self) -> usize {
        self.memory.iter().map(Reservation::bytes).sum()
    }
}

/// Takes the rows of all workers; of those on disk a range of the order, and perhaps more behind it.
pub(super) fn held(
    workers: Vec<Box<dyn SinkWorker>>,
    range: Range<usize>,
    ctx: &ExecContext,
) -> Result<Held> {
    let mut workers = concrete::<Worker>(workers);
    if workers.iter().all(|worker| worker.unkeyed.is_some()) {
        let blocks = workers.iter_mut().flat_map(|worker| worker.unkeyed.take().unwrap_or_default());
        let (buffer, is_in_order) = joined(blocks.collect(), bucket_sort::LEAST_ORDERED_ROWS, ctx)?;
        let memory = workers.into_iter().map(|worker| worker.memory).collect();
        return Ok(Held::InMemory(Box::new(HeldRows { buffer, memory, is_in_order })));
    }
    workers.iter_mut().try_for_each(Worker::make_keys)?;
    if workers.iter().any(|worker| worker.runs.is_some()) {
        let sizes = RunSizes::new(&Threshold::new(ctx.settings.external_sort, ctx));
        let mut runs = Vec::new();
        workers.iter_mut().try_for_each(Worker::spill)?;
        let ranks = ranks(&workers.iter().map(|worker| &worker.positions[..]).collect::<Vec<_>>());
        for (worker, ranks) in workers.iter_mut().zip(ranks) {
            runs.extend(worker.runs.take().into_iter().flat_map(|runs| runs.into_ranked_runs(ranks.clone())));
        }
        return merged(runs, Purpose::Sort, sizes, range, ctx).map(Held::OnDisk);
    }
    let mut rows = HeldRows::default();
    for worker in workers {
        rows.buffer.append(worker.rows);
        rows.memory.push(worker.memory);
    }
    rows.buffer.number_blocks();
    Ok(Held::InMemory(Box::new(rows)))
}

struct Worker {
    keys: Keys,
    orders: Vec<Order>,
    rows_in: Arc<AtomicU64>,
    top_k_threshold: Option<Arc<TopKThreshold>>,
    limit: Option<usize>,
    max_rows: u64,
    rows: SortBuffer,
    /// Rows without keys, while all are in order.
    unkeyed: Option<Vec<Unkeyed>>,
    /// Are the keys of rows the beginnings of those of the same rows on disk, where both are made of columns?
    are_as_on_disk: bool,
    /// With a limit: the last row that still counts.
    threshold: Option<LastRow>,
    memory: Reservation,
    n_group: Option<usize>,
    /// Rows that were written to disk, and how many.
    runs: Option<RunWriter>,
    n_spilled: usize,
    /// By number that rows on disk have: where in the input they come from.
    positions: Vec<Position>,
    spill_threshold: Threshold,
    control: Arc<QueryControl>,
}

struct LastRow {
    key: Vec<u8>,
    /// Its first key, as a vector of one row.
    first: Vector,
}

/// Rows are pruned when there are this many times more than the limit, and more than a few.
const PRUNE_FACTOR: usize = 4;
const PRUNE_LEAST: usize = 1024;
/// Up to this limit they are pruned as soon as there is half as many again, where the scan below passes rows by that sort behind the last
/// one: to find a better one takes microseconds, and what the scan reads for rows that would not count takes more.
const FEW_ROWS: usize = 1024;
/// Bytes of a key of a number, about.
const WORD: usize = 8;

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, mut block: Block) -> Result<Flow> {
        self.rows_in.fetch_add(block.n_rows() as u64, Relaxed);
        if let Some(limit) = self.limit.filter(|_| self.threshold.is_none()) {
            // A few rows first: the keys of most others are never made, because they sort behind these.
            let n_first = most_unpruned(limit).saturating_add(1);
            if block.n_rows() / PRUNE_FACTOR > n_first {
                self.add(position, block.slice(0, n_first))?;
                block = block.slice(n_first, block.n_rows() - n_first);
            }
        }
        self.add(position, block)?;
        Ok(Flow::Continue)
    }

    fn end(&mut self) -> Result<()> {
        // The workers do this side by side.
        if self.runs.is_some() { self.spill() } else { Ok(()) }
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// With this limit, so many rows are held before the first ones are dropped.
fn most_unpruned(limit: usize) -> usize {
    limit.saturating_mul(PRUNE_FACTOR).max(PRUNE_LEAST)
}

impl Worker {
    /// With this limit, so many rows are held before some are dropped.
    fn most_held(&self, limit: usize) -> usize {
        match self.top_k_threshold {
            Some(_) if limit <= FEW_ROWS && self.threshold.is_some() => limit + limit / 2,
            _ => most_unpruned(limit),
        }
    }

    fn add(&mut self, position: Position, mut block: Block) -> Result<()> {
        let mut keys = self.elements(self.keys.evaluate(&block)?);
        // Most rows are told by their first key alone; only those that are left get bytes to compare.
        if let Some(threshold) = &self.threshold {
            // With one key, equal rows come too late: the rows of a worker come in order.
            let or_equal = keys.len() > 1;
            keep_before(&threshold.first, or_equal, &mut block, &mut keys);
            if block.is_empty() {
                return Ok(());
            }
        }
        if let Some(limit) = self.limit
            && let Some(first) = sampled_threshold(&keys[0].0, keys[0].1, limit)
        {
            events::count(Event::SampledTopKThresholds);
            keep_before(&first, true, &mut block, &mut keys);
        }
        if let Some(unkeyed) = &mut self.unkeyed
            && !block.is_empty()
        {
            if let Some(added) = Unkeyed::new(position, &block, &keys, unkeyed.last()) {
                unkeyed.push(added);
                let width = keys.len() * (WORD + 1) + bucket_sort::BYTES_A_ROW;
                let held = self.memory.bytes() + block.memory() + block.n_rows() * width;
                return self.make_room(held);
            }
            self.make_keys()?;
        }
        self.add_keyed(position, block, &keys)
    }

    /// The columns that keys are made of, with their orders.
    fn elements(&self, columns: Vec<Column>) -> Vec<(Column, Order)> {
        let columns = columns.into_iter().zip(self.orders.iter().copied());
        columns.flat_map(|(column, order)| elements(column, order)).collect()
    }

    /// Makes the keys of the rows that have none.
    fn make_keys(&mut self) -> Result<()> {
        let unkeyed = self.unkeyed.take().unwrap_or_default();
        if !unkeyed.is_empty() {
            self.memory.resize(0)?;
        }
        unkeyed
            .into_iter()
            .try_for_each(|Unkeyed { position, block, keys, .. }| self.add_keyed(position, block, &keys))
    }

    fn add_keyed(&mut self, position: Position, mut block: Block, keys: &[(Column, Order)]) -> Result<()> {
        let ordered = borrowed(keys);
        self.are_as_on_disk = ordered.len() == self.orders.len()
            && !matches!(ordered[..], [(column, order)] if has_nine_bytes(column, order));
        let mut keys = whole_sort_keys(&ordered, block.n_rows());
        if let Some(LastRow { key, .. }) = &self.threshold {
            let kept: Vec<u32> =
                (0..block.n_rows() as u32).filter(|&row| keys.get(row as usize) <= &key[..]).collect();
            if kept.is_empty() {
                return Ok(());
            }
            if kept.len() < block.n_rows() {
                block = block.gather(&kept);
                keys = kept.iter().map(|&row| keys.get(row as usize)).collect();
            }
        }
        let n_rows = block.n_rows();
        let held = self.memory.bytes() + block.memory() + keys.memory() + n_rows * bucket_sort::BYTES_A_ROW;
        self.rows.push(position, block, keys);
        self.make_room(held)
    }

    /// The number of rows that are held.
    fn n_held(&self) -> usize {
        let unkeyed: usize = self.unkeyed.iter().flatten().map(|added| added.block.n_rows()).sum();
        self.rows.n_rows() + unkeyed
    }

    /// Takes so many bytes into account; drops rows that do not count, and writes rows to disk where memory is short.
    fn make_room(&mut self, held: usize) -> Result<()> {
        let refused = self.memory.resize(held).is_err();
        let n_held = self.n_held();
        let n_rows = self.n_spilled + n_held;
        ensure!(
            self.max_rows == 0 || n_rows as u64 <= self.max_rows,
            TOO_MANY_ROWS_OR_BYTES,
            "Limit for rows to sort exceeded, max rows: {}, current rows: {n_rows}",
            self.max_rows
        );
        if let Some(limit) = self.limit
            && n_held > self.most_held(limit)
        {
            self.prune(limit)?;
        }
        // Neither writing nor sorting in memory goes without entries, and there may be more of them than there is of narrow rows.
        let entries = self.n_held() * bucket_sort::BYTES_A_ROW;
        if refused || self.spill_threshold.will_be_passed(&self.memory, entries) {
            self.make_keys()?;
            self.spill()?;
        }
        Ok(())
    }

    /// Writes the rows that are held to disk.
    fn spill(&mut self) -> Result<()> {
        if self.rows.n_rows() == 0 {
            return Ok(());
        }
        let mut rows = std::mem::take(&mut self.rows);
        let columns = self.keys.columns();
        let mut runs = match self.runs.take() {
            Some(runs) => runs,
            None => {
                let n_columns = rows.block(0).1.columns().len();
                let keys = run_keys(columns.as_deref(), &self.orders, n_columns, self.n_group);
                let sizes = RunSizes::new(&self.spill_threshold);
                RunWriter::new(Purpose::Sort, sizes, Arc::new(keys), &self.control)?
            }
        };
        self.n_spilled += rows.n_rows();
        rows.number_blocks();
        let numbers = number_positions(&rows, &mut self.positions)?;
        let at_once = runs.sizes().rows(rows.memory(), rows.n_rows());
        runs.begin((columns.is_some() && self.are_as_on_disk).then(|| rows.spread().clone()));
        let mut write = |buckets: &Buckets, some: &[Entry]| {
            let mut out = buckets.gather(some).into_columns();
            if columns.is_none() {
                let mut normalized = StringBuilder::with_capacity(some.len());
                some.iter().for_each(|&entry| normalized.push(buckets.key(entry)));
                out.push(Column::Flat(normalized.finish().into()));
            }
            // Equal rows of different runs keep their order too.
            let number = |&entry: &Entry| numbers[place(entry).0 as usize];
            out.push(numbers_column(some.iter().map(number), self.positions.len()));
            self.control.check_with_interrupt()?;
            runs.write(&Block::new(out, some.len()))
        };
        let mut left = self.limit.unwrap_or(usize::MAX);
        let mut buckets = Buckets::alone(rows, &self.control)?;
        // Those that are too few for a piece wait for the next bucket.
        let (mut of_bucket, mut waiting): (Vec<Entry>, Vec<Entry>) = (Vec::new(), Vec::new());
        for bucket in 0..buckets.n_buckets() {
            if left == 0 {
                break;
            }
            buckets.take_sorted(bucket, &mut of_bucket)?;
            of_bucket.truncate(left);
            left -= of_bucket.len();
            let missing = (at_once - waiting.len()).min(of_bucket.len());
            let (first, rest) = of_bucket.split_at(if waiting.is_empty() { 0 } else { missing });
            waiting.extend_from_slice(first);
            if waiting.len() == at_once {
                write(&buckets, &waiting)?;
                waiting.clear();
            }
            let whole = rest.chunks_exact(at_once);
            waiting.extend_from_slice(whole.remainder());
            whole.into_iter().try_for_each(|some| write(&buckets, some))?;
        }
        if !waiting.is_empty() {
            write(&buckets, &waiting)?;
        }
        self.runs = Some(runs);
        self.memory.resize(0)
    }

    /// Drops the rows that cannot be among the first `limit`.
    fn prune(&mut self, limit: usize) -> Result<()> {
        let entries = self.rows.order(limit, &|| Ok(()))?;
        let mut kept: Vec<Vec<u32>> = vec![Vec::new(); self.rows.n_blocks()];
        for &entry in &entries {
            let (block, row) = place(entry);
            kept[block as usize].push(row);
        }
        if let Some(&last) = entries.last() {
            let (block, row) = place(last);
            let row = self.rows.block(block).1.gather(&[row]);
            let columns = self.keys.evaluate(&row)?;
            if let Some(threshold) = &self.top_k_threshold
                && entries.len() == limit
            {
                threshold.tighten(&columns[0].clone().into_flat().compact());
            }
            let first = self.elements(columns).swap_remove(0).0.into_flat().compact();
            self.threshold = Some(LastRow { key: self.rows.key(last).to_vec(), first });
        }
        let mut rows = SortBuffer::default();
        let mut bytes = 0;
        let blocks = std::mem::take(&mut self.rows).into_blocks();
        for ((position, block, keys), mut kept) in blocks.into_iter().zip(kept) {
            if kept.is_empty() {
                continue;
            }
            kept.sort_unstable();
            let block = compact(block.gather(&kept));
            let keys: RowKeys = kept.iter().map(|&row| keys.get(row as usize)).collect();
            bytes += block.memory() + keys.memory() + kept.len() * bucket_sort::BYTES_A_ROW;
            rows.push(position, block, keys);
        }
        self.rows = rows;
        self.memory.resize(bytes)
    }
}

/// Keeps the rows of a block, and of its keys, whose first key is before another one or equal to it.
fn keep_before(first: &Vector, or_equal: bool, block: &mut Block, keys: &mut [(Column, Order)]) {
    let Some(rows) = keys[0].0.rows_before(first, keys[0].1, or_equal) else { return };
    if rows.count_set_bits() < block.n_rows() {
        let rows = bits::set_rows(&rows);
        *block = block.gather(&rows);
        keys.iter_mut().for_each(|(column, _)| *column = column.gather(&rows));
    }
}

/// Rows of a block that a threshold is taken from: of so many rows, one, and no more than this part of them is asked for.
const SAMPLED_ROWS: usize = 1024;
const ROWS_A_SAMPLE: usize = 16;
const SAMPLES_A_ROW: usize = 16;

/// The first key of the `limit`-th best of some rows all over a block of many: as many rows are no worse, so that none behind it counts.
/// Where rows get better and better, as they do that come by time when the latest are asked for, they all pass what was found before them.
fn sampled_threshold(keys: &Column, order: Order, limit: usize) -> Option<Vector> {
    let n_rows = keys.len();
    if limit == 0 || limit > SAMPLED_ROWS / SAMPLES_A_ROW || n_rows < SAMPLED_ROWS * ROWS_A_SAMPLE {
        return None;
    }
    let distance = n_rows / SAMPLED_ROWS;
    // The last row is among them.
    let rows: Vec<u32> = (0..SAMPLED_ROWS).rev().map(|at| (n_rows - 1 - at * distance) as u32).collect();
    let sample = keys.gather(&rows);
    let bytes = whole_sort_keys(&[(&sample, order)], SAMPLED_ROWS);
    let mut places: Vec<u32> = (0..SAMPLED_ROWS as u32).collect();
    let by_key = |a: &u32, b: &u32| bytes.get(*a as usize).cmp(bytes.get(*b as usize));
    let (_, last, _) = places.select_nth_unstable_by(limit - 1, by_key);
    Some(sample.gather(&[*last]).into_flat())
}

/// Numbers the positions of rows that go to disk; by block, the number of its position. Those of one number are in one run, in
/// their order.
fn number_positions(rows: &SortBuffer, positions: &mut Vec<Position>) -> Result<Vec<u32>> {
    let first = positions.len();
    let number = |block: u32| {
        let (position, ..) = rows.block(block);
        if positions.len() == first || positions.last() != Some(position) {
            positions.push(*position);
        }
        u32::try_from(positions.len() - 1)
            .map_err(|_| err!(TOO_MANY_ROWS, "ORDER BY has too many blocks of rows"))
    };
    (0..rows.n_blocks() as u32).map(number).collect()
}

/// By worker and number: where the rows at a position stand among those of all workers' positions.
fn ranks(positions: &[&[Position]]) -> Vec<Arc<[u32]>> {
    let of_worker = |(worker, positions): (usize, &&[Position])| {
        let numbered =
            positions.iter().enumerate().map(move |(number, &position)| (position, worker, number));
        numbered.collect::<Vec<_>>()
    };
    let mut all: Vec<(Position, usize, usize)> = positions.iter().enumerate().flat_map(of_worker).collect();
    all.sort_unstable();
    let mut ranks: Vec<Vec<u32>> = positions.iter().map(|positions| vec![0; positions.len()]).collect();
    for (rank, (_, worker, number)) in all.into_iter().enumerate() {
        ranks[worker][number] = rank as u32;
    }
    ranks.into_iter().map(Arc::from).collect()
}

/// The keys of rows on disk: columns, or else a column of the keys' bytes behind the `n_columns` columns of the rows; and then the
/// numbers of the rows' positions in the input.
fn run_keys(
    columns: Option<&[usize]>,
    orders: &[Order],
    n_columns: usize,
    n_group: Option<usize>,
) -> RunKeys {
    let exact = Order { nullable: false, ..Order::ASCENDING };
    let (mut keys, n_columns) = match columns {
        Some(columns) => (columns.iter().copied().zip(orders.iter().copied()).collect(), n_columns),
        None => (vec![(n_columns, exact)], n_columns + 1),
    };
    keys.push((n_columns, exact));
    let (n_own, n_group) = if columns.is_some() { (1, n_group) } else { (2, None) };
    RunKeys { columns: keys, n_own, n_group, is_ranked: true }
}

/// Lets go of memory that only dropped rows used.
fn compact(block: Block) -> Block {
    let n_rows = block.n_rows();
    let columns = block.into_columns().into_iter().map(|c| match c {
        Column::Flat(vector) => Column::Flat(vector.compact()),
        other => other,
    });
    Block::new(columns.collect(), n_rows)
}

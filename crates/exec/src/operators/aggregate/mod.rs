//! Aggregate: groups rows by keys and folds them into states. Holds all groups.
//!
//! Radix-partitioned hash aggregation: each worker pre-aggregates into a local table that fits into the processor's cache. A
//! full table is flushed into partitions by the hash of the keys; whoever reads the result merges partition by partition.
//! Few groups are merged at once when all rows are in. Where look-ups find no group, rows are appended to the partitions
//! without pre-aggregation, each on its own or in runs of neighbours with equal keys.
//!
//! - [`groups`]: the table of a worker and its states
//! - [`coded_keys`]: keys that are codes of dictionaries
//! - [`group_limit`]: GROUP BY with a LIMIT and no order
//! - [`partial`]: groups that are grouped again above, after a join or by grouping sets
//! - [`partitions`]: the partitioned groups of a worker
//! - [`heavy`]: heavy states of few groups
//! - [`spill`]: partitions that were spilled to disk
//! - [`merge`]: the result as a table that merges while it is read
//! - [`runs`]: what keeps the order of rows where it matters
//! - [`totals`]: WITH TOTALS

mod coded_keys;
mod group_limit;
mod groups;
mod heavy;
mod merge;
mod partial;
mod partitions;
mod runs;
mod spill;
mod totals;

use super::collect::blocks_as_source;
use crate::control::QueryControl;
use crate::expression::Program;
use crate::hash_table::{KeyLayout, NO_GROUP};
use crate::pipeline::{Flow, Position, Sink, SinkWorker, concrete};
use crate::spill::{Purpose, Threshold};
use crate::tasks::collect_all;
use crate::{ExecContext, GroupByOverflow};
use chalet_base::events::{self, Event};
use chalet_base::switches::{self, Switch};
use chalet_base::{Result, bail, err};
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::Aggregate as AggregateImpl;
use chalet_function_api::aggregate::RowOrder;
use chalet_memory::Reservation;
use chalet_storage::Scan;
use chalet_types::DataType;
use group_limit::GroupLimit;
use groups::{Groups, InsertStrategy, states};
use merge::MergeScan;
pub use partial::PartialAggregate;
use partitions::Partitions;
use runs::{Gathered, Run, RunGroups};
use spill::Spilled;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
pub use totals::Totals;

/// The sink of an aggregation.
pub struct Aggregate {
    /// Keys first, then the arguments of all calls.
    inputs: Program,
    key_types: Vec<DataType>,
    /// Grouping sets: which keys each of them has. Empty for a plain GROUP BY.
    sets: Vec<Vec<usize>>,
    empty_if_no_rows: bool,
    totals: Option<Totals>,
    shape: Arc<Shape>,
    /// The groups that the limit leaves.
    group_limit: Option<Arc<GroupLimit>>,
    purpose: Purpose,
}

/// What an aggregation is made from.
pub struct Spec {
    pub inputs: Program,
    pub key_types: Vec<DataType>,
    pub calls: Vec<Call>,
    pub sets: Vec<Vec<usize>>,
    /// The number of the set is put out as a last column.
    pub puts_set_number: bool,
    pub empty_if_no_rows: bool,
    /// No more than this many groups are needed, whichever.
    pub limit: Option<u64>,
    pub totals: Option<Totals>,
    /// GROUP BY, or DISTINCT, which is one of all columns without aggregates and has limits of its own.
    pub purpose: Purpose,
}

/// One aggregate function.
#[derive(Clone)]
pub struct Call {
    pub aggregate: Arc<dyn AggregateImpl>,
    /// The types of its arguments.
    pub args: Vec<DataType>,
    pub row_order: RowOrder,
}

/// Of an argument that waits: the widest number's, while a FixedString may have any width.
const MAX_WAITING_BYTES: usize = 32;

impl Call {
    /// Whether the arguments of a row may be kept in place of a state that only this row is in: they take about as much room,
    /// and states that are kept for other rows may come before them or after.
    fn may_wait(&self) -> bool {
        let widths = || self.args.iter().map(|ty| ty.physical().width());
        self.row_order == RowOrder::Free
            && widths().all(|width| width.is_some_and(|bytes| bytes <= MAX_WAITING_BYTES))
    }
}

/// What all tables of an aggregation have in common.
struct Shape {
    /// Of the keys, and of the number of the set when there are sets.
    layout: Arc<KeyLayout>,
    calls: Arc<[Call]>,
    n_keys: usize,
    puts_set_number: bool,
}

impl Shape {
    /// Keys, set number and results in the order that the plan asks for.
    fn output(&self, block: Block) -> Block {
        let n_rows = block.n_rows();
        let mut columns = block.into_columns();
        if self.layout.types().len() > self.n_keys {
            let set_number = columns.remove(self.n_keys);
            columns.extend(self.puts_set_number.then_some(set_number));
        }
        Block::new(columns, n_rows)
    }
}

/// A worker with so many groups flushes them into partitions when few rows had a group already: keys and states of more would not
/// stay in the cache nearest to the processor.
const LOCAL_GROUPS: usize = 1 << 14;

/// A worker with so many groups flushes them into partitions in any case.
const MAX_LOCAL_GROUPS: usize = 1 << 17;

/// Where states hold more than this, all workers merge them, even if there are few groups or is one.
const HEAVY_BYTES: usize = 16 << 20;

/// Rows for each group that make it worth while to keep looking them up.
const ROWS_PER_GROUP: usize = 8;

/// How many groups there may be in the end, with a quarter to spare, where `n` groups left `new` of `looked_at` keys without one, and keys
/// are drawn evenly from a set: each key that is known already is one of `n` among all. 0 where the set is too large to be held.
fn most_of_even_keys(n: usize, looked_at: usize, new: usize) -> usize {
    let known = looked_at.saturating_sub(new);
    let all = (n * looked_at.max(1)).checked_div(known).unwrap_or(usize::MAX);
    let most = all.saturating_add(all / 4);
    if most < MAX_LOCAL_GROUPS { most } else { 0 }
}

impl Aggregate {
    /// The sink that a physical plan describes.
    pub fn new(spec: Spec) -> Aggregate {
        let mut types = spec.key_types.clone();
        if !spec.sets.is_empty() {
            types.push(DataType::UInt64);
        }
        let shape = Shape {
            layout: Arc::new(KeyLayout::of_groups(&types)),
            calls: spec.calls.into(),
            n_keys: spec.key_types.len(),
            puts_set_number: spec.puts_set_number,
        };
        let limit = spec.limit.filter(|&limit| {
            (1..=group_limit::MAX_LIMIT).contains(&limit)
                && shape.n_keys > 0
                && spec.sets.is_empty()
                && spec.totals.is_none()
        });
        Aggregate {
            group_limit: limit.map(|limit| Arc::new(GroupLimit::new(limit as usize, &shape))),
            inputs: spec.inputs,
            key_types: spec.key_types,
            sets: spec.sets,
            empty_if_no_rows: spec.empty_if_no_rows,
            totals: spec.totals,
            shape: Arc::new(shape),
            purpose: spec.purpose,
        }
    }

    /// How many groups there may be, 0 for any number.
    fn max_groups(&self, ctx: &ExecContext) -> u64 {
        if self.purpose == Purpose::Distinct { 0 } else { ctx.settings.max_rows_to_group_by }
    }

    fn threshold(&self, ctx: &ExecContext) -> Threshold {
        let settings = &ctx.settings;
        let is_distinct = self.purpose == Purpose::Distinct;
        Threshold::new(if is_distinct { settings.external_distinct } else { settings.external_group_by }, ctx)
    }

    fn groups(&self) -> Groups {
        Groups::new(&self.shape.layout, &self.shape.calls)
    }

    /// Must the order of rows be kept?
    fn keeps_order(&self) -> bool {
        self.shape.calls.iter().any(|call| call.row_order != RowOrder::Free)
    }

    /// Totals and the limit need all groups at once.
    fn needs_all(&self, ctx: &ExecContext) -> bool {
        self.totals.is_some() || self.max_groups(ctx) > 0
    }

    /// Many groups are divided by the hash of their keys, although there is memory for all of them.
    fn may_divide(&self, ctx: &ExecContext) -> bool {
        ctx.settings.two_level_aggregation && !self.needs_all(ctx) && !self.shape.layout.types().is_empty()
    }

    /// Everything in partitions, as a table.
    fn partitioned(&self, mut gathered: Gathered, ctx: &ExecContext) -> Result<MergeScan> {
        let runs = std::mem::take(&mut gathered.runs).into_iter();
        let runs: Vec<Mutex<Option<RunGroups>>> = runs.map(|run| Mutex::new(Some(run))).collect();
        let shape = self.shape.clone();
        let runs = collect_all(runs.len(), ctx, move |number| {
            let run = runs[number].lock().unwrap_or_else(PoisonError::into_inner).take();
            run.ok_or_else(|| err!(LOGICAL_ERROR, "A run is partitioned twice"))?.into_partitions(&shape)
        })?;
        let spilled = std::mem::take(&mut gathered.spilled);
        let bytes = runs.iter().map(|(_, partitions)| partitions.memory()).sum();
        let memory = gathered.reserved(bytes, &ctx.control)?;
        Ok(MergeScan::new(self.shape.clone(), runs, spilled, memory, ctx.settings.max_block_size))
    }
}

impl Sink for Aggregate {
    fn name(&self) -> &'static str {
        "Aggregate"
    }

    fn worker(&self, ctx: &ExecContext) -> Result<Box<dyn SinkWorker>> {
        let max_groups = self.max_groups(ctx);
        if let Some(group_limit) = self.group_limit.as_ref().filter(|_| max_groups == 0) {
            return Ok(Box::new(group_limit::Worker {
                inputs: self.inputs.clone(),
                shape: self.shape.clone(),
                group_limit: group_limit.clone(),
                states: states(&self.shape.calls),
                memory: Reservation::new(ctx.control.memory.clone()),
            }));
        }
        if self.purpose == Purpose::Aggregation {
            ctx.control.add_aggregated_rows(0);
        }
        Ok(Box::new(Worker {
            inputs: self.inputs.clone(),
            shape: self.shape.clone(),
            key_types: self.key_types.clone(),
            sets: self.sets.clone(),
            groups: self.groups(),
            partitions: None,
            spilled: None,
            threshold: self.threshold(ctx),
            purpose: self.purpose,
            control: ctx.control.clone(),
            needs_all: self.needs_all(ctx),
            may_divide: self.may_divide(ctx),
            in_order: self.keeps_order() && ctx.settings.max_threads > 1,
            run: Run::default(),
            task: None,
            closed: Vec::new(),
            closed_bytes: 0,
            max_groups,
            overflow: ctx.settings.group_by_overflow,
            n_groups: vec![0; self.sets.len().max(1)],
            memory: Reservation::new(ctx.control.memory.clone()),
            rows: 0,
            rows_at_measuring: 0,
            appended: 0,
            expected_groups: None,
        }))
    }

    fn parallelism(&self, ctx: &ExecContext) -> usize {
        let has_limit = self.max_groups(ctx) > 0;
        // Which rows are left out is to be the same with any number of threads.
        let leaves_out = has_limit && ctx.settings.group_by_overflow != GroupByOverflow::Throw;
        let has_limit = has_limit || self.group_limit.is_some();
        let needs_one = leaves_out
            || self.shape.calls.iter().any(|call| call.row_order == RowOrder::OneWorker)
            || self.keeps_order() && (has_limit || !switches::is_on(Switch::OrderedRuns));
        if needs_one { 1 } else { usize::MAX }
    }

    fn finish(&self, workers: Vec<Box<dyn SinkWorker>>, ctx: &ExecContext) -> Result<Arc<dyn Scan>> {
        let max_rows = ctx.settings.max_block_size;
        if let Some(group_limit) = self.group_limit.as_ref().filter(|_| self.max_groups(ctx) == 0) {
            let block = group_limit::finish(concrete(workers), group_limit, &self.shape)?;
            return Ok(blocks_as_source(split(block, max_rows), ctx));
        }
        let gathered = Gathered::of(concrete(workers));
        let (n_groups, n_runs) = (gathered.n_groups(), gathered.runs.len());
        let is_divided =
            !gathered.spilled.is_empty() || gathered.runs.iter().any(|run| run.partitions.is_some());
        let is_heavy = n_runs > 1 && gathered.bytes() > HEAVY_BYTES;
        let by_all = is_heavy && !is_divided && gathered.is_for_all(ctx.settings.max_threads);
        let is_large = n_runs > 1 && n_groups > MAX_LOCAL_GROUPS || is_heavy && n_groups > n_runs && !by_all;
        if is_divided || is_large && self.may_divide(ctx) {
            return Ok(Arc::new(self.partitioned(gathered, ctx)?));
        }
        let (mut groups, _memory) = match by_all {
            true => gathered.merged_by_all(&self.shape, ctx)?,
            false => gathered.merged(&self.shape, &ctx.control)?,
        };
        if !groups.is_keyed() && !groups.any_rows && self.empty_if_no_rows {
            return Ok(blocks_as_source(Vec::new(), ctx));
        }
        if groups.is_empty() && !self.empty_if_no_rows {
            self.add_sets_without_keys(&mut groups);
        }
        let block = match &self.totals {
            None => self.shape.output(groups.finish()?),
            Some(totals) => totals.finish(groups, &self.shape, &self.key_types)?,
        };
        Ok(blocks_as_source(split(block, max_rows), ctx))
    }
}

impl Aggregate {
    /// The rows that the grouping sets of no keys have where there is nothing to group.
    fn add_sets_without_keys(&self, groups: &mut Groups) {
        let numbers: Vec<u64> =
            (0..).zip(&self.sets).filter(|(_, set)| set.is_empty()).map(|(n, _)| n).collect();
        let n = numbers.len();
        let constant = |ty| Column::constant(Vector::defaults(ty, 1), n);
        let mut keys: Vec<Column> = self.key_types.iter().map(constant).collect();
        keys.push(Column::Flat(Vector::from(numbers)));
        groups.add_without_rows(&keys, n);
    }
}

/// In pieces of at most `max_rows`.
pub fn split(block: Block, max_rows: usize) -> Vec<Block> {
    let max_rows = max_rows.max(1);
    if block.n_rows() <= max_rows {
        return if block.is_empty() { Vec::new() } else { vec![block] };
    }
    let starts = (0..block.n_rows()).step_by(max_rows);
    starts.map(|start| block.slice(start, max_rows.min(block.n_rows() - start))).collect()
}

struct Worker {
    inputs: Program,
    shape: Arc<Shape>,
    key_types: Vec<DataType>,
    sets: Vec<Vec<usize>>,
    groups: Groups,
    partitions: Option<Partitions>,
    spilled: Option<Spilled>,
    threshold: Threshold,
    purpose: Purpose,
    /// Totals and the limit need all groups at once.
    needs_all: bool,
    may_divide: bool,
    /// Rows that do not follow the last ones begin another run.
    in_order: bool,
    /// The first task of the run, and the last.
    run: Run,
    task: Option<Run>,
    /// Runs that have ended, and the bytes that they hold.
    closed: Vec<RunGroups>,
    closed_bytes: usize,
    max_groups: u64,
    overflow: GroupByOverflow,
    /// The groups of each grouping set, while their number is limited.
    n_groups: Vec<u64>,
    memory: Reservation,
    control: Arc<QueryControl>,
    /// Rows taken so far, and when the memory was last measured.
    rows: usize,
    rows_at_measuring: usize,
    /// How often groups were flushed that had been appended without a look-up.
    appended: usize,
    /// With so many groups the table is flushed, as its rows made expect when it had grown large; 0 once that was wrong.
    expected_groups: Option<usize>,
}

/// No more rows than this go by without measuring.
const ROWS_UNMEASURED: usize = 65_536;

/// After so many tables without looking keys up it is tried again.
const APPENDED_TABLES: usize = 16;

impl Worker {
    /// Has the table outgrown the cache without having saved much?
    fn is_large(&self) -> bool {
        let n = self.groups.len();
        self.may_divide
            && (n >= MAX_LOCAL_GROUPS || n >= LOCAL_GROUPS && self.groups.looked_at() < n * ROWS_PER_GROUP)
    }

    /// Is the table to be flushed? `looked_at` keys have just been looked up, and `new` of them had no group.
    fn is_full(&mut self, looked_at: usize, new: usize) -> bool {
        let n = self.groups.len();
        // Keys that are drawn evenly from a set of moderate size have all come soon.
        self.is_large()
            && n >= *self.expected_groups.get_or_insert_with(|| most_of_even_keys(n, looked_at, new))
    }

    fn partition_groups(&mut self) -> Result<()> {
        self.expected_groups = Some(0);
        let partitions = self.partitions.get_or_insert_with(|| {
            events::count(Event::AggregationHashTablesInitializedAsTwoLevel);
            let new = if self.in_order { Partitions::of_run } else { Partitions::new };
            new(&self.shape.layout, &self.shape.calls)
        });
        // Where most rows have a key of their own, looking it up finds nothing.
        if self.groups.insert_strategy == InsertStrategy::LookUp {
            self.groups.insert_strategy = self.groups.next_insert_strategy();
        } else {
            self.appended += 1;
            if self.appended % APPENDED_TABLES == 0 {
                self.groups.insert_strategy = InsertStrategy::LookUp;
            }
        }
        partitions.put(&mut self.groups)?;
        Ok(())
    }

    /// Accounts for the memory held; what cannot be had goes to disk.
    fn measure(&mut self) -> Result<()> {
        self.rows_at_measuring = self.rows;
        let refused = self.memory.resize(self.held());
        // Only groups with keys can be partitioned.
        if self.needs_all || !self.groups.is_keyed() {
            return refused;
        }
        if refused.is_err() || self.threshold.is_passed(&self.memory) {
            self.spill()?;
            self.memory.resize(self.held())?;
        }
        Ok(())
    }

    fn held(&self) -> usize {
        self.groups.memory() + self.partitions.as_ref().map_or(0, Partitions::memory) + self.closed_bytes
    }

    fn spill(&mut self) -> Result<()> {
        self.partition_groups()?;
        if self.spilled.is_none() {
            self.spilled = Some(Spilled::new(self.purpose, &self.control)?);
        }
        self.spill_closed()?;
        if let (Some(spilled), Some(partitions)) = (&mut self.spilled, &mut self.partitions) {
            spilled.write(self.run, partitions)?;
        }
        Ok(())
    }
}

impl SinkWorker for Worker {
    fn push(&mut self, position: Position, block: Block) -> Result<Flow> {
        if self.purpose == Purpose::Aggregation {
            self.control.add_aggregated_rows(block.n_rows() as u64);
        }
        if self.in_order {
            self.turn_to(position.task())?;
        }
        // Groups of more rows at once would leave the cache while they are partitioned.
        let most = if self.groups.is_keyed() { LOCAL_GROUPS } else { usize::MAX };
        for part in split(block, most) {
            self.add(part)?;
        }
        let Some(&most) = self.n_groups.iter().max().filter(|&&n| self.max_groups > 0 && n > self.max_groups)
        else {
            return Ok(Flow::Continue);
        };
        match self.overflow {
            GroupByOverflow::Throw => bail!(
                TOO_MANY_ROWS,
                "Limit for rows to GROUP BY exceeded: has {most} rows, maximum: {}",
                self.max_groups
            ),
            GroupByOverflow::Break => Ok(Flow::Stop),
            GroupByOverflow::Any => Ok(Flow::Continue),
        }
    }

    fn end(&mut self) -> Result<()> {
        if self.partitions.is_some() {
            self.partition_groups()?;
            self.measure()?;
        }
        Ok(())
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl Worker {
    /// Adds rows to the groups of a grouping set; when it has too many, only those whose keys have a group.
    fn add_rows(&mut self, set: usize, keys: &[Column], args: &[Vec<Vector>], n_rows: usize) -> Result<()> {
        if self.max_groups == 0 || !self.groups.is_keyed() {
            return self.groups.add(keys, args, n_rows);
        }
        let before = self.groups.len();
        if self.n_groups[set] <= self.max_groups {
            self.groups.add(keys, args, n_rows)?;
        } else {
            let groups = self.groups.find(keys, n_rows);
            let known = (0..).zip(groups).filter(|&(_, group)| group != NO_GROUP);
            let rows: Vec<u32> = known.map(|(row, _)| row).collect();
            let keys: Vec<Column> = keys.iter().map(|key| key.gather(&rows)).collect();
            let gathered = |of: &Vec<Vector>| of.iter().map(|arg| arg.gather(&rows)).collect();
            let args: Vec<Vec<Vector>> = args.iter().map(gathered).collect();
            self.groups.add(&keys, &args, rows.len())?;
        }
        self.n_groups[set] += (self.groups.len() - before) as u64;
        Ok(())
    }

    fn add(&mut self, block: Block) -> Result<()> {
        let n_rows = block.n_rows();
        let (looked_at, n_groups) = (self.groups.looked_at(), self.groups.len());
        let n_keys = self.shape.n_keys;
        let mut columns = self.inputs.evaluate(&block)?.into_iter();
        let keys: Vec<Column> = columns.by_ref().take(n_keys).collect();
        let mut args: Vec<Vec<Vector>> = Vec::with_capacity(self.shape.calls.len());
        for call in self.shape.calls.iter() {
            args.push(columns.by_ref().take(call.args.len()).map(Column::into_flat).collect());
        }
        if self.sets.is_empty() {
            self.add_rows(0, &keys, &args, n_rows)?;
        }
        let sets = std::mem::take(&mut self.sets);
        for (number, set) in sets.iter().enumerate() {
            let mut keys: Vec<Column> = keys
                .iter()
                .enumerate()
                .map(|(i, key)| match set.contains(&i) {
                    true => key.clone(),
                    false => Column::constant(Vector::defaults(&self.key_types[i], 1), n_rows),
                })
                .collect();
            keys.push(Column::constant(Vector::from(vec![number as u64]), n_rows));
            self.add_rows(number, &keys, &args, n_rows)?;
        }
        self.sets = sets;
        self.rows += n_rows;
        let (looked_at, new) = (self.groups.looked_at() - looked_at, self.groups.len() - n_groups);
        if self.is_full(looked_at, new) {
            self.partition_groups()?;
            self.measure()?;
        }
        // Measuring walks over all pieces of the state: after each of many small blocks that would be quadratic.
        if self.rows - self.rows_at_measuring >= (self.rows / 16).min(ROWS_UNMEASURED) {
            self.measure()?;
        }
        Ok(())
    }
}

//! Windows as a table, of rows that come in order: whoever reads it gathers whole partitions and computes the functions over
//! these. Rows of a partition come in one task. Holds the rows of the partition that is not complete yet; of a long one, where the
//! functions allow it, no more than a part: what depends on all of it waits on disk until all rows were seen.

use super::long_partition::{Carried, Gathered, Totals};
use super::{BYTES_A_ROW, Window};
use crate::ExecContext;
use crate::control::QueryControl;
use crate::operators::aggregate::split;
use crate::spill::Purpose;
use crate::spill::merge_scan::MergeScan;
use crate::spill::spool::{Spool, Spooled};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_columns::keys::group_keys;
use chalet_columns::{Block, Column};
use chalet_memory::thread;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::collections::VecDeque;
use std::sync::Arc;

/// The windows over rows that are sorted by partition and order, as a table. With `places` each task has a range of the only
/// partition, whose place it knows.
pub(super) fn open(
    window: Window,
    sorted: Arc<dyn Scan>,
    places: Option<Arc<MergeScan>>,
    ctx: &ExecContext,
) -> Arc<dyn Scan> {
    let (max_block_size, control) = (ctx.settings.max_block_size, ctx.control.clone());
    let fitting = match ctx.control.memory.limit() {
        0 => usize::MAX,
        limit => (limit / PART_SHARE) as usize / BYTES_A_ROW,
    };
    let part_rows = (PART_BLOCKS * max_block_size).min(fitting).max(1);
    Arc::new(WindowScan { window, sorted, places, part_rows, max_block_size, control })
}

struct WindowScan {
    window: Window,
    sorted: Arc<dyn Scan>,
    places: Option<Arc<MergeScan>>,
    part_rows: usize,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

impl Scan for WindowScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker {
            window: self.window.clone(),
            sorted: self.sorted.worker()?,
            places: self.places.clone(),
            held: Vec::new(),
            n_held: 0,
            part_at: self.part_rows,
            part_rows: self.part_rows,
            long: None,
            waiting: None,
            spooled: None,
            key: Vec::new(),
            next: None,
            task: 0,
            number: 0,
            ready: VecDeque::new(),
            max_block_size: self.max_block_size,
            control: self.control.clone(),
        }))
    }

    fn parallelism(&self) -> usize {
        self.sorted.parallelism()
    }
}

struct Worker {
    window: Window,
    sorted: Box<dyn ScanWorker>,
    places: Option<Arc<MergeScan>>,
    /// Rows of the last partition so far, how many, and its key.
    held: Vec<Block>,
    n_held: usize,
    key: Vec<u8>,
    /// With so many rows a part of the partition is computed.
    part_at: usize,
    part_rows: usize,
    /// There were parts.
    long: Option<LongPartition>,
    /// Rows of the last partition that wait for the others of it, on disk.
    waiting: Option<Waiting>,
    /// Those of a partition whose totals are known.
    spooled: Option<Spooled>,
    /// The first rows of the next task.
    next: Option<Morsel>,
    task: u32,
    number: u32,
    /// Rows that can be put out.
    ready: VecDeque<Block>,
    max_block_size: usize,
    control: Arc<QueryControl>,
}

/// A partition of which parts were computed.
struct LongPartition {
    carried: Carried,
    /// How many of the rows that are held have their results.
    n_computed: usize,
}

/// Rows whose results depend on all rows of the partition.
struct Waiting {
    spool: Spool,
    gathered: Gathered,
}

/// Rows of a part, in blocks of full size.
const PART_BLOCKS: usize = 2;
/// So many parts are held before rows that wait for all of their partition go to disk.
const HELD_PARTS: usize = 4;
/// The share of the memory of a query that a part may take.
const PART_SHARE: u64 = 64;

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(block) = self.ready.pop_front() {
                let number = self.number;
                self.number += 1;
                return Ok(Some(Morsel { block, task: self.task, number }));
            }
            self.control.check_with_interrupt()?;
            if self.spooled.is_some() {
                let before = thread::set_operator("Window");
                let computed = self.compute_spooled();
                thread::set_operator(before);
                computed?;
                continue;
            }
            let morsel = match self.next.take() {
                Some(morsel) => Some(morsel),
                None => self.sorted.next()?,
            };
            let before = thread::set_operator("Window");
            let is_over = self.take(morsel);
            thread::set_operator(before);
            if is_over? {
                return Ok(None);
            }
        }
    }
}

impl Worker {
    /// Takes the next sorted rows, or their end; true at the end of all.
    fn take(&mut self, morsel: Option<Morsel>) -> Result<bool> {
        match morsel {
            Some(morsel) if morsel.task == self.task || !self.is_in_partition() => {
                if morsel.task != self.task {
                    (self.task, self.number) = (morsel.task, 0);
                }
                if let Some(places) = self.places.as_ref().filter(|_| !self.is_in_partition()) {
                    let carried = self.window.carried_at(places.rows_before(self.task)?, places.n_rows());
                    self.long = Some(LongPartition { carried, n_computed: 0 });
                    events::count(Event::WindowRanges);
                }
                self.take_rows(morsel.block)?;
                Ok(false)
            }
            // The last partition of a task ends with it.
            other => {
                let is_over = other.is_none() && !self.is_in_partition();
                self.next = other;
                self.end_partition(Vec::new())?;
                Ok(is_over)
            }
        }
    }

    fn is_in_partition(&self) -> bool {
        self.long.is_some() || self.waiting.is_some() || !self.held.is_empty()
    }

    fn take_rows(&mut self, block: Block) -> Result<()> {
        let n_rows = block.n_rows();
        if n_rows == 0 {
            return Ok(());
        }
        if self.window.n_partition == 0 {
            return self.take_inside(block);
        }
        let columns = self.window.inputs[..self.window.n_partition].iter().map(|&at| block.column(at));
        let keys = group_keys(&columns.collect::<Vec<&Column>>(), n_rows);
        let last = keys.get(n_rows - 1);
        // Where the partition of the last row begins.
        let mut start = n_rows - 1;
        while start > 0 && keys.get(start - 1) == last {
            start -= 1;
        }
        if start == 0 && (!self.is_in_partition() || self.key == last) {
            self.key = last.to_vec();
            return self.take_inside(block);
        }
        // Where the partition ends whose rows are held.
        let mut end = 0;
        while self.is_in_partition() && end < start && keys.get(end) == self.key {
            end += 1;
        }
        if end > 0 {
            self.hold(block.slice(0, end));
        }
        if self.waiting.is_some() {
            // What follows waits until the rows on disk have their results.
            self.next = Some(Morsel { block: block.slice(end, n_rows - end), task: self.task, number: 0 });
            return self.end_partition(Vec::new());
        }
        let further = if end < start { vec![block.slice(end, start - end)] } else { Vec::new() };
        self.end_partition(further)?;
        self.key = last.to_vec();
        self.hold(block.slice(start, n_rows - start));
        Ok(())
    }

    /// Takes rows of the partition that may go on behind them.
    fn take_inside(&mut self, block: Block) -> Result<()> {
        self.hold(block);
        if self.n_held < self.part_at { Ok(()) } else { self.compute_part(false) }
    }

    fn hold(&mut self, block: Block) {
        self.n_held += block.n_rows();
        self.held.push(block);
    }

    /// Computes the partition whose rows are held, and whole ones behind it.
    fn end_partition(&mut self, further: Vec<Block>) -> Result<()> {
        if self.waiting.is_some() {
            self.write_waiting()?;
            let Some(Waiting { spool, gathered }) = self.waiting.take() else { return Ok(()) };
            let carried = self.window.nothing_carried(gathered.finish()?);
            self.long = Some(LongPartition { carried, n_computed: 0 });
            events::count(Purpose::Window.counters().merge);
            self.spooled = Some(spool.read());
            (self.n_held, self.part_at) = (0, self.part_rows);
            return Ok(());
        }
        let whole = match self.long {
            Some(_) => {
                self.compute_part(true)?;
                self.long = None;
                self.held.clear();
                further
            }
            None => std::mem::take(&mut self.held).into_iter().chain(further).collect(),
        };
        (self.n_held, self.part_at) = (0, self.part_rows);
        if !whole.is_empty() {
            let computed = self.window.compute(Block::concat(&whole), None, &self.control)?;
            self.ready.extend(split(computed, self.max_block_size));
        }
        Ok(())
    }

    /// Computes what can be computed of the rows that are held; keeps those that are still needed.
    fn compute_part(&mut self, is_last: bool) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        match self.window.surroundings() {
            None => {
                self.part_at = usize::MAX;
                return Ok(());
            }
            Some(around) if around.totals && self.long.is_none() => {
                // Rows are better held than written and read again.
                if self.waiting.is_none() && self.n_held < HELD_PARTS * self.part_rows {
                    self.part_at = HELD_PARTS * self.part_rows;
                    return Ok(());
                }
                return self.write_waiting();
            }
            Some(_) => {}
        }
        let long = self.long.get_or_insert_with(|| {
            let carried = self.window.nothing_carried(Totals::default());
            LongPartition { carried, n_computed: 0 }
        });
        let rows = Block::concat(&std::mem::take(&mut self.held));
        let (computed, rest, n_computed) =
            self.window.compute_part(rows, long.n_computed, is_last, &mut long.carried, &self.control)?;
        long.n_computed = n_computed;
        self.n_held = rest.n_rows();
        // Rows that all are peers of each other stay together.
        self.part_at = match computed {
            // Where much is kept, moving it pays for more rows.
            Some(_) => self.n_held + self.part_rows.max(self.n_held / 2),
            None => self.n_held * 2,
        };
        if self.n_held > 0 {
            self.held.push(rest);
        }
        if let Some(computed) = computed {
            events::count(Event::WindowParts);
            self.ready.extend(split(computed, self.max_block_size));
        }
        Ok(())
    }

    /// Puts the rows that are held to those that wait on disk.
    fn write_waiting(&mut self) -> Result<()> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => none.insert(Waiting {
                spool: Spool::new(Purpose::Window, &self.control)?,
                gathered: self.window.nothing_gathered(),
            }),
        };
        for block in std::mem::take(&mut self.held) {
            self.window.gather(&block, &mut waiting.gathered)?;
            waiting.spool.write(&block)?;
        }
        (self.n_held, self.part_at) = (0, self.part_rows);
        Ok(())
    }

    /// Computes the next part of the rows that waited.
    fn compute_spooled(&mut self) -> Result<()> {
        let Some(spooled) = &mut self.spooled else { return Ok(()) };
        if let Some(block) = spooled.next_block()? {
            self.hold(block);
        }
        let is_last = self.spooled.as_ref().is_none_or(Spooled::is_over);
        if is_last {
            self.spooled = None;
            return self.end_partition(Vec::new());
        }
        if self.n_held < self.part_at { Ok(()) } else { self.compute_part(false) }
    }
}

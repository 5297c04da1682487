//! What reads the units of a scan of parts.

use super::layout::Layout;
use super::scan::{Shared, in_part};
use crate::{Morsel, ScanWorker};
use chalet_base::events::{self, Event};
use chalet_base::{Result, bail};
use chalet_columns::{Block, Column, Vector};
use chalet_formats::input::{BlockReader, FileScan};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// What one worker reads at once.
pub(super) struct Unit {
    part: usize,
    task: u32,
    number: u32,
    layout: Layout,
    rows: Rows,
}

impl Unit {
    pub fn new(part: usize, task: u32, layout: Layout, rows: Rows) -> Unit {
        Unit { part, task, number: 0, layout, rows }
    }
}

pub(super) enum Rows {
    Resident { rows: Range<usize> },
    File { reader: Box<dyn BlockReader>, bytes: u64, passed_by: u64 },
}

/// Reads a scan.
pub(super) struct Worker {
    shared: Arc<Shared>,
    /// Absent where it takes the units that all workers share.
    own: Option<Own>,
    current: Option<Unit>,
    passed_by: u64,
}

/// Rows of one part for one worker alone.
pub(super) struct Own {
    part: usize,
    source: OwnSource,
}

enum OwnSource {
    File(Box<dyn FileScan>),
    Resident(Option<Range<usize>>),
}

impl Own {
    pub fn new(shared: &Shared, part: usize, rows: Range<usize>) -> Result<Own> {
        let of = &shared.parts[part];
        let is_whole = rows == (0..of.info.rows as usize);
        let source = match shared.open_part(of, (!is_whole).then_some(&rows))? {
            Some(scan) => {
                shared.keep_rows(part, &*scan)?;
                OwnSource::File(scan)
            }
            None => OwnSource::Resident(Some(rows)),
        };
        Ok(Own { part, source })
    }

    fn next_unit(&mut self, shared: &Shared) -> Result<Option<Unit>> {
        let part = &shared.parts[self.part];
        let rows = match &mut self.source {
            OwnSource::File(scan) => {
                let reader = scan.next_unit().map_err(|e| e.context(in_part(part)))?;
                reader.map(|reader| Rows::File { reader, bytes: 0, passed_by: 0 })
            }
            OwnSource::Resident(rows) => rows.take().map(|rows| Rows::Resident { rows }),
        };
        let layout = Layout::of(part, &shared.places, &shared.definition)?;
        Ok(rows.map(|rows| Unit::new(self.part, 0, layout, rows)))
    }
}

impl Worker {
    /// Takes the units that all workers share.
    pub fn new(shared: Arc<Shared>) -> Worker {
        Worker { shared, own: None, current: None, passed_by: 0 }
    }

    /// Reads rows of one part.
    pub fn of_part(shared: Arc<Shared>, own: Own) -> Worker {
        Worker { shared, own: Some(own), current: None, passed_by: 0 }
    }

    /// The next rows of the unit, whether the filter was applied to them, and how many did not pass.
    fn read(&mut self) -> Result<Option<(Block, bool)>> {
        let shared = self.shared.clone();
        let max_rows = shared.request.context.max_block_size.max(1);
        let Some(unit) = &mut self.current else { return Ok(None) };
        let part = &shared.parts[unit.part];
        match &mut unit.rows {
            Rows::Resident { rows: left } => {
                let Some(block) = part.resident() else { bail!(LOGICAL_ERROR, "The part is not in memory") };
                let n = left.len().min(max_rows);
                if n == 0 {
                    return Ok(None);
                }
                let columns = unit.layout.wanted.iter().map(|&at| block.column(at).clone()).collect();
                let whole = Block::new(columns, block.n_rows());
                let rows = if n == whole.n_rows() { whole } else { whole.slice(left.start, n) };
                let first = left.start as u64;
                left.start += n;
                let numbers = shared
                    .numbers
                    .then(|| Column::from(Vector::from((first..first + n as u64).collect::<Vec<u64>>())));
                let block = shared.morsel(&(unit.part, &unit.layout), rows.into_columns(), numbers, n)?;
                Ok(Some((block, false)))
            }
            Rows::File { reader, bytes, passed_by } => {
                let block = reader.next_block(max_rows).map_err(|e| e.context(in_part(part)))?;
                let read = reader.bytes_read();
                let new_bytes = read.saturating_sub(*bytes);
                shared.progress().file_bytes.fetch_add(new_bytes, Relaxed);
                events::add(Event::ReadBufferFromFileDescriptorReadBytes, new_bytes);
                *bytes = read;
                let left_out = reader.rows_passed_by();
                self.passed_by += left_out.saturating_sub(*passed_by);
                *passed_by = left_out;
                let Some(block) = block else { return Ok(None) };
                let n_rows = block.n_rows();
                let is_filtered = reader.applies_filter();
                let mut columns = block.into_columns();
                let numbers = shared.numbers.then(|| columns.pop()).flatten();
                let block = shared.morsel(&(unit.part, &unit.layout), columns, numbers, n_rows)?;
                Ok(Some((block, is_filtered)))
            }
        }
    }
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            if self.current.is_none() {
                self.current = match &mut self.own {
                    Some(own) => own.next_unit(&self.shared)?,
                    None => self.shared.next_unit()?,
                };
                if self.current.is_none() {
                    return Ok(None);
                }
            }
            let Some((mut block, is_filtered)) = self.read()? else {
                self.current = None;
                continue;
            };
            if let Some(filter) = &self.shared.request.filter
                && !is_filtered
            {
                let n_rows = block.n_rows();
                block = filter.apply(block)?;
                self.passed_by += (n_rows - block.n_rows()) as u64;
            }
            if block.is_empty() {
                continue;
            }
            let Some(unit) = &mut self.current else { bail!(LOGICAL_ERROR, "A unit is gone") };
            unit.number += 1;
            return Ok(Some(Morsel { block, task: unit.task, number: unit.number - 1 }));
        }
    }

    fn take_passed_by(&mut self) -> u64 {
        std::mem::take(&mut self.passed_by)
    }
}

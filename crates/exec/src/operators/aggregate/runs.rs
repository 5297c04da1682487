//! Runs: rows that follow each other, and the groups of each run for itself.
//!
//! A worker of an aggregation that no order matters to has one run, of all its rows. Where order matters it begins another one
//! whenever rows come that do not follow the last ones, since another worker has those between; the states of the runs are merged
//! in the order of their rows.

use super::groups::Groups;
use super::partitions::Partitions;
use super::spill::Spilled;
use super::{Shape, Worker};
use crate::control::QueryControl;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_memory::Reservation;
use std::sync::Arc;

/// The first task of a run; runs are ordered by it.
pub(super) type Run = (u32, u32);

/// The groups of a run that has ended.
pub(super) struct RunGroups {
    pub run: Run,
    pub groups: Groups,
    pub partitions: Option<Partitions>,
    /// The number of its worker, and how many bytes of what that one has reserved are of this run.
    worker: usize,
    bytes: usize,
}

impl RunGroups {
    /// Bytes of memory held.
    fn memory(&self) -> usize {
        self.groups.memory() + self.partitions.as_ref().map_or(0, Partitions::memory)
    }

    /// All groups, partitioned.
    pub fn into_partitions(mut self, shape: &Shape) -> Result<(Run, Partitions)> {
        let mut partitions = self.partitions.unwrap_or_else(|| {
            events::count(Event::AggregationHashTablesInitializedAsTwoLevel);
            Partitions::of_run(&shape.layout, &shape.calls)
        });
        if !self.groups.is_empty() {
            partitions.put(&mut self.groups)?;
        }
        Ok((self.run, partitions))
    }
}

/// What the workers of an aggregation have gathered.
pub(super) struct Gathered {
    /// In order.
    pub runs: Vec<RunGroups>,
    pub spilled: Vec<Spilled>,
    /// Of all workers.
    reservations: Vec<Reservation>,
}

impl Gathered {
    /// Of workers that have ended.
    pub fn of(workers: Vec<Worker>) -> Gathered {
        let mut all = Gathered { runs: Vec::new(), spilled: Vec::new(), reservations: Vec::new() };
        for mut worker in workers {
            worker.close_run();
            let number = all.reservations.len();
            all.runs.extend(worker.closed.into_iter().map(|run| RunGroups { worker: number, ..run }));
            all.spilled.extend(worker.spilled);
            all.reservations.push(worker.memory);
        }
        all.runs.sort_by_key(|run| run.run);
        all
    }

    /// The groups of all runs.
    pub fn n_groups(&self) -> usize {
        self.runs.iter().map(|run| run.groups.len()).sum()
    }

    /// Bytes of memory that they hold.
    pub fn bytes(&self) -> usize {
        self.runs.iter().map(|run| run.bytes).sum()
    }

    /// Merges the runs one after the other.
    pub fn merged(self, shape: &Shape, control: &Arc<QueryControl>) -> Result<(Groups, Reservation)> {
        let Gathered { runs, mut reservations, .. } = self;
        let mut memory = Reservation::new(control.memory.clone());
        let mut merged: Option<Groups> = None;
        for run in runs {
            let reserved = &mut reservations[run.worker];
            let left = reserved.bytes().saturating_sub(run.bytes);
            match &mut merged {
                None => merged = Some(run.groups),
                Some(merged) => merged.merge(run.groups)?,
            }
            reserved.resize(left)?;
            if let Some(merged) = &merged {
                memory.resize(merged.memory())?;
            }
            control.check_with_interrupt()?;
        }
        Ok((merged.unwrap_or_else(|| Groups::new(&shape.layout, &shape.calls)), memory))
    }

    /// What all workers have reserved, as one reservation of so many bytes.
    pub fn reserved(self, bytes: usize, control: &Arc<QueryControl>) -> Result<Reservation> {
        drop(self);
        let mut memory = Reservation::new(control.memory.clone());
        memory.resize(bytes)?;
        Ok(memory)
    }
}

impl Worker {
    /// Rows of a task come: does a new run begin?
    pub(super) fn turn_to(&mut self, task: Run) -> Result<()> {
        if self.task == Some(task) {
            return Ok(());
        }
        let follows = self.task.is_none_or(|(round, last)| round == task.0 && last + 1 == task.1);
        if !follows {
            events::count(Event::AggregationRunsInOrder);
            if self.partitions.is_some() || self.is_large() {
                self.partition_groups()?;
            }
            self.measure()?;
            self.close_run();
        }
        if self.task.is_none() || !follows {
            self.run = task;
        }
        self.task = Some(task);
        Ok(())
    }

    /// Puts the groups of the run aside.
    fn close_run(&mut self) {
        let strategy = self.groups.insert_strategy;
        let mut groups = Groups::new(&self.shape.layout, &self.shape.calls);
        groups.insert_strategy = strategy;
        let groups = std::mem::replace(&mut self.groups, groups);
        let mut run =
            RunGroups { run: self.run, groups, partitions: self.partitions.take(), worker: 0, bytes: 0 };
        // That of a worker that never measured is what it has reserved.
        run.bytes = if self.in_order { run.memory() } else { self.memory.bytes() };
        self.closed_bytes += run.bytes;
        self.closed.push(run);
    }

    /// Writes the runs that have ended to disk.
    pub(super) fn spill_closed(&mut self) -> Result<()> {
        self.closed_bytes = 0;
        for run in std::mem::take(&mut self.closed) {
            let (run, mut partitions) = run.into_partitions(&self.shape)?;
            if let Some(spilled) = &mut self.spilled {
                spilled.write(run, &mut partitions)?;
            }
        }
        Ok(())
    }
}

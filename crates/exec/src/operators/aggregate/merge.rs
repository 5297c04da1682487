//! The result of a partitioned aggregation as a table: whoever reads it merges one partition after the other, so that
//! the merge is as parallel as what follows, and what a LIMIT does not need is never merged.

use super::Shape;
use super::groups::Groups;
use super::partitions::{PARTITIONS, Part, Partitions, Sharing};
use super::runs::Run;
use super::spill::Spilled;
use super::split;
use crate::spill::Place;
use chalet_base::Result;
use chalet_base::events;
use chalet_columns::Block;
use chalet_memory::Reservation;
use chalet_storage::scan::TaskQueue;
use chalet_storage::{Morsel, Scan, ScanWorker};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) struct MergeScan(Arc<Shared>);

struct Shared {
    shape: Arc<Shape>,
    /// By partition, the pieces of all workers in the order of their runs.
    pieces: Vec<Mutex<Vec<Piece>>>,
    /// Of all workers.
    spilled: Vec<Spilled>,
    queue: TaskQueue,
    max_block_size: usize,
    memory: Mutex<Reservation>,
    sharing: Sharing,
}

/// Some parts of a partition.
enum Piece {
    Memory(Part),
    /// On disk: the number of what was spilled, and where it is there.
    Disk(usize, Place),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MergeScan {
    /// The result of runs that are partitioned and of what was spilled of them before; `memory` holds their reservation until they
    /// are merged.
    pub fn new(
        shape: Arc<Shape>,
        runs: Vec<(Run, Partitions)>,
        spilled: Vec<Spilled>,
        memory: Reservation,
        max_block_size: usize,
    ) -> MergeScan {
        let mut pieces: Vec<Vec<(Run, Piece)>> = (0..PARTITIONS).map(|_| Vec::new()).collect();
        for (number, spilled) in spilled.iter().enumerate() {
            for (partition, pieces) in pieces.iter_mut().enumerate() {
                let places = spilled.places(partition).iter();
                pieces.extend(places.map(|&(run, place)| (run, Piece::Disk(number, place))));
            }
        }
        for (run, mut partitions) in runs {
            for (pieces, parts) in pieces.iter_mut().zip(partitions.take_all()) {
                pieces.extend(parts.into_iter().map(|part| (run, Piece::Memory(part))));
            }
        }
        let in_order = |mut pieces: Vec<(Run, Piece)>| {
            // Stable: what was spilled of a run comes before the rest of it.
            pieces.sort_by_key(|(run, _)| *run);
            Mutex::new(pieces.into_iter().map(|(_, piece)| piece).collect())
        };
        if let Some(first) = spilled.first() {
            events::count(first.purpose.counters().merge);
        }
        MergeScan(Arc::new(Shared {
            shape,
            pieces: pieces.into_iter().map(in_order).collect(),
            spilled,
            queue: TaskQueue::default(),
            max_block_size,
            memory: Mutex::new(memory),
            sharing: Sharing::default(),
        }))
    }
}

impl Scan for MergeScan {
    fn worker(&self) -> Result<Box<dyn ScanWorker>> {
        Ok(Box::new(Worker { shared: self.0.clone(), task: 0, number: 0, blocks: Vec::new().into_iter() }))
    }

    fn parallelism(&self) -> usize {
        PARTITIONS
    }
}

struct Worker {
    shared: Arc<Shared>,
    task: u32,
    number: u32,
    /// Of the partition that was merged last.
    blocks: std::vec::IntoIter<Block>,
}

impl ScanWorker for Worker {
    fn next(&mut self) -> Result<Option<Morsel>> {
        loop {
            if let Some(block) = self.blocks.next() {
                self.number += 1;
                return Ok(Some(Morsel { block, task: self.task, number: self.number }));
            }
            let Some(task) = self.shared.queue.take(PARTITIONS) else { return Ok(None) };
            (self.task, self.number) = (task as u32, 0);
            let pieces = std::mem::take(&mut *lock(&self.shared.pieces[task]));
            self.blocks = self.shared.merge(pieces)?.into_iter();
        }
    }
}

impl Shared {
    fn merge(&self, pieces: Vec<Piece>) -> Result<Vec<Block>> {
        if pieces.is_empty() {
            return Ok(Vec::new());
        }
        let shape = &self.shape;
        let in_memory = |piece: &Piece| if let Piece::Memory(part) = piece { part.keys.len() } else { 0 };
        let mut n_keys = pieces.iter().map(in_memory).sum::<usize>();
        let mut groups = Groups::with_room(&shape.layout, &shape.calls, self.sharing.groups_of(n_keys));
        for piece in pieces {
            match piece {
                Piece::Disk(number, place) => {
                    for part in self.spilled[number].read(&place, &shape.layout, &shape.calls)? {
                        n_keys += part.keys.len();
                        part.merge_into(&mut groups)?;
                    }
                }
                Piece::Memory(part) => {
                    let held = part.memory();
                    part.merge_into(&mut groups)?;
                    let mut memory = lock(&self.memory);
                    let bytes = memory.bytes().saturating_sub(held);
                    memory.resize(bytes)?;
                }
            }
        }
        self.sharing.learn(n_keys, groups.len());
        Ok(split(shape.output(groups.finish()?), self.max_block_size))
    }
}

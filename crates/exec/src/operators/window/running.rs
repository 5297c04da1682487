//! Aggregates over frames: once for frames that are equal, step by step for frames that only grow, anew for others.

use chalet_base::Result;
use chalet_columns::Vector;
use chalet_function_api::{Aggregate, States};
use std::ops::Range;

/// Rows that are added to states between two questions whether to stop.
const ROWS_AT_ONCE: usize = 1 << 18;

/// Results of a growing frame between two questions whether to stop.
const RESULTS_AT_ONCE: usize = 1 << 10;

/// Frames of the rows of partitions, which are consecutive.
pub(super) struct FramedRows<'a> {
    pub partitions: &'a [Range<usize>],
    /// The frame of every row.
    pub frames: &'a [Range<usize>],
    /// Fails when the work is to stop.
    pub check: &'a dyn Fn() -> Result<()>,
}

impl FramedRows<'_> {
    /// The value of the aggregate over the frame of every row.
    pub fn aggregate(&self, aggregate: &dyn Aggregate, args: &[Vector]) -> Result<Vector> {
        if self.partitions.len() > 1
            && self.frames.len() <= ROWS_AT_ONCE
            && self.partitions.iter().all(|partition| self.is_growing_or_equal(partition))
            && let Some(results) = aggregate.states().running_frames(args, self.frames)?
        {
            return Ok(results);
        }
        let mut results = Vec::new();
        let mut unasked = 0;
        let mut at = 0;
        while at < self.partitions.len() {
            let partition = &self.partitions[at];
            if self.is_growing(partition) {
                unasked += partition.len();
                if unasked > ROWS_AT_ONCE {
                    unasked = 0;
                    (self.check)()?;
                }
                self.growing(partition, aggregate, args, &mut results)?;
                at += 1;
                continue;
            }
            // Partitions side by side share their states.
            let behind = self.partitions[at..].iter().position(|rows| self.is_growing(rows));
            let end = behind.map_or(self.partitions.len(), |n| at + n);
            let rows = partition.start..self.partitions[end - 1].end;
            results.push(self.distinct(rows, aggregate, args)?);
            at = end;
        }
        Ok(match &results[..] {
            [all] => all.clone(),
            parts => Vector::concat(&parts.iter().collect::<Vec<_>>()),
        })
    }

    /// Do frames take more and more rows, and not all the same?
    fn is_growing(&self, rows: &Range<usize>) -> bool {
        let frames = &self.frames[rows.clone()];
        frames.first() != frames.last() && self.is_growing_or_equal(rows)
    }

    /// Do frames lose no row that one of them has?
    fn is_growing_or_equal(&self, rows: &Range<usize>) -> bool {
        let frames = &self.frames[rows.clone()];
        frames.windows(2).all(|pair| pair[0].start == pair[1].start && pair[0].end <= pair[1].end)
    }

    /// One state per frame that differs from the one before; rows with equal frames share it.
    fn distinct(&self, rows: Range<usize>, aggregate: &dyn Aggregate, args: &[Vector]) -> Result<Vector> {
        let mut states = aggregate.states();
        let frames = &self.frames[rows];
        let mut of_rows: Vec<u32> = Vec::with_capacity(frames.len());
        let mut n_states = 0usize;
        let mut unasked = 0;
        for (row, frame) in frames.iter().enumerate() {
            if row == 0 || *frame != frames[row - 1] {
                unasked += frame.len() + 1;
                if unasked > ROWS_AT_ONCE {
                    unasked = 0;
                    (self.check)()?;
                }
                n_states += 1;
                states.grow(n_states);
                states.add(n_states - 1, args, frame.clone())?;
            }
            of_rows.push(n_states as u32 - 1);
        }
        Ok(states.finish(n_states)?.gather(&of_rows))
    }

    /// One state that takes the rows of all frames in turn.
    fn growing(
        &self,
        rows: &Range<usize>,
        aggregate: &dyn Aggregate,
        args: &[Vector],
        results: &mut Vec<Vector>,
    ) -> Result<()> {
        let frames = &self.frames[rows.clone()];
        let mut state = aggregate.states();
        state.grow(1);
        let ends = frames.iter().map(|frame| frame.end);
        results.extend(growing(&mut *state, args, frames[0].start, ends, self.check)?);
        Ok(())
    }
}

/// The results of a state that takes rows from `from` on up to each of `ends`, which ascend, one after the other.
pub(super) fn growing(
    state: &mut dyn States,
    args: &[Vector],
    mut from: usize,
    ends: impl ExactSizeIterator<Item = usize>,
    check: &dyn Fn() -> Result<()>,
) -> Result<Vec<Vector>> {
    let n_rows = ends.len();
    let mut different: Vec<usize> = Vec::new();
    let mut of_rows: Vec<u32> = Vec::with_capacity(n_rows);
    for end in ends {
        if different.last() != Some(&end) {
            different.push(end);
        }
        of_rows.push(different.len() as u32 - 1);
    }
    let mut results = Vec::new();
    for ends in different.chunks(RESULTS_AT_ONCE) {
        check()?;
        results.push(state.running(args, from, ends)?);
        from = ends[ends.len() - 1];
    }
    // Where no rows are peers, each has its own result.
    if different.len() < n_rows {
        results = vec![Vector::concat(&results.iter().collect::<Vec<_>>()).gather(&of_rows)];
    }
    Ok(results)
}

//! Aggregates over frames: once for frames that are equal, step by step for frames that only grow, anew for others.

use chalet_base::Result;
use chalet_columns::Vector;
use chalet_function_api::Aggregate;
use std::ops::Range;

/// Rows that are added to states between two questions whether to stop.
const ROWS_AT_ONCE: usize = 1 << 18;

/// Results of a growing frame between two questions whether to stop.
const RESULTS_AT_ONCE: usize = 1 << 10;

/// The value of the aggregate over the frame of every row. `check` fails when it is to stop.
pub(super) fn aggregate(
    aggregate: &dyn Aggregate,
    args: &[Vector],
    frames: &[Range<usize>],
    check: &dyn Fn() -> Result<()>,
) -> Result<Vector> {
    if frames.windows(2).all(|w| w[0].start == w[1].start && w[0].end <= w[1].end) {
        return growing(aggregate, args, frames, check);
    }
    let mut states = aggregate.states();
    // One state per distinct frame; rows with equal frames share it.
    let mut rows: Vec<u32> = Vec::with_capacity(frames.len());
    let mut n_states = 0usize;
    let mut unasked = 0;
    let mut added = |n: usize| {
        unasked += n + 1;
        if unasked < ROWS_AT_ONCE {
            return Ok(());
        }
        unasked = 0;
        check()
    };
    for (i, frame) in frames.iter().enumerate() {
        if i == 0 || *frame != frames[i - 1] {
            added(frame.len())?;
            n_states += 1;
            states.grow(n_states);
            states.add(n_states - 1, args, frame.clone())?;
        }
        rows.push(n_states as u32 - 1);
    }
    Ok(states.finish(n_states)?.gather(&rows))
}

/// One state that takes the rows of all frames in turn.
fn growing(
    aggregate: &dyn Aggregate,
    args: &[Vector],
    frames: &[Range<usize>],
    check: &dyn Fn() -> Result<()>,
) -> Result<Vector> {
    let mut state = aggregate.states();
    state.grow(1);
    let mut ends: Vec<usize> = Vec::new();
    let mut rows: Vec<u32> = Vec::with_capacity(frames.len());
    for frame in frames {
        if ends.last() != Some(&frame.end) {
            ends.push(frame.end);
        }
        rows.push(ends.len() as u32 - 1);
    }
    let mut from = frames.first().map_or(0, |frame| frame.start);
    let mut results = Vec::new();
    for ends in ends.chunks(RESULTS_AT_ONCE) {
        check()?;
        results.push(state.running(args, from, ends)?);
        from = ends[ends.len() - 1];
    }
    Ok(Vector::concat(&results.iter().collect::<Vec<_>>()).gather(&rows))
}

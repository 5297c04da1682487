//! Aggregates over frames: once for frames that are equal, step by step for frames that only grow, anew for others.

use chalet_base::Result;
use chalet_columns::Vector;
use chalet_function_api::Aggregate;
use std::ops::Range;

/// Rows that are added to states between two questions whether to stop.
const ROWS_AT_ONCE: usize = 1 << 18;

/// The value of the aggregate over the frame of every row. `check` fails when it is to stop.
pub(super) fn aggregate(
    aggregate: &dyn Aggregate,
    args: &[Vector],
    frames: &[Range<usize>],
    check: &dyn Fn() -> Result<()>,
) -> Result<Vector> {
    let growing = frames.windows(2).all(|w| w[0].start == w[1].start && w[0].end <= w[1].end);
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
    if growing {
        let mut total = aggregate.states();
        total.grow(1);
        let mut done = frames.first().map_or(0, |f| f.start);
        let mut bytes = Vec::new();
        for (i, frame) in frames.iter().enumerate() {
            if i == 0 || frame.end != frames[i - 1].end {
                added(frame.end.saturating_sub(done))?;
                if frame.end > done {
                    total.add(0, args, done..frame.end)?;
                    done = frame.end;
                }
                bytes.clear();
                total.serialise(0, &mut bytes);
                n_states += 1;
                states.grow(n_states);
                states.deserialise(n_states - 1, &mut &bytes[..])?;
            }
            rows.push(n_states as u32 - 1);
        }
    } else {
        for (i, frame) in frames.iter().enumerate() {
            if i == 0 || *frame != frames[i - 1] {
                added(frame.len())?;
                n_states += 1;
                states.grow(n_states);
                states.add(n_states - 1, args, frame.clone())?;
            }
            rows.push(n_states as u32 - 1);
        }
    }
    Ok(states.finish(n_states)?.gather(&rows))
}

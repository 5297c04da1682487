//! One summary per window from summaries of the pieces that windows share, each piece being merged a few times whatever the number of
//! pieces in a window: a queue of two stacks.

use super::grid::Grid;
use super::samples::Sample;

/// Windows of so few pieces are merged anew for each point.
const FEW_PIECES: i64 = 4;

/// What samples of a span of time are summed up to.
pub trait Summary: Copy {
    /// Of samples in order of time, at least one.
    fn of(samples: &[Sample], grid: &Grid) -> Self;

    /// Together with a later span.
    fn merged(&self, later: &Self) -> Self;
}

/// Calls for every point with the summary of its window, if there are samples in it. Samples are in order of time.
pub fn slide<S: Summary>(samples: &[Sample], grid: &Grid, mut with: impl FnMut(i64, Option<S>)) {
    let mut pieces = pieces(samples, grid).map(|(piece, run)| (piece, S::of(run, grid))).peekable();
    let mut queue = Queue {
        anew: grid.pieces_of_window() <= FEW_PIECES,
        front: Vec::new(),
        back: Vec::new(),
        later: None,
    };
    for index in 0..grid.points {
        while let Some(piece) = pieces.next_if(|(piece, _)| *piece < grid.end_piece(index)) {
            queue.push(piece);
        }
        queue.drop_before(grid.first_piece(index));
        with(index, queue.summary());
    }
}

/// Runs of samples that are in the same piece.
pub fn pieces<'a>(samples: &'a [Sample], grid: &'a Grid) -> impl Iterator<Item = (i64, &'a [Sample])> + 'a {
    samples
        .chunk_by(|a, b| grid.piece(a.0) == grid.piece(b.0))
        .filter_map(|run| Some((grid.piece(run[0].0)?, run)))
}

/// Pieces of a window. Those in `front` come first, the earliest at its end, each with the summary of all from it to the front's last;
/// `later` sums `back` up.
struct Queue<S> {
    anew: bool,
    front: Vec<(i64, S)>,
    back: Vec<(i64, S)>,
    later: Option<S>,
}

impl<S: Summary> Queue<S> {
    fn push(&mut self, piece: (i64, S)) {
        self.later = Some(self.later.map_or(piece.1, |later| later.merged(&piece.1)));
        self.back.push(piece);
    }

    fn drop_before(&mut self, first: i64) {
        if self.anew {
            let old = self.back.partition_point(|(piece, _)| *piece < first);
            self.back.drain(..old);
            return;
        }
        loop {
            if self.front.is_empty() {
                let mut sum: Option<S> = None;
                for (piece, summary) in self.back.drain(..).rev() {
                    let all = sum.map_or(summary, |later| summary.merged(&later));
                    sum = Some(all);
                    self.front.push((piece, all));
                }
                self.later = None;
            }
            if self.front.pop_if(|(piece, _)| *piece < first).is_none() {
                return;
            }
        }
    }

    fn summary(&self) -> Option<S> {
        if self.anew {
            let (first, rest) = self.back.split_first()?;
            return Some(rest.iter().fold(first.1, |sum, (_, piece)| sum.merged(piece)));
        }
        match (self.front.last(), &self.later) {
            (Some((_, front)), Some(back)) => Some(front.merged(back)),
            (Some((_, one)), None) | (None, Some(one)) => Some(*one),
            (None, None) => None,
        }
    }
}

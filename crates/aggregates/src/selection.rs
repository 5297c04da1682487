//! Choosing rows of arguments for wrappers that pass on only some of them.

use chalet_columns::{BooleanBuffer, NullBuffer, RowMask, Vector};
use std::ops::Range;

/// The rows of the range in which no argument is NULL, a bit for each; None when that is all of them.
pub fn valid_rows(args: &[Vector], rows: Range<usize>) -> Option<BooleanBuffer> {
    let mut union: Option<NullBuffer> = None;
    for validity in args.iter().filter_map(|arg| arg.validity.as_ref()) {
        union = NullBuffer::union(union.as_ref(), Some(&validity.slice(rows.start, rows.len())));
    }
    union.filter(|validity| validity.null_count() > 0).map(NullBuffer::into_inner)
}

/// Of the rows of the range those of a mask.
pub fn select(args: &[Vector], rows: Range<usize>, mask: &RowMask) -> Vec<Vector> {
    args.iter().map(|arg| mask.vector(&part(arg, &rows))).collect()
}

/// The same where all of these rows are valid in all arguments.
pub fn select_valid(args: &[Vector], rows: Range<usize>, mask: &RowMask) -> Vec<Vector> {
    args.iter().map(|arg| mask.vector(&Vector::from(part(arg, &rows).data))).collect()
}

fn part(arg: &Vector, rows: &Range<usize>) -> Vector {
    if rows.len() == arg.len() { arg.clone() } else { arg.slice(rows.start, rows.len()) }
}

/// The given rows of all arguments.
pub fn gather(args: &[Vector], rows: &[u32]) -> Vec<Vector> {
    args.iter().map(|arg| arg.gather(rows)).collect()
}

/// Where ends of runs of rows lie among the rows of a mask, which begins with the row `from`.
pub fn ends_among(mask: &RowMask, from: usize, ends: &[usize]) -> Vec<usize> {
    let (kept, mut at) = (mask.rows(), 0);
    let count_below = |&end: &usize| {
        at += kept[at..].iter().take_while(|&&row| from + (row as usize) < end).count();
        at
    };
    ends.iter().map(count_below).collect()
}

/// Where frames of rows lie among the rows of a mask of so many.
pub fn frames_among(mask: &RowMask, n_rows: usize, frames: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut n_before = vec![0usize; n_rows + 1];
    mask.rows().iter().for_each(|&row| n_before[row as usize + 1] = 1);
    (0..n_rows).for_each(|row| n_before[row + 1] += n_before[row]);
    frames.iter().map(|frame| n_before[frame.start]..n_before[frame.end]).collect()
}

//! Choosing rows of arguments for wrappers that pass on only some of them.

use chalet_columns::{NullBuffer, Vector};
use std::ops::Range;

/// The rows of the range in which no argument is NULL; None when that is all of them.
pub fn valid_rows(args: &[Vector], rows: Range<usize>) -> Option<Vec<u32>> {
    let mut union: Option<NullBuffer> = None;
    for validity in args.iter().filter_map(|arg| arg.validity.as_ref()) {
        union = NullBuffer::union(union.as_ref(), Some(&validity.slice(rows.start, rows.len())));
    }
    let union = union.filter(|validity| validity.null_count() > 0)?;
    Some(union.valid_indices().map(|row| (row + rows.start) as u32).collect())
}

/// The given rows of all arguments, which are valid in them.
pub fn gather(args: &[Vector], rows: &[u32]) -> Vec<Vector> {
    args.iter().map(|arg| arg.gather(rows)).collect()
}

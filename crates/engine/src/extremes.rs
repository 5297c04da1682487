//! The least and the greatest value of each column of a result, for the setting `extremes`.

use chalet_columns::{Block, Column, Data, Vector};
use std::cmp::Ordering;

/// Grows with the blocks of a result.
#[derive(Default)]
pub(crate) struct Extremes {
    /// Of each column two vectors of one row: NULL, or NaN, while there was nothing else.
    found: Option<Vec<(Vector, Vector)>>,
}

impl Extremes {
    pub fn add(&mut self, block: &Block) {
        if block.is_empty() {
            return;
        }
        let mut both = Vec::with_capacity(block.columns().len());
        for (index, column) in block.columns().iter().enumerate() {
            let vector = column.flat();
            let mut least = (&*vector, 0);
            let mut greatest = least;
            for row in 1..vector.len() {
                least = better(least, (&*vector, row), Ordering::Less);
                greatest = better(greatest, (&*vector, row), Ordering::Greater);
            }
            if let Some(before) = &self.found {
                least = better((&before[index].0, 0), least, Ordering::Less);
                greatest = better((&before[index].1, 0), greatest, Ordering::Greater);
            }
            let one = |(vector, row): (&Vector, usize)| vector.gather(&[row as u32]).compact();
            both.push((one(least), one(greatest)));
        }
        self.found = Some(both);
    }

    /// Two rows; none when the result was empty.
    pub fn finish(self) -> Option<Block> {
        let columns = self.found?.into_iter();
        let columns = columns.map(|(least, greatest)| Column::Flat(Vector::concat(&[&least, &greatest])));
        Some(Block::new(columns.collect(), 2))
    }
}

/// The row of the two that is less, or greater; NULL and NaN lose to everything.
fn better<'a>(a: (&'a Vector, usize), b: (&'a Vector, usize), wanted: Ordering) -> (&'a Vector, usize) {
    if is_missing(b) {
        return a;
    }
    if is_missing(a) || b.0.compare(b.1, a.0, a.1) == wanted { b } else { a }
}

fn is_missing((vector, row): (&Vector, usize)) -> bool {
    vector.is_null(row)
        || match &vector.data {
            Data::F64(values) => values[row].is_nan(),
            Data::F32(values) => values[row].is_nan(),
            Data::BF16(values) => values[row].is_nan(),
            _ => false,
        }
}

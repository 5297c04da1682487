//! Joins by inequalities: right rows of equal keys are sorted by one bound, so that those that meet it are a prefix or a suffix, and
//! the running maximum of the other bound says where those that may meet it too begin. For intervals that do not nest this
//! finds exactly the partners of a row (`low <= x AND x < high`, or intervals that overlap); for others a few more rows, which
//! the condition of the join is asked about.

use super::index::KeyIndex;
use super::table::usable_keys;
use super::values::Values;
use chalet_columns::{BooleanBuffer, Column};
use chalet_types::DataType;
use std::cmp::Ordering;
use std::ops::Range;

/// Inequalities between a value of the left row and one of the right row, which have one type.
#[derive(Clone, Debug, Default)]
pub struct RangeSpec {
    /// The right value lies below the left one.
    pub below: Option<Bound>,
    /// The right value lies above the left one.
    pub above: Option<Bound>,
    /// Is there no other condition beside these two?
    pub is_all: bool,
}

/// One of these inequalities.
#[derive(Clone, Debug)]
pub struct Bound {
    pub ty: DataType,
    /// The values must not be equal.
    pub strict: bool,
}

impl RangeSpec {
    fn bounds(&self) -> impl Iterator<Item = &Bound> {
        self.below.iter().chain(&self.above)
    }

    /// The columns of the bounds, the one below first, without NULLs, and the rows that have them all.
    pub fn usable(&self, columns: Vec<Column>, n_rows: usize) -> (Vec<Column>, BooleanBuffer) {
        usable_keys(columns, &vec![false; self.bounds().count()], n_rows)
    }
}

/// Fewer rows of a key are looked through faster than searched.
const LEAST_ROWS: usize = 8;

/// The right rows by their bounds.
pub(super) struct RangeIndex {
    spec: RangeSpec,
    /// Rows of all keys, those of one sorted by their first bound.
    order: Vec<u32>,
    /// By place in `order`, of the bound below.
    below: Option<Values>,
    /// By place in `order`: the greatest bound above so far among the rows of the key.
    above: Option<Values>,
    /// Does every row that is found meet the two inequalities?
    is_exact: bool,
}

/// The bounds of a block of left rows.
pub(super) struct LeftBounds {
    below: Option<Values>,
    above: Option<Values>,
}

impl RangeIndex {
    /// Sorts the rows of every key by the first bound; `bounds` are of all rows of the table. None where keys have so few rows that it does
    /// not pay.
    pub fn new(spec: &RangeSpec, bounds: Vec<Column>, index: &mut KeyIndex) -> Option<RangeIndex> {
        let n_rows = bounds.first()?.len();
        if index.is_unique() || n_rows < LEAST_ROWS * index.n_lists() {
            return None;
        }
        let mut bounds = bounds.into_iter();
        let mut of = |bound: &Option<Bound>| {
            let bound = bound.as_ref()?;
            Some(Values::new(bounds.next()?, &bound.ty))
        };
        let (below, above) = (of(&spec.below), of(&spec.above));
        let first = below.as_ref().or(above.as_ref())?;
        index.each_list(|rows| rows.sort_by(|&a, &b| first.compare(a as usize, first, b as usize)));
        let order = index.all_rows(n_rows);
        let mut greatest: Vec<u32> = Vec::with_capacity(order.len());
        let mut is_monotonic = true;
        if let Some(above) = &above {
            index.each_list(|rows| {
                let mut best = None;
                for &row in &*rows {
                    let is_greater = best.is_none_or(|best: u32| {
                        above.compare(row as usize, above, best as usize) != Ordering::Less
                    });
                    is_monotonic &= is_greater;
                    best = if is_greater { Some(row) } else { best };
                    greatest.extend(best);
                }
            });
        }
        let is_exact =
            spec.is_all && is_monotonic && [&below, &above].into_iter().flatten().all(Values::is_exact);
        Some(RangeIndex {
            spec: spec.clone(),
            below: below.map(|below| below.gather(&order)),
            above: above.map(|above| above.gather(&greatest)),
            order,
            is_exact,
        })
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let values = [&self.below, &self.above].into_iter().flatten().map(Values::memory);
        self.order.len() * 4 + values.sum::<usize>()
    }

    /// Need nobody ask the condition of the join about the rows that are found?
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The bounds of left rows, for [`places`](Self::places).
    pub fn left(&self, bounds: Vec<Column>) -> LeftBounds {
        let mut bounds = bounds.into_iter();
        let mut of = |bound: &Option<Bound>| {
            let bound = bound.as_ref()?;
            Some(Values::new(bounds.next()?, &bound.ty))
        };
        LeftBounds { below: of(&self.spec.below), above: of(&self.spec.above) }
    }

    /// Where the rows that may be partners of each left row are, whose groups these are.
    pub fn places(&self, index: &KeyIndex, groups: &[u32], left: &LeftBounds) -> Vec<Range<usize>> {
        // Left rows often come in the order of their values: where the last was found, the next is sought first.
        let mut near = Range::default();
        let of_row = |(row, &group): (usize, &u32)| {
            let Range { mut start, mut end } = index.places_of(group);
            if let (Some(below), Some(left), Some(bound)) = (&self.below, &left.below, &self.spec.below) {
                end = below.first_beyond(start..end, left, row, !bound.strict, near.end);
                near.end = end;
            }
            if let (Some(above), Some(left), Some(bound)) = (&self.above, &left.above, &self.spec.above) {
                start = above.first_beyond(start..end, left, row, bound.strict, near.start);
                near.start = start;
            }
            start..end
        };
        groups.iter().enumerate().map(of_row).collect()
    }

    /// The rows at these places, in the order of the table.
    pub fn rows(&self, places: Range<usize>, rows: &mut Vec<u32>) {
        if places.is_empty() {
            return;
        }
        let from = rows.len();
        rows.extend_from_slice(&self.order[places]);
        if !rows[from..].is_sorted() {
            rows[from..].sort_unstable();
        }
    }
}

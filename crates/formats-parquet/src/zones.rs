//! Bounds of row groups that ascend from one to the next, as those of a sorting key do: what row groups a condition leaves is found
//! by bisection then, however many there are.

use crate::ParquetFile;
use crate::prune::RangePredicate;
use chalet_types::{DataType, Value};
use std::cmp::Ordering::{Equal, Greater, Less};
use std::ops::Range;

/// Smallest and largest value of a column by row group; neither ever descends.
pub(crate) struct Zones {
    min: Vec<Value>,
    max: Vec<Value>,
}

impl ParquetFile {
    /// Outside of these row groups no row meets all the conditions.
    pub fn candidates(&self, predicates: &[RangePredicate]) -> Range<usize> {
        let all = 0..self.n_row_groups();
        predicates.iter().filter_map(|predicate| self.candidates_of(predicate)).fold(all, |found, next| {
            let start = found.start.max(next.start);
            start..found.end.min(next.end).max(start)
        })
    }

    fn candidates_of(&self, predicate: &RangePredicate) -> Option<Range<usize>> {
        let leaf = self.plain_leaf(predicate.column).filter(|leaf| leaf.ty != DataType::Uuid)?;
        let (low, high) = predicate.outermost(leaf)?;
        let zones = self.zones(predicate.column)?;
        let is_below = |max: &Value, (low, included): &(Value, bool)| match max.compare(low) {
            Less => true,
            Equal => !included,
            Greater => false,
        };
        let is_above = |min: &Value, (high, included): &(Value, bool)| match min.compare(high) {
            Greater => true,
            Equal => !included,
            Less => false,
        };
        let start = low.map_or(0, |low| zones.max.partition_point(|max| is_below(max, &low)));
        let end = high.map_or(zones.min.len(), |high| zones.min.partition_point(|min| !is_above(min, &high)));
        Some(start..end.max(start))
    }

    /// Looked for when a column is first asked for; `None` where its bounds descend, or a row group has none.
    fn zones(&self, column: usize) -> Option<&Zones> {
        let find = || {
            let bounds = (0..self.n_row_groups()).map(|group| self.bounds(group, column));
            let bounds = bounds.collect::<Option<Vec<_>>>()?;
            let ascend = |a: &Value, b: &Value| a.compare(b) != Greater;
            let is_sorted = bounds.is_sorted_by(|a, b| ascend(&a.min, &b.min) && ascend(&a.max, &b.max));
            let (min, max) = bounds.into_iter().map(|bounds| (bounds.min, bounds.max)).unzip();
            is_sorted.then_some(Zones { min, max })
        };
        self.footer_zones().get(column)?.get_or_init(find).as_ref()
    }
}

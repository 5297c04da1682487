//! The nearest row of ASOF joins: binary search among the rows of equal keys, which are sorted by their ASOF values.

use super::NO_ROW;
use super::index::KeyIndex;
use super::values::Values;
use crate::hash_table::NO_GROUP;
use chalet_columns::{BooleanBuffer, Column};
use chalet_plan::AsofOp;
use chalet_types::DataType;
use std::cmp::Ordering;

/// The ASOF values of the right side.
pub(super) struct AsofValues {
    ty: DataType,
    /// The rows of all keys, sorted by value within each.
    order: Vec<u32>,
    /// Words in that order, others by row.
    values: Values,
}

/// The ASOF values of a block of left rows.
pub(super) struct LeftValues {
    values: Values,
    valid: BooleanBuffer,
}

impl AsofValues {
    /// Sorts the rows of every key by their values, of this type and without NULL.
    pub fn new(values: Column, ty: &DataType, index: &mut KeyIndex) -> AsofValues {
        let n_rows = values.len();
        let values = Values::new(values, ty);
        index.each_list(|rows| match &values {
            Values::Words(words) => rows.sort_by_key(|&row| words[row as usize]),
            Values::Vector(vector) => rows.sort_by(|&a, &b| vector.compare(a as usize, vector, b as usize)),
        });
        let order = index.all_rows(n_rows);
        let values = match values {
            Values::Words(words) => Values::Words(order.iter().map(|&row| words[row as usize]).collect()),
            other => other,
        };
        AsofValues { ty: ty.clone(), order, values }
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.order.len() * 4 + self.values.memory()
    }

    /// The values of left rows, for [`nearest`](Self::nearest).
    pub fn left(&self, values: Column, valid: BooleanBuffer) -> LeftValues {
        LeftValues { values: Values::new(values, &self.ty), valid }
    }

    /// The row nearest to each left row under the ASOF operator, among the rows of its group; [`NO_ROW`] where there is none.
    /// Left rows are taken group by group, so that what is searched stays in the cache.
    pub fn nearest_rows(&self, index: &KeyIndex, groups: &[u32], op: AsofOp, left: &LeftValues) -> Vec<u32> {
        let mut nearest = vec![NO_ROW; groups.len()];
        let with_row = groups.iter().zip(0u32..).filter(|(group, _)| **group != NO_GROUP);
        let mut by_group: Vec<u64> =
            with_row.map(|(&group, row)| u64::from(group) << 32 | u64::from(row)).collect();
        by_group.sort_unstable();
        for pair in by_group {
            let (group, row) = ((pair >> 32) as u32, pair as u32 as usize);
            nearest[row] = self.nearest(index, group, op, left, row).unwrap_or(NO_ROW);
        }
        nearest
    }

    /// The row nearest to a left row under the ASOF operator, among the rows of its group.
    pub fn nearest(
        &self,
        index: &KeyIndex,
        group: u32,
        op: AsofOp,
        left: &LeftValues,
        row: usize,
    ) -> Option<u32> {
        if !left.valid.value(row) {
            return None;
        }
        let places = index.places_of(group);
        let rows = &self.order[places.clone()];
        // So many rows are not behind, or before, the left one.
        let place = match (&self.values, &left.values) {
            (Values::Words(words), Values::Words(left)) => {
                let (words, left) = (&words[places], left[row]);
                match op {
                    AsofOp::GreaterOrEqual | AsofOp::Less => words.partition_point(|&word| word <= left),
                    AsofOp::Greater | AsofOp::LessOrEqual => words.partition_point(|&word| word < left),
                }
            }
            (Values::Vector(values), Values::Vector(left)) => {
                let order = |right: &u32| values.compare(*right as usize, left, row);
                match op {
                    AsofOp::GreaterOrEqual | AsofOp::Less => {
                        rows.partition_point(|right| order(right) != Ordering::Greater)
                    }
                    AsofOp::Greater | AsofOp::LessOrEqual => {
                        rows.partition_point(|right| order(right) == Ordering::Less)
                    }
                }
            }
            // Both sides have one type.
            _ => return None,
        };
        match op {
            AsofOp::GreaterOrEqual | AsofOp::Greater => place.checked_sub(1).map(|place| rows[place]),
            AsofOp::LessOrEqual | AsofOp::Less => rows.get(place).copied(),
        }
    }
}

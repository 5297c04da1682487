//! The least and the greatest values of the columns of the partition key in parts in memory: what the statistics of their files are for
//! the others.

use super::columns::ColumnsVersion;
use super::layout::Place;
use super::part::Part;
use super::sorted_rows::overlaps;
use super::stored_type::keeps_order;
use chalet_columns::{Block, Column};
use chalet_formats::input::ColumnRange;
use chalet_types::Value;
use std::cmp::Ordering;

/// By the number of the column.
pub(super) type PartitionBounds = Vec<(u32, Value, Value)>;

/// The numbers of the columns that a partition key, which is SQL text, is made of.
pub(super) fn partition_columns(key: &str, columns: &ColumnsVersion) -> Vec<u32> {
    let words: Vec<&str> = key.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    columns.columns.iter().filter(|column| words.contains(&&*column.name)).map(|column| column.id).collect()
}

/// May some row of a part in memory be within all ranges of these columns?
pub(super) fn may_be_within(
    part: &Part,
    block: &Block,
    columns: &[u32],
    places: &[Place],
    ranges: &[ColumnRange],
) -> bool {
    let of_column = |range: &ColumnRange| match places.get(range.column) {
        Some(Place::Stored(id, ty)) if columns.contains(id) => {
            let position = part.columns.position(*id)?;
            (part.columns.columns[position].ty == *ty).then_some(*id)
        }
        _ => None,
    };
    let mut asked = ranges.iter().filter_map(|range| Some((of_column(range)?, range))).peekable();
    if asked.peek().is_none() {
        return true;
    }
    let bounds = part.partition_bounds.get_or_init(|| bounds(part, block, columns));
    asked.all(|(id, range)| {
        let known = bounds.iter().find(|bound| bound.0 == id);
        known.is_none_or(|(_, least, greatest)| overlaps(least, greatest, range))
    })
}

/// The least and the greatest value of a column of the partition key in a part in memory.
pub(super) fn of_column(part: &Part, block: &Block, columns: &[u32], id: u32) -> Option<(Value, Value)> {
    let bounds = part.partition_bounds.get_or_init(|| bounds(part, block, columns));
    let (_, least, greatest) = bounds.iter().find(|bound| bound.0 == id)?;
    Some((least.clone(), greatest.clone()))
}

/// The least and the greatest value of any column in a part in memory.
pub(super) fn of_any_column(part: &Part, block: &Block, id: u32) -> Option<(Value, Value)> {
    bounds(part, block, &[id]).pop().map(|(_, least, greatest)| (least, greatest))
}

fn bounds(part: &Part, block: &Block, columns: &[u32]) -> PartitionBounds {
    let of_column = |&id: &u32| {
        let position = part.columns.position(id)?;
        let ty = &part.columns.columns[position].ty;
        // NULL and NaN are neither low nor high.
        if block.is_empty() || !keeps_order(ty) || ty.is_nullable() || ty.bare().is_float() {
            return None;
        }
        let column = block.column(position);
        Some((id, extreme(column, Ordering::Less), extreme(column, Ordering::Greater)))
    };
    columns.iter().filter_map(of_column).collect()
}

/// The value that compares so with all others. Of at least one row.
fn extreme(column: &Column, wanted: Ordering) -> Value {
    let mut best = column.locate(0);
    for row in 1..column.len() {
        let (vector, row) = column.locate(row);
        if vector.compare(row, best.0, best.1) == wanted {
            best = (vector, row);
        }
    }
    best.0.value(best.1)
}

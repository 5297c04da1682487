//! Which rows of a part in memory a range of the column that they are sorted by leaves: found by bisection.

use super::columns::ColumnsVersion;
use super::keys::TableKeys;
use super::layout::Place;
use super::part::Part;
use super::stored_type::keeps_order;
use chalet_base::bisect::partition_point;
use chalet_columns::{Block, Vector};
use chalet_formats::input::ColumnRange;
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// The number of the column that rows are sorted by first, ascending, where it is a column.
pub(super) fn first_column(keys: &TableKeys, columns: &ColumnsVersion) -> Option<u32> {
    let first = keys.sorting.first().filter(|key| !key.descending)?;
    columns.columns.iter().find(|column| *column.name == *first.expr).map(|column| column.id)
}

/// Rows in which all ranges may hold.
pub(super) fn sorted_rows(
    part: &Part,
    block: &Block,
    sorted_by: Option<u32>,
    places: &[Place],
    ranges: &[ColumnRange],
) -> Range<usize> {
    let mut rows = 0..block.n_rows();
    let Some(id) = sorted_by else { return rows };
    let Some(position) = part.columns.position(id) else { return rows };
    let column = block.column(position);
    for range in ranges {
        let Some(Place::Stored(of, ty)) = places.get(range.column) else { continue };
        // NULL and NaN are neither low nor high.
        let is_plain = keeps_order(ty) && !ty.is_nullable() && !ty.bare().is_float();
        if *of != id || part.columns.columns[position].ty != *ty || !is_plain {
            continue;
        }
        let compare = |row: usize, bound: &Vector| {
            let (vector, row) = column.locate(row);
            vector.compare(row, bound, 0)
        };
        if let Some((bound, is_included)) = low(range)
            && let Some(bound) = of_type(&bound, ty)
        {
            let start = partition_point(rows.clone(), |row| match compare(row, &bound) {
                Ordering::Less => true,
                Ordering::Equal => !is_included,
                Ordering::Greater => false,
            });
            rows.start = start;
        }
        if let Some((bound, is_included)) = high(range)
            && let Some(bound) = of_type(&bound, ty)
        {
            let end = partition_point(rows.clone(), |row| match compare(row, &bound) {
                Ordering::Less => true,
                Ordering::Equal => is_included,
                Ordering::Greater => false,
            });
            rows.end = end;
        }
    }
    rows
}

/// May rows with this value of a requested column be within all ranges?
pub(super) fn is_within(value: &Value, column: usize, ranges: &[ColumnRange]) -> bool {
    ranges.iter().filter(|range| range.column == column).all(|range| {
        low(range).is_none_or(|(bound, _)| value.compare(&bound).is_ge())
            && high(range).is_none_or(|(bound, _)| value.compare(&bound).is_le())
    })
}

fn of_type(value: &Value, ty: &DataType) -> Option<Vector> {
    Vector::of_value(value, &ty.recursively_without_low_cardinality()).ok()
}

fn low(range: &ColumnRange) -> Option<(Value, bool)> {
    range.low.clone().or_else(|| range.among.first().map(|value| (value.clone(), true)))
}

fn high(range: &ColumnRange) -> Option<(Value, bool)> {
    range.high.clone().or_else(|| range.among.last().map(|value| (value.clone(), true)))
}

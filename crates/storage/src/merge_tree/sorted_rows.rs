//! Which rows of a part in memory ranges of the columns that they are sorted by leave: found by bisection.

use super::columns::ColumnsVersion;
use super::keys::{SortingKey, TableKeys};
use super::layout::Place;
use super::part::Part;
use super::stored_type::keeps_order;
use chalet_base::bisect::partition_point;
use chalet_columns::{Block, Column, Vector};
use chalet_formats::input::{ColumnRange, Interval};
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// The numbers of the columns that rows are sorted by, as far as the first keys are columns, ascending.
pub(super) fn first_columns(keys: &TableKeys, columns: &ColumnsVersion) -> Vec<u32> {
    let column = |key: &SortingKey| {
        let column = columns.columns.iter().find(|column| *column.name == *key.expr);
        column.filter(|_| !key.descending).map(|column| column.id)
    };
    keys.sorting.iter().map_while(column).collect()
}

/// Rows in which all ranges may hold. The ranges of a column count where rows are alike in those before it.
pub(super) fn sorted_rows(
    part: &Part,
    block: &Block,
    sorted_by: &[u32],
    places: &[Place],
    ranges: &[ColumnRange],
) -> Range<usize> {
    let mut rows = 0..block.n_rows();
    for &id in sorted_by {
        let Some(position) = part.columns.position(id) else { return rows };
        let (column, ty) = (block.column(position), &part.columns.columns[position].ty);
        // NULL and NaN are neither low nor high.
        if !keeps_order(ty) || ty.is_nullable() || ty.bare().is_float() {
            return rows;
        }
        for range in ranges {
            if matches!(places.get(range.column), Some(Place::Stored(of, wanted)) if *of == id && wanted == ty)
            {
                rows = within(column, ty, range, rows);
            }
        }
        if rows.is_empty() || !are_alike(column, &rows) {
            return rows;
        }
    }
    rows
}

/// Granules in which all ranges may hold, by their first rows and those of the granules behind them, which is all that marks know. As
/// long as the two are alike in a column, the ranges of the next one count too.
pub(super) fn hinted_granules(
    part: &Part,
    block: &Block,
    sorted_by: &[u32],
    places: &[Place],
    ranges: &[ColumnRange],
    granularity: usize,
) -> Vec<Range<usize>> {
    let (n_rows, granularity) = (block.n_rows(), granularity.max(1));
    let may_hold = |first: usize, last: usize| {
        for &id in sorted_by {
            let Some(position) = part.columns.position(id) else { return true };
            let (column, ty) = (block.column(position), &part.columns.columns[position].ty);
            if !keeps_order(ty) || ty.is_nullable() || ty.bare().is_float() {
                return true;
            }
            let (least, greatest) = (column.value(first), column.value(last));
            let is_of = |range: &&ColumnRange| matches!(places.get(range.column), Some(Place::Stored(of, wanted)) if *of == id && wanted == ty);
            if !ranges.iter().filter(is_of).all(|range| overlaps_any(&least, &greatest, range)) {
                return false;
            }
            if least.compare(&greatest).is_ne() {
                return true;
            }
        }
        true
    };
    let mut left: Vec<Range<usize>> = Vec::new();
    for start in (0..n_rows).step_by(granularity) {
        let end = n_rows.min(start + granularity);
        if !may_hold(start, end.min(n_rows - 1)) {
            continue;
        }
        match left.last_mut() {
            Some(before) if before.end == start => before.end = end,
            _ => left.push(start..end),
        }
    }
    left
}

/// May values from the least to the greatest be within one of the intervals of a range?
fn overlaps_any(least: &Value, greatest: &Value, range: &ColumnRange) -> bool {
    let one = |interval: &Interval| {
        let Interval { low, high } = interval.clone();
        overlaps(least, greatest, &ColumnRange { low, high, ..ColumnRange::of(range.column) })
    };
    match (&range.among[..], &range.any_of[..]) {
        ([], []) => overlaps(least, greatest, range),
        (among, []) => {
            among.iter().any(|value| least.compare(value).is_le() && value.compare(greatest).is_le())
        }
        (_, intervals) => intervals.iter().any(one),
    }
}

/// The rows of a sorted run in which a range of its column may hold.
fn within(column: &Column, ty: &DataType, range: &ColumnRange, mut rows: Range<usize>) -> Range<usize> {
    let compare = |row: usize, bound: &Vector| {
        let (vector, row) = column.locate(row);
        vector.compare(row, bound, 0)
    };
    if let Some((bound, is_included)) = low(range)
        && let Some(bound) = of_type(&bound, ty)
    {
        rows.start = partition_point(rows.clone(), |row| match compare(row, &bound) {
            Ordering::Less => true,
            Ordering::Equal => !is_included,
            Ordering::Greater => false,
        });
    }
    if let Some((bound, is_included)) = high(range)
        && let Some(bound) = of_type(&bound, ty)
    {
        rows.end = partition_point(rows.clone(), |row| match compare(row, &bound) {
            Ordering::Less => true,
            Ordering::Equal => is_included,
            Ordering::Greater => false,
        });
    }
    rows
}

/// Have all rows of a sorted run the same value?
fn are_alike(column: &Column, rows: &Range<usize>) -> bool {
    let ((first, at), (last, of)) = (column.locate(rows.start), column.locate(rows.end - 1));
    first.compare(at, last, of) == Ordering::Equal
}

/// May rows with this value of a requested column be within all ranges?
pub(super) fn is_within(value: &Value, column: usize, ranges: &[ColumnRange]) -> bool {
    ranges.iter().filter(|range| range.column == column).all(|range| {
        low(range).is_none_or(|(bound, _)| value.compare(&bound).is_ge())
            && high(range).is_none_or(|(bound, _)| value.compare(&bound).is_le())
    })
}

/// May values from the least to the greatest be within a range?
pub(super) fn overlaps(least: &Value, greatest: &Value, range: &ColumnRange) -> bool {
    let above = low(range).is_none_or(|(bound, included)| match greatest.compare(&bound) {
        Ordering::Equal => included,
        order => order.is_gt(),
    });
    let below = high(range).is_none_or(|(bound, included)| match least.compare(&bound) {
        Ordering::Equal => included,
        order => order.is_lt(),
    });
    above && below
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

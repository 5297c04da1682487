//! Which rows each row's frame has.

use chalet_base::bisect::partition_point;
use chalet_base::{Result, bail, err};
use chalet_columns::Vector;
use chalet_columns::keys::Order;
use chalet_plan::{FrameBound, FrameSpec, FrameUnit};
use chalet_types::{DataType, I256, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// The frame clause over one sorted partition.
pub(super) struct Frames<'a> {
    pub spec: &'a FrameSpec,
    /// Rows that are equal under ORDER BY; they cover the partition.
    pub peers: &'a [Range<usize>],
    /// The first ORDER BY column, for RANGE with distances.
    pub order: Option<(&'a Vector, &'a Order)>,
    pub order_type: Option<&'a DataType>,
    pub n_rows: usize,
}

impl Frames<'_> {
    /// The frame of every row, empty where nothing is inside.
    pub fn compute(&self) -> Result<Vec<Range<usize>>> {
        let mut frames = Vec::with_capacity(self.n_rows);
        for (group, peers) in self.peers.iter().enumerate() {
            for row in peers.clone() {
                let start = self.bound(&self.spec.start, row, group, true)?;
                let end = self.bound(&self.spec.end, row, group, false)?;
                frames.push(start..end.max(start));
            }
        }
        Ok(frames)
    }

    /// The first row of the frame, or the row behind its last.
    fn bound(&self, bound: &FrameBound, row: usize, group: usize, is_start: bool) -> Result<usize> {
        Ok(match (bound, self.spec.unit) {
            (FrameBound::UnboundedPreceding, _) => 0,
            (FrameBound::UnboundedFollowing, _) => self.n_rows,
            (FrameBound::CurrentRow, FrameUnit::Rows) => row + usize::from(!is_start),
            (FrameBound::CurrentRow, _) => {
                let peers = &self.peers[group];
                if is_start { peers.start } else { peers.end }
            }
            (FrameBound::Preceding(n, _), FrameUnit::Rows) => {
                (row + usize::from(!is_start)).saturating_sub(distance(n)?)
            }
            (FrameBound::Following(n, _), FrameUnit::Rows) => {
                (row + usize::from(!is_start)).saturating_add(distance(n)?).min(self.n_rows)
            }
            (FrameBound::Preceding(n, _), FrameUnit::Groups) => match group.checked_sub(distance(n)?) {
                Some(group) if is_start => self.peers[group].start,
                Some(group) => self.peers[group].end,
                None => 0,
            },
            (FrameBound::Following(n, _), FrameUnit::Groups) => {
                match self.peers.get(group.saturating_add(distance(n)?)) {
                    Some(peers) if is_start => peers.start,
                    Some(peers) => peers.end,
                    None => self.n_rows,
                }
            }
            (FrameBound::Preceding(n, ty), FrameUnit::Range) => {
                self.range(row, group, n, ty, true, is_start)?
            }
            (FrameBound::Following(n, ty), FrameUnit::Range) => {
                self.range(row, group, n, ty, false, is_start)?
            }
        })
    }

    /// RANGE with a distance: the first row that is not before the bound, or the first that is behind it.
    fn range(
        &self,
        row: usize,
        group: usize,
        distance: &Value,
        distance_type: &DataType,
        preceding: bool,
        is_start: bool,
    ) -> Result<usize> {
        let (Some((values, order)), Some(ty)) = (self.order, self.order_type) else {
            bail!(BAD_ARGUMENTS, "The RANGE OFFSET frame requires exactly one ORDER BY column, 0 given");
        };
        // NULLs are peers of each other and near nothing else.
        if values.is_null(row) {
            let peers = &self.peers[group];
            return Ok(if is_start { peers.start } else { peers.end });
        }
        let backwards = preceding != order.descending;
        let limit = moved(&values.value(row), distance, distance_type, ty, backwards)?;
        let side = |other: usize| -> Ordering {
            if values.is_null(other) {
                return if order.nulls_first { Ordering::Less } else { Ordering::Greater };
            }
            let by_value = values.value(other).compare(&limit);
            if order.descending { by_value.reverse() } else { by_value }
        };
        Ok(partition_point(0..self.n_rows, |other| match side(other) {
            Ordering::Less => true,
            Ordering::Equal => !is_start,
            Ordering::Greater => false,
        }))
    }
}

fn distance(value: &Value) -> Result<usize> {
    let n = value
        .as_u64()
        .ok_or_else(|| err!(BAD_ARGUMENTS, "Window frame offset must be a nonnegative integer"))?;
    Ok(usize::try_from(n).unwrap_or(usize::MAX))
}

/// A value moved by a distance in the units of its type, without wrapping around.
fn moved(
    value: &Value,
    distance: &Value,
    distance_type: &DataType,
    ty: &DataType,
    backwards: bool,
) -> Result<Value> {
    let bare = ty.bare();
    if !(bare.is_number() || bare.is_date_or_time()) {
        bail!(BAD_ARGUMENTS, "The RANGE OFFSET frame for '{ty}' ORDER BY column is not implemented");
    }
    if let (Some(x), Some(d)) = (value.as_i256(), distance.as_i256()) {
        let d = d * I256::from(scale(distance_type, bare)?);
        return Ok(Value::Int256(if backwards { x - d } else { x + d }));
    }
    match (value.as_f64(), distance.as_f64()) {
        (Some(x), Some(d)) => Ok(Value::Float(if backwards { x - d } else { x + d })),
        _ => bail!(BAD_ARGUMENTS, "The RANGE OFFSET frame for '{ty}' ORDER BY column is not implemented"),
    }
}

/// Units of the column's type in one unit of the distance.
fn scale(distance: &DataType, column: &DataType) -> Result<i64> {
    use chalet_types::IntervalUnit::*;
    let DataType::Interval(unit) = distance else {
        return Ok(match column {
            DataType::Decimal { scale, .. } => chalet_types::decimal::pow10_i64(u32::from((*scale).min(18))),
            _ => 1,
        });
    };
    let seconds = match unit {
        Second => 1,
        Minute => 60,
        Hour => 3_600,
        Day => 86_400,
        Week => 604_800,
        other => bail!(NOT_IMPLEMENTED, "RANGE frames with Interval{} are not supported", other.name()),
    };
    Ok(match column {
        DataType::Date | DataType::Date32 => seconds / 86_400,
        DataType::DateTime64(scale, _) => seconds * chalet_types::decimal::pow10_i64((*scale).into()),
        _ => seconds,
    })
}

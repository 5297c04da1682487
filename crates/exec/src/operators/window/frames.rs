//! Which rows each row's frame has.

use chalet_base::bisect::partition_point;
use chalet_base::{Result, bail, err};
use chalet_columns::Vector;
use chalet_columns::keys::Order;
use chalet_plan::{FrameBound, FrameSpec, FrameUnit};
use chalet_types::{DataType, I256, Value};
use std::cmp::Ordering;
use std::ops::Range;

/// The frame clause over sorted partitions, which are consecutive.
pub(super) struct Frames<'a> {
    pub spec: &'a FrameSpec,
    pub partitions: &'a [Range<usize>],
    /// Rows of one partition that are equal under ORDER BY; they cover all rows.
    pub peers: &'a [Range<usize>],
    /// The first ORDER BY column, for RANGE with distances.
    pub order: Option<(&'a Vector, &'a Order)>,
    pub order_type: Option<&'a DataType>,
    pub n_rows: usize,
}

impl Frames<'_> {
    /// The frame of every row, empty where nothing is inside.
    pub fn compute(&self) -> Result<Vec<Range<usize>>> {
        let mut starts = Vec::with_capacity(self.n_rows);
        let mut ends = Vec::with_capacity(self.n_rows);
        let mut next = 0;
        for rows in self.partitions {
            let n_peers = self.peers[next..].partition_point(|peers| peers.start < rows.end);
            let partition = Partition { rows: rows.clone(), peers: &self.peers[next..next + n_peers] };
            next += n_peers;
            self.bounds(&partition, &self.spec.start, true, &mut starts)?;
            self.bounds(&partition, &self.spec.end, false, &mut ends)?;
        }
        Ok(starts.into_iter().zip(ends).map(|(start, end)| start..end.max(start)).collect())
    }

    /// Appends, for every row of a partition, the first row of its frame, or the row behind the last.
    fn bounds(
        &self,
        partition: &Partition,
        bound: &FrameBound,
        is_start: bool,
        out: &mut Vec<usize>,
    ) -> Result<()> {
        let Partition { rows, peers } = partition;
        let own = usize::from(!is_start);
        match (bound, self.spec.unit) {
            (FrameBound::UnboundedPreceding, _) => out.resize(out.len() + rows.len(), rows.start),
            (FrameBound::UnboundedFollowing, _) => out.resize(out.len() + rows.len(), rows.end),
            (FrameBound::CurrentRow, FrameUnit::Rows) => out.extend(rows.start + own..rows.end + own),
            (FrameBound::CurrentRow, _) => partition.by_peers(out, |group| peers[group].bound(is_start)),
            (FrameBound::Preceding(n, _), FrameUnit::Rows) => {
                let n = distance(n)?;
                out.extend(rows.clone().map(|row| (row + own).saturating_sub(n).max(rows.start)));
            }
            (FrameBound::Following(n, _), FrameUnit::Rows) => {
                let n = distance(n)?;
                out.extend(rows.clone().map(|row| (row + own).saturating_add(n).min(rows.end)));
            }
            (FrameBound::Preceding(n, _), FrameUnit::Groups) => {
                let n = distance(n)?;
                let start = rows.start;
                partition.by_peers(out, |group| {
                    group.checked_sub(n).map_or(start, |group| peers[group].bound(is_start))
                });
            }
            (FrameBound::Following(n, _), FrameUnit::Groups) => {
                let n = distance(n)?;
                let end = rows.end;
                partition.by_peers(out, |group| {
                    peers.get(group.saturating_add(n)).map_or(end, |peers| peers.bound(is_start))
                });
            }
            (FrameBound::Preceding(n, ty), FrameUnit::Range) => {
                self.ranges(partition, n, ty, (true, is_start), out)?;
            }
            (FrameBound::Following(n, ty), FrameUnit::Range) => {
                self.ranges(partition, n, ty, (false, is_start), out)?;
            }
        }
        Ok(())
    }

    /// The bounds of RANGE with a distance: peers have the same.
    fn ranges(
        &self,
        partition: &Partition,
        distance: &Value,
        distance_type: &DataType,
        (preceding, is_start): (bool, bool),
        out: &mut Vec<usize>,
    ) -> Result<()> {
        let mut from = partition.rows.start;
        for peers in partition.peers {
            let bound = self.range(partition, peers, from, (distance, distance_type), preceding, is_start)?;
            // Bounds ascend as the rows do; those of NULLs are where the NULLs are.
            from = bound;
            out.resize(out.len() + peers.len(), bound);
        }
        Ok(())
    }

    /// RANGE with a distance: the first row that is not before the bound, or the first that is behind it; none before `from` is.
    fn range(
        &self,
        partition: &Partition,
        peers: &Range<usize>,
        from: usize,
        (distance, distance_type): (&Value, &DataType),
        preceding: bool,
        is_start: bool,
    ) -> Result<usize> {
        let (Some((values, order)), Some(ty)) = (self.order, self.order_type) else {
            bail!(BAD_ARGUMENTS, "The RANGE OFFSET frame requires exactly one ORDER BY column, 0 given");
        };
        // NULLs are peers of each other and near nothing else.
        let row = peers.start;
        if values.is_null(row) {
            return Ok(peers.bound(is_start));
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
        let is_before = |other: usize| match side(other) {
            Ordering::Less => true,
            Ordering::Equal => !is_start,
            Ordering::Greater => false,
        };
        // It mostly is near.
        let (mut known, mut step) = (from, 1);
        while known + step <= partition.rows.end && is_before(known + step - 1) {
            known += step;
            step *= 2;
        }
        Ok(partition_point(known..partition.rows.end.min(known + step), is_before))
    }
}

/// One partition.
struct Partition<'a> {
    rows: Range<usize>,
    peers: &'a [Range<usize>],
}

impl Partition<'_> {
    /// Appends for every row what `bound` gives for the number of its group of peers.
    fn by_peers(&self, out: &mut Vec<usize>, bound: impl Fn(usize) -> usize) {
        for (group, peers) in self.peers.iter().enumerate() {
            out.resize(out.len() + peers.len(), bound(group));
        }
    }
}

/// One of the ends of a range.
trait Bound {
    fn bound(&self, is_start: bool) -> usize;
}

impl Bound for Range<usize> {
    fn bound(&self, is_start: bool) -> usize {
        if is_start { self.start } else { self.end }
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
        bail!(NOT_IMPLEMENTED, "The RANGE OFFSET frame for '{ty}' ORDER BY column is not implemented");
    }
    if let (Some(x), Some(d)) = (value.as_i256(), distance.as_i256()) {
        let d = d * I256::from(scale(distance_type, bare)?);
        return Ok(Value::Int256(if backwards { x - d } else { x + d }));
    }
    match (value.as_f64(), distance.as_f64()) {
        (Some(x), Some(d)) => Ok(Value::Float(if backwards { x - d } else { x + d })),
        _ => bail!(NOT_IMPLEMENTED, "The RANGE OFFSET frame for '{ty}' ORDER BY column is not implemented"),
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

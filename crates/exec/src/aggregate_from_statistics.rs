//! `SELECT min(a), max(a), count(), count(a) FROM t` from what the table knows of all its rows, without reading them.

use crate::ExecContext;
use crate::ranges::{is_hint, orders_plainly};
use chalet_base::events::{self, Event};
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::aggregate::OfAllRows;
use chalet_plan::{Aggregate, AggregateCall, ColumnId, Expr, Plan, ScanNode};
use chalet_storage::{Scan, ScanRequest};
use chalet_types::Value;
use std::sync::Arc;

/// The only row of the aggregate, if the table knows every value of it.
pub(crate) fn answer(node: &Aggregate, ctx: &ExecContext) -> Option<Block> {
    // A projection of plain columns only names them anew.
    let (scan, named) = match &*node.input {
        Plan::Scan(scan) => (scan, &[][..]),
        Plan::Project(project) => match &*project.input {
            Plan::Scan(scan) => (scan, &project.exprs[..]),
            _ => return None,
        },
        _ => return None,
    };
    let of_scan = |id: ColumnId| match named.iter().find(|(field, _)| field.id == id) {
        Some((_, expr)) => expr.as_column(),
        None => Some(id),
    };
    let over_all_rows = node.keys.is_empty() && node.sets.is_empty() && node.set_number.is_none();
    let one_row = node.totals.is_none() && !node.empty_if_no_rows && node.limit != Some(0);
    let every_row = scan.filter.is_none() && scan.limit.is_none();
    if over_all_rows
        && one_row
        && let Some(block) = counted_whatever_hints_say(node, scan, ctx)
    {
        return Some(block);
    }
    // Who limits what is read wants it to be counted.
    let limits = &ctx.control.limits;
    let unlimited = limits.max_rows_to_read == 0 && limits.max_bytes_to_read == 0;
    if !(over_all_rows && one_row && every_row && unlimited) || node.calls.is_empty() {
        return None;
    }
    let (mut columns, mut counted): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let place_in = |columns: &mut Vec<usize>, id: ColumnId| {
        let column = scan.columns.iter().position(|(_, field)| Some(field.id) == of_scan(id))?;
        Some(columns.iter().position(|c| *c == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        }))
    };
    let mut asked = Vec::with_capacity(node.calls.len());
    for call in &node.calls {
        let what = call.aggregate.of_all_rows()?;
        let place = match (what, &call.args[..]) {
            (OfAllRows::Count, []) => 0,
            (OfAllRows::Count, [Expr::Column(..) | Expr::Literal(_)]) => 0,
            (OfAllRows::Min | OfAllRows::Max, [Expr::Column(id, ty)]) if orders_plainly(ty.bare()) => {
                place_in(&mut columns, *id)?
            }
            (OfAllRows::CountOfValues, [Expr::Column(id, ty)])
                if ty.without_low_cardinality().is_nullable() =>
            {
                place_in(&mut counted, *id)?
            }
            _ => return None,
        };
        asked.push((call, what, place));
    }
    let counts = asked.iter().any(|(_, what, _)| matches!(what, OfAllRows::Count | OfAllRows::CountOfValues));
    if counts && !ctx.settings.optimize_count_from_files
        || !columns.is_empty() && !ctx.settings.optimize_use_implicit_projections
    {
        return None;
    }
    let known = known_of(scan, ctx)?;
    let summary = known.summary(&columns)?;
    let nulls = if counted.is_empty() { Vec::new() } else { known.null_counts(&counted)? };
    let mut row = Vec::with_capacity(asked.len());
    for (call, what, place) in asked {
        let ty = &call.field.ty;
        let value = match (what, summary.extremes.get(place)) {
            (OfAllRows::Count, _) => Value::UInt(summary.rows),
            (OfAllRows::CountOfValues, _) => Value::UInt(summary.rows.checked_sub(*nulls.get(place)?)?),
            (OfAllRows::Min, Some(Some((min, _)))) => min.clone(),
            (OfAllRows::Max, Some(Some((_, max)))) => max.clone(),
            // No row reached it.
            _ if ty.is_nullable() => Value::Null,
            _ => return None,
        };
        let vector = Vector::of_value(&value, ty).ok()?;
        if vector.value(0).compare(&value).is_ne() {
            return None;
        }
        row.push(Column::Flat(vector));
    }
    events::count(Event::StatisticsAnswers);
    Some(Block::new(row, 1))
}

/// `count()` under hints alone: a table that knows how many rows it has does not ask its indexes, in the kernel.
fn counted_whatever_hints_say(node: &Aggregate, scan: &ScanNode, ctx: &ExecContext) -> Option<Block> {
    let is_count =
        |call: &AggregateCall| call.args.is_empty() && call.aggregate.of_all_rows() == Some(OfAllRows::Count);
    let is_hinted = scan.table.keys().is_some() && scan.filter.as_ref().is_some_and(is_hint);
    if !is_hinted || !ctx.settings.optimize_count_from_files || !node.calls.iter().all(is_count) {
        return None;
    }
    let rows = scan.table.total_rows()?;
    let columns = node.calls.iter().map(|_| Column::Flat(Vector::from(vec![rows])));
    Some(Block::new(columns.collect(), 1)).filter(|_| !node.calls.is_empty())
}

/// The scan of all rows, which knows something of them.
fn known_of(scan: &ScanNode, ctx: &ExecContext) -> Option<Arc<dyn Scan>> {
    let request = ScanRequest {
        columns: scan.columns.iter().map(|c| c.0).collect(),
        context: ctx.scan.clone(),
        ..ScanRequest::default()
    };
    // An error is told by the scan that reads.
    scan.table.scan(&request).ok()
}

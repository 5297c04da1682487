//! Conditions on large tables that are joined are tried on a sample of the rows, where an [estimate](crate::estimate) would have to
//! guess: patterns, values that are more frequent than others, conditions that go together.
//!
//! ```text
//! Scan people where name LIKE '%cor Ho%'   a tenth of the rows   =>   2 of 4096
//! ```

use crate::estimate::scan as estimate_of_scan;
use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_plan::{ColumnId, Expr, Plan, ScanNode};

pub(crate) const NAME: &str = "sample_filters";

/// Tables of fewer rows are read in no time, whatever the plan.
const MIN_ROWS: f64 = 50_000.0;
/// Of conditions over more columns than this too much would have to be read.
const MAX_COLUMNS: usize = 8;
/// So many rows that pass say more than bounds of the columns do.
const MANY: f64 = 32.0;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |mut plan| {
        if let Plan::Join(join) = &mut plan {
            sample_side(&mut join.left, with)?;
            sample_side(&mut join.right, with)?;
        }
        Ok(plan)
    })
}

/// The table whose rows a side of a join is.
fn sample_side(plan: &mut Plan, with: &Rewriter) -> Result<()> {
    match plan {
        Plan::Scan(scan) => {
            if let Some(filter) = scan.filter.clone() {
                scan.selectivity = selectivity(&filter, scan, with)?;
            }
            Ok(())
        }
        Plan::Project(node) => sample_side(&mut node.input, with),
        Plan::Filter(node) => sample_side(&mut node.input, with),
        _ => Ok(()),
    }
}

/// Which part of the rows passes the filter. `None` where a sample says nothing new of it.
fn selectivity(filter: &Expr, scan: &ScanNode, with: &Rewriter) -> Result<Option<f64>> {
    let known = estimate_of_scan(&ScanNode { filter: None, limit: None, ..scan.clone() });
    if known.rows < MIN_ROWS {
        return Ok(None);
    }
    let mut conjuncts = Vec::new();
    filter.clone().conjuncts(&mut conjuncts);
    let (ranges, guesses): (Vec<Expr>, Vec<Expr>) =
        conjuncts.into_iter().partition(|conjunct| known.has_bounds_of(conjunct));
    let Some(guesses) = with.all_of(guesses)? else { return Ok(None) };
    let columns: Vec<(usize, ColumnId)> = scan
        .columns
        .iter()
        .filter(|(_, field)| filter.columns().contains(&field.id))
        .map(|(at, f)| (*at, f.id))
        .collect();
    if columns.len() > MAX_COLUMNS {
        return Ok(None);
    }
    let positions: Vec<usize> = columns.iter().map(|column| column.0).collect();
    // An error is told by the scan that reads, if it meets it.
    let Ok(Some(block)) = scan.table.sample(&positions) else { return Ok(None) };
    let n = block.n_rows() as f64;
    let ids: Vec<ColumnId> = columns.iter().map(|column| column.1).collect();
    let passing =
        |condition: &Expr| (with.count_passing)(condition, scan, &ids, &block).map(|rows| rows as f64);
    let (Some(all), Some(guessed)) = (passing(filter), passing(&guesses)) else { return Ok(None) };
    events::count(Event::SampledFilters);
    if all >= MANY {
        return Ok(Some(all / n));
    }
    let guess = known.selectivity(&guesses);
    let part = match guessed > 0.0 {
        true => guessed / n,
        // Rows that pass may all be where the sample is not: the mean of what was guessed and what is seen, on the scale of both.
        false => guess.min((guess / n).sqrt()),
    };
    let ranges = with.all_of(ranges)?.map_or(1.0, |ranges| known.selectivity(&ranges));
    Ok(Some(part * ranges))
}

//! Conditions on large tables that are joined are tried on a sample of the rows, where an [estimate](crate::estimate) would have to
//! guess: patterns, values that are more frequent than others, conditions that go together.
//!
//! ```text
//! Scan people where name LIKE '%cor Ho%'   a tenth of the rows   =>   2 of 4096
//! ```

use crate::estimate::{Distinct, Estimate, scan as estimate_of_scan};
use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_plan::{ColumnId, Expr, Field, Plan, SampleSize, ScanNode};

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
    if conjuncts.iter().all(|conjunct| known.has_bounds_of(conjunct)) {
        return Ok(None);
    }
    let used = filter.columns();
    let columns: Vec<&(usize, Field)> =
        scan.columns.iter().filter(|(_, field)| used.contains(&field.id)).collect();
    if columns.len() > MAX_COLUMNS {
        return Ok(None);
    }
    let positions: Vec<usize> = columns.iter().map(|column| column.0).collect();
    // An error is told by the scan that reads, if it meets it.
    let Ok(Some(sample)) = scan.table.sample(&positions, SampleSize::Conditions) else { return Ok(None) };
    let ids: Vec<ColumnId> = columns.iter().map(|column| column.1.id).collect();
    let n = sample.block.n_rows() as f64;
    let clustered: Vec<ColumnId> = columns
        .iter()
        .enumerate()
        .filter(|(at, (_, field))| {
            sample.distinct(*at).is_some_and(|distinct| is_clustered(distinct as f64, n, &known, field))
        })
        .map(|(_, (_, field))| field.id)
        .collect();
    let reads_clustered = |conjunct: &Expr| conjunct.columns().iter().any(|id| clustered.contains(id));
    let passing =
        |condition: &Expr| (with.count_passing)(condition, scan, &ids, &sample.block).map(|rows| rows as f64);
    let (statistics, tried): (Vec<Expr>, Vec<Expr>) = conjuncts
        .into_iter()
        .partition(|conjunct| known.has_bounds_of(conjunct) || reads_clustered(conjunct));
    let Some(tried) = with.all_of(tried)? else { return Ok(None) };
    let (Some(of_all), Some(of_tried)) = (passing(filter), passing(&tried)) else { return Ok(None) };
    events::count(Event::SampledFilters);
    if of_all >= MANY && clustered.is_empty() {
        return Ok(Some(of_all / n));
    }
    let guess = known.selectivity(&tried);
    let part = match of_tried > 0.0 {
        true => of_tried / n,
        // Rows that pass may all be where the sample is not: the mean of what was guessed and what is seen, on the scale of both.
        false => guess.min((guess / n).sqrt()),
    };
    let statistics = with.all_of(statistics)?.map_or(1.0, |condition| known.selectivity(&condition));
    Ok(Some(part * statistics))
}

/// Are equal values of a column near each other? The runs of a sample meet fewer of them then than as many rows at random would, and a
/// condition is met by all rows of a run or by none.
fn is_clustered(distinct: f64, rows: f64, known: &Estimate, field: &Field) -> bool {
    let column = known.of(&Expr::Column(field.id, field.ty.clone()));
    let Distinct::Counted(all) = column.distinct else { return false };
    let expected = all * -(-rows / all).exp_m1();
    distinct < 0.5 * expected
}

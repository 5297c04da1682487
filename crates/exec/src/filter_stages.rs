//! Filters in stages, as PREWHERE: what is cheap to read and most often leaves few rows is tested first, so that readers decode the
//! columns of the other conditions only where rows are left.
//!
//! A condition goes before others only if it cannot fail; those that may fail keep their place behind what was written before them.

use crate::expression::{Layout, Program};
use chalet_base::Result;
use chalet_columns::Block;
use chalet_function_api::{Comparison, Context};
use chalet_plan::Expr;
use chalet_storage::scan::FilterStage;
use std::sync::Arc;

/// The filter of a scan as conditions that are tested one after the other; none where one will do.
pub(crate) fn filter_stages(filter: &Expr, scan: &Layout, ctx: &Arc<Context>) -> Result<Vec<FilterStage>> {
    if !filter.is_deterministic() {
        return Ok(Vec::new());
    }
    let mut conjuncts = Vec::new();
    filter.clone().conjuncts(&mut conjuncts);
    let (mut points, mut cheap, mut last) = (Vec::new(), Vec::new(), vec![Vec::new()]);
    for conjunct in conjuncts {
        match rank(&conjunct) {
            Rank::Points => points.push(conjunct),
            Rank::Cheap => cheap.push(conjunct),
            Rank::Last => {
                // Not for rows that fail a condition in front of it.
                if !conjunct.is_total() {
                    last.push(Vec::new());
                }
                if let Some(stage) = last.last_mut() {
                    stage.push(conjunct);
                }
            }
        }
    }
    let stages = [points, cheap].into_iter().chain(last).filter(|stage| !stage.is_empty());
    let stages: Vec<Vec<Expr>> = stages.collect();
    if stages.len() < 2 {
        return Ok(Vec::new());
    }
    stages.iter().map(|conjuncts| stage(conjuncts, scan, ctx)).collect()
}

/// When a condition is tested.
enum Rank {
    /// It asks for one of few values, of a column that is cheap to read.
    Points,
    Cheap,
    Last,
}

fn rank(conjunct: &Expr) -> Rank {
    let mut is_cheap = conjunct.is_total();
    conjunct.visit(&mut |e| {
        if let Expr::Column(_, ty) = e {
            is_cheap = is_cheap && ty.bare().physical().width().is_some();
        }
    });
    if !is_cheap || conjunct.columns().is_empty() {
        return Rank::Last;
    }
    match conjunct {
        Expr::In(e) if !e.negated => Rank::Points,
        Expr::Call { function, args }
            if function.function.record().comparison == Comparison::Equal
                && args.iter().any(|arg| arg.as_literal().is_some()) =>
        {
            Rank::Points
        }
        _ => Rank::Cheap,
    }
}

/// The columns of a scan that expressions read, ascending, and the layout of a block of these.
pub(crate) fn read_of_scan<'e>(
    exprs: impl IntoIterator<Item = &'e Expr>,
    scan: &Layout,
) -> (Vec<usize>, Layout) {
    let ids = exprs.into_iter().flat_map(|expr| expr.columns());
    let mut columns: Vec<usize> = ids.filter_map(|id| scan.get(&id).copied()).collect();
    columns.sort_unstable();
    columns.dedup();
    let position = |at: &usize| columns.binary_search(at).ok();
    let layout = scan.iter().filter_map(|(id, at)| Some((*id, position(at)?))).collect();
    (columns, layout)
}

/// Conditions that are tested together, on the same rows.
fn stage(conjuncts: &[Expr], scan: &Layout, ctx: &Arc<Context>) -> Result<FilterStage> {
    let (columns, positions) = read_of_scan(conjuncts, scan);
    let programs = conjuncts.iter().map(|conjunct| Program::new(&[conjunct], &positions, ctx));
    let programs: Vec<Program> = programs.collect::<Result<_>>()?;
    let evaluate = move |block: &Block| {
        let mut masks = programs.iter().map(|program| program.mask(block));
        let first =
            masks.next().unwrap_or_else(|| Ok(chalet_columns::BooleanBuffer::new_set(block.n_rows())))?;
        masks.try_fold(first, |all, mask| Ok(&all & &mask?))
    };
    Ok(FilterStage { columns, evaluate: Arc::new(evaluate) })
}

//! Conditions over the distinct rows of granules: the filter itself, as far as it reads nothing else.

use super::tree::Tree;
use super::{MayMatch, stand_in};
use crate::ExecContext;
use crate::expression::{Layout, Program, is_false};
use chalet_base::Result;
use chalet_columns::BooleanBuffer;
use chalet_function_api::Volatility;
use chalet_plan::Expr;
use chalet_storage::merge_tree::skip_index::Granules;
use chalet_types::DataType;
use std::sync::Arc;

pub(super) fn condition(filter: &Expr, types: &[DataType], ctx: &ExecContext) -> Result<Option<MayMatch>> {
    let layout: Layout = (0..types.len()).map(|at| (stand_in(at), at)).collect();
    let atom = |expr: &Expr, negated: bool| {
        let read = expr.columns();
        let is_own = !read.is_empty() && read.iter().all(|id| layout.contains_key(id));
        let changes = expr.any(&|e| match e {
            Expr::Call { function, .. } => function.function.record().volatility != Volatility::Immutable,
            Expr::Subquery(_) => true,
            _ => false,
        });
        if !is_own || changes {
            return None;
        }
        Some((Program::new(&[expr], &layout, &ctx.functions).ok()?, negated))
    };
    let Some(tree) = Tree::of(filter, false, &atom) else { return Ok(None) };
    let may_match = move |granules: &Granules| {
        let Granules::Sets(sets) = granules else { return Ok(BooleanBuffer::new_unset(0)) };
        let n = sets.granules.len();
        if sets.rows.is_empty() {
            return Ok(BooleanBuffer::new_set(n));
        }
        let passing = tree.mask(&|(program, negated)| match negated {
            false => program.mask(&sets.rows),
            true => is_false(&program.evaluate(&sets.rows)?.swap_remove(0)),
        });
        // An expression that fails may do so for rows that the rest of the filter excludes, or fails the query on its own.
        let Ok(passing) = passing else { return Ok(BooleanBuffer::new_set(n)) };
        Ok(BooleanBuffer::collect_bool(n, |granule| match &sets.granules[granule] {
            None => true,
            Some(rows) => passing.slice(rows.start, rows.len()).count_set_bits() > 0,
        }))
    };
    Ok(Some(Arc::new(may_match)))
}

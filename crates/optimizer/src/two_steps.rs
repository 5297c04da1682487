//! Aggregates in two steps: over parts of the rows, and over the results of these parts.

use crate::rewriter::Rewriter;
use chalet_function_api::aggregate::{RowOrder, Split};
use chalet_plan::{AggregateCall, Expr};

/// Both steps of some calls.
pub(crate) struct TwoSteps {
    /// Over parts of the rows.
    pub parts: Vec<AggregateCall>,
    /// Over columns of `parts`; what they make are the columns of the calls.
    pub totals: Vec<AggregateCall>,
}

impl TwoSteps {
    /// None where an aggregate cannot be taken in two steps.
    pub fn of(calls: &[AggregateCall], with: &Rewriter) -> Option<TwoSteps> {
        let mut steps = TwoSteps { parts: Vec::new(), totals: Vec::with_capacity(calls.len()) };
        for call in calls {
            let split = call.aggregate.split().filter(|_| call.row_order == RowOrder::Free)?;
            let total = with_parts(call.clone(), split, &mut steps.parts, with);
            steps.totals.push(total);
        }
        Some(steps)
    }
}

/// Adds the first step of a call to `parts`, and gives the second.
pub(crate) fn with_parts(
    call: AggregateCall,
    split: Split,
    parts: &mut Vec<AggregateCall>,
    with: &Rewriter,
) -> AggregateCall {
    let mut args = Vec::with_capacity(split.parts.len());
    for part in split.parts {
        let field = with.ids.field(call.name.clone(), part.result_type());
        args.push(Expr::Column(field.id, field.ty.clone()));
        parts.push(AggregateCall { field, aggregate: part, function: None, ..call.clone() });
    }
    AggregateCall { aggregate: split.total, args, function: None, ..call }
}

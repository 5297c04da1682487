//! What is known to have no rows is not computed: an input that LIMIT 0 or a constant condition empties, and whatever
//! keeps it empty.
//!
//! ```text
//! Limit 0                    Limit 0
//!   Aggregate by number  =>    Values 0 rows
//!     Scan numbers
//! ```
//!
//! Of conditions without columns those that hold are left out: `'s' = 's'`, where a condition on a UNION has met the constant
//! of one of its inputs.
//!
//! Aggregations without keys, totals and WITH FILL make rows of nothing and stay.

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_function_api::Volatility;
use chalet_function_api::call::Input;
use chalet_plan::{
    Expr, Field, Filter, GroupingKind, Join, JoinKind, JoinStrictness, Limit, Literal, Plan, SetOpKind,
    Values,
};
use chalet_types::Value;
use std::sync::Arc;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| Ok(fold(without_constants(node, with)?)))
}

/// A filter with its constant conditions evaluated: those that hold are gone, one that does not stands alone.
fn without_constants(node: Plan, with: &Rewriter) -> Result<Plan> {
    Ok(match node {
        Plan::Filter(filter) => match decided(&filter.condition, with)? {
            Decided::As(Some(condition)) => Plan::Filter(Filter { condition, ..filter }),
            Decided::As(None) => *filter.input,
            Decided::Open => Plan::Filter(filter),
        },
        Plan::Scan(mut scan) => {
            let condition = scan.filter.as_ref().map(|filter| decided(filter, with)).transpose()?;
            if let Some(Decided::As(condition)) = condition {
                scan.filter = condition;
            }
            match &scan.filter {
                Some(filter) if is_never_true(filter) => empty(Plan::Scan(scan).fields()),
                _ => Plan::Scan(scan),
            }
        }
        other => other,
    })
}

/// What is left of a condition once its constant parts are known.
enum Decided {
    As(Option<Expr>),
    /// It has none.
    Open,
}

fn decided(condition: &Expr, with: &Rewriter) -> Result<Decided> {
    let mut conjuncts = Vec::new();
    condition.clone().conjuncts(&mut conjuncts);
    let constant = |conjunct: &Expr| {
        let value = constant(conjunct, with)?;
        value.ty.bare().is_integer().then(|| Expr::Literal(value))
    };
    if !conjuncts.iter().any(|conjunct| constant(conjunct).is_some()) {
        return Ok(Decided::Open);
    }
    let mut open = Vec::new();
    for conjunct in conjuncts {
        match constant(&conjunct) {
            None => open.push(conjunct),
            Some(value) if is_never_true(&value) => return Ok(Decided::As(Some(value))),
            Some(_) => {}
        }
    }
    with.all_of(open).map(Decided::As)
}

/// The value of an expression without columns. `None` also where it fails: the rows may never ask for it.
fn constant(expr: &Expr, with: &Rewriter) -> Option<Literal> {
    match expr {
        Expr::Literal(literal) => Some(literal.clone()),
        Expr::Call { function, args } if function.function.record().volatility != Volatility::PerRow => {
            let args = args.iter().map(|arg| Some(Input::Column(Expr::constant(&constant(arg, with)?, 1))));
            let args: Vec<Input> = args.collect::<Option<_>>()?;
            let value = function.execute(args, 1, with.context).ok()?;
            Some(Literal { value: Arc::new(value.into_flat()), ty: function.result.clone() })
        }
        _ => None,
    }
}

fn fold(mut node: Plan) -> Plan {
    match &mut node {
        // The limit itself stays: it tells how many rows there were before it.
        Plan::Limit(limit) if takes_nothing(limit) && !has_totals(&limit.input) => {
            let fields = limit.input.fields();
            *limit.input = empty(fields);
            return node;
        }
        Plan::Union(union) if !union.inputs.iter().all(is_empty) => {
            union.inputs.retain(|input| !is_empty(input));
            return node;
        }
        _ => {}
    }
    if is_emptied(&node) { empty(node.fields()) } else { node }
}

fn takes_nothing(limit: &Limit) -> bool {
    limit.limit == Some(0) && limit.parts.is_empty()
}

/// Totals travel beside the rows, even when none is left.
pub(crate) fn has_totals(plan: &Plan) -> bool {
    match plan {
        Plan::Aggregate(node) => node.totals.is_some(),
        other => other.inputs().into_iter().any(has_totals),
    }
}

fn is_empty(plan: &Plan) -> bool {
    match plan {
        Plan::Values(values) => values.block.n_rows() == 0,
        Plan::Limit(limit) => takes_nothing(limit) && is_empty(&limit.input),
        _ => false,
    }
}

/// Has the node no rows, because of its inputs or its condition?
fn is_emptied(node: &Plan) -> bool {
    match node {
        Plan::Filter(filter) => {
            !has_totals(&filter.input) && (is_never_true(&filter.condition) || is_empty(&filter.input))
        }
        Plan::Aggregate(aggregate) => {
            let one_row = aggregate.keys.is_empty() && !aggregate.empty_if_no_rows;
            let plain = aggregate.grouping == GroupingKind::Plain && aggregate.sets.is_empty();
            plain && !one_row && aggregate.totals.is_none() && is_empty(&aggregate.input)
        }
        Plan::Join(join) => join_is_empty(join),
        Plan::SetOp(op) => is_empty(&op.left) || op.kind == SetOpKind::Intersect && is_empty(&op.right),
        Plan::Union(union) => union.inputs.iter().all(is_empty),
        // A limit stays for what it tells; WITH FILL makes rows of nothing.
        Plan::Scan(_)
        | Plan::SharedScan(_)
        | Plan::Values(_)
        | Plan::Limit(_)
        | Plan::Fill(_)
        | Plan::Fetch(_) => false,
        Plan::Project(_)
        | Plan::Sort(_)
        | Plan::MergeRows(_)
        | Plan::CommonTable(_)
        | Plan::LimitBy(_)
        | Plan::Distinct(_)
        | Plan::ArrayJoin(_)
        | Plan::Window(_) => node.inputs().into_iter().all(is_empty),
    }
}

fn is_never_true(condition: &Expr) -> bool {
    let mut conjuncts = Vec::new();
    condition.clone().conjuncts(&mut conjuncts);
    conjuncts.iter().filter_map(Expr::as_literal).any(|literal| match literal.value() {
        Value::Null | Value::UInt(0) | Value::Int(0) => true,
        Value::Float(x) => x == 0.0,
        _ => false,
    })
}

fn join_is_empty(join: &Join) -> bool {
    let (left, right) = (is_empty(&join.left), is_empty(&join.right));
    let needs_both = matches!(join.strictness, JoinStrictness::Semi);
    match join.kind {
        JoinKind::Inner | JoinKind::Cross => left || right,
        JoinKind::Left => left || right && needs_both,
        JoinKind::Right => right || left && needs_both,
        JoinKind::Full => left && right,
        JoinKind::Paste => false,
    }
}

fn empty(fields: Vec<Field>) -> Plan {
    let columns = fields.iter().map(|f| Column::Flat(Vector::defaults(&f.ty, 0))).collect();
    Plan::Values(Values { fields, block: Block::new(columns, 0) })
}

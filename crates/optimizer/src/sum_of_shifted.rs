//! `sum(x + c)` is `sum(x) + c * count(x)`: many sums of shifted values read and add up each value once. Exact, because
//! integers sum modulo 2^64. Of a Nullable `x` those that are NULL count in neither, and without others all of it is NULL.
//!
//! ```text
//! Aggregate: sum(x + 1), sum(x + 2)      Project s + 1 * n, s + 2 * n
//!   Scan                            =>     Aggregate: sum(x) as s, count() as n
//!                                            Scan
//! ```

use crate::rewriter::{Rewriter, bottom_up};
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_function_api::Linear;
use chalet_function_api::aggregate::RowOrder;
use chalet_functions::arithmetic::shifted_sum;
use chalet_plan::{Aggregate, AggregateCall, AggregateName, Expr, Field, Plan, Project};
use chalet_types::{DataType, Value};

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| match node {
        Plan::Aggregate(node) if node.totals.is_none() => rewrite(node, with),
        other => Ok(other),
    })
}

/// `sign * x + shift`.
struct Shifted<'a> {
    x: &'a Expr,
    negated: bool,
    shift: i128,
}

fn shifted(call: &AggregateCall) -> Option<Shifted<'_>> {
    let [Expr::Call { function, args }] = &call.args[..] else { return None };
    let [left, right] = &args[..] else { return None };
    if !call.aggregate.sums_integers() || !is_word(&function.result) {
        return None;
    }
    let constant = |expr: &Expr| match expr.as_literal()?.value() {
        Value::UInt(x) => Some(i128::from(x)),
        Value::Int(x) => Some(i128::from(x)),
        _ => None,
    };
    let linear = function.function.record().linear;
    let (x, negated, shift) = match (linear, constant(left), constant(right)) {
        (Linear::Plus, None, Some(c)) => (left, false, c),
        (Linear::Plus, Some(c), None) => (right, false, c),
        (Linear::Minus, None, Some(c)) => (left, false, -c),
        (Linear::Minus, Some(c), None) => (right, true, c),
        _ => return None,
    };
    (is_word(x.ty()) && is_word(left.ty()) && is_word(right.ty())).then_some(Shifted { x, negated, shift })
}

/// Integers of up to 64 bits, or NULL: computing with them is exact modulo 2^64.
fn is_word(ty: &DataType) -> bool {
    let ty = ty.without_nullable();
    (ty.is_unsigned() || ty.is_signed()) && ty.physical().width().is_some_and(|width| width <= 8)
}

fn rewrite(node: Aggregate, with: &Rewriter) -> Result<Plan> {
    if !node.calls.iter().any(|call| shifted(call).is_some()) {
        return Ok(Plan::Aggregate(node));
    }
    let mut calls: Vec<AggregateCall> = Vec::new();
    let mut computed: Vec<(Field, Expr)> = Vec::new();
    // One call for equal sums.
    let mut shared = |call: AggregateCall| -> Expr {
        let found = calls.iter().find(|c| c.name == call.name && c.args == call.args);
        let field = found.map(|c| c.field.clone()).unwrap_or_else(|| {
            calls.push(call.clone());
            call.field
        });
        Expr::Column(field.id, field.ty)
    };
    for call in &node.calls {
        let expr = match shifted(call) {
            None => shared(call.clone()),
            Some(Shifted { x, negated, shift }) => {
                let sum = chalet_aggregates::sum::of_any_type(x.ty())?;
                let sum = shared(AggregateCall {
                    field: with.ids.field(format!("sum({x})"), sum.result_type()),
                    aggregate: sum,
                    args: vec![x.clone()],
                    row_order: RowOrder::Free,
                    name: format!("sum({x})").into(),
                    function: Some(AggregateName { name: "sum".into(), parameters: [].into() }),
                });
                let (count, args) = match x.ty().is_nullable() {
                    true => (chalet_aggregates::count::without_null(), vec![x.clone()]),
                    false => (chalet_aggregates::count::all(), Vec::new()),
                };
                let name = if args.is_empty() { "count()".into() } else { format!("count({x})") };
                let count = shared(AggregateCall {
                    field: with.ids.field(name.clone(), count.result_type()),
                    aggregate: count,
                    args,
                    row_order: RowOrder::Free,
                    name: name.into(),
                    function: Some(AggregateName { name: "count".into(), parameters: [].into() }),
                });
                events::count(Event::ShiftedSumsRewritten);
                let result = call.field.ty.without_nullable();
                let function = shifted_sum::bind(negated, result, sum.ty(), with.context)?;
                // Modulo 2^64.
                let shift = Expr::literal(&Value::UInt(shift as u64), DataType::UInt64)?;
                Expr::call(function, vec![sum, count, shift])
            }
        };
        computed.push((call.field.clone(), expr));
    }
    let outputs = Plan::Aggregate(node.clone()).fields();
    let exprs = outputs.into_iter().map(|field| {
        let found = computed.iter().find(|(f, _)| f.id == field.id);
        let expr = found.map_or_else(|| Expr::Column(field.id, field.ty.clone()), |(_, e)| e.clone());
        (field, expr)
    });
    let exprs = exprs.collect();
    Ok(Plan::Project(Project { exprs, input: Box::new(Plan::Aggregate(Aggregate { calls, ..node })) }))
}

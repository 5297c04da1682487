//! Outer joins are inner ones where a condition above takes out the rows that have no partner: their other side is all NULLs, or
//! defaults, and the condition is not true of these.
//!
//! ```text
//! Filter b > 1                  Filter b > 1
//!   Join Left on x = y     =>     Join Inner on x = y
//! ```
//!
//! An inner join can be reordered, either side of it can be built, and conditions go down to both.

use crate::push_down_filter;
use crate::rewriter::{Rewriter, top_down, unconverted};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::Vector;
use chalet_function_api::call::Input;
use chalet_function_api::{Nulls, Volatility};
use chalet_plan::{
    ColumnId, Expr, Field, GroupingKind, Join, JoinKind, JoinStrictness, Literal, Plan, Project,
};
use std::sync::Arc;

pub(crate) const NAME: &str = "outer_join_to_inner";

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    let mut changed = false;
    let plan = top_down(plan, &mut |mut node| {
        let mut conditions = Vec::new();
        let mut below = &mut node;
        while let Plan::Filter(filter) = below {
            filter.condition.clone().conjuncts(&mut conditions);
            below = &mut filter.input;
        }
        if let Plan::Join(join) = below
            && let Some(kind) = kind_under(join, &conditions, with)
        {
            let join = Join::clone(join);
            *below = with_kind(join, kind, with)?;
            changed = true;
        }
        Ok(node)
    })?;
    // There are sides now that conditions may go down to.
    if changed && !(with.is_off)("push_down_filter") { push_down_filter::apply(plan, with) } else { Ok(plan) }
}

/// The narrower kind of join that gives the same rows under these conditions.
fn kind_under(join: &Join, conditions: &[Expr], with: &Rewriter) -> Option<JoinKind> {
    let has_all = match join.strictness {
        JoinStrictness::All => true,
        // There is but one partner.
        JoinStrictness::Any => join.kind == JoinKind::Left && has_one_partner(join),
        _ => false,
    };
    if !has_all || conditions.is_empty() {
        return None;
    }
    let (left, right) = join.fields.split_at(join.left.fields().len());
    let drops = |side: &[Field]| {
        let unmatched = side.iter().map(|field| (field.id, default_of(field))).collect();
        conditions.iter().any(|condition| is_never_true(condition, &unmatched, with))
    };
    match join.kind {
        JoinKind::Left => drops(right).then_some(JoinKind::Inner),
        JoinKind::Right => drops(left).then_some(JoinKind::Inner),
        JoinKind::Full => match (drops(left), drops(right)) {
            (true, true) => Some(JoinKind::Inner),
            (true, false) => Some(JoinKind::Left),
            (false, true) => Some(JoinKind::Right),
            (false, false) => None,
        },
        _ => None,
    }
}

/// What a column holds in rows without a partner.
fn default_of(field: &Field) -> Literal {
    Literal { value: Arc::new(Vector::defaults(&field.ty, 1)), ty: field.ty.clone() }
}

type Known = HashMap<ColumnId, Literal>;

/// Is a condition false or NULL, whatever the columns hold that are not known?
fn is_never_true(condition: &Expr, known: &Known, with: &Rewriter) -> bool {
    value_of(condition, known, with).is_some_and(|literal| match literal.value() {
        chalet_types::Value::Null => true,
        value => literal.ty.bare().is_number() && value.as_f64() == Some(0.0),
    })
}

/// The value of an expression that follows from the columns that are known.
fn value_of(expr: &Expr, known: &Known, with: &Rewriter) -> Option<Literal> {
    match expr {
        Expr::Column(id, _) => known.get(id).cloned(),
        Expr::Literal(literal) => Some(literal.clone()),
        Expr::Call { function, args } => {
            let record = function.function.record();
            if record.volatility == Volatility::PerRow {
                return None;
            }
            let args: Vec<Option<Literal>> = args.iter().map(|arg| value_of(arg, known, with)).collect();
            let has_null = args.iter().flatten().any(|arg| arg.value() == chalet_types::Value::Null);
            if record.nulls == Nulls::Propagate && has_null && function.result.is_nullable() {
                return Some(Literal {
                    value: Arc::new(Vector::defaults(&function.result, 1)),
                    ty: function.result.clone(),
                });
            }
            let inputs = args.into_iter().map(|arg| Some(Input::Column(Expr::constant(&arg?, 1))));
            let inputs: Vec<Input> = inputs.collect::<Option<_>>()?;
            let column = function.execute(inputs, 1, with.context).ok()?;
            Some(Literal { value: Arc::new(column.into_flat()), ty: function.result.clone() })
        }
        Expr::Lambda { .. } | Expr::In(_) | Expr::Subquery(_) => None,
    }
}

/// Has each row of the left side at most one partner, because the right side has one row for each of its keys?
fn has_one_partner(join: &Join) -> bool {
    let keys: Option<Vec<ColumnId>> = join.on.iter().map(|key| unconverted(&key.right).as_column()).collect();
    keys.is_some_and(|keys| !keys.is_empty() && is_unique(&join.right, keys))
}

/// Do no two rows agree in these columns?
fn is_unique(plan: &Plan, columns: Vec<ColumnId>) -> bool {
    match plan {
        Plan::Filter(node) => is_unique(&node.input, columns),
        Plan::Sort(node) => is_unique(&node.input, columns),
        Plan::CommonTable(node) => is_unique(&node.input, columns),
        Plan::Project(node) => {
            let made = node.exprs.iter().filter(|(field, _)| columns.contains(&field.id));
            is_unique(&node.input, made.filter_map(|(_, expr)| expr.as_column()).collect())
        }
        Plan::Aggregate(node) => {
            let plain = node.grouping == GroupingKind::Plain && node.totals.is_none();
            plain && node.keys.iter().all(|(field, _)| columns.contains(&field.id))
        }
        Plan::Distinct(node) => node.on.iter().all(|id| columns.contains(id)),
        _ => false,
    }
}

/// A join of another kind with the same columns: those of a side that has all of its partners now keep their types.
fn with_kind(mut join: Join, kind: JoinKind, with: &Rewriter) -> Result<Plan> {
    let (left, right) = (join.left.fields(), join.right.fields());
    let may_be_missing = match kind {
        JoinKind::Left => [false, true],
        JoinKind::Right => [true, false],
        _ => [false, false],
    };
    let outer = std::mem::take(&mut join.fields);
    let sources =
        left.iter().map(|f| (f, may_be_missing[0])).chain(right.iter().map(|f| (f, may_be_missing[1])));
    let mut exprs = Vec::with_capacity(outer.len());
    for (field, (source, may_be_missing)) in outer.into_iter().zip(sources) {
        let ty = if may_be_missing { &field.ty } else { &source.ty };
        let inner = with.ids.field(field.name.clone(), ty.clone());
        exprs.push((field.clone(), (with.cast)(Expr::Column(inner.id, inner.ty.clone()), &field.ty)?));
        join.fields.push(inner);
    }
    (join.kind, join.strictness) = (kind, JoinStrictness::All);
    Ok(Plan::Project(Project { input: Box::new(Plan::Join(Box::new(join))), exprs }))
}

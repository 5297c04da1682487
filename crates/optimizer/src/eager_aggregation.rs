//! Rows are grouped by the keys of a join before it, where that leaves clearly fewer of them (eager aggregation; Yan and Larson,
//! 1995): rows with equal keys have the same partners, and the aggregates of a group are merged from those of its parts.
//!
//! ```text
//! Aggregate by i_name: sum(quantity)          Aggregate by i_name: sum(s)
//!   Join on inv_item = i_item              =>   Join on inv_item = i_item
//!     Scan inventory                              Aggregate partially by inv_item: sum(quantity) as s
//!     Scan item                                     Scan inventory
//!                                                 Scan item
//! ```
//!
//! The join looks up fewer rows, and the names, which are dear to hash, are met once per item rather than once per row. The
//! partial aggregation passes rows on where it finds that their groups are hardly fewer: a wrong estimate costs little.

use crate::estimate::{estimate, groups};
use crate::push_down_filter::substitute;
use crate::rewriter::{Rewriter, bottom_up};
use crate::two_steps::TwoSteps;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_function_api::Linear;
use chalet_plan::{
    Aggregate, AggregateCall, ColumnId, Expr, Field, GroupingKind, Join, JoinKey, JoinKind, JoinStrictness,
    Plan, Project,
};
use chalet_types::{DataType, Physical};

/// Fewer rows are not worth another aggregation.
const MIN_ROWS: f64 = 50_000.0;
/// The cost of the plan has to become less than this part of what it was.
const GAIN: f64 = 0.7;
/// Costs of a row, in rows probed.
const BUILD_ROW: f64 = 3.0;
/// Of a row that is grouped: in any case, and for each key of up to 8 bytes or of more.
const GROUPED_ROW: f64 = 1.0;
const NARROW_KEY: f64 = 0.5;
const WIDE_KEY: f64 = 4.0;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| match node {
        Plan::Aggregate(node) => eager(node, with),
        other => Ok(other),
    })
}

fn eager(node: Aggregate, with: &Rewriter) -> Result<Plan> {
    let is_plain = node.grouping == GroupingKind::Plain && node.sets.is_empty() && node.totals.is_none();
    if !is_plain || node.limit.is_some() || node.calls.is_empty() {
        return Ok(Plan::Aggregate(node));
    }
    let keys = node.keys.iter().map(|(_, key)| key.clone()).collect();
    let wanted = Wanted { keys, calls: node.calls.clone() };
    let Some(parts) = below(&node.input, wanted, with)? else { return Ok(Plan::Aggregate(node)) };
    events::count(Event::EagerAggregations);
    let keys = node.keys.into_iter().zip(parts.keys).map(|((field, _), key)| (field, key)).collect();
    let calls = parts.totals;
    Ok(Plan::Aggregate(Aggregate { input: Box::new(parts.plan), keys, calls, ..node }))
}

/// How rows are to be grouped, over the columns of their plan.
struct Wanted {
    keys: Vec<Expr>,
    calls: Vec<AggregateCall>,
}

impl Wanted {
    /// Over the columns that a projection reads.
    fn below(self, project: &Project) -> Result<Wanted> {
        let under = |expr: &Expr| substitute(expr, &project.exprs);
        let mut calls = self.calls;
        for call in &mut calls {
            call.args = call.args.iter().map(under).collect::<Result<_>>()?;
        }
        Ok(Wanted { keys: self.keys.iter().map(under).collect::<Result<_>>()?, calls })
    }
}

/// A plan of rows that are each of one group, though a group may have several.
struct Parts {
    plan: Plan,
    /// The keys over the columns of the plan.
    keys: Vec<Expr>,
    /// What makes the results of the calls, over columns of the plan.
    totals: Vec<AggregateCall>,
}

/// The plan with an aggregation below one of its joins; none where no place for it promises to pay.
fn below(plan: &Plan, wanted: Wanted, with: &Rewriter) -> Result<Option<Parts>> {
    match plan {
        Plan::Project(node) if node.exprs.iter().all(|(_, expr)| expr.is_deterministic()) => {
            below(&node.input, wanted.below(node)?, with)
        }
        Plan::Join(join) => {
            let Some(side) = Side::of(join, &wanted) else { return Ok(None) };
            below_join(join, side, wanted, with)
        }
        _ => Ok(None),
    }
}

fn below_join(join: &Join, side: Side, wanted: Wanted, with: &Rewriter) -> Result<Option<Parts>> {
    let Some(inner) = side.keys(join, &wanted)? else { return Ok(None) };
    let (grouped, totals) = if side.is_worth_it(join, &inner.exprs, &wanted) {
        let Some(steps) = TwoSteps::of(&wanted.calls, with) else { return Ok(None) };
        let mut calls = steps.parts;
        for arg in calls.iter_mut().flat_map(|call| &mut call.args) {
            *arg = substitute(arg, &side.names)?;
        }
        (side.grouped(join, inner.exprs, calls, with), steps.totals)
    } else {
        let mut calls = wanted.calls.clone();
        for arg in calls.iter_mut().flat_map(|call| &mut call.args) {
            *arg = substitute(arg, &side.names)?;
        }
        let below = below(side.plan(join), Wanted { keys: inner.exprs, calls }, with)?;
        let Some(parts) = below else { return Ok(None) };
        with_fields(parts, with)
    };
    side.joined(join, grouped, &inner.places, &wanted.keys, totals, with).map(Some)
}

/// A plan whose first columns are the keys of groups, and the others parts of them.
struct Grouped {
    plan: Plan,
    keys: Vec<Field>,
}

/// As columns: the keys, then what the totals read.
fn with_fields(parts: Parts, with: &Rewriter) -> (Grouped, Vec<AggregateCall>) {
    let named = parts.keys.into_iter().map(|key| (with.ids.field(key.to_string(), key.ty().clone()), key));
    let mut exprs: Vec<(Field, Expr)> = named.collect();
    let keys = exprs.iter().map(|(field, _)| field.clone()).collect();
    let read = parts.totals.iter().flat_map(|call| &call.args).filter_map(Expr::as_column);
    let read: Vec<ColumnId> = read.collect();
    let fields = parts.plan.fields().into_iter().filter(|field| read.contains(&field.id));
    exprs.extend(fields.map(|field| (field.clone(), Expr::Column(field.id, field.ty))));
    (Grouped { plan: Plan::Project(Project { exprs, input: Box::new(parts.plan) }), keys }, parts.totals)
}

/// The side of a join whose rows may be grouped before it: each of its rows is put out beside all of its partners, or for having any,
/// and all that is aggregated are columns of it.
struct Side {
    is_left: bool,
    /// Its columns behind the join, and what they are below it.
    names: Vec<(Field, Expr)>,
}

/// The keys of the inner aggregation.
struct InnerKeys {
    /// Over the columns of the side.
    exprs: Vec<Expr>,
    places: Places,
}

/// Where among the inner keys what stands above is.
struct Places {
    /// Of each key of the join.
    on: Vec<usize>,
    /// Of expressions over the columns behind the join.
    others: Vec<(Expr, usize)>,
}

impl Side {
    fn of(join: &Join, wanted: &Wanted) -> Option<Side> {
        use JoinKind::{Inner, Left, Right};
        use JoinStrictness::{All, Anti, Semi};
        if join.on.is_empty() || join.residual.is_some() || join.asof.is_some() {
            return None;
        }
        let allowed = |is_left: bool| match (join.kind, join.strictness) {
            (Inner, All) => true,
            (Left, All | Semi | Anti) => is_left,
            (Right, All | Semi | Anti) => !is_left,
            _ => false,
        };
        let reads: Vec<ColumnId> =
            wanted.calls.iter().flat_map(|call| &call.args).flat_map(Expr::columns).collect();
        let side = |is_left: bool| {
            let (before, after) = fields(join, is_left);
            let names: Vec<(Field, Expr)> =
                after.iter().cloned().zip(before.into_iter().map(|f| Expr::Column(f.id, f.ty))).collect();
            let same_types = names.iter().all(|(after, before)| after.ty == *before.ty());
            let has_all = reads.iter().all(|id| after.iter().any(|field| field.id == *id));
            (allowed(is_left) && same_types && has_all).then_some(Side { is_left, names })
        };
        match (side(true), side(false)) {
            // What counts rows reads no columns: the larger side has more to gain.
            (Some(left), Some(right)) => {
                let is_left = estimate(&join.left).rows >= estimate(&join.right).rows;
                Some(if is_left { left } else { right })
            }
            (left, right) => left.or(right),
        }
        .filter(|_| wanted.calls.iter().flat_map(|call| &call.args).all(may_run_early))
    }

    fn plan<'j>(&self, join: &'j Join) -> &'j Plan {
        if self.is_left { &join.left } else { &join.right }
    }

    fn has(&self, id: ColumnId) -> bool {
        self.names.iter().any(|(field, _)| field.id == id)
    }

    /// What the side's rows must be grouped by: the keys of the join, and what the keys above read of it. None where
    /// some of it cannot be grouped as the join or the aggregation above would.
    fn keys(&self, join: &Join, wanted: &Wanted) -> Result<Option<InnerKeys>> {
        let mut exprs: Vec<Expr> = Vec::new();
        let mut place = |expr: Expr| {
            exprs.iter().position(|known| *known == expr).unwrap_or_else(|| {
                exprs.push(expr);
                exprs.len() - 1
            })
        };
        let own = |key: &JoinKey| if self.is_left { key.left.clone() } else { key.right.clone() };
        let on = join.on.iter().map(|key| place(own(key))).collect();
        let mut others = Vec::new();
        for key in &wanted.keys {
            let columns = key.columns();
            if columns.iter().all(|id| !self.has(*id)) {
                continue;
            }
            if columns.iter().all(|id| self.has(*id)) && may_run_early(key) {
                others.push((key.clone(), place(substitute(key, &self.names)?)));
                continue;
            }
            for (field, below) in self.names.iter().filter(|(field, _)| columns.contains(&field.id)) {
                others.push((Expr::Column(field.id, field.ty.clone()), place(below.clone())));
            }
        }
        let are_plain = exprs.iter().all(|key| key.is_deterministic() && groups_as_it_joins(key.ty()));
        Ok(are_plain.then_some(InnerKeys { exprs, places: Places { on, others } }))
    }

    /// Do the rows of the side become so many fewer that grouping them costs less than they do?
    fn is_worth_it(&self, join: &Join, inner: &[Expr], wanted: &Wanted) -> bool {
        let mut input = estimate(self.plan(join));
        let passing = estimate(&Plan::Join(Box::new(join.clone()))).rows / input.rows.max(1.0);
        // What joins drop is often estimated to be more than it is, and few rows are grouped fast.
        input.rows = rows_to_join(self.plan(join)).max(input.rows);
        if input.rows < MIN_ROWS {
            return false;
        }
        let output = input.rows * passing;
        let left = groups(&input, &inner.iter().collect::<Vec<_>>()) / input.rows;
        let joined = input.rows * if self.is_left { 1.0 } else { BUILD_ROW };
        let before = joined + output * grouping_cost(&wanted.keys);
        let after = input.rows * grouping_cost(inner) + left * before;
        after < GAIN * before
    }

    /// The side's rows in groups.
    fn grouped(&self, join: &Join, keys: Vec<Expr>, calls: Vec<AggregateCall>, with: &Rewriter) -> Grouped {
        let columns = self.plan(join).fields();
        let name_of = |key: &Expr| {
            let column = columns.iter().find(|field| Some(field.id) == key.as_column());
            column.map_or_else(|| key.to_string().into(), |field| field.name.clone())
        };
        let named = keys.into_iter().map(|key| (with.ids.field(name_of(&key), key.ty().clone()), key));
        let keys: Vec<(Field, Expr)> = named.collect();
        let fields = keys.iter().map(|(field, _)| field.clone()).collect();
        let input = Box::new(self.plan(join).clone());
        let aggregate = Aggregate { is_partial: true, ..Aggregate::plain(input, keys, calls) };
        Grouped { plan: Plan::Aggregate(aggregate), keys: fields }
    }

    /// The join with grouped rows in place of the side's.
    fn joined(
        &self,
        join: &Join,
        grouped: Grouped,
        places: &Places,
        keys: &[Expr],
        mut totals: Vec<AggregateCall>,
        with: &Rewriter,
    ) -> Result<Parts> {
        let column = |field: &Field| Expr::Column(field.id, field.ty.clone());
        let own: Vec<(Field, Field)> = grouped
            .plan
            .fields()
            .into_iter()
            .map(|field| (with.ids.field(field.name.clone(), field.ty.clone()), field))
            .collect();
        let above =
            |below: &Field| own.iter().find(|(_, field)| field.id == below.id).map(|(after, _)| after);
        // Whole keys before the columns of others.
        let known: Vec<(&Expr, Expr)> = places
            .others
            .iter()
            .filter_map(|(expr, place)| Some((expr, column(above(&grouped.keys[*place])?))))
            .collect();
        let replaced = |key: &Expr| {
            key.replace(&mut |e| {
                Ok(known.iter().find(|(expr, _)| *expr == e).map(|(_, column)| column.clone()))
            })
        };
        let keys = keys.iter().map(replaced).collect::<Result<Vec<Expr>>>()?;
        for arg in totals.iter_mut().flat_map(|call| &mut call.args) {
            let after = arg.as_column().and_then(|id| own.iter().find(|(_, below)| below.id == id));
            if let Some((after, _)) = after {
                *arg = column(after);
            }
        }
        let mut on = join.on.clone();
        for (key, place) in on.iter_mut().zip(&places.on) {
            *(if self.is_left { &mut key.left } else { &mut key.right }) = column(&grouped.keys[*place]);
        }
        let (_, other) = fields(join, !self.is_left);
        let own: Vec<Field> = own.into_iter().map(|(after, _)| after).collect();
        let mut join = Join { on, fields: Vec::new(), ..join.clone() };
        if self.is_left {
            (join.left, join.fields) = (grouped.plan, [&own[..], other.as_slice()].concat());
        } else {
            (join.right, join.fields) = (grouped.plan, [other.as_slice(), &own[..]].concat());
        }
        Ok(Parts { plan: Plan::Join(Box::new(join)), keys, totals })
    }
}

/// Rows of a plan if its joins drop none.
fn rows_to_join(plan: &Plan) -> f64 {
    match plan {
        Plan::Project(node) => rows_to_join(&node.input),
        Plan::Join(join) => rows_to_join(&join.left).max(rows_to_join(&join.right)),
        other => estimate(other).rows,
    }
}

/// The columns of a side below a join and behind it.
fn fields(join: &Join, is_left: bool) -> (Vec<Field>, Vec<Field>) {
    let left = join.left.fields();
    let (of_left, of_right) = join.fields.split_at(left.len());
    if is_left { (left, of_left.to_vec()) } else { (join.right.fields(), of_right.to_vec()) }
}

/// The cost of grouping a row by these keys.
fn grouping_cost(keys: &[Expr]) -> f64 {
    let of_key = |key: &Expr| match key.ty().physical().width() {
        Some(width) if width <= 8 => NARROW_KEY,
        _ => WIDE_KEY,
    };
    GROUPED_ROW + keys.iter().map(of_key).sum::<f64>()
}

/// Are values of the type equal for a join and for every table of groups alike? Zeros and NaNs of floating-point numbers are
/// normalised here and not there.
pub(crate) fn groups_as_it_joins(ty: &DataType) -> bool {
    let bare = ty.bare();
    !bare.is_float() && !matches!(bare.physical(), Physical::List | Physical::Struct | Physical::Nothing)
}

/// Does an expression give its value on rows that the join would have dropped, too? It must not fail on any of these.
fn may_run_early(expr: &Expr) -> bool {
    match expr {
        Expr::Column(..) | Expr::Literal(_) => true,
        Expr::Call { function, args } => {
            let record = function.function.record();
            let is_safe = record.total || record.linear != Linear::No && magnitude(expr).is_some();
            expr.is_deterministic() && is_safe && args.iter().all(may_run_early)
        }
        Expr::In(_) | Expr::Lambda { .. } | Expr::Subquery(_) => false,
    }
}

/// The largest absolute value that numbers of an expression's type, or sums of such, may have by their declaration; none where
/// computing it may overflow, which is an error for decimals and none for integers and floating-point numbers.
fn magnitude(expr: &Expr) -> Option<f64> {
    let ty = expr.ty().bare();
    if let Expr::Call { function, args } = expr
        && function.function.record().linear != Linear::No
        && let DataType::Decimal { scale, .. } = ty
    {
        let sum: f64 = args.iter().map(magnitude).sum::<Option<f64>>()?;
        let most = 2f64.powi(8 * ty.physical().width()? as i32 - 1);
        return (sum * 10f64.powi(i32::from(*scale)) < most).then_some(sum);
    }
    match ty {
        DataType::Decimal { precision, scale } => Some(10f64.powi(i32::from(*precision) - i32::from(*scale))),
        ty if ty.is_integer() || ty.is_float() => Some(2f64.powi(8 * ty.physical().width()? as i32)),
        _ => None,
    }
}

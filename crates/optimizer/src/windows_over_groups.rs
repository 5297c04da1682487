//! Aggregates over whole partitions of many rows are computed by grouping: the rows are joined with the groups of their partitions,
//! which takes a hash table of the partitions, where a window sorts all rows by them.
//!
//! ```text
//! Window by k: sum(x)             Join on k <=> key
//!   Scan                      =>    Scan
//!                                   Aggregate by k as key: sum(x)
//!                                     Scan
//! ```
//!
//! Not where a join above leaves few partitions: its run-time filter reaches the tables below a window, and not those of both sides here.
//!
//! What only reads and filters tables whose rows stay as they are is read twice; other rows are shared. They come out in the order in
//! which they came, not partition by partition; of so many rows nobody asks for an order without ORDER BY.

use crate::eager_aggregation::groups_as_it_joins;
use crate::estimate::{estimate, groups};
use crate::rewriter::{Rewriter, bottom_up};
use crate::share_common_tables::shared;
use chalet_base::Result;
use chalet_base::events::{self, Event};
use chalet_base::hash::HashSet;
use chalet_base::switches::{self, Switch};
use chalet_function_api::aggregate::RowOrder;
use chalet_plan::{
    Aggregate, AggregateCall, AnyRule, ColumnId, Expr, Field, Filter, FrameBound, FrameUnit, IdSource, Join,
    JoinKey, JoinKind, JoinStrictness, Plan, Project, ScanIndex, ScanNode, SharedScan, Window, WindowCall,
    WindowImpl,
};
use chalet_types::DataType;

pub(crate) const NAME: &str = "windows_over_groups";

/// Fewer rows are sorted as fast.
const MIN_ROWS: f64 = 1_000_000.0;
/// Rows of a partition, on average, at least: else the hash table is not much smaller than the rows.
const ROWS_A_GROUP: f64 = 16.0;
/// A join above leaves few partitions where it has no more than this part of as many keys.
pub(crate) const PART_LEFT: f64 = 0.25;

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    if !switches::is_on(Switch::WindowGroups) {
        return Ok(plan);
    }
    let mut kept = HashSet::default();
    filtered_windows(&plan, &[], &mut kept);
    bottom_up(plan, &mut |node| match node {
        Plan::Window(node) if !is_kept(&node, &kept) && is_candidate(&node) => Ok(over_groups(node, with)),
        other => Ok(other),
    })
}

/// Finds windows of which joins above leave few partitions, by the columns that their calls make. `keys`: columns of the plan of whose
/// values few are left.
fn filtered_windows(plan: &Plan, keys: &[ColumnId], found: &mut HashSet<ColumnId>) {
    let of_exprs = |exprs: &[(Field, Expr)]| -> Vec<ColumnId> {
        let kept = exprs.iter().filter(|(field, _)| keys.contains(&field.id));
        kept.filter_map(|(_, expr)| expr.as_column()).collect()
    };
    match plan {
        Plan::Window(node) => {
            if node.partition_by.iter().any(|key| key.as_column().is_some_and(|id| keys.contains(&id))) {
                found.extend(node.calls.iter().map(|call| call.field.id));
            }
            filtered_windows(&node.input, &[], found);
        }
        Plan::Filter(node) => filtered_windows(&node.input, keys, found),
        Plan::Project(node) => filtered_windows(&node.input, &of_exprs(&node.exprs), found),
        Plan::Join(node)
            if matches!(node.kind, JoinKind::Inner) && node.strictness == JoinStrictness::All =>
        {
            let outputs: Vec<(Field, Expr)> =
                node.fields.iter().cloned().zip(node.left.fields().iter().map(column)).collect();
            let mut left = of_exprs(&outputs);
            let (rows, partners) = (estimate(&node.left), estimate(&node.right).rows);
            left.extend(node.on.iter().filter_map(|key| {
                let leaves_few = rows.of(&key.left).distinct.number() * PART_LEFT >= partners;
                key.left.as_column().filter(|_| leaves_few)
            }));
            filtered_windows(&node.left, &left, found);
            filtered_windows(&node.right, &[], found);
        }
        other => other.inputs().into_iter().for_each(|input| filtered_windows(input, &[], found)),
    }
}

fn is_kept(node: &Window, kept: &HashSet<ColumnId>) -> bool {
    node.calls.iter().any(|call| kept.contains(&call.field.id))
}

/// Is all of it told by groups, and are there far fewer of these than rows?
fn is_candidate(node: &Window) -> bool {
    let of_groups = |call: &WindowCall| match &call.function {
        WindowImpl::Aggregate(_) => is_whole(call) && call.row_order == RowOrder::Free,
        WindowImpl::Window(_) => false,
    };
    if node.partition_by.is_empty() || !node.order_by.is_empty() || !node.calls.iter().all(of_groups) {
        return false;
    }
    let is_key = |key: &Expr| key.is_deterministic() && groups_as_it_joins(key.ty());
    if !node.partition_by.iter().all(is_key) {
        return false;
    }
    let input = estimate(&node.input);
    input.rows >= MIN_ROWS
        && groups(&input, &node.partition_by.iter().collect::<Vec<_>>()) * ROWS_A_GROUP <= input.rows
}

/// Is the frame of each row its partition? Without ORDER BY all rows are peers.
fn is_whole(call: &WindowCall) -> bool {
    let frame = &call.frame;
    let is_last = match &frame.end {
        FrameBound::UnboundedFollowing => true,
        FrameBound::CurrentRow => frame.unit != FrameUnit::Rows,
        _ => false,
    };
    frame.start == FrameBound::UnboundedPreceding && is_last
}

fn over_groups(node: Window, with: &Rewriter) -> Plan {
    events::count(Event::WindowsOverGroups);
    let Window { input, partition_by, calls, unread, .. } = node;
    let rows = input.fields();
    let mut names = Vec::new();
    let (left, right) = match copied(&input, with.ids, &mut names) {
        Some(copy) => (*input, copy),
        None => shared_twice(*input, with.ids, &mut names),
    };
    let keys: Vec<(Field, Expr)> = partition_by
        .iter()
        .map(|key| (with.ids.field(key.to_string(), key.ty().clone()), key.rename(&names)))
        .collect();
    let on = partition_by.into_iter().zip(&keys).map(|(left, (field, _))| {
        let null_safe = left.ty().is_nullable();
        JoinKey { left, right: column(field), null_safe }
    });
    let on = on.collect();
    let grouped = calls.iter().filter_map(|call| {
        let WindowImpl::Aggregate(aggregate) = &call.function else { return None };
        Some(AggregateCall {
            field: with.ids.field(call.field.name.clone(), call.field.ty.clone()),
            aggregate: aggregate.clone(),
            args: call.args.iter().map(|arg| arg.rename(&names)).collect(),
            row_order: RowOrder::Free,
            name: call.name.clone(),
            function: None,
        })
    });
    let grouped = grouped.collect();
    let right = Plan::Aggregate(Aggregate::plain(Box::new(right), keys, grouped));
    let results = right.fields().into_iter();
    // Behind the keys are the results of the calls.
    let kept = calls.into_iter().map(|call| call.field);
    let n_keys = results.len() - kept.len();
    let fields: Vec<Field> =
        rows.iter().cloned().chain(results).map(|field| with.ids.field(field.name, field.ty)).collect();
    let (of_rows, of_groups) = fields.split_at(rows.len());
    let is_unread = |(row, _): &(&Field, &Field)| unread.contains(&row.id);
    let unread_rows = rows.iter().zip(of_rows).filter(is_unread).map(|(_, field)| field.id);
    let unread = unread_rows.chain(of_groups[..n_keys].iter().map(|field| field.id)).collect();
    let exprs = rows.iter().cloned().zip(of_rows).chain(kept.zip(&of_groups[n_keys..]));
    let exprs = exprs.map(|(field, source)| (field, column(source))).collect();
    let join = Join {
        left,
        right,
        kind: JoinKind::Inner,
        strictness: JoinStrictness::All,
        any_rule: AnyRule::default(),
        on,
        asof: None,
        residual: None,
        fields,
        unread,
    };
    Plan::Project(Project { input: Box::new(Plan::Join(Box::new(join))), exprs })
}

fn column(field: &Field) -> Expr {
    Expr::Column(field.id, field.ty.clone())
}

/// What each column of a plan is called in its copy.
type Names = Vec<(ColumnId, (ColumnId, DataType))>;

/// A copy of a plan with columns of its own, whose names are added; none of a plan that does more than to read and filter a table
/// whose rows stay as they are.
fn copied(plan: &Plan, ids: &IdSource, names: &mut Names) -> Option<Plan> {
    let renewed = |field: &Field, names: &mut Names| {
        let copy = ids.field(field.name.clone(), field.ty.clone());
        names.push((field.id, (copy.id, copy.ty.clone())));
        copy
    };
    match plan {
        Plan::Scan(scan) if is_repeatable(scan) => {
            let columns = scan.columns.iter().map(|(at, field)| (*at, renewed(field, names))).collect();
            let new = |id: &ColumnId| names.iter().find(|(old, _)| old == id).map(|(_, (new, _))| *new);
            let index = |index: &ScanIndex| ScanIndex {
                exprs: index.exprs.iter().map(|expr| expr.rename(names)).collect(),
                ..index.clone()
            };
            Some(Plan::Scan(ScanNode {
                columns,
                filter: scan.filter.as_ref().map(|filter| filter.rename(names)),
                only_filtered: scan.only_filtered.iter().filter_map(new).collect(),
                only_lengths: scan.only_lengths.iter().filter_map(new).collect(),
                skip_indexes: scan.skip_indexes.iter().map(index).collect(),
                ..scan.clone()
            }))
        }
        Plan::Filter(node) if node.condition.is_deterministic() => {
            let input = Box::new(copied(&node.input, ids, names)?);
            Some(Plan::Filter(Filter { input, condition: node.condition.rename(names) }))
        }
        Plan::Project(node) if node.exprs.iter().all(|(_, expr)| expr.is_deterministic()) => {
            let input = Box::new(copied(&node.input, ids, names)?);
            let exprs: Vec<Expr> = node.exprs.iter().map(|(_, expr)| expr.rename(names)).collect();
            let fields = node.exprs.iter().map(|(field, _)| renewed(field, names));
            let exprs = fields.zip(exprs).collect();
            Some(Plan::Project(Project { input, exprs }))
        }
        _ => None,
    }
}

/// Does a scan give the same rows when it runs again?
fn is_repeatable(scan: &ScanNode) -> bool {
    let picks_rows = scan.limit.is_some() || scan.row_id.is_some();
    scan.table.is_constant() && !picks_rows && scan.filter.iter().all(Expr::is_deterministic)
}

/// Two readers of the rows of a plan: one with its columns, one with others, whose names are added.
fn shared_twice(plan: Plan, ids: &IdSource, names: &mut Names) -> (Plan, Plan) {
    let fields = plan.fields();
    let source = shared(plan, None);
    let scan =
        |columns| Plan::SharedScan(SharedScan { source: source.clone(), name: "window".into(), columns });
    let copies: Vec<Field> =
        fields.iter().map(|field| ids.field(field.name.clone(), field.ty.clone())).collect();
    let new = fields.iter().zip(&copies).map(|(field, copy)| (field.id, (copy.id, copy.ty.clone())));
    names.extend(new);
    let left = scan(fields.into_iter().enumerate().collect());
    (left, scan(copies.into_iter().enumerate().collect()))
}

//! Which scan a run-time filter of a join goes to: the keys of the left side are followed down to the columns of a table,
//! through nodes that leave rows out or put others beside them, as far as dropping rows below is the same as dropping them above.

use crate::expression::{Layout, Program, layout};
use crate::operators::join::JoinTable;
use crate::operators::join::runtime_filter::RuntimeFilter;
use crate::{ExecContext, RuntimeFilterPolicy};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_plan::{ColumnId, Expr, GroupingKind, Join, JoinKind, JoinStrictness, Plan, ScanNode};
use chalet_types::DataType;
use std::sync::{Arc, OnceLock};

/// Filters of joins that are being planned, for scans that are not yet.
pub struct RuntimeFilters {
    /// None: they are switched off.
    policy: Option<RuntimeFilterPolicy>,
    /// By the address of the scan's node: copies of a plan share the ids of their columns.
    waiting: HashMap<*const ScanNode, Vec<Waiting>>,
}

/// A key of a join over the columns of a scan of its left side.
struct Waiting {
    scanned: Expr,
    slot: Arc<OnceLock<JoinTable>>,
    key: Program,
    ty: DataType,
    /// Is it the join's only key?
    is_only: bool,
}

impl RuntimeFilters {
    /// No filters yet, as the settings want them.
    pub fn new(ctx: &ExecContext) -> RuntimeFilters {
        RuntimeFilters { policy: ctx.settings.join_runtime_filters, waiting: HashMap::default() }
    }

    /// Notes the filters that a join will have when its right side is in the slot.
    pub fn add(&mut self, node: &Join, slot: &Arc<OnceLock<JoinTable>>, ctx: &ExecContext) -> Result<()> {
        if self.policy.is_none() {
            return Ok(());
        }
        for key in 0..node.on.len() {
            let Some((scan, scanned)) = scan_of(node, key) else { continue };
            let right = &node.on[key].right;
            let waiting = Waiting {
                scanned,
                slot: slot.clone(),
                key: Program::new(&[right], &layout(&node.right.fields()), &ctx.functions)?,
                ty: right.ty().clone(),
                is_only: node.on.len() == 1,
            };
            self.waiting.entry(std::ptr::from_ref(scan)).or_default().push(waiting);
        }
        Ok(())
    }

    /// The filters for a scan, with the last join above it first.
    pub fn take(
        &mut self,
        scan: &ScanNode,
        places: &Layout,
        ctx: &ExecContext,
    ) -> Result<Vec<RuntimeFilter>> {
        let Some(policy) = self.policy else { return Ok(Vec::new()) };
        let waiting = self.waiting.remove(&std::ptr::from_ref(scan)).unwrap_or_default();
        let filter = |waiting: Waiting| {
            let mut ids: Vec<ColumnId> = waiting.scanned.columns().into_iter().collect();
            ids.sort_unstable();
            let own: Layout = ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
            Ok(RuntimeFilter {
                slot: waiting.slot,
                key: waiting.key,
                ty: waiting.ty,
                is_only: waiting.is_only,
                is_plain: waiting.scanned.as_column().is_some(),
                scanned: Program::new(&[&waiting.scanned], &own, &ctx.functions)?,
                columns: ids.iter().filter_map(|id| places.get(id).copied()).collect(),
                policy,
            })
        };
        waiting.into_iter().map(filter).collect()
    }
}

/// The scan whose columns a key of the left side is made of, and the key over them.
fn scan_of(node: &Join, key: usize) -> Option<(&ScanNode, Expr)> {
    use JoinKind::{Inner, Left, Right};
    use JoinStrictness::{All, Anti, Asof, Semi};
    // Rows of the left side without a partner are not put out.
    let drops_left = matches!(
        (node.kind, node.strictness),
        (Inner, All | Asof) | (Left, Semi) | (Right, All | Semi | Anti)
    );
    let key = &node.on[key];
    if !drops_left || key.null_safe {
        return None;
    }
    below(&node.left, key.left.clone())
}

fn below(plan: &Plan, expr: Expr) -> Option<(&ScanNode, Expr)> {
    let columns = expr.columns();
    if columns.is_empty() || !expr.is_deterministic() {
        return None;
    }
    match plan {
        Plan::Scan(node) => {
            let is_own = |id: &ColumnId| node.columns.iter().any(|(_, field)| field.id == *id);
            (columns.iter().all(is_own) && node.limit.is_none()).then_some((node, expr))
        }
        Plan::Filter(node) if node.condition.is_deterministic() => below(&node.input, expr),
        // What counts the rows must see them all.
        Plan::Project(node) if node.exprs.iter().all(|(_, e)| e.is_deterministic()) => {
            let exprs: Vec<(ColumnId, &Expr)> = node.exprs.iter().map(|(field, e)| (field.id, e)).collect();
            below(&node.input, substituted(&expr, &exprs)?)
        }
        Plan::Aggregate(node)
            if node.grouping == GroupingKind::Plain && node.totals.is_none() && node.limit.is_none() =>
        {
            let keys: Vec<(ColumnId, &Expr)> = node.keys.iter().map(|(field, e)| (field.id, e)).collect();
            below(&node.input, substituted(&expr, &keys)?)
        }
        Plan::Join(node) => below_join(node, &expr),
        Plan::Sort(node) if node.limit.is_none() => below(&node.input, expr),
        Plan::Distinct(node) if node.limit.is_none() && columns.iter().all(|id| node.on.contains(id)) => {
            below(&node.input, expr)
        }
        // Whole partitions are left out.
        Plan::Window(node)
            if columns.iter().all(|id| node.partition_by.iter().any(|by| by.as_column() == Some(*id))) =>
        {
            below(&node.input, expr)
        }
        Plan::ArrayJoin(node) => below(&node.input, expr),
        _ => None,
    }
}

fn below_join<'p>(node: &'p Join, expr: &Expr) -> Option<(&'p ScanNode, Expr)> {
    use JoinKind::{Cross, Inner, Left, Right};
    use JoinStrictness::All;
    let n_left = node.left.fields().len();
    let (left, right) = node.fields.split_at(n_left);
    let is_left = expr.columns().iter().all(|id| left.iter().any(|field| field.id == *id));
    // Each row of such a side has its results for itself.
    let (side, fields, goes_on) = match is_left {
        true => (&node.left, left, matches!((node.kind, node.strictness), (Inner | Cross, All) | (Left, _))),
        false => (&node.right, right, matches!((node.kind, node.strictness), (Inner | Cross | Right, All))),
    };
    if !goes_on {
        return None;
    }
    let inner: Vec<Expr> = side.fields().into_iter().map(|field| Expr::Column(field.id, field.ty)).collect();
    let same_type = |(after, before): &(&chalet_plan::Field, &Expr)| after.ty == *before.ty();
    let pairs = fields.iter().zip(&inner).filter(same_type).map(|(field, e)| (field.id, e));
    below(side, substituted(expr, &pairs.collect::<Vec<_>>())?)
}

/// The expression with each column replaced by what it is below; none where one is not among them.
fn substituted(expr: &Expr, exprs: &[(ColumnId, &Expr)]) -> Option<Expr> {
    if expr.columns().iter().any(|id| !exprs.iter().any(|(known, _)| known == id)) {
        return None;
    }
    let replaced = expr.replace(&mut |e| {
        Ok(e.as_column()
            .and_then(|id| exprs.iter().find(|(known, _)| *known == id))
            .map(|(_, e)| Expr::clone(e)))
    });
    replaced.ok()
}

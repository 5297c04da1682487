//! Conditions on outer columns are taken out of a sub-query, to be the condition of its join with the rows outside.
//!
//! ```text
//! Project max(v)                         Project max(v), a
//!   Aggregate max(v)                       Aggregate by a: max(v)
//!     Filter a = k and v > 1        =>       Filter v > 1            and the condition a = k
//!       Scan u                                 Scan u
//! ```
//!
//! One that all alternatives of an OR say is taken out of it first.
//!
//! An equality passes an aggregation: what equals the outer column becomes a key. Other conditions do not, nor does any of
//! them pass LIMIT, windows or UNION.

use crate::factor_disjunctions;
use crate::rewriter::Rewriter;
use chalet_base::Result;
use chalet_base::hash::HashSet;
use chalet_plan::{
    Aggregate, ColumnId, Distinct, Expr, Filter, GroupingKind, Join, JoinKind, JoinStrictness, Plan, Project,
    Sort,
};
use chalet_types::{DataType, supertype};

type Params = [(ColumnId, DataType)];

/// The plan without its conditions on the parameters, whose inner columns it puts out, and these conditions. `None` where
/// a parameter is read in a place that a condition cannot be taken from.
pub(super) fn pull(plan: &Plan, params: &Params, with: &Rewriter) -> Result<Option<(Plan, Vec<Expr>)>> {
    Puller { params, with }.pull(plan)
}

/// An equality of an expression over parameters and one over the sub-query's own columns.
pub(super) struct Equality {
    pub outer: Expr,
    pub inner: Expr,
    pub null_safe: bool,
}

/// The condition as an equality of types that a key can have, whichever way round it is written.
pub(super) fn equality(condition: &Expr, params: &Params) -> Option<Equality> {
    let Expr::Call { args, .. } = condition else { return None };
    let [a, b] = &args[..] else { return None };
    let null_safe = condition.function_name() == Some("isNotDistinctFrom");
    if !null_safe && condition.function_name() != Some("equals") {
        return None;
    }
    let is_param = |id: &ColumnId| params.iter().any(|(param, _)| param == id);
    let is_outer = |e: &Expr| !e.columns().is_empty() && e.columns().iter().all(is_param);
    let is_inner = |e: &Expr| !e.columns().iter().any(is_param);
    let (outer, inner) = match () {
        () if is_outer(a) && is_inner(b) => (a.clone(), b.clone()),
        () if is_outer(b) && is_inner(a) => (b.clone(), a.clone()),
        () => return None,
    };
    let (x, y) = (outer.ty().without_low_cardinality(), inner.ty().without_low_cardinality());
    supertype::pair(x, y)?;
    Some(Equality { outer, inner, null_safe })
}

struct Puller<'a> {
    params: &'a Params,
    with: &'a Rewriter<'a>,
}

type Pulled = Option<(Plan, Vec<Expr>)>;

impl Puller<'_> {
    fn reads_outer(&self, expr: &Expr) -> bool {
        let columns = expr.columns();
        self.params.iter().any(|(id, _)| columns.contains(id))
    }

    fn pull(&self, plan: &Plan) -> Result<Pulled> {
        let free = plan.free_columns();
        if !free.iter().any(|(id, _)| self.params.iter().any(|(param, _)| param == id)) {
            return Ok(Some((plan.clone(), Vec::new())));
        }
        match plan {
            Plan::Filter(node) => self.filter(node),
            Plan::Project(node) => self.project(node),
            Plan::Aggregate(node) => self.aggregate(node),
            Plan::Distinct(node) if node.limit.is_none() => self.distinct(node),
            Plan::Join(node) => self.join(node),
            Plan::Sort(node)
                if node.limit.is_none() && !node.keys.iter().any(|k| self.reads_outer(&k.expr)) =>
            {
                let Some((input, conditions)) = self.pull(&node.input)? else { return Ok(None) };
                let sort = Sort { input: Box::new(input), ..node.clone() };
                Ok(Some((Plan::Sort(sort), conditions)))
            }
            _ => Ok(None),
        }
    }

    fn filter(&self, node: &Filter) -> Result<Pulled> {
        let Some((mut input, mut conditions)) = self.pull(&node.input)? else { return Ok(None) };
        let mut conjuncts = Vec::new();
        node.condition.clone().conjuncts(&mut conjuncts);
        for conjunct in conjuncts {
            let parts = match self.reads_outer(&conjunct) && !(self.with.is_off)(factor_disjunctions::NAME) {
                true => factor_disjunctions::common_parts(&conjunct, self.with)?,
                false => vec![conjunct],
            };
            for part in parts {
                if self.reads_outer(&part) {
                    conditions.push(part);
                } else {
                    input = Plan::Filter(Filter { input: Box::new(input), condition: part });
                }
            }
        }
        Ok(Some((input, conditions)))
    }

    fn project(&self, node: &Project) -> Result<Pulled> {
        if node.exprs.iter().any(|(_, e)| self.reads_outer(e)) {
            return Ok(None);
        }
        let Some((input, conditions)) = self.pull(&node.input)? else { return Ok(None) };
        let mut exprs = node.exprs.clone();
        let read = columns_of(&conditions);
        for field in input.fields() {
            if read.contains(&field.id) && exprs.iter().all(|(known, _)| known.id != field.id) {
                exprs.push((field.clone(), Expr::Column(field.id, field.ty)));
            }
        }
        Ok(Some((Plan::Project(Project { input: Box::new(input), exprs }), conditions)))
    }

    fn aggregate(&self, node: &Aggregate) -> Result<Pulled> {
        let expressions = node.keys.iter().map(|k| &k.1).chain(node.calls.iter().flat_map(|c| &c.args));
        let is_plain = node.grouping == GroupingKind::Plain && node.totals.is_none() && node.limit.is_none();
        if !is_plain || expressions.into_iter().any(|e| self.reads_outer(e)) {
            return Ok(None);
        }
        let Some((input, conditions)) = self.pull(&node.input)? else { return Ok(None) };
        let mut node = node.clone();
        let mut after = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let Some(equality) = equality(&condition, self.params) else { return Ok(None) };
            let known =
                node.keys.iter().find(|(_, key)| *key == equality.inner).map(|(field, _)| field.clone());
            let key = known.unwrap_or_else(|| {
                let field = self.with.ids.field("", equality.inner.ty().clone());
                node.keys.push((field.clone(), equality.inner.clone()));
                field
            });
            let name = if equality.null_safe { "isNotDistinctFrom" } else { "equals" };
            after.push((self.with.call)(name, vec![equality.outer, Expr::Column(key.id, key.ty)])?);
        }
        node.input = Box::new(input);
        Ok(Some((Plan::Aggregate(node), after)))
    }

    /// Rows that differ in a column of a condition are different rows.
    fn distinct(&self, node: &Distinct) -> Result<Pulled> {
        let Some((input, conditions)) = self.pull(&node.input)? else { return Ok(None) };
        let mut on = node.on.clone();
        let read = columns_of(&conditions);
        let more =
            input.fields().into_iter().map(|f| f.id).filter(|id| read.contains(id) && !node.on.contains(id));
        on.extend(more);
        Ok(Some((Plan::Distinct(Distinct { input: Box::new(input), on, limit: None }), conditions)))
    }

    /// Out of a side each of whose rows decides alone whether it is in the result.
    fn join(&self, node: &Join) -> Result<Pulled> {
        let is_inner =
            matches!(node.kind, JoinKind::Inner | JoinKind::Cross) && node.strictness == JoinStrictness::All;
        let keeps_left = node.kind == JoinKind::Left
            && matches!(
                node.strictness,
                JoinStrictness::All | JoinStrictness::Any | JoinStrictness::Semi | JoinStrictness::Anti
            );
        let asof = node.asof.iter().flat_map(|a| [&a.0, &a.2]);
        let mut keys = node.on.iter().flat_map(|k| [&k.left, &k.right]).chain(asof);
        if keys.any(|e| self.reads_outer(e)) || !(is_inner || keeps_left) {
            return Ok(None);
        }
        let mut conjuncts = Vec::new();
        node.residual.clone().into_iter().for_each(|e| e.conjuncts(&mut conjuncts));
        let (outer, inner): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|c| self.reads_outer(c));
        if !is_inner && !outer.is_empty() {
            return Ok(None);
        }
        let Some((left, mut conditions)) = self.pull(&node.left)? else { return Ok(None) };
        let Some((right, of_right)) = self.pull(&node.right)? else { return Ok(None) };
        if !is_inner && !of_right.is_empty() {
            return Ok(None);
        }
        conditions.extend(of_right);
        conditions.extend(outer);
        let before = node.left.fields().into_iter().chain(node.right.fields()).map(|f| f.id);
        let before: Vec<_> = before.zip(&node.fields).collect();
        let mut fields = Vec::new();
        let mut names = Vec::new();
        for field in left.fields().into_iter().chain(right.fields()) {
            let known =
                before.iter().find(|(id, _)| *id == field.id).map(|(_, f)| chalet_plan::Field::clone(f));
            let after = known.unwrap_or_else(|| self.with.ids.field(field.name.clone(), field.ty.clone()));
            names.push((field.id, (after.id, after.ty.clone())));
            fields.push(after);
        }
        let conditions = conditions.iter().map(|c| c.rename(&names)).collect();
        let residual = self.with.all_of(inner)?;
        let join = Join { left, right, residual, fields, ..node.clone() };
        Ok(Some((Plan::Join(Box::new(join)), conditions)))
    }
}

fn columns_of(conditions: &[Expr]) -> HashSet<ColumnId> {
    conditions.iter().flat_map(|c| c.columns()).collect()
}

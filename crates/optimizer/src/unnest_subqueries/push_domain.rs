//! The distinct values of the outer columns, the domain, are joined into a sub-query as far down as it reads them. Each node
//! above then works for all values at once: aggregations group by them, windows are partitioned by them, limits count for
//! each of them.
//!
//! ```text
//! Limit 1                          LimitBy 1 by d
//!   Sort v                           Sort v
//!     Filter v < param         =>      Join inner on [], residual v < d
//!       Scan u                           Scan u
//!                                        Distinct d
//!                                          Project d := the argument
//!                                            the rows outside
//! ```
//!
//! The result is joined back on the domain's columns, where NULL equals NULL.

use super::{joined, pull_conditions, restore};
use crate::rewriter::{Rewriter, placeholder};
use chalet_base::{Result, bail};
use chalet_plan::{
    Aggregate, AnyRule, ColumnId, Distinct, Expr, Field, Filter, FromEnd, Join, JoinKey, JoinKind,
    JoinStrictness, Limit, LimitBy, Plan, Project, SetOp, Union,
};
use chalet_types::DataType;

type Params = [(ColumnId, DataType)];

/// The sub-query over the domain that the arguments have in the rows of `outer`, and the keys that join it back to them.
pub(super) fn unnest(
    plan: Plan,
    params: &Params,
    args: &[Expr],
    outer: &Plan,
    with: &Rewriter,
) -> Result<(Plan, Vec<JoinKey>)> {
    let mut typed = Vec::with_capacity(args.len());
    for (arg, (_, ty)) in args.iter().zip(params) {
        typed.push((with.cast)(arg.clone(), ty)?);
    }
    let domain = Domain { params, args: &typed, outer, with };
    let (plan, fields) = domain.push(plan)?;
    let keys = typed.iter().zip(&fields).map(|(arg, d)| with.key(arg.clone(), column(d), d.ty.is_nullable()));
    let keys = keys.collect::<Result<_>>()?;
    Ok((plan, keys))
}

struct Domain<'a> {
    params: &'a Params,
    args: &'a [Expr],
    /// The rows whose arguments are the domain.
    outer: &'a Plan,
    with: &'a Rewriter<'a>,
}

/// A plan with the columns of the domain behind its own; these are in the order of the parameters.
type Pushed = (Plan, Vec<Field>);

fn column(field: &Field) -> Expr {
    Expr::Column(field.id, field.ty.clone())
}

impl Domain<'_> {
    fn reads_params(&self, expr: &Expr) -> bool {
        let columns = expr.columns();
        self.params.iter().any(|(id, _)| columns.contains(id))
    }

    fn is_correlated(&self, plan: &Plan) -> bool {
        plan.free_columns().iter().any(|(id, _)| self.params.iter().any(|(param, _)| param == id))
    }

    /// The domain's rows, under new columns.
    fn rows(&self) -> Pushed {
        let fields = self.new_fields();
        let exprs = fields.iter().cloned().zip(self.args.iter().cloned()).collect();
        let project = Plan::Project(Project { input: Box::new(self.outer.clone()), exprs });
        let on = fields.iter().map(|f| f.id).collect();
        (Plan::Distinct(Distinct { input: Box::new(project), on, limit: None }), fields)
    }

    fn new_fields(&self) -> Vec<Field> {
        self.params.iter().map(|(_, ty)| self.with.ids.field("outer", ty.clone())).collect()
    }

    /// The expression over the domain's columns in place of the parameters.
    fn bound(&self, expr: &Expr, domain: &[Field]) -> Expr {
        let names: Vec<_> =
            self.params.iter().zip(domain).map(|((id, _), f)| (*id, (f.id, f.ty.clone()))).collect();
        expr.rename(&names)
    }

    fn push(&self, plan: Plan) -> Result<Pushed> {
        let fields = plan.fields();
        if !self.is_correlated(&plan) {
            return self.beside(plan, Vec::new());
        }
        let (plan, domain) = self.push_into(plan)?;
        let all = fields.into_iter().chain(domain.iter().cloned()).collect();
        Ok((restore(plan, all), domain))
    }

    /// As [`push`](Self::push), with the columns in whatever order.
    fn push_into(&self, mut plan: Plan) -> Result<Pushed> {
        match plan {
            Plan::Filter(filter) => self.filter(filter),
            Plan::Aggregate(aggregate) => self.aggregate(aggregate),
            Plan::Limit(limit) => self.limit(limit),
            Plan::Join(join) => self.join(*join),
            Plan::Union(union) => self.union(union),
            Plan::SetOp(op) => self.set_op(op),
            Plan::Project(_)
            | Plan::Sort(_)
            | Plan::LimitBy(_)
            | Plan::Distinct(_)
            | Plan::ArrayJoin(_)
            | Plan::Window(_) => {
                let mut domain = Vec::new();
                for input in plan.inputs_mut() {
                    let (below, fields) = self.push(std::mem::replace(input, placeholder()))?;
                    (*input, domain) = (below, fields);
                }
                for expr in plan.expressions_mut() {
                    *expr = self.bound(expr, &domain);
                }
                match &mut plan {
                    Plan::Project(node) => node.exprs.extend(domain.iter().map(|d| (d.clone(), column(d)))),
                    Plan::LimitBy(node) => node.columns.extend(domain.iter().map(column)),
                    Plan::Distinct(node) => node.on.extend(domain.iter().map(|d| d.id)),
                    Plan::Window(node) => node.partition_by.extend(domain.iter().map(column)),
                    _ => {}
                }
                Ok((plan, domain))
            }
            other => {
                bail!(NOT_IMPLEMENTED, "Correlated subqueries with {} are not supported", other.name())
            }
        }
    }

    /// Each row of a plan that reads no parameter with each value of the domain that meets the conditions.
    fn beside(&self, plan: Plan, conditions: Vec<Expr>) -> Result<Pushed> {
        let (rows, domain) = self.rows();
        let mut on = Vec::new();
        let mut residual = Vec::new();
        for condition in conditions {
            match pull_conditions::equality(&condition, self.params) {
                Some(equality) => {
                    let outer = self.bound(&equality.outer, &domain);
                    on.push(self.with.key(equality.inner, outer, equality.null_safe)?);
                }
                None => residual.push(self.bound(&condition, &domain)),
            }
        }
        let kept =
            plan.fields().into_iter().chain(domain.iter().cloned()).map(|f| (f.clone(), f.id)).collect();
        let has_condition = !on.is_empty() || !residual.is_empty();
        let join = Join {
            left: plan,
            right: rows,
            kind: if has_condition { JoinKind::Inner } else { JoinKind::Cross },
            strictness: JoinStrictness::All,
            any_rule: AnyRule::default(),
            on,
            asof: None,
            residual: self.with.all_of(residual)?,
            fields: Vec::new(),
            unread: Vec::new(),
        };
        Ok((joined(join, kept, self.with), domain))
    }

    fn filter(&self, filter: Filter) -> Result<Pushed> {
        if self.is_correlated(&filter.input) {
            let (input, domain) = self.push(*filter.input)?;
            let condition = self.bound(&filter.condition, &domain);
            return Ok((Plan::Filter(Filter { input: Box::new(input), condition }), domain));
        }
        let mut conjuncts = Vec::new();
        filter.condition.conjuncts(&mut conjuncts);
        let (outer, inner): (Vec<_>, Vec<_>) = conjuncts.into_iter().partition(|c| self.reads_params(c));
        self.beside(inner.into_iter().fold(*filter.input, super::filtered), outer)
    }

    /// The domain's columns are keys, in every grouping set. Totals are of no use to a sub-query.
    fn aggregate(&self, mut node: Aggregate) -> Result<Pushed> {
        let (input, domain) = self.push(*node.input)?;
        node.input = Box::new(input);
        for expr in
            node.keys.iter_mut().map(|k| &mut k.1).chain(node.calls.iter_mut().flat_map(|c| &mut c.args))
        {
            *expr = self.bound(expr, &domain);
        }
        let after = self.new_fields();
        let n_keys = node.keys.len();
        node.keys.extend(after.iter().cloned().zip(domain.iter().map(column)));
        node.sets.iter_mut().for_each(|set| set.extend(n_keys..n_keys + after.len()));
        let having = node.totals.take().and_then(|totals| totals.having);
        let plan = Plan::Aggregate(node);
        let plan = match having {
            Some(having) => super::filtered(plan, self.bound(&having, &after)),
            None => plan,
        };
        Ok((plan, after))
    }

    fn limit(&self, node: Limit) -> Result<Pushed> {
        if node.ties.is_some() || node.from_end.any() || !node.parts.is_empty() {
            bail!(
                NOT_IMPLEMENTED,
                "Correlated subqueries with LIMIT WITH TIES or a negative or fractional LIMIT are not supported"
            );
        }
        let (input, domain) = self.push(*node.input)?;
        let by = LimitBy {
            input: Box::new(input),
            columns: domain.iter().map(column).collect(),
            limit: node.limit.unwrap_or(u64::MAX),
            offset: node.offset,
            from_end: FromEnd::default(),
            needed: None,
        };
        Ok((Plan::LimitBy(by), domain))
    }

    /// Both sides get the domain where both read it, or where rows of one without a partner stay for each of its values.
    fn join(&self, mut join: Join) -> Result<Pushed> {
        let reads = |expr: Option<&Expr>| expr.is_some_and(|e| self.reads_params(e));
        let asof = join.asof.as_ref();
        let left_reads = self.is_correlated(&join.left)
            || join.on.iter().any(|k| self.reads_params(&k.left))
            || reads(asof.map(|a| &a.0));
        let right_reads = self.is_correlated(&join.right)
            || join.on.iter().any(|k| self.reads_params(&k.right))
            || reads(asof.map(|a| &a.2));
        let (to_left, to_right) = match join.kind {
            JoinKind::Left => (true, right_reads),
            JoinKind::Right => (left_reads, true),
            // Each row of either side is used once.
            JoinKind::Inner if join.strictness == JoinStrictness::Any => (true, true),
            JoinKind::Inner | JoinKind::Cross => (left_reads || !right_reads, right_reads),
            JoinKind::Full | JoinKind::Paste => {
                bail!(NOT_IMPLEMENTED, "Correlated subqueries with a FULL or PASTE JOIN are not supported")
            }
        };
        let before: Vec<(ColumnId, Field)> = join
            .left
            .fields()
            .into_iter()
            .chain(join.right.fields())
            .map(|f| f.id)
            .zip(join.fields.clone())
            .collect();
        let (mut left_domain, mut right_domain) = (None, None);
        if to_left {
            let (left, domain) = self.push(join.left)?;
            (join.left, left_domain) = (left, Some(domain));
        }
        if to_right {
            let (right, domain) = self.push(join.right)?;
            (join.right, right_domain) = (right, Some(domain));
        }
        let of_pair = left_domain.as_ref().or(right_domain.as_ref());
        if let (Some(condition), Some(domain)) = (&mut join.residual, of_pair) {
            *condition = self.bound(condition, domain);
        }
        for key in &mut join.on {
            bind(self, &mut key.left, left_domain.as_deref());
            bind(self, &mut key.right, right_domain.as_deref());
        }
        if let Some((left, _, right)) = &mut join.asof {
            bind(self, left, left_domain.as_deref());
            bind(self, right, right_domain.as_deref());
        }
        if let (Some(left), Some(right)) = (&left_domain, &right_domain) {
            for (l, r) in left.iter().zip(right) {
                join.on.push(self.with.key(column(l), column(r), l.ty.is_nullable())?);
            }
            if join.kind == JoinKind::Cross {
                join.kind = JoinKind::Inner;
            }
        }
        // The side whose rows all stay tells which value of the domain a row belongs to.
        let telling = if join.kind == JoinKind::Right { right_domain } else { left_domain.or(right_domain) };
        let mut domain = Vec::new();
        join.fields = Vec::new();
        let telling = telling.unwrap_or_default();
        for field in join.left.fields().into_iter().chain(join.right.fields()) {
            let known = before.iter().find(|(id, _)| *id == field.id).map(|(_, f)| f.clone());
            let after = known.unwrap_or_else(|| self.with.ids.field(field.name.clone(), field.ty.clone()));
            if telling.iter().any(|d| d.id == field.id) {
                domain.push(after.clone());
            }
            join.fields.push(after);
        }
        Ok((Plan::Join(Box::new(join)), domain))
    }

    fn union(&self, mut node: Union) -> Result<Pushed> {
        for input in &mut node.inputs {
            *input = self.push(std::mem::replace(input, placeholder()))?.0;
        }
        let domain = self.new_fields();
        node.fields.extend(domain.iter().cloned());
        Ok((Plan::Union(node), domain))
    }

    fn set_op(&self, mut node: SetOp) -> Result<Pushed> {
        for input in [&mut node.left, &mut node.right] {
            **input = self.push(std::mem::replace(&mut **input, placeholder()))?.0;
        }
        let domain = self.new_fields();
        node.fields.extend(domain.iter().cloned());
        Ok((Plan::SetOp(node), domain))
    }
}

fn bind(domain: &Domain, expr: &mut Expr, fields: Option<&[Field]>) {
    if let Some(fields) = fields {
        *expr = domain.bound(expr, fields);
    }
}

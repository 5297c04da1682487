//! Correlated sub-queries become joins: nothing else could run them, so that the rule has no off switch, only its short cut.
//!
//! ```text
//! Filter exists(subquery over k)        Project (the columns of t)
//!   Scan t                                Join left semi on k = a, residual v < x
//!   with the plan                   =>      Scan t
//!     Filter a = k and v < x                Scan u
//!       Scan u
//! ```
//!
//! A conjunct of a filter becomes a semi or an anti join. Anywhere else EXISTS and IN are a column of a left join that is 1
//! where there is a partner, and a scalar sub-query is the value of the first partner.
//!
//! - [`pull_conditions`], the short cut: conditions on columns of the query around are taken out of the sub-query and
//!   become the condition of the join
//! - [`push_domain`], for all others: the distinct values of these columns (the domain) are joined into the sub-query, which
//!   then answers for all of them at once, after Neumann and Kemper, "Unnesting Arbitrary Queries" (2015)
//!
//! As in the kernel a scalar sub-query is NULL where no row meets its conditions, also when it counts.

mod pull_conditions;
mod push_domain;

use crate::rewriter::{Rewriter, bottom_up, placeholder};
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail, ensure};
use chalet_plan::{
    AnyRule, ColumnId, Expr, Field, Filter, Join, JoinKey, JoinKind, JoinStrictness, Plan, Project,
    SubqueryExpr, SubqueryKind,
};
use chalet_types::{DataType, Value};

/// The rule's name, under which its short cut is switched off.
pub(crate) const NAME: &str = "unnest_subqueries";

pub(crate) fn apply(plan: Plan, with: &Rewriter) -> Result<Plan> {
    bottom_up(plan, &mut |node| {
        let has_subquery = |e: &&Expr| e.any(&|part| matches!(part, Expr::Subquery(_)));
        if let Plan::Aggregate(aggregate) = &node {
            let having = aggregate.totals.as_ref().and_then(|totals| totals.having.as_ref());
            ensure!(
                !having.iter().any(has_subquery),
                NOT_IMPLEMENTED,
                "Correlated subqueries in HAVING of a query WITH TOTALS are not supported"
            );
        }
        if !node.expressions().iter().any(has_subquery) {
            return Ok(node);
        }
        match node {
            Plan::Filter(filter) => unnest_filter(filter, with),
            Plan::Join(join) => unnest_join(*join, with),
            other => unnest_node(other, with),
        }
    })
}

/// A filter: its conjuncts one by one, those without sub-queries first.
fn unnest_filter(filter: Filter, with: &Rewriter) -> Result<Plan> {
    let fields = filter.input.fields();
    let mut conjuncts = Vec::new();
    filter.condition.conjuncts(&mut conjuncts);
    let (nested, plain): (Vec<_>, Vec<_>) =
        conjuncts.into_iter().partition(|c| c.any(&|part| matches!(part, Expr::Subquery(_))));
    let mut outer = Outer::new(plain.into_iter().fold(*filter.input, filtered), with);
    let mut rest = Vec::new();
    for conjunct in nested {
        match as_existence(&conjunct) {
            Some((subquery, negated)) => outer.keep_rows(subquery, negated)?,
            None => rest.push(conjunct),
        }
    }
    for conjunct in rest {
        let condition = outer.without_subqueries(&conjunct)?;
        outer.plan = filtered(outer.plan, condition);
    }
    Ok(restore(outer.plan, fields))
}

fn filtered(input: Plan, condition: Expr) -> Plan {
    Plan::Filter(Filter { input: Box::new(input), condition })
}

/// EXISTS and IN, or NOT of them.
fn as_existence(conjunct: &Expr) -> Option<(&SubqueryExpr, bool)> {
    match conjunct {
        Expr::Subquery(subquery) => match subquery.kind {
            SubqueryKind::Scalar => None,
            SubqueryKind::Exists => Some((subquery, false)),
            SubqueryKind::In { negated, .. } => Some((subquery, negated)),
        },
        Expr::Call { args, .. } => {
            let is_not = conjunct.function_name() == Some("not");
            let (subquery, negated) = as_existence(args.first().filter(|_| is_not)?)?;
            Some((subquery, !negated))
        }
        _ => None,
    }
}

/// Sub-queries of ON belong to the side whose columns they read.
fn unnest_join(mut join: Join, with: &Rewriter) -> Result<Plan> {
    let before = join.fields.clone();
    let (left_fields, right_fields) = (join.left.fields(), join.right.fields());
    let left_ids: HashSet<ColumnId> = left_fields.iter().map(|f| f.id).collect();
    let mut left = Outer::new(std::mem::replace(&mut join.left, placeholder()), with);
    let mut right = Outer::new(std::mem::replace(&mut join.right, placeholder()), with);
    let right_ids: HashSet<ColumnId> = right_fields.iter().map(|f| f.id).collect();
    let mut above = Vec::new();
    let mut residual = Vec::new();
    join.residual.take().into_iter().for_each(|condition| condition.conjuncts(&mut residual));
    for key in &mut join.on {
        key.left = left.without_subqueries(&key.left)?;
        key.right = right.without_subqueries(&key.right)?;
    }
    if let Some((l, _, r)) = &mut join.asof {
        (*l, *r) = (left.without_subqueries(l)?, right.without_subqueries(r)?);
    }
    let is_inner =
        matches!(join.kind, JoinKind::Inner | JoinKind::Cross) && join.strictness == JoinStrictness::All;
    let mut kept = Vec::new();
    for conjunct in residual {
        let mut spans = false;
        let rewritten = conjunct.replace(&mut |e| {
            let Expr::Subquery(subquery) = e else { return Ok(None) };
            let columns = e.columns();
            match (columns.is_disjoint(&right_ids), columns.is_disjoint(&left_ids)) {
                (true, _) => left.value(subquery).map(Some),
                (_, true) => right.value(subquery).map(Some),
                _ => {
                    spans = true;
                    Ok(None)
                }
            }
        })?;
        ensure!(
            !spans || is_inner,
            NOT_IMPLEMENTED,
            "Correlated subqueries that read both sides of an outer JOIN in its ON section are not supported"
        );
        if spans { above.push(rewritten) } else { kept.push(rewritten) }
    }
    join.residual = with.all_of(kept)?;
    (join.left, join.right) = (left.plan, right.plan);
    let mut old =
        left_fields.iter().chain(&right_fields).map(|f| f.id).zip(before.iter().cloned()).collect::<Vec<_>>();
    join.fields = Vec::new();
    for field in join.left.fields().into_iter().chain(join.right.fields()) {
        let known = old.iter().find(|(id, _)| *id == field.id).map(|(_, f)| f.clone());
        let after = known.unwrap_or_else(|| {
            let after = with.ids.field(field.name.clone(), field.ty.clone());
            old.push((field.id, after.clone()));
            after
        });
        join.fields.push(after);
    }
    let names: Vec<_> = old.into_iter().map(|(id, f)| (id, (f.id, f.ty))).collect();
    let plan = above
        .into_iter()
        .fold(Plan::Join(Box::new(join)), |input, condition| filtered(input, condition.rename(&names)));
    apply(restore(plan, before), with)
}

/// A node with one input: the values of its sub-queries are columns of the input.
fn unnest_node(mut node: Plan, with: &Rewriter) -> Result<Plan> {
    let fields = node.fields();
    let Some(input) = node.inputs_mut().pop() else {
        bail!(NOT_IMPLEMENTED, "Correlated subqueries in {} are not supported", node.name());
    };
    let mut outer = Outer::new(std::mem::replace(input, placeholder()), with);
    for expr in node.expressions_mut() {
        *expr = outer.without_subqueries(expr)?;
    }
    if let Some(input) = node.inputs_mut().pop() {
        *input = outer.plan;
    }
    Ok(restore(node, fields))
}

/// Makes the plan put out exactly these of its fields.
fn restore(plan: Plan, fields: Vec<Field>) -> Plan {
    if plan.fields().iter().map(|f| f.id).eq(fields.iter().map(|f| f.id)) {
        return plan;
    }
    let exprs = fields.into_iter().map(|f| (f.clone(), Expr::Column(f.id, f.ty))).collect();
    Plan::Project(Project { input: Box::new(plan), exprs })
}

/// The rows that sub-queries are joined to.
struct Outer<'a> {
    with: &'a Rewriter<'a>,
    plan: Plan,
    /// The rows before any join: what domains are made of.
    base: Plan,
    /// Sub-queries that are columns of the plan already.
    known: Vec<(Expr, Expr)>,
}

/// A sub-query that reads nothing from outside, and when its rows are partners of an outer row.
struct Unnested {
    plan: Plan,
    on: Vec<JoinKey>,
    /// Over columns of both sides.
    residual: Vec<Expr>,
}

impl<'a> Outer<'a> {
    fn new(plan: Plan, with: &'a Rewriter) -> Outer<'a> {
        Outer { with, base: plan.clone(), plan, known: Vec::new() }
    }

    /// The expression with columns of the plan in place of its sub-queries.
    fn without_subqueries(&mut self, expr: &Expr) -> Result<Expr> {
        let mut lambda_params: HashSet<ColumnId> = HashSet::default();
        expr.visit(&mut |e| {
            if let Expr::Lambda { params, .. } = e {
                lambda_params.extend(params.iter().map(|(id, _)| *id));
            }
        });
        expr.replace(&mut |e| {
            let Expr::Subquery(subquery) = e else { return Ok(None) };
            ensure!(
                e.columns().is_disjoint(&lambda_params),
                NOT_IMPLEMENTED,
                "Correlated subqueries that read parameters of a lambda are not supported"
            );
            self.value(subquery).map(Some)
        })
    }

    /// The sub-query with arguments that have no sub-queries themselves.
    fn prepared(&mut self, subquery: &SubqueryExpr) -> Result<SubqueryExpr> {
        let args = subquery.args.iter().map(|arg| self.without_subqueries(arg)).collect::<Result<_>>()?;
        Ok(SubqueryExpr { args, ..subquery.clone() })
    }

    /// The value of a sub-query for each row, as an expression over the plan, to which a column is added.
    fn value(&mut self, subquery: &SubqueryExpr) -> Result<Expr> {
        let itself = Expr::Subquery(Box::new(subquery.clone()));
        if let Some((_, value)) = self.known.iter().find(|(known, _)| *known == itself) {
            return Ok(value.clone());
        }
        let subquery = self.prepared(subquery)?;
        let value = match subquery.kind {
            SubqueryKind::Scalar => self.scalar(&subquery)?,
            SubqueryKind::Exists | SubqueryKind::In { .. } => self.mark(&subquery)?,
        };
        self.known.push((itself, value.clone()));
        Ok(value)
    }

    fn scalar(&mut self, subquery: &SubqueryExpr) -> Result<Expr> {
        let Some(value) = subquery.plan.fields().into_iter().next() else {
            bail!(LOGICAL_ERROR, "A scalar subquery has no column");
        };
        let unnested = self.unnested(subquery)?;
        let after = self.with.ids.field("subquery", value.ty.clone());
        self.join(unnested, JoinStrictness::Any, Some((after.clone(), value)))?;
        Ok(Expr::Column(after.id, after.ty))
    }

    /// 1 where the sub-query has a row (that equals the needles), NULL where the needle is NULL.
    fn mark(&mut self, subquery: &SubqueryExpr) -> Result<Expr> {
        let with = self.with;
        if makes_one_row(&subquery.plan) && subquery.kind == SubqueryKind::Exists {
            return one();
        }
        let mut unnested = self.unnested(subquery)?;
        let mark = with.ids.field("found", DataType::UInt8);
        let fields = unnested.plan.fields().into_iter();
        let mut exprs: Vec<_> = fields.map(|f| (f.clone(), Expr::Column(f.id, f.ty))).collect();
        exprs.push((mark.clone(), one()?));
        unnested.plan = Plan::Project(Project { input: Box::new(unnested.plan), exprs });
        let after = with.ids.field("found", DataType::UInt8);
        self.join(unnested, JoinStrictness::Any, Some((after.clone(), mark)))?;
        let mut found = Expr::Column(after.id, after.ty);
        let SubqueryKind::In { negated, .. } = subquery.kind else { return Ok(found) };
        if negated {
            found = (with.call)("not", vec![found])?;
        }
        if subquery.ty.is_nullable() {
            let is_null = (with.call)("isNull", vec![subquery.needles()[0].clone()])?;
            let null = Expr::literal(&Value::Null, DataType::UInt8.nullable())?;
            found = (with.call)("if", vec![is_null, null, found])?;
        }
        Ok(found)
    }

    /// Keeps the rows for which the sub-query has a row, or those for which it has none.
    fn keep_rows(&mut self, subquery: &SubqueryExpr, negated: bool) -> Result<()> {
        let subquery = self.prepared(subquery)?;
        if makes_one_row(&subquery.plan) && subquery.kind == SubqueryKind::Exists {
            if negated {
                let never = Expr::literal(&Value::UInt(0), DataType::UInt8)?;
                self.plan = filtered(std::mem::replace(&mut self.plan, placeholder()), never);
            }
            return Ok(());
        }
        if negated && subquery.ty.is_nullable() {
            // NULL is not IN, but neither is it NOT IN.
            let is_value = (self.with.call)("isNotNull", vec![subquery.needles()[0].clone()])?;
            self.plan = filtered(std::mem::replace(&mut self.plan, placeholder()), is_value);
        }
        let unnested = self.unnested(&subquery)?;
        self.join(unnested, if negated { JoinStrictness::Anti } else { JoinStrictness::Semi }, None)
    }

    /// Joins the plan with a sub-query; it keeps its columns, and one of the sub-query is added under another field.
    fn join(
        &mut self,
        right: Unnested,
        strictness: JoinStrictness,
        added: Option<(Field, Field)>,
    ) -> Result<()> {
        let left = std::mem::replace(&mut self.plan, placeholder());
        let mut kept: Vec<(Field, ColumnId)> = left.fields().into_iter().map(|f| (f.clone(), f.id)).collect();
        kept.extend(added.map(|(after, of)| (after, of.id)));
        let join = Join {
            left,
            right: right.plan,
            kind: JoinKind::Left,
            strictness,
            any_rule: AnyRule::default(),
            on: right.on,
            asof: None,
            residual: self.with.all_of(right.residual)?,
            fields: Vec::new(),
            unread: Vec::new(),
        };
        self.plan = joined(join, kept, self.with);
        Ok(())
    }

    fn unnested(&self, subquery: &SubqueryExpr) -> Result<Unnested> {
        let with = self.with;
        let wanted = subquery.plan.fields();
        let mut plan = apply(Plan::clone(&subquery.plan), with)?;
        if subquery.kind != SubqueryKind::Scalar {
            plan = without_order(plan, subquery.kind == SubqueryKind::Exists);
        }
        let pulled = match (with.is_off)(NAME) {
            true => None,
            false => pull_conditions::pull(&plan, &subquery.params, with)?,
        };
        let mut unnested = match pulled {
            Some((plan, conditions)) => self.on_conditions(plan, conditions, subquery)?,
            None => {
                let args = &subquery.args[..subquery.params.len()];
                let base = match args.iter().all(|arg| reads_only(arg, &self.base)) {
                    true => &self.base,
                    false => &self.plan,
                };
                let (plan, on) = push_domain::unnest(plan, &subquery.params, args, base, with)?;
                Unnested { plan, on, residual: Vec::new() }
            }
        };
        if let SubqueryKind::In { null_in, .. } = subquery.kind {
            for (needle, field) in subquery.needles().iter().zip(wanted) {
                let column = Expr::Column(field.id, field.ty);
                unnested.on.push(with.key(needle.clone(), column, null_in)?);
            }
        }
        Ok(unnested)
    }

    /// Equalities of something outside and something inside are keys, anything else is a condition of pairs.
    fn on_conditions(&self, plan: Plan, conditions: Vec<Expr>, subquery: &SubqueryExpr) -> Result<Unnested> {
        let mut unnested = Unnested { plan, on: Vec::new(), residual: Vec::new() };
        for condition in conditions {
            match pull_conditions::equality(&condition, &subquery.params) {
                Some(equality) => {
                    let outer = with_args(&equality.outer, subquery, self.with)?;
                    unnested.on.push(self.with.key(outer, equality.inner, equality.null_safe)?);
                }
                None => unnested.residual.push(with_args(&condition, subquery, self.with)?),
            }
        }
        Ok(unnested)
    }
}

fn one() -> Result<Expr> {
    Expr::literal(&Value::UInt(1), DataType::UInt8)
}

fn reads_only(expr: &Expr, plan: &Plan) -> bool {
    let fields = plan.fields();
    expr.columns().iter().all(|id| fields.iter().any(|f| f.id == *id))
}

/// The expression with the arguments of the sub-query in place of its parameters.
fn with_args(expr: &Expr, subquery: &SubqueryExpr, with: &Rewriter) -> Result<Expr> {
    expr.replace(&mut |e| {
        let position =
            e.as_column().and_then(|id| subquery.params.iter().position(|(param, _)| *param == id));
        let arg = position.map(|at| (with.cast)(subquery.args[at].clone(), &subquery.params[at].1));
        arg.transpose()
    })
}

/// The join under the projection that gives its columns the given fields; the join's own fields are made here.
fn joined(mut join: Join, kept: Vec<(Field, ColumnId)>, with: &Rewriter) -> Plan {
    let sources: Vec<Field> = join.left.fields().into_iter().chain(join.right.fields()).collect();
    join.fields = sources.iter().map(|f| with.ids.field(f.name.clone(), f.ty.clone())).collect();
    let exprs = kept.into_iter().filter_map(|(field, of)| {
        let position = sources.iter().position(|f| f.id == of)?;
        let column = &join.fields[position];
        Some((field, Expr::Column(column.id, column.ty.clone())))
    });
    let exprs = exprs.collect();
    Plan::Project(Project { input: Box::new(Plan::Join(Box::new(join))), exprs })
}

/// Has the query exactly one row, whatever it reads?
fn makes_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Project(node) => makes_one_row(&node.input),
        Plan::Sort(node) => makes_one_row(&node.input),
        Plan::Aggregate(node) => {
            node.keys.is_empty() && node.sets.is_empty() && !node.empty_if_no_rows && node.totals.is_none()
        }
        _ => false,
    }
}

/// What changes neither whether there is a row nor, unless `columns_too`, which values there are.
fn without_order(plan: Plan, columns_too: bool) -> Plan {
    match plan {
        Plan::Sort(node) if node.limit.is_none() => without_order(*node.input, columns_too),
        Plan::Distinct(node) if columns_too => without_order(*node.input, columns_too),
        Plan::Project(node) if columns_too => without_order(*node.input, columns_too),
        Plan::Limit(node)
            if columns_too
                && node.limit.is_some_and(|n| n > 0)
                && node.offset == 0
                && node.ties.is_none()
                && !node.from_end.any()
                && node.parts.is_empty() =>
        {
            without_order(*node.input, columns_too)
        }
        Plan::Project(node) => {
            let input = Box::new(without_order(*node.input, columns_too));
            Plan::Project(Project { input, ..node })
        }
        other => other,
    }
}

//! Correlated sub-queries: what equals a column of the query around becomes the key of a LEFT JOIN with the sub-query.
//!
//! `(SELECT max(y) FROM u WHERE u.k = t.k)` is the column `m` of `t ANY LEFT JOIN (SELECT k, max(y) AS m FROM u GROUP BY k)`.
//! EXISTS and IN read a column that is 1 in every row of the sub-query, so that rows without a partner have 0. As in the
//! kernel a scalar one is NULL where no row meets the condition, also when it counts.

use crate::call::{cast, make_call};
use crate::query::BoundQuery;
use crate::select::SelectBinder;
use chalet_base::hash::HashSet;
use chalet_base::{Result, bail, ensure};
use chalet_plan::{ColumnId, Expr, Field, GroupingKind, Join, JoinKind, JoinStrictness, Plan, Project};
use chalet_types::{DataType, Value};

/// A sub-query that is joined to the rows of FROM before WHERE sees them.
pub(crate) struct Correlated {
    right: Plan,
    /// Equal pairs: expressions over FROM, and columns of `right`.
    pairs: Vec<(Expr, Expr)>,
    /// The column of `right` that is wanted, and what it is after the join.
    wanted: Field,
    after: Field,
}

/// Pairs that a plan's rows have to meet, taken out of it: outer expression and inner column.
type Pairs = Vec<(Expr, Field)>;

impl SelectBinder<'_> {
    /// Does the sub-query read columns of this SELECT?
    pub(crate) fn is_correlated(&self, bound: &BoundQuery) -> bool {
        let mut free = HashSet::default();
        free_columns(&bound.plan, &mut free);
        !free.is_empty()
    }

    /// The value of a sub-query of one column, for each row.
    pub(crate) fn correlated_scalar(&mut self, bound: BoundQuery) -> Result<Expr> {
        let [field] = &bound.fields[..] else {
            bail!(NOT_IMPLEMENTED, "Correlated scalar subqueries of more than one column are not supported");
        };
        let field = field.clone();
        let (plan, pairs) = self.pull(bound.plan)?;
        ensure!(
            is_unique(&plan),
            NOT_IMPLEMENTED,
            "Correlated scalar subqueries without an aggregate function are not supported"
        );
        let ty = if field.ty.can_be_nullable() { field.ty.clone().nullable() } else { field.ty.clone() };
        let value = cast(self.query.env, Expr::Column(field.id, field.ty), &ty)?;
        self.attach(plan, pairs, Vec::new(), value)
    }

    /// Is there a row? With `needles`: one whose columns equal them?
    pub(crate) fn correlated_exists(&mut self, bound: BoundQuery, needles: Vec<Expr>) -> Result<Expr> {
        let columns = bound.fields.iter().map(|f| Expr::Column(f.id, f.ty.clone()));
        let mut more: Vec<(Expr, Expr)> = needles.into_iter().zip(columns).collect();
        let (plan, pairs) = self.pull(bound.plan)?;
        let null_needles: Vec<Expr> =
            more.iter().filter(|(n, _)| n.ty().is_nullable()).map(|(n, _)| n.clone()).collect();
        let one = Expr::literal(&Value::UInt(1), DataType::UInt8)?;
        let mut found = self.attach(plan, pairs, std::mem::take(&mut more), one)?;
        let env = self.query.env;
        for needle in null_needles {
            let is_null = make_call(env, "isNull", vec![needle])?;
            let null = Expr::literal(&Value::Null, DataType::UInt8.nullable())?;
            found = make_call(env, "if", vec![is_null, null, found])?;
        }
        Ok(found)
    }

    /// Remembers the join; the expression is its column.
    fn attach(&mut self, plan: Plan, pairs: Pairs, more: Vec<(Expr, Expr)>, value: Expr) -> Result<Expr> {
        let ids = self.query.ids;
        let own: HashSet<ColumnId> = self.tables.all_columns().flat_map(|c| c.expr.columns()).collect();
        let mut exprs: Vec<(Field, Expr)> = Vec::new();
        let mut keys = Vec::new();
        let inner = pairs.into_iter().map(|(outer, field)| (outer, Expr::Column(field.id, field.ty)));
        for (outer, inner) in inner.chain(more) {
            ensure!(
                outer.columns().is_subset(&own),
                NOT_IMPLEMENTED,
                "Correlated subqueries that read columns of a query further out are not supported"
            );
            let field = ids.field("", inner.ty().clone());
            keys.push((outer, Expr::Column(field.id, field.ty.clone())));
            exprs.push((field, inner));
        }
        let wanted = ids.field("", value.ty().clone());
        exprs.push((wanted.clone(), value));
        let right = Plan::Project(Project { input: Box::new(plan), exprs });
        let after = ids.field("subquery", wanted.ty.clone());
        let column = Expr::Column(after.id, after.ty.clone());
        self.correlated.push(Correlated { right, pairs: keys, wanted, after });
        Ok(column)
    }

    /// The rows of FROM, with a column for each correlated sub-query.
    pub(crate) fn join_correlated(&mut self, mut plan: Plan) -> Result<Plan> {
        for join in std::mem::take(&mut self.correlated) {
            let before = plan.fields();
            let mut exprs = Vec::with_capacity(before.len() + 1);
            let mut fields = Vec::with_capacity(before.len());
            for field in before {
                let joined = self.query.ids.field(field.name.clone(), field.ty.clone());
                exprs.push((field, Expr::Column(joined.id, joined.ty.clone())));
                fields.push(joined);
            }
            for field in join.right.fields() {
                let joined = self.query.ids.field(field.name.clone(), field.ty.clone());
                if field.id == join.wanted.id {
                    exprs.push((join.after.clone(), Expr::Column(joined.id, joined.ty.clone())));
                }
                fields.push(joined);
            }
            let on = join.pairs.into_iter().map(|(outer, inner)| self.key(outer, inner, false));
            let node = Join {
                left: plan,
                right: join.right,
                kind: JoinKind::Left,
                strictness: JoinStrictness::Any,
                on: on.collect::<Result<_>>()?,
                asof: None,
                residual: None,
                fields,
            };
            plan = Plan::Project(Project { input: Box::new(Plan::Join(Box::new(node))), exprs });
        }
        Ok(plan)
    }

    /// Takes the conditions on outer columns out of a sub-query. Its plan then puts out the inner sides as well.
    fn pull(&self, plan: Plan) -> Result<(Plan, Pairs)> {
        let mut inner_free = HashSet::default();
        free_columns(&plan, &mut inner_free);
        if inner_free.is_empty() {
            return Ok((plan, Vec::new()));
        }
        let own_free: HashSet<ColumnId> = inner_free;
        let reads_outer = |e: &Expr| !e.columns().is_disjoint(&own_free);
        match plan {
            Plan::Project(mut node) => {
                let (input, pairs) = self.pull(*node.input)?;
                ensure!(
                    !node.exprs.iter().any(|(_, e)| reads_outer(e)),
                    NOT_IMPLEMENTED,
                    "Correlated subqueries are supported with equalities in WHERE only, not with outer columns in SELECT"
                );
                let known: HashSet<ColumnId> = node.exprs.iter().map(|e| e.0.id).collect();
                let keys = pairs.iter().filter(|(_, f)| !known.contains(&f.id));
                node.exprs.extend(keys.map(|(_, f)| (f.clone(), Expr::Column(f.id, f.ty.clone()))));
                Ok((Plan::Project(Project { input: Box::new(input), exprs: node.exprs }), pairs))
            }
            Plan::Filter(node) => {
                let (input, mut pairs) = self.pull(*node.input)?;
                let mut parts = Vec::new();
                node.condition.conjuncts(&mut parts);
                let (outer, inner): (Vec<_>, Vec<_>) = parts.into_iter().partition(|p| reads_outer(p));
                let mut plan = input;
                for condition in inner {
                    plan = Plan::Filter(chalet_plan::Filter { input: Box::new(plan), condition });
                }
                let mut computed = Vec::new();
                for part in outer {
                    let (outer, inner) = self.equality(part, &own_free)?;
                    let field = self.query.ids.field("", inner.ty().clone());
                    computed.push((field.clone(), inner));
                    pairs.push((outer, field));
                }
                let fields = plan.fields().into_iter();
                let mut exprs: Vec<_> = fields.map(|f| (f.clone(), Expr::Column(f.id, f.ty))).collect();
                exprs.extend(computed);
                Ok((Plan::Project(Project { input: Box::new(plan), exprs }), pairs))
            }
            Plan::Aggregate(mut node) => {
                let (input, pairs) = self.pull(*node.input)?;
                ensure!(
                    node.grouping == GroupingKind::Plain && node.totals.is_none(),
                    NOT_IMPLEMENTED,
                    "Correlated subqueries with ROLLUP, CUBE, GROUPING SETS or WITH TOTALS are not supported"
                );
                let mut after = Vec::with_capacity(pairs.len());
                for (outer, field) in pairs {
                    let key = self.query.ids.field("", field.ty.clone());
                    node.keys.push((key.clone(), Expr::Column(field.id, field.ty)));
                    after.push((outer, key));
                }
                *node.input = input;
                Ok((Plan::Aggregate(node), after))
            }
            Plan::Sort(mut node) if node.limit.is_none() => {
                let (input, pairs) = self.pull(*node.input)?;
                *node.input = input;
                Ok((Plan::Sort(node), pairs))
            }
            other => bail!(
                NOT_IMPLEMENTED,
                "Correlated subqueries with a correlated condition below {} are not supported",
                other.name()
            ),
        }
    }

    /// `outer = inner`, whichever way round it is written.
    fn equality(&self, part: Expr, outer: &HashSet<ColumnId>) -> Result<(Expr, Expr)> {
        if part.function_name() == Some("equals")
            && let Expr::Call { args, .. } = &part
            && let [a, b] = &args[..]
        {
            let all_outer = |e: &Expr| e.columns().is_subset(outer) && !e.columns().is_empty();
            let all_inner = |e: &Expr| e.columns().is_disjoint(outer);
            if all_outer(a) && all_inner(b) {
                return Ok((a.clone(), b.clone()));
            }
            if all_outer(b) && all_inner(a) {
                return Ok((b.clone(), a.clone()));
            }
        }
        bail!(
            NOT_IMPLEMENTED,
            "Correlated subqueries with a condition that is not an equality are not supported"
        )
    }
}

/// Is there at most one row for each value of the keys that were added?
fn is_unique(plan: &Plan) -> bool {
    match plan {
        Plan::Project(node) => is_unique(&node.input),
        Plan::Filter(node) => is_unique(&node.input),
        Plan::Sort(node) => is_unique(&node.input),
        // All keys are those of the correlation: the sub-query itself had no GROUP BY.
        Plan::Aggregate(node) => node.keys.iter().all(|(field, _)| field.name.is_empty()),
        _ => false,
    }
}

/// Columns that a plan reads and that none of its nodes makes.
fn free_columns(plan: &Plan, free: &mut HashSet<ColumnId>) {
    let mut known: HashSet<ColumnId> = HashSet::default();
    for input in plan.inputs() {
        free_columns(input, free);
        known.extend(input.fields().iter().map(|f| f.id));
    }
    if let Plan::Scan(scan) = plan {
        known.extend(scan.columns.iter().map(|(_, f)| f.id));
    }
    if let Plan::Fill(fill) = plan {
        known.extend(fill.columns.iter().map(|c| c.0));
    }
    for expr in plan.expressions() {
        free.extend(expr.columns().into_iter().filter(|id| !known.contains(id)));
    }
}

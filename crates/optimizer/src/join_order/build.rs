//! A tree of joins as a plan, with the columns of the group that it takes the place of.

use super::cost::Tree;
use super::graph::{Graph, Set};
use crate::cross_join_to_inner::equality;
use crate::rewriter::{Rewriter, placeholder};
use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use chalet_plan::{AnyRule, ColumnId, Expr, Field, Join, JoinKey, JoinKind, JoinStrictness, Plan, Project};

struct Builder<'a> {
    graph: Graph,
    with: &'a Rewriter<'a>,
    /// Conditions that stand in the plan.
    placed: Vec<bool>,
}

/// Columns of relations, and the columns that they are in a join of them.
type Names = HashMap<ColumnId, Field>;

/// `outputs`: the fields of the plan, and what each is over the columns of the relations.
pub(super) fn plan(graph: Graph, tree: &Tree, outputs: Vec<(Field, Expr)>, with: &Rewriter) -> Result<Plan> {
    let placed = vec![false; graph.conditions.len()];
    let mut builder = Builder { graph, with, placed };
    let (plan, names) = builder.join(tree)?;
    let exprs = outputs.into_iter().map(|(field, expr)| Ok((field, over(&expr, &names)?)));
    Ok(Plan::Project(Project { exprs: exprs.collect::<Result<_>>()?, input: Box::new(plan) }))
}

/// An expression over columns of relations, over the columns that they are in a join.
fn over(expr: &Expr, names: &Names) -> Result<Expr> {
    expr.replace(&mut |e| {
        let named = e.as_column().and_then(|id| names.get(&id));
        Ok(named.map(|field| Expr::Column(field.id, field.ty.clone())))
    })
}

impl Builder<'_> {
    fn join(&mut self, tree: &Tree) -> Result<(Plan, Names)> {
        let (left, right) = match tree {
            Tree::Relation(number) => {
                let relation = &mut self.graph.relations[*number];
                let plan = std::mem::replace(&mut relation.plan, placeholder());
                let names = plan.fields().into_iter().map(|field| (field.id, field));
                return Ok((plan, names.collect()));
            }
            Tree::Join(left, right) => (left, right),
        };
        let sides = (left.set(), right.set());
        let (left, left_names) = self.join(left)?;
        let (right, right_names) = self.join(right)?;
        let mut on = self.keys(sides, &left_names, &right_names)?;
        let mut conditions = Vec::new();
        for at in 0..self.graph.conditions.len() {
            let condition = &self.graph.conditions[at];
            if self.placed[at] || condition.relations & !(sides.0 | sides.1) != 0 {
                continue;
            }
            self.placed[at] = true;
            match equality(&condition.expr, self.with)? {
                Some((a, b)) if is_over(&a, &left_names) && is_over(&b, &right_names) => {
                    on.push(key(&a, &b, false, &left_names, &right_names)?);
                }
                Some((a, b)) if is_over(&b, &left_names) && is_over(&a, &right_names) => {
                    on.push(key(&b, &a, false, &left_names, &right_names)?);
                }
                _ => {
                    let named = left_names.iter().chain(&right_names);
                    let named = named.map(|(id, field)| (*id, field.clone())).collect();
                    conditions.push(over(&condition.expr, &named)?);
                }
            }
        }
        let mut names = Names::default();
        let mut fields = Vec::new();
        let by_id = |names: Names| names.into_iter().map(|(source, field)| (field.id, source)).collect();
        let sources: [HashMap<ColumnId, ColumnId>; 2] = [by_id(left_names), by_id(right_names)];
        for (side, sources) in [&left, &right].into_iter().zip(sources) {
            for field in side.fields() {
                let source = sources.get(&field.id).copied();
                let source = source.ok_or_else(|| err!(LOGICAL_ERROR, "A join has an unknown column"))?;
                let renamed = self.with.ids.field(field.name, field.ty);
                names.insert(source, renamed.clone());
                fields.push(renamed);
            }
        }
        let residual = self.with.all_of(conditions)?;
        let kind = if on.is_empty() && residual.is_none() { JoinKind::Cross } else { JoinKind::Inner };
        let join = Join {
            left,
            right,
            kind,
            strictness: JoinStrictness::All,
            any_rule: AnyRule::default(),
            on,
            asof: None,
            residual,
            fields,
            unread: Vec::new(),
        };
        Ok((Plan::Join(Box::new(join)), names))
    }

    /// One key of each class that has members on both sides, and the edges between them.
    fn keys(&self, sides: (Set, Set), left_names: &Names, right_names: &Names) -> Result<Vec<JoinKey>> {
        let is_in = |side: Set, relation: usize| side >> relation & 1 == 1;
        let mut keys = Vec::new();
        for class in &self.graph.classes {
            let of = |side: Set| class.iter().find(|member| is_in(side, member.relation));
            if let (Some(left), Some(right)) = (of(sides.0), of(sides.1)) {
                keys.push(key(&left.expr, &right.expr, false, left_names, right_names)?);
            }
        }
        for edge in &self.graph.edges {
            let (a, b) = (&edge.left, &edge.right);
            if is_in(sides.0, a.relation) && is_in(sides.1, b.relation) {
                keys.push(key(&a.expr, &b.expr, edge.null_safe, left_names, right_names)?);
            } else if is_in(sides.0, b.relation) && is_in(sides.1, a.relation) {
                keys.push(key(&b.expr, &a.expr, edge.null_safe, left_names, right_names)?);
            }
        }
        Ok(keys)
    }
}

fn key(
    left: &Expr,
    right: &Expr,
    null_safe: bool,
    left_names: &Names,
    right_names: &Names,
) -> Result<JoinKey> {
    Ok(JoinKey { left: over(left, left_names)?, right: over(right, right_names)?, null_safe })
}

fn is_over(expr: &Expr, names: &Names) -> bool {
    let columns = expr.columns();
    !columns.is_empty() && columns.iter().all(|id| names.contains_key(id))
}

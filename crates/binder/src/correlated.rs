//! Correlated sub-queries: they stay expressions, with the columns of the query around as parameters. The optimizer makes
//! joins of them.

use crate::call::cast;
use crate::query::BoundQuery;
use crate::select::SelectBinder;
use chalet_base::hash::HashSet;
use chalet_base::{Result, ensure};
use chalet_plan::{ColumnId, Expr, Plan, Project, SubqueryExpr, SubqueryKind};
use chalet_syntax::ast::{self, ExprKind};
use chalet_syntax::visit;
use chalet_types::DataType;
use std::collections::BTreeSet;
use std::sync::Arc;

impl SelectBinder<'_> {
    /// The value of a sub-query of one column, for each row. NULL where it has no row.
    pub(crate) fn correlated_scalar(&mut self, bound: BoundQuery) -> Result<Expr> {
        ensure!(
            bound.fields.len() == 1,
            NUMBER_OF_COLUMNS_DOESNT_MATCH,
            "A correlated subquery used as an expression must return exactly one column, but it returns {}",
            bound.fields.len()
        );
        let field = bound.fields[0].clone();
        let ty = if field.ty.can_be_nullable() { field.ty.clone().nullable() } else { field.ty.clone() };
        let value = cast(self.query.env, Expr::Column(field.id, field.ty), &ty)?;
        let exprs = vec![(self.query.ids.field(field.name, ty.clone()), value)];
        let plan = Plan::Project(Project { input: Box::new(bound.plan), exprs });
        Ok(self.correlated(SubqueryKind::Scalar, plan, Vec::new(), ty))
    }

    /// The sub-query over the columns that it reads of this SELECT and of those around it.
    pub(crate) fn correlated(
        &mut self,
        kind: SubqueryKind,
        plan: Plan,
        needles: Vec<Expr>,
        ty: DataType,
    ) -> Expr {
        let params = plan.free_columns();
        let known = self.subquery_params.borrow();
        let own: HashSet<ColumnId> = self.tables.all_columns().flat_map(|c| c.expr.columns()).collect();
        let is_outer = |id: &ColumnId| !own.contains(id) && known.iter().all(|(param, _)| param != id);
        self.outer_columns.extend(params.iter().map(|(id, _)| *id).filter(is_outer));
        let mut args: Vec<Expr> = params
            .iter()
            .map(|(id, ty)| match known.iter().find(|(param, _)| param == id) {
                Some((_, expr)) => expr.clone(),
                None => Expr::Column(*id, ty.clone()),
            })
            .collect();
        args.extend(needles);
        Expr::Subquery(Box::new(SubqueryExpr { kind, plan: Arc::new(plan), params, args, ty }))
    }

    /// Binds the aliases of this SELECT that a sub-query mentions, so that it finds them.
    pub(crate) fn bind_mentioned_aliases(&mut self, query: &ast::Query) {
        if self.aliases.is_empty() {
            return;
        }
        let mut names = BTreeSet::new();
        mentioned_names(query, &mut names);
        for name in names {
            let Some(target) = self.aliases.get(&name).cloned() else { continue };
            let is_known = self.bound_aliases.contains_key(&name) || self.resolving.contains(&name);
            if is_known || matches!(target.kind, ExprKind::Lambda { .. }) {
                continue;
            }
            let lengths = (self.aggregates.len(), self.windows.len(), self.array_joins.len());
            let before = self.bound_aliases.clone();
            // What cannot be bound here is no name of the sub-query's, or that says why.
            let _ = self.alias(&name, &target);
            // The name may mean something else inside, and then nobody has asked for what the alias computes.
            if lengths != (self.aggregates.len(), self.windows.len(), self.array_joins.len()) {
                self.aggregates.truncate(lengths.0);
                self.windows.truncate(lengths.1);
                self.array_joins.truncate(lengths.2);
                self.bound_aliases = before;
            }
        }
    }

    /// An expression of this SELECT as a column for a sub-query: the parameter that stands for it there.
    pub(crate) fn as_parameter(&self, expr: &Expr) -> Expr {
        let mut known = self.subquery_params.borrow_mut();
        let id = match known.iter().find(|(_, known)| known == expr) {
            Some((id, _)) => *id,
            None => {
                let id = self.query.ids.next();
                known.push((id, expr.clone()));
                id
            }
        };
        Expr::Column(id, expr.ty().clone())
    }
}

/// The first parts of all identifiers in a query.
fn mentioned_names(query: &ast::Query, names: &mut BTreeSet<String>) {
    visit::for_each_select(query, &mut |select| {
        visit::for_each_clause(select, &mut |clause| {
            visit::walk(clause, &mut |e| {
                match &e.kind {
                    ExprKind::Identifier(parts) => names.extend(parts.first().map(|part| part.name.clone())),
                    ExprKind::Subquery(query) | ExprKind::Exists(query) => mentioned_names(query, names),
                    _ => {}
                }
                true
            });
        });
        let inner = visit::tables(select).filter_map(visit::subquery_of);
        inner.for_each(|query| mentioned_names(query, names));
    });
}

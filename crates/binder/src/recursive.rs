//! WITH RECURSIVE: the parts of the query, and its rows, which come step by step while the statement is bound.

use crate::query::{BoundQuery, Cte, QueryBinder};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, Column, Vector};
use chalet_plan::{Expr, Field, Plan, Project, Values};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::variant::common_or_variant;
use std::rc::Rc;

/// How often the types of the step may widen those of the columns: Int8 is Int64 after three times.
const MAX_WIDENED: usize = 16;

impl QueryBinder<'_> {
    /// Runs the base, then the step over what came last, until nothing comes.
    /// No more than `needed` rows are asked for, where that is known.
    pub(crate) fn recursive_cte(
        &self,
        cte: &Rc<Cte>,
        (base, step): (Vec<ast::SetExpr>, Vec<ast::SetExpr>),
        needed: Option<u64>,
    ) -> Result<BoundQuery> {
        let as_query = |inputs: Vec<ast::SetExpr>| {
            let span = ast::Span::default();
            let body = match <[ast::SetExpr; 1]>::try_from(inputs) {
                Ok([one]) => one,
                Err(inputs) => {
                    ast::SetExpr::SetOp { op: ast::SetOp::Union, quantifier: ast::SetQuantifier::All, inputs }
                }
            };
            ast::Query { body, span }
        };
        if let ast::SetExpr::SetOp { quantifier: ast::SetQuantifier::Distinct, .. } = &cte.query.body {
            bail!(
                UNSUPPORTED_METHOD,
                "Recursive CTE subquery {} with UNION_DISTINCT union mode is unsupported, only UNION ALL union mode is supported",
                cte.name
            );
        }
        let bound = self.query(&as_query(base))?;
        let mut fields = bound.fields.clone();
        for (field, name) in fields.iter_mut().zip(&cte.columns) {
            field.name = name.as_str().into();
        }
        let step = as_query(step);
        self.widen(cte, &mut fields, &step)?;
        let mut rows = self.env.run(self.cast_to(bound, &fields)?)?;
        let mut all = rows.clone();
        let max_depth = self.env.settings().max_recursive_cte_evaluation_depth;
        let mut depth = 0;
        let is_enough = |all: &[Block]| {
            let n_rows: u64 = all.iter().map(|block| block.n_rows() as u64).sum();
            needed.is_some_and(|needed| n_rows >= needed)
        };
        while rows.iter().any(|b| !b.is_empty()) && !is_enough(&all) {
            depth += 1;
            ensure!(
                depth <= max_depth,
                TOO_DEEP_RECURSION,
                "Maximum recursive CTE evaluation depth ({max_depth}) exceeded, during evaluation of {}. Consider \
                 raising max_recursive_cte_evaluation_depth setting",
                cte.name
            );
            let bound = self.step(cte, &fields, &rows, &step)?;
            rows = self.env.run(self.cast_to(bound, &fields)?)?;
            all.extend(rows.iter().cloned());
        }
        // New ids: the same rows may be used in several places.
        let fields: Vec<Field> = fields.iter().map(|f| self.field_like(f, f.ty.clone())).collect();
        Ok(BoundQuery { plan: self.rows_as_plan(&fields, &all), fields })
    }

    /// Binds the step over the rows that came last.
    fn step(&self, cte: &Rc<Cte>, fields: &[Field], rows: &[Block], step: &ast::Query) -> Result<BoundQuery> {
        let working = (self.rows_as_plan(fields, rows), fields.to_vec());
        let ctes = Some(Rc::new(cte.step(working)));
        let bound = QueryBinder { ctes, ..self.clone() }.query(step)?;
        ensure!(
            bound.fields.len() == fields.len(),
            UNION_ALL_RESULT_STRUCTURES_MISMATCH,
            "Different number of columns in recursive CTE {}",
            cte.name
        );
        Ok(bound)
    }

    /// Gives the columns the types that hold the rows of every step: those of the step depend on them in turn, `x + 1` is
    /// wider than `x`.
    fn widen(&self, cte: &Rc<Cte>, fields: &mut [Field], step: &ast::Query) -> Result<()> {
        let use_variant = self.env.context().settings.use_variant_as_common_type;
        for _ in 0..MAX_WIDENED {
            let bound = self.step(cte, fields, &[], step)?;
            let mut widened = false;
            for (field, next) in fields.iter_mut().zip(bound.fields) {
                let common = common_or_variant(&[field.ty.clone(), next.ty], use_variant)?;
                widened |= common != field.ty;
                field.ty = common;
            }
            if !widened {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The rows of a query as columns of these types.
    fn cast_to(&self, bound: BoundQuery, fields: &[Field]) -> Result<Plan> {
        let mut exprs = Vec::with_capacity(fields.len());
        for (field, target) in bound.fields.iter().zip(fields) {
            let source = Expr::Column(field.id, field.ty.clone());
            let cast = crate::call::cast(self.env, source, &target.ty)?;
            exprs.push((self.ids.field(target.name.clone(), target.ty.clone()), cast));
        }
        Ok(Plan::Project(Project { input: Box::new(bound.plan), exprs }))
    }

    fn rows_as_plan(&self, fields: &[Field], rows: &[Block]) -> Plan {
        let rows: Vec<Block> = rows.iter().filter(|b| !b.is_empty()).cloned().collect();
        let block = match rows.is_empty() {
            true => {
                let columns = fields.iter().map(|f| Column::Flat(Vector::defaults(&f.ty, 0)));
                Block::new(columns.collect(), 0)
            }
            false => Block::concat(&rows),
        };
        Plan::Values(Values { fields: fields.to_vec(), block })
    }
}

/// The inputs of the UNION that do not use the expression itself, and those that do.
pub(crate) fn recursive_parts(cte: &Cte) -> Option<(Vec<ast::SetExpr>, Vec<ast::SetExpr>)> {
    if !cte.recursive {
        return None;
    }
    let ast::SetExpr::SetOp { op: ast::SetOp::Union, inputs, .. } = &cte.query.body else { return None };
    let uses = |input: &ast::SetExpr| body_uses(input, &cte.name);
    let (step, base): (Vec<_>, Vec<_>) = inputs.iter().cloned().partition(uses);
    (!step.is_empty()).then_some((base, step))
}

/// Does a query name the expression as a table?
pub(crate) fn body_uses(body: &ast::SetExpr, name: &str) -> bool {
    let mut found = false;
    let query = ast::Query { body: body.clone(), span: ast::Span::default() };
    uses_table(&query, name, &mut found);
    found
}

fn uses_table(query: &ast::Query, name: &str, found: &mut bool) {
    chalet_syntax::visit::for_each_select(query, &mut |select| {
        for item in &select.with {
            if let ast::WithItem::Cte { query, .. } = item {
                uses_table(query, name, found);
            }
        }
        chalet_syntax::visit::for_each_clause(select, &mut |clause| {
            chalet_syntax::visit::walk(clause, &mut |e| {
                if let ExprKind::Subquery(query) | ExprKind::Exists(query) = &e.kind {
                    uses_table(query, name, found);
                }
                true
            });
        });
        for table in chalet_syntax::visit::tables(select) {
            match &table.kind {
                ast::TableKind::Name(object) if object.database.is_none() && object.name.name == name => {
                    *found = true
                }
                _ => {
                    if let Some(query) = chalet_syntax::visit::subquery_of(table) {
                        uses_table(query, name, found);
                    }
                }
            }
        }
    });
}

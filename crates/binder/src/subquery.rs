//! Sub-queries that give one value: they run while the query is bound, so that the rest sees a constant.

use crate::query::{BoundQuery, QueryBinder};
use crate::select::SelectBinder;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Vector};
use chalet_plan::{Expr, Field, FromEnd, Limit, Literal, Plan, RowParts, SubqueryKind};
use chalet_syntax::ast;
use chalet_types::{DataType, TupleField, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

impl<'b> QueryBinder<'b> {
    /// The binder of a sub-query of a SELECT.
    pub(crate) fn deeper_in<'s>(&'s self, outer: &'s SelectBinder<'s>) -> QueryBinder<'s>
    where
        'b: 's,
    {
        let sees_with = self.env.settings().enable_global_with_statement;
        QueryBinder {
            env: self.env,
            ids: self.ids,
            ctes: self.ctes.clone().filter(|_| sees_with),
            outer: Some(outer),
            in_expression: false,
            depth: self.depth + 1,
            shared: self.shared.clone(),
            with: self.with.clone().filter(|_| sees_with),
            n_subqueries: self.n_subqueries.clone(),
            is_named_set: false,
        }
    }

    /// The binder of a sub-query in an expression of a SELECT.
    pub(crate) fn in_expression_of<'s>(&'s self, outer: &'s SelectBinder<'s>) -> QueryBinder<'s>
    where
        'b: 's,
    {
        // Its number and those of the sub-queries inside it are counted already.
        let n_subqueries = Rc::new(Cell::new(self.n_subqueries.get()));
        QueryBinder { in_expression: true, n_subqueries, ..self.deeper_in(outer) }
    }
}

impl SelectBinder<'_> {
    pub(crate) fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Expr> {
        let key = self.shared_key("scalar", query);
        if let Some(value) = key.as_ref().and_then(|key| self.query.shared.value(key)) {
            return Ok(value);
        }
        self.bind_mentioned_aliases(query);
        let bound = self.query.in_expression_of(self).query(query)?;
        if bound.is_correlated() {
            return self.correlated_scalar(bound);
        }
        let value = self.value_of(bound)?;
        if let Some(key) = key {
            self.query.shared.add_value(key, value.clone());
        }
        Ok(value)
    }

    /// Runs a sub-query for its only row.
    fn value_of(&self, bound: BoundQuery) -> Result<Expr> {
        let rows = self.query.env.run(limited(bound.plan, 2))?;
        let n_rows: usize = rows.iter().map(Block::n_rows).sum();
        if n_rows > 1 {
            bail!(INCORRECT_RESULT_OF_SCALAR_SUBQUERY, "Scalar subquery returned more than one row");
        }
        let row = rows.iter().find(|b| !b.is_empty());
        if let [field] = &bound.fields[..] {
            let ty = if field.ty.can_be_nullable() { field.ty.clone().nullable() } else { field.ty.clone() };
            let value = match row {
                Some(block) => block.column(0).slice(0, 1).into_flat(),
                None if !matches!(ty, DataType::Nullable(_)) => bail!(
                    INCORRECT_RESULT_OF_SCALAR_SUBQUERY,
                    "Scalar subquery returned empty result of type {ty} which cannot be Nullable"
                ),
                None => Vector::defaults(&ty, 1),
            };
            return Ok(Expr::Literal(Literal { value: Arc::new(value), ty }));
        }
        // Of no row the tuple has no names.
        let name = |field: &Field| row.map(|_| field.name.clone());
        let fields = bound.fields.iter();
        let ty = DataType::Tuple(fields.map(|f| TupleField { name: name(f), ty: f.ty.clone() }).collect());
        match row {
            Some(block) => {
                let values = block.columns().iter().map(|c| c.value(0)).collect();
                Expr::literal(&Value::Tuple(values), ty)
            }
            None => Expr::literal(&Value::Null, ty.nullable()),
        }
    }

    /// `place` is where EXISTS begins in the text.
    pub(crate) fn exists(&mut self, query: &ast::Query, place: u32) -> Result<Expr> {
        let found = self.rows_exist(query)?;
        if let Some(literal) = found.as_literal() {
            self.found_by_exists.insert(place, literal.value().as_u64() == Some(1));
        }
        Ok(found)
    }

    fn rows_exist(&mut self, query: &ast::Query) -> Result<Expr> {
        let key = self.shared_key("exists", query);
        if let Some(found) = key.as_ref().and_then(|key| self.query.shared.value(key)) {
            return Ok(found);
        }
        self.bind_mentioned_aliases(query);
        let bound = self.query.in_expression_of(self).query(query)?;
        if bound.is_correlated() {
            return Ok(self.correlated(SubqueryKind::Exists, bound.plan, Vec::new(), DataType::UInt8));
        }
        let rows = self.query.env.run(limited(bound.plan, 1))?;
        let found = rows.iter().any(|b| !b.is_empty());
        let found = Expr::literal(&Value::from(found), DataType::UInt8)?;
        if let Some(key) = key {
            self.query.shared.add_value(key, found.clone());
        }
        Ok(found)
    }
}

fn limited(plan: Plan, limit: u64) -> Plan {
    Plan::Limit(Limit {
        input: Box::new(plan),
        limit: Some(limit),
        offset: 0,
        ties: None,
        from_end: FromEnd::default(),
        parts: RowParts::default(),
    })
}

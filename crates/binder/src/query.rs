//! Queries: SELECT, UNION, INTERSECT, EXCEPT, and the common table expressions that they see.

use crate::environment::Environment;
use crate::query_settings;
use crate::scope::TableScope;
use crate::select::SelectBinder;
use crate::shared::{Shared, count_uses};
use crate::shown_type::{argument, as_nullable_as, shown_arguments, shown_type};
use chalet_base::{Result, bail, ensure};
use chalet_function_api::Argument;
use chalet_functions::conditional::branches::types_to_mix;
use chalet_plan::{
    CommonTableId, Distinct, Expr, Field, Filter, IdSource, Plan, Project, SetOp, SetOpKind, Union,
};
use chalet_syntax::ast;
use chalet_types::DataType;
use chalet_types::variant::common_or_variant;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// A bound query: its columns are the plan's fields.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    pub plan: Plan,
    pub fields: Vec<Field>,
}

impl BoundQuery {
    /// Does it read columns of a query around it?
    pub(crate) fn is_correlated(&self) -> bool {
        !self.plan.free_columns().is_empty()
    }
}

/// Binds a statement's query.
pub fn bind_query(query: &ast::Query, env: &dyn Environment, ids: &IdSource) -> Result<BoundQuery> {
    let binder = QueryBinder::new(env, ids, 0);
    let bound = binder.query(query)?;
    binder.with_result_filter(bound)
}

/// A common table expression and those that were there before it.
#[derive(Debug)]
pub(crate) struct Cte {
    pub name: String,
    pub columns: Vec<String>,
    pub query: Rc<ast::Query>,
    pub before: Option<Rc<Cte>>,
    /// For a recursive one, while its own query is bound: the rows of the step before.
    pub working: Option<(Plan, Vec<Field>)>,
    pub recursive: bool,
    pub id: CommonTableId,
    /// How often the query that it belongs to reads it, at least.
    pub uses: usize,
    pub materialized: bool,
    /// Where it is written; only to be compared.
    written: *const ast::Query,
}

impl Cte {
    /// A recursive one inside of its own query: the rows of the step before.
    pub fn step(&self, rows: (Plan, Vec<Field>)) -> Cte {
        Cte {
            name: self.name.clone(),
            columns: Vec::new(),
            query: self.query.clone(),
            before: self.before.clone(),
            working: Some(rows),
            recursive: false,
            id: self.id,
            uses: 0,
            materialized: false,
            written: self.written,
        }
    }
}

/// What a query sees around it.
#[derive(Clone)]
pub(crate) struct QueryBinder<'b> {
    pub env: &'b dyn Environment,
    pub ids: &'b IdSource,
    pub ctes: Option<Rc<Cte>>,
    /// The SELECT that this is a sub-query of.
    pub outer: Option<&'b SelectBinder<'b>>,
    /// In an expression of that SELECT, whose columns may then be read.
    pub in_expression: bool,
    /// It is a name on the right side of IN, which alone may be a table of the engine Set.
    pub is_named_set: bool,
    pub depth: usize,
    pub shared: Shared,
    /// What WITH of this query and of those around gives names to.
    pub with: Option<Rc<WithExprs>>,
    /// How many sub-queries of the statement were counted so far: columns are named by their numbers.
    pub n_subqueries: Rc<Cell<u32>>,
}

/// The expressions of a WITH, and those around it.
#[derive(Debug)]
pub(crate) struct WithExprs {
    exprs: Vec<Rc<ast::Expr>>,
    around: Option<Rc<WithExprs>>,
}

/// Deeper nesting of queries is refused before it exhausts the stack, whatever the setting says.
const MAX_DEPTH: usize = 100;

impl<'b> QueryBinder<'b> {
    /// The binder of a query that nothing stands around.
    pub fn new(env: &'b dyn Environment, ids: &'b IdSource, depth: usize) -> QueryBinder<'b> {
        let shared = Shared::default();
        QueryBinder {
            env,
            ids,
            ctes: None,
            outer: None,
            in_expression: false,
            is_named_set: false,
            depth,
            shared,
            with: None,
            n_subqueries: Rc::default(),
        }
    }

    /// This binder inside of a query with this WITH.
    pub fn inside_with(self, with: &[ast::WithItem]) -> QueryBinder<'b> {
        let exprs: Vec<Rc<ast::Expr>> = with.iter().filter_map(expr_of).map(|e| Rc::new(e.clone())).collect();
        if exprs.is_empty() {
            return self;
        }
        let around = self.with.clone();
        QueryBinder { with: Some(Rc::new(WithExprs { exprs, around })), ..self }
    }

    /// The expression of that name in WITH of the queries around.
    pub fn outer_with(&self, name: &str) -> Option<Rc<ast::Expr>> {
        let mut next = self.with.as_ref();
        while let Some(with) = next {
            let named = |e: &&Rc<ast::Expr>| e.alias.as_ref().is_some_and(|alias| alias.name == name);
            if let Some(found) = with.exprs.iter().find(named) {
                return Some(found.clone());
            }
            next = with.around.as_ref();
        }
        None
    }

    pub fn query(&self, query: &ast::Query) -> Result<BoundQuery> {
        let wanted = usize::try_from(self.env.settings().max_subquery_depth).unwrap_or(usize::MAX);
        let most = if wanted == 0 { MAX_DEPTH } else { wanted.min(MAX_DEPTH) };
        ensure!(self.depth <= most, TOO_DEEP_SUBQUERIES, "Too deep subqueries. Maximum: {most}");
        let bound = self.set_expr(&query.body)?;
        // Those of the statement itself hold already.
        if self.depth > 0 { self.limited_by(query_settings::behind(&query.body), bound) } else { Ok(bound) }
    }

    /// The rows of a result that `additional_result_filter` lets through.
    fn with_result_filter(&self, bound: BoundQuery) -> Result<BoundQuery> {
        let text = &self.env.settings().additional_result_filter;
        if text.is_empty() {
            return Ok(bound);
        }
        let mut binder = SelectBinder::without_tables(self);
        binder.tables.list.push(TableScope::of_fields(None, &bound.fields));
        let condition =
            binder.condition(&chalet_syntax::parse_expression(text)?, "additional_result_filter")?;
        Ok(BoundQuery { plan: Plan::Filter(Filter { input: Box::new(bound.plan), condition }), ..bound })
    }

    pub fn deeper(&self) -> QueryBinder<'b> {
        QueryBinder { depth: self.depth + 1, ..self.clone() }
    }

    pub(crate) fn set_expr(&self, body: &ast::SetExpr) -> Result<BoundQuery> {
        match body {
            ast::SetExpr::Select(select) => SelectBinder::bind(self, select),
            ast::SetExpr::Query(query) => self.query(query),
            ast::SetExpr::SetOp { op, quantifier, inputs } => {
                // WITH before the first SELECT of a UNION is seen by all of them.
                let sees_with = self.env.settings().enable_global_with_statement;
                let shared = if sees_with { self.with_of_first(inputs)? } else { self.clone() };
                let mut bound = Vec::with_capacity(inputs.len());
                query_settings::check_arms(inputs)?;
                let distinct = *op == ast::SetOp::Union && self.is_distinct(*quantifier)?;
                for (index, input) in inputs.iter().enumerate() {
                    bound.push(match with_of(&inputs[0], input).filter(|_| index > 0 && sees_with) {
                        Some(input) => shared.arm(&input, index + 1 == inputs.len())?,
                        None => shared.arm(input, index + 1 == inputs.len())?,
                    });
                }
                let bound = self.same_types(bound, *op)?;
                match op {
                    ast::SetOp::Union => self.union(bound, distinct),
                    ast::SetOp::Intersect => self.set_op(bound, SetOpKind::Intersect, *quantifier),
                    ast::SetOp::Except => self.set_op(bound, SetOpKind::Except, *quantifier),
                }
            }
        }
    }

    /// The common table expressions that the inputs of a set operation share.
    fn with_of_first(&self, inputs: &[ast::SetExpr]) -> Result<QueryBinder<'b>> {
        let mut binder = self.clone();
        if let Some(ast::SetExpr::Select(first)) = inputs.first() {
            binder.ctes = binder.with_ctes(&first.with, first.recursive, &|name| {
                inputs.iter().map(|input| count_uses(input, name)).sum()
            });
        }
        Ok(binder)
    }

    /// The common table expressions of a WITH clause on top of those already seen; `uses` says how often one is read.
    pub fn with_ctes(
        &self,
        with: &[ast::WithItem],
        recursive: bool,
        uses: &dyn Fn(&str) -> usize,
    ) -> Option<Rc<Cte>> {
        let mut ctes = self.ctes.clone();
        for item in with {
            let ast::WithItem::Cte { name, columns, query, materialized } = item else { continue };
            let written: *const ast::Query = &**query;
            // The first SELECT of a UNION, whose WITH all of its inputs see.
            if self.find_cte(&name.name).is_some_and(|known| std::ptr::eq(known.written, written)) {
                continue;
            }
            ctes = Some(Rc::new(Cte {
                name: name.name.clone(),
                columns: columns.iter().map(|c| c.name.clone()).collect(),
                query: Rc::new(ast::Query::clone(query)),
                before: ctes,
                working: None,
                recursive,
                id: CommonTableId(self.ids.next().0),
                uses: uses(&name.name),
                materialized: *materialized,
                written,
            }));
        }
        ctes
    }

    pub fn find_cte(&self, name: &str) -> Option<Rc<Cte>> {
        let mut next = self.ctes.clone();
        while let Some(cte) = next {
            if cte.name == name {
                return Some(cte);
            }
            next = cte.before.clone();
        }
        None
    }

    /// Casts the columns of all inputs to their common types, column by column.
    fn same_types(&self, inputs: Vec<BoundQuery>, op: ast::SetOp) -> Result<Vec<BoundQuery>> {
        let n = inputs[0].fields.len();
        let what = match op {
            ast::SetOp::Union => "UNION",
            ast::SetOp::Intersect => "INTERSECT",
            ast::SetOp::Except => "EXCEPT",
        };
        for input in &inputs {
            if input.fields.len() == n {
                continue;
            }
            match op {
                ast::SetOp::Union => {
                    bail!(
                        UNION_ALL_RESULT_STRUCTURES_MISMATCH,
                        "Different number of columns in {what} elements"
                    )
                }
                _ => bail!(
                    INTERSECT_OR_EXCEPT_RESULT_STRUCTURES_MISMATCH,
                    "Different number of columns in {what} elements"
                ),
            }
        }
        let mut types = Vec::with_capacity(n);
        let use_variant = self.env.context().settings.use_variant_as_common_type;
        for i in 0..n {
            let column: Vec<Argument> = inputs.iter().map(|input| column_of(input, i)).collect();
            let column = types_to_mix(column.iter());
            types.push(match op {
                ast::SetOp::Union => vec![common_or_variant(&column, use_variant)?],
                _ => common_from_left(&column, use_variant)?,
            });
        }
        inputs
            .into_iter()
            .enumerate()
            .map(|(index, input)| {
                if input.fields.iter().zip(&types).all(|(f, steps)| steps.iter().all(|ty| f.ty == *ty)) {
                    return Ok(input);
                }
                let mut exprs = Vec::with_capacity(n);
                for (field, steps) in input.fields.iter().zip(&types) {
                    let mut cast = Expr::Column(field.id, field.ty.clone());
                    let first = index.saturating_sub(1).min(steps.len() - 1);
                    for ty in &steps[first..] {
                        cast = crate::call::cast(self.env, cast, ty)?;
                    }
                    exprs.push((self.field_like(field, cast.ty().clone()), cast));
                }
                let fields = exprs.iter().map(|e| e.0.clone()).collect();
                Ok(BoundQuery { plan: Plan::Project(Project { input: Box::new(input.plan), exprs }), fields })
            })
            .collect()
    }

    /// Does a UNION leave out what was there before?
    fn is_distinct(&self, quantifier: ast::SetQuantifier) -> Result<bool> {
        Ok(match quantifier {
            ast::SetQuantifier::All => false,
            ast::SetQuantifier::Distinct => true,
            ast::SetQuantifier::None => match &*self.env.settings().union_default_mode {
                "" => bail!(
                    EXPECTED_ALL_OR_DISTINCT,
                    "Expected ALL or DISTINCT in SelectWithUnion query; because setting (union_default_mode) is empty"
                ),
                mode => mode == "DISTINCT",
            },
        })
    }

    fn union(&self, inputs: Vec<BoundQuery>, distinct: bool) -> Result<BoundQuery> {
        let fields: Vec<Field> = inputs[0].fields.iter().map(|f| self.field_like(f, f.ty.clone())).collect();
        let inputs = inputs.into_iter().map(|i| i.plan).collect();
        let mut plan = Plan::Union(Union { inputs, fields: fields.clone() });
        if distinct {
            let on = fields.iter().map(|f| f.id).collect();
            plan = Plan::Distinct(Distinct { input: Box::new(plan), on, limit: None });
        }
        Ok(BoundQuery { plan, fields })
    }

    fn set_op(
        &self,
        inputs: Vec<BoundQuery>,
        kind: SetOpKind,
        quantifier: ast::SetQuantifier,
    ) -> Result<BoundQuery> {
        let settings = self.env.settings();
        let mode = match kind {
            SetOpKind::Intersect => &settings.intersect_default_mode,
            SetOpKind::Except => &settings.except_default_mode,
        };
        let distinct = match quantifier {
            ast::SetQuantifier::All => false,
            ast::SetQuantifier::Distinct => true,
            ast::SetQuantifier::None => mode == "DISTINCT",
        };
        let mut inputs = inputs.into_iter();
        let Some(first) = inputs.next() else { bail!(LOGICAL_ERROR, "A set operation has no inputs") };
        Ok(inputs.fold(first, |left, right| {
            let fields: Vec<Field> = left.fields.iter().map(|f| self.field_like(f, f.ty.clone())).collect();
            let plan = Plan::SetOp(SetOp {
                kind,
                distinct,
                left: Box::new(left.plan),
                right: Box::new(right.plan),
                fields: fields.clone(),
            });
            BoundQuery { plan, fields }
        }))
    }
}

fn expr_of(item: &ast::WithItem) -> Option<&ast::Expr> {
    match item {
        ast::WithItem::Expr(e) => Some(e),
        ast::WithItem::Cte { .. } => None,
    }
}

/// An input of a set operation with the expressions that WITH of the first one names, unless it names them itself.
fn with_of(first: &ast::SetExpr, input: &ast::SetExpr) -> Option<ast::SetExpr> {
    let (ast::SetExpr::Select(first), ast::SetExpr::Select(select)) = (first, input) else { return None };
    let is_own = |e: &ast::Expr| select.with.iter().filter_map(expr_of).any(|own| own.alias == e.alias);
    let missing: Vec<ast::WithItem> =
        first.with.iter().filter(|item| expr_of(item).is_some_and(|e| !is_own(e))).cloned().collect();
    if missing.is_empty() {
        return None;
    }
    let mut select = select.clone();
    select.with.splice(0..0, missing);
    Some(ast::SetExpr::Select(select))
}

/// A column of a query as an argument: with its value where the query gives a constant as it is.
fn column_of(query: &BoundQuery, index: usize) -> Argument {
    let field = &query.fields[index];
    let made = match &query.plan {
        Plan::Project(node) => node.exprs.iter().find(|(made, _)| made.id == field.id),
        _ => None,
    };
    match made {
        Some((_, expr)) if expr.is_literal() => argument(expr, &field.name),
        _ => Argument::of_type(field.ty.clone()),
    }
}

/// INTERSECT and EXCEPT are operators of two sides: the common types of the first two columns, of that and the third, and so on.
fn common_from_left(column: &[DataType], use_variant: bool) -> Result<Vec<DataType>> {
    let mut steps: Vec<DataType> = Vec::with_capacity(column.len());
    for pair in column.windows(2) {
        let left = steps.last().unwrap_or(&pair[0]).clone();
        steps.push(common_or_variant(&[left, pair[1].clone()], use_variant)?);
    }
    if steps.is_empty() {
        steps.extend(column.first().cloned());
    }
    Ok(steps)
}

impl QueryBinder<'_> {
    /// A column of this name that the expression makes.
    pub fn field_of(&self, name: impl Into<Arc<str>>, expr: &Expr) -> Field {
        let field = self.ids.field(name, expr.ty().clone());
        self.ids.show(&field, shown_type(expr, self.ids, self.env));
        field
    }

    /// A column that has the name of another, and shows what it shows.
    pub fn field_like(&self, other: &Field, ty: DataType) -> Field {
        let field = self.ids.field(other.name.clone(), ty);
        let shown = self.ids.shown(other.id);
        self.ids.show(&field, shown.map(|shown| as_nullable_as(shown, &field.ty)));
        field
    }

    /// The arguments with what they show as their types, if one shows something else.
    pub fn shown_arguments(&self, arguments: &[Argument], exprs: &[Expr]) -> Option<Vec<Argument>> {
        shown_arguments(arguments, exprs, self.ids, self.env)
    }
}

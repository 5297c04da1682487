//! One SELECT: its clauses in the order of their evaluation.

use crate::aliases::collect_aliases;
use crate::array_joins::{array_joins, read_by};
use crate::clauses::{Grouping, KnownAggregate, KnownArrayJoin, KnownWindow, LambdaAlias, RowCount};
use crate::expression::check_literal_array;
use crate::query::{BoundQuery, QueryBinder};
use crate::scope::{TableScope, Tables, is_matcher};
use crate::shared::{Shared, count_uses_of_select};
use chalet_base::hash::{HashMap, HashSet};
use chalet_base::{Result, bail, ensure};
use chalet_plan::{
    ColumnId, Distinct, Expr, Field, Fill, Filter, FromEnd, Limit, LimitBy, Plan, Project, Sort, SortKey,
    Window,
};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::DataType;
use std::cell::RefCell;
use std::rc::Rc;

/// Which functions may stand in the expression that is being bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A clause before aggregation.
    Before(&'static str),
    Aggregates,
    InsideAggregate,
}

/// LIMIT BY, or DISTINCT ON.
struct BoundLimitBy {
    by: Vec<Expr>,
    limit: u64,
    offset: u64,
    from_end: FromEnd,
}

/// How many rows a SELECT takes of its one table, where that is plain: a LIMIT and nothing that makes, drops or orders rows.
fn rows_needed(select: &ast::Select) -> Option<u64> {
    let is_plain = select.joins.is_empty()
        && !select.distinct
        && select.distinct_on.is_empty()
        && select.prewhere.is_none()
        && select.where_.is_none()
        && select.group_by.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.order_by.is_empty()
        && select.limit_by.is_none();
    let is_column = |e: &ast::Expr| matches!(e.kind, ExprKind::Identifier(_) | ExprKind::Star(_));
    let rows = |e: &ast::Expr| match e.kind {
        ExprKind::Literal(ast::Literal::UInt(rows)) => Some(rows),
        _ => None,
    };
    if !is_plain || !select.projection.iter().all(is_column) {
        return None;
    }
    let offset = select.offset.as_ref().map_or(Some(0), rows)?;
    rows(select.limit.as_ref()?)?.checked_add(offset)
}

/// The state of binding one SELECT.
pub(crate) struct SelectBinder<'b> {
    pub query: QueryBinder<'b>,
    pub tables: Tables,
    pub aliases: HashMap<String, Rc<ast::Expr>>,
    /// The tables of FROM as they are written, for those that name each other.
    pub from_tables: Vec<ast::TableExpr>,
    /// No more rows of FROM are needed than these, the first ones.
    pub rows_needed: Option<u64>,
    /// Nothing but the number of rows is asked for.
    pub reads_no_column: bool,
    /// While FROM is bound: the aliases of the whole SELECT, which ON sees.
    pub select_aliases: HashMap<String, Rc<ast::Expr>>,
    pub bound_aliases: HashMap<String, Expr>,
    /// Aliases whose expressions are being bound: inside, the same names mean columns.
    pub resolving: Vec<String>,
    /// The aliases that were asked for while one is bound, and which ones a bound one has asked for.
    pub asked_aliases: Vec<String>,
    pub aliases_of_alias: HashMap<String, Vec<String>>,
    pub lambda_params: Vec<(String, Expr)>,
    /// What the bodies of the lambdas around call parts of themselves.
    pub lambda_aliases: Vec<LambdaAlias>,
    /// The parameters of the lambdas around, as columns.
    pub lambda_columns: Vec<ColumnId>,
    /// How many of the parameters are columns of `APPLY`, which aggregates may take.
    pub transformer_params: usize,
    pub place: Place,
    pub in_window: bool,
    pub expr_depth: usize,
    pub aggregates: Vec<KnownAggregate>,
    pub windows: Vec<KnownWindow>,
    pub window_defs: Vec<ast::WindowDef>,
    pub array_joins: Vec<KnownArrayJoin>,
    /// Columns of the queries around that this one reads.
    pub outer_columns: HashSet<ColumnId>,
    /// Expressions that sub-queries read under the names of aliases, and the parameters that stand for them there.
    pub subquery_params: RefCell<Vec<(ColumnId, Expr)>>,
    pub grouping: Grouping,
    /// The numbers of the sub-queries in the expressions of the result, by where they stand in the text.
    pub subquery_numbers: HashMap<u32, u32>,
    /// What EXISTS has found, by its place in the text: where it depends on no row, its column is called by that.
    pub found_by_exists: HashMap<u32, bool>,
    /// Of calls, by their place in the text, the branch that stands for them since another one cannot be bound.
    pub chosen: HashMap<(u32, u32), ast::Expr>,
    /// The names of the elements that `untuple` among the arguments of a call stands for, by its place in the text.
    pub untupled: HashMap<(u32, u32), Vec<String>>,
}

/// A result column before it is bound: `*` is expanded already, because positions count what it stands for.
pub(crate) enum Item {
    Written(ast::Expr),
    Bound(String, Expr),
}

impl<'b> SelectBinder<'b> {
    pub fn without_tables(query: &QueryBinder<'b>) -> SelectBinder<'b> {
        SelectBinder {
            query: query.clone(),
            tables: Tables::default(),
            aliases: HashMap::default(),
            from_tables: Vec::new(),
            rows_needed: None,
            reads_no_column: false,
            select_aliases: HashMap::default(),
            bound_aliases: HashMap::default(),
            resolving: Vec::new(),
            asked_aliases: Vec::new(),
            aliases_of_alias: HashMap::default(),
            lambda_params: Vec::new(),
            lambda_aliases: Vec::new(),
            lambda_columns: Vec::new(),
            transformer_params: 0,
            place: Place::Before("constant expression"),
            in_window: false,
            expr_depth: 0,
            aggregates: Vec::new(),
            windows: Vec::new(),
            window_defs: Vec::new(),
            array_joins: Vec::new(),
            outer_columns: HashSet::default(),
            subquery_params: RefCell::default(),
            grouping: Grouping::default(),
            subquery_numbers: HashMap::default(),
            found_by_exists: HashMap::default(),
            chosen: HashMap::default(),
            untupled: HashMap::default(),
        }
    }

    pub fn bind(query: &QueryBinder<'b>, select: &ast::Select) -> Result<BoundQuery> {
        // Those of the statement itself hold already.
        if query.depth > 0 && !select.settings.is_empty() {
            let env = query.env.with_settings(&select.settings)?;
            return SelectBinder::bind_under(
                &QueryBinder { env: &*env, shared: Shared::default(), ..query.clone() },
                select,
            );
        }
        SelectBinder::bind_under(query, select)
    }

    /// Binds a SELECT under settings that hold already.
    fn bind_under(query: &QueryBinder<'b>, select: &ast::Select) -> Result<BoundQuery> {
        let uses = |name: &str| count_uses_of_select(select, name);
        let ctes = query.with_ctes(&select.with, select.recursive, &uses);
        let query = QueryBinder { ctes, ..query.clone() }.inside_with(&select.with);
        let mut binder = SelectBinder::without_tables(&query);
        binder.select(select).map_err(|e| {
            if e.message().contains("In scope ") {
                e
            } else {
                e.context(format_args!(
                    "In scope {}",
                    ast::Query { body: ast::SetExpr::Select(Box::new(select.clone())), span: select.span }
                ))
            }
        })
    }

    fn select(&mut self, select: &ast::Select) -> Result<BoundQuery> {
        self.with_expressions(select)?;
        let aliases = self.with_select_aliases(select)?;
        self.select_aliases = aliases.clone();
        self.rows_needed = rows_needed(select);
        let mut plan = self.from(select)?;
        self.aliases = aliases;
        crate::window_call::check_names(&select.windows)?;
        self.window_defs = select.windows.clone();
        let items = self.items(&select.projection)?;
        self.number_subqueries(select, &items);

        let filter = self.filter_of(select, &mut plan)?;
        self.check_totals(select)?;
        self.group_by(select, &items)?;
        self.place = Place::Aggregates;
        let mut projection: Vec<(String, Expr)> = Vec::with_capacity(items.len());
        for item in &items {
            projection.push(match item {
                Item::Written(e) => {
                    // EXISTS is called by what it finds.
                    let bound = self.expr(e)?;
                    check_literal_array(e, bound.ty())?;
                    (self.result_name(e), bound)
                }
                Item::Bound(name, expr) => (name.clone(), expr.clone()),
            });
        }
        self.group_by_all(select, &projection)?;
        let having = select.having.as_ref().map(|e| self.condition(e, "HAVING")).transpose()?;
        let qualify = select.qualify.as_ref().map(|e| self.condition(e, "QUALIFY")).transpose()?;
        let order_by = self.order_by(select, &projection)?;
        let limit_by = self.limit_by(select, &projection)?;

        // FROM, arrayJoin, WHERE
        let aggregated = !self.aggregates.is_empty() || select.group_by.is_some();
        ensure!(
            aggregated || !select.with_totals,
            NOT_IMPLEMENTED,
            "WITH TOTALS, ROLLUP, CUBE or GROUPING SETS are not supported without aggregation"
        );
        let (late, early): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.array_joins).into_iter().partition(|a| a.late && aggregated);
        plan = array_joins(plan, early);
        let (tested, late) = read_by(having.as_ref(), late, select.with_totals)?;
        if let Some(condition) = filter {
            plan = Plan::Filter(Filter { input: Box::new(plan), condition });
        }

        // GROUP BY, HAVING
        let mut after = After::default();
        if aggregated {
            let totals_having = having.as_ref().filter(|_| select.with_totals);
            plan = self.aggregate(plan, select, totals_having, &mut after)?;
            after.allowed.extend(tested.iter().chain(&late).map(|a| a.field.id));
        }
        after.allowed.extend(self.windows.iter().map(|w| w.call.field.id));
        let rewrite = |binder: &Self, e: &Expr| binder.after_aggregation(e, &after, aggregated);
        let filter = having.as_ref().filter(|_| !(select.with_totals && aggregated));
        let rewritten = |joins: Vec<KnownArrayJoin>| -> Result<Vec<_>> {
            joins.into_iter().map(|a| Ok(KnownArrayJoin { array: rewrite(self, &a.array)?, ..a })).collect()
        };
        plan = array_joins(plan, rewritten(tested)?);
        if let Some(having) = filter {
            let condition = rewrite(self, having)?;
            plan = Plan::Filter(Filter { input: Box::new(plan), condition });
        }
        plan = array_joins(plan, rewritten(late)?);

        // Windows, QUALIFY
        plan = self.windows(plan, &after, aggregated)?;
        if let Some(qualify) = qualify {
            let condition = rewrite(self, &qualify)?;
            plan = Plan::Filter(Filter { input: Box::new(plan), condition });
        }

        let mut exprs: Vec<(Field, Expr)> = Vec::with_capacity(projection.len());
        for (name, expr) in &projection {
            let expr = rewrite(self, expr)?;
            chalet_base::ensure!(
                *expr.ty() != DataType::Nothing,
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Invalid projection column with type Nothing"
            );
            exprs.push((self.query.field_of(name.as_str(), &expr), expr));
        }
        let order_by = order_by
            .into_iter()
            .map(|k| Ok(SortKey { expr: rewrite(self, &k.expr)?, ..k }))
            .collect::<Result<_>>()?;
        let limit_by = match limit_by {
            Some(bound) => {
                let by = bound.by.iter().map(|e| rewrite(self, e)).collect::<Result<_>>()?;
                Some(BoundLimitBy { by, ..bound })
            }
            None => None,
        };
        self.finish(plan, select, exprs, order_by, limit_by)
    }

    /// WITH expressions that are constant are known before anything else, also to sub-queries of FROM.
    fn with_expressions(&mut self, select: &ast::Select) -> Result<()> {
        // What the arguments of table functions give names to is known everywhere.
        for table in chalet_syntax::visit::tables(select) {
            if let ast::TableKind::Function(call) = &table.kind {
                call.args.iter().try_for_each(|arg| collect_aliases(arg, &mut self.aliases))?;
            }
        }
        let mut tables = HashSet::default();
        for item in &select.with {
            if let ast::WithItem::Cte { name, .. } = item {
                ensure!(
                    tables.insert(&name.name),
                    MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                    "CTE with name {} already exists",
                    name.name
                );
            }
            if let ast::WithItem::Expr(e) = item {
                collect_aliases(e, &mut self.aliases)?;
            }
        }
        for item in &select.with {
            if let ast::WithItem::Expr(e) = item
                && !matches!(e.kind, ExprKind::Lambda { .. })
            {
                // What needs columns fails here and is bound again when it is used.
                let _ = self.expr(e);
            }
        }
        self.bound_aliases.retain(|_, bound| bound.is_literal());
        Ok(())
    }

    /// The aliases of WITH and of all clauses.
    fn with_select_aliases(&self, select: &ast::Select) -> Result<HashMap<String, Rc<ast::Expr>>> {
        let group_by: Vec<&ast::Expr> = match &select.group_by {
            Some(ast::GroupBy::Exprs(exprs) | ast::GroupBy::Rollup(exprs) | ast::GroupBy::Cube(exprs)) => {
                exprs.iter().collect()
            }
            Some(ast::GroupBy::GroupingSets(sets)) => sets.iter().flatten().collect(),
            Some(ast::GroupBy::All | ast::GroupBy::AllRollup | ast::GroupBy::AllCube) | None => Vec::new(),
        };
        let clauses = select
            .projection
            .iter()
            .chain(&select.distinct_on)
            .chain(&select.prewhere)
            .chain(&select.where_)
            .chain(group_by)
            .chain(&select.having)
            .chain(&select.qualify)
            .chain(select.order_by.iter().map(|o| &o.expr))
            .chain(select.limit_by.iter().flat_map(|l| &l.exprs))
            .chain(select.windows.iter().flat_map(|w| &w.spec.partition_by))
            .chain(select.windows.iter().flat_map(|w| w.spec.order_by.iter().map(|o| &o.expr)));
        let mut aliases = self.aliases.clone();
        for e in clauses {
            collect_aliases(e, &mut aliases)?;
        }
        Ok(aliases)
    }

    fn items(&mut self, projection: &[ast::Expr]) -> Result<Vec<Item>> {
        let mut items = Vec::with_capacity(projection.len());
        self.place = Place::Aggregates;
        for e in projection {
            match &e.kind {
                ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. } => {
                    items.extend(self.expand(e)?.into_iter().map(|(name, expr)| Item::Bound(name, expr)));
                }
                ExprKind::Call(call) if call.name == "untuple" && call.args.len() == 1 => {
                    let elements = self.untuple(e, &call.args[0])?;
                    items.extend(elements.into_iter().map(|(name, expr)| Item::Bound(name, expr)));
                }
                _ => items.push(Item::Written(e.clone())),
            }
        }
        ensure!(!items.is_empty(), EMPTY_LIST_OF_COLUMNS_QUERIED, "Empty list of columns in projection");
        Ok(items)
    }

    /// `untuple(t)`: one column per element.
    pub(crate) fn untuple(&mut self, e: &ast::Expr, arg: &ast::Expr) -> Result<Vec<(String, Expr)>> {
        let tuple = self.expr(arg)?;
        let DataType::Tuple(fields) = tuple.ty().bare().clone() else {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Function untuple expect tuple as argument, got {}", tuple.ty());
        };
        let prefix = match &e.alias {
            Some(alias) => alias.name.clone(),
            None => format!("tupleElement({}, ", self.result_name(arg)),
        };
        let mut items = Vec::with_capacity(fields.len());
        for (i, field) in fields.iter().enumerate() {
            let index = (i + 1).to_string();
            let element = field.name.as_deref().unwrap_or(&index);
            let name = match &e.alias {
                Some(_) => format!("{prefix}.{element}"),
                None => format!("{prefix}'{element}')"),
            };
            items.push((name, self.elements(tuple.clone(), &[&index])?));
        }
        Ok(items)
    }

    /// The condition on the rows of `plan`. As in the kernel, PREWHERE comes before the merging of FINAL.
    fn filter_of(&mut self, select: &ast::Select, plan: &mut Plan) -> Result<Option<Expr>> {
        let mut filter = None;
        for (clause, e) in [("PREWHERE", &select.prewhere), ("WHERE", &select.where_)] {
            let Some(e) = e else { continue };
            self.place = Place::Before(clause);
            let joined_before = self.array_joins.len();
            let condition = self.condition(e, clause)?;
            if clause == "PREWHERE" {
                ensure!(
                    self.array_joins.len() == joined_before,
                    ILLEGAL_PREWHERE,
                    "ARRAY JOIN function is found in PREWHERE in query"
                );
                self.check_prewhere(&condition)?;
            }
            if clause == "PREWHERE"
                && !self.query.env.settings().prewhere_after_final
                && let Plan::MergeRows(node) = plan
            {
                let below = Plan::clone(&node.input);
                *node.input = Plan::Filter(Filter { input: Box::new(below), condition });
                continue;
            }
            filter = Some(match filter {
                None => condition,
                Some(before) => crate::call::make_call(self.query.env, "and", vec![before, condition])?,
            });
        }
        Ok(filter)
    }

    /// PREWHERE is of one table, which tests its own rows.
    fn check_prewhere(&self, condition: &Expr) -> Result<()> {
        let read = condition.columns();
        let reads = |scope: &&TableScope| {
            scope.columns.iter().any(|column| column.expr.columns().iter().any(|id| read.contains(id)))
        };
        let known: Vec<&TableScope> = self.tables.list.iter().filter(reads).collect();
        ensure!(
            known.len() <= 1,
            ILLEGAL_PREWHERE,
            "Invalid columns in PREWHERE. Expected columns from single table or table function"
        );
        let Some(scope) = known.first().copied().or_else(|| self.tables.list.first()) else { return Ok(()) };
        match &scope.no_prewhere {
            Some(what) => bail!(ILLEGAL_PREWHERE, "{what} does not support PREWHERE"),
            None => Ok(()),
        }
    }

    /// A condition: a number, which is true unless it is 0 or NULL.
    pub(crate) fn condition(&mut self, e: &ast::Expr, clause: &str) -> Result<Expr> {
        ensure!(!is_matcher(e), UNEXPECTED_EXPRESSION, "Unexpected expression '{e}' in filter in {clause}");
        let condition = self.expr(e)?;
        let ty = condition.ty();
        ensure!(
            is_condition(ty.bare()) || ty.is_only_null(),
            ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER,
            "Invalid type for filter in {clause}: {ty}"
        );
        Ok(condition)
    }

    /// Fails where totals stand beside what they cannot be computed with.
    fn check_totals(&self, select: &ast::Select) -> Result<()> {
        let is_cube = |group: &ast::GroupBy| !matches!(group, ast::GroupBy::Exprs(_) | ast::GroupBy::All);
        match &select.group_by {
            Some(ast::GroupBy::GroupingSets(_)) if select.with_totals => {
                bail!(NOT_IMPLEMENTED, "WITH TOTALS and GROUPING SETS are not supported together")
            }
            Some(group) if select.with_totals && select.having.is_some() && is_cube(group) => bail!(
                NOT_IMPLEMENTED,
                "WITH TOTALS and WITH ROLLUP or CUBE are not supported together in presence of HAVING"
            ),
            _ => Ok(()),
        }
    }

    fn order_by(&mut self, select: &ast::Select, projection: &[(String, Expr)]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(select.order_by.len());
        if select.order_by_all {
            ensure!(
                !projection.iter().any(|(name, _)| name.eq_ignore_ascii_case("all")),
                UNEXPECTED_EXPRESSION,
                "Cannot use ORDER BY ALL to sort a column with name 'all', please disable setting \
                 `enable_order_by_all` and try again"
            );
            let Some(item) = select.order_by.first() else { return Ok(keys) };
            for (_, expr) in projection {
                keys.push(self.sort_key_over(expr.clone(), item)?);
            }
            check_comparable(&keys)?;
            return Ok(keys);
        }
        for item in &select.order_by {
            keys.push(match self.position(&item.expr, projection.len())? {
                Some(position) => self.sort_key_over(projection[position].1.clone(), item)?,
                None => self.sort_key(item)?,
            });
        }
        check_comparable(&keys)?;
        Ok(keys)
    }

    /// The result column that a literal number stands for in ORDER BY, GROUP BY and LIMIT BY.
    pub(crate) fn position(&self, e: &ast::Expr, n: usize) -> Result<Option<usize>> {
        if !self.query.env.settings().enable_positional_arguments || e.alias.is_some() {
            return Ok(None);
        }
        let position = match &e.kind {
            ExprKind::Literal(ast::Literal::UInt(x)) => *x as i128,
            ExprKind::Literal(ast::Literal::Int(x)) => n as i128 + 1 + i128::from(*x),
            _ => return Ok(None),
        };
        ensure!(
            (1..=n as i128).contains(&position),
            BAD_ARGUMENTS,
            "Positional argument out of bounds: {e} (expected in range [1, {n}])"
        );
        Ok(Some(position as usize - 1))
    }

    /// Expressions, limit and offset of LIMIT BY; DISTINCT ON is LIMIT 1 BY.
    fn limit_by(
        &mut self,
        select: &ast::Select,
        projection: &[(String, Expr)],
    ) -> Result<Option<BoundLimitBy>> {
        if !select.distinct_on.is_empty() {
            ensure!(select.limit_by.is_none(), SYNTAX_ERROR, "Can not use DISTINCT ON alongside LIMIT BY");
            let by = select.distinct_on.iter().map(|e| self.expr(e)).collect::<Result<_>>()?;
            return Ok(Some(BoundLimitBy { by, limit: 1, offset: 0, from_end: FromEnd::default() }));
        }
        let Some(clause) = &select.limit_by else { return Ok(None) };
        let mut by = Vec::new();
        if clause.all {
            by = self.without_aggregates(projection);
            ensure!(
                !by.is_empty(),
                SYNTAX_ERROR,
                "LIMIT BY ALL requires at least one non-aggregate expression in SELECT"
            );
        }
        for e in &clause.exprs {
            by.push(match self.position(e, projection.len())? {
                Some(position) => projection[position].1.clone(),
                None => self.expr(e)?,
            });
        }
        let mut count = |e: Option<&ast::Expr>, clause: &str, none: u64| match e {
            None => Ok((none, false)),
            Some(e) => match self.row_count(e, clause)? {
                RowCount::Rows(n) => Ok((n, false)),
                RowCount::FromEnd(n) => Ok((n, true)),
                RowCount::Part(_) => {
                    bail!(NOT_IMPLEMENTED, "Fractional LIMIT/OFFSET with LIMIT BY is not supported yet")
                }
            },
        };
        let (limit, limit_from_end) = count(clause.limit.as_ref(), "LIMIT", u64::MAX)?;
        let (offset, offset_from_end) = count(clause.offset.as_ref(), "OFFSET", 0)?;
        let from_end = FromEnd { limit: limit_from_end, offset: offset_from_end };
        Ok(Some(BoundLimitBy { by, limit, offset, from_end }))
    }

    fn windows(&self, mut plan: Plan, after: &After, aggregated: bool) -> Result<Plan> {
        let rewrite = |e: &Expr| self.after_aggregation(e, after, aggregated);
        let mut nodes: Vec<Window> = Vec::new();
        for known in &self.windows {
            let partition_by = known.partition_by.iter().map(&rewrite).collect::<Result<Vec<_>>>()?;
            let order_by =
                known.order_by.iter().map(|k| Ok(SortKey { expr: rewrite(&k.expr)?, ..k.clone() }));
            let order_by = order_by.collect::<Result<Vec<_>>>()?;
            let mut call = known.call.clone();
            call.args = call.args.iter().map(&rewrite).collect::<Result<_>>()?;
            let same = |n: &&mut Window| {
                let orders = n.order_by.iter().zip(&order_by);
                n.partition_by == partition_by
                    && n.order_by.len() == order_by.len()
                    && orders.into_iter().all(|(a, b)| a.expr == b.expr && a.order == b.order)
            };
            match nodes.iter_mut().find(same) {
                Some(node) => node.calls.push(call),
                None => {
                    // Replaced below by what is under it.
                    let input = Box::new(crate::call::constant_plan(
                        self.query.ids,
                        Expr::literal(&chalet_types::Value::UInt(0), DataType::UInt8)?,
                    ));
                    nodes.push(Window {
                        input,
                        partition_by,
                        order_by,
                        calls: vec![call],
                        unread: Vec::new(),
                    });
                }
            }
        }
        for node in nodes {
            plan = Plan::Window(Window { input: Box::new(plan), ..node });
        }
        Ok(plan)
    }

    /// Projection, DISTINCT, ORDER BY, LIMIT BY, LIMIT.
    fn finish(
        &mut self,
        plan: Plan,
        select: &ast::Select,
        exprs: Vec<(Field, Expr)>,
        order_by: Vec<SortKey>,
        limit_by: Option<BoundLimitBy>,
    ) -> Result<BoundQuery> {
        let fields: Vec<Field> = exprs.iter().map(|e| e.0.clone()).collect();
        let mut all = exprs;
        // What is sorted by is a column of the projection, or a further one that is dropped at the end.
        let ids = self.query.ids;
        let mut as_column = |e: &Expr| -> Expr {
            if let Some((field, _)) = all.iter().find(|(_, known)| known == e) {
                return Expr::Column(field.id, field.ty.clone());
            }
            if e.is_literal() {
                return e.clone();
            }
            let field = ids.field("", e.ty().clone());
            all.push((field.clone(), e.clone()));
            Expr::Column(field.id, field.ty)
        };
        let keys: Vec<SortKey> =
            order_by.into_iter().map(|k| SortKey { expr: as_column(&k.expr), ..k }).collect();
        let limit_by =
            limit_by.map(|bound| BoundLimitBy { by: bound.by.iter().map(&mut as_column).collect(), ..bound });
        let known = all.clone();
        let has_extra = all.len() > fields.len();
        let mut plan = Plan::Project(Project { input: Box::new(plan), exprs: all });
        if select.distinct {
            let on = fields.iter().map(|f| f.id).collect();
            plan = Plan::Distinct(Distinct { input: Box::new(plan), on, limit: None });
        }
        if !keys.is_empty() {
            plan = Plan::Sort(Sort {
                input: Box::new(plan),
                keys: keys.clone(),
                limit: None,
                offset: 0,
                with_ties: false,
                unread: Vec::new(),
            });
        }
        plan = self.fill(plan, select, &keys, &known, &fields)?;
        if let Some(BoundLimitBy { by: columns, limit, offset, from_end }) = limit_by {
            let input = Box::new(plan);
            plan = Plan::LimitBy(LimitBy { input, columns, limit, offset, from_end, needed: None });
        }
        if let Some(bound) = self.limits(select.limit.as_ref(), select.offset.as_ref())? {
            let ties = if select.limit_with_ties {
                ensure!(
                    !keys.is_empty(),
                    WITH_TIES_WITHOUT_ORDER_BY,
                    "Can not use WITH TIES without ORDER BY"
                );
                Some(keys)
            } else {
                None
            };
            plan = Plan::Limit(Limit {
                input: Box::new(plan),
                limit: bound.limit,
                offset: bound.offset,
                ties,
                from_end: bound.from_end,
                parts: bound.parts,
            });
        }
        if has_extra {
            let exprs = fields.iter().map(|f| (f.clone(), Expr::Column(f.id, f.ty.clone()))).collect();
            plan = Plan::Project(Project { input: Box::new(plan), exprs });
        }
        Ok(BoundQuery { plan, fields })
    }

    fn fill(
        &mut self,
        plan: Plan,
        select: &ast::Select,
        keys: &[SortKey],
        known: &[(Field, Expr)],
        fields: &[Field],
    ) -> Result<Plan> {
        if !select.order_by.iter().any(|o| o.fill.is_some()) {
            ensure!(
                select.interpolate.is_none(),
                INVALID_WITH_FILL_EXPRESSION,
                "INTERPOLATE is only allowed with ORDER BY ... WITH FILL"
            );
            return Ok(plan);
        }
        let mut columns: Vec<(ColumnId, _, Option<_>)> = Vec::with_capacity(keys.len());
        for (item, key) in select.order_by.iter().zip(keys) {
            let Some(id) = key.expr.as_column() else {
                ensure!(item.fill.is_none(), INVALID_WITH_FILL_EXPRESSION, "WITH FILL over a constant");
                continue;
            };
            for (_, _, fill) in columns.iter().filter(|(known, ..)| *known == id) {
                ensure!(
                    item.fill.is_none() || fill.is_none(),
                    INVALID_WITH_FILL_EXPRESSION,
                    "Multiple WITH FILL for identical expressions is not supported in ORDER BY"
                );
                ensure!(
                    item.fill.is_none() && fill.is_none(),
                    INVALID_WITH_FILL_EXPRESSION,
                    "ORDER BY containing the same expression with and without WITH FILL modifier is not supported"
                );
            }
            let fill = match &item.fill {
                Some(fill) => Some(self.fill_column(fill, key.expr.ty(), key.order.descending)?),
                None => None,
            };
            columns.push((id, key.order, fill));
        }
        if !self.query.env.settings().use_with_fill_by_sorting_prefix {
            // All rows are one run then.
            let n_prefix = columns.iter().take_while(|column| column.2.is_none()).count();
            columns.drain(..n_prefix);
        }
        let mut interpolate = Vec::new();
        let as_columns = |e: &Expr| {
            e.replace(&mut |x| {
                let found = known.iter().find(|(_, k)| k == x && !x.is_literal());
                Ok(found.map(|(f, _)| Expr::Column(f.id, f.ty.clone())))
            })
        };
        match &select.interpolate {
            Some(items) if items.is_empty() => {
                let filled: Vec<_> = columns.iter().map(|c| c.0).collect();
                let rest = fields.iter().filter(|f| !filled.contains(&f.id));
                interpolate.extend(rest.map(|f| (f.id, Expr::Column(f.id, f.ty.clone()))));
            }
            Some(items) => {
                for item in items {
                    let field = fields.iter().find(|f| *f.name == *item.name.name);
                    let Some(field) = field else {
                        bail!(
                            UNKNOWN_IDENTIFIER,
                            "Missing column '{}' as an INTERPOLATE expression target",
                            item.name.name
                        );
                    };
                    ensure!(
                        !columns.iter().any(|column| column.0 == field.id),
                        INVALID_WITH_FILL_EXPRESSION,
                        "Column '{}' is participating in ORDER BY expression and can't be INTERPOLATE output",
                        field.name
                    );
                    let value = match &item.expr {
                        Some(e) => {
                            let bound = self.interpolated(e, fields)?;
                            crate::call::cast(self.query.env, as_columns(&bound)?, &field.ty)?
                        }
                        None => Expr::Column(field.id, field.ty.clone()),
                    };
                    interpolate.push((field.id, value));
                }
            }
            None => {}
        }
        let sorted: Vec<ColumnId> = columns.iter().map(|column| column.0).collect();
        let plan = Plan::Fill(Fill { input: Box::new(plan), columns, interpolate });
        Ok(crate::fill::with_copies(plan, known, &sorted))
    }

    /// A value of INTERPOLATE. Names of the result are its columns there, those with a constant value too.
    fn interpolated(&mut self, e: &ast::Expr, fields: &[Field]) -> Result<Expr> {
        let depth = self.lambda_params.len();
        let columns = fields.iter().map(|f| (f.name.to_string(), Expr::Column(f.id, f.ty.clone())));
        self.lambda_params.extend(columns);
        let bound = self.expr(e);
        self.lambda_params.truncate(depth);
        bound
    }
}

/// Rows are filtered by numbers of the machine, not by wider ones.
fn is_condition(ty: &DataType) -> bool {
    use DataType::*;
    matches!(ty, Bool | Float32 | Float64)
        || ty.is_integer() && !matches!(ty, Int128 | UInt128 | Int256 | UInt256)
}

/// What expressions may refer to after aggregation.
#[derive(Default)]
pub(crate) struct After {
    pub keys: Vec<(Field, Expr)>,
    pub allowed: HashSet<ColumnId>,
}

/// Fails for keys that have no order.
pub(crate) fn check_comparable(keys: &[SortKey]) -> Result<()> {
    keys.iter().map(|key| key.expr.ty()).try_for_each(|ty| {
        ensure!(
            ty.is_ordered(),
            ILLEGAL_COLUMN,
            "Data type {ty} is not allowed in ORDER BY keys, because its values are not comparable"
        );
        Ok(())
    })
}

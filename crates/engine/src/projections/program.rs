//! Projections as they are computed and stored: the query that makes the rows of one part, and what the rows are.

use super::declared::{aggregates, parsed};
use crate::query_context::QueryContext;
use crate::reading::caster;
use crate::skip_indexes;
use chalet_aggregates::resolve::{exists, resolve};
use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_binder::table_columns::{bind_constant, bind_over};
use chalet_columns::Vector;
use chalet_function_api::Argument;
use chalet_plan::{AggregateName, ColumnId, Expr, Field, Literal, ScanNode};
use chalet_storage::catalog::in_backquotes;
use chalet_storage::merge_tree::columns::{ColumnsVersion, VersionColumn};
use chalet_storage::merge_tree::projection::ProjectionDefinition;
use chalet_storage::merge_tree::projection::definition::OWN_COLUMNS;
use chalet_storage::merge_tree::{Definition, MergeTree, TableKeys};
use chalet_storage::{ColumnSchema, Projection, Table, TableSchema};
use chalet_syntax::ast::{self, ExprKind, GroupBy, WithItem};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// The number of a row in its part, which projections may have.
const PART_OFFSET: &str = "_part_offset";

/// A projection that can be computed.
pub(crate) struct ProjectionProgram {
    pub stored: ProjectionDefinition,
    pub contents: Contents,
    /// Which rows of the table they are made of, where it is not all.
    pub condition: Option<Condition>,
    /// What the rows are computed as, and what they are sorted by.
    items: Vec<String>,
    order: Vec<String>,
}

/// The WHERE of a projection: as SQL, and as conjuncts over the stored columns as fields.
pub(crate) struct Condition {
    text: String,
    fields: Vec<Field>,
    conjuncts: Vec<Expr>,
}

impl Condition {
    /// What the conditions of a query on a scan say beyond this one; `None` where rows that meet them may not meet it.
    pub fn rest_of(
        &self,
        mut conditions: Vec<Expr>,
        scan: &ScanNode,
        schema: &TableSchema,
    ) -> Option<Vec<Expr>> {
        let names = columns_of_scan(&self.fields, scan, schema);
        for own in &self.conjuncts {
            let own = own.rename(&names);
            let n_before = conditions.len();
            conditions.retain(|condition| *condition != own);
            if conditions.len() == n_before {
                return None;
            }
        }
        Some(conditions)
    }
}

/// The columns of a scan that fields of these names stand for.
pub(crate) fn columns_of_scan(
    fields: &[Field],
    scan: &ScanNode,
    schema: &TableSchema,
) -> Vec<(ColumnId, (ColumnId, DataType))> {
    let own = |field: &Field| {
        let (_, found) = scan.columns.iter().find(|(at, _)| schema.columns[*at].name == field.name)?;
        Some((field.id, (found.id, found.ty.clone())))
    };
    fields.iter().filter_map(own).collect()
}

/// What the rows of a projection are.
pub(crate) enum Contents {
    /// Those of the table.
    Rows,
    /// Groups of them: keys first, then states.
    Groups(Groups),
}

/// What is grouped, over the stored columns as fields.
pub(crate) struct Groups {
    pub fields: Vec<Field>,
    pub keys: Vec<Expr>,
    pub calls: Vec<GroupedCall>,
}

/// An aggregate of a projection, whose state is a column.
pub(crate) struct GroupedCall {
    pub function: AggregateName,
    pub args: Vec<Expr>,
    pub state: DataType,
}

impl ProjectionProgram {
    /// The query that makes the rows from those of a source.
    pub fn query(&self, source: &str) -> String {
        let columns = &self.stored.definition.columns.columns;
        let items: Vec<String> = self
            .items
            .iter()
            .zip(columns.iter())
            .map(|(item, column)| format!("{item} AS {}", numbered(column)))
            .collect();
        let listed = |texts: &[String]| texts.join(", ");
        let group = match &self.contents {
            Contents::Groups(groups) if !groups.keys.is_empty() => {
                format!(" GROUP BY {}", listed(&self.items[..groups.keys.len()]))
            }
            _ => String::new(),
        };
        let order = match self.order.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", listed(&self.order)),
        };
        let condition = self.condition.as_ref().map_or(String::new(), |own| format!(" WHERE {}", own.text));
        format!("SELECT {} FROM {source}{condition}{group}{order}", listed(&items))
    }
}

/// A name that hides no column of the table.
fn numbered(column: &VersionColumn) -> String {
    in_backquotes(&format!("__projected {}", column.name))
}

/// All projections of a table that can be computed.
pub(crate) fn programs(table: &MergeTree, ctx: &QueryContext) -> Result<Arc<[ProjectionProgram]>> {
    let schema = table.schema();
    schema.projections.iter().filter_map(|one| program(table, one, ctx).transpose()).collect()
}

/// One of them; `None` for what is kept as text alone: sets of groups, aggregates without states.
pub(crate) fn program(
    table: &MergeTree,
    projection: &Projection,
    ctx: &QueryContext,
) -> Result<Option<ProjectionProgram>> {
    let written = parsed(projection)?;
    let schema = table.schema();
    let select = &*written.query;
    if select.prewhere.is_some() || select.distinct || select.having.is_some() {
        return Ok(None);
    }
    let mut fields: Vec<Field> =
        schema.stored().map(|c| ctx.ids.field(c.name.clone(), c.ty.clone())).collect();
    fields.push(ctx.ids.field(PART_OFFSET, DataType::UInt64));
    let named: Vec<(String, Expr)> =
        fields.iter().map(|f| (f.name.to_string(), Expr::Column(f.id, f.ty.clone()))).collect();
    let bind = |expr: &ast::Expr| bind_over(expr, &named, ctx, &ctx.ids);
    let aliases = Aliases::of(select, &schema);
    let draft = match aggregates(&written, ctx) {
        false => rows(select, &aliases, &schema, &bind)?,
        true => groups(select, &aliases, &bind, ctx)?,
    };
    let Some(draft) = draft else { return Ok(None) };
    let where_ = select.where_.as_ref().map(|condition| aliases.expanded(condition));
    let stored = stored(table, projection, &draft, where_.as_ref(), ctx)?;
    let condition = match &where_ {
        None => None,
        Some(written) => {
            let mut conjuncts = Vec::new();
            bind(written)?.conjuncts(&mut conjuncts);
            if !conjuncts.iter().all(Expr::is_deterministic) {
                return Ok(None);
            }
            Some(Condition { text: written.to_string(), fields: fields.clone(), conjuncts })
        }
    };
    let contents = match draft.groups {
        None => Contents::Rows,
        Some((keys, calls)) => Contents::Groups(Groups { fields, keys, calls }),
    };
    let order = draft.order.iter().map(ToString::to_string).collect();
    Ok(Some(ProjectionProgram { stored, contents, condition, items: draft.items, order }))
}

/// What a projection computes.
struct Draft {
    /// As SQL, with the names and types of their columns.
    items: Vec<String>,
    names: Vec<String>,
    types: Vec<DataType>,
    /// The expressions of the items, for columns that they read.
    exprs: Vec<ast::Expr>,
    order: Vec<ast::Expr>,
    groups: Option<(Vec<Expr>, Vec<GroupedCall>)>,
}

type Bind<'a> = &'a dyn Fn(&ast::Expr) -> Result<Expr>;

fn rows(
    select: &ast::Select,
    aliases: &Aliases,
    schema: &TableSchema,
    bind: Bind<'_>,
) -> Result<Option<Draft>> {
    let mut exprs: Vec<ast::Expr> = Vec::new();
    let mut push = |expr: ast::Expr| {
        if exprs.iter().all(|known| *known != expr) {
            exprs.push(expr);
        }
    };
    for item in &select.projection {
        match &item.kind {
            ExprKind::Star(transformers) if transformers.is_empty() => {
                for column in schema.stored().filter(|column| column.in_star()) {
                    push(chalet_syntax::parse_expression(&in_backquotes(&column.name))?);
                }
            }
            ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. } => return Ok(None),
            _ => push(aliases.expanded(item)),
        }
    }
    let order: Vec<ast::Expr> = select.order_by.iter().map(|item| aliases.expanded(&item.expr)).collect();
    order.iter().cloned().for_each(&mut push);
    let types = exprs.iter().map(|e| Ok(bind(e)?.ty().clone())).collect::<Result<_>>()?;
    let items: Vec<String> = exprs.iter().map(ToString::to_string).collect();
    let names = exprs.iter().map(name_of).collect();
    Ok(Some(Draft { items, names, types, exprs, order, groups: None }))
}

fn groups(
    select: &ast::Select,
    aliases: &Aliases,
    bind: Bind<'_>,
    ctx: &QueryContext,
) -> Result<Option<Draft>> {
    let items: Vec<ast::Expr> = select.projection.iter().map(|item| aliases.expanded(item)).collect();
    let mut found: Vec<ast::Call> = Vec::new();
    for item in &items {
        chalet_syntax::visit::walk(item, &mut |e| match &e.kind {
            ExprKind::Call(call) if call.over.is_none() && is_aggregate(call, ctx) => {
                if found.iter().all(|known| *known != **call) {
                    found.push((**call).clone());
                }
                false
            }
            _ => true,
        });
    }
    let has_aggregate = |expr: &ast::Expr| {
        let mut found = false;
        chalet_syntax::visit::walk(expr, &mut |e| {
            found |= matches!(&e.kind, ExprKind::Call(call) if is_aggregate(call, ctx));
            !found
        });
        found
    };
    let exprs: Vec<ast::Expr> = match &select.group_by {
        None => Vec::new(),
        Some(GroupBy::Exprs(keys)) => keys.iter().map(|key| aliases.expanded(key)).collect(),
        Some(GroupBy::All) => items.iter().filter(|item| !has_aggregate(item)).cloned().collect(),
        Some(_) => return Ok(None),
    };
    let keys = exprs.iter().map(bind).collect::<Result<Vec<_>>>()?;
    let mut draft = Draft {
        items: exprs.iter().map(ToString::to_string).collect(),
        names: exprs.iter().map(name_of).collect(),
        types: keys.iter().map(|key| key.ty().clone()).collect(),
        order: exprs.clone(),
        exprs,
        groups: None,
    };
    let mut calls = Vec::new();
    for mut call in found {
        let is_plain =
            !call.distinct && call.filter.is_none() && call.nulls.is_none() && call.order_by.is_empty();
        if !is_plain {
            return Ok(None);
        }
        // `count(*)` counts rows.
        call.args.retain(|arg| !matches!(arg.kind, ExprKind::Star(_)));
        let Some(grouped) = grouped(&call, bind, ctx)? else { return Ok(None) };
        draft.names.push(name_of(&of_call(&call)));
        draft.types.push(grouped.state.clone());
        calls.push(grouped);
        draft.exprs.push(of_call(&call));
        call.name.push_str("State");
        draft.items.push(of_call(&call).to_string());
    }
    draft.groups = Some((keys, calls));
    Ok(Some(draft))
}

fn of_call(call: &ast::Call) -> ast::Expr {
    ast::Expr { kind: ExprKind::Call(Box::new(call.clone())), alias: None, span: ast::Span::default() }
}

fn is_aggregate(call: &ast::Call, ctx: &QueryContext) -> bool {
    ctx.registry.called(&call.name).is_none() && exists(&ctx.registry, &call.name)
}

/// An aggregate as it is bound; `None` where it has no state that can be kept.
fn grouped(call: &ast::Call, bind: Bind<'_>, ctx: &QueryContext) -> Result<Option<GroupedCall>> {
    let args = call.args.iter().map(bind).collect::<Result<Vec<_>>>()?;
    let constant = |expr: &ast::Expr| Ok(bind_constant(expr, ctx, &ctx.ids)?.value());
    let parameters = call.params.iter().flatten().map(constant).collect::<Result<Vec<Value>>>()?;
    let given: Vec<Argument> = args
        .iter()
        .map(|arg| Argument {
            constant: arg.as_literal().map(Literal::value),
            ..Argument::of_type(arg.ty().clone())
        })
        .collect();
    let resolved = |name: &str| resolve(&ctx.registry, name, &parameters, &given, &ctx.functions);
    let Some(own) = resolved(&call.name)? else { return Ok(None) };
    let Ok(Some(state)) = resolved(&format!("{}State", call.name)) else { return Ok(None) };
    let function = AggregateName { name: own.name.as_str().into(), parameters: parameters.clone().into() };
    Ok(Some(GroupedCall { function, args, state: state.result }))
}

/// What the rows of a projection are sorted by, as ClickHouse calls its expressions.
pub(crate) fn sorting_key(written: &ast::ProjectionDef, schema: &TableSchema) -> Vec<String> {
    let select = &*written.query;
    let aliases = Aliases::of(select, schema);
    let name = |expr: &ast::Expr| name_of(&aliases.expanded(expr));
    match &select.group_by {
        Some(GroupBy::Exprs(keys)) => keys.iter().map(name).collect(),
        _ => select.order_by.iter().map(|item| name(&item.expr)).collect(),
    }
}

/// What the column of an expression is called.
fn name_of(expr: &ast::Expr) -> String {
    plain_column(expr).unwrap_or_else(|| chalet_syntax::column_name(expr))
}

/// The column that an expression is.
fn plain_column(expr: &ast::Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Identifier(parts) => {
            Some(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join("."))
        }
        _ => None,
    }
}

/// The rows of a projection as a table.
fn stored(
    table: &MergeTree,
    projection: &Projection,
    draft: &Draft,
    condition: Option<&ast::Expr>,
    ctx: &QueryContext,
) -> Result<ProjectionDefinition> {
    let own = &table.definition().columns.columns;
    let mut columns = Vec::new();
    for (at, (name, ty)) in draft.names.iter().zip(&draft.types).enumerate() {
        let is_row = draft.groups.is_none();
        let of_table = own.iter().find(|column| is_row && *column.name == **name && column.ty == *ty);
        columns.push(VersionColumn {
            id: of_table.map_or(OWN_COLUMNS + at as u32, |column| column.id),
            name: name.as_str().into(),
            ty: ty.clone(),
            fill: Vector::defaults(ty, 1),
        });
    }
    let first = draft.order.first().map(name_of);
    let sorted_by = columns.iter().find(|c| first.as_deref() == Some(&*c.name)).map(|column| column.id);
    let schema = columns.iter().map(|column| ColumnSchema::new(column.name.clone(), column.ty.clone()));
    let schema = TableSchema::new(schema.collect());
    let columns = Arc::new(ColumnsVersion { number: 0, columns: columns.into(), definition: 0 });
    let definition = Definition {
        keys: TableKeys::default(),
        schema,
        columns,
        cast: caster(ctx),
        ..Definition::clone(table.definition())
    };
    let identity = identity(table, projection, draft, condition, ctx)?;
    Ok(ProjectionDefinition {
        name: projection.name.clone(),
        identity,
        definition: Arc::new(definition),
        sorted_by,
    })
}

/// All that the rows depend on: columns go by their numbers, so that they may be renamed.
fn identity(
    table: &MergeTree,
    projection: &Projection,
    draft: &Draft,
    condition: Option<&ast::Expr>,
    ctx: &QueryContext,
) -> Result<Arc<str>> {
    let mut read = Vec::new();
    let mut is_computed = false;
    let mut texts = |exprs: &[ast::Expr]| -> Vec<String> {
        let numbered = exprs.iter().map(|expr| {
            is_computed |= plain_column(expr).is_none();
            let mut expr = expr.clone();
            skip_indexes::number_columns(table, &mut expr, &mut read);
            expr.to_string()
        });
        numbered.collect()
    };
    let (items, order) = (texts(&draft.exprs), texts(&draft.order));
    let condition = condition.map(|condition| texts(std::slice::from_ref(condition)));
    let mut out = format!("{}\n{}\n{}", projection.name, items.join("\n"), order.join("\n"));
    if let Some(condition) = condition {
        out.push_str(&format!("\nWHERE {}", condition.join("")));
    }
    for ty in &draft.types {
        out.push_str(&format!("\n{ty}"));
    }
    if is_computed {
        // Dates of timestamps are of the time zone of the session.
        out.push_str(&format!("\n{}", ctx.functions.time_zone.name()));
    }
    skip_indexes::write_columns(&mut read, &mut out)?;
    Ok(out.into())
}

/// Names that a query gives to expressions.
struct Aliases(HashMap<String, ast::Expr>);

impl Aliases {
    fn of(select: &ast::Select, schema: &TableSchema) -> Aliases {
        let with = select.with.iter().filter_map(|item| match item {
            WithItem::Expr(expr) => Some(expr),
            WithItem::Cte { .. } => None,
        });
        let mut known = HashMap::default();
        for expr in with.chain(&select.projection) {
            let Some(alias) = &expr.alias else { continue };
            if schema.index_of(&alias.name).is_none() {
                known.insert(alias.name.clone(), ast::Expr { alias: None, ..expr.clone() });
            }
        }
        Aliases(known)
    }

    /// The expression without names for parts of it.
    fn expanded(&self, expr: &ast::Expr) -> ast::Expr {
        /// Names that stand for names, one in the other.
        const MOST: usize = 16;
        let mut expr = expr.clone();
        for _ in 0..MOST {
            let mut is_changed = false;
            chalet_syntax::visit::walk_mut(&mut expr, &mut |e| {
                let name = plain_column(e);
                if let Some(meant) = name.and_then(|name| self.0.get(&name)) {
                    *e = meant.clone();
                    is_changed = true;
                }
                e.alias = None;
            });
            if !is_changed {
                break;
            }
        }
        expr
    }
}

//! The expressions that a definition keeps: of CREATE TABLE, CREATE VIEW and ALTER TABLE.

use crate::ast::{
    AlterCommand, ColumnDef, CreateSource, Expr, ExprKind, IndexDef, JoinStep, OrderItem, ProjectionDef,
    Query, Select, SetExpr, StatementKind, Storage, TableDefinition, TableExpr, TableKind, TtlAction,
    TtlItem, WithItem,
};
use crate::visit::{for_each_clause_mut, walk_mut};

type Visit<'f> = &'f mut dyn FnMut(&mut Expr);

/// Calls `f` with each expression that the definition of a table or view keeps, and with everything below it, innermost first, for
/// rewriting in place. Those of other statements are not visited.
pub fn for_each_kept_expr_mut(statement: &mut StatementKind, f: Visit<'_>) {
    match statement {
        StatementKind::CreateTable(create) => {
            of_table(&mut create.definition, f);
            of_storage(&mut create.storage, f);
            if let Some(CreateSource::Query { query, .. }) = &mut create.source {
                of_query(query, f);
            }
        }
        StatementKind::CreateView(create) => {
            if let Some(columns) = &mut create.columns {
                of_table(columns, f);
            }
            of_storage(&mut create.storage, f);
            of_query(&mut create.query, f);
        }
        StatementKind::AlterTable(alter) => {
            alter.commands.iter_mut().for_each(|command| of_command(command, f))
        }
        _ => {}
    }
}

fn of_command(command: &mut AlterCommand, f: Visit<'_>) {
    match command {
        AlterCommand::AddColumn { column, .. } | AlterCommand::ModifyColumn { column, .. } => {
            of_column(column, f);
        }
        AlterCommand::ModifyOrderBy(items) => of_order(items, f),
        AlterCommand::ModifySampleBy(expr) => walk(expr, f),
        AlterCommand::ModifyTtl(items) => of_ttl(items, f),
        AlterCommand::ModifyQuery(query) => of_query(query, f),
        AlterCommand::AddIndex { index, .. } => of_index(index, f),
        AlterCommand::AddProjection { projection, .. } => of_projection(projection, f),
        AlterCommand::AddConstraint { constraint, .. } => walk(&mut constraint.expr, f),
        _ => {}
    }
}

fn of_table(definition: &mut TableDefinition, f: Visit<'_>) {
    definition.columns.iter_mut().for_each(|column| of_column(column, f));
    definition.indexes.iter_mut().for_each(|index| of_index(index, f));
    definition.constraints.iter_mut().for_each(|constraint| walk(&mut constraint.expr, f));
    definition.projections.iter_mut().for_each(|projection| of_projection(projection, f));
    definition.primary_key.iter_mut().for_each(|key| walk(key, f));
}

fn of_column(column: &mut ColumnDef, f: Visit<'_>) {
    let default = column.default.as_mut().and_then(|default| default.expr.as_deref_mut());
    default.into_iter().chain(&mut column.ttl).for_each(|expr| walk(expr, f));
}

fn of_index(index: &mut IndexDef, f: Visit<'_>) {
    walk(&mut index.expr, f);
}

fn of_projection(projection: &mut ProjectionDef, f: Visit<'_>) {
    of_select(&mut projection.query, f);
    projection.index.iter_mut().for_each(|index| walk(&mut index.expr, f));
}

fn of_storage(storage: &mut Storage, f: Visit<'_>) {
    let keys = [&mut storage.partition_by, &mut storage.primary_key, &mut storage.sample_by];
    keys.into_iter().flatten().for_each(|key| walk(key, f));
    storage.order_by.iter_mut().for_each(|items| of_order(items, f));
    of_ttl(&mut storage.ttl, f);
}

fn of_order(items: &mut [OrderItem], f: Visit<'_>) {
    items.iter_mut().for_each(|item| walk(&mut item.expr, f));
}

fn of_ttl(items: &mut [TtlItem], f: Visit<'_>) {
    for item in items {
        walk(&mut item.expr, f);
        item.where_.iter_mut().for_each(|condition| walk(condition, f));
        if let TtlAction::GroupBy { keys, set } = &mut item.action {
            keys.iter_mut().chain(set.iter_mut().map(|(_, value)| value)).for_each(|expr| walk(expr, f));
        }
    }
}

/// As [`walk_mut`], and into sub-queries.
fn walk(expr: &mut Expr, f: Visit<'_>) {
    walk_mut(expr, &mut |e| {
        if let ExprKind::Subquery(query) | ExprKind::Exists(query) = &mut e.kind {
            of_query(query, f);
        }
        f(e);
    });
}

fn of_query(query: &mut Query, f: Visit<'_>) {
    of_set(&mut query.body, f);
}

fn of_set(body: &mut SetExpr, f: Visit<'_>) {
    match body {
        SetExpr::Select(select) => of_select(select, f),
        SetExpr::SetOp { inputs, .. } => inputs.iter_mut().for_each(|input| of_set(input, f)),
        SetExpr::Query(query) => of_query(query, f),
    }
}

fn of_select(select: &mut Select, f: Visit<'_>) {
    for item in &mut select.with {
        match item {
            WithItem::Expr(expr) => walk(expr, f),
            WithItem::Cte { query, .. } => of_query(query, f),
        }
    }
    let joined = select.joins.iter_mut().filter_map(|step| match step {
        JoinStep::Join(join) => Some(&mut join.table),
        JoinStep::ArrayJoin { .. } => None,
    });
    select.from.iter_mut().chain(joined).for_each(|table| of_source(table, f));
    for_each_clause_mut(select, &mut |expr| walk(expr, f));
}

fn of_source(table: &mut TableExpr, f: Visit<'_>) {
    match &mut table.kind {
        TableKind::Query(query) => of_query(query, f),
        TableKind::Function(call) => call.args.iter_mut().for_each(|arg| walk(arg, f)),
        TableKind::Name(_) | TableKind::File(_) => {}
    }
}

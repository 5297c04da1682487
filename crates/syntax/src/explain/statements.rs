//! EXPLAIN AST of statements that are neither queries nor make something.

use super::{Node, call_node, create, expr_node, leaf, list_node, node, query_node, root};
use crate::ast::{
    AlterCommand, AlterTable, ColumnPosition, Drop, DropAction, EntityAction, EntityDefinition, EntityKind,
    EntityStatement, ExplainKind, Expr, Ident, Insert, InsertColumns, InsertSource, InsertTarget, ObjectKind,
    ObjectName, Optimize, Show, ShowKind, StatementKind, TableExpr, TableKind,
};
use chalet_base::Result;

/// `Identifier db`, `Identifier table`.
fn names(name: &ObjectName) -> Vec<Node> {
    let parts = name.database.iter().chain(std::iter::once(&name.name));
    parts.map(|part| identifier(&part.name)).collect()
}

fn identifier(name: &str) -> Node {
    leaf(format!("Identifier {name}"))
}

/// `Word db table`: of a table without a database there are two spaces.
fn labelled(word: &str, name: &ObjectName) -> String {
    let database = name.database.as_ref().map_or("", |database| &database.name);
    format!("{word} {database} {}", name.name.name)
}

fn over_table(word: &str, mut children: Vec<Node>, name: &ObjectName) -> Node {
    children.extend(names(name));
    node(labelled(word, name), children)
}

pub(super) fn insert(insert: &Insert) -> Node {
    let mut children = Vec::new();
    let target = match &insert.target {
        InsertTarget::Table(name) => names(name),
        InsertTarget::Function(call) => vec![call_node(call, "")],
    };
    children.extend(target);
    match &insert.columns {
        None => {}
        Some(InsertColumns::List(list)) => {
            children.push(node("ExpressionList", list.iter().map(|c| identifier(&c.name)).collect()));
        }
        Some(InsertColumns::Exprs(list)) => children.push(list_node(list)),
    }
    if let InsertSource::Query(query) | InsertSource::Inline { query: Some(query), .. } = &insert.source {
        children.push(query_node(query));
    }
    node("InsertQuery  ", children)
}

pub(super) fn drop(drop: &Drop) -> Node {
    if drop.kind == ObjectKind::Function {
        return leaf("DropFunctionQuery");
    }
    let word = match drop.action {
        DropAction::Drop => "DropQuery",
        DropAction::Truncate => "TruncateQuery",
        DropAction::Detach => "DetachQuery",
    };
    match &drop.names[..] {
        [name] if drop.kind == ObjectKind::Database => {
            node(format!("{word} {} ", name.name.name), vec![identifier(&name.name.name)])
        }
        [name] => over_table(word, Vec::new(), name),
        several => {
            let tables = several.iter().map(|name| leaf(format!("TableIdentifier {}", dotted(name))));
            node(format!("{word}  "), vec![node("ExpressionList", tables.collect())])
        }
    }
}

/// `ExistsViewQuery  v`; a database stands before the place of a table.
fn over_object(word: &str, kind: ObjectKind, name: &ObjectName) -> Node {
    let (what, label) = match kind {
        ObjectKind::Database => {
            let name = &name.name.name;
            return node(format!("{word}DatabaseQuery {name} "), vec![identifier(name)]);
        }
        ObjectKind::View => ("View", name),
        ObjectKind::Dictionary => ("Dictionary", name),
        ObjectKind::Table | ObjectKind::Function => ("Table", name),
    };
    over_table(&format!("{word}{what}Query"), Vec::new(), label)
}

fn dotted(name: &ObjectName) -> String {
    let database = name.database.as_ref().map(|database| format!("{}.", database.name));
    format!("{}{}", database.unwrap_or_default(), name.name.name)
}

fn assignments(list: &[(Ident, Expr)]) -> Node {
    let all =
        list.iter().map(|(name, value)| node(format!("Assignment {}", name.name), vec![expr_node(value)]));
    node("ExpressionList", all.collect())
}

/// The rest; `None` for what is not implemented.
pub(super) fn other(kind: &StatementKind) -> Result<Option<Node>> {
    Ok(Some(match kind {
        StatementKind::AlterTable(alter) => return Ok(alter_table(alter)),
        StatementKind::Delete { table, partition: None, where_ } => {
            over_table("DeleteQuery", vec![expr_node(where_)], table)
        }
        StatementKind::Update { table, assignments: list, partition: None, where_ } => {
            let mut children = names(table);
            children.extend([expr_node(where_), assignments(list)]);
            node(labelled("UpdateQuery", table), children)
        }
        StatementKind::Optimize(optimize) if optimize.partition.is_none() => optimized(optimize),
        StatementKind::Rename { pairs, .. } => {
            node("Rename", pairs.iter().flat_map(|(from, to)| [names(from), names(to)]).flatten().collect())
        }
        StatementKind::Use(name) => node(format!("UseQuery {}", name.name), vec![identifier(&name.name)]),
        StatementKind::Show(show) => return Ok(shown(show)),
        StatementKind::Describe(describe) => node("DescribeQuery", described(&describe.target)),
        StatementKind::Exists { kind, temporary: false, name } => over_object("Exists", *kind, name),
        StatementKind::Check { table: Some(table), partition: None, part: None } => {
            over_table("CheckQuery", Vec::new(), table)
        }
        StatementKind::System { .. } => leaf("SYSTEM query"),
        StatementKind::Transaction(_) => leaf("ASTTransactionControl"),
        StatementKind::Explain(explain) => {
            if matches!(explain.kind, ExplainKind::Analyze | ExplainKind::Profile) {
                return Ok(None);
            }
            let word = explain.kind.words();
            if !explain.settings.is_empty() {
                return Ok(None);
            }
            node(format!("Explain {word}"), vec![root(&explain.statement)?])
        }
        StatementKind::Entity(entity) => entity_node(entity),
        StatementKind::CreateFunction(create) => {
            let children = vec![identifier(&create.name.name), expr_node(&create.body)];
            node(format!("CreateSQLFunctionQuery {}", create.name.name), children)
        }
        _ => return Ok(None),
    }))
}

fn entity_node(entity: &EntityStatement) -> Node {
    let verb = match entity.action {
        EntityAction::Create { .. } => "Create",
        EntityAction::Alter { .. } => "Alter",
        EntityAction::Drop { .. } => "Drop",
    };
    let what = match entity.kind {
        EntityKind::Workload => "Workload",
        EntityKind::Resource => "Resource",
        EntityKind::NamedCollection => "NamedCollection",
    };
    let named =
        matches!(entity.action, EntityAction::Create { .. }) && entity.kind != EntityKind::NamedCollection;
    if !named {
        return leaf(format!("{verb}{what}Query"));
    }
    let name = &entity.name.name;
    let mut children = vec![identifier(name)];
    if let EntityAction::Create {
        definition: EntityDefinition::Workload { parent: Some(parent), .. }, ..
    } = &entity.action
    {
        children.push(identifier(&parent.name));
    }
    node(format!("{verb}{what}Query {name}"), children)
}

fn optimized(optimize: &Optimize) -> Node {
    let mut label = labelled("OptimizeQuery", &optimize.table);
    if optimize.final_ {
        label.push_str("_final");
    }
    if optimize.deduplicate.is_some() {
        label.push_str("_deduplicate");
    }
    node(label, names(&optimize.table))
}

fn described(target: &TableExpr) -> Vec<Node> {
    let table = match &target.kind {
        TableKind::Name(name) => leaf(format!("TableIdentifier {}", dotted(name))),
        TableKind::Function(call) => call_node(call, ""),
        TableKind::Query(query) => node("Subquery", vec![query_node(query)]),
        TableKind::File(_) => leaf("TableIdentifier"),
    };
    vec![node("TableExpression", vec![table])]
}

fn shown(show: &Show) -> Option<Node> {
    Some(match &show.kind {
        ShowKind::Create { kind, temporary: false, name } => over_object("ShowCreate", *kind, name),
        ShowKind::Indexes { .. } => leaf("ShowIndexes"),
        ShowKind::Tables { from: Some(from), .. } => node("ShowTables", vec![identifier(&from.name)]),
        ShowKind::Tables { .. } | ShowKind::Databases | ShowKind::Settings { .. } => leaf("ShowTables"),
        ShowKind::Columns { .. } => leaf("ShowColumns"),
        ShowKind::Functions => leaf("ShowFunctions"),
        ShowKind::Processlist => leaf("ShowProcesslistQuery"),
        ShowKind::Engines => leaf("ShowEngineQuery"),
        _ => return None,
    })
}

fn alter_table(alter: &AlterTable) -> Option<Node> {
    let commands = alter.commands.iter().map(alter_command).collect::<Option<Vec<_>>>()?;
    Some(over_table("AlterQuery", vec![node("ExpressionList", commands)], &alter.name))
}

fn alter_command(command: &AlterCommand) -> Option<Node> {
    let (word, children) = match command {
        AlterCommand::AddColumn { column, position, .. } => {
            let mut children = vec![create::column(column)];
            if let Some(ColumnPosition::After(after)) = position {
                children.push(identifier(&after.name));
            }
            ("ADD_COLUMN", children)
        }
        AlterCommand::DropColumn { name, .. } => ("DROP_COLUMN", vec![identifier(&name.name)]),
        AlterCommand::ModifyColumn { column, position, remove: None, .. } => {
            let mut children = vec![create::column(column)];
            if let Some(ColumnPosition::After(after)) = position {
                children.push(identifier(&after.name));
            }
            ("MODIFY_COLUMN", children)
        }
        AlterCommand::RenameColumn { from, to, .. } => {
            ("RENAME_COLUMN", vec![identifier(&from.name), identifier(&to.name)])
        }
        AlterCommand::Delete { partition: None, where_ } => ("DELETE", vec![expr_node(where_)]),
        AlterCommand::Update { assignments: list, partition: None, where_ } => {
            ("UPDATE", vec![expr_node(where_), assignments(list)])
        }
        _ => return None,
    };
    Some(node(format!("AlterCommand {word}"), children))
}

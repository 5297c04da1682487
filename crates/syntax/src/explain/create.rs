//! EXPLAIN AST of CREATE TABLE, VIEW and DATABASE: the pieces of a table definition as the kernel's nodes.

use super::{Node, expr_node, leaf, list_node, node, query_node};
use crate::ast::{
    ColumnDef, CreateDatabase, CreateSource, CreateTable, CreateView, DefaultKind, Expr, ObjectName, Storage,
    TableDefinition,
};
use crate::print::write_string;

pub(super) fn table(create: &CreateTable) -> Node {
    let mut children = names(&create.name);
    children.extend(definition(&create.definition));
    children.extend(storage(&create.storage));
    if let Some(CreateSource::Query { query, .. }) = &create.source {
        children.push(query_node(query));
    }
    children.extend(create.comment.iter().map(|text| literal(text)));
    node(label(&create.name), children)
}

pub(super) fn view(create: &CreateView) -> Node {
    let mut children = names(&create.name);
    children.extend(create.columns.as_ref().and_then(definition));
    children.extend(storage(&create.storage));
    children.push(query_node(&create.query));
    children.extend(create.comment.iter().map(|text| literal(text)));
    node(label(&create.name), children)
}

pub(super) fn database(create: &CreateDatabase) -> Node {
    let name = &create.name.name;
    node(format!("CreateQuery {name} "), vec![leaf(format!("Identifier {name}"))])
}

fn label(name: &ObjectName) -> String {
    match &name.database {
        Some(database) => format!("CreateQuery {} {}", database.name, name.name.name),
        None => format!("CreateQuery {}", name.name.name),
    }
}

fn names(name: &ObjectName) -> Vec<Node> {
    let parts = name.database.iter().chain(std::iter::once(&name.name));
    parts.map(|part| leaf(format!("Identifier {}", part.name))).collect()
}

fn literal(text: &[u8]) -> Node {
    let mut label = String::from("Literal ");
    write_string(&mut label, text);
    leaf(label)
}

fn definition(definition: &TableDefinition) -> Option<Node> {
    if definition.columns.is_empty() {
        return None;
    }
    let mut children = vec![node("ExpressionList", definition.columns.iter().map(column).collect())];
    if !definition.constraints.is_empty() {
        let constraints = definition.constraints.iter().map(|c| node("Constraint", vec![expr_node(&c.expr)]));
        children.push(node("ExpressionList", constraints.collect()));
    }
    Some(node("Columns definition", children))
}

pub(super) fn column(column: &ColumnDef) -> Node {
    let mut children: Vec<Node> = column.ty.iter().map(|ty| data_type(&ty.text)).collect();
    if let Some(default) = &column.default {
        match (&default.expr, &column.ty) {
            (Some(expr), _) => children.push(expr_node(expr)),
            (None, Some(ty)) if default.kind == DefaultKind::Ephemeral => {
                let args = node("ExpressionList", vec![literal(ty.text.as_bytes())]);
                children.push(node("Function defaultValueOfTypeName", vec![args]));
            }
            (None, _) => {}
        }
    }
    children.extend(column.comment.iter().map(|text| literal(text)));
    if !column.codec.is_empty() {
        let codecs = column.codec.iter().map(as_function).collect();
        children.push(node("Function CODEC", vec![node("ExpressionList", codecs)]));
    }
    children.extend(column.ttl.iter().map(expr_node));
    node(format!("ColumnDeclaration {}", column.name.name), children)
}

/// A name alone is a call without arguments here.
fn as_function(expr: &Expr) -> Node {
    match &expr.kind {
        crate::ast::ExprKind::Identifier(parts) => leaf(format!("Function {}", super::path(parts))),
        _ => expr_node(expr),
    }
}

fn storage(storage: &Storage) -> Option<Node> {
    let mut children = Vec::new();
    if let Some(engine) = &storage.engine {
        let args = engine.args.iter().map(|args| list_node(args)).collect();
        children.push(node(format!("Function {}", engine.name), args));
    }
    children.extend(storage.partition_by.iter().map(expr_node));
    let order = storage.order_by.as_deref().unwrap_or_default();
    // Without a primary key of its own the table has the sorting key in its place.
    match (&storage.primary_key, order) {
        (Some(key), _) => children.push(expr_node(key)),
        (None, [only]) => children.push(expr_node(&only.expr)),
        _ => {}
    }
    match order {
        [] => {}
        [only] => children.push(expr_node(&only.expr)),
        many => {
            let items = many.iter().map(|item| expr_node(&item.expr)).collect();
            children.push(node("Function tuple", vec![node("ExpressionList", items)]));
        }
    }
    children.extend(storage.sample_by.iter().map(expr_node));
    if !storage.settings.is_empty() {
        children.push(leaf("Set"));
    }
    (!children.is_empty()).then(|| node("Storage definition", children))
}

// ---- data types

/// A type by its text: `Map(String, Array(UInt8))`.
fn data_type(text: &str) -> Node {
    let text = text.trim();
    let Some((name, args)) = text.split_once('(') else { return leaf(format!("DataType {text}")) };
    let name = name.trim();
    let args = args.trim_end().strip_suffix(')').unwrap_or(args);
    if name.to_ascii_lowercase().starts_with("enum") {
        return leaf(format!("EnumDataType {name}"));
    }
    let is_tuple = name.eq_ignore_ascii_case("tuple");
    let kind = if is_tuple { "TupleDataType" } else { "DataType" };
    let args = split(args).into_iter().map(|arg| argument(arg.trim(), is_tuple)).collect();
    node(format!("{kind} {name}"), vec![node("ExpressionList", args)])
}

fn argument(text: &str, in_tuple: bool) -> Node {
    if text.starts_with('\'') {
        return leaf(format!("Literal {text}"));
    }
    if text.parse::<u64>().is_ok() {
        return leaf(format!("Literal UInt64_{text}"));
    }
    // `name Type`: a space before any bracket.
    let head = text.find('(').map_or(text, |at| &text[..at]);
    match head.trim_end().split_once(' ') {
        Some((name, _)) if in_tuple => data_type(&text[name.len()..]),
        Some((name, _)) => node(format!("NameTypePair {name}"), vec![data_type(&text[name.len()..])]),
        None => data_type(text),
    }
}

/// The pieces between commas outside of brackets and quotes.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut quoted, mut start) = (0usize, false, 0);
    let mut pieces = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth = depth.saturating_sub(1),
            b',' if !quoted && depth == 0 => {
                pieces.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

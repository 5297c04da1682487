//! EXPLAIN AST: the tree of a query under the node names of the kernel.
//!
//! Our tree is of another shape, so this lays the kernel's out first. Statements that are not queries say so.

mod create;
mod statements;

use chalet_base::{Result, bail};

use crate::ast::{
    Call, CallStyle, Expr, ExprKind, FrameBound, GroupBy, JoinConstraint, JoinStep, Literal, ObjectName,
    OrderItem, Query, Ratio, Select, SetExpr, SetOp, Statement, StatementKind, TableExpr, TableKind,
    Transformer, WindowRef, WindowSpec, WithItem,
};
use crate::parser::{STACK_GROWTH, STACK_RED_ZONE};
use crate::print::{float_text, string_literal, write_string};

/// One line of the output and what is below it.
struct Node {
    label: String,
    children: Vec<Node>,
}

fn node(label: impl Into<String>, children: Vec<Node>) -> Node {
    Node { label: label.into(), children }
}

fn leaf(label: impl Into<String>) -> Node {
    node(label, Vec::new())
}

/// The lines of EXPLAIN AST.
pub fn explain_ast(statement: &Statement) -> Result<String> {
    let mut out = String::new();
    write(&mut out, &root(statement)?, 0);
    Ok(out)
}

/// How large the kernel's tree of a statement is.
#[derive(Clone, Copy, Debug, Default)]
pub struct TreeSize {
    pub depth: u64,
    pub elements: u64,
}

/// What `max_ast_depth` and `max_ast_elements` limit.
pub fn tree_size(statement: &Statement) -> Result<TreeSize> {
    Ok(size_of(&root(statement)?))
}

fn size_of(node: &Node) -> TreeSize {
    let mut size = TreeSize { depth: 0, elements: 1 };
    for child in &node.children {
        let below = level(|| size_of(child));
        size.depth = size.depth.max(below.depth);
        size.elements += below.elements;
    }
    size.depth += 1;
    size
}

fn root(statement: &Statement) -> Result<Node> {
    let mut root = match &statement.kind {
        StatementKind::Query(query) => query_node(query),
        StatementKind::Set(_) => leaf("Set"),
        StatementKind::Insert(insert) => statements::insert(insert),
        StatementKind::Drop(drop) => statements::drop(drop),
        StatementKind::CreateTable(table) => create::table(table),
        StatementKind::CreateView(view) => create::view(view),
        StatementKind::CreateDatabase(database) => create::database(database),
        other => match statements::other(other)? {
            Some(node) => node,
            None => bail!(NOT_IMPLEMENTED, "EXPLAIN AST of this statement is not implemented"),
        },
    };
    if let Some(outfile) = &statement.output.outfile {
        let mut literal = |bytes: &[u8]| {
            let mut text = "Literal ".to_string();
            write_string(&mut text, bytes);
            root.children.push(leaf(text));
        };
        literal(&outfile.path);
        outfile.compression.iter().for_each(|bytes| literal(bytes));
        root.children.extend(outfile.level.map(|level| leaf(format!("Literal UInt64_{level}"))));
    }
    if let Some(format) = &statement.output.format {
        root.children.push(leaf(format!("Identifier {}", format.name)));
    }
    Ok(root)
}

/// Runs one level of a walk on a stack that grows: the nodes of this tree are many levels for one of ours.
fn level<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_RED_ZONE, STACK_GROWTH, walk)
}

fn write(out: &mut String, node: &Node, depth: usize) {
    for _ in 0..depth {
        out.push(' ');
    }
    out.push_str(&node.label);
    if !node.children.is_empty() {
        out.push_str(&format!(" (children {})", node.children.len()));
    }
    out.push('\n');
    for child in &node.children {
        level(|| write(out, child, depth + 1));
    }
}

fn object_name(name: &ObjectName) -> String {
    match &name.database {
        Some(database) => format!("{}.{}", database.name, name.name.name),
        None => name.name.name.clone(),
    }
}

// ---- queries

fn query_node(query: &Query) -> Node {
    level(|| node("SelectWithUnionQuery", vec![node("ExpressionList", inputs(&query.body))]))
}

fn inputs(body: &SetExpr) -> Vec<Node> {
    match body {
        SetExpr::Select(select) => vec![select_node(select)],
        // Parentheses that change nothing are no node.
        SetExpr::Query(query) => inputs(&query.body),
        SetExpr::SetOp { op: SetOp::Union, inputs: list, .. } => list.iter().flat_map(inputs).collect(),
        SetExpr::SetOp { inputs: list, .. } => {
            // The kernel's node has two inputs, ours any number, grouped from the left.
            let wrap = matches!(body, SetExpr::SetOp { op: SetOp::Except, .. });
            let mut operands = list.iter().enumerate().map(|(i, input)| operand(input, wrap && i == 0));
            let mut left = operands.next().unwrap_or_else(|| leaf("SelectQuery"));
            for right in operands {
                left = node("SelectIntersectExceptQuery", vec![left, right]);
            }
            vec![left]
        }
    }
}

/// The first input of EXCEPT is always a node of its own, other inputs only when they are unions.
fn operand(body: &SetExpr, wrap: bool) -> Node {
    let mut list = inputs(body);
    match (list.len(), list.pop()) {
        (1, Some(only)) if !wrap || only.label != "SelectQuery" => only,
        (_, last) => {
            list.extend(last);
            node("SelectWithUnionQuery", vec![node("ExpressionList", list)])
        }
    }
}

fn select_node(select: &Select) -> Node {
    let mut children = Vec::new();
    if !select.with.is_empty() {
        let items = select.with.iter().map(|item| match item {
            WithItem::Expr(expr) => expr_node(expr),
            WithItem::Cte { query, .. } => {
                node("WithElement", vec![node("Subquery", vec![query_node(query)])])
            }
        });
        children.push(node("ExpressionList", items.collect()));
    }
    children.push(list_node(&select.projection));
    if let Some(from) = &select.from {
        children.push(tables_node(from, &select.joins));
    }
    children.extend(select.prewhere.iter().map(expr_node));
    children.extend(select.where_.iter().map(expr_node));
    match &select.group_by {
        None | Some(GroupBy::All | GroupBy::AllRollup | GroupBy::AllCube) => {}
        Some(GroupBy::Exprs(list)) if list.is_empty() => {
            let tuple = node("Function tuple", vec![leaf("ExpressionList")]);
            children.push(node("ExpressionList", vec![tuple]));
        }
        Some(GroupBy::Exprs(list) | GroupBy::Rollup(list) | GroupBy::Cube(list)) => {
            children.push(list_node(list))
        }
        Some(GroupBy::GroupingSets(sets)) => {
            children.push(node("ExpressionList", sets.iter().map(|set| list_node(set)).collect()));
        }
    }
    children.extend(select.having.iter().map(expr_node));
    if !select.windows.is_empty() {
        let windows = select.windows.iter().map(|w| node("WindowListElement", vec![window_node(&w.spec)]));
        children.push(node("ExpressionList", windows.collect()));
    }
    children.extend(select.qualify.iter().map(expr_node));
    if !select.order_by.is_empty() {
        children.push(node("ExpressionList", select.order_by.iter().map(order_node).collect()));
    }
    if let Some(items) = &select.interpolate {
        let items = items.iter().map(|item| {
            let name = &item.name.name;
            let value = match &item.expr {
                Some(expr) => expr_node(expr),
                None => leaf(format!("Identifier {name}")),
            };
            node(format!("InterpolateElement (column {name})"), vec![value])
        });
        children.push(node("ExpressionList", items.collect()));
    }
    if let Some(by) = &select.limit_by {
        children.extend([&by.offset, &by.limit].into_iter().flatten().map(expr_node));
        children.push(list_node(&by.exprs));
    } else if !select.distinct_on.is_empty() {
        children.push(leaf("Literal UInt64_1"));
        children.push(list_node(&select.distinct_on));
    }
    children.extend([&select.offset, &select.limit].into_iter().flatten().map(expr_node));
    if !select.settings.is_empty() {
        children.push(leaf("Set"));
    }
    node("SelectQuery", children)
}

fn list_node(list: &[Expr]) -> Node {
    node("ExpressionList", list.iter().map(expr_node).collect())
}

fn tables_node(from: &TableExpr, joins: &[JoinStep]) -> Node {
    let mut elements = vec![node("TablesInSelectQueryElement", vec![table_node(from)])];
    for step in joins {
        let children = match step {
            JoinStep::ArrayJoin { exprs, .. } => vec![node("ArrayJoin", vec![list_node(exprs)])],
            JoinStep::Join(join) => {
                let constraint = match &join.constraint {
                    JoinConstraint::None => Vec::new(),
                    JoinConstraint::On(condition) => vec![expr_node(condition)],
                    JoinConstraint::Using(list) => vec![list_node(list)],
                };
                vec![table_node(&join.table), node("TableJoin", constraint)]
            }
        };
        elements.push(node("TablesInSelectQueryElement", children));
    }
    node("TablesInSelectQuery", elements)
}

fn table_node(table: &TableExpr) -> Node {
    let alias = table.alias.as_ref().map(|a| format!(" (alias {})", a.name)).unwrap_or_default();
    let source = match &table.kind {
        TableKind::Name(name) => leaf(format!("TableIdentifier {}{alias}", object_name(name))),
        TableKind::File(path) => leaf(format!("TableIdentifier {}{alias}", String::from_utf8_lossy(path))),
        TableKind::Query(query) => node(format!("Subquery{alias}"), vec![query_node(query)]),
        TableKind::Function(call) => call_node(call, &alias),
    };
    let mut children = vec![source];
    if let Some(sample) = &table.sample {
        for ratio in [Some(&sample.ratio), sample.offset.as_ref()].into_iter().flatten() {
            children.push(leaf(format!("SampleRatio {}", ratio_text(ratio))));
        }
    }
    if !table.column_aliases.is_empty() {
        let names = table.column_aliases.iter().map(|c| leaf(format!("Identifier {}", c.name)));
        children.push(node("ExpressionList", names.collect()));
    }
    node("TableExpression", children)
}

/// `0.25` is `25 / 100`.
fn ratio_text(ratio: &Ratio) -> String {
    match (&ratio.denominator, ratio.numerator.split_once('.')) {
        (Some(denominator), _) => format!("{} / {denominator}", ratio.numerator),
        (None, Some((whole, fraction))) => {
            let digits = format!("{whole}{fraction}");
            let numerator = digits.trim_start_matches('0');
            format!(
                "{} / 1{}",
                if numerator.is_empty() { "0" } else { numerator },
                "0".repeat(fraction.len())
            )
        }
        (None, None) => ratio.numerator.clone(),
    }
}

fn order_node(item: &OrderItem) -> Node {
    let mut children = vec![expr_node(&item.expr)];
    if let Some(collate) = &item.collate {
        children.push(leaf(format!("Literal '{collate}'")));
    }
    if let Some(fill) = &item.fill {
        children
            .extend([&fill.from, &fill.to, &fill.step, &fill.staleness].into_iter().flatten().map(expr_node));
    }
    node("OrderByElement", children)
}

fn window_node(spec: &WindowSpec) -> Node {
    let mut children = Vec::new();
    if !spec.partition_by.is_empty() {
        children.push(list_node(&spec.partition_by));
    }
    if !spec.order_by.is_empty() {
        children.push(node("ExpressionList", spec.order_by.iter().map(order_node).collect()));
    }
    if let Some(frame) = &spec.frame {
        for bound in [&frame.start, &frame.end] {
            if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                children.push(expr_node(value));
            }
        }
    }
    node("WindowDefinition", children)
}

// ---- expressions

fn expr_node(expr: &Expr) -> Node {
    level(|| expr_node_here(expr))
}

fn expr_node_here(expr: &Expr) -> Node {
    let alias = expr.alias.as_ref().map(|a| format!(" (alias {})", a.name)).unwrap_or_default();
    if let Some(text) = constant(expr) {
        return leaf(format!("Literal {text}{alias}"));
    }
    match &expr.kind {
        ExprKind::Identifier(parts) => leaf(format!("Identifier {}{alias}", path(parts))),
        ExprKind::Star(transformers) => node("Asterisk", transformer_nodes(transformers)),
        ExprKind::QualifiedStar { prefix, transformers } => {
            let mut children = vec![leaf(format!("Identifier {}", path(prefix)))];
            children.extend(transformer_nodes(transformers));
            node("QualifiedAsterisk", children)
        }
        ExprKind::Columns { prefix, matcher, transformers } => {
            let mut children = Vec::new();
            if !prefix.is_empty() {
                children.push(leaf(format!("Identifier {}", path(prefix))));
            }
            let qualified = if prefix.is_empty() { "" } else { "Qualified" };
            let kind = match matcher {
                crate::ast::ColumnsMatcher::Regex(_) => "Regexp",
                crate::ast::ColumnsMatcher::List(list) => {
                    children.push(list_node(list));
                    "List"
                }
            };
            children.extend(transformer_nodes(transformers));
            node(format!("{qualified}Columns{kind}Matcher"), children)
        }
        ExprKind::Call(call) => call_node(call, &alias),
        ExprKind::Lambda { params, body } => {
            let names = params.iter().map(|p| leaf(format!("Identifier {}", p.name))).collect();
            let tuple = node("Function tuple", vec![node("ExpressionList", names)]);
            node(
                format!("Function lambda{alias}"),
                vec![node("ExpressionList", vec![tuple, expr_node(body)])],
            )
        }
        ExprKind::Subquery(query) => node(format!("Subquery{alias}"), vec![query_node(query)]),
        ExprKind::Exists(query) => {
            let query = node("Subquery", vec![query_node(query)]);
            node(format!("Function exists{alias}"), vec![node("ExpressionList", vec![query])])
        }
        ExprKind::Parameter { name, ty } => leaf(format!("QueryParameter {name}:{}{alias}", ty.text)),
        ExprKind::Literal(literal) => leaf(format!("Literal {}{alias}", literal_text(literal))),
    }
}

fn path(parts: &[crate::ast::Ident]) -> String {
    parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(".")
}

fn call_node(call: &Call, alias: &str) -> Node {
    let name = match call.style {
        CallStyle::Array => "array",
        CallStyle::Tuple => "tuple",
        _ => &call.name,
    };
    let mut label = format!("Function {name}");
    if call.distinct {
        label.push_str("Distinct");
    }
    if call.filter.is_some() {
        label.push_str("If");
    }
    label.push_str(alias);
    let bare_query = |arg: &Expr| match &arg.kind {
        ExprKind::Subquery(query) if call.name == "view" => query_node(query),
        _ => expr_node(arg),
    };
    let mut args: Vec<Node> = call.args.iter().map(bare_query).collect();
    args.extend(call.filter.iter().map(|f| expr_node(f)));
    let mut children = vec![node("ExpressionList", args)];
    if let Some(params) = &call.params {
        children.push(list_node(params));
    }
    if let Some(WindowRef::Spec(spec)) = &call.over {
        children.push(window_node(spec));
    }
    if !call.settings.is_empty() {
        children[0].children.push(leaf("Set"));
    }
    node(label, children)
}

fn transformer_nodes(transformers: &[Transformer]) -> Vec<Node> {
    if transformers.is_empty() {
        return Vec::new();
    }
    let list = transformers.iter().map(|transformer| match transformer {
        Transformer::Except { columns, .. } => node(
            "ColumnsExceptTransformer",
            columns.iter().map(|c| leaf(format!("Identifier {}", c.name))).collect(),
        ),
        Transformer::ExceptRegex(_) => leaf("ColumnsExceptTransformer"),
        Transformer::Replace { items, .. } => node(
            "ColumnsReplaceTransformer",
            items
                .iter()
                .map(|(expr, _)| node("ColumnsReplaceTransformer::Replacement", vec![expr_node(expr)]))
                .collect(),
        ),
        Transformer::Apply { .. } | Transformer::ApplyLambda { .. } => leaf("ColumnsApplyTransformer"),
    });
    vec![node("ColumnsTransformerList", list.collect())]
}

/// The text of a literal, or of brackets around literals only, which the kernel reads as one literal.
fn constant(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Literal(literal) => Some(literal_text(literal)),
        ExprKind::Call(call) => {
            let open = match call.style {
                CallStyle::Array => "Array_[",
                CallStyle::Tuple if call.args.len() > 1 => "Tuple_(",
                _ => return None,
            };
            let mut items = Vec::new();
            for arg in &call.args {
                if arg.alias.is_some() {
                    return None;
                }
                items.push(level(|| constant(arg))?);
            }
            let close = if call.style == CallStyle::Array { "]" } else { ")" };
            Some(format!("{open}{}{close}", items.join(", ")))
        }
        _ => None,
    }
}

fn literal_text(literal: &Literal) -> String {
    match literal {
        Literal::Null => "NULL".to_string(),
        Literal::Bool(value) => format!("Bool_{}", u8::from(*value)),
        Literal::UInt(value) => format!("UInt64_{value}"),
        Literal::Int(value) => format!("Int64_{value}"),
        Literal::Float(value) => format!("Float64_{}", float_text(*value).trim_end_matches('.')),
        Literal::String(bytes) => string_literal(bytes),
    }
}

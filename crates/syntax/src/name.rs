//! The name of a result column without an alias: ClickHouse spells out the call, `1 + x` is named `plus(1, x)`.

use crate::ast::{
    Call, CallStyle, Expr, ExprKind, FrameBound, FrameUnit, Ident, Literal, OrderItem, WindowRef, WindowSpec,
};
use crate::print::{bare_expr, float_text, write_string};

/// The alias, or the kernel's spelling of the expression.
///
/// Three names need what only the binder knows: a sub-query's (`_subquery_1`, numbered over the whole statement, here
/// `_subquery`), a qualified column's (`t.x` is named `x` when that is unambiguous, here `t.x`), and the names of the
/// columns behind a star.
pub fn column_name(expr: &Expr) -> String {
    let mut out = String::new();
    name(&mut out, expr);
    out
}

fn name(out: &mut String, expr: &Expr) {
    if let Some(alias) = &expr.alias {
        out.push_str(&alias.name);
        return;
    }
    match &expr.kind {
        ExprKind::Literal(literal) => literal_name(out, literal, false, true),
        ExprKind::Identifier(parts) => {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push('.');
                }
                out.push_str(&part.name);
            }
        }
        ExprKind::Call(call) => match spelled_lambda(call) {
            Some(ExprKind::Lambda { params, body }) => lambda_name(out, &params, &body),
            _ => call_name(out, call, expr),
        },
        ExprKind::Lambda { params, body } => lambda_name(out, params, body),
        ExprKind::Subquery(_) => out.push_str("_subquery"),
        ExprKind::Exists(_) => out.push_str("exists(_subquery)"),
        ExprKind::Star(_)
        | ExprKind::QualifiedStar { .. }
        | ExprKind::Columns { .. }
        | ExprKind::Parameter { .. } => {
            out.push_str(&bare_expr(expr));
        }
    }
}

fn lambda_name(out: &mut String, params: &[Ident], body: &Expr) {
    out.push_str("lambda(tuple(");
    for (i, param) in params.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&param.name);
    }
    out.push_str("), ");
    name(out, body);
    out.push(')');
}

/// Inside an array of constants the elements have one type: `[1.5, 2]` is named `[1.5, 2.]`, and Bool is a number there.
fn literal_name(out: &mut String, literal: &Literal, as_float: bool, bool_words: bool) {
    match literal {
        Literal::Null => out.push_str("NULL"),
        Literal::Bool(value) if bool_words => out.push_str(if *value { "true" } else { "false" }),
        Literal::Bool(value) => out.push(if *value { '1' } else { '0' }),
        Literal::UInt(value) if as_float => out.push_str(&float_text(*value as f64)),
        Literal::Int(value) if as_float => out.push_str(&float_text(*value as f64)),
        Literal::UInt(value) => out.push_str(&value.to_string()),
        Literal::Int(value) => out.push_str(&value.to_string()),
        Literal::Float(value) => out.push_str(&float_text(*value)),
        Literal::String(bytes) => write_string(out, bytes),
    }
}

fn names(out: &mut String, list: &[Expr]) {
    for (i, expr) in list.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        name(out, expr);
    }
}

fn call_name(out: &mut String, call: &Call, expr: &Expr) {
    if matches!(call.style, CallStyle::Array | CallStyle::Tuple) && is_constant_collection(expr) {
        constant_name(out, expr, false);
        return;
    }
    let plain = call.params.is_none() && !call.distinct && call.filter.is_none() && call.over.is_none();
    let brackets = match (call.style, call.name.as_str()) {
        (CallStyle::Array, _) => Some(("[", "]")),
        (CallStyle::Tuple, _) => Some(("(", ")")),
        (CallStyle::Function, "array") if plain => Some(("[", "]")),
        (CallStyle::Function, "tuple") if plain => Some(("(", ")")),
        _ => None,
    };
    if let Some((open, close)) = brackets {
        out.push_str(open);
        names(out, &call.args);
        out.push_str(close);
        return;
    }
    out.push_str(&call.name);
    if call.distinct {
        out.push_str("Distinct");
    }
    if call.filter.is_some() {
        out.push_str("If");
    }
    if let Some(params) = &call.params {
        out.push('(');
        names(out, params);
        out.push(')');
    }
    out.push('(');
    // `count(*)` counts rows and takes no argument.
    let counts_rows = call.counts_rows();
    if !counts_rows {
        names(out, &call.args);
    }
    if let Some(filter) = &call.filter {
        if !counts_rows && !call.args.is_empty() {
            out.push_str(", ");
        }
        name(out, filter);
    }
    out.push(')');
    match &call.over {
        None => {}
        Some(WindowRef::Named(window)) => {
            out.push_str(" OVER ");
            out.push_str(&window.name);
        }
        Some(WindowRef::Spec(spec)) => {
            out.push_str(" OVER (");
            window_name(out, spec);
            out.push(')');
        }
    }
}

/// Written in brackets, and of literals only: the kernel reads such a thing as one literal.
pub(crate) fn is_constant_collection(expr: &Expr) -> bool {
    match &expr.kind {
        _ if expr.alias.is_some() => false,
        ExprKind::Literal(_) => true,
        ExprKind::Call(call) => {
            matches!(call.style, CallStyle::Array | CallStyle::Tuple)
                && call.args.iter().all(is_constant_collection)
        }
        _ => false,
    }
}

fn constant_name(out: &mut String, expr: &Expr, as_float: bool) {
    match &expr.kind {
        ExprKind::Literal(literal) => literal_name(out, literal, as_float, false),
        ExprKind::Call(call) => {
            let array = call.style == CallStyle::Array;
            let as_float = array && (as_float || has_float(expr));
            out.push(if array { '[' } else { '(' });
            for (i, arg) in call.args.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                constant_name(out, arg, as_float);
            }
            out.push(if array { ']' } else { ')' });
        }
        _ => {}
    }
}

/// Whether a number directly in this array, or in arrays inside it, is a float.
fn has_float(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Literal(Literal::Float(_)) => true,
        ExprKind::Call(call) => call.style == CallStyle::Array && call.args.iter().any(has_float),
        _ => false,
    }
}

fn window_name(out: &mut String, spec: &WindowSpec) {
    let mut parts = Vec::new();
    if let Some(base) = &spec.base {
        parts.push(base.name.clone());
    }
    if !spec.partition_by.is_empty() {
        let mut part = "PARTITION BY ".to_string();
        names(&mut part, &spec.partition_by);
        parts.push(part);
    }
    if !spec.order_by.is_empty() {
        let items: Vec<String> = spec.order_by.iter().map(order_name).collect();
        parts.push(format!("ORDER BY {}", items.join(", ")));
    }
    if let Some(frame) = &spec.frame {
        let unit = match frame.unit {
            FrameUnit::Rows => "ROWS",
            FrameUnit::Range => "RANGE",
            FrameUnit::Groups => "GROUPS",
        };
        parts.push(format!("{unit} BETWEEN {} AND {}", bound_name(&frame.start), bound_name(&frame.end)));
    }
    out.push_str(&parts.join(" "));
}

fn order_name(item: &OrderItem) -> String {
    let mut out = column_name(&item.expr);
    out.push_str(if item.descending { " DESC" } else { " ASC" });
    match item.nulls_first {
        Some(true) => out.push_str(" NULLS FIRST"),
        Some(false) => out.push_str(" NULLS LAST"),
        None => {}
    }
    if let Some(collate) = &item.collate {
        out.push_str(" COLLATE ");
        out.push_str(collate);
    }
    out
}

fn bound_name(bound: &FrameBound) -> String {
    match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_string(),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_string(),
        FrameBound::CurrentRow => "CURRENT ROW".to_string(),
        FrameBound::Preceding(value) => format!("{} PRECEDING", column_name(value)),
        FrameBound::Following(value) => format!("{} FOLLOWING", column_name(value)),
    }
}

/// `lambda(tuple(x, y), body)`: how the arrow is spelled as a function.
pub fn spelled_lambda(call: &Call) -> Option<ExprKind> {
    let [params, body] = &call.args[..] else { return None };
    let ExprKind::Call(tuple) = &params.kind else { return None };
    let is_tuple = tuple.style == CallStyle::Tuple || tuple.name == "tuple";
    if call.name != "lambda" || !is_tuple {
        return None;
    }
    let params = tuple.args.iter().map(|param| match &param.kind {
        ExprKind::Identifier(parts) if parts.len() == 1 => Some(parts[0].clone()),
        _ => None,
    });
    Some(ExprKind::Lambda { params: params.collect::<Option<_>>()?, body: Box::new(body.clone()) })
}

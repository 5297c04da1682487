//! The names that the kernel's planner has for expressions: functions with their arguments, whatever way they are written, and constants
//! with their types.

use chalet_storage::catalog::in_backquotes;
use chalet_syntax::ast::{Call, CallStyle, Expr, ExprKind, Ident, Literal};
use chalet_syntax::print::string_literal;

pub(super) fn name_of(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Literal(literal) => format!("{}_{}", expr_text(expr), type_of(literal)),
        ExprKind::Identifier(parts) => {
            // Of columns with a dot in their name the planner keeps the quotes.
            let part = |part: &Ident| match part.name.contains('.') {
                true => in_backquotes(&part.name),
                false => part.name.clone(),
            };
            parts.iter().map(part).collect::<Vec<_>>().join(".")
        }
        ExprKind::Call(call) => of_call(call),
        _ => expr_text(expr),
    }
}

fn expr_text(expr: &Expr) -> String {
    Expr { alias: None, ..expr.clone() }.to_string()
}

fn of_call(call: &Call) -> String {
    if let ("_CAST", [value, Expr { kind: ExprKind::Literal(Literal::String(ty)), .. }]) =
        (&*call.name, &call.args[..])
    {
        let ty = String::from_utf8_lossy(ty);
        return format!("_CAST({}_{ty}, {}_String)", expr_text(value), string_literal(&*ty));
    }
    let mut args = Vec::new();
    flattened(call, &mut args);
    let params = call.params.as_ref().map(|params| format!("({})", list(params.iter()))).unwrap_or_default();
    format!("{}{params}({})", call.name, list(args.into_iter()))
}

fn list<'a>(exprs: impl Iterator<Item = &'a Expr>) -> String {
    exprs.map(name_of).collect::<Vec<_>>().join(", ")
}

/// The arguments; `a AND b AND c` has three.
fn flattened<'a>(call: &'a Call, args: &mut Vec<&'a Expr>) {
    let is_chain = call.style == CallStyle::Operator && matches!(&*call.name, "and" | "or");
    for arg in &call.args {
        match &arg.kind {
            ExprKind::Call(inner)
                if is_chain
                    && inner.name == call.name
                    && inner.style == call.style
                    && !arg.span.parenthesised =>
            {
                flattened(inner, args);
            }
            _ => args.push(arg),
        }
    }
}

fn type_of(literal: &Literal) -> &'static str {
    match literal {
        Literal::Null => "Nullable(Nothing)",
        Literal::Bool(_) => "Bool",
        Literal::UInt(..=0xFF) => "UInt8",
        Literal::UInt(..=0xFFFF) => "UInt16",
        Literal::UInt(..=0xFFFF_FFFF) => "UInt32",
        Literal::UInt(_) => "UInt64",
        Literal::Int(-0x80..) => "Int8",
        Literal::Int(-0x8000..) => "Int16",
        Literal::Int(-0x8000_0000..) => "Int32",
        Literal::Int(_) => "Int64",
        Literal::Float(_) => "Float64",
        Literal::String(_) => "String",
    }
}

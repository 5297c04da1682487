//! ORDER BY of a table as it is written.

use chalet_syntax::ast::{self, ExprKind};

/// The keys of ORDER BY, and whether they descend. Parentheses around a list mean nothing: `((a, b))` are two keys, `tuple((a, b))`
/// is one.
pub(crate) fn written_keys(items: &[ast::OrderItem]) -> Vec<(&ast::Expr, bool)> {
    if let [ast::OrderItem { expr, descending: false, .. }] = items
        && expr.span.parenthesised
        && let ExprKind::Call(call) = &expr.kind
        && call.name == "tuple"
        && !call.args.is_empty()
    {
        return call.args.iter().map(|arg| (arg, false)).collect();
    }
    items.iter().map(|item| (&item.expr, item.descending)).collect()
}

//! The names of result columns: the alias, else the functional form of the expression.

use crate::select::SelectBinder;
use chalet_syntax::ast::{Expr, ExprKind, Ident};
use chalet_syntax::{column_name, visit};

impl SelectBinder<'_> {
    /// `t.x` is called `x`, unless `x` alone means another column.
    pub(crate) fn result_name(&self, expr: &Expr) -> String {
        if let Some(alias) = &expr.alias {
            return alias.name.clone();
        }
        let mut shortened = expr.clone();
        visit::walk_mut(&mut shortened, &mut |e| {
            if let ExprKind::Identifier(parts) = &mut e.kind
                && parts.len() > 1
            {
                self.shorten(parts);
            }
        });
        column_name(&shortened)
    }

    fn shorten(&self, parts: &mut Vec<Ident>) {
        let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
        let Ok(Some(whole)) = self.tables.find(&names, true) else { return };
        for start in (1..names.len()).rev() {
            if let Ok(Some(short)) = self.tables.find(&names[start..], true)
                && short.expr == whole.expr
                && short.used + start == whole.used
            {
                parts.drain(..start);
                return;
            }
        }
    }
}

//! The names of result columns: the alias, else the functional form of the expression.

use crate::select::SelectBinder;
use chalet_syntax::ast::{Expr, ExprKind, Ident, Span};
use chalet_syntax::{column_name, visit};

impl SelectBinder<'_> {
    /// `t.x` is called `x`, unless `x` alone means another column.
    pub(crate) fn result_name(&self, expr: &Expr) -> String {
        if let Some(alias) = &expr.alias {
            return alias.name.clone();
        }
        let mut shown = expr.clone();
        visit::walk_mut(&mut shown, &mut |e| match &mut e.kind {
            ExprKind::Identifier(parts) if parts.len() > 1 => self.shorten(parts),
            ExprKind::Call(call) => self.spell_out(&mut call.args),
            ExprKind::Lambda { body, .. } => {
                if let Some([name]) = self.matcher_names(body).as_deref() {
                    **body = identifier(name);
                }
            }
            _ => {}
        });
        column_name(&shown)
    }

    /// Matchers among the arguments of a function: the columns that they stand for.
    fn spell_out(&self, args: &mut Vec<Expr>) {
        let is_matcher = |e: &Expr| {
            matches!(e.kind, ExprKind::Star(_) | ExprKind::QualifiedStar { .. } | ExprKind::Columns { .. })
        };
        if !args.iter().any(is_matcher) {
            return;
        }
        for arg in std::mem::take(args) {
            match self.matcher_names(&arg) {
                Some(names) => args.extend(names.iter().map(|name| identifier(name))),
                None => args.push(arg),
            }
        }
    }

    /// Takes the table away from the front of a column, unless the column alone means something else.
    fn shorten(&self, parts: &mut Vec<Ident>) {
        let names: Vec<&str> = parts.iter().map(|p| p.name.as_str()).collect();
        let Some(place) = self.tables.place_of(&names) else { return };
        let column = names[place.qualifier..place.used].join(".");
        let is_other = self.aliases.contains_key(names[place.qualifier])
            || self.tables.joined.iter().any(|c| *c.name == *column)
            || self.tables.is_of_right_join(&column)
            || self.is_taken(&column, place.table);
        parts.drain(..if is_other { place.qualifier - 1 } else { place.qualifier });
    }
}

fn identifier(name: &str) -> Expr {
    Expr { kind: ExprKind::Identifier(vec![Ident::new(name)]), alias: None, span: Span::default() }
}

//! The aliases that the expressions of a SELECT give.

use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use chalet_syntax::ast::{self, ExprKind, Transformer};
use std::rc::Rc;

/// Remembers every alias of an expression, sub-queries and lambdas not entered.
pub(crate) fn collect_aliases(e: &ast::Expr, aliases: &mut HashMap<String, Rc<ast::Expr>>) -> Result<()> {
    let mut failure = None;
    chalet_syntax::visit::walk(e, &mut |e| {
        if let Some(alias) = &e.alias {
            let known = aliases.entry(alias.name.clone()).or_insert_with(|| Rc::new(e.clone()));
            if known.kind != e.kind {
                failure = Some(err!(
                    MULTIPLE_EXPRESSIONS_FOR_ALIAS,
                    "Multiple expressions {e} and {known} for alias {}",
                    alias.name
                ));
            }
        }
        for (expr, name) in replacements(e) {
            // Not written as an alias: the columns that matchers stand for are not told apart from it.
            aliases
                .entry(name.name.clone())
                .or_insert_with(|| Rc::new(ast::Expr { alias: None, ..ast::Expr::clone(expr) }));
        }
        !matches!(e.kind, ExprKind::Lambda { .. })
    });
    failure.map_or(Ok(()), Err)
}

/// What the REPLACE of a matcher puts in place of columns: their names mean it everywhere in the SELECT. After APPLY there
/// are no columns left to be replaced.
fn replacements(e: &ast::Expr) -> impl Iterator<Item = &(ast::Expr, ast::Ident)> {
    let transformers = match &e.kind {
        ExprKind::Star(transformers)
        | ExprKind::QualifiedStar { transformers, .. }
        | ExprKind::Columns { transformers, .. } => &transformers[..],
        _ => &[],
    };
    let is_apply =
        |t: &&Transformer| matches!(t, Transformer::Apply { .. } | Transformer::ApplyLambda { .. });
    transformers.iter().take_while(move |t| !is_apply(t)).flat_map(|transformer| match transformer {
        Transformer::Replace { items, .. } => items.iter(),
        _ => [].iter(),
    })
}

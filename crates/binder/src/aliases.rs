//! The aliases that the expressions of a SELECT give.

use chalet_base::hash::HashMap;
use chalet_base::{Result, err};
use chalet_syntax::ast::{self, ExprKind};
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
        !matches!(e.kind, ExprKind::Lambda { .. })
    });
    failure.map_or(Ok(()), Err)
}

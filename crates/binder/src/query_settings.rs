//! SETTINGS of sub-queries and of the arms of a set operation: what they say about the query itself, `limit` and `offset`.

use crate::query::{BoundQuery, QueryBinder};
use chalet_base::{Result, ensure};
use chalet_plan::{FromEnd, Limit, Plan, RowParts};
use chalet_syntax::ast;

impl QueryBinder<'_> {
    /// An arm of a set operation. One in parentheses has settings of its own.
    pub(crate) fn arm(&self, arm: &ast::SetExpr, is_last: bool) -> Result<BoundQuery> {
        let ast::SetExpr::Query(query) = arm else { return self.set_expr(arm) };
        if behind(&query.body).is_empty() {
            return self.query(query);
        }
        let binder = QueryBinder { depth: self.depth.max(1), ..self.clone() };
        // The limit of the last arm is one of the whole.
        if is_last { binder.set_expr(&query.body) } else { binder.query(query) }
    }

    /// The settings `limit` and `offset` that a query has of its own, on top of its clauses.
    pub(crate) fn limited_by(&self, settings: &[ast::Setting], bound: BoundQuery) -> Result<BoundQuery> {
        if !settings.iter().any(cuts) {
            return Ok(bound);
        }
        let own: Vec<ast::Setting> = settings.iter().filter(|setting| cuts(setting)).cloned().collect();
        let env = self.env.with_settings(&own)?;
        let number = |name: &str| {
            let is_own = own.iter().any(|setting| setting.name.name == name);
            let (value, _) = (env.context().settings.all.0)(name).filter(|_| is_own)?;
            value.as_u64().or_else(|| value.as_f64().map(|rows| rows as u64))
        };
        let limit = number("limit").filter(|&rows| rows > 0);
        let plan = Plan::Limit(Limit {
            input: Box::new(bound.plan),
            limit,
            offset: number("offset").unwrap_or(0),
            ties: None,
            from_end: FromEnd::default(),
            parts: RowParts::default(),
        });
        Ok(BoundQuery { plan, ..bound })
    }
}

/// Does a setting say which rows of the result there are?
fn cuts(setting: &ast::Setting) -> bool {
    matches!(setting.name.name.as_str(), "limit" | "offset")
}

/// The SETTINGS at the end of a query.
pub(crate) fn behind(body: &ast::SetExpr) -> &[ast::Setting] {
    match body {
        ast::SetExpr::Select(select) => &select.settings,
        ast::SetExpr::SetOp { inputs, .. } => inputs.last().map_or(&[], behind),
        ast::SetExpr::Query(query) => behind(&query.body),
    }
}

/// Fails where it cannot be told whether SETTINGS are those of the last arm or of the whole.
pub(crate) fn check_arms(arms: &[ast::SetExpr]) -> Result<()> {
    let Some((last, others)) = arms.split_last() else { return Ok(()) };
    ensure!(
        behind(last).is_empty() || !others.iter().any(|arm| behind(arm).iter().any(cuts)),
        BAD_ARGUMENTS,
        "Ambiguous SETTINGS in a UNION: an arm that is not the last sets limit or offset while the last arm also carries \
         SETTINGS. Nest the settings of each arm in a subquery"
    );
    Ok(())
}

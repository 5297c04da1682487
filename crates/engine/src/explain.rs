//! EXPLAIN: the statement at a stage of its life, as text.

use crate::explain_indexes;
use crate::plan_optimizer;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_binder::table_columns::bind_constant;
use chalet_plan::explain::{explain, explain_with};
use chalet_syntax::ast::{self, ExplainKind, StatementKind};
use chalet_syntax::print;
use chalet_types::Value;

pub(crate) fn run(statement: &ast::Explain, ctx: &QueryContext) -> Result<String> {
    let inner = &statement.statement;
    match statement.kind {
        ExplainKind::Ast => chalet_syntax::explain_ast(inner),
        ExplainKind::Syntax => Ok(print::format(inner)),
        ExplainKind::QueryTree => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("QUERY TREE") };
            Ok(explain(&bind_query(query, ctx, &ctx.ids)?.plan))
        }
        ExplainKind::Plan => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("PLAN") };
            let plan = bind_query(query, ctx, &ctx.ids)?.plan;
            let plan = plan_optimizer::optimized(plan, ctx)?;
            match has_indexes(&statement.settings, ctx)? {
                true => explain_with(&plan, &mut |scan| explain_indexes::lines(scan, ctx)),
                false => Ok(explain(&plan)),
            }
        }
        ExplainKind::Pipeline => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("PIPELINE") };
            let plan = bind_query(query, ctx, &ctx.ids)?.plan;
            chalet_exec::explain::pipeline(&plan_optimizer::optimized(plan, ctx)?, &ctx.exec)
        }
        ExplainKind::Analyze => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("ANALYZE") };
            let plan = bind_query(query, ctx, &ctx.ids)?.plan;
            chalet_exec::explain::analyze(&plan_optimizer::optimized(plan, ctx)?, &ctx.exec)
        }
        ExplainKind::Estimate => {
            let rows = estimate(inner, ctx)?.into_iter();
            let shown = rows.map(|row| row.iter().map(shown).collect::<Vec<_>>().join("\t") + "\n");
            Ok(shown.collect())
        }
    }
}

/// EXPLAIN ESTIMATE as rows.
pub(crate) fn estimate(statement: &ast::Statement, ctx: &QueryContext) -> Result<Vec<Vec<Value>>> {
    let StatementKind::Query(query) = &statement.kind else {
        bail!(INCORRECT_QUERY, "Only SELECT is supported for EXPLAIN ESTIMATE query")
    };
    let plan = bind_query(query, ctx, &ctx.ids)?.plan;
    explain_indexes::estimate(&plan_optimizer::optimized(plan, ctx)?, ctx)
}

fn shown(value: &Value) -> String {
    value.as_str().map(str::to_owned).or(value.as_u64().map(|n| n.to_string())).unwrap_or_default()
}

/// `indexes = 1` of EXPLAIN PLAN, also called `indices`.
fn has_indexes(settings: &[ast::Setting], ctx: &QueryContext) -> Result<bool> {
    let mut wanted = false;
    for setting in settings {
        let name = setting.name.name.as_str();
        let ast::SettingValue::Expr(value) = &setting.value else { continue };
        if matches!(name, "indexes" | "indices") {
            let value = bind_constant(value, ctx, &ctx.ids)?.value();
            wanted = match value {
                Value::UInt(n @ 0..=1) => n == 1,
                Value::Int(n @ 0..=1) => n == 1,
                other => bail!(
                    INVALID_SETTING_VALUE,
                    "Invalid value {} for setting \"{name}\". Expected boolean type",
                    shown(&other)
                ),
            };
        }
    }
    Ok(wanted)
}

fn unsupported(kind: &str) -> Result<String> {
    bail!(NOT_IMPLEMENTED, "EXPLAIN {kind} of this statement is not supported")
}

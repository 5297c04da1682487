//! EXPLAIN: the statement at a stage of its life, as text.

use crate::plan_optimizer;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_plan::explain::explain;
use chalet_syntax::ast::{self, ExplainKind, StatementKind};
use chalet_syntax::print;

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
            Ok(explain(&plan_optimizer::optimized(plan, ctx)?))
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
        ExplainKind::Estimate => unsupported("ESTIMATE"),
    }
}

fn unsupported(kind: &str) -> Result<String> {
    bail!(NOT_IMPLEMENTED, "EXPLAIN {kind} of this statement is not supported")
}

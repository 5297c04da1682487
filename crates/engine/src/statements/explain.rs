//! EXPLAIN: the statement at a stage of its life, as text.

use crate::scope::Scope;
use chalet_base::{Result, bail};
use chalet_binder::bind_query;
use chalet_plan::explain::explain;
use chalet_syntax::ast::{self, ExplainKind, StatementKind};
use chalet_syntax::print;

pub(crate) fn run(statement: &ast::Explain, scope: &Scope) -> Result<String> {
    let inner = &statement.statement;
    match statement.kind {
        ExplainKind::Ast => chalet_syntax::explain_ast(inner),
        ExplainKind::Syntax => Ok(print::format(inner)),
        ExplainKind::QueryTree => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("QUERY TREE") };
            Ok(explain(&bind_query(query, scope, &scope.ids)?.plan))
        }
        ExplainKind::Plan => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("PLAN") };
            let plan = bind_query(query, scope, &scope.ids)?.plan;
            Ok(explain(&scope.optimize(plan)?))
        }
        ExplainKind::Pipeline => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("PIPELINE") };
            let plan = bind_query(query, scope, &scope.ids)?.plan;
            chalet_exec::explain::pipeline(&scope.optimize(plan)?, scope.exec())
        }
        ExplainKind::Analyze => {
            let StatementKind::Query(query) = &inner.kind else { return unsupported("ANALYZE") };
            let plan = bind_query(query, scope, &scope.ids)?.plan;
            chalet_exec::explain::analyze(&scope.optimize(plan)?, scope.exec())
        }
        ExplainKind::Estimate => unsupported("ESTIMATE"),
    }
}

fn unsupported(kind: &str) -> Result<String> {
    bail!(NOT_IMPLEMENTED, "EXPLAIN {kind} of this statement is not supported")
}

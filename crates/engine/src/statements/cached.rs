//! What the setting `use_query_cache` forbids. Results are not kept here, which no query could see; but a query whose result must
//! not be kept is refused, as the kernel does.

use crate::query_context::QueryContext;
use crate::system::names::is_system;
use chalet_base::{Result, ensure};
use chalet_function_api::Volatility;
use chalet_syntax::ast::{Expr, ExprKind, Query, TableKind, WithItem};
use chalet_syntax::visit;

/// The modes of limits that may cut a result short.
const OVERFLOW_MODES: [&str; 9] = [
    "distinct_overflow_mode",
    "group_by_overflow_mode",
    "join_overflow_mode",
    "read_overflow_mode",
    "result_overflow_mode",
    "set_overflow_mode",
    "sort_overflow_mode",
    "timeout_overflow_mode",
    "transfer_overflow_mode",
];

/// Fails for a query whose result may not be kept, under settings that ask to keep it.
pub(super) fn check(query: &Query, ctx: &QueryContext) -> Result<()> {
    let settings = &ctx.state.settings;
    let is_on = |name: &str| settings.flag(name).unwrap_or(true);
    if settings.flag("use_query_cache") != Some(true) {
        return Ok(());
    }
    let cuts = |name: &&str| settings.get(name).is_some_and(|mode| mode != "throw");
    ensure!(
        !OVERFLOW_MODES.iter().any(cuts),
        QUERY_CACHE_USED_WITH_NON_THROW_OVERFLOW_MODE,
        "use_query_cache and overflow_mode != 'throw' cannot be used together"
    );
    if !is_on("enable_writes_to_query_cache") {
        return Ok(());
    }
    let throws = |name: &str| settings.get(name).is_none_or(|handling| handling == "throw");
    let mut found = Found { ctx, changing_function: false, system_table: false };
    found.query(query);
    ensure!(
        !found.changing_function || !throws("query_cache_nondeterministic_function_handling"),
        QUERY_CACHE_USED_WITH_NONDETERMINISTIC_FUNCTIONS,
        "The query result was not cached because the query contains a non-deterministic function. Use setting \
         `query_cache_nondeterministic_function_handling = 'save'` or `= 'ignore'` to cache the query result regardless, or omit \
         caching"
    );
    ensure!(
        !found.system_table || !throws("query_cache_system_table_handling"),
        QUERY_CACHE_USED_WITH_SYSTEM_TABLE,
        "The query result was not cached because the query contains a system table. Use setting \
         `query_cache_system_table_handling = 'save'` or `= 'ignore'` to cache the query result regardless, or omit caching"
    );
    Ok(())
}

struct Found<'a> {
    ctx: &'a QueryContext,
    changing_function: bool,
    system_table: bool,
}

impl Found<'_> {
    fn query(&mut self, query: &Query) {
        visit::for_each_select(query, &mut |select| {
            for item in &select.with {
                if let WithItem::Cte { query, .. } = item {
                    self.query(query);
                }
            }
            for table in visit::tables(select) {
                match &table.kind {
                    TableKind::Query(query) => self.query(query),
                    TableKind::Function(call) => call.args.iter().for_each(|arg| self.expr(arg)),
                    TableKind::Name(name) => {
                        let database = name.database.as_ref().map_or(&*self.ctx.state.database, |d| &d.name);
                        self.system_table |= is_system(database);
                    }
                    TableKind::File(_) => {}
                }
            }
            visit::for_each_clause(select, &mut |e| self.expr(e));
        });
    }

    fn expr(&mut self, e: &Expr) {
        visit::walk(e, &mut |e| {
            match &e.kind {
                ExprKind::Call(call) => {
                    let function = self.ctx.registry.scalars.get(&call.name);
                    let changes = function.is_some_and(|f| f.record().volatility != Volatility::Immutable);
                    self.changing_function |= changes;
                }
                ExprKind::Subquery(query) | ExprKind::Exists(query) => self.query(query),
                _ => {}
            }
            true
        });
    }
}

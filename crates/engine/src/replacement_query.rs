//! A query of the host program that is a table of its other queries. It is bound where it is named, and sees what it saw when
//! it was made: its own parameters and its own caller's replacement scans, not what the statement that names it sees.

use crate::replacement_scan::ReplacementScan;
use crate::scope::Scope;
use crate::session::Outline;
use crate::table_functions;
use chalet_base::{Error, Result, bail};
use chalet_binder::{BinderSettings, Environment, MaybeOwned, TableArgument};
use chalet_columns::Block;
use chalet_function_api::{Context, Registry};
use chalet_plan::{Plan, ScanLimits};
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::ast;
use std::any::Any;
use std::sync::Arc;

pub struct ReplacementQuery {
    schema: TableSchema,
    query: String,
    params: Vec<(String, String)>,
    replacement_scan: Arc<dyn ReplacementScan>,
}

impl ReplacementQuery {
    /// `columns` are those that [`crate::Session::outline`] told, `params` values of `{name:Type}` as text.
    pub fn new(
        query: String,
        columns: Outline,
        params: Vec<(String, String)>,
        replacement_scan: Arc<dyn ReplacementScan>,
    ) -> ReplacementQuery {
        ReplacementQuery { schema: TableSchema::of(columns), query, params, replacement_scan }
    }
}

impl Table for ReplacementQuery {
    fn engine(&self) -> &str {
        "View"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "A query is read as a sub-query")
    }

    fn view_query(&self) -> Option<&str> {
        Some(&self.query)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The scope of such a query: its caller's replacement scans and its own parameters over the statement's scope.
pub(crate) struct ReplacementQueryScope<'a> {
    pub scope: MaybeOwned<'a, Scope>,
    pub query: &'a ReplacementQuery,
}

impl Environment for ReplacementQueryScope<'_> {
    fn registry(&self) -> &Registry {
        self.scope.registry()
    }

    fn context(&self) -> &Arc<Context> {
        self.scope.context()
    }

    fn settings(&self) -> &BinderSettings {
        self.scope.settings()
    }

    fn table(&self, database: Option<&str>, name: &str) -> Result<Option<(Arc<dyn Table>, Arc<str>)>> {
        self.scope.find_with(Some(&*self.query.replacement_scan), database, name)
    }

    fn unknown_table(&self, database: Option<&str>, name: &str) -> Error {
        self.scope.unknown_table(database, name)
    }

    fn table_function(&self, name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>> {
        table_functions::make(name, args, &self.scope, Some(&*self.query.replacement_scan))
    }

    fn sql_function(&self, name: &str) -> Result<Option<(Vec<String>, ast::Expr)>> {
        self.scope.sql_function(name)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let own = self.query.params.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone());
        own.or_else(|| self.scope.state.params.get(name).cloned())
    }

    fn inside<'a>(&'a self, view: &'a dyn Table) -> Option<Box<dyn Environment + 'a>> {
        self.scope.inside(view)
    }

    fn with_settings<'a>(&'a self, settings: &[ast::Setting]) -> Result<Box<dyn Environment + 'a>> {
        let scope = MaybeOwned::Owned(Box::new(self.scope.of_subquery(settings)?));
        Ok(Box::new(ReplacementQueryScope { scope, query: self.query }))
    }

    fn scan_limits(&self) -> Option<Arc<ScanLimits>> {
        self.scope.scan_limits()
    }

    fn explain(&self, statement: &str) -> Result<Arc<dyn Table>> {
        self.scope.explain(statement)
    }

    fn optimized(&self, plan: Plan) -> Result<Plan> {
        self.scope.optimize(plan)
    }

    fn run(&self, plan: Plan) -> Result<Vec<Block>> {
        self.scope.run(plan)
    }
}

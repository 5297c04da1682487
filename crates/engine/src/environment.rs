//! What the binder asks of a statement's context: tables, functions, parameters, and results of sub-queries.

use crate::query_context::QueryContext;
use crate::replacement_query::ReplacementQuery;
use crate::system::names::is_system;
use crate::tables::Named;
use crate::{
    explain, explain_indexes, made_table, plan_optimizer, table_functions, tables, written_settings,
};
use chalet_base::{Error, Result, bail, err};
use chalet_binder::{BinderSettings, Environment, TableArgument};
use chalet_columns::Block;
use chalet_function_api::{Context, Registry};
use chalet_plan::{Plan, ScanLimits};
use chalet_storage::Table;
use chalet_syntax::ast;
use chalet_types::{DataType, Value};
use std::sync::Arc;

impl Environment for QueryContext {
    fn registry(&self) -> &Registry {
        &self.registry
    }

    fn context(&self) -> &Arc<Context> {
        &self.functions
    }

    fn settings(&self) -> &BinderSettings {
        &self.binder
    }

    fn table(&self, database: Option<&str>, name: &str) -> Result<Option<Named>> {
        if let Some(inserted) = self.inserted.as_deref().filter(|rows| rows.is_of(database, name)) {
            return Ok(Some(inserted.named()));
        }
        tables::find_with(self, self.replacement_scan.as_deref(), database, name)
    }

    fn made_table(&self, name: &str) -> Result<Option<Arc<dyn Table>>> {
        Ok(tables::find(self, None, name)?.map(|(table, _)| table))
    }

    fn unknown_table(&self, database: Option<&str>, name: &str) -> Error {
        let shown = match database {
            Some(database) => format!("{database}.{name}"),
            None => name.to_string(),
        };
        let database = database.unwrap_or(&self.state.database);
        if !self.database.shared.catalog.database_exists(database) && !is_system(database) {
            return err!(UNKNOWN_DATABASE, "Database {database} does not exist");
        }
        let names: Vec<String> = match self.database.shared.catalog.tables(database) {
            Ok(tables) => tables.into_iter().map(|(name, _)| name).collect(),
            Err(_) => Vec::new(),
        };
        let hint = self.replacement_scan.as_ref().and_then(|replacement_scan| replacement_scan.hint(name));
        let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
        match chalet_base::suggest::nearest(name, names.iter().map(String::as_str), 1).first() {
            Some(near) => err!(
                UNKNOWN_TABLE,
                "Unknown table expression identifier '{shown}'. Maybe you meant: '{near}'?{hint}"
            ),
            None => err!(UNKNOWN_TABLE, "Unknown table expression identifier '{shown}'{hint}"),
        }
    }

    fn table_function(&self, name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>> {
        table_functions::make(name, args, self, self.replacement_scan.as_deref())
    }

    fn takes_written(&self, function: &str) -> bool {
        table_functions::ON_SERVERS.contains(&function)
    }

    fn sql_function(&self, name: &str) -> Result<Option<(Vec<String>, ast::Expr)>> {
        let functions = self.database.shared.functions.all();
        let Some(found) = functions.get(name) else { return Ok(None) };
        Ok(Some((found.params.clone(), found.body.clone()?)))
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let given = self.params.iter().find(|(known, _)| known == name).map(|(_, text)| text);
        given.or_else(|| self.state.params.get(name)).cloned()
    }

    fn inside<'a>(&'a self, view: &'a dyn Table) -> Option<Box<dyn Environment + 'a>> {
        let query = view.as_any().downcast_ref::<ReplacementQuery>()?;
        let mut ctx = self.clone();
        ctx.params.clone_from(&query.params);
        ctx.replacement_scan = Some(query.replacement_scan.clone());
        Some(Box::new(ctx))
    }

    fn with_settings<'a>(&'a self, settings: &[ast::Setting]) -> Result<Box<dyn Environment + 'a>> {
        let mut all = self.state.settings.clone();
        for setting in settings {
            written_settings::apply(setting, &mut all, self)?;
        }
        Ok(Box::new(self.of_subquery(all)?))
    }

    fn scan_limits(&self) -> Option<Arc<ScanLimits>> {
        self.scan_limits.clone()
    }

    fn explain(&self, statement: &str) -> Result<Arc<dyn Table>> {
        let parsed = chalet_syntax::parse_statements(statement)?;
        let Some(statement) = parsed.first() else { bail!(BAD_ARGUMENTS, "There is nothing to explain") };
        let ast::StatementKind::Explain(explain) = &statement.kind else {
            bail!(
                BAD_ARGUMENTS,
                "Table function viewExplain explains queries, not {}",
                chalet_syntax::print::format(statement)
            );
        };
        let ctx = &*written_settings::of_statement(statement, self)?;
        if explain.kind == ast::ExplainKind::Estimate {
            let rows = explain::estimate(&explain.statement, ctx)?;
            return made_table::made("ViewExplain", &explain_indexes::estimate_header(), rows);
        }
        let text = explain::run(explain, ctx)?;
        let lines: Vec<&str> = match explain.kind {
            ast::ExplainKind::Syntax => vec![&text],
            _ => text.lines().collect(),
        };
        let lines = lines.into_iter().map(|line| vec![Value::string(line)]);
        made_table::made("ViewExplain", &[("explain", DataType::String)], lines)
    }

    fn optimized_set(&self, plan: Plan) -> Result<Plan> {
        plan_optimizer::optimized_set(plan, self)
    }

    fn run(&self, plan: Plan) -> Result<Vec<Block>> {
        let plan = plan_optimizer::optimized_subquery(plan, self)?;
        chalet_exec::result::run_to_blocks(&plan, &self.exec)
    }
}

//! Views with parameters: `CREATE VIEW v AS SELECT ... {p:Int32}`, read as `v(p = 1)`. Such a view has no columns before
//! its parameters are known.

use crate::call::cast;
use crate::environment::{BinderSettings, Environment, MaybeOwned, TableArgument};
use crate::query::{BoundQuery, QueryBinder, bind_query};
use crate::select::SelectBinder;
use chalet_base::{Result, codes};
use chalet_columns::Block;
use chalet_function_api::{Context, Registry};
use chalet_plan::{Expr, IdSource, Plan, ScanLimits};
use chalet_storage::Table;
use chalet_syntax::{ast, visit};
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// The session with other query parameters.
struct WithParameters<'e> {
    session: MaybeOwned<'e, dyn Environment + 'e>,
    parameters: Vec<(String, String)>,
}

impl Environment for WithParameters<'_> {
    fn registry(&self) -> &Registry {
        self.session.registry()
    }

    fn context(&self) -> &Arc<Context> {
        self.session.context()
    }

    fn settings(&self) -> &BinderSettings {
        self.session.settings()
    }

    fn table(&self, database: Option<&str>, name: &str) -> Result<Option<(Arc<dyn Table>, Arc<str>)>> {
        self.session.table(database, name)
    }

    fn made_table(&self, name: &str) -> Result<Option<Arc<dyn Table>>> {
        self.session.made_table(name)
    }

    fn unknown_table(&self, database: Option<&str>, name: &str) -> chalet_base::Error {
        self.session.unknown_table(database, name)
    }

    fn table_function(&self, name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>> {
        self.session.table_function(name, args)
    }

    fn takes_written(&self, function: &str) -> bool {
        self.session.takes_written(function)
    }

    fn sql_function(&self, name: &str) -> Result<Option<(Vec<String>, ast::Expr)>> {
        self.session.sql_function(name)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, text)| text.clone())
    }

    fn inside<'a>(&'a self, view: &'a dyn Table) -> Option<Box<dyn Environment + 'a>> {
        self.session.inside(view)
    }

    fn with_settings<'a>(&'a self, settings: &[ast::Setting]) -> Result<Box<dyn Environment + 'a>> {
        let session = MaybeOwned::Owned(self.session.with_settings(settings)?);
        Ok(Box::new(WithParameters { session, parameters: self.parameters.clone() }))
    }

    fn scan_limits(&self) -> Option<Arc<ScanLimits>> {
        self.session.scan_limits()
    }

    fn explain(&self, statement: &str) -> Result<Arc<dyn Table>> {
        self.session.explain(statement)
    }

    fn optimized_set(&self, plan: Plan) -> Result<Plan> {
        self.session.optimized_set(plan)
    }

    fn run(&self, plan: Plan) -> Result<Vec<Block>> {
        self.session.run(plan)
    }
}

/// Binds the query of a new view. `None` when it has parameters, whatever the session's own are: what is wrong with it is said when
/// they are given.
pub fn bind_view(query: &ast::Query, env: &dyn Environment, ids: &IdSource) -> Result<Option<BoundQuery>> {
    match bind_query(
        query,
        &WithParameters { session: MaybeOwned::Borrowed(env), parameters: Vec::new() },
        ids,
    ) {
        Ok(bound) => Ok(Some(bound)),
        Err(error) if error.code() == codes::UNKNOWN_QUERY_PARAMETER => Ok(None),
        Err(_) if names_parameters(query) => Ok(None),
        Err(error) => Err(error),
    }
}

fn names_parameters(query: &ast::Query) -> bool {
    let mut found = false;
    visit::for_each_select(query, &mut |select| {
        visit::for_each_clause(select, &mut |clause| {
            visit::walk(clause, &mut |expr| {
                found |= matches!(expr.kind, ast::ExprKind::Parameter { .. });
                !found
            });
        });
    });
    found
}

/// Whether a table is a view whose columns depend on parameters.
pub fn has_parameters(table: &dyn Table) -> bool {
    table.view_query().is_some() && table.schema().columns.is_empty()
}

impl SelectBinder<'_> {
    /// `v(p = 1)` where `v` is a view with parameters; `None` when it is not one.
    pub(crate) fn view_with_parameters(&mut self, call: &ast::Call) -> Result<Option<BoundQuery>> {
        let env = self.query.env;
        let Some(view) = env.made_table(&call.name)? else { return Ok(None) };
        if !has_parameters(&*view) {
            return Ok(None);
        }
        let Some(text) = view.view_query() else { return Ok(None) };
        let mut parameters = Vec::new();
        for arg in self.table_arguments(&call.args)? {
            if let TableArgument::Named(name, value, ty) = arg {
                parameters.push((name, self.text_of(&value, ty)?));
            }
        }
        let query = crate::from::parse_query(text)?;
        let session = WithParameters { session: MaybeOwned::Borrowed(env), parameters };
        QueryBinder::new(&session, self.query.ids, self.query.depth + 1).query(&query).map(Some)
    }

    /// A constant in the form that parameters are given in.
    fn text_of(&self, value: &Value, ty: DataType) -> Result<String> {
        let text = cast(self.query.env, Expr::literal(value, ty)?, &DataType::String)?;
        let text = text.as_literal().map(|literal| literal.value());
        let bytes = text.as_ref().and_then(Value::as_bytes).unwrap_or_default();
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

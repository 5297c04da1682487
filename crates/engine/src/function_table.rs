//! Tables that CREATE TABLE ... AS a table function makes: the function is called whenever the table is used.

use crate::query_context::QueryContext;
use chalet_base::{Result, bail};
use chalet_binder::table_columns::{bind_call_arguments, bind_table_arguments};
use chalet_binder::{Environment, TableArgument};
use chalet_storage::catalog::quoted;
use chalet_storage::view::View;
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::ast::{self, CallStyle, ExprKind};
use chalet_syntax::print::string_literal;
use std::any::Any;
use std::sync::Arc;

/// A call of a table function under a name.
pub(crate) struct FunctionTable {
    /// Of the table that the function made when this one was created.
    engine: String,
    schema: TableSchema,
    pub call: ast::Call,
}

/// The call with what its arguments mean now: later it may run in another database.
pub(crate) fn settled(call: &ast::Call, ctx: &QueryContext) -> Result<ast::Call> {
    let mut settled = call.clone();
    for arg in &mut settled.args {
        let is_named = matches!(&arg.kind, ExprKind::Call(inner) if inner.style == CallStyle::Function);
        if !is_named || view_query(call).is_some() {
            continue;
        }
        let bound = bind_table_arguments(std::slice::from_ref(arg), ctx, &ctx.ids)?;
        if let [TableArgument::Value(value, _)] = &bound[..]
            && let Some(text) = value.as_bytes()
        {
            arg.kind = ExprKind::Literal(ast::Literal::String(text.to_vec()));
        }
    }
    Ok(settled)
}

/// The query of `view(SELECT ...)`.
fn view_query(call: &ast::Call) -> Option<&ast::Query> {
    match &call.args[..] {
        [ast::Expr { kind: ExprKind::Subquery(query), .. }] if call.name.eq_ignore_ascii_case("view") => {
            Some(query)
        }
        _ => None,
    }
}

/// The call as SHOW CREATE prints it.
pub(crate) fn shown(call: &ast::Call) -> String {
    let kind = ExprKind::Call(Box::new(call.clone()));
    ast::Expr { kind, alias: None, span: ast::Span::default() }.to_string()
}

/// The table that a call makes.
pub(crate) fn called(call: &ast::Call, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    if let Some(query) = view_query(call) {
        let bound = chalet_binder::bind_query(query, ctx, &ctx.ids)?;
        let schema = TableSchema::new(ctx.columns_of(&bound));
        return Ok(Arc::new(View { schema, query: query.to_string() }));
    }
    let args = bind_call_arguments(call, ctx, &ctx.ids)?;
    ctx.table_function(&call.name, &args)
}

/// What the engine is called of tables that depend on others or on files.
fn engine_without_a_call(function: &str) -> &str {
    match function {
        "file" => "File",
        "merge" => "Merge",
        "dictionary" => "Dictionary",
        "loop" => "Loop",
        "remote" | "remoteSecure" | "cluster" | "clusterAllReplicas" => "Distributed",
        _ if function.eq_ignore_ascii_case("view") => "View",
        _ => function,
    }
}

impl FunctionTable {
    /// With columns of its own where CREATE lists some.
    pub fn new(schema: TableSchema, call: ast::Call, ctx: &QueryContext) -> FunctionTable {
        // A function that fails now, as of a file that is gone, fails when the table is used. While a database is opened, other
        // tables may not be there yet.
        let engine = called(&call, ctx)
            .map_or_else(|_| engine_without_a_call(&call.name).into(), |table| table.engine().to_string());
        FunctionTable { engine, schema, call }
    }

    /// The function's table now, in the columns of this one.
    pub fn read(&self, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
        let found = called(&self.call, ctx)?;
        let there = found.schema();
        let own = || self.schema.columns.iter().filter(|column| !column.is_virtual);
        let theirs = there.columns.iter().filter(|column| !column.is_virtual);
        if own().map(|c| (&c.name, &c.ty)).eq(theirs.map(|c| (&c.name, &c.ty))) {
            return Ok(found);
        }
        let mut items = Vec::new();
        for column in own() {
            let (name, ty) = (quoted(&column.name), string_literal(column.ty.to_string()));
            if there.index_of(&column.name).is_none() {
                bail!(
                    NOT_FOUND_COLUMN_IN_BLOCK,
                    "Column {name} not found in table function {}",
                    self.call.name
                )
            }
            items.push(format!("CAST({name}, {ty}) AS {name}"));
        }
        let query = format!("SELECT {} FROM {}", items.join(", "), shown(&self.call));
        Ok(Arc::new(View { schema: self.schema.clone(), query }))
    }
}

impl Table for FunctionTable {
    fn engine(&self) -> &str {
        &self.engine
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        bail!(LOGICAL_ERROR, "Tables of table functions are read through these")
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

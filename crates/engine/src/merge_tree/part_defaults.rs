//! Defaults of rows that lack a column, of parts that were written before it came and of files: they are computed while the rows
//! are read, as in ClickHouse. Those of parts are written with the next merge.

use crate::database::Database;
use crate::defaults_over_stored::over_stored;
use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use crate::session_state::{Identity, SessionState};
use chalet_base::{Result, bail};
use chalet_binder::table_columns::bind_default;
use chalet_columns::{Block, Column};
use chalet_exec::expression::{Program, layout};
use chalet_plan::Field;
use chalet_storage::merge_tree::Defaults;
use chalet_storage::{ColumnSchema, DefaultKind, TableSchema};
use chalet_syntax::ast::{Expr, ExprKind};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The defaults of one table. It holds no database: defaults need functions alone.
pub(crate) struct PartDefaults {
    settings: crate::settings::Settings,
    ctx: OnceLock<QueryContext>,
    /// By their texts, types and what they read.
    known: Mutex<HashMap<String, Arc<Compiled>>>,
}

struct Compiled {
    reads: Arc<[Arc<str>]>,
    program: Option<Program>,
}

impl PartDefaults {
    /// Of a table that a statement makes or opens.
    pub fn new(ctx: &QueryContext) -> Arc<PartDefaults> {
        let settings = ctx.state.settings.clone();
        Arc::new(PartDefaults { settings, ctx: OnceLock::new(), known: Mutex::default() })
    }

    fn ctx(&self) -> Result<&QueryContext> {
        if let Some(made) = self.ctx.get() {
            return Ok(made);
        }
        let mut state = SessionState::new(Identity::of_user("default".into()));
        state.settings = self.settings.clone();
        let made = QueryContext::new(Database::default(), state, &RunOptions::default(), 0)?;
        Ok(self.ctx.get_or_init(|| made))
    }

    /// A default that reads no columns.
    fn constant(&self, column: &ColumnSchema, rows: &Block) -> Result<Column> {
        let Some((_, text)) = column.default.as_ref().filter(|(_, text)| !text.is_empty()) else {
            bail!(LOGICAL_ERROR, "Column {} has no default", column.name)
        };
        Ok(program(text, column, &[], self.ctx()?)?.evaluate(rows)?.swap_remove(0))
    }

    fn compiled(&self, column: &ColumnSchema, schema: &TableSchema) -> Result<Arc<Compiled>> {
        let Some((DefaultKind::Default | DefaultKind::Materialized, text)) = &column.default else {
            return Ok(Arc::new(Compiled { reads: Arc::default(), program: None }));
        };
        let written = over_stored(chalet_syntax::parse_expression(text)?, schema)?;
        let (reads, text) = (reads(&written, schema), written.to_string());
        let mut key = format!("{text}\0{}", column.ty);
        reads.iter().for_each(|read| key.push_str(&format!("\0{}\0{}", read.name, read.ty)));
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return Ok(found.clone());
        }
        let program = match reads.is_empty() {
            true => None,
            false => Some(program(&text, column, &reads, self.ctx()?)?),
        };
        let names = reads.iter().map(|read| read.name.clone()).collect();
        let compiled = Arc::new(Compiled { reads: names, program });
        known().insert(key, compiled.clone());
        Ok(compiled)
    }
}

impl Defaults for PartDefaults {
    fn reads(&self, column: &ColumnSchema, schema: &TableSchema) -> Result<Arc<[Arc<str>]>> {
        Ok(self.compiled(column, schema)?.reads.clone())
    }

    fn compute(&self, column: &ColumnSchema, schema: &TableSchema, inputs: &Block) -> Result<Column> {
        match &self.compiled(column, schema)?.program {
            Some(program) => Ok(program.evaluate(inputs)?.swap_remove(0)),
            None => self.constant(column, inputs),
        }
    }
}

/// The stored columns that an expression names.
fn reads(written: &Expr, schema: &TableSchema) -> Vec<ColumnSchema> {
    let mut found: Vec<ColumnSchema> = Vec::new();
    chalet_syntax::visit::walk(written, &mut |e| {
        if let ExprKind::Identifier(parts) = &e.kind {
            // `n.a` is a column, or a part of one.
            let of_parts = (1..=parts.len()).rev().find_map(|n| {
                let name = parts[..n].iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
                schema.stored().find(|column| *column.name == *name)
            });
            if let Some(column) = of_parts
                && !found.iter().any(|known| known.name == column.name)
            {
                found.push(column.clone());
            }
        }
        true
    });
    found
}

fn program(text: &str, column: &ColumnSchema, reads: &[ColumnSchema], ctx: &QueryContext) -> Result<Program> {
    let fields: Vec<Field> = reads.iter().map(|c| ctx.ids.field(c.name.clone(), c.ty.clone())).collect();
    let column_of = |f: &Field| (f.name.to_string(), chalet_plan::Expr::Column(f.id, f.ty.clone()));
    let named: Vec<_> = fields.iter().map(column_of).collect();
    let bound = bind_default(text, &column.ty, &named, ctx, &ctx.ids)?;
    Program::new(&[&bound], &layout(&fields), &ctx.functions)
}

//! ENGINE = EmbeddedRocksDB: values by key. The rows are kept as those of the Log family; the last one of each key stays.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_storage::keyed::KeyedTable;
use chalet_storage::log::LogTable;
use chalet_storage::memory::MemoryTable;
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast::{self, ExprKind};
use chalet_types::Value;
use std::sync::Arc;

pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (name, schema) = (new.engine.name, schema_of(new.create, new.ctx)?);
    let args = arguments(new.storage);
    check_arguments(args, new.ctx)?;
    let written = primary_key(new.create, new.storage);
    let keys = positions(&written, &schema)?;
    let rows: Arc<dyn Table> = match new.store {
        None => Arc::new(MemoryTable::named(name, schema)),
        Some(store) => Arc::new(LogTable::create(name, schema, store.new_folder()?)?),
    };
    let listed = args.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let engine = if args.is_empty() { name.to_string() } else { format!("{name}({listed})") };
    let key = match &written[..] {
        [one] => one.to_string(),
        all => format!("({})", all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    };
    Ok((Arc::new(KeyedTable::key_value(name, rows, keys)), format!("{engine}\nPRIMARY KEY {key}")))
}

pub(super) fn open(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let schema = stored_schema(&found.create.definition)?;
    let keys = positions(&primary_key(found.create, &found.create.storage), &schema)?;
    let rows = super::log::open(engine, found)?;
    Ok(Arc::new(KeyedTable::key_value(engine.name, rows, keys)))
}

fn arguments(storage: &ast::Storage) -> &[ast::Expr] {
    storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default()
}

/// `EmbeddedRocksDB(ttl, folder, read_only)`: only what says nothing.
fn check_arguments(args: &[ast::Expr], ctx: &QueryContext) -> Result<()> {
    ensure!(
        args.len() <= 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Engine EmbeddedRocksDB requires at most 3 parameters. ({} given). Correct usage: EmbeddedRocksDB([ttl, rocksdb_dir, \
         read_only])",
        args.len()
    );
    let Some(ttl) = args.first() else { return Ok(()) };
    let literal = bind_constant(ttl, ctx, &ctx.ids)?;
    ensure!(
        matches!(literal.value(), Value::UInt(_)),
        BAD_ARGUMENTS,
        "Argument 'ttl' must be a literal with type UInt64, got {}.",
        literal.ty
    );
    if literal.value() != Value::UInt(0) || args.len() > 1 {
        bail!(NOT_IMPLEMENTED, "Arguments of table engine EmbeddedRocksDB are not supported")
    }
    Ok(())
}

/// The expressions of PRIMARY KEY, wherever it stands.
fn primary_key(create: &ast::CreateTable, storage: &ast::Storage) -> Vec<ast::Expr> {
    let written = storage.primary_key.as_ref().or(create.definition.primary_key.as_ref());
    match written {
        Some(expr) => match &expr.kind {
            ExprKind::Call(call) if call.name == "tuple" => call.args.clone(),
            _ => vec![expr.clone()],
        },
        None => {
            let marked = create.definition.columns.iter().filter(|column| column.primary_key);
            let named = marked.map(|column| ExprKind::Identifier(vec![column.name.clone()]));
            named.map(|kind| ast::Expr { kind, alias: None, span: ast::Span::default() }).collect()
        }
    }
}

fn positions(keys: &[ast::Expr], schema: &TableSchema) -> Result<Vec<usize>> {
    ensure!(
        !keys.is_empty(),
        BAD_ARGUMENTS,
        "StorageEmbeddedRocksDB requires at least one column in primary key"
    );
    let position = |key: &ast::Expr| {
        let ExprKind::Identifier(parts) = &key.kind else {
            bail!(NOT_IMPLEMENTED, "The primary key of EmbeddedRocksDB must be columns, not {key}")
        };
        let name = parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
        let found = schema.stored().position(|column| *column.name == *name);
        found.map_or_else(
            || bail!(UNKNOWN_IDENTIFIER, "Missing columns: '{name}' while processing: '{name}'"),
            Ok,
        )
    };
    keys.iter().map(position).collect()
}

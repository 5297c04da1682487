//! ENGINE = Dictionary: a table of columns of a dictionary.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use crate::dictionaries::table::{Dictionary, OverDictionary};
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast::{self, ExprKind, Literal};
use chalet_syntax::print::string_literal;
use std::sync::Arc;

/// `Dictionary(name)`.
pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (written, database, name) = named(new.storage, &new.ctx.state.database)?;
    let found = dictionary(&database, &name, new.ctx)?;
    let all = &found.definition.schema;
    let is_described = !new.create.definition.columns.is_empty() || new.create.source.is_some();
    let schema = if is_described { schema_of(new.create, new.ctx)? } else { all.clone() };
    check(&schema, all, &name)?;
    let shown = format!("Dictionary({})", string_literal(written));
    Ok((Arc::new(OverDictionary { schema, database, name }), shown))
}

pub(super) fn open(_: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let database = found.create.name.database.as_ref().map_or("default", |database| &database.name);
    let (_, database, name) = named(&found.create.storage, database)?;
    Ok(Arc::new(OverDictionary { schema: stored_schema(&found.create.definition)?, database, name }))
}

/// The argument of the engine as it is written, its database and its name.
fn named(storage: &ast::Storage, database: &str) -> Result<(String, String, String)> {
    let args = storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default();
    let written = match args.first().map(|arg| &arg.kind) {
        Some(ExprKind::Identifier(parts)) if args.len() == 1 => {
            parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".")
        }
        Some(ExprKind::Literal(Literal::String(text))) if args.len() == 1 => {
            String::from_utf8_lossy(text).into_owned()
        }
        _ => bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Storage Dictionary requires single parameter: name of dictionary"
        ),
    };
    let (database, name) = match written.split_once('.') {
        Some((database, name)) => (database.to_owned(), name.to_owned()),
        None => (database.to_owned(), written.clone()),
    };
    Ok((written, database, name))
}

fn dictionary(database: &str, name: &str, ctx: &QueryContext) -> Result<Dictionary> {
    let found = ctx.database.shared.catalog.find(database, name);
    let found = found.as_ref().and_then(|entry| entry.table.as_any().downcast_ref::<Dictionary>());
    found.cloned().ok_or_else(|| err!(BAD_ARGUMENTS, "Dictionary (`{name}`) not found"))
}

/// The columns of the table are columns of the dictionary.
fn check(schema: &TableSchema, all: &TableSchema, name: &str) -> Result<()> {
    for column in schema.columns.iter() {
        let is_known = all.columns.iter().any(|known| known.name == column.name && known.ty == column.ty);
        ensure!(
            is_known,
            THERE_IS_NO_COLUMN,
            "Not found column {} {} in dictionary `{name}`",
            column.name,
            column.ty
        );
    }
    Ok(())
}

//! ENGINE = File: a table that is a file of a format.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use crate::formats::FORMATS;
use crate::merge_tree::part_defaults::PartDefaults;
use crate::query_context::QueryContext;
use crate::settings::Settings;
use crate::written_settings::{self, session_settings};
use crate::{reading, table_argument};
use chalet_base::{Result, bail, ensure, err};
use chalet_binder::table_columns::bind_table_arguments;
use chalet_function_api::{Context, Host, Interrupt};
use chalet_storage::file::FileContext;
use chalet_storage::file_engine::{FileEngine, FilePlace};
use chalet_storage::{ColumnSchema, Table};
use chalet_syntax::ast;
use chalet_syntax::print::string_literal;
use std::sync::Arc;

/// `File(format[, path[, compression]])`.
pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (create, ctx) = (new.create, new.ctx);
    let mut words = file_arguments(create, ctx)?;
    if let Some(path) = words.get_mut(1) {
        // Whoever opens the database again begins relative paths elsewhere.
        *path = ctx.user_path(path)?.into_owned();
    }
    let is_described = !create.definition.columns.is_empty() || create.source.is_some();
    let schema = if is_described || words.len() == 1 { Some(schema_of(create, ctx)?) } else { None };
    ensure!(
        schema.iter().flat_map(|s| s.columns.iter()).all(ColumnSchema::in_star),
        BAD_ARGUMENTS,
        "Table engine File doesn't support special columns like MATERIALIZED, ALIAS or EPHEMERAL"
    );
    let place = match (words.get(1), new.store) {
        (Some(path), _) => FilePlace::Path(path.clone()),
        (None, Some(store)) => FilePlace::Folder(Arc::new(store.new_folder()?)),
        (None, None) => FilePlace::Temporary,
    };
    let (format, compression) = (FORMATS.get(&words[0])?, words.get(2).cloned());
    let defaults = PartDefaults::new(ctx);
    let table = FileEngine::create(schema, format, place, compression, file_context(ctx), defaults)?;
    let shown = words.iter().map(string_literal);
    let mut engine = format!("File({})", shown.collect::<Vec<_>>().join(", "));
    // They go on to say how the file is read and written.
    check_paths(new.storage, ctx)?;
    let settings = session_settings(new.storage).filter_map(|setting| match &setting.value {
        ast::SettingValue::Expr(value) => Some(format!("{} = {value}", setting.name.name)),
        ast::SettingValue::Default => None,
    });
    let settings = settings.collect::<Vec<_>>().join(", ");
    if !settings.is_empty() {
        engine.push_str(&format!("\nSETTINGS {settings}"));
    }
    Ok((Arc::new(table), engine))
}

/// Fails where settings that the table keeps name files that its user may not name: others use it, too.
fn check_paths(storage: &ast::Storage, ctx: &QueryContext) -> Result<()> {
    let mut settings = Settings::default();
    for setting in session_settings(storage) {
        written_settings::apply(setting, &mut settings, ctx)?;
    }
    let formats = settings.effective()?.formats.clone();
    formats.named_files().try_for_each(|path| ctx.user_path(path).map(drop))
}

pub(super) fn open(_: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let words = file_arguments(found.create, found.ctx)?;
    let place = match (words.get(1), found.folder) {
        (Some(path), _) => FilePlace::Path(path.clone()),
        (None, Some(folder)) => FilePlace::Folder(folder),
        (None, None) => bail!(CORRUPTED_DATA, "Table {} has no folder", found.name),
    };
    let (format, compression) = (FORMATS.get(&words[0])?, words.get(2).cloned());
    let schema = stored_schema(&found.create.definition)?;
    let mut settings = found.ctx.state.settings.clone();
    for setting in session_settings(&found.create.storage) {
        written_settings::apply(setting, &mut settings, found.ctx)?;
    }
    let ctx = found.ctx.with_settings(settings)?;
    let (context, defaults) = (file_context(&ctx), PartDefaults::new(&ctx));
    Ok(Arc::new(FileEngine::create(Some(schema), format, place, compression, context, defaults)?))
}

/// The arguments of `File(...)`, which are texts.
fn file_arguments(create: &ast::CreateTable, ctx: &QueryContext) -> Result<Vec<String>> {
    let args = create.storage.engine.as_ref().and_then(|e| e.args.as_deref()).unwrap_or_default();
    ensure!(
        (1..=3).contains(&args.len()),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage File requires from 1 to 3 arguments: name of used format, source and compression_method"
    );
    let mut words = Vec::with_capacity(args.len());
    for arg in bind_table_arguments(args, ctx, &ctx.ids)? {
        let word = table_argument::text(&arg);
        words.push(word.ok_or_else(|| err!(BAD_ARGUMENTS, "Arguments of storage File must be strings"))?);
    }
    Ok(words)
}

/// What the reader of a table needs of a session, and nothing else: the table must not hold the database that holds it,
/// nor the statement that made it.
fn file_context(ctx: &QueryContext) -> FileContext {
    let context = Context { host: Host(None), interrupt: Interrupt(None), ..Context::clone(&ctx.functions) };
    FileContext {
        evaluate: None,
        cast: Some(reading::caster_in(Arc::new(context))),
        ..reading::file_context(ctx)
    }
}

//! CREATE DATABASE.

use super::super::attach::attach_database;
use crate::column_definitions::comment_of;
use crate::query_context::QueryContext;
use crate::system::names::is_system;
use chalet_base::{Result, bail, ensure};
use chalet_syntax::ast;

fn check_engine(engine: &ast::Engine, ctx: &QueryContext) -> Result<()> {
    let name = engine.name.as_str();
    match name {
        "Memory" | "Atomic" => {
            ensure!(engine.args.is_none(), BAD_ARGUMENTS, "Database engine `{name}` cannot have arguments")
        }
        "Ordinary" if ctx.state.settings.flag("allow_deprecated_database_ordinary") == Some(true) => {
            ensure!(engine.args.is_none(), BAD_ARGUMENTS, "Database engine `{name}` cannot have arguments")
        }
        "Ordinary" => bail!(
            UNKNOWN_DATABASE_ENGINE,
            "Ordinary database engine is deprecated (see also allow_deprecated_database_ordinary setting)"
        ),
        "Replicated" => return replicated(engine.args.as_deref().unwrap_or_default()),
        _ => bail!(UNKNOWN_DATABASE_ENGINE, "Unknown database engine: {name}"),
    }
    Ok(())
}

/// `Replicated(path, shard, replica)`: neither macros nor a keeper are there.
fn replicated(args: &[ast::Expr]) -> Result<()> {
    ensure!(
        !args.is_empty(),
        BAD_ARGUMENTS,
        "Macro 'uuid' in engine arguments is only supported when the UUID is explicitly specified or used within an ON CLUSTER \
         query"
    );
    let text = |at: usize| match args.get(at).map(|arg| &arg.kind) {
        Some(ast::ExprKind::Literal(ast::Literal::String(text))) => {
            String::from_utf8_lossy(text).into_owned()
        }
        _ => ["", "{shard}", "{replica}"].get(at).map_or_else(String::new, |usual| (*usual).to_owned()),
    };
    for text in [text(0), text(1), text(2)] {
        if let Some((_, rest)) = text.split_once('{')
            && let Some((name, _)) = rest.split_once('}')
        {
            bail!(
                NO_ELEMENTS_IN_CONFIG,
                "No macro '{name}' in config while processing substitutions in '{text}' at '{}' or macro is not supported here",
                text.find('{').map_or(0, |at| at + 1)
            );
        }
    }
    bail!(NO_ZOOKEEPER, "Can't create replicated database without ZooKeeper")
}

pub(crate) fn database(create: &ast::CreateDatabase, ctx: &QueryContext) -> Result<()> {
    if create.attach && attach_database(create, ctx)? {
        return Ok(());
    }
    let catalog = &ctx.database.shared.catalog;
    let name = &create.name.name;
    let is_there = is_system(name) || catalog.database_exists(name);
    ensure!(!is_there || create.if_not_exists, DATABASE_ALREADY_EXISTS, "Database {name} already exists");
    if is_there {
        return Ok(());
    }
    let engine = create.engine.as_ref().map(|e| e.name.as_str());
    if let Some(engine) = &create.engine {
        check_engine(engine, ctx)?;
    }
    let name_of_first = create.settings.first().map(|setting| &setting.name.name);
    ensure!(
        name_of_first.is_none(),
        UNKNOWN_SETTING,
        "Unknown setting '{}'",
        name_of_first.map_or("", |name| name)
    );
    // Its tables would have to be gone when the database is opened again.
    ensure!(
        engine != Some("Memory") || ctx.database.shared.catalog.store().is_none(),
        NOT_IMPLEMENTED,
        "Database engine Memory is not supported in a database on disk. Use Atomic"
    );
    let own = engine.filter(|engine| *engine != "Atomic").map(Into::into);
    catalog.create_database_of(name, create.if_not_exists, &comment_of(create.comment.as_deref()), own)
}

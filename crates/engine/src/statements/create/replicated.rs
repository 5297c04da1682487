//! Engines of replicated tables: refused, since there is no Keeper, once the kernel would have nothing else to say against them.

use super::engine::New;
use super::engines::ENGINES;
use crate::macros;
use crate::query_context::QueryContext;
use chalet_base::{Result, bail, ensure};
use chalet_syntax::ast::{self, ExprKind, Literal};

/// Fails for `Replicated<local>`, with what is wrong first.
pub(super) fn refused(
    local: &str,
    create: &ast::CreateTable,
    storage: &ast::Storage,
    ctx: &QueryContext,
) -> Result<()> {
    let args = storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default();
    let texts: Vec<String> = args.iter().map_while(text).take(2).collect();
    let is_keyed = storage.order_by.is_some() || storage.primary_key.is_some();
    if !is_keyed {
        try_local(local, create, storage, texts.len(), ctx)?;
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "ORDER BY or PRIMARY KEY clause is missing. Consider using extended storage definition syntax with ORDER BY or \
             PRIMARY KEY clause"
        );
    }
    let known_uuid = create.uuid.as_deref();
    let (path, replica) = match &texts[..] {
        [path, replica] => (path.as_str(), replica.as_str()),
        // Those of the server's configuration.
        [] => ("/clickhouse/tables/{uuid}/{shard}", "{replica}"),
        _ => bail!(BAD_ARGUMENTS, "Expected two string literal arguments: zookeeper_path and replica_name"),
    };
    ensure!(
        !texts.is_empty() || args.is_empty() || args.iter().skip(1).all(|arg| text(arg).is_none()),
        BAD_ARGUMENTS,
        "Expected two string literal arguments: zookeeper_path and replica_name"
    );
    let database = create.name.database.as_ref().map_or(ctx.state.database.as_str(), |d| &d.name);
    let mut known = vec![("database", database), ("table", create.name.name.name.as_str())];
    known.extend(known_uuid.map(|uuid| ("uuid", uuid)));
    macros::expand(path, &known)?;
    macros::expand(replica, &known)?;
    try_local(local, create, storage, texts.len(), ctx)?;
    bail!(NO_ZOOKEEPER, "Can't create replicated table without ZooKeeper")
}

fn text(arg: &ast::Expr) -> Option<String> {
    match &arg.kind {
        ExprKind::Literal(Literal::String(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// Makes the table as one that is not replicated, in memory, and forgets it.
fn try_local(
    local: &str,
    create: &ast::CreateTable,
    storage: &ast::Storage,
    n_texts: usize,
    ctx: &QueryContext,
) -> Result<()> {
    let Some(engine) = ENGINES.iter().find(|engine| engine.name == local) else { return Ok(()) };
    let mut storage = storage.clone();
    if let Some(written) = &mut storage.engine {
        let others: Vec<_> = written.args.iter().flatten().skip(n_texts).cloned().collect();
        (written.name, written.args) = (local.into(), (!others.is_empty()).then_some(others));
    }
    (engine.create)(&New { engine, create, storage: &storage, ctx, store: None }).map(drop)
}

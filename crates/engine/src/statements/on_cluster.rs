//! ON CLUSTER: statements for all servers of a cluster. There is none to send them to, and the kernel's embedded form has none
//! either; where `chalet_local_replicas` is set, they are for this database.

use crate::macros;
use crate::query_context::QueryContext;
use crate::tables::existing;
use chalet_base::{Result, bail, ensure};
use chalet_syntax::ast::{self, StatementKind};

/// Fails for a statement that names a cluster. Views are looked at once their query is known to be right.
pub(super) fn check(statement: &ast::Statement, ctx: &QueryContext) -> Result<()> {
    let Some(cluster) = &statement.cluster else { return Ok(()) };
    match &statement.kind {
        StatementKind::CreateView(_) => Ok(()),
        StatementKind::Delete { table, .. } => {
            existing(table, ctx)?;
            disabled(ctx)
        }
        StatementKind::CreateTable(create) if create.temporary => bail!(
            INCORRECT_QUERY,
            "Temporary objects (tables/views) cannot be created ON CLUSTER. You should not specify a cluster for a temporary \
             objects"
        ),
        StatementKind::CreateDatabase(create) if create.attach => disabled(ctx),
        StatementKind::CreateTable(_)
        | StatementKind::CreateDatabase(_)
        | StatementKind::CreateDictionary(_)
        | StatementKind::Backup(_)
        | StatementKind::System { .. } => check_known(Some(cluster), ctx),
        _ => disabled(ctx),
    }
}

/// Fails where a statement names a cluster: none is known to statements, whatever queries may read.
pub(super) fn check_known(cluster: Option<&ast::Ident>, ctx: &QueryContext) -> Result<()> {
    let Some(cluster) = cluster.filter(|_| !is_ignored(ctx)) else { return Ok(()) };
    macros::expand(&cluster.name, &[])?;
    bail!(CLUSTER_DOESNT_EXIST, "Requested cluster '{}' not found", cluster.name)
}

fn disabled(ctx: &QueryContext) -> Result<()> {
    ensure!(is_ignored(ctx), QUERY_IS_PROHIBITED, "Replicated DDL queries are disabled");
    Ok(())
}

fn is_ignored(ctx: &QueryContext) -> bool {
    ctx.state.settings.flag("chalet_local_replicas") == Some(true)
}

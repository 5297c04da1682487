//! The setting `readonly`: 1 forbids to change data and settings, 2 data only. What it forbids cannot be allowed again.

use crate::query_context::QueryContext;
use chalet_base::{Result, ensure};
use chalet_syntax::ast::{InsertTarget, ObjectName, Statement, StatementKind};

/// Statements that change nothing and answer with rows.
pub(crate) fn gives_rows(kind: &StatementKind) -> bool {
    use StatementKind::{Describe, Exists, Explain, Query, Show};
    matches!(kind, Query(_) | Explain(_) | Show(_) | Describe(_) | Exists { .. })
}

/// Fails where `allow_ddl = 0` forbids to define things. It cannot be taken back.
fn check_ddl(kind: &StatementKind, ctx: &QueryContext) -> Result<()> {
    use StatementKind::*;
    if ctx.state.settings.flag("allow_ddl") != Some(false) {
        return Ok(());
    }
    let defines = match kind {
        CreateTable(_)
        | CreateView(_)
        | CreateDatabase(_)
        | CreateFunction(_)
        | CreateDictionary(_)
        | Entity(_)
        | AlterTable(_)
        | AlterDatabase { .. }
        | Attach { .. }
        | Rename { .. }
        | Undrop(_) => true,
        Parallel(list) => return list.iter().try_for_each(|statement| check_ddl(&statement.kind, ctx)),
        Drop(drop) => !drop.if_exists,
        _ => false,
    };
    ensure!(
        !defines,
        QUERY_IS_PROHIBITED,
        "Cannot execute query. DDL queries are prohibited for the user {}",
        ctx.functions.user
    );
    Ok(())
}

/// Fails where the session may only read and the statement does more.
pub(crate) fn check(statement: &Statement, ctx: &QueryContext) -> Result<()> {
    check_ddl(&statement.kind, ctx)?;
    let level = ctx.state.settings.number("readonly").unwrap_or(0);
    if level == 0 {
        return Ok(());
    }
    let reads = gives_rows(&statement.kind)
        || matches!(
            statement.kind,
            StatementKind::Check { .. }
                | StatementKind::CheckDatabase(_)
                | StatementKind::Use(_)
                | StatementKind::Set(_)
        );
    if level == 2 && is_of_session(&statement.kind, ctx) {
        return Ok(());
    }
    ensure!(
        reads && statement.output.outfile.is_none(),
        READONLY,
        "Cannot execute query in readonly mode. For queries that change data or tables, the setting `readonly` must be 0"
    );
    Ok(())
}

/// Does the statement touch temporary tables alone? `readonly = 2` allows those.
fn is_of_session(kind: &StatementKind, ctx: &QueryContext) -> bool {
    let is_temporary =
        |name: &ObjectName| name.database.is_none() && ctx.state.temporary.contains_key(&name.name.name);
    match kind {
        StatementKind::CreateTable(create) => create.temporary,
        StatementKind::CreateView(create) => create.temporary,
        StatementKind::Insert(insert) => match &insert.target {
            InsertTarget::Table(name) => is_temporary(name),
            InsertTarget::Function(_) => false,
        },
        StatementKind::AlterTable(alter) => is_temporary(&alter.name),
        StatementKind::Drop(drop) => {
            !drop.all_tables && (drop.temporary || drop.names.iter().all(is_temporary))
        }
        _ => false,
    }
}

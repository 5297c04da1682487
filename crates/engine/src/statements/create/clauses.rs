//! What CREATE statements share: the clause of a comment, and which databases they may change.

use crate::query_context::QueryContext;
use crate::system::names::is_system;
use chalet_base::{Result, ensure};
use chalet_syntax::ast::Replace;

/// The clause of a comment, as SHOW CREATE prints it.
pub(crate) fn comment_sql(comment: Option<&[u8]>) -> String {
    let Some(comment) = comment else { return String::new() };
    let mut text = String::from("\nCOMMENT ");
    chalet_syntax::print::write_string(&mut text, comment);
    text
}

/// Fails where the statement is to replace a table that is not there.
pub(super) fn check_replaced(replace: Replace, database: &str, name: &str) -> Result<()> {
    ensure!(replace != Replace::Must, UNKNOWN_TABLE, "Table `{database}`.`{name}` doesn't exist");
    Ok(())
}

/// Fails where nothing can be made in a database.
pub(super) fn writable(database: &str, ctx: &QueryContext) -> Result<()> {
    ensure!(!is_system(database), ACCESS_DENIED, "Database {database} cannot be changed");
    ensure!(
        ctx.database.shared.catalog.database_exists(database),
        UNKNOWN_DATABASE,
        "Database {database} does not exist"
    );
    Ok(())
}

//! SET and USE.

use crate::query_context::QueryContext;
use crate::session_state::{SessionChange, SessionState};
use crate::system::names::is_system;
use crate::written_settings::{apply, check_change, setting_text};
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_syntax::ast;

/// `own` is what the session holds, without settings that were given for this statement only.
pub(crate) fn run(set: &ast::SetStatement, ctx: &QueryContext, own: &SessionState) -> Result<SessionChange> {
    match set {
        ast::SetStatement::Settings(list) => {
            let (mut settings, mut params) = (own.settings.clone(), own.params.clone());
            for setting in list {
                match setting.name.name.strip_prefix("param_") {
                    Some(name) => {
                        params.insert(name.to_string(), param_text(setting, ctx)?);
                    }
                    None => apply(setting, &mut settings, ctx)?,
                }
            }
            check_change(&ctx.state.settings, &own.settings, &settings)?;
            Ok(SessionChange::Settings(settings, params))
        }
        ast::SetStatement::Role(text) => set_role(text, own),
        ast::SetStatement::TransactionSnapshot(_) => {
            bail!(INVALID_TRANSACTION, "There is no current transaction")
        }
    }
}

/// Of no roles all and none are the same.
fn set_role(text: &str, own: &SessionState) -> Result<SessionChange> {
    let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["ROLE", "DEFAULT" | "NONE" | "ALL"] => {
            Ok(SessionChange::Settings(own.settings.clone(), own.params.clone()))
        }
        ["DEFAULT", ..] => bail!(
            ACCESS_DENIED,
            "default: Not enough privileges. To execute this query, it's necessary to have the grant ALTER USER ON default."
        ),
        _ => {
            let role = text.split_whitespace().nth(1).unwrap_or_default();
            bail!(UNKNOWN_ROLE, "There is no role `{role}` in `user directories`")
        }
    }
}

/// The text of a query parameter.
fn param_text(setting: &ast::Setting, ctx: &QueryContext) -> Result<String> {
    match &setting.value {
        ast::SettingValue::Default => bail!(BAD_ARGUMENTS, "A query parameter has no default"),
        ast::SettingValue::Expr(e) => {
            let literal = bind_constant(e, ctx, &ctx.ids)?;
            Ok(setting_text(&literal.value(), &literal.ty))
        }
    }
}

pub(crate) fn use_database(name: &ast::Ident, ctx: &QueryContext) -> Result<SessionChange> {
    let name = &name.name;
    let known = ctx.database.shared.catalog.database_exists(name) || is_system(name);
    ensure!(known, UNKNOWN_DATABASE, "Database {name} does not exist");
    Ok(SessionChange::Database(name.clone()))
}

//! SET and USE.

use super::setting_text;
use crate::scope::Scope;
use crate::session::Session;
use crate::settings::Settings;
use crate::system;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_syntax::ast;
use std::sync::Arc;

pub(crate) fn run(set: &ast::SetStatement, scope: &Arc<Scope>, session: &Session) -> Result<()> {
    match set {
        ast::SetStatement::Settings(list) => {
            // The session's own, without those that were given for this statement only.
            let before = session.state().clone();
            let (mut settings, mut params) = (before.settings, before.params);
            for setting in list {
                match setting.name.name.strip_prefix("param_") {
                    Some(name) => {
                        params.insert(name.to_string(), param_text(setting, scope)?);
                    }
                    None => apply(setting, &mut settings, scope)?,
                }
            }
            let mut state = session.state();
            (state.settings, state.params) = (settings, params);
            Ok(())
        }
        ast::SetStatement::Role(_) => bail!(NOT_IMPLEMENTED, "SET ROLE is not supported"),
        ast::SetStatement::TransactionSnapshot(_) => {
            bail!(NOT_IMPLEMENTED, "SET TRANSACTION SNAPSHOT is not supported")
        }
    }
}

/// The text of a query parameter.
fn param_text(setting: &ast::Setting, scope: &Scope) -> Result<String> {
    match &setting.value {
        ast::SettingValue::Default => bail!(BAD_ARGUMENTS, "A query parameter has no default"),
        ast::SettingValue::Expr(e) => {
            let literal = bind_constant(e, scope, &scope.ids)?;
            Ok(setting_text(&literal.value(), &literal.ty))
        }
    }
}

/// One `name = value`.
pub(crate) fn apply(setting: &ast::Setting, settings: &mut Settings, scope: &Scope) -> Result<()> {
    match &setting.value {
        ast::SettingValue::Default => settings.reset(&setting.name.name),
        ast::SettingValue::Expr(e) => {
            let literal = bind_constant(e, scope, &scope.ids)?;
            let value = literal.value();
            settings.set_literal(&setting.name.name, &value, &setting_text(&value, &literal.ty))
        }
    }
}

pub(crate) fn use_database(name: &ast::Ident, scope: &Arc<Scope>, session: &Session) -> Result<()> {
    let name = &name.name;
    let known = scope.database.shared.catalog.database_exists(name) || system::is_system(name);
    ensure!(known, UNKNOWN_DATABASE, "Database {name} does not exist");
    session.state().database = name.clone();
    Ok(())
}

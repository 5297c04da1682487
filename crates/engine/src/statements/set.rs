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
            let mut settings = scope.state.settings.clone();
            for setting in list {
                apply(setting, &mut settings, scope)?;
            }
            session.state().settings = settings;
            Ok(())
        }
        ast::SetStatement::Role(_) => bail!(NOT_IMPLEMENTED, "SET ROLE is not supported"),
        ast::SetStatement::TransactionSnapshot(_) => {
            bail!(NOT_IMPLEMENTED, "SET TRANSACTION SNAPSHOT is not supported")
        }
    }
}

/// One `name = value`.
pub(crate) fn apply(setting: &ast::Setting, settings: &mut Settings, scope: &Scope) -> Result<()> {
    match &setting.value {
        ast::SettingValue::Default => settings.reset(&setting.name.name),
        ast::SettingValue::Expr(e) => {
            let literal = bind_constant(e, scope, &scope.ids)?;
            settings.set(&setting.name.name, &setting_text(&literal.value(), &literal.ty))
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

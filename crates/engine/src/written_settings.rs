//! Settings as statements write them: SETTINGS and SET.

use crate::query_context::QueryContext;
use crate::settings::{self, Settings, merge_tree};
use chalet_base::{Result, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_columns::Column;
use chalet_syntax::ast::{self, StatementKind};
use chalet_types::{DataType, Value};
use std::borrow::Cow;

/// The context with SETTINGS of the statement on top of the session's.
pub(crate) fn of_statement<'a>(
    statement: &ast::Statement,
    ctx: &'a QueryContext,
) -> Result<Cow<'a, QueryContext>> {
    let mut written: Vec<&ast::Setting> = Vec::new();
    match &statement.kind {
        StatementKind::Query(query) => query_settings(&query.body, &mut written),
        StatementKind::Insert(insert) => {
            written.extend(&insert.settings);
            if let ast::InsertSource::Query(query) | ast::InsertSource::Inline { query: Some(query), .. } =
                &insert.source
            {
                query_settings(&query.body, &mut written);
            }
        }
        StatementKind::CreateTable(create) => {
            written.extend(session_settings(&create.storage));
            if let Some(ast::CreateSource::Query { query, .. }) = &create.source {
                query_settings(&query.body, &mut written);
            }
        }
        // They say what types its columns have.
        StatementKind::CreateView(create) if !create.materialized => {
            query_settings(&create.query.body, &mut written);
        }
        StatementKind::Explain(explain) => {
            if let StatementKind::Query(query) = &explain.statement.kind {
                query_settings(&query.body, &mut written);
            }
            written.extend(&explain.statement.output.settings);
        }
        _ => {}
    }
    written.extend(&statement.output.settings);
    if written.is_empty() {
        return Ok(Cow::Borrowed(ctx));
    }
    let mut settings = ctx.state.settings.clone();
    for setting in written {
        apply(setting, &mut settings, ctx)?;
    }
    check_change(&ctx.state.settings, &ctx.state.settings, &settings)?;
    Ok(Cow::Owned(ctx.with_settings(settings)?))
}

/// Fails where settings are changed that may not be changed: `current` are those that hold, whatever a statement writes behind SETTINGS.
pub(crate) fn check_change(current: &Settings, before: &Settings, after: &Settings) -> Result<()> {
    let level = current.number("readonly").unwrap_or(0);
    let forbids_ddl = current.flag("allow_ddl") == Some(false);
    if level == 0 && !forbids_ddl {
        return Ok(());
    }
    for name in before.differing(after) {
        ensure!(
            level == 0 || level != 1 && name != "readonly",
            READONLY,
            "Cannot modify '{name}' setting in readonly mode"
        );
        ensure!(
            !forbids_ddl || name != "allow_ddl",
            QUERY_IS_PROHIBITED,
            "Cannot modify 'allow_ddl' setting when DDL queries are prohibited for the user"
        );
    }
    Ok(())
}

/// Settings behind ENGINE that are not about the table: those of the session, which hold for the statement.
pub(crate) fn session_settings(storage: &ast::Storage) -> impl Iterator<Item = &ast::Setting> {
    let engine = storage.engine.as_ref().map_or("", |engine| engine.name.as_str());
    let is_its_own = move |name: &str| match engine {
        // Names of the session, with a meaning of their own.
        "Join" | "Set" => true,
        engine if engine.ends_with("MergeTree") => merge_tree::find(name).is_some(),
        _ => false,
    };
    storage.settings.iter().filter(move |setting| {
        let name = &setting.name.name;
        settings::find(name).is_some() && !is_its_own(name)
    })
}

/// Of a UNION the settings of its last SELECT are the query's.
fn query_settings<'a>(body: &'a ast::SetExpr, found: &mut Vec<&'a ast::Setting>) {
    match body {
        ast::SetExpr::Select(select) => found.extend(&select.settings),
        ast::SetExpr::Query(query) => query_settings(&query.body, found),
        ast::SetExpr::SetOp { inputs, .. } => {
            if let Some(last) = inputs.last() {
                query_settings(last, found);
            }
        }
    }
}

/// Parameters of a query come from SET and from the caller. SETTINGS may name them, and nobody reads them there.
pub(crate) fn is_parameter(name: &str) -> bool {
    name.starts_with("param_")
}

/// One `name = value`.
pub(crate) fn apply(setting: &ast::Setting, settings: &mut Settings, ctx: &QueryContext) -> Result<()> {
    if is_parameter(&setting.name.name) {
        return Ok(());
    }
    match &setting.value {
        ast::SettingValue::Default => settings.reset(&setting.name.name),
        ast::SettingValue::Expr(e) => {
            let literal = bind_constant(e, ctx, &ctx.ids)?;
            let value = literal.value();
            settings.set_literal(&setting.name.name, &value, &setting_text(&value, &literal.ty))
        }
    }
}

/// The text that a literal of SETTINGS or SET stands for.
pub(crate) fn setting_text(value: &Value, ty: &DataType) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::UInt(x) => x.to_string(),
        Value::Int(x) => x.to_string(),
        Value::Float(x) => x.to_string(),
        other => {
            let column = Column::of_value(other, ty, 1);
            let text = column.map(|c| {
                let mut out = Vec::new();
                chalet_text::write_value(
                    &mut out,
                    &c.into_flat(),
                    0,
                    ty,
                    chalet_text::Style::Plain,
                    &chalet_text::TextSettings::default(),
                );
                String::from_utf8_lossy(&out).into_owned()
            });
            text.unwrap_or_default()
        }
    }
}

//! ENGINE = Join and Set: rows of which one may be kept for each key.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use chalet_base::{Result, bail, ensure, err};
use chalet_storage::keyed::{JoinEngine, KeptRows, KeyedTable};
use chalet_storage::log::LogTable;
use chalet_storage::memory::MemoryTable;
use chalet_storage::{Table, TableSchema};
use chalet_syntax::ast::{self, ExprKind, Literal};
use std::sync::Arc;

/// Of both engines; `persistent = 0` keeps rows in memory.
pub(super) const SETTINGS: &[&str] = &["disk", "persistent"];

/// Settings of Join.
pub(super) const JOIN_SETTINGS: &[&str] = &[
    "any_join_distinct_right_table_keys",
    "disk",
    "join_any_take_last_row",
    "join_overflow_mode",
    "join_use_nulls",
    "max_bytes_in_join",
    "max_rows_in_join",
    "persistent",
];

pub(super) fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let (name, schema) = (new.engine.name, schema_of(new.create, new.ctx)?);
    let kept = !matches!(setting(new.storage, "persistent"), Some(Literal::UInt(0) | Literal::Bool(false)));
    let check = table(name, Arc::new(MemoryTable::new(schema.clone())), &schema, new.storage)?;
    let made = match new.store.filter(|_| kept) {
        None => check,
        Some(store) => {
            let rows = LogTable::create(name, schema.clone(), store.new_folder()?)?;
            table(name, Arc::new(rows), &schema, new.storage)?
        }
    };
    Ok((Arc::new(made), shown(new.engine, new.storage)))
}

pub(super) fn open(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let schema = stored_schema(&found.create.definition)?;
    let rows: Arc<dyn Table> = match found.folder {
        None => Arc::new(MemoryTable::new(schema.clone())),
        Some(folder) => {
            let (rows, dropped) = LogTable::open(engine.name, schema.clone(), folder)?;
            if dropped > 0 {
                found.warnings.push(format!(
                    "Table {}: an INSERT was not finished when the database was last written. Its {dropped} bytes were dropped",
                    found.name
                ));
            }
            Arc::new(rows)
        }
    };
    Ok(Arc::new(table(engine.name, rows, &schema, &found.create.storage)?))
}

/// The engine with its settings, as SHOW CREATE prints them.
pub(super) fn shown(engine: &Engine, storage: &ast::Storage) -> String {
    let name = engine.name;
    let args = storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default();
    let args: Vec<String> = args.iter().map(ast::Expr::to_string).collect();
    let mut text = if args.is_empty() { name.to_owned() } else { format!("{name}({})", args.join(", ")) };
    let own = storage.settings.iter().filter(|setting| engine.settings.contains(&setting.name.name.as_str()));
    let settings = own.filter_map(|setting| match &setting.value {
        ast::SettingValue::Expr(value) => Some(format!("{} = {value}", setting.name.name)),
        ast::SettingValue::Default => None,
    });
    let settings: Vec<String> = settings.collect();
    if !settings.is_empty() {
        text.push_str("\nSETTINGS ");
        text.push_str(&settings.join(", "));
    }
    text
}

fn setting<'a>(storage: &'a ast::Storage, name: &str) -> Option<&'a Literal> {
    let found = storage.settings.iter().find(|setting| setting.name.name == name)?;
    match &found.value {
        ast::SettingValue::Expr(ast::Expr { kind: ExprKind::Literal(literal), .. }) => Some(literal),
        _ => None,
    }
}

fn flag(storage: &ast::Storage, name: &str) -> bool {
    matches!(setting(storage, name), Some(Literal::UInt(1..) | Literal::Bool(true)))
}

fn table(
    name: &'static str,
    rows: Arc<dyn Table>,
    schema: &TableSchema,
    storage: &ast::Storage,
) -> Result<KeyedTable> {
    let args = storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default();
    if name == "Set" {
        let all = (0..schema.stored().count()).collect();
        return Ok(KeyedTable::new(name, rows, all, KeptRows::First, None));
    }
    ensure!(
        args.len() >= 3,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage Join requires at least 3 parameters: Join(ANY|ALL|SEMI|ANTI, LEFT|INNER|RIGHT, keys...)"
    );
    let word = |index: usize| match &args[index].kind {
        ExprKind::Identifier(parts) if parts.len() == 1 => Some(parts[0].name.as_str()),
        _ => None,
    };
    let one_of = |index: usize, known: &[&str], which: &str| {
        let written = word(index).map(str::to_ascii_uppercase);
        written.filter(|word| known.contains(&word.as_str())).ok_or_else(|| {
            err!(
                BAD_ARGUMENTS,
                "{which} parameter of storage Join must be {} (without quotes)",
                known.join(" or ")
            )
        })
    };
    let strictness = one_of(0, &["ANY", "ALL", "SEMI", "ANTI"], "First")?;
    let kind = one_of(1, &["LEFT", "INNER", "RIGHT", "FULL"], "Second")?;
    if kind == "FULL" && strictness != "ALL" {
        bail!(NOT_IMPLEMENTED, "{strictness} FULL JOINs are not implemented");
    }
    let mut keys = Vec::with_capacity(args.len() - 2);
    for index in 2..args.len() {
        let Some(key) = word(index) else {
            bail!(BAD_ARGUMENTS, "Parameter №{} of storage Join don't look like column name", index + 1);
        };
        let position = schema.stored().position(|column| *column.name == *key);
        keys.push(position.ok_or_else(|| {
            err!(NO_SUCH_COLUMN_IN_TABLE, "Key column ({key}) does not exist in table declaration")
        })?);
    }
    let one_row = kind == "LEFT" && strictness != "ALL" || kind == "INNER" && strictness == "ANY";
    let kept = match (one_row, flag(storage, "join_any_take_last_row")) {
        (true, true) => KeptRows::Last,
        (true, false) => KeptRows::First,
        (false, _) => KeptRows::All,
    };
    let join = JoinEngine { strictness, kind, use_nulls: flag(storage, "join_use_nulls") };
    Ok(KeyedTable::new(name, rows, keys, kept, Some(join)))
}

//! BACKUP and RESTORE.

use super::alter::{Wanted, wanted};
use super::output::{Output, print_rows};
use crate::backup::{
    Backups, OpenBackup, Operation, Options, Place, Selected, Selection, copy_table, fill_table,
    is_temporary, memory_rows_of, rows_of, selected, status_type,
};
use crate::query_context::QueryContext;
use crate::session_state::SessionChange;
use crate::statements::create::columns_sql;
use chalet_base::{Result, bail, ensure};
use chalet_binder::table_columns::bind_constant;
use chalet_storage::Entry;
use chalet_storage::merge_tree::MergeTree;
use chalet_storage::merge_tree::export::Links;
use chalet_storage::merge_tree::part::PartInfo;
use chalet_syntax::ast::{self, ExprKind, SettingValue};
use chalet_types::{DataType, Value};
use std::hash::{BuildHasher, RandomState};

/// Settings of the kernel's that are about what there is not here: clusters, remote storage, users, how files are copied.
const WITHOUT_EFFECT: &[&str] = &[
    "async",
    "backup_data_from_refreshable_materialized_view_targets",
    "check_parts",
    "check_projection_parts",
    "compression_level",
    "compression_method",
    "deduplicate_files",
    "experimental_lightweight_snapshot",
    "host_id",
    "internal",
    "max_backup_bandwidth",
    "read_from_filesystem_cache",
    "replica_num",
    "replica_num_in_backup",
    "restore_broken_parts_as_detached",
    "shard_num",
    "shard_num_in_backup",
    "skip_unresolved_access_dependencies",
    "storage_policy",
    "allow_backup_broken_projections",
    "allow_unresolved_access_dependencies",
    "update_access_entities_dependents",
    "write_access_entities_dependents",
];

/// SETTINGS of a statement.
#[derive(Default)]
struct Settings {
    id: Option<String>,
    base: Option<ast::Engine>,
    structure_only: bool,
    allow_non_empty: bool,
    allow_other_definition: bool,
    /// What must be there already, with 0.
    no_create_table: bool,
    no_create_database: bool,
}

impl Settings {
    fn of(written: &[ast::Setting], ctx: &QueryContext) -> Result<Settings> {
        let mut settings = Settings::default();
        for setting in written {
            let SettingValue::Expr(value) = &setting.value else { continue };
            let name = setting.name.name.as_str();
            if let ("base_backup", ExprKind::Call(call)) = (name, &value.kind) {
                settings.base = Some(ast::Engine { name: call.name.clone(), args: Some(call.args.clone()) });
                continue;
            }
            let value = bind_constant(value, ctx, &ctx.ids)?.value();
            let is_on =
                || value != Value::UInt(0) && value != Value::from(false) && value.as_str() != Some("0");
            match name {
                "id" => settings.id = value.as_str().map(str::to_owned),
                "structure_only" => settings.structure_only = is_on(),
                "restore_table_data" => settings.structure_only |= !is_on(),
                "allow_non_empty_tables" => settings.allow_non_empty = is_on(),
                "allow_different_table_def" => settings.allow_other_definition = is_on(),
                "create_table" => settings.no_create_table = !is_on(),
                "create_database" => settings.no_create_database = !is_on(),
                "password" | "base_backup" => {
                    bail!(NOT_IMPLEMENTED, "Setting {name} of backups is not supported with this value")
                }
                _ if WITHOUT_EFFECT.contains(&name) => {}
                _ => bail!(UNKNOWN_SETTING, "Unknown setting '{name}'"),
            }
        }
        Ok(settings)
    }
}

pub(super) fn run(
    written: &ast::Backup,
    statement: &ast::Statement,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<()> {
    let settings = Settings::of(&written.settings, ctx)?;
    let place = Place::of(&written.place, ctx)?;
    let base = settings.base.as_ref().map(|engine| Place::of(engine, ctx)).transpose()?;
    let id = settings.id.clone().unwrap_or_else(new_id);
    let operation = Operation::begin(id.clone(), &ctx.functions.query_id, &place, base.as_ref());
    let done = match written.restore {
        false => backup(written, place, base, &settings, ctx),
        true => restore(written, place, &settings, ctx, output),
    };
    let backups: &Backups = &ctx.database.shared.backups;
    backups.end(operation, written.restore, &done);
    done?;
    let header = [("id", DataType::String), ("status", status_type()?)];
    let status = if written.restore { 4 } else { 1 };
    print_rows(&header, vec![vec![Value::from(id.as_str()), Value::Int(status)]], statement, ctx, output)
}

fn backup(
    written: &ast::Backup,
    place: Place,
    base: Option<Place>,
    settings: &Settings,
    ctx: &QueryContext,
) -> Result<(u64, u64)> {
    let selection = selected(&written.elements, false, ctx)?;
    let base = base.map(|base| base.open(ctx)).transpose()?;
    let backup = place.create(ctx)?;
    let catalog = &backup.ctx.database.shared.catalog;
    for (database, comment) in &selection.databases {
        catalog.create_database(database, true, comment)?;
    }
    for one in &selection.tables {
        let wanted = parts_wanted(one, &one.entry, ctx)?;
        let links = base.as_ref().map_or(Links::None, |base| links(one, base));
        let of_memory = catalog.store().is_some() && one.entry.table.engine() == "Memory";
        if of_memory && !settings.structure_only {
            keep_memory_rows(one, &backup)?;
        }
        let with_rows = !settings.structure_only && !of_memory;
        let options = Options { with_rows, wanted: &wanted, links };
        // A temporary table is one as all others there.
        let source = match is_temporary(&one.to_database) {
            true => Entry { kind: "TABLE", ..one.entry.clone() },
            false => one.entry.clone(),
        };
        let definition = selection.definition(one)?;
        let entry = copy_table(&source, &one.to_database, &one.to_name, definition, &options, &backup.ctx)
            .map_err(|e| e.context(format!("while backing up {}.{}", one.database, one.name)))?;
        catalog.create_table(&one.to_database, &one.to_name, entry, false, false)?;
    }
    if selection.with_functions {
        for (name, function) in ctx.database.shared.functions.all().iter() {
            backup.ctx.database.shared.functions.create(name, function.clone(), true, false)?;
        }
    }
    backup.finish(ctx)
}

/// Puts the rows of a Memory table into one that a folder keeps.
fn keep_memory_rows(one: &Selected, backup: &OpenBackup) -> Result<()> {
    let definition = format!("\n(\n{}\n)\nENGINE = StripeLog", columns_sql(&one.entry.table.schema()));
    let source = Entry { kind: "TABLE", ..one.entry.clone() };
    let options = Options { with_rows: true, wanted: &|_| true, links: Links::None };
    let database = memory_rows_of(&one.to_database);
    let entry = copy_table(&source, &database, &one.to_name, definition, &options, &backup.ctx)?;
    let catalog = &backup.ctx.database.shared.catalog;
    catalog.create_database(&database, true, "")?;
    catalog.create_table(&database, &one.to_name, entry, false, false)
}

/// A table of a backup, with the rows that were kept of it elsewhere.
fn with_rows(one: &Selected, backup: &OpenBackup) -> Entry {
    let kept = backup.ctx.database.shared.catalog.find(&memory_rows_of(&one.database), &one.name);
    match kept {
        Some(kept) if one.entry.table.engine() == "Memory" => {
            Entry { table: kept.table, ..one.entry.clone() }
        }
        _ => one.entry.clone(),
    }
}

/// The parts that the same table of an earlier backup has.
fn links(one: &Selected, base: &OpenBackup) -> Links {
    let known = base.ctx.database.shared.catalog.find(&one.to_database, &one.to_name);
    let rows = known.as_ref().and_then(|entry| rows_of(&entry.table));
    match rows.and_then(|rows| rows.as_any().downcast_ref::<MergeTree>()) {
        Some(table) if table.parts().folder().is_some() => Links::Of(table.parts().clone()),
        _ => Links::None,
    }
}

/// Which parts of a table the partitions of its element are.
fn parts_wanted(
    one: &Selected,
    source: &Entry,
    ctx: &QueryContext,
) -> Result<impl Fn(&PartInfo) -> bool + use<>> {
    let table = rows_of(&source.table).and_then(|table| table.as_any().downcast_ref::<MergeTree>());
    let listed = match table {
        Some(table) => {
            one.partitions.iter().map(|written| wanted(table, written, ctx)).collect::<Result<Vec<_>>>()?
        }
        None => {
            ensure!(
                one.partitions.is_empty(),
                CANNOT_BACKUP_TABLE,
                "Table engine {} doesn't support partitions",
                source.table.engine()
            );
            Vec::new()
        }
    };
    Ok(move |info: &PartInfo| listed.is_empty() || listed.iter().any(|wanted: &Wanted| wanted.has(info)))
}

fn restore(
    written: &ast::Backup,
    place: Place,
    settings: &Settings,
    ctx: &QueryContext,
    output: &mut Output,
) -> Result<(u64, u64)> {
    let backup = place.open(ctx)?;
    let selection = selected(&written.elements, true, &backup.ctx)?;
    let catalog = &ctx.database.shared.catalog;
    let makes_databases =
        written.elements.iter().any(|element| !matches!(element, ast::BackupElement::Table { .. }));
    for (database, comment) in &selection.databases {
        if makes_databases && !settings.no_create_database && !is_temporary(database) {
            catalog.create_database(database, true, comment)?;
        }
    }
    let mut made = Vec::new();
    for one in &selection.tables {
        let restored = restore_one(one, &selection, settings, &backup, ctx)
            .map_err(|e| e.context(format!("while restoring {}.{}", one.to_database, one.to_name)))?;
        made.extend(restored.map(|entry| (one, entry)));
    }
    let mut temporary = ctx.state.temporary.clone();
    for (one, entry) in made {
        match is_temporary(&one.to_database) {
            true => _ = temporary.insert(one.to_name.clone(), entry),
            false => catalog.create_table(&one.to_database, &one.to_name, entry, false, false)?,
        }
    }
    if temporary.len() != ctx.state.temporary.len() {
        output.changes.push(SessionChange::Temporary(temporary));
    }
    if selection.with_functions {
        for (name, function) in backup.ctx.database.shared.functions.all().iter() {
            ctx.database.shared.functions.create(name, function.clone(), true, false)?;
        }
    }
    Ok((0, 0))
}

/// A table that is to be made, or nothing where it is there: then it has the rows when this returns.
fn restore_one(
    one: &Selected,
    selection: &Selection,
    settings: &Settings,
    backup: &OpenBackup,
    ctx: &QueryContext,
) -> Result<Option<Entry>> {
    let Selected { to_database, to_name, .. } = one;
    let wanted = parts_wanted(one, &one.entry, &backup.ctx)?;
    let options = Options { with_rows: !settings.structure_only, wanted: &wanted, links: Links::None };
    let definition = selection.definition(one)?;
    let source = with_rows(one, backup);
    let catalog = &ctx.database.shared.catalog;
    let temporary = is_temporary(to_database);
    ensure!(
        temporary || catalog.database_exists(to_database),
        UNKNOWN_DATABASE,
        "Database {to_database} does not exist"
    );
    let there = match temporary {
        true => ctx.state.temporary.get(to_name).cloned(),
        false => catalog.find(to_database, to_name),
    };
    let Some(there) = there else {
        ensure!(!settings.no_create_table, UNKNOWN_TABLE, "Table {to_database}.{to_name} does not exist");
        let kind = if temporary { "TEMPORARY TABLE" } else { one.entry.kind };
        let source = Entry { kind, ..source };
        return copy_table(&source, to_database, to_name, definition, &options, ctx).map(Some);
    };
    ensure!(
        settings.allow_other_definition || *there.definition == *definition,
        CANNOT_RESTORE_TABLE,
        "The table has a different definition: {} comparing to its definition in the backup: {}",
        there.create_sql(Some(to_database), to_name),
        one.entry.create_sql(Some(to_database), to_name)
    );
    if options.with_rows && rows_of(&source.table).is_some() {
        let has_rows = rows_of(&there.table).and_then(|table| table.total_rows()).is_some_and(|n| n > 0);
        ensure!(
            !has_rows || settings.allow_non_empty,
            CANNOT_RESTORE_TABLE,
            "Cannot restore the table {to_database}.{to_name} because it already contains some data. You can set structure_only=true, \
             restore_table_data=false or allow_non_empty_tables=true to overcome that in the way you want"
        );
        fill_table(&source, &there, &options, ctx)?;
    }
    Ok(None)
}

/// A random UUID.
fn new_id() -> String {
    let random = || RandomState::new().hash_one(std::time::Instant::now());
    let (a, b) = (random(), random());
    let text = format!("{a:016x}{b:016x}");
    format!("{}-{}-4{}-a{}-{}", &text[..8], &text[8..12], &text[13..16], &text[17..20], &text[20..])
}

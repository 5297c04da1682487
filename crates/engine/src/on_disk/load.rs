//! Definitions on disk to tables, views and functions.

use crate::database::Database;
use crate::query_context::QueryContext;
use crate::run_options::RunOptions;
use crate::session_state::{Identity, SessionState};
use crate::statements::create::{Found, MATERIALIZED_VIEW, open, stored};
use chalet_base::{Result, bail, err};
use chalet_storage::catalog::{Database as Tables, in_backquotes};
use chalet_storage::detached::Detached;
use chalet_storage::disk::{BrokenTable, Definition, DefinitionFile, DefinitionKind, Store};
use chalet_storage::view::{MaterializedView, Refreshed};
use chalet_storage::{Entry, Table};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a reader begins anew because the writer changed definitions meanwhile.
const ATTEMPTS: usize = 100;

/// Loads everything, and removes what a killed process left.
pub(super) fn first(database: &Database) -> Result<()> {
    let catalog = &database.shared.catalog;
    let Some(store) = catalog.store() else { return Ok(()) };
    if store.is_read_only() {
        return load(database, store);
    }
    let definitions = store.read(DefinitionFile::Catalog)?;
    let named: BTreeSet<u64> = definitions.iter().map(|d| d.folder).filter(|n| *n > 0).collect();
    store.remove_leftovers(&named)?;
    // The file is what tells that there is a database.
    let is_new = definitions.is_empty();
    let mut warnings = database.shared.functions.load()?;
    warnings.extend(database.shared.entities.load()?);
    catalog.load(databases(definitions, database, store, &mut warnings)?);
    database.shared.warnings.add(warnings);
    if is_new { catalog.keep() } else { Ok(()) }
}

/// Loads what another process has changed.
pub(super) fn changes(database: &Database) -> Result<()> {
    database.shared.catalog.store().map_or(Ok(()), |store| load(database, store))
}

/// Loads while another process may be writing.
fn load(database: &Database, store: &Arc<Store>) -> Result<()> {
    for attempt in 1.. {
        let mut warnings = Vec::new();
        let found = database.shared.functions.load().and_then(|functions| {
            warnings.extend(functions);
            warnings.extend(database.shared.entities.load()?);
            let definitions = store.read(DefinitionFile::Catalog)?;
            databases(definitions, database, store, &mut warnings)
        });
        database.shared.warnings.add(warnings);
        match found {
            Ok(found) => {
                database.shared.catalog.load(found);
                break;
            }
            Err(_) if attempt < ATTEMPTS && store.has_changed() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn databases(
    definitions: Vec<Definition>,
    database: &Database,
    store: &Arc<Store>,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<String, Tables>> {
    let ctx = QueryContext::new(
        database.clone(),
        SessionState::new(Identity::default()),
        &RunOptions::default(),
        0,
    )?;
    let mut all = BTreeMap::from([("default".to_string(), Tables::default())]);
    for definition in definitions {
        let tables = all.entry(definition.database.clone()).or_default();
        match definition.kind {
            DefinitionKind::Database => tables.comment = definition.text,
            DefinitionKind::Table => {
                let entry = entry(&definition, store, &ctx, warnings)?;
                tables.tables.insert(definition.name, entry);
            }
            DefinitionKind::Detached => {
                let entry = closed(&definition, store)?;
                tables.detached.insert(definition.name, Detached { entry, is_permanent: true });
            }
            DefinitionKind::Refreshed => {
                if let Some(entry) = tables.tables.get_mut(&definition.name) {
                    entry.table = refreshed(&entry.table, &definition.text);
                }
            }
            DefinitionKind::Function | DefinitionKind::Entity => {}
        }
    }
    Ok(all)
}

/// The table or view of a definition. One that cannot be read is in nobody's way: its error comes when it is used.
fn entry(
    definition: &Definition,
    store: &Arc<Store>,
    ctx: &QueryContext,
    warnings: &mut Vec<String>,
) -> Result<Entry> {
    let Definition { database, name, text, folder, .. } = definition;
    let shown = format!("{database}.{name}");
    let (kind, rest) = made_by(definition)?;
    // The one that running statements read, with what it knows of its files.
    let known = ctx.database.shared.catalog.find(database, name);
    if let Some(known) = known.filter(|known| is_same(known, rest, *folder)) {
        return Ok(known);
    }
    let folder = (*folder > 0).then(|| Arc::new(store.folder(*folder)));
    let made = stored(text, ctx, |create| {
        open(Found { create, ctx, name: shown.clone(), folder: folder.clone(), warnings })
    });
    let (table, comment) = made.unwrap_or_else(|error| {
        let is_view = matches!(kind, "VIEW" | MATERIALIZED_VIEW);
        let (what, engine) = what_and_engine(kind, rest);
        warnings.push(format!("{what} {shown} cannot be used: {}", error.message()));
        let error = error.context(format!("definition of {shown}"));
        let broken = BrokenTable { engine: engine.into(), is_view, error, folder };
        (Arc::new(broken), "".into())
    });
    Ok(Entry { table, kind, definition: rest.into(), comment })
}

/// A view as one that was last filled at a time. Others, and what cannot be read, stay as they are.
fn refreshed(table: &Arc<dyn Table>, last: &str) -> Arc<dyn Table> {
    let view = table.as_any().downcast_ref::<MaterializedView>();
    let known = view.and_then(|view| view.refresh.as_ref());
    let last = last.parse().ok();
    match (view, known) {
        (Some(view), Some(known)) if known.last != last => {
            let refresh = Some(Refreshed { last, ..known.clone() });
            Arc::new(MaterializedView { refresh, ..view.clone() })
        }
        _ => table.clone(),
    }
}

/// A table that was detached permanently: it is opened when it is attached.
fn closed(definition: &Definition, store: &Arc<Store>) -> Result<Entry> {
    let (kind, rest) = made_by(definition)?;
    let (what, engine) = what_and_engine(kind, rest);
    let error = err!(UNKNOWN_TABLE, "{what} {}.{} is detached", definition.database, definition.name);
    let folder = (definition.folder > 0).then(|| Arc::new(store.folder(definition.folder)));
    let is_view = matches!(kind, "VIEW" | MATERIALIZED_VIEW);
    let table = Arc::new(BrokenTable { engine: engine.into(), is_view, error, folder });
    Ok(Entry { table, kind, definition: rest.into(), comment: "".into() })
}

/// What a definition makes, and what it says behind the name.
fn made_by(definition: &Definition) -> Result<(&'static str, &str)> {
    let Definition { database, name, text, .. } = definition;
    let behind = |kind: &'static str| {
        let head = format!("CREATE {kind} {}.{}", in_backquotes(database), in_backquotes(name));
        Some((kind, text.strip_prefix(&head)?))
    };
    match ["TABLE", "VIEW", MATERIALIZED_VIEW, "DICTIONARY"].into_iter().find_map(behind) {
        Some(found) => Ok(found),
        None => bail!(CORRUPTED_DATA, "The definition of {database}.{name} on disk is of another table"),
    }
}

/// For messages: what a definition makes, and its engine.
fn what_and_engine<'a>(kind: &str, definition: &'a str) -> (&'static str, &'a str) {
    match kind {
        "VIEW" => ("View", "View"),
        MATERIALIZED_VIEW => ("View", "MaterializedView"),
        "DICTIONARY" => ("Dictionary", "Dictionary"),
        _ => ("Table", engine_of(definition)),
    }
}

/// The engine of a definition that cannot be read.
fn engine_of(definition: &str) -> &str {
    let behind = definition.rsplit_once("\nENGINE = ").map_or("", |(_, engine)| engine);
    behind.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
}

fn is_same(known: &Entry, definition: &str, folder: u64) -> bool {
    *known.definition == *definition && known.table.folder().map_or(0, |known| known.number()) == folder
}

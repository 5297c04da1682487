//! Definitions on disk to tables, views and functions.

use crate::database::Database;
use crate::scope::Scope;
use crate::session::{RunOptions, State};
use crate::statements::create::{Found, open, stored_view};
use chalet_base::{Result, bail};
use chalet_storage::catalog::{Database as Tables, in_backquotes};
use chalet_storage::disk::{Definition, DefinitionFile, DefinitionKind, Store};
use chalet_storage::{Entry, Table};
use chalet_syntax::ast::StatementKind;
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
    database.shared.functions.load()?;
    // The file is what tells that there is a database.
    let is_new = definitions.is_empty();
    catalog.load(databases(definitions, database, store)?);
    if is_new { catalog.keep() } else { Ok(()) }
}

/// Loads what another process has changed since the last time.
pub(crate) fn refresh(database: &Database) -> Result<()> {
    match database.shared.catalog.store() {
        Some(store) if store.is_read_only() && store.has_changed() => load(database, store),
        _ => Ok(()),
    }
}

/// Loads while another process may be writing.
fn load(database: &Database, store: &Arc<Store>) -> Result<()> {
    for attempt in 1.. {
        let found = database.shared.functions.load().and_then(|()| {
            let definitions = store.read(DefinitionFile::Catalog)?;
            databases(definitions, database, store)
        });
        match found {
            Ok(found) => {
                database.shared.catalog.load(found);
                break;
            }
            // The folder of a table that was dropped in between, say.
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
) -> Result<BTreeMap<String, Tables>> {
    let scope = Arc::new(Scope::new(database.clone(), State::new(), &RunOptions::default(), 0)?);
    let mut warnings = Vec::new();
    let mut all = BTreeMap::from([("default".to_string(), Tables::default())]);
    for definition in definitions {
        let tables = all.entry(definition.database.clone()).or_default();
        match definition.kind {
            DefinitionKind::Database => tables.comment = definition.text,
            DefinitionKind::Table => {
                let entry = entry(&definition, store, &scope, &mut warnings)?;
                tables.tables.insert(definition.name, entry);
            }
            DefinitionKind::Function => {}
        }
    }
    database.shared.warnings.add(warnings);
    Ok(all)
}

/// The table or view of a definition.
fn entry(
    definition: &Definition,
    store: &Arc<Store>,
    scope: &Arc<Scope>,
    warnings: &mut Vec<String>,
) -> Result<Entry> {
    let Definition { database, name, text, folder, .. } = definition;
    let shown = format!("{database}.{name}");
    let mut parsed =
        chalet_syntax::parse_statements(text).map_err(|e| e.context(format!("definition of {shown}")))?;
    let statement = parsed.pop().filter(|_| parsed.is_empty()).map(|statement| statement.kind);
    let (kind, comment) = match &statement {
        Some(StatementKind::CreateTable(create)) => ("TABLE", &create.comment),
        Some(StatementKind::CreateView(create)) => ("VIEW", &create.comment),
        _ => bail!(CORRUPTED_DATA, "The definition of {shown} on disk makes no table"),
    };
    let head = format!("CREATE {kind} {}.{}", in_backquotes(database), in_backquotes(name));
    let Some(rest) = text.strip_prefix(&head) else {
        bail!(CORRUPTED_DATA, "The definition of {shown} on disk is of another table");
    };
    // The one that running statements read, with what it knows of its files.
    let known = scope.database.shared.catalog.find(database, name);
    if let Some(known) = known.filter(|known| is_same(known, rest, *folder)) {
        return Ok(known);
    }
    let comment = comment.as_deref().map_or("".into(), |c| String::from_utf8_lossy(c).into());
    let table: Arc<dyn Table> = match &statement {
        Some(StatementKind::CreateView(create)) => Arc::new(stored_view(create)?),
        Some(StatementKind::CreateTable(create)) => {
            let folder = (*folder > 0).then(|| Arc::new(store.folder(*folder)));
            open(Found { create, scope, name: shown, folder, warnings })?
        }
        _ => bail!(LOGICAL_ERROR, "The definition of {shown} is of two kinds"),
    };
    Ok(Entry { table, kind, definition: rest.into(), comment })
}

fn is_same(known: &Entry, definition: &str, folder: u64) -> bool {
    *known.definition == *definition && known.table.folder().map_or(0, |known| known.number()) == folder
}

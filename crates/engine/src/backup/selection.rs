//! Which tables a statement means, and what they are called on the other side.

use crate::query_context::QueryContext;
use crate::system::names::is_system;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_storage::Entry;
use chalet_storage::catalog::{in_backquotes, quoted};
use chalet_syntax::ast::{self, BackupElement, StatementKind};
use std::collections::BTreeMap;

/// Where a backup has temporary tables.
const TEMPORARY: &str = "_temporary_and_external_tables";
/// Where a backup in a folder has the rows of Memory tables, which a database on disk does not keep; the database follows.
const MEMORY_ROWS: &str = "_rows_of_memory_tables_of_";

/// A table, view or dictionary that is backed up or restored.
pub(crate) struct Selected {
    pub database: String,
    pub name: String,
    pub entry: Entry,
    pub to_database: String,
    pub to_name: String,
    /// None: all.
    pub partitions: Vec<ast::Partition>,
}

/// What a statement is about.
#[derive(Default)]
pub(crate) struct Selection {
    pub tables: Vec<Selected>,
    /// What databases are called on the other side, and their comments there.
    pub databases: BTreeMap<String, String>,
    pub with_functions: bool,
    new_names: BTreeMap<(String, String), (String, String)>,
    renamed_databases: BTreeMap<String, String>,
}

/// Is it a table that a session has for itself?
pub(crate) fn is_temporary(database: &str) -> bool {
    database == TEMPORARY
}

/// The database of a backup in which the rows of Memory tables of a database are, in tables of the same names.
pub(crate) fn memory_rows_of(database: &str) -> String {
    format!("{MEMORY_ROWS}{database}")
}

/// The tables of elements, found in the database of a context.
pub(crate) fn selected(elements: &[BackupElement], restore: bool, ctx: &QueryContext) -> Result<Selection> {
    let mut selection = Selection::default();
    for element in elements {
        match element {
            BackupElement::Table { temporary, name, new_name, partitions } => {
                let from = full_name(name, *temporary, ctx);
                let to = new_name.as_ref().map_or(from.clone(), |name| full_name(name, *temporary, ctx));
                let entry = match *temporary && !restore {
                    true => ctx.state.temporary.get(&from.1).cloned(),
                    false => find(&from, ctx),
                };
                let entry = entry.ok_or_else(|| missing_table(&from, restore))?;
                selection.add(from, to, entry, partitions.clone(), ctx)?;
            }
            BackupElement::Database { name, new_name, except } => {
                let to = new_name.as_ref().map_or(&name.name, |name| &name.name);
                selection.add_database(&name.name, to, except, restore, ctx)?;
            }
            BackupElement::All { except_databases, except_tables } => {
                selection.with_functions = true;
                for database in ctx.database.shared.catalog.database_names() {
                    let is_wanted = !except_databases.iter().any(|name| name.name == database)
                        && !database.starts_with(MEMORY_ROWS);
                    if is_wanted {
                        selection.add_database(&database, &database, except_tables, restore, ctx)?;
                    }
                }
            }
        }
    }
    Ok(selection)
}

impl Selection {
    fn add(
        &mut self,
        from: (String, String),
        to: (String, String),
        entry: Entry,
        partitions: Vec<ast::Partition>,
        ctx: &QueryContext,
    ) -> Result<()> {
        if let Some(known) = self.new_names.get(&from) {
            ensure!(
                *known == to,
                WRONG_DDL_RENAMING_SETTINGS,
                "Wrong renaming: it's specified that table {}.{} should be renamed to {}.{} and to {}.{} at the same time",
                from.0,
                from.1,
                known.0,
                known.1,
                to.0,
                to.1
            );
            return Ok(());
        }
        self.new_names.insert(from.clone(), to.clone());
        let comment = ctx.database.shared.catalog.database_comment(&from.0).unwrap_or_default();
        self.databases.entry(to.0.clone()).or_insert(comment);
        let ((database, name), (to_database, to_name)) = (from, to);
        self.tables.push(Selected { database, name, entry, to_database, to_name, partitions });
        Ok(())
    }

    fn add_database(
        &mut self,
        from: &str,
        to: &str,
        except: &[ast::ObjectName],
        restore: bool,
        ctx: &QueryContext,
    ) -> Result<()> {
        let catalog = &ctx.database.shared.catalog;
        if is_system(from) || !catalog.database_exists(from) {
            return match restore {
                true => Err(err!(BACKUP_ENTRY_NOT_FOUND, "Database {from} not found in backup")),
                false => Err(err!(UNKNOWN_DATABASE, "Database {from} does not exist")),
            };
        }
        self.renamed_databases.insert(from.into(), to.into());
        let comment = catalog.database_comment(from).unwrap_or_default();
        self.databases.entry(to.into()).or_insert(comment);
        let is_excepted = |table: &str| {
            except.iter().any(|name| {
                name.name.name == table && name.database.as_ref().is_none_or(|database| database.name == from)
            })
        };
        for (name, entry) in catalog.tables(from)? {
            if !is_excepted(&name) {
                self.add((from.into(), name.clone()), (to.into(), name), entry, Vec::new(), ctx)?;
            }
        }
        Ok(())
    }

    /// What a table, or one that a view reads, is called on the other side.
    fn new_name(&self, database: &str, name: &str) -> Option<(String, String)> {
        let known = self.new_names.get(&(database.to_owned(), name.to_owned())).cloned();
        let in_database = || Some((self.renamed_databases.get(database)?.clone(), name.to_owned()));
        known.or_else(in_database).filter(|(to_database, to)| (&**to_database, &**to) != (database, name))
    }

    /// The definition of a table from behind its name on, with the tables that it names as they are called on the other side.
    pub fn definition(&self, one: &Selected) -> Result<String> {
        let unchanged = one.entry.definition.to_string();
        if !matches!(one.entry.kind, "VIEW" | "MATERIALIZED VIEW") {
            return Ok(unchanged);
        }
        let mut parsed = chalet_syntax::parse_printed(&one.entry.create_sql(Some(&one.database), &one.name))?;
        let mut is_renamed = false;
        let Some(ast::Statement { kind: StatementKind::CreateView(view), .. }) = parsed.first_mut() else {
            bail!(CORRUPTED_DATA, "The definition of view {}.{} makes none", one.database, one.name)
        };
        let mut rename = |name: &mut ast::ObjectName| {
            let Some(database) = &name.database else { return };
            if let Some((database, table)) = self.new_name(&database.name, &name.name.name) {
                *name = ast::ObjectName {
                    database: Some(ast::Ident::new(&database)),
                    name: ast::Ident::new(&table),
                };
                is_renamed = true;
            }
        };
        view.to.iter_mut().for_each(&mut rename);
        chalet_syntax::visit::for_each_table_mut(&mut view.query, &mut |table| {
            if let ast::TableKind::Name(name) = &mut table.kind {
                rename(name);
            }
        });
        if !is_renamed {
            return Ok(unchanged);
        }
        let text = chalet_syntax::print::format(&parsed[0]);
        let heads = [quoted, in_backquotes]
            .map(|quote| format!("CREATE {} {}.{}", one.entry.kind, quote(&one.database), quote(&one.name)));
        match heads.iter().find_map(|head| text.strip_prefix(head)) {
            Some(definition) => Ok(definition.to_owned()),
            None => bail!(LOGICAL_ERROR, "The definition of a view is printed as {text}"),
        }
    }
}

fn full_name(name: &ast::ObjectName, is_temporary: bool, ctx: &QueryContext) -> (String, String) {
    let database = match (&name.database, is_temporary) {
        (_, true) => TEMPORARY,
        (Some(database), false) => &database.name,
        (None, false) => &ctx.state.database,
    };
    (database.to_owned(), name.name.name.clone())
}

fn find((database, name): &(String, String), ctx: &QueryContext) -> Option<Entry> {
    if is_system(database) { None } else { ctx.database.shared.catalog.find(database, name) }
}

fn missing_table((database, name): &(String, String), restore: bool) -> Error {
    match restore {
        true => err!(BACKUP_ENTRY_NOT_FOUND, "Table {database}.{name} not found in backup"),
        false => err!(UNKNOWN_TABLE, "Table {database}.{name} was not found"),
    }
}

//! The columns of a table of servers, as one of them describes it.

use super::{Reach, shard};
use chalet_base::{Error, Result, bail, codes, err};
use chalet_client::hosts::is_unreachable;
use chalet_client::{Hosts, Rows};
use chalet_storage::{ColumnSchema, DefaultKind, TableSchema};
use chalet_types::DataType;
use std::sync::{Mutex, PoisonError};

/// Tables that servers have described to a statement, which may name a table more than once.
#[derive(Default)]
pub(super) struct Described(Mutex<Vec<(Key, TableSchema)>>);

/// The table, and of each server who asks it: users may see other columns.
#[derive(PartialEq)]
struct Key {
    name: String,
    servers: Vec<(String, bool, String, String)>,
}

impl Described {
    /// As the first shard that answers says, or has said.
    pub fn schema(&self, reach: &Reach, name: &str, table: (&str, &str)) -> Result<TableSchema> {
        let servers = reach.shards.iter().flat_map(Hosts::all);
        let servers = servers.map(|to| (to.peer(), to.tls.is_some(), to.user.clone(), to.password.clone()));
        let key = Key { name: name.to_owned(), servers: servers.collect() };
        let mut described = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, schema)) = described.iter().find(|(known, _)| *known == key) {
            return Ok(schema.clone());
        }
        let schema = of(reach, name, table)?;
        described.push((key, schema.clone()));
        Ok(schema)
    }
}

/// Of the first shard that answers.
fn of(reach: &Reach, name: &str, (database, table): (&str, &str)) -> Result<TableSchema> {
    let mut log = String::new();
    for hosts in &reach.shards {
        match shard::query(hosts, &format!("DESC TABLE {name}"), reach.watch.as_ref()) {
            Ok(rows) => return schema(&rows),
            Err(error) if is_unreachable(&error) => log.push_str(&format!("{error}\n\n")),
            Err(error) if is_missing(&error) => {
                let line = format!("There is no table `{database}`.`{table}` on server: {}", hosts.name());
                let error =
                    err!(ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n\n{line}\n\n");
                log.push_str(&format!("{error}\n\n"));
            }
            Err(error) => return Err(error),
        }
    }
    bail!(NO_REMOTE_SHARD_AVAILABLE, "All attempts to get table structure failed. Log: \n\n{log}")
}

fn is_missing(error: &Error) -> bool {
    [codes::UNKNOWN_TABLE, codes::UNKNOWN_DATABASE].contains(&error.code())
}

fn schema(described: &Rows) -> Result<TableSchema> {
    let cell = |column: &str, row: usize| -> Option<String> {
        let column = described.schema.iter().position(|c| c.0 == column)?;
        let value = described.block.column(column).value(row);
        Some(String::from_utf8_lossy(value.as_bytes()?).into_owned())
    };
    let mut columns = Vec::with_capacity(described.block.n_rows());
    for row in 0..described.block.n_rows() {
        let (Some(name), Some(ty)) = (cell("name", row), cell("type", row)) else {
            bail!(INCORRECT_DATA, "The server describes the table without names and types of columns");
        };
        let shown = DataType::parse_shown(&ty)
            .map_err(|e: Error| e.context(format!("column {name} of the remote table")))?;
        let column = ColumnSchema::showing(name, shown);
        columns.push(match cell("default_type", row).as_deref() {
            // The server computes them.
            Some("MATERIALIZED" | "ALIAS") => ColumnSchema { is_virtual: true, ..column },
            Some("EPHEMERAL") => continue,
            Some("DEFAULT") => {
                let default = cell("default_expression", row);
                let default = default.map(|text| (DefaultKind::Default, text.into()));
                ColumnSchema { default, ..column }
            }
            _ => column,
        });
    }
    Ok(TableSchema::new(columns))
}

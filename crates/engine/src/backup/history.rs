//! What was backed up and restored since the database was opened.

use super::place::Place;
use crate::database::Database;
use chalet_base::Result;
use chalet_types::{DataType, EnumValues};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// BACKUP and RESTORE of a database.
#[derive(Default)]
pub(crate) struct Backups {
    /// Those in memory, by name.
    pub in_memory: Mutex<BTreeMap<String, Database>>,
    operations: Mutex<Vec<Operation>>,
}

/// A statement.
#[derive(Clone)]
pub(crate) struct Operation {
    pub id: String,
    /// As the statement has it: `File('a.zip')`.
    pub name: String,
    pub base: String,
    pub query_id: String,
    pub status: &'static str,
    /// Empty: none.
    pub error: String,
    /// In microseconds since 1970.
    pub start: i64,
    pub end: i64,
    pub files: u64,
    pub bytes: u64,
}

/// Their numbers in the kernel are their places.
const STATUSES: [&str; 8] = [
    "CREATING_BACKUP",
    "BACKUP_CREATED",
    "BACKUP_FAILED",
    "RESTORING",
    "RESTORED",
    "RESTORE_FAILED",
    "BACKUP_CANCELLED",
    "RESTORE_CANCELLED",
];

/// The type of a status.
pub(crate) fn status_type() -> Result<DataType> {
    let values = STATUSES.iter().enumerate().map(|(number, name)| ((*name).into(), number as i16));
    Ok(DataType::Enum8(Arc::new(EnumValues::new(values.collect())?)))
}

impl Operation {
    /// One that begins now.
    pub fn begin(id: String, query_id: &str, place: &Place, base: Option<&Place>) -> Operation {
        let base = base.map(Place::shown).unwrap_or_default();
        let (name, query_id, start) = (place.shown(), query_id.to_owned(), now());
        Operation {
            id,
            name,
            base,
            query_id,
            status: "",
            error: String::new(),
            start,
            end: start,
            files: 0,
            bytes: 0,
        }
    }

    /// The number of its status.
    pub fn status_number(&self) -> i64 {
        STATUSES.iter().position(|status| *status == self.status).unwrap_or(0) as i64
    }
}

impl Backups {
    /// Remembers one that has ended; `done` says with how many files and bytes.
    pub fn end(&self, mut operation: Operation, restore: bool, done: &Result<(u64, u64)>) {
        operation.end = now();
        match done {
            Ok((files, bytes)) => {
                (operation.files, operation.bytes) = (*files, *bytes);
                operation.status = if restore { "RESTORED" } else { "BACKUP_CREATED" };
            }
            Err(error) => {
                operation.status = if restore { "RESTORE_FAILED" } else { "BACKUP_FAILED" };
                operation.error = error.to_string();
            }
        }
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).push(operation);
    }

    /// All that have ended.
    pub fn operations(&self) -> Vec<Operation> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64
}

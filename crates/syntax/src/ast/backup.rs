//! BACKUP and RESTORE.

use super::{Engine, Ident, ObjectName, Partition, Setting};

/// `BACKUP elements TO place SETTINGS ...`, `RESTORE elements FROM place SETTINGS ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Backup {
    pub restore: bool,
    pub elements: Vec<BackupElement>,
    /// `File('backups/1.zip')`.
    pub place: Engine,
    /// SYNC and ASYNC are the setting `async`, the last.
    pub settings: Vec<Setting>,
}

/// What a backup is of.
#[derive(Clone, Debug, PartialEq)]
pub enum BackupElement {
    /// A table, view or dictionary; all partitions where none is named.
    Table { temporary: bool, name: ObjectName, new_name: Option<ObjectName>, partitions: Vec<Partition> },
    /// A database without these tables.
    Database { name: Ident, new_name: Option<Ident>, except: Vec<ObjectName> },
    /// All databases but these, without these tables.
    All { except_databases: Vec<Ident>, except_tables: Vec<ObjectName> },
}

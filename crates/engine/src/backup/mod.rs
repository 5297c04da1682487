//! Backups. One is a database of its own: a folder that can be opened, packed into an archive or not, or one in memory.
//!
//! - [`place`]: where a backup is
//! - [`archive`]: folders as one file
//! - [`selection`]: which tables a statement means, and what they are called on the other side
//! - [`tables`]: tables from one database to another
//! - [`history`]: what was backed up and restored

mod archive;
mod history;
mod place;
mod selection;
mod tables;

pub(crate) use self::history::{Backups, Operation, status_type};
pub(crate) use self::place::{OpenBackup, Place};
pub(crate) use self::selection::{Selected, Selection, is_temporary, memory_rows_of, selected};
pub(crate) use self::tables::{Options, copy_table, fill_table, freeze, rows_of};

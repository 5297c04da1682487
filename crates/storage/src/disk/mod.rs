//! A database kept in a folder. Definitions are in small files that are replaced as a whole, rows in a folder per table.
//!
//! ```text
//! <path>/catalog      databases, tables and views          see `definitions`
//! <path>/functions    functions made by SQL                see `definitions`
//! <path>/entities     workloads, resources, collections    see `definitions`; there once one was made
//! <path>/lock         locked by the one process that writes; as long as the room that is kept for the time when the disk is full
//! <path>/writer       the number of that process
//! <path>/tables/<n>/  what the table of that number keeps
//! <path>/*.new        files that were being written; removed when the database is opened for writing
//! ```
//!
//! A statement that changes definitions is done when its file is renamed over the old one. A folder of a table exists
//! before the catalog names it, and goes after the catalog has forgotten it: folders that the catalog does not name are
//! what a process left that was killed between, and are removed when the database is opened for writing.
//!
//! - [`store`]: the folder as a whole
//! - [`definitions`]: the files of definitions
//! - [`writer`]: the right to write
//! - `lock`: what it rests on
//! - [`table_folder`]: a folder of one table
//! - [`broken`]: a table whose definition cannot be read
//! - [`durable`]: files that are on disk when a call returns
//! - [`fs`]: the calls of the file system
//! - [`space`]: how large a file system is

pub mod broken;
pub mod definitions;
pub mod durable;
pub mod fs;
mod lock;
pub mod space;
pub mod store;
pub mod table_folder;
pub mod writer;

pub use broken::BrokenTable;
pub use definitions::{Definition, DefinitionKind};
pub use store::{DefinitionFile, Store};
pub use table_folder::TableFolder;
pub use writer::Writer;

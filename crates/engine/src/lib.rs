//! Sessions, settings and the life of a query: the one public API of the engine. Wiring only.
//!
//! - [`database`]: what sessions share: the catalog, functions made by SQL
//! - [`on_disk`]: databases that are kept in a folder
//! - [`sql_functions`]: functions made by SQL
//! - [`session`]: one session: its settings, current database, temporary tables; running statements
//! - [`answer`]: what statements answer
//! - [`settings`]: every setting of the kernel by name, and the typed settings of each room
//! - [`scope`]: one statement's view of session and database, as the binder asks for it
//! - [`statements`]: one file per kind of statement
//! - [`replacement_scan`]: names that the host program resolves to tables
//! - [`replacement_query`]: queries of the host program as tables
//! - [`table_functions`]: `numbers`, `file`, `values` and the like
//! - [`system`]: the tables of the `system` database
//! - [`fork_guard`]: whether a database is usable in a forked child
//! - [`functions`]: the registry of functions and formats
//! - [`host`]: functions of the host program
//! - [`own_functions`]: functions of statements, formats and tables, which the room of functions does not know
//! - [`extremes`]: the least and the greatest values of a result

pub mod answer;
pub mod database;
mod extremes;
pub mod fork_guard;
pub mod functions;
pub mod host;
mod on_disk;
mod own_functions;
pub mod replacement_query;
pub mod replacement_scan;
mod scope;
pub mod session;
pub mod settings;
mod sql_functions;
mod stack;
mod statements;
mod system;
mod table_functions;

pub use answer::{Answer, Rows};
pub use chalet_exec::control::Progress;
pub use chalet_syntax::{lexer, split};
pub use database::Database;
pub use session::{Outline, RunOptions, Session, Stream, StreamConsumer, StreamPart};
pub use statements::insert::InsertData;

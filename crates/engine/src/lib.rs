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
//! - [`outside`]: tables that the program around the engine lends to its statements
//! - [`outside_query`]: queries of that program as tables
//! - [`table_functions`]: `numbers`, `file`, `values` and the like
//! - [`system`]: the tables of the `system` database
//! - [`uses`]: databases in forked children
//! - [`functions`]: the registry of functions and formats
//! - [`host`]: functions of the host program
//! - [`own_functions`]: functions of statements, formats and tables, which the room of functions does not know
//! - [`extremes`]: the least and the greatest values of a result

pub mod answer;
pub mod database;
mod extremes;
pub mod functions;
pub mod host;
mod on_disk;
pub mod outside;
pub mod outside_query;
mod own_functions;
mod scope;
pub mod session;
pub mod settings;
mod sql_functions;
mod stack;
mod statements;
mod system;
mod table_functions;
pub mod uses;

pub use answer::{Answer, Rows};
pub use chalet_exec::control::Progress;
pub use chalet_syntax::{lexer, split};
pub use database::Database;
pub use session::{Outline, RunOptions, Session, Stream, StreamConsumer, StreamPart};
pub use statements::insert::InsertData;

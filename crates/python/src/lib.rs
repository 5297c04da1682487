//! Python's side of the engine: connections, results and their conversion to Python objects. No engine logic.
//!
//! - [`connection`]: a session of a database
//! - [`conversation`]: statements that a server runs, for asyncio
//! - [`result`]: the answer of a query as bytes, DataFrame or Arrow stream
//! - [`cursor`]: the answer of a query as rows
//! - [`engine`]: what is asked of the engine, in one place
//! - [`stream`]: the answer of a query while it runs
//! - [`inserter`]: an INSERT whose data come in pieces
//! - [`background`]: threads that are inside of the engine, and their end before the interpreter's
//! - [`interrupt_throttle`]: checks for an interrupt between calls
//! - [`pipe`]: what lies between two threads
//! - [`given_rows`]: rows of Python objects as a block; [`given_kinds`]: those for columns of any type
//! - [`from_objects`]: Python objects as values of columns
//! - [`functions`]: Python functions as functions of SQL
//! - [`watch`]: how a query is stopped from outside
//! - [`call`]: calls of the engine for who waits elsewhere
//! - [`error`]: the one exception class
//! - [`decimals`]: `decimal.Decimal` of scaled integers
//! - [`fast`]: objects of the standard library without running Python code for each
//! - [`objects`]: columns as Python objects
//! - [`several`]: values of Variant, Dynamic and JSON columns as Python objects
//! - [`classes`]: classes of the standard library
//! - [`collector`]: the cyclic collector suspended while rows are made
//! - [`frame`]: columns as what a DataFrame is made of
//! - [`string_column`]: a string column as Arrow or objects
//! - [`parallel`]: work on results by several threads
//! - [`arrow_types`]: columns converted to types that Arrow has
//! - [`arrow`]: columns through the Arrow C stream interface
//! - [`memory_view`]: bytes exported through the buffer protocol
//! - [`shell`]: statements and tokens of a text, for the shell
//! - [`server`]: a database served over ClickHouse's protocols
//! - [`sources`]: objects of the calling program as tables
//! - [`adbc`]: the driver of Arrow Database Connectivity

mod adbc;
#[cfg(target_os = "linux")]
mod arrow;
mod arrow_types;
mod background;
mod call;
mod calls;
mod classes;
mod collector;
mod connection;
mod conversation;
mod cursor;
mod decimals;
mod engine;
mod error;
mod fast;
mod frame;
mod from_objects;
mod functions;
mod given_frame;
mod given_kinds;
mod given_rows;
mod inserter;
mod interrupt_throttle;
mod memory_view;
mod objects;
mod parallel;
mod pipe;
mod repeated;
mod result;
mod server;
mod several;
mod shell;
mod sources;
mod stream;
mod string_column;
mod tuples;
mod watch;

use pyo3::prelude::*;

#[pymodule]
fn _chalet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    functions::register(module)?;
    shell::register(module)?;
    module.add_class::<call::Call>()?;
    module.add_class::<connection::Connection>()?;
    module.add_class::<conversation::Conversation>()?;
    module.add_class::<server::Server>()?;
    module.add_class::<cursor::Cursor>()?;
    module.add_class::<memory_view::MemoryView>()?;
    module.add_class::<stream::StreamingResult>()?;
    module.add_class::<inserter::StreamingInserter>()?;
    module.add_class::<inserter::InsertResult>()?;
    module.add_class::<result::QueryResult>()
}

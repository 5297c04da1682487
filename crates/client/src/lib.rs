//! The Native protocol of ClickHouse servers, as both ends speak it, and a client's connection. Whatever the other end claims is
//! checked before it is believed: what it sends can end in an error, not in a panic or in memory that nobody filled.
//!
//! - [`revision`]: what each revision of the protocol added
//! - [`bounded`]: texts and counts within bounds
//! - [`tls`]: encryption, and whom to trust
//! - [`stream`]: a connection of the network, encrypted or not
//! - [`channel`]: a socket as a stream of bytes, stoppable and within time limits
//! - [`compression`]: frames of compressed blocks
//! - [`settings`]: settings as text
//! - [`handshake`]: how a conversation begins
//! - [`query`]: the packet of a query
//! - [`exception`]: errors of a server
//! - [`packet`]: what servers send
//! - [`addresses`]: lists of servers
//! - [`options`]: where a server is
//! - [`connect`]: opening a socket
//! - [`request`]: a query to run
//! - [`http`]: HTTP instead of the native protocol
//! - [`connection`]: queries and inserts over one connection
//! - [`hosts`]: servers that stand for one another
//! - [`url`]: what is written of a server

pub mod addresses;
pub mod bounded;
pub mod channel;
pub mod compression;
pub mod connect;
pub mod connection;
pub mod exception;
pub mod handshake;
pub mod hosts;
mod http;
pub mod options;
pub mod packet;
pub mod query;
pub mod request;
pub mod revision;
pub mod settings;
pub mod stream;
pub mod tls;
pub mod url;

pub use channel::{Socket, Watch};
pub use compression::Method;
pub use connection::Connection;
pub use hosts::Hosts;
pub use options::{Options, Transport};
pub use packet::{Packet, Profile, Progress, Rows};
pub use request::{ExternalTable, Insertion, Request};
pub use stream::Stream;
pub use tls::{ServerTls, Tls, TlsOptions};
pub use url::Url;

//! The Native protocol of ClickHouse servers, as both ends speak it, and a client's connection. Whatever the other end claims is
//! checked before it is believed: what it sends can end in an error, not in a panic or in memory that nobody filled.
//!
//! - [`revision`]: what each revision of the protocol added
//! - [`bounded`]: texts and counts within bounds
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
pub mod options;
pub mod packet;
pub mod query;
pub mod revision;
pub mod settings;
pub mod url;

pub use channel::{Socket, Watch};
pub use compression::Method;
pub use connection::{Connection, Request};
pub use hosts::Hosts;
pub use options::Options;
pub use packet::{Packet, Profile, Progress, Rows};
pub use url::Url;

//! Who asks a server for a statement, as logs tell it. Statements of the program that embeds the engine have no caller.

use std::net::SocketAddr;

/// How a client speaks with a server, by its number among the interfaces of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interface {
    #[default]
    Tcp = 1,
    Http = 2,
}

/// A client of a server, in its own words but for the address.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    pub interface: Interface,
    pub address: Option<SocketAddr>,
    /// The connection is encrypted.
    pub is_secure: bool,
    /// The user of the client's operating system.
    pub os_user: String,
    pub hostname: String,
    pub name: String,
    pub version: (u64, u64, u64),
    pub revision: u64,
    pub quota_key: String,
    /// GET is 1, POST 2.
    pub http_method: u8,
    pub http_user_agent: String,
    pub http_referer: String,
    pub forwarded_for: String,
}

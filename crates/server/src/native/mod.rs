//! The native protocol, from the server's end.
//!
//! - [`conversation`]: greetings, and one packet after the other
//! - [`wire`]: the socket, as the statement that runs shares it with who looks for a word from the client
//! - [`old_settings`]: in which form old clients send the value of a setting
//! - [`profile_events`]: what clients are told of each block of an INSERT
//! - [`query`]: a query, its rows, and rows that it takes

mod conversation;
mod old_settings;
mod profile_events;
mod query;
mod wire;

pub use conversation::serve;

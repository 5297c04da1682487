//! The native protocol, from the server's end.
//!
//! - [`conversation`]: greetings, and one packet after the other
//! - [`wire`]: the socket, as the statement that runs shares it with who looks for a word from the client
//! - [`profile_events`]: what clients are told of each block of an INSERT
//! - [`query`]: a query, its rows, and rows that it takes

mod conversation;
mod profile_events;
mod query;
mod wire;

pub use conversation::serve;

//! A database served over ClickHouse's own protocols, so that its clients talk to a database in this process. A connection has a
//! thread, which runs the statements that come over it: a result is written as it is made, and waits where the client does.
//!
//! - [`users`]: who may come in, and what they may do
//! - [`quotas`]: how much they may have of the server
//! - [`queries`]: the statements that run, and how they are stopped
//! - [`sessions`]: sessions that outlive a request
//! - [`tally`]: what a statement has done so far
//! - [`connections`]: the sockets that are open, within bounds
//! - [`shared`]: what all connections share
//! - [`external`]: tables that come with a query
//! - [`statement`]: where a statement ends and its data begin
//! - [`http`]: the interface over HTTP
//! - [`native`]: the native protocol over TCP
//! - [`server`]: listening, and the end of it

mod connections;
mod external;
mod http;
mod native;
mod queries;
mod quotas;
mod server;
mod sessions;
mod shared;
mod statement;
mod tally;
mod users;

pub use chalet_client::ServerTls;
pub use quotas::{Interval, Quota, RESOURCES};
pub use server::{Config, Server};
pub use users::{Password, User, Users};

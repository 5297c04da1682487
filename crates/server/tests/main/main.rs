//! Servers of databases in memory, and clients that talk to them over sockets.

mod http;
mod http_client;
mod mutated;
mod native;
mod sessions;
mod slow_readers;
mod tls;
mod users;

use chalet_engine::{Database, FileAccess, RunOptions};
use chalet_server::{Config, Server, User, Users};
use std::net::Ipv4Addr;

/// A server of a database, for these users.
pub fn served_to(database: &Database, users: Vec<User>) -> Server {
    let config = Config {
        host: Ipv4Addr::LOCALHOST.into(),
        http: Some(0),
        tcp: Some(0),
        https: None,
        tcp_secure: None,
        tls: None,
        users: Users::new(users).unwrap(),
        max_connections: 64,
        origins: Vec::new(),
    };
    Server::start(database.clone(), config).unwrap()
}

/// A server of an empty database, for anybody.
pub fn served() -> Server {
    served_to(&Database::default(), vec![User::default_user(FileAccess::Nothing)])
}

/// What a statement prints that the embedding program runs.
pub fn run(database: &Database, sql: &str) -> String {
    let options = RunOptions { format: Some("TSV".into()), ..RunOptions::default() };
    String::from_utf8(database.session().run(sql, options).unwrap().bytes).unwrap()
}

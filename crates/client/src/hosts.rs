//! Servers that stand for one another: the first that can be reached is spoken to.

use crate::channel::Watch;
use crate::connection::Connection;
use crate::options::Options;
use chalet_base::{Error, Result, codes, err};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Hosts with what is to be said to each of them, in the order in which they are tried.
pub struct Hosts {
    all: Vec<Options>,
    /// Where the search begins: the one that answered last.
    preferred: AtomicUsize,
}

impl Hosts {
    /// At least one.
    pub fn new(all: Vec<Options>) -> Hosts {
        Hosts { all, preferred: AtomicUsize::new(0) }
    }

    /// Each of them.
    pub fn all(&self) -> &[Options] {
        &self.all
    }

    /// A connection to the first that answers. What a server says of a user ends the search.
    pub fn connect(&self, watch: Option<&Watch>) -> Result<Connection> {
        let first = self.preferred.load(Relaxed);
        let mut log = String::new();
        for at in 0..self.all.len() {
            let at = (first + at) % self.all.len();
            match Connection::open(&self.all[at], watch.cloned()) {
                Ok(connection) => {
                    self.preferred.store(at, Relaxed);
                    return Ok(connection);
                }
                Err(error) if is_unreachable(&error) => log.push_str(&format!("{error}\n")),
                Err(error) => return Err(error),
            }
        }
        Err(err!(ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n\n{log}\n"))
    }

    /// Lets the next search begin behind a host, `host:port`, that went away.
    pub fn avoid(&self, peer: &str) {
        if let Some(at) = self.all.iter().position(|options| options.peer() == peer) {
            self.preferred.store((at + 1) % self.all.len(), Relaxed);
        }
    }

    /// Addresses of all of them.
    pub fn name(&self) -> String {
        self.all.iter().map(Options::peer).collect::<Vec<_>>().join("|")
    }
}

/// Did the server not answer, or not as a server does?
pub fn is_unreachable(error: &Error) -> bool {
    let known = [
        codes::NETWORK_ERROR,
        codes::SOCKET_TIMEOUT,
        codes::DNS_ERROR,
        codes::ATTEMPT_TO_READ_AFTER_EOF,
        codes::UNKNOWN_PACKET_FROM_SERVER,
        codes::UNEXPECTED_PACKET_FROM_SERVER,
        codes::ALL_CONNECTION_TRIES_FAILED,
    ];
    known.contains(&error.code()) && !error.message().starts_with("Received from")
}

/// Did the other end go away?
pub fn is_gone(error: &Error) -> bool {
    is_unreachable(error) && [codes::NETWORK_ERROR, codes::ATTEMPT_TO_READ_AFTER_EOF].contains(&error.code())
}

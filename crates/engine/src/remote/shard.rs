//! A shard: servers that hold the same rows. The first that can be reached is spoken to.

use chalet_base::{Error, Result, codes, err};
use chalet_client::{Connection, Options, Packet, Request, Rows, Watch};
use chalet_columns::Block;
use chalet_formats::Schema;

/// Its replicas, in the order in which they are tried.
pub(super) struct Shard(pub Vec<Options>);

impl Shard {
    /// A connection to the first replica that answers. What a server says of a user ends the search; that none answers is
    /// ALL_CONNECTION_TRIES_FAILED.
    pub fn connect(&self, watch: Option<&Watch>) -> Result<Connection> {
        let mut log = String::new();
        for replica in &self.0 {
            match Connection::open(replica, watch.cloned()) {
                Ok(connection) => return Ok(connection),
                Err(error) if is_unreachable(&error) => log.push_str(&format!("{error}\n")),
                Err(error) => return Err(error),
            }
        }
        Err(err!(ALL_CONNECTION_TRIES_FAILED, "All connection tries failed. Log: \n\n{log}\n"))
    }

    /// Addresses of all replicas.
    pub fn name(&self) -> String {
        self.0.iter().map(Options::peer).collect::<Vec<_>>().join("|")
    }

    /// All rows of a small result.
    pub fn query(&self, text: &str, watch: Option<&Watch>) -> Result<Rows> {
        let mut connection = self.connect(watch)?;
        connection.send(&Request::new(text))?;
        let mut schema = Schema::new();
        let mut blocks = Vec::new();
        loop {
            match connection.receive()? {
                Packet::Data(rows) if !rows.block.is_empty() => {
                    schema = rows.schema;
                    blocks.push(rows.block);
                }
                Packet::EndOfStream => break,
                _ => {}
            }
        }
        let block = if blocks.is_empty() { Block::new(Vec::new(), 0) } else { Block::concat(&blocks) };
        Ok(Rows { schema, block })
    }
}

/// Did the server not answer, or not as a server does?
pub(super) fn is_unreachable(error: &Error) -> bool {
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

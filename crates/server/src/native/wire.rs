//! The socket of a conversation, as the statement that runs shares it with who looks for a word from the client.

use chalet_base::{Result, bail, ensure};
use chalet_client::channel::Channel;
use chalet_client::compression::Unpacked;
use chalet_client::packet::{Dialect, Packet, Rows, client};
use chalet_columns::{Block, Column, Vector};
use chalet_engine::Caller;
use chalet_formats::binary::Source;
use chalet_types::DataType;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// What both directions need.
pub struct Wire {
    pub channel: Channel,
    pub dialect: Dialect,
    unpacked: Unpacked,
    /// The client's own revision.
    client: u64,
    /// The client wants no more of the query.
    pub is_cancelled: bool,
    /// The conversation cannot go on: the client is gone, or what it said is not understood.
    pub is_broken: bool,
    /// Which of how many shards this is of a query over several, as it was said last.
    pub shard: (u64, u64),
    /// Who is at the other end.
    pub caller: Caller,
    /// A packet went out in part: what would follow is not understood.
    is_mute: bool,
}

impl Wire {
    pub fn new(channel: Channel, dialect: Dialect, client: u64) -> Wire {
        Wire {
            channel,
            dialect,
            unpacked: Unpacked::default(),
            client,
            is_cancelled: false,
            is_broken: false,
            shard: (0, 0),
            caller: Caller::default(),
            is_mute: false,
        }
    }

    /// Sends a packet.
    pub fn send(&mut self, packet: &Packet) -> Result<()> {
        ensure!(!self.is_mute, NETWORK_ERROR, "Connection was closed while writing");
        let written = self.dialect.write(&mut self.channel.out, packet, self.client);
        if written.is_err() {
            self.channel.out.clear();
        }
        written?;
        let sent = self.channel.flush();
        self.is_mute |= sent.is_err();
        self.is_broken |= self.is_mute;
        sent
    }

    /// The next block that the client sends, with the name of its table.
    pub fn receive_rows(&mut self) -> Result<(String, Rows)> {
        let received = self.data_packet();
        // Where the next packet begins is unknown.
        self.is_broken |= received.is_err() && !self.is_cancelled;
        received
    }

    fn data_packet(&mut self) -> Result<(String, Rows)> {
        let mut packet = self.channel.var_uint()?;
        // Values of subqueries that a server has computed: the text of its query has them too. What it does not have is which shard this is.
        while packet == client::SCALAR {
            let (name, rows) = self.dialect.read_named_rows(&mut self.channel, &mut self.unpacked)?;
            let value = || match rows.block.n_rows() {
                1 => rows.block.columns().first().and_then(|column| column.value(0).as_u64()),
                _ => None,
            };
            match &*name {
                "_shard_num" => self.shard.0 = value().unwrap_or_default(),
                "_shard_count" => self.shard.1 = value().unwrap_or_default(),
                _ => {}
            }
            packet = self.channel.var_uint()?;
        }
        match packet {
            client::DATA => self.dialect.read_named_rows(&mut self.channel, &mut self.unpacked),
            client::CANCEL => {
                self.is_cancelled = true;
                bail!(QUERY_WAS_CANCELLED, "Query was cancelled")
            }
            other => bail!(
                UNEXPECTED_PACKET_FROM_CLIENT,
                "Unexpected packet {other} received from client, expected Data"
            ),
        }
    }

    /// Looks for what the client says while its query runs: only that it wants no more of it.
    fn look(&mut self) {
        if self.is_cancelled || self.is_broken || !self.channel.has_input() {
            return;
        }
        match self.channel.var_uint() {
            Ok(client::CANCEL) => self.is_cancelled = true,
            _ => self.is_broken = true,
        }
    }
}

/// A block of these columns without rows.
pub fn no_rows<'a>(types: impl Iterator<Item = &'a DataType>) -> Block {
    Block::new(types.map(|ty| Column::Flat(Vector::defaults(ty, 0))).collect(), 0)
}

/// Clones are the same socket.
#[derive(Clone)]
pub struct SharedWire(Arc<Mutex<Wire>>);

impl SharedWire {
    pub fn new(wire: Wire) -> SharedWire {
        SharedWire(Arc::new(Mutex::new(wire)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None while somebody else reads or writes.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, Wire>> {
        match self.0.try_lock() {
            Ok(wire) => Some(wire),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Should the query stop? Waits for nobody: who writes rows hears it from the socket.
    pub fn has_stopped(&self) -> bool {
        let Some(mut wire) = self.try_lock() else { return false };
        wire.look();
        wire.is_cancelled || wire.is_broken
    }
}

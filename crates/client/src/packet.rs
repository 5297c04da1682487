//! What servers send: one enum of packets, read and written.

use crate::bounded::{self, LONG, SHORT, put_numbers};
use crate::compression::{Frames, Method, Unpacked, write_frames};
use crate::exception;
use crate::handshake::ServerHello;
use crate::revision;
use chalet_base::{Error, Result, bail, ensure};
use chalet_columns::Block;
use chalet_formats::Schema;
use chalet_formats::binary::{Source, put_string, put_var_uint};
use chalet_formats::native::{BlockLayout, read_block_of, write_block};

/// Numbers of the packets that clients send.
pub mod client {
    pub const HELLO: u64 = 0;
    pub const QUERY: u64 = 1;
    pub const DATA: u64 = 2;
    pub const CANCEL: u64 = 3;
    pub const PING: u64 = 4;
    pub const TABLES_STATUS: u64 = 5;
    pub const SCALAR: u64 = 7;
}

/// Numbers of the packets that servers send.
mod server {
    pub const HELLO: u64 = 0;
    pub const DATA: u64 = 1;
    pub const EXCEPTION: u64 = 2;
    pub const PROGRESS: u64 = 3;
    pub const PONG: u64 = 4;
    pub const END_OF_STREAM: u64 = 5;
    pub const PROFILE: u64 = 6;
    pub const TOTALS: u64 = 7;
    pub const EXTREMES: u64 = 8;
    pub const TABLES_STATUS: u64 = 9;
    pub const LOG: u64 = 10;
    pub const TABLE_COLUMNS: u64 = 11;
    pub const PROFILE_EVENTS: u64 = 14;
    pub const TIME_ZONE: u64 = 17;
}

/// Columns with their names and types.
#[derive(Clone, Debug)]
pub struct Rows {
    pub schema: Schema,
    pub block: Block,
}

/// How far a query is, since it was last told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub rows: u64,
    pub bytes: u64,
    pub total_rows: u64,
    pub total_bytes: u64,
    pub written_rows: u64,
    pub written_bytes: u64,
    pub elapsed_ns: u64,
}

/// What a query was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    pub rows: u64,
    pub blocks: u64,
    pub bytes: u64,
    /// Rows there would have been without LIMIT, when there was one and they were counted.
    pub rows_before_limit: Option<u64>,
    pub rows_before_aggregation: Option<u64>,
}

/// A packet of a server.
#[derive(Clone, Debug)]
pub enum Packet {
    Hello(Box<ServerHello>),
    Data(Rows),
    Exception(Error),
    Progress(Progress),
    Pong,
    EndOfStream,
    Profile(Profile),
    Totals(Rows),
    Extremes(Rows),
    /// Lines of the server's log, for clients that asked for them.
    Log(Rows),
    /// Of the table of an INSERT: its columns as text.
    TableColumns(String),
    ProfileEvents(Rows),
    /// The session's zone from now on.
    TimeZone(String),
    /// Those tables of a [`TablesStatusRequest`] that are there, by database and name.
    TablesStatus(TableNames),
}

/// Database and name of tables.
pub type TableNames = Vec<(String, String)>;

/// So many tables may be asked after at once.
const MOST_TABLES: u64 = 10_000;

/// What a server asks another one before it sends a query about these tables.
pub struct TablesStatusRequest(pub TableNames);

impl TablesStatusRequest {
    /// The packet behind its number.
    pub fn read(from: &mut impl Source) -> Result<TablesStatusRequest> {
        let n_tables = from.var_uint()?;
        ensure!(n_tables <= MOST_TABLES, INCORRECT_DATA, "A request for the status of {n_tables} tables");
        let mut name = || bounded::text(from, SHORT, "the name of a table");
        let tables = (0..n_tables).map(|_| Ok((name()?, name()?))).collect::<Result<_>>()?;
        Ok(TablesStatusRequest(tables))
    }
}

impl Packet {
    /// What the packet is called in errors.
    pub fn name(&self) -> &'static str {
        match self {
            Packet::Hello(_) => "Hello",
            Packet::Data(_) => "Data",
            Packet::Exception(_) => "Exception",
            Packet::Progress(_) => "Progress",
            Packet::Pong => "Pong",
            Packet::EndOfStream => "EndOfStream",
            Packet::Profile(_) => "ProfileInfo",
            Packet::Totals(_) => "Totals",
            Packet::Extremes(_) => "Extremes",
            Packet::Log(_) => "Log",
            Packet::TableColumns(_) => "TableColumns",
            Packet::ProfileEvents(_) => "ProfileEvents",
            Packet::TimeZone(_) => "TimezoneUpdate",
            Packet::TablesStatus(_) => "TablesStatusResponse",
        }
    }
}

/// How packets are written by both ends of a conversation.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The revision that both ends speak.
    pub revision: u64,
    /// What blocks of rows are compressed with; those that are read may be compressed with any other method.
    pub compression: Option<Method>,
}

impl Dialect {
    fn layout(self) -> BlockLayout {
        let has_serialization_kinds = self.revision >= revision::SERIALIZATION_KINDS;
        BlockLayout { has_zones: true, has_serialization_kinds, ..BlockLayout::FILE }
    }

    /// Reads a packet of a server. `host` is for errors; `client`, its revision, for the greeting.
    pub fn read(
        self,
        from: &mut impl Source,
        unpacked: &mut Unpacked,
        host: &str,
        client: u64,
    ) -> Result<Packet> {
        let number = from.var_uint()?;
        Ok(match number {
            server::HELLO => Packet::Hello(Box::new(ServerHello::read(from, client)?)),
            server::DATA => Packet::Data(self.read_rows(from, unpacked)?),
            server::EXCEPTION => Packet::Exception(exception::read(from, host)?),
            server::PROGRESS => Packet::Progress(self.read_progress(from)?),
            server::PONG => Packet::Pong,
            server::END_OF_STREAM => Packet::EndOfStream,
            server::PROFILE => Packet::Profile(self.read_profile(from)?),
            server::TOTALS => Packet::Totals(self.read_rows(from, unpacked)?),
            server::EXTREMES => Packet::Extremes(self.read_rows(from, unpacked)?),
            server::LOG => Packet::Log(self.plain().read_rows(from, unpacked)?),
            server::PROFILE_EVENTS => Packet::ProfileEvents(self.plain().read_rows(from, unpacked)?),
            server::TABLE_COLUMNS => {
                bounded::text(from, SHORT, "the name of a table")?;
                Packet::TableColumns(bounded::text(from, LONG, "the columns of a table")?)
            }
            server::TIME_ZONE => Packet::TimeZone(bounded::text(from, SHORT, "a time zone")?),
            other => bail!(UNKNOWN_PACKET_FROM_SERVER, "Unknown packet {other} from server {host}"),
        })
    }

    /// Appends a packet of a server; `client` is the other end's revision.
    pub fn write(self, out: &mut Vec<u8>, packet: &Packet, client: u64) -> Result<()> {
        let mut rows = |dialect: Dialect, number, rows: &Rows| {
            put_var_uint(out, number);
            dialect.write_rows(out, rows)
        };
        match packet {
            Packet::Data(block) => rows(self, server::DATA, block)?,
            Packet::Totals(block) => rows(self, server::TOTALS, block)?,
            Packet::Extremes(block) => rows(self, server::EXTREMES, block)?,
            Packet::Log(block) => rows(self.plain(), server::LOG, block)?,
            Packet::ProfileEvents(block) => rows(self.plain(), server::PROFILE_EVENTS, block)?,
            Packet::Hello(hello) => {
                put_var_uint(out, server::HELLO);
                hello.write(out, client);
            }
            Packet::Exception(error) => {
                put_var_uint(out, server::EXCEPTION);
                exception::write(out, error);
            }
            Packet::Progress(progress) => {
                put_var_uint(out, server::PROGRESS);
                self.write_progress(out, progress);
            }
            Packet::Pong => put_var_uint(out, server::PONG),
            Packet::EndOfStream => put_var_uint(out, server::END_OF_STREAM),
            Packet::Profile(profile) => {
                put_var_uint(out, server::PROFILE);
                self.write_profile(out, profile);
            }
            Packet::TableColumns(columns) => {
                put_var_uint(out, server::TABLE_COLUMNS);
                put_string(out, b"");
                put_string(out, columns.as_bytes());
            }
            Packet::TimeZone(zone) => {
                put_var_uint(out, server::TIME_ZONE);
                put_string(out, zone.as_bytes());
            }
            Packet::TablesStatus(tables) => {
                put_var_uint(out, server::TABLES_STATUS);
                put_var_uint(out, tables.len() as u64);
                for (database, name) in tables {
                    put_string(out, database.as_bytes());
                    put_string(out, name.as_bytes());
                    // Not replicated: there is no delay to tell.
                    out.push(0);
                }
            }
        }
        Ok(())
    }

    /// The same for what is never compressed.
    fn plain(self) -> Dialect {
        Dialect { compression: None, ..self }
    }

    /// Reads a block behind the number of its packet: the name of a table, facts of the block, columns.
    pub fn read_rows(self, from: &mut impl Source, unpacked: &mut Unpacked) -> Result<Rows> {
        self.read_named_rows(from, unpacked).map(|(_, rows)| rows)
    }

    /// The same with the name of the table.
    pub fn read_named_rows(self, from: &mut impl Source, unpacked: &mut Unpacked) -> Result<(String, Rows)> {
        let table = bounded::text(from, SHORT, "the name of a table")?;
        let rows = match self.compression {
            None => self.read_body(from)?,
            Some(_) => {
                let mut frames = Frames::new(from, unpacked);
                let rows = self.read_body(&mut frames)?;
                frames.finish()?;
                rows
            }
        };
        Ok((table, rows))
    }

    pub(crate) fn read_body(self, from: &mut impl Source) -> Result<Rows> {
        // Facts of the block, each behind its number; 0 ends them.
        loop {
            match from.var_uint()? {
                0 => break,
                // Is it a bucket that overflowed? Which bucket is it?
                1 => from.take(1).map(drop)?,
                2 => from.take(4).map(drop)?,
                other => bail!(INCORRECT_DATA, "Unknown BlockInfo field number: {other}"),
            }
        }
        let (schema, block) = read_block_of(from, self.layout())?;
        Ok(Rows { schema, block })
    }

    /// Appends a block behind the number of its packet.
    pub fn write_rows(self, out: &mut Vec<u8>, rows: &Rows) -> Result<()> {
        self.write_named_rows(out, "", rows)
    }

    /// The same with the name of the table that the rows are of.
    pub fn write_named_rows(self, out: &mut Vec<u8>, table: &str, rows: &Rows) -> Result<()> {
        put_string(out, table.as_bytes());
        let mut packed = Vec::new();
        let body = if self.compression.is_some() { &mut packed } else { &mut *out };
        self.write_body(body, &rows.schema, &rows.block)?;
        match self.compression {
            Some(method) => write_frames(out, method, &packed),
            None => Ok(()),
        }
    }

    /// Appends facts of a block and its columns.
    pub fn write_body(self, out: &mut Vec<u8>, schema: &Schema, block: &Block) -> Result<()> {
        // No overflow, no bucket.
        out.extend([1, 0, 2]);
        out.extend((-1i32).to_le_bytes());
        out.push(0);
        write_block(out, schema, block, self.layout())
    }

    fn read_progress(self, from: &mut impl Source) -> Result<Progress> {
        let mut progress = Progress {
            rows: from.var_uint()?,
            bytes: from.var_uint()?,
            total_rows: from.var_uint()?,
            ..Progress::default()
        };
        if self.revision >= revision::TOTAL_BYTES_IN_PROGRESS {
            progress.total_bytes = from.var_uint()?;
        }
        if self.revision >= revision::WRITTEN_ROWS {
            progress.written_rows = from.var_uint()?;
            progress.written_bytes = from.var_uint()?;
        }
        if self.revision >= revision::ELAPSED_IN_PROGRESS {
            progress.elapsed_ns = from.var_uint()?;
        }
        Ok(progress)
    }

    fn write_progress(self, out: &mut Vec<u8>, progress: &Progress) {
        put_numbers(out, &[progress.rows, progress.bytes, progress.total_rows]);
        if self.revision >= revision::TOTAL_BYTES_IN_PROGRESS {
            put_var_uint(out, progress.total_bytes);
        }
        if self.revision >= revision::WRITTEN_ROWS {
            put_numbers(out, &[progress.written_rows, progress.written_bytes]);
        }
        if self.revision >= revision::ELAPSED_IN_PROGRESS {
            put_var_uint(out, progress.elapsed_ns);
        }
    }

    fn read_profile(self, from: &mut impl Source) -> Result<Profile> {
        let (rows, blocks, bytes) = (from.var_uint()?, from.var_uint()?, from.var_uint()?);
        let is_limited = bounded::flag(from)?;
        let before_limit = from.var_uint()?;
        let is_counted = bounded::flag(from)?;
        let mut profile = Profile { rows, blocks, bytes, ..Profile::default() };
        profile.rows_before_limit = (is_limited && is_counted).then_some(before_limit);
        if self.revision >= revision::ROWS_BEFORE_AGGREGATION {
            let is_aggregated = bounded::flag(from)?;
            profile.rows_before_aggregation = Some(from.var_uint()?).filter(|_| is_aggregated);
        }
        Ok(profile)
    }

    fn write_profile(self, out: &mut Vec<u8>, profile: &Profile) {
        put_numbers(out, &[profile.rows, profile.blocks, profile.bytes]);
        out.push(profile.rows_before_limit.is_some().into());
        put_var_uint(out, profile.rows_before_limit.unwrap_or(0));
        // Counted, and be it as none: clients of 18.16 count by themselves what is not, which ends them.
        out.push(1);
        if self.revision >= revision::ROWS_BEFORE_AGGREGATION {
            out.push(profile.rows_before_aggregation.is_some().into());
            put_var_uint(out, profile.rows_before_aggregation.unwrap_or(0));
        }
    }
}

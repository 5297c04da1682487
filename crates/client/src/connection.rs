//! One connection to a server: one query at a time.

use crate::channel::{Channel, Socket, Watch};
use crate::compression::Unpacked;
use crate::connect::connect;
use crate::handshake::{Addendum, ChunkMode, ClientHello, ServerHello};
use crate::http::Http;
use crate::options::{Options, Transport};
use crate::packet::{Dialect, Packet, Profile, Rows, client};
use crate::query::{COMPLETE, ClientInfo, Query};
use crate::request::Request;
use crate::revision;
use crate::settings::{CUSTOM, IMPORTANT, Setting, quoted};
use chalet_base::{Error, Result, bail, codes, ensure, err, forks};
use chalet_columns::Block;
use chalet_formats::Schema;
use chalet_formats::binary::put_var_uint;
use std::sync::Arc;
use std::time::{Duration, Instant};

const CLIENT_NAME: &str = "chalet";
/// As servers see it: that of the release whose protocol this is.
const VERSION: (u64, u64, u64) = (25, 6, 1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// A query runs: its packets are to be received.
    Busy,
    /// What is on the wire is unknown.
    Broken,
}

/// What is spoken.
enum Protocol {
    Native(Native),
    Http(Box<Http>),
}

struct Native {
    unpacked: Unpacked,
    dialect: Dialect,
    /// Settings that were set by statements: old servers keep them until the connection ends.
    kept_settings: Vec<(String, String)>,
}

/// An open connection.
pub struct Connection {
    channel: Channel,
    protocol: Protocol,
    options: Options,
    server: ServerHello,
    state: State,
    /// Of forks, when it was opened: the conversation is the parent's.
    generation: u32,
    /// Rows of the query that were received, and how many there are, once the server has told it.
    n_rows: u64,
    told_rows: Option<u64>,
    /// Tables came with the query.
    has_tables: bool,
    /// What it took to see that a packet has not all arrived.
    last_look: Duration,
}

impl Connection {
    /// Connects and greets. `watch` is asked while the server is waited for.
    pub fn open(options: &Options, watch: Option<Watch>) -> Result<Connection> {
        let has_control = |text: &str| text.bytes().any(|byte| byte.is_ascii_control());
        ensure!(
            ![&options.database, &options.user, &options.password].into_iter().any(|text| has_control(text)),
            BAD_ARGUMENTS,
            "Parameters 'default_database', 'user' and 'password' must not contain ASCII control characters"
        );
        let socket = connect(options, watch.as_ref())?;
        Connection::over(Box::new(socket), options, watch)
    }

    /// Greets over a socket that is connected.
    pub fn over(socket: Box<dyn Socket>, options: &Options, watch: Option<Watch>) -> Result<Connection> {
        let mut channel = Channel::new(socket, options.peer(), options.timeouts());
        channel.set_watch(watch);
        let (protocol, server) = match options.transport {
            Transport::Native => {
                let (native, server) = Native::open(&mut channel, options)?;
                (Protocol::Native(native), server)
            }
            Transport::Http => {
                let (http, server) = Http::open(&mut channel, options)?;
                (Protocol::Http(Box::new(http)), server)
            }
        };
        Ok(Connection {
            channel,
            protocol,
            options: options.clone(),
            server,
            state: State::Idle,
            generation: forks::generation(),
            n_rows: 0,
            told_rows: None,
            has_tables: false,
            last_look: Duration::ZERO,
        })
    }

    /// What the server said of itself.
    pub fn server(&self) -> &ServerHello {
        &self.server
    }

    /// `host:port`.
    pub fn peer(&self) -> &Arc<str> {
        self.channel.peer()
    }

    /// From now on this is asked while the server is waited for.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        self.channel.set_watch(watch);
    }

    /// Can another query be sent, and is the server still there, as far as is known without asking it?
    pub fn is_idle(&mut self) -> bool {
        let is_usable = match &self.protocol {
            Protocol::Native(_) => true,
            Protocol::Http(http) => http.is_usable(),
        };
        is_usable
            && self.state == State::Idle
            && self.generation == forks::generation()
            && !self.channel.has_input()
    }

    /// Asks the server whether it is there.
    pub fn ping(&mut self) -> Result<()> {
        if let Protocol::Http(_) = self.protocol {
            self.send(&Request::new("SELECT 1"))?;
            return self.receive_end();
        }
        self.idle()?;
        self.state = State::Broken;
        put_var_uint(&mut self.channel.out, client::PING);
        self.channel.flush()?;
        loop {
            match self.read_waiting()? {
                Packet::Pong => break,
                // Of the query before.
                Packet::Progress(_) => {}
                other => return Err(unexpected(&other, "Pong", self.channel.peer())),
            }
        }
        self.state = State::Idle;
        Ok(())
    }

    /// Sends a query. Its packets are then to be received, until the end or an error.
    pub fn send(&mut self, request: &Request) -> Result<()> {
        if let Some(before) = self.preparation(request)? {
            self.send_query(&before)?;
            self.receive_end()?;
            self.prepared(request);
        }
        self.send_prepared(request)
    }

    /// What is to run before the request: old servers want settings in a binary form that depends on their types, and a statement
    /// is the same to them. [`prepared`](Self::prepared) is called when it has run.
    pub fn preparation(&self, request: &Request) -> Result<Option<Request>> {
        self.idle()?;
        match &self.protocol {
            Protocol::Native(native) => native.preparation(request, self.channel.peer()),
            Protocol::Http(_) => Ok(None),
        }
    }

    /// The settings of the request are those of the connection now.
    pub fn prepared(&mut self, request: &Request) {
        if let Protocol::Native(native) = &mut self.protocol {
            native.kept_settings.clone_from(&request.settings);
        }
    }

    /// As [`send`](Self::send), where nothing is to run before.
    pub fn send_prepared(&mut self, request: &Request) -> Result<()> {
        self.idle()?;
        self.send_query(request)
    }

    /// From now on waits for the server, or leaves that to who calls [`try_receive`](Self::try_receive) and
    /// [`push`](Self::push) when the socket is ready.
    pub fn set_waits(&mut self, waits: bool) -> Result<()> {
        self.channel.set_waits(waits)
    }

    /// What the operating system knows its socket by.
    pub fn descriptor(&self) -> Option<i32> {
        self.channel.descriptor()
    }

    /// Writes what there was no room for; true when all is written.
    pub fn push(&mut self) -> Result<bool> {
        let pushed = self.channel.push();
        if pushed.is_err() {
            self.state = State::Broken;
        }
        pushed
    }

    /// As [`receive`](Self::receive), without waiting; none as long as the packet has not all arrived.
    pub fn try_receive(&mut self) -> Result<Option<Packet>> {
        self.busy()?;
        let started = Instant::now();
        self.state = State::Broken;
        let Some(packet) = self.read()? else {
            self.state = State::Busy;
            self.last_look = started.elapsed();
            return Ok(None);
        };
        self.last_look = Duration::ZERO;
        self.received(packet).map(Some)
    }

    /// How long to let more of a packet arrive before looking at it anew: what looking costs is a fifth of the time at most.
    pub fn patience(&self) -> Duration {
        const MOST: Duration = Duration::from_millis(20);
        if self.last_look < Duration::from_micros(200) {
            Duration::ZERO
        } else {
            (self.last_look * 4).min(MOST)
        }
    }

    /// Would a query with these settings run as on a new connection?
    pub fn fits(&self, settings: &[(String, String)]) -> bool {
        match &self.protocol {
            Protocol::Native(Native { kept_settings, .. }) => {
                kept_settings.iter().all(|(kept, _)| settings.iter().any(|(name, _)| name == kept))
            }
            Protocol::Http(_) => true,
        }
    }

    fn send_query(&mut self, request: &Request) -> Result<()> {
        self.state = State::Broken;
        (self.n_rows, self.told_rows) = (0, None);
        self.has_tables = !request.tables.is_empty();
        let (channel, options) = (&mut self.channel, &self.options);
        let sent = match &mut self.protocol {
            Protocol::Native(native) => native.send(channel, options, request),
            Protocol::Http(http) => http.send(channel, options, request),
        };
        match sent {
            Ok(()) => self.state = State::Busy,
            Err(error) if self.has_tables => return Err(self.reason_of(error)),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Why the other end took no more: it may have said so before it went.
    fn reason_of(&mut self, error: Error) -> Error {
        self.state = State::Broken;
        while error.code() == codes::NETWORK_ERROR
            && let Ok(packet) = self.read_waiting()
        {
            if let Packet::Exception(reason) = packet {
                return reason;
            }
        }
        error
    }

    /// Without columns they are the end. Columns without rows are nothing: to some servers they would be the end as well.
    fn put_rows(&mut self, rows: &Rows) -> Result<()> {
        if rows.block.is_empty() && !rows.schema.is_empty() {
            return Ok(());
        }
        match &mut self.protocol {
            Protocol::Native(native) => native.put_rows(&mut self.channel, rows),
            Protocol::Http(http) => http.put_rows(&mut self.channel, &self.options, rows),
        }
    }

    /// The next packet of the query. An exception of the server is an error; after it, and after the end of the stream, the
    /// connection can be used again.
    pub fn receive(&mut self) -> Result<Packet> {
        self.busy()?;
        self.state = State::Broken;
        let packet = self.read_waiting()?;
        self.received(packet)
    }

    fn busy(&self) -> Result<()> {
        ensure!(
            self.state == State::Busy,
            LOGICAL_ERROR,
            "No query runs on the connection to {}",
            self.channel.peer()
        );
        Ok(())
    }

    fn received(&mut self, packet: Packet) -> Result<Packet> {
        match &packet {
            Packet::Data(rows) => self.n_rows += rows.block.n_rows() as u64,
            Packet::Profile(Profile { rows, .. }) => self.told_rows = Some(*rows),
            Packet::EndOfStream => self.check_rows()?,
            _ => {}
        }
        let is_over = matches!(&self.protocol, Protocol::Http(http) if http.is_over());
        self.state = match packet {
            Packet::EndOfStream | Packet::Exception(_) if is_over => State::Broken,
            Packet::Exception(ref error) if self.is_out_of_step(error) => State::Broken,
            Packet::EndOfStream | Packet::Exception(_) => State::Idle,
            _ => State::Busy,
        };
        match packet {
            Packet::Exception(error) => Err(error),
            Packet::Hello(_) | Packet::Pong => {
                self.state = State::Broken;
                Err(unexpected(&packet, "Data, Progress, EndOfStream or Exception", self.channel.peer()))
            }
            packet => Ok(packet),
        }
    }

    /// Old servers fail before they have read the tables behind a query, which they then take for the next packet.
    fn is_out_of_step(&self, error: &Error) -> bool {
        let is_old = match &self.protocol {
            Protocol::Native(native) => native.dialect.revision < revision::SETTINGS_AS_TEXT,
            Protocol::Http(_) => false,
        };
        is_old && (self.has_tables || error.code() == codes::SYNTAX_ERROR)
    }

    /// Receives the rest of a query whose rows nobody wants.
    pub fn receive_end(&mut self) -> Result<()> {
        while !matches!(self.receive()?, Packet::EndOfStream) {}
        Ok(())
    }

    /// Sends an INSERT without data; gives the columns that the server wants.
    pub fn begin_insert(&mut self, request: &Request) -> Result<Schema> {
        self.send(request)?;
        loop {
            match self.receive()? {
                Packet::Data(rows) => return Ok(rows.schema),
                Packet::EndOfStream => {
                    bail!(
                        UNEXPECTED_PACKET_FROM_SERVER,
                        "The server {} wants no rows for the statement: {}",
                        self.channel.peer(),
                        request.text
                    )
                }
                _ => {}
            }
        }
    }

    /// Sends rows of an INSERT, or none to end it, without looking for what the server says.
    pub fn queue_rows(&mut self, rows: Option<&Rows>) -> Result<()> {
        self.busy()?;
        let put = self.put_rows(rows.unwrap_or(&no_rows()));
        if put.is_err() {
            self.state = State::Broken;
        }
        put
    }

    /// Sends rows of an INSERT.
    pub fn send_rows(&mut self, rows: &Rows) -> Result<()> {
        self.busy()?;
        while self.channel.has_input() {
            if let Packet::EndOfStream = self.receive()? {
                bail!(
                    UNEXPECTED_PACKET_FROM_SERVER,
                    "The server {} ended an INSERT before its rows",
                    self.channel.peer()
                );
            }
        }
        self.put_rows(rows).map_err(|error| self.reason_of(error))
    }

    /// Ends an INSERT: its rows are written when this returns.
    pub fn finish_insert(&mut self) -> Result<()> {
        self.send_rows(&no_rows())?;
        self.receive_end()
    }

    /// Tells the server to stop the query, and closes the connection.
    pub fn cancel(&mut self) {
        if self.state == State::Busy
            && let Protocol::Native(_) = self.protocol
        {
            self.channel.hurry();
            put_var_uint(&mut self.channel.out, client::CANCEL);
            // The server also sees the end of the connection.
            let _ = self.channel.flush();
        }
        self.state = State::Broken;
        self.channel.close();
    }

    /// None where the packet has not all arrived and nobody waits.
    fn read(&mut self) -> Result<Option<Packet>> {
        match &mut self.protocol {
            Protocol::Native(native) => native.read(&mut self.channel, &self.options),
            Protocol::Http(http) => http.read(&mut self.channel, &self.options),
        }
    }

    fn read_waiting(&mut self) -> Result<Packet> {
        let peer = self.channel.peer().clone();
        self.read()?.ok_or_else(|| err!(LOGICAL_ERROR, "Nobody waits for the server {peer}"))
    }

    /// What the server has said is all of it: a bit that was flipped on the way could make the end of a query out of anything.
    fn check_rows(&self) -> Result<()> {
        if let Protocol::Http(_) = self.protocol {
            return Ok(());
        }
        let told = self.told_rows.unwrap_or(0);
        ensure!(
            told == self.n_rows,
            CANNOT_READ_ALL_DATA,
            "The server {} has sent {} rows and says that there are {told}",
            self.channel.peer(),
            self.n_rows
        );
        Ok(())
    }

    fn idle(&self) -> Result<()> {
        let peer = self.channel.peer();
        match self.state {
            State::Idle => Ok(()),
            State::Busy => bail!(LOGICAL_ERROR, "Another query runs on the connection to {peer}"),
            State::Broken => bail!(NETWORK_ERROR, "The connection to {peer} is closed"),
        }
    }
}

impl Native {
    /// Greets.
    fn open(channel: &mut Channel, options: &Options) -> Result<(Native, ServerHello)> {
        put_var_uint(&mut channel.out, client::HELLO);
        let hello = ClientHello {
            client_name: CLIENT_NAME.into(),
            version: (VERSION.0, VERSION.1),
            revision: options.revision,
            database: options.database.clone(),
            user: options.user.clone(),
            password: options.password.clone(),
        };
        hello.write(&mut channel.out);
        channel.flush()?;
        let mut unpacked = Unpacked::default();
        let mut dialect = Dialect { revision: options.revision, compression: options.compression };
        let peer = channel.peer().clone();
        let server = match dialect.read(channel, &mut unpacked, &peer, options.revision)? {
            Packet::Hello(server) => *server,
            Packet::Exception(error) => return Err(error),
            other => return Err(unexpected(&other, "Hello or Exception", &peer)),
        };
        dialect.revision = options.revision.min(server.revision);
        if dialect.revision >= revision::ADDENDUM {
            let writes = ChunkMode::EITHER.agreed(server.chunks.1, "sending")?;
            let reads = ChunkMode::EITHER.agreed(server.chunks.0, "receiving")?;
            let mode = |is_chunked| ChunkMode { is_chunked, is_optional: false };
            let addendum =
                Addendum { quota_key: options.quota_key.clone(), chunks: (mode(writes), mode(reads)) };
            addendum.write(&mut channel.out, dialect.revision);
            channel.flush()?;
            if dialect.revision >= revision::CHUNKS {
                channel.set_chunks(reads, writes);
            }
        }
        Ok((Native { unpacked, dialect, kept_settings: Vec::new() }, server))
    }

    fn send(&mut self, channel: &mut Channel, options: &Options, request: &Request) -> Result<()> {
        let settings = request.settings.iter().map(|(name, value)| Setting {
            name: name.clone(),
            value: value.clone(),
            flags: IMPORTANT,
        });
        let parameters = request.parameters.iter().map(|(name, value)| Setting {
            name: name.clone(),
            value: quoted(value),
            flags: CUSTOM,
        });
        let query = Query {
            id: request.id.clone(),
            client: ClientInfo {
                client_name: CLIENT_NAME.into(),
                version: VERSION,
                revision: options.revision,
                quota_key: options.quota_key.clone(),
                ..ClientInfo::default()
            },
            settings: settings.collect(),
            is_compressed: self.dialect.compression.is_some(),
            stage: COMPLETE,
            text: request.text.clone(),
            parameters: parameters.collect(),
        };
        put_var_uint(&mut channel.out, client::QUERY);
        query.write(&mut channel.out, self.dialect.revision);
        channel.flush()?;
        for table in &request.tables {
            for rows in &table.blocks {
                self.put_named_rows(channel, &table.name, rows)?;
            }
        }
        // There are no more tables.
        self.put_rows(channel, &no_rows())
    }

    fn put_rows(&self, channel: &mut Channel, rows: &Rows) -> Result<()> {
        self.put_named_rows(channel, "", rows)
    }

    fn put_named_rows(&self, channel: &mut Channel, table: &str, rows: &Rows) -> Result<()> {
        put_var_uint(&mut channel.out, client::DATA);
        self.dialect.write_named_rows(&mut channel.out, table, rows)?;
        channel.flush()
    }

    fn read(&mut self, channel: &mut Channel, options: &Options) -> Result<Option<Packet>> {
        let (dialect, unpacked, peer) = (self.dialect, &mut self.unpacked, channel.peer().clone());
        let mut read = |channel: &mut Channel| dialect.read(channel, unpacked, &peer, options.revision);
        // Who waits can forget what was read of a packet.
        if channel.waits() { read(channel).map(Some) } else { channel.attempt(read) }
    }

    /// See [`Connection::preparation`].
    fn preparation(&self, request: &Request, peer: &str) -> Result<Option<Request>> {
        ensure!(
            request.parameters.is_empty() || self.dialect.revision >= revision::PARAMETERS,
            NOT_IMPLEMENTED,
            "The server {peer} is too old for query parameters (revision {} of the protocol)",
            self.dialect.revision
        );
        if self.dialect.revision >= revision::SETTINGS_AS_TEXT {
            return Ok(None);
        }
        let settings = &request.settings;
        let lost = self.kept_settings.iter().find(|(kept, _)| !settings.iter().any(|(name, _)| name == kept));
        if let Some((name, _)) = lost {
            bail!(LOGICAL_ERROR, "Setting {name} of an earlier query is still in force");
        }
        let new = settings.iter().filter(|setting| !self.kept_settings.contains(setting));
        let assignments: Vec<String> =
            new.map(|(name, value)| format!("{name} = {}", literal(value))).collect();
        let text = format!("SET {}", assignments.join(", "));
        Ok((!assignments.is_empty()).then(|| Request::new(text)))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.generation == forks::generation() {
            self.cancel();
        }
    }
}

/// The value of a setting in SET: old servers want numbers as such.
fn literal(value: &str) -> String {
    if value.parse::<f64>().is_ok_and(f64::is_finite) { value.to_owned() } else { quoted(value) }
}

fn no_rows() -> Rows {
    Rows { schema: Schema::new(), block: Block::new(Vec::new(), 0) }
}

fn unexpected(packet: &Packet, expected: &str, peer: &str) -> Error {
    err!(
        UNEXPECTED_PACKET_FROM_SERVER,
        "Unexpected packet from server {peer} (expected {expected}, got {})",
        packet.name()
    )
}

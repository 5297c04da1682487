//! Greetings, and one packet of the client after the other.

use super::old_settings::old_form;
use super::query;
use super::wire::{SharedWire, Wire};
use crate::shared::{Shared, use_database};
use crate::users::User;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_client::Stream;
use chalet_client::channel::{Channel, TcpSocket, Timeouts};
use chalet_client::handshake::{Addendum, ChunkMode, ClientHello, ServerHello};
use chalet_client::packet::{Dialect, Packet, TablesStatusRequest, client};
use chalet_client::query::Query;
use chalet_client::revision;
use chalet_engine::{Caller, RunOptions, Session};
use chalet_formats::binary::Source;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

/// Greetings take no longer.
const HELLO_TIME: Duration = Duration::from_secs(30);
/// A connection without a query is kept so long, as the kernel's `idle_connection_timeout`.
const IDLE: Duration = Duration::from_secs(3600);
/// A client that takes nothing of its rows for so long is given up.
const SEND_TIME: Duration = Duration::from_secs(300);

/// Answers a client until one of both ends the connection.
pub fn serve(socket: Stream, shared: &Arc<Shared>) {
    let address = socket.peer().ok();
    let caller = Caller { address, is_secure: socket.is_encrypted(), ..Caller::default() };
    let peer = address.map(|peer| peer.to_string()).unwrap_or_default();
    let Ok(raw) = socket.try_clone() else { return };
    let Ok(socket) = TcpSocket::new(socket) else { return };
    let timeouts = Timeouts { receive: HELLO_TIME, send: SEND_TIME };
    let mut channel = Channel::new(Box::new(socket), peer, timeouts);
    let dialect = Dialect { revision: revision::NEWEST, compression: None };
    let hello = match first_word(&mut channel, raw) {
        Some(Ok(hello)) => hello,
        Some(Err(error)) => return refuse(channel, dialect, &error),
        None => return,
    };
    let (user, session) = match welcome(&hello, shared) {
        Ok(found) => found,
        Err(error) => return refuse(channel, dialect, &error),
    };
    let dialect = Dialect { revision: hello.revision.min(revision::NEWEST), ..dialect };
    let client = hello.revision;
    if greet(&mut channel, dialect, &hello, shared).is_err() {
        return;
    }
    channel.set_timeouts(Timeouts { receive: IDLE, send: SEND_TIME });
    let wire = SharedWire::new(Wire::new(channel, dialect, client));
    wire.lock().caller = caller;
    while !shared.connections.is_ending() && next(&wire, &user, &session, shared) {}
    wire.lock().channel.close();
}

/// What a client says first. A program that speaks HTTP is told where it is.
fn first_word(channel: &mut Channel, mut raw: Stream) -> Option<Result<ClientHello>> {
    match channel.var_uint() {
        Ok(client::HELLO) => Some(ClientHello::read(channel)),
        Ok(letter) if [b'G', b'P', b'H'].map(u64::from).contains(&letter) => {
            let body = "This port is for clients of the native protocol: HTTP has another one\n";
            let length = body.len();
            // Nobody has to listen.
            let _ = write!(
                raw,
                "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            None
        }
        Ok(other) => Some(Err(err!(
            UNEXPECTED_PACKET_FROM_CLIENT,
            "Unexpected packet from client (expected Hello, got {other})"
        ))),
        Err(_) => None,
    }
}

/// Lets a client in.
fn welcome(hello: &ClientHello, shared: &Shared) -> Result<(User, Session)> {
    ensure!(
        hello.revision >= revision::OLDEST,
        CLIENT_HAS_CONNECTED_TO_WRONG_PORT,
        "The client has revision {} of the protocol, the oldest that is supported is {}",
        hello.revision,
        revision::OLDEST
    );
    let user = shared.users.authenticate(&hello.user, &hello.password)?;
    let session = shared.session(&user)?;
    use_database(&session, &hello.database)?;
    Ok((user, session))
}

fn refuse(channel: Channel, dialect: Dialect, error: &Error) {
    let mut wire = Wire::new(channel, dialect, dialect.revision);
    // The connection ends either way.
    let _ = wire.send(&Packet::Exception(error.clone()));
    wire.channel.close();
}

fn greet(channel: &mut Channel, dialect: Dialect, client: &ClientHello, shared: &Shared) -> Result<()> {
    let chunks = ChunkMode { is_chunked: false, is_optional: true };
    let hello = ServerHello {
        name: "ClickHouse".into(),
        version: shared.version,
        revision: revision::NEWEST,
        time_zone: shared.time_zone.clone(),
        display_name: shared.display_name.clone(),
        chunks: (chunks, chunks),
        password_rules: Vec::new(),
        nonce: 0,
        settings: Vec::new(),
    };
    dialect.write(&mut channel.out, &Packet::Hello(Box::new(hello)), client.revision)?;
    channel.flush()?;
    let addendum = Addendum::read(channel, dialect.revision)?;
    if dialect.revision >= revision::CHUNKS {
        channel.set_chunks(addendum.chunks.0.is_chunked, addendum.chunks.1.is_chunked);
    }
    Ok(())
}

/// Answers the next packet. False where the conversation is over.
fn next(wire: &SharedWire, user: &User, session: &Session, shared: &Shared) -> bool {
    let packet = wire.lock().channel.var_uint();
    let done = match packet {
        Ok(client::PING) => wire.lock().send(&Packet::Pong),
        // Of a query that has ended meanwhile.
        Ok(client::CANCEL) => Ok(()),
        Ok(client::QUERY) => asked(wire, user, session, shared),
        Ok(client::TABLES_STATUS) => tell_tables(wire, session),
        Ok(other) => {
            let error = err!(UNKNOWN_PACKET_FROM_CLIENT, "Unknown packet {other} from client");
            // The connection ends either way.
            let _ = wire.lock().send(&Packet::Exception(error));
            return false;
        }
        Err(_) => return false,
    };
    done.is_ok() && !wire.lock().is_broken
}

/// Tells which tables are there: another server asks before it sends a query to one of several.
fn tell_tables(wire: &SharedWire, session: &Session) -> Result<()> {
    let mut wire = wire.lock();
    let TablesStatusRequest(asked) = TablesStatusRequest::read(&mut wire.channel)?;
    let is_there = |(database, name): &(String, String)| {
        let params = vec![("database".to_owned(), database.clone()), ("name".to_owned(), name.clone())];
        let options = RunOptions { params, format: Some("TSV".into()), ..RunOptions::default() };
        let found = session.run("EXISTS TABLE {database:Identifier}.{name:Identifier}", options);
        found.is_ok_and(|found| found.bytes.starts_with(b"1"))
    };
    let found = asked.into_iter().filter(is_there).collect();
    wire.send(&Packet::TablesStatus(found))
}

/// Runs a query, and tells how it ended. An error is one of the conversation.
fn asked(wire: &SharedWire, user: &User, session: &Session, shared: &Shared) -> Result<()> {
    let spoken = wire.lock().dialect.revision;
    let query = Query::read(&mut wire.lock().channel, spoken, old_form);
    let done = match query {
        Ok(query) => query::run(query, wire, user, session, shared),
        Err(error) => {
            wire.lock().is_broken = true;
            Err(error)
        }
    };
    let mut wire = wire.lock();
    let is_cancelled = std::mem::take(&mut wire.is_cancelled);
    let packet = match done {
        // Whoever has said so waits for the end alone.
        Err(_) if is_cancelled => Packet::EndOfStream,
        Ok(()) => Packet::EndOfStream,
        Err(error) => Packet::Exception(error),
    };
    wire.send(&packet)?;
    if wire.is_broken {
        bail!(NETWORK_ERROR, "The conversation is broken");
    }
    Ok(())
}

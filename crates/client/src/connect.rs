//! Opening a socket within a time limit, stoppable.

use crate::channel::{MOMENT, TcpSocket, Watch};
use crate::options::Options;
use crate::stream::Stream;
use chalet_base::{Error, Result, bail, err};
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// A connected socket. Looking up a host and connecting cannot be interrupted: a thread of its own does both, and is left to its
/// time limit when nobody waits any longer.
pub fn connect(options: &Options, watch: Option<&Watch>) -> Result<TcpSocket> {
    let (send, receive) = sync_channel(1);
    let asked = options.clone();
    let thread = std::thread::Builder::new().name("chalet-connect".into());
    let spawned = thread.spawn(move || {
        // Nobody may be waiting any longer.
        let _ = send.send(connect_here(&asked));
    });
    spawned.map_err(|e| {
        err!(CANNOT_SCHEDULE_TASK, "Cannot start a thread to connect to {}: {e}", options.peer())
    })?;
    let since = Instant::now();
    loop {
        match receive.recv_timeout(MOMENT) {
            Ok(connected) => return connected,
            Err(RecvTimeoutError::Disconnected) => {
                bail!(NETWORK_ERROR, "Cannot connect ({})", options.peer())
            }
            Err(RecvTimeoutError::Timeout) if since.elapsed() > options.connect_timeout + MOMENT => {
                return Err(timed_out(options));
            }
            Err(RecvTimeoutError::Timeout) => watch.map_or(Ok(()), |watch| watch())?,
        }
    }
}

fn connect_here(options: &Options) -> Result<TcpSocket> {
    let Options { host, port, .. } = options;
    let addresses = (host.as_str(), *port).to_socket_addrs();
    let addresses =
        addresses.map_err(|_| err!(DNS_ERROR, "Not found address of host: {host} ({})", options.peer()))?;
    let end = Instant::now() + options.connect_timeout;
    let mut failure = err!(DNS_ERROR, "Not found address of host: {host} ({})", options.peer());
    for address in addresses {
        let left = end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(&address, left) {
            Ok(tcp) => {
                let stream = match &options.tls {
                    Some(tls) => Stream::to_server(tcp, tls, host, end)?,
                    None => Stream::plain(tcp),
                };
                return TcpSocket::new(stream).map_err(|e| refused(&e, options));
            }
            Err(e) => failure = refused(&e, options),
        }
    }
    Err(failure)
}

fn refused(error: &io::Error, options: &Options) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => timed_out(options),
        ErrorKind::ConnectionRefused => err!(NETWORK_ERROR, "Connection refused ({})", options.peer()),
        _ => err!(NETWORK_ERROR, "{error} ({})", options.peer()),
    }
}

fn timed_out(options: &Options) -> Error {
    let ms = options.connect_timeout.as_millis();
    err!(
        SOCKET_TIMEOUT,
        "Timeout: connect timed out: {} ({}, connection timeout {ms} ms)",
        options.peer(),
        options.peer()
    )
}

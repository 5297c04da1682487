//! A TCP connection, encrypted or not, that a reader and a writer may hold at once.

use crate::tls::{ServerTls, Tls};
use chalet_base::{Error, Result, err};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An open connection.
pub struct Stream {
    tcp: TcpStream,
    tls: Option<Arc<Encrypted>>,
}

/// The encryption of a connection. Nobody waits for the other end with `state` locked: one may read while another writes.
struct Encrypted {
    state: Mutex<rustls::Connection>,
    receiving: Mutex<Received>,
    /// Encrypted bytes for which there was no room yet.
    sending: Mutex<Vec<u8>>,
}

/// Encrypted bytes that have arrived; those before `at` were decrypted.
#[derive(Default)]
struct Received {
    bytes: Vec<u8>,
    at: usize,
}

/// Encrypted bytes that one read asks for.
const READ: usize = 32 << 10;

impl Stream {
    /// Without encryption.
    pub fn plain(tcp: TcpStream) -> Stream {
        Stream { tcp, tls: None }
    }

    /// A client's end: shakes hands with a server of this name.
    pub fn to_server(tcp: TcpStream, tls: &Tls, host: &str, end: Instant) -> Result<Stream> {
        Stream::encrypted(tcp, tls.begin(host)?, end)
    }

    /// A server's end.
    pub fn to_client(tcp: TcpStream, tls: &ServerTls, end: Instant) -> Result<Stream> {
        Stream::encrypted(tcp, tls.begin()?, end)
    }

    fn encrypted(mut tcp: TcpStream, mut state: rustls::Connection, end: Instant) -> Result<Stream> {
        let peer = tcp.peer_addr().map_or_else(|_| "?".to_owned(), |peer| peer.to_string());
        while state.is_handshaking() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(err!(SOCKET_TIMEOUT, "Timeout exceeded while shaking hands with {peer} (TLS)"));
            }
            let limits = tcp.set_read_timeout(Some(left)).and_then(|()| tcp.set_write_timeout(Some(left)));
            limits.map_err(|e| not_agreed(&e, &peer))?;
            match step(&mut state, &mut tcp) {
                Err(e) if is_for_later(&e) => {}
                Err(e) => {
                    // Says why, to who may still listen.
                    let _ = state.write_tls(&mut tcp);
                    return Err(not_agreed(&e, &peer));
                }
                Ok(()) => {}
            }
        }
        let mut rest = Vec::new();
        while state.wants_write() {
            state.write_tls(&mut rest).map_err(|e| not_agreed(&e, &peer))?;
        }
        let tls =
            Encrypted { state: Mutex::new(state), receiving: Mutex::default(), sending: Mutex::new(rest) };
        Ok(Stream { tcp, tls: Some(Arc::new(tls)) })
    }

    pub fn try_clone(&self) -> io::Result<Stream> {
        Ok(Stream { tcp: self.tcp.try_clone()?, tls: self.tls.clone() })
    }

    /// The connection below the encryption: to be configured, or shut.
    pub fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.tcp.peer_addr()
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Ends the conversation, and says so.
    pub fn close(&self) {
        if let Some(tls) = &self.tls {
            lock(&tls.state).send_close_notify();
            // Where there is no room for it, the other end sees the end of the connection alone.
            let _ = self.tcp.set_nonblocking(true);
            let _ = tls.write(&self.tcp, &[]);
        }
        // It may be closed already.
        let _ = self.tcp.shutdown(Shutdown::Both);
    }

    /// Is there something to read, be it the end, without waiting? `waits` is how the connection is set.
    pub fn has_input(&self, waits: bool) -> bool {
        if let Some(tls) = &self.tls
            && tls.has_plain()
        {
            return true;
        }
        if waits && self.tcp.set_nonblocking(true).is_err() {
            return true;
        }
        let found = match &self.tls {
            // What has arrived may be for the encryption alone.
            Some(tls) => tls.arrives(&self.tcp),
            None => !matches!(self.tcp.peek(&mut [0]), Err(e) if e.kind() == ErrorKind::WouldBlock),
        };
        let is_as_before = !waits || self.tcp.set_nonblocking(false).is_ok();
        !is_as_before || found
    }

    /// Writes what was taken and has not gone out; fails with `WouldBlock` or `TimedOut` where there is no room.
    pub fn flush(&self) -> io::Result<()> {
        match &self.tls {
            Some(tls) => send(&mut lock(&tls.sending), &self.tcp),
            None => Ok(()),
        }
    }

    /// Has the other end closed the connection? What it has sent is left for its reader.
    pub fn has_hung_up(&self) -> bool {
        let mut asked = libc::pollfd { fd: self.tcp.as_raw_fd(), events: HUNG_UP, revents: 0 };
        // SAFETY: the descriptor is open as long as the stream lives, and one entry is what the pointer leads to.
        let n = unsafe { libc::poll(&raw mut asked, 1, 0) };
        if n > 0 && asked.revents & (HUNG_UP | libc::POLLHUP | libc::POLLERR) != 0 {
            return true;
        }
        let mut byte = 0_u8;
        // SAFETY: the descriptor is open as long as the stream lives, and the buffer is one byte that this function owns.
        let n = unsafe {
            libc::recv(self.tcp.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK | libc::MSG_DONTWAIT)
        };
        n == 0 || (n < 0 && !is_for_later(&io::Error::last_os_error()))
    }
}

/// The other end writes no more, which may stand behind bytes that nobody has read.
#[cfg(target_os = "linux")]
const HUNG_UP: i16 = libc::POLLRDHUP;
#[cfg(not(target_os = "linux"))]
const HUNG_UP: i16 = 0;

impl Read for &Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &self.tls {
            Some(tls) => tls.read(&self.tcp, to),
            None => (&self.tcp).read(to),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.tls {
            Some(tls) => tls.write(&self.tcp, bytes),
            None => (&self.tcp).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Stream::flush(self)
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        (&*self).read(to)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Stream::flush(self)
    }
}

impl Encrypted {
    fn read(&self, tcp: &TcpStream, to: &mut [u8]) -> io::Result<usize> {
        let mut received = lock(&self.receiving);
        loop {
            if let Some(n) = self.decrypted(&mut received, to)? {
                return Ok(n);
            }
            received.fill(tcp)?;
            if received.bytes.is_empty() {
                return Ok(0);
            }
        }
    }

    /// Bytes out of what has arrived; none where more has to.
    fn decrypted(&self, received: &mut Received, to: &mut [u8]) -> io::Result<Option<usize>> {
        let mut state = lock(&self.state);
        loop {
            match state.reader().read(to) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // Both protocols say by themselves where something ends.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(Some(0)),
                read => return read.map(Some),
            }
            if received.at == received.bytes.len() {
                return Ok(None);
            }
            let mut rest = &received.bytes[received.at..];
            let before = rest.len();
            state.read_tls(&mut rest)?;
            received.at += before - rest.len();
            let processed = state.process_new_packets();
            processed.map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
        }
    }

    /// Decrypts what has arrived. Would reading give bytes, the end or an error?
    fn has_plain(&self) -> bool {
        let mut received = lock(&self.receiving);
        let mut state = lock(&self.state);
        loop {
            match state.process_new_packets() {
                Ok(seen) if seen.plaintext_bytes_to_read() == 0 && !seen.peer_has_closed() => {}
                _ => return true,
            }
            let mut rest = &received.bytes[received.at..];
            let before = rest.len();
            if before == 0 {
                return false;
            }
            if state.read_tls(&mut rest).is_err() {
                return true;
            }
            received.at += before - rest.len();
        }
    }

    /// Is there anything behind the keys and tickets of the encryption? The connection waits for nothing.
    fn arrives(&self, tcp: &TcpStream) -> bool {
        loop {
            let mut received = lock(&self.receiving);
            match received.fill(tcp) {
                Err(e) if is_for_later(&e) => return false,
                Err(_) => return true,
                Ok(()) if received.bytes.is_empty() => return true,
                Ok(()) => {}
            }
            drop(received);
            if self.has_plain() {
                return true;
            }
        }
    }

    fn write(&self, tcp: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        let mut sending = lock(&self.sending);
        if !sending.is_empty() {
            send(&mut sending, tcp)?;
        }
        let mut state = lock(&self.state);
        let n = state.writer().write(bytes)?;
        while state.wants_write() {
            state.write_tls(&mut *sending)?;
        }
        drop(state);
        match send(&mut sending, tcp) {
            Err(e) if !is_for_later(&e) => Err(e),
            // The rest goes out with the next write, or `flush`.
            _ => Ok(n),
        }
    }
}

impl Received {
    /// Reads more once all was decrypted; leaves nothing at the end of the connection.
    fn fill(&mut self, mut tcp: &TcpStream) -> io::Result<()> {
        self.at = 0;
        self.bytes.resize(READ, 0);
        let read = tcp.read(&mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        read.map(drop)
    }
}

fn send(bytes: &mut Vec<u8>, mut tcp: &TcpStream) -> io::Result<()> {
    let mut sent = 0;
    let result = loop {
        if sent == bytes.len() {
            break Ok(());
        }
        match tcp.write(&bytes[sent..]) {
            Ok(0) => break Err(ErrorKind::WriteZero.into()),
            Ok(n) => sent += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => break Err(e),
        }
    };
    bytes.drain(..sent);
    result
}

/// One part of shaking hands.
fn step(state: &mut rustls::Connection, tcp: &mut TcpStream) -> io::Result<()> {
    while state.wants_write() {
        state.write_tls(tcp)?;
    }
    if state.is_handshaking() && state.wants_read() {
        if state.read_tls(tcp)? == 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "the other end has closed the connection"));
        }
        state.process_new_packets().map_err(|e| io::Error::new(ErrorKind::InvalidData, e))?;
    }
    Ok(())
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// That the other end is not who it should be is no fault of the network: nobody tries the next host.
fn not_agreed(error: &io::Error, peer: &str) -> Error {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(inner @ rustls::Error::InvalidCertificate(_)) => {
            err!(OPENSSL_ERROR, "SSL Exception: certificate verify failed: {inner} ({peer})")
        }
        Some(inner @ rustls::Error::InvalidMessage(_)) => {
            err!(OPENSSL_ERROR, "SSL Exception: {inner}, as if the port were one without TLS ({peer})")
        }
        Some(inner) => err!(OPENSSL_ERROR, "SSL Exception: {inner} ({peer})"),
        None => err!(NETWORK_ERROR, "{error}, while shaking hands (TLS, {peer})"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest that a client may take to shake hands.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(30);

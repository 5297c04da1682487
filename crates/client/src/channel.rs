//! A socket as a stream of bytes: buffered, within time limits, stoppable, and cut into chunks where both ends agreed.

use crate::http::body::Body;
use crate::stream::Stream;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_formats::binary::Source;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What bytes pass through: a socket, or bytes of a test.
pub trait Socket: Send {
    /// Reads what there is; 0 at the end. Waits no longer than a moment: then it fails with `WouldBlock` or `TimedOut`.
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize>;

    /// Writes what there is room for, waiting as `read` does.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Lets out what was written and is held back, waiting as `write` does.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Is there something to read, be it the end, without waiting?
    fn has_input(&mut self) -> bool;

    /// Ends the conversation; the other end sees it.
    fn close(&mut self);

    /// From now on waits a moment for bytes and for room, or not at all.
    fn set_waits(&mut self, waits: bool) -> io::Result<()>;

    /// What the operating system knows it by, for who waits for several.
    fn descriptor(&self) -> Option<i32>;
}

/// How long a socket waits before it looks whether it should go on.
pub const MOMENT: Duration = Duration::from_millis(50);

/// A connection of the network, whose time limits are moments.
pub struct TcpSocket {
    stream: Stream,
    waits: bool,
}

impl TcpSocket {
    pub fn new(stream: Stream) -> io::Result<TcpSocket> {
        let tcp = stream.tcp();
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(MOMENT))?;
        tcp.set_write_timeout(Some(MOMENT))?;
        Ok(TcpSocket { stream, waits: true })
    }
}

impl Socket for TcpSocket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut self.stream, to)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut self.stream, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    fn has_input(&mut self) -> bool {
        self.stream.has_input(self.waits)
    }

    fn close(&mut self) {
        self.stream.close();
    }

    fn set_waits(&mut self, waits: bool) -> io::Result<()> {
        self.stream.tcp().set_nonblocking(!waits)?;
        self.waits = waits;
        Ok(())
    }

    fn descriptor(&self) -> Option<i32> {
        Some(self.stream.tcp().as_raw_fd())
    }
}

/// Asked while a socket waits: fails when the query is to stop.
pub type Watch = Arc<dyn Fn() -> Result<()> + Send + Sync>;

/// How long to wait for the other end.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    pub receive: Duration,
    pub send: Duration,
}

/// Both directions of a conversation. What was written goes out with `flush`.
pub struct Channel {
    socket: Box<dyn Socket>,
    /// `host:port`, for errors.
    peer: Arc<str>,
    timeouts: Timeouts,
    watch: Option<Watch>,
    /// Bytes that have arrived, up to `end`; those before `at` were taken. Room behind `end` is used again.
    window: Vec<u8>,
    at: usize,
    end: usize,
    /// What is around the bytes that are read.
    framing: Framing,
    /// A packet that is being written.
    pub out: Vec<u8>,
    writes_chunks: bool,
    /// Without it nobody waits: what there is no room for is unsent until `push`, and only attempts read.
    waits: bool,
    unsent: Vec<u8>,
    attempt: Attempt,
}

/// Reading a whole of which a part may still be on its way.
#[derive(Default)]
struct Attempt {
    /// Where the whole begins, while it is read.
    start: Option<usize>,
    /// Bytes without which it is not worth while to begin.
    needed: usize,
    /// Bytes were missing.
    is_short: bool,
    /// When something arrived, or went, the last time.
    since: Option<Instant>,
}

/// Bytes that one read asks for at least, and memory that is set aside before they have come at most.
const READ: usize = 64 << 10;
const READ_AHEAD: usize = 1 << 20;
/// What the other end says while it is written to, at most.
const HEARD: usize = 1 << 20;
/// Memory of this size is kept from one packet to the next.
const KEPT: usize = 4 << 20;

impl Channel {
    pub fn new(socket: Box<dyn Socket>, peer: impl Into<Arc<str>>, timeouts: Timeouts) -> Channel {
        Channel {
            socket,
            peer: peer.into(),
            timeouts,
            watch: None,
            window: Vec::new(),
            at: 0,
            end: 0,
            framing: Framing::None,
            out: Vec::new(),
            writes_chunks: false,
            waits: true,
            unsent: Vec::new(),
            attempt: Attempt::default(),
        }
    }

    /// `host:port` of the other end.
    pub fn peer(&self) -> &Arc<str> {
        &self.peer
    }

    /// From now on this is asked while the socket waits.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// From here on what is read, or written, is cut into chunks.
    pub fn set_chunks(&mut self, reads: bool, writes: bool) {
        self.writes_chunks = writes;
        if !reads {
            return;
        }
        self.begin_framing(Framing::Chunks(Chunks::default()));
    }

    fn begin_framing(&mut self, mut framing: Framing) {
        // What has arrived already is inside, too.
        self.end = self.at + framing.unwrap(&mut self.window[self.at..self.end]);
        self.framing = framing;
    }

    /// From here on the body of a response of HTTP is read.
    pub(crate) fn begin_body(&mut self, body: Body) {
        self.begin_framing(Framing::Body(body));
    }

    /// Was all of the body taken?
    pub(crate) fn body_is_over(&self) -> bool {
        self.at == self.end && self.body_has_ended()
    }

    /// Has all of it arrived?
    fn body_has_ended(&self) -> bool {
        matches!(&self.framing, Framing::Body(body) if body.has_ended())
    }

    /// From here on the head of the next response is read.
    pub(crate) fn end_body(&mut self) {
        self.framing = Framing::None;
    }

    /// Waits for a byte of the body; false at its end.
    pub(crate) fn has_more(&mut self) -> Result<bool> {
        if self.at < self.end {
            return Ok(true);
        }
        if self.body_is_over() {
            return Ok(false);
        }
        match self.fill(1) {
            Err(_) if self.body_is_over() && !self.attempt.is_short => Ok(false),
            filled => filled.map(|()| true),
        }
    }

    /// Waits until so many bytes are at hand.
    pub(crate) fn await_bytes(&mut self, n: usize) -> Result<()> {
        if self.end - self.at < n { self.fill(n) } else { Ok(()) }
    }

    /// Takes what is at hand.
    pub(crate) fn drop_input(&mut self) {
        self.at = self.end;
    }

    /// Has something arrived, or the other end gone, while nobody was reading?
    pub fn has_input(&mut self) -> bool {
        self.at < self.end || self.socket.has_input()
    }

    /// From now on waits so long.
    pub fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// From now on waits, or leaves that to others: see `attempt` and `push`.
    pub fn set_waits(&mut self, waits: bool) -> Result<()> {
        self.socket.set_waits(waits).map_err(|e| broken(&e, "preparing the socket", &self.peer))?;
        self.waits = waits;
        self.attempt = Attempt::default();
        Ok(())
    }

    /// Does it wait for the other end?
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// What the operating system knows the socket by.
    pub fn descriptor(&self) -> Option<i32> {
        self.socket.descriptor()
    }

    /// Reads a whole, or nothing as long as it has not all arrived. What reads it begins anew each time.
    pub fn attempt<T>(&mut self, read: impl FnOnce(&mut Channel) -> Result<T>) -> Result<Option<T>> {
        self.attempt.start = Some(self.at);
        self.attempt.since.get_or_insert_with(Instant::now);
        let needed = self.attempt.needed;
        let filled = if self.end - self.at < needed { self.fill(needed) } else { Ok(()) };
        let read = match filled {
            // What was waited for will not come: who reads knows what that means.
            Err(_) if !self.attempt.is_short && self.body_has_ended() => read(self),
            filled => filled.and_then(|()| read(self)),
        };
        let start = self.attempt.start.take().unwrap_or(self.at);
        if std::mem::take(&mut self.attempt.is_short) {
            self.at = start;
            return Ok(None);
        }
        self.attempt.needed = 0;
        if read.is_err() {
            self.at = start;
        }
        read.map(Some)
    }

    /// Writes what could not be written before, as far as there is room now; true when there is nothing left.
    pub fn push(&mut self) -> Result<bool> {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.socket.write(&self.unsent[sent..]) {
                Ok(0) => bail!(NETWORK_ERROR, "Connection was closed while writing ({})", self.peer),
                Ok(n) => {
                    sent += n;
                    self.attempt.since = Some(Instant::now());
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    let since = *self.attempt.since.get_or_insert_with(Instant::now);
                    self.waited(&e, since, self.timeouts.send, "writing")?;
                    break;
                }
                Err(e) => self.waited(&e, Instant::now(), self.timeouts.send, "writing")?,
            }
        }
        self.unsent.drain(..sent);
        if !self.unsent.is_empty() {
            return Ok(false);
        }
        match self.socket.flush() {
            Ok(()) => Ok(true),
            Err(e) => {
                let since = *self.attempt.since.get_or_insert_with(Instant::now);
                self.waited(&e, since, self.timeouts.send, "writing")?;
                Ok(false)
            }
        }
    }

    /// Waits for nothing any longer, neither the other end nor a watch.
    pub fn hurry(&mut self) {
        self.watch = None;
        self.timeouts = Timeouts { receive: MOMENT, send: MOMENT };
    }

    pub fn close(&mut self) {
        self.socket.close();
    }

    /// Writes what is in `out`, as one packet.
    pub fn flush(&mut self) -> Result<()> {
        let packet = std::mem::take(&mut self.out);
        if self.writes_chunks {
            for chunk in packet.chunks(u32::MAX as usize) {
                self.send(&(chunk.len() as u32).to_le_bytes())?;
                self.send(chunk)?;
            }
            self.send(&[0; 4])?;
        } else {
            self.send(&packet)?;
        }
        if packet.capacity() <= KEPT {
            self.out = packet;
            self.out.clear();
        }
        Ok(())
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<()> {
        if !self.waits {
            self.unsent.extend_from_slice(bytes);
            return self.push().map(drop);
        }
        let mut since = Instant::now();
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(0) => bail!(NETWORK_ERROR, "Connection was closed while writing ({})", self.peer),
                Ok(n) => {
                    bytes = &bytes[n..];
                    since = Instant::now();
                }
                Err(e) => {
                    self.waited(&e, since, self.timeouts.send, "writing")?;
                    self.listen()?;
                }
            }
        }
        while let Err(e) = self.socket.flush() {
            self.waited(&e, since, self.timeouts.send, "writing")?;
            self.listen()?;
        }
        Ok(())
    }

    /// Takes in what the other end says while it does not read: it may go on only once that has gone out, and both ends would
    /// wait for each other.
    fn listen(&mut self) -> Result<()> {
        while self.socket.has_input() {
            ensure!(
                self.end - self.at < HEARD,
                NETWORK_ERROR,
                "The server writes and does not read ({})",
                self.peer
            );
            self.make_room(READ);
            match self.socket.read(&mut self.window[self.end..]) {
                Ok(0) => bail!(NETWORK_ERROR, "Connection was closed while writing ({})", self.peer),
                Ok(read) => self.arrived(read),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(()),
                Err(e) => return Err(broken(&e, "writing", &self.peer)),
            }
        }
        Ok(())
    }

    fn make_room(&mut self, room: usize) {
        if self.window.len() - self.end < room {
            // Twice what has arrived, at most.
            let mut window = vec![0; self.end + room.max(self.end)];
            window[..self.end].copy_from_slice(&self.window[..self.end]);
            self.window = window;
        }
    }

    fn arrived(&mut self, n: usize) {
        let arrived = &mut self.window[self.end..self.end + n];
        self.end += self.framing.unwrap(arrived);
    }

    /// Waits until there are `n` bytes behind `at`; in an attempt there are, or it is short.
    #[cold]
    fn fill(&mut self, n: usize) -> Result<()> {
        let from = self.attempt.start.unwrap_or(self.at);
        if from > 0 {
            self.window.copy_within(from..self.end, 0);
            self.end -= from;
            self.at -= from;
            self.attempt.start = self.attempt.start.map(|_| 0);
        }
        let Some(n) = self.at.checked_add(n) else {
            bail!(TOO_LARGE_STRING_SIZE, "{n} bytes are announced ({})", self.peer)
        };
        if self.window.len() > KEPT && n.max(self.end) < READ {
            self.window.truncate(READ);
            self.window.shrink_to_fit();
        }
        let mut since = Instant::now();
        while self.end < n {
            if let Framing::Body(body) = &self.framing {
                ensure!(
                    !body.is_wrong(),
                    NETWORK_ERROR,
                    "A body of HTTP is not as announced ({})",
                    self.peer
                );
                ensure!(
                    !body.has_ended(),
                    ATTEMPT_TO_READ_AFTER_EOF,
                    "Attempt to read after eof: the body has ended ({})",
                    self.peer
                );
            }
            self.make_room((n - self.end).clamp(READ, READ_AHEAD));
            match self.socket.read(&mut self.window[self.end..]) {
                Ok(0) => {
                    bail!(
                        ATTEMPT_TO_READ_AFTER_EOF,
                        "Attempt to read after eof: the server has closed the connection ({})",
                        self.peer
                    )
                }
                Ok(read) => {
                    since = Instant::now();
                    self.attempt.since = Some(since);
                    self.arrived(read);
                }
                Err(e) if !self.waits && e.kind() == ErrorKind::WouldBlock => return self.falls_short(n, &e),
                Err(e) => self.waited(&e, since, self.timeouts.receive, "reading")?,
            }
        }
        Ok(())
    }

    /// An attempt ends: what it reads ends at `n` at the earliest, and no more has arrived.
    fn falls_short(&mut self, n: usize, error: &io::Error) -> Result<()> {
        self.waited(
            error,
            self.attempt.since.unwrap_or_else(Instant::now),
            self.timeouts.receive,
            "reading",
        )?;
        self.attempt.needed = n - self.attempt.start.unwrap_or(0);
        self.attempt.is_short = true;
        Err(broken(error, "reading", &self.peer))
    }

    /// A moment has passed without a byte, or the socket has failed.
    fn waited(&self, error: &io::Error, since: Instant, limit: Duration, what: &str) -> Result<()> {
        match error.kind() {
            ErrorKind::Interrupted => {}
            ErrorKind::WouldBlock | ErrorKind::TimedOut => ensure!(
                since.elapsed() < limit,
                SOCKET_TIMEOUT,
                "Timeout exceeded while {what} from socket ({}, {} ms)",
                self.peer,
                limit.as_millis()
            ),
            _ => return Err(broken(error, what, &self.peer)),
        }
        self.watch.as_ref().map_or(Ok(()), |watch| watch())
    }
}

#[cold]
fn broken(error: &io::Error, what: &str, peer: &str) -> Error {
    match error.kind() {
        ErrorKind::ConnectionReset => err!(NETWORK_ERROR, "Connection reset by peer, while {what} ({peer})"),
        ErrorKind::BrokenPipe => err!(NETWORK_ERROR, "Broken pipe, while {what} ({peer})"),
        _ => err!(NETWORK_ERROR, "{error}, while {what} ({peer})"),
    }
}

impl Source for Channel {
    #[inline]
    fn take(&mut self, n: usize) -> Result<&[u8]> {
        if self.end - self.at < n {
            self.fill(n)?;
        }
        let at = self.at;
        self.at += n;
        Ok(&self.window[at..at + n])
    }

    fn at_most(&self) -> usize {
        usize::MAX
    }

    fn at_hand(&self) -> &[u8] {
        &self.window[self.at..self.end]
    }
}

/// What is around the bytes that are read.
enum Framing {
    None,
    Chunks(Chunks),
    Body(Body),
}

impl Framing {
    /// Moves what is inside to the front; gives how many bytes that is.
    fn unwrap(&mut self, arrived: &mut [u8]) -> usize {
        match self {
            Framing::None => arrived.len(),
            Framing::Chunks(chunks) => chunks.unwrap(arrived),
            Framing::Body(body) => body.unwrap(arrived),
        }
    }
}

/// Takes the lengths out of what arrives: each chunk has four bytes before it, and a chunk of no bytes ends a packet.
#[derive(Default)]
struct Chunks {
    /// Bytes of the chunk that are still to come.
    left: u32,
    length: [u8; 4],
    /// Bytes of `length` that have come.
    known: usize,
}

impl Chunks {
    /// Moves what is in chunks to the front; gives how many bytes that is.
    fn unwrap(&mut self, arrived: &mut [u8]) -> usize {
        let (mut at, mut end) = (0, 0);
        while at < arrived.len() {
            if self.left > 0 {
                let n = (arrived.len() - at).min(self.left as usize);
                arrived.copy_within(at..at + n, end);
                self.left -= n as u32;
                at += n;
                end += n;
                continue;
            }
            self.length[self.known] = arrived[at];
            self.known += 1;
            at += 1;
            if self.known == 4 {
                self.known = 0;
                self.left = u32::from_le_bytes(self.length);
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_may_arrive_in_any_pieces() {
        let bytes = [3, 0, 0, 0, b'a', b'b', b'c', 0, 0, 0, 0, 1, 0, 0, 0, b'd', 0, 0, 0, 0];
        for piece in 1..=bytes.len() {
            let mut chunks = Chunks::default();
            let mut to = Vec::new();
            for arrived in bytes.chunks(piece) {
                let mut arrived = arrived.to_vec();
                let n = chunks.unwrap(&mut arrived);
                to.extend_from_slice(&arrived[..n]);
            }
            assert_eq!(to, b"abcd", "{piece}");
        }
    }
}

//! What arrives over a socket: heads of requests and their bodies, within bounds of size and time.

use super::request::Request;
use chalet_client::Stream;
use chalet_client::channel::MOMENT;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a head at most: a statement may stand in it.
const MAX_HEAD: usize = 1 << 20;
/// A connection without a request is kept so long.
pub const IDLE: Duration = Duration::from_secs(60);
/// The head of a request takes no longer.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// A client that says nothing amid a body is given up.
const BODY_TIME: Duration = Duration::from_secs(300);
/// Bytes of a body that nobody reads are read so far, to use the connection again.
const MAX_SKIPPED: u64 = 4 << 20;
/// Bytes that one read asks for; the first of a head, for which it waits, for fewer.
const READ: usize = 64 << 10;
const FIRST_READ: usize = 4 << 10;
/// Bytes of the line before a chunk, and of all trailers.
const MAX_LINE: usize = 8 << 10;

/// How a body says where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// So many bytes of the chunk are left; a line with a length follows.
    Chunk(u64),
    /// The first chunk is to come.
    Chunks,
    Ended,
}

/// The socket's receiving half.
pub struct Input {
    socket: Stream,
    /// Bytes that have arrived; those before `at` were taken.
    window: Vec<u8>,
    at: usize,
    body: Framing,
    /// The client waits for a word before it sends the body.
    is_awaited: bool,
}

impl Input {
    pub fn new(socket: Stream) -> Input {
        Input { socket, window: Vec::new(), at: 0, body: Framing::Ended, is_awaited: false }
    }

    /// The head of the next request; None when there is none, because the client is gone or silent.
    pub fn head(&mut self) -> io::Result<Option<Request>> {
        self.window.drain(..self.at);
        self.at = 0;
        if self.window.is_empty() {
            // A connection that waits takes little.
            self.window = Vec::new();
        }
        let mut searched = 0;
        let mut since = None;
        let end = loop {
            if let Some(found) = end_of_head(&self.window[searched..]) {
                break searched + found;
            }
            searched = self.window.len().saturating_sub(3);
            if self.window.len() > MAX_HEAD {
                return Err(io::Error::new(ErrorKind::FileTooLarge, "the head is too large"));
            }
            if !self.window.is_empty() {
                since.get_or_insert_with(Instant::now);
            }
            let left = since.map_or(IDLE, |since| HEAD_TIME.saturating_sub(since.elapsed()));
            let room = if self.window.is_empty() { FIRST_READ } else { READ };
            match self.fill(left, room) {
                Ok(0) if self.window.is_empty() => return Ok(None),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(e) if since.is_none() && is_timeout(&e) => return Ok(None),
                Err(e) => return Err(e),
            }
            if self.window.first().is_some_and(|&byte| begins_no_head(byte)) {
                return Err(io::Error::new(ErrorKind::InvalidData, "this is no HTTP"));
            }
        };
        let request = Request::parse(&self.window[..end])?;
        self.at = end;
        self.body = framing(&request)?;
        self.is_awaited = self.body != Framing::Ended && request.lists("expect", "100-continue");
        Ok(Some(request))
    }

    /// Reads what arrives, waiting no longer than this.
    fn fill(&mut self, patience: Duration, room: usize) -> io::Result<usize> {
        self.socket.tcp().set_read_timeout(Some(patience.max(Duration::from_millis(1))))?;
        let held = self.window.len();
        self.window.resize(held + room, 0);
        let read = loop {
            match self.socket.read(&mut self.window[held..]) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.window.truncate(held + *read.as_ref().unwrap_or(&0));
        read
    }

    /// Some bytes of the body's wire form.
    fn more(&mut self) -> io::Result<()> {
        if self.at < self.window.len() {
            return Ok(());
        }
        self.window.clear();
        self.at = 0;
        if std::mem::take(&mut self.is_awaited) {
            // There is room for it: what came before was answered.
            self.socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        match self.fill(BODY_TIME, READ)? {
            0 => Err(io::Error::new(ErrorKind::UnexpectedEof, "the connection was closed amid the body")),
            _ => Ok(()),
        }
    }

    fn read_body(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        loop {
            match self.body {
                Framing::Ended | Framing::Length(0) => {
                    self.body = Framing::Ended;
                    return Ok(0);
                }
                Framing::Chunks => self.next_chunk()?,
                Framing::Chunk(0) => {
                    // What ends the chunk before.
                    if !self.line()?.is_empty() {
                        return Err(io::Error::new(ErrorKind::InvalidData, "a chunk is longer than it says"));
                    }
                    self.next_chunk()?;
                }
                Framing::Length(left) | Framing::Chunk(left) => {
                    self.more()?;
                    let held = &self.window[self.at..];
                    let n = held.len().min(to.len()).min(usize::try_from(left).unwrap_or(usize::MAX));
                    to[..n].copy_from_slice(&held[..n]);
                    self.at += n;
                    let left = left - n as u64;
                    self.body = match self.body {
                        Framing::Length(_) => Framing::Length(left),
                        _ => Framing::Chunk(left),
                    };
                    return Ok(n);
                }
            }
        }
    }

    /// The length of the next chunk; behind the last there are trailers, of which nothing is kept.
    fn next_chunk(&mut self) -> io::Result<()> {
        let line = self.line()?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let length = u64::from_str_radix(digits, 16).ok().filter(|_| is_number);
        let Some(length) = length else {
            return Err(io::Error::new(ErrorKind::InvalidData, "a chunk without a length"));
        };
        if length > 0 {
            self.body = Framing::Chunk(length);
            return Ok(());
        }
        let mut trailers = 0;
        loop {
            let line = self.line()?;
            trailers += line.len();
            if line.is_empty() {
                self.body = Framing::Ended;
                return Ok(());
            }
            if trailers > MAX_LINE {
                return Err(io::Error::new(ErrorKind::InvalidData, "trailers are too long"));
            }
        }
    }

    /// A line without its end.
    fn line(&mut self) -> io::Result<String> {
        let mut line = Vec::new();
        loop {
            self.more()?;
            let held = &self.window[self.at..];
            let end = held.iter().position(|&byte| byte == b'\n');
            line.extend_from_slice(&held[..end.unwrap_or(held.len())]);
            self.at += end.map_or(held.len(), |end| end + 1);
            if line.len() > MAX_LINE {
                return Err(io::Error::new(ErrorKind::InvalidData, "a line is too long"));
            }
            if end.is_some() {
                let line = String::from_utf8_lossy(&line);
                return Ok(line.trim_end_matches('\r').to_owned());
            }
        }
    }

    /// Reads the rest of a body that nobody wants; false where that is too much, or not possible.
    pub fn skip_body(&mut self) -> bool {
        if self.body == Framing::Ended {
            return true;
        }
        // A client that waits for a word has sent nothing, and may or may not go on.
        if self.is_awaited {
            return false;
        }
        let mut room = [0; 8 << 10];
        let mut skipped = 0;
        while skipped < MAX_SKIPPED {
            match self.read_body(&mut room) {
                Ok(0) => return true,
                Ok(n) => skipped += n as u64,
                Err(_) => return false,
            }
        }
        false
    }
}

/// How long what a client goes on to send is taken, once the connection is at its end, and how long it may be silent meanwhile.
const LINGER: Duration = Duration::from_secs(30);
const SILENCE: Duration = Duration::from_secs(2);

/// Ends a connection over which a client may still be sending: it says that nothing more comes, and takes what arrives until the client
/// ends too. Closed at once, the connection would be reset, and the client lose the answer that it has not read yet.
pub fn linger(socket: &TcpStream, is_ending: &dyn Fn() -> bool) {
    let until = Instant::now() + LINGER;
    let mut silent_since = Instant::now();
    let mut room = vec![0; READ];
    let is_set = socket.shutdown(Shutdown::Write).and_then(|()| socket.set_read_timeout(Some(MOMENT)));
    if is_set.is_err() {
        return;
    }
    let mut socket = socket;
    while Instant::now() < until && silent_since.elapsed() < SILENCE && !is_ending() {
        match socket.read(&mut room) {
            Ok(0) => return,
            Ok(_) => silent_since = Instant::now(),
            Err(e) if is_timeout(&e) || e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// The body of the request whose head was read last, for readers that own it.
#[derive(Clone)]
pub struct Body(Arc<Mutex<Input>>);

impl Body {
    pub fn of(input: &Arc<Mutex<Input>>) -> Body {
        Body(input.clone())
    }
}

impl Read for Body {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read_body(to)
    }
}

pub fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Is it the first byte of another protocol, of a TLS handshake or the native Hello? Whoever sent it waits for an answer and will send no
/// end of a head.
fn begins_no_head(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\r' | b'\n')
}

/// Where the empty line ends.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// What a request says of its body. One that says two things could hide another request in it.
fn framing(request: &Request) -> io::Result<Framing> {
    let invalid = |why: &str| Err(io::Error::new(ErrorKind::InvalidData, why.to_owned()));
    let lengths = request.count("content-length");
    match (request.header("transfer-encoding"), request.header("content-length")) {
        (Some(_), Some(_)) => invalid("both Transfer-Encoding and Content-Length"),
        (Some(coding), None) if coding.eq_ignore_ascii_case("chunked") => Ok(Framing::Chunks),
        (Some(_), None) => invalid("Transfer-Encoding is not chunked"),
        (None, Some(length)) => match length.parse() {
            Ok(0) => Ok(Framing::Ended),
            Ok(length)
                if lengths == 1 && !request.header("content-length").is_some_and(|l| l.starts_with('+')) =>
            {
                Ok(Framing::Length(length))
            }
            _ => invalid("Content-Length is no number"),
        },
        (None, None) => Ok(Framing::Ended),
    }
}

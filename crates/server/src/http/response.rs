//! What is answered. Its beginning is held back: an error before it goes out has a status, one after it ends the body early.

use super::input::IDLE;
use super::outgoing::Outgoing;
use super::status::{of_error, reason};
use crate::tally::Tally;
use chalet_base::Error;
use chalet_client::Stream;
use chalet_client::channel::Watch;
use chalet_formats::Sink;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are held back, as the kernel's are.
const HELD: usize = 1 << 20;

/// One response.
pub struct Response {
    outgoing: Outgoing,
    pub status: u16,
    headers: Vec<(&'static str, String)>,
    held: Vec<u8>,
    most_held: usize,
    is_sent: bool,
    /// The status and headers that tell how far the statement is have gone out.
    is_begun: bool,
    /// How often the client is told, and when it was last.
    progress: Option<(Duration, Instant)>,
    /// The client asked for the head alone.
    pub has_body: bool,
    /// Of HTTP/1.1; else the end of the connection ends the body.
    pub has_chunks: bool,
    pub keeps_alive: bool,
    /// What the statement does, if it is one.
    pub tally: Option<Arc<Tally>>,
}

impl Response {
    pub fn new(socket: Stream) -> Response {
        Response {
            outgoing: Outgoing::new(socket),
            status: 200,
            headers: Vec::new(),
            held: Vec::new(),
            most_held: HELD,
            is_sent: false,
            is_begun: false,
            progress: None,
            has_body: true,
            has_chunks: true,
            keeps_alive: true,
            tally: None,
        }
    }

    /// Sets a header; control characters cannot be in one.
    pub fn set(&mut self, name: &'static str, value: &str) {
        self.headers.retain(|(known, _)| *known != name);
        let value = value.chars().map(|c| if c.is_control() { ' ' } else { c });
        self.headers.push((name, value.collect()));
    }

    /// Holds everything back until the end.
    pub fn hold_all(&mut self) {
        self.most_held = usize::MAX;
    }

    /// Tells from now on how far the statement is, in headers that go out while it runs.
    pub fn tell_progress(&mut self, every: Duration) {
        self.progress = Some((every, Instant::now()));
    }

    /// Sends a header that says how far the statement is, where it is time for one and no body has begun.
    fn send_progress(&mut self) -> io::Result<()> {
        let Some(tally) = self.tally.clone() else { return Ok(()) };
        match &mut self.progress {
            Some((every, last)) if !self.is_sent && last.elapsed() >= *every => *last = Instant::now(),
            _ => return Ok(()),
        }
        let mut head = self.begin_head();
        head.push_str(&format!("X-ClickHouse-Progress: {}\r\n", tally.to_json()));
        self.outgoing.send(head.as_bytes())
    }

    /// From now on this is asked while the client reads nothing.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        self.outgoing.set_watch(watch);
    }

    /// Is it too late for another status?
    pub fn is_sent(&self) -> bool {
        self.is_sent
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if !self.is_sent {
            if self.held.len() + bytes.len() <= self.most_held {
                self.held.extend_from_slice(bytes);
                return Ok(());
            }
            self.is_sent = true;
            let held = std::mem::take(&mut self.held);
            if !self.has_chunks {
                self.keeps_alive = false;
            }
            let framing = self.has_chunks.then_some(("Transfer-Encoding", "chunked".to_owned()));
            self.send_head(framing)?;
            self.send_chunk(&held)?;
        }
        self.send_chunk(bytes)
    }

    fn send_chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() || !self.has_body {
            return Ok(());
        }
        if !self.has_chunks {
            return self.outgoing.send(bytes);
        }
        self.outgoing.send(format!("{:x}\r\n", bytes.len()).as_bytes())?;
        self.outgoing.send(bytes)?;
        self.outgoing.send(b"\r\n")
    }

    /// The status and the date, where they have not gone out.
    fn begin_head(&mut self) -> String {
        if std::mem::replace(&mut self.is_begun, true) {
            return String::new();
        }
        let now =
            jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&jiff::Timestamp::now());
        let date = now.unwrap_or_default();
        format!("HTTP/1.1 {} {}\r\nDate: {date}\r\n", self.status, reason(self.status))
    }

    fn send_head(&mut self, framing: Option<(&'static str, String)>) -> io::Result<()> {
        use std::fmt::Write as _;
        let mut head = self.begin_head();
        let mut put = |name: &str, value: &str| {
            // Writing to a String cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        };
        if self.keeps_alive {
            put("Connection", "Keep-Alive");
            put("Keep-Alive", &format!("timeout={}", IDLE.as_secs()));
        } else {
            put("Connection", "close");
        }
        self.headers.iter().chain(&framing).for_each(|(name, value)| put(name, value));
        if let Some(tally) = &self.tally {
            put("X-ClickHouse-Summary", &tally.to_json());
        }
        head.push_str("\r\n");
        self.outgoing.send(head.as_bytes())
    }

    /// Ends a response that is whole.
    pub fn finish(&mut self) -> io::Result<()> {
        if self.is_sent {
            return if self.has_chunks && self.has_body { self.outgoing.send(b"0\r\n\r\n") } else { Ok(()) };
        }
        self.is_sent = true;
        let held = std::mem::take(&mut self.held);
        let length = (self.status != 204).then(|| ("Content-Length", held.len().to_string()));
        self.send_head(length)?;
        if self.has_body { self.outgoing.send(&held) } else { Ok(()) }
    }

    /// Sets the status of an error, and the header that has its code.
    pub fn set_error(&mut self, error: &Error) {
        self.status = of_error(error.code());
        self.headers.retain(|(name, _)| *name != "X-ClickHouse-Exception-Tag");
        self.set("X-ClickHouse-Exception-Code", &error.code().number.to_string());
    }

    /// Answers with an error alone.
    pub fn fail(&mut self, error: &Error) -> io::Result<()> {
        self.set_error(error);
        self.headers.retain(|(name, _)| *name != "Content-Encoding");
        self.set("Content-Type", "text/plain; charset=UTF-8");
        if self.status == 401 {
            self.set("WWW-Authenticate", "Basic realm=\"chalet\"");
        }
        self.held = format!("{error}\n").into_bytes();
        self.finish()
    }

    /// Ends a body without what ends it, so that nobody takes it for whole.
    pub fn break_off(&mut self) {
        self.keeps_alive = false;
    }
}

/// The body of a response, for writers that own it.
#[derive(Clone)]
pub struct Body(Arc<Mutex<Response>>);

impl Body {
    pub fn new(response: Response) -> Body {
        Body(Arc::new(Mutex::new(response)))
    }

    pub fn response(&self) -> MutexGuard<'_, Response> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells how far the statement is, if the client wants to know. Nobody waits for it: where the response is being written, there is
    /// no need to.
    pub fn tell_progress(&self) {
        if let Ok(mut response) = self.0.try_lock() {
            // A client that has gone is found by who watches the connection.
            let _ = response.send_progress();
        }
    }
}

impl Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.response().write(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Body {}

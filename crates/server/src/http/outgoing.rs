//! Bytes on their way to a client, who may be slow, silent or gone, or whose statement may be stopped meanwhile.

use super::input::is_timeout;
use crate::queries::GRACE;
use chalet_client::Stream;
use chalet_client::channel::{MOMENT, Watch};
use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

/// A client that takes nothing of a response for so long is given up.
const WRITE_TIME: Duration = Duration::from_secs(300);

/// The socket's sending half. Whoever writes waits for room, and looks up every moment.
pub struct Outgoing {
    socket: Stream,
    /// Asked while there is no room.
    watch: Option<Watch>,
}

impl Outgoing {
    /// The time limits of the socket are to be set by [`prepare`].
    pub fn new(socket: Stream) -> Outgoing {
        Outgoing { socket, watch: None }
    }

    /// From now on this is asked while there is no room.
    pub fn set_watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// Writes all, as far as somebody reads it.
    pub fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut since = Instant::now();
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = &bytes[n..];
                    since = Instant::now();
                }
                Err(e) => self.waited(e, since)?,
            }
        }
        while let Err(e) = self.socket.flush() {
            self.waited(e, since)?;
        }
        Ok(())
    }

    /// A moment has passed without room, or the socket has failed.
    fn waited(&self, error: io::Error, since: Instant) -> io::Result<()> {
        if error.kind() == ErrorKind::Interrupted {
            return Ok(());
        }
        if !is_timeout(&error) || since.elapsed() >= WRITE_TIME {
            return Err(error);
        }
        // Who says no more and reads nothing has gone.
        if since.elapsed() >= GRACE && self.socket.has_hung_up() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.watch.as_ref().map_or(Ok(()), |watch| watch().map_err(io::Error::other))
    }
}

/// Lets who writes to the socket look up every moment.
pub fn prepare(socket: &Stream) -> io::Result<()> {
    socket.tcp().set_write_timeout(Some(MOMENT))
}

//! A ClickHouse server that runs the statements of sessions: its address, and connections that wait for the next statement.

use chalet_base::Result;
use chalet_base::forks::PerProcess;
use chalet_client::{Connection, Options, Request, Watch};
use chalet_types::TimeZone;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where statements are run.
pub(crate) struct Server {
    options: Options,
    zone: TimeZone,
    /// A forked child opens its own.
    waiting: PerProcess<Mutex<Vec<Known>>>,
    /// Statements that change what later ones mean: a new connection begins with them.
    kept: Mutex<Vec<Kept>>,
}

/// A statement and its number.
type Kept = (u64, String);

/// A connection, and the number of the last of the kept statements that it knows.
pub(crate) struct Known {
    pub connection: Connection,
    known: u64,
}

/// Connections that are kept.
const MAX_WAITING: usize = 4;

impl Server {
    /// Fails where the server does not answer, or not this user.
    pub fn open(url: &str) -> Result<Server> {
        let options = Options::of_url(url)?;
        let connection = Connection::open(&options, None)?;
        let zone = TimeZone::named(&connection.server().time_zone).unwrap_or_else(|_| TimeZone::utc());
        let waiting = PerProcess::new(|_| Mutex::default());
        let server = Server { options, zone, waiting, kept: Mutex::default() };
        server.waiting().push(Known { connection, known: 0 });
        Ok(server)
    }

    /// The zone of date-times whose type names none.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// A connection for a query with these settings, which knows what statements before it have set.
    pub fn connection(&self, settings: &[(String, String)], watch: Option<&Watch>) -> Result<Known> {
        let kept = lock(&self.kept).clone();
        let mut found = loop {
            let waiting = self.waiting().pop();
            let Some(mut waiting) = waiting else {
                break Known { connection: Connection::open(&self.options, watch.cloned())?, known: 0 };
            };
            // What is closed, or said something unasked, is of no use.
            if waiting.connection.is_idle() && waiting.connection.fits(settings) {
                break waiting;
            }
        };
        let Known { connection, known } = &mut found;
        connection.set_watch(watch.cloned());
        for (number, statement) in kept {
            if number > *known {
                connection.send(&Request { settings: settings.to_vec(), ..Request::new(statement) })?;
                connection.receive_end()?;
                *known = number;
            }
        }
        Ok(found)
    }

    /// Takes a connection back.
    pub fn put_back(&self, mut known: Known) {
        known.connection.set_watch(None);
        let mut waiting = self.waiting();
        if waiting.len() < MAX_WAITING && known.connection.is_idle() {
            waiting.push(known);
        }
    }

    /// Lets connections that are opened from now on begin with the statement.
    pub fn keep(&self, statement: &str) {
        let mut kept = lock(&self.kept);
        let next = kept.last().map_or(1, |(number, _)| number + 1);
        // Said once more, it is the last word again.
        kept.retain(|(_, known)| known != statement);
        kept.push((next, statement.to_owned()));
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Known>> {
        lock(&self.waiting)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

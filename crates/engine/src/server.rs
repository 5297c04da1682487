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
    waiting: PerProcess<Mutex<Vec<Waiting>>>,
    /// Statements that change what later ones mean: a new connection begins with them.
    kept: Mutex<Vec<Kept>>,
}

/// A statement and its number.
type Kept = (u64, String);

/// A connection, and the number of the last of the kept statements that it knows.
struct Waiting {
    connection: Connection,
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
        server.waiting().push(Waiting { connection, known: 0 });
        Ok(server)
    }

    /// The zone of date-times whose type names none.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// A connection for a query with these settings, which knows what statements before it have set.
    pub fn connection(&self, settings: &[(String, String)], watch: Option<&Watch>) -> Result<Connection> {
        let kept = lock(&self.kept).clone();
        let (mut connection, known) = loop {
            let waiting = self.waiting().pop();
            let Some(Waiting { mut connection, known }) = waiting else {
                break (Connection::open(&self.options, watch.cloned())?, 0);
            };
            // What is closed, or said something unasked, is of no use.
            if connection.is_idle() && connection.fits(settings) {
                break (connection, known);
            }
        };
        connection.set_watch(watch.cloned());
        for (_, statement) in kept.iter().filter(|(number, _)| *number > known) {
            connection.send(&Request { settings: settings.to_vec(), ..Request::new(statement.clone()) })?;
            connection.receive_end()?;
        }
        Ok(connection)
    }

    /// Takes a connection back.
    pub fn put_back(&self, mut connection: Connection) {
        connection.set_watch(None);
        let known = lock(&self.kept).last().map_or(0, |(number, _)| *number);
        let mut waiting = self.waiting();
        if waiting.len() < MAX_WAITING && connection.is_idle() {
            waiting.push(Waiting { connection, known });
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

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        lock(&self.waiting)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

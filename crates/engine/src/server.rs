//! A ClickHouse server that runs the statements of sessions: its address, and connections that wait for the next statement.

use chalet_base::Result;
use chalet_base::forks::PerProcess;
use chalet_client::{Connection, Hosts, Request, Transport, Url, Watch};
use chalet_types::TimeZone;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where statements are run.
pub(crate) struct Server {
    hosts: Hosts,
    pool_size: usize,
    zone: TimeZone,
    /// A forked child opens its own.
    waiting: PerProcess<Mutex<Vec<Known>>>,
    /// Statements that change what later ones mean: a new connection begins with them.
    kept: Mutex<Vec<Kept>>,
    /// The same over HTTP, where each request says it anew: settings, parameters behind `param_`, and the database.
    remembered: Mutex<Vec<(String, String)>>,
}

/// A statement and its number.
type Kept = (u64, String);

/// A connection, and the number of the last of the kept statements that it knows.
pub(crate) struct Known {
    pub connection: Connection,
    pub known: u64,
}

impl Server {
    /// Fails where no host answers, or not this user.
    pub fn open(url: &str) -> Result<Server> {
        let Url { hosts, pool_size } = Url::parse(url)?;
        let hosts = Hosts::new(hosts);
        let connection = connect(&hosts, None)?;
        let zone = TimeZone::named(&connection.server().time_zone).unwrap_or_else(|_| TimeZone::utc());
        let waiting = PerProcess::new(|_| Mutex::default());
        let server =
            Server { hosts, pool_size, zone, waiting, kept: Mutex::default(), remembered: Mutex::default() };
        server.waiting().push(Known { connection, known: 0 });
        Ok(server)
    }

    /// Connections that are kept for the next statements, and queries that asyncio may run side by side.
    pub fn pool_size(&self) -> usize {
        self.pool_size
    }

    /// The zone of date-times whose type names none.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// A connection for a query with these settings, which knows what statements before it have set.
    pub fn connection(&self, settings: &[(String, String)], watch: Option<&Watch>) -> Result<Known> {
        let mut found = match self.idle(settings) {
            Some(found) => found,
            None => self.new_connection(watch)?,
        };
        found.connection.set_watch(watch.cloned());
        while let Some((number, request)) = self.unknown(&found, settings) {
            found.connection.send(&request)?;
            found.connection.receive_end()?;
            found.known = number;
        }
        Ok(found)
    }

    /// A connection that waits for a query with these settings.
    pub fn idle(&self, settings: &[(String, String)]) -> Option<Known> {
        loop {
            let mut waiting = self.waiting().pop()?;
            // What is closed, or said something unasked, is of no use.
            if waiting.connection.is_idle() && waiting.connection.fits(settings) {
                return Some(waiting);
            }
        }
    }

    /// A connection that knows nothing yet.
    pub fn new_connection(&self, watch: Option<&Watch>) -> Result<Known> {
        Ok(Known { connection: connect(&self.hosts, watch)?, known: 0 })
    }

    /// The next statement that a connection is to run before a query with these settings, and its number.
    pub fn unknown(&self, known: &Known, settings: &[(String, String)]) -> Option<(u64, Request)> {
        let kept = lock(&self.kept);
        let (number, statement) = kept.iter().find(|(number, _)| *number > known.known)?;
        Some((*number, Request { settings: settings.to_vec(), ..Request::new(statement.clone()) }))
    }

    /// The host of a connection has gone: another one is tried next, and what waits for it is of no use.
    pub fn avoid(&self, gone: &Connection) {
        self.hosts.avoid(gone.peer());
        let mut waiting = self.waiting();
        let (of_it, others) = std::mem::take(&mut *waiting)
            .into_iter()
            .partition(|known| known.connection.peer() == gone.peer());
        *waiting = others;
        drop(waiting);
        drop::<Vec<Known>>(of_it);
    }

    /// Takes a connection back.
    pub fn put_back(&self, mut known: Known) {
        known.connection.set_watch(None);
        let is_usable = known.connection.set_waits(true).is_ok() && known.connection.is_idle();
        let mut waiting = self.waiting();
        if is_usable && waiting.len() < self.pool_size {
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

    /// Does each request stand alone?
    pub fn is_http(&self) -> bool {
        self.hosts.all().iter().any(|host| host.transport == Transport::Http)
    }

    /// Lets later requests say so; none is what the server has by itself.
    pub fn remember(&self, name: &str, value: Option<String>) {
        let mut remembered = lock(&self.remembered);
        remembered.retain(|(known, _)| known != name);
        remembered.extend(value.map(|value| (name.to_owned(), value)));
    }

    /// What later requests are to say.
    pub fn remembered(&self) -> Vec<(String, String)> {
        lock(&self.remembered).clone()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Known>> {
        lock(&self.waiting)
    }
}

/// What a single host says is said as it is.
fn connect(hosts: &Hosts, watch: Option<&Watch>) -> Result<Connection> {
    match hosts.all() {
        [alone] => Connection::open(alone, watch.cloned()),
        _ => hosts.connect(watch),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

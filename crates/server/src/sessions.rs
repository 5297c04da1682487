//! Sessions that outlive a request, by user and id. One request at a time has a session.

use chalet_base::{Result, bail, ensure};
use chalet_engine::Session;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a session is kept without a request, and the longest that a request may ask for.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);
/// Sessions that are kept.
const MOST: usize = 4096;

/// By the name of the user and the id.
type Key = (String, String);

#[derive(Default)]
pub struct Sessions(Mutex<HashMap<Key, Kept>>);

struct Kept {
    session: Arc<Session>,
    timeout: Duration,
    /// None while a request has it.
    free_since: Option<Instant>,
}

/// A session that a request has.
pub struct Lease<'a> {
    sessions: &'a Sessions,
    key: Key,
    pub session: Arc<Session>,
    /// It is forgotten when the request is over.
    pub closes: bool,
}

/// How a request asks for its session.
pub struct Wanted<'a> {
    pub user: &'a str,
    pub id: &'a str,
    pub timeout: Duration,
    /// It has to be there.
    pub is_checked: bool,
}

impl Sessions {
    pub fn lease(&self, wanted: &Wanted<'_>, make: impl FnOnce() -> Result<Session>) -> Result<Lease<'_>> {
        let id = wanted.id;
        ensure!(
            wanted.timeout <= MAX_TIMEOUT,
            INVALID_SESSION_TIMEOUT,
            "Session timeout '{}' is larger than max_session_timeout: {}. Maximum session timeout could be modified in \
             configuration file.",
            wanted.timeout.as_secs(),
            MAX_TIMEOUT.as_secs()
        );
        let mut sessions = self.kept();
        sessions.retain(|_, kept| kept.free_since.is_none_or(|since| since.elapsed() < kept.timeout));
        let key = (wanted.user.to_owned(), id.to_owned());
        let session = match sessions.get_mut(&key) {
            Some(kept) => {
                ensure!(
                    kept.free_since.is_some(),
                    SESSION_IS_LOCKED,
                    "Session {id} is locked by a concurrent client"
                );
                kept.free_since = None;
                kept.timeout = wanted.timeout;
                kept.session.clone()
            }
            None if wanted.is_checked => bail!(SESSION_NOT_FOUND, "Session {id} not found"),
            None => {
                ensure!(
                    sessions.len() < MOST,
                    USER_SESSION_LIMIT_EXCEEDED,
                    "Too many sessions (maximum: {MOST})"
                );
                let session = Arc::new(make()?);
                let kept = Kept { session: session.clone(), timeout: wanted.timeout, free_since: None };
                sessions.insert(key.clone(), kept);
                session
            }
        };
        Ok(Lease { sessions: self, key, session, closes: false })
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut sessions = self.sessions.kept();
        if self.closes {
            sessions.remove(&self.key);
        } else if let Some(kept) = sessions.get_mut(&self.key) {
            kept.free_since = Some(Instant::now());
        }
    }
}

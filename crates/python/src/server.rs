//! A database served over ClickHouse's protocols, until it is stopped or the interpreter ends.

use crate::background::{self, Stop};
use crate::connection::Connection;
use crate::error::{InterfaceError, to_python};
use chalet_base::{Error, Result, ensure, err, forks};
use chalet_engine::FileAccess;
use chalet_server::{Config, Interval, Password, Quota, RESOURCES, ServerTls, User, Users};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;

/// Says when the server is to end.
#[derive(Default)]
struct End {
    is_asked: Mutex<bool>,
    asked: Condvar,
}

impl End {
    fn ask(&self) {
        *self.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.asked.notify_all();
    }

    fn wait(&self) {
        let asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.asked.wait_while(asked, |asked| !*asked));
    }
}

impl Stop for End {
    fn stop(&self) {
        self.ask();
    }
}

/// A database that is served.
#[pyclass(frozen, module = "chalet.server")]
pub struct Server {
    http: Option<SocketAddr>,
    tcp: Option<SocketAddr>,
    https: Option<SocketAddr>,
    tcp_secure: Option<SocketAddr>,
    end: Arc<End>,
    /// What ends the server; taken by who waits for it.
    keeper: Mutex<Option<JoinHandle<()>>>,
    /// Of forks: a child has no server.
    generation: u32,
}

/// Name, password, its SHA-256, `readonly`, folder of files, intervals of the quota: their seconds, and the most of what is counted.
type GivenUser = (String, Option<String>, Option<String>, u8, Option<PathBuf>, Vec<GivenInterval>);
type GivenInterval = (u64, Vec<(String, u64)>);

fn user(given: GivenUser) -> Result<User> {
    let (name, password, sha256, readonly, files, intervals) = given;
    let password = match (password, sha256) {
        (None, Some(digits)) => Password::of_sha256(&digits)?,
        (password, _) => Password::of_text(&password.unwrap_or_default()),
    };
    let quota = match intervals.is_empty() {
        true => None,
        false => {
            let intervals = intervals.into_iter().map(interval).collect::<Result<_>>()?;
            Some(Arc::new(Quota::new(&name, intervals)?))
        }
    };
    Ok(User { name, password, readonly, files: file_access(files)?, quota })
}

fn interval((seconds, limits): GivenInterval) -> Result<Interval> {
    let mut most = [None; RESOURCES.len()];
    for (name, limit) in limits {
        let at = RESOURCES.iter().position(|known| *known == name);
        let at = at.ok_or_else(|| {
            err!(BAD_ARGUMENTS, "A quota has no {name}; there are {}", RESOURCES.join(", "))
        })?;
        most[at] = Some(limit);
    }
    Ok(Interval { seconds, most })
}

/// The files of a folder; without one, none.
fn file_access(folder: Option<PathBuf>) -> Result<FileAccess> {
    let Some(folder) = folder else { return Ok(FileAccess::Nothing) };
    let found = std::fs::canonicalize(&folder);
    let found = found.map_err(|e| err!(CANNOT_OPEN_FILE, "Cannot open folder {}: {e}", folder.display()))?;
    ensure!(found.is_dir(), CANNOT_OPEN_FILE, "Cannot open folder {}: it is a file", folder.display());
    Ok(FileAccess::Within(Arc::<Path>::from(found)))
}

#[pymethods]
impl Server {
    /// Serves the database of a connection. A port of 0 takes any that is free, None serves nothing there.
    #[new]
    #[pyo3(signature = (connection, host, http, tcp, users, max_connections, https=None, tcp_secure=None, tls=None, origins=Vec::new()))]
    fn new(
        py: Python<'_>,
        connection: &Connection,
        host: &str,
        http: Option<u16>,
        tcp: Option<u16>,
        users: Vec<GivenUser>,
        max_connections: usize,
        https: Option<u16>,
        tcp_secure: Option<u16>,
        tls: Option<(PathBuf, PathBuf)>,
        origins: Vec<String>,
    ) -> PyResult<Server> {
        let used = connection.handle()?;
        let failed = |e: Error| to_python(py, &e);
        let host = match host {
            "localhost" => "127.0.0.1",
            other => other,
        };
        let host: IpAddr = host.parse().map_err(|_| {
            failed(err!(BAD_ARGUMENTS, "The host must be an IP address to listen on: {host}"))
        })?;
        let users = users.into_iter().map(user).collect::<Result<Vec<User>>>().map_err(failed)?;
        let tls = tls.map(|(certificate, key)| ServerTls::new(&certificate, &key));
        let config = Config {
            host,
            http,
            tcp,
            https,
            tcp_secure,
            tls: tls.transpose().map_err(failed)?,
            users: Users::new(users).map_err(failed)?,
            max_connections,
            origins,
        };
        let database = used.database();
        let server = background::away(py, || chalet_server::Server::start(database, config))?;
        let server = server.map_err(failed)?;
        let end = Arc::new(End::default());
        let made = Server {
            http: server.http(),
            tcp: server.tcp(),
            https: server.https(),
            tcp_secure: server.tcp_secure(),
            end: end.clone(),
            keeper: Mutex::new(None),
            generation: forks::generation(),
        };
        let stop: Weak<End> = Arc::downgrade(&end);
        let keeper = background::spawn("chalet-server", stop, move || {
            end.wait();
            server.stop();
            drop(server);
            // Statements of clients use the database as long as there are clients.
            drop(used);
        });
        let keeper = keeper
            .map_err(|e| failed(err!(CANNOT_SCHEDULE_TASK, "Cannot start the thread of a server: {e}")))?;
        *made.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some(keeper);
        Ok(made)
    }

    #[getter]
    fn http_port(&self) -> Option<u16> {
        self.http.map(|address| address.port())
    }

    #[getter]
    fn tcp_port(&self) -> Option<u16> {
        self.tcp.map(|address| address.port())
    }

    #[getter]
    fn https_port(&self) -> Option<u16> {
        self.https.map(|address| address.port())
    }

    #[getter]
    fn tcp_secure_port(&self) -> Option<u16> {
        self.tcp_secure.map(|address| address.port())
    }

    /// Lets nobody in any more, cancels what runs and waits for its end. May be called again.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if self.generation != forks::generation() {
            return Err(InterfaceError::new_err(
                "The server runs in the process that this one was forked from",
            ));
        }
        self.end.ask();
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper {
            // Functions of Python that statements call want the GIL.
            background::away(py, || drop(keeper.join()))?;
        }
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.stop(py)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.generation == forks::generation() {
            self.end.ask();
        }
    }
}

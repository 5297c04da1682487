//! Listening, and the end of it.

use crate::connections::Connections;
use crate::queries::Queries;
use crate::sessions::Sessions;
use crate::shared::Shared;
use crate::users::{Users, is_of_this_machine};
use crate::{http, native};
use chalet_base::{Result, bail, ensure, err};
use chalet_client::stream::HANDSHAKE_TIME;
use chalet_client::{ServerTls, Stream};
use chalet_engine::{Database, RunOptions};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub struct Config {
    pub host: IpAddr,
    /// The port of HTTP; 0 takes any that is free, None serves none.
    pub http: Option<u16>,
    /// The same of the native protocol.
    pub tcp: Option<u16>,
    /// The same of both with TLS, which need `tls`.
    pub https: Option<u16>,
    pub tcp_secure: Option<u16>,
    /// What the server proves itself with.
    pub tls: Option<ServerTls>,
    pub users: Users,
    pub max_connections: usize,
    /// Web sites whose pages may ask from a browser, as `https://example.org`; `*` is any.
    pub origins: Vec<String>,
}

/// A database that is served, until this is stopped or dropped.
pub struct Server {
    shared: Arc<Shared>,
    http: Option<SocketAddr>,
    tcp: Option<SocketAddr>,
    https: Option<SocketAddr>,
    tcp_secure: Option<SocketAddr>,
    listeners: Mutex<Vec<JoinHandle<()>>>,
}

/// How long statements have to end after they are cancelled, before their sockets are taken from them, and after that.
const PATIENCE: Duration = Duration::from_secs(3);

impl Server {
    /// Listens; clients can connect when this returns.
    pub fn start(database: Database, config: Config) -> Result<Server> {
        let is_local = is_of_this_machine(config.host);
        ensure!(
            is_local || !config.users.has_open_door(),
            REQUIRED_PASSWORD,
            "A server that other machines reach needs users, each with a password: {} is no loopback address",
            config.host
        );
        let Config { host, http, tcp, https, tcp_secure, tls, users, max_connections, origins } = config;
        let secure = https.or(tcp_secure);
        ensure!(http.or(tcp).or(secure).is_some(), NO_ELEMENTS_IN_CONFIG, "A server without a port");
        ensure!(
            tls.is_some() || secure.is_none(),
            NO_ELEMENTS_IN_CONFIG,
            "A port with TLS needs a certificate and its key"
        );
        let names = database.session().run(
            "SELECT displayName(), timezone(), version()",
            RunOptions { format: Some("TSVRaw".into()), ..RunOptions::default() },
        )?;
        let names = String::from_utf8_lossy(&names.bytes).into_owned();
        let mut names = names.trim_end().split('\t');
        let mut next = || names.next().unwrap_or_default().to_owned();
        let (display_name, time_zone) = (next(), next());
        let version: Vec<u64> = next().split('.').map_while(|part| part.parse().ok()).collect();
        let part = |i: usize| version.get(i).copied().unwrap_or(0);
        let shared = Arc::new(Shared {
            database,
            users,
            sessions: Sessions::default(),
            queries: Queries::default(),
            connections: Connections::new(max_connections),
            version: (part(0), part(1), part(2)),
            display_name,
            time_zone,
            is_local,
            origins,
        });
        let mut server = Server {
            shared,
            http: None,
            tcp: None,
            https: None,
            tcp_secure: None,
            listeners: Mutex::default(),
        };
        let protocol = |name, serve, tls: &Option<ServerTls>| Protocol { name, serve, tls: tls.clone() };
        // One after the other: where a port cannot be had, those before it are given back.
        if let Some(port) = http {
            server.http = Some(server.listen(host, port, protocol("chalet-http", http::serve, &None))?);
        }
        if let Some(port) = tcp {
            server.tcp = Some(server.listen(host, port, protocol("chalet-tcp", native::serve, &None))?);
        }
        if let Some(port) = https {
            server.https = Some(server.listen(host, port, protocol("chalet-https", http::serve, &tls))?);
        }
        if let Some(port) = tcp_secure {
            let protocol = protocol("chalet-tls", native::serve, &tls);
            server.tcp_secure = Some(server.listen(host, port, protocol)?);
        }
        Ok(server)
    }

    /// Where HTTP is served.
    pub fn http(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Where the native protocol is served.
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.tcp
    }

    /// Where HTTP is served with TLS.
    pub fn https(&self) -> Option<SocketAddr> {
        self.https
    }

    /// Where the native protocol is served with TLS.
    pub fn tcp_secure(&self) -> Option<SocketAddr> {
        self.tcp_secure
    }

    fn listen(&self, host: IpAddr, port: u16, protocol: Protocol) -> Result<SocketAddr> {
        let address = SocketAddr::new(host, port);
        let listener = TcpListener::bind(address);
        let listener = listener.map_err(|e| err!(NETWORK_ERROR, "Listen [{host}]:{port} failed: {e}"))?;
        let address = listener.local_addr();
        let address = address.map_err(|e| err!(NETWORK_ERROR, "Listen [{host}]:{port} failed: {e}"))?;
        let shared = self.shared.clone();
        let thread = std::thread::Builder::new().name(protocol.name.into());
        let spawned = thread.spawn(move || accept(&listener, &shared, &protocol));
        match spawned {
            Ok(thread) => self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(thread),
            Err(e) => bail!(CANNOT_SCHEDULE_TASK, "Cannot start the thread of a listener: {e}"),
        }
        Ok(address)
    }

    /// Lets nobody in any more, cancels what runs, and waits for its end. May be called again, by any thread.
    pub fn stop(&self) {
        let listeners = std::mem::take(&mut *self.listeners.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.connections.begin_end();
        // A listener looks up when somebody comes.
        for address in [self.http, self.tcp, self.https, self.tcp_secure].into_iter().flatten() {
            if !listeners.is_empty() {
                drop(TcpStream::connect_timeout(&reachable(address), Duration::from_secs(1)));
            }
        }
        listeners.into_iter().for_each(|listener| drop(listener.join()));
        self.shared.queries.cancel_all();
        self.shared.connections.end(PATIENCE);
        self.shared.connections.wait(PATIENCE);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An address that listens on all of a machine's, as one of them.
fn reachable(address: SocketAddr) -> SocketAddr {
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(host, address.port())
}

/// What is spoken on a port.
#[derive(Clone)]
struct Protocol {
    /// Of the thread that listens.
    name: &'static str,
    serve: fn(Stream, &Arc<Shared>),
    tls: Option<ServerTls>,
}

impl Protocol {
    fn serve(&self, tcp: TcpStream, shared: &Arc<Shared>) {
        let stream = match &self.tls {
            Some(tls) => Stream::to_client(tcp, tls, Instant::now() + HANDSHAKE_TIME),
            None => Ok(Stream::plain(tcp)),
        };
        // Who does not shake hands was told so, or has gone.
        if let Ok(stream) = stream {
            (self.serve)(stream, shared);
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, protocol: &Protocol) {
    loop {
        let accepted = listener.accept();
        if shared.connections.is_ending() {
            return;
        }
        let Ok((socket, _)) = accepted else {
            // Too many files are open, most likely: some will be closed.
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        let (shared, protocol) = (shared.clone(), protocol.clone());
        let thread = std::thread::Builder::new().name("chalet-client".into());
        // Where there is no thread for it, the socket is closed.
        drop(thread.spawn(move || {
            let _ = socket.set_nodelay(true);
            if let Ok(Some(_entered)) = shared.connections.enter(&socket) {
                protocol.serve(socket, &shared);
            }
        }));
    }
}

//! Clients that ask for more than they read: they wait for themselves alone. Those who come then find workers, however many of them there are.

use crate::http_client::Client;
use chalet_client::{Connection, Options, Request};
use chalet_engine::{Database, FileAccess, RunOptions};
use chalet_server::{Config, Server, User, Users};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

const UNREAD: &str = "SELECT number FROM numbers(1000000000000) SETTINGS max_threads = 2";
/// Of it a worker takes a part, where there is one.
const SHARED: &str =
    "EXPLAIN ANALYZE SELECT sum(sipHash64(number)) FROM numbers(1000000) SETTINGS max_threads = 2";
/// After so long nobody comes.
const LONG: Duration = Duration::from_secs(60);

fn served(database: &Database) -> Server {
    let config = Config {
        host: Ipv4Addr::LOCALHOST.into(),
        http: Some(0),
        tcp: Some(0),
        https: None,
        tcp_secure: None,
        tls: None,
        users: Users::new(vec![User::default_user(FileAccess::Nothing)]).unwrap(),
        max_connections: 1000,
        origins: Vec::new(),
    };
    Server::start(database.clone(), config).unwrap()
}

/// More clients than the process has workers, of which each has one that cannot go on.
fn n_clients() -> usize {
    chalet_base::cores().max(2) * 4 + 2
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Others are served as if nobody else were there.
fn others_are_served(server: &Server, database: &Database, n_unread: usize) {
    let running = format!("ClickHouseMetrics_Query {n_unread}\n");
    let mut other = Client::of(server);
    until("they do not run", || other.get("/metrics").text().contains(&running));
    // Until there is no room for any of them.
    std::thread::sleep(Duration::from_secs(1));
    until("an answer takes a second each time", || {
        let since = Instant::now();
        assert_eq!(Client::of(server).post("/", "SELECT 1").text(), "1\n");
        since.elapsed() < Duration::from_secs(1)
    });
    until("no worker is left", || {
        let options = RunOptions { format: Some("TSV".into()), ..RunOptions::default() };
        let explained = database.session().run(SHARED, options).unwrap().bytes;
        String::from_utf8_lossy(&explained).contains("workers: 2")
    });
    assert!(other.get("/metrics").text().contains(&running), "they have stopped waiting");
}

#[test]
fn over_the_native_protocol() {
    let database = Database::default();
    let server = served(&database);
    let address = server.tcp().unwrap();
    let options = Options { host: address.ip().to_string(), port: address.port(), ..Options::default() };
    let unread: Vec<Connection> = (0..n_clients())
        .map(|_| {
            let mut connection = Connection::open(&options, None).unwrap();
            connection.send(&Request::new(UNREAD)).unwrap();
            connection
        })
        .collect();
    others_are_served(&server, &database, unread.len());
    drop(unread);
    until("they go on", || {
        Client::of(&server).get("/metrics").text().contains("ClickHouseMetrics_Query 0\n")
    });
}

#[test]
fn over_http() {
    let database = Database::default();
    let server = served(&database);
    let unread: Vec<Client> = (0..n_clients())
        .map(|_| {
            let mut client = Client::of(&server);
            let head =
                format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", UNREAD.len());
            client.send(format!("{head}{UNREAD}").as_bytes());
            client
        })
        .collect();
    others_are_served(&server, &database, unread.len());
    drop(unread);
    until("they go on", || {
        Client::of(&server).get("/metrics").text().contains("ClickHouseMetrics_Query 0\n")
    });
}

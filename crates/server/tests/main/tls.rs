//! Both protocols with TLS: certificates that are made for each test, clients that trust them and clients that do not.

use crate::run;
use chalet_client::{Connection, Options, Packet, Request, ServerTls, Tls, TlsOptions};
use chalet_engine::{Database, FileAccess};
use chalet_server::{Config, Server, User, Users};
use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

struct Served {
    server: Server,
    folder: tempfile::TempDir,
}

fn served(database: &Database) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    std::fs::write(folder.path().join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let tls = ServerTls::new(&folder.path().join("cert.pem"), &folder.path().join("key.pem")).unwrap();
    let config = Config {
        host: Ipv4Addr::LOCALHOST.into(),
        http: None,
        tcp: None,
        https: Some(0),
        tcp_secure: Some(0),
        tls: Some(tls),
        users: Users::new(vec![User::default_user(FileAccess::Nothing)]).unwrap(),
        max_connections: 64,
        origins: Vec::new(),
    };
    Served { server: Server::start(database.clone(), config).unwrap(), folder }
}

impl Served {
    fn certificate(&self) -> Option<PathBuf> {
        Some(self.folder.path().join("cert.pem"))
    }

    fn options(&self, tls: TlsOptions) -> Options {
        Options {
            host: "localhost".into(),
            port: self.server.tcp_secure().unwrap().port(),
            tls: Some(Tls::new(&tls).unwrap()),
            connect_timeout: Duration::from_secs(120),
            ..Options::default()
        }
    }
}

fn rows(connection: &mut Connection, sql: &str) -> usize {
    connection.send(&Request::new(sql)).unwrap();
    let mut n = 0;
    loop {
        match connection.receive().unwrap() {
            Packet::Data(rows) => n += rows.block.n_rows(),
            Packet::EndOfStream => return n,
            _ => {}
        }
    }
}

#[test]
fn who_is_trusted() {
    let served = served(&Database::default());
    let open = |tls| Connection::open(&served.options(tls), None);
    let trusting = TlsOptions { ca: served.certificate(), ..TlsOptions::default() };
    assert_eq!(rows(&mut open(trusting.clone()).unwrap(), "SELECT 1"), 1);
    let careless = TlsOptions { verifies: false, ..TlsOptions::default() };
    assert_eq!(rows(&mut open(careless).unwrap(), "SELECT 1"), 1);
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let path = served.folder.path().join("other.pem");
    std::fs::write(&path, other.cert.pem()).unwrap();
    let error = open(TlsOptions { ca: Some(path), ..TlsOptions::default() }).err().unwrap();
    assert_eq!(error.code().number, 454, "{error}");
    assert!(error.message().contains("certificate verify failed"), "{error}");
    let error =
        open(TlsOptions { name: Some("elsewhere.example".into()), ..trusting.clone() }).err().unwrap();
    assert!(error.message().contains("certificate verify failed"), "{error}");
    let named = TlsOptions { name: Some("localhost".into()), ..trusting };
    let options = Options { host: "127.0.0.1".into(), ..served.options(named) };
    assert_eq!(rows(&mut Connection::open(&options, None).unwrap(), "SELECT 1"), 1);
}

#[test]
fn large_results_and_inserts() {
    let database = Database::default();
    run(&database, "CREATE TABLE t (n UInt64, s String) ENGINE = Memory");
    let served = served(&database);
    let tls = TlsOptions { ca: served.certificate(), ..TlsOptions::default() };
    let mut connection = Connection::open(&served.options(tls), None).unwrap();
    let sql = "SELECT number, repeat('x', number % 50), sipHash64(number) FROM numbers(300000)";
    assert_eq!(rows(&mut connection, sql), 300_000);
    // What follows the handshake is no answer to anything.
    assert!(connection.is_idle());
    connection.ping().unwrap();
    assert!(connection.is_idle());
    let schema = connection.begin_insert(&Request::new("INSERT INTO t VALUES")).unwrap();
    let column =
        |n: u64| chalet_columns::Column::Flat(chalet_columns::Vector::from((0..n).collect::<Vec<u64>>()));
    let texts = chalet_columns::Vector::defaults(&schema[1].1, 100_000);
    let block =
        chalet_columns::Block::new(vec![column(100_000), chalet_columns::Column::Flat(texts)], 100_000);
    for _ in 0..3 {
        connection.send_rows(&chalet_client::Rows { schema: schema.clone(), block: block.clone() }).unwrap();
    }
    connection.finish_insert().unwrap();
    assert_eq!(run(&database, "SELECT count(), sum(n) FROM t"), "300000\t14999850000\n");
}

#[test]
fn without_waiting() {
    let served = served(&Database::default());
    let tls = TlsOptions { ca: served.certificate(), ..TlsOptions::default() };
    let mut connection = Connection::open(&served.options(tls), None).unwrap();
    connection.set_waits(false).unwrap();
    let sql = "SELECT number, toString(number) FROM numbers(500000)";
    connection.send_prepared(&Request::new(sql)).unwrap();
    let mut n = 0;
    loop {
        if !connection.push().unwrap() {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        match connection.try_receive().unwrap() {
            Some(Packet::Data(rows)) => n += rows.block.n_rows(),
            Some(Packet::EndOfStream) => break,
            Some(_) => {}
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    assert_eq!(n, 500_000);
}

#[test]
fn a_query_ends_with_its_client() {
    let database = Database::default();
    let served = served(&database);
    let tls = TlsOptions { ca: served.certificate(), ..TlsOptions::default() };
    let mut connection = Connection::open(&served.options(tls), None).unwrap();
    connection.send(&Request::new("SELECT sum(number) FROM numbers(1000000000000)")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(connection);
    let began = std::time::Instant::now();
    served.server.stop();
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn one_end_without_encryption() {
    let served = served(&Database::default());
    let port = served.server.tcp_secure().unwrap().port();
    let plain = Options { host: "127.0.0.1".into(), port, ..Options::default() };
    assert!(Connection::open(&plain, None).is_err());
    let other = crate::served();
    let tls = TlsOptions { verifies: false, ..TlsOptions::default() };
    let options = Options { port: other.tcp().unwrap().port(), ..served.options(tls) };
    let error = Connection::open(&options, None).err().unwrap();
    assert!(matches!(error.code().number, 210 | 454), "{error}");
    // A client that says nothing holds up nobody.
    let silent = TcpStream::connect(served.server.https().unwrap()).unwrap();
    drop(silent.try_clone().unwrap().take(1));
    let tls = TlsOptions { ca: served.certificate(), ..TlsOptions::default() };
    assert_eq!(rows(&mut Connection::open(&served.options(tls), None).unwrap(), "SELECT 1"), 1);
}

//! Over sockets: a server that says nothing, refuses, goes away, or has to be told to stop.

use crate::made::{insert_and_failure, rows, select};
use chalet_base::err;
use chalet_client::{Connection, Method, Options, Packet, Request, revision};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A server that treats its only client like this.
fn serve(run: impl FnOnce(TcpStream) + Send + 'static) -> (Options, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || run(listener.accept().unwrap().0));
    (Options { host: "127.0.0.1".into(), port, receive_timeout: PATIENCE, ..Options::default() }, server)
}

/// How long who is not said to be silent may take on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(60);
/// And who is.
const SHORT: Duration = Duration::from_millis(300);

fn drain(mut client: TcpStream) {
    let mut bytes = Vec::new();
    let _ = client.read_to_end(&mut bytes);
}

#[test]
fn a_query_over_a_socket() {
    let (options, server) = serve(|mut client| {
        client.write_all(&select(revision::NEWEST, Some(Method::Lz4))).unwrap();
        drain(client);
    });
    let mut connection = Connection::open(&options, None).unwrap();
    connection.send(&Request::new("SELECT 1")).unwrap();
    let mut n = 0;
    loop {
        match connection.receive().unwrap() {
            Packet::Data(found) => n += found.block.n_rows(),
            Packet::EndOfStream => break,
            _ => {}
        }
    }
    assert_eq!(n, rows(10).block.n_rows());
    assert!(connection.is_idle());
    drop(connection);
    server.join().unwrap();
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let (options, server) = serve(drain);
    let options = Options { receive_timeout: SHORT, ..options };
    let started = Instant::now();
    let error = Connection::open(&options, None).map(drop).unwrap_err();
    assert_eq!(error.code().number, 209, "{error}");
    assert!(error.message().contains(&options.peer()));
    assert!(started.elapsed() < PATIENCE);
    server.join().unwrap();
}

#[test]
fn nobody_listens() {
    // One that no test takes.
    let port = 1;
    let options = Options { host: "127.0.0.1".into(), port, ..Options::default() };
    let error = Connection::open(&options, None).map(drop).unwrap_err();
    assert_eq!(
        (error.code().number, error.message()),
        (210, &*format!("Connection refused (127.0.0.1:{port})"))
    );
    let options = Options { host: "nowhere.invalid".into(), ..Options::default() };
    let error = Connection::open(&options, None).map(drop).unwrap_err();
    assert_eq!(error.code().number, 198, "{error}");
}

#[test]
fn a_server_that_goes_away_is_an_error() {
    let (options, server) = serve(|mut client| {
        let bytes = select(revision::OLDEST, Some(Method::Lz4));
        client.write_all(&bytes[..bytes.len() / 2]).unwrap();
        // Not read: the client's next write, or read, fails.
    });
    let mut connection = Connection::open(&options, None).unwrap();
    server.join().unwrap();
    let error =
        connection.send(&Request::new("SELECT 1")).and_then(|()| connection.receive_end()).unwrap_err();
    assert!([32, 33, 210].contains(&error.code().number), "{error}");
    assert!(connection.send(&Request::new("SELECT 1")).is_err());
}

#[test]
fn a_server_that_takes_no_rows_is_given_up() {
    let (done, until) = std::sync::mpsc::channel::<()>();
    let (options, server) = serve(move |mut client| {
        client.write_all(&insert_and_failure(revision::OLDEST, None)[..300]).unwrap();
        // It reads nothing.
        let _ = until.recv();
    });
    let options = Options { send_timeout: SHORT, receive_timeout: SHORT, compression: None, ..options };
    let mut connection = Connection::open(&options, None).unwrap();
    let started = Instant::now();
    let sent = connection.send(&Request::new("x".repeat(64 << 20)));
    let error = sent.unwrap_err();
    assert_eq!(error.code().number, 209, "{error}");
    drop(connection);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    drop(done);
    server.join().unwrap();
}

#[test]
fn a_query_is_stopped_while_the_server_thinks() {
    let (options, server) = serve(|mut client| {
        let bytes = select(revision::OLDEST, None);
        client.write_all(&bytes[..40]).unwrap();
        // Until the client hangs up.
        drain(client);
    });
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = stopped.clone();
    let watch = Arc::new(move || match asked.load(Relaxed) {
        true => Err(err!(QUERY_WAS_CANCELLED, "Query was cancelled")),
        false => Ok(()),
    });
    let options = Options { receive_timeout: 10 * PATIENCE, ..options };
    let mut connection = Connection::open(&options, Some(watch)).unwrap();
    connection.send(&Request::new("SELECT sleep(3)")).unwrap();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stopped.store(true, Relaxed);
    });
    let started = Instant::now();
    let error = connection.receive_end().unwrap_err();
    assert_eq!(error.code().name, "QUERY_WAS_CANCELLED");
    assert!(started.elapsed() < PATIENCE);
    stopper.join().unwrap();
    connection.cancel();
    server.join().unwrap();
}

//! The native protocol, from our own client's end, in all of its revisions.

use crate::{run, served, served_to};
use chalet_client::packet::Rows;
use chalet_client::{Connection, Method, Options, Packet, Request, revision};
use chalet_columns::{Block, Column, Vector};
use chalet_engine::{Database, FileAccess};
use chalet_server::{Password, Server, User};
use chalet_types::DataType;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

fn options(server: &Server) -> Options {
    let address = server.tcp().unwrap();
    Options { host: address.ip().to_string(), port: address.port(), ..Options::default() }
}

fn connect(server: &Server) -> Connection {
    Connection::open(&options(server), None).unwrap()
}

/// Rows of a query, and how many packets of each kind there were.
fn asked(connection: &mut Connection, request: &Request) -> chalet_base::Result<(usize, Vec<&'static str>)> {
    connection.send(request)?;
    let (mut n_rows, mut names) = (0, Vec::new());
    loop {
        let packet = connection.receive()?;
        if !matches!(packet, Packet::Progress(_)) {
            names.push(packet.name());
        }
        match packet {
            Packet::Data(rows) => n_rows += rows.block.n_rows(),
            Packet::EndOfStream => return Ok((n_rows, names)),
            _ => {}
        }
    }
}

fn numbers(n: u64) -> Rows {
    let column = |from| Column::Flat(Vector::from((from..from + n).collect::<Vec<u64>>()));
    let schema = vec![("b".to_owned(), DataType::UInt64), ("a".to_owned(), DataType::UInt64)];
    Rows { schema, block: Block::new(vec![column(100), column(0)], n as usize) }
}

#[test]
fn every_revision_and_compression() {
    let database = Database::default();
    run(&database, "CREATE TABLE t (a UInt64, b UInt32, c String DEFAULT 'x') ENGINE = Memory");
    let server = served_to(&database, vec![User::default_user(FileAccess::Nothing)]);
    let revisions = [
        revision::OLDEST,
        revision::WRITTEN_ROWS,
        revision::SETTINGS_AS_TEXT,
        revision::SERIALIZATION_KINDS,
        revision::ADDENDUM,
        revision::PASSWORD_RULES,
        revision::CHUNKS,
        revision::SERVER_SETTINGS,
        revision::NEWEST,
    ];
    let mut expected = 0;
    for revision in revisions {
        for compression in [None, Some(Method::Lz4), Some(Method::Zstd)] {
            let options = Options { revision, compression, ..options(&server) };
            let mut connection = Connection::open(&options, None).unwrap();
            assert!(connection.server().version.0 > 20 && !connection.server().time_zone.is_empty());
            connection.ping().unwrap();
            let sql = "SELECT number, toString(number) FROM numbers(100000)";
            assert_eq!(asked(&mut connection, &Request::new(sql)).unwrap().0, 100_000, "{revision}");
            let insert = Request::new("INSERT INTO t (a, b) VALUES");
            let wanted = connection.begin_insert(&insert).unwrap();
            assert_eq!(
                wanted.iter().map(|(name, ty)| format!("{name} {ty}")).collect::<Vec<_>>(),
                ["a UInt64", "b UInt32"]
            );
            connection.send_rows(&numbers(5)).unwrap();
            connection.send_rows(&numbers(5)).unwrap();
            connection.finish_insert().unwrap();
            expected += 10;
            assert!(connection.is_idle());
        }
    }
    assert_eq!(
        run(&database, "SELECT count(), min(b), max(a), any(c) FROM t"),
        format!("{expected}\t100\t4\tx\n")
    );
}

#[test]
fn settings_parameters_and_the_session() {
    let server = served();
    let mut connection = connect(&server);
    let mut request = Request::new(
        "SELECT 1 FROM numbers(1) WHERE getSetting('max_block_size') = 7 AND {s:String} = 'it\\'s'",
    );
    request.settings = vec![("max_block_size".into(), "7".into())];
    request.parameters = vec![("s".into(), "it's".into())];
    assert_eq!(asked(&mut connection, &request).unwrap().0, 1);
    request.settings = vec![("no_such_setting".into(), "7".into())];
    assert_eq!(asked(&mut connection, &request).unwrap_err().code().number, 115);
    for sql in
        ["SET max_block_size = 9", "CREATE TEMPORARY TABLE t AS SELECT 1 AS x", "CREATE DATABASE d", "USE d"]
    {
        assert_eq!(asked(&mut connection, &Request::new(sql)).unwrap().1, ["EndOfStream"]);
    }
    let sql = "SELECT x FROM t WHERE getSetting('max_block_size') = 9 AND currentDatabase() = 'd'";
    assert_eq!(asked(&mut connection, &Request::new(sql)).unwrap().0, 1);
    let mut other = Connection::open(&Options { database: "d".into(), ..options(&server) }, None).unwrap();
    assert_eq!(asked(&mut other, &Request::new(sql)).unwrap_err().code().number, 60);
    assert_eq!(
        asked(&mut other, &Request::new("SELECT currentDatabase() WHERE currentDatabase() = 'd'")).unwrap().0,
        1
    );
    let error = Connection::open(&Options { database: "nowhere".into(), ..options(&server) }, None).map(drop);
    assert_eq!(error.unwrap_err().code().number, 81);
}

#[test]
fn totals_extremes_and_errors() {
    let server = served();
    let mut connection = connect(&server);
    let mut request = Request::new("SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS");
    request.settings = vec![("extremes".into(), "1".into())];
    let (_, names) = asked(&mut connection, &request).unwrap();
    assert_eq!(names[names.len() - 4..], ["Totals", "Extremes", "ProfileInfo", "EndOfStream"]);
    for (sql, code) in [
        ("SELEC 1", 62),
        ("SELECT x", 47),
        ("SELECT throwIf(number = 300000) FROM numbers(400000)", 395),
        ("INSERT INTO nowhere VALUES", 60),
        ("INSERT INTO nowhere VALUES (1)", 60),
        ("SELECT 1; SELECT 2", 62),
        ("SELECT * FROM file('/etc/passwd', 'LineAsString')", 497),
        ("SELECT 1 INTO OUTFILE '/tmp/never'", 358),
    ] {
        assert_eq!(asked(&mut connection, &Request::new(sql)).unwrap_err().code().number, code, "{sql}");
        // The same connection.
        connection.ping().unwrap();
    }
}

#[test]
fn inserts_that_fail_leave_the_connection() {
    let database = Database::default();
    run(&database, "CREATE TABLE t (a UInt64, b Date) ENGINE = Memory");
    let server = served_to(&database, vec![User::default_user(FileAccess::Nothing)]);
    let mut connection = connect(&server);
    connection.begin_insert(&Request::new("INSERT INTO t (a) VALUES")).unwrap();
    connection.send_rows(&numbers(5)).unwrap();
    // The server says so at once, or at the end.
    let failed = connection.finish_insert().and_then(|()| connection.receive_end());
    assert_eq!(failed.unwrap_err().code().number, 20);
    connection.begin_insert(&Request::new("INSERT INTO t (a) VALUES")).unwrap();
    connection.finish_insert().unwrap();
    assert_eq!(
        asked(&mut connection, &Request::new("INSERT INTO t VALUES (1, '2024-01-02')")).unwrap().1,
        ["EndOfStream"]
    );
    assert_eq!(run(&database, "SELECT * FROM t"), "1\t2024-01-02\n");
}

#[test]
fn passwords() {
    let user = |name: &str, password: &str| User {
        name: name.into(),
        password: Password::of_text(password),
        readonly: 1,
        files: FileAccess::Nothing,
        quota: None,
    };
    let server = served_to(&Database::default(), vec![user("default", ""), user("a", "secret")]);
    let as_user = |user: &str, password: &str| {
        Connection::open(&Options { user: user.into(), password: password.into(), ..options(&server) }, None)
    };
    assert_eq!(as_user("a", "wrong").map(drop).unwrap_err().code().number, 516);
    assert_eq!(as_user("b", "").map(drop).unwrap_err().code().number, 516);
    let mut reader = as_user("a", "secret").unwrap();
    let create = Request::new("CREATE TABLE t (x UInt8) ENGINE = Memory");
    assert_eq!(asked(&mut reader, &create).unwrap_err().code().number, 164);
    let mut request = Request::new("SELECT 1");
    request.settings = vec![("max_block_size".into(), "7".into())];
    assert_eq!(asked(&mut reader, &request).unwrap_err().code().number, 164);
}

const ENDLESS: &str = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
/// Sends rows for as long as somebody reads them.
const UNREAD: &str = "SELECT number FROM numbers(1000000000000)";

/// After so long somebody waits for what does not happen: a client that reads nothing is given up after 300 s, and what is endless takes hours.
const LONG: Duration = Duration::from_secs(60);

/// Waits until so many statements run.
fn wait_for(server: &Server, n: usize) {
    let since = Instant::now();
    let line = format!("ClickHouseMetrics_Query {n}\n");
    while !crate::http_client::Client::of(server).get("/metrics").text().contains(&line) {
        assert!(since.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_client_that_cancels_or_hangs_up_stops_its_query() {
    let server = served();
    for sql in [ENDLESS, UNREAD] {
        let mut connection = connect(&server);
        connection.send(&Request::new(sql)).unwrap();
        wait_for(&server, 1);
        connection.cancel();
        wait_for(&server, 0);
    }
}

#[test]
fn a_client_that_hangs_up_and_keeps_its_socket_stops_its_query() {
    let server = served();
    let mut connection = connect(&server);
    connection.send(&Request::new(UNREAD)).unwrap();
    wait_for(&server, 1);
    // Until the server waits for room that nobody makes.
    std::thread::sleep(Duration::from_millis(300));
    connection.cancel();
    wait_for(&server, 0);
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_its_query_from_being_killed() {
    let server = served();
    let mut connection = connect(&server);
    connection.send(&Request { id: "unread".into(), ..Request::new(UNREAD) }).unwrap();
    wait_for(&server, 1);
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    let mut other = connect(&server);
    asked(&mut other, &Request::new("KILL QUERY WHERE query_id = 'unread' SYNC")).unwrap();
    assert!(since.elapsed() < LONG, "{:?}", since.elapsed());
    wait_for(&server, 0);
}

#[test]
fn a_client_that_reads_nothing_does_not_keep_the_server_from_its_end() {
    let server = served();
    let mut connection = connect(&server);
    connection.send(&Request::new(UNREAD)).unwrap();
    wait_for(&server, 1);
    std::thread::sleep(Duration::from_millis(300));
    let since = Instant::now();
    server.stop();
    assert!(since.elapsed() < LONG, "{:?}", since.elapsed());
}

#[test]
fn the_end_of_the_server_stops_queries() {
    let server = served();
    let mut idle = connect(&server);
    let mut busy = connect(&server);
    busy.send(&Request::new(ENDLESS)).unwrap();
    wait_for(&server, 1);
    let since = Instant::now();
    server.stop();
    assert!(since.elapsed() < LONG, "{:?}", since.elapsed());
    assert_eq!(busy.receive_end().unwrap_err().code().number, 394);
    assert!(idle.ping().is_err());
}

#[test]
fn damaged_conversations() {
    let server = served();
    let address = server.tcp().unwrap();
    for bytes in [
        &b"\x00"[..],
        b"\x07\x00\x00",
        b"\x00\xff\xff\xff\xff\xff\xff\x7f",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x01a\x01\x01\x01\x00\x00\x00",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let mut socket = TcpStream::connect(address).unwrap();
        socket.write_all(bytes).unwrap();
        socket.shutdown(Shutdown::Write).unwrap();
        let mut rest = Vec::new();
        // It ends, with or without a word.
        let _ = socket.read_to_end(&mut rest);
    }
    connect(&server).ping().unwrap();
}

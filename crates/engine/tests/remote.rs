//! `remote`, against real servers of 18.16 that this test starts: rows both ways, what is sent, failures, an interrupt. Where the
//! servers cannot be installed the test says so and passes, unless CHALET_NEED_CLICKHOUSE is set.

use chalet_engine::{Answer, Database, RunOptions, Session};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

struct Server {
    process: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    fn start(name: &str) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = std::env::temp_dir().join(format!("chalet-{name}-{}", std::process::id()));
        let mut command = Command::new("../../tools/clickhouse-server");
        let process = command.arg("run").arg(&folder).arg(port.to_string()).spawn().unwrap();
        let server = Server { process, port, folder };
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "the server does not start: {:?}",
                server.folder
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    fn table(&self, name: &str) -> String {
        format!("remote('127.0.0.1:{}', default.{name})", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_installed() -> bool {
    let installed = Command::new("../../tools/clickhouse-server").arg("install").status();
    let installed = installed.is_ok_and(|status| status.success());
    assert!(
        installed || std::env::var_os("CHALET_NEED_CLICKHOUSE").is_none(),
        "no server could be installed"
    );
    if !installed {
        eprintln!("NOT TESTED: `remote` against a real server, because none could be installed");
    }
    installed
}

fn run(session: &Session, sql: &str) -> chalet_base::Result<Answer> {
    session.run(sql, RunOptions { format: Some("TSV".into()), ..RunOptions::default() })
}

fn text(session: &Session, sql: &str) -> String {
    let answer = run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    String::from_utf8(answer.bytes).unwrap().trim_end().to_string()
}

fn code(session: &Session, sql: &str) -> (i32, String) {
    match run(session, sql) {
        Ok(_) => panic!("{sql} does not fail"),
        Err(error) => (error.code().number, error.to_string()),
    }
}

#[test]
fn remote_tables() {
    if !is_installed() {
        return;
    }
    let (first, second) = (Server::start("first"), Server::start("second"));
    let session = Database::open(":memory:").unwrap().session();
    rows_both_ways(&session, &first);
    every_type(&session, &first);
    what_is_sent(&session, &first);
    shards_and_replicas(&session, &first, &second);
    failures(&session, &first);
    interrupts(&session, &first);
    the_end_of_a_server(&session, second);
}

/// Makes a table there, through a table function of the server's own.
fn create(server: &Server, sql: &str) {
    let options =
        chalet_client::Options { host: "127.0.0.1".into(), port: server.port, ..Default::default() };
    let mut connection = chalet_client::Connection::open(&options, None).unwrap();
    connection.send(&chalet_client::Request::new(sql)).unwrap();
    connection.receive_end().unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn rows_both_ways(session: &Session, server: &Server) {
    create(
        server,
        "CREATE TABLE t (n UInt64, s String, d DEFAULT n * 2, m UInt64 MATERIALIZED n + 1) ENGINE = MergeTree ORDER BY n",
    );
    let t = server.table("t");
    assert_eq!(text(session, &format!("DESC {t}")).lines().count(), 3);
    run(
        session,
        &format!("INSERT INTO FUNCTION {t} (n, s) SELECT number, toString(number) FROM numbers(100000)"),
    )
    .unwrap();
    assert_eq!(
        text(session, &format!("SELECT count(), sum(n), sum(d), max(s), max(m) FROM {t}")),
        "100000\t4999950000\t9999900000\t99999\t100000"
    );
    let counted = run(session, &format!("SELECT count() FROM {t}")).unwrap();
    assert_eq!(
        (&*counted.bytes, counted.rows_read),
        (&b"100000\n"[..], 1),
        "the server counts, and sends one state"
    );
    assert_eq!(
        text(session, &format!("SELECT * FROM {t} WHERE n < 3 AND s != '1' ORDER BY n DESC")),
        "2\t2\t4\n0\t0\t0"
    );
    assert_eq!(text(session, &format!("SELECT count() FROM (SELECT n FROM {t} LIMIT 10)")), "10");
    assert_eq!(
        text(
            session,
            &format!("SELECT r.s FROM numbers(5) AS l JOIN {t} AS r ON l.number * 10 = r.n ORDER BY r.n")
        ),
        "0\n10\n20\n30\n40"
    );
    run(session, &format!("CREATE TABLE local ENGINE = Memory AS SELECT n, s FROM {t} WHERE n >= 99990"))
        .unwrap();
    assert_eq!(text(session, "SELECT count(), min(s) FROM local"), "10\t99990");
    run(session, &format!("INSERT INTO FUNCTION {t} VALUES (100001, 'x', 7)")).unwrap();
    assert_eq!(text(session, &format!("SELECT d, m FROM {t} WHERE n = 100001")), "7\t100002");
    run(session, &format!("CREATE VIEW v AS SELECT n FROM {t} WHERE n < 7")).unwrap();
    assert_eq!(text(session, "SELECT sum(n) FROM v"), "21");
}

fn every_type(session: &Session, server: &Server) {
    let columns = [
        ("u8", "UInt8", "255"),
        ("i64", "Int64", "-9223372036854775808"),
        ("f32", "Float32", "1.5"),
        ("f64", "Float64", "-0.1"),
        ("s", "String", "'it''s \\0 \u{fc}'"),
        ("fixed", "FixedString(4)", "'ab'"),
        ("d", "Date", "'2018-12-21'"),
        ("t", "DateTime", "'2018-12-21 10:11:12'"),
        ("d32", "Decimal(9, 2)", "-1.25"),
        ("d128", "Decimal(38, 10)", "12345678901234567890.0123456789"),
        ("u", "UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'"),
        ("e", "Enum8('a' = -1, 'b' = 2)", "'b'"),
        ("a", "Array(Array(Nullable(Int32)))", "[[1, NULL], []]"),
        ("tup", "Tuple(UInt8, String)", "(7, 'x')"),
        ("nul", "Nullable(String)", "NULL"),
        ("nuld", "Nullable(DateTime)", "'2000-01-01 00:00:00'"),
    ];
    let definitions: Vec<String> = columns.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    create(server, &format!("CREATE TABLE types ({}) ENGINE = Memory", definitions.join(", ")));
    let values: Vec<String> = columns.iter().map(|(_, ty, value)| format!("CAST({value} AS {ty})")).collect();
    let t = server.table("types");
    run(session, &format!("INSERT INTO FUNCTION {t} SELECT {} FROM numbers(3)", values.join(", "))).unwrap();
    let expected = text(session, &format!("SELECT {}", values.join(", ")));
    let found = text(session, &format!("SELECT * FROM {t}"));
    assert_eq!(found, vec![expected; 3].join("\n"));
    for (name, ty, value) in columns.iter().filter(|column| !column.2.contains("NULL")) {
        let sql = format!("SELECT count() FROM {t} WHERE {name} = CAST({value} AS {ty})");
        assert_eq!(text(session, &sql), "3", "{sql}");
    }
    assert_eq!(
        text(
            session,
            &format!("SELECT count() FROM {t} WHERE f64 < 0 AND f64 > -0.10000000000000002 AND nul IS NULL")
        ),
        "3"
    );
}

fn what_is_sent(session: &Session, server: &Server) {
    let explained = text(
        session,
        &format!(
            "EXPLAIN ANALYZE SELECT s FROM {} WHERE n >= 10 AND n < 12 AND reverse(s) != '01'",
            server.table("t")
        ),
    );
    // The column of conditions that were sent is not.
    let sent = "SELECT `s` FROM `default`.`t` WHERE `n` >= 10 AND `n` < 12";
    assert!(explained.contains(sent), "{explained}");
    let explained = text(session, &format!("EXPLAIN ANALYZE SELECT s FROM {} LIMIT 5", server.table("t")));
    assert!(explained.contains("SELECT `s` FROM `default`.`t` LIMIT 5"), "{explained}");
    assert!(explained.contains(&format!("127.0.0.1:{}", server.port)), "{explained}");
}

fn shards_and_replicas(session: &Session, first: &Server, second: &Server) {
    create(first, "CREATE TABLE shard (n UInt64) ENGINE = Memory");
    create(second, "CREATE TABLE shard (n UInt64) ENGINE = Memory");
    run(session, &format!("INSERT INTO FUNCTION {} SELECT number FROM numbers(10)", first.table("shard")))
        .unwrap();
    run(
        session,
        &format!("INSERT INTO FUNCTION {} SELECT number + 10 FROM numbers(10)", second.table("shard")),
    )
    .unwrap();
    let (a, b) = (first.port, second.port);
    let sum = |addresses: String| {
        text(
            session,
            &format!("SELECT count(), sum(n), max(n) FROM remote('{addresses}', 'default', 'shard')"),
        )
    };
    assert_eq!(sum(format!("127.0.0.1:{{{a},{b}}}")), "20\t190\t19");
    assert_eq!(sum(format!("127.0.0.1:{a},127.0.0.1:{b}|127.0.0.1:{a}")), "20\t190\t19");
    // The first replica is not there.
    assert_eq!(sum(format!("127.0.0.1:1|127.0.0.1:{b}")), "10\t145\t19");
    let (number, message) =
        code(session, &format!("SELECT sum(n) FROM remote('127.0.0.1:{a},127.0.0.1:1', default.shard)"));
    assert_eq!(number, 279, "{message}");
    assert!(message.contains("Connection refused (127.0.0.1:1)"), "{message}");
    let skipping = "SETTINGS skip_unavailable_shards = 1";
    assert_eq!(
        text(
            session,
            &format!("SELECT sum(n) FROM remote('127.0.0.1:{a},127.0.0.1:1', default.shard) {skipping}")
        ),
        "45"
    );
    let (number, message) = code(
        session,
        &format!("INSERT INTO FUNCTION remote('127.0.0.1:{a},127.0.0.1:{b}', default.shard) SELECT 1"),
    );
    assert_eq!(number, 55, "{message}");
}

fn failures(session: &Session, server: &Server) {
    let port = server.port;
    let (number, message) = code(session, "SELECT * FROM remote('127.0.0.1:1', system.one)");
    assert_eq!(number, 519);
    assert!(
        message.contains("Code: 279.") && message.contains("Connection refused (127.0.0.1:1)"),
        "{message}"
    );
    let (number, message) =
        code(session, &format!("SELECT * FROM remote('127.0.0.1:{port}', default.nothing)"));
    assert_eq!(number, 519);
    assert!(
        message.contains(&format!("There is no table `default`.`nothing` on server: 127.0.0.1:{port}")),
        "{message}"
    );
    let (number, message) =
        code(session, &format!("SELECT * FROM remote('127.0.0.1:{port}', system.one, 'bob')"));
    assert_eq!(number, 192);
    let start =
        format!("Code: 192. DB::Exception: Received from 127.0.0.1:{port}. DB::Exception: Unknown user bob");
    assert!(message.starts_with(&start), "{message}");
    let (number, _) =
        code(session, &format!("SELECT * FROM remote('127.0.0.1:{port}', system.one, 'alice', 'wrong')"));
    assert_eq!(number, 193);
    assert_eq!(
        text(session, &format!("SELECT * FROM remote('127.0.0.1:{port}', system, one, 'alice', 'secret')")),
        "0"
    );
    assert_eq!(text(session, &format!("SELECT * FROM remote('127.0.0.1:{port}')")), "0");
    create(
        server,
        "CREATE VIEW failing AS SELECT throwIf(number = 100000) AS x FROM system.numbers LIMIT 200000",
    );
    let (number, message) = code(session, &format!("SELECT sum(x) FROM {}", server.table("failing")));
    assert_eq!(number, 395);
    assert!(message.contains(&format!("Received from 127.0.0.1:{port}")), "{message}");
    let (number, message) =
        code(session, &format!("SELECT * FROM remoteSecure('127.0.0.1:{port}', system.one)"));
    assert!(number == 454 && message.contains("TLS"), "{message}");
    let (number, message) = code(session, "SELECT * FROM cluster('x', system.one)");
    assert!(number == 701 && message.contains("'x'"), "{message}");
    // A server that accepts and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let started = Instant::now();
    let (number, message) =
        code(session, &format!("SELECT * FROM remote('{address}', system.one) SETTINGS receive_timeout = 1"));
    assert!(number == 519 && message.contains("Code: 209."), "{message}");
    // The default is 300 s.
    assert!(started.elapsed() < Duration::from_secs(100));
}

fn interrupts(session: &Session, server: &Server) {
    create(server, "CREATE VIEW slow AS SELECT sleep(1) AS x FROM system.numbers");
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let options = RunOptions {
        format: Some("TSV".into()),
        interrupt: Some(Arc::new(move || asked.load(Relaxed))),
        ..RunOptions::default()
    };
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Relaxed);
    });
    // It has no end.
    let sql = format!("SELECT sum(x) FROM {} SETTINGS max_block_size = 1", server.table("slow"));
    let error = session.run(&sql, options).map(drop).unwrap_err();
    assert_eq!(error.code().number, 394, "{error}");
    stopper.join().unwrap();
    let (number, _) = code(session, &format!("{sql}, max_execution_time = 0.3"));
    assert_eq!(number, 159);
}

fn the_end_of_a_server(session: &Session, mut server: Server) {
    create(&server, "CREATE VIEW endless AS SELECT number, sleepEachRow(0.00001) AS z FROM system.numbers");
    let pid = server.process.id();
    let port = server.port;
    let killer = std::thread::spawn(move || {
        let other = Database::open(&format!("clickhouse://127.0.0.1:{port}")).unwrap().session();
        let running = "SELECT count() FROM system.processes WHERE query LIKE '%endless%' AND query NOT LIKE '%processes%'";
        while text(&other, running) == "0" {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(300));
        let _ = Command::new("kill").arg("-9").arg(pid.to_string()).status();
    });
    let (number, message) = code(session, &format!("SELECT sum(number) FROM {}", server.table("endless")));
    assert!([32, 33, 210].contains(&number), "{message}");
    assert!(message.contains(&server.port.to_string()), "{message}");
    killer.join().unwrap();
    let _ = server.process.wait();
    let (number, _) = code(session, &format!("SELECT 1 FROM {}", server.table("shard")));
    assert_eq!(number, 519);
}

#[test]
fn sessions_of_a_server() {
    if !is_installed() {
        return;
    }
    let server = Server::start("session");
    create(&server, "CREATE DATABASE other");
    let url = format!("clickhouse://alice:secret@127.0.0.1:{}/other", server.port);
    let session = Database::open(&url).unwrap().session();
    assert_eq!(text(&session, "SELECT currentDatabase(), 1 FORMAT CSV"), "\"other\",1");
    assert_eq!(text(&session, "SELECT 1; SELECT 2 AS two FORMAT TSVWithNames"), "1\ntwo\n2");
    run(&session, "CREATE TABLE t (n UInt64, s String, d DateTime) ENGINE = MergeTree ORDER BY n").unwrap();
    let answer =
        run(&session, "INSERT INTO t VALUES (1, 'a;b', '2018-07-01 12:00:00'), (2, 'c', 0)").unwrap();
    assert_eq!(answer.rows_written, 2);
    run(&session, "INSERT INTO t FORMAT CSV\n3,\"x;y\",\"2018-01-01 12:00:00\"\n").unwrap();
    // As the server reads and shows them: in its own zone.
    let rows = "1\ta;b\t2018-07-01 12:00:00\t1530439200\n3\tx;y\t2018-01-01 12:00:00\t1514804400";
    assert_eq!(text(&session, "SELECT n, s, d, toUInt32(d) FROM t WHERE n != 2 ORDER BY n"), rows);
    let json = text(
        &session,
        "SELECT n % 2 AS k, count() AS c FROM t GROUP BY k WITH TOTALS ORDER BY k LIMIT 1 FORMAT JSON",
    );
    assert!(json.contains("\"totals\"") && json.contains("\"rows_before_limit_at_least\": 2"), "{json}");
    let (number, message) = code(&session, "SELECT nothing FROM t");
    assert_eq!(number, 47);
    assert!(message.contains(&format!("Received from 127.0.0.1:{}", server.port)), "{message}");
    kept_statements(&session);
    streams_and_data(&session);
    stops(&session);
    let (number, _) = match Database::open(&url.replace("secret", "wrong")) {
        Ok(_) => panic!("a wrong password is accepted"),
        Err(error) => (error.code().number, error),
    };
    assert_eq!(number, 193);
    let (port, mut process) = (server.port, server);
    process.process.kill().unwrap();
    process.process.wait().unwrap();
    let (number, message) = code(&session, "SELECT 1");
    assert_eq!(
        (number, message),
        (210, format!("Code: 210. DB::Exception: Connection refused (127.0.0.1:{port}). (NETWORK_ERROR)"))
    );
}

fn kept_statements(session: &Session) {
    run(session, "SET max_block_size = 7; USE default").unwrap();
    let state = "SELECT currentDatabase(), max(blockSize()) FROM system.numbers WHERE number < 100 LIMIT 1";
    let state = state.replace(
        "FROM system.numbers WHERE number < 100 LIMIT 1",
        "FROM (SELECT number FROM system.numbers LIMIT 100)",
    );
    assert_eq!(text(session, &state), "default\t7");
    // On a new connection, too: this one is lost with the statement that is stopped.
    stops(session);
    assert_eq!(text(session, &state), "default\t7");
    run(session, "USE other").unwrap();
}

fn streams_and_data(session: &Session) {
    let stream =
        session.stream("SELECT number FROM system.numbers LIMIT 100", RunOptions::default()).unwrap();
    let seen = Arc::new(std::sync::Mutex::new((Vec::new(), 0)));
    let told = seen.clone();
    stream
        .run(Box::new(move |part| {
            let mut told = told.lock().unwrap();
            match part {
                chalet_engine::StreamPart::Header(rows, _) => told.0 = rows.names,
                chalet_engine::StreamPart::Block(block) => told.1 += block.n_rows(),
                _ => {}
            }
            Ok(())
        }))
        .unwrap();
    assert_eq!(*seen.lock().unwrap(), (vec!["number".to_string()], 100));
    let bytes = b"{\"n\": 10, \"s\": \"ten\", \"d\": \"2018-01-01 00:00:00\"}\n".to_vec();
    let data = chalet_engine::InsertData::Bytes(Box::new(std::io::Cursor::new(bytes)));
    session.insert("INSERT INTO t FORMAT JSONEachRow", RunOptions::default(), data).unwrap();
    let data = chalet_engine::InsertData::Bytes(Box::new(&b"{\"n\": 11}\n"[..]));
    let error = session
        .insert("INSERT INTO t FORMAT JSONEachRow", RunOptions::default(), data)
        .map(drop)
        .unwrap_err();
    assert_eq!(error.code().number, 48, "{error}");
    let data = chalet_engine::InsertData::Bytes(Box::new(&b"nonsense"[..]));
    assert!(session.insert("INSERT INTO t FORMAT JSONEachRow", RunOptions::default(), data).is_err());
    assert_eq!(text(session, "SELECT count(), max(s) FROM t WHERE n >= 10"), "1\tten");
}

fn stops(session: &Session) {
    let stop = || {
        let started = Instant::now();
        let options = RunOptions {
            interrupt: Some(Arc::new(move || started.elapsed() > Duration::from_millis(200))),
            ..RunOptions::default()
        };
        let error = session.run("SELECT sleep(3)", options).map(drop).unwrap_err();
        assert_eq!(error.code().number, 394, "{error}");
        started.elapsed()
    };
    // A machine that is busy with other things delays some attempts, who waits for the server is late each time.
    let late: Vec<Duration> =
        (0..10).map_while(|_| Some(stop()).filter(|took| took.as_millis() >= 700)).collect();
    assert!(late.len() < 10, "{late:?}");
}

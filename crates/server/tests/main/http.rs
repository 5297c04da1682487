//! Statements over HTTP: where they stand, what comes back, how it fails.

use crate::http_client::Client;
use crate::{run, served, served_to};
use chalet_client::Method;
use chalet_client::compression::{FrameReader, FrameWriter};
use chalet_engine::{Database, FileAccess};
use chalet_formats::Compression;
use chalet_server::{Server, User};
use std::io::{Cursor, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

#[test]
fn statements_in_url_and_body() {
    let server = served();
    let mut client = Client::of(&server);
    let answer = client.get("/?query=SELECT%201%2B1,'a%26b'");
    assert_eq!((answer.status, answer.text()), (200, "2\ta&b\n"));
    assert_eq!(answer.header("X-ClickHouse-Format"), "TabSeparated");
    assert_eq!(answer.header("Content-Type"), "text/tab-separated-values; charset=UTF-8");
    assert_eq!(answer.header("X-ClickHouse-Query-Id").len(), 36);
    assert!(!answer.header("X-ClickHouse-Timezone").is_empty());
    assert!(!answer.header("X-ClickHouse-Server-Display-Name").is_empty());
    let summary = answer.header("X-ClickHouse-Summary");
    assert!(summary.contains(r#""result_rows":"1""#), "{summary}");
    // All over one connection.
    assert_eq!(client.post("/", "SELECT 3 FORMAT JSONEachRow").text(), "{\"3\":3}\n");
    assert_eq!(client.post("/?default_format=CSV", "SELECT 'x'").text(), "\"x\"\n");
    assert_eq!(client.post("/?query=SELECT", "4").text(), "4\n");
    assert_eq!(
        client.post("/?param_n=5&param_s=a%5Ctb", "SELECT {n:UInt8}, {s:String}").text(),
        "5\ta\\tb\n"
    );
    assert_eq!(client.post("/?query_id=mine", "SELECT query_id()").text(), "mine\n");
    assert_eq!(client.post("/?max_block_size=7", "SELECT getSetting('max_block_size')").text(), "7\n");
    let headed = client.request("POST / HTTP/1.1\r\nX-ClickHouse-Format: JSONCompactEachRow", b"SELECT 1");
    assert_eq!(headed.text(), "[1]\n");
    let form = "POST / HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded";
    assert_eq!(client.request(form, b"query=SELECT+%7Bx%3AString%7D&param_x=6").text(), "6\n");
    assert_eq!(client.request(form, b"SELECT 7").text(), "7\n");
    // Chunks, of which one is cut.
    client.send(
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nSEL\r\n5;x=y\r\nECT 8",
    );
    client.send(b"\r\n0\r\nTrailer: x\r\n\r\n");
    assert_eq!(client.answer().text(), "8\n");
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 8\r\n\r\n");
    assert_eq!(client.answer().status, 100);
    client.send(b"SELECT 9");
    assert_eq!(client.answer().text(), "9\n");
    client.send(b"HEAD /?query=SELECT+1 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /ping HTTP/1.0\r\n\r\n");
    // The length of what GET would answer, without it: the next line is the next answer's.
    let mut rest = Vec::new();
    client.socket().read_to_end(&mut rest).unwrap();
    let rest = String::from_utf8(rest).unwrap();
    assert!(
        rest.starts_with("HTTP/1.1 200") && rest.contains("\r\n\r\nHTTP/1.1 200") && rest.ends_with("Ok.\n"),
        "{rest}"
    );
}

#[test]
fn totals_extremes_and_statistics() {
    let server = served();
    let mut client = Client::of(&server);
    let sql = "SELECT number % 2 AS k, count() FROM numbers(5) GROUP BY k WITH TOTALS ORDER BY k LIMIT 1";
    assert_eq!(client.post("/?extremes=1", sql).text(), "0\t3\n\n0\t5\n\n0\t3\n0\t3\n");
    let answer = client.post("/?default_format=JSONCompact", sql);
    let json = answer.text();
    assert!(
        json.contains("\"rows_before_limit_at_least\": 2") && json.contains("\"rows_read\": 5"),
        "{json}"
    );
    assert_eq!(
        client.post("/?default_format=JSONEachRow", "SHOW DATABASES LIKE 'def%'").text(),
        "{\"name\":\"default\"}\n"
    );
    assert_eq!(client.post("/", "EXISTS TABLE t FORMAT CSV").text(), "0\n");
}

#[test]
fn bytes_in_literals() {
    let database = Database::default();
    let server = served_to(&database, vec![User::default_user(FileAccess::Nothing)]);
    let mut client = Client::of(&server);
    let answer = client.request("POST / HTTP/1.1", b"SELECT hex('\xff\xfe'), length('\xe2\x82\xac\xff')");
    assert_eq!((answer.status, answer.text()), (200, "FFFE\t4\n"));
    let answer = client.post("/?query=SELECT+hex('%ff%27%27')", "");
    assert_eq!((answer.status, answer.text()), (200, "FF27\n"));
}

#[test]
fn data_of_inserts() {
    let database = Database::default();
    let server = served_to(&database, vec![User::default_user(FileAccess::Nothing)]);
    let mut client = Client::of(&server);
    assert_eq!(client.post("/", "CREATE TABLE t (n UInt32, s String) ENGINE = Memory").status, 200);
    let answer = client.post("/?query=INSERT+INTO+t+FORMAT+CSV", "1,a\n2,b\n");
    assert_eq!((answer.status, answer.text()), (200, ""));
    assert!(answer.header("X-ClickHouse-Summary").contains(r#""written_rows":"2""#));
    assert_eq!(client.post("/", "INSERT INTO t FORMAT TSV\n3\tc\n").status, 200);
    assert_eq!(client.post("/", "INSERT INTO t VALUES (4, 'd'), (5, 'e')").status, 200);
    let mut binary = b"INSERT INTO t FORMAT RowBinary\n".to_vec();
    binary.extend([6, 0, 0, 0, 2, 0xff, 0xfe]);
    assert_eq!(client.request("POST / HTTP/1.1", &binary).status, 200);
    let mut gzip = Vec::new();
    Compression::Gzip.reader(Box::new(Cursor::new(Vec::new()))).unwrap();
    let memory = chalet_formats::output::Memory::default();
    let mut packer = Compression::Gzip.writer(Box::new(memory.clone()), 3).unwrap();
    packer.write_all(b"7,g\n").unwrap();
    packer.close().unwrap();
    gzip.extend(memory.take());
    let head = "POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nContent-Encoding: gzip";
    assert_eq!(client.request(head, &gzip).status, 200);
    let mut frames = FrameWriter::new(Vec::new(), Method::Zstd);
    frames.write_all(b"8,h\n").unwrap();
    let frames = frames.into_inner().unwrap();
    let answer = client.request("POST /?decompress=1&query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1", &frames);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(run(&database, "SELECT count(), sum(n), countIf(s = '\\xff\\xfe') FROM t"), "8\t36\t1\n");
    let answer = client.post("/?query=INSERT+INTO+t+FORMAT+CSV", "9,i\nten,j\n");
    assert_eq!(
        (answer.status, answer.header("X-ClickHouse-Exception-Code")),
        (400, "27"),
        "{}",
        answer.text()
    );
    assert_eq!(client.post("/", "INSERT INTO t FORMAT CSV\n").header("X-ClickHouse-Exception-Code"), "");
    assert_eq!(run(&database, "SELECT count() FROM t"), "8\n");
}

#[test]
fn large_results_are_streamed_and_compressed() {
    let server = served();
    let mut client = Client::of(&server);
    let sql = "SELECT number FROM numbers(1000000) FORMAT RowBinary";
    let plain = client.post("/", sql);
    assert!(plain.is_whole && plain.body.len() == 8_000_000);
    assert_eq!(plain.header("Transfer-Encoding"), "chunked");
    let waited = client.post("/?wait_end_of_query=1", sql);
    assert_eq!(waited.header("Content-Length"), "8000000");
    assert!(waited.header("X-ClickHouse-Summary").contains(r#""result_rows":"1000000""#));
    for (name, method) in
        [("gzip", Compression::Gzip), ("zstd", Compression::Zstd), ("lz4", Compression::Lz4)]
    {
        let answer =
            client.request(&format!("POST / HTTP/1.1\r\nAccept-Encoding: {name};q=0.5, x"), sql.as_bytes());
        assert_eq!(answer.header("Content-Encoding"), name);
        let mut body = Vec::new();
        method.reader(Box::new(Cursor::new(answer.body))).unwrap().read_to_end(&mut body).unwrap();
        assert!(body == plain.body, "{name}");
    }
    let off =
        client.request("POST /?enable_http_compression=0 HTTP/1.1\r\nAccept-Encoding: gzip", b"SELECT 1");
    assert_eq!((off.header("Content-Encoding"), off.text()), ("", "1\n"));
    let mut body = Vec::new();
    FrameReader::new(&client.post("/?compress=1", sql).body[..]).read_to_end(&mut body).unwrap();
    assert!(body == plain.body);
}

#[test]
fn errors_have_codes() {
    let server = served();
    let mut client = Client::of(&server);
    for (target, sql, status, code) in [
        ("/", "SELEC 1", 400, "62"),
        ("/", "SELECT x", 404, "47"),
        ("/", "SELECT * FROM nowhere", 404, "60"),
        ("/", "SELECT 1 FORMAT Nothing", 404, "73"),
        ("/", "SELECT 1; SELECT 2", 400, "62"),
        ("/", "SELECT throwIf(1)", 500, "395"),
        ("/?no_such_setting=1", "SELECT 1", 404, "115"),
        ("/?database=nowhere", "SELECT 1", 404, "81"),
        ("/", "SELECT 1 INTO OUTFILE '/tmp/never'", 500, "358"),
        ("/?default_format=", "", 400, "62"),
    ] {
        let answer = client.post(target, sql);
        let found = (answer.status, answer.header("X-ClickHouse-Exception-Code"));
        assert_eq!(found, (status, code), "{sql}: {}", answer.text());
        assert!(answer.text().starts_with(&format!("Code: {code}. DB::Exception: ")), "{}", answer.text());
    }
    let answer = client.get("/?query=CREATE+TABLE+t+(x+Int8)+ENGINE+Memory");
    assert_eq!(answer.header("X-ClickHouse-Exception-Code"), "164", "{}", answer.text());
    assert_eq!(client.get("/?query=SELECT+1&readonly=0").text(), "1\n");
    // Still the same connection.
    assert_eq!(client.get("/ping").text(), "Ok.\n");
}

#[test]
fn an_error_amid_the_rows_is_seen() {
    let server = served();
    let sql =
        "SELECT number, throwIf(number = 3000000, 'too far') FROM numbers(4000000) SETTINGS max_threads = 1";
    for target in ["/", "/?compress=1"] {
        let answer = Client::of(&server).post(target, sql);
        assert_eq!(answer.status, 200);
        assert!(!answer.is_whole);
        let mut body = answer.body.clone();
        if target != "/" {
            body.clear();
            FrameReader::new(&answer.body[..]).read_to_end(&mut body).unwrap();
        }
        let tag = answer.header("X-ClickHouse-Exception-Tag");
        let text = String::from_utf8_lossy(&body);
        let (_, message) = text.split_once(&format!("\r\n__exception__\r\n{tag}\r\n")).unwrap();
        assert!(message.starts_with("Code: 395. DB::Exception: too far"), "{message}");
        assert!(message.ends_with(&format!(" {tag}\r\n__exception__\r\n")), "{message}");
    }
    let answer = Client::of(&server).post("/?wait_end_of_query=1", sql);
    assert_eq!((answer.status, answer.header("X-ClickHouse-Exception-Code")), (500, "395"));
}

#[test]
fn a_client_that_hangs_up_stops_its_statement() {
    let server = served();
    let mut client = Client::of(&server);
    let sql = "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1";
    client.send(
        format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{sql}", sql.len())
            .as_bytes(),
    );
    let running = || Client::of(&server).get("/metrics").text().contains("ClickHouseMetrics_Query 1\n");
    let since = Instant::now();
    while !running() {
        assert!(since.elapsed() < LONG);
    }
    client.socket().shutdown(Shutdown::Both).unwrap();
    let since = Instant::now();
    while running() {
        assert!(since.elapsed() < LONG);
    }
}

#[test]
fn the_end_of_the_server_stops_statements() {
    let server = served();
    let mut busy = Client::of(&server);
    let mut idle = Client::of(&server);
    assert_eq!(idle.get("/ping").status, 200);
    busy.send(b"GET /?query=SELECT+count()+FROM+numbers(1000000000000)+WHERE+sipHash64(number)=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let since = Instant::now();
    while !idle.get("/metrics").text().contains("ClickHouseMetrics_Query 1\n") {
        assert!(since.elapsed() < LONG);
    }
    let since = Instant::now();
    server.stop();
    assert!(since.elapsed() < LONG, "{:?}", since.elapsed());
    assert_eq!(busy.answer().header("X-ClickHouse-Exception-Code"), "394");
    let mut rest = Vec::new();
    idle.socket().read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
}

#[test]
fn pages() {
    let server = served();
    let mut client = Client::of(&server);
    for path in ["/", "/ping", "/replicas_status"] {
        assert_eq!(client.get(path).text(), "Ok.\n");
    }
    assert!(client.get("/metrics").text().contains("# TYPE ClickHouseProfileEvents_Query counter"));
    assert!(client.get("/play").text().contains("<textarea"));
    assert_eq!(client.get("/elsewhere").status, 404);
    assert_eq!(client.request("DELETE / HTTP/1.1", b"").status, 405);
}

#[test]
fn damaged_requests() {
    let server = served();
    for bytes in [
        &b"nonsense\r\n\r\n"[..],
        b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\nSELECT 1",
    ] {
        let mut client = Client::of(&server);
        client.send(bytes);
        client.socket().shutdown(Shutdown::Write).unwrap();
        let status = client.answer().status;
        assert!((400..=500).contains(&status), "{status}: {}", String::from_utf8_lossy(bytes));
    }
    let mut client = Client::of(&server);
    client.send(&[b"GET /?query=", &vec![b'x'; (1 << 20) + 1][..]].concat());
    assert_eq!(client.answer().status, 431);
}

/// A client that asks for rows without end and reads none, once the server waits for it to.
fn unread(server: &Server) -> Client {
    let mut client = Client::of(server);
    client.send(b"GET /?query=SELECT+number+FROM+numbers(1000000000000)&query_id=unread HTTP/1.1\r\nHost: localhost\r\n\r\n");
    wait_for(server, 1);
    std::thread::sleep(Duration::from_millis(300));
    client
}

/// After so long somebody waits for what does not happen: a client that reads nothing is given up after 300 s, and what is endless takes hours.
const LONG: Duration = Duration::from_secs(60);

/// Waits until so many statements run.
fn wait_for(server: &Server, n: usize) {
    let line = format!("ClickHouseMetrics_Query {n}\n");
    let since = Instant::now();
    while !Client::of(server).get("/metrics").text().contains(&line) {
        assert!(since.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_client_that_reads_nothing_and_says_no_more_stops_its_statement() {
    let server = served();
    let client = unread(&server);
    client.socket().shutdown(Shutdown::Write).unwrap();
    wait_for(&server, 0);
}

#[test]
fn a_client_that_reads_nothing_keeps_neither_the_server_nor_kill() {
    let server = served();
    let client = unread(&server);
    let killed = Client::of(&server).post("/", "KILL QUERY WHERE query_id = 'unread' SYNC");
    assert!(killed.text().starts_with("finished\tunread"), "{}", killed.text());
    wait_for(&server, 0);
    drop(client);
    let _client = unread(&server);
    let since = Instant::now();
    server.stop();
    assert!(since.elapsed() < LONG, "{:?}", since.elapsed());
}

#[test]
fn who_is_still_sending_reads_the_answer() {
    let server = served();
    let rows = b"1\n".repeat(10 << 20);
    let mut client = Client::of(&server);
    let answer = client.request("POST /?query=INSERT+INTO+nowhere+FORMAT+TSV HTTP/1.1", &rows);
    assert_eq!((answer.status, answer.header("X-ClickHouse-Exception-Code")), (404, "60"));
    // A statement that is too long, and a head that is.
    let answer = Client::of(&server).request("POST / HTTP/1.1", &vec![b' '; 40 << 20]);
    assert_eq!(answer.status, 413);
    let head = format!("GET /?query={} HTTP/1.1", "x".repeat(8 << 20));
    assert_eq!(Client::of(&server).request(&head, b"").status, 431);
}

#[test]
fn targets_with_a_host() {
    let server = served();
    let mut client = Client::of(&server);
    assert_eq!(client.get("http://localhost/ping").text(), "Ok.\n");
    assert_eq!(client.get("http://127.0.0.1:8123?query=SELECT+1").text(), "1\n");
    // It counts, whatever the header says.
    assert_eq!(client.get("http://elsewhere.example/ping").status, 403);
}

//! Who may come in, from where, and what they may read.

use crate::http_client::Client;
use crate::{run, served, served_to};
use chalet_engine::{Database, FileAccess};
use chalet_server::{Config, Password, Server, User, Users};
use std::net::Ipv4Addr;

fn users() -> Vec<User> {
    let user = |name: &str, password: &str, readonly| User {
        name: name.into(),
        password: Password::of_text(password),
        readonly,
        files: FileAccess::Nothing,
        quota: None,
    };
    vec![user("default", "secret", 0), user("reader", "pw", 1), user("analyst", "", 2)]
}

#[test]
fn passwords() {
    let server = served_to(&Database::default(), users());
    let mut client = Client::of(&server);
    for (target, header, status) in [
        ("/?user=default&password=secret", "X: y", 200),
        ("/?password=secret", "X: y", 200),
        ("/", "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=", 200),
        ("/", "X-ClickHouse-User: default\r\nX-ClickHouse-Key: secret", 200),
        ("/", "X-ClickHouse-Key: secret", 200),
        ("/?user=analyst", "X: y", 200),
        ("/", "X: y", 403),
        ("/?password=wrong", "X: y", 403),
        ("/?user=nobody", "X: y", 403),
        ("/", "Authorization: Basic eDp5", 403),
        ("/", "Authorization: Basic ZGVmYXVsdDpzZWNyZXQ=\r\nX-ClickHouse-User: default", 403),
    ] {
        let answer = client.request(&format!("POST {target} HTTP/1.1\r\n{header}"), b"SELECT 1");
        assert_eq!(answer.status, status, "{target} {header}: {}", answer.text());
        assert_eq!(answer.header("X-ClickHouse-Exception-Code"), if status == 200 { "" } else { "516" });
    }
}

#[test]
fn readers_change_nothing() {
    let database = Database::default();
    run(&database, "CREATE TABLE t (x UInt8) ENGINE = Memory");
    let server = served_to(&database, users());
    let mut client = Client::of(&server);
    let mut code =
        |target: &str, sql: &str| client.post(target, sql).header("X-ClickHouse-Exception-Code").to_owned();
    for target in ["/?user=reader&password=pw", "/?user=analyst"] {
        assert_eq!(code(target, "SELECT count() FROM t"), "");
        for sql in ["INSERT INTO t VALUES (1)", "DROP TABLE t", "SET readonly = 0"] {
            assert_eq!(code(target, sql), "164", "{target} {sql}");
        }
        assert_eq!(code(&format!("{target}&readonly=0"), "SELECT 1"), "164");
    }
    assert_eq!(code("/?user=reader&password=pw&max_block_size=5", "SELECT 1"), "164");
    assert_eq!(code("/?user=analyst&max_block_size=5", "SELECT 1"), "");
}

#[test]
fn files_are_those_of_a_folder_or_none() {
    let folder = std::env::temp_dir().join(format!("chalet-server-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.csv"), "1\n2\n").unwrap();
    let database = Database::default();
    let within = FileAccess::Within(folder.as_path().into());
    let user = |name: &str, files| User { name: name.into(), ..User::default_user(files) };
    let server = served_to(&database, vec![user("default", FileAccess::Nothing), user("within", within)]);
    let mut client = Client::of(&server);
    let mut code =
        |target: &str, sql: &str| client.post(target, sql).header("X-ClickHouse-Exception-Code").to_owned();
    let read = "SELECT sum(c1) FROM file('a.csv')";
    assert_eq!(code("/", read), "497");
    assert_eq!(code("/?user=within", read), "");
    let outside = [
        "SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "SELECT * FROM file('../../etc/passwd', 'LineAsString')",
        "SELECT (SELECT count() FROM file('/etc/passwd', 'LineAsString'))",
        "CREATE TABLE f (s String) ENGINE = File('LineAsString', '/etc/passwd')",
        "CREATE VIEW v AS SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "CREATE DICTIONARY d (k UInt64, s String) PRIMARY KEY k SOURCE(FILE(PATH '/etc/passwd' FORMAT 'CSV')) LAYOUT(FLAT()) LIFETIME(0)",
        "INSERT INTO FUNCTION file('/tmp/x.csv', 'CSV', 'x UInt8') VALUES (1)",
        "INSERT INTO FUNCTION file('../x.csv', 'CSV', 'x UInt8') SELECT 1",
    ];
    for sql in outside {
        assert_eq!(code("/", sql), "497", "{sql}");
        assert_eq!(code("/?user=within", sql), "291", "{sql}");
    }
    assert_eq!(code("/?user=within", "SELECT 1 INTO OUTFILE 'x'"), "358");
    run(&database, "CREATE TABLE t (s String) ENGINE = Memory");
    assert_eq!(code("/?user=within", "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT LineAsString"), "291");
    assert_eq!(code("/?user=within", "INSERT INTO t SELECT s FROM values('s String', 'x')"), "");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn pages_of_other_sites_are_refused() {
    let server = served();
    for (headers, status) in [
        ("Host: localhost:8123", 200),
        ("Host: 127.0.0.1:8123\r\nOrigin: http://127.0.0.1:8123", 200),
        ("Host: [::1]:8123\r\nOrigin: http://localhost:3000", 200),
        ("Host: localhost\r\nOrigin: https://elsewhere.example", 403),
        ("Host: localhost\r\nOrigin: null", 403),
        ("Host: elsewhere.example:8123", 403),
        ("Host: elsewhere.example\r\nOrigin: http://elsewhere.example", 403),
    ] {
        let mut client = Client::of(&server);
        client.send(format!("GET /?query=SELECT+1 HTTP/1.1\r\n{headers}\r\n\r\n").as_bytes());
        assert_eq!(client.answer().status, status, "{headers}");
    }
}

#[test]
fn other_machines_need_passwords() {
    let config = |users| Config {
        host: Ipv4Addr::UNSPECIFIED.into(),
        http: Some(0),
        tcp: Some(0),
        users: Users::new(users).unwrap(),
        https: None,
        tcp_secure: None,
        tls: None,
        max_connections: 8,
        origins: Vec::new(),
    };
    let open = Server::start(Database::default(), config(users())).map(drop).unwrap_err();
    assert_eq!(open.code().name, "REQUIRED_PASSWORD");
    let server = Server::start(Database::default(), config(users()[..2].to_vec())).unwrap();
    assert_eq!(Client::of(&server).get("/ping").status, 200);
}

#[test]
fn too_many_connections_are_closed() {
    let config = Config {
        host: Ipv4Addr::LOCALHOST.into(),
        http: Some(0),
        tcp: Some(0),
        users: Users::new(vec![User::default_user(FileAccess::Nothing)]).unwrap(),
        https: None,
        tcp_secure: None,
        tls: None,
        max_connections: 2,
        origins: Vec::new(),
    };
    let server = Server::start(Database::default(), config).unwrap();
    let mut inside: Vec<Client> = (0..2).map(|_| Client::of(&server)).collect();
    inside.iter_mut().for_each(|client| assert_eq!(client.get("/ping").status, 200));
    let mut rest = Vec::new();
    std::io::Read::read_to_end(&mut Client::of(&server).socket(), &mut rest).unwrap();
    assert!(rest.is_empty());
    inside.pop();
    let mut since = 0;
    let is_refused = || {
        let asked = std::panic::AssertUnwindSafe(|| Client::of(&server).get("/ping").status);
        std::panic::catch_unwind(asked).is_err()
    };
    while is_refused() {
        since += 1;
        assert!(since < 1000);
    }
}

//! Sessions by their ids.

use crate::http_client::Client;
use crate::served;

#[test]
fn a_session_keeps_what_was_set() {
    let server = served();
    let mut client = Client::of(&server);
    assert_eq!(client.post("/?session_id=a", "SET max_block_size = 99").status, 200);
    assert_eq!(client.post("/?session_id=a", "CREATE TEMPORARY TABLE t (x UInt8)").status, 200);
    assert_eq!(client.post("/?session_id=a", "INSERT INTO t VALUES (1)").status, 200);
    let sql = "SELECT x, getSetting('max_block_size') FROM t";
    assert_eq!(client.post("/?session_id=a", sql).text(), "1\t99\n");
    assert_eq!(client.post("/?session_id=b", sql).header("X-ClickHouse-Exception-Code"), "60");
    assert_eq!(client.post("/", sql).header("X-ClickHouse-Exception-Code"), "60");
    assert_eq!(client.post("/?session_id=a&close_session=1", sql).status, 200);
    let code = |answer: crate::http_client::Answer| answer.header("X-ClickHouse-Exception-Code").to_owned();
    assert_eq!(code(client.post("/?session_id=a&session_check=1", "SELECT 1")), "372");
    assert_eq!(code(client.post("/?session_id=a&session_timeout=9999", "SELECT 1")), "374");
    assert_eq!(code(client.post("/?session_id=", "SELECT 1")), "744");
}

#[test]
fn one_request_at_a_time_has_a_session() {
    let server = served();
    let mut first = Client::of(&server);
    first.send(b"GET /?session_id=a&query_id=slow&query=SELECT+count()+FROM+numbers(1000000000000)+WHERE+sipHash64(number)=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut second = Client::of(&server);
    while !second.get("/metrics").text().contains("ClickHouseMetrics_Query 1\n") {}
    let answer = second.post("/?session_id=a", "SELECT 1");
    assert_eq!(answer.header("X-ClickHouse-Exception-Code"), "373", "{}", answer.text());
    assert_eq!(second.post("/?query_id=slow", "SELECT 1").header("X-ClickHouse-Exception-Code"), "216");
    assert_eq!(second.post("/", "KILL QUERY WHERE query_id = 'slow' SYNC FORMAT Null").status, 200);
    assert_eq!(first.answer().header("X-ClickHouse-Exception-Code"), "394");
    assert_eq!(second.post("/?session_id=a", "SELECT 1").text(), "1\n");
}

#[test]
fn a_session_is_its_users() {
    let server = crate::served_to(
        &chalet_engine::Database::default(),
        ["a", "b"]
            .map(|name| chalet_server::User {
                name: name.into(),
                ..chalet_server::User::default_user(chalet_engine::FileAccess::Nothing)
            })
            .to_vec(),
    );
    let mut client = Client::of(&server);
    assert_eq!(client.post("/?session_id=s&user=a", "SET max_block_size = 99").status, 200);
    let sql = "SELECT getSetting('max_block_size'), currentUser()";
    assert_eq!(client.post("/?session_id=s&user=a", sql).text(), "99\ta\n");
    assert_eq!(client.post("/?session_id=s&user=b", sql).text(), "65409\tb\n");
}

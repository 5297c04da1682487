//! What a real server of 18.16 has sent, byte by byte.

use crate::scripted::Scripted;
use chalet_base::Result;
use chalet_client::channel::TcpSocket;
use chalet_client::connect::connect;
use chalet_client::{Connection, Method, Options, Packet, Request, Socket, Watch, revision};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

const SELECT: &str = "SELECT number % 3 AS k, count() AS n, toDateTime('2018-12-21 10:00:00', 'Asia/Tokyo') AS at, \
                      [toString(k), 'é'] AS a, toDecimal32(k, 2) AS d, (k, NULL) AS t, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u \
                      FROM numbers(1000) GROUP BY k WITH TOTALS ORDER BY k SETTINGS extremes = 1";
const FAILURE: &str = "SELECT throwIf(number > 10) FROM numbers(100)";
const METHODS: &[(&str, Option<Method>)] =
    &[("plain", None), ("lz4", Some(Method::Lz4)), ("zstd", Some(Method::Zstd))];

fn file(name: &str) -> PathBuf {
    PathBuf::from("tests/recorded").join(format!("18.16-{name}.bin"))
}

/// What the server said in all of a conversation: two queries, the second of which fails.
fn converse(socket: Box<dyn Socket>, compression: Option<Method>) -> Result<Vec<String>> {
    let options = Options { host: "recorded".into(), compression, ..Options::default() };
    let mut connection = Connection::over(socket, &options, None)?;
    let server = connection.server();
    assert_eq!(server.revision, revision::OLDEST);
    let mut told = vec![format!("{} {:?} {}", server.name, server.version, server.time_zone)];
    let method = if compression == Some(Method::Zstd) { "zstd" } else { "lz4" };
    let settings = vec![("network_compression_method".to_string(), method.to_string())];
    connection.send(&Request { settings: settings.clone(), ..Request::new(SELECT) })?;
    loop {
        let packet = connection.receive()?;
        match &packet {
            Packet::EndOfStream => break,
            Packet::Profile(profile) => told.push(format!("{} rows", profile.rows)),
            Packet::Data(rows) | Packet::Totals(rows) | Packet::Extremes(rows) => {
                let types: Vec<String> = rows.schema.iter().map(|c| format!("{} {}", c.0, c.1)).collect();
                told.push(format!("{}: {}", packet.name(), types.join(", ")));
                for row in 0..rows.block.n_rows() {
                    let values = rows.block.columns().iter().map(|c| c.value(row)).collect::<Vec<_>>();
                    told.push(format!("{values:?}"));
                }
            }
            _ => {}
        }
    }
    connection.send(&Request { settings, ..Request::new(FAILURE) })?;
    match connection.receive_end() {
        Err(error) if error.code().number == 395 => told.push(error.to_string()),
        other => other?,
    }
    Ok(told)
}

const TYPES: &str = "k UInt8, n UInt64, at DateTime('Asia/Tokyo'), a Array(String), d Decimal(9, 2), \
                     t Tuple(UInt8, Nullable(Nothing)), u UUID";

#[test]
fn recorded_conversations_say_the_same() {
    for (name, compression) in METHODS {
        let bytes = std::fs::read(file(name)).unwrap();
        for piece in [1, 100, usize::MAX] {
            let told = converse(Box::new(Scripted::new(&bytes, piece)), *compression).unwrap();
            assert_eq!(told[0], "ClickHouse (18, 16, 1) Etc/UTC", "{name}");
            let headers: Vec<_> = told.iter().filter(|line| line.contains(": k")).collect();
            let expected = ["Data", "Data", "Totals", "Extremes"].map(|kind| format!("{kind}: {TYPES}"));
            assert_eq!(headers, expected.iter().collect::<Vec<_>>());
            let first =
                told.iter().find(|line| line.starts_with("[UInt(0), UInt(334), UInt(1545354000)")).unwrap();
            assert!(first.contains("UInt(334)") && first.contains("Int(0)"), "{first}");
            assert_eq!(
                told.last().unwrap(),
                "Code: 395. DB::Exception: Received from recorded:9000. DB::Exception: Value passed to 'throwIf' \
                 function is non zero. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)"
            );
        }
    }
}

#[test]
fn recorded_conversations_cut_short_are_errors() {
    for (name, compression) in METHODS {
        let bytes = std::fs::read(file(name)).unwrap();
        for end in 0..bytes.len() {
            let error =
                converse(Box::new(Scripted::new(&bytes[..end], usize::MAX)), *compression).unwrap_err();
            assert!([32, 33].contains(&error.code().number), "{end}: {error}");
        }
    }
}

#[test]
fn recorded_conversations_with_flipped_bits_never_panic() {
    for (name, compression) in METHODS {
        let bytes = std::fs::read(file(name)).unwrap();
        // The greeting must say its revision.
        for at in 20..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let _ = converse(Box::new(Scripted::new(&damaged, usize::MAX)), *compression);
        }
    }
}

/// Keeps what arrives over a socket.
struct Recorder {
    inner: TcpSocket,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Socket for Recorder {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = Socket::read(&mut self.inner, to)?;
        self.heard.lock().unwrap().extend_from_slice(&to[..n]);
        Ok(n)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Socket::write(&mut self.inner, bytes)
    }

    fn has_input(&mut self) -> bool {
        self.inner.has_input()
    }

    fn close(&mut self) {
        Socket::close(&mut self.inner);
    }

    fn set_waits(&mut self, waits: bool) -> io::Result<()> {
        self.inner.set_waits(waits)
    }

    fn descriptor(&self) -> Option<i32> {
        self.inner.descriptor()
    }
}

#[test]
#[ignore = "writes the recorded conversations anew: CHALET_CLICKHOUSE=host:port of a server of 18.16"]
fn record() {
    let address = std::env::var("CHALET_CLICKHOUSE").unwrap();
    let (host, port) = address.rsplit_once(':').unwrap();
    let options = Options { host: host.into(), port: port.parse().unwrap(), ..Options::default() };
    for (name, compression) in METHODS {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let none: Option<&Watch> = None;
        let inner = connect(&options, none).unwrap();
        let told = converse(Box::new(Recorder { inner, heard: heard.clone() }), *compression).unwrap();
        told.iter().for_each(|line| println!("{line}"));
        std::fs::write(file(name), &*heard.lock().unwrap()).unwrap();
    }
}

//! Conversations that are whole, mutated at random: whatever arrives, no thread panics, no connection hangs, and the server answers others.
//! CHALET_FUZZ_SECONDS says for how long, per protocol; CHALET_SEED with which seed.

use crate::http_client::Client;
use crate::{run, served_to};
use chalet_client::channel::TcpSocket;
use chalet_client::packet::Rows;
use chalet_client::{Connection, ExternalTable, Method, Options, Packet, Request, Socket, Stream, revision};
use chalet_columns::{Block, Column, Vector};
use chalet_engine::{Database, FileAccess};
use chalet_server::{Server, User};
use chalet_types::DataType;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// After so long without a byte a connection has hung, or the statement is one of many rows.
const LONG: Duration = Duration::from_secs(20);

/// A socket that keeps what is written to it.
struct Recorded {
    socket: TcpSocket,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Socket for Recorded {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.socket.read(to)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.socket.write(bytes)?;
        self.written.lock().unwrap().extend_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn has_input(&mut self) -> bool {
        self.socket.has_input()
    }

    fn close(&mut self) {
        self.socket.close();
    }

    fn set_waits(&mut self, waits: bool) -> io::Result<()> {
        self.socket.set_waits(waits)
    }

    fn descriptor(&self) -> Option<i32> {
        self.socket.descriptor()
    }
}

fn rows() -> Rows {
    let numbers = Column::Flat(Vector::from((0..20).collect::<Vec<u64>>()));
    Rows { schema: vec![("a".to_owned(), DataType::UInt64)], block: Block::new(vec![numbers], 20) }
}

/// What a client says that asks, sends tables along, inserts and fails, in this revision.
fn native(server: &Server, revision: u64, compression: Option<Method>) -> Vec<u8> {
    let address = server.tcp().unwrap();
    let written = Arc::<Mutex<Vec<u8>>>::default();
    let socket = TcpSocket::new(Stream::plain(TcpStream::connect(address).unwrap())).unwrap();
    let socket = Box::new(Recorded { socket, written: written.clone() });
    let options = Options {
        host: "127.0.0.1".into(),
        port: address.port(),
        revision,
        compression,
        ..Options::default()
    };
    let mut connection = Connection::over(socket, &options, None).unwrap();
    connection.ping().unwrap();
    let table = ExternalTable { name: "given".into(), blocks: vec![rows()] };
    let mut asks = vec![
        Request::new("SELECT number, toString(number) FROM numbers(10) SETTINGS max_block_size = 3"),
        Request { tables: vec![table], ..Request::new("SELECT sum(a) FROM given") },
        Request::new("SELECT nothing_of_the_kind"),
    ];
    if revision >= revision::PARAMETERS {
        asks.push(Request {
            parameters: vec![("x".into(), "'1'".into())],
            settings: vec![("max_threads".into(), "1".into())],
            ..Request::new("SELECT {x:UInt8}")
        });
    }
    for ask in asks {
        connection.send(&ask).unwrap();
        while !matches!(connection.receive(), Ok(Packet::EndOfStream) | Err(_)) {}
    }
    connection.begin_insert(&Request::new("INSERT INTO t VALUES")).unwrap();
    connection.send_rows(&rows()).unwrap();
    connection.finish_insert().unwrap();
    written.lock().unwrap().clone()
}

fn requests() -> Vec<Vec<u8>> {
    let form = "--xx\r\nContent-Disposition: form-data; name=\"given\"; filename=\"g\"\r\n\r\n1\tx\n2\ty\n\r\n--xx--\r\n";
    let head = format!(
        "POST /?query=SELECT+*+FROM+given&given_structure=a+Int32,+b+String HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    [
        "GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\nGET /?query=SELECT+1 HTTP/1.1\r\nHost: localhost\r\nX-ClickHouse-User: default\r\n\r\n",
        "POST /?database=default&default_format=JSON&param_x=5&session_id=s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic ZGVmYXVsdDo=\r\nContent-Length: 18\r\n\r\nSELECT {x:Int32}+1",
        "POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n1\n22\n\r\na;x=y\r\n333\n444\n55\r\n0\r\nA: b\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 45\r\n\r\nquery=SELECT+number+FROM+numbers(9)&wait=%31",
        "POST /?compress=1&enable_http_compression=1&extremes=1 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nExpect: 100-continue\r\nContent-Length: 44\r\n\r\nSELECT sum(number) FROM numbers(10) FORMAT XML",
        &head,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect()
}

/// Numbers that follow each other at random: a linear congruence, of which the high bits are taken.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// One to four changes: bits, bytes that mean much, pieces that are gone, come twice, or are of another conversation.
fn mutated(seed: &[u8], others: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    const TELLING: &[u8] =
        &[0, 1, 2, 3, 4, 5, 6, 7, 10, 13, 32, 34, 37, 39, 58, 127, 128, 130, 144, 254, 255];
    let mut bytes = seed.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        let most = [2, 8, 40, 400][chance.below(4)];
        let n = chance.below(most).min(bytes.len() - at);
        match chance.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + n)),
            2 => {
                let piece = bytes[at..at + n].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => {
                let other = &others[chance.below(others.len())];
                let from = chance.below(other.len());
                let piece = other[from..(from + n).min(other.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            4 if n > 0 => bytes[at] ^= 1 << chance.below(8),
            5 => {
                let many =
                    [&[255; 9][..], &[1], &[0; 8], &[255, 255, 255, 255, 7], b"\r\n\r\n", b"99999999999"];
                bytes.splice(at..at, many[chance.below(many.len())].iter().copied());
            }
            _ if n > 0 => bytes[at] = TELLING[chance.below(TELLING.len())],
            _ => {}
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

/// Says all that and hears the answer to its end, or much of it.
fn say(database: &Database, address: SocketAddr, bytes: &[u8]) {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(LONG)).unwrap();
    // The server may have ended the connection already.
    let mut writer = socket.try_clone().unwrap();
    let _ = writer.write_all(bytes).and_then(|()| writer.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    if let Err(error) = socket.take(1 << 20).read_to_end(&mut answer)
        && matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    {
        let killed = run(database, "KILL QUERY WHERE query NOT LIKE '%KILL%' SYNC");
        assert!(!killed.is_empty(), "no end of the answer to {bytes:?}");
    }
    let text = String::from_utf8_lossy(&answer);
    assert!(!text.contains("LOGICAL_ERROR"), "{bytes:?}: {text}");
}

#[test]
fn mutated_conversations() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let ours = std::thread::current().id();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != ours {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        usual(info);
    }));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (seconds, seed) = (number("CHALET_FUZZ_SECONDS"), number("CHALET_SEED").unwrap_or(7));
    let database = Database::default();
    run(&database, "CREATE TABLE t (a UInt64) ENGINE = Memory");
    let server = served_to(&database, vec![User::default_user(FileAccess::Nothing)]);
    let mut natives = Vec::new();
    for revision in [revision::OLDEST, revision::SERIALIZATION_KINDS, revision::NEWEST] {
        for compression in [None, Some(Method::Lz4)] {
            natives.push(native(&server, revision, compression));
        }
    }
    for (address, seeds) in [(server.tcp().unwrap(), natives), (server.http().unwrap(), requests())] {
        let mut chance = Chance(seed);
        let began = Instant::now();
        let mut n = 0;
        while seconds.map_or(n < 300, |seconds| began.elapsed() < Duration::from_secs(seconds)) {
            let bytes = mutated(&seeds[n % seeds.len()], &seeds, &mut chance);
            say(&database, address, &bytes);
            assert_eq!(PANICS.load(Ordering::Relaxed), 0, "after {n} conversations: {bytes:?}");
            n += 1;
            if n % 1000 == 0 {
                run(&database, "TRUNCATE TABLE t");
            }
        }
        println!("{n} conversations");
    }
    assert_eq!(Client::of(&server).get("/ping").text(), "Ok.\n");
    native(&server, revision::NEWEST, None);
}

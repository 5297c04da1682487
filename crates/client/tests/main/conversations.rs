//! Every revision and every compression method, both ways.

use crate::made::{METHODS, REVISIONS, hello, insert_and_failure, options, rows, select};
use crate::scripted::Scripted;
use chalet_base::Result;
use chalet_client::bounded;
use chalet_client::channel::{Channel, Timeouts};
use chalet_client::compression::Unpacked;
use chalet_client::handshake::{Addendum, ClientHello, ServerHello};
use chalet_client::packet::{Dialect, client};
use chalet_client::query::Query;
use chalet_client::{Connection, Method, Packet, Progress, Request, Rows, revision};
use chalet_columns::Block;
use chalet_formats::binary::{Cursor, Source};
use std::time::Duration;

/// The packets of a query, by name, and the rows of its result.
pub fn run(bytes: &[u8], piece: usize, compression: Option<Method>) -> Result<(Vec<&'static str>, Rows)> {
    let mut connection =
        Connection::over(Box::new(Scripted::new(bytes, piece)), &options(compression), None)?;
    connection.send(&Request::new("SELECT"))?;
    let mut names = Vec::new();
    let mut blocks = Vec::new();
    loop {
        let packet = connection.receive()?;
        names.push(packet.name());
        match packet {
            // A damaged block may have other columns.
            Packet::Data(rows) if blocks.first().is_none_or(|first: &Rows| first.schema == rows.schema) => {
                blocks.push(rows)
            }
            Packet::EndOfStream => break,
            _ => {}
        }
    }
    let schema = blocks.first().map(|rows| rows.schema.clone()).unwrap_or_default();
    let blocks: Vec<Block> = blocks.into_iter().map(|rows| rows.block).collect();
    let block = if blocks.is_empty() { Block::new(Vec::new(), 0) } else { Block::concat(&blocks) };
    Ok((names, Rows { schema, block }))
}

pub fn assert_rows(found: &Rows, expected: &Rows) {
    assert_eq!(found.schema, expected.schema);
    assert_eq!(found.block.n_rows(), expected.block.n_rows());
    for (found, expected) in found.block.columns().iter().zip(expected.block.columns()) {
        for row in 0..found.len() {
            assert_eq!(found.value(row), expected.value(row));
        }
    }
}

#[test]
fn a_query_is_read_in_every_revision() {
    let expected = Rows { block: Block::concat(&[rows(3).block, rows(7).block]), ..rows(0) };
    for &revision in REVISIONS {
        for &method in METHODS {
            for piece in [1, 7, usize::MAX] {
                let (names, found) = run(&select(revision, method), piece, method).unwrap();
                assert_eq!(
                    names.join(" "),
                    "TimezoneUpdate Data ProfileEvents Data Progress Log Data Totals Extremes ProfileInfo EndOfStream"
                );
                assert_rows(&found, &expected);
            }
        }
    }
}

#[test]
fn a_server_may_compress_in_its_own_way() {
    let (_, found) = run(&select(revision::OLDEST, Some(Method::Zstd)), 100, Some(Method::Lz4)).unwrap();
    assert_eq!(found.block.n_rows(), 10);
}

#[test]
fn an_insert_arrives_in_every_revision() {
    for &server in REVISIONS {
        for &method in METHODS {
            // Byte by byte: what the server says at the end has not arrived while rows are sent.
            let socket = Scripted::new(&insert_and_failure(server, method), 1);
            let written = socket.written.clone();
            let mut connection = Connection::over(Box::new(socket), &options(method), None).unwrap();
            assert_eq!(connection.server().revision, server);
            let schema = connection.begin_insert(&Request::new("INSERT INTO t VALUES")).unwrap();
            assert_eq!(schema, rows(0).schema);
            connection.send_rows(&rows(4)).unwrap();
            connection.send_rows(&rows(6)).unwrap();
            connection.finish_insert().unwrap();
            connection.send(&Request::new("SELECT 'second'")).unwrap();
            assert!(matches!(connection.receive().unwrap(), Packet::Data(_)));
            let error = connection.receive().unwrap_err();
            assert_eq!(error.code().number, 158);
            assert_eq!(error.message(), "Received from made:9000. DB::Exception: Limit exceeded");
            assert!(connection.is_idle());
            let bytes = written.lock().unwrap().clone();
            heard(&bytes, server.min(revision::NEWEST), method);
        }
    }
}

/// What the server hears of that conversation.
fn heard(bytes: &[u8], spoken: u64, compression: Option<Method>) {
    let timeouts = Timeouts { receive: Duration::from_secs(1), send: Duration::from_secs(1) };
    let mut channel = Channel::new(Box::new(Scripted::new(bytes, 13)), "client", timeouts);
    assert_eq!(channel.var_uint().unwrap(), client::HELLO);
    let greeting = ClientHello::read(&mut channel).unwrap();
    assert_eq!((greeting.user.as_str(), greeting.revision), ("default", revision::NEWEST));
    Addendum::read(&mut channel, spoken).unwrap();
    channel.set_chunks(spoken >= revision::CHUNKS, false);
    let dialect = Dialect { revision: spoken, compression };
    let mut unpacked = Unpacked::default();
    for (text, blocks) in [("INSERT INTO t VALUES", &[0, 4, 6, 0][..]), ("SELECT 'second'", &[0])] {
        assert_eq!(channel.var_uint().unwrap(), client::QUERY);
        let query = Query::read(&mut channel, spoken, |_| None).unwrap();
        assert_eq!((query.text.as_str(), query.is_compressed), (text, compression.is_some()));
        assert_eq!(query.client.client_name, "chalet");
        for n in blocks {
            assert_eq!(channel.var_uint().unwrap(), client::DATA);
            let found = dialect.read_rows(&mut channel, &mut unpacked).unwrap();
            if *n > 0 {
                assert_rows(&found, &rows(*n));
            }
            assert_eq!(found.block.n_rows(), *n);
        }
    }
}

#[test]
fn settings_and_parameters_come_with_the_query() {
    for &spoken in REVISIONS.iter().filter(|r| (revision::PARAMETERS..=revision::NEWEST).contains(*r)) {
        let socket = Scripted::new(&select(spoken, None), usize::MAX);
        let written = socket.written.clone();
        let mut connection = Connection::over(Box::new(socket), &options(None), None).unwrap();
        let request = Request {
            id: "mine".into(),
            settings: vec![("max_threads".into(), "3".into())],
            parameters: vec![("x".into(), "it's".into())],
            ..Request::new("SELECT {x:String}")
        };
        connection.send(&request).unwrap();
        let bytes = written.lock().unwrap().clone();
        let timeouts = Timeouts { receive: Duration::from_secs(1), send: Duration::from_secs(1) };
        let mut channel = Channel::new(Box::new(Scripted::new(&bytes, 5)), "client", timeouts);
        channel.var_uint().unwrap();
        ClientHello::read(&mut channel).unwrap();
        Addendum::read(&mut channel, spoken).unwrap();
        channel.set_chunks(spoken >= revision::CHUNKS, false);
        channel.var_uint().unwrap();
        let query = Query::read(&mut channel, spoken, |_| None).unwrap();
        assert_eq!((query.id.as_str(), query.text.as_str()), ("mine", "SELECT {x:String}"));
        assert_eq!((query.settings[0].name.as_str(), query.settings[0].value.as_str()), ("max_threads", "3"));
        assert_eq!(
            (query.parameters[0].name.as_str(), query.parameters[0].value.as_str()),
            ("x", "'it\\'s'")
        );
    }
}

#[test]
fn greetings_are_read_as_written() {
    for &server in REVISIONS {
        let mut bytes = Vec::new();
        hello(server).write(&mut bytes, revision::NEWEST);
        let mut cursor = Cursor::new(&bytes);
        let read = ServerHello::read(&mut cursor, revision::NEWEST).unwrap();
        assert!(cursor.rest.is_empty());
        let spoken = server.min(revision::NEWEST);
        let all = hello(server);
        assert_eq!((read.name, read.version, read.revision), (all.name, all.version, all.revision));
        assert_eq!(read.time_zone, "Europe/Berlin");
        assert_eq!(read.password_rules.len(), usize::from(spoken >= revision::PASSWORD_RULES));
        assert_eq!(read.settings.len(), usize::from(spoken >= revision::SERVER_SETTINGS));
    }
    let mut bytes = Vec::new();
    hello(revision::OLDEST - 1).write(&mut bytes, revision::NEWEST);
    let error = ServerHello::read(&mut Cursor::new(&bytes), revision::NEWEST).unwrap_err();
    assert!(error.message().contains("revision 54411 of the protocol"), "{error}");
}

#[test]
fn progress_is_read_as_written() {
    let told = Progress {
        rows: 1,
        bytes: 200,
        total_rows: 3,
        total_bytes: 4,
        written_rows: 5,
        written_bytes: 6,
        elapsed_ns: 7,
    };
    for &revision in REVISIONS {
        let dialect = Dialect { revision, compression: None };
        let mut bytes = Vec::new();
        dialect.write(&mut bytes, &Packet::Progress(told), revision).unwrap();
        let mut cursor = Cursor::new(&bytes);
        let read = dialect.read(&mut cursor, &mut Unpacked::default(), "made", revision).unwrap();
        assert!(cursor.rest.is_empty());
        let Packet::Progress(read) = read else { panic!("{}", read.name()) };
        assert_eq!((read.rows, read.bytes, read.total_rows), (1, 200, 3));
        assert_eq!(read.written_rows, if revision >= revision::WRITTEN_ROWS { 5 } else { 0 });
        assert_eq!(read.elapsed_ns, if revision >= revision::ELAPSED_IN_PROGRESS { 7 } else { 0 });
    }
}

#[test]
fn sparse_columns_are_read() {
    // Rows 0, 5, 0, 0, 7, 0 of a column `n`, in tuples as well.
    let offsets: &[u8] = &[1, 2, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    let mut bytes = vec![0, 0, 1, 6, 1, b'n', 6];
    bytes.extend(b"UInt16");
    bytes.extend([1, 1]);
    bytes.extend(offsets);
    bytes.extend([5, 0, 7, 0]);
    let dialect = Dialect { revision: revision::SERIALIZATION_KINDS, compression: None };
    let rows = dialect.read_rows(&mut Cursor::new(&bytes), &mut Unpacked::default()).unwrap();
    let values: Vec<_> = (0..6).map(|row| rows.block.column(0).value(row).as_u64().unwrap()).collect();
    assert_eq!(values, [0, 5, 0, 0, 7, 0]);
    for end in 0..bytes.len() {
        assert!(
            dialect.read_rows(&mut Cursor::new(&bytes[..end]), &mut Unpacked::default()).is_err(),
            "{end}"
        );
    }
}

#[test]
fn counts_are_bounded() {
    let mut bytes = Vec::new();
    bounded::put_numbers(&mut bytes, &[u64::MAX]);
    assert!(bounded::text(&mut Cursor::new(&bytes), 10, "a name").is_err());
    assert!(bounded::count(&mut Cursor::new(&bytes), 10, "things").is_err());
}

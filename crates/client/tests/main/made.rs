//! The server's half of conversations, made by the codec itself.

use chalet_base::err;
use chalet_client::handshake::{ChunkMode, ServerHello};
use chalet_client::packet::Dialect;
use chalet_client::settings::Setting;
use chalet_client::{Method, Options, Packet, Profile, Progress, Rows, revision};
use chalet_columns::{Block, Builder, Column};
use chalet_types::{DataType, Value};

pub const REVISIONS: &[u64] = &[
    revision::OLDEST,
    revision::WRITTEN_ROWS,
    revision::SETTINGS_AS_TEXT,
    revision::INTERSERVER_SECRET,
    revision::OPEN_TELEMETRY,
    revision::DISTRIBUTED_DEPTH,
    revision::QUERY_START_TIME,
    revision::PARALLEL_REPLICAS,
    revision::SERIALIZATION_KINDS,
    revision::ADDENDUM,
    revision::PARAMETERS,
    revision::ELAPSED_IN_PROGRESS,
    revision::PASSWORD_RULES,
    revision::INTERSERVER_NONCE,
    revision::TOTAL_BYTES_IN_PROGRESS,
    revision::ROWS_BEFORE_AGGREGATION,
    revision::CHUNKS,
    revision::VERSIONED_PARALLEL_REPLICAS,
    revision::EXTERNAL_ROLES,
    revision::SERVER_SETTINGS,
    revision::SCRIPT_LINES,
    revision::TOKEN_IN_CLIENT_INFO,
    revision::NEWEST,
    // A server that knows more than we do.
    revision::NEWEST + 100,
];

pub const METHODS: &[Option<Method>] = &[None, Some(Method::None), Some(Method::Lz4), Some(Method::Zstd)];

pub fn options(compression: Option<Method>) -> Options {
    Options { host: "made".into(), compression, ..Options::default() }
}

pub fn hello(revision: u64) -> ServerHello {
    ServerHello {
        name: "ClickHouse".into(),
        version: (18, 16, 1),
        revision,
        time_zone: "Europe/Berlin".into(),
        display_name: "made".into(),
        chunks: (ChunkMode::EITHER, ChunkMode::EITHER),
        password_rules: vec![(".{12}".into(), "be at least 12 characters long".into())],
        nonce: 7,
        settings: vec![Setting { name: "max_threads".into(), value: "2".into(), flags: 0 }],
    }
}

/// A block of several types, `n` rows.
pub fn rows(n: usize) -> Rows {
    let types = [
        ("n", "UInt64"),
        ("s", "String"),
        ("maybe", "Nullable(Int32)"),
        ("day", "Date"),
        ("at", "DateTime('Asia/Tokyo')"),
        ("list", "Array(Array(UInt8))"),
        ("word", "LowCardinality(String)"),
        ("pair", "Tuple(a Float64, b FixedString(3))"),
        ("key", "UUID"),
    ];
    let list = |row: usize| Value::Array(vec![Value::Array(vec![Value::from(row as u64 % 200)])]);
    let value = |name: &str, row: usize| match name {
        "n" => Value::from(row as u64 * 1_000_003),
        "s" => Value::string("ab'\\\n".repeat(row % 5)),
        "maybe" if row.is_multiple_of(3) => Value::Null,
        "maybe" | "day" | "at" => Value::from(row as u64),
        "list" => list(row),
        "word" => Value::string(["red", "green", ""][row % 3]),
        "pair" => Value::Tuple(vec![Value::Float(row as f64 / 4.0), Value::string("xyz")]),
        _ => Value::Null,
    };
    let schema: Vec<(String, DataType)> =
        types.iter().map(|(name, ty)| (name.to_string(), ty.parse().unwrap())).collect();
    let columns = schema.iter().map(|(name, ty)| {
        let mut builder = Builder::new(ty);
        for row in 0..n {
            match value(name, row) {
                Value::Null => builder.push_default(),
                value => builder.push_value(&value).unwrap(),
            }
        }
        Column::Flat(builder.finish())
    });
    let block = Block::new(columns.collect(), n);
    Rows { schema, block }
}

/// What a server of this revision sends in answer to one query.
pub fn select(revision: u64, compression: Option<Method>) -> Vec<u8> {
    let mut conversation = Conversation::new(revision, compression);
    conversation.say(&Packet::TimeZone("UTC".into()));
    conversation.say(&Packet::Data(rows(0)));
    conversation.say(&Packet::ProfileEvents(rows(2)));
    conversation.say(&Packet::Data(rows(3)));
    conversation.say(&Packet::Progress(Progress {
        rows: 3,
        bytes: 40,
        total_rows: 10,
        ..Progress::default()
    }));
    conversation.say(&Packet::Log(rows(1)));
    conversation.say(&Packet::Data(rows(7)));
    conversation.say(&Packet::Totals(rows(1)));
    conversation.say(&Packet::Extremes(rows(2)));
    let rows_before_limit = Some(1_000_000);
    conversation.say(&Packet::Profile(Profile { rows: 10, rows_before_limit, ..Profile::default() }));
    conversation.say(&Packet::EndOfStream);
    conversation.bytes
}

/// What a server of this revision sends in answer to an INSERT of two blocks, and to a query that fails.
pub fn insert_and_failure(revision: u64, compression: Option<Method>) -> Vec<u8> {
    let mut conversation = Conversation::new(revision, compression);
    conversation.say(&Packet::TableColumns("columns format version: 1".into()));
    conversation.say(&Packet::Data(rows(0)));
    conversation.say(&Packet::Progress(Progress { written_rows: 10, ..Progress::default() }));
    conversation.say(&Packet::EndOfStream);
    conversation.say(&Packet::Data(rows(2)));
    conversation.say(&Packet::Exception(err!(TOO_MANY_ROWS, "Limit exceeded")));
    conversation.bytes
}

/// Bytes of a server, in chunks where its revision has them.
struct Conversation {
    bytes: Vec<u8>,
    dialect: Dialect,
    has_chunks: bool,
}

impl Conversation {
    fn new(server: u64, compression: Option<Method>) -> Conversation {
        let revision = server.min(revision::NEWEST);
        let mut conversation =
            Conversation { bytes: Vec::new(), dialect: Dialect { revision, compression }, has_chunks: false };
        conversation.say(&Packet::Hello(Box::new(hello(server))));
        conversation.has_chunks = revision >= revision::CHUNKS;
        conversation
    }

    fn say(&mut self, packet: &Packet) {
        let mut bytes = Vec::new();
        self.dialect.write(&mut bytes, packet, revision::NEWEST).unwrap();
        if !self.has_chunks {
            return self.bytes.extend(bytes);
        }
        for chunk in bytes.chunks(100) {
            self.bytes.extend((chunk.len() as u32).to_le_bytes());
            self.bytes.extend(chunk);
        }
        self.bytes.extend([0; 4]);
    }
}

//! Facts of the session, the query and the process.

use chalet_base::Result;
use chalet_base::sip_hash::Sip;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction, Volatility,
};
use chalet_types::{DataType, Value};
use std::sync::LazyLock;
use std::time::Instant;

/// The version of the dialect that is spoken, which is what programs look at this number for.
pub const DIALECT_VERSION: &str = "26.9.1.1";
/// The protocol revision that belongs to it.
pub const DIALECT_REVISION: u64 = 54_509;

/// Of chDB, which has the same dialect.
const CHDB_VERSION: &str = "26.9.0";

/// What a build is made of, hashed: the version of the package, of the dialect, the machine and whether it is optimised.
fn build_id() -> String {
    let parts = [
        env!("CARGO_PKG_VERSION"),
        DIALECT_VERSION,
        std::env::consts::ARCH,
        if cfg!(debug_assertions) { "debug" } else { "release" },
    ];
    let mut words = (0..3u64).map(|number| {
        let mut sip = Sip::new((number, 0));
        parts.iter().for_each(|part| sip.update(part.as_bytes()));
        sip.finish().into_iter().fold(0, |word, part| word ^ part)
    });
    let mut text: String = words.by_ref().take(2).map(|word| format!("{word:016X}")).collect();
    text.extend(words.map(|word| format!("{:08X}", word as u32)));
    text
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

struct Fact {
    record: Record,
    ty: DataType,
    value: fn(&Context) -> Value,
}

macro_rules! facts {
    (@is alone) => { true };
    (@is) => { false };
    ($($name:literal, $ci:literal $($alone:ident)?, $aliases:expr, $any_case:expr, $ty:expr, $value:expr, $summary:literal, $sql:literal => $result:literal;)*) => {
        static FACTS: &[Fact] = &[$(Fact {
            record: Record {
                name: $name,
                aliases: $aliases,
                any_case_aliases: $any_case,
                case_insensitive: $ci,
                summary: $summary,
                syntax: concat!($name, "()"),
                examples: &[Example { sql: $sql, result: $result }],
                volatility: Volatility::PerQuery,
                total: true,
                without_parentheses: facts!(@is $($alone)?),
                ..Record::DEFAULT
            },
            ty: $ty,
            value: $value,
        }),*];
    };
}

facts! {
    "currentDatabase", false alone, &[], &["current_database", "DATABASE", "SCHEMA"], DataType::String,
        |ctx| Value::string(&ctx.database), "The name of the current database.",
        "SELECT currentDatabase()" => "default";
    "currentUser", false alone, &[], &["session_user", "current_user", "user"], DataType::String,
        |ctx| Value::string(&ctx.user), "The name of the user.", "SELECT currentUser()" => "default";
    "queryID", false, &[], &["query_id"], DataType::String, |ctx| Value::string(&ctx.query_id),
        "The identifier of the query.", "SELECT queryID() = query_id()" => "1";
    "initialQueryID", false, &[], &["initial_query_id"], DataType::String, |ctx| Value::string(&ctx.query_id),
        "The identifier of the query.", "SELECT initialQueryID() = queryID()" => "1";
    "version", true, &[], &[], DataType::String, |_| Value::string(DIALECT_VERSION),
        "The version of the ClickHouse dialect that is spoken.", "SELECT version() != ''" => "1";
    "chdb", false, &[], &[], DataType::String, |_| Value::string(CHDB_VERSION),
        "The version of chDB whose interface and dialect are spoken.", "SELECT chdb() != ''" => "1";
    "buildId", true, &[], &[], DataType::String, |_| Value::string(build_id()),
        "A number of 160 bits, in hexadecimal, that builds of different versions or kinds differ in.",
        "SELECT length(buildId())" => "40";
    "revision", true, &[], &[], DataType::UInt32, |_| Value::UInt(DIALECT_REVISION),
        "The protocol revision that belongs to the version.", "SELECT revision() > 0" => "1";
    "hostName", false, &["hostname"], &[], DataType::String, |_| Value::string(host_name()),
        "The name of the machine.", "SELECT hostName() != ''" => "1";
    "FQDN", true, &["fullHostName"], &[], DataType::String, |_| Value::string(host_name()),
        "The full name of the machine.", "SELECT FQDN() != ''" => "1";
    "uptime", false, &[], &[], DataType::UInt32, |_| Value::UInt(START.elapsed().as_secs()),
        "Seconds since the engine started.", "SELECT uptime() >= 0" => "1";
    "tcpPort", false, &[], &[], DataType::UInt16, |_| Value::UInt(9000),
        "The port of the native protocol that a server would listen on; nothing listens here.",
        "SELECT tcpPort()" => "9000";
    "connectionId", true, &["connection_id"], &[], DataType::UInt64, |_| Value::UInt(0),
        "The identifier of the connection, always 0 in an embedded engine.", "SELECT connectionId()" => "0";
    "displayName", false, &[], &[], DataType::String, |_| Value::string(host_name()),
        "The display name of the server: the name of the machine.", "SELECT displayName() != ''" => "1";
    "serverUUID", false, &[], &[], DataType::Uuid, |_| Value::Bytes([0; 16].into()),
        "The identifier of the server, all zeros in an embedded engine.", "SELECT serverUUID()" => "00000000-0000-0000-0000-000000000000";
    "tid", false, &[], &[], DataType::UInt64, |_| Value::UInt(thread_id()), "The number of the thread.", "SELECT tid() > 0" => "1";
    "currentQueryID", false, &[], &["current_query_id"], DataType::String, |ctx| Value::string(&ctx.query_id),
        "The identifier of the query.", "SELECT currentQueryID() = queryID()" => "1";
    "authenticatedUser", false, &["authUser"], &[], DataType::String, |ctx| Value::string(&ctx.user),
        "The name of the user who logged in.", "SELECT authenticatedUser()" => "default";
    "initialQueryStartTime", false, &[], &["initial_query_start_time"], DataType::DateTime(None), |ctx| Value::UInt((ctx.start_ns / 1_000_000_000) as u64),
        "The time when the query began.", "SELECT initialQueryStartTime() <= now()" => "1";
    "getOSKernelVersion", false, &[], &[], DataType::String, |_| Value::string(kernel_version()),
        "The name and the version of the operating system's kernel.", "SELECT getOSKernelVersion() != ''" => "1";
    "zookeeperSessionUptime", false, &[], &[], DataType::UInt32, |_| Value::UInt(0),
        "Seconds since the session with ZooKeeper began, 0 without one.", "SELECT zookeeperSessionUptime()" => "0";
    "hasThreadFuzzer", false, &[], &[], DataType::UInt8, |_| Value::UInt(0),
        "Whether threads are disturbed for tests, which they never are.", "SELECT hasThreadFuzzer()" => "0";
    "shardNum", false, &[], &[], DataType::UInt32, |_| Value::UInt(0),
        "The number of the shard that runs the query, 0 without shards.", "SELECT shardNum()" => "0";
    "shardCount", false, &[], &[], DataType::UInt32, |_| Value::UInt(0),
        "The number of shards, 0 without shards.", "SELECT shardCount()" => "0";
}

fn thread_id() -> u64 {
    // The name of this link ends in the number that the operating system gives the thread.
    let link = std::fs::read_link("/proc/thread-self").ok();
    let number = link.as_ref().and_then(|link| link.file_name()?.to_str()?.parse().ok());
    number.unwrap_or_else(|| u64::from(std::process::id()))
}

fn kernel_version() -> String {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{file}")).ok();
    match (read("ostype"), read("osrelease")) {
        (Some(name), Some(release)) => format!("{} {}", name.trim(), release.trim()),
        _ => std::env::consts::OS.into(),
    }
}

fn host_name() -> String {
    let from_system = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_system.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".into() } else { name.into() }
}

impl ScalarFunction for &'static Fact {
    fn record(&self) -> &'static Record {
        let fact: &'static Fact = self;
        &fact.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 0..=0)?;
        Ok(self.ty.clone().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Column::of_value(&(self.value)(call.ctx), &self.ty, call.n_rows)
    }
}

struct CurrentSchemas;

const CURRENT_SCHEMAS: Record = Record {
    name: "currentSchemas",
    any_case_aliases: &["current_schemas"],
    case_insensitive: true,
    summary: "An array with the name of the current database; the argument is ignored.",
    syntax: "currentSchemas(include_implicit)",
    examples: &[Example { sql: "SELECT currentSchemas(true)", result: "['default']" }],
    volatility: Volatility::PerQuery,
    total: true,
    ..Record::DEFAULT
};

impl ScalarFunction for CurrentSchemas {
    fn record(&self) -> &'static Record {
        &CURRENT_SCHEMAS
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(CURRENT_SCHEMAS.name, args.len(), 1..=1)?;
        Ok(DataType::String.array().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let value = Value::Array(vec![Value::string(&call.ctx.database)]);
        Ok(Column::constant(Vector::of_value(&value, call.result)?, call.n_rows))
    }
}

/// Names of what a user has: profiles of settings, and roles.
struct OwnNames {
    record: Record,
    names: &'static [&'static str],
}

macro_rules! own_names {
    ($($name:literal, $aliases:expr, $names:expr, $summary:literal, $result:literal;)*) => {
        static OWN_NAMES: &[OwnNames] = &[$(OwnNames {
            record: Record {
                name: $name,
                aliases: $aliases,
                summary: $summary,
                syntax: concat!($name, "()"),
                examples: &[Example { sql: concat!("SELECT ", $name, "()"), result: $result }],
                volatility: Volatility::PerQuery,
                total: true,
                ..Record::DEFAULT
            },
            names: $names,
        }),*];
    };
}

own_names! {
    "currentProfiles", &[], &["default"], "The profiles of settings of the user.", "['default']";
    "enabledProfiles", &[], &["default"], "The profiles of settings that are in effect.", "['default']";
    "defaultProfiles", &[], &["default"], "The profiles of settings that a session of the user begins with.", "['default']";
    "currentRoles", &[], &[], "The roles of the user, of which an embedded engine has none.", "[]";
    "enabledRoles", &[], &[], "The roles that are in effect, of which an embedded engine has none.", "[]";
    "defaultRoles", &[], &[], "The roles that a session of the user begins with, of which an embedded engine has none.", "[]";
}

impl ScalarFunction for &'static OwnNames {
    fn record(&self) -> &'static Record {
        let own: &'static OwnNames = self;
        &own.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 0..=0)?;
        Ok(DataType::String.array().into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let names = Value::Array(self.names.iter().map(Value::string).collect());
        Ok(Column::constant(Vector::of_value(&names, call.result)?, call.n_rows))
    }
}

pub fn register(registry: &mut Registry) {
    OWN_NAMES.iter().for_each(|own| registry.add_scalar(own));
    LazyLock::force(&START);
    FACTS.iter().for_each(|fact| registry.add_scalar(fact));
    registry.add_scalar(CurrentSchemas);
}

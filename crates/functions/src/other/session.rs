//! Facts of the session, the query and the process.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Example, Record, Registry, ScalarFunction, Volatility,
};
use chalet_types::{DataType, Value};
use std::sync::LazyLock;
use std::time::Instant;

/// The version of the dialect that is spoken, which is what programs look at this number for.
const DIALECT_VERSION: &str = "26.9.1.1";
const DIALECT_REVISION: u64 = 54_509;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

struct Fact {
    record: Record,
    ty: DataType,
    value: fn(&Context) -> Value,
}

macro_rules! facts {
    ($($name:literal, $ci:literal, $aliases:expr, $any_case:expr, $ty:expr, $value:expr, $summary:literal, $sql:literal => $result:literal;)*) => {
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
                ..Record::DEFAULT
            },
            ty: $ty,
            value: $value,
        }),*];
    };
}

facts! {
    "currentDatabase", false, &[], &["current_database", "DATABASE", "SCHEMA"], DataType::String,
        |ctx| Value::string(&ctx.database), "The name of the current database.",
        "SELECT currentDatabase()" => "default";
    "currentUser", false, &[], &["session_user", "current_user", "user"], DataType::String,
        |ctx| Value::string(&ctx.user), "The name of the user.", "SELECT currentUser()" => "default";
    "queryID", false, &[], &["query_id"], DataType::String, |ctx| Value::string(&ctx.query_id),
        "The identifier of the query.", "SELECT queryID() = query_id()" => "1";
    "initialQueryID", false, &[], &["initial_query_id"], DataType::String, |ctx| Value::string(&ctx.query_id),
        "The identifier of the query.", "SELECT initialQueryID() = queryID()" => "1";
    "version", true, &[], &[], DataType::String, |_| Value::string(DIALECT_VERSION),
        "The version of the ClickHouse dialect that is spoken.", "SELECT version() != ''" => "1";
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
    "shardNum", false, &[], &[], DataType::UInt32, |_| Value::UInt(0),
        "The number of the shard that runs the query, 0 without shards.", "SELECT shardNum()" => "0";
    "shardCount", false, &[], &[], DataType::UInt32, |_| Value::UInt(0),
        "The number of shards, 0 without shards.", "SELECT shardCount()" => "0";
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

pub fn register(registry: &mut Registry) {
    LazyLock::force(&START);
    FACTS.iter().for_each(|fact| registry.add_scalar(fact));
    registry.add_scalar(CurrentSchemas);
}

//! Engines whose rows are in a system elsewhere, such as MySQL, S3 or Kafka: their tables keep their definitions, so that
//! schemas with them can be created and looked at; reading and writing fail, as where the system does not answer.

use super::columns::{schema_of, stored_schema};
use super::engine::{Engine, Found, New};
use super::kafka;
use super::log::LOG;
use crate::external_functions::unreachable;
use crate::formats::FORMATS;
use crate::query_context::QueryContext;
use chalet_base::{Error, Result, ensure, err};
use chalet_storage::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::ast::{self, EntityKind, ExprKind, Literal};
use std::any::Any;
use std::sync::Arc;

/// What all of these share.
pub(super) const EXTERNAL: Engine =
    Engine { takes_arguments: true, other_settings: &[], create, open, ..LOG };

pub(super) const OBJECT_STORAGE: Engine =
    Engine { takes_partitions: true, takes_primary_key: true, ..EXTERNAL };

pub(super) const MYSQL_SETTINGS: &[&str] = &[
    "connect_timeout",
    "connection_auto_close",
    "connection_max_tries",
    "connection_pool_size",
    "connection_wait_timeout",
    "mysql_datatypes_support_level",
    "read_write_timeout",
];

pub(super) const KAFKA_SETTINGS: &[&str] = &[
    "kafka_auto_offset_reset",
    "kafka_autodetect_client_rack",
    "kafka_broker_list",
    "kafka_client_id",
    "kafka_commit_every_batch",
    "kafka_commit_on_select",
    "kafka_compression_codec",
    "kafka_compression_level",
    "kafka_consumer_reschedule_ms",
    "kafka_flush_interval_ms",
    "kafka_format",
    "kafka_group_name",
    "kafka_handle_error_mode",
    "kafka_keeper_path",
    "kafka_max_block_size",
    "kafka_max_rows_per_message",
    "kafka_num_consumers",
    "kafka_poll_max_batch_size",
    "kafka_poll_timeout_ms",
    "kafka_replica_name",
    "kafka_row_delimiter",
    "kafka_sasl_mechanism",
    "kafka_sasl_password",
    "kafka_sasl_username",
    "kafka_schema",
    "kafka_schema_registry_skip_bytes",
    "kafka_security_protocol",
    "kafka_skip_broken_messages",
    "kafka_thread_per_consumer",
    "kafka_topic_list",
];

/// What is particular about one of them.
struct Kind {
    name: &'static str,
    /// The table function of the same system, by which failures are told.
    function: &'static str,
    /// How `system.tables` calls it.
    shown: &'static str,
    n_arguments: std::ops::RangeInclusive<usize>,
    usage: &'static str,
    /// Where the password stands among the arguments.
    password: Option<usize>,
    /// Where the format stands, which is told by the path in the first argument where it is not written.
    format: Option<usize>,
}

const S3_USAGE: &str = "Storage S3 requires 1 to 9 arguments";

const S3: Kind = Kind {
    name: "S3",
    function: "s3",
    shown: "S3",
    n_arguments: 1..=9,
    usage: S3_USAGE,
    password: None,
    format: Some(1),
};

const EXECUTABLE: Kind = Kind {
    name: "Executable",
    function: "executable",
    shown: "Executable",
    n_arguments: 2..=10_000,
    usage: "StorageExecutable requires minimum 2 arguments: script_name, format, [input_query...]",
    password: None,
    format: None,
};

const ODBC: Kind = Kind {
    name: "ODBC",
    function: "odbc",
    shown: "ODBC",
    n_arguments: 2..=3,
    usage: "Storage ODBC requires exactly 3 parameters: ODBC('DSN', database or schema, table)",
    password: Some(0),
    format: None,
};

const KINDS: &[Kind] = &[
    Kind {
        name: "AzureBlobStorage",
        function: "azureBlobStorage",
        shown: "Azure",
        n_arguments: 2..=10,
        usage: "Storage AzureBlobStorage requires 2 to 10 arguments",
        format: None,
        ..S3
    },
    Kind { name: "COSN", function: "cosn", ..S3 },
    EXECUTABLE,
    Kind { name: "ExecutablePool", shown: "ExecutablePool", ..EXECUTABLE },
    Kind { name: "GCS", function: "gcs", ..S3 },
    Kind {
        name: "HDFS",
        function: "hdfs",
        shown: "HDFS",
        n_arguments: 1..=3,
        usage: "Storage HDFS requires 1 to 3 arguments: uri[, format[, compression_method]]",
        ..S3
    },
    Kind { name: "JDBC", function: "jdbc", shown: "JDBC", password: None, ..ODBC },
    Kind {
        name: "Kafka",
        function: "kafka",
        shown: "Kafka",
        n_arguments: 0..=20,
        usage: "Storage Kafka requires 1 to 20 parameters",
        format: None,
        ..S3
    },
    Kind {
        name: "MongoDB",
        function: "mongodb",
        shown: "MongoDB",
        n_arguments: 1..=7,
        usage: "Incorrect number of arguments. Example usage: MongoDB('host:port', 'database', 'collection', 'user', 'password'[, \
                options[, oid_columns]]) or MongoDB('uri', 'collection'[, oid columns])",
        password: Some(4),
        format: None,
    },
    Kind {
        name: "MySQL",
        function: "mysql",
        shown: "MySQL",
        n_arguments: 5..=7,
        usage: "Storage MySQL requires 5-7 parameters: MySQL('host:port' (or 'addresses_pattern'), database, table (or query), \
                'user', 'password'[, replace_query, 'on_duplicate_clause'])",
        password: Some(4),
        format: None,
    },
    ODBC,
    Kind { name: "OSS", function: "oss", ..S3 },
    Kind {
        name: "PostgreSQL",
        function: "postgresql",
        shown: "PostgreSQL",
        n_arguments: 5..=7,
        usage: "Storage PostgreSQL requires from 5 to 7 parameters: PostgreSQL('host:port', 'database', 'table' (or query), \
                'username', 'password' [, 'schema', 'ON CONFLICT ...'])",
        password: Some(4),
        format: None,
    },
    Kind {
        name: "Redis",
        function: "redis",
        shown: "Redis",
        n_arguments: 1..=4,
        usage: "Bad arguments count when creating Redis table engine",
        password: Some(2),
        format: None,
    },
    S3,
    Kind {
        name: "SQLite",
        function: "sqlite",
        shown: "SQLite",
        n_arguments: 2..=2,
        usage: "SQLite database requires 2 arguments: database path, table name (or query)",
        password: None,
        format: None,
    },
    Kind {
        name: "URL",
        function: "url",
        shown: "URL",
        n_arguments: 1..=4,
        usage: "Storage URL requires 1-4 arguments: url, name of used format (taken from file extension by default), optional \
                compression method, optional headers (specified as `headers('name'='value', 'name2'='value2')`)",
        ..S3
    },
];

fn kind_of(engine: &str) -> Result<&'static Kind> {
    let found = KINDS.iter().find(|kind| kind.name == engine);
    found.ok_or_else(|| err!(LOGICAL_ERROR, "Engine {engine} is none of a system elsewhere"))
}

fn arguments(storage: &ast::Storage) -> &[ast::Expr] {
    storage.engine.as_ref().and_then(|engine| engine.args.as_deref()).unwrap_or_default()
}

fn text(arg: &ast::Expr) -> Option<String> {
    match &arg.kind {
        ExprKind::Literal(Literal::String(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

fn has_collection(ctx: &QueryContext, name: &str) -> bool {
    let collections = ctx.database.shared.entities.of_kind(EntityKind::NamedCollection);
    collections.iter().any(|(known, _)| known == name)
}

fn create(new: &New) -> Result<(Arc<dyn Table>, String)> {
    let kind = kind_of(new.engine.name)?;
    let args = arguments(new.storage);
    if let [ast::Expr { kind: ExprKind::Identifier(name), .. }, ..] = args {
        let name = name.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(".");
        ensure!(
            has_collection(new.ctx, &name),
            NAMED_COLLECTION_DOESNT_EXIST,
            "There is no named collection `{name}`"
        );
    } else {
        check_arguments(kind, new, args)?;
    }
    let is_described = !new.create.definition.columns.is_empty() || new.create.source.is_some();
    let table = External { kind, schema: TableSchema::default(), address: args.first().and_then(text) };
    if !is_described {
        // The system would tell them.
        return Err(table.failure());
    }
    let table = External { schema: schema_of(new.create, new.ctx)?, ..table };
    let shown = shown(kind, new.storage);
    Ok((Arc::new(table), shown))
}

fn open(engine: &'static Engine, found: Found) -> Result<Arc<dyn Table>> {
    let address = arguments(&found.create.storage).first().and_then(text);
    let schema = stored_schema(&found.create.definition)?;
    Ok(Arc::new(External { kind: kind_of(engine.name)?, schema, address }))
}

fn check_arguments(kind: &Kind, new: &New, args: &[ast::Expr]) -> Result<()> {
    let fits = kind.n_arguments.contains(&args.len());
    if kind.name == "Redis" {
        ensure!(fits, BAD_ARGUMENTS, "{}", kind.usage);
        let key = new.storage.primary_key.is_some() || new.create.definition.primary_key.is_some();
        let is_key = key || new.create.definition.columns.iter().any(|column| column.primary_key);
        ensure!(is_key, BAD_ARGUMENTS, "StorageRedis must require one column in primary key.");
    }
    ensure!(
        fits && !(kind.name == "MongoDB" && args.len() == 1),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "{}",
        kind.usage
    );
    if kind.name == "Kafka" {
        kafka::check(new, args)?;
    }
    let Some(first) = args.first() else { return Ok(()) };
    let Some(address) = text(first) else {
        let what = if matches!(kind.name, "MySQL" | "PostgreSQL") { "host:port" } else { "url" };
        return Err(err!(BAD_ARGUMENTS, "Argument '{what}' must be a literal with type String, got {first}"));
    };
    match kind.function {
        "hdfs" => ensure!(
            address.starts_with("hdfs://"),
            BAD_ARGUMENTS,
            "Bad HDFS URL: {address}. It should have the following structure 'hdfs://<host_name>:<port>/path'"
        ),
        "s3" | "gcs" | "oss" | "cosn" => {
            ensure!(address.contains("://"), BAD_ARGUMENTS, "Host is empty in S3 URI.");
        }
        _ => {}
    }
    // Behind keys of S3 it stands elsewhere: there a word that is no format is a key.
    if let Some(format) = kind.format.filter(|_| args.len() <= 3).and_then(|at| args.get(at))
        && let Some(format) = text(format)
        && (args.len() == 2 || !kind.name.starts_with('S'))
        && format != "auto"
    {
        FORMATS.get(&format)?;
    }
    Ok(())
}

/// The engine as SHOW CREATE prints it: without passwords, and with the format that the address tells.
fn shown(kind: &Kind, storage: &ast::Storage) -> String {
    let args = arguments(storage);
    let is_hidden = |at: usize| {
        let of_keys = kind.shown == "S3" && at == 2 && args.len() > 2 && {
            let second = args.get(1).and_then(text);
            second.is_some_and(|word| FORMATS.get(&word).is_err() && word != "auto")
        };
        of_keys || kind.password == Some(at)
    };
    let argument = |(at, arg): (usize, &ast::Expr)| match text(arg) {
        Some(_) if is_hidden(at) => "'[HIDDEN]'".to_owned(),
        Some(address) if at == 0 => match without_password(&address) {
            Some(hidden) => chalet_syntax::print::string_literal(hidden),
            None => arg.to_string(),
        },
        _ => arg.to_string(),
    };
    let mut written: Vec<String> = args.iter().enumerate().map(argument).collect();
    let told = args.first().and_then(text).and_then(|address| FORMATS.of_path(&address));
    let lacks_format = args.len() == 1 || kind.shown == "S3" && args.len() == 3 && is_hidden(2);
    if let Some(format) = told.filter(|_| kind.format.is_some() && lacks_format) {
        written.push(format!("'{}'", format.name));
    }
    let mut shown = kind.name.to_owned();
    if !written.is_empty() {
        shown.push_str(&format!("({})", written.join(", ")));
    }
    if let Some(key) = &storage.partition_by {
        shown.push_str(&format!("\nPARTITION BY {key}"));
    }
    if let Some(key) = &storage.order_by {
        shown.push_str(&format!(
            "\nORDER BY {}",
            key.iter().map(|item| item.expr.to_string()).collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(key) = &storage.primary_key {
        shown.push_str(&format!("\nPRIMARY KEY {key}"));
    }
    let settings = storage.settings.iter().filter_map(|setting| match &setting.value {
        ast::SettingValue::Expr(value) => Some(format!("{} = {value}", setting.name.name)),
        ast::SettingValue::Default => None,
    });
    let settings = settings.collect::<Vec<_>>().join(", ");
    if !settings.is_empty() {
        shown.push_str(&format!("\nSETTINGS {settings}"));
    }
    shown
}

/// `scheme://user:[HIDDEN]@host` of an address with a password.
fn without_password(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once("://")?;
    let (login, host) = rest.split_once('@')?;
    let (user, _) = login.split_once(':')?;
    (!login.contains('/')).then(|| format!("{scheme}://{user}:[HIDDEN]@{host}"))
}

/// A table of a system elsewhere.
struct External {
    kind: &'static Kind,
    schema: TableSchema,
    address: Option<String>,
}

impl External {
    fn failure(&self) -> Error {
        let address = self.address.as_deref().unwrap_or_default();
        match self.kind.name {
            "Kafka" => err!(
                QUERY_NOT_ALLOWED,
                "Direct select is not allowed, nor is there a connection to a broker of table engine Kafka"
            ),
            "Executable" | "ExecutablePool" => err!(
                UNSUPPORTED_METHOD,
                "Executable file {address} does not exist inside user scripts folder"
            ),
            engine => unreachable(self.kind.function, address).unwrap_or_else(|| {
                err!(
                    NOT_IMPLEMENTED,
                    "Table engine {engine} is not supported: '{address}' is not connected to"
                )
            }),
        }
    }
}

impl Table for External {
    fn engine(&self) -> &str {
        self.kind.shown
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Err(self.failure())
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        ensure!(
            !matches!(self.kind.name, "MongoDB" | "Executable" | "ExecutablePool"),
            NOT_IMPLEMENTED,
            "Method write is not supported by storage {}",
            self.kind.shown
        );
        Err(self.failure())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

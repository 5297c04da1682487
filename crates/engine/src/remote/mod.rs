//! `remote`, `remoteSecure`, `cluster`: tables of ClickHouse servers. What can be said of a query in SQL that all servers understand alike
//! is sent to them: columns, conditions, groups, orders and limits; their rows come back block by block.
//!
//! - [`expression`]: what can be said
//! - [`groups`]: GROUP BY and DISTINCT, before the optimizer
//! - [`rows`]: conditions, orders and limits, behind it
//! - [`together`]: tables of one statement that are asked at once

pub(crate) mod cluster;
pub(crate) mod distributed;
mod expression;
pub(crate) mod groups;
mod insert;
mod receiving;
pub(crate) mod rows;
mod scan;
mod shard;
mod sql;
mod structure;
pub(crate) mod together;

use self::sql::quoted_name;
use crate::query_context::QueryContext;
use crate::reading::read_request;
use crate::table_argument::text;
use chalet_base::{Result, bail, ensure};
use chalet_binder::TableArgument;
use chalet_client::{Hosts, Method, Options, Tls, TlsOptions, Watch, addresses, options};
use chalet_formats::{ReadRequest, Schema};
use chalet_storage::{Inserter, Scan, ScanRequest, Table, TableSchema};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// A table of one or more servers.
#[derive(Clone)]
pub(crate) struct RemoteTable {
    reach: Arc<Reach>,
    /// As the servers know it: `` `db`.`table` ``.
    name: Arc<str>,
    schema: TableSchema,
    /// Where it is what the servers make of the table.
    made: Option<Arc<sql::Made>>,
    narrowing: sql::Narrowing,
    /// Where it is one of several that are asked at once.
    together: Option<together::Member>,
    /// How rows that are inserted are divided among several shards.
    division: Option<insert::Division>,
}

/// Servers, and the statement that speaks to them.
struct Reach {
    shards: Vec<Hosts>,
    /// Shards of which no replica can be reached are left out.
    skips_unavailable: bool,
    /// Asked while a server is waited for.
    watch: Option<Watch>,
    /// How columns are converted when a server gives another type than it said before.
    request: ReadRequest,
}

/// `remote('addresses'[, db, table | db.table[, 'user'[, 'password']]])`, and `remoteSecure`, with TLS.
pub(crate) fn table(function: &str, args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let words: Option<Vec<String>> = args.iter().map(text).collect();
    let Some(words) = words.filter(|words| (1..=6).contains(&words.len())) else {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function 'remote' requires from 1 to 6 parameters: <addresses pattern> [, <name of remote database>, <name of \
             remote table>] [, username[, password], sharding_key]"
        );
    };
    let (database, table, credentials) = named_table(&words[1..], &args[1..])?;
    ensure!(
        credentials.len() <= 2,
        NOT_IMPLEMENTED,
        "A sharding key of table function '{function}' is not supported"
    );
    let is_secure = function.ends_with("Secure");
    let template = Options {
        user: credentials.first().cloned().unwrap_or_else(|| "default".into()),
        password: credentials.get(1).cloned().unwrap_or_default(),
        tls: if is_secure { Some(tls(ctx)?) } else { None },
        ..Options::default()
    };
    let port = if is_secure { options::SECURE_PORT } else { options::PORT };
    let servers = Servers::of(ctx);
    let host = |address: &String| -> Result<Options> {
        let (host, port) = addresses::host_and_port(address, port)?;
        Ok(servers.limit(Options { host, port, ..template.clone() }))
    };
    let shards = addresses::shards(&words[0])?;
    let shards = shards.iter().map(|replicas| {
        let hosts = replicas.iter().map(host).collect::<Result<_>>()?;
        Ok(Hosts::new(hosts))
    });
    over(shards.collect::<Result<_>>()?, &database, &table, ctx)
}

/// A table of these servers, as they describe it.
fn over(shards: Vec<Hosts>, database: &str, table: &str, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let reach = reach(shards, ctx);
    let name = remote_name(database, table);
    let described = ctx.functions.shared.get::<structure::Described>();
    let schema = described.schema(&reach, &name, (database, table))?;
    Ok(Arc::new(RemoteTable {
        reach: Arc::new(reach),
        name: name.into(),
        schema,
        made: None,
        narrowing: sql::Narrowing::default(),
        together: None,
        division: None,
    }))
}

/// As servers know a table.
fn remote_name(database: &str, table: &str) -> String {
    format!("{}.{}", quoted_name(database), quoted_name(table))
}

/// The servers, for a statement.
fn reach(shards: Vec<Hosts>, ctx: &QueryContext) -> Reach {
    Reach {
        shards,
        skips_unavailable: ctx.state.settings.flag("skip_unavailable_shards").unwrap_or(false),
        watch: ctx.functions.interrupt.0.clone(),
        request: read_request(Schema::new(), ctx),
    }
}

/// Database and table of the arguments behind the addresses, and what follows them.
fn named_table<'a>(words: &'a [String], args: &[TableArgument]) -> Result<(String, String, &'a [String])> {
    let Some(first) = words.first() else { return Ok(("system".into(), "one".into(), words)) };
    // A table with its database is one word, or a string.
    if let Some((database, table)) = first.split_once('.')
        && (words.len() == 1 || matches!(args[0], TableArgument::Word(_)))
    {
        return Ok((database.into(), table.into(), &words[1..]));
    }
    match words.get(1) {
        Some(table) => Ok((first.clone(), table.clone(), &words[2..])),
        None => Ok(("default".into(), first.clone(), &words[1..])),
    }
}

/// Whom to trust, by the setting `chalet_tls`, whose entries are the options of a URL: `{'verify': '0'}`, `{'ca_cert': 'path'}`.
fn tls(ctx: &QueryContext) -> Result<Tls> {
    let mut options = TlsOptions::default();
    for (name, value) in ctx.state.settings.entries("chalet_tls") {
        ensure!(options.set(&name, &value)?, BAD_ARGUMENTS, "Unknown option {name} of chalet_tls");
    }
    let identity = &ctx.state.identity;
    for path in [&options.ca, &options.certificate, &options.key].into_iter().flatten() {
        identity.files.path(&path.to_string_lossy(), &identity.user)?;
    }
    if options == TlsOptions::default() { Tls::of_system() } else { Tls::new(&options) }
}

/// How servers are spoken to, by the settings.
struct Servers {
    connect_timeout: Duration,
    receive_timeout: Option<Duration>,
    send_timeout: Option<Duration>,
    compression: Method,
}

impl Servers {
    fn of(ctx: &QueryContext) -> Servers {
        let settings = &ctx.state.settings;
        let connect_ms = settings.number("connect_timeout_with_failover_ms").unwrap_or(1000);
        Servers {
            connect_timeout: Duration::from_millis(connect_ms),
            receive_timeout: settings.seconds("receive_timeout"),
            send_timeout: settings.seconds("send_timeout"),
            compression: match settings.text("network_compression_method").unwrap_or_default() {
                text if text.eq_ignore_ascii_case("none") => Method::None,
                text if text.eq_ignore_ascii_case("zstd") => Method::Zstd,
                _ => Method::Lz4,
            },
        }
    }

    fn limit(&self, host: Options) -> Options {
        Options {
            connect_timeout: self.connect_timeout,
            receive_timeout: self.receive_timeout.unwrap_or(host.receive_timeout),
            send_timeout: self.send_timeout.unwrap_or(host.send_timeout),
            compression: Some(self.compression),
            ..host
        }
    }
}

impl Table for RemoteTable {
    fn engine(&self) -> &str {
        "Remote"
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        Ok(Arc::new(scan::RemoteScan::new(self, request)))
    }

    fn insert(&self) -> Result<Box<dyn Inserter>> {
        insert::inserter(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

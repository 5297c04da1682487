//! `remote`, `remoteSecure`, `cluster`: tables of ClickHouse servers. What can be said of a query in SQL that all servers understand alike
//! is sent to them: columns, conditions, groups, orders and limits; their rows come back block by block.
//!
//! - [`arguments`]: what the functions are given
//! - [`expression`]: what can be said
//! - [`groups`]: GROUP BY and DISTINCT, before the optimizer
//! - [`rows`]: conditions, orders and limits, behind it
//! - [`together`]: tables of one statement that are asked at once

mod arguments;
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

use self::arguments::Source;
use self::sql::quoted_name;
use crate::query_context::QueryContext;
use crate::reading::read_request;
use crate::table_argument::text;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_binder::{Environment, TableArgument, bind_query};
use chalet_client::{Hosts, Method, Options, Tls, TlsOptions, Watch, addresses, options};
use chalet_formats::{ReadRequest, Schema};
use chalet_storage::view::View;
use chalet_storage::{Inserter, Scan, ScanRequest, Table, TableSchema};
use chalet_syntax::ast::{Ident, ObjectName, StatementKind};
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
    let (addresses, source, rest) = arguments(args)?;
    let (credentials, rest) = arguments::credentials(rest);
    let key = arguments::sharding_key(rest, wrong_number)?;
    if is_own(&addresses)? {
        return own(&source, ctx);
    }
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
    let shards = addresses::shards(&addresses)?;
    let shards = shards.iter().map(|replicas| {
        let hosts = replicas.iter().map(host).collect::<Result<_>>()?;
        Ok(Hosts::new(hosts))
    });
    over(shards.collect::<Result<_>>()?, &source, key.as_deref(), ctx)
}

fn wrong_number() -> Error {
    err!(
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Table function 'remote' requires from 1 to 6 parameters: <addresses pattern> [, <name of remote database>, <name of \
         remote table>] [, username[, password], sharding_key]"
    )
}

/// The addresses, what is read of the servers, and the arguments behind that.
fn arguments(args: &[TableArgument]) -> Result<(String, Source, &[TableArgument])> {
    let Some((addresses, rest)) = args.split_first().filter(|_| args.len() <= 6) else {
        return Err(wrong_number());
    };
    let (source, rest) = Source::of(rest).ok_or_else(wrong_number)?;
    Ok((text(addresses).ok_or_else(wrong_number)?, source, rest))
}

/// Is it this process alone that the addresses mean? As in ClickHouse a port says that a server is meant.
fn is_own(addresses: &str) -> Result<bool> {
    let shards = addresses::shards(addresses)?;
    let is_here = |address: &String| ["127.0.0.1", "localhost", "::1", "[::1]"].contains(&address.as_str());
    Ok(matches!(&shards[..], [replicas] if replicas.iter().any(is_here)))
}

/// What is named, of this process.
fn own(source: &Source, ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let text = match source {
        Source::Table(database, table) => {
            let found = Environment::table(ctx, Some(database), table)?;
            return Ok(found
                .ok_or_else(|| err!(UNKNOWN_TABLE, "Table {database}.{table} does not exist"))?
                .0);
        }
        Source::Function(written) => format!("SELECT * FROM {written}"),
    };
    let Some(StatementKind::Query(query)) =
        chalet_syntax::parse_printed(&text)?.pop().map(|statement| statement.kind)
    else {
        bail!(LOGICAL_ERROR, "{text} is no query")
    };
    let bound = bind_query(&query, ctx, &ctx.ids)?;
    Ok(Arc::new(View { schema: TableSchema::new(ctx.columns_of(&bound)), query: text }))
}

/// The table that an INSERT into a table function writes to, where that is one of this process under its name.
pub(crate) fn own_table(
    function: &str,
    args: &[TableArgument],
    ctx: &QueryContext,
) -> Result<Option<ObjectName>> {
    if !REMOTE.contains(&function) {
        return Ok(None);
    }
    match arguments(args)? {
        (addresses, source @ Source::Table(..), _) if is_own(&addresses)? => {
            own(&source, ctx)?;
            let Source::Table(database, table) = source else { return Ok(None) };
            Ok(Some(ObjectName { database: Some(Ident::new(&database)), name: Ident::new(&table) }))
        }
        _ => Ok(None),
    }
}

/// The table functions that take addresses.
pub(crate) const REMOTE: [&str; 2] = ["remote", "remoteSecure"];

/// A table of these servers, as they describe it.
fn over(
    shards: Vec<Hosts>,
    source: &Source,
    sharding_key: Option<&str>,
    ctx: &QueryContext,
) -> Result<Arc<dyn Table>> {
    let reach = reach(shards, ctx);
    let (name, named) = match source {
        Source::Table(database, table) => (remote_name(database, table), (database.as_str(), table.as_str())),
        Source::Function(written) => (written.clone(), ("", written.as_str())),
    };
    let described = ctx.functions.shared.get::<structure::Described>();
    let schema = described.schema(&reach, &name, named)?;
    let n_shards = reach.shards.len();
    let division = sharding_key.map(|key| distributed::by_key(key, &schema, n_shards, ctx)).transpose()?;
    Ok(Arc::new(RemoteTable {
        reach: Arc::new(reach),
        name: name.into(),
        schema,
        made: None,
        narrowing: sql::Narrowing::default(),
        together: None,
        division,
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

//! `remote`: tables of ClickHouse servers. Columns, ranges of filters and limits are sent to the servers as SQL; their rows come
//! back block by block.

mod insert;
mod scan;
mod shard;
mod sql;
mod structure;

use self::sql::quoted_name;
use crate::query_context::QueryContext;
use crate::reading::read_request;
use crate::table_functions::text;
use chalet_base::{Result, bail, ensure};
use chalet_binder::TableArgument;
use chalet_client::{Hosts, Method, Options, Watch, addresses};
use chalet_formats::{ReadRequest, Schema};
use chalet_storage::{Inserter, Scan, ScanRequest, Table, TableSchema};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// A table of one or more servers.
pub(crate) struct RemoteTable {
    reach: Arc<Reach>,
    /// As the servers know it: `` `db`.`table` ``.
    name: Arc<str>,
    schema: TableSchema,
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

/// `remote('addresses'[, db, table | db.table[, 'user'[, 'password']]])`.
pub(crate) fn table(args: &[TableArgument], ctx: &QueryContext) -> Result<Arc<dyn Table>> {
    let words: Option<Vec<String>> = args.iter().map(text).collect();
    let Some(words) = words.filter(|words| (1..=6).contains(&words.len())) else {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Table function 'remote' requires from 1 to 5 parameters: <addresses pattern>, <name of remote database>, <name of \
             remote table>, [username, [password]]"
        );
    };
    let (database, table, credentials) = named_table(&words[1..], &args[1..])?;
    ensure!(
        credentials.len() <= 2,
        NOT_IMPLEMENTED,
        "A sharding key of table function 'remote' is not supported"
    );
    let user = credentials.first().cloned().unwrap_or_else(|| "default".into());
    let password = credentials.get(1).cloned().unwrap_or_default();
    let reach = Reach {
        shards: shards(&words[0], &user, &password, ctx)?,
        skips_unavailable: ctx.state.settings.flag("skip_unavailable_shards").unwrap_or(false),
        watch: ctx.functions.interrupt.0.clone(),
        request: read_request(Schema::new(), ctx),
    };
    let name = format!("{}.{}", quoted_name(&database), quoted_name(&table));
    let schema = structure::of(&reach, &name, (&database, &table))?;
    Ok(Arc::new(RemoteTable { reach: Arc::new(reach), name: name.into(), schema }))
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

fn shards(description: &str, user: &str, password: &str, ctx: &QueryContext) -> Result<Vec<Hosts>> {
    let settings = &ctx.state.settings;
    let defaults = Options::default();
    let connect_ms = settings.number("connect_timeout_with_failover_ms").unwrap_or(1000);
    let compression = match settings.text("network_compression_method").unwrap_or_default() {
        text if text.eq_ignore_ascii_case("none") => Method::None,
        text if text.eq_ignore_ascii_case("zstd") => Method::Zstd,
        _ => Method::Lz4,
    };
    let options = |address: &String| -> Result<Options> {
        let (host, port) = addresses::host_and_port(address, chalet_client::options::PORT)?;
        Ok(Options {
            host,
            port,
            user: user.into(),
            password: password.into(),
            connect_timeout: Duration::from_millis(connect_ms),
            receive_timeout: settings.seconds("receive_timeout").unwrap_or(defaults.receive_timeout),
            send_timeout: settings.seconds("send_timeout").unwrap_or(defaults.send_timeout),
            compression: Some(compression),
            ..defaults.clone()
        })
    };
    let shards = addresses::shards(description)?;
    shards
        .iter()
        .map(|replicas| Ok(Hosts::new(replicas.iter().map(options).collect::<Result<_>>()?)))
        .collect()
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

//! The logs of the process as tables, and `system.processes`. Rows are made when a query reads them, not when it is bound.

use super::structures::{self, SparseRow};
use crate::caller::Caller;
use crate::own_functions::normalized_hash;
use crate::query_context::QueryContext;
use crate::query_log::{Finished, Head, LOGS, Processor, Ring, Running, ThreadTime, Trace};
use crate::settings::Settings;
use chalet_base::Result;
use chalet_memory::profile::sampler::TraceKind;
use chalet_storage::{Scan, ScanRequest, Table, TableSchema};
use chalet_types::Value;
use std::any::Any;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Makes the rows of a log: of the statements of one user, or of all.
type MakeRows = fn(Option<&str>) -> Vec<SparseRow>;

/// A table whose rows are those of the moment when it is read.
struct Log {
    name: &'static str,
    engine: String,
    schema: TableSchema,
    /// Whose statements are told of; of everybody's if `None`.
    of: Option<String>,
    rows: MakeRows,
}

impl Table for Log {
    fn engine(&self) -> &str {
        &self.engine
    }

    fn schema(&self) -> TableSchema {
        self.schema.clone()
    }

    fn takes_prewhere(&self) -> bool {
        false
    }

    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn Scan>> {
        structures::table(self.name, (self.rows)(self.of.as_deref()))?.scan(request)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A log by name; `None` for other tables.
pub(super) fn log(name: &str, ctx: &QueryContext) -> Result<Option<Arc<dyn Table>>> {
    let logs: [(&'static str, MakeRows); 8] = [
        ("errors", errors),
        ("user_processes", user_processes),
        ("processes", processes),
        ("processors_profile_log", |of| collected(&LOGS.processors, |one| &one.head.user, processor, of)),
        ("query_log", queries),
        ("query_thread_log", |of| collected(&LOGS.threads, |one| &one.head.user, thread, of)),
        ("trace_log", |of| collected(&LOGS.traces, |one| &one.head.user, trace, of)),
        (USER_LOG, queries),
    ];
    let Some((name, rows)) = logs.into_iter().find(|(known, _)| *known == name) else { return Ok(None) };
    let empty = structures::table(name, Vec::new())?;
    let (engine, schema) = (empty.engine().to_string(), empty.schema());
    // Clients of a server see their own statements, the program that embeds the engine all.
    let identity = &ctx.state.identity;
    let sees_all = !identity.is_of_client() && name != USER_LOG;
    let of = (!sees_all).then(|| identity.user.to_string());
    Ok(Some(Arc::new(Log { name, engine, schema, of, rows })))
}

/// The log that has the statements of who asks alone.
const USER_LOG: &str = "user_query_log";

/// The rows of the entries that one user may see.
fn collected<T>(
    ring: &Ring<T>,
    user: fn(&T) -> &Arc<str>,
    row: fn(&T) -> SparseRow,
    of: Option<&str>,
) -> Vec<SparseRow> {
    let is_seen = |one: &T| of.is_none_or(|of| **user(one) == *of);
    ring.collect(|one| is_seen(one).then(|| row(one))).into_iter().flatten().collect()
}

const MICROSECONDS: i64 = 1_000_000;
const SECONDS_OF_DAY: i64 = 86_400;
/// `::ffff:127.0.0.1`.
const LOCAL: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1];
/// `Local` among the interfaces.
const LOCAL_INTERFACE: i64 = 6;

fn seconds(us: i64) -> Value {
    Value::UInt(u64::try_from(us.div_euclid(MICROSECONDS)).unwrap_or(0))
}

fn date(us: i64) -> Value {
    Value::UInt(u64::try_from(us.div_euclid(MICROSECONDS * SECONDS_OF_DAY)).unwrap_or(0))
}

/// When a row tells of what happened.
fn at(us: i64) -> SparseRow {
    vec![
        ("event_date", date(us)),
        ("event_time", seconds(us)),
        ("event_time_microseconds", Value::Int(us)),
        ("hostname", Value::from(hostname().as_str())),
    ]
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

/// Who a statement is of.
fn of_user(user: &str, query_id: &str, caller: Option<&Caller>) -> SparseRow {
    let asked_from = caller.and_then(|caller| caller.address);
    let octets = asked_from.map_or(LOCAL, |at| match at.ip() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    });
    let address = || Value::Bytes(octets.into());
    let port = || Value::from(u64::from(asked_from.map_or(0, |at| at.port())));
    let mut row = vec![
        ("is_initial_query", Value::from(true)),
        ("user", Value::from(user)),
        ("query_id", Value::from(query_id)),
        ("address", address()),
        ("initial_user", Value::from(user)),
        ("initial_query_id", Value::from(query_id)),
        ("initial_address", address()),
        ("authenticated_user", Value::from(user)),
        ("connection_address", address()),
        ("connection_port", port()),
        ("port", port()),
        ("initial_port", port()),
    ];
    let Some(caller) = caller else {
        row.push(("interface", Value::Int(LOCAL_INTERFACE)));
        row.push(("client_name", Value::from("chalet")));
        return row;
    };
    row.extend([
        ("interface", Value::Int(caller.interface as i64)),
        ("is_secure", Value::from(u64::from(caller.is_secure))),
        ("os_user", Value::from(caller.os_user.as_str())),
        ("client_hostname", Value::from(caller.hostname.as_str())),
        ("client_name", Value::from(caller.name.as_str())),
        ("client_revision", Value::from(caller.revision)),
        ("client_version_major", Value::from(caller.version.0)),
        ("client_version_minor", Value::from(caller.version.1)),
        ("client_version_patch", Value::from(caller.version.2)),
        ("quota_key", Value::from(caller.quota_key.as_str())),
        ("http_method", Value::Int(caller.http_method.into())),
        ("http_user_agent", Value::from(caller.http_user_agent.as_str())),
        ("http_referer", Value::from(caller.http_referer.as_str())),
        ("forwarded_for", Value::from(caller.forwarded_for.as_str())),
    ]);
    row
}

fn of_text(sql: &str, database: &str) -> SparseRow {
    vec![
        ("query", Value::from(sql)),
        ("normalized_query_hash", Value::from(normalized_hash(sql))),
        ("current_database", Value::from(database)),
    ]
}

fn of_start(head: &Head) -> SparseRow {
    vec![
        ("query_start_time", seconds(head.started_us)),
        ("query_start_time_microseconds", Value::Int(head.started_us)),
        ("initial_query_start_time", seconds(head.started_us)),
        ("initial_query_start_time_microseconds", Value::Int(head.started_us)),
    ]
}

fn settings(settings: &Settings) -> Value {
    Value::Map(settings.changed().map(|(name, text)| (Value::from(name), Value::from(text))).collect())
}

/// Rows of all statements, or of one user's.
fn queries(of: Option<&str>) -> Vec<SparseRow> {
    let rows = LOGS.queries.collect(|one| match of {
        Some(user) if *one.head.user != *user => Vec::new(),
        _ => rows_of(one),
    });
    rows.into_iter().flatten().collect()
}

/// The start of a statement and its end, as far as they are to be told.
fn rows_of(one: &Finished) -> Vec<SparseRow> {
    const START: u8 = 1;
    let end = match (&one.error, one.failed_early) {
        (None, _) => 2,
        (Some(_), true) => 3,
        (Some(_), false) => 4,
    };
    let mut rows = Vec::new();
    if one.least_type <= START && !one.failed_early {
        let mut row = row_of(one, START, one.head.started_us);
        row.push(("memory_usage", Value::from(0u64)));
        rows.push(row);
    }
    if end >= one.least_type {
        let head = &one.head;
        let mut row = row_of(one, end, head.started_us + i64::try_from(head.duration_us).unwrap_or(0));
        let events = one
            .events
            .iter()
            .map(|(event, n)| (Value::string(format!("{event:?}")), Value::from(*n)))
            .collect();
        row.extend([
            ("query_duration_ms", Value::from(head.duration_us / 1000)),
            ("read_rows", Value::from(one.read_rows)),
            ("read_bytes", Value::from(one.read_bytes)),
            ("written_rows", Value::from(one.written.rows)),
            ("written_bytes", Value::from(one.written.bytes)),
            ("result_rows", Value::from(one.written.result_rows)),
            ("result_bytes", Value::from(one.written.result_bytes)),
            ("memory_usage", Value::from(one.peak_memory)),
            ("ProfileEvents", Value::Map(events)),
        ]);
        if let Some(error) = &one.error {
            row.push(("exception_code", Value::Int(error.0.into())));
            row.push(("exception", Value::from(error.1.as_str())));
        }
        rows.push(row);
    }
    rows
}

fn row_of(one: &Finished, kind: u8, us: i64) -> SparseRow {
    let head = &one.head;
    let mut row = at(us);
    row.extend(of_start(head));
    row.extend(of_user(&head.user, &head.query_id, head.caller.as_deref()));
    row.extend(of_text(&head.sql, head.database()));
    row.extend([
        ("type", Value::Int(kind.into())),
        ("query_kind", Value::from(one.kind)),
        ("formatted_query", Value::from(one.formatted.as_deref().unwrap_or_default())),
        ("log_comment", Value::from(one.settings.text("log_comment").unwrap_or_default())),
        ("thread_ids", Value::Array(vec![Value::from(head.thread)])),
        ("peak_threads_usage", Value::from(1u64)),
        ("Settings", settings(&one.settings)),
    ]);
    row
}

/// The codes that statements failed with. Clients of a server see that there were some, and not what the others' statements said.
fn errors(of: Option<&str>) -> Vec<SparseRow> {
    let errors = LOGS.errors();
    let rows = errors.iter().map(|(code, failed)| -> SparseRow {
        let (time, message, query_id) = &failed.last;
        let mut row = vec![
            ("name", Value::from(failed.name)),
            ("code", Value::Int((*code).into())),
            ("value", Value::from(failed.times)),
            ("last_error_time", Value::UInt(u64::try_from(*time).unwrap_or_default())),
        ];
        if of.is_none() {
            row.push(("last_error_message", Value::from(message.as_str())));
            row.push(("query_id", Value::from(&**query_id)));
        }
        row
    });
    rows.collect()
}

/// What the statements of each user take that run now.
fn user_processes(of: Option<&str>) -> Vec<SparseRow> {
    let running = LOGS.running();
    let mut users: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for one in running.iter().filter(|one| of.is_none_or(|of| *one.functions.user == *of)) {
        let memory = &one.control.memory;
        let sums = users.entry(&one.functions.user).or_default();
        sums.0 = sums.0.saturating_add(memory.current());
        sums.1 = sums.1.saturating_add(memory.peak());
    }
    let rows = users.into_iter().map(|(user, (now, peak))| -> SparseRow {
        let bytes = |bytes: u64| Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX));
        vec![("user", Value::from(user)), ("memory_usage", bytes(now)), ("peak_memory_usage", bytes(peak))]
    });
    rows.collect()
}

fn processes(of: Option<&str>) -> Vec<SparseRow> {
    let running = LOGS.running();
    let seen = running.iter().filter(|one| of.is_none_or(|of| *one.functions.user == *of));
    seen.map(process).collect()
}

fn process(one: &Running) -> SparseRow {
    let control = &one.control;
    let progress = control.progress();
    let mut row = of_user(&one.functions.user, &one.functions.query_id, one.caller.as_deref());
    row.extend(of_text(&one.sql, &one.functions.database));
    row.extend([
        ("elapsed", Value::from(progress.elapsed.as_secs_f64())),
        ("is_cancelled", Value::from(control.is_cancelled())),
        ("read_rows", Value::from(progress.read_rows)),
        ("read_bytes", Value::from(control.read_bytes.load(Relaxed))),
        ("total_rows_approx", Value::from(progress.total_rows)),
        ("memory_usage", Value::Int(i64::try_from(control.memory.current()).unwrap_or(i64::MAX))),
        ("peak_memory_usage", Value::Int(i64::try_from(control.memory.peak()).unwrap_or(i64::MAX))),
        ("query_kind", Value::from(one.kind)),
        ("thread_ids", Value::Array(vec![Value::from(one.thread)])),
        ("peak_threads_usage", Value::from(1u64)),
        ("Settings", settings(&one.settings)),
    ]);
    row
}

fn thread(one: &ThreadTime) -> SparseRow {
    let head = &one.head;
    let mut row = at(head.started_us + i64::try_from(head.duration_us).unwrap_or(0));
    row.extend(of_start(head));
    row.extend(of_user(&head.user, &head.query_id, head.caller.as_deref()));
    row.extend(of_text(&head.sql, head.database()));
    let peak = Value::Int(i64::try_from(one.peak_memory).unwrap_or(i64::MAX));
    let times =
        [("RealTimeMicroseconds", one.totals.wall_ns), ("OSCPUVirtualTimeMicroseconds", one.totals.cpu_ns)];
    row.extend([
        ("query_duration_ms", Value::from(one.totals.wall_ns / 1_000_000)),
        ("memory_usage", peak.clone()),
        ("peak_memory_usage", peak),
        ("thread_id", Value::from(one.totals.thread)),
        ("master_thread_id", Value::from(head.thread)),
        (
            "ProfileEvents",
            Value::Map(times.map(|(name, ns)| (Value::from(name), Value::from(ns / 1000))).into()),
        ),
    ]);
    row
}

fn processor(one: &Processor) -> SparseRow {
    let head = &one.head;
    let mut row = at(head.started_us + i64::try_from(head.duration_us).unwrap_or(0));
    row.extend([
        ("id", Value::from(one.id)),
        ("parent_ids", Value::Array(one.parents.iter().map(|&id| Value::from(id)).collect())),
        ("plan_step", Value::from(one.stage_id)),
        ("plan_step_name", Value::from(one.stage)),
        ("initial_query_id", Value::from(&*head.query_id)),
        ("query_id", Value::from(&*head.query_id)),
        ("name", Value::from(one.name)),
        ("elapsed_us", Value::from(one.cost.wall_ns / 1000)),
        ("input_wait_elapsed_us", Value::from(one.waiting_ns / 1000)),
        ("input_rows", Value::from(one.cost.rows)),
        ("input_bytes", Value::from(one.cost.bytes)),
        ("output_rows", Value::from(one.rows_out)),
        ("output_bytes", Value::from(one.bytes_out)),
        ("processor_uniq_id", Value::string(format!("{}_{}", one.name, one.id))),
        ("step_uniq_id", Value::string(format!("{}_{}", one.stage, one.stage_id))),
    ]);
    row
}

fn trace(one: &Trace) -> SparseRow {
    let us = one.head.started_us + i64::try_from(one.at_ns / 1000).unwrap_or(0);
    let mut row = at(us);
    row.extend([
        ("timestamp_ns", Value::from(u64::try_from(us).unwrap_or(0) * 1000 + one.at_ns % 1000)),
        (
            "trace_type",
            Value::Int(match one.kind {
                TraceKind::Real => 0,
                TraceKind::Cpu => 1,
            }),
        ),
        ("thread_id", Value::from(one.thread)),
        ("query_id", Value::from(&*one.head.query_id)),
        ("size", Value::Int(i64::try_from(one.weight_ns).unwrap_or(i64::MAX))),
        ("symbols", Value::Array(one.symbols.iter().map(|name| Value::from(*name)).collect())),
    ]);
    row
}

//! A request that runs a statement.

use super::input::Body as RequestBody;
use super::multipart;
use super::request::Request;
use super::response::{Body, Response};
use super::result::ResultBody;
use super::url;
use crate::external::ExternalTables;
use crate::queries::interrupt;
use crate::quotas::Charge;
use crate::sessions::{DEFAULT_TIMEOUT, Lease, Wanted};
use crate::shared::{Shared, check_settings, use_database};
use crate::statement::{cannot_read, split};
use crate::tally::Tally;
use crate::users::User;
use chalet_base::{Result, bail, base64, ensure};
use chalet_client::Stream;
use chalet_client::compression::FrameReader;
use chalet_engine::{Caller, InsertData, Interface, RunOptions};
use chalet_formats::Compression;
use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Parameters of a request that are no settings.
const OWN: &[&str] = &[
    "query",
    "user",
    "password",
    "database",
    "default_format",
    "query_id",
    "session_id",
    "session_timeout",
    "session_check",
    "close_session",
    "compress",
    "decompress",
    "wait_end_of_query",
    "buffer_size",
    "client_protocol_version",
    "quota_key",
    "stacktrace",
    "role",
    "_",
];

/// Headers of answers that pages of other sites may read.
const EXPOSED: &str = "X-ClickHouse-Query-Id, X-ClickHouse-Format, X-ClickHouse-Timezone, X-ClickHouse-Summary, \
                       X-ClickHouse-Server-Display-Name, X-ClickHouse-Exception-Code, X-ClickHouse-Exception-Tag";

/// What rows are printed as when nobody names a format.
const DEFAULT_FORMAT: &str = "TabSeparated";

/// How often a client that wants to is told how far its statement is, in milliseconds.
const PROGRESS_MS: u64 = 100;

/// Runs the statement of a request. True where the connection can be used again.
pub fn run(request: &Request, body: RequestBody, socket: &Stream, shared: &Shared) -> bool {
    let Ok(clone) = socket.try_clone() else { return false };
    let mut response = Response::new(clone);
    response.has_body = request.method != "HEAD";
    response.has_chunks = !request.is_old;
    response.keeps_alive = request.keeps_alive() && !shared.connections.is_ending();
    response.set("Content-Type", "text/plain; charset=UTF-8");
    response.set("X-ClickHouse-Server-Display-Name", &shared.display_name);
    if request.flag("add_http_cors_header") && request.header("origin").is_some() {
        response.set("Access-Control-Allow-Origin", "*");
        response.set("Access-Control-Expose-Headers", EXPOSED);
    }
    let answer = Body::new(response);
    let mut result = None;
    let done = url::check(&request.query).and_then(|()| user(request, shared)).and_then(|user| {
        let charge = Charge::begin(user.quota.as_ref())?;
        charge.end(answered(request, body, socket, shared, &answer, &mut result, (&user, &charge)))
    });
    // Whoever has the answer may use the session again: it is given back by now.
    let sent = match (done, result) {
        (Ok(()), _) => answer.response().finish(),
        (Err(error), Some(result)) => result.fail(&error),
        (Err(error), None) => answer.response().fail(&error),
    };
    sent.is_ok() && answer.response().keeps_alive
}

/// Who asks, by one of three ways to say it.
fn user(request: &Request, shared: &Shared) -> Result<User> {
    let in_headers = (request.header("x-clickhouse-user"), request.header("x-clickhouse-key"));
    let in_url = (request.parameter("user"), request.parameter("password"));
    let (name, password) = match (request.header("authorization"), in_headers) {
        (Some(_), (Some(_), _) | (_, Some(_))) => bail!(
            AUTHENTICATION_FAILED,
            "Invalid authentication: it is not allowed to use X-ClickHouse HTTP headers and other authentication methods \
             simultaneously"
        ),
        (Some(given), _) => basic(given)?,
        (None, (name @ Some(_), password) | (name, password @ Some(_))) => {
            (name.unwrap_or_default().to_owned(), password.unwrap_or_default().to_owned())
        }
        (None, (None, None)) => {
            (in_url.0.unwrap_or_default().to_owned(), in_url.1.unwrap_or_default().to_owned())
        }
    };
    shared.users.authenticate(&name, &password)
}

/// Name and password of `Basic ...`.
fn basic(header: &str) -> Result<(String, String)> {
    let (scheme, digits) = header.split_once(' ').unwrap_or_default();
    let decoded = Some(digits).filter(|_| scheme.eq_ignore_ascii_case("basic")).and_then(of_base64);
    let Some(text) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        bail!(
            AUTHENTICATION_FAILED,
            "Invalid authentication: only the scheme Basic is known, with name and password"
        );
    };
    let (name, password) = text.split_once(':').unwrap_or((&text, ""));
    Ok((name.to_owned(), password.to_owned()))
}

fn of_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    base64::decode(text.trim().trim_end_matches('=').as_bytes(), &mut bytes, base64::STANDARD, false)?;
    Some(bytes)
}

fn answered(
    request: &Request,
    body: RequestBody,
    socket: &Stream,
    shared: &Shared,
    answer: &Body,
    result: &mut Option<ResultBody>,
    (user, charge): (&User, &Charge),
) -> Result<()> {
    let query_id = request.parameter("query_id").or(request.header("x-clickhouse-query-id"));
    let running = shared.queries.begin(query_id.map(str::to_owned))?;
    let tally = Arc::new(Tally::begin());
    {
        let mut response = answer.response();
        response.set("X-ClickHouse-Query-Id", &running.id);
        response.set("X-ClickHouse-Timezone", &shared.time_zone);
        response.tally = Some(tally.clone());
        response.set_watch(Some(running.watch()));
        if request.flag("wait_end_of_query") || request.flag("http_wait_end_of_query") {
            response.hold_all();
        }
    }
    let form;
    let mut parameters = &request.parameters[..];
    let mut body: Box<dyn Read + Send> = Box::new(body);
    if request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"))
        && let Some(fields) = form_fields(request, &mut body)?
    {
        form = [parameters, &fields].concat();
        parameters = &form;
        body = Box::new(std::io::empty());
    }
    let parts = multipart::parts(request, &mut body)?.unwrap_or_default();
    let about_tables = parts.about_tables();
    let with_fields;
    if !parts.fields.is_empty() {
        with_fields = [parameters, &parts.fields].concat();
        parameters = &with_fields;
    }
    let lease = leased(request, user, shared)?;
    let session = match &lease {
        Some(lease) => lease.session.clone(),
        None => Arc::new(shared.session(user)?),
    };
    let database = request.parameter("database").or(request.header("x-clickhouse-database"));
    use_database(&session, database.unwrap_or_default())?;
    let settings = settings(request, parameters, user, &about_tables)?;
    let mut tables = ExternalTables::new(&session);
    parts.make(&mut tables, parameters)?;
    let find =
        |name: &str| parameters.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut text = find("query").unwrap_or_default();
    if !text.is_empty() {
        text.push('\n');
    }
    let statement = split(Box::new(Cursor::new(text.into_bytes()).chain(decoded(request, body)?)))?;
    let default_format = find("default_format");
    let default_format = default_format.as_deref().or(request.header("x-clickhouse-format"));
    let setting = |name: &str| settings.iter().rfind(|(known, _)| known == name).map(|(_, value)| &**value);
    let is_on = |name: &str| matches!(setting(name), Some("1" | "true"));
    let turned_off = matches!(setting("enable_http_compression"), Some("0" | "false"));
    let tells_errors = is_on("http_write_exception_in_output_format");
    if is_on("send_progress_in_http_headers") {
        let every = setting("http_headers_progress_interval_ms").and_then(|ms| ms.parse().ok());
        answer.response().tell_progress(Duration::from_millis(every.unwrap_or(PROGRESS_MS)));
    }
    let tag: String = shared.queries.make_id().replace('-', "")[..16].to_owned();
    answer.response().set("X-ClickHouse-Exception-Tag", &tag);
    let default_format = default_format.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_FORMAT);
    let result =
        result.insert(ResultBody::new(request, answer, &tally, charge, default_format, !turned_off, tag)?);
    result.tells_errors = tells_errors;
    let client = socket.try_clone().map_err(cannot_read)?;
    let (told, spent, refused) = (tally.clone(), charge.clone(), running.is_cancelled.clone());
    let shown = answer.clone();
    let options = RunOptions {
        params: params(parameters),
        settings,
        query_id: Some(running.id.clone()),
        interrupt: Some(interrupt(&running, client)),
        killed: Some(running.is_cancelled.clone()),
        caller: Some(Arc::new(caller(request, socket))),
        on_progress: Some(Arc::new(move |progress| {
            told.on_progress(&progress);
            shown.tell_progress();
            if !spent.on_progress(&progress) {
                refused.store(true, Relaxed);
            }
        })),
        ..RunOptions::default()
    };
    let data = statement.data.map(InsertData::Bytes);
    let summary = session.serve(&statement.sql, options, data, result.consumer())?;
    drop(tables);
    tally.end(&summary);
    result.finish(&summary)
}

/// Who asks, as logs tell it.
fn caller(request: &Request, socket: &Stream) -> Caller {
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    Caller {
        interface: Interface::Http,
        address: socket.peer().ok(),
        is_secure: socket.is_encrypted(),
        quota_key: header("x-clickhouse-quota"),
        http_method: match request.method.as_str() {
            "GET" => 1,
            "POST" => 2,
            _ => 0,
        },
        http_user_agent: header("user-agent"),
        http_referer: header("referer"),
        forwarded_for: header("x-forwarded-for"),
        ..Caller::default()
    }
}

/// Fields of a form, where the statement is one of them: any other body is a statement that a careless client calls a form.
fn form_fields(request: &Request, body: &mut Box<dyn Read + Send>) -> Result<Option<Vec<(String, String)>>> {
    if request.parameter("query").is_some() {
        return Ok(None);
    }
    let mut bytes = vec![0; b"query=".len()];
    let mut read = 0;
    while read < bytes.len() {
        match body.read(&mut bytes[read..]).map_err(cannot_read)? {
            0 => break,
            n => read += n,
        }
    }
    bytes.truncate(read);
    if bytes != b"query=" {
        let rest = std::mem::replace(body, Box::new(std::io::empty()));
        *body = Box::new(Cursor::new(bytes).chain(rest));
        return Ok(None);
    }
    body.take(MAX_FORM + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
    ensure!(
        bytes.len() as u64 <= MAX_FORM,
        QUERY_IS_TOO_LARGE,
        "A form is too large (maximum: {MAX_FORM} bytes)"
    );
    let form = String::from_utf8_lossy(&bytes);
    url::check(&form)?;
    Ok(Some(url::pairs(&form)))
}

/// Bytes of a form.
const MAX_FORM: u64 = 16 << 20;

/// The body without what it is compressed with.
fn decoded(request: &Request, body: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
    let coding = request.header("content-encoding").unwrap_or_default();
    let body = match coding {
        "" | "identity" => body,
        coding => Compression::named(coding, "")?.reader(body)?,
    };
    Ok(if request.flag("decompress") { Box::new(FrameReader::new(body)) } else { body })
}

/// The session that the request names, if it names one.
fn leased<'a>(request: &Request, user: &User, shared: &'a Shared) -> Result<Option<Lease<'a>>> {
    if let Some(role) = request.parameter("role") {
        bail!(UNKNOWN_ROLE, "There is no role `{role}` in user directories");
    }
    let Some(id) = request.parameter("session_id") else { return Ok(None) };
    ensure!(!id.is_empty(), SESSION_ID_EMPTY, "Session id query parameter was provided, but it was empty");
    let timeout = match request.parameter("session_timeout") {
        None => DEFAULT_TIMEOUT,
        Some(text) => match text.parse() {
            Ok(seconds) => Duration::from_secs(seconds),
            Err(_) => bail!(INVALID_SESSION_TIMEOUT, "Invalid session timeout: '{text}'"),
        },
    };
    let is_checked = request.flag("session_check");
    let wanted = Wanted { user: &user.name, id, timeout, is_checked };
    let mut lease = shared.sessions.lease(&wanted, || shared.session(user))?;
    lease.closes = request.flag("close_session");
    Ok(Some(lease))
}

/// Values of `{name:Type}`.
fn params(parameters: &[(String, String)]) -> Vec<(String, String)> {
    let named = parameters.iter().filter_map(|(name, value)| Some((name.strip_prefix("param_")?, value)));
    named.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// All other parameters are settings.
fn settings(
    request: &Request,
    parameters: &[(String, String)],
    user: &User,
    about_tables: &[String],
) -> Result<Vec<(String, String)>> {
    let mut settings: Vec<_> = parameters
        .iter()
        .filter(|(name, _)| !OWN.contains(&name.as_str()) && !name.starts_with("param_"))
        .filter(|(name, _)| !about_tables.contains(name))
        .cloned()
        .collect();
    check_settings(&settings, user)?;
    if user.readonly == 0
        && request.only_reads()
        && !settings.iter().any(|(name, value)| name == "readonly" && value != "0")
    {
        settings.retain(|(name, _)| name != "readonly");
        settings.push(("readonly".to_owned(), "2".to_owned()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials() {
        assert_eq!(basic("Basic dTpwOnc=").unwrap(), ("u".into(), "p:w".into()));
        assert_eq!(basic("basic ZGVmYXVsdDo=").unwrap(), ("default".into(), String::new()));
        assert!(basic("Bearer x").is_err() && basic("Basic ?").is_err());
    }
}

//! What is no statement: whether the server is there, counters, a page to write SQL in.

use super::request::Request;
use super::response::{Body, Response};
use crate::shared::Shared;
use chalet_base::events::{self, Event};
use chalet_client::Stream;
use std::fmt::Write as _;
use std::io::Write as _;

const TEXT: &str = "text/plain; charset=UTF-8";
const PLAY: &str = include_str!("play.html");

/// Answers a request that runs no statement. True where the connection can be used again.
pub fn answer(request: &Request, socket: &Stream, shared: &Shared) -> bool {
    if !matches!(request.method.as_str(), "GET" | "HEAD" | "POST") {
        return text(request, socket, 405, TEXT, "Only GET, HEAD, OPTIONS and POST are known here\n");
    }
    match request.path.as_str() {
        "/" | "/ping" | "/replicas_status" => text(request, socket, 200, TEXT, "Ok.\n"),
        "/metrics" => {
            text(request, socket, 200, "text/plain; version=0.0.4; charset=UTF-8", &metrics(shared))
        }
        "/play" => text(request, socket, 200, "text/html; charset=UTF-8", PLAY),
        path => {
            let body = format!(
                "There is no handle {path}\n\nStatements: POST /, or GET /?query=...\nOthers: /ping, /replicas_status, \
                 /metrics, /play\n"
            );
            text(request, socket, 404, TEXT, &body)
        }
    }
}

/// Tells a browser what pages of other sites, those that are let in, may ask.
pub fn options(request: &Request, socket: &Stream) -> bool {
    let Ok(socket) = socket.try_clone() else { return false };
    let mut response = Response::new(socket);
    response.status = 204;
    response.has_body = false;
    response.keeps_alive = request.keeps_alive();
    response.set("Allow", METHODS);
    response.set("Access-Control-Allow-Origin", "*");
    response.set("Access-Control-Allow-Methods", METHODS);
    response.set(
        "Access-Control-Allow-Headers",
        "origin, x-requested-with, x-clickhouse-format, x-clickhouse-user, x-clickhouse-key, x-clickhouse-database, \
         x-clickhouse-query-id, x-clickhouse-quota, authorization, content-type, content-encoding",
    );
    response.set("Access-Control-Max-Age", "86400");
    response.finish().is_ok() && response.keeps_alive
}

const METHODS: &str = "GET, HEAD, POST, OPTIONS";

/// Answers with a text that is at hand.
pub fn text(request: &Request, socket: &Stream, status: u16, kind: &str, body: &str) -> bool {
    let Ok(socket) = socket.try_clone() else { return false };
    let mut response = Response::new(socket);
    response.status = status;
    response.has_body = request.method != "HEAD";
    response.has_chunks = !request.is_old;
    response.keeps_alive = request.keeps_alive();
    response.set("Content-Type", kind);
    if kind.starts_with("text/html") {
        // The page loads nothing from anywhere and is shown inside of nothing.
        response.set(
            "Content-Security-Policy",
            "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
             frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        );
    }
    let mut sink = Body::new(response);
    let written = sink.write_all(body.as_bytes());
    let mut response = sink.response();
    written.is_ok() && response.finish().is_ok() && response.keeps_alive
}

/// Counters in the text form of Prometheus, under the names of the kernel.
fn metrics(shared: &Shared) -> String {
    let mut out = String::new();
    let mut put = |name: &str, kind: &str, help: &str, value: u64| {
        // Writing to a String cannot fail.
        let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    };
    for (event, name, description) in Event::ALL {
        put(&format!("ClickHouseProfileEvents_{name}"), "counter", description, events::total(*event));
    }
    let queries = shared.queries.count() as u64;
    put("ClickHouseMetrics_Query", "gauge", "Statements that run now", queries);
    let connections = shared.connections.count() as u64;
    put("ClickHouseMetrics_Connection", "gauge", "Connections that are open", connections);
    out
}

//! One request after the other over one connection.

use super::input::{Body, Input, is_timeout, linger};
use super::request::Request;
use super::response::Response;
use super::{outgoing, pages, query};
use crate::shared::Shared;
use crate::users::is_of_this_machine;
use chalet_client::Stream;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Answers a client until one of both ends the connection.
pub fn serve(socket: Stream, shared: &Arc<Shared>) {
    let Ok(receiving) = socket.try_clone() else { return };
    if outgoing::prepare(&socket).is_err() {
        return;
    }
    let input = Arc::new(Mutex::new(Input::new(receiving)));
    loop {
        let head = input.lock().unwrap_or_else(PoisonError::into_inner).head();
        let request = match head {
            Ok(Some(request)) => request,
            Ok(None) => return,
            Err(e) => {
                refuse(&socket, &e);
                break;
            }
        };
        if shared.connections.is_ending() {
            return;
        }
        let stays = answer(&request, Body::of(&input), &socket, shared);
        if !stays || !input.lock().unwrap_or_else(PoisonError::into_inner).skip_body() {
            break;
        }
    }
    linger(socket.tcp(), &|| shared.connections.is_ending());
}

fn answer(request: &Request, body: Body, socket: &Stream, shared: &Shared) -> bool {
    if let Some(why) = foreign(request, shared) {
        return pages::text(request, socket, 403, "text/plain; charset=UTF-8", &why);
    }
    if request.method == "OPTIONS" {
        return pages::options(request, socket);
    }
    let is_statement = match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/" | "/query") => true,
        ("GET" | "HEAD", "/" | "/query") => request.parameter("query").is_some(),
        _ => false,
    };
    if is_statement {
        query::run(request, body, socket, shared)
    } else {
        pages::answer(request, socket, shared)
    }
}

/// Tells what is wrong with a head, to who still listens.
fn refuse(socket: &Stream, error: &io::Error) {
    let status = match error.kind() {
        io::ErrorKind::FileTooLarge => 431,
        io::ErrorKind::InvalidData => 400,
        _ if is_timeout(error) => 408,
        _ => return,
    };
    let Ok(socket) = socket.try_clone() else { return };
    let mut response = Response::new(socket);
    response.status = status;
    response.keeps_alive = false;
    // The connection ends either way.
    let _ = response.finish();
}

/// Why a request comes from a page of another site, if it does: a browser sends what any page tells it to, and a page can give
/// its own name the address of this machine.
fn foreign(request: &Request, shared: &Shared) -> Option<String> {
    let host_of = |text: &str| {
        let text = text.split_once("://").map_or(text, |(_, rest)| rest);
        let without_port = match text.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or_default(),
            None => text.rsplit_once(':').map_or(text, |(host, _)| host),
        };
        without_port.trim_end_matches('.').to_ascii_lowercase()
    };
    let host = request.header("host").map(host_of).unwrap_or_default();
    let names_machine = |host: &str| {
        host == "localhost"
            || host.ends_with(".localhost")
            || host.parse::<IpAddr>().is_ok_and(is_of_this_machine)
    };
    if shared.is_local && !host.is_empty() && !names_machine(&host) && host.parse::<IpAddr>().is_err() {
        return Some(format!("The server is for programs of its machine alone, who do not call it {host}\n"));
    }
    let given = request.header("origin")?;
    if shared
        .origins
        .iter()
        .any(|known| known == "*" || known.trim_end_matches('/').eq_ignore_ascii_case(given))
    {
        return None;
    }
    let origin = host_of(given);
    let is_own = origin == host || names_machine(&origin) && names_machine(&host);
    (!is_own).then(|| "Requests of pages of other sites are refused\n".to_owned())
}

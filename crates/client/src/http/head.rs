//! Heads of requests and of responses.

use crate::bounded::LONG;
use crate::channel::Channel;
use crate::options::Options;
use crate::request::Request;
use chalet_base::{Result, ensure, err};
use chalet_formats::binary::Source;
use std::fmt::Write;

/// What a request asks for: parameters in percent encoding.
pub(super) struct Target(String);

impl Target {
    /// What every request of a statement says.
    pub fn new(options: &Options, request: &Request) -> Target {
        let mut target = Target(String::new());
        let is_chosen = request.settings.iter().any(|(name, _)| name == "database");
        if !options.database.is_empty() && !is_chosen {
            target.put("database", &options.database);
        }
        if !request.id.is_empty() {
            target.put("query_id", &request.id);
        }
        request.settings.iter().for_each(|(name, value)| target.put(name, value));
        request.parameters.iter().for_each(|(name, value)| target.put(&format!("param_{name}"), value));
        target
    }

    pub fn put(&mut self, name: &str, value: &str) {
        self.0.push(if self.0.is_empty() { '?' } else { '&' });
        encode(&mut self.0, name);
        self.0.push('=');
        encode(&mut self.0, value);
    }

    /// The head of a POST; the length of its body is not known where it is written in chunks.
    pub fn head(&self, options: &Options, length: Option<usize>, kind: Option<&str>) -> String {
        let mut head = format!("POST /{} HTTP/1.1\r\nHost: {}\r\n", self.0, options.peer());
        let mut put = |name: &str, value: &str| {
            // Writing to a String cannot fail.
            let _ = write!(head, "{name}: {value}\r\n");
        };
        put("User-Agent", "chalet");
        put("X-ClickHouse-User", &options.user);
        if !options.password.is_empty() {
            put("X-ClickHouse-Key", &options.password);
        }
        put("Connection", "Keep-Alive");
        if let Some(kind) = kind {
            put("Content-Type", kind);
        }
        match length {
            Some(length) => put("Content-Length", &length.to_string()),
            None => put("Transfer-Encoding", "chunked"),
        }
        head.push_str("\r\n");
        head
    }
}

fn encode(to: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => to.push(byte as char),
            // Writing to a String cannot fail.
            byte => drop(write!(to, "%{byte:02X}")),
        }
    }
}

/// The head of a response.
pub(super) struct Head {
    pub status: u16,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Takes what arrives up to the empty line.
    pub fn read(channel: &mut Channel) -> Result<Head> {
        let mut searched = 0;
        let end = loop {
            let known = channel.at_hand();
            if let Some(found) = known[searched..].windows(4).position(|window| window == b"\r\n\r\n") {
                break searched + found + 4;
            }
            let n = known.len();
            ensure!(n <= LONG, TOO_LARGE_STRING_SIZE, "The head of a response is too large");
            searched = n.saturating_sub(3);
            channel.await_bytes(n + 1)?;
        };
        let peer = channel.peer().clone();
        let text = String::from_utf8_lossy(channel.take(end)?).into_owned();
        let wrong = || err!(NETWORK_ERROR, "What has answered is no HTTP server ({peer})");
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
        let status = status.and_then(|status| status.parse().ok()).ok_or_else(wrong)?;
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
        Ok(Head { status, headers: headers.collect() })
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let request = Request {
            id: "a/b".into(),
            settings: vec![("max_threads".into(), "1".into())],
            parameters: vec![("x".into(), "é&\r\n".into())],
            ..Request::default()
        };
        let options = Options { database: "d".into(), ..Options::default() };
        let target = Target::new(&options, &request);
        assert_eq!(target.0, "?database=d&query_id=a%2Fb&max_threads=1&param_x=%C3%A9%26%0D%0A");
        let head = target.head(&options, None, None);
        assert!(head.starts_with("POST /?database=d") && head.ends_with("chunked\r\n\r\n"), "{head}");
    }
}

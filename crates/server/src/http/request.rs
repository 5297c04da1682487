//! The head of a request, and what it says.

use super::url;
use std::io;

/// Headers of a request at most.
const MAX_HEADERS: usize = 128;

/// A head, without the body.
pub struct Request {
    pub method: String,
    pub path: String,
    /// What follows the `?` of the URL, as it is.
    pub query: String,
    /// Parameters of the URL.
    pub parameters: Vec<(String, String)>,
    /// Names are in lower case.
    headers: Vec<(String, String)>,
    /// HTTP/1.0: one request a connection, and no chunks.
    pub is_old: bool,
}

impl Request {
    /// Parses a whole head.
    pub fn parse(head: &[u8]) -> io::Result<Request> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let status = parsed.parse(head).map_err(|e| invalid(e.to_string()))?;
        let (httparse::Status::Complete(_), Some(method), Some(target)) =
            (status, parsed.method, parsed.path)
        else {
            return Err(invalid("incomplete head".into()));
        };
        let headers = parsed.headers.iter().map(|header| {
            (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
        });
        let mut headers: Vec<(String, String)> = headers.collect();
        let mut target = target;
        // As proxies are asked: the host stands in the target, and counts.
        if let Some(rest) = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://")) {
            let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            headers.retain(|(name, _)| name != "host");
            headers.push(("host".to_owned(), host.to_owned()));
            target = path;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = if path.is_empty() { "/" } else { path };
        Ok(Request {
            method: method.to_owned(),
            path: url::decoded(path),
            query: query.to_owned(),
            parameters: url::pairs(query),
            headers,
            is_old: parsed.version == Some(0),
        })
    }

    /// A header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// How often a header is there.
    pub fn count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(known, _)| known == name).count()
    }

    /// A parameter of the URL; of one that is there twice the last.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().rfind(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is on: `1`, or `true`.
    pub fn flag(&self, name: &str) -> bool {
        self.parameter(name).is_some_and(|value| matches!(value, "1" | "true"))
    }

    /// Is this word in a header that is a list?
    pub fn lists(&self, header: &str, word: &str) -> bool {
        self.header(header)
            .is_some_and(|list| list.split(',').any(|item| item.trim().eq_ignore_ascii_case(word)))
    }

    /// The method reads, and must change nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// May another request follow over the same connection?
    pub fn keeps_alive(&self) -> bool {
        !self.is_old && !self.lists("connection", "close")
    }
}

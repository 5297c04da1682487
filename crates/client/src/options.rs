//! Where a server is and how to speak to it.

use crate::channel::Timeouts;
use crate::compression::Method;
use chalet_base::{Result, err};
use std::time::Duration;

/// Who connects to what.
#[derive(Clone, Debug)]
pub struct Options {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    pub database: String,
    pub quota_key: String,
    pub connect_timeout: Duration,
    /// Until the next bytes come, or go.
    pub receive_timeout: Duration,
    pub send_timeout: Duration,
    pub compression: Option<Method>,
    /// The revision that is offered.
    pub revision: u64,
}

/// The port of servers without TLS.
pub const PORT: u16 = 9000;

impl Default for Options {
    fn default() -> Options {
        Options {
            host: "localhost".into(),
            port: PORT,
            user: "default".into(),
            password: String::new(),
            database: String::new(),
            quota_key: String::new(),
            connect_timeout: Duration::from_secs(10),
            receive_timeout: Duration::from_secs(300),
            send_timeout: Duration::from_secs(300),
            compression: Some(Method::default()),
            revision: crate::revision::NEWEST,
        }
    }
}

impl Options {
    /// Of `clickhouse://user:password@host:port/database`, all but the host optional, with `%XX` for bytes that have a meaning.
    pub fn of_url(url: &str) -> Result<Options> {
        let wrong =
            || err!(BAD_ARGUMENTS, "The URL of a server is clickhouse://user:password@host:port/database");
        let Some(rest) = url.strip_prefix(SCHEME) else { return Err(wrong()) };
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        let (host, port) =
            crate::addresses::host_and_port(if address.is_empty() { "localhost" } else { address }, PORT)?;
        let defaults = Options::default();
        let user = decoded(user).ok_or_else(wrong)?;
        Ok(Options {
            host,
            port,
            user: if user.is_empty() { defaults.user.clone() } else { user },
            password: decoded(password).ok_or_else(wrong)?,
            database: decoded(database.trim_end_matches('/')).ok_or_else(wrong)?,
            ..defaults
        })
    }

    /// `host:port`, for errors.
    pub fn peer(&self) -> String {
        let brackets = self.host.contains(':');
        if brackets {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        Timeouts { receive: self.receive_timeout, send: self.send_timeout }
    }
}

/// What the URL of a server begins with.
pub const SCHEME: &str = "clickhouse://";

/// `%XX` as the byte that it stands for; none where what follows `%` is no number or the bytes are no text.
fn decoded(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.as_bytes().split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let of = |url| {
            let Options { host, port, user, password, database, .. } = Options::of_url(url).unwrap();
            format!("{user} {password} {host} {port} {database}")
        };
        assert_eq!(of("clickhouse://a:b%40%2F@h:1/d"), "a b@/ h 1 d");
        assert_eq!(of("clickhouse://h"), "default  h 9000 ");
        assert_eq!(of("clickhouse://u@[::1]:7/"), "u  ::1 7 ");
        for wrong in ["http://h", "clickhouse://h:x", "clickhouse://a%4@h", "clickhouse://a%+1@h"] {
            assert!(Options::of_url(wrong).is_err(), "{wrong}");
        }
    }
}

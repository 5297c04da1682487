//! What is written of a server: `clickhouse://user:password@host:port,host:port/database?option=value`.

use crate::compression::Method;
use crate::options::{Options, PORT};
use chalet_base::{Result, bail, ensure, err};
use std::time::Duration;

/// What the URL of a server begins with.
pub const SCHEME: &str = "clickhouse://";

/// Queries of asyncio that run side by side, and connections that are kept, where nothing is said.
const POOL_SIZE: usize = 10;
const MOST_CONNECTIONS: usize = 10_000;

/// Servers that stand for one another, and how many connections are kept.
#[derive(Clone, Debug)]
pub struct Url {
    pub hosts: Vec<Options>,
    pub pool_size: usize,
}

/// Is it a URL of a server?
pub fn is_url(text: &str) -> bool {
    text.starts_with(SCHEME)
}

impl Url {
    /// All but a host is optional, with `%XX` for bytes that have a meaning.
    pub fn parse(url: &str) -> Result<Url> {
        let wrong =
            || err!(BAD_ARGUMENTS, "The URL of a server is clickhouse://user:password@host:port/database");
        let Some(rest) = url.strip_prefix(SCHEME) else { return Err(wrong()) };
        let (rest, written) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (credentials, addresses) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
        let user = decoded(user).ok_or_else(wrong)?;
        let defaults = Options::default();
        let mut options = Options {
            user: if user.is_empty() { defaults.user.clone() } else { user },
            password: decoded(password).ok_or_else(wrong)?,
            database: decoded(database.trim_end_matches('/')).ok_or_else(wrong)?,
            ..defaults
        };
        let mut pool_size = POOL_SIZE;
        for option in written.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(&value.replace('+', " ")).ok_or_else(wrong)?;
            match name {
                "pool_size" => pool_size = number(name, &value, 1, MOST_CONNECTIONS)?,
                _ => options.set(name, &value)?,
            }
        }
        let addresses = if addresses.is_empty() { "localhost" } else { addresses };
        let hosts = addresses.split(',').map(|address| {
            let (host, port) = crate::addresses::host_and_port(address, PORT)?;
            Ok(Options { host, port, ..options.clone() })
        });
        Ok(Url { hosts: hosts.collect::<Result<_>>()?, pool_size })
    }
}

impl Options {
    /// An option of a URL.
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "connect_timeout" => self.connect_timeout = seconds(name, value)?,
            "receive_timeout" => self.receive_timeout = seconds(name, value)?,
            "send_timeout" => self.send_timeout = seconds(name, value)?,
            "compression" => self.compression = method(value)?,
            other => bail!(BAD_ARGUMENTS, "Unknown option {other} of the URL of a server"),
        }
        Ok(())
    }
}

fn number(name: &str, value: &str, least: usize, most: usize) -> Result<usize> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| err!(BAD_ARGUMENTS, "{name} is a number from {least} to {most}, not '{value}'"))
}

fn seconds(name: &str, value: &str) -> Result<Duration> {
    let seconds = value.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let seconds = seconds.filter(|time| !time.is_zero());
    seconds.ok_or_else(|| err!(BAD_ARGUMENTS, "{name} is a number of seconds, not '{value}'"))
}

fn method(value: &str) -> Result<Option<Method>> {
    ensure!(
        ["none", "lz4", "zstd"].contains(&value),
        BAD_ARGUMENTS,
        "compression is one of none, lz4 and zstd, not '{value}'"
    );
    Ok(match value {
        "lz4" => Some(Method::Lz4),
        "zstd" => Some(Method::Zstd),
        _ => None,
    })
}

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
            let hosts = Url::parse(url).unwrap().hosts;
            let texts = hosts.iter().map(|Options { host, port, user, password, database, .. }| {
                format!("{user} {password} {host} {port} {database}")
            });
            texts.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(of("clickhouse://a:b%40%2F@h:1/d"), "a b@/ h 1 d");
        assert_eq!(of("clickhouse://h"), "default  h 9000 ");
        assert_eq!(of("clickhouse://u@[::1]:7/"), "u  ::1 7 ");
        assert_eq!(of("clickhouse://h1:1,h2/d?pool_size=3"), "default  h1 1 d, default  h2 9000 d");
        let url = Url::parse("clickhouse://h?pool_size=3&receive_timeout=1.5&compression=none").unwrap();
        assert_eq!((url.pool_size, url.hosts[0].compression), (3, None));
        assert_eq!(url.hosts[0].receive_timeout, Duration::from_millis(1500));
        for wrong in [
            "http://h",
            "clickhouse://h:x",
            "clickhouse://a%4@h",
            "clickhouse://a%+1@h",
            "clickhouse://h,",
            "clickhouse://h?pool_size=0",
            "clickhouse://h?connect_timeout=0",
            "clickhouse://h?compression=snappy",
            "clickhouse://h?no_such_option=1",
        ] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}

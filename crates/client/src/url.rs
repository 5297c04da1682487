//! What is written of a server: `clickhouse://user:password@host:port,host:port/database?option=value`, or with another scheme.

use crate::compression::Method;
use crate::options::{HTTP_PORT, HTTPS_PORT, Options, PORT, SECURE_PORT, Transport};
use crate::tls::{Tls, TlsOptions};
use chalet_base::{Result, bail, ensure, err};
use std::time::Duration;

/// What the URL of a server begins with: the protocol, and whether it is encrypted.
const SCHEMES: &[(&str, Transport, bool)] = &[
    ("clickhouse://", Transport::Native, false),
    ("clickhouses://", Transport::Native, true),
    ("http://", Transport::Http, false),
    ("https://", Transport::Http, true),
];

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
    SCHEMES.iter().any(|(scheme, ..)| text.starts_with(scheme))
}

/// A URL whose addresses are not taken apart.
struct Written<'a> {
    options: Options,
    addresses: &'a str,
    /// Of addresses without one.
    port: u16,
    pool_size: usize,
}

impl Url {
    /// All but a host is optional, with `%XX` for bytes that have a meaning. Hosts divided by commas stand for one another.
    pub fn parse(url: &str) -> Result<Url> {
        let written = Written::of(url)?;
        let hosts = written.addresses.split(',').map(|address| written.host(address));
        Ok(Url { hosts: hosts.collect::<Result<_>>()?, pool_size: written.pool_size })
    }

    /// The same with addresses as `remote` takes them: shards with their replicas.
    pub fn shards(url: &str) -> Result<Vec<Vec<Options>>> {
        let written = Written::of(url)?;
        let shards = crate::addresses::shards(written.addresses)?;
        let shards = shards.iter().map(|replicas| replicas.iter().map(|one| written.host(one)).collect());
        shards.collect()
    }
}

impl Written<'_> {
    fn host(&self, address: &str) -> Result<Options> {
        let (host, port) = crate::addresses::host_and_port(address, self.port)?;
        Ok(Options { host, port, ..self.options.clone() })
    }

    fn of(url: &str) -> Result<Written<'_>> {
        let wrong =
            || err!(BAD_ARGUMENTS, "The URL of a server is clickhouse://user:password@host:port/database");
        let found = SCHEMES.iter().find_map(|(scheme, transport, is_secure)| {
            Some((url.strip_prefix(scheme)?, *transport, *is_secure))
        });
        let Some((rest, transport, mut is_secure)) = found else { return Err(wrong()) };
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
            transport,
            ..defaults
        };
        let mut pool_size = POOL_SIZE;
        let mut tls = TlsOptions::default();
        for option in written.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = decoded(&value.replace('+', " ")).ok_or_else(wrong)?;
            match name {
                "pool_size" => pool_size = number(name, &value, 1, MOST_CONNECTIONS)?,
                "secure" => is_secure = flag(name, &value)?,
                _ if tls.set(name, &value)? => {}
                _ => options.set(name, &value)?,
            }
        }
        if is_secure {
            options.tls =
                Some(if tls == TlsOptions::default() { Tls::of_system()? } else { Tls::new(&tls)? });
        }
        let port = match (transport, is_secure) {
            (Transport::Native, false) => PORT,
            (Transport::Native, true) => SECURE_PORT,
            (Transport::Http, false) => HTTP_PORT,
            (Transport::Http, true) => HTTPS_PORT,
        };
        let addresses = if addresses.is_empty() { "localhost" } else { addresses };
        Ok(Written { options, addresses, port, pool_size })
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

impl TlsOptions {
    /// An option of a URL; false where it is none of encryption.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "verify" => self.verifies = flag(name, value)?,
            "ca_cert" | "ca_certs" => self.ca = Some(value.into()),
            "client_cert" | "certfile" => self.certificate = Some(value.into()),
            "client_cert_key" | "keyfile" => self.key = Some(value.into()),
            "server_host_name" | "server_hostname" => self.name = Some(value.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn flag(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => bail!(BAD_ARGUMENTS, "{name} is 0 or 1, not '{value}'"),
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
        for (url, port, transport) in [
            ("http://h/d", 8123, Transport::Http),
            ("https://h?verify=0", 8443, Transport::Http),
            ("clickhouses://h?verify=false", 9440, Transport::Native),
            ("clickhouse://h?secure=1&verify=0", 9440, Transport::Native),
            ("clickhouses://h?secure=0", 9000, Transport::Native),
        ] {
            let options = &Url::parse(url).unwrap().hosts[0];
            assert_eq!((options.port, options.transport), (port, transport), "{url}");
            assert_eq!(options.tls.is_some(), url.contains("verify"), "{url}");
        }
        let shards = Url::shards("clickhouse://u@a|b:1,{c,d}/x").unwrap();
        let ports: Vec<Vec<u16>> =
            shards.iter().map(|replicas| replicas.iter().map(|host| host.port).collect()).collect();
        assert_eq!(ports, [vec![9000, 1], vec![9000], vec![9000]]);
        for wrong in [
            "ftp://h",
            "clickhouse://h?secure=maybe",
            "clickhouses://h?ca_cert=/no/such/file",
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

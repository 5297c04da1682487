//! Where a server is and how to speak to it.

use crate::channel::Timeouts;
use crate::compression::Method;
use crate::tls::Tls;
use std::time::Duration;

/// The protocol that is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    #[default]
    Native,
    Http,
}

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
    /// Without it, what is said can be read by whoever is in between.
    pub tls: Option<Tls>,
    pub transport: Transport,
    /// The revision that is offered.
    pub revision: u64,
}

/// The port of servers without TLS.
pub const PORT: u16 = 9000;
/// The port of servers with TLS.
pub const SECURE_PORT: u16 = 9440;
/// The same of HTTP.
pub const HTTP_PORT: u16 = 8123;
pub const HTTPS_PORT: u16 = 8443;

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
            tls: None,
            transport: Transport::Native,
            revision: crate::revision::NEWEST,
        }
    }
}

impl Options {
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

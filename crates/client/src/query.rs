//! The packet of a query: who asks, under which settings, what.

use crate::bounded::{self, LONG, SHORT, put_numbers};
use crate::revision;
use crate::settings::{self, Form, Setting};
use chalet_base::Result;
use chalet_formats::binary::{Source, put_string, put_var_uint};

/// A query as it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    /// Empty: the server makes one up.
    pub id: String,
    pub client: ClientInfo,
    /// Older servers take none with a query: they are set by statements of their own.
    pub settings: Vec<Setting>,
    pub is_compressed: bool,
    /// How far it is to be run: [`COMPLETE`], or up to what another server goes on with.
    pub stage: u64,
    pub text: String,
    pub parameters: Vec<Setting>,
}

/// Who asks. The query is the client's own, not part of another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientInfo {
    pub os_user: String,
    pub host: String,
    pub client_name: String,
    pub version: (u64, u64, u64),
    pub revision: u64,
    pub quota_key: String,
}

/// The query comes from its author.
const INITIAL_QUERY: u8 = 1;
const OVER_TCP: u8 = 1;
/// To the end, not to a state that another server would merge.
pub const COMPLETE: u64 = 2;

impl Query {
    /// Appends the packet without its number.
    pub fn write(&self, out: &mut Vec<u8>, spoken: u64) {
        put_string(out, self.id.as_bytes());
        self.client.write(out, spoken);
        if spoken >= revision::SETTINGS_AS_TEXT {
            settings::write(out, &self.settings);
        } else {
            out.push(0);
        }
        if spoken >= revision::EXTERNAL_ROLES {
            // A list of no roles, itself as a string.
            put_string(out, &[0]);
        }
        if spoken >= revision::INTERSERVER_SECRET {
            put_string(out, b"");
        }
        put_var_uint(out, self.stage);
        put_var_uint(out, self.is_compressed.into());
        put_string(out, self.text.as_bytes());
        if spoken >= revision::PARAMETERS {
            settings::write(out, &self.parameters);
        }
    }

    /// Reads the packet behind its number; `form` knows how old clients write the value of a setting.
    pub fn read(from: &mut impl Source, spoken: u64, form: impl Fn(&str) -> Option<Form>) -> Result<Query> {
        let id = bounded::text(from, SHORT, "the id of the query")?;
        let client = ClientInfo::read(from, spoken)?;
        let settings = if spoken >= revision::SETTINGS_AS_TEXT {
            settings::read(from)?
        } else {
            settings::read_formed(from, form)?
        };
        if spoken >= revision::EXTERNAL_ROLES {
            bounded::text(from, LONG, "roles")?;
        }
        if spoken >= revision::INTERSERVER_SECRET {
            bounded::text(from, SHORT, "the secret between servers")?;
        }
        let stage = from.var_uint()?;
        let is_compressed = from.var_uint()? != 0;
        let text = statement(bounded::bytes(from, LONG, "the query")?);
        let parameters = if spoken >= revision::PARAMETERS { settings::read(from)? } else { Vec::new() };
        Ok(Query { id, client, settings, is_compressed, stage, text, parameters })
    }
}

/// The text of a statement. Bytes that are no UTF-8 stand in string literals, if anywhere, and are escaped as these may be.
pub fn statement(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Behind a backslash that is no escaped one, which stays what it is.
            let slashes = text.bytes().rev().take_while(|before| *before == b'\\').count();
            if slashes % 2 == 1 {
                text.push('\\');
            }
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

impl ClientInfo {
    fn write(&self, out: &mut Vec<u8>, spoken: u64) {
        out.push(INITIAL_QUERY);
        // User, query and address that it all began with: the server knows them.
        put_string(out, b"");
        put_string(out, b"");
        put_string(out, b"0.0.0.0:0");
        if spoken >= revision::QUERY_START_TIME {
            out.extend([0; 8]);
        }
        out.push(OVER_TCP);
        for text in [&self.os_user, &self.host, &self.client_name] {
            put_string(out, text.as_bytes());
        }
        put_numbers(out, &[self.version.0, self.version.1, self.revision]);
        put_string(out, self.quota_key.as_bytes());
        if spoken >= revision::DISTRIBUTED_DEPTH {
            put_var_uint(out, 0);
        }
        put_var_uint(out, self.version.2);
        if spoken >= revision::OPEN_TELEMETRY {
            out.push(0);
        }
        if spoken >= revision::PARALLEL_REPLICAS {
            out.extend([0; 3]);
        }
        if spoken >= revision::SCRIPT_LINES {
            out.extend([0; 2]);
        }
        if spoken >= revision::TOKEN_IN_CLIENT_INFO {
            out.push(0);
        }
    }

    fn read(from: &mut impl Source, spoken: u64) -> Result<ClientInfo> {
        let mut info = ClientInfo::default();
        let [kind] = from.array()?;
        if kind == 0 {
            return Ok(info);
        }
        for what in ["the initial user", "the initial query", "the initial address"] {
            bounded::text(from, SHORT, what)?;
        }
        if spoken >= revision::QUERY_START_TIME {
            from.u64()?;
        }
        let [interface] = from.array()?;
        match interface {
            OVER_TCP => {
                info.os_user = bounded::text(from, SHORT, "the user of the system")?;
                info.host = bounded::text(from, SHORT, "the host of the client")?;
                info.client_name = bounded::text(from, SHORT, "the name of the client")?;
                info.version = (from.var_uint()?, from.var_uint()?, 0);
                info.revision = from.var_uint()?;
            }
            // HTTP, of a query that another server passes on.
            2 => {
                from.array::<1>()?;
                bounded::text(from, SHORT, "the user agent")?;
                if spoken >= revision::FORWARDED_FOR {
                    bounded::text(from, SHORT, "the forwarded address")?;
                }
                if spoken >= revision::REFERER {
                    bounded::text(from, SHORT, "the referer")?;
                }
            }
            _ => {}
        }
        info.quota_key = bounded::text(from, SHORT, "the quota key")?;
        if spoken >= revision::DISTRIBUTED_DEPTH {
            from.var_uint()?;
        }
        if interface == OVER_TCP {
            info.version.2 = from.var_uint()?;
        }
        if spoken >= revision::OPEN_TELEMETRY && bounded::flag(from)? {
            from.take(24)?;
            bounded::text(from, SHORT, "the state of the trace")?;
            from.take(1)?;
        }
        if spoken >= revision::PARALLEL_REPLICAS {
            (0..3).try_for_each(|_| from.var_uint().map(drop))?;
        }
        if spoken >= revision::SCRIPT_LINES {
            (0..2).try_for_each(|_| from.var_uint().map(drop))?;
        }
        if spoken >= revision::TOKEN_IN_CLIENT_INFO && bounded::flag(from)? {
            bounded::text(from, LONG, "the token")?;
        }
        Ok(info)
    }
}

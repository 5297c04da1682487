//! How a conversation begins: both ends greet, and speak the lower of their revisions from there on.

use crate::bounded::{self, SHORT, put_numbers};
use crate::revision;
use crate::settings::{self, Setting};
use chalet_base::{Result, bail};
use chalet_formats::binary::{Source, put_string, put_var_uint};

/// What a client says first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    pub client_name: String,
    pub version: (u64, u64),
    pub revision: u64,
    pub database: String,
    pub user: String,
    pub password: String,
}

impl ClientHello {
    /// Appends the packet without its number.
    pub fn write(&self, out: &mut Vec<u8>) {
        put_string(out, self.client_name.as_bytes());
        put_numbers(out, &[self.version.0, self.version.1, self.revision]);
        [&self.database, &self.user, &self.password].into_iter().for_each(|s| put_string(out, s.as_bytes()));
    }

    pub fn read(from: &mut impl Source) -> Result<ClientHello> {
        Ok(ClientHello {
            client_name: bounded::text(from, SHORT, "the name of the client")?,
            version: (from.var_uint()?, from.var_uint()?),
            revision: from.var_uint()?,
            database: bounded::text(from, SHORT, "the name of the database")?,
            user: bounded::text(from, SHORT, "the name of the user")?,
            password: bounded::text(from, SHORT, "the password")?,
        })
    }
}

/// What an end can, or wants to, do with chunks in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkMode {
    pub is_chunked: bool,
    /// It would also do the opposite.
    pub is_optional: bool,
}

impl ChunkMode {
    pub const NEVER: ChunkMode = ChunkMode { is_chunked: false, is_optional: false };
    pub const EITHER: ChunkMode = ChunkMode { is_chunked: true, is_optional: true };

    fn name(self) -> &'static str {
        match (self.is_chunked, self.is_optional) {
            (true, true) => "chunked_optional",
            (true, false) => "chunked",
            (false, true) => "notchunked_optional",
            (false, false) => "notchunked",
        }
    }

    fn read(from: &mut impl Source) -> Result<ChunkMode> {
        let name = bounded::text(from, SHORT, "the mode of chunks")?;
        let all = [true, false]
            .into_iter()
            .flat_map(|is_chunked| [true, false].map(|is_optional| ChunkMode { is_chunked, is_optional }));
        match all.into_iter().find(|mode| mode.name() == name) {
            Some(mode) => Ok(mode),
            None => bail!(NETWORK_ERROR, "Unknown mode of chunked packets: {name}"),
        }
    }

    /// Are there chunks in a direction of which both ends say what they want?
    pub fn agreed(self, other: ChunkMode, direction: &str) -> Result<bool> {
        match (self, other) {
            _ if self.is_chunked == other.is_chunked => Ok(self.is_chunked),
            (mine, _) if mine.is_optional => Ok(other.is_chunked),
            (mine, other) if other.is_optional => Ok(mine.is_chunked),
            _ => bail!(
                NETWORK_ERROR,
                "Incompatible protocol: {direction} set to {}, the server requires {}",
                self.name(),
                other.name()
            ),
        }
    }
}

/// A condition of passwords: a regular expression and what is said of a password that it does not match.
pub type PasswordRule = (String, String);

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHello {
    pub name: String,
    pub version: (u64, u64, u64),
    /// The server's own, which may be above what is spoken.
    pub revision: u64,
    pub time_zone: String,
    pub display_name: String,
    /// How the server sends, and how it receives.
    pub chunks: (ChunkMode, ChunkMode),
    pub password_rules: Vec<PasswordRule>,
    pub nonce: u64,
    pub settings: Vec<Setting>,
}

/// Rules of passwords; servers have a handful.
const MAX_RULES: u64 = 256;

impl ServerHello {
    /// Appends the packet without its number, to a client of this revision.
    pub fn write(&self, out: &mut Vec<u8>, client: u64) {
        let spoken = client.min(self.revision);
        put_string(out, self.name.as_bytes());
        put_numbers(out, &[self.version.0, self.version.1, self.revision]);
        if spoken >= revision::VERSIONED_PARALLEL_REPLICAS {
            put_var_uint(out, revision::PARALLEL_REPLICAS_VERSION);
        }
        put_string(out, self.time_zone.as_bytes());
        put_string(out, self.display_name.as_bytes());
        put_var_uint(out, self.version.2);
        if spoken >= revision::CHUNKS {
            put_string(out, self.chunks.0.name().as_bytes());
            put_string(out, self.chunks.1.name().as_bytes());
        }
        if spoken >= revision::PASSWORD_RULES {
            put_var_uint(out, self.password_rules.len() as u64);
            for (pattern, message) in &self.password_rules {
                put_string(out, pattern.as_bytes());
                put_string(out, message.as_bytes());
            }
        }
        if spoken >= revision::INTERSERVER_NONCE {
            out.extend_from_slice(&self.nonce.to_le_bytes());
        }
        if spoken >= revision::SERVER_SETTINGS {
            settings::write(out, &self.settings);
        }
        if spoken >= revision::PLAN_SERIALIZATION {
            put_var_uint(out, 0);
        }
    }

    /// Reads the packet behind its number, as a client of this revision.
    pub fn read(from: &mut impl Source, client: u64) -> Result<ServerHello> {
        let name = bounded::text(from, SHORT, "the name of the server")?;
        let (major, minor, own) = (from.var_uint()?, from.var_uint()?, from.var_uint()?);
        let spoken = client.min(own);
        if spoken < revision::OLDEST {
            bail!(
                NETWORK_ERROR,
                "The server has revision {own} of the protocol, the oldest that is supported is {}",
                revision::OLDEST
            );
        }
        if spoken >= revision::VERSIONED_PARALLEL_REPLICAS {
            from.var_uint()?;
        }
        let time_zone = bounded::text(from, SHORT, "the time zone of the server")?;
        let display_name = bounded::text(from, SHORT, "the display name of the server")?;
        let patch = from.var_uint()?;
        let mut hello = ServerHello {
            name,
            version: (major, minor, patch),
            revision: own,
            time_zone,
            display_name,
            chunks: (ChunkMode::NEVER, ChunkMode::NEVER),
            password_rules: Vec::new(),
            nonce: 0,
            settings: Vec::new(),
        };
        if spoken >= revision::CHUNKS {
            hello.chunks = (ChunkMode::read(from)?, ChunkMode::read(from)?);
        }
        if spoken >= revision::PASSWORD_RULES {
            for _ in 0..bounded::count(from, MAX_RULES, "rules of passwords")? {
                let pattern = bounded::text(from, SHORT, "a rule of passwords")?;
                hello.password_rules.push((pattern, bounded::text(from, SHORT, "a rule of passwords")?));
            }
        }
        if spoken >= revision::INTERSERVER_NONCE {
            hello.nonce = from.u64()?;
        }
        if spoken >= revision::SERVER_SETTINGS {
            hello.settings = settings::read(from)?;
        }
        if spoken >= revision::PLAN_SERIALIZATION {
            from.var_uint()?;
        }
        Ok(hello)
    }
}

/// What a client adds once it knows the server's revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addendum {
    pub quota_key: String,
    /// How the client sends, and how it receives: what both ends agreed on.
    pub chunks: (ChunkMode, ChunkMode),
}

impl Addendum {
    pub fn write(&self, out: &mut Vec<u8>, spoken: u64) {
        if spoken < revision::ADDENDUM {
            return;
        }
        put_string(out, self.quota_key.as_bytes());
        if spoken >= revision::CHUNKS {
            put_string(out, self.chunks.0.name().as_bytes());
            put_string(out, self.chunks.1.name().as_bytes());
        }
        if spoken >= revision::VERSIONED_PARALLEL_REPLICAS {
            put_var_uint(out, revision::PARALLEL_REPLICAS_VERSION);
        }
    }

    pub fn read(from: &mut impl Source, spoken: u64) -> Result<Addendum> {
        let mut addendum =
            Addendum { quota_key: String::new(), chunks: (ChunkMode::NEVER, ChunkMode::NEVER) };
        if spoken < revision::ADDENDUM {
            return Ok(addendum);
        }
        addendum.quota_key = bounded::text(from, SHORT, "the quota key")?;
        if spoken >= revision::CHUNKS {
            addendum.chunks = (ChunkMode::read(from)?, ChunkMode::read(from)?);
        }
        if spoken >= revision::VERSIONED_PARALLEL_REPLICAS {
            from.var_uint()?;
        }
        Ok(addendum)
    }
}

//! What all connections share.

use crate::connections::Connections;
use crate::queries::Queries;
use crate::sessions::Sessions;
use crate::users::{User, Users};
use chalet_base::{Result, bail};
use chalet_engine::settings::find;
use chalet_engine::{Database, RunOptions, Session};

pub struct Shared {
    pub database: Database,
    pub users: Users,
    pub sessions: Sessions,
    pub queries: Queries,
    pub connections: Connections,
    /// Of the release of ClickHouse whose dialect is spoken.
    pub version: (u64, u64, u64),
    /// What clients are shown as the name of the server.
    pub display_name: String,
    /// The zone of date-times whose type names none.
    pub time_zone: String,
    /// Nobody but programs of this machine can connect.
    pub is_local: bool,
    /// Web sites whose pages may ask.
    pub origins: Vec<String>,
}

impl Shared {
    /// A new session of a user.
    pub fn session(&self, user: &User) -> Result<Session> {
        let session = self.database.session_of(user.identity());
        if user.readonly > 0 {
            session.set("readonly", &user.readonly.to_string())?;
        }
        Ok(session)
    }
}

/// Fails where a request sets what its user may not set.
pub fn check_settings(settings: &[(String, String)], user: &User) -> Result<()> {
    // What a setting is anyway is no change: clients say it.
    let is_same = |name: &str, value: &str| match name {
        "readonly" => value == user.readonly.to_string(),
        name => find(name).is_some_and(|known| known.default == value),
    };
    let is_forbidden = |name: &str, value: &str| {
        (user.readonly == 1 || user.readonly > 0 && name == "readonly") && !is_same(name, value)
    };
    match settings.iter().find(|(name, value)| is_forbidden(name, value)) {
        Some((name, _)) => bail!(READONLY, "Cannot modify '{name}' setting in readonly mode"),
        None => Ok(()),
    }
}

/// USE; an empty name is none.
pub fn use_database(session: &Session, name: &str) -> Result<()> {
    if !name.is_empty() {
        let params = vec![("name".to_owned(), name.to_owned())];
        session.run("USE {name:Identifier}", RunOptions { params, ..RunOptions::default() })?;
    }
    Ok(())
}

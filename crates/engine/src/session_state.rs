//! What a session holds between statements, and how a statement changes it.

use crate::file_access::FileAccess;
use crate::settings::{Effective, Settings};
use chalet_formats::FormatSettings;
use chalet_formats::settings::Paths;
use chalet_memory::Tracker;
use chalet_storage::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Whose a session is.
#[derive(Clone, Debug)]
pub struct Identity {
    pub user: Arc<str>,
    /// Files that their statements may name.
    pub files: FileAccess,
}

impl Default for Identity {
    /// The program that embeds the engine.
    fn default() -> Identity {
        Identity { user: "default".into(), files: FileAccess::All }
    }
}

impl Identity {
    /// What works for a user, or for whoever has defined something, without being asked by a statement: it reads no files.
    pub(crate) fn of_user(user: Arc<str>) -> Identity {
        Identity { user, files: FileAccess::Nothing }
    }

    /// Does a client of a server ask, not the program that embeds the engine?
    pub(crate) fn is_of_client(&self) -> bool {
        self.files != FileAccess::All
    }
}

/// The settings, names and tables of one session.
#[derive(Clone)]
pub(crate) struct SessionState {
    pub settings: Settings,
    pub database: String,
    pub temporary: BTreeMap<String, Entry>,
    /// Query parameters, by `SET param_name`.
    pub params: BTreeMap<String, String>,
    /// What all queries of the session use together.
    pub memory: Arc<Tracker>,
    pub identity: Identity,
}

impl SessionState {
    pub fn new(identity: Identity) -> SessionState {
        SessionState {
            settings: Settings::default(),
            database: "default".into(),
            temporary: BTreeMap::new(),
            params: BTreeMap::new(),
            memory: Arc::new(Tracker::of_user()),
            identity,
        }
    }
}

impl SessionState {
    /// Settings of formats; the paths in them are those of the user.
    pub fn formats(&self, settings: &Effective) -> Arc<FormatSettings> {
        let mut formats = settings.formats.clone();
        if self.identity.is_of_client() {
            let identity = self.identity.clone();
            let rule = move |path: &str| Ok(identity.files.path(path, &identity.user)?.into_owned());
            Arc::make_mut(&mut formats).paths = Paths::new(rule);
        }
        formats
    }
}

/// What a statement changes of its session. The session applies it when the statement has ended, in order.
pub(crate) enum SessionChange {
    /// SET: all settings and query parameters from now on.
    Settings(Settings, BTreeMap<String, String>),
    /// USE.
    Database(String),
    /// All temporary tables from now on.
    Temporary(BTreeMap<String, Entry>),
}

impl SessionState {
    pub fn apply(&mut self, change: SessionChange) {
        match change {
            SessionChange::Settings(settings, params) => (self.settings, self.params) = (settings, params),
            SessionChange::Database(name) => self.database = name,
            SessionChange::Temporary(tables) => self.temporary = tables,
        }
    }
}

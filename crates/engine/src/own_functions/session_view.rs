//! What functions of statements, formats and tables find behind the context of a call.

use chalet_base::{Result, err};
use chalet_formats::FormatSettings;
use chalet_function_api::Context;
use chalet_storage::Table;
use std::path::PathBuf;
use std::sync::Arc;

/// What the functions ask of a session.
pub(crate) trait SessionView: Send + Sync {
    fn format_settings(&self) -> Result<Arc<FormatSettings>>;

    /// The path of a file as the user of the session may open it; fails where he may not.
    fn user_path(&self, written: &str) -> Result<String>;

    /// The folder of the database; of one in memory, that of the process.
    fn folder(&self) -> PathBuf;

    /// The table of a name in a database; fails where there is none.
    fn table(&self, database: &str, name: &str) -> Result<Arc<dyn Table>>;
}

/// The host of a call's context, where a session runs it.
pub(crate) struct OwnHost(pub Box<dyn SessionView>);

impl OwnHost {
    pub fn of(ctx: &Context) -> Result<&dyn SessionView> {
        let host: Option<&OwnHost> = ctx.host.0.as_deref().and_then(|host| host.downcast_ref());
        host.map(|host| &*host.0).ok_or_else(|| err!(LOGICAL_ERROR, "The function runs outside of a session"))
    }
}

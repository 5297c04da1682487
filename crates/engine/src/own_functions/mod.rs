//! Functions of statements, formats and tables: the room of functions knows neither parser nor formats nor catalog.

mod format_query;
mod format_row;
mod has_column_in_table;
mod normalize_query;

use crate::database::Database;
use crate::scope::Scope;
use crate::session::{RunOptions, State};
use chalet_base::{Result, err};
use chalet_function_api::{Context, Registry};

/// What these functions find behind the context of a call.
pub(crate) struct OwnHost {
    pub database: Database,
    pub state: State,
}

impl OwnHost {
    fn of(ctx: &Context) -> Result<&OwnHost> {
        let host = ctx.host.0.as_deref().and_then(|host| host.downcast_ref());
        host.ok_or_else(|| err!(LOGICAL_ERROR, "The function runs outside of a session"))
    }

    /// A view of the session of its own.
    fn scope(&self) -> Result<Scope> {
        Scope::new(self.database.clone(), self.state.clone(), &RunOptions::default(), 0)
    }
}

pub(crate) fn register(registry: &mut Registry) {
    format_query::register(registry);
    registry.add_scalar(&format_row::FORMAT_ROW);
    registry.add_scalar(&format_row::FORMAT_ROW_NO_NEWLINE);
    registry.add_scalar(&has_column_in_table::FUNCTION);
    normalize_query::register(registry);
}

//! Functions of statements, formats and tables: the room of functions knows neither parser nor formats nor catalog.

mod dictionary;
mod format_query;
mod format_row;
mod has_column_in_table;
mod join_get;
mod named_setting;
mod normalize_query;
mod session_view;

pub(crate) use self::normalize_query::normalized_hash;
pub(crate) use self::session_view::{OwnHost, SessionView};

use chalet_function_api::Registry;

pub(crate) fn register(registry: &mut Registry) {
    dictionary::register(registry);
    format_query::register(registry);
    registry.add_scalar(&format_row::FORMAT_ROW);
    registry.add_scalar(&format_row::FORMAT_ROW_NO_NEWLINE);
    registry.add_scalar(&has_column_in_table::FUNCTION);
    join_get::register(registry);
    named_setting::register(registry);
    normalize_query::register(registry);
}

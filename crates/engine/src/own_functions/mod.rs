//! Functions of statements, formats and tables: the room of functions knows neither parser nor formats nor catalog.

mod capn_proto_schema;
mod dictionary;
mod disk_space;
mod file_contents;
mod format_query;
mod format_row;
mod has_column_in_table;
mod join_get;
mod named_setting;
mod normalize_query;
mod partition_id;
mod serialized;
mod session_view;
mod structure_to_schema;
mod tokenize_query;

pub(crate) use self::dictionary::row_of_keys;
pub(crate) use self::normalize_query::normalized_hash;
pub(crate) use self::session_view::{OwnHost, SessionView};

use chalet_function_api::Registry;

pub(crate) fn register(registry: &mut Registry) {
    dictionary::register(registry);
    registry.add_scalar(&disk_space::AVAILABLE);
    registry.add_scalar(&disk_space::CAPACITY);
    registry.add_scalar(&disk_space::UNRESERVED);
    registry.add_scalar(&file_contents::FUNCTION);
    registry.add_scalar(&partition_id::FUNCTION);
    registry.add_scalar(&serialized::SIZE);
    registry.add_scalar(&serialized::STREAMS);
    registry.add_scalar(&structure_to_schema::CAPN_PROTO);
    registry.add_scalar(&structure_to_schema::PROTOBUF);
    registry.add_scalar(&tokenize_query::FUNCTION);
    format_query::register(registry);
    registry.add_scalar(&format_row::FORMAT_ROW);
    registry.add_scalar(&format_row::FORMAT_ROW_NO_NEWLINE);
    registry.add_scalar(&has_column_in_table::FUNCTION);
    join_get::register(registry);
    named_setting::register(registry);
    normalize_query::register(registry);
}

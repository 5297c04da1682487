//! Functions of types, blocks, the session and the process, and texts for people.

mod bar;
mod block;
mod byte_size;
mod digits;
mod dump_column_structure;
mod ignore;
mod ignore_set;
mod internal;
mod low_cardinality;
mod materialize;
mod names;
mod parse_readable;
mod parse_time_delta;
mod part_names;
mod part_of_digits;
mod readable;
mod running;
mod running_concurrency;
mod server;
pub mod session;
mod setting;
mod sleep;
mod time_delta;
mod transactions;
mod types;

pub(crate) use byte_size::byte_sizes;
use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&part_of_digits::FUNCTION);
    registry.add_scalar(bar::Bar);
    registry.add_scalar(block::BLOCK_NUMBER_FUNCTION);
    registry.add_scalar(block::BLOCK_SIZE_FUNCTION);
    registry.add_scalar(block::ROW_NUMBER_IN_ALL_BLOCKS_FUNCTION);
    registry.add_scalar(block::ROW_NUMBER_IN_BLOCK_FUNCTION);
    registry.add_scalar(byte_size::ByteSize);
    registry.add_scalar(digits::CountDigits);
    registry.add_scalar(digits::IsDecimalOverflow);
    registry.add_scalar(&dump_column_structure::FUNCTION);
    registry.add_scalar(ignore::IGNORE_FUNCTION);
    registry.add_scalar(ignore::INDEX_HINT_FUNCTION);
    registry.add_scalar(materialize::IDENTITY_FUNCTION);
    registry.add_scalar(materialize::MATERIALIZE_FUNCTION);
    registry.add_scalar(names::ERROR_NAME_FUNCTION);
    registry.add_scalar(names::MAC_TO_NUMBER_FUNCTION);
    registry.add_scalar(names::MAC_TO_OUI_FUNCTION);
    registry.add_scalar(names::MAC_TO_STRING_FUNCTION);
    registry.add_scalar(names::VISIBLE_WIDTH_FUNCTION);
    registry.add_scalar(parse_readable::OR_NULL_FUNCTION);
    registry.add_scalar(parse_readable::OR_ZERO_FUNCTION);
    registry.add_scalar(parse_readable::PARSE_FUNCTION);
    registry.add_scalar(&parse_time_delta::FUNCTION);
    registry.add_scalar(readable::DECIMAL_SIZE_FUNCTION);
    registry.add_scalar(readable::QUANTITY_FUNCTION);
    registry.add_scalar(readable::SIZE_FUNCTION);
    registry.add_scalar(&running_concurrency::FUNCTION);
    registry.add_scalar(running::DIFFERENCE_FROM_FIRST_FUNCTION);
    registry.add_scalar(running::DIFFERENCE_FUNCTION);
    registry.add_scalar(running::Neighbor);
    for function in [
        &server::MAX_TABLE_NAME,
        &server::MACRO,
        &server::PORT,
        &server::LOG_TRACE,
        &server::GLOBAL_VARIABLE,
        &server::PG_USER,
        &server::PG_VISIBLE,
    ] {
        registry.add_scalar(function);
    }
    for function in [
        &internal::ACTION_NAME,
        &internal::APPLY_FILTER,
        &internal::BOOL_MASK_AND,
        &internal::BOOL_MASK_OR,
        &internal::GET_SCALAR,
        &internal::SWAP_LAST_TWO,
        &internal::WRAPPER,
        &transactions::SERIAL_ID,
        &transactions::TRANSACTION_ID,
    ] {
        registry.add_scalar(function);
    }
    ignore_set::FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
    transactions::SNAPSHOTS.iter().for_each(|function| registry.add_scalar(function));
    registry.add_scalar(&low_cardinality::INDICES);
    registry.add_scalar(&low_cardinality::KEYS);
    registry.add_scalar(&part_names::INFO);
    registry.add_scalar(&part_names::COVERED);
    session::register(registry);
    registry.add_scalar(setting::GET_SETTING_FUNCTION);
    registry.add_scalar(setting::GET_SETTING_OR_DEFAULT_FUNCTION);
    registry.add_scalar(setting::TimeZoneOf);
    registry.add_scalar(sleep::SLEEP_EACH_ROW_FUNCTION);
    registry.add_scalar(sleep::SLEEP_FUNCTION);
    registry.add_scalar(time_delta::TimeDelta);
    registry.add_scalar(types::DEFAULT_OF_ARGUMENT_FUNCTION);
    registry.add_scalar(types::DEFAULT_OF_NAME_FUNCTION);
    registry.add_scalar(types::IS_CONSTANT_FUNCTION);
    registry.add_scalar(types::SIZE_OF_ENUM_FUNCTION);
    registry.add_scalar(types::TO_COLUMN_TYPE_NAME_FUNCTION);
    registry.add_scalar(types::TO_TYPE_NAME_FUNCTION);
}

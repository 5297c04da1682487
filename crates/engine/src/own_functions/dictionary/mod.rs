//! Functions that look keys up in dictionaries.
//!
//! - [`lookup`]: what they share: the dictionary that the first argument names, keys as the dictionary has them
//! - [`get`], [`get_all`]: values of attributes
//! - [`has`]: whether a key is there
//! - [`keys_of`]: keys that have a value
//! - [`row`]: whole rows, for joins
//! - [`hierarchy`]: ways up and down a hierarchy

mod get;
mod get_all;
mod has;
mod hierarchy;
mod keys_of;
mod lookup;
mod row;

use chalet_function_api::Registry;
pub(crate) use row::row_of_keys;

pub(super) fn register(registry: &mut Registry) {
    get::register(registry);
    registry.add_scalar(&get_all::FUNCTION);
    registry.add_scalar(&has::FUNCTION);
    registry.add_scalar(&keys_of::FUNCTION);
    hierarchy::register(registry);
}

//! Functions of maps that take no lambda.

mod add;
mod concat;
mod construct;
mod contains;
mod extract_pairs;
mod from_arrays;
mod keys;
mod like;
mod populate_series;
mod update;

use chalet_function_api::Registry;
pub use concat::FUNCTION as CONCAT;
pub use construct::check_key;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&add::ADD);
    registry.add_scalar(&add::SUBTRACT);
    registry.add_scalar(&concat::FUNCTION);
    registry.add_scalar(&construct::FUNCTION);
    registry.add_scalar(&contains::KEY);
    registry.add_scalar(&contains::VALUE);
    registry.add_scalar(&extract_pairs::PLAIN);
    registry.add_scalar(&extract_pairs::ESCAPED);
    registry.add_scalar(&from_arrays::FUNCTION);
    registry.add_scalar(&keys::KEYS);
    registry.add_scalar(&keys::VALUES);
    registry.add_scalar(&like::CONTAINS_KEY);
    registry.add_scalar(&like::CONTAINS_VALUE);
    registry.add_scalar(&like::EXTRACT_KEY);
    registry.add_scalar(&like::EXTRACT_VALUE);
    registry.add_scalar(&populate_series::FUNCTION);
    registry.add_scalar(&update::FUNCTION);
}

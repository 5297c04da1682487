//! Functions of arrays and maps that take a lambda, or may take one.

mod compact;
mod count;
mod cum_sum;
mod difference;
mod extremes;
mod fill;
mod filter;
mod first;
mod fold;
mod lambda;
mod map;
mod sort;
mod split;
mod sum;
mod top_k;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(&compact::FUNCTION);
    registry.add_scalar(&count::COUNT);
    registry.add_scalar(&count::EXISTS);
    registry.add_scalar(&count::ALL);
    registry.add_scalar(&count::MAP_EXISTS);
    registry.add_scalar(&count::MAP_ALL);
    registry.add_scalar(&cum_sum::FUNCTION);
    registry.add_scalar(&cum_sum::NON_NEGATIVE);
    registry.add_scalar(&difference::FUNCTION);
    registry.add_scalar(&extremes::MIN);
    registry.add_scalar(&extremes::MAX);
    registry.add_scalar(&fill::FORWARD);
    registry.add_scalar(&fill::BACKWARD);
    registry.add_scalar(&filter::ARRAY);
    registry.add_scalar(&filter::MAP);
    registry.add_scalar(&first::FIRST);
    registry.add_scalar(&first::FIRST_OR_NULL);
    registry.add_scalar(&first::FIRST_INDEX);
    registry.add_scalar(&first::LAST);
    registry.add_scalar(&first::LAST_OR_NULL);
    registry.add_scalar(&first::LAST_INDEX);
    registry.add_scalar(&fold::FUNCTION);
    registry.add_scalar(&map::ARRAY);
    registry.add_scalar(&map::MAP);
    registry.add_scalar(&sort::SORT);
    registry.add_scalar(&sort::REVERSE);
    registry.add_scalar(&sort::PARTIAL);
    registry.add_scalar(&sort::PARTIAL_REVERSE);
    registry.add_scalar(&sort::MAP);
    registry.add_scalar(&sort::MAP_REVERSE);
    registry.add_scalar(&sort::MAP_PARTIAL);
    registry.add_scalar(&sort::MAP_PARTIAL_REVERSE);
    registry.add_scalar(&split::BEFORE);
    registry.add_scalar(&split::AFTER);
    registry.add_scalar(&sum::SUM);
    registry.add_scalar(&sum::AVERAGE);
    registry.add_scalar(&sum::PRODUCT);
    registry.add_scalar(&top_k::TOP);
    registry.add_scalar(&top_k::BOTTOM);
}

//! Substrings, patterns and replacement.

mod any_case;
mod count;
mod extract;
mod extract_groups;
mod first_match;
mod fuzzy;
mod fuzzy_bits;
mod fuzzy_table;
mod greedy;
mod like;
pub mod masks;
mod matching;
mod multi_fuzzy_match;
mod multi_match;
mod multi_search;
mod pattern;
pub mod position;
mod regexp;
mod regexp_position;
mod replace;
mod replace_regexp;
mod shared_regex;
mod subsequence;
mod sweep;
mod token;
mod tokens;

use chalet_function_api::Registry;
pub use like::like_pattern;
pub use matching::Cache;
pub use pattern::Pattern;
pub use regexp::compile;
pub use shared_regex::SharedRegex;

pub fn register(registry: &mut Registry) {
    count::register(registry);
    registry.add_scalar(&regexp_position::FUNCTION);
    registry.add_scalar(&extract::ONE);
    registry.add_scalar(&extract::ALL);
    registry.add_scalar(&extract::BY_INDEX);
    registry.add_scalar(&extract_groups::FIRST);
    registry.add_scalar(&extract_groups::VERTICAL);
    registry.add_scalar(&extract_groups::HORIZONTAL);
    like::register(registry);
    matching::register(registry);
    multi_fuzzy_match::register(registry);
    registry.add_scalar(&multi_match::ANY);
    registry.add_scalar(&multi_match::ANY_INDEX);
    registry.add_scalar(&multi_match::ALL_INDICES);
    multi_search::register(registry);
    position::register(registry);
    registry.add_scalar(&replace::ONE);
    registry.add_scalar(&replace::ALL);
    registry.add_scalar(&replace_regexp::ONE);
    registry.add_scalar(&replace_regexp::ALL);
    subsequence::register(registry);
    token::register(registry);
    registry.add_scalar(&tokens::ANY);
    registry.add_scalar(&tokens::ALL);
}

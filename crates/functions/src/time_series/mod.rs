//! Tags of time series. A query numbers the sets of tags that it meets: a group is such a number.
//!
//! - [`tags`]: sets of tags, and what one query knows of them
//! - [`arguments`]: tags as arguments and results
//! - [`groups`]: from tags to groups and identifiers, and back
//! - [`edit`]: groups of other tags
//! - [`labels`]: names and numbers as Prometheus writes them

mod arguments;
mod edit;
mod groups;
mod labels;
mod tags;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    groups::register(registry);
    edit::register(registry);
    labels::register(registry);
}

//! Scalar functions that run an aggregate by name.
//!
//! - [`named`]: an aggregate from a constant text like `quantiles(0.5, 0.9)`
//! - [`array_reduce`]: over the elements of arrays
//! - [`in_ranges`]: over ranges of elements of arrays
//! - [`initialize`]: over the single row

mod array_reduce;
mod in_ranges;
mod initialize;
mod named;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    registry.add_scalar(array_reduce::ArrayReduce);
    registry.add_scalar(in_ranges::ArrayReduceInRanges);
    registry.add_scalar(initialize::InitializeAggregation);
}

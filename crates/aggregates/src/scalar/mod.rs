//! Scalar functions that run an aggregate by name.
//!
//! - [`named`]: an aggregate from a constant text like `quantiles(0.5, 0.9)`
//! - [`array_reduce`]: over the elements of arrays
//! - [`in_ranges`]: over ranges of elements of arrays
//! - [`initialize`]: over the single row
//! - [`bitmaps`], [`bitmap_values`]: functions of states of `groupBitmap`
//! - [`numeric_vectors`]: functions of states of `groupNumericIndexedVector`
//! - [`running_accumulate`]: results over the states so far
//! - [`finalize`]: the results of states

mod array_reduce;
mod bitmap_values;
mod bitmaps;
mod finalize;
mod in_ranges;
mod initialize;
mod named;
mod numeric_vectors;
mod running_accumulate;

use chalet_function_api::Registry;

pub fn register(registry: &mut Registry) {
    named::register_types();
    registry.add_scalar(array_reduce::ArrayReduce);
    bitmap_values::register(registry);
    bitmaps::register(registry);
    registry.add_scalar(finalize::FinalizeAggregation);
    registry.add_scalar(in_ranges::ArrayReduceInRanges);
    registry.add_scalar(initialize::InitializeAggregation);
    numeric_vectors::register(registry);
    registry.add_scalar(running_accumulate::RunningAccumulate);
}

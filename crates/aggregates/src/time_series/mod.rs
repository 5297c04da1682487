//! Aggregates of time series: samples of a value at times, looked at from the points of a grid, as PromQL does.
//!
//! - [`to_grid`]: the functions whose result has a value for each point of a grid, made of the samples in a window before it
//! - [`grid`], [`parameters`], [`durations`]: the points and windows, and how they are written
//! - [`samples`]: what such functions are called with, and the state that holds it
//! - [`sliding`]: one summary per window, from summaries of the pieces that windows share
//! - [`summaries`], [`line`], [`extrapolated`]: what windows are summed up to
//! - [`group_array`], [`last_two_samples`], [`k_masks`]: aggregates without a grid

pub mod durations;
pub mod extrapolated;
pub mod grid;
pub mod group_array;
pub mod k_masks;
pub mod last_two_samples;
pub mod line;
pub mod parameters;
pub mod samples;
pub mod sliding;
pub mod summaries;
pub mod to_grid;

use chalet_base::{Result, ensure};
use chalet_function_api::{Context, Registry};

/// Adds all of them.
pub fn register(registry: &mut Registry) {
    to_grid::ToGrid::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(group_array::GroupArray);
    registry.add_aggregate(last_two_samples::LastTwoSamples);
    k_masks::KMasks::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
}

/// Fails where the setting that allows them is off.
fn check_enabled(name: &str, ctx: &Context) -> Result<()> {
    let setting = (ctx.settings.all.0)("enable_time_series_aggregate_functions");
    ensure!(
        setting.is_none_or(|(value, _)| value.as_u64() != Some(0)),
        UNKNOWN_AGGREGATE_FUNCTION,
        "Aggregate function {name} is in private preview and disabled by default. Enable it with setting \
         enable_time_series_aggregate_functions"
    );
    Ok(())
}

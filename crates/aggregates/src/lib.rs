//! The aggregate functions, one file each (or per set that shares a state).
//!
//! - [`resolve`]: from a name and arguments to an aggregate
//! - [`combinators`]: wrappers by suffix: `-If`, `-Array`, `-OrNull`, ...
//! - [`skip_nulls`]: the wrapper that leaves NULLs out
//! - [`state_types`]: the types of states, and what they tell of their bytes
//! - [`check`]: checks that many share, in the kernel's words
//! - [`scalar`]: scalar functions that run an aggregate by name
//! - [`bitmap`]: sets of integers, and aggregates of them
//! - [`numeric_vector`]: sparse vectors of numbers, and the aggregate that makes them
//! - [`selection`], [`collect`], [`sets`], [`slots`], [`floats`], [`hashes`], `key_counts`, [`pcg`], `mean_of_parts`: what states are made of
//! - [`time_series`]: samples at times, looked at from the points of a grid
//! - the others: the functions, see [`register`]

pub mod arg_extremes;
pub mod arrays;
pub mod avg;
pub mod avg_weighted;
pub mod bitmap;
pub mod bits;
pub mod check;
pub mod collect;
pub mod combinators;
pub mod count;
pub mod delta_sum;
pub mod delta_sum_timestamp;
pub mod distinct_paths;
pub mod entropy;
pub mod events;
pub mod extremes;
pub mod floats;
pub mod floyd_rivest;
pub mod hashes;
pub mod intervals;
mod kernel_rows;
mod key_counts;
mod map_tiles;
pub mod mapped_arrays;
mod mean_of_parts;
pub mod nothing;
pub mod numeric_vector;
pub mod pcg;
pub mod quantile;
pub mod resolve;
mod scalar;
pub mod selection;
pub mod sets;
pub mod single_value;
pub mod skip_nulls;
pub mod slots;
pub mod state_types;
pub mod stats;
pub mod sum;
pub mod sum_kinds;
pub mod time_series;
pub mod top_k;
pub mod uniq;
pub mod window;

use chalet_function_api::Registry;
pub use resolve::{Resolved, resolve};

/// Adds every aggregate function and every window function.
pub fn register(registry: &mut Registry) {
    register_aggregates(registry);
    scalar::register(registry);
}

fn register_aggregates(registry: &mut Registry) {
    extremes::Extreme::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    arg_extremes::ArgExtreme::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(avg::Avg);
    registry.add_aggregate(avg::SumCount);
    bits::GroupBits::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(uniq::bitmap::GroupBitmap);
    bitmap::combine::Combine::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(uniq::exact::UniqExact);
    registry.add_aggregate(uniq::sampled::Uniq);
    registry.add_aggregate(uniq::up_to::UniqUpTo);
    uniq::combined::UniqCombined::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    stats::moments::Moments::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    stats::covariance::Covariance::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    stats::stable::Stable::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    arrays::collected::GroupArray::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    arrays::moving::Moving::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(arrays::concat::GroupConcat);
    registry.add_aggregate(arrays::insert_at::GroupArrayInsertAt);
    registry.add_aggregate(arrays::intersect::GroupArrayIntersect);
    registry.add_aggregate(arrays::unique::GroupUniqArray);
    window::register(registry);
    single_value::SingleValue::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(sum_kinds::SumKahan);
    registry.add_aggregate(sum_kinds::SumWithOverflow);
    registry.add_aggregate(avg_weighted::AvgWeighted);
    registry.add_aggregate(map_tiles::MvtEncode);
    mapped_arrays::register(registry);
    distinct_paths::Distinct::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(entropy::Entropy);
    top_k::TopK::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(delta_sum::DeltaSum);
    registry.add_aggregate(delta_sum_timestamp::DeltaSumTimestamp);
    registry.add_aggregate(events::retention::Retention);
    registry.add_aggregate(events::funnel::WindowFunnel);
    registry.add_aggregate(events::next_node::SequenceNextNode);
    events::sequence::Sequence::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    intervals::Intervals::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    stats::contingency::Categories::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    stats::t_test::TTest::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(stats::histogram::Histogram);
    registry.add_aggregate(stats::sparkbar::Sparkbar);
    registry.add_aggregate(stats::ranks::RankCorr);
    registry.add_aggregate(stats::ranks::MannWhitney);
    registry.add_aggregate(stats::gini::Gini);
    stats::histogram_quantile::Prometheus::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(stats::information_value::InformationValue);
    registry.add_aggregate(stats::kolmogorov_smirnov::KolmogorovSmirnov);
    registry.add_aggregate(stats::largest_triangle::LargestTriangle);
    stats::matrices::Matrix::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    stats::regression::Regression::ALL.iter().for_each(|f| registry.add_aggregate(f));
    registry.add_aggregate(stats::t_test_one_sample::TTestOneSample);
    registry.add_aggregate(stats::variance_analysis::AnalysisOfVariance);
    registry.add_aggregate(stats::z_test::MeanZTest);
    stats::line::Line::ALL.into_iter().for_each(|f| registry.add_aggregate(f));
    quantile::register(registry);
    time_series::register(registry);
    registry.add_aggregate(numeric_vector::aggregate::GroupNumericIndexedVector);
    registry.add_aggregate(count::Count);
    registry.add_aggregate(nothing::Nothing::PLAIN);
    registry.add_aggregate(nothing::Nothing::NULL);
    registry.add_aggregate(nothing::Nothing::ZERO);
    registry.add_aggregate(sum::Sum);
}

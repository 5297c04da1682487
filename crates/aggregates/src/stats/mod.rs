//! Statistics of numbers.
//!
//! - [`real`]: Float32 and Float64, in which sums of powers are computed
//! - [`moments`]: variance, deviation, skewness, kurtosis from sums of powers
//! - [`contingency`]: how much categories have to do with each other
//! - [`covariance`]: covariance and correlation from sums of products
//! - [`gini`]: how unequal values are
//! - [`information_value`]: what categories tell of a yes or no
//! - [`kolmogorov_smirnov`]: do two samples come from one distribution?
//! - [`largest_triangle`]: points that stand for a curve
//! - [`matrices`]: covariances and correlations of all pairs of variables
//! - [`regression`]: the line that fits best, with the sums that it comes from
//! - [`results`]: tuples of named floats
//! - [`line`]: functions of points
//! - [`histogram_quantile`]: quantiles of buckets that the rows are
//! - [`histogram`]: bars of adaptive width
//! - [`ranks`]: statistics of ranks
//! - [`t_test`], [`z_test`]: do two samples have the same mean?
//! - [`t_test_one_sample`]: does a sample have a known mean?
//! - [`variance_analysis`]: do several groups have the same mean?
//! - [`special`]: distribution functions
//! - [`stable`]: variances and covariances that do not lose digits

pub mod contingency;
pub mod covariance;
pub mod gini;
pub mod histogram;
pub mod histogram_quantile;
pub mod information_value;
pub mod kolmogorov_smirnov;
pub mod largest_triangle;
pub mod line;
pub mod matrices;
pub mod moments;
pub mod ranks;
pub mod real;
pub mod regression;
pub mod results;
pub mod sparkbar;
pub mod special;
pub mod stable;
pub mod t_test;
pub mod t_test_one_sample;
pub mod variance_analysis;
pub mod z_test;

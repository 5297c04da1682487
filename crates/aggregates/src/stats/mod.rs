//! Statistics of numbers.
//!
//! - [`real`]: Float32 and Float64, in which sums of powers are computed
//! - [`moments`]: variance, deviation, skewness, kurtosis from sums of powers
//! - [`contingency`]: how much categories have to do with each other
//! - [`covariance`]: covariance and correlation from sums of products
//! - [`line`]: functions of points
//! - [`histogram`]: bars of adaptive width
//! - [`ranks`]: statistics of ranks
//! - [`t_test`]: do two samples have the same mean?
//! - [`special`]: distribution functions
//! - [`stable`]: variances and covariances that do not lose digits

pub mod contingency;
pub mod covariance;
pub mod histogram;
pub mod line;
pub mod moments;
pub mod ranks;
pub mod real;
pub mod sparkbar;
pub mod special;
pub mod stable;
pub mod t_test;

//! Statistics of numbers.
//!
//! - [`real`]: Float32 and Float64, in which sums of powers are computed
//! - [`moments`]: variance, deviation, skewness, kurtosis from sums of powers
//! - [`covariance`]: covariance and correlation from sums of products
//! - [`line`]: functions of points
//! - [`stable`]: variances and covariances that do not lose digits

pub mod covariance;
pub mod line;
pub mod moments;
pub mod real;
pub mod stable;

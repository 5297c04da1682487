//! A whole index, as conditions see it.

use super::filter::Filters;
use super::minmax::MinMax;
use super::sets::Sets;

/// What an index knows of the granules of a part, in their order.
pub enum Granules {
    MinMax(MinMax),
    Sets(Sets),
    Filters(Filters),
}

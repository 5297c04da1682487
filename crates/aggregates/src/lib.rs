//! The aggregate functions, one file each (or per set that shares a state).
//!
//! - [`count`], [`sum`]: the exemplars
//! - [`wire`]: reading serialised states

pub mod count;
pub mod sum;
pub mod wire;

use chalet_function_api::Registry;

/// Adds every aggregate function.
pub fn register(registry: &mut Registry) {
    registry.add_aggregate(count::Count);
    registry.add_aggregate(sum::Sum);
}

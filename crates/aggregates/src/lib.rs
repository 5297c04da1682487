//! The aggregate functions, one file each (or per set that shares a state).
//!
//! - [`resolve`]: from a name and arguments to an aggregate
//! - [`combinators`]: wrappers by suffix: `-If`, `-Array`, `-OrNull`, ...
//! - [`skip_nulls`]: the wrapper that leaves NULLs out
//! - [`check`]: checks that many share, in the kernel's words
//! - [`selection`], [`sets`], [`slots`], [`rows`], [`wire`]: what states are made of
//! - the others: the functions, see [`register`]

pub mod check;
pub mod combinators;
pub mod count;
pub mod nothing;
pub mod resolve;
pub mod rows;
pub mod selection;
pub mod sets;
pub mod skip_nulls;
pub mod slots;
pub mod sum;
pub mod wire;

use chalet_function_api::Registry;
pub use resolve::{Resolved, resolve};

/// Adds every aggregate function.
pub fn register(registry: &mut Registry) {
    registry.add_aggregate(count::Count);
    registry.add_aggregate(nothing::Nothing::PLAIN);
    registry.add_aggregate(nothing::Nothing::NULL);
    registry.add_aggregate(nothing::Nothing::ZERO);
    registry.add_aggregate(sum::Sum);
}

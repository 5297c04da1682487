//! What a function is to the rest of the engine: traits, records, the registry. No function lives here.
//!
//! - [`record`]: name, aliases, documentation and declared properties
//! - [`scalar`]: the trait of scalar functions and what a call hands to it
//! - [`call`]: the framework around a call: NULLs, constants, dictionaries
//! - `dictionary_results`: results for the values of dictionaries, kept from block to block
//! - `several`: functions over Variant and Dynamic, type by type
//! - [`aggregate`]: the traits of aggregate functions and their columns of states
//! - [`states`]: states from a plain per-row description, for aggregates that need no loop of their own
//! - [`window`]: the trait of functions that exist only over windows
//! - [`context`]: what a function may know about session and query
//! - [`registry`]: finding functions by name

pub mod aggregate;
pub mod call;
pub mod context;
mod dictionary_results;
pub mod record;
pub mod registry;
pub mod scalar;
mod several;
pub mod states;
pub mod window;

pub use aggregate::{Aggregate, AggregateFunction, AggregateRecord, States};
pub use context::{Context, Host, Interrupt, Shared};
pub use record::{
    Comparison, Constants, Dictionaries, Example, Grows, Lazy, Linear, Nulls, Record, Search, SeveralTypes,
    ShownType, Volatility,
};
pub use registry::Registry;
pub use scalar::{Arg, Argument, Bound, Call, Lambda, NativeArg, ScalarFunction, StringArg};
pub use states::{EachState, RowAggregate};
pub use window::{PartOf, Partitions, Peers, Reach, WindowFunction};

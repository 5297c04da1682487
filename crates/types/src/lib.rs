//! Data types of the dialect: their text form, their values, common supertypes. No buffers.
//!
//! - [`data_type`]: the `DataType` tree and its properties
//! - [`geometry`]: names of geometries, which are tuples and arrays with a name
//! - [`text`], [`type_parser`]: the text form, printed and parsed
//! - [`json_text`]: the text form of JSON types
//! - [`families`]: names, aliases and case rule of every type family
//! - [`physical`]: which machine representation a type has
//! - [`value`]: one dynamically typed value
//! - [`time_zone`]: named time zones
//! - [`calendar`]: civil dates, local time and timestamps
//! - [`decimal`]: precision and scale arithmetic
//! - [`qbit`]: vectors of which leading bits may be read alone
//! - [`supertype`]: the least type that holds values of several types
//! - [`aggregate_function`]: types of states of aggregate functions
//! - `aggregate_text`: their text form
//! - [`simple_aggregate`]: the text form of columns with an aggregate
//! - [`variant`]: Variant, Dynamic and JSON
//! - [`promotion`]: result types of arithmetic

pub mod aggregate_function;
mod aggregate_text;
pub mod calendar;
pub mod data_type;
pub mod decimal;
pub mod families;
pub mod geometry;
mod json_text;
pub mod physical;
pub mod promotion;
pub mod qbit;
pub mod simple_aggregate;
pub mod supertype;
pub mod text;
pub mod type_parser;
pub use text::laid_out;
pub mod time_zone;
pub mod value;
pub mod variant;

pub use aggregate_function::{AggregateType, StateOperations};
pub use data_type::{DataType, EnumValues, IntervalUnit, TupleField};
pub use ethnum::{AsI256, AsU256, I256, U256};
pub use geometry::Geometry;
pub use half::bf16;
pub use physical::Physical;
pub use qbit::{QBitElement, QBitType};
pub use time_zone::TimeZone;
pub use value::{ScaledValue, Value};
pub use variant::JsonType;

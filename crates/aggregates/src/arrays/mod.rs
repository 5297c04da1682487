//! Aggregates whose result is an array of values.
//!
//! - [`parameters`]: the size limit that most of them take
//! - [`collected`]: `groupArray`, `groupArrayLast`, `groupArraySorted`, `groupArraySample`
//! - [`unique`]: `groupUniqArray`
//! - [`insert_at`]: `groupArrayInsertAt`
//! - [`moving`]: `groupArrayMovingSum`, `groupArrayMovingAvg`
//! - [`concat`]: `groupConcat`

pub mod collected;
pub mod concat;
pub mod insert_at;
pub mod moving;
pub mod parameters;
pub mod unique;

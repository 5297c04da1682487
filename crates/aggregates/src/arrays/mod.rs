//! Aggregates whose result is an array of values.
//!
//! - [`parameters`]: the size limit that most of them take
//! - [`collected`], for `groupArray`, `groupArraySorted`
//! - [`kept`], for `groupArrayLast`, `groupArraySample`
//! - [`unique`], for `groupUniqArray`
//! - [`insert_at`], for `groupArrayInsertAt`
//! - [`moving`], for `groupArrayMovingSum`, `groupArrayMovingAvg`
//! - [`concat`], for `groupConcat`
//! - [`intersect`], for `groupArrayIntersect`

pub mod collected;
pub mod concat;
pub mod insert_at;
pub mod intersect;
mod kept;
pub mod moving;
pub mod parameters;
pub mod unique;
mod unique_words;

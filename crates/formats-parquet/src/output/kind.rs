//! What a column chunk is written of: numbers or byte strings, with the dictionary of those that came and the bounds of a page.

use super::bounds::Bounds;

/// Values of one physical type, while a column chunk is written. Calls alternate between values of a page, in order, and
/// [`take_bounds`](Kind::take_bounds) at its end.
pub trait Kind {
    type Value<'a>: Copy;

    /// How many of the first values take no more bytes than that, at least one.
    fn fitting(values: &[Self::Value<'_>], bytes: usize) -> usize;

    /// Appends the codes of values, which enter the dictionary.
    fn codes(&mut self, values: &[Self::Value<'_>], codes: &mut Vec<u32>);

    /// Appends values as PLAIN has them; where `lengths` are given, those of strings go there.
    fn put(&mut self, values: &[Self::Value<'_>], bytes: &mut Vec<u8>, lengths: Option<&mut Vec<i64>>);

    /// The dictionary as its page, and how many values it has.
    fn dictionary(&self) -> (&[u8], usize);

    /// Bounds of the values since the last call, none where there were no values.
    fn take_bounds(&mut self) -> Option<Bounds>;

    /// How many values were not a number; none where all are.
    fn n_nans(&self) -> Option<u64>;

    /// So many values of the next block come; those of the one before may be gone.
    fn start_block(&mut self, n_values: usize);
}

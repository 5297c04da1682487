//! `-If`: only rows whose last argument is true. A NULL condition is a false one.

use super::around::{Around, Change};
use crate::selection::{ends_among, frames_among, select};
use chalet_base::{Result, bail, err};
use chalet_columns::{BooleanBuffer, RowMask, Vector, bits};
use chalet_function_api::{Aggregate, Argument, States};
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;

pub struct Filter(Arc<dyn Aggregate>);

impl Filter {
    /// The function inside may want no NULL in any argument, the condition included.
    pub fn around(
        inner: Arc<dyn Aggregate>,
        args: &[Argument],
        nullable: bool,
    ) -> Result<Arc<dyn Aggregate>> {
        check_condition(args, nullable)?;
        Ok(Arc::new(Filter(inner)))
    }
}

/// Fails unless the last argument is a condition.
pub fn check_condition(args: &[Argument], nullable: bool) -> Result<()> {
    match args.last().map(|arg| &arg.ty) {
        Some(ty) if ty.is_only_null() => Ok(()),
        Some(ty)
            if matches!(ty.bare(), DataType::UInt8 | DataType::Bool) && (nullable || !ty.is_nullable()) =>
        {
            Ok(())
        }
        ty => bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal type {} of the last argument of an aggregate function with the If suffix: the last argument \
             is the condition and must be UInt8. If the condition is missing, it goes after the arguments of \
             the aggregate function",
            ty.unwrap_or(&DataType::Nothing)
        ),
    }
}

impl Aggregate for Filter {
    fn result_type(&self) -> DataType {
        self.0.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Around::<Passing>::of(self.0.states())
    }
}

struct Passing;

/// The rows of the range that pass, a bit for each, and the arguments without the condition.
fn passing(args: &[Vector], rows: Range<usize>) -> Result<(BooleanBuffer, &[Vector])> {
    let (condition, rest) =
        args.split_last().ok_or_else(|| err!(LOGICAL_ERROR, "The If combinator was given no condition"))?;
    if matches!(condition.data, chalet_columns::Data::Nothing(_)) {
        return Ok((BooleanBuffer::new_unset(rows.len()), rest));
    }
    let passed = bits::nonzero(&condition.values::<u8>()?[rows.clone()]);
    Ok(match &condition.validity {
        None => (passed, rest),
        Some(valid) => (&passed & valid.slice(rows.start, rows.len()).inner(), rest),
    })
}

impl Change for Passing {
    fn add(inner: &mut dyn States, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let (passed, args) = passing(args, rows.clone())?;
        let passed = RowMask::new(&passed);
        match passed.len() {
            0 => Ok(()),
            _ if passed.is_all() => inner.add(group, args, rows),
            n => inner.add(group, &select(args, rows, &passed), 0..n),
        }
    }

    fn add_groups(inner: &mut dyn States, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (passed, args) = passing(args, 0..groups.len())?;
        let passed = RowMask::new(&passed);
        if passed.is_all() {
            return inner.add_groups(groups, args);
        }
        inner.add_groups(&passed.values(groups), &select(args, 0..groups.len(), &passed))
    }

    fn running(inner: &mut dyn States, args: &[Vector], from: usize, ends: &[usize]) -> Result<Vector> {
        let rows = from..ends.last().copied().unwrap_or(from);
        let (passed, args) = passing(args, rows.clone())?;
        let passed = RowMask::new(&passed);
        if passed.is_all() {
            return inner.running(args, from, ends);
        }
        inner.running(&select(args, rows, &passed), 0, &ends_among(&passed, from, ends))
    }

    fn running_frames(
        inner: &mut dyn States,
        args: &[Vector],
        frames: &[Range<usize>],
    ) -> Result<Option<Vector>> {
        let rows = 0..frames.iter().map(|frame| frame.end).max().unwrap_or(0);
        let (passed, args) = passing(args, rows.clone())?;
        let passed = RowMask::new(&passed);
        if passed.is_all() {
            return inner.running_frames(args, frames);
        }
        let frames = frames_among(&passed, rows.len(), frames);
        inner.running_frames(&select(args, rows, &passed), &frames)
    }
}

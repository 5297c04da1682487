//! `-If`: only rows whose last argument is true. A NULL condition is a false one.

use super::around::{Around, Change};
use crate::selection::gather;
use chalet_base::{Result, bail, err};
use chalet_columns::Vector;
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
        match args.last().map(|arg| &arg.ty) {
            Some(ty) if ty.is_only_null() && nullable => {}
            Some(ty)
                if matches!(ty.bare(), DataType::UInt8 | DataType::Bool)
                    && (nullable || !ty.is_nullable()) => {}
            ty => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of the last argument of an aggregate function with the If suffix: the last argument \
                 is the condition and must be UInt8. If the condition is missing, it goes after the arguments of \
                 the aggregate function",
                ty.unwrap_or(&DataType::Nothing)
            ),
        }
        Ok(Arc::new(Filter(inner)))
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

/// The rows of the range that pass, and the arguments without the condition.
fn passing(args: &[Vector], rows: Range<usize>) -> Result<(Vec<u32>, &[Vector])> {
    let (condition, rest) =
        args.split_last().ok_or_else(|| err!(LOGICAL_ERROR, "The If combinator was given no condition"))?;
    if matches!(condition.data, chalet_columns::Data::Nothing(_)) {
        return Ok((Vec::new(), rest));
    }
    let values = condition.values::<u8>()?;
    let passed = match &condition.validity {
        None => rows.filter(|&row| values[row] != 0).map(|row| row as u32).collect(),
        Some(valid) => {
            rows.filter(|&row| values[row] != 0 && valid.is_valid(row)).map(|row| row as u32).collect()
        }
    };
    Ok((passed, rest))
}

impl Change for Passing {
    fn add(inner: &mut dyn States, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let n_rows = rows.len();
        let (passed, args) = passing(args, rows.clone())?;
        match passed.len() {
            0 => Ok(()),
            n if n == n_rows => inner.add(group, args, rows),
            n => inner.add(group, &gather(args, &passed), 0..n),
        }
    }

    fn add_groups(inner: &mut dyn States, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (passed, args) = passing(args, 0..groups.len())?;
        if passed.len() == groups.len() {
            return inner.add_groups(groups, args);
        }
        let groups: Vec<u32> = passed.iter().map(|&row| groups[row as usize]).collect();
        inner.add_groups(&groups, &gather(args, &passed))
    }
}

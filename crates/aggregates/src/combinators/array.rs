//! `-Array`: the elements of arrays as if each was a row; several arrays go in step.

use super::around::{Around, Change};
use chalet_base::{Result, ensure, err};
use chalet_columns::Vector;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;

pub struct Array(Arc<dyn Aggregate>);

impl Array {
    pub fn around(inner: Arc<dyn Aggregate>) -> Arc<dyn Aggregate> {
        Arc::new(Array(inner))
    }
}

impl Aggregate for Array {
    fn result_type(&self) -> DataType {
        self.0.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Around::<Elements>::of(self.0.states())
    }
}

/// The elements of a range of rows of lists that go in step, and where each row's elements end.
pub fn flatten(args: &[Vector], rows: Range<usize>) -> Result<(Vec<Vector>, Vec<usize>)> {
    let first = args.first().ok_or_else(|| err!(LOGICAL_ERROR, "Array combinator was given no array"))?;
    let list = first.list()?;
    let lengths: Vec<usize> = rows.clone().map(|row| list.range(row).len()).collect();
    let mut elements = Vec::with_capacity(args.len());
    for arg in args {
        let list = arg.list()?;
        for (row, &len) in rows.clone().zip(&lengths) {
            ensure!(
                list.range(row).len() == len,
                SIZES_OF_ARRAYS_DONT_MATCH,
                "Lengths of all arrays passed to aggregate function must be equal"
            );
        }
        let (start, end) = (list.offsets[rows.start] as usize, list.offsets[rows.end] as usize);
        elements.push(list.values.slice(start, end - start));
    }
    Ok((elements, lengths))
}

struct Elements;

impl Change for Elements {
    fn add(inner: &mut dyn States, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let (elements, lengths) = flatten(args, rows)?;
        inner.add(group, &elements, 0..lengths.iter().sum())
    }

    fn add_groups(inner: &mut dyn States, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (elements, lengths) = flatten(args, 0..groups.len())?;
        let mut spread = Vec::with_capacity(lengths.iter().sum());
        for (&group, len) in groups.iter().zip(lengths) {
            spread.resize(spread.len() + len, group);
        }
        inner.add_groups(&spread, &elements)
    }
}

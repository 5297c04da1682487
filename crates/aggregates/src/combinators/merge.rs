//! `-Merge`: the result over all rows of the states that are its argument.

use super::around::{Around, Change};
use chalet_base::{Result, ensure};
use chalet_columns::Vector;
use chalet_function_api::{Aggregate, States};
use chalet_types::DataType;
use std::ops::Range;
use std::sync::Arc;

pub struct Merge(Arc<dyn Aggregate>);

impl Merge {
    /// `inner` takes the arguments that the states were made of.
    pub fn around(inner: Arc<dyn Aggregate>) -> Arc<dyn Aggregate> {
        Arc::new(Merge(inner))
    }
}

impl Aggregate for Merge {
    fn result_type(&self) -> DataType {
        self.0.result_type()
    }

    fn states(&self) -> Box<dyn States> {
        Around::<Merging>::of(self.0.states())
    }
}

struct Merging;

fn take(states: &mut dyn States, group: usize, mut bytes: &[u8]) -> Result<()> {
    states.deserialise(group, &mut bytes)?;
    ensure!(bytes.is_empty(), INCORRECT_DATA, "Aggregate state has {} trailing byte(s)", bytes.len());
    Ok(())
}

impl Change for Merging {
    fn add(inner: &mut dyn States, group: usize, args: &[Vector], mut rows: Range<usize>) -> Result<()> {
        let states = args[0].strings()?;
        rows.try_for_each(|row| take(inner, group, states.get(row)))
    }

    fn add_groups(inner: &mut dyn States, groups: &[u32], args: &[Vector]) -> Result<()> {
        let mut states = groups.iter().zip(args[0].strings()?.iter());
        states.try_for_each(|(&group, state)| take(inner, group as usize, state))
    }
}

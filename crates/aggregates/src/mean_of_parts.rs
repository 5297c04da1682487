//! The mean from sums and counts of parts of the rows: the second step of `avg` when it is taken in two.

use crate::avg::{Averages, Output, Quotient};
use crate::sum::{Summand, Total};
use chalet_base::Result;
use chalet_columns::Vector;
use chalet_function_api::states::same_states;
use chalet_function_api::{Aggregate, States};
use chalet_types::{DataType, Physical};
use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

pub(crate) struct MeanOfParts<S> {
    divisor: f64,
    sums: PhantomData<S>,
}

impl<S: Total + Quotient + Summand<S>> MeanOfParts<S> {
    pub fn boxed(divisor: f64) -> Arc<dyn Aggregate> {
        Arc::new(MeanOfParts::<S> { divisor, sums: PhantomData })
    }
}

impl<S: Total + Quotient + Summand<S>> Aggregate for MeanOfParts<S> {
    fn result_type(&self) -> DataType {
        DataType::Float64
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(Parts::<S>(Averages::new(Output::Mean { divisor: self.divisor }, Physical::F64)))
    }
}

/// Averages whose rows are pairs of sum and count.
struct Parts<S>(Averages<S, S>);

impl<S: Total + Quotient + Summand<S>> States for Parts<S> {
    fn grow(&mut self, n: usize) {
        self.0.grow(n);
    }

    fn add(&mut self, group: usize, args: &[Vector], rows: Range<usize>) -> Result<()> {
        let (sums, counts) = (args[0].values::<S>()?, args[1].values::<u64>()?);
        rows.for_each(|row| self.0.add_part(group, sums[row], counts[row]));
        Ok(())
    }

    fn add_groups(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let (sums, counts) = (args[0].values::<S>()?, args[1].values::<u64>()?);
        for ((&group, &sum), &count) in groups.iter().zip(sums).zip(counts) {
            self.0.add_part(group as usize, sum, count);
        }
        Ok(())
    }

    fn merge(&mut self, other: &mut dyn States, from: &[u32], into: &[u32]) -> Result<()> {
        self.0.merge(&mut same_states::<Self>(other)?.0, from, into)
    }

    fn serialise(&self, group: usize, out: &mut Vec<u8>) {
        self.0.serialise(group, out);
    }

    fn deserialise(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.0.deserialise(group, bytes)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        self.0.finish(n)
    }

    fn memory(&self) -> usize {
        self.0.memory()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

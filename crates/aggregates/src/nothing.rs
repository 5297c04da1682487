//! `nothing`, `nothingNull`, `nothingUInt64`: ignore their arguments; what aggregates of the literal NULL become.

use chalet_base::Result;
use chalet_columns::Vector;
use chalet_columns::wire::take_u8;
use chalet_function_api::aggregate::AggregateNulls;
use chalet_function_api::{
    Aggregate, AggregateFunction, AggregateRecord, Argument, Context, Example, States,
};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

const RECORD: AggregateRecord = AggregateRecord {
    name: "nothing",
    summary: "Ignores its arguments and returns the default of the first one's type, or NULL of none.",
    syntax: "nothing([x, ...])",
    examples: &[Example { sql: "SELECT nothing(5)", result: "0" }],
    ..AggregateRecord::DEFAULT
};

const NULL: AggregateRecord = AggregateRecord {
    name: "nothingNull",
    summary: "Ignores its arguments and returns NULL.",
    syntax: "nothingNull([x, ...])",
    examples: &[Example { sql: "SELECT nothingNull(1)", result: "\\N" }],
    nulls: AggregateNulls::Seen,
    ..RECORD
};

const ZERO: AggregateRecord = AggregateRecord {
    name: "nothingUInt64",
    summary: "Ignores its arguments and returns 0.",
    syntax: "nothingUInt64([x, ...])",
    examples: &[Example { sql: "SELECT nothingUInt64(1)", result: "0" }],
    nulls: AggregateNulls::Seen,
    ..RECORD
};

pub struct Nothing {
    record: &'static AggregateRecord,
    result: fn() -> DataType,
    /// The result is the default of the first argument's type.
    keeps_type: bool,
}

fn null_type() -> DataType {
    DataType::Nullable(Arc::new(DataType::Nothing))
}

impl Nothing {
    pub const PLAIN: Nothing = Nothing { record: &RECORD, result: null_type, keeps_type: true };
    pub const NULL: Nothing = Nothing { record: &NULL, result: null_type, keeps_type: false };
    pub const ZERO: Nothing = Nothing { record: &ZERO, result: || DataType::UInt64, keeps_type: false };

    /// Returns NULL.
    pub fn null() -> Arc<dyn Aggregate> {
        Arc::new(Constant(null_type()))
    }

    /// Returns 0.
    pub fn zero() -> Arc<dyn Aggregate> {
        Arc::new(Constant(DataType::UInt64))
    }
}

impl AggregateFunction for Nothing {
    fn record(&self) -> &'static AggregateRecord {
        self.record
    }

    fn bind(&self, _: &[Value], args: &[Argument], _: &Context) -> Result<Arc<dyn Aggregate>> {
        let first = args.first().filter(|_| self.keeps_type).map(|arg| arg.ty.clone());
        Ok(Arc::new(Constant(first.unwrap_or_else(self.result))))
    }
}

/// The default of its type for every group.
struct Constant(DataType);

impl Aggregate for Constant {
    fn result_type(&self) -> DataType {
        self.0.clone()
    }

    fn states(&self) -> Box<dyn States> {
        Box::new(NoStates(self.0.clone()))
    }
}

struct NoStates(DataType);

impl States for NoStates {
    fn grow(&mut self, _: usize) {}

    fn add(&mut self, _: usize, _: &[Vector], _: Range<usize>) -> Result<()> {
        Ok(())
    }

    fn add_groups(&mut self, _: &[u32], _: &[Vector]) -> Result<()> {
        Ok(())
    }

    fn merge(&mut self, _: &mut dyn States, _: &[u32], _: &[u32]) -> Result<()> {
        Ok(())
    }

    /// A byte, so that states are not empty.
    fn serialise(&self, _: usize, out: &mut Vec<u8>) {
        out.push(0);
    }

    fn deserialise(&mut self, _: usize, bytes: &mut &[u8]) -> Result<()> {
        take_u8(bytes).map(drop)
    }

    fn finish(&mut self, n: usize) -> Result<Vector> {
        Ok(Vector::defaults(&self.0, n))
    }

    fn running(&mut self, _: &[Vector], _: usize, ends: &[usize]) -> Result<Vector> {
        Ok(Vector::defaults(&self.0, ends.len()))
    }

    fn memory(&self) -> usize {
        0
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

//! Functions of the block that a row is in: `blockNumber`, `blockSize`, `rowNumberInBlock`, `rowNumberInAllBlocks`.

use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Context, Example, Record, ScalarFunction, SeveralTypes, Volatility,
};
use chalet_types::DataType;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCK_NUMBER: Record = Record {
    name: "blockNumber",
    several_types: SeveralTypes::Seen,
    summary: "The number of the block that the row is in, counted from 0 as blocks are processed.",
    syntax: "blockNumber()",
    examples: &[Example { sql: "SELECT blockNumber() >= 0", result: "1" }],
    volatility: Volatility::PerRow,
    total: true,
    ..Record::DEFAULT
};

const BLOCK_SIZE: Record = Record {
    name: "blockSize",
    several_types: SeveralTypes::Seen,
    summary: "The number of rows of the block that the row is in.",
    syntax: "blockSize()",
    examples: &[Example { sql: "SELECT blockSize()", result: "1" }],
    ..BLOCK_NUMBER
};

const ROW_NUMBER_IN_BLOCK: Record = Record {
    name: "rowNumberInBlock",
    counts_rows: true,
    several_types: SeveralTypes::Seen,
    summary: "The number of the row in its block, counted from 0.",
    syntax: "rowNumberInBlock()",
    examples: &[Example { sql: "SELECT rowNumberInBlock()", result: "0" }],
    ..BLOCK_NUMBER
};

const ROW_NUMBER_IN_ALL_BLOCKS: Record = Record {
    name: "rowNumberInAllBlocks",
    counts_rows: true,
    several_types: SeveralTypes::Seen,
    summary: "The number of the row among all that the function has seen in this query, counted from 0.",
    syntax: "rowNumberInAllBlocks()",
    examples: &[Example { sql: "SELECT rowNumberInAllBlocks()", result: "0" }],
    ..BLOCK_NUMBER
};

#[derive(Clone, Copy)]
enum Kind {
    BlockNumber,
    BlockSize,
    RowInBlock,
    RowInAll,
}

pub struct OfBlock {
    record: &'static Record,
    kind: Kind,
}

pub const BLOCK_NUMBER_FUNCTION: OfBlock = OfBlock { record: &BLOCK_NUMBER, kind: Kind::BlockNumber };
pub const BLOCK_SIZE_FUNCTION: OfBlock = OfBlock { record: &BLOCK_SIZE, kind: Kind::BlockSize };
pub const ROW_NUMBER_IN_BLOCK_FUNCTION: OfBlock =
    OfBlock { record: &ROW_NUMBER_IN_BLOCK, kind: Kind::RowInBlock };
pub const ROW_NUMBER_IN_ALL_BLOCKS_FUNCTION: OfBlock =
    OfBlock { record: &ROW_NUMBER_IN_ALL_BLOCKS, kind: Kind::RowInAll };

impl ScalarFunction for OfBlock {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(self.record.name, args.len(), 0..=0)?;
        // What the call has seen so far: blocks or rows.
        Ok(Bound::with_state(DataType::UInt64, AtomicU64::new(0)))
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let seen: &AtomicU64 = call.state()?;
        let n = call.n_rows as u64;
        Ok(match self.kind {
            Kind::BlockNumber => {
                let number = if n == 0 { 0 } else { seen.fetch_add(1, Ordering::Relaxed) };
                Vector::from(vec![number; call.n_rows])
            }
            Kind::BlockSize => Vector::from(vec![n; call.n_rows]),
            Kind::RowInBlock => Vector::from((0..n).collect::<Vec<u64>>()),
            Kind::RowInAll => {
                let first = seen.fetch_add(n, Ordering::Relaxed);
                Vector::from((first..first + n).collect::<Vec<u64>>())
            }
        }
        .into())
    }
}

//! Reading the whole input as one value.

use crate::input::{BlockReader, Input, ReadRequest};
use crate::line_as_string::check_single_string;
use chalet_base::Result;
use chalet_columns::{Block, Column, Strings, Vector};

/// The one row, until it is read.
pub struct RawBlobReader(Option<Block>);

impl RawBlobReader {
    pub fn new(input: Input, request: &ReadRequest) -> Result<RawBlobReader> {
        check_single_string(request)?;
        let bytes = input.into_bytes()?;
        let strings: Strings = std::iter::once(&bytes[..]).collect();
        let column = Column::Flat(Vector::from(strings));
        Ok(RawBlobReader(Some(Block::new(vec![column; request.wanted.len()], 1))))
    }
}

impl BlockReader for RawBlobReader {
    fn next_block(&mut self, _: usize) -> Result<Option<Block>> {
        Ok(self.0.take())
    }
}

//! The writer of formats that put one row after the other: they say what a row looks like, the rest is here.

use crate::output::{BlockWriter, Out, Sink, Statistics};
use chalet_base::Result;
use chalet_columns::Block;

/// How one format lays out a result. Calls come in the order of the methods.
pub trait RowLayout: Send {
    /// Before the first row, also when there is none.
    fn begin(&mut self, _out: &mut Vec<u8>) {}

    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize);

    fn totals(&mut self, _out: &mut Vec<u8>, _block: &Block) {}

    fn extremes(&mut self, _out: &mut Vec<u8>, _block: &Block) {}

    fn end(&mut self, _out: &mut Vec<u8>, _statistics: &Statistics) {}

    /// Instead of the end where the statement has failed. False where the format has no place for an error.
    fn exception(&mut self, _out: &mut Vec<u8>, _message: &str) -> bool {
        false
    }
}

/// Writes a result in a layout.
pub struct RowWriter<L> {
    layout: L,
    out: Out,
}

impl<L: RowLayout + 'static> RowWriter<L> {
    pub fn boxed(mut layout: L, sink: Box<dyn Sink>) -> Box<dyn BlockWriter> {
        let mut out = Out::new(sink);
        layout.begin(&mut out.text);
        Box::new(RowWriter { layout, out })
    }
}

impl<L: RowLayout> BlockWriter for RowWriter<L> {
    fn write(&mut self, block: &Block) -> Result<()> {
        for row in 0..block.n_rows() {
            self.layout.row(&mut self.out.text, block, row);
            self.out.settle()?;
        }
        Ok(())
    }

    fn totals(&mut self, block: &Block) -> Result<()> {
        self.layout.totals(&mut self.out.text, block);
        Ok(())
    }

    fn extremes(&mut self, block: &Block) -> Result<()> {
        self.layout.extremes(&mut self.out.text, block);
        Ok(())
    }

    fn finish(&mut self, statistics: &Statistics) -> Result<()> {
        self.layout.end(&mut self.out.text, statistics);
        self.out.close()
    }

    fn exception(&mut self, message: &str) -> Result<bool> {
        let is_told = self.layout.exception(&mut self.out.text, message);
        if is_told {
            self.out.close()?;
        }
        Ok(is_told)
    }

    fn writes_rows(&self) -> bool {
        true
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

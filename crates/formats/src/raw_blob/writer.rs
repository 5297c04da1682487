//! Writing values one after the other with nothing between: strings as they are, numbers as their bytes.

use crate::binary::put_value;
use crate::output::{BlockWriter, Out, Sink, Statistics, WriteRequest};
use chalet_base::{Result, ensure};
use chalet_columns::{Block, Data};
use chalet_types::{DataType, Physical};

pub struct RawBlobWriter {
    request: WriteRequest,
    out: Out,
}

impl RawBlobWriter {
    pub fn new(request: WriteRequest, sink: Box<dyn Sink>) -> RawBlobWriter {
        RawBlobWriter { request, out: Out::new(sink) }
    }
}

impl BlockWriter for RawBlobWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        for (_, ty) in self.request.header.iter() {
            let plain = !matches!(ty.physical(), Physical::List | Physical::Struct)
                && !matches!(ty.bare(), DataType::QBit(_));
            ensure!(plain || block.is_empty(), NOT_IMPLEMENTED, "Method getDataAt is not supported for {ty}");
        }
        for row in 0..block.n_rows() {
            for ((_, ty), column) in self.request.header.iter().zip(block.columns()) {
                let (vector, row) = column.locate(row);
                match &vector.data {
                    _ if vector.is_null(row) => {}
                    Data::Str(strings) => self.out.text.extend_from_slice(strings.get(row)),
                    _ => put_value(&mut self.out.text, ty.bare(), vector, row)?,
                }
            }
            self.out.settle()?;
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.out.close()
    }

    fn writes_rows(&self) -> bool {
        true
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

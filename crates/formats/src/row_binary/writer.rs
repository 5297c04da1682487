//! Writing RowBinary.

use crate::binary::{put_string, put_value, put_var_uint};
use crate::binary_types::put_type;
use crate::header::Header;
use crate::output::{BlockWriter, Out, Sink, Statistics, WriteRequest};
use chalet_base::Result;
use chalet_columns::Block;

pub struct RowBinaryWriter {
    request: WriteRequest,
    out: Out,
}

impl RowBinaryWriter {
    pub fn new(request: WriteRequest, sink: Box<dyn Sink>, header: Header) -> RowBinaryWriter {
        let mut out = Out::new(sink);
        if header != Header::None {
            put_var_uint(&mut out.text, request.header.len() as u64);
            request.header.iter().for_each(|c| put_string(&mut out.text, c.0.as_bytes()));
        }
        if header == Header::NamesAndTypes {
            let binary = request.settings.output_format_binary_encode_types_in_binary_format;
            request.header.iter().filter(|_| binary).for_each(|c| put_type(&mut out.text, &c.1));
            request
                .type_names()
                .filter(|_| !binary)
                .for_each(|name| put_string(&mut out.text, name.as_bytes()));
        }
        RowBinaryWriter { request, out }
    }
}

impl BlockWriter for RowBinaryWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        for row in 0..block.n_rows() {
            for ((_, ty), column) in self.request.header.iter().zip(block.columns()) {
                let (vector, row) = column.locate(row);
                put_value(&mut self.out.text, ty, vector, row)?;
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

//! Npy: an array of NumPy, the first dimension of which is the rows of one column.

mod header;
mod reader;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::{Result, ensure};

struct Npy;

pub const FORMATS: &[Format] = &[Format {
    name: "Npy",
    suffixes: &["npy"],
    content_type: "application/octet-stream",
    capabilities: Capabilities {
        schema_inference: true,
        no_append: true,
        subset_of_columns: true,
        ..Capabilities::NONE
    },
    input: Some(&Npy),
    output: Some(&Npy),
}];

impl InputFormat for Npy {
    fn infer_schema(&self, input: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        let (head, _) = input.head(1 << 20)?;
        ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
        let (header, _) = header::Header::read(head)?;
        Ok(Some(vec![("array".to_string(), header.data_type()?)]))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        reader::open(input.into_bytes()?, request)
    }
}

impl OutputFormat for Npy {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::NpyWriter::new(request, sink)?))
    }
}

//! Avro: object container files. A schema in JSON, then blocks of rows that are compressed one by one.

mod json;
mod reader;
mod schema;
mod writer;

use crate::FormatSettings;
use crate::format::{Capabilities, Format};
use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use chalet_base::{Result, ensure};

struct Avro;

pub const FORMATS: &[Format] = &[Format {
    name: "Avro",
    suffixes: &["avro"],
    content_type: "application/octet-stream",
    capabilities: Capabilities {
        schema_inference: true,
        no_append: true,
        subset_of_columns: true,
        ..Capabilities::NONE
    },
    input: Some(&Avro),
    output: Some(&Avro),
}];

impl InputFormat for Avro {
    fn infer_schema(&self, input: &mut Input, _: &FormatSettings) -> Result<Option<Schema>> {
        // Schemas are short; a file that is not is read whole.
        let mut limit = 1 << 20;
        loop {
            let (head, complete) = input.head(limit)?;
            ensure!(!head.is_empty(), CANNOT_EXTRACT_TABLE_STRUCTURE, "the file is empty");
            match reader::Header::read(head) {
                Ok((header, _)) => return header.columns().map(Some),
                Err(error) if complete || limit > 1 << 26 => return Err(error),
                Err(_) => limit *= 4,
            }
        }
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        reader::open(input.into_bytes()?, request)
    }
}

impl OutputFormat for Avro {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        Ok(Box::new(writer::AvroWriter::new(request, sink)?))
    }
}

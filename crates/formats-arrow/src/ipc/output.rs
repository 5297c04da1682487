//! Writers of ArrowStream and Arrow files: a block is a record batch.

use crate::export::array::named_array;
use crate::export::field_of;
use crate::{ExportOptions, StringsAs, arrow_error};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{Field, Schema, SchemaRef};
use chalet_base::{Result, err};
use chalet_columns::Block;
use chalet_formats::settings::ArrowCompression;
use chalet_formats::{BlockWriter, FormatSettings, OutputFormat, Sink, Statistics, WriteRequest};
use std::sync::Arc;

pub struct Arrow {
    pub stream: bool,
}

impl ExportOptions {
    /// As the settings of a query say.
    pub fn of_settings(settings: &FormatSettings, time_zone: &str) -> ExportOptions {
        ExportOptions {
            strings: match settings.output_format_arrow_string_as_string {
                true => StringsAs::Utf8,
                false => StringsAs::Binary,
            },
            fixed_string_as_fixed_byte_array: settings.output_format_arrow_fixed_string_as_fixed_byte_array,
            low_cardinality_as_dictionary: settings.output_format_arrow_low_cardinality_as_dictionary,
            use_signed_indexes_for_dictionary: settings.output_format_arrow_use_signed_indexes_for_dictionary,
            use_64_bit_indexes_for_dictionary: settings.output_format_arrow_use_64_bit_indexes_for_dictionary,
            date_as_uint16: settings.output_format_arrow_date_as_uint16,
            uuid_as_fixed_byte_array: settings.output_format_arrow_uuid_as_fixed_byte_array,
            unsupported_types_as_binary: settings.output_format_arrow_unsupported_types_as_binary,
            variant_as_string: settings.output_format_arrow_variant_as_string,
            time_zone: time_zone.into(),
        }
    }
}

impl OutputFormat for Arrow {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let options = ExportOptions::of_settings(&request.settings, request.time_zone.name());
        let fields: Result<Vec<Field>> =
            request.header.iter().map(|(name, ty)| field_of(name, ty, &options)).collect();
        let schema = Arc::new(Schema::new(fields?));
        let compression = match request.settings.output_format_arrow_compression_method {
            ArrowCompression::Lz4Frame => Some(CompressionType::LZ4_FRAME),
            ArrowCompression::Zstd => Some(CompressionType::ZSTD),
            ArrowCompression::None => None,
        };
        let ipc = IpcWriteOptions::default().try_with_compression(compression).map_err(arrow_error)?;
        let writer = match self.stream {
            true => {
                Writer::Stream(StreamWriter::try_new_with_options(sink, &schema, ipc).map_err(cannot_write)?)
            }
            false => {
                Writer::File(FileWriter::try_new_with_options(sink, &schema, ipc).map_err(cannot_write)?)
            }
        };
        Ok(Box::new(Batches { writer, request, options, schema }))
    }
}

fn cannot_write(error: arrow_schema::ArrowError) -> chalet_base::Error {
    err!(CANNOT_WRITE_TO_OSTREAM, "Cannot write to output: {error}")
}

enum Writer {
    Stream(StreamWriter<Box<dyn Sink>>),
    File(FileWriter<Box<dyn Sink>>),
}

struct Batches {
    writer: Writer,
    request: WriteRequest,
    options: ExportOptions,
    schema: SchemaRef,
}

impl BlockWriter for Batches {
    fn write(&mut self, block: &Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let mut arrays = Vec::with_capacity(block.columns().len());
        for ((name, ty), column) in self.request.header.iter().zip(block.columns()) {
            arrays.push(named_array(name, column, ty, &self.options)?.1);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(block.n_rows()));
        let batch =
            RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(arrow_error)?;
        match &mut self.writer {
            Writer::Stream(writer) => writer.write(&batch),
            Writer::File(writer) => writer.write(&batch),
        }
        .map_err(cannot_write)
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        let sink = match &mut self.writer {
            Writer::Stream(writer) => {
                writer.finish().map_err(cannot_write)?;
                writer.get_mut()
            }
            Writer::File(writer) => {
                writer.finish().map_err(cannot_write)?;
                writer.get_mut()
            }
        };
        sink.close().map_err(|e| err!(CANNOT_WRITE_TO_OSTREAM, "Cannot write to output: {e}"))
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.writer {
            Writer::Stream(writer) => writer.flush(),
            Writer::File(writer) => writer.flush(),
        }
        .map_err(cannot_write)
    }
}

//! Readers of ArrowStream and Arrow files. The batches of a file are units that threads read at once.

use super::messages::{self, Decoder, Source};
use crate::{from_arrow, type_of_field};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{DataType as ArrowType, SchemaRef};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, BooleanBuffer};
use chalet_formats::by_name::ByName;
use chalet_formats::input::Whole;
use chalet_formats::{BlockReader, FileScan, FormatSettings, Input, InputFormat, ReadRequest, Schema};
use std::sync::Arc;

pub struct Arrow {
    pub stream: bool,
}

/// The schema, which is the first message.
fn stream_schema(source: &mut Source) -> Result<SchemaRef> {
    match source.next()? {
        Some(message) => message.schema(),
        None => bail!(INCORRECT_DATA, "The Arrow stream is empty"),
    }
}

impl InputFormat for Arrow {
    fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Option<Schema>> {
        let bytes = std::mem::replace(input, Input::from(Vec::new())).into_bytes()?;
        *input = Input::Bytes(bytes.clone());
        let schema = match self.stream {
            true => stream_schema(&mut Source::of_bytes(bytes))?,
            false => messages::footer(&bytes)?.schema,
        };
        let skip = settings.input_format_arrow_skip_columns_with_unsupported_types_in_schema_inference;
        let mut columns = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let ty = match field.data_type() {
                // A column of nothing but NULLs says nothing of its type.
                ArrowType::Null => Err(chalet_base::err!(
                    UNKNOWN_TYPE,
                    "Native Arrow IPC reader does not support the `null` type in schema inference (field '{}')",
                    field.name()
                )),
                _ => type_of_field(field),
            };
            match ty {
                Ok(ty) => columns.push((field.name().clone(), ty)),
                Err(_) if skip => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(columns))
    }

    fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        if self.stream {
            let mut source = Source::new(input)?;
            let schema = stream_schema(&mut source)?;
            let shape = Shape::new(&schema, request)?;
            let decoder = Decoder::new(schema, shape.decoded.clone());
            return Ok(Whole::scan(Stream { blocks: Blocks::new(shape.into()), source, decoder }));
        }
        let bytes = input.into_bytes()?;
        let footer = messages::footer(&bytes)?;
        let shape = Shape::new(&footer.schema, request)?;
        let mut decoder = Decoder::new(footer.schema, shape.decoded.clone());
        for at in footer.dictionaries {
            decoder.decode(&messages::at(&bytes, at)?)?;
        }
        Ok(Box::new(File {
            shape: shape.into(),
            bytes,
            decoder: decoder.into(),
            batches: footer.batches.into_iter(),
        }))
    }
}

/// What is wanted of every batch.
struct Shape {
    request: ReadRequest,
    by_name: ByName,
    /// Positions of the columns to decode, ascending and distinct.
    decoded: Vec<usize>,
}

impl Shape {
    fn new(schema: &SchemaRef, request: ReadRequest) -> Result<Shape> {
        let settings = &request.settings;
        let by_name = ByName::new(
            &request,
            schema.fields().iter().map(|field| field.name().as_str()),
            |column| type_of_field(schema.field(column)),
            settings.input_format_arrow_case_insensitive_column_matching,
            settings.input_format_arrow_allow_missing_columns,
        )?;
        let mut decoded = by_name.read.clone();
        decoded.sort_unstable();
        decoded.dedup();
        Ok(Shape { request, by_name, decoded })
    }
}

/// Cuts batches into blocks.
struct Blocks {
    shape: Arc<Shape>,
    current: Option<(Block, usize)>,
    omitted: Vec<Option<BooleanBuffer>>,
}

impl Blocks {
    fn new(shape: Arc<Shape>) -> Blocks {
        Blocks { shape, current: None, omitted: Vec::new() }
    }

    fn load(&mut self, batch: &RecordBatch) -> Result<()> {
        let Shape { request, by_name, decoded } = &*self.shape;
        let schema = batch.schema_ref();
        let mut columns = Vec::with_capacity(by_name.read.len());
        for column in &by_name.read {
            let Ok(position) = decoded.binary_search(column) else {
                bail!(LOGICAL_ERROR, "An Arrow column was not decoded");
            };
            columns.push(from_arrow(batch.column(position), schema.field(position))?.0);
        }
        ensure!(
            columns.iter().all(|column| column.len() == batch.num_rows()),
            INCORRECT_DATA,
            "Columns of an Arrow record batch differ in length"
        );
        let block = by_name.block(&Block::new(columns, batch.num_rows()), request)?;
        self.current = Some((block, 0));
        Ok(())
    }

    fn next(&mut self, max_rows: usize) -> Option<Block> {
        let (block, at) = self.current.as_mut()?;
        let n = (block.n_rows() - *at).min(max_rows.max(1));
        if n == 0 {
            self.current = None;
            return None;
        }
        let part = if n == block.n_rows() { block.clone() } else { block.slice(*at, n) };
        *at += n;
        self.omitted = self.shape.by_name.omitted(n);
        Some(part)
    }
}

struct Stream {
    blocks: Blocks,
    source: Source,
    decoder: Decoder,
}

impl BlockReader for Stream {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.blocks.next(max_rows) {
                return Ok(Some(block));
            }
            let Some(message) = self.source.next()? else { return Ok(None) };
            if let Some(batch) = self.decoder.decode(&message)? {
                self.blocks.load(&batch)?;
            }
        }
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.blocks.omitted
    }

    fn bytes_read(&self) -> u64 {
        self.source.taken
    }
}

struct File {
    shape: Arc<Shape>,
    bytes: Buffer,
    decoder: Arc<Decoder>,
    batches: std::vec::IntoIter<usize>,
}

impl FileScan for File {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        let Some(at) = self.batches.next() else { return Ok(None) };
        Ok(Some(Box::new(Batch {
            blocks: Blocks::new(self.shape.clone()),
            bytes: self.bytes.clone(),
            at: Some(at),
            decoder: self.decoder.clone(),
        })))
    }
}

/// One batch of a file.
struct Batch {
    blocks: Blocks,
    bytes: Buffer,
    at: Option<usize>,
    decoder: Arc<Decoder>,
}

impl BlockReader for Batch {
    fn next_block(&mut self, max_rows: usize) -> Result<Option<Block>> {
        if let Some(at) = self.at.take() {
            let message = messages::at(&self.bytes, at)?;
            ensure!(
                message.is_batch(),
                INCORRECT_DATA,
                "Arrow file has no record batch where its footer says"
            );
            self.blocks.load(&self.decoder.batch(&message)?)?;
        }
        Ok(self.blocks.next(max_rows))
    }

    fn omitted(&self) -> &[Option<BooleanBuffer>] {
        &self.blocks.omitted
    }
}

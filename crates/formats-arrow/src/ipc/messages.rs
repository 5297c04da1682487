//! Messages of Arrow's inter-process format: framed one after the other in a stream, found by the footer in a file.
//!
//! Strings are decoded as bytes, so that text that is not UTF-8 is read as the kernel reads it.

use super::layout;
use crate::arrow_error;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::{MessageBuffer, try_fb_to_schema};
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{MessageHeader, root_as_footer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use chalet_base::{Result, bail, ensure, err};
use chalet_formats::Input;
use chalet_formats::input::Stream;
use chalet_memory::guard::guarded_reading;
use std::collections::HashMap;
use std::sync::Arc;

/// A message and the bytes that belong to it.
pub struct Message {
    head: MessageBuffer,
    body: Buffer,
}

/// The head of a message is never larger than this.
const MAX_HEAD: i32 = 256 << 20;
const CONTINUATION: [u8; 4] = [0xff; 4];
const MAGIC: &[u8; 6] = b"ARROW1";

/// Where messages come from: bytes that are there, or those of a stream, of which no more is held than a message needs.
pub struct Source {
    held: Buffer,
    at: usize,
    /// What comes behind.
    rest: Option<Stream>,
    /// Bytes that were taken.
    pub taken: u64,
}

impl Source {
    pub fn of_bytes(held: Buffer) -> Source {
        Source { held, at: 0, rest: None, taken: 0 }
    }

    pub fn new(input: Input) -> Result<Source> {
        Ok(match input {
            Input::Stream(stream) => {
                Source { held: Buffer::from_vec(Vec::<u8>::new()), at: 0, rest: Some(stream), taken: 0 }
            }
            input => Source::of_bytes(input.into_bytes()?),
        })
    }

    /// Holds at least `n` bytes behind `at`, if so many come.
    fn fill(&mut self, n: usize) -> Result<usize> {
        let left = self.held.len().saturating_sub(self.at);
        let Some(rest) = self.rest.as_mut().filter(|_| left < n) else { return Ok(left) };
        rest.put_back(&self.held[self.at..]);
        rest.fill(n)?;
        let (held, _) = rest.held();
        let all = held.len();
        self.held = rest.consume(all);
        self.at = 0;
        Ok(all)
    }

    fn take(&mut self, n: usize) -> Result<Buffer> {
        let left = self.fill(n)?;
        ensure!(
            n <= left,
            CANNOT_READ_ALL_DATA,
            "Cannot read all data. Bytes read: {left}. Bytes expected: {n}"
        );
        self.at += n;
        self.taken += n as u64;
        Ok(self.held.slice_with_length(self.at - n, n))
    }

    fn four(&mut self) -> Result<[u8; 4]> {
        let bytes = self.take(4)?;
        Ok([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// The next message; `None` at the end of the stream.
    pub fn next(&mut self) -> Result<Option<Message>> {
        if self.fill(1)? == 0 {
            return Ok(None);
        }
        let mut len = self.four()?;
        if len == CONTINUATION {
            len = self.four()?;
        }
        let len = i32::from_le_bytes(len);
        if len == 0 {
            return Ok(None);
        }
        ensure!(
            (0..=MAX_HEAD).contains(&len),
            INCORRECT_DATA,
            "Not an Arrow IPC stream: implausible message metadata length {len}"
        );
        let head = self.take(len as usize)?;
        let head = MessageBuffer::try_new(head).map_err(arrow_error)?;
        let body_len = usize::try_from(head.as_ref().bodyLength())
            .map_err(|_| err!(INCORRECT_DATA, "Not an Arrow IPC stream: implausible message body length"))?;
        let body = self.take(body_len)?;
        Ok(Some(Message { head, body }))
    }
}

impl Message {
    pub fn is_batch(&self) -> bool {
        self.head.as_ref().header_type() == MessageHeader::RecordBatch
    }

    /// The schema of a schema message.
    pub fn schema(&self) -> Result<SchemaRef> {
        let message = self.head.as_ref();
        let Some(schema) = message.header_as_schema() else {
            bail!(INCORRECT_DATA, "Not an Arrow IPC stream: it does not begin with a schema");
        };
        readable(schema)
    }
}

fn readable(schema: arrow_ipc::Schema) -> Result<SchemaRef> {
    ensure!(
        schema.endianness().equals_to_target_endianness(),
        NOT_IMPLEMENTED,
        "Arrow data of the other byte order is not supported"
    );
    let schema = guarded(|| try_fb_to_schema(schema).map_err(arrow_error))?;
    let fields: Vec<Field> = schema.fields().iter().map(|field| as_bytes(field)).collect();
    Ok(Arc::new(Schema::new(fields)))
}

/// The field with `binary` where it has `string`: the layouts are the same.
fn as_bytes(field: &Field) -> Field {
    let nested = |field: &Field| Arc::new(as_bytes(field));
    let ty = match field.data_type() {
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        DataType::List(item) => DataType::List(nested(item)),
        DataType::LargeList(item) => DataType::LargeList(nested(item)),
        DataType::FixedSizeList(item, n) => DataType::FixedSizeList(nested(item), *n),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|f| nested(f)).collect()),
        DataType::Map(entries, sorted) => DataType::Map(nested(entries), *sorted),
        DataType::Dictionary(key, value) => {
            let value = as_bytes(&Field::new("", DataType::clone(value), true)).data_type().clone();
            DataType::Dictionary(key.clone(), Box::new(value))
        }
        DataType::Union(fields, mode) => {
            let fields = fields.iter().map(|(id, field)| (id, nested(field)));
            DataType::Union(fields.collect(), *mode)
        }
        other => other.clone(),
    };
    field.clone().with_data_type(ty)
}

/// Turns messages into batches; remembers the dictionaries on the way.
#[derive(Clone)]
pub struct Decoder {
    pub schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Positions of the columns to decode.
    projection: Vec<usize>,
}

impl Decoder {
    pub fn new(schema: SchemaRef, projection: Vec<usize>) -> Decoder {
        Decoder { schema, dictionaries: HashMap::new(), projection }
    }

    /// The batch of a message; `None` for a dictionary, which is kept, and for what is not data.
    pub fn decode(&mut self, message: &Message) -> Result<Option<RecordBatch>> {
        let head = message.head.as_ref();
        match head.header_type() {
            MessageHeader::DictionaryBatch => {
                let Some(batch) = head.header_as_dictionary_batch() else {
                    bail!(INCORRECT_DATA, "Arrow dictionary message has no dictionary");
                };
                if let Some(data) = batch.data() {
                    let values = self.values_of(batch.id())?;
                    layout::check(data, &message.body, head.version(), [&values])?;
                }
                guarded(|| {
                    let version = head.version();
                    read_dictionary(&message.body, batch, &self.schema, &mut self.dictionaries, &version)
                        .map_err(arrow_error)
                })?;
                Ok(None)
            }
            MessageHeader::RecordBatch => self.batch(message).map(Some),
            MessageHeader::Schema => bail!(INCORRECT_DATA, "Arrow stream has a second schema"),
            _ => Ok(None),
        }
    }

    /// The field that the values of a dictionary have.
    fn values_of(&self, id: i64) -> Result<Field> {
        // The library itself still asks fields so.
        #[expect(deprecated)]
        let fields = self.schema.fields_with_dict_id(id);
        match fields.first().map(|field| field.data_type()) {
            Some(DataType::Dictionary(_, values)) => Ok(Field::new("", DataType::clone(values), true)),
            _ => bail!(INCORRECT_DATA, "Arrow dictionary {id} is of no column"),
        }
    }

    pub fn batch(&self, message: &Message) -> Result<RecordBatch> {
        let head = message.head.as_ref();
        let Some(batch) = head.header_as_record_batch() else {
            bail!(INCORRECT_DATA, "Arrow record batch message has no record batch");
        };
        let fields = self.schema.fields().iter().map(|field| &**field);
        layout::check(batch, &message.body, head.version(), fields)?;
        guarded(|| {
            let version = head.version();
            RecordBatchDecoder::try_new(
                &message.body,
                batch,
                self.schema.clone(),
                &self.dictionaries,
                &version,
            )
            .and_then(|decoder| {
                decoder
                    .with_projection(Some(&self.projection))
                    .with_require_alignment(false)
                    .read_record_batch()
            })
            .map_err(arrow_error)
        })
    }
}

/// What the footer of a file lists.
pub struct Footer {
    pub schema: SchemaRef,
    /// Where messages begin.
    pub dictionaries: Vec<usize>,
    pub batches: Vec<usize>,
}

pub fn footer(bytes: &Buffer) -> Result<Footer> {
    let magic = Source::of_bytes(bytes.clone()).take(MAGIC.len())?;
    ensure!(magic.as_slice() == MAGIC, INCORRECT_DATA, "Not an Arrow file: missing leading magic");
    let tail = MAGIC.len() + 4;
    ensure!(
        bytes.len() >= MAGIC.len() + tail && bytes.ends_with(MAGIC),
        INCORRECT_DATA,
        "Not an Arrow file: missing trailing magic"
    );
    let end = bytes.len() - tail;
    let len = i32::from_le_bytes([bytes[end], bytes[end + 1], bytes[end + 2], bytes[end + 3]]);
    let start = usize::try_from(len).ok().and_then(|len| end.checked_sub(len));
    let Some(start) = start else { bail!(INCORRECT_DATA, "Not an Arrow file: invalid footer length {len}") };
    let footer = root_as_footer(&bytes[start..end])
        .map_err(|e| err!(INCORRECT_DATA, "Not an Arrow file: the footer cannot be read: {e}"))?;
    let Some(schema) = footer.schema() else { bail!(INCORRECT_DATA, "Arrow file has no schema") };
    let place = |offset: i64| {
        usize::try_from(offset).map_err(|_| err!(INCORRECT_DATA, "Arrow file has a block at {offset}"))
    };
    let dictionaries = footer.dictionaries().into_iter().flatten().map(|block| place(block.offset()));
    let batches = footer.recordBatches().into_iter().flatten().map(|block| place(block.offset()));
    Ok(Footer {
        schema: readable(schema)?,
        dictionaries: dictionaries.collect::<Result<_>>()?,
        batches: batches.collect::<Result<_>>()?,
    })
}

/// The message that a footer says begins at `at`.
pub fn at(bytes: &Buffer, at: usize) -> Result<Message> {
    let message = Source { held: bytes.clone(), at, rest: None, taken: 0 }.next()?;
    message.ok_or_else(|| err!(INCORRECT_DATA, "Arrow file has no message where its footer says"))
}

/// Runs code of the Arrow library over bytes that may be anything.
fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    guarded_reading(run, || err!(INCORRECT_DATA, "Error while reading Arrow data: it makes no sense"))
}

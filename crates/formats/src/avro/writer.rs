//! Writing Avro files.

use crate::output::{BlockWriter, Sink, Statistics, WriteRequest, cannot_write};
use crate::protobuf_wire::{Message, zigzag};
use chalet_base::sip_hash::Sip;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Block, Data, Vector};
use chalet_text::{Style, TextSettings, Writer};
use chalet_types::DataType;
use regex::bytes::Regex;
use std::io::Write;

#[derive(Clone, Copy, PartialEq)]
enum Codec {
    Null,
    Deflate,
    Snappy,
    Zstandard,
}

pub struct AvroWriter {
    request: WriteRequest,
    sink: Box<dyn Sink>,
    codec: Codec,
    sync: [u8; 16],
    /// The rows of the block that is being filled.
    block: Vec<u8>,
    n_rows: u64,
    interval: usize,
    uuids: Writer,
}

impl AvroWriter {
    pub fn new(request: WriteRequest, mut sink: Box<dyn Sink>) -> Result<AvroWriter> {
        let settings = &request.settings;
        let (codec, codec_name) = match settings.output_format_avro_codec.as_str() {
            "" | "snappy" => (Codec::Snappy, "snappy"),
            "null" => (Codec::Null, "null"),
            "deflate" => (Codec::Deflate, "deflate"),
            "zstd" | "zstandard" => (Codec::Zstandard, "zstandard"),
            other => bail!(BAD_ARGUMENTS, "Avro codec {other} is not available"),
        };
        let schema = schema(&request)?;
        // A mark that is unlikely inside of a block, and the same for the same schema.
        let mut hash = Sip::new((0, 0));
        hash.update(schema.as_bytes());
        let [a, b, c, d] = hash.finish();
        let mut sync = [0; 16];
        sync[..8].copy_from_slice(&(a ^ b).to_le_bytes());
        sync[8..].copy_from_slice(&(c ^ d).to_le_bytes());
        let mut head = Message(b"Obj\x01".to_vec());
        head.varint(zigzag(2));
        for text in ["avro.codec", codec_name, "avro.schema", &schema] {
            put_bytes(&mut head.0, text.as_bytes());
        }
        head.varint(0);
        head.0.extend_from_slice(&sync);
        sink.write_all(&head.0).map_err(cannot_write)?;
        let interval = settings.output_format_avro_sync_interval.clamp(32, 1 << 30) as usize;
        let uuids = Writer::new(&DataType::Uuid, Style::Plain, &TextSettings::default());
        Ok(AvroWriter { request, sink, codec, sync, block: Vec::new(), n_rows: 0, interval, uuids })
    }

    fn end_block(&mut self) -> Result<()> {
        if self.n_rows == 0 {
            return Ok(());
        }
        let packed = compressed(&self.block, self.codec)?;
        let mut out = Message::default();
        out.varint(zigzag(self.n_rows as i64));
        put_bytes(&mut out.0, &packed);
        out.0.extend_from_slice(&self.sync);
        self.sink.write_all(&out.0).map_err(cannot_write)?;
        self.block.clear();
        self.n_rows = 0;
        Ok(())
    }
}

impl BlockWriter for AvroWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        for row in 0..block.n_rows() {
            for ((_, ty), column) in self.request.header.iter().zip(block.columns()) {
                let (vector, row) = column.locate(row);
                value(&mut self.block, ty, vector, row, &self.uuids);
            }
            self.n_rows += 1;
            if self.block.len() >= self.interval {
                self.end_block()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.end_block()?;
        self.sink.close().map_err(cannot_write)
    }

    fn flush(&mut self) -> Result<()> {
        self.end_block()?;
        self.sink.flush().map_err(cannot_write)
    }
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as i64);
    out.extend_from_slice(bytes);
}

fn put_long(out: &mut Vec<u8>, value: i64) {
    crate::binary::put_var_uint(out, zigzag(value));
}

/// Types that need a name are numbered in the order in which types are met.
struct Names {
    count: usize,
    /// Columns of strings that are text; `None` for all.
    text: Option<Regex>,
}

fn schema(request: &WriteRequest) -> Result<String> {
    let pattern = &request.settings.output_format_avro_string_column_pattern;
    let text = match pattern.is_empty() {
        true => None,
        false => Some(Regex::new(pattern).map_err(|e| {
            err!(BAD_ARGUMENTS, "Avro: cannot compile regexp '{pattern}' of string columns: {e}")
        })?),
    };
    let mut names = Names { count: 0, text };
    let mut fields = Vec::new();
    for (name, ty) in request.header.iter() {
        ensure!(
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.'),
            AVRO_EXCEPTION,
            "Invalid name: {name}"
        );
        let ty = names.node(name, ty)?;
        fields.push(format!("{{\"name\":\"{name}\",\"type\":{ty}}}"));
    }
    Ok(format!("{{\"type\":\"record\",\"name\":\"row\",\"fields\":[{}]}}", fields.join(",")))
}

impl Names {
    fn node(&mut self, column: &str, ty: &DataType) -> Result<String> {
        self.count += 1;
        let number = self.count;
        let plain = |name: &str| format!("\"{name}\"");
        let logical =
            |ty: &str, logical: &str| format!("{{\"type\":\"{ty}\",\"logicalType\":\"{logical}\"}}");
        let decimal = |precision: u8, scale: u8| {
            format!(
                "{{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":{precision},\"scale\":{scale}}}"
            )
        };
        let fixed = |name: &str, size: u32| {
            format!("{{\"type\":\"fixed\",\"name\":\"{name}_{number}\",\"size\":{size}}}")
        };
        Ok(match ty {
            DataType::Nullable(inner) if **inner == DataType::Nothing => plain("null"),
            DataType::Nullable(inner) => format!("[\"null\",{}]", self.node(column, inner)?),
            DataType::LowCardinality(inner) => self.node(column, inner)?,
            DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::IPv4
            | DataType::DateTime(_) => plain("int"),
            DataType::UInt64 | DataType::Int64 => plain("long"),
            DataType::Float32 => plain("float"),
            DataType::Float64 => plain("double"),
            DataType::Bool => plain("boolean"),
            DataType::Date | DataType::Date32 => logical("int", "date"),
            DataType::DateTime64(3, _) => logical("long", "timestamp-millis"),
            DataType::DateTime64(6, _) => logical("long", "timestamp-micros"),
            DataType::DateTime64(scale, _) => decimal(18, *scale),
            DataType::Decimal { precision, scale } => decimal(*precision, *scale),
            DataType::Uuid => logical("string", "uuid"),
            DataType::String => match &self.text {
                Some(text) if !text.is_match(column.as_bytes()) => plain("bytes"),
                _ => plain("string"),
            },
            DataType::FixedString(size) => fixed("fixed", *size),
            DataType::IPv6 => fixed("ipv6", 16),
            DataType::Int128 | DataType::UInt128 => fixed("fixed", 16),
            DataType::Int256 | DataType::UInt256 => fixed("fixed", 32),
            DataType::Enum8(values) | DataType::Enum16(values) => {
                let bits = if matches!(ty, DataType::Enum8(_)) { 8 } else { 16 };
                let symbols: Vec<String> = values.entries().iter().map(|e| quoted(&e.0)).collect();
                format!(
                    "{{\"type\":\"enum\",\"name\":\"enum{bits}_{number}\",\"symbols\":[{}]}}",
                    symbols.join(",")
                )
            }
            DataType::Array(inner) => {
                format!("{{\"type\":\"array\",\"items\":{}}}", self.node(column, inner)?)
            }
            DataType::Map(key, inner) if *key.bare() == DataType::String => {
                format!("{{\"type\":\"map\",\"values\":{}}}", self.node(column, inner)?)
            }
            DataType::Tuple(fields) if !fields.is_empty() => {
                let mut parts = Vec::new();
                for (at, field) in fields.iter().enumerate() {
                    let name = field.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_string);
                    parts.push(format!(
                        "{{\"name\":{},\"type\":{}}}",
                        quoted(&name),
                        self.node(column, &field.ty)?
                    ));
                }
                format!(
                    "{{\"type\":\"record\",\"name\":\"{column}_{number}\",\"fields\":[{}]}}",
                    parts.join(",")
                )
            }
            other => bail!(ILLEGAL_COLUMN, "Type {other} is not supported for Avro output: column {column}"),
        })
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    let how = chalet_text::write::escape::JsonStrings { escape_slashes: false, validate: true };
    chalet_text::write::escape::json(&mut out, text.as_bytes(), how);
    String::from_utf8_lossy(&out).into_owned()
}

fn value(out: &mut Vec<u8>, ty: &DataType, vector: &Vector, row: usize, uuids: &Writer) {
    if ty.is_only_null() {
        return;
    }
    if ty.is_nullable() {
        let null = vector.is_null(row);
        put_long(out, i64::from(!null));
        if null {
            return;
        }
    }
    let ty = ty.bare();
    let big_endian = |out: &mut Vec<u8>, bytes: &[u8]| {
        put_long(out, bytes.len() as i64);
        out.extend(bytes.iter().rev());
    };
    let is_decimal = match ty {
        DataType::Decimal { .. } => true,
        DataType::DateTime64(scale, _) => *scale != 3 && *scale != 6,
        _ => false,
    };
    match &vector.data {
        Data::U8(values) if *ty == DataType::Bool => out.push(values[row]),
        Data::U8(values) => put_long(out, values[row].into()),
        Data::U16(values) => put_long(out, values[row].into()),
        // Of 32 bits in Avro.
        Data::U32(values) => put_long(out, (values[row] as i32).into()),
        Data::U64(values) => put_long(out, values[row] as i64),
        Data::I8(values) => put_integer(out, ty, values[row].into()),
        Data::I16(values) => put_integer(out, ty, values[row]),
        Data::I32(values) if is_decimal => big_endian(out, &values[row].to_le_bytes()),
        Data::I32(values) => put_long(out, values[row].into()),
        Data::I64(values) if is_decimal => big_endian(out, &values[row].to_le_bytes()),
        Data::I64(values) => put_long(out, values[row]),
        Data::I128(values) if is_decimal => big_endian(out, &values[row].to_le_bytes()),
        Data::I128(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::I256(values) if is_decimal => big_endian(out, &values[row].to_le_bytes()),
        Data::I256(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::U128(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::U256(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::F32(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::F64(values) => out.extend_from_slice(&values[row].to_le_bytes()),
        Data::Str(strings) => put_bytes(out, strings.get(row)),
        Data::Fixed(_) if *ty == DataType::Uuid => {
            put_long(out, 36);
            uuids.write(out, vector, row);
        }
        Data::Fixed(fixed) => out.extend_from_slice(fixed.get(row)),
        Data::List(list) => {
            let range = list.range(row);
            if !range.is_empty() {
                put_long(out, range.len() as i64);
            }
            match (ty, &list.values.data) {
                (DataType::Map(key, inner), Data::Struct(pairs)) => range.for_each(|element| {
                    value(out, key, &pairs.fields[0], element, uuids);
                    value(out, inner, &pairs.fields[1], element, uuids);
                }),
                (DataType::Array(inner), _) => {
                    range.for_each(|element| value(out, inner, &list.values, element, uuids));
                }
                _ => {}
            }
            put_long(out, 0);
        }
        Data::Struct(values) => {
            let DataType::Tuple(fields) = ty else { return };
            fields.iter().zip(&values.fields).for_each(|(f, v)| value(out, &f.ty, v, row, uuids));
        }
        Data::Nothing(_) | Data::BF16(_) => {}
    }
}

/// An enum is the place of its symbol.
fn put_integer(out: &mut Vec<u8>, ty: &DataType, number: i16) {
    let place = match ty {
        DataType::Enum8(values) | DataType::Enum16(values) => {
            values.entries().binary_search_by_key(&number, |entry| entry.1).unwrap_or(0) as i64
        }
        _ => number.into(),
    };
    put_long(out, place);
}

fn compressed(plain: &[u8], codec: Codec) -> Result<Vec<u8>> {
    let failed = |e: String| err!(CANNOT_COMPRESS, "Cannot compress a block of an Avro file: {e}");
    match codec {
        Codec::Null => Ok(plain.to_vec()),
        Codec::Deflate => {
            let mut to = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
            to.write_all(plain).and_then(|()| to.finish()).map_err(|e| failed(e.to_string()))
        }
        Codec::Zstandard => zstd::encode_all(plain, 3).map_err(|e| failed(e.to_string())),
        Codec::Snappy => {
            let mut packed =
                snap::raw::Encoder::new().compress_vec(plain).map_err(|e| failed(e.to_string()))?;
            let mut crc = flate2::Crc::new();
            crc.update(plain);
            packed.extend_from_slice(&crc.sum().to_be_bytes());
            Ok(packed)
        }
    }
}

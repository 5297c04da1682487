//! Writing ORC files: rows are gathered to stripes, which are encoded column by column.

use super::compression::{Codec, compressed};
use super::encode;
use super::metadata::{Kind, MAGIC, Node, type_message};
use crate::output::{BlockWriter, Sink, Statistics, WriteRequest, cannot_write};
use crate::protobuf_wire::Message;
use crate::settings::ORCCompression;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Data, Native, Vector, each_native};
use chalet_types::DataType;

/// A stripe is written when its rows take this many bytes of memory.
const STRIPE_BYTES: usize = 64 << 20;

/// The version of the format that says what statistics of timestamps mean (ORC-135).
const WRITER_VERSION: u64 = 6;

pub struct OrcWriter {
    request: WriteRequest,
    sink: Box<dyn Sink>,
    nodes: Vec<Node>,
    codec: Codec,
    block_size: usize,
    gathered: Vec<Block>,
    gathered_bytes: usize,
    at: u64,
    n_rows: u64,
    stripes: Vec<Message>,
    /// For each node: values that are not NULL, and whether there was a NULL.
    counts: Vec<(u64, bool)>,
}

impl OrcWriter {
    pub fn new(request: WriteRequest, mut sink: Box<dyn Sink>) -> Result<OrcWriter> {
        let settings = &request.settings;
        let codec = match settings.output_format_orc_compression_method {
            ORCCompression::None => Codec::None,
            ORCCompression::Zlib => Codec::Zlib,
            ORCCompression::Snappy => Codec::Snappy,
            ORCCompression::Lz4 => Codec::Lz4,
            ORCCompression::Zstd => Codec::Zstd,
        };
        let block_size = settings.output_format_orc_compression_block_size.clamp(1 << 10, 4 << 20) as usize;
        let mut nodes = vec![branch(Kind::Struct)];
        for (name, ty) in request.header.iter() {
            let child = add_type(ty, settings.output_format_orc_string_as_string, &mut nodes)?;
            nodes[0].children.push(child);
            nodes[0].names.push(name.clone());
        }
        sink.write_all(MAGIC).map_err(cannot_write)?;
        let counts = vec![(0, false); nodes.len()];
        Ok(OrcWriter {
            request,
            sink,
            nodes,
            codec,
            block_size,
            gathered: Vec::new(),
            gathered_bytes: 0,
            at: MAGIC.len() as u64,
            n_rows: 0,
            stripes: Vec::new(),
            counts,
        })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len() as u64;
        self.sink.write_all(bytes).map_err(cannot_write)
    }

    fn write_stripe(&mut self) -> Result<()> {
        let blocks = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        let n: usize = blocks.iter().map(Block::n_rows).sum();
        if n == 0 {
            return Ok(());
        }
        let mut stripe = Stripe { nodes: &self.nodes, streams: Vec::new(), counts: &mut self.counts };
        stripe.count(0, n, 0);
        for (index, (_, ty)) in self.request.header.iter().enumerate() {
            let parts: Vec<_> = blocks.iter().map(|block| block.column(index).flat()).collect();
            let parts: Vec<&Vector> = parts.iter().map(|part| &**part).collect();
            stripe.column(self.nodes[0].children[index], ty, &Vector::concat(&parts));
        }
        let streams = stripe.streams;
        let offset = self.at;
        let mut footer = Message::default();
        for (kind, node, plain) in streams {
            let packed = compressed(&plain, self.codec, self.block_size)?;
            let mut stream = Message::default();
            stream.number(1, kind).number(2, node as u64).number(3, packed.len() as u64);
            footer.message(1, &stream);
            self.put(&packed)?;
        }
        for node in &self.nodes {
            let mut encoding = Message::default();
            encoding.number(1, if is_version_2(node.kind) { 2 } else { 0 });
            footer.message(2, &encoding);
        }
        footer.bytes(3, b"GMT");
        let data_length = self.at - offset;
        let packed = compressed(&footer.0, self.codec, self.block_size)?;
        self.put(&packed)?;
        let mut info = Message::default();
        info.number(1, offset).number(2, 0).number(3, data_length);
        info.number(4, packed.len() as u64).number(5, n as u64);
        self.stripes.push(info);
        self.n_rows += n as u64;
        Ok(())
    }

    fn footer(&self) -> Message {
        let mut footer = Message::default();
        footer.number(1, MAGIC.len() as u64).number(2, self.at);
        for stripe in &self.stripes {
            footer.message(3, stripe);
        }
        for node in &self.nodes {
            footer.message(4, &type_message(node));
        }
        footer.number(6, self.n_rows);
        for (count, has_null) in &self.counts {
            let mut statistics = Message::default();
            statistics.number(1, *count).number(10, u64::from(*has_null));
            footer.message(7, &statistics);
        }
        // No row index.
        footer.number(8, 0);
        footer
    }
}

impl BlockWriter for OrcWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.gathered_bytes += block.memory();
        self.gathered.push(block.clone());
        if self.gathered_bytes >= STRIPE_BYTES { self.write_stripe() } else { Ok(()) }
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        self.write_stripe()?;
        let footer = compressed(&self.footer().0, self.codec, self.block_size)?;
        self.put(&footer)?;
        let mut postscript = Message::default();
        postscript.number(1, footer.len() as u64).number(2, self.codec.number());
        postscript.number(3, self.block_size as u64).packed(4, [0, 12]).number(5, 0);
        postscript.number(6, WRITER_VERSION).bytes(8000, MAGIC);
        let mut end = postscript.0;
        end.push(end.len() as u8);
        self.put(&end)?;
        self.sink.close().map_err(cannot_write)
    }
}

fn branch(kind: Kind) -> Node {
    Node { kind, children: Vec::new(), names: Vec::new(), precision: 0, scale: 0 }
}

/// Are the integers of a column of this kind in run-length encoding of the second version?
fn is_version_2(kind: Kind) -> bool {
    !matches!(kind, Kind::Boolean | Kind::Byte | Kind::Float | Kind::Double | Kind::Struct)
}

/// Adds the nodes of a type in preorder and gives the index of the first.
fn add_type(ty: &DataType, strings: bool, nodes: &mut Vec<Node>) -> Result<usize> {
    let index = nodes.len();
    let kind = match ty.bare() {
        DataType::Bool => Kind::Boolean,
        DataType::UInt8 | DataType::Int8 | DataType::Enum8(_) => Kind::Byte,
        DataType::UInt16 | DataType::Int16 | DataType::Enum16(_) => Kind::Short,
        DataType::UInt32 | DataType::Int32 | DataType::IPv4 => Kind::Int,
        DataType::UInt64 | DataType::Int64 => Kind::Long,
        DataType::Float32 => Kind::Float,
        DataType::Float64 => Kind::Double,
        DataType::Date | DataType::Date32 => Kind::Date,
        DataType::DateTime(_) | DataType::DateTime64(..) => Kind::Timestamp,
        DataType::String | DataType::FixedString(_) => {
            if strings {
                Kind::String
            } else {
                Kind::Binary
            }
        }
        DataType::Decimal { precision, .. } if *precision <= 38 => Kind::Decimal,
        DataType::Decimal { .. }
        | DataType::IPv6
        | DataType::Int128
        | DataType::UInt128
        | DataType::Int256
        | DataType::UInt256 => Kind::Binary,
        DataType::Array(_) => Kind::List,
        DataType::Map(..) => Kind::Map,
        DataType::Tuple(fields) if !fields.is_empty() => Kind::Struct,
        other => bail!(ILLEGAL_COLUMN, "Type {other} is not supported for ORC output format"),
    };
    nodes.push(branch(kind));
    match ty.bare() {
        DataType::Decimal { precision, scale } if kind == Kind::Decimal => {
            (nodes[index].precision, nodes[index].scale) = (*precision, *scale);
        }
        DataType::Array(inner) => {
            let child = add_type(inner, strings, nodes)?;
            nodes[index].children.push(child);
        }
        DataType::Map(key, value) => {
            for inner in [key, value] {
                let child = add_type(inner, strings, nodes)?;
                nodes[index].children.push(child);
            }
        }
        DataType::Tuple(fields) => {
            for (at, field) in fields.iter().enumerate() {
                let child = add_type(&field.ty, strings, nodes)?;
                nodes[index].children.push(child);
                let name = field.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_string);
                nodes[index].names.push(name);
            }
        }
        _ => {}
    }
    Ok(index)
}

const PRESENT: u64 = 0;
const DATA: u64 = 1;
const LENGTH: u64 = 2;
const SECONDARY: u64 = 5;

/// The streams of a stripe: kind, node, bytes.
struct Stripe<'a> {
    nodes: &'a [Node],
    streams: Vec<(u64, usize, Vec<u8>)>,
    counts: &'a mut [(u64, bool)],
}

impl Stripe<'_> {
    fn count(&mut self, node: usize, n: usize, n_nulls: usize) {
        let count = &mut self.counts[node];
        count.0 += (n - n_nulls) as u64;
        count.1 |= n_nulls > 0;
    }

    fn stream(&mut self, kind: u64, node: usize, bytes: Vec<u8>) {
        self.streams.push((kind, node, bytes));
    }

    fn column(&mut self, node: usize, ty: &DataType, vector: &Vector) {
        self.count(node, vector.len(), vector.null_count());
        let Some(validity) = &vector.validity else { return self.values(node, ty.bare(), vector) };
        self.stream(PRESENT, node, encode::bits(validity.iter()));
        let n = vector.len() as u32;
        let rows: Vec<u32> = (0..n).filter(|row| validity.is_valid(*row as usize)).collect();
        self.values(node, ty.bare(), &vector.without_nulls().gather(&rows));
    }

    fn values(&mut self, node: usize, ty: &DataType, vector: &Vector) {
        match self.nodes[node].kind {
            Kind::Boolean => {
                let Ok(values) = vector.values::<u8>() else { return };
                self.stream(DATA, node, encode::bits(values.iter().map(|value| *value != 0)));
            }
            Kind::Byte => self.stream(DATA, node, encode::bytes(&plain(vector))),
            Kind::Float | Kind::Double => self.stream(DATA, node, plain(vector)),
            Kind::Short | Kind::Int | Kind::Long | Kind::Date => {
                self.stream(DATA, node, encode::signed(&integers(vector, node_width(self.nodes[node].kind))));
            }
            Kind::Timestamp | Kind::TimestampInstant => self.timestamps(node, ty, vector),
            Kind::Decimal => self.decimals(node, vector),
            Kind::String | Kind::Binary | Kind::Varchar | Kind::Char => {
                let (bytes, lengths) = strings(vector);
                self.stream(DATA, node, bytes);
                self.stream(LENGTH, node, encode::unsigned(&lengths));
            }
            Kind::List | Kind::Map => {
                let Data::List(list) = &vector.data else { return };
                let list = list.normalised();
                let lengths: Vec<i64> = list.offsets.windows(2).map(|w| w[1] - w[0]).collect();
                self.stream(LENGTH, node, encode::unsigned(&lengths));
                let children = self.nodes[node].children.clone();
                match (ty, &list.values.data) {
                    (DataType::Map(key, value), Data::Struct(pairs)) => {
                        self.column(children[0], key, &pairs.fields[0]);
                        self.column(children[1], value, &pairs.fields[1]);
                    }
                    (DataType::Array(inner), _) => self.column(children[0], inner, &list.values),
                    _ => {}
                }
            }
            Kind::Struct => {
                let (DataType::Tuple(fields), Data::Struct(values)) = (ty, &vector.data) else { return };
                let children = self.nodes[node].children.clone();
                for ((child, field), vector) in children.into_iter().zip(fields.iter()).zip(&values.fields) {
                    self.column(child, &field.ty, vector);
                }
            }
            Kind::Union => {}
        }
    }

    fn timestamps(&mut self, node: usize, ty: &DataType, vector: &Vector) {
        const EPOCH: i64 = 1_420_070_400;
        let scale = if let DataType::DateTime64(scale, _) = ty { u32::from(*scale) } else { 0 };
        let (unit, nanos_per_tick) = (10i64.pow(scale), 10i64.pow(9 - scale));
        let (mut seconds, mut nanos) = (Vec::new(), Vec::new());
        for ticks in integers(vector, None) {
            let mut second = ticks.div_euclid(unit);
            let mut nano = ticks.rem_euclid(unit) * nanos_per_tick;
            // Readers take it back.
            if second < 0 && nano > 999_999 {
                second += 1;
            }
            let mut zeros = 0;
            if nano != 0 && nano % 100 == 0 {
                (nano, zeros) = (nano / 100, 1);
                while nano % 10 == 0 && zeros < 7 {
                    (nano, zeros) = (nano / 10, zeros + 1);
                }
            }
            seconds.push(second.wrapping_sub(EPOCH));
            nanos.push(nano << 3 | zeros);
        }
        self.stream(DATA, node, encode::signed(&seconds));
        self.stream(SECONDARY, node, encode::unsigned(&nanos));
    }

    fn decimals(&mut self, node: usize, vector: &Vector) {
        let values: Vec<i128> = match &vector.data {
            Data::I32(values) => values.iter().map(|value| (*value).into()).collect(),
            Data::I64(values) => values.iter().map(|value| (*value).into()).collect(),
            Data::I128(values) => values.to_vec(),
            _ => return,
        };
        let mut bytes = Vec::new();
        for value in &values {
            let mut rest = (value << 1 ^ value >> 127) as u128;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        let scales = vec![i64::from(self.nodes[node].scale); values.len()];
        self.stream(DATA, node, bytes);
        self.stream(SECONDARY, node, encode::signed(&scales));
    }
}

/// Bits of the integers of a kind; unsigned numbers are written as signed ones of the same bits.
fn node_width(kind: Kind) -> Option<u32> {
    match kind {
        Kind::Short => Some(16),
        Kind::Int => Some(32),
        _ => None,
    }
}

fn integers(vector: &Vector, bits: Option<u32>) -> Vec<i64> {
    let values: Vec<i64> = match &vector.data {
        Data::U16(values) => values.iter().map(|x| (*x).into()).collect(),
        Data::I16(values) => values.iter().map(|x| (*x).into()).collect(),
        Data::U32(values) => values.iter().map(|x| (*x).into()).collect(),
        Data::I32(values) => values.iter().map(|x| (*x).into()).collect(),
        Data::U64(values) => values.iter().map(|x| *x as i64).collect(),
        Data::I64(values) => values.to_vec(),
        _ => Vec::new(),
    };
    match bits {
        None => values,
        Some(bits) => values.into_iter().map(|x| x << (64 - bits) >> (64 - bits)).collect(),
    }
}

/// The values one after the other, little-endian.
fn plain(vector: &Vector) -> Vec<u8> {
    fn of<T: Native>(values: &chalet_columns::Buf<T>) -> Vec<u8> {
        values.as_bytes().to_vec()
    }
    each_native!(&vector.data, values => of(values), _ => Vec::new())
}

/// The bytes of all strings, and the length of each.
fn strings(vector: &Vector) -> (Vec<u8>, Vec<i64>) {
    match &vector.data {
        Data::Str(strings) => {
            let mut bytes = Vec::with_capacity(strings.total_bytes());
            strings.iter().for_each(|string| bytes.extend_from_slice(string));
            (bytes, strings.iter().map(|string| string.len() as i64).collect())
        }
        Data::Fixed(fixed) => (fixed.bytes.to_vec(), vec![fixed.width as i64; fixed.len()]),
        _ => {
            let bytes = plain(vector);
            let width = bytes.len().checked_div(vector.len()).unwrap_or(0);
            (bytes, vec![width as i64; vector.len()])
        }
    }
}

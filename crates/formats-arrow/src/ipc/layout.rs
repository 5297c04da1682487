//! Checks the places and sizes of a batch's buffers against its schema, before the Arrow library, which trusts
//! them, takes them as arrays.
//!
//! The order of nodes and buffers is that of the specification "Arrow Columnar Format", section "Serialization and
//! Interprocess Communication".

use arrow_buffer::Buffer;
use arrow_ipc::{FieldNode, MetadataVersion};
use arrow_schema::{DataType, Field, UnionMode};
use chalet_base::{Result, bail, ensure, err};

/// No codec shrinks by more than this.
const MAX_RATIO: i64 = 1 << 16;

/// Refuses a batch of these fields whose buffers cannot be what its nodes say.
pub fn check<'a>(
    batch: arrow_ipc::RecordBatch,
    body: &Buffer,
    version: MetadataVersion,
    fields: impl IntoIterator<Item = &'a Field>,
) -> Result<()> {
    let compressed = batch.compression().is_some();
    let places = batch.buffers().into_iter().flatten();
    let sizes: Vec<usize> = places.map(|place| size(place, body, compressed)).collect::<Result<_>>()?;
    let mut walk = Walk {
        nodes: batch.nodes().into_iter().flatten(),
        sizes: sizes.into_iter(),
        variadic: batch.variadicBufferCounts().into_iter().flatten(),
        version,
    };
    fields.into_iter().try_for_each(|field| walk.field(field.data_type()))
}

/// The size of a buffer's bytes once they are decompressed. Compressed ones begin with it, and the library
/// allocates as much before it looks at the bytes.
fn size(place: &arrow_ipc::Buffer, body: &Buffer, compressed: bool) -> Result<usize> {
    let range = usize::try_from(place.offset()).ok().zip(usize::try_from(place.length()).ok());
    let bytes = range.and_then(|(at, len)| body.get(at..at.checked_add(len)?));
    let Some(bytes) = bytes else { bail!(INCORRECT_DATA, "Arrow buffer lies outside of its message") };
    let (true, Some(claim)) = (compressed, bytes.first_chunk::<8>()) else { return Ok(bytes.len()) };
    match i64::from_le_bytes(*claim) {
        // The buffer is not compressed.
        -1 => Ok(bytes.len() - claim.len()),
        claim if (0..=bytes.len() as i64 * MAX_RATIO).contains(&claim) => Ok(claim as usize),
        claim => bail!(
            INCORRECT_DATA,
            "Arrow buffer of {} bytes claims to have {claim} bytes when decompressed",
            bytes.len()
        ),
    }
}

/// Goes through nodes and buffers in the order of the fields.
struct Walk<N, V> {
    nodes: N,
    sizes: std::vec::IntoIter<usize>,
    variadic: V,
    version: MetadataVersion,
}

impl<'a, N: Iterator<Item = &'a FieldNode>, V: Iterator<Item = i64>> Walk<N, V> {
    fn field(&mut self, ty: &DataType) -> Result<()> {
        let (len, has_nulls) = self.node()?;
        match ty {
            DataType::Null => {}
            DataType::RunEndEncoded(ends, values) => {
                self.field(ends.data_type())?;
                self.field(values.data_type())?;
            }
            DataType::Union(fields, mode) => {
                if self.version < MetadataVersion::V5 {
                    self.buffer()?;
                }
                self.values(1, len)?;
                if *mode == UnionMode::Dense {
                    self.values(4, len)?;
                }
                fields.iter().try_for_each(|(_, field)| self.field(field.data_type()))?;
            }
            DataType::Struct(fields) => {
                self.validity(len, has_nulls)?;
                fields.iter().try_for_each(|field| self.field(field.data_type()))?;
            }
            DataType::FixedSizeList(item, n) => {
                ensure!(*n >= 0, INCORRECT_DATA, "Arrow list has a size of {n}");
                self.validity(len, has_nulls)?;
                self.field(item.data_type())?;
            }
            DataType::List(item) | DataType::Map(item, _) => {
                self.validity(len, has_nulls)?;
                self.offsets(4, len)?;
                self.field(item.data_type())?;
            }
            DataType::LargeList(item) => {
                self.validity(len, has_nulls)?;
                self.offsets(8, len)?;
                self.field(item.data_type())?;
            }
            DataType::ListView(item) | DataType::LargeListView(item) => {
                let width = if matches!(ty, DataType::ListView(_)) { 4 } else { 8 };
                self.validity(len, has_nulls)?;
                self.values(width, len)?;
                self.values(width, len)?;
                self.field(item.data_type())?;
            }
            DataType::Binary | DataType::Utf8 => {
                self.validity(len, has_nulls)?;
                self.offsets(4, len)?;
                self.buffer()?;
            }
            DataType::LargeBinary | DataType::LargeUtf8 => {
                self.validity(len, has_nulls)?;
                self.offsets(8, len)?;
                self.buffer()?;
            }
            DataType::BinaryView | DataType::Utf8View => {
                self.validity(len, has_nulls)?;
                self.values(16, len)?;
                let count = self.variadic.next();
                let Some(count) = count else {
                    bail!(INCORRECT_DATA, "Arrow batch lacks a count of buffers")
                };
                for _ in 0..count {
                    self.buffer()?;
                }
            }
            DataType::Boolean => {
                self.validity(len, has_nulls)?;
                self.at_least(len.div_ceil(8))?;
            }
            DataType::FixedSizeBinary(n) => {
                let Ok(n) = usize::try_from(*n) else { bail!(INCORRECT_DATA, "Arrow value of {n} bytes") };
                self.validity(len, has_nulls)?;
                self.at_least(n.saturating_mul(len))?;
            }
            DataType::Dictionary(key, _) => self.primitive(key, len, has_nulls)?,
            _ => self.primitive(ty, len, has_nulls)?,
        }
        Ok(())
    }

    fn primitive(&mut self, ty: &DataType, len: usize, has_nulls: bool) -> Result<()> {
        let Some(width) = ty.primitive_width() else {
            bail!(NOT_IMPLEMENTED, "Arrow type {ty} is not supported")
        };
        self.validity(len, has_nulls)?;
        self.values(width, len)
    }

    /// Number of rows, and whether any is NULL.
    fn node(&mut self) -> Result<(usize, bool)> {
        let Some(node) = self.nodes.next() else { bail!(INCORRECT_DATA, "Arrow batch lacks a column") };
        let len = usize::try_from(node.length())
            .map_err(|_| err!(INCORRECT_DATA, "Arrow column of {} rows", node.length()))?;
        ensure!(
            (0..=node.length()).contains(&node.null_count()),
            INCORRECT_DATA,
            "Arrow column of {len} rows has {} NULLs",
            node.null_count()
        );
        Ok((len, node.null_count() > 0))
    }

    fn buffer(&mut self) -> Result<usize> {
        self.sizes.next().ok_or_else(|| err!(INCORRECT_DATA, "Arrow batch lacks a buffer"))
    }

    fn at_least(&mut self, expected: usize) -> Result<()> {
        let size = self.buffer()?;
        ensure!(
            size >= expected,
            INCORRECT_DATA,
            "Arrow buffer of {size} bytes, where {expected} are needed"
        );
        Ok(())
    }

    /// Left out where there are no NULLs.
    fn validity(&mut self, len: usize, has_nulls: bool) -> Result<()> {
        self.at_least(if has_nulls { len.div_ceil(8) } else { 0 })
    }

    /// Values of one width, padding included.
    fn values(&mut self, width: usize, len: usize) -> Result<()> {
        let size = self.buffer()?;
        ensure!(
            size.is_multiple_of(width) && size / width >= len,
            INCORRECT_DATA,
            "Arrow buffer of {size} bytes, where {len} values of {width} bytes are expected"
        );
        Ok(())
    }

    /// One more than there are rows; a column without rows may leave them out.
    fn offsets(&mut self, width: usize, len: usize) -> Result<()> {
        self.values(width, if len == 0 { 0 } else { len.saturating_add(1) })
    }
}

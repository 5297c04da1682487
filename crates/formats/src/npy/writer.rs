//! Writing Npy: the shape stands first, so all rows are gathered.

use super::header::{ALIGNMENT, MAGIC};
use crate::output::{BlockWriter, Sink, Statistics, WriteRequest, cannot_write};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Block, Data, Vector, each_native};
use chalet_types::DataType;

pub struct NpyWriter {
    request: WriteRequest,
    sink: Box<dyn Sink>,
    columns: Vec<Vector>,
}

/// The elements of a column, and the arrays that they are nested in.
fn elements(ty: &DataType) -> (&DataType, usize) {
    match ty {
        DataType::Array(inner) => {
            let (element, depth) = elements(inner);
            (element, depth + 1)
        }
        other => (other, 0),
    }
}

impl NpyWriter {
    pub fn new(request: WriteRequest, sink: Box<dyn Sink>) -> Result<NpyWriter> {
        ensure!(
            request.header.len() == 1,
            TOO_MANY_COLUMNS,
            "Expected single column for Npy output format, got {}",
            request.header.len()
        );
        let ty = &request.header[0].1;
        let (element, _) = elements(ty);
        ensure!(
            kind(element).is_some() || element.is_string(),
            BAD_ARGUMENTS,
            "Type {ty} is not supported for Npy output format"
        );
        Ok(NpyWriter { request, sink, columns: Vec::new() })
    }
}

/// The letter and size of a number.
fn kind(ty: &DataType) -> Option<&'static str> {
    Some(match ty {
        DataType::Int8 => "<i1",
        DataType::Int16 => "<i2",
        DataType::Int32 => "<i4",
        DataType::Int64 => "<i8",
        DataType::Bool | DataType::UInt8 => "<u1",
        DataType::UInt16 => "<u2",
        DataType::UInt32 => "<u4",
        DataType::UInt64 => "<u8",
        DataType::Float32 => "<f4",
        DataType::Float64 => "<f8",
        _ => return None,
    })
}

impl BlockWriter for NpyWriter {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.columns.push(block.column(0).flat().into_owned());
        Ok(())
    }

    fn finish(&mut self, _: &Statistics) -> Result<()> {
        let ty = self.request.header[0].1.clone();
        let (element, depth) = elements(&ty);
        let columns: Vec<&Vector> = self.columns.iter().collect();
        let mut vector = match columns.is_empty() {
            true => Vector::defaults(&ty, 0),
            false => Vector::concat(&columns),
        };
        self.columns.clear();
        let mut shape = vec![vector.len()];
        for level in 0..depth {
            let Data::List(list) = &vector.data else { bail!(LOGICAL_ERROR, "Arrays are lists") };
            let list = list.normalised();
            let lengths = list.offsets.windows(2).map(|w| (w[1] - w[0]) as usize);
            let length = lengths.clone().max().unwrap_or(0);
            ensure!(
                lengths.clone().all(|n| n == length) && (length > 0 || vector.is_empty()),
                ILLEGAL_COLUMN,
                "Arrays of dimension {} differ in length or are empty, which the Npy output format does not support",
                level + 1
            );
            shape.push(length);
            vector = Vector::clone(&list.values);
        }
        let (descr, bytes) = encoded(element, &vector);
        let shape: String = shape.iter().map(|size| format!("{size},")).collect();
        let mut text = format!("{{'descr':'{descr}','fortran_order':False,'shape':({shape}),}}");
        // Magic, version and the length of the header stand before it, a line end behind.
        let before = MAGIC.len() + 6;
        let padding = (before + text.len() + 1).next_multiple_of(ALIGNMENT) - before - text.len() - 1;
        text.extend(std::iter::repeat_n(' ', padding));
        text.push('\n');
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&[3, 0]);
        head.extend_from_slice(&(text.len() as u32).to_le_bytes());
        head.extend_from_slice(text.as_bytes());
        self.sink.write_all(&head).map_err(cannot_write)?;
        self.sink.write_all(&bytes).map_err(cannot_write)?;
        self.sink.close().map_err(cannot_write)
    }
}

/// Type and bytes of the elements.
fn encoded(ty: &DataType, vector: &Vector) -> (String, Vec<u8>) {
    fn plain<T: chalet_columns::Native>(values: &chalet_columns::Buf<T>) -> Vec<u8> {
        values.as_bytes().to_vec()
    }
    if let Some(kind) = kind(ty) {
        return (kind.to_string(), each_native!(&vector.data, values => plain(values), _ => Vec::new()));
    }
    match &vector.data {
        Data::Str(strings) => {
            let width = strings.iter().map(<[u8]>::len).max().unwrap_or(0);
            let mut bytes = Vec::with_capacity(width * strings.len());
            for string in strings.iter() {
                bytes.extend_from_slice(string);
                bytes.resize(bytes.len() + width - string.len(), 0);
            }
            (format!("|S{width}"), bytes)
        }
        Data::Fixed(fixed) => (format!("|S{}", fixed.width), fixed.bytes.to_vec()),
        _ => (String::from("|S0"), Vec::new()),
    }
}

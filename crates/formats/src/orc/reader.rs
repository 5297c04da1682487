//! Reading ORC files: a stripe is a unit.

use super::column::Stripe;
use super::metadata::{Kind, Tail};
use crate::FormatSettings;
use crate::by_name::ByName;
use crate::input::{BlockReader, FileScan, Input, ReadRequest, Schema, Summary};
use crate::sliced::Sliced;
use arrow_buffer::Buffer;
use chalet_base::Result;
use chalet_columns::{Block, Column, Vector};
use chalet_types::{DataType, TimeZone};
use std::sync::Arc;

pub fn infer(input: &mut Input, settings: &FormatSettings) -> Result<Schema> {
    let bytes = std::mem::replace(input, Input::from(Vec::new())).into_bytes()?;
    *input = Input::Bytes(bytes.clone());
    let tail = Tail::read(&bytes)?;
    let skip = settings.input_format_orc_skip_columns_with_unsupported_types_in_schema_inference;
    let plain = settings.schema_inference_make_columns_nullable.0 == Some(0);
    let mut schema = Schema::new();
    for (name, node) in tail.columns() {
        match tail.type_of(node) {
            Ok(ty) => schema.push((name.to_string(), if plain { without_nullable(&ty) } else { ty })),
            Err(_) if skip => {}
            Err(error) => return Err(error),
        }
    }
    Ok(schema)
}

/// The type with Nullable taken off at every level.
fn without_nullable(ty: &DataType) -> DataType {
    match ty {
        DataType::Nullable(inner) => without_nullable(inner),
        DataType::Array(inner) => without_nullable(inner).array(),
        DataType::Map(key, value) => DataType::map(without_nullable(key), without_nullable(value)),
        DataType::Tuple(fields) => {
            let field = |f: &chalet_types::TupleField| chalet_types::TupleField {
                name: f.name.clone(),
                ty: without_nullable(&f.ty),
            };
            DataType::Tuple(fields.iter().map(field).collect())
        }
        other => other.clone(),
    }
}

/// What all stripes share.
struct File {
    bytes: Buffer,
    tail: Tail,
    request: ReadRequest,
    by_name: ByName,
    /// For each column of the file: it holds values of this type, though the type in the file is another one.
    raw: Vec<Option<DataType>>,
    absent: Vec<bool>,
    reader_zone: TimeZone,
}

/// Types whose values are written as their bytes.
fn is_raw(ty: &DataType) -> bool {
    matches!(ty, DataType::IPv6 | DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256)
        || matches!(ty, DataType::Decimal { precision, .. } if *precision > 38)
}

pub fn open(input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
    let bytes = input.into_bytes()?;
    let tail = Tail::read(&bytes)?;
    let settings = request.settings.clone();
    let ignore_case = settings.input_format_orc_case_insensitive_column_matching;
    let wanted_type = |name: &str| {
        let same = |c: &&(String, DataType)| c.0 == name || ignore_case && c.0.eq_ignore_ascii_case(name);
        request.structure.iter().find(same).map(|c| c.1.bare().clone())
    };
    let raw = tail.columns().map(|(name, node)| {
        let ty = wanted_type(name)?;
        match tail.nodes[node].kind {
            Kind::Binary | Kind::String => is_raw(&ty).then_some(ty),
            Kind::Int => (ty == DataType::IPv4).then_some(ty),
            Kind::Date => (ty == DataType::Date).then_some(ty),
            _ => None,
        }
    });
    let raw: Vec<Option<DataType>> = raw.collect();
    let nodes: Vec<usize> = tail.columns().map(|c| c.1).collect();
    let by_name = ByName::new(
        &request,
        tail.columns().map(|c| c.0),
        |column| match &raw[column] {
            Some(ty) => Ok(ty.clone().nullable()),
            None => tail.type_of(nodes[column]),
        },
        ignore_case,
        settings.input_format_orc_allow_missing_columns,
    )?;
    let absent = by_name.omitted(1).iter().map(Option::is_some).collect();
    let reader_zone = match settings.input_format_orc_reader_time_zone_name.as_str() {
        "" | "UTC" | "GMT" => TimeZone::utc(),
        name => TimeZone::named(name)?,
    };
    let file = File { bytes, tail, request, by_name, raw, absent, reader_zone };
    Ok(Box::new(Stripes { file: Arc::new(file), next: 0 }))
}

struct Stripes {
    file: Arc<File>,
    next: usize,
}

impl FileScan for Stripes {
    fn next_unit(&mut self) -> Result<Option<Box<dyn BlockReader>>> {
        if self.next == self.file.tail.stripes.len() {
            return Ok(None);
        }
        let (file, index) = (self.file.clone(), self.next);
        self.next += 1;
        let absent = file.absent.clone();
        Ok(Some(Box::new(Sliced::new(Box::new(move || file.stripe(index)), absent))))
    }

    fn summary(&self, columns: &[usize]) -> Option<Summary> {
        columns.is_empty().then(|| Summary { rows: self.file.tail.n_rows, extremes: Vec::new() })
    }
}

impl File {
    fn stripe(&self, index: usize) -> Result<Block> {
        let n = self.tail.stripes[index].n_rows as usize;
        let stripe = Stripe::open(&self.tail, &self.bytes, index, self.reader_zone.clone())?;
        let nodes: Vec<(&str, usize)> = self.tail.columns().collect();
        let mut columns: Vec<Column> = Vec::with_capacity(self.by_name.read.len());
        for &column in &self.by_name.read {
            let (name, node) = nodes[column];
            let vector: Vector = stripe
                .column(node, n, self.raw[column].as_ref())
                .map_err(|e| e.context(format_args!("(while reading column {name} of stripe {index})\n")))?;
            columns.push(vector.into());
        }
        self.by_name.block(&Block::new(columns, n), &self.request)
    }
}

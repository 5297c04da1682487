//! HiveText: rows as Hive's `LazySimpleSerDe` reads them, without quotes, with a separator for each level of nesting.

use crate::format::{Capabilities, Format};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::row_writer::{RowLayout, RowWriter};
use crate::text::text_settings;
use chalet_base::{Result, bail};
use chalet_columns::{Block, Data, Vector};
use chalet_text::{DateTimeOutput, Style, TextSettings, Writer};
use chalet_types::DataType;

struct HiveText;

pub const FORMATS: &[Format] = &[Format {
    name: "HiveText",
    suffixes: &[],
    content_type: "text/plain; charset=UTF-8",
    capabilities: Capabilities { parallel_formatting: true, tty_friendly: true, ..Capabilities::NONE },
    input: None,
    output: Some(&HiveText),
}];

/// Levels of nesting that have a separator.
const MAX_LEVELS: usize = 8;

impl OutputFormat for HiveText {
    fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        let settings = TextSettings {
            date_time_output_format: DateTimeOutput::Simple,
            output_format_float_precision: 0,
            bool_true_representation: "true".into(),
            bool_false_representation: "false".into(),
            ..text_settings(&request.settings, &request.time_zone)
        };
        let s = &request.settings;
        let mut separators = [1, 2, 3, 4, 5, 6, 7, 8];
        separators[0] = s.input_format_hive_text_fields_delimiter.0;
        separators[1] = s.input_format_hive_text_collection_items_delimiter.0;
        separators[2] = s.input_format_hive_text_map_keys_delimiter.0;
        let columns = request.header.iter().map(|(_, ty)| Value::new(ty, 1, &settings));
        let layout = Layout {
            columns: columns.collect::<Result<_>>()?,
            separators,
            row_end: s.format_hive_text_rows_delimiter.0,
        };
        Ok(RowWriter::boxed(layout, sink))
    }
}

/// How the values of a type are written at their level.
enum Value {
    Scalar(Box<Writer>),
    Float(Box<Writer>),
    Array(usize, Box<Value>),
    Map(usize, Box<Value>, Box<Value>),
    Tuple(usize, Vec<Value>),
}

impl Value {
    fn new(ty: &DataType, level: usize, settings: &TextSettings) -> Result<Value> {
        let refused =
            || chalet_base::err!(NOT_IMPLEMENTED, "Type {ty} is not supported by the HiveText output format");
        let nested = |levels: usize| match level + levels <= MAX_LEVELS {
            true => Ok(()),
            false => bail!(
                NOT_IMPLEMENTED,
                "Type {ty} is nested too deeply for the HiveText output format, which has {MAX_LEVELS} separators"
            ),
        };
        let writer = || Box::new(Writer::new(ty, Style::Plain, settings));
        Ok(match ty.without_nullable() {
            DataType::BFloat16 | DataType::Float32 | DataType::Float64 => Value::Float(writer()),
            DataType::Bool
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::String
            | DataType::Date
            | DataType::Date32
            | DataType::DateTime(_)
            | DataType::DateTime64(..) => Value::Scalar(writer()),
            // The type of NULL.
            DataType::Nothing if ty.is_nullable() => Value::Scalar(writer()),
            DataType::Decimal { precision, .. } if *precision <= 38 => Value::Scalar(writer()),
            DataType::Array(inner) => {
                nested(1)?;
                Value::Array(level, Box::new(Value::new(inner, level + 1, settings)?))
            }
            DataType::Map(key, value) => {
                nested(2)?;
                let primitive = !matches!(
                    key.bare(),
                    DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) | DataType::Nothing
                );
                let key = Value::new(key, level + 2, settings)?;
                if !primitive {
                    return Err(refused());
                }
                Value::Map(level, Box::new(key), Box::new(Value::new(value, level + 2, settings)?))
            }
            DataType::Tuple(fields) => {
                nested(1)?;
                let field = |f: &chalet_types::TupleField| Value::new(&f.ty, level + 1, settings);
                Value::Tuple(level, fields.iter().map(field).collect::<Result<_>>()?)
            }
            _ => return Err(refused()),
        })
    }

    fn write(&self, out: &mut Vec<u8>, separators: &[u8; MAX_LEVELS], vector: &Vector, row: usize) {
        if vector.is_null(row) {
            return out.extend_from_slice(b"\\N");
        }
        match (self, &vector.data) {
            (Value::Scalar(_), Data::Nothing(_)) => out.extend_from_slice(b"\\N"),
            (Value::Scalar(writer), _) => writer.write(out, vector, row),
            (Value::Float(writer), data) => {
                let value = match data {
                    Data::F32(values) => f64::from(values[row]),
                    Data::F64(values) => values[row],
                    _ => 0.0,
                };
                match value {
                    _ if value.is_nan() => out.extend_from_slice(b"NaN"),
                    f64::INFINITY => out.extend_from_slice(b"Infinity"),
                    f64::NEG_INFINITY => out.extend_from_slice(b"-Infinity"),
                    _ => writer.write(out, vector, row),
                }
            }
            (Value::Array(level, inner), Data::List(list)) => {
                for (i, element) in list.range(row).enumerate() {
                    if i > 0 {
                        out.push(separators[*level]);
                    }
                    inner.write(out, separators, &list.values, element);
                }
            }
            (Value::Map(level, key, value), Data::List(list)) => {
                let Data::Struct(pairs) = &list.values.data else { return };
                for (i, element) in list.range(row).enumerate() {
                    if i > 0 {
                        out.push(separators[*level]);
                    }
                    key.write(out, separators, &pairs.fields[0], element);
                    out.push(separators[*level + 1]);
                    value.write(out, separators, &pairs.fields[1], element);
                }
            }
            (Value::Tuple(level, fields), Data::Struct(values)) => {
                for (i, (field, vector)) in fields.iter().zip(&values.fields).enumerate() {
                    if i > 0 {
                        out.push(separators[*level]);
                    }
                    field.write(out, separators, vector, row);
                }
            }
            _ => {}
        }
    }
}

struct Layout {
    columns: Vec<Value>,
    separators: [u8; MAX_LEVELS],
    row_end: u8,
}

impl RowLayout for Layout {
    fn row(&mut self, out: &mut Vec<u8>, block: &Block, row: usize) {
        for (i, (value, column)) in self.columns.iter().zip(block.columns()).enumerate() {
            if i > 0 {
                out.push(self.separators[0]);
            }
            let (vector, row) = column.locate(row);
            value.write(out, &self.separators, vector, row);
        }
        out.push(self.row_end);
    }
}

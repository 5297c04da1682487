//! `Writer`: one value of a column as text, in the style of a format. Resolved once per column, then run per row.

pub mod address;
pub mod escape;
mod json;
pub mod number;
mod qbit;
mod several;
pub mod time;

use crate::{DateTimeOutput, TextSettings};
use chalet_columns::{Data, Vector};
use chalet_types::calendar::LocalTime;
use chalet_types::{DataType, EnumValues, IntervalUnit, QBitType};
use json::JsonOptions;
use several::Several;
use std::sync::Arc;

/// Where the text will stand, which decides about quotes, escapes and NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As `toString` does: strings raw, but quoted inside of containers.
    Plain,
    /// A field of a tab-separated file.
    Escaped,
    /// Like `Plain`, with the NULL of tab-separated files.
    Raw,
    /// A literal of SQL.
    Quoted,
    Csv,
    Json,
    /// JSON with tuples and maps spread over lines, which are indented by this many tabs and more.
    JsonPretty(u8),
    Xml,
}

/// Writes values of one type.
///
/// Not shared between threads, because it remembers the offset of its time zone: make one per thread.
pub struct Writer {
    kind: Kind,
    style: Style,
    null: Box<str>,
    /// Of the whole value: what a container writes its elements with is in `kind`.
    quotes: Quotes,
    csv_delimiter: u8,
    /// Quotes inside of quoted strings are doubled instead of escaped.
    doubled_quotes: bool,
    json: JsonOptions,
}

/// What settings change about floats.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FloatLayout {
    /// Digits behind the point at most; 0 for as many as it takes.
    precision: usize,
    always_point: bool,
}

/// What stands around a value that is no string.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    None,
    Single,
    Double,
}

enum Kind {
    Nothing,
    Bool {
        yes: Box<str>,
        no: Box<str>,
    },
    Integer,
    /// As Kusto writes spans of time.
    Interval(IntervalUnit),
    Float {
        null_for_denormals: bool,
        quote_denormals: bool,
        layout: FloatLayout,
    },
    Decimal {
        scale: u8,
        trailing_zeros: bool,
        always_point: bool,
    },
    String,
    /// FixedString without the zeros behind the text.
    Trimmed,
    Uuid,
    IPv4,
    IPv6,
    Date,
    DateTime {
        time: LocalTime,
        format: DateTimeOutput,
    },
    DateTime64 {
        scale: u8,
        time: LocalTime,
        format: DateTimeOutput,
        /// No, three, six or nine digits behind the point, whichever hold the value.
        by_thousands: bool,
    },
    Time,
    Time64 {
        scale: u8,
    },
    Enum(Arc<EnumValues>),
    Array(Box<Writer>),
    Tuple(Vec<(Option<Arc<str>>, Writer)>),
    /// The key of a JSON object is text, elsewhere it is a value like any other.
    Map {
        key: Box<Writer>,
        value: Box<Writer>,
    },
    QBit(QBitType),
    /// Variant, Dynamic and JSON.
    Several(Box<Several>),
}

/// Writes one value; a column is better served by a [`Writer`] of its own.
pub fn write_value(
    out: &mut Vec<u8>,
    vector: &Vector,
    row: usize,
    ty: &DataType,
    style: Style,
    settings: &TextSettings,
) {
    Writer::new(ty, style, settings).write(out, vector, row);
}

impl Writer {
    pub fn new(ty: &DataType, style: Style, settings: &TextSettings) -> Writer {
        let bare = ty.bare();
        let json_like = matches!(style, Style::Json | Style::JsonPretty(_));
        let element_style = match style {
            Style::Json | Style::Xml => style,
            Style::JsonPretty(indent) => Style::JsonPretty(indent.saturating_add(1)),
            _ => Style::Quoted,
        };
        // Several fields of a line could not be NULL together.
        let kind_style = if style == Style::Csv && ty.is_nullable() { element_style } else { style };
        let kind = match bare {
            DataType::Tuple(_) => Kind::of(bare, kind_style, element_style, settings),
            _ => Kind::of(bare, style, element_style, settings),
        };
        let null: &str = match style {
            Style::Plain if settings.plain_null_in_ascii => "NULL",
            Style::Plain => "ᴺᵁᴸᴸ",
            Style::Escaped | Style::Raw => &settings.format_tsv_null_representation,
            Style::Quoted => "NULL",
            Style::Csv => &settings.format_csv_null_representation,
            Style::Json | Style::JsonPretty(_) => "null",
            Style::Xml => "\\N",
        };
        let timely = bare.is_date_or_time()
            || matches!(
                bare,
                DataType::Time
                    | DataType::Time64(_)
                    | DataType::Uuid
                    | DataType::IPv4
                    | DataType::IPv6
                    | DataType::Enum8(_)
                    | DataType::Enum16(_)
            );
        let timely = timely || settings.interval_output_format_kusto && matches!(bare, DataType::Interval(_));
        let quotes = match (style, bare) {
            (Style::Quoted, _) if timely && !bare.is_enum() => Quotes::Single,
            (Style::Csv, _) if timely && !bare.is_enum() => Quotes::Double,
            (_, _) if !json_like => Quotes::None,
            (_, _) if timely && !bare.is_enum() => Quotes::Double,
            (_, DataType::Decimal { .. }) if settings.output_format_json_quote_decimals => Quotes::Double,
            (_, DataType::Float64) if settings.output_format_json_quote_64bit_floats => Quotes::Double,
            _ if is_wide(bare) && settings.output_format_json_quote_64bit_integers => Quotes::Double,
            _ => Quotes::None,
        };
        let json = JsonOptions::of(settings);
        let csv_delimiter = settings.format_csv_delimiter;
        let doubled_quotes = settings.output_format_values_escape_quote_with_quote;
        Writer { kind, style, null: null.into(), quotes, csv_delimiter, doubled_quotes, json }
    }

    /// Appends the value of a row.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>, vector: &Vector, row: usize) {
        if vector.is_null(row) {
            return out.extend_from_slice(self.null.as_bytes());
        }
        self.write_valid(out, &vector.data, row);
    }

    fn write_valid(&self, out: &mut Vec<u8>, data: &Data, row: usize) {
        match self.quotes {
            Quotes::None => self.bare(out, data, row),
            Quotes::Single => {
                out.push(b'\'');
                self.bare(out, data, row);
                out.push(b'\'');
            }
            Quotes::Double => {
                out.push(b'"');
                self.bare(out, data, row);
                out.push(b'"');
            }
        }
    }

    fn bare(&self, out: &mut Vec<u8>, data: &Data, row: usize) {
        match (&self.kind, data) {
            (Kind::Integer, _) => integer(out, data, row),
            (Kind::Interval(unit), Data::I64(v)) => time::kusto_interval(out, v[row], *unit),
            (Kind::String, Data::Str(strings)) => self.string(out, strings.get(row)),
            (Kind::String, Data::Fixed(fixed)) => self.string(out, fixed.get(row)),
            (Kind::Trimmed, Data::Fixed(fixed)) => {
                let bytes = fixed.get(row);
                let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                self.string(out, &bytes[..end])
            }
            (Kind::Float { null_for_denormals, quote_denormals, layout }, _) => {
                let finite = match data {
                    Data::F64(v) => v[row].is_finite(),
                    Data::F32(v) => v[row].is_finite(),
                    Data::BF16(v) => v[row].is_finite(),
                    _ => true,
                };
                if finite {
                    let start = out.len();
                    float(out, data, row);
                    if layout.precision > 0 {
                        number::round_float(out, start, layout.precision);
                    }
                    if layout.always_point {
                        number::put_point(out, start);
                    }
                } else if *null_for_denormals {
                    out.extend_from_slice(b"null")
                } else if *quote_denormals && self.quotes == Quotes::None {
                    out.push(b'"');
                    // Here alone the sign of a NaN shows.
                    if is_negative_nan(data, row) {
                        out.push(b'-');
                    }
                    float(out, data, row);
                    out.push(b'"');
                } else {
                    float(out, data, row)
                }
            }
            (Kind::Bool { yes, no }, Data::U8(v)) => {
                out.extend_from_slice(if v[row] != 0 { yes.as_bytes() } else { no.as_bytes() })
            }
            (Kind::Decimal { scale, trailing_zeros, always_point }, _) => {
                let start = out.len();
                match data {
                    Data::I32(v) => number::decimal(out, v[row].into(), *scale, *trailing_zeros),
                    Data::I64(v) => number::decimal(out, v[row].into(), *scale, *trailing_zeros),
                    Data::I128(v) => number::decimal(out, v[row], *scale, *trailing_zeros),
                    Data::I256(v) => number::decimal256(out, v[row], *scale, *trailing_zeros),
                    _ => {}
                }
                if *always_point {
                    number::put_point(out, start);
                }
            }
            (Kind::Date, Data::U16(v)) => time::date(out, v[row].into()),
            (Kind::Date, Data::I32(v)) => time::date(out, v[row]),
            (Kind::DateTime { time, format }, Data::U32(v)) => {
                time::date_time(out, v[row].into(), time, *format)
            }
            (Kind::DateTime64 { scale, time, format, by_thousands }, Data::I64(v)) => {
                let (ticks, scale) = match by_thousands {
                    true => time::by_thousands(v[row], *scale),
                    false => (v[row], *scale),
                };
                time::date_time64(out, ticks, scale, time, *format)
            }
            (Kind::Time, Data::I32(v)) => time::time(out, v[row]),
            (Kind::Time64 { scale }, Data::I64(v)) => time::time64(out, v[row], *scale),
            (Kind::Uuid, Data::Fixed(fixed)) => address::uuid(out, fixed.get(row)),
            (Kind::IPv4, Data::U32(v)) => address::ipv4(out, v[row]),
            (Kind::IPv6, Data::Fixed(fixed)) => address::ipv6(out, fixed.get(row)),
            (Kind::QBit(ty), Data::Fixed(fixed)) => qbit::put(out, fixed.get(row), *ty),
            (Kind::Enum(names), Data::I8(v)) => self.enumeration(out, names, v[row].into()),
            (Kind::Enum(names), Data::I16(v)) => self.enumeration(out, names, v[row]),
            (Kind::Array(_) | Kind::Tuple(_) | Kind::Map { .. }, _) => self.container(out, data, row),
            (Kind::Several(several), Data::Str(values)) => several.write(out, values.get(row)),
            _ => {}
        }
    }

    fn enumeration(&self, out: &mut Vec<u8>, names: &EnumValues, number: i16) {
        match names.name_of(number) {
            Some(name) => self.string(out, name.as_bytes()),
            None => number::integer(out, number),
        }
    }

    #[inline]
    fn string(&self, out: &mut Vec<u8>, text: &[u8]) {
        match self.style {
            Style::Plain | Style::Raw => out.extend_from_slice(text),
            Style::Escaped => escape::escaped(out, text),
            Style::Quoted if self.doubled_quotes => escape::quoted_with_quotes(out, text),
            Style::Quoted => escape::quoted(out, text),
            Style::Csv => escape::csv(out, text),
            Style::Json | Style::JsonPretty(_) => escape::json(out, text, self.json.strings),
            Style::Xml => escape::xml(out, text),
        }
    }

    fn container(&self, out: &mut Vec<u8>, data: &Data, row: usize) {
        match self.style {
            Style::Json => self.json_container(out, data, row, None),
            Style::JsonPretty(indent) => self.json_container(out, data, row, Some(indent)),
            Style::Xml => self.xml_container(out, data, row),
            Style::Csv => match (&self.kind, data) {
                // A tuple spreads over several fields of the line.
                (Kind::Tuple(fields), Data::Struct(s)) if fields.iter().all(|f| f.1.style == Style::Csv) => {
                    for (i, ((_, writer), field)) in fields.iter().zip(&s.fields).enumerate() {
                        if i > 0 {
                            out.push(self.csv_delimiter);
                        }
                        writer.write(out, field, row);
                    }
                }
                _ => {
                    let mut text = Vec::new();
                    self.text_container(&mut text, data, row);
                    escape::csv(out, &text);
                }
            },
            _ => self.text_container(out, data, row),
        }
    }

    /// `[1,2]`, `(1,'a')`, `{'k':1}`
    fn text_container(&self, out: &mut Vec<u8>, data: &Data, row: usize) {
        match (&self.kind, data) {
            (Kind::Array(element), Data::List(list)) => {
                out.push(b'[');
                for (i, e) in list.range(row).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    element.write(out, &list.values, e);
                }
                out.push(b']');
            }
            (Kind::Tuple(fields), Data::Struct(s)) => {
                out.push(b'(');
                for (i, ((_, writer), field)) in fields.iter().zip(&s.fields).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    writer.write(out, field, row);
                }
                out.push(b')');
            }
            (Kind::Map { key, value }, Data::List(list)) => {
                let Data::Struct(pairs) = &list.values.data else { return };
                out.push(b'{');
                for (i, e) in list.range(row).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    key.write(out, &pairs.fields[0], e);
                    out.push(b':');
                    value.write(out, &pairs.fields[1], e);
                }
                out.push(b'}');
            }
            _ => {}
        }
    }

    fn xml_container(&self, out: &mut Vec<u8>, data: &Data, row: usize) {
        let element = |out: &mut Vec<u8>, tag: &str, writer: &Writer, vector: &Vector, row: usize| {
            out.extend_from_slice(format!("<{tag}>").as_bytes());
            writer.write(out, vector, row);
            out.extend_from_slice(format!("</{tag}>").as_bytes());
        };
        match (&self.kind, data) {
            (Kind::Array(inner), Data::List(list)) => {
                out.extend_from_slice(b"<array>");
                list.range(row).for_each(|e| element(out, "elem", inner, &list.values, e));
                out.extend_from_slice(b"</array>");
            }
            (Kind::Tuple(fields), Data::Struct(s)) => {
                out.extend_from_slice(b"<tuple>");
                for ((_, writer), field) in fields.iter().zip(&s.fields) {
                    element(out, "elem", writer, field, row);
                }
                out.extend_from_slice(b"</tuple>");
            }
            (Kind::Map { key, value }, Data::List(list)) => {
                let Data::Struct(pairs) = &list.values.data else { return };
                out.extend_from_slice(b"<map>");
                for e in list.range(row) {
                    out.extend_from_slice(b"<elem>");
                    element(out, "key", key, &pairs.fields[0], e);
                    element(out, "value", value, &pairs.fields[1], e);
                    out.extend_from_slice(b"</elem>");
                }
                out.extend_from_slice(b"</map>");
            }
            _ => {}
        }
    }
}

impl Kind {
    fn of(ty: &DataType, style: Style, element_style: Style, settings: &TextSettings) -> Kind {
        let json_like = matches!(style, Style::Json | Style::JsonPretty(_));
        let time = |zone: &Option<chalet_types::TimeZone>| {
            LocalTime::new(zone.as_ref().unwrap_or(&settings.time_zone))
        };
        // `toString` of a timestamp does not follow the setting.
        let plain = style == Style::Plain && !settings.plain_follows_settings;
        let format = if plain { DateTimeOutput::Simple } else { settings.date_time_output_format };
        let element = |ty: &DataType| Writer::new(ty, element_style, settings);
        // Numbers of JSON have a digit behind the point, if they have one.
        let always_point =
            settings.output_format_always_write_decimal_point_in_float_and_decimal && !json_like && !plain;
        match ty {
            DataType::Nothing | DataType::LowCardinality(_) | DataType::Nullable(_) => Kind::Nothing,
            DataType::Bool => match style {
                Style::Json | Style::JsonPretty(_) | Style::Quoted | Style::Xml => {
                    Kind::Bool { yes: "true".into(), no: "false".into() }
                }
                _ => Kind::Bool {
                    yes: settings.bool_true_representation.clone(),
                    no: settings.bool_false_representation.clone(),
                },
            },
            DataType::BFloat16 | DataType::Float32 | DataType::Float64 => Kind::Float {
                null_for_denormals: json_like && !settings.output_format_json_quote_denormals,
                quote_denormals: json_like,
                layout: FloatLayout {
                    precision: match plain {
                        true => 0,
                        false => settings.output_format_float_precision.min(MAX_PRECISION) as usize,
                    },
                    always_point,
                },
            },
            DataType::Decimal { scale, .. } => Kind::Decimal {
                scale: *scale,
                // Nor does `toString` of a decimal.
                trailing_zeros: settings.output_format_decimal_trailing_zeros && !plain,
                always_point,
            },
            DataType::FixedString(_) if settings.output_format_trim_fixed_string && !plain => Kind::Trimmed,
            DataType::String | DataType::FixedString(_) | DataType::AggregateFunction(_) => Kind::String,
            DataType::Uuid => Kind::Uuid,
            DataType::IPv4 => Kind::IPv4,
            DataType::IPv6 => Kind::IPv6,
            DataType::Date | DataType::Date32 => Kind::Date,
            DataType::DateTime(zone) => Kind::DateTime { time: time(zone), format },
            DataType::DateTime64(scale, zone) => Kind::DateTime64 {
                scale: *scale,
                time: time(zone),
                format,
                by_thousands: format == DateTimeOutput::Simple
                    && settings.date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands,
            },
            DataType::Time => Kind::Time,
            DataType::Time64(scale) => Kind::Time64 { scale: *scale },
            DataType::Enum8(names) | DataType::Enum16(names) => Kind::Enum(names.clone()),
            DataType::Array(inner) => Kind::Array(Box::new(element(inner))),
            DataType::Tuple(fields) => {
                let spread =
                    style == Style::Csv && settings.output_format_csv_serialize_tuple_into_separate_columns;
                let write = |ty: &DataType| {
                    if spread { Writer::new(ty, Style::Csv, settings) } else { element(ty) }
                };
                Kind::Tuple(fields.iter().map(|f| (f.name.clone(), write(&f.ty))).collect())
            }
            DataType::Map(..) if json_like && settings.output_format_json_map_as_array_of_tuples => {
                Kind::Array(Box::new(element(&ty.element().unwrap_or(DataType::Nothing))))
            }
            DataType::Map(key, value) => {
                let key = if json_like {
                    let whole = TextSettings { plain_follows_settings: true, ..settings.clone() };
                    Writer::new(key, Style::Plain, &whole)
                } else {
                    Writer::new(key, element_style, settings)
                };
                Kind::Map { key: Box::new(key), value: Box::new(element(value)) }
            }
            DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => {
                Kind::several(ty, style, settings)
            }
            DataType::QBit(vectors) => Kind::QBit(*vectors),
            DataType::Interval(unit) if settings.interval_output_format_kusto => Kind::Interval(*unit),
            _ => Kind::Integer,
        }
    }
}

/// More digits than any float has.
const MAX_PRECISION: u64 = 1000;

fn is_negative_nan(data: &Data, row: usize) -> bool {
    match data {
        Data::F64(v) => v[row].is_nan() && v[row].is_sign_negative(),
        Data::F32(v) => v[row].is_nan() && v[row].is_sign_negative(),
        _ => false,
    }
}

fn is_wide(ty: &DataType) -> bool {
    ty.is_integer() && ty.physical().width().is_some_and(|width| width >= 8)
}

#[inline]
fn integer(out: &mut Vec<u8>, data: &Data, row: usize) {
    match data {
        Data::U8(v) => number::integer(out, v[row]),
        Data::U16(v) => number::integer(out, v[row]),
        Data::U32(v) => number::integer(out, v[row]),
        Data::U64(v) => number::integer(out, v[row]),
        Data::U128(v) => number::integer(out, v[row]),
        Data::U256(v) => number::u256(out, v[row]),
        Data::I8(v) => number::integer(out, v[row]),
        Data::I16(v) => number::integer(out, v[row]),
        Data::I32(v) => number::integer(out, v[row]),
        Data::I64(v) => number::integer(out, v[row]),
        Data::I128(v) => number::integer(out, v[row]),
        Data::I256(v) => number::i256(out, v[row]),
        _ => {}
    }
}

#[inline]
fn float(out: &mut Vec<u8>, data: &Data, row: usize) {
    match data {
        Data::F64(v) => number::f64(out, v[row]),
        Data::F32(v) => number::f32(out, v[row]),
        Data::BF16(v) => number::f32(out, v[row].into()),
        _ => {}
    }
}

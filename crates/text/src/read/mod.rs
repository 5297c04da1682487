//! `Reader`: one value of a column from text, in the syntax of a format. Resolved once per column, then run per row.

pub mod address;
pub mod best_effort;
mod container;
pub mod cursor;
pub mod decimal;
pub mod number;
mod qbit;
pub mod scalar;
pub mod seen;
mod several;
pub mod string;
pub mod time;
mod whole;

use crate::{DateTimeInput, TextSettings};
use chalet_base::{Result, bail};
use chalet_columns::Builder;
use chalet_columns::builder::Values;
use chalet_types::calendar::LocalTime;
use chalet_types::{AggregateType, DataType, EnumValues, Physical, QBitType, TimeZone};
use cursor::Cursor;
use several::Several;
use std::sync::Arc;
use string::CsvQuotes;

/// Where the text stands, which decides about quotes, escapes, NULL and where a value ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// The whole of a string, as casts see it.
    Plain,
    /// A field of a tab-separated file.
    Escaped,
    /// A field of a tab-separated file without escapes.
    Raw,
    /// A literal of SQL, and what stands inside of containers.
    Quoted,
    Csv,
    Json,
}

/// Reads values of one type.
///
/// Not shared between threads, because it remembers the offset of its time zone: make one per thread.
pub struct Reader {
    ty: DataType,
    kind: Kind,
    syntax: Syntax,
    nullable: bool,
    options: Arc<Options>,
}

/// The settings that rows ask for.
struct Options {
    csv_quotes: CsvQuotes,
    csv_delimiter: u8,
    csv_null: Box<[u8]>,
    tsv_null: Box<[u8]>,
    csv_empty_as_default: bool,
    tsv_empty_as_default: bool,
    csv_default_for_bad: bool,
    csv_spreads_tuples: bool,
    csv_empty_is_text: bool,
    csv_nests: bool,
    csv_enum_as_number: bool,
    tsv_enum_as_number: bool,
    null_as_default: bool,
    yes: Box<[u8]>,
    no: Box<[u8]>,
    json_empty_as_default: bool,
    json_bools_as_numbers: bool,
    json_lenient_escapes: bool,
    date_time_numbers_are_ticks: bool,
    date_time_overflow_throws: bool,
    json_numbers_as_strings: bool,
    json_bools_as_strings: bool,
    json_arrays_as_strings: bool,
    json_objects_as_strings: bool,
    json_named_tuples_as_objects: bool,
    json_map_as_array_of_tuples: bool,
    json_defaults_for_missing_elements: bool,
    json_ignore_unknown_keys: bool,
    /// All of them, for types that are known in rows only.
    settings: TextSettings,
}

enum Kind {
    Nothing,
    Bool,
    /// Integers and intervals.
    Integer(Physical),
    Float(Physical),
    Decimal {
        precision: u8,
        scale: u8,
    },
    String,
    /// The bytes of a state of an aggregate function.
    State(Arc<AggregateType>),
    FixedString(usize),
    Uuid,
    IPv4,
    IPv6,
    Date,
    Date32,
    DateTime {
        time: LocalTime,
        mode: DateTimeInput,
    },
    DateTime64 {
        scale: u8,
        time: LocalTime,
        mode: DateTimeInput,
    },
    Time,
    Time64(u8),
    Enum(Arc<EnumValues>),
    Array(Box<Reader>),
    Tuple(Vec<(Option<Arc<str>>, Reader)>),
    Map {
        key: Box<Reader>,
        value: Box<Reader>,
    },
    QBit(QBitType),
    /// Variant, Dynamic and JSON.
    Several(Several),
}

/// Makes readers that share their settings, as those of the columns of a file do.
pub struct Readers(Arc<Options>);

impl Readers {
    pub fn new(settings: &TextSettings) -> Readers {
        let options = Options {
            csv_quotes: CsvQuotes {
                single: settings.format_csv_allow_single_quotes,
                double: settings.format_csv_allow_double_quotes,
                trim: settings.input_format_csv_trim_whitespaces,
            },
            csv_delimiter: settings.format_csv_delimiter,
            csv_null: settings.format_csv_null_representation.as_bytes().into(),
            tsv_null: settings.format_tsv_null_representation.as_bytes().into(),
            csv_empty_as_default: settings.input_format_csv_empty_as_default,
            tsv_empty_as_default: settings.input_format_tsv_empty_as_default,
            csv_default_for_bad: settings.input_format_csv_use_default_on_bad_values,
            csv_spreads_tuples: settings.input_format_csv_deserialize_separate_columns_into_tuple,
            csv_nests: settings.input_format_csv_arrays_as_nested_csv,
            csv_empty_is_text: settings.input_format_csv_missing_nullable_as_empty_string,
            csv_enum_as_number: settings.input_format_csv_enum_as_number,
            tsv_enum_as_number: settings.input_format_tsv_enum_as_number,
            null_as_default: settings.input_format_null_as_default,
            yes: settings.bool_true_representation.as_bytes().into(),
            no: settings.bool_false_representation.as_bytes().into(),
            json_empty_as_default: settings.input_format_json_empty_as_default,
            json_bools_as_numbers: settings.input_format_json_read_bools_as_numbers,
            json_lenient_escapes: !settings.input_format_json_throw_on_bad_escape_sequence,
            date_time_numbers_are_ticks: settings.input_format_read_datetime_number_as_raw_value,
            date_time_overflow_throws: settings.date_time_overflow_throws,
            json_numbers_as_strings: settings.input_format_json_read_numbers_as_strings,
            json_bools_as_strings: settings.input_format_json_read_bools_as_strings,
            json_arrays_as_strings: settings.input_format_json_read_arrays_as_strings,
            json_objects_as_strings: settings.input_format_json_read_objects_as_strings,
            json_named_tuples_as_objects: settings.input_format_json_named_tuples_as_objects,
            json_map_as_array_of_tuples: settings.input_format_json_map_as_array_of_tuples,
            json_defaults_for_missing_elements: settings
                .input_format_json_defaults_for_missing_elements_in_named_tuple,
            json_ignore_unknown_keys: settings.input_format_json_ignore_unknown_keys_in_named_tuple,
            settings: settings.clone(),
        };
        Readers(Arc::new(options))
    }

    /// The reader of a type.
    pub fn of(&self, ty: &DataType, syntax: Syntax) -> Reader {
        Reader::build(ty, syntax, &self.0.settings, &self.0)
    }
}

impl Reader {
    pub fn new(ty: &DataType, syntax: Syntax, settings: &TextSettings) -> Reader {
        Readers::new(settings).of(ty, syntax)
    }

    fn build(ty: &DataType, syntax: Syntax, settings: &TextSettings, options: &Arc<Options>) -> Reader {
        let local = |zone: &Option<TimeZone>| LocalTime::new(zone.as_ref().unwrap_or(&settings.time_zone));
        let mode = settings.date_time_input_format;
        let element_syntax = match syntax {
            Syntax::Json => Syntax::Json,
            _ => Syntax::Quoted,
        };
        let element = |ty: &DataType| Reader::build(ty, element_syntax, settings, options);
        let bare = ty.bare();
        let kind = match bare {
            DataType::Nothing | DataType::LowCardinality(_) | DataType::Nullable(_) => Kind::Nothing,
            DataType::Bool => Kind::Bool,
            DataType::BFloat16 | DataType::Float32 | DataType::Float64 => Kind::Float(bare.physical()),
            DataType::Decimal { precision, scale } => Kind::Decimal { precision: *precision, scale: *scale },
            DataType::String => Kind::String,
            DataType::AggregateFunction(states) => Kind::State(states.clone()),
            DataType::FixedString(n) => Kind::FixedString(*n as usize),
            DataType::Uuid => Kind::Uuid,
            DataType::IPv4 => Kind::IPv4,
            DataType::IPv6 => Kind::IPv6,
            DataType::Date => Kind::Date,
            DataType::Date32 => Kind::Date32,
            DataType::DateTime(zone) => Kind::DateTime { time: local(zone), mode },
            DataType::DateTime64(scale, zone) => Kind::DateTime64 { scale: *scale, time: local(zone), mode },
            DataType::Time => Kind::Time,
            DataType::Time64(scale) => Kind::Time64(*scale),
            DataType::Enum8(names) | DataType::Enum16(names) => Kind::Enum(names.clone()),
            DataType::Array(inner) if syntax == Syntax::Csv && options.csv_nests => {
                Kind::Array(Box::new(Reader::build(inner, Syntax::Csv, settings, options)))
            }
            DataType::Array(inner) => Kind::Array(Box::new(element(inner))),
            DataType::Tuple(fields) => {
                // In CSV the elements of a tuple are fields of the line, but for one that may be NULL as a whole.
                let spreads = syntax == Syntax::Csv && !ty.is_nullable() && options.csv_spreads_tuples;
                let of = |ty: &DataType| match spreads {
                    true => Reader::build(ty, Syntax::Csv, settings, options),
                    false => element(ty),
                };
                Kind::Tuple(fields.iter().map(|f| (f.name.clone(), of(&f.ty))).collect())
            }
            DataType::Map(..) if syntax == Syntax::Json && options.json_map_as_array_of_tuples => {
                Kind::Array(Box::new(element(&bare.element().unwrap_or(DataType::Nothing))))
            }
            DataType::Map(key, value) => {
                // A key of a JSON object is a string that holds the text of the key.
                let key_syntax = if syntax == Syntax::Json { Syntax::Plain } else { element_syntax };
                Kind::Map {
                    key: Box::new(Reader::build(key, key_syntax, settings, options)),
                    value: Box::new(element(value)),
                }
            }
            DataType::Variant(_) | DataType::Dynamic(_) | DataType::Json(_) => {
                Kind::Several(Several::of(bare, syntax, settings))
            }
            DataType::QBit(vectors) => Kind::QBit(*vectors),
            other => Kind::Integer(other.physical()),
        };
        Reader { ty: ty.clone(), kind, syntax, nullable: ty.is_nullable(), options: options.clone() }
    }

    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    /// Appends the value at the cursor and steps behind it; false when the text asked for a default (NULL for a type
    /// without it, an empty field), which was appended then. After an error the builder may hold half a row:
    /// [`Builder::truncate`] it.
    ///
    /// With [`Syntax::Plain`] the value is all that is left.
    #[inline]
    pub fn read(&self, cur: &mut Cursor, out: &mut Builder) -> Result<bool> {
        match self.syntax {
            Syntax::Plain => {
                let rest = cur.rest();
                cur.advance(rest.len());
                self.read_whole(rest, out)?;
                return Ok(true);
            }
            Syntax::Csv if self.options.csv_default_for_bad => return self.csv_or_default(cur, out),
            Syntax::Csv if self.options.csv_quotes.trim => self.skip_blanks(cur),
            Syntax::Json => cur.skip_whitespace(),
            _ => {}
        }
        self.given(cur, out)
    }

    /// A value behind the blanks before it.
    #[inline]
    fn given(&self, cur: &mut Cursor, out: &mut Builder) -> Result<bool> {
        if let Some(given) = self.null(cur, out)? {
            return Ok(given);
        }
        self.value(cur, out)?;
        if self.syntax == Syntax::Csv && self.options.csv_quotes.trim {
            self.skip_blanks(cur);
        }
        Ok(true)
    }

    /// A field of CSV; the default where its text is not like the type.
    #[cold]
    fn csv_or_default(&self, cur: &mut Cursor, out: &mut Builder) -> Result<bool> {
        let o = &*self.options;
        let (start, n_rows) = (*cur, out.len());
        if o.csv_quotes.trim {
            self.skip_blanks(cur);
        }
        let read = self.given(cur, out);
        let ends = matches!(cur.peek(), None | Some(b'\n' | b'\r')) || cur.peek() == Some(o.csv_delimiter);
        if ends && let Ok(given) = read {
            return Ok(given);
        }
        out.truncate(n_rows);
        *cur = start;
        string::csv(cur, o.csv_delimiter, o.csv_quotes, &mut Vec::new())?;
        out.push_default();
        Ok(false)
    }

    fn skip_blanks(&self, cur: &mut Cursor) {
        while matches!(cur.peek(), Some(b @ (b' ' | b'\t')) if b != self.options.csv_delimiter) {
            cur.advance(1);
        }
    }

    /// Appends the default in place of NULL or of an empty field; says whether that was the value that was given.
    fn null(&self, cur: &mut Cursor, out: &mut Builder) -> Result<Option<bool>> {
        let o = &*self.options;
        let is_null = match self.syntax {
            Syntax::Plain => false,
            Syntax::Escaped | Syntax::Raw => {
                let ends = |b: Option<&u8>| matches!(b, None | Some(b'\t' | b'\n' | b'\r'));
                if o.tsv_empty_as_default && ends(cur.rest().first()) {
                    out.push_default();
                    return Ok(Some(false));
                }
                let possible = self.nullable || o.null_as_default;
                possible
                    && cur.rest().starts_with(&o.tsv_null)
                    && ends(cur.rest().get(o.tsv_null.len()))
                    && cur.accept_bytes(&o.tsv_null)
            }
            Syntax::Csv => {
                let ends = |b: Option<&u8>| match b {
                    None | Some(b'\n' | b'\r') => true,
                    Some(b) => *b == o.csv_delimiter,
                };
                if matches!(self.kind, Kind::Tuple(_)) && !self.nullable {
                    return Ok(None);
                }
                if self.nullable
                    && o.csv_empty_is_text
                    && matches!(self.kind, Kind::String)
                    && ends(cur.rest().first())
                {
                    return Ok(None);
                }
                if o.csv_empty_as_default && ends(cur.rest().first()) {
                    out.push_default();
                    return Ok(Some(false));
                }
                let possible = self.nullable || o.null_as_default;
                possible
                    && cur.rest().starts_with(&o.csv_null)
                    && ends(cur.rest().get(o.csv_null.len()))
                    && cur.accept_bytes(&o.csv_null)
            }
            Syntax::Quoted => {
                matches!(cur.peek(), Some(b'N' | b'n')) && {
                    // `nan` begins like NULL.
                    let next = cur.rest().get(1);
                    matches!(next, Some(b'U' | b'u')) && cur.accept_word(b"null")
                }
            }
            Syntax::Json => {
                if o.json_empty_as_default && cur.accept_bytes(b"\"\"") {
                    out.push_default();
                    return Ok(Some(false));
                }
                let null = cur.peek() == Some(b'n');
                if null {
                    cur.expect_bytes(b"null")?;
                }
                null
            }
        };
        if !is_null {
            return Ok(None);
        }
        // JSON's null is the default of any type, whatever the setting says.
        let json = self.syntax == Syntax::Json;
        if !self.nullable && !o.null_as_default && !json && !matches!(self.kind, Kind::Nothing) {
            bail!(
                CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
                "Cannot insert NULL value into a column of type '{}'",
                self.ty
            );
        }
        out.push_default();
        Ok(Some(self.nullable))
    }

    /// A value that is not NULL.
    fn value(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        match &self.kind {
            Kind::String | Kind::State(_) | Kind::FixedString(_) | Kind::Enum(_) => {
                self.stringlike(cur, out)?
            }
            Kind::Array(_) | Kind::Tuple(_) | Kind::Map { .. } => self.container(cur, out)?,
            Kind::Several(several) => self.several(several, cur, out)?,
            Kind::QBit(ty) => qbit::read(cur, *ty, out)?,
            _ => self.scalar(cur, out)?,
        }
        out.mark_valid();
        Ok(())
    }

    fn stringlike(&self, cur: &mut Cursor, out: &mut Builder) -> Result<()> {
        if let (Kind::String, Values::Str(strings)) = (&self.kind, &mut out.values) {
            return strings.try_push_with(|bytes| self.text(cur, bytes));
        }
        if let Kind::Enum(names) = &self.kind
            && self.enum_number_expected(cur)
        {
            let number = number::wrapping_u64(cur, true)? as i64;
            return scalar::push_enum(out, scalar::enum_of_number(names, number)?);
        }
        let mut text = Vec::new();
        self.text(cur, &mut text)?;
        self.push_text(&text, out)
    }

    /// Appends text whose quotes and escapes are resolved to a FixedString or an Enum.
    fn push_text(&self, text: &[u8], out: &mut Builder) -> Result<()> {
        match (&self.kind, &mut out.values) {
            (Kind::FixedString(n), Values::Fixed { bytes, .. }) => {
                if text.len() > *n {
                    bail!(TOO_LARGE_STRING_SIZE, "Too large value for FixedString({n})");
                }
                let end = bytes.len() + n;
                bytes.extend_from_slice(text);
                bytes.resize(end, 0);
                Ok(())
            }
            (Kind::Enum(names), _) => scalar::push_enum(out, scalar::enum_of_text(names, text)?),
            (Kind::State(states), Values::Str(strings)) => {
                states.check(text)?;
                strings.push(text);
                Ok(())
            }
            (Kind::String, Values::Str(strings)) => {
                strings.push(text);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn enum_number_expected(&self, cur: &Cursor) -> bool {
        match self.syntax {
            Syntax::Json => cur.peek() != Some(b'"'),
            Syntax::Csv => self.options.csv_enum_as_number,
            Syntax::Escaped => self.options.tsv_enum_as_number,
            _ => false,
        }
    }

    /// The text of a string in this syntax.
    fn text(&self, cur: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
        let o = &*self.options;
        match self.syntax {
            Syntax::Plain => {
                out.extend_from_slice(cur.rest());
                cur.advance(cur.rest().len());
                Ok(())
            }
            Syntax::Escaped => string::escaped(cur, out),
            Syntax::Raw => {
                out.extend_from_slice(string::raw(cur));
                Ok(())
            }
            Syntax::Quoted => string::quoted(cur, b'\'', out),
            Syntax::Csv => string::csv(cur, o.csv_delimiter, o.csv_quotes, out),
            Syntax::Json => {
                let allowed = match cur.peek() {
                    Some(b'"') if o.json_lenient_escapes => return string::json_lenient(cur, out),
                    Some(b'"') => return string::json(cur, out),
                    Some(b'[') => o.json_arrays_as_strings,
                    Some(b'{') => o.json_objects_as_strings,
                    Some(b't' | b'f') => o.json_bools_as_strings,
                    _ => true,
                };
                let is_number = matches!(cur.peek(), Some(b'-' | b'0'..=b'9'));
                if !matches!(self.kind, Kind::String) || is_number && !o.json_numbers_as_strings {
                    return string::json(cur, out);
                }
                let text = scalar::json_text(cur)?;
                if !allowed {
                    bail!(INCORRECT_DATA, "Cannot parse JSON String value here: {}", cursor::plain(text));
                }
                out.extend_from_slice(text);
                Ok(())
            }
        }
    }
}

//! Rows whose fields stand in a fixed order: CSV, TSV and arrays of JSON. What differs is a [`FieldSyntax`].

use crate::FormatSettings;
use crate::fast::Fast;
use crate::header::Header;
use crate::infer::Dialect;
use crate::input::{BlockReader, FileScan, Input, ReadRequest};
use crate::row_reader::{Failures, Filling, RowParser, RowReader};
use crate::segments::{Rows, SegmentScan, Unit};
use crate::text::text_settings;
use chalet_base::{Result, ensure};
use chalet_columns::Builder;
use chalet_text::read::cursor::Cursor;
use chalet_text::read::{Reader, Readers, Syntax};
use chalet_types::DataType;
use std::sync::Arc;

/// How fields stand in a row.
pub trait FieldSyntax: Clone + Send + Sync + 'static {
    /// How values are read.
    fn values(&self) -> Syntax;

    /// Appends the value of a field; false when it was left to its default.
    fn read(&self, reader: &Reader, cur: &mut Cursor<'_>, out: &mut Builder) -> Result<bool> {
        reader.read(cur, out)
    }

    /// Steps to the first field of the next row; false at the end of the data.
    fn row_start(&self, cur: &mut Cursor<'_>, is_first: bool) -> Result<bool>;

    /// Steps over what stands between two fields.
    fn between(&self, cur: &mut Cursor<'_>) -> Result<()>;

    /// Steps over the end of a row, behind its last field.
    fn row_end(&self, cur: &mut Cursor<'_>) -> Result<()>;

    /// No field follows in this row, though some are due.
    fn is_row_end(&self, cur: &Cursor<'_>) -> bool;

    /// Steps over a field without reading it.
    fn skip_field(&self, cur: &mut Cursor<'_>) -> Result<()>;

    /// Refuses a row of so many fields.
    fn check_fields(&self, _n: usize) -> Result<()> {
        Ok(())
    }

    /// Refuses fields of plain text where what stands behind them could be part of it.
    fn check_text(&self) -> Result<()> {
        Ok(())
    }

    /// How many fields a value of the type takes.
    fn n_fields(&self, _ty: &DataType) -> usize {
        1
    }

    /// Steps over the fields of a value of the type.
    fn skip_value(&self, cur: &mut Cursor<'_>, ty: &DataType) -> Result<()> {
        self.skip_field(cur)?;
        for _ in 1..self.n_fields(ty) {
            self.between(cur)?;
            self.skip_field(cur)?;
        }
        Ok(())
    }

    /// Appends a string without the detours of the general reader; false (and the cursor unmoved) when those are
    /// needed.
    fn fast_string(&self, cur: &mut Cursor<'_>, out: &mut Builder) -> bool;

    /// May this byte follow an unquoted number?
    fn ends_number(&self, byte: u8) -> bool;

    /// Steps to the next row, from where a row begins.
    fn skip_row(&self, cur: &mut Cursor<'_>);

    /// Rows may have too few fields or too many.
    fn variable_fields(&self) -> bool;

    /// See [`Rows::row_end`].
    fn find_row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize>;

    /// What a person should know when a delimiter, or the end of a row, is not where it should be.
    fn explain_between(&self, rest: &[u8]) -> String;
    fn explain_end(&self, rest: &[u8]) -> String;

    /// Bytes at the start of a value's text that mean it has one, for messages.
    fn is_whitespace_before_field(&self, byte: u8) -> bool {
        byte == b' '
    }
}

/// One field of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    /// Of the table's column, or of the header when no column has that name.
    pub ty: DataType,
    /// Which of the wanted columns it is.
    pub wanted: Option<usize>,
}

/// An opened file of positional rows.
pub struct PositionalFile<S> {
    syntax: S,
    fields: Vec<Field>,
    request: ReadRequest,
    failures: Arc<Failures>,
    absent: Vec<usize>,
}

impl<S: FieldSyntax> PositionalFile<S> {
    /// `names` and `types` as the header gives them; without names the fields are the table's columns.
    pub fn new(
        syntax: S,
        names: Option<Vec<String>>,
        types: Option<Vec<String>>,
        request: ReadRequest,
    ) -> Result<PositionalFile<S>> {
        let settings = request.settings.clone();
        let position = |index: usize| request.wanted.iter().position(|w| *w == index);
        let by_table = || {
            let columns = request.structure.iter().enumerate();
            columns.map(|(i, c)| Field { name: c.0.clone(), ty: c.1.clone(), wanted: position(i) }).collect()
        };
        let fields: Vec<Field> = match &names {
            Some(names) if settings.input_format_with_names_use_header => {
                let mut fields: Vec<Field> = Vec::new();
                for (i, name) in names.iter().enumerate() {
                    let found = find_column(&request, name);
                    ensure!(
                        found.is_some() || settings.input_format_skip_unknown_fields,
                        INCORRECT_DATA,
                        "Unknown field found in format header: '{name}' at position {i}\nSet the \
                         'input_format_skip_unknown_fields' parameter explicitly to ignore and proceed"
                    );
                    ensure!(
                        found.is_none() || !names[..i].contains(name),
                        INCORRECT_DATA,
                        "Duplicate field found while parsing format header: {name}"
                    );
                    let ty = found.map_or(DataType::Nothing, |index| request.structure[index].1.clone());
                    fields.push(Field { name: name.clone(), ty, wanted: found.and_then(position) });
                }
                fields
            }
            _ => by_table(),
        };
        if let Some(types) = types.filter(|_| settings.input_format_with_types_use_header) {
            ensure!(
                types.len() == fields.len(),
                INCORRECT_DATA,
                "The number of data types differs from the number of column names in input data"
            );
            for (text, field) in types.iter().zip(&fields).filter(|(_, f)| f.ty != DataType::Nothing) {
                let in_file: DataType = text.parse()?;
                ensure!(
                    in_file == field.ty,
                    INCORRECT_DATA,
                    "Type of '{}' must be {}, not {text}",
                    field.name,
                    field.ty
                );
            }
        }
        if names.is_some() {
            syntax.check_text()?;
        }
        if fields.iter().any(|field| matches!(field.ty.bare(), DataType::String)) {
            syntax.check_text()?;
        }
        let absent =
            (0..request.wanted.len()).filter(|w| !fields.iter().any(|f| f.wanted == Some(*w))).collect();
        Ok(PositionalFile { syntax, fields, request, failures: Arc::default(), absent })
    }
}

/// The table's column of a name in the data.
fn find_column(request: &ReadRequest, name: &str) -> Option<usize> {
    use crate::settings::InputFormatColumnMatchingCaseSensitivity::*;
    let exact = || request.structure.iter().position(|c| c.0 == name);
    let any_case = || {
        let mut found =
            (0..request.structure.len()).filter(|i| request.structure[*i].0.eq_ignore_ascii_case(name));
        found.next().filter(|_| found.next().is_none())
    };
    match request.settings.input_format_column_name_matching_mode {
        MatchCase => exact(),
        IgnoreCase => any_case(),
        Auto => exact().or_else(any_case),
    }
}

impl<S: FieldSyntax> Rows for PositionalFile<S> {
    fn row_end(&self, bytes: &[u8], at_least: usize) -> Option<usize> {
        self.syntax.find_row_end(bytes, at_least)
    }

    fn reader(self: Arc<Self>, unit: Unit) -> Box<dyn BlockReader> {
        let settings = text_settings(&self.request.settings, &self.request.time_zone);
        let readers = Readers::new(&settings);
        let readers = self.fields.iter().map(|field| {
            let values = self.syntax.values();
            (Fast::of(&field.ty, values), readers.of(&field.ty, values))
        });
        let parser = PositionalParser { readers: readers.collect(), file: self.clone(), first: true };
        let (request, failures) = (self.request.clone(), self.failures.clone());
        Box::new(RowReader::new(parser, self, unit, &request, failures))
    }
}

struct PositionalParser<S> {
    file: Arc<PositionalFile<S>>,
    readers: Vec<(Fast, Reader)>,
    /// No row was read yet.
    first: bool,
}

impl<S: FieldSyntax> PositionalParser<S> {
    #[inline]
    fn read_field(&self, index: usize, cur: &mut Cursor<'_>, out: &mut Builder) -> Result<bool> {
        let (fast, reader) = &self.readers[index];
        let syntax = &self.file.syntax;
        let text = |cur: &mut Cursor<'_>, out: &mut Builder| syntax.fast_string(cur, out);
        if fast.read(cur, out, |b| syntax.ends_number(b), text) {
            return Ok(true);
        }
        syntax.read(reader, cur, out)
    }
}

impl<S: FieldSyntax> RowParser for PositionalParser<S> {
    fn read_row(&mut self, cur: &mut Cursor<'_>, to: &mut Filling) -> Result<bool> {
        let file = &*self.file;
        let start = cur.position();
        if !file.syntax.row_start(cur, std::mem::replace(&mut self.first, false))? {
            return Ok(false);
        }
        let n = file.fields.len();
        for (index, field) in file.fields.iter().enumerate() {
            if index > 0 {
                if file.syntax.variable_fields() && file.syntax.is_row_end(cur) {
                    break;
                }
                file.syntax.between(cur)?;
            }
            match field.wanted {
                Some(wanted) => {
                    if !self.read_field(index, cur, &mut to.builders[wanted])? {
                        to.mark_omitted(wanted);
                    }
                }
                None => file.syntax.skip_value(cur, &field.ty)?,
            }
        }
        if file.syntax.variable_fields() {
            let mut seen = n;
            while !file.syntax.is_row_end(cur) {
                if seen > 0 {
                    file.syntax.between(cur)?;
                }
                file.syntax.skip_field(cur)?;
                seen += 1;
                file.syntax.check_fields(seen)?;
            }
        }
        file.syntax.row_end(cur)?;
        ensure!(cur.position() > start, INCORRECT_DATA, "Rows without delimiters have no end");
        Ok(true)
    }

    fn skip_row(&mut self, cur: &mut Cursor<'_>) {
        self.file.syntax.skip_row(cur);
    }

    fn describe(&mut self, before: Option<(u64, &[u8])>, row: (u64, &[u8])) -> Option<String> {
        let mut text = String::from("\n");
        if let Some((number, bytes)) = before {
            text.push_str(&format!("Row {number}:\n"));
            self.describe_row(bytes, &mut text);
            text.push('\n');
        }
        text.push_str(&format!("Row {}:\n", row.0));
        self.describe_row(row.1, &mut text);
        text.push('\n');
        Some(text)
    }

    fn absent(&self) -> &[usize] {
        &self.file.absent
    }
}

impl<S: FieldSyntax> PositionalParser<S> {
    /// The fields of a row up to the first that fails.
    fn describe_row(&self, bytes: &[u8], text: &mut String) {
        let syntax = &self.file.syntax;
        let fields = &self.file.fields;
        let mut cur = Cursor::new(bytes);
        if !matches!(syntax.row_start(&mut cur, false), Ok(true)) {
            return;
        }
        let names: Vec<String> = fields.iter().map(|f| format!("name: {},", f.name)).collect();
        let types: Vec<String> = fields.iter().map(|f| format!("type: {},", f.ty)).collect();
        let widest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
        let (names_width, types_width) = (widest(&names), widest(&types));
        for (index, field) in fields.iter().enumerate() {
            if index > 0 && syntax.between(&mut cur).is_err() {
                text.push_str(&syntax.explain_between(cur.rest()));
                return;
            }
            let number = format!("Column {index},");
            let (name, ty) = (&names[index], &types[index]);
            text.push_str(&format!("{number:<12}{name:<names_width$} {ty:<types_width$} "));
            while cur.peek().is_some_and(|b| syntax.is_whitespace_before_field(b)) {
                cur.advance(1);
            }
            let start = cur.rest();
            let mut builder = Builder::new(&field.ty);
            let read = match field.wanted {
                Some(_) => self.read_field(index, &mut cur, &mut builder).map(|_| ()),
                None => syntax.skip_value(&mut cur, &field.ty),
            };
            let taken = &start[..start.len() - cur.rest().len()];
            if read.is_ok() && (!taken.is_empty() || field.ty.bare().is_string()) {
                text.push_str(&format!("parsed text: {}\n", shown(taken)));
            } else {
                let beginning = &start[..start.len().min(10)];
                text.push_str(&format!("ERROR: text {} is not like {}\n", shown(beginning), field.ty));
                return;
            }
            let follows = cur.peek();
            let number = field.ty.bare().is_number() || field.ty.bare().is_date_or_time();
            if number && follows.is_some_and(|b| !syntax.ends_number(b)) {
                let garbage = &cur.rest()[..cur.rest().len().min(10)];
                text.push_str(&format!("ERROR: garbage after {}: {}\n", field.ty, shown(garbage)));
                return;
            }
        }
        if syntax.row_end(&mut cur).is_err() {
            text.push_str(&syntax.explain_end(cur.rest()));
        }
    }
}

/// Text in double quotes, with names for what would not show.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\0' => text.push_str("<ASCII NUL>"),
                '\u{8}' => text.push_str("<BACKSPACE>"),
                '\u{c}' => text.push_str("<FORM FEED>"),
                '\n' => text.push_str("<LINE FEED>"),
                '\r' => text.push_str("<CARRIAGE RETURN>"),
                '\t' => text.push_str("<TAB>"),
                '"' => text.push_str("<DOUBLE QUOTE>"),
                '\'' => text.push_str("<SINGLE QUOTE>"),
                '\\' => text.push_str("<BACKSLASH>"),
                other => text.push(other),
            }
        }
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
        }
    }
    text.push('"');
    text
}

/// A format of positional rows whose header may name the columns.
pub trait PositionalFormat {
    type Syntax: FieldSyntax;

    fn syntax(&self, settings: &FormatSettings) -> Self::Syntax;

    fn header(&self) -> Header;

    /// How inference merges values.
    fn dialect(&self, _settings: &FormatSettings) -> Dialect {
        Dialect::Text
    }

    /// Puts together what the format spreads over several names of a header.
    fn fold_header(&self, _header: &mut FoundHeader, _request: &ReadRequest) {}

    /// Look for a header where the format's name promises none.
    fn detects_header(&self, settings: &FormatSettings) -> bool;

    /// Lines to drop before anything else.
    fn skipped_lines(&self, settings: &FormatSettings) -> u64;

    /// A name or a type of the header.
    fn text(&self, syntax: &Self::Syntax, cur: &mut Cursor<'_>) -> Result<String>;
}

/// What was found before the rows.
#[derive(Default)]
pub struct FoundHeader {
    pub names: Option<Vec<String>>,
    pub types: Option<Vec<String>>,
    /// Bytes before the rows.
    pub length: usize,
}

/// More than this much header is taken for damage.
const MAX_HEADER: usize = 64 << 20;

/// Reads the header, looking at as much of the input as that takes.
fn find_header<F: PositionalFormat>(
    format: &F,
    syntax: &F::Syntax,
    input: &mut Input,
    request: &ReadRequest,
) -> Result<FoundHeader> {
    let mut limit = 1 << 16;
    loop {
        let (head, complete) = input.head(limit)?;
        let found = header_in(format, syntax, head, request);
        let settled = matches!(&found, Ok(header) if header.length < head.len());
        if settled || complete || limit > MAX_HEADER {
            return found.map_err(|e| e.context("(while reading header)"));
        }
        limit *= 4;
    }
}

fn header_in<F: PositionalFormat>(
    format: &F,
    syntax: &F::Syntax,
    bytes: &[u8],
    request: &ReadRequest,
) -> Result<FoundHeader> {
    let settings = &request.settings;
    let mut cur = Cursor::new(bytes);
    skip_lines(&mut cur, format.skipped_lines(settings));
    let start = cur.position();
    match format.header() {
        Header::None if format.detects_header(settings) => {
            let Ok(names) = header_line(format, syntax, &mut cur, true) else {
                return Ok(FoundHeader { length: start, ..Default::default() });
            };
            if !is_header(&names, request) {
                return Ok(FoundHeader { length: start, ..Default::default() });
            }
            let behind_names = cur.position();
            match header_line(format, syntax, &mut cur, false) {
                Ok(types) if !types.is_empty() && types.iter().all(|t| t.parse::<DataType>().is_ok()) => {
                    Ok(FoundHeader { names: Some(names), types: Some(types), length: cur.position() })
                }
                _ => Ok(FoundHeader { names: Some(names), types: None, length: behind_names }),
            }
        }
        Header::None => Ok(FoundHeader { length: start, ..Default::default() }),
        Header::Names => {
            let names = Some(header_line(format, syntax, &mut cur, true)?);
            Ok(FoundHeader { names, types: None, length: cur.position() })
        }
        Header::NamesAndTypes => {
            let names = Some(header_line(format, syntax, &mut cur, true)?);
            let types = Some(header_line(format, syntax, &mut cur, false)?);
            Ok(FoundHeader { names, types, length: cur.position() })
        }
    }
}

pub fn skip_lines(cur: &mut Cursor<'_>, n: u64) {
    for _ in 0..n {
        cur.take_until(|b| b == b'\n');
        cur.accept(b'\n');
    }
}

/// The texts of one line; none at the end of the data.
pub fn header_line<F: PositionalFormat>(
    format: &F,
    syntax: &F::Syntax,
    cur: &mut Cursor<'_>,
    is_first: bool,
) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    if !syntax.row_start(cur, is_first)? {
        return Ok(texts);
    }
    loop {
        texts.push(format.text(syntax, cur)?);
        syntax.check_fields(texts.len())?;
        if syntax.is_row_end(cur) {
            break;
        }
        syntax.between(cur)?;
    }
    syntax.row_end(cur)?;
    Ok(texts)
}

/// Is a first row the header of a file whose format promises none? It is when it has the table's column names.
fn is_header(texts: &[String], request: &ReadRequest) -> bool {
    let known = texts.iter().filter(|t| request.structure.iter().any(|c| c.0 == **t)).count();
    !texts.is_empty() && (known == request.structure.len() || known == texts.len())
}

pub fn open<F: PositionalFormat>(
    format: &F,
    mut input: Input,
    request: ReadRequest,
) -> Result<Box<dyn FileScan>> {
    let syntax = format.syntax(&request.settings);
    let mut header = find_header(format, &syntax, &mut input, &request)?;
    format.fold_header(&mut header, &request);
    let FoundHeader { names, types, length } = header;
    let file = PositionalFile::new(syntax, names, types, request)
        .map_err(|e| e.context("(while reading header)"))?;
    Ok(Box::new(SegmentScan::new(file, input, length)?))
}

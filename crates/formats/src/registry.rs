//! Formats by name and by file suffix. Names ignore case, as the kernel's do.

use crate::input::{FileScan, Input, InputFormat, ReadRequest, Schema};
use crate::output::{BlockWriter, OutputFormat, Sink, WriteRequest};
use crate::{Compression, FormatSettings};
use chalet_base::hash::HashMap;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail, err};
use std::sync::LazyLock;

/// One name of a format: its row in `system.formats` and its two halves.
pub struct Format {
    pub name: &'static str,
    /// File suffixes, without the dot, that mean this format.
    pub suffixes: &'static [&'static str],
    pub content_type: &'static str,
    pub capabilities: Capabilities,
    pub input: Option<&'static dyn InputFormat>,
    pub output: Option<&'static dyn OutputFormat>,
}

/// What a format can do, as `system.formats` shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capabilities {
    /// Several threads can read one file.
    pub parallel_parsing: bool,
    pub parallel_formatting: bool,
    /// Its output is for people, or at least does not upset a terminal.
    pub tty_friendly: bool,
    pub random_access: bool,
    pub schema_inference: bool,
    pub external_schema: bool,
    pub prefers_large_blocks: bool,
    /// Not writable after data that is already in the file.
    pub no_append: bool,
    /// Finds columns by name, so that columns may be left out.
    pub subset_of_columns: bool,
}

impl Capabilities {
    pub const NONE: Capabilities = Capabilities {
        parallel_parsing: false,
        parallel_formatting: false,
        tty_friendly: false,
        random_access: false,
        schema_inference: false,
        external_schema: false,
        prefers_large_blocks: false,
        no_append: false,
        subset_of_columns: false,
    };
}

impl Format {
    /// Names and types from the data, or the kernel's refusal.
    pub fn infer_schema(&self, input: &mut Input, settings: &FormatSettings) -> Result<Schema> {
        let found = match self.input {
            Some(format) => format.infer_schema(input, settings).map_err(|e| self.no_structure(e))?,
            None => None,
        };
        found.ok_or_else(|| {
            err!(
                BAD_ARGUMENTS,
                "{} file format doesn't support schema inference. You must specify the structure manually",
                self.name
            )
        })
    }

    #[cold]
    fn no_structure(&self, error: chalet_base::Error) -> chalet_base::Error {
        let name = self.name;
        let why = if error.code() == chalet_base::codes::CANNOT_EXTRACT_TABLE_STRUCTURE {
            format!("The table structure cannot be extracted from a {name} format file: {}", error.message())
        } else {
            error.to_string()
        };
        err!(
            CANNOT_EXTRACT_TABLE_STRUCTURE,
            "The table structure cannot be extracted from a {name} format file. Error:\n{why}.\nYou can specify the structure \
             manually"
        )
    }

    pub fn open(&self, input: Input, request: ReadRequest) -> Result<Box<dyn FileScan>> {
        match self.input {
            Some(format) => format.open(input, request),
            None => bail!(FORMAT_IS_NOT_SUITABLE_FOR_INPUT, "Format {} is not suitable for input", self.name),
        }
    }

    pub fn writer(&self, request: WriteRequest, sink: Box<dyn Sink>) -> Result<Box<dyn BlockWriter>> {
        match self.output {
            Some(format) => format.writer(request, sink),
            None => {
                bail!(FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT, "Format {} is not suitable for output", self.name)
            }
        }
    }
}

/// A set of formats.
#[derive(Default)]
pub struct Registry {
    formats: Vec<&'static Format>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    /// The formats of this crate.
    pub fn builtin() -> Registry {
        let mut registry = Registry::default();
        for &family in FAMILIES {
            registry.add(family);
        }
        registry
    }

    /// Adds formats of another crate; a later one replaces an earlier one of its name.
    pub fn add(&mut self, formats: &'static [Format]) {
        for format in formats {
            let key = format.name.to_ascii_lowercase();
            match self.by_name.get(&key) {
                Some(&index) => self.formats[index] = format,
                None => {
                    self.by_name.insert(key, self.formats.len());
                    self.formats.push(format);
                }
            }
        }
    }

    /// Code 73 with the nearest names when there is none.
    pub fn get(&self, name: &str) -> Result<&'static Format> {
        if let Some(&index) = self.by_name.get(&name.to_ascii_lowercase()) {
            return Ok(self.formats[index]);
        }
        if let Some(known) = NOT_HERE.iter().find(|known| known.eq_ignore_ascii_case(name)) {
            bail!(NOT_IMPLEMENTED, "Format {known} is not supported");
        }
        let near = nearest(name, self.formats.iter().map(|f| f.name), 2);
        if near.is_empty() {
            bail!(UNKNOWN_FORMAT, "Unknown format {name}");
        }
        bail!(UNKNOWN_FORMAT, "Unknown format {name}. Maybe you meant: ['{}']", near.join("','"));
    }

    /// The format that a path's suffix means, below a suffix of compression.
    pub fn of_path(&self, path: &str) -> Option<&'static Format> {
        let file = path.rsplit('/').next().unwrap_or(path);
        let plain = Compression::of_path(file).strip_suffix(file);
        let suffix = plain.rsplit_once('.')?.1.to_ascii_lowercase();
        let declared = self.formats.iter().find(|f| f.suffixes.contains(&suffix.as_str()));
        declared.or_else(|| Some(&self.formats[*self.by_name.get(&suffix)?])).copied()
    }

    /// Sorted by name.
    pub fn list(&self) -> Vec<&'static Format> {
        let mut all = self.formats.clone();
        all.sort_by_key(|f| f.name);
        all
    }
}

/// Formats of the kernel that are not there yet: a query is told so instead of being corrected.
const NOT_HERE: &[&str] = &[
    "Arrow",
    "ArrowStream",
    "Avro",
    "AvroConfluent",
    "BSONEachRow",
    "Buffers",
    "CustomSeparated",
    "CustomSeparatedIgnoreSpaces",
    "CustomSeparatedIgnoreSpacesWithNames",
    "CustomSeparatedIgnoreSpacesWithNamesAndTypes",
    "CustomSeparatedWithNames",
    "CustomSeparatedWithNamesAndTypes",
    "DWARF",
    "Form",
    "GeoJSON",
    "Hash",
    "HiveText",
    "JSONAsObject",
    "JSONCompactEachRowWithProgress",
    "JSONCompactStringsEachRowWithProgress",
    "JSONEachRowWithProgress",
    "JSONStringsEachRowWithProgress",
    "MsgPack",
    "MySQLDump",
    "MySQLWire",
    "Npy",
    "ODBCDriver2",
    "ORC",
    "One",
    "PNG",
    "Parquet",
    "ParquetMetadata",
    "PostgreSQLWire",
    "Prometheus",
    "Protobuf",
    "ProtobufList",
    "ProtobufSingle",
    "Puffin",
    "PuffinMetadata",
    "Regexp",
    "RowBinaryWithDefaults",
    "RowBinaryWithNamesAndTypesAndDefaults",
    "Template",
    "TemplateIgnoreSpaces",
];

/// The formats of this crate, one folder a line.
const FAMILIES: &[&[Format]] = &[
    crate::csv::FORMATS,
    crate::json::FORMATS,
    crate::json_as_string::FORMATS,
    crate::json_compact_each_row::FORMATS,
    crate::json_each_row::FORMATS,
    crate::line_as_string::FORMATS,
    crate::markdown::FORMATS,
    crate::native::FORMATS,
    crate::null::FORMATS,
    crate::pretty::FORMATS,
    crate::raw_blob::FORMATS,
    crate::row_binary::FORMATS,
    crate::sql_insert::FORMATS,
    crate::tskv::FORMATS,
    crate::tsv::FORMATS,
    crate::values::FORMATS,
    crate::vertical::FORMATS,
    crate::xml::FORMATS,
];

/// The formats of this crate.
pub static BUILTIN: LazyLock<Registry> = LazyLock::new(Registry::builtin);

//! Formats by name and by file suffix. Names ignore case, as the kernel's do.

use crate::Compression;
use crate::format::Format;
use chalet_base::hash::HashMap;
use chalet_base::suggest::nearest;
use chalet_base::{Result, bail};
use std::sync::LazyLock;

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
    "AvroConfluent",
    "Buffers",
    "DWARF",
    "GeoJSON",
    "MySQLWire",
    "PNG",
    "Parquet",
    "PostgreSQLWire",
    "Puffin",
    "PuffinMetadata",
];

/// The formats of this crate, one folder a line.
const FAMILIES: &[&[Format]] = &[
    crate::avro::FORMATS,
    crate::bson_each_row::FORMATS,
    crate::csv::FORMATS,
    crate::custom_separated::FORMATS,
    crate::form::FORMATS,
    crate::hash::FORMATS,
    crate::hive_text::FORMATS,
    crate::json::FORMATS,
    crate::json_as_string::FORMATS,
    crate::json_compact_each_row::FORMATS,
    crate::json_each_row::FORMATS,
    crate::json_each_row_with_progress::FORMATS,
    crate::line_as_string::FORMATS,
    crate::markdown::FORMATS,
    crate::msg_pack::FORMATS,
    crate::mysql_dump::FORMATS,
    crate::native::FORMATS,
    crate::npy::FORMATS,
    crate::null::FORMATS,
    crate::odbc_driver2::FORMATS,
    crate::one::FORMATS,
    crate::orc::FORMATS,
    crate::pretty::FORMATS,
    crate::prometheus::FORMATS,
    crate::protobuf::FORMATS,
    crate::raw_blob::FORMATS,
    crate::regexp::FORMATS,
    crate::row_binary::FORMATS,
    crate::sql_insert::FORMATS,
    crate::template::FORMATS,
    crate::tskv::FORMATS,
    crate::tsv::FORMATS,
    crate::values::FORMATS,
    crate::vertical::FORMATS,
    crate::xml::FORMATS,
];

/// The formats of this crate.
pub static BUILTIN: LazyLock<Registry> = LazyLock::new(Registry::builtin);

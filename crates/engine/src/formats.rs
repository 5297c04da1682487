//! The formats that every session knows.

use chalet_formats::Registry;
use std::sync::LazyLock;

/// Registered once per process.
pub static FORMATS: LazyLock<Registry> = LazyLock::new(|| {
    let mut formats = Registry::builtin();
    formats.add(chalet_formats_arrow::FORMATS);
    formats.add(chalet_formats_parquet::FORMATS);
    formats
});

//! The formats that every session knows.

use chalet_base::Result;
use chalet_formats::Registry;
use chalet_storage::format_detection::Candidates;
use std::sync::LazyLock;

/// Registered once per process.
pub static FORMATS: LazyLock<Registry> = LazyLock::new(|| {
    let mut formats = Registry::builtin();
    formats.add(chalet_formats_arrow::FORMATS);
    formats.add(chalet_formats_parquet::FORMATS);
    formats
});

/// Formats that files may be in whose names do not say it, in the order in which they are tried.
pub fn by_contents() -> Result<Candidates> {
    const STRICT: [&str; 14] = [
        "Parquet",
        "ORC",
        "Arrow",
        "ArrowStream",
        "Avro",
        "Npy",
        "Native",
        "BSONEachRow",
        "Values",
        "TSKV",
        "JSONObjectEachRow",
        "JSONColumns",
        "JSONCompactColumns",
        "JSONEachRow",
    ];
    Ok(Candidates {
        strict: STRICT.into_iter().map(|name| FORMATS.get(name)).collect::<Result<_>>()?,
        described: [FORMATS.get("JSON")?, FORMATS.get("JSONCompact")?],
        separated: [FORMATS.get("CSV")?, FORMATS.get("TabSeparated")?],
    })
}

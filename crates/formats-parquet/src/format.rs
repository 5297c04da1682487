//! The rows of this crate in the table of formats.

use crate::input::Parquet;
use chalet_formats::Format;
use chalet_formats::format::Capabilities;

pub static FORMATS: &[Format] = &[
    Format {
        name: "Parquet",
        suffixes: &["parquet", "pq"],
        content_type: "application/octet-stream",
        capabilities: Capabilities {
            parallel_parsing: true,
            random_access: true,
            schema_inference: true,
            no_append: true,
            subset_of_columns: true,
            ..Capabilities::NONE
        },
        input: Some(&Parquet),
        output: Some(&Parquet),
    },
    crate::metadata_format::FORMAT,
];

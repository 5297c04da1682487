//! `system.build_options`: what was built, under the names that programs look for.

use super::structures::{self, SparseRow};
use chalet_base::Result;
use chalet_functions::other::session::{DIALECT_REVISION, DIALECT_VERSION};
use chalet_storage::Table;
use chalet_types::Value;
use std::sync::Arc;

/// Libraries of the kernel in place of which something is here.
const HERE: [&str; 12] = [
    "USE_JEMALLOC",
    "USE_ICU",
    "USE_H3",
    "USE_SNAPPY",
    "USE_PARQUET",
    "USE_PROTOBUF",
    "USE_BROTLI",
    "USE_SSL",
    "USE_AVRO",
    "USE_ARROW",
    "USE_ORC",
    "USE_MSGPACK",
];

/// Libraries of the kernel that nothing here does the work of.
const NOT_HERE: [&str; 22] = [
    "USE_EMBEDDED_COMPILER",
    "USE_MYSQL",
    "USE_RDKAFKA",
    "USE_HDFS",
    "USE_GRPC",
    "USE_LDAP",
    "USE_KRB5",
    "USE_FILELOG",
    "USE_AMQPCPP",
    "USE_NURAFT",
    "USE_NLP",
    "USE_LIBSTEMMER",
    "USE_LIBURING",
    "USE_SQLITE",
    "USE_LIBPQXX",
    "USE_AZURE_BLOB_STORAGE",
    "USE_AWS_S3",
    "USE_CASSANDRA",
    "USE_DATASKETCHES",
    "USE_DELTA_KERNEL_RS",
    "USE_XRAY",
    "USE_WASMTIME",
];

pub(super) fn options() -> Result<Arc<dyn Table>> {
    let parts: Vec<u32> = DIALECT_VERSION.split('.').filter_map(|part| part.parse().ok()).collect();
    let [major, minor, patch] = [0, 1, 2].map(|at| parts.get(at).copied().unwrap_or_default());
    let mut options = vec![
        ("VERSION_FULL", format!("ClickHouse {DIALECT_VERSION}")),
        ("VERSION_DESCRIBE", format!("v{DIALECT_VERSION}-stable")),
        ("VERSION_INTEGER", (major * 1_000_000 + minor * 1000 + patch).to_string()),
        ("VERSION_NAME", "ClickHouse".into()),
        ("VERSION_MAJOR", major.to_string()),
        ("VERSION_MINOR", minor.to_string()),
        ("VERSION_PATCH", patch.to_string()),
        ("VERSION_STRING", DIALECT_VERSION.into()),
        ("VERSION_STRING_SHORT", format!("{major}.{minor}")),
        ("VERSION_OFFICIAL", String::new()),
        ("VERSION_REVISION", DIALECT_REVISION.to_string()),
        ("SYSTEM", "Linux".into()),
        ("SYSTEM_PROCESSOR", std::env::consts::ARCH.into()),
        ("BUILD_TYPE", if cfg!(debug_assertions) { "Debug" } else { "RelWithDebInfo" }.into()),
    ];
    options.extend(HERE.iter().map(|name| (*name, "1".to_owned())));
    options.extend(NOT_HERE.iter().map(|name| (*name, String::new())));
    let rows = options.iter().map(|(name, value)| -> SparseRow {
        vec![("name", Value::from(*name)), ("value", Value::from(value.as_str()))]
    });
    structures::table("build_options", rows.collect())
}

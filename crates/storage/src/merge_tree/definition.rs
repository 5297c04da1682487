//! What a table is defined as.

use super::columns::ColumnsVersion;
use super::keys::TableKeys;
use crate::TableSchema;
use chalet_formats::Format;
use chalet_formats::input::Cast;
use std::sync::Arc;

/// What a table is defined as.
#[derive(Clone)]
pub struct Definition {
    pub keys: TableKeys,
    /// Rows of a granule.
    pub granularity: usize,
    pub schema: TableSchema,
    /// The stored columns.
    pub columns: Arc<ColumnsVersion>,
    /// An INSERT that is one of so many last ones again is not done again.
    pub dedup_window: usize,
    /// The format of the files of parts: Parquet.
    pub format: &'static Format,
    /// Converts what parts have in the type of an earlier version.
    pub cast: Cast,
}

//! What a table is defined as.

use super::columns::{ColumnsVersion, KeptBlocks};
use super::keys::TableKeys;
use crate::{ColumnSchema, TableSchema};
use chalet_base::{Result, err};
use chalet_columns::{Block, Column};
use chalet_formats::Format;
use chalet_formats::input::Cast;
use chalet_types::DataType;
use std::sync::Arc;

/// Columns of which kinds have minmax indexes that nobody declared (`add_minmax_index_for_numeric_columns` and its kin).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImplicitIndexes {
    pub numbers: bool,
    pub strings: bool,
    pub times: bool,
}

impl ImplicitIndexes {
    pub fn any(self) -> bool {
        self != ImplicitIndexes::default()
    }
}

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
    /// What rows keep of where they came from when their parts are written anew.
    pub keeps_blocks: KeptBlocks,
    /// `index_granularity_bytes` is not 0.
    pub is_adaptive: bool,
    pub implicit_indexes: ImplicitIndexes,
    /// The format of the files of parts: Parquet.
    pub format: &'static Format,
    /// Converts what parts have in the type of an earlier version.
    pub cast: Cast,
    /// Computes what parts lack.
    pub defaults: Arc<dyn Defaults>,
}

/// Defaults of columns as programs over other columns.
pub trait Defaults: Send + Sync {
    /// Which of the stored columns the default of a column reads: none where it is the same for all rows.
    fn reads(&self, column: &ColumnSchema, schema: &TableSchema) -> Result<Arc<[Arc<str>]>>;

    /// The default of rows that have those columns, in that order.
    fn compute(&self, column: &ColumnSchema, schema: &TableSchema, inputs: &Block) -> Result<Column>;
}

impl Definition {
    /// The granules of so many rows. As in the kernel's compact parts, the last rows have one of their own from half a granule on, and
    /// belong to the one before otherwise.
    pub fn granules(&self, rows: u64) -> u64 {
        let granularity = self.granularity.max(1) as u64;
        let has_own = rows % granularity >= granularity.div_ceil(2);
        (rows / granularity + u64::from(has_own)).max(u64::from(rows > 0))
    }

    /// The column of a number, where its default reads others, and those.
    pub(super) fn default_over_others(&self, id: u32) -> Result<Option<(ColumnSchema, Inputs)>> {
        let columns = &self.columns.columns;
        let Some(name) = columns.iter().find(|column| column.id == id).map(|column| &column.name) else {
            return Ok(None);
        };
        let Some(column) = self.schema.index_of(name).map(|at| &self.schema.columns[at]) else {
            return Ok(None);
        };
        if column.default.is_none() {
            return Ok(None);
        }
        let reads = self.defaults.reads(column, &self.schema)?;
        let input = |name: &Arc<str>| {
            let found = columns.iter().find(|column| column.name == *name);
            let found = found.ok_or_else(|| err!(LOGICAL_ERROR, "Column {name} is not stored"))?;
            Ok((found.id, found.ty.clone()))
        };
        let inputs = reads.iter().map(input).collect::<Result<Inputs>>()?;
        Ok((!inputs.is_empty()).then(|| (column.clone(), inputs)))
    }

    /// The default of a column in rows that have what it reads.
    pub(super) fn default_of(&self, column: &ColumnSchema, inputs: &Block) -> Result<Column> {
        self.defaults.compute(column, &self.schema, inputs)
    }
}

/// Columns by their numbers, with their types.
pub(super) type Inputs = Vec<(u32, DataType)>;

//! What operators know of the query that they run for.

use crate::QueryControl;
use crate::spill::SpillLimits;
use chalet_function_api::Context;
use chalet_storage::ScanContext;
use std::sync::Arc;

/// Settings that change how a plan runs, never what it answers.
#[derive(Clone, Debug)]
pub struct ExecSettings {
    pub max_threads: usize,
    /// Rows of a block, at most.
    pub max_block_size: usize,
    pub max_rows_to_group_by: u64,
    /// When these operators go on on disk.
    pub external_group_by: SpillLimits,
    pub external_sort: SpillLimits,
    pub external_distinct: SpillLimits,
    pub external_join: SpillLimits,
    pub max_rows_in_join: u64,
    pub max_rows_in_set: u64,
    pub max_rows_to_sort: u64,
    pub max_rows_in_distinct: u64,
}

impl Default for ExecSettings {
    fn default() -> Self {
        ExecSettings {
            max_threads: chalet_base::cores(),
            max_block_size: 65_409,
            max_rows_to_group_by: 0,
            external_group_by: SpillLimits::DEFAULT,
            external_sort: SpillLimits::DEFAULT,
            external_distinct: SpillLimits::DEFAULT,
            external_join: SpillLimits::DEFAULT,
            max_rows_in_join: 0,
            max_rows_in_set: 0,
            max_rows_to_sort: 0,
            max_rows_in_distinct: 0,
        }
    }
}

/// Shared by everything that runs for one query.
#[derive(Clone)]
pub struct ExecContext {
    pub control: Arc<QueryControl>,
    pub functions: Arc<Context>,
    pub settings: ExecSettings,
    pub scan: ScanContext,
}

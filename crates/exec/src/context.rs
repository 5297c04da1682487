//! What operators know of the query that they run for.

use crate::QueryControl;
use crate::explain::PlanNotes;
use crate::operators::shared_rows::SharedPlans;
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
    pub group_by_overflow: GroupByOverflow,
    /// Workers with many groups divide them by the hash of their keys, so that all can merge. Without, it is done only to go
    /// on on disk.
    pub two_level_aggregation: bool,
    /// When these operators go on on disk.
    pub external_group_by: SpillLimits,
    pub external_sort: SpillLimits,
    pub external_distinct: SpillLimits,
    pub external_join: SpillLimits,
    pub max_rows_in_join: u64,
    /// All workers index the right side of a join where it has so many rows.
    pub parallel_join_from_rows: usize,
    pub max_rows_in_set: u64,
    pub max_rows_to_sort: u64,
    pub max_rows_in_distinct: u64,
    /// `count()` of whole files may come from their statistics.
    pub optimize_count_from_files: bool,
    /// The rows before the LIMIT of a result are all counted, so reading goes on behind it (`exact_rows_before_limit`).
    pub exact_rows_before_limit: bool,
    /// `min` and `max` of columns of whole files may.
    pub optimize_use_implicit_projections: bool,
    /// Scans skip rows by the top-k threshold of a sort above them; where its first key is a string, the second too.
    pub use_top_k_dynamic_filtering: bool,
    pub use_top_k_dynamic_filtering_for_variable_length_types: bool,
    /// Filters of scans are tested in stages, those first that are cheap.
    pub optimize_move_to_prewhere: bool,
    /// Rows of a table are read in the order of its key where a sort above asks for it; those of FINAL always are.
    pub optimize_read_in_order: bool,
    /// None: joins make no run-time filters.
    pub join_runtime_filters: Option<RuntimeFilterPolicy>,
}

/// What happens behind the block with which there are more groups than `max_rows_to_group_by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupByOverflow {
    Throw,
    /// No more rows are read.
    Break,
    /// Rows of keys that have no group yet are left out.
    Any,
}

/// When a run-time filter that lets most rows pass is not worth its time.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeFilterPolicy {
    /// The share of the rows of a block.
    pub most_passing: f64,
    /// So many blocks are not tested behind one of which more than that passed.
    pub blocks_to_skip: u64,
}

impl RuntimeFilterPolicy {
    pub const DEFAULT: RuntimeFilterPolicy = RuntimeFilterPolicy { most_passing: 0.7, blocks_to_skip: 30 };
}

impl Default for ExecSettings {
    fn default() -> Self {
        ExecSettings {
            max_threads: chalet_base::cores(),
            max_block_size: 65_409,
            max_rows_to_group_by: 0,
            group_by_overflow: GroupByOverflow::Throw,
            two_level_aggregation: true,
            external_group_by: SpillLimits::DEFAULT,
            external_sort: SpillLimits::DEFAULT,
            external_distinct: SpillLimits::DEFAULT,
            external_join: SpillLimits::DEFAULT,
            max_rows_in_join: 0,
            parallel_join_from_rows: 100_000,
            max_rows_in_set: 0,
            max_rows_to_sort: 0,
            max_rows_in_distinct: 0,
            optimize_count_from_files: true,
            exact_rows_before_limit: false,
            optimize_use_implicit_projections: true,
            use_top_k_dynamic_filtering: true,
            use_top_k_dynamic_filtering_for_variable_length_types: false,
            optimize_move_to_prewhere: true,
            optimize_read_in_order: true,
            join_runtime_filters: Some(RuntimeFilterPolicy::DEFAULT),
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
    /// What places of the statement share.
    pub shared: SharedPlans,
    /// Where the physical planner says which operator is of which node; for EXPLAIN alone.
    pub notes: Option<Arc<PlanNotes>>,
}

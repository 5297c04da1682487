//! What the binder asks of the session.

use chalet_base::Result;
use chalet_columns::Block;
use chalet_function_api::{Context, Registry};
use chalet_plan::{Plan, ScanLimits};
use chalet_storage::Table;
use chalet_syntax::ast;
use chalet_types::{DataType, Value};
use std::sync::Arc;

/// The session as the binder sees it.
pub trait Environment {
    fn registry(&self) -> &Registry;

    fn context(&self) -> &Arc<Context>;

    fn settings(&self) -> &BinderSettings;

    /// A table or view by name, with its full name; `None` when there is none.
    fn table(&self, database: Option<&str>, name: &str) -> Result<Option<(Arc<dyn Table>, Arc<str>)>>;

    /// The same of what statements have made alone: no variable of the caller is looked for.
    fn made_table(&self, name: &str) -> Result<Option<Arc<dyn Table>>>;

    /// The error for a table that is not there.
    fn unknown_table(&self, database: Option<&str>, name: &str) -> chalet_base::Error;

    fn table_function(&self, name: &str, args: &[TableArgument]) -> Result<Arc<dyn Table>>;

    /// Do calls among the arguments of this table function go elsewhere as they are written, where they are no constants?
    fn takes_written(&self, function: &str) -> bool;

    /// A function made by CREATE FUNCTION: its parameters and its body.
    fn sql_function(&self, name: &str) -> Result<Option<(Vec<String>, ast::Expr)>>;

    /// The text of a query parameter.
    fn parameter(&self, name: &str) -> Option<String>;

    /// What the query of a view sees instead of this, where that is something else.
    fn inside<'a>(&'a self, view: &'a dyn Table) -> Option<Box<dyn Environment + 'a>>;

    /// The same under SETTINGS of a sub-query.
    fn with_settings<'a>(&'a self, settings: &[ast::Setting]) -> Result<Box<dyn Environment + 'a>>;

    /// How much may be read of a table, where this is a sub-query with settings of its own.
    fn scan_limits(&self) -> Option<Arc<ScanLimits>>;

    /// The lines of an EXPLAIN as a table.
    fn explain(&self, statement: &str) -> Result<Arc<dyn Table>>;

    /// The plan of a sub-query that is run on its own later for the set of its rows, as it should be run.
    fn optimized_set(&self, plan: Plan) -> Result<Plan>;

    /// Runs a sub-query whose result is needed to go on binding.
    fn run(&self, plan: Plan) -> Result<Vec<Block>>;
}

/// A value of one's own, or another's.
pub enum MaybeOwned<'a, T: ?Sized> {
    Borrowed(&'a T),
    Owned(Box<T>),
}

impl<T: ?Sized> std::ops::Deref for MaybeOwned<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            MaybeOwned::Borrowed(value) => value,
            MaybeOwned::Owned(value) => value,
        }
    }
}

/// The name of the argument `REGEXP('pattern')`.
pub const REGEXP: &str = "REGEXP";

/// An argument of a table function.
#[derive(Clone, Debug)]
pub enum TableArgument {
    Value(Value, DataType),
    /// A bare word: a format, a type, a table.
    Word(String),
    /// `name = value`.
    Named(String, Value, DataType),
    /// The rows of another table function.
    Table(ArgumentTable),
    /// A call as it is written, for functions that say so: a table function or an expression of servers.
    Written(String),
}

/// A table as an argument.
#[derive(Clone)]
pub struct ArgumentTable(pub Arc<dyn Table>);

impl std::fmt::Debug for ArgumentTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.engine())
    }
}

/// Settings that change what a query means, by the kernel's names.
#[derive(Clone, Debug)]
pub struct BinderSettings {
    pub prefer_column_name_to_alias: bool,
    pub transform_null_in: bool,
    /// Variant and Dynamic as keys.
    pub allow_suspicious_types_in_group_by: bool,
    pub allow_suspicious_types_in_order_by: bool,
    pub join_use_nulls: bool,
    /// Names of algorithms; those that cannot do a join fail it, although one does them all.
    pub join_algorithm: String,
    /// "", ALL, ANY: what a JOIN without strictness is.
    pub join_default_strictness: String,
    pub group_by_use_nulls: bool,
    pub force_grouping_standard_compatibility: bool,
    pub enable_positional_arguments: bool,
    pub union_default_mode: String,
    pub intersect_default_mode: String,
    pub except_default_mode: String,
    pub aggregate_functions_null_for_empty: bool,
    pub empty_result_for_aggregation_by_empty_set: bool,
    pub totals_mode: String,
    pub single_join_prefer_left_table: bool,
    pub joined_subquery_requires_alias: bool,
    /// `additional_table_filters`: conditions on the rows of tables, by name or alias.
    pub additional_table_filters: Vec<(String, String)>,
    /// `additional_result_filter`: a condition on the rows of the result.
    pub additional_result_filter: String,
    /// `empty_result_for_aggregation_by_constant_keys_on_empty_set = 0`.
    pub row_of_constant_keys: bool,
    /// `analyzer_compatibility_join_using_top_level_identifier`: USING means aliases of SELECT too.
    pub using_means_aliases: bool,
    pub enable_unaligned_array_join: bool,
    pub any_join_distinct_right_table_keys: bool,
    pub join_any_take_last_row: bool,
    /// What WITH names is known to the sub-queries too.
    pub enable_global_with_statement: bool,
    pub asterisk_include_materialized_columns: bool,
    pub asterisk_include_alias_columns: bool,
    pub max_recursive_cte_evaluation_depth: u64,
    pub max_subquery_depth: u64,
    /// `final`: all tables that know FINAL are read with it.
    pub final_: bool,
    /// `do_not_merge_across_partitions_select_final`.
    pub final_within_partitions: bool,
    /// `apply_prewhere_after_final`.
    pub prewhere_after_final: bool,
    /// Rows that are equal in the keys before WITH FILL are filled by themselves.
    pub use_with_fill_by_sorting_prefix: bool,
    /// `enable_materialized_cte`: `AS MATERIALIZED` is heeded.
    pub materialized_cte: bool,
}

impl Default for BinderSettings {
    fn default() -> Self {
        BinderSettings {
            prefer_column_name_to_alias: false,
            transform_null_in: false,
            allow_suspicious_types_in_group_by: false,
            allow_suspicious_types_in_order_by: false,
            join_use_nulls: false,
            join_algorithm: "default".into(),
            join_default_strictness: "ALL".into(),
            group_by_use_nulls: false,
            force_grouping_standard_compatibility: true,
            row_of_constant_keys: false,
            enable_positional_arguments: true,
            union_default_mode: String::new(),
            intersect_default_mode: "ALL".into(),
            except_default_mode: "ALL".into(),
            aggregate_functions_null_for_empty: false,
            empty_result_for_aggregation_by_empty_set: false,
            totals_mode: "after_having_exclusive".into(),
            single_join_prefer_left_table: true,
            joined_subquery_requires_alias: true,
            additional_table_filters: Vec::new(),
            additional_result_filter: String::new(),
            using_means_aliases: false,
            enable_unaligned_array_join: false,
            any_join_distinct_right_table_keys: false,
            join_any_take_last_row: false,
            enable_global_with_statement: true,
            asterisk_include_materialized_columns: false,
            asterisk_include_alias_columns: false,
            max_recursive_cte_evaluation_depth: 1000,
            max_subquery_depth: 100,
            final_: false,
            final_within_partitions: false,
            prewhere_after_final: false,
            use_with_fill_by_sorting_prefix: true,
            materialized_cte: false,
        }
    }
}

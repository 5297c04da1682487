//! Rules that rewrite plans: plan in, plan out, same columns.
//!
//! - [`rewriter`]: how rules make expressions and visit nodes
//! - [`rules`]: the wrapper around every rule and the one ordered list
//! - [`node_kinds`]: which kinds of nodes a plan has, and a rule is about
//! - [`unnest_subqueries`]: correlated sub-queries become joins
//! - [`fold_empty_inputs`]: what is known to have no rows is not computed
//! - [`factor_disjunctions`]: what all alternatives of an OR say is a condition of its own
//! - [`cross_join_to_inner`]: conditions that say that columns of two sides are equal become keys of their join
//! - [`remove_constant_keys`]: what is the same in every row is not sorted by
//! - [`merge_projections`]: a projection of plain columns over another is one
//! - [`sum_of_shifted`], [`reduce_group_keys`], [`single_distinct_to_group_by`]: simpler aggregations
//! - [`two_steps`]: aggregates over parts of the rows, and over the results of these parts
//! - [`grouping_sets_over_groups`]: the grouping sets of ROLLUP and its kin over groups by all keys
//! - [`unwrap_cast_in_comparison`], [`min_max_through_cast`]: monotonic casts are left out of comparisons, or done last
//! - [`filter_preimages`]: comparisons of functions that never fall are bounds of what they are given
//! - [`conditions`]: how these rules rewrite conditions
//! - [`outer_join_to_inner`]: outer joins whose rows without a partner are taken out are inner ones
//! - [`share_common_tables`]: common table expressions that are used more than once run once
//! - [`push_down_filter`]: conditions move towards the tables
//! - [`push_down_limit`]: limits become limits of sorts, scans and aggregates
//! - [`sample_filters`]: conditions that nobody can estimate are tried on a few rows
//! - [`join_order`]: inner joins in the cheapest order, by an [`estimate`] of rows
//! - [`inner_to_semi_join`]: inner joins are semi joins where nobody counts rows
//! - [`eager_aggregation`]: rows are grouped before a join
//! - [`windows_over_groups`]: aggregates over whole partitions are those of groups
//! - [`prune_columns`]: columns that nobody reads are not made
//! - [`late_materialization`]: columns that a sort does not read are read only for the rows that a limit leaves
//! - [`only_lengths`]: strings of which only the length is asked

mod conditions;
mod cross_join_to_inner;
mod eager_aggregation;
mod estimate;
mod factor_disjunctions;
mod filter_preimages;
mod fold_empty_inputs;
mod grouping_sets_over_groups;
mod inner_to_semi_join;
mod join_order;
mod late_materialization;
mod merge_projections;
mod min_max_through_cast;
pub mod node_kinds;
mod only_lengths;
mod outer_join_to_inner;
mod prune_columns;
mod push_down_filter;
mod push_down_limit;
mod reduce_group_keys;
mod remove_constant_keys;
mod rewriter;
pub mod rules;
mod sample_filters;
mod share_common_tables;
mod single_distinct_to_group_by;
mod sum_of_shifted;
mod two_steps;
mod unnest_subqueries;
mod unwrap_cast_in_comparison;
mod windows_over_groups;

pub use estimate::estimated_rows;
pub use rewriter::{CommonTables, JoinSides, Rewriter};
pub use rules::{Observer, optimize};

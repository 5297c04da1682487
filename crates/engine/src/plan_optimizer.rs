//! The optimizer under the settings of a statement.

use crate::direct_join;
use crate::forced_keys;
use crate::projections::choice::Choice;
use crate::query_context::QueryContext;
use crate::remote;
use crate::settings::Settings;
use crate::skip_indexes;
use chalet_base::{Result, ensure};
use chalet_optimizer::{JoinSides, Rewriter};
use chalet_plan::Plan;

/// The plan of a statement as it should be run.
pub(crate) fn optimized(plan: Plan, ctx: &QueryContext) -> Result<Plan> {
    optimized_part(plan, ctx, Part::Statement)
}

/// The plan of a sub-query that runs for itself, before the rest of its statement.
pub(crate) fn optimized_subquery(plan: Plan, ctx: &QueryContext) -> Result<Plan> {
    optimized_part(plan, ctx, Part::Subquery)
}

/// The same of one whose rows become a set.
pub(crate) fn optimized_set(plan: Plan, ctx: &QueryContext) -> Result<Plan> {
    optimized_part(plan, ctx, Part::Set)
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Statement,
    Subquery,
    Set,
}

fn optimized_part(plan: Plan, ctx: &QueryContext, part: Part) -> Result<Plan> {
    let settings = &ctx.state.settings;
    let all_off = settings.flag("query_plan_enable_optimizations") == Some(false);
    let most_fetched_rows = settings.number("query_plan_max_limit_for_lazy_materialization");
    let is_off = |rule: &str| all_off || is_rule_off(settings, rule);
    let join_order_limit = settings.number("query_plan_optimize_join_order_limit");
    let with = Rewriter {
        ids: &ctx.ids,
        context: &ctx.functions,
        cast: &|expr, ty| chalet_binder::cast(ctx, expr, ty),
        call: &|name, args| chalet_binder::make_call(ctx, name, args),
        count_passing: &|condition, scan, columns, block| {
            chalet_exec::condition::count_passing(condition, scan, columns, block, &ctx.functions)
        },
        is_off: &is_off,
        // 0: however many.
        most_fetched_rows: most_fetched_rows.filter(|&n| n > 0).unwrap_or(u64::MAX),
        join_order_limit: join_order_limit.map_or(12, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        join_order_seed: settings.number("query_plan_optimize_join_order_randomize").filter(|&seed| seed > 0),
        join_sides: match settings.get("query_plan_join_swap_table").as_deref() {
            Some("0") => JoinSides::Written,
            Some("1") => JoinSides::Swapped,
            _ => JoinSides::BySize,
        },
        is_subquery: part != Part::Statement,
        is_set: part == Part::Set,
        common_tables: &ctx.common_tables,
        counts_before_limit: part == Part::Statement && ctx.exec.settings.exact_rows_before_limit,
    };
    let mut plan = plan;
    let mut projections = Choice::of(ctx);
    if let Some(projections) = &mut projections {
        projections.of_groups(&mut plan)?;
    }
    remote::groups::push_down(&mut plan, ctx)?;
    plan = chalet_optimizer::optimize(plan, &with, &|| ctx.control.check(), None)?;
    projections.map_or(Ok(()), |projections| projections.of_rows(&mut plan))?;
    direct_join::rewrite(&mut plan, ctx)?;
    remote::rows::push_down(&mut plan, ctx)?;
    remote::together::join(&mut plan, ctx);
    skip_indexes::annotate(&mut plan, ctx)?;
    forced_keys::check(&plan, ctx)?;
    if let Some(most) = settings.number("max_columns_to_read").filter(|&n| n > 0) {
        check_columns(&plan, most, 0)?;
    }
    Ok(plan)
}

/// `max_columns_to_read`. `fetched`: columns of the tables below that are read later.
fn check_columns(plan: &Plan, most: u64, fetched: usize) -> Result<()> {
    let fetched = fetched + if let Plan::Fetch(fetch) = plan { fetch.columns.len() } else { 0 };
    if let Plan::Scan(scan) = plan {
        let n = (scan.columns.len() + fetched) as u64;
        ensure!(
            n <= most,
            TOO_MANY_COLUMNS,
            "Limit for number of columns to read exceeded. Requested: {n}, maximum: {most}"
        );
    }
    plan.inputs().into_iter().try_for_each(|input| check_columns(input, most, fetched))
}

/// The settings that switch rules off, by the kernel's names.
fn is_rule_off(settings: &Settings, rule: &str) -> bool {
    // Rows are to be counted where they are grouped as it is written.
    let regroups = ["eager_aggregation", "grouping_sets_over_groups", "single_distinct_to_group_by"];
    if regroups.contains(&rule) && settings.flag("rows_before_aggregation") == Some(true) {
        return true;
    }
    let switch = match rule {
        "unnest_subqueries" => "correlated_subqueries_substitute_equivalent_expressions",
        "factor_disjunctions" => "optimize_extract_common_expressions",
        "outer_join_to_inner" => "query_plan_convert_outer_join_to_inner_join",
        "share_common_tables" => "enable_materialized_cte",
        "push_down_filter" => "query_plan_filter_push_down",
        "cross_join_to_inner" => {
            return settings.number("cross_to_inner_join_rewrite") == Some(0);
        }
        // One relation has one order.
        "join_order" => {
            return settings.number("query_plan_optimize_join_order_limit").is_some_and(|limit| limit < 2);
        }
        "sample_filters" => "use_statistics",
        "fold_empty_inputs" => "query_plan_short_circuit_constant_false_join",
        "remove_constant_keys" => "query_plan_remove_redundant_sorting",
        "push_down_limit" => "query_plan_push_down_limit",
        "merge_projections" => "query_plan_merge_expressions",
        "prune_columns" => "query_plan_remove_unused_columns",
        "late_materialization" => {
            // The one for tables of the kernel's own engines, and the one for files.
            let of_files = "query_plan_optimize_lazy_materialization_for_file";
            return [of_files, "query_plan_optimize_lazy_materialization"]
                .iter()
                .any(|switch| settings.flag(switch) == Some(false));
        }
        "filter_preimages" => "optimize_time_filter_with_preimage",
        "sum_of_shifted" => "optimize_arithmetic_operations_in_aggregate_functions",
        "only_lengths" => "optimize_functions_to_subcolumns",
        "reduce_group_keys" => "optimize_group_by_function_keys",
        "inner_to_semi_join" => "query_plan_convert_any_join_to_semi_or_anti_join",
        "eager_aggregation" => "cascades_aggregation_pushdown",
        // Groups by all keys may be more than those of the sets.
        "grouping_sets_over_groups"
            if settings.number("max_rows_to_group_by").is_some_and(|most| most > 0) =>
        {
            return true;
        }
        "grouping_sets_over_groups" => "cascades_aggregation_pushdown",
        // The groups of the first step would count against the limit.
        "single_distinct_to_group_by" => {
            return settings.number("max_rows_to_group_by").is_some_and(|most| most > 0);
        }
        _ => return false,
    };
    settings.flag(switch) == Some(false)
}

//! The wrapper around every rule and the one ordered list.

use crate::node_kinds::NodeKinds;
use crate::rewriter::Rewriter;
use crate::{
    cross_join_to_inner, eager_aggregation, factor_disjunctions, filter_preimages, fold_empty_inputs,
    grouping_sets_over_groups, inner_to_semi_join, join_order, late_materialization, merge_projections,
    min_max_through_cast, only_lengths, outer_join_to_inner, prune_columns, push_down_filter,
    push_down_limit, reduce_group_keys, remove_constant_keys, sample_filters, share_common_tables,
    single_distinct_to_group_by, sum_of_shifted, unnest_subqueries, unwrap_cast_in_comparison,
    windows_over_groups,
};
use chalet_base::{Result, ensure};
use chalet_plan::{Plan, validate::validate};
use std::time::{Duration, Instant};

/// One rewrite.
pub struct Rule {
    pub name: &'static str,
    /// Why it stands where it stands in the list.
    pub reason: &'static str,
    /// A plan without nodes of these kinds stays as it is.
    pub about: NodeKinds,
    pub apply: fn(Plan, &Rewriter) -> Result<Plan>,
}

/// In order of application.
pub const RULES: &[Rule] = &[
    Rule {
        name: unnest_subqueries::NAME,
        reason: "first: the others know joins, and look into no query in an expression",
        about: NodeKinds::ANY,
        apply: unnest_subqueries::apply,
    },
    Rule {
        name: "fold_empty_inputs",
        reason: "early: what has no rows is not worth the others",
        about: NodeKinds::ANY,
        apply: fold_empty_inputs::apply,
    },
    Rule {
        name: factor_disjunctions::NAME,
        reason: "before cross_join_to_inner, which looks for equalities among conditions",
        about: NodeKinds::FILTER,
        apply: factor_disjunctions::apply,
    },
    Rule {
        name: "cross_join_to_inner",
        reason: "before conditions move below joins, so that those on one key can move to both sides",
        about: NodeKinds::JOIN,
        apply: cross_join_to_inner::apply,
    },
    Rule {
        name: "push_down_filter",
        reason: "early, so that later rules see conditions where they end up",
        about: NodeKinds::FILTER.or(NodeKinds::JOIN).or(NodeKinds::MERGE_ROWS),
        apply: push_down_filter::apply,
    },
    Rule {
        name: share_common_tables::NAME,
        reason: "conditions have come to where the expressions are used, and say whether their rows differ",
        about: NodeKinds::ANY,
        apply: share_common_tables::apply,
    },
    Rule {
        name: outer_join_to_inner::NAME,
        reason: "conditions that could not go below a join stand above it",
        about: NodeKinds::JOIN,
        apply: outer_join_to_inner::apply,
    },
    Rule {
        name: "fold_empty_inputs",
        reason: "once more: a condition that went down may have met constants",
        about: NodeKinds::ANY,
        apply: fold_empty_inputs::apply,
    },
    Rule {
        name: "merge_projections",
        reason: "after filters have passed through projections",
        about: NodeKinds::ANY,
        apply: merge_projections::apply,
    },
    Rule {
        name: "unwrap_cast_in_comparison",
        reason: "where conditions have ended up, columns stand as the tables have them",
        about: NodeKinds::ANY,
        apply: unwrap_cast_in_comparison::apply,
    },
    Rule {
        name: filter_preimages::NAME,
        reason: "constants are of the type that they compare with",
        about: NodeKinds::ANY,
        apply: filter_preimages::apply,
    },
    Rule {
        name: "min_max_through_cast",
        reason: "after projections have become one",
        about: NodeKinds::AGGREGATE,
        apply: min_max_through_cast::apply,
    },
    Rule {
        name: "sum_of_shifted",
        reason: "before keys of aggregations are taken apart",
        about: NodeKinds::AGGREGATE,
        apply: sum_of_shifted::apply,
    },
    Rule {
        name: "reduce_group_keys",
        reason: "before single_distinct_to_group_by repeats the keys",
        about: NodeKinds::AGGREGATE,
        apply: reduce_group_keys::apply,
    },
    Rule {
        name: "single_distinct_to_group_by",
        reason: "before limits reach aggregations",
        about: NodeKinds::AGGREGATE,
        apply: single_distinct_to_group_by::apply,
    },
    Rule {
        name: "grouping_sets_over_groups",
        reason: "keys are as few as they become",
        about: NodeKinds::AGGREGATE,
        apply: grouping_sets_over_groups::apply,
    },
    Rule {
        name: "remove_constant_keys",
        reason: "before limits reach sorts, which may be gone then",
        about: NodeKinds::SORT.or(NodeKinds::LIMIT_BY).or(NodeKinds::DISTINCT),
        apply: remove_constant_keys::apply,
    },
    Rule {
        name: "push_down_limit",
        reason: "projections are few by now, and a limit passes through each",
        about: NodeKinds::LIMIT,
        apply: push_down_limit::apply,
    },
    Rule {
        name: "prune_columns",
        reason: "the rules before may have made columns needless",
        about: NodeKinds::ANY,
        apply: prune_columns::apply,
    },
    Rule {
        name: sample_filters::NAME,
        reason: "the order of joins depends on what conditions leave",
        about: NodeKinds::JOIN,
        apply: sample_filters::apply,
    },
    Rule {
        name: "join_order",
        reason: "conditions stand at the tables and say how many rows are left; what is not needed weighs nothing",
        about: NodeKinds::JOIN,
        apply: join_order::apply,
    },
    Rule {
        name: inner_to_semi_join::NAME,
        reason: "the order of joins says which side a join's rows are sought in",
        about: NodeKinds::ANY,
        apply: inner_to_semi_join::apply,
    },
    Rule {
        name: "eager_aggregation",
        reason: "the order of joins says what is joined last, and which side is built",
        about: NodeKinds::AGGREGATE,
        apply: eager_aggregation::apply,
    },
    Rule {
        name: windows_over_groups::NAME,
        reason: "its joins have the order that they are to have",
        about: NodeKinds::WINDOW,
        apply: windows_over_groups::apply,
    },
    Rule {
        name: "prune_columns",
        reason: "once more: joins in another order pass other columns on",
        about: NodeKinds::JOIN.or(NodeKinds::DISTINCT).or(NodeKinds::WINDOW),
        apply: prune_columns::apply,
    },
    Rule {
        name: "late_materialization",
        reason: "limits have reached sorts, and only columns that are needed are left",
        about: NodeKinds::SORT,
        apply: late_materialization::apply,
    },
    Rule {
        name: only_lengths::NAME,
        reason: "after all that moves expressions and columns",
        about: NodeKinds::ANY,
        apply: only_lengths::apply,
    },
];

/// Sees each rule run: its name, the time that it took, the plan after it.
pub type Observer<'a> = &'a mut dyn FnMut(&'static str, Duration, &Plan);

/// The rules that leave no nodes or expressions that nothing runs: where one is switched off, it only does without its short cut.
const REQUIRED: [&str; 2] = [unnest_subqueries::NAME, share_common_tables::NAME];

/// Applies all rules that are not switched off, to the plan and to what parts of it share. `check` is asked before each: is the
/// query cancelled?
pub fn optimize(
    plan: Plan,
    with: &Rewriter,
    check: &dyn Fn() -> Result<()>,
    observer: Option<Observer>,
) -> Result<Plan> {
    let plan = apply_rules(plan, with, check, observer)?;
    // What is shared is read in other ways elsewhere.
    let shared_with = Rewriter { is_set: false, ..*with };
    share_common_tables::finish(plan, with, &mut |shared| apply_rules(shared, &shared_with, check, None))
}

fn apply_rules(
    mut plan: Plan,
    with: &Rewriter,
    check: &dyn Fn() -> Result<()>,
    observer: Option<Observer>,
) -> Result<Plan> {
    let mut observer = observer;
    let (mut kinds, mut before) = (NodeKinds::of(&plan), plan.fields());
    for rule in RULES {
        if !kinds.meets(rule.about) || (with.is_off)(rule.name) && !REQUIRED.contains(&rule.name) {
            continue;
        }
        check()?;
        let started = Instant::now();
        plan = (rule.apply)(plan, with)?;
        if let Some(observer) = &mut observer {
            observer(rule.name, started.elapsed(), &plan);
        }
        let after = plan.fields();
        ensure!(
            before.len() == after.len()
                && before.iter().zip(&after).all(|(a, b)| a.id == b.id && a.ty == b.ty),
            LOGICAL_ERROR,
            "Optimizer rule {} changed the columns of the plan",
            rule.name
        );
        if cfg!(debug_assertions) {
            validate(&plan)?;
        }
        (kinds, before) = (NodeKinds::of(&plan), after);
    }
    Ok(plan)
}

//! The wrapper around every rule and the one ordered list.

use crate::{
    cross_join_to_inner, fold_empty_inputs, late_materialization, merge_projections, min_max_through_cast,
    prune_columns, push_down_filter, push_down_limit, reduce_group_keys, remove_constant_keys,
    single_distinct_to_group_by, sum_of_shifted, unnest_subqueries, unwrap_cast_in_comparison,
};
use chalet_base::{Result, bail, ensure};
use chalet_function_api::Context;
use chalet_plan::{Expr, IdSource, JoinKey, Plan, validate::validate};
use chalet_types::{DataType, supertype};
use std::time::{Duration, Instant};

/// One rewrite.
pub struct Rule {
    pub name: &'static str,
    /// Why it stands where it stands in the list.
    pub reason: &'static str,
    pub apply: fn(Plan, &Rewriter) -> Result<Plan>,
}

/// What rules make new things with.
pub struct Rewriter<'a> {
    pub ids: &'a IdSource,
    /// For binding functions.
    pub context: &'a Context,
    /// Converts an expression to a type.
    pub cast: &'a dyn Fn(Expr, &DataType) -> Result<Expr>,
    /// Calls a scalar function, by its name.
    pub call: &'a dyn Fn(&str, Vec<Expr>) -> Result<Expr>,
    /// Is a rule switched off, by its name?
    pub is_off: &'a dyn Fn(&str) -> bool,
    /// Columns are fetched late for no more rows than these.
    pub most_fetched_rows: u64,
}

impl Rewriter<'_> {
    /// The key of a join that two expressions are, in their common type. Fails where they have none.
    pub(crate) fn key(&self, left: Expr, right: Expr, null_safe: bool) -> Result<JoinKey> {
        let (a, b) = (left.ty().without_low_cardinality(), right.ty().without_low_cardinality());
        let Some(common) = supertype::pair(a, b) else {
            bail!(TYPE_MISMATCH, "Can't infer common type for joined columns: {a} at left, {b} at right");
        };
        Ok(JoinKey { left: (self.cast)(left, &common)?, right: (self.cast)(right, &common)?, null_safe })
    }

    /// One condition of several.
    pub(crate) fn all_of(&self, conditions: Vec<Expr>) -> Result<Option<Expr>> {
        if conditions.len() < 2 {
            return Ok(conditions.into_iter().next());
        }
        (self.call)("and", conditions).map(Some)
    }

    /// Conversions to dates and times may fail instead of staying in range: then none may be left out.
    pub(crate) fn overflow_throws(&self) -> bool {
        self.context.settings.date_time_overflow_behavior == "throw"
    }
}

/// In order of application.
pub const RULES: &[Rule] = &[
    Rule {
        name: unnest_subqueries::NAME,
        reason: "first: the others know joins, and look into no query in an expression",
        apply: unnest_subqueries::apply,
    },
    Rule {
        name: "fold_empty_inputs",
        reason: "early: what has no rows is not worth the others",
        apply: fold_empty_inputs::apply,
    },
    Rule {
        name: "cross_join_to_inner",
        reason: "before conditions move below joins, so that those on one key can move to both sides",
        apply: cross_join_to_inner::apply,
    },
    Rule {
        name: "push_down_filter",
        reason: "early, so that later rules see conditions where they end up",
        apply: push_down_filter::apply,
    },
    Rule {
        name: "merge_projections",
        reason: "after filters have passed through projections",
        apply: merge_projections::apply,
    },
    Rule {
        name: "unwrap_cast_in_comparison",
        reason: "where conditions have ended up, columns stand as the tables have them",
        apply: unwrap_cast_in_comparison::apply,
    },
    Rule {
        name: "min_max_through_cast",
        reason: "after projections have become one",
        apply: min_max_through_cast::apply,
    },
    Rule {
        name: "sum_of_shifted",
        reason: "before keys of aggregations are taken apart",
        apply: sum_of_shifted::apply,
    },
    Rule {
        name: "reduce_group_keys",
        reason: "before single_distinct_to_group_by repeats the keys",
        apply: reduce_group_keys::apply,
    },
    Rule {
        name: "single_distinct_to_group_by",
        reason: "before limits reach aggregations",
        apply: single_distinct_to_group_by::apply,
    },
    Rule {
        name: "remove_constant_keys",
        reason: "before limits reach sorts, which may be gone then",
        apply: remove_constant_keys::apply,
    },
    Rule {
        name: "push_down_limit",
        reason: "projections are few by now, and a limit passes through each",
        apply: push_down_limit::apply,
    },
    Rule {
        name: "prune_columns",
        reason: "the rules before may have made columns needless",
        apply: prune_columns::apply,
    },
    Rule {
        name: "late_materialization",
        reason: "last: limits have reached sorts, and only columns that are needed are left",
        apply: late_materialization::apply,
    },
];

/// Sees each rule run: its name, the time that it took, the plan after it.
pub type Observer<'a> = &'a mut dyn FnMut(&'static str, Duration, &Plan);

/// The rule without which not every plan can be run: where it is switched off, it only does without its short cut.
const REQUIRED: &str = unnest_subqueries::NAME;

/// Applies all rules that are not switched off. `check` is asked before each: is the query cancelled?
pub fn optimize(
    mut plan: Plan,
    with: &Rewriter,
    check: &dyn Fn() -> Result<()>,
    observer: Option<Observer>,
) -> Result<Plan> {
    let mut observer = observer;
    for rule in RULES {
        if (with.is_off)(rule.name) && rule.name != REQUIRED {
            continue;
        }
        check()?;
        let before = plan.fields();
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
    }
    Ok(plan)
}

/// Applies a function to every node, inputs first.
pub(crate) fn bottom_up(mut plan: Plan, f: &mut dyn FnMut(Plan) -> Result<Plan>) -> Result<Plan> {
    for input in plan.inputs_mut() {
        let taken = std::mem::replace(input, placeholder());
        *input = bottom_up(taken, f)?;
    }
    f(plan)
}

/// Applies a function to every node, inputs last.
pub(crate) fn top_down(plan: Plan, f: &mut dyn FnMut(Plan) -> Result<Plan>) -> Result<Plan> {
    let mut plan = f(plan)?;
    for input in plan.inputs_mut() {
        let taken = std::mem::replace(input, placeholder());
        *input = top_down(taken, f)?;
    }
    Ok(plan)
}

/// Stands in a node whose input is being rewritten.
pub(crate) fn placeholder() -> Plan {
    Plan::Values(chalet_plan::Values { fields: Vec::new(), block: chalet_columns::Block::default() })
}

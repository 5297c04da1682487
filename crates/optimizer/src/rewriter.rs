//! What all rules share: how they make expressions, and how they visit the nodes of a plan.

use chalet_base::Result;
use chalet_base::hash::HashMap;
use chalet_columns::Block;
use chalet_function_api::{Context, ShownType};
use chalet_plan::{ColumnId, CommonTableId, Expr, IdSource, JoinKey, Plan, ScanNode, SharedPlan};
use chalet_types::{DataType, supertype};
use std::sync::{Arc, Mutex, PoisonError};

/// Which side of a join is built (`query_plan_join_swap_table`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinSides {
    /// The one that is estimated to be smaller.
    BySize,
    /// The right one.
    Written,
    /// The left one, where there are two.
    Swapped,
}

/// Tries a condition on some rows of a table.
pub type CountPassing<'a> = dyn Fn(&Expr, &ScanNode, &[ColumnId], &Block) -> Option<usize> + 'a;

/// What rules make new things with.
pub struct Rewriter<'a> {
    pub ids: &'a IdSource,
    /// For binding functions.
    pub context: &'a Context,
    /// Converts an expression to a type.
    pub cast: &'a dyn Fn(Expr, &DataType) -> Result<Expr>,
    /// Calls a scalar function, by its name.
    pub call: &'a dyn Fn(&str, Vec<Expr>) -> Result<Expr>,
    /// How many rows of a block of some columns of a scan meet a condition; `None` for conditions that may not be tried.
    pub count_passing: &'a CountPassing<'a>,
    /// Is a rule switched off, by its name?
    pub is_off: &'a dyn Fn(&str) -> bool,
    /// Columns are fetched late for no more rows than these.
    pub most_fetched_rows: u64,
    /// The best order is searched for among no more relations than these.
    pub join_order_limit: usize,
    pub join_sides: JoinSides,
    /// In tests of orders: rows are not estimated but drawn at random from this seed.
    pub join_order_seed: Option<u64>,
    /// Is this a sub-query that runs for itself, before the rest of its statement?
    pub is_subquery: bool,
    /// Do the rows become a set, whatever their number and order?
    pub is_set: bool,
    pub common_tables: &'a CommonTables,
    /// Are all rows before the topmost limits counted, which therefore stop nothing below?
    pub counts_before_limit: bool,
}

/// The common table expressions of a statement that its queries share.
#[derive(Default)]
pub struct CommonTables(Mutex<HashMap<CommonTableId, Arc<SharedPlan>>>);

impl CommonTables {
    pub(crate) fn known(&self, id: CommonTableId) -> Option<Arc<SharedPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    pub(crate) fn remember(&self, id: CommonTableId, plan: Arc<SharedPlan>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, plan);
    }
}

impl Rewriter<'_> {
    /// The key of a join that two expressions are, in their common type. Fails where they have none.
    pub(crate) fn key(&self, left: Expr, right: Expr, null_safe: bool) -> Result<JoinKey> {
        let (a, b) = (left.ty().without_low_cardinality(), right.ty().without_low_cardinality());
        let Some(common) = supertype::pair_of_keys(a, b) else {
            return Err(supertype::no_supertype(a, b));
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

/// What a cast converts that changes no value, but whether there may be a NULL or a dictionary.
pub(crate) fn unconverted(expr: &Expr) -> &Expr {
    let Expr::Call { function, args } = expr else { return expr };
    let (ShownType::Written, [value, ..]) = (function.function.record().shown, &args[..]) else {
        return expr;
    };
    let (from, to) = (value.ty().without_low_cardinality(), expr.ty().without_low_cardinality());
    if from.bare() == to.bare() && (to.is_nullable() || !from.is_nullable()) {
        unconverted(value)
    } else {
        expr
    }
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

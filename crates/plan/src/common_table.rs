//! Common table expressions that are used in several places: one node while nobody has decided how each is run, one for
//! reading rows that all places share.

use crate::{Field, Plan};
use std::sync::Arc;

/// Which common table expression of a statement; the same where it means the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommonTableId(pub u32);

/// A common table expression where it is used, until the optimizer has decided whether its rows are shared. All nodes of an
/// id have plans that put out the same columns in the same order, under ids of their own.
#[derive(Clone, Debug)]
pub struct CommonTable {
    pub id: CommonTableId,
    pub name: Arc<str>,
    /// How often the statement uses it, at least.
    pub uses: usize,
    /// `AS MATERIALIZED`: shared whatever it costs.
    pub materialized: bool,
    pub input: Box<Plan>,
}

/// A plan that runs once; whoever reads its rows first runs it.
#[derive(Clone, Debug)]
pub struct SharedPlan {
    pub plan: Plan,
    /// Set where other queries of the statement read it, too: it has all columns of the expression then.
    pub common_table: Option<CommonTableId>,
    /// As it is to be run: all who read it agree on its columns.
    pub is_optimized: bool,
}

/// Reads rows of a shared plan.
#[derive(Clone, Debug)]
pub struct SharedScan {
    pub source: Arc<SharedPlan>,
    pub name: Arc<str>,
    /// Index into the fields of the source, and the column that it becomes.
    pub columns: Vec<(usize, Field)>,
}

//! What the binder makes and the optimizer rewrites: bound expressions and logical plans. Data only.
//!
//! - [`column`]: column identities and fields
//! - [`expr`]: bound expressions
//! - [`walk`]: visiting and rewriting expressions, what plans read from outside
//! - [`node`]: the plan tree
//! - [`common_table`]: the nodes of common table expressions that are used more than once
//! - [`merge_rows`]: the node of FINAL and its rules
//! - [`explain`]: the plan as text
//! - [`validate`]: does every node find the columns that it reads?

pub mod column;
pub mod common_table;
pub mod explain;
pub mod expr;
pub mod merge_rows;
pub mod node;
pub mod validate;
pub mod walk;

pub use chalet_storage::samples::SampleSize;
pub use column::{ColumnId, Field, IdSource};
pub use common_table::{CommonTable, CommonTableId, SharedPlan, SharedScan};
pub use expr::{Expr, InExpr, InSet, Literal, SetSource, SubqueryExpr, SubqueryKind};
pub use merge_rows::{Fold, MergeRows, RowRule};
pub use node::{
    Aggregate, AggregateCall, AggregateName, AnyRule, ArrayJoin, AsofOp, Distinct, Fetch, Fill, FillColumn,
    Filter, FrameBound, FrameSpec, FrameUnit, FromEnd, GroupingKind, Join, JoinKey, JoinKind, JoinStrictness,
    Limit, LimitBy, Plan, Project, RowParts, ScanIndex, ScanLimits, ScanNode, SetOp, SetOpKind, Sort,
    SortKey, Totals, Union, Values, Window, WindowCall, WindowImpl,
};

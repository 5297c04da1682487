//! What binding has found out about a SELECT: its aggregates, windows, arrayJoin, keys and limits.

use chalet_plan::{AggregateCall, Expr, Field, FromEnd, RowParts, SortKey, WindowCall};
use chalet_syntax::ast;
use std::rc::Rc;

/// An aggregate that the SELECT computes, and how to recognise it when it is written again.
#[derive(Debug)]
pub(crate) struct KnownAggregate {
    pub args: Vec<Expr>,
    pub function: String,
    pub parameters: Option<Vec<ast::Expr>>,
    pub call: AggregateCall,
}

/// A call and the window that it runs over.
#[derive(Debug)]
pub(crate) struct KnownWindow {
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub call: WindowCall,
}

/// A call of arrayJoin.
pub(crate) struct KnownArrayJoin {
    pub field: Field,
    pub array: Expr,
    /// Only needed after aggregation.
    pub late: bool,
}

/// An alias inside of the lambda that is being bound, or of one around it.
pub(crate) struct LambdaAlias {
    pub name: String,
    pub written: Rc<ast::Expr>,
    /// How many parameters it can name: those of its own lambda and of the lambdas around.
    pub n_params: usize,
    pub bound: Option<Expr>,
    /// It is being bound: inside, its name means something else.
    pub is_open: bool,
}

/// The keys of a SELECT.
#[derive(Default)]
pub(crate) struct Grouping {
    /// There is a GROUP BY clause, of whatever form.
    pub is_present: bool,
    pub keys: Vec<(Field, Expr)>,
    /// How the keys are written, and which key each of them is.
    pub written: Vec<(ast::ExprKind, usize)>,
    /// Which keys are in each grouping set; empty for a plain GROUP BY.
    pub sets: Vec<Vec<usize>>,
    /// The sets are those of GROUPING SETS, where the set of no keys has a row even if there are none to group.
    pub are_listed: bool,
    /// The column with the number of the set, once somebody asks for it.
    pub set_number: Option<Field>,
    /// Keys become Nullable, NULL where the set lacks them.
    pub use_nulls: bool,
}

/// A LIMIT clause with its numbers known.
pub(crate) struct BoundLimit {
    pub limit: Option<u64>,
    pub offset: u64,
    pub from_end: FromEnd,
    pub parts: RowParts,
}

/// What LIMIT or OFFSET says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RowCount {
    Rows(u64),
    /// A negative number.
    FromEnd(u64),
    /// A part of all rows, between 0 and 1.
    Part(f64),
}

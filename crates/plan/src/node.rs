//! The plan tree: what to compute, not how.

use crate::common_table::{CommonTable, SharedScan};
use crate::merge_rows::MergeRows;
use crate::{ColumnId, Expr, Field};
use chalet_columns::Block;
use chalet_columns::keys::Order;
use chalet_function_api::aggregate::RowOrder;
use chalet_function_api::{Aggregate as AggregateImpl, WindowFunction};
use chalet_storage::Table;
use chalet_storage::merge_tree::skip_index::SkipIndexKind;
use chalet_types::{DataType, Value};
use std::ops::Range;
use std::sync::Arc;

/// A node of the logical plan with its inputs; a plan is its uppermost node.
#[derive(Clone, Debug)]
pub enum Plan {
    Scan(ScanNode),
    Values(Values),
    Filter(Filter),
    Project(Project),
    Aggregate(Aggregate),
    Sort(Sort),
    Fill(Fill),
    Limit(Limit),
    LimitBy(LimitBy),
    Distinct(Distinct),
    Union(Union),
    SetOp(SetOp),
    Join(Box<Join>),
    ArrayJoin(ArrayJoin),
    Window(Window),
    Fetch(Fetch),
    MergeRows(MergeRows),
    CommonTable(CommonTable),
    SharedScan(SharedScan),
}

/// Reads a table.
#[derive(Clone)]
pub struct ScanNode {
    pub table: Arc<dyn Table>,
    /// For EXPLAIN and errors: `default.hits`, `numbers`.
    pub name: Arc<str>,
    /// Index into the table's schema, and the column that it becomes.
    pub columns: Vec<(usize, Field)>,
    /// Conditions that are pushed here; every row that is put out meets them.
    pub filter: Option<Expr>,
    /// Which part of the rows passes the filter, where a sample was asked. For choices between plans alone.
    pub selectivity: Option<f64>,
    /// Columns that nobody reads but the filter: they may come with any values.
    pub only_filtered: Vec<ColumnId>,
    /// Columns of strings of which only the lengths are read: they may come with any bytes.
    pub only_lengths: Vec<ColumnId>,
    pub limit: Option<u64>,
    /// A UInt64 column behind the others: where each row is, for [`Fetch`]. Only of tables that have row ids.
    pub row_id: Option<Field>,
    /// What the SETTINGS of the sub-query that reads the table say of reading; `None` where the statement's own hold.
    pub limits: Option<Arc<ScanLimits>>,
    /// Data skipping indexes of the table that may be used.
    pub skip_indexes: Arc<[ScanIndex]>,
    /// Names of indexes without which the query fails.
    pub forced_indexes: Arc<[Arc<str>]>,
}

/// A data skipping index of a table, over the columns of a scan.
#[derive(Clone)]
pub struct ScanIndex {
    pub name: Arc<str>,
    pub kind: SkipIndexKind,
    /// By which parts have it.
    pub identity: Arc<str>,
    pub exprs: Vec<Expr>,
}

/// Settings of a sub-query that bound the reading of its tables. 0 means no limit, as in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanLimits {
    pub max_block_size: usize,
    pub max_rows_to_read: u64,
    pub max_bytes_to_read: u64,
    /// `read_overflow_mode = 'break'`: reading ends at the limit, instead of the query.
    pub breaks: bool,
}

impl std::fmt::Debug for ScanNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Scan({}, {:?}, {:?})", self.name, self.columns, self.filter)
    }
}

/// Rows that are known already.
#[derive(Clone, Debug)]
pub struct Values {
    pub fields: Vec<Field>,
    pub block: Block,
}

/// Rows where the condition is true (not false, not NULL).
#[derive(Clone, Debug)]
pub struct Filter {
    pub input: Box<Plan>,
    pub condition: Expr,
}

/// Computes columns. Puts out exactly `exprs`.
#[derive(Clone, Debug)]
pub struct Project {
    pub input: Box<Plan>,
    pub exprs: Vec<(Field, Expr)>,
}

/// Groups rows. Puts out the keys, then the aggregates, then (when asked for) the grouping-set number.
#[derive(Clone, Debug)]
pub struct Aggregate {
    pub input: Box<Plan>,
    pub keys: Vec<(Field, Expr)>,
    pub calls: Vec<AggregateCall>,
    pub grouping: GroupingKind,
    /// With grouping sets: which keys are in each set. A key outside of its set puts out its default (or NULL with
    /// `group_by_use_nulls`, then its field is Nullable).
    pub sets: Vec<Vec<usize>>,
    /// UInt64 column with the number of the set that made the row.
    pub set_number: Option<Field>,
    /// Without keys and rows: one row (`false`), or none (`empty_result_for_aggregation_by_empty_set`). Of grouping sets, for each set without
    /// keys.
    pub empty_if_no_rows: bool,
    /// No more than this many groups are needed, whichever.
    pub limit: Option<u64>,
    pub totals: Option<Totals>,
    /// Rows of one group may come out as several rows, each of some of them: what stands above groups them again. Plain, with keys,
    /// without limit and totals.
    pub is_partial: bool,
}

impl Aggregate {
    /// A plain GROUP BY of all rows, whole.
    pub fn plain(input: Box<Plan>, keys: Vec<(Field, Expr)>, calls: Vec<AggregateCall>) -> Aggregate {
        Aggregate {
            input,
            keys,
            calls,
            grouping: GroupingKind::Plain,
            sets: Vec::new(),
            set_number: None,
            empty_if_no_rows: false,
            limit: None,
            totals: None,
            is_partial: false,
        }
    }
}

/// A plain GROUP BY, or one with grouping sets (ROLLUP, CUBE, GROUPING SETS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupingKind {
    Plain,
    Sets,
}

/// One aggregate function over each group, and the column that its result makes.
#[derive(Clone)]
pub struct AggregateCall {
    pub field: Field,
    pub aggregate: Arc<dyn AggregateImpl>,
    pub args: Vec<Expr>,
    pub row_order: RowOrder,
    /// Functional form: `sum(x)`.
    pub name: Arc<str>,
    /// What it is a call of; none where the optimizer has made it.
    pub function: Option<AggregateName>,
}

/// An aggregate function by its own name, with combinators, and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateName {
    pub name: Arc<str>,
    pub parameters: Arc<[Value]>,
}

impl std::fmt::Debug for AggregateCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} as {:?}", self.name, self.field)
    }
}

/// WITH TOTALS: beside the groups, one row over all of them, which travels beside the result.
#[derive(Clone, Debug)]
pub struct Totals {
    /// HAVING, over the aggregate's own columns: filters the groups.
    pub having: Option<Expr>,
    /// `totals_mode`: do groups that HAVING takes out count for the totals?
    pub include_filtered: bool,
}

/// One column of ORDER BY.
#[derive(Clone, Debug)]
pub struct SortKey {
    pub expr: Expr,
    pub order: Order,
}

/// ORDER BY: all rows sorted by the keys, stably; with `limit` only the first of them.
#[derive(Clone, Debug)]
pub struct Sort {
    pub input: Box<Plan>,
    pub keys: Vec<SortKey>,
    /// Only the first rows are needed.
    pub limit: Option<u64>,
    /// So many first rows are left out.
    pub offset: u64,
    /// With `limit`: also the rows that are equal to the last one.
    pub with_ties: bool,
    /// Fields that nobody above reads: they are put out, but what they hold is not made.
    pub unread: Vec<ColumnId>,
}

/// WITH FILL: rows for the missing values of sorted columns.
#[derive(Clone, Debug)]
pub struct Fill {
    pub input: Box<Plan>,
    /// All ORDER BY columns, in order; those without `FillColumn` separate runs.
    pub columns: Vec<(ColumnId, Order, Option<FillColumn>)>,
    /// INTERPOLATE: column and its value over the row before.
    pub interpolate: Vec<(ColumnId, Expr)>,
}

/// `WITH FILL FROM from TO to STEP step STALENESS staleness` of one column.
#[derive(Clone, Debug)]
pub struct FillColumn {
    /// Values of the column's type.
    pub from: Option<Value>,
    pub to: Option<Value>,
    pub step: Value,
    /// Step in calendar units instead of the column's own.
    pub step_unit: Option<chalet_types::IntervalUnit>,
    pub staleness: Option<Value>,
    pub staleness_unit: Option<chalet_types::IntervalUnit>,
}

/// Rows `offset..offset + limit`. Negative numbers count from the end.
#[derive(Clone, Debug)]
pub struct Limit {
    pub input: Box<Plan>,
    pub limit: Option<u64>,
    pub offset: u64,
    /// Also the rows that equal the last one under these keys.
    pub ties: Option<Vec<SortKey>>,
    pub from_end: FromEnd,
    /// Where a part of the rows is asked for, in place of the number.
    pub parts: RowParts,
}

/// Which of LIMIT and OFFSET are negative and count from the end: `OFFSET -n` leaves out the last rows, `LIMIT -n` keeps the
/// last ones of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FromEnd {
    pub limit: bool,
    pub offset: bool,
}

impl FromEnd {
    /// Does one of them?
    pub fn any(self) -> bool {
        self.limit || self.offset
    }

    /// The rows that are left of `n`: the offset cuts first, then the limit.
    pub fn rows(self, limit: Option<u64>, offset: u64, n: u64) -> Range<u64> {
        let cut = offset.min(n);
        let (start, end) = if self.offset { (0, n - cut) } else { (cut, n) };
        match limit {
            None => start..end,
            Some(limit) if self.limit => end.saturating_sub(limit).max(start)..end,
            Some(limit) => start..start.saturating_add(limit).min(end),
        }
    }
}

/// LIMIT and OFFSET that say which part of all rows, between 0 and 1: `LIMIT 0.1`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowParts {
    pub limit: Option<f64>,
    pub offset: Option<f64>,
}

impl RowParts {
    /// Are both given as numbers of rows, or not at all?
    pub fn is_empty(self) -> bool {
        self.limit.is_none() && self.offset.is_none()
    }
}

/// At most `limit` rows, after `offset`, for each distinct value of the columns.
#[derive(Clone, Debug)]
pub struct LimitBy {
    pub input: Box<Plan>,
    pub columns: Vec<Expr>,
    pub limit: u64,
    pub offset: u64,
    /// Counts from the end of a value's rows.
    pub from_end: FromEnd,
    /// No more than this many rows are needed, the first ones.
    pub needed: Option<u64>,
}

/// The first row of each distinct value of the columns.
#[derive(Clone, Debug)]
pub struct Distinct {
    pub input: Box<Plan>,
    pub on: Vec<ColumnId>,
    pub limit: Option<u64>,
}

/// UNION ALL: rows of all inputs, whose columns match by position and type.
#[derive(Clone, Debug)]
pub struct Union {
    pub inputs: Vec<Plan>,
    pub fields: Vec<Field>,
}

/// Which of the two set operations that look rows up in the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOpKind {
    Intersect,
    Except,
}

/// INTERSECT and EXCEPT: the left's rows that are, or are not, among the right's.
#[derive(Clone, Debug)]
pub struct SetOp {
    pub kind: SetOpKind,
    pub distinct: bool,
    pub left: Box<Plan>,
    pub right: Box<Plan>,
    /// The left's columns.
    pub fields: Vec<Field>,
}

/// Which rows without a partner a join keeps; CROSS pairs all rows, PASTE the rows at equal positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    Paste,
}

/// How many partners of a row a join gives, or whether it only asks if there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinStrictness {
    All,
    Any,
    Semi,
    Anti,
    Asof,
}

/// Which pairs ANY and SEMI take where there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnyRule {
    /// Of the partners of a left row the last, instead of the first (`join_any_take_last_row`).
    pub takes_last: bool,
    /// RIGHT and FULL give each left row one partner, whichever others take it too; right rows that others of their key stand for
    /// are left out (`any_join_distinct_right_table_keys`).
    pub distinct_right_keys: bool,
}

/// Puts out the left's columns, then the right's. A column that the kind can leave without a partner has the type
/// (and the default) that `fields` says.
#[derive(Clone, Debug)]
pub struct Join {
    pub left: Plan,
    pub right: Plan,
    pub kind: JoinKind,
    pub strictness: JoinStrictness,
    pub any_rule: AnyRule,
    /// Equal pairs (left expression, right expression), of the same type. NULL equals nothing unless `null_safe`.
    pub on: Vec<JoinKey>,
    /// ASOF: left expression, operator, right expression.
    pub asof: Option<(Expr, AsofOp, Expr)>,
    /// What else must hold of a pair, over columns of both.
    pub residual: Option<Expr>,
    /// Fields of the result, one per column of the left and then of the right (new ids; types may be Nullable).
    pub fields: Vec<Field>,
    /// Those of the fields that nobody above reads: they are put out, but what they hold is not made.
    pub unread: Vec<ColumnId>,
}

/// One equality of ON.
#[derive(Clone, Debug)]
pub struct JoinKey {
    pub left: Expr,
    pub right: Expr,
    /// `<=>`: NULL equals NULL.
    pub null_safe: bool,
}

/// The right value nearest to the left one that meets `left op right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsofOp {
    GreaterOrEqual,
    Greater,
    LessOrEqual,
    Less,
}

/// One row per element; several arrays go in step. Puts out the input's columns, with `columns` added.
#[derive(Clone, Debug)]
pub struct ArrayJoin {
    pub input: Box<Plan>,
    /// Element column and array expression (Array or Map).
    pub columns: Vec<(Field, Expr)>,
    /// LEFT: a row without elements stays, with default elements.
    pub left: bool,
    /// Arrays of different lengths: fill with defaults instead of failing.
    pub unaligned: bool,
    /// Those of the input's columns that nobody above reads: they are put out, but what they hold is not made.
    pub unread: Vec<ColumnId>,
}

/// Functions over windows that share partition and order. Puts out the input's columns and the calls'.
#[derive(Clone, Debug)]
pub struct Window {
    pub input: Box<Plan>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    pub calls: Vec<WindowCall>,
    /// Those of the input's columns that nobody above reads: they are put out, but what they hold is not made unless the window
    /// itself reads it.
    pub unread: Vec<ColumnId>,
}

/// One function over the frames of a window, and the column that its result makes.
#[derive(Clone)]
pub struct WindowCall {
    pub field: Field,
    pub function: WindowImpl,
    pub args: Vec<Expr>,
    pub frame: FrameSpec,
    /// What the order of a frame's rows means to an aggregate.
    pub row_order: RowOrder,
    pub name: Arc<str>,
}

/// What a window call computes: an aggregate over each row's frame, or a function of the whole partition.
#[derive(Clone)]
pub enum WindowImpl {
    Aggregate(Arc<dyn AggregateImpl>),
    Window(Arc<dyn WindowFunction>),
}

impl std::fmt::Debug for WindowCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} as {:?}", self.name, self.field)
    }
}

/// What the bounds of a frame count: rows, distances in ORDER BY, or groups of equal rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

/// One end of a frame, relative to the current row.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    /// Rows or groups as UInt, a distance of the ORDER BY column's type for RANGE.
    Preceding(Value, DataType),
    CurrentRow,
    Following(Value, DataType),
    UnboundedFollowing,
}

/// The frame of a window: from `start` to `end`, both included.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameSpec {
    pub unit: FrameUnit,
    pub start: FrameBound,
    pub end: FrameBound,
}

/// Reads further columns of rows that are left of the scan below. Puts out the input's columns, then these. Between it
/// and the scan stand only nodes that drop, sort and extend rows.
#[derive(Clone, Debug)]
pub struct Fetch {
    pub input: Box<Plan>,
    /// The row id of the scan.
    pub row_id: ColumnId,
    /// Index into the schema of the scan's table, and the column that it becomes.
    pub columns: Vec<(usize, Field)>,
}

impl Plan {
    /// The columns that the node puts out, in order.
    pub fn fields(&self) -> Vec<Field> {
        match self {
            Plan::Scan(n) => n.columns.iter().map(|c| &c.1).chain(&n.row_id).cloned().collect(),
            Plan::SharedScan(n) => n.columns.iter().map(|c| c.1.clone()).collect(),
            Plan::CommonTable(n) => n.input.fields(),
            Plan::Values(n) => n.fields.clone(),
            Plan::Filter(n) => n.input.fields(),
            Plan::Project(n) => n.exprs.iter().map(|e| e.0.clone()).collect(),
            Plan::Aggregate(n) => {
                let keys = n.keys.iter().map(|k| k.0.clone());
                keys.chain(n.calls.iter().map(|c| c.field.clone())).chain(n.set_number.clone()).collect()
            }
            Plan::Sort(n) => n.input.fields(),
            Plan::MergeRows(n) => n.input.fields(),
            Plan::Fill(n) => n.input.fields(),
            Plan::Limit(n) => n.input.fields(),
            Plan::LimitBy(n) => n.input.fields(),
            Plan::Distinct(n) => n.input.fields(),
            Plan::Union(n) => n.fields.clone(),
            Plan::SetOp(n) => n.fields.clone(),
            Plan::Join(n) => n.fields.clone(),
            Plan::ArrayJoin(n) => {
                let mut fields = n.input.fields();
                fields.extend(n.columns.iter().map(|c| c.0.clone()));
                fields
            }
            Plan::Window(n) => {
                let mut fields = n.input.fields();
                fields.extend(n.calls.iter().map(|c| c.field.clone()));
                fields
            }
            Plan::Fetch(n) => {
                let mut fields = n.input.fields();
                fields.extend(n.columns.iter().map(|c| c.1.clone()));
                fields
            }
        }
    }

    /// The direct inputs, left first.
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::Scan(_) | Plan::SharedScan(_) | Plan::Values(_) => Vec::new(),
            Plan::Filter(n) => vec![&n.input],
            Plan::Project(n) => vec![&n.input],
            Plan::Aggregate(n) => vec![&n.input],
            Plan::Sort(n) => vec![&n.input],
            Plan::MergeRows(n) => vec![&n.input],
            Plan::CommonTable(n) => vec![&n.input],
            Plan::Fill(n) => vec![&n.input],
            Plan::Limit(n) => vec![&n.input],
            Plan::LimitBy(n) => vec![&n.input],
            Plan::Distinct(n) => vec![&n.input],
            Plan::Union(n) => n.inputs.iter().collect(),
            Plan::SetOp(n) => vec![&n.left, &n.right],
            Plan::Join(n) => vec![&n.left, &n.right],
            Plan::ArrayJoin(n) => vec![&n.input],
            Plan::Window(n) => vec![&n.input],
            Plan::Fetch(n) => vec![&n.input],
        }
    }

    /// The nodes directly below, to be changed; in the order of [`inputs`](Self::inputs).
    pub fn inputs_mut(&mut self) -> Vec<&mut Plan> {
        match self {
            Plan::Scan(_) | Plan::SharedScan(_) | Plan::Values(_) => Vec::new(),
            Plan::Filter(n) => vec![&mut n.input],
            Plan::Project(n) => vec![&mut n.input],
            Plan::Aggregate(n) => vec![&mut n.input],
            Plan::Sort(n) => vec![&mut n.input],
            Plan::MergeRows(n) => vec![&mut n.input],
            Plan::CommonTable(n) => vec![&mut n.input],
            Plan::Fill(n) => vec![&mut n.input],
            Plan::Limit(n) => vec![&mut n.input],
            Plan::LimitBy(n) => vec![&mut n.input],
            Plan::Distinct(n) => vec![&mut n.input],
            Plan::Union(n) => n.inputs.iter_mut().collect(),
            Plan::SetOp(n) => vec![&mut n.left, &mut n.right],
            Plan::Join(n) => vec![&mut n.left, &mut n.right],
            Plan::ArrayJoin(n) => vec![&mut n.input],
            Plan::Window(n) => vec![&mut n.input],
            Plan::Fetch(n) => vec![&mut n.input],
        }
    }

    /// The expressions that the node itself evaluates, over its inputs' columns.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            Plan::Scan(n) => n.filter.iter().collect(),
            Plan::Filter(n) => vec![&n.condition],
            Plan::Project(n) => n.exprs.iter().map(|e| &e.1).collect(),
            Plan::Aggregate(n) => {
                n.keys.iter().map(|k| &k.1).chain(n.calls.iter().flat_map(|c| &c.args)).collect()
            }
            Plan::Sort(n) => n.keys.iter().map(|k| &k.expr).collect(),
            Plan::MergeRows(n) => n.keys.iter().map(|k| &k.expr).collect(),
            Plan::Fill(n) => n.interpolate.iter().map(|i| &i.1).collect(),
            Plan::Limit(n) => n.ties.iter().flatten().map(|k| &k.expr).collect(),
            Plan::LimitBy(n) => n.columns.iter().collect(),
            Plan::Join(n) => {
                let keys = n.on.iter().flat_map(|k| [&k.left, &k.right]);
                let asof = n.asof.iter().flat_map(|a| [&a.0, &a.2]);
                keys.chain(asof).chain(&n.residual).collect()
            }
            Plan::ArrayJoin(n) => n.columns.iter().map(|c| &c.1).collect(),
            Plan::Window(n) => {
                let calls = n.calls.iter().flat_map(|c| &c.args);
                n.partition_by.iter().chain(n.order_by.iter().map(|k| &k.expr)).chain(calls).collect()
            }
            Plan::Values(_)
            | Plan::Distinct(_)
            | Plan::Union(_)
            | Plan::SetOp(_)
            | Plan::Fetch(_)
            | Plan::CommonTable(_)
            | Plan::SharedScan(_) => Vec::new(),
        }
    }

    /// The expressions of [`expressions`](Self::expressions), to be changed, in the same order.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Plan::Scan(n) => n.filter.iter_mut().collect(),
            Plan::Filter(n) => vec![&mut n.condition],
            Plan::Project(n) => n.exprs.iter_mut().map(|e| &mut e.1).collect(),
            Plan::Aggregate(n) => {
                let args = n.calls.iter_mut().flat_map(|c| &mut c.args);
                n.keys.iter_mut().map(|k| &mut k.1).chain(args).collect()
            }
            Plan::Sort(n) => n.keys.iter_mut().map(|k| &mut k.expr).collect(),
            Plan::MergeRows(n) => n.keys.iter_mut().map(|k| &mut k.expr).collect(),
            Plan::Fill(n) => n.interpolate.iter_mut().map(|i| &mut i.1).collect(),
            Plan::Limit(n) => n.ties.iter_mut().flatten().map(|k| &mut k.expr).collect(),
            Plan::LimitBy(n) => n.columns.iter_mut().collect(),
            Plan::Join(n) => {
                let keys = n.on.iter_mut().flat_map(|k| [&mut k.left, &mut k.right]);
                let asof = n.asof.iter_mut().flat_map(|a| [&mut a.0, &mut a.2]);
                keys.chain(asof).chain(&mut n.residual).collect()
            }
            Plan::ArrayJoin(n) => n.columns.iter_mut().map(|c| &mut c.1).collect(),
            Plan::Window(n) => {
                let calls = n.calls.iter_mut().flat_map(|c| &mut c.args);
                let order = n.order_by.iter_mut().map(|k| &mut k.expr);
                n.partition_by.iter_mut().chain(order).chain(calls).collect()
            }
            Plan::Values(_)
            | Plan::Distinct(_)
            | Plan::Union(_)
            | Plan::SetOp(_)
            | Plan::Fetch(_)
            | Plan::CommonTable(_)
            | Plan::SharedScan(_) => Vec::new(),
        }
    }

    /// `Filter`, `Aggregate`: the name for EXPLAIN.
    pub fn name(&self) -> &'static str {
        match self {
            Plan::Scan(_) => "Scan",
            Plan::Values(_) => "Values",
            Plan::Filter(_) => "Filter",
            Plan::Project(_) => "Project",
            Plan::Aggregate(_) => "Aggregate",
            Plan::Sort(_) => "Sort",
            Plan::Fill(_) => "Fill",
            Plan::Limit(_) => "Limit",
            Plan::LimitBy(_) => "LimitBy",
            Plan::Distinct(_) => "Distinct",
            Plan::Union(_) => "Union",
            Plan::SetOp(n) => match n.kind {
                SetOpKind::Intersect => "Intersect",
                SetOpKind::Except => "Except",
            },
            Plan::Join(_) => "Join",
            Plan::ArrayJoin(_) => "ArrayJoin",
            Plan::Window(_) => "Window",
            Plan::Fetch(_) => "Fetch",
            Plan::MergeRows(_) => "MergeRows",
            Plan::CommonTable(_) => "CommonTable",
            Plan::SharedScan(_) => "SharedScan",
        }
    }
}

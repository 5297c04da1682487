//! SELECT. As in the kernel every clause, also ORDER BY and LIMIT, belongs to one SELECT and not to the UNION around it.

use super::{Call, Expr, Ident, ObjectName, Setting, Span, WindowSpec};

/// What stands where a query may stand.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub body: SetExpr,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SetExpr {
    Select(Box<Select>),
    /// `a UNION b UNION c` is one node with three inputs, evaluated from the left; it has two or more.
    SetOp {
        op: SetOp,
        quantifier: SetQuantifier,
        inputs: Vec<SetExpr>,
    },
    /// A query in parentheses.
    Query(Box<Query>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetQuantifier {
    /// Nothing was written: the settings `union_default_mode`, `except_default_mode`, `intersect_default_mode` decide.
    None,
    All,
    Distinct,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    pub with: Vec<WithItem>,
    pub recursive: bool,
    pub distinct: bool,
    /// `DISTINCT ON (a, b)`; `distinct` is then false.
    pub distinct_on: Vec<Expr>,
    pub projection: Vec<Expr>,
    pub from: Option<TableExpr>,
    pub joins: Vec<JoinStep>,
    pub prewhere: Option<Expr>,
    pub where_: Option<Expr>,
    pub group_by: Option<GroupBy>,
    /// `WITH TOTALS` (legal without GROUP BY).
    pub with_totals: bool,
    pub having: Option<Expr>,
    pub windows: Vec<WindowDef>,
    pub qualify: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    /// `ORDER BY ALL`: `order_by` then holds one item with the direction, its expression is the identifier `all`.
    pub order_by_all: bool,
    /// `INTERPOLATE`: `Some(empty)` means all columns.
    pub interpolate: Option<Vec<InterpolateItem>>,
    pub limit_by: Option<LimitBy>,
    /// LIMIT, TOP and FETCH. Negative and fractional values are the binder's business.
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub limit_with_ties: bool,
    pub settings: Vec<Setting>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum WithItem {
    /// `WITH expr AS name`: the alias is in the expression.
    Expr(Expr),
    /// `WITH name [(columns)] AS [MATERIALIZED] (query)`.
    Cte { name: Ident, columns: Vec<Ident>, materialized: bool, query: Box<Query> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableExpr {
    pub kind: TableKind,
    pub alias: Option<Ident>,
    /// `AS t(a, b)`.
    pub column_aliases: Vec<Ident>,
    pub final_: bool,
    pub sample: Option<Sample>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TableKind {
    Name(ObjectName),
    /// A table function; a query among the arguments is `ExprKind::Subquery`.
    Function(Box<Call>),
    Query(Box<Query>),
    /// `FROM 'x.parquet'`.
    File(Vec<u8>),
}

/// `SAMPLE ratio OFFSET offset`; the values are numbers or `n / m`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub ratio: Ratio,
    pub offset: Option<Ratio>,
}

/// Two decimal texts, `0.1` or `1/10` (then the denominator is there).
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    pub numerator: String,
    pub denominator: Option<String>,
}

/// One step of FROM after the first table, applied from the left.
#[derive(Clone, Debug, PartialEq)]
pub enum JoinStep {
    Join(Box<Join>),
    /// `[LEFT] ARRAY JOIN exprs`.
    ArrayJoin {
        left: bool,
        exprs: Vec<Expr>,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub strictness: JoinStrictness,
    pub locality: JoinLocality,
    pub natural: bool,
    pub table: TableExpr,
    pub constraint: JoinConstraint,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Cross,
    Comma,
    Paste,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinStrictness {
    /// Nothing was written: the setting `join_default_strictness` decides.
    Unspecified,
    Any,
    All,
    Asof,
    Semi,
    Anti,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinLocality {
    Unspecified,
    Global,
    Local,
}

#[derive(Clone, Debug, PartialEq)]
pub enum JoinConstraint {
    None,
    On(Box<Expr>),
    /// With or without parentheses; items may have aliases.
    Using(Vec<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum GroupBy {
    Exprs(Vec<Expr>),
    All,
    /// `ROLLUP(a, b)` or `a, b WITH ROLLUP`.
    Rollup(Vec<Expr>),
    /// `GROUP BY ALL WITH ROLLUP`.
    AllRollup,
    /// `GROUP BY ALL WITH CUBE`.
    AllCube,
    Cube(Vec<Expr>),
    GroupingSets(Vec<Vec<Expr>>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowDef {
    pub name: Ident,
    pub spec: WindowSpec,
}

#[derive(Clone, Debug, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
    /// `NULLS FIRST` is `Some(true)`; without it NULL and NaN come last, whatever the direction.
    pub nulls_first: Option<bool>,
    pub collate: Option<String>,
    pub fill: Option<Box<Fill>>,
}

/// `WITH FILL FROM a TO b STEP c STALENESS d`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fill {
    pub from: Option<Expr>,
    pub to: Option<Expr>,
    pub step: Option<Expr>,
    pub staleness: Option<Expr>,
}

/// `name AS expr`; without an expression the column itself is carried on.
#[derive(Clone, Debug, PartialEq)]
pub struct InterpolateItem {
    pub name: Ident,
    pub expr: Option<Expr>,
}

/// `LIMIT limit OFFSET offset BY exprs`.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitBy {
    pub limit: Option<Expr>,
    pub offset: Option<Expr>,
    pub exprs: Vec<Expr>,
    /// `LIMIT n BY ALL`.
    pub all: bool,
}

//! Expressions. Operators are lowered to calls of the function that implements them; `style` remembers how it was written.

use super::{Ident, OrderItem, Query, Span, TypeName};

/// One expression, with the alias that may follow it anywhere: `(a + 1 AS b) * b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    pub alias: Option<Ident>,
    /// From the first to the last byte, with the parentheses around it, without the alias.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    /// `a`, `a.b`, `db.table.column`, and subcolumns (`n.null`, `arr.size0`, `t.elem`): the binder tells them apart.
    Identifier(Vec<Ident>),
    /// `*` with `EXCEPT`, `REPLACE`, `APPLY`.
    Star(Vec<Transformer>),
    /// `t.*`, `db.t.*`.
    QualifiedStar {
        prefix: Vec<Ident>,
        transformers: Vec<Transformer>,
    },
    /// `COLUMNS('regex')`, `COLUMNS(a, b)`, `t.COLUMNS(...)`.
    Columns {
        prefix: Vec<Ident>,
        matcher: ColumnsMatcher,
        transformers: Vec<Transformer>,
    },
    Call(Box<Call>),
    /// `x -> body`, `(x, y) -> body`.
    Lambda {
        params: Vec<Ident>,
        body: Box<Expr>,
    },
    /// A query in parentheses: scalar, or the right side of IN.
    Subquery(Box<Query>),
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `{name:Type}`.
    Parameter {
        name: String,
        ty: TypeName,
    },
}

#[derive(Clone, Debug)]
pub enum Literal {
    Null,
    Bool(bool),
    UInt(u64),
    /// Negative integers only; the parser folds the sign into the number.
    Int(i64),
    Float(f64),
    String(Vec<u8>),
}

impl PartialEq for Literal {
    /// Of texts, not of numbers: NaN equals itself.
    fn eq(&self, other: &Literal) -> bool {
        match (self, other) {
            (Literal::Null, Literal::Null) => true,
            (Literal::Bool(a), Literal::Bool(b)) => a == b,
            (Literal::UInt(a), Literal::UInt(b)) => a == b,
            (Literal::Int(a), Literal::Int(b)) => a == b,
            (Literal::Float(a), Literal::Float(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            (Literal::String(a), Literal::String(b)) => a == b,
            _ => false,
        }
    }
}

/// A call of a function, an aggregate or an operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// As written for a function (`COUNT`), the kernel's name for an operator (`plus`).
    pub name: String,
    /// Of a parametric function: `quantile(0.5)(x)`.
    pub params: Option<Vec<Expr>>,
    pub args: Vec<Expr>,
    /// `f(DISTINCT x)`.
    pub distinct: bool,
    /// `f(x) FILTER (WHERE ...)`.
    pub filter: Option<Box<Expr>>,
    pub nulls: Option<NullsAction>,
    pub over: Option<WindowRef>,
    /// `f(x ORDER BY y)`.
    pub order_by: Vec<OrderItem>,
    /// SETTINGS inside the parentheses of a table function.
    pub settings: Vec<Setting>,
    pub style: CallStyle,
}

impl Call {
    /// Is it `count(*)`, which takes no argument?
    pub fn counts_rows(&self) -> bool {
        self.name.eq_ignore_ascii_case("count")
            && matches!(&self.args[..], [Expr { kind: ExprKind::Star(transformers), .. }] if transformers.is_empty())
    }

    pub fn new(name: impl Into<String>, args: Vec<Expr>, style: CallStyle) -> Self {
        Call {
            name: name.into(),
            params: None,
            args,
            distinct: false,
            filter: None,
            nulls: None,
            over: None,
            order_by: Vec::new(),
            settings: Vec::new(),
            style,
        }
    }
}

/// How a call was written. It changes the printed form, never the meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStyle {
    /// `f(x)`, and everything that is lowered for good: BETWEEN, CASE, INTERVAL, EXTRACT, `?:`.
    Function,
    /// `a + b`, `NOT a`, `a IS NULL`, `a[1]`, `t.1`.
    Operator,
    /// `[a, b]`.
    Array,
    /// `(a, b)`.
    Tuple,
    /// `CAST(x AS T)` or `x::T`; the second argument is the type as a string literal.
    Cast,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullsAction {
    Respect,
    Ignore,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ColumnsMatcher {
    Regex(Vec<u8>),
    List(Vec<Expr>),
}

/// What may follow `*` and `COLUMNS(...)`.
#[derive(Clone, Debug, PartialEq)]
pub enum Transformer {
    /// `EXCEPT [STRICT] (a, b)`.
    Except { strict: bool, columns: Vec<Ident> },
    /// `EXCEPT ('regex')`.
    ExceptRegex(Vec<u8>),
    /// `REPLACE [STRICT] (expr AS a)`.
    Replace { strict: bool, items: Vec<(Expr, Ident)> },
    /// `APPLY f`, `APPLY f(params)`, with `APPLY(f, 'prefix')` when the kernel takes it.
    Apply { function: String, params: Vec<Expr>, prefix: Option<Vec<u8>> },
    /// `APPLY (x -> ...)`.
    ApplyLambda { param: Ident, body: Box<Expr> },
}

#[derive(Clone, Debug, PartialEq)]
pub enum WindowRef {
    /// `OVER w`.
    Named(Ident),
    /// `OVER (...)`.
    Spec(Box<WindowSpec>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct WindowSpec {
    /// The window this one extends: `OVER (w ORDER BY x)`.
    pub base: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<Frame>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// Without BETWEEN the kernel ends the frame at the current row.
    pub end: FrameBound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Clone, Debug, PartialEq)]
pub enum FrameBound {
    UnboundedPreceding,
    Preceding(Box<Expr>),
    CurrentRow,
    Following(Box<Expr>),
    UnboundedFollowing,
}

/// `name = value` of SETTINGS and SET.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub name: Ident,
    pub value: SettingValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// A literal, or an array, tuple or map of literals, or a parameter.
    Expr(Expr),
    Default,
}

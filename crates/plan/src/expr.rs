//! Bound expressions: every name is a column, every call a function with known types.

use crate::{ColumnId, Plan};
use chalet_columns::{Block, Column, Data, Vector};
use chalet_function_api::call::BoundFunction;
use chalet_types::{DataType, Value};
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// An expression over the columns of a node's inputs; the type of every part is known.
#[derive(Clone, Debug)]
pub enum Expr {
    Column(ColumnId, DataType),
    Literal(Literal),
    Call {
        function: Arc<BoundFunction>,
        args: Vec<Expr>,
    },
    /// Only as an argument of a call. Columns of the body that are not parameters are captured.
    Lambda {
        params: Vec<(ColumnId, DataType)>,
        body: Box<Expr>,
    },
    In(Box<InExpr>),
    /// Only until the optimizer has made joins of it: nothing runs it.
    Subquery(Box<SubqueryExpr>),
}

/// One value as a vector of one row.
#[derive(Clone, Debug)]
pub struct Literal {
    pub value: Arc<Vector>,
    pub ty: DataType,
}

impl Literal {
    /// The value itself.
    pub fn value(&self) -> Value {
        self.value.value(0)
    }
}

/// `needle IN set`.
#[derive(Clone, Debug)]
pub struct InExpr {
    /// One expression per column of the set, cast to the set's types (NULL where the cast is impossible).
    pub needles: Vec<Expr>,
    pub negated: bool,
    /// `transform_null_in`: NULL is found in a set that holds NULL; else the answer is NULL.
    pub null_in: bool,
    pub set: Arc<InSet>,
    pub ty: DataType,
}

/// A query in an expression that reads columns of the query around it.
#[derive(Clone, Debug)]
pub struct SubqueryExpr {
    pub kind: SubqueryKind,
    /// A scalar one has one column, which has the expression's type. One of IN has a column for each needle, of the same
    /// type but for NULLs. Of EXISTS nobody reads the columns.
    pub plan: Arc<Plan>,
    /// Columns that the plan reads and that none of its nodes makes.
    pub params: Vec<(ColumnId, DataType)>,
    /// What the parameters stand for in the query around, then the needles of IN.
    pub args: Vec<Expr>,
    pub ty: DataType,
}

impl SubqueryExpr {
    /// The left side of IN, one expression per column; empty for the other kinds.
    pub fn needles(&self) -> &[Expr] {
        &self.args[self.params.len()..]
    }
}

/// What a sub-query is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubqueryKind {
    /// The value in its first row; NULL (or the type's default) without one.
    Scalar,
    /// Whether it has a row.
    Exists,
    /// Whether it has a row that equals the needles; flags as in [`InExpr`].
    In { negated: bool, null_in: bool },
}

/// The right side of IN. The executor turns it into a hash table before the pipelines that use it run.
pub struct InSet {
    /// Of the columns of the set.
    pub types: Vec<DataType>,
    pub source: SetSource,
    /// What the executor built.
    pub built: OnceLock<Arc<dyn std::any::Any + Send + Sync>>,
}

/// Where the rows of a set come from.
pub enum SetSource {
    /// Constant rows.
    Block(Block),
    /// The rows of a sub-query.
    Plan(Box<Plan>),
}

impl fmt::Debug for InSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InSet({:?})", self.types)
    }
}

impl Expr {
    /// A literal of this type. Fails when the value is not of the type's representation.
    pub fn literal(value: &Value, ty: DataType) -> chalet_base::Result<Expr> {
        Ok(Expr::Literal(Literal { value: Arc::new(Vector::of_value(value, &ty)?), ty }))
    }

    /// A call of a bound function, which has as many arguments as it was bound with.
    pub fn call(function: BoundFunction, args: Vec<Expr>) -> Expr {
        Expr::Call { function: Arc::new(function), args }
    }

    /// The type of the result; of a lambda that of its body.
    pub fn ty(&self) -> &DataType {
        match self {
            Expr::Column(_, ty) => ty,
            Expr::Literal(literal) => &literal.ty,
            Expr::Call { function, .. } => &function.result,
            Expr::Lambda { body, .. } => body.ty(),
            Expr::In(e) => &e.ty,
            Expr::Subquery(e) => &e.ty,
        }
    }

    /// Is it a literal?
    pub fn is_literal(&self) -> bool {
        matches!(self, Expr::Literal(_))
    }

    /// The literal that the expression is, if it is one.
    pub fn as_literal(&self) -> Option<&Literal> {
        match self {
            Expr::Literal(literal) => Some(literal),
            _ => None,
        }
    }

    /// The id of a plain column.
    pub fn as_column(&self) -> Option<ColumnId> {
        match self {
            Expr::Column(id, _) => Some(*id),
            _ => None,
        }
    }

    /// The name of the function of a call.
    pub fn function_name(&self) -> Option<&'static str> {
        match self {
            Expr::Call { function, .. } => Some(function.function.record().name),
            _ => None,
        }
    }

    /// The literal as a constant column.
    pub fn constant(literal: &Literal, n_rows: usize) -> Column {
        Column::Const { value: Vector::clone(&literal.value), len: n_rows }
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.ty == other.ty
            && (Arc::ptr_eq(&self.value, &other.value)
                || self.value.compare(0, &other.value, 0) == Ordering::Equal
                    && negative_zero(&self.value) == negative_zero(&other.value))
    }
}

/// The two zeros of floats compare as equal, but they are not the same literal.
fn negative_zero(value: &Vector) -> bool {
    match &value.data {
        Data::F64(values) => values.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
        Data::F32(values) => values.iter().any(|x| *x == 0.0 && x.is_sign_negative()),
        _ => false,
    }
}

/// Are the rows of both sets constant, and the same?
fn are_of_same_rows(a: &InSet, b: &InSet) -> bool {
    let (SetSource::Block(ours), SetSource::Block(theirs)) = (&a.source, &b.source) else { return false };
    if a.types != b.types || ours.n_rows() != theirs.n_rows() {
        return false;
    }
    ours.columns().iter().zip(theirs.columns()).all(|(ours, theirs)| {
        let (ours, theirs) = (ours.flat(), theirs.flat());
        negative_zero(&ours) == negative_zero(&theirs)
            && (0..ours.len()).all(|row| ours.compare(row, &theirs, row) == Ordering::Equal)
    })
}

/// Structural: the same function over equal arguments. Sub-queries, also those of sets, are equal when they are the same object.
impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Expr::Column(a, _), Expr::Column(b, _)) => a == b,
            (Expr::Literal(a), Expr::Literal(b)) => a == b,
            (Expr::Call { function: f, args: a }, Expr::Call { function: g, args: b }) => {
                (Arc::ptr_eq(f, g)
                    || std::ptr::eq(f.function.record(), g.function.record())
                        && f.result == g.result
                        && f.arg_types == g.arg_types)
                    && a == b
            }
            (Expr::Lambda { params: p, body: a }, Expr::Lambda { params: q, body: b }) => {
                p.len() == q.len() && {
                    let renamed: Vec<_> = q.iter().zip(p).map(|(from, to)| (from.0, to.clone())).collect();
                    **a == b.rename(&renamed)
                }
            }
            (Expr::In(a), Expr::In(b)) => {
                a.negated == b.negated
                    && a.null_in == b.null_in
                    && a.needles == b.needles
                    && (Arc::ptr_eq(&a.set, &b.set) || are_of_same_rows(&a.set, &b.set))
            }
            (Expr::Subquery(a), Expr::Subquery(b)) => {
                Arc::ptr_eq(&a.plan, &b.plan) && a.kind == b.kind && a.args == b.args
            }
            _ => false,
        }
    }
}

impl fmt::Display for Expr {
    /// The functional form, for EXPLAIN.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Column(id, _) => write!(f, "#{}", id.0),
            Expr::Literal(literal) => write!(f, "{}", ShowValue(&literal.value(), &literal.ty)),
            Expr::Call { function, args } => {
                write!(f, "{}(", function.function.record().name)?;
                write_list(f, args)?;
                f.write_str(")")
            }
            Expr::Lambda { params, body } => {
                f.write_str("(")?;
                for (i, (id, _)) in params.iter().enumerate() {
                    write!(f, "{}#{}", if i == 0 { "" } else { ", " }, id.0)?;
                }
                write!(f, ") -> {body}")
            }
            Expr::In(e) => {
                write!(f, "{}(", if e.negated { "notIn" } else { "in" })?;
                write_list(f, &e.needles)?;
                f.write_str(", set)")
            }
            Expr::Subquery(e) => {
                f.write_str(match e.kind {
                    SubqueryKind::Scalar => "scalar(",
                    SubqueryKind::Exists => "exists(",
                    SubqueryKind::In { negated: false, .. } => "in(",
                    SubqueryKind::In { negated: true, .. } => "notIn(",
                })?;
                write_list(f, e.needles())?;
                f.write_str(if e.needles().is_empty() { "subquery over " } else { ", subquery over " })?;
                write_list(f, &e.args[..e.params.len()])?;
                f.write_str(")")
            }
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, args: &[Expr]) -> fmt::Result {
    for (i, arg) in args.iter().enumerate() {
        write!(f, "{}{arg}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}

struct ShowValue<'a>(&'a Value, &'a DataType);

impl fmt::Display for ShowValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => f.write_str("NULL"),
            Value::UInt(x) => write!(f, "{x}"),
            Value::Int(x) => write!(f, "{x}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Bytes(b) => write!(f, "'{}'", String::from_utf8_lossy(b)),
            other => write!(f, "{other:?}_{}", self.1),
        }
    }
}

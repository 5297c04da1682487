//! The trait of scalar functions, and what a call hands to it.

use crate::{Constants, Context, Record};
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Native, Strings, Vector};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A function of the values of one row: pure but for what its record declares.
pub trait ScalarFunction: Send + Sync {
    /// What the function says of itself.
    fn record(&self) -> &'static Record;

    /// Checks the arguments and names the type of the result. Runs once per query, before any row; what it
    /// prepares (a compiled pattern) reaches every [`execute`](Self::execute) as [`Call::state`].
    ///
    /// With [`Nulls::Propagate`](crate::Nulls) types come without Nullable, and never as LowCardinality unless
    /// the record says so.
    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound>;

    /// Computes the result of `call.n_rows` rows, of the type that `bind` gave.
    fn execute(&self, call: &Call) -> Result<Column>;

    /// The result, of one row, when no value of an argument changes it: then none is computed. `state` is what `bind`
    /// prepared.
    fn known_result(&self, state: Option<&(dyn Any + Send + Sync)>) -> Option<Vector> {
        let _ = state;
        None
    }

    /// The range `[low, high]` to which the function clamps its first argument, if that is all that it does to it, whatever the
    /// other arguments are: then it is monotonic, and the identity inside the range.
    fn monotonic_range(&self, from: &DataType, result: &DataType) -> Option<RangeInclusive<i128>> {
        let _ = (from, result);
        None
    }

    /// Where values of the first argument grow and the others stay, does the result never fall, whatever the values are? Types come
    /// without Nullable and LowCardinality; `state` is what `bind` prepared.
    fn never_falls(
        &self,
        from: &DataType,
        result: &DataType,
        state: Option<&(dyn Any + Send + Sync)>,
        ctx: &Context,
    ) -> bool {
        let _ = (from, result, state, ctx);
        false
    }

    /// Of a comparison with a string literal: the literal's position among the arguments, and the value that it was parsed to.
    /// `state` is what `bind` prepared.
    fn parsed_literal(&self, state: &(dyn Any + Send + Sync)) -> Option<(usize, Value)> {
        let _ = state;
        None
    }

    /// For functions that take lambdas: types of the parameters of the lambda at `index`. The entries of `args`
    /// that are lambdas are not bound yet.
    fn lambda_parameters(
        &self,
        index: usize,
        args: &[Argument],
        n_parameters: usize,
    ) -> Result<Vec<DataType>> {
        let _ = (index, args, n_parameters);
        bail!(
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Function {} does not take a lambda expression as an argument",
            self.record().name
        )
    }
}

/// An argument as the binder knows it.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Of a lambda: the type of its result.
    pub ty: DataType,
    /// Known before the query runs.
    pub constant: Option<Value>,
    pub is_lambda: bool,
    /// The framework took Nullable off the type.
    pub was_nullable: bool,
    /// The name a column of this expression would have.
    pub name: Arc<str>,
}

impl Argument {
    /// An argument of which only the type is known: no constant, no lambda, no name.
    pub fn of_type(ty: DataType) -> Argument {
        Argument { ty, constant: None, is_lambda: false, was_nullable: false, name: "".into() }
    }

    /// The constant as text, or the error that the argument must be one.
    pub fn constant_str(&self, function: &str, what: &str) -> Result<&str> {
        ensure!(
            self.ty.is_string(),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {what} of function {function} must be a constant string, got {}",
            self.ty
        );
        self.constant.as_ref().and_then(Value::as_str).ok_or_else(|| {
            err!(ILLEGAL_COLUMN, "Argument {what} of function {function} must be a constant string")
        })
    }
}

/// What `bind` decides.
pub struct Bound {
    pub result: DataType,
    pub state: Option<Arc<dyn Any + Send + Sync>>,
}

impl Bound {
    /// A result type, and what `execute` finds in [`Call::state`].
    pub fn with_state(result: DataType, state: impl Any + Send + Sync) -> Bound {
        Bound { result, state: Some(Arc::new(state)) }
    }
}

impl From<DataType> for Bound {
    fn from(result: DataType) -> Self {
        Bound { result, state: None }
    }
}

/// A lambda argument at run time.
pub trait Lambda {
    /// Evaluates the body over elements: `args` are its parameters, one row per element; the columns it captures
    /// are repeated so that outer row `i` serves the elements `offsets[i]..offsets[i + 1]`.
    fn call(&self, args: Vec<Column>, offsets: &[i64]) -> Result<Column>;

    /// The type of the body.
    fn result_type(&self) -> &DataType;

    /// How many parameters the lambda has.
    fn n_parameters(&self) -> usize;
}

/// One call over a block.
pub struct Call<'a> {
    pub args: &'a [Arg<'a>],
    pub result: &'a DataType,
    pub n_rows: usize,
    pub state: Option<&'a (dyn Any + Send + Sync)>,
    pub ctx: &'a Context,
}

/// An argument at run time.
pub struct Arg<'a> {
    pub ty: &'a DataType,
    /// One row when `constant`, else one per row of the block. Empty for a lambda.
    pub vector: Cow<'a, Vector>,
    /// Only ever set for functions with [`Constants::Seen`].
    pub constant: bool,
    pub lambda: Option<&'a dyn Lambda>,
}

impl<'a> Call<'a> {
    /// What `bind` prepared.
    pub fn state<S: 'static>(&self) -> Result<&'a S> {
        self.state
            .and_then(|s| s.downcast_ref())
            .ok_or_else(|| err!(LOGICAL_ERROR, "Function was called without the state it prepared"))
    }

    /// The values of an argument: one per row, or one in all when it is constant.
    pub fn vector(&self, index: usize) -> &Vector {
        &self.args[index].vector
    }

    /// Values of a fixed-width argument.
    pub fn natives<T: Native>(&self, index: usize) -> Result<NativeArg<'_, T>> {
        let arg = &self.args[index];
        Ok(NativeArg { values: arg.vector.values()?, step: usize::from(!arg.constant) })
    }

    /// Values of a String argument.
    pub fn strings(&self, index: usize) -> Result<StringArg<'_>> {
        let arg = &self.args[index];
        Ok(StringArg { values: arg.vector.strings()?, step: usize::from(!arg.constant) })
    }

    /// The lambda at this position. Fails when the argument is none.
    pub fn lambda(&self, index: usize) -> Result<&dyn Lambda> {
        self.args[index].lambda.ok_or_else(|| {
            err!(ILLEGAL_TYPE_OF_ARGUMENT, "Argument {} must be a lambda expression", index + 1)
        })
    }
}

/// A fixed-width argument, constant or not.
#[derive(Clone, Copy)]
pub struct NativeArg<'a, T> {
    values: &'a [T],
    step: usize,
}

impl<'a, T: Native> NativeArg<'a, T> {
    /// The value of a row, also when it is constant.
    #[inline(always)]
    pub fn get(&self, row: usize) -> T {
        self.values[row * self.step]
    }

    /// The values when there is one per row.
    pub fn slice(&self) -> Option<&'a [T]> {
        (self.step == 1).then_some(self.values)
    }

    /// The value when it is constant.
    pub fn constant(&self) -> Option<T> {
        (self.step == 0).then(|| self.values[0])
    }
}

/// A String argument, constant or not.
#[derive(Clone, Copy)]
pub struct StringArg<'a> {
    values: &'a Strings,
    step: usize,
}

impl<'a> StringArg<'a> {
    /// The bytes of a row, also when they are constant.
    #[inline(always)]
    pub fn get(&self, row: usize) -> &'a [u8] {
        self.values.get(row * self.step)
    }

    /// The bytes when they are constant.
    pub fn constant(&self) -> Option<&'a [u8]> {
        (self.step == 0).then(|| self.values.get(0))
    }

    /// The column itself when there is one value per row.
    pub fn column(&self) -> Option<&'a Strings> {
        (self.step == 1).then_some(self.values)
    }
}

/// Fails unless the number of arguments is within bounds, in the kernel's words.
pub fn check_arity(name: &str, given: usize, expected: RangeInclusive<usize>) -> Result<()> {
    if expected.contains(&given) {
        return Ok(());
    }
    let (least, most) = (*expected.start(), *expected.end());
    let wanted = match (least, most) {
        (a, b) if a == b => format!("{a}"),
        (a, usize::MAX) => format!("at least {a}"),
        (a, b) => format!("from {a} to {b}"),
    };
    bail!(
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Number of arguments for function {name} doesn't match: passed {given}, should be {wanted}"
    )
}

/// Fails in the kernel's words unless the argument's type passes the test.
pub fn check_type(
    name: &str,
    args: &[Argument],
    index: usize,
    test: impl Fn(&DataType) -> bool,
    expected: &str,
) -> Result<()> {
    let ty = &args[index].ty;
    ensure!(
        test(ty),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Illegal type {ty} of argument {} of function {name}, expected {expected}",
        index + 1
    );
    Ok(())
}

impl Record {
    pub(crate) fn sees_constants(&self) -> bool {
        self.constants == Constants::Seen
    }
}

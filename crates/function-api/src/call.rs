//! The framework around a function: what it does with NULLs, constants and dictionaries, at bind and at run time.

use crate::dictionary_results::{Advice, DictionaryResults};
use crate::several::Several;
use crate::{
    Arg, Argument, Bound, Call, Context, Dictionaries, Lambda, Nulls, Record, ScalarFunction, Volatility,
};
use chalet_base::{ErrorCode, Result, bail, codes, err};
use chalet_columns::{BooleanBuffer, Column, Data, NullBuffer, Vector};
use chalet_memory::{profile, thread};
use chalet_types::{DataType, Value};
use std::any::Any;
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A function with its argument types decided.
#[derive(Clone)]
pub struct BoundFunction {
    pub function: Arc<dyn ScalarFunction>,
    pub arg_types: Vec<DataType>,
    /// As the user sees it.
    pub result: DataType,
    /// As the function makes it: without Nullable and LowCardinality that the framework adds.
    inner_result: DataType,
    inner_types: Vec<DataType>,
    state: Option<Arc<dyn Any + Send + Sync>>,
    /// The result is NULL whatever the arguments are.
    always_null: bool,
    /// An argument is of several types: the function is bound anew to each.
    several: Option<Arc<Several>>,
    results: DictionaryResults,
}

/// An argument value at run time.
pub enum Input<'a> {
    Column(Column),
    Lambda(&'a dyn Lambda),
}

/// Calls over at least this many rows look first whether the query may go on: an expression of many functions over a large
/// block must not keep it from being stopped.
const ROWS_BETWEEN_CHECKS: usize = 4096;

/// Arrays that many rows refer to are copied for the function, but no more elements than these at once.
const ELEMENTS_AT_ONCE: usize = 1 << 22;

impl BoundFunction {
    /// Binds a function to its arguments: takes Nullable and LowCardinality off their types as the record asks, lets the
    /// function decide the result, and puts them back on it. Fails on arguments that the function does not take.
    pub fn bind(
        function: Arc<dyn ScalarFunction>,
        args: &[Argument],
        ctx: &Context,
    ) -> Result<BoundFunction> {
        let record = function.record();
        if record.constants_before_types {
            check_constants(record, args)?;
        }
        let arg_types: Vec<DataType> = args.iter().map(|a| a.ty.clone()).collect();
        if let Some((several, result)) = Several::bind(&function, args, ctx)? {
            return Ok(BoundFunction {
                function,
                arg_types,
                inner_result: result.clone(),
                result,
                inner_types: Vec::new(),
                state: None,
                always_null: false,
                several: Some(Arc::new(several)),
                results: DictionaryResults::default(),
            });
        }
        let mut inner: Vec<Argument> = args.to_vec();

        let is_coded = |a: &Argument| matches!(a.ty, DataType::LowCardinality(_));
        // Constants are no dictionaries, even those whose type says so.
        let dictionaries = inner.iter().filter(|a| is_coded(a) && a.constant.is_none()).count();
        let others_constant = inner.iter().all(|a| is_coded(a) || a.constant.is_some());
        let keeps_dictionary =
            inner.iter().any(is_coded) && dictionaries <= 1 && others_constant && per_value(record);
        for arg in &mut inner {
            arg.ty = match record.dictionaries {
                Dictionaries::InTypes => continue,
                Dictionaries::Decoded if record.nulls == Nulls::Seen => {
                    arg.ty.without_low_cardinality().clone()
                }
                _ => arg.ty.recursively_without_low_cardinality(),
            };
        }

        let mut nullable = false;
        let mut always_null = false;
        // An element of an empty array goes before NULL: what is made of both is Nothing, not a Nullable of it.
        let of_element = inner.iter().any(|a| !a.is_lambda && a.ty == DataType::Nothing);
        if record.nulls == Nulls::Propagate {
            always_null = inner.iter().any(|a| !a.is_lambda && a.ty.is_only_null());
            for arg in inner.iter_mut().filter(|a| !a.is_lambda) {
                if let DataType::Nullable(below) = &arg.ty {
                    nullable = true;
                    arg.was_nullable = true;
                    arg.ty = DataType::clone(below);
                }
            }
        }
        // Of elements of an empty array nothing can be made.
        let of_nothing = record.nulls == Nulls::Propagate
            && inner.iter().any(|a| !a.is_lambda && a.ty == DataType::Nothing);
        let always_null = always_null || of_nothing;
        if always_null {
            check_constants(record, args)?;
        }
        let bound = bind_around_nulls(&*function, &inner, ctx);
        let Bound { result: inner_result, state } = match bound {
            // A NULL may stand for an argument of any type.
            Err(error) if always_null && !(is_of_arity(error.code()) && counts_first(&*function, ctx)) => {
                DataType::Nothing.into()
            }
            Ok(_) if always_null => DataType::Nothing.into(),
            bound => bound?,
        };
        let mut result = inner_result.clone();
        if nullable && !of_element && result.can_be_nullable() {
            result = result.nullable();
        }
        if keeps_dictionary && can_be_low_cardinality(&result) {
            result = result.low_cardinality();
        }
        let inner_types = inner.into_iter().map(|a| a.ty).collect();
        Ok(BoundFunction {
            function,
            arg_types,
            result,
            inner_result,
            inner_types,
            state,
            always_null,
            several: None,
            results: DictionaryResults::default(),
        })
    }

    /// What every row gets, whatever the arguments are.
    pub fn known_result(&self) -> Option<Vector> {
        self.function.known_result(self.state.as_deref())
    }

    /// See [`ScalarFunction::monotonic_range`]; none where NULL is refused or made. A dictionary changes nothing.
    pub fn monotonic_range(&self) -> Option<RangeInclusive<i128>> {
        let from = self.arg_types.first()?;
        let (from_null, to_null) = (from.without_low_cardinality(), self.result.without_low_cardinality());
        if from_null.is_nullable() && !to_null.is_nullable() {
            return None;
        }
        self.function.monotonic_range(from.bare(), self.result.bare())
    }

    /// See [`ScalarFunction::never_falls`]; of values that are not NULL, of which NULL is not made.
    pub fn never_falls(&self, ctx: &Context) -> bool {
        let is_plain = self.several.is_none() && !self.always_null;
        let Some(from) = self.arg_types.first().filter(|_| is_plain) else { return false };
        self.function.never_falls(from.bare(), self.result.bare(), self.state.as_deref(), ctx)
    }

    /// See [`ScalarFunction::parsed_literal`].
    pub fn parsed_literal(&self) -> Option<(usize, Value)> {
        self.function.parsed_literal(self.state.as_deref()?)
    }

    /// Runs the function over a block. The result has `n_rows` rows and the type [`result`](Self::result).
    pub fn execute(&self, inputs: Vec<Input>, n_rows: usize, ctx: &Context) -> Result<Column> {
        let record = self.function.record();
        if self.always_null {
            return Ok(Column::constant(Vector::defaults(&self.result, 1), n_rows));
        }
        if let Some(several) = &self.several {
            return several.execute(&self.function, &self.result, inputs, n_rows, ctx);
        }
        let all_const = inputs.iter().all(|i| matches!(i, Input::Column(Column::Const { .. })));
        if all_const && !inputs.is_empty() && record.volatility != Volatility::PerRow && n_rows != 1 {
            let ones = inputs.into_iter().map(|i| match i {
                Input::Column(Column::Const { value, .. }) => Input::Column(Column::Flat(value)),
                other => other,
            });
            let value = self.execute_flat(ones.collect(), 1, ctx)?.into_flat();
            return Ok(Column::Const { value, len: n_rows });
        }
        if per_value(record)
            && let Some(column) = self.execute_per_value(&inputs, n_rows, ctx)?
        {
            return Ok(column);
        }
        let columns: Option<Vec<&Column>> = inputs
            .iter()
            .map(|input| match input {
                Input::Column(column) => Some(column),
                Input::Lambda(_) => None,
            })
            .collect();
        // A lambda's captured columns cannot be cut with the arguments; its body cuts them itself.
        let Some(columns) =
            columns.filter(|columns| columns.iter().any(|c| matches!(c, Column::Dict { .. })))
        else {
            return self.execute_flat(inputs, n_rows, ctx);
        };
        let pieces = Column::pieces(&columns, n_rows, usize::MAX, ELEMENTS_AT_ONCE);
        if pieces.len() <= 1 || record.volatility == Volatility::PerRow {
            return self.execute_flat(inputs, n_rows, ctx);
        }
        let mut results = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let cut = columns.iter().map(|column| Input::Column(column.slice(piece.start, piece.len())));
            results.push(self.execute_flat(cut.collect(), piece.len(), ctx)?);
        }
        Ok(Column::concat(&results.iter().collect::<Vec<_>>()))
    }

    /// One dictionary among constants: the function runs once per distinct value.
    fn execute_per_value(&self, inputs: &[Input], n_rows: usize, ctx: &Context) -> Result<Option<Column>> {
        let mut dictionary = None;
        let mut arguments = Vec::with_capacity(inputs.len());
        for input in inputs {
            match input {
                Input::Column(Column::Const { value, .. }) => arguments.push(value),
                Input::Column(Column::Dict { codes, values }) if dictionary.is_none() => {
                    dictionary = Some((codes.clone(), values.len()));
                    arguments.push(values);
                }
                _ => return Ok(None),
            }
        }
        let Some((codes, n_values)) = dictionary else {
            return Ok(None);
        };
        let coded = |result: Column| match result {
            Column::Const { value, .. } => Column::Const { value, len: n_rows },
            other => Column::Dict { codes, values: other.into_flat() },
        };
        match self.results.advice(&ctx.shared, &arguments, n_values, n_rows) {
            Advice::Known(result) => return Ok(Some(coded(result))),
            Advice::Rows => return Ok(None),
            Advice::Compute => {}
        }
        let per_value = inputs.iter().map(|input| match input {
            Input::Column(Column::Dict { values, .. }) => Input::Column(Column::Flat(values.clone())),
            Input::Column(Column::Const { value, .. }) => {
                Input::Column(Column::Const { value: value.clone(), len: n_values })
            }
            _ => unreachable!("checked above"),
        });
        // Values that no row uses must not fail the query: then rows decide.
        let result = self.execute_flat(per_value.collect(), n_values, ctx).ok();
        self.results.put(&ctx.shared, &arguments, result.as_ref());
        Ok(result.map(coded))
    }

    fn execute_flat(&self, inputs: Vec<Input>, n_rows: usize, ctx: &Context) -> Result<Column> {
        let record = self.function.record();
        let all_const = inputs.iter().all(|i| matches!(i, Input::Column(Column::Const { .. })));
        let keep_constants = record.sees_constants() && !all_const;
        let mut args: Vec<Arg> = Vec::with_capacity(inputs.len());
        for (input, ty) in inputs.into_iter().zip(&self.inner_types) {
            args.push(match input {
                Input::Column(Column::Const { value, .. }) if keep_constants => {
                    Arg { ty, vector: Cow::Owned(value), constant: true, lambda: None }
                }
                Input::Column(column) => {
                    Arg { ty, vector: Cow::Owned(column.into_flat()), constant: false, lambda: None }
                }
                Input::Lambda(lambda) => Arg {
                    ty,
                    vector: Cow::Owned(Vector::from(Data::Nothing(0))),
                    constant: false,
                    lambda: Some(lambda),
                },
            });
        }
        let of_several = args.iter().any(|a| a.ty.is_of_several_types());
        if record.nulls == Nulls::Seen || of_several || args.iter().all(|a| a.vector.validity.is_none()) {
            return self.invoke(&args, n_rows, ctx);
        }
        self.invoke_around_nulls(args, n_rows, ctx)
    }

    /// NULL in, NULL out: the function runs over the values beneath; if one of those beneath a NULL makes it fail,
    /// it runs again over the other rows only.
    fn invoke_around_nulls(&self, mut args: Vec<Arg>, n_rows: usize, ctx: &Context) -> Result<Column> {
        // A type that cannot be Nullable keeps the value that its function computed, of the default in place of NULL.
        let nullable = self.result.without_low_cardinality().is_nullable();
        let mut validity: Option<NullBuffer> = None;
        for arg in &mut args {
            let Some(own) = arg.vector.validity.clone() else { continue };
            if !nullable {
                arg.vector = Cow::Owned(if own.null_count() > 0 {
                    let valid = arg.vector.gather(&chalet_columns::bits::set_rows(own.inner()));
                    scatter(&valid.without_nulls(), own.inner(), arg.ty)
                } else {
                    arg.vector.without_nulls()
                });
                continue;
            }
            let own = if arg.constant {
                // A constant with validity is NULL.
                NullBuffer::new_null(n_rows)
            } else {
                own
            };
            validity = NullBuffer::union(validity.as_ref(), Some(&own));
            arg.vector = Cow::Owned(arg.vector.without_nulls());
        }
        let Some(validity) = validity else {
            return self.invoke(&args, n_rows, ctx);
        };
        if validity.null_count() == n_rows {
            return Ok(Column::constant(Vector::defaults(&self.result, 1), n_rows));
        }
        let result = match self.invoke(&args, n_rows, ctx) {
            Ok(column) => column.into_flat(),
            Err(_) => self.invoke_on_valid(&args, &validity, ctx)?,
        };
        Ok(Column::Flat(result.with_nulls(Some(&validity))))
    }

    fn invoke_on_valid(&self, args: &[Arg], validity: &NullBuffer, ctx: &Context) -> Result<Vector> {
        let rows = chalet_columns::bits::set_rows(validity.inner());
        let valid: Vec<Arg> = args
            .iter()
            .map(|arg| Arg {
                ty: arg.ty,
                vector: if arg.constant || arg.lambda.is_some() {
                    Cow::Borrowed(&*arg.vector)
                } else {
                    Cow::Owned(arg.vector.gather(&rows))
                },
                constant: arg.constant,
                lambda: arg.lambda,
            })
            .collect();
        let some = self.invoke(&valid, rows.len(), ctx)?.into_flat();
        Ok(scatter(&some, validity.inner(), &self.inner_result))
    }

    fn invoke(&self, args: &[Arg], n_rows: usize, ctx: &Context) -> Result<Column> {
        let call = Call { args, result: &self.inner_result, n_rows, state: self.state.as_deref(), ctx };
        if n_rows >= ROWS_BETWEEN_CHECKS {
            ctx.interrupt.check()?;
        }
        let name = self.function.record().name;
        let outer = thread::set_function(name);
        let profiled = profile::enter(profile::Kind::Function, name, 0);
        let result = self.function.execute(&call);
        drop(profiled);
        thread::set_function(outer);
        let column = result?;
        if column.len() != n_rows {
            return Err(err!(
                LOGICAL_ERROR,
                "Function {} returned {} rows instead of {n_rows}",
                self.function.record().name,
                column.len()
            ));
        }
        Ok(column)
    }
}

impl std::fmt::Debug for BoundFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({:?}) -> {}", self.function.record().name, self.arg_types, self.result)
    }
}

/// Is a wrong number of arguments an error even where one of them is NULL? As in the kernel, for functions of one number of arguments.
fn counts_first(function: &dyn ScalarFunction, ctx: &Context) -> bool {
    /// Functions of more arguments take any number of them.
    const MOST: usize = 9;
    let is_taken = |n: &usize| {
        let nothing = vec![Argument::of_type(DataType::Nothing); *n];
        function.bind(&nothing, ctx).map_or_else(|error| !is_of_arity(error.code()), |_| true)
    };
    !function.record().null_before_arity && (0..=MOST).filter(is_taken).nth(1).is_none()
}

/// Binds a function to arguments without Nullable. A constant NULL is the default of its type, or no constant at all where the function
/// does not take the default.
fn bind_around_nulls(function: &dyn ScalarFunction, args: &[Argument], ctx: &Context) -> Result<Bound> {
    let is_null = |arg: &Argument| arg.was_nullable && arg.constant == Some(Value::Null);
    if !args.iter().any(is_null) {
        return function.bind(args, ctx);
    }
    let with = |constant: &dyn Fn(&DataType) -> Option<Value>| -> Vec<Argument> {
        let arg = |arg: &Argument| match is_null(arg) {
            true => Argument { constant: constant(&arg.ty), ..arg.clone() },
            false => arg.clone(),
        };
        args.iter().map(arg).collect()
    };
    let default = |ty: &DataType| Some(Vector::defaults(ty, 1).value(0));
    function.bind(&with(&default), ctx).or_else(|_| function.bind(&with(&|_| None), ctx))
}

/// Fails where an argument that must be constant is not.
fn check_constants(record: &Record, args: &[Argument]) -> Result<()> {
    let not_constant = |index: &&usize| args.get(**index).is_some_and(|arg| arg.constant.is_none());
    if let Some(index) = record.constant_arguments.iter().find(not_constant) {
        bail!(ILLEGAL_COLUMN, "Argument at index {index} for function {} must be constant", record.name);
    }
    let all = !args.is_empty() && (0..args.len()).all(|index| record.constant_arguments.contains(&index));
    if all {
        bail!(
            NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            "Number of arguments for function {} doesn't match: the function requires more arguments",
            record.name
        );
    }
    Ok(())
}

/// Does the error say that there are too few or too many arguments?
fn is_of_arity(code: ErrorCode) -> bool {
    [
        codes::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        codes::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        codes::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
    ]
    .contains(&code)
}

fn per_value(record: &Record) -> bool {
    record.dictionaries == Dictionaries::PerValue && record.volatility != Volatility::PerRow
}

/// Would the kernel keep LowCardinality around a result of this type?
fn can_be_low_cardinality(ty: &DataType) -> bool {
    let bare = ty.without_nullable();
    !matches!(
        bare,
        DataType::Array(_)
            | DataType::Map(..)
            | DataType::Tuple(_)
            | DataType::Nothing
            | DataType::LowCardinality(_)
            | DataType::Decimal { .. }
            | DataType::Enum8(_)
            | DataType::Enum16(_)
            | DataType::DateTime64(..)
            | DataType::Time64(_)
            | DataType::Variant(_)
            | DataType::Dynamic(_)
            | DataType::Json(_)
            | DataType::QBit(_)
            | DataType::AggregateFunction(_)
    )
}

/// A vector of `mask.len()` rows with the given values where the mask is set and defaults elsewhere.
pub fn scatter(values: &Vector, mask: &BooleanBuffer, ty: &DataType) -> Vector {
    // Row 0 of the joined vector is the default.
    let default = Vector::new(Data::defaults(ty, 1), None);
    let joined = Vector::concat(&[&default, values]);
    let mut next = 0u32;
    let rows: Vec<u32> = mask
        .iter()
        .map(|set| {
            next += u32::from(set);
            if set { next } else { 0 }
        })
        .collect();
    joined.gather(&rows)
}

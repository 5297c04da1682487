//! What functions with a lambda share: types of its parameters, and its results over the elements of arrays.

use crate::lists::list_of;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Buf, Column, Data, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Record, ScalarFunction};
use chalet_types::DataType;

/// A function whose first argument is, or may be, a lambda over the elements of the arrays behind it.
pub struct HigherOrder {
    pub record: Record,
    pub bind: fn(&'static str, &[Argument], &Context) -> Result<Bound>,
    pub execute: fn(&Call) -> Result<Column>,
    /// Arguments between the lambda and the arrays.
    pub skipped: usize,
}

impl ScalarFunction for &'static HigherOrder {
    fn record(&self) -> &'static Record {
        let function: &'static HigherOrder = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        (self.bind)(self.record.name, args, ctx)
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        (self.execute)(call)
    }

    fn lambda_parameters(
        &self,
        index: usize,
        args: &[Argument],
        n_parameters: usize,
    ) -> Result<Vec<DataType>> {
        let name = self.record.name;
        ensure!(
            index == 0,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Argument {} of function {name} must not be a lambda expression",
            index + 1
        );
        let is_map = name.starts_with("map");
        let types =
            element_types(name, &args[(1 + self.skipped).min(args.len())..], 1 + self.skipped, is_map)?;
        parameters(name, types, n_parameters)
    }
}

/// The types of the elements of the arguments, which must be arrays (or one map).
fn element_types(name: &str, args: &[Argument], first: usize, is_map: bool) -> Result<Vec<DataType>> {
    ensure!(
        !args.is_empty() || !is_map,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} requires at least one argument of type Map"
    );
    ensure!(
        !args.is_empty(),
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} needs at least 1 argument with data"
    );
    let mut types = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate() {
        match arg.ty.recursively_without_low_cardinality() {
            DataType::Array(element) if !is_map => types.push(DataType::clone(&element)),
            map @ DataType::Map(..) if is_map => types.extend(map.element()),
            other => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument {} of function {name} must be {}. Found {other} instead",
                first + index + 1,
                if is_map { "a map" } else { "Array" }
            ),
        }
    }
    Ok(types)
}

/// One parameter per array; the elements of one array of tuples may be spread over several.
pub fn parameters(name: &str, types: Vec<DataType>, n_parameters: usize) -> Result<Vec<DataType>> {
    if types.len() == n_parameters {
        return Ok(types);
    }
    if let [DataType::Tuple(fields)] = &types[..]
        && fields.len() == n_parameters
    {
        return Ok(fields.iter().map(|field| field.ty.clone()).collect());
    }
    bail!(
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument for this overload of {name} must be a function with {} arguments, found one with {n_parameters} instead",
        types.len()
    )
}

/// What `bind` needs of the arguments.
pub struct Shape {
    /// The type of the lambda's result, else of the elements of the first array.
    pub mapped: DataType,
    pub elements: Vec<DataType>,
    pub has_lambda: bool,
}

/// Checks the arguments of a function that needs a lambda.
pub fn with_lambda(name: &'static str, args: &[Argument], skipped: usize) -> Result<Shape> {
    ensure!(
        args.len() != 1 || !name.starts_with("map"),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} requires at least one argument of type Map"
    );
    ensure!(
        args.len() >= 2 + skipped,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} needs at least {} arguments, passed {}",
        2 + skipped,
        args.len()
    );
    ensure!(
        args[0].is_lambda,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument for function {name} must be a function. Actual {}",
        args[0].ty
    );
    maybe_lambda(name, args, skipped)
}

/// Checks the arguments of a function that may have a lambda. Without one there is a single array.
pub fn maybe_lambda(name: &'static str, args: &[Argument], skipped: usize) -> Result<Shape> {
    let is_map = name.starts_with("map");
    let has_lambda = args.first().is_some_and(|arg| arg.is_lambda);
    let first = usize::from(has_lambda) + skipped;
    ensure!(
        !is_map || !has_lambda || args.len() > 1,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "Function {name} requires at least one argument of type Map"
    );
    ensure!(
        args.len() > first,
        NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Function {name} needs at least 1 argument with data"
    );
    if !has_lambda {
        let expected = if is_map { "map" } else { "array" };
        ensure!(
            matches!((&args[first].ty, is_map), (DataType::Array(_), false) | (DataType::Map(..), true)),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "The 1st and only argument for function {name} must be {expected}. Found {} instead",
            args[first].ty
        );
        ensure!(
            args.len() == first + 1,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument for function {name} must be a function. Actual {}",
            args[0].ty
        );
    }
    let elements = element_types(name, &args[first..], first, is_map)?;
    let mapped = if has_lambda { args[0].ty.clone() } else { elements[0].clone() };
    Ok(Shape { mapped, elements, has_lambda })
}

/// Fails unless the lambda gives truth values.
pub fn check_predicate(name: &str, shape: &Shape) -> Result<()> {
    use DataType::{Bool, Nothing, UInt8};
    if shape.has_lambda {
        ensure!(
            matches!(shape.mapped.bare(), UInt8 | Bool | Nothing),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Expression for function {name} must return UInt8 or Nullable(UInt8), found {}",
            shape.mapped
        );
        return Ok(());
    }
    ensure!(
        matches!(shape.mapped, UInt8 | Bool),
        ILLEGAL_TYPE_OF_ARGUMENT,
        "The 1st and only argument for function {name} must be array of UInt8. Found Array({}) instead",
        shape.mapped
    );
    Ok(())
}

/// The elements of all rows, and what the lambda makes of them.
pub struct Elements {
    pub offsets: Buf<i64>,
    /// Elements of the first array.
    pub first: Vector,
    /// Results of the lambda, else the elements of the first array.
    pub mapped: Vector,
}

impl Elements {
    /// Evaluates the lambda, if there is one.
    pub fn of(call: &Call, skipped: usize) -> Result<Elements> {
        let lambda = call.args[0].lambda;
        let first_array = usize::from(lambda.is_some()) + skipped;
        let (offsets, arrays) = arrays(call, &call.args[first_array..], first_array)?;
        let mapped = match lambda {
            None => arrays[0].clone(),
            Some(lambda) => {
                let args = spread(&arrays, lambda.n_parameters())?;
                lambda.call(args, &offsets)?.into_flat()
            }
        };
        Ok(Elements { offsets, first: arrays[0].clone(), mapped })
    }

    pub fn ranges(&self) -> impl ExactSizeIterator<Item = std::ops::Range<usize>> + '_ {
        self.offsets.windows(2).map(|w| w[0] as usize..w[1] as usize)
    }

    /// Where the lambda gives true.
    pub fn truths(&self) -> Result<Vec<bool>> {
        if let Data::Nothing(n) = self.mapped.data {
            return Ok(vec![false; n]);
        }
        let values = self.mapped.values::<u8>()?;
        if self.mapped.validity.is_none() {
            return Ok(values.iter().map(|&x| x != 0).collect());
        }
        Ok(values.iter().enumerate().map(|(e, &x)| x != 0 && !self.mapped.is_null(e)).collect())
    }
}

/// Offsets and elements of arrays of one length.
pub fn arrays(
    call: &Call,
    args: &[chalet_function_api::Arg],
    first: usize,
) -> Result<(Buf<i64>, Vec<Vector>)> {
    let mut offsets: Option<Buf<i64>> = None;
    let mut arrays = Vec::with_capacity(args.len());
    for (index, arg) in args.iter().enumerate() {
        let list = list_of(arg, call.n_rows)?;
        if let Some(before) = &offsets
            && before[..] != list.offsets[..]
        {
            let row = (0..call.n_rows).find(|&row| before[row + 1] != list.offsets[row + 1]).unwrap_or(0);
            bail!(
                SIZES_OF_ARRAYS_DONT_MATCH,
                "Arrays passed to the function must have equal size. Argument {} has size {} which differs with the size of another argument, {}",
                first + index + 1,
                list.range(row).len(),
                before[row + 1] - before[row]
            );
        }
        arrays.push(list.values.as_ref().clone());
        offsets = offsets.or(Some(list.offsets));
    }
    let offsets = offsets.ok_or_else(|| err!(LOGICAL_ERROR, "A call without arrays"))?;
    Ok((offsets, arrays))
}

/// The parameters of a lambda: the arrays, or the fields of the only one.
pub fn spread(arrays: &[Vector], n_parameters: usize) -> Result<Vec<Column>> {
    if arrays.len() == n_parameters {
        return Ok(arrays.iter().cloned().map(Column::Flat).collect());
    }
    Ok(arrays[0].structure()?.fields.iter().cloned().map(Column::Flat).collect())
}

//! `arrayFold`: a lambda applied to an accumulator and one element after the other.

use super::lambda::{HigherOrder, arrays};
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Vector};
use chalet_function_api::{Argument, Bound, Call, Context, Example, Nulls, Record, ScalarFunction};
use chalet_types::DataType;

pub struct Fold(HigherOrder);

pub static FUNCTION: Fold = Fold(HigherOrder {
    record: Record {
        name: "arrayFold",
        summary: "The last accumulator, when a lambda makes a new one of the accumulator and each element in turn. It must keep the type of the first.",
        syntax: "arrayFold((acc, x, ...) -> ..., arr, ..., acc)",
        examples: &[Example {
            sql: "SELECT arrayFold((acc, x) -> acc + x, [1, 2, 3], toInt64(10))",
            result: "16",
        }],
        nulls: Nulls::Seen,
        ..Record::DEFAULT
    },
    bind,
    execute,
    skipped: 0,
});

impl ScalarFunction for &'static Fold {
    fn record(&self) -> &'static Record {
        let function: &'static Fold = self;
        &function.0.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        bind("arrayFold", args, ctx)
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        execute(call)
    }

    fn lambda_parameters(
        &self,
        index: usize,
        args: &[Argument],
        n_parameters: usize,
    ) -> Result<Vec<DataType>> {
        ensure!(
            args.len() >= 3,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Function arrayFold requires as arguments a lambda function, at least one array and an accumulator"
        );
        ensure!(
            index == 0,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function arrayFold must be a lambda function with an accumulator and one argument for each array"
        );
        let plain = |arg: &Argument| arg.ty.recursively_without_low_cardinality();
        let mut types = vec![plain(&args[args.len() - 1])];
        for (index, arg) in args[1..args.len() - 1].iter().enumerate() {
            match plain(arg) {
                DataType::Array(element) => types.push(DataType::clone(&element)),
                other => bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Argument {} of function arrayFold must be of type Array, found {other} instead",
                    index + 2
                ),
            }
        }
        ensure!(
            types.len() == n_parameters,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function arrayFold must be a lambda function with {} arguments, found {n_parameters} instead",
            types.len()
        );
        Ok(types)
    }
}

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    ensure!(
        args.len() >= 3,
        TOO_FEW_ARGUMENTS_FOR_FUNCTION,
        "Function {name} requires as arguments a lambda function, at least one array and an accumulator"
    );
    ensure!(
        args[0].is_lambda,
        ILLEGAL_TYPE_OF_ARGUMENT,
        "First argument for function {name} must be a function"
    );
    let accumulator = &args[args.len() - 1].ty;
    ensure!(
        args[0].ty == *accumulator,
        TYPE_MISMATCH,
        "Return type of lambda function must be the same as the accumulator type, inferred return type of lambda: {}, inferred type of accumulator: {accumulator}",
        args[0].ty
    );
    Ok(accumulator.clone().into())
}

/// Step k runs the lambda over the k-th elements of all rows that have one.
fn execute(call: &Call) -> Result<Column> {
    let last = call.args.len() - 1;
    let lambda = call.lambda(0)?;
    let (offsets, arrays) = arrays(call, &call.args[1..last], 1)?;
    let len = |row: u32| (offsets[row as usize + 1] - offsets[row as usize]) as usize;
    let mut rows: Vec<u32> = (0..call.n_rows as u32).collect();
    let mut accumulators = call.vector(last).clone();
    // Rows whose arrays have ended, and their results.
    let mut ended: Vec<u32> = Vec::with_capacity(call.n_rows);
    let mut results: Vec<Vector> = Vec::new();
    for step in 0.. {
        let (going, done): (Vec<u32>, Vec<u32>) =
            (0..rows.len() as u32).partition(|&i| len(rows[i as usize]) > step);
        if !done.is_empty() {
            results.push(accumulators.gather(&done));
            ended.extend(done.iter().map(|&i| rows[i as usize]));
            accumulators = accumulators.gather(&going);
            rows = going.iter().map(|&i| rows[i as usize]).collect();
        }
        if rows.is_empty() {
            break;
        }
        let elements: Vec<u32> = rows.iter().map(|&row| offsets[row as usize] as u32 + step as u32).collect();
        let mut args = vec![Column::Flat(accumulators)];
        args.extend(arrays.iter().map(|array| Column::Flat(array.gather(&elements))));
        let mut served = vec![0i64; call.n_rows + 1];
        rows.iter().for_each(|&row| served[row as usize + 1] = 1);
        for row in 0..call.n_rows {
            served[row + 1] += served[row];
        }
        accumulators = lambda.call(args, &served)?.into_flat();
    }
    let joined = Vector::concat(&results.iter().collect::<Vec<_>>());
    let mut order = vec![0u32; call.n_rows];
    ended.iter().enumerate().for_each(|(place, &row)| order[row as usize] = place as u32);
    Ok(if joined.is_empty() { accumulators } else { joined.gather(&order) }.into())
}

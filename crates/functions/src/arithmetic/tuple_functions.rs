//! `tuplePlus` to `tupleModuloByNumber`: arithmetic of tuples by name.

use super::negate::{negate, negated};
use super::operation::{Kind, OnFault, Operation};
use super::vectors::{by_field, element, tuple_of, tuples, with_whole};
use crate::lanes::Operand;
use chalet_base::{Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Example, Record, Registry, ScalarFunction,
};
use chalet_types::DataType;

struct TupleFunction {
    record: Record,
    operation: Operation,
    /// The second argument is a number and not a tuple.
    by_number: bool,
}

macro_rules! tuple_functions {
    ($($name:literal, $any_case:expr, $by_number:literal, $operation:expr, $summary:literal, $syntax:literal, $sql:literal => $result:literal;)*) => {
        const FUNCTIONS: &[TupleFunction] = &[$(TupleFunction {
            record: Record {
                name: $name,
                any_case_aliases: $any_case,
                summary: $summary,
                syntax: $syntax,
                examples: &[Example { sql: $sql, result: $result }],
                constants: Constants::Seen,
                ..Record::DEFAULT
            },
            operation: $operation,
            by_number: $by_number,
        }),*];
    };
}

const fn op(name: &'static str, kind: Kind) -> Operation {
    Operation::new(name, kind)
}

tuple_functions! {
    "tuplePlus", &["vectorSum"], false, op("plus", Kind::Plus),
        "The sums of the elements of two tuples.", "tuplePlus(t1, t2)",
        "SELECT tuplePlus((1, 2), (2, 3))" => "(3,5)";
    "tupleMinus", &["vectorDifference"], false, op("minus", Kind::Minus),
        "The differences of the elements of two tuples.", "tupleMinus(t1, t2)",
        "SELECT tupleMinus((1, 2), (2, 3))" => "(-1,-1)";
    "tupleMultiply", &[], false, op("multiply", Kind::Multiply),
        "The products of the elements of two tuples.", "tupleMultiply(t1, t2)",
        "SELECT tupleMultiply((1, 2), (2, 3))" => "(2,6)";
    "tupleDivide", &[], false, op("divide", Kind::Divide),
        "The quotients of the elements of two tuples.", "tupleDivide(t1, t2)",
        "SELECT tupleDivide((1, 2), (2, 4))" => "(0.5,0.5)";
    "tupleModulo", &[], false, op("modulo", Kind::Modulo),
        "The remainders of the elements of two tuples.", "tupleModulo(t1, t2)",
        "SELECT tupleModulo((15, 10), (4, 3))" => "(3,1)";
    "tupleIntDiv", &[], false, op("intDiv", Kind::IntDiv),
        "The quotients of the elements of two tuples without their fractions.", "tupleIntDiv(t1, t2)",
        "SELECT tupleIntDiv((15, 10), (4, 3))" => "(3,3)";
    "tupleIntDivOrZero", &[], false, op("intDivOrZero", Kind::IntDiv).on_fault(OnFault::Zero),
        "As tupleIntDiv, with 0 for a division by zero.", "tupleIntDivOrZero(t1, t2)",
        "SELECT tupleIntDivOrZero((15, 10), (0, 3))" => "(0,3)";
    "tupleMultiplyByNumber", &[], true, op("multiply", Kind::Multiply),
        "The products of the elements of a tuple and a number.", "tupleMultiplyByNumber(tuple, number)",
        "SELECT tupleMultiplyByNumber((1, 2), 3)" => "(3,6)";
    "tupleDivideByNumber", &[], true, op("divide", Kind::Divide),
        "The quotients of the elements of a tuple and a number.", "tupleDivideByNumber(tuple, number)",
        "SELECT tupleDivideByNumber((1, 2), 2)" => "(0.5,1)";
    "tupleModuloByNumber", &[], true, op("modulo", Kind::Modulo),
        "The remainders of the elements of a tuple divided by a number.", "tupleModuloByNumber(tuple, number)",
        "SELECT tupleModuloByNumber((15, 10), 4)" => "(3,2)";
    "tuplePositiveModuloByNumber", &[], true, op("positiveModulo", Kind::PositiveModulo),
        "The remainders of the elements of a tuple divided by a number, none of them negative.",
        "tuplePositiveModuloByNumber(tuple, number)",
        "SELECT tuplePositiveModuloByNumber((15, -10), 7)" => "(1,4)";
    "tupleIntDivByNumber", &[], true, op("intDiv", Kind::IntDiv),
        "The quotients of the elements of a tuple and a number without their fractions.",
        "tupleIntDivByNumber(tuple, number)",
        "SELECT tupleIntDivByNumber((15, 10), 4)" => "(3,2)";
    "tupleIntDivOrZeroByNumber", &[], true, op("intDivOrZero", Kind::IntDiv).on_fault(OnFault::Zero),
        "As tupleIntDivByNumber, with 0 for a division by zero.", "tupleIntDivOrZeroByNumber(tuple, number)",
        "SELECT tupleIntDivOrZeroByNumber((15, 10), 0)" => "(0,0)";
}

impl ScalarFunction for &'static TupleFunction {
    fn record(&self) -> &'static Record {
        let function: &'static TupleFunction = self;
        &function.record
    }

    fn bind(&self, args: &[Argument], ctx: &Context) -> Result<Bound> {
        let name = self.record.name;
        if self.by_number {
            check_arity(name, args.len(), 2..=2)?;
        }
        ensure!(
            args.len() >= 2,
            TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            "Function {name} requires at least 2 arguments"
        );
        let DataType::Tuple(x) = &args[0].ty else {
            bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument 0 of function {name} should be tuple, got {}",
                args[0].ty
            );
        };
        if self.by_number {
            let b = &args[1].ty;
            let types = x.iter().map(|f| element(&self.operation, &f.ty, b, ctx));
            return Ok(tuple_of(types)?.into());
        }
        // From left to right, the result of the earlier ones with the next.
        let mut result = args[0].ty.clone();
        for (index, arg) in args.iter().enumerate().skip(1) {
            let DataType::Tuple(y) = &arg.ty else {
                bail!(
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Argument {index} of function {name} should be tuple, got {}",
                    arg.ty
                );
            };
            ensure!(
                x.len() == y.len(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Expected tuples of the same size as arguments 0 and {index} of function {name}, got {} and {}",
                args[0].ty,
                arg.ty
            );
            let DataType::Tuple(so_far) = &result else { break };
            result = tuples(&self.operation, so_far, y, ctx)?;
        }
        Ok(result.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (a, b) = (Operand::of(call, 0), Operand::of(call, 1));
        if self.by_number {
            return Ok(with_whole(&self.operation, a, b, call.result, call.n_rows, call.ctx)?.into());
        }
        let n_args = call.args.len();
        if n_args == 2 {
            return Ok(by_field(&self.operation, a, b, call.result, call.n_rows, call.ctx)?.into());
        }
        let mut so_far: Option<(DataType, Vector)> = None;
        for index in 1..n_args {
            let left = match &so_far {
                Some((ty, vector)) => Operand { ty, vector, constant: false },
                None => a,
            };
            let right = Operand::of(call, index);
            let ty = match (left.ty, right.ty) {
                (DataType::Tuple(x), DataType::Tuple(y)) if index + 1 < n_args => {
                    tuples(&self.operation, x, y, call.ctx)?
                }
                _ => call.result.clone(),
            };
            let result = by_field(&self.operation, left, right, &ty, call.n_rows, call.ctx)?;
            so_far = Some((ty, result));
        }
        let (_, result) = so_far.ok_or_else(|| err!(LOGICAL_ERROR, "A tuple function without arguments"))?;
        Ok(result.into())
    }
}

struct TupleNegate;

const NEGATE: Record = Record {
    name: "tupleNegate",
    summary: "The elements of a tuple with the other sign.",
    syntax: "tupleNegate(tuple)",
    examples: &[Example { sql: "SELECT tupleNegate((1, 2))", result: "(-1,-2)" }],
    total: true,
    ..Record::DEFAULT
};

impl ScalarFunction for TupleNegate {
    fn record(&self) -> &'static Record {
        &NEGATE
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(NEGATE.name, args.len(), 1..=1)?;
        match (&args[0].ty, negated(&args[0].ty)) {
            (DataType::Tuple(_), Some(result)) => Ok(result.into()),
            (ty, _) => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Argument 0 of function tupleNegate should be tuple, got {ty}"
            ),
        }
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        Ok(negate(call.vector(0), call.result, call.n_rows)?.into())
    }
}

pub fn register(registry: &mut Registry) {
    FUNCTIONS.iter().for_each(|function| registry.add_scalar(function));
    registry.add_scalar(TupleNegate);
}

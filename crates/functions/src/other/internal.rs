//! Functions that the kernel makes of parts of its plans, and which a statement can call by their names: truth values of ranges as
//! two bits, filters of joins, and those that only fail.

use crate::plain::Plain;
use chalet_base::{Error, Result, bail, ensure, err};
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{
    Argument, Bound, Call, Constants, Context, Dictionaries, Example, Nulls, Record, SeveralTypes, Volatility,
};
use chalet_types::{DataType, Value};

fn illegal_type(name: &str, ty: &DataType) -> Error {
    err!(ILLEGAL_TYPE_OF_ARGUMENT, "Illegal type {ty} of argument of function {name}")
}

/// One argument or two of type UInt8; the kernel takes other numbers for a mistake of its own.
fn bind_bits(name: &'static str, args: &[Argument], n: usize) -> Result<Bound> {
    check_arity(name, args.len(), n..=n)?;
    if let Some(arg) = args.iter().find(|arg| !arg.ty.is_integer() && !arg.ty.is_float()) {
        return Err(illegal_type(name, &arg.ty));
    }
    ensure!(
        args.iter().all(|arg| arg.ty == DataType::UInt8),
        BAD_ARGUMENTS,
        "It's a bug! Only UInt8 type is supported by {name}"
    );
    Ok(DataType::UInt8.into())
}

/// Applies an operation of two pairs of bits: can it be true (the lower one), can it be false?
fn of_two(call: &Call, combine: fn(u8, u8) -> u8) -> Result<Column> {
    let (a, b) = (call.natives::<u8>(0)?, call.natives::<u8>(1)?);
    let bits: Vec<u8> = (0..call.n_rows).map(|row| combine(a.get(row), b.get(row))).collect();
    Ok(Vector::from(bits).into())
}

pub static BOOL_MASK_AND: Plain = Plain {
    record: Record {
        name: "__bitBoolMaskAnd",
        summary: "AND of two truth values of which is known whether they can be true (1) and false (2).",
        syntax: "__bitBoolMaskAnd(a, b)",
        examples: &[Example { sql: "SELECT __bitBoolMaskAnd(3, 1)", result: "3" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind_bits(name, args, 2),
    execute: |call| of_two(call, |a, b| (a & b & 1) | ((a | b) & 2)),
};

pub static BOOL_MASK_OR: Plain = Plain {
    record: Record {
        name: "__bitBoolMaskOr",
        summary: "OR of two truth values of which is known whether they can be true (1) and false (2).",
        syntax: "__bitBoolMaskOr(a, b)",
        examples: &[Example { sql: "SELECT __bitBoolMaskOr(3, 2)", result: "3" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind_bits(name, args, 2),
    execute: |call| of_two(call, |a, b| (a & b & 2) | ((a | b) & 1)),
};

pub static SWAP_LAST_TWO: Plain = Plain {
    record: Record {
        name: "__bitSwapLastTwo",
        summary: "NOT of a truth value of which is known whether it can be true (1) and false (2).",
        syntax: "__bitSwapLastTwo(a)",
        examples: &[Example { sql: "SELECT __bitSwapLastTwo(1)", result: "2" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| bind_bits(name, args, 1),
    execute: |call| {
        let a = call.natives::<u8>(0)?;
        let swapped: Vec<u8> =
            (0..call.n_rows).map(|row| (a.get(row) & 1) << 1 | a.get(row) >> 1 & 1).collect();
        Ok(Vector::from(swapped).into())
    },
};

pub static WRAPPER: Plain = Plain {
    record: Record {
        name: "__bitWrapperFunc",
        summary: "1 for a number that is true, 2 for one that is false.",
        syntax: "__bitWrapperFunc(x)",
        examples: &[Example { sql: "SELECT __bitWrapperFunc(0)", result: "2" }],
        total: true,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 1..=1)?;
        let ty = &args[0].ty;
        ensure!(!ty.is_float(), BAD_ARGUMENTS, "It's a bug! Only integer types are supported by {name}");
        if !ty.is_integer() {
            return Err(illegal_type(name, ty));
        }
        Ok(DataType::UInt8.into())
    },
    execute: |call| {
        let vector = call.vector(0);
        let zero = Vector::defaults(call.args[0].ty, 1);
        let is_zero = |row: usize| vector.value(row) == zero.value(0);
        let bits: Vec<u8> = (0..call.n_rows).map(|row| if is_zero(row) { 2 } else { 1 }).collect();
        Ok(Vector::from(bits).into())
    },
};

pub static APPLY_FILTER: Plain = Plain {
    record: Record {
        name: "__applyFilter",
        summary: "Whether the run-time filter of a join lets a value pass. By this name none can be reached, so it is 1.",
        syntax: "__applyFilter(filter, x)",
        examples: &[Example { sql: "SELECT __applyFilter('none', 5)", result: "1" }],
        nulls: Nulls::Seen,
        constants: Constants::Seen,
        dictionaries: Dictionaries::Decoded,
        several_types: SeveralTypes::Seen,
        volatility: Volatility::PerQuery,
        ..Record::DEFAULT
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        ensure!(
            args[0].ty == DataType::String,
            ILLEGAL_TYPE_OF_ARGUMENT,
            "First argument of function '{name}' must be a String filter id"
        );
        Ok(DataType::UInt8.into())
    },
    execute: |call| Ok(Column::constant(Vector::from(vec![1u8]), call.n_rows)),
};

const FAILING: Record = Record { nulls: Nulls::Seen, volatility: Volatility::PerQuery, ..Record::DEFAULT };

/// `bind` of these has failed before.
fn never(_: &Call) -> Result<Column> {
    bail!(LOGICAL_ERROR, "The function has no value")
}

pub static ACTION_NAME: Plain = Plain {
    record: Record {
        name: "__actionName",
        summary: "Serves the plans of the kernel; a statement that calls it fails.",
        syntax: "__actionName(x, name)",
        examples: &[Example {
            sql: "SELECT count() FROM system.functions WHERE name = '__actionName'",
            result: "1",
        }],
        ..FAILING
    },
    bind: |name, args, _| {
        check_arity(name, args.len(), 2..=2)?;
        bail!(BAD_ARGUMENTS, "Function {name} is internal and should not be used directly")
    },
    execute: never,
};

pub static GET_SCALAR: Plain = Plain {
    record: Record {
        name: "__getScalar",
        summary: "The value of a scalar sub-query by its hash. By this name none can be reached, so it fails.",
        syntax: "__getScalar(hash)",
        examples: &[Example {
            sql: "SELECT count() FROM system.functions WHERE name = '__getScalar'",
            result: "1",
        }],
        ..FAILING
    },
    bind: |name: &'static str, args: &[Argument], _: &Context| {
        let text = args.first().filter(|_| args.len() == 1).and_then(|arg| arg.constant.as_ref());
        let Some(wanted) = text.and_then(Value::as_str) else {
            bail!(ILLEGAL_TYPE_OF_ARGUMENT, "Function {name} accepts one const string argument")
        };
        bail!(BAD_ARGUMENTS, "Scalar {wanted} doesn't exist (internal bug)")
    },
    execute: never,
};

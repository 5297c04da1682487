//! `bitCount`, `bitHammingDistance`, `bitTest`, `bitTestAll`, `bitTestAny`: questions about bits.

use crate::arithmetic::{as_number, is_address};
use crate::lanes::{Operand, binary, unary};
use crate::number::Integer;
use crate::string_args::StringArg;
use crate::with_integer;
use chalet_base::simd_dispatch::dispatch_simd;
use chalet_base::{Result, bail, ensure};
use chalet_columns::{Column, Data, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record, ScalarFunction};
use chalet_types::{DataType, I256};

const COUNT: Record = Record {
    name: "bitCount",
    summary: "The number of bits that are set in a number or a string.",
    syntax: "bitCount(x)",
    examples: &[Example { sql: "SELECT bitCount(333)", result: "5" }],
    total: true,
    ..Record::DEFAULT
};

const HAMMING: Record = Record {
    name: "bitHammingDistance",
    summary: "The number of bits in which two numbers or strings differ.",
    syntax: "bitHammingDistance(a, b)",
    examples: &[Example { sql: "SELECT bitHammingDistance(111, 121)", result: "3" }],
    total: true,
    ..Record::DEFAULT
};

const TEST: Record = Record {
    name: "bitTest",
    summary: "The bit of an integer at a position, counted from 0 at the least.",
    syntax: "bitTest(x, position)",
    examples: &[Example { sql: "SELECT bitTest(43, 1)", result: "1" }],
    ..Record::DEFAULT
};

const TEST_ALL: Record = Record {
    name: "bitTestAll",
    summary: "1 when all bits at the given positions are set.",
    syntax: "bitTestAll(x, position, ...)",
    examples: &[Example { sql: "SELECT bitTestAll(43, 0, 1, 3, 5)", result: "1" }],
    ..Record::DEFAULT
};

const TEST_ANY: Record = Record {
    name: "bitTestAny",
    summary: "1 when a bit at one of the given positions is set.",
    syntax: "bitTestAny(x, position, ...)",
    examples: &[Example { sql: "SELECT bitTestAny(43, 2, 4)", result: "0" }],
    ..Record::DEFAULT
};

pub struct Count;
pub struct Hamming;
pub struct Test {
    record: &'static Record,
    /// Several positions, all of which (or any of which) must be set.
    all: Option<bool>,
}

pub const TEST_FUNCTION: Test = Test { record: &TEST, all: None };
pub const TEST_ALL_FUNCTION: Test = Test { record: &TEST_ALL, all: Some(true) };
pub const TEST_ANY_FUNCTION: Test = Test { record: &TEST_ANY, all: Some(false) };

#[inline(always)]
fn ones(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let of_words: u64 = words.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum();
    of_words + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// The bits in which two strings differ; those behind the end of the other one count as they are.
#[inline(always)]
fn differing_bits(x: &[u8], y: &[u8]) -> u64 {
    let common = x.len().min(y.len());
    let (words, rest) = x[..common].as_chunks::<8>();
    let (others, other_rest) = y[..common].as_chunks::<8>();
    let differ =
        |a: [u8; 8], b: [u8; 8]| u64::from((u64::from_le_bytes(a) ^ u64::from_le_bytes(b)).count_ones());
    let of_words: u64 = words.iter().zip(others).map(|(a, b)| differ(*a, *b)).sum();
    let of_rest: u64 = rest.iter().zip(other_rest).map(|(a, b)| u64::from((a ^ b).count_ones())).sum();
    of_words + of_rest + ones(&x[common..]) + ones(&y[common..])
}

impl ScalarFunction for Count {
    fn record(&self) -> &'static Record {
        &COUNT
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(COUNT.name, args.len(), 1..=1)?;
        let ty = as_number(&args[0].ty);
        Ok(match &*ty {
            DataType::UInt256 | DataType::Int256 => DataType::UInt16,
            DataType::Float32 | DataType::Float64 => DataType::UInt8,
            other if !is_address(&args[0].ty) && other.is_integer() => DataType::UInt8,
            DataType::String => DataType::UInt64,
            DataType::FixedString(_) => DataType::UInt16,
            _ => bail!(
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument of function bitCount",
                args[0].ty
            ),
        }
        .into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let counts: Vec<u64> = with_integer!(x.vector.data.physical(), C => {
            unary::<C, u64>(x, n, |x| x.count_ones().into())?
        }, _ => match &x.vector.data {
            Data::F32(v) => v.iter().map(|x| x.to_bits().count_ones().into()).collect(),
            Data::F64(v) => v.iter().map(|x| x.to_bits().count_ones().into()).collect(),
            Data::Str(s) => dispatch_simd(|| s.iter().map(ones).collect()),
            Data::Fixed(f) => dispatch_simd(|| f.iter().map(ones).collect()),
            _ => bail!(LOGICAL_ERROR, "{} has no bits", x.ty),
        });
        Ok(crate::arithmetic::convert_numbers(counts.into(), call.result.physical(), n)?.into())
    }
}

impl ScalarFunction for Hamming {
    fn record(&self) -> &'static Record {
        &HAMMING
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        check_arity(HAMMING.name, args.len(), 2..=2)?;
        let (a, b) = (&args[0].ty, &args[1].ty);
        if a.is_string() && b.is_string() {
            let fixed = [a, b].map(|ty| matches!(ty, DataType::FixedString(_)));
            ensure!(
                fixed[0] == fixed[1],
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal types {a} and {b} of arguments of function bitHammingDistance"
            );
            return Ok(if fixed[0] { DataType::UInt16 } else { DataType::UInt64 }.into());
        }
        let narrow = |ty: &DataType| ty.physical().width().unwrap_or(16) <= 8;
        let number = |ty: &DataType| ty.is_integer() || ty.is_float();
        ensure!(
            number(a) && number(b),
            ILLEGAL_TYPE_OF_ARGUMENT,
            "Illegal types {a} and {b} of arguments of function bitHammingDistance"
        );
        ensure!(
            narrow(a) == narrow(b),
            ILLEGAL_COLUMN,
            "Unsupported data type combination in function 'bitHammingDistance'"
        );
        let of_256_bits = matches!(a, DataType::UInt256 | DataType::Int256);
        Ok(if of_256_bits { DataType::UInt16 } else { DataType::UInt8 }.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (a, b, n) = (Operand::of(call, 0), Operand::of(call, 1), call.n_rows);
        let width = |x: &Operand| x.ty.physical().width().unwrap_or(0);
        let is_text = matches!(a.vector.data, Data::Str(_) | Data::Fixed(_));
        if !is_text && width(&a).max(width(&b)) > 8 {
            let distances = if width(&a) == 16 && width(&b) == 16 {
                binary::<i128, u16>(a, b, n, |x, y| (x ^ y).count_ones() as u16)?
            } else {
                binary::<I256, u16>(a, b, n, |x, y| x.bit_xor(y).count_ones() as u16)?
            };
            return Ok(
                crate::arithmetic::convert_numbers(distances.into(), call.result.physical(), n)?.into()
            );
        }
        if *call.result == DataType::UInt8 {
            let distances = binary::<i64, u8>(a, b, n, |x, y| (x ^ y).count_ones() as u8)?;
            return Ok(Vector::from(distances).into());
        }
        let (a, b) = (StringArg::of(call, 0)?, StringArg::of(call, 1)?);
        let differ = |row| differing_bits(a.get(row), b.get(row));
        let distances: Vec<u64> = dispatch_simd(|| (0..n).map(differ).collect());
        Ok(crate::arithmetic::convert_numbers(distances.into(), call.result.physical(), n)?.into())
    }
}

impl ScalarFunction for Test {
    fn record(&self) -> &'static Record {
        self.record
    }

    fn bind(&self, args: &[Argument], _: &Context) -> Result<Bound> {
        let name = self.record.name;
        if self.all.is_none() {
            check_arity(name, args.len(), 2..=2)?;
        } else {
            ensure!(
                args.len() >= 2,
                TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                "Number of arguments for function {name} doesn't match: passed {}, should be at least 2",
                args.len()
            );
        }
        for (index, arg) in args.iter().enumerate() {
            ensure!(
                arg.ty.is_integer(),
                ILLEGAL_TYPE_OF_ARGUMENT,
                "Illegal type {} of argument {} of function {name}",
                arg.ty,
                index + 1
            );
            let wide = arg.ty.physical().width().unwrap_or(16) > 8;
            match self.all {
                None => ensure!(!wide, NOT_IMPLEMENTED, "{name} is not implemented for big integers"),
                Some(_) if index == 0 => {
                    ensure!(
                        !wide,
                        ILLEGAL_COLUMN,
                        "Illegal column {} of argument of function {name}",
                        arg.ty
                    );
                }
                Some(_) => ensure!(
                    !wide && arg.ty.is_unsigned(),
                    ILLEGAL_TYPE_OF_ARGUMENT,
                    "Illegal type {} of {index} argument of function {name}",
                    arg.ty
                ),
            }
        }
        Ok(DataType::UInt8.into())
    }

    fn execute(&self, call: &Call) -> Result<Column> {
        let (x, n) = (Operand::of(call, 0), call.n_rows);
        let bits = 8 * x.vector.data.physical().width().unwrap_or(8) as i64;
        let values = unary::<i64, i64>(x, n, |x| x)?;
        let mut result = vec![u8::from(self.all != Some(false)); n];
        for index in 1..call.args.len() {
            let positions = unary::<i64, i64>(Operand::of(call, index), n, |x| x)?;
            for row in 0..n {
                let position = positions[row];
                ensure!(
                    (0..bits).contains(&position),
                    PARAMETER_OUT_OF_BOUND,
                    "The bit position argument {position} is out of bounds for number"
                );
                let bit = (values[row] >> position & 1) as u8;
                if self.all == Some(false) {
                    result[row] |= bit;
                } else {
                    result[row] &= bit;
                }
            }
        }
        Ok(Vector::from(result).into())
    }
}

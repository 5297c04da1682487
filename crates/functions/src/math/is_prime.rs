//! `isPrime`: whether an unsigned integer is a prime number.

use crate::lanes::{Operand, unary};
use crate::plain::Plain;
use crate::string_args::check_type;
use chalet_base::Result;
use chalet_columns::{Column, Vector};
use chalet_function_api::scalar::check_arity;
use chalet_function_api::{Argument, Bound, Call, Context, Example, Record};
use chalet_types::DataType;

pub static FUNCTION: Plain = Plain {
    record: Record {
        name: "isPrime",
        summary: "1 when an unsigned integer of at most 64 bits is a prime number, otherwise 0.",
        syntax: "isPrime(n)",
        examples: &[Example { sql: "SELECT isPrime(17), isPrime(18)", result: "1\t0" }],
        ..Record::DEFAULT
    },
    bind,
    execute,
};

fn bind(name: &'static str, args: &[Argument], _: &Context) -> Result<Bound> {
    use DataType::{Bool, UInt8, UInt16, UInt32, UInt64};
    check_arity(name, args.len(), 1..=1)?;
    let ty = &args[0].ty;
    let fits = matches!(ty, Bool | UInt8 | UInt16 | UInt32 | UInt64);
    check_type(fits, name, 0, "UInt8/UInt16/UInt32/UInt64", ty)?;
    Ok(UInt8.into())
}

fn execute(call: &Call) -> Result<Column> {
    let answers = unary::<u64, u8>(Operand::of(call, 0), call.n_rows, |n| u8::from(is_prime(n)))?;
    Ok(Vector::from(answers).into())
}

/// Miller and Rabin's test finds every composite number below 2^64 with these witnesses.
const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

pub(super) fn is_prime(n: u64) -> bool {
    if n < 2 {
        return false;
    }
    if let Some(&divisor) = WITNESSES.iter().find(|&&witness| n.is_multiple_of(witness)) {
        return n == divisor;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    WITNESSES.iter().all(|&witness| {
        let mut x = power(witness, odd, n);
        if x == 1 {
            return true;
        }
        for _ in 1..twos {
            if x == n - 1 {
                return true;
            }
            x = product(x, x, n);
        }
        x == n - 1
    })
}

fn product(a: u64, b: u64, modulus: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64
}

fn power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let (mut square, mut result) = (base % modulus, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(result, square, modulus);
        }
        square = product(square, square, modulus);
        exponent >>= 1;
    }
    result
}
